"""Inputs in, batches of a few megabytes of their documents out, read by several threads.

    inputs -> parts (`division.py`, where a format allows it; small files are read together)
    part   -> bytes (`raw.py`) -> unpacked bytes -> documents (the module of its format) -> batches

The name and the first bytes of an input must agree on its format (`formats.py` lists all). A
document is a whole text file, a text between separators, the text field of a line, or the text
column of a row. Memory is bounded by the largest document, or by a few megabytes if the pattern
allows documents to be cut (`Reading.cut`).

A part does not know the number of the line or document for its error; to find it, the input is read
once more as a whole.
"""

import contextlib
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import chain, groupby, islice
from typing import Any, NamedTuple

from bpetite._engine import Gunzip
from bpetite._internal.lazy import needed
from bpetite.reading.batches import (
    Batch,
    ReadInput,
    batches_of,
    one_side,
    refuse_invalid,
    text_bytes,
)
from bpetite.reading.division import divide
from bpetite.reading.formats import reader_of
from bpetite.reading.options import Reading
from bpetite.reading.raw import Raw, hash_input, hash_of
from bpetite.reading.recognition import is_only_text, named_format, recognise, recognise_packed
from bpetite.reading.sources import Input, naming_remote
from bpetite.reading.threads import Steps, in_threads

_SMALL = 1 << 14
"""A file of at most this size is small: its fixed costs exceed those of reading it."""

_TOGETHER = 128
"""The maximum number of small files that are read together: at most about a batch."""

PACKED = 1 << 16
"""The number of compressed bytes that are unpacked at a time, for about one block of content."""

Item = tuple[Input, Batch, int]
"""An input or a part of one, what was read of it, and the number of bytes that this took."""


def read_all(
    inputs: Iterable[Input],
    reading: Reading,
    threads: int,
    *,
    in_order: bool = True,
    hashed: bool = False,
) -> Generator[Item, None, None]:
    """Yield the batches of inputs; an empty one with `ended` comes last of each, unless it is small.

    Out of order, batches are checked here: invalid text is an error. In order, this is left to the
    caller, to whom they come as the input has them.
    """
    parts = _parts(inputs, reading, threads)
    first = list(islice(parts, 2))
    is_alone = threads == 1 or len(first) < 2
    reader = _Reader(reading, not in_order and reading.invalid == "error", hashed)
    parts = chain(first, parts)
    del first
    if is_alone:
        for part in parts:
            for made, _ in reader.part(part):
                yield from made
    else:
        yield from in_threads(parts, reader.part, threads, in_order=in_order)


def _parts(inputs: Iterable[Input], reading: Reading, threads: int) -> Iterator[Sequence[Input]]:
    """Yield parts of large inputs, and several consecutive small files as one part."""
    for is_small, group in groupby(inputs, lambda found: _is_small(found, reading)):
        while is_small and (together := list(islice(group, _TOGETHER))):
            yield together
        for found in group:
            yield from ([part] for part in (divide(found, reading) if threads > 1 else [found]))


def _is_small(found: Input, reading: Reading) -> bool:
    """Whether an input is a small file of text that can be read together with others."""
    if found.found_size is None or found.found_size > _SMALL or found.is_part:
        return False
    if reading.invalid != "error" or reading.hold_out is not None:
        return False
    return named_format(found.name, reading.input_format) == "text"


@contextlib.contextmanager
def naming_invalid(
    source: Input, batch: Batch, reading: Reading, encode: Callable[[Sequence[Any]], object]
) -> Iterator[None]:
    """Turn an error about texts, of an input or of documents, into one that names the document."""
    try:
        yield
    except ValueError:
        for one in _read_again(source, reading) if source.is_part else [batch]:
            _refuse_encoded(source.name, one, encode)
        raise


def _read_again(source: Input, reading: Reading) -> Iterator[Batch]:
    """Read an input as a whole, to refuse what is invalid by its number and place in the whole."""
    source = source._replace(span=None, row_groups=None)
    for batch in read_batches(source, reading):
        refuse_invalid(source.name, batch)
        yield batch


def _refuse_encoded(name: str, batch: Batch, encode: Callable[[Sequence[Any]], object]) -> None:
    """Refuse a document that cannot be encoded, such as one with a special token that is an error."""
    refuse_invalid(name, batch)
    for place, text in enumerate(batch.texts):
        try:
            encode([text])
        except ValueError as error:
            begin = f" from byte {batch.begun}" if batch.begun and not place else ""
            raise ValueError(f"{name}: document {batch.first + place}{begin}: {error}") from None


class _Reader(NamedTuple):
    """Reads parts."""

    reading: Reading
    is_checked: bool
    is_hashed: bool

    def part(self, sources: Sequence[Input]) -> Steps[Item]:
        """Yield the batches of a part."""
        if len(sources) > 1:
            with contextlib.suppress(
                ValueError, OSError
            ):  # It is raised when they are read one by one.
                batch = self._together(sources)
                yield [(sources[0], batch, sum(ended.bytes for ended in batch.ended))], True
                return
        for source in sources:
            for item in self._one(source):
                yield [item], False

    def _one(self, source: Input) -> Iterator[Item]:
        read = 0
        is_hashed = self.is_hashed and source.status() is not None
        raw = Raw(source, hashed=not source.is_part) if is_hashed else None
        try:
            with contextlib.closing(read_batches(source, self.reading, raw)) as made:
                for batch in made:
                    if self.is_checked:
                        refuse_invalid(source.name, batch)
                    yield source, batch, batch.read - read
                    read = batch.read
        except ValueError:
            if source.is_part:
                for _ in _read_again(source, self.reading):
                    pass
            raise
        if source.span is None or source.span[1] == source.whole:  # It is the end of a file.
            # A file that was not read from its beginning to its end is read once more.
            digest = (raw.digest or hash_input(source.name)[1]) if raw else ""
            yield source, Batch([], ended=[ReadInput(source.name, source.whole or read, digest)]), 0

    def _together(self, sources: Sequence[Input]) -> Batch:
        """Read small files together; one that is not what its name and size promise is refused."""
        texts: list[bytes] = []
        ended = []
        for source in sources:
            with open(source.name, "rb", buffering=0) as file:
                content = file.read(_SMALL + 1)
            if len(content) > _SMALL or not is_only_text(content, source, self.reading):
                raise ValueError(f"{source.name}: not a small file of text")
            documents = self._split(content)
            texts += documents
            digest = hash_of(content) if self.is_hashed else ""
            size = text_bytes(documents)
            ended.append(
                ReadInput(source.name, len(content), digest, len(documents), text_bytes=size)
            )
        batch = Batch(texts, ended=ended)
        refuse_invalid("", batch)
        return batch

    def _split(self, content: bytes) -> list[bytes]:
        """Return the documents of a text file."""
        separator = (self.reading.separator or "").encode("utf-8")
        *texts, rest = content.split(separator) if separator else [content]
        return texts if separator and not rest else [*texts, rest]


# One input or part
# ---------------------------------------------------------------------------------------


def read_batches(
    source: Input, reading: Reading, raw: Raw | None = None
) -> Generator[Batch, None, None]:
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
                form, read = recognise_packed(
                    source, _unpacked(raw, compression), compression, reading
                )
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
    return (
        _gunzipped(raw, broken)
        if compression == "gzip"
        else _decompressed(raw, compression, broken)
    )


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
