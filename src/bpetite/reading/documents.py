"""An input in, its documents out, in order and in batches of a few megabytes.

An input is plain text or JSON lines, perhaps compressed by gzip or zstd, or Parquet; its name and its first
bytes must agree on which. A document is a whole text file, a text between separators, the text field of a
line, or the text column of a row. Memory is bounded by the largest document, or by a few megabytes if the
pattern allows documents to be cut (`Reading.cut`).
"""

import os
from collections.abc import Callable, Generator, Iterator, Sequence

from bpetite._engine import FileTexts, Gunzip
from bpetite._internal.lazy import needed
from bpetite.reading import batches
from bpetite.reading.batches import PIECE, Batch, batches_of, is_text, one_side, repaired
from bpetite.reading.json_lines import read_json_lines, text_or_lines
from bpetite.reading.memory_limit import check_whole
from bpetite.reading.options import Reading
from bpetite.reading.parquet import read_rows
from bpetite.reading.raw import Raw
from bpetite.reading.recognition import recognise
from bpetite.reading.sources import Input, naming_remote

PACKED = 1 << 16
"""The number of compressed bytes that are unpacked at a time, for about one block of content."""


def read_batches(source: Input, reading: Reading, raw: Raw | None = None) -> Generator[Batch, None, None]:
    """Yield the documents of an input; `raw` is given to hash its bytes."""
    reading = reading.of_field(source.field)
    if source.documents is not None:
        made = batches_of(source.documents, reading.invalid)
    else:
        made = _all_batches(source, reading, raw or Raw(source))
    return one_side(source.name, made, reading)


def _all_batches(source: Input, reading: Reading, raw: Raw) -> Generator[Batch, None, None]:
    try:
        with naming_remote(source):
            form, compression = source.form or recognise(source.name, raw, reading.input_format)
            if form == "parquet":
                yield from read_rows(raw, reading)
                return
            read = _unpacked(raw, compression)
            if form == "json":
                form, read = text_or_lines(read)
            documents_of = read_json_lines if form == "jsonl" else _read_text
            yield from documents_of(read, raw, reading)
            if source.is_part:
                status = os.stat(source.name)
                if (status.st_size, status.st_mtime_ns) != (source.whole, source.changed):
                    raise ValueError(f"{source.name}: changed while it was read")
    finally:
        raw.close()


def _unpacked(raw: Raw, compression: str | None) -> Callable[[int], bytes]:
    """Return a function that reads the content; a truncated compressed input is an error."""
    if compression is None:
        return raw.read
    broken = f"{raw.name}: incomplete or broken {compression}"
    if not raw.head():
        raise ValueError(f"{broken}: it is empty")
    return _gunzipped(raw, broken) if compression == "gzip" else _decompressed(raw, compression, broken)


def _gunzipped(raw: Raw, broken: str) -> Callable[[int], bytes]:
    gunzip = Gunzip()

    def read(size: int) -> bytes:
        while True:
            try:
                block = gunzip.read(size)
            except ValueError as error:
                raise ValueError(f"{broken}: {error}") from None
            if block is not None:
                return block
            gunzip.take_block(raw.read(PACKED))

    return read


def _decompressed(raw: Raw, compression: str, broken: str) -> Callable[[int], bytes]:
    arrow = needed("pyarrow", f"reading {compression}")
    stream = arrow.CompressedInputStream(arrow.PythonFile(raw, mode="r"), compression)

    def read(size: int) -> bytes:
        try:
            block: bytes = stream.read(size)
        except OSError as error:
            if error.errno is not None:
                raise
            raise ValueError(f"{broken}: {error}") from None
        return block

    return read


def _read_text(read: Callable[[int], bytes], raw: Raw, reading: Reading) -> Iterator[Batch]:
    """Yield the whole text, or the texts that separators end; an empty rest is not a document.

    A long document comes in pieces, cut where this changes no pretoken, unless it may be skipped. If there is
    no place to cut, twice as much is gathered before the next search.
    """
    cut = None if reading.invalid == "skip" else reading.cut
    found = FileTexts((reading.separator or "").encode("utf-8"))
    pieces, longest = _Pieces(raw, reading), 2 * batches.BLOCK
    while block := read(min(PIECE, batches.BLOCK)):
        found.take_block(block)
        if not len(found):
            check_whole(raw.name, found.size, int(reading.max_document))
        if found.size < batches.BLOCK:
            continue
        if len(found):
            longest = 2 * batches.BLOCK
            yield pieces.batch(found.take())
        elif cut is not None and found.size >= longest:
            rest = found.take_rest()
            place = cut(rest)
            found.take_block(rest[place or 0 :])
            longest = 2 * (len(rest) if place is None else batches.BLOCK)
            if place is not None:
                yield pieces.batch([rest[:place]], goes_on=True)
    if len(found):
        yield pieces.batch(found.take())
    rest = found.take_rest()
    yield pieces.batch([rest] if rest or pieces.begun or reading.separator is None else [])


class _Pieces:
    """Makes batches of documents and of pieces of long ones, which have the number of their document."""

    def __init__(self, raw: Raw, reading: Reading) -> None:
        self._raw, self._invalid = raw, reading.invalid
        self._number = self.begun = 0
        """The number of the first document, and how many bytes of it were in earlier batches."""
        self._is_repaired = False
        """Whether an earlier piece of the first document was repaired: it is told once."""

    def batch(self, texts: Sequence[bytes], *, goes_on: bool = False) -> Batch:
        """Return the next batch; if the last text `goes_on`, it is the only one."""
        kept, affected = repaired(texts, self._invalid)
        is_first = bool(affected) and not is_text(texts[0])
        affected -= self._is_repaired and is_first
        batch = Batch(kept, self._number, self.begun, goes_on, affected, self._raw.size)
        self._is_repaired = goes_on and (self._is_repaired or is_first)
        self.begun = self.begun + len(texts[0]) if goes_on else 0
        self._number += len(texts) - goes_on
        return batch
