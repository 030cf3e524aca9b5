"""An input in, its documents out, in order and in batches of a few megabytes.

Its name and its first bytes must agree on its format (`formats.py` lists all). A document is a whole text
file, a text between separators, the text field of a line, or the text column of a row. Memory is bounded by
the largest document, or by a few megabytes if the pattern allows documents to be cut (`Reading.cut`).
"""

import os
from collections.abc import Callable, Generator

from bpetite._engine import Gunzip
from bpetite._internal.lazy import needed
from bpetite.reading.batches import Batch, batches_of, one_side
from bpetite.reading.formats import reader_of
from bpetite.reading.options import Reading
from bpetite.reading.raw import Raw
from bpetite.reading.recognition import recognise, recognise_packed
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
            form, compression = source.form or recognise(source, raw, reading)
            read: Callable[[int], bytes] = raw.read
            if compression is not None:
                form, read = recognise_packed(source, _unpacked(raw, compression), compression, reading)
            yield from reader_of(form).documents(read, raw, reading)
            if source.is_part:
                status = os.stat(source.name)
                if (status.st_size, status.st_mtime_ns) != (source.whole, source.changed):
                    raise ValueError(f"{source.name}: changed while it was read")
    finally:
        raw.close()


def _unpacked(raw: Raw, compression: str) -> Callable[[int], bytes]:
    """Return a function that reads the content; a truncated compressed input is an error."""
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
