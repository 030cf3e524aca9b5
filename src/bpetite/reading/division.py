"""An input in, parts of it that can be read independently out, in order.

The module of each format divides its files. An input that is compressed or not local is one part. A
file of records, such as lines, is divided where a record begins:

    a record | a record | a long record            | a record     large.jsonl
    part 1              | part 2                   | part 3       parts of at least `size` bytes

Only the bytes behind the nominal end of a part are searched for a separator.
"""

from collections.abc import Iterator
from contextlib import closing
from itertools import chain, pairwise
from typing import BinaryIO

from bpetite.reading.formats import reader_of
from bpetite.reading.options import Reading
from bpetite.reading.raw import Raw
from bpetite.reading.recognition import recognise
from bpetite.reading.sources import Input

PART_BYTES = 1 << 21
"""The approximate size of a part: at most that of a batch, so that a part that is read early can wait."""

_PACKED = 4
"""Files of Parquet hold about so many times their size."""

_PIECE = 1 << 16
"""The number of bytes that are searched at a time."""


def divide(source: Input, reading: Reading, size: int | None = None) -> Iterator[Input]:
    """Yield parts of about that size; together they have the same documents in the same order.

    Errors in an input are left to its reader.
    """
    parts = _parts(source, reading, PART_BYTES if size is None else size)
    try:
        first = next(parts, source)
    except (ValueError, OSError, ImportError):
        first = source
    yield first
    yield from parts


def _parts(source: Input, reading: Reading, size: int) -> Iterator[Input]:
    status = None if source.is_part else source.status()
    if status is None or status.st_size <= size // _PACKED:
        return
    with closing(Raw(source)) as raw:
        form, compression = recognise(source, raw, reading)
        if compression is not None:
            return
        changed = status.st_mtime_ns
        source = source._replace(form=(form, compression), whole=status.st_size, changed=changed)
        yield from reader_of(form).parts(source, raw, reading, size)


def stretches(source: Input, raw: Raw, separator: bytes, size: int) -> Iterator[Input]:
    """Yield parts of a plain file; none if copies of the separator may overlap, or if the file is small."""
    overlaps = any(separator.startswith(separator[cut:]) for cut in range(1, len(separator)))
    if overlaps or size >= source.whole:
        return
    for span in pairwise(
        chain([0], _begins(raw.file(), source.whole, separator, size), [source.whole])
    ):
        yield source._replace(span=span)


def _begins(file: BinaryIO, total: int, separator: bytes, size: int) -> Iterator[int]:
    """Yield where records begin, at least `size` bytes from each other."""
    begin = _begin_behind(file, size, separator)
    while begin is not None and begin < total:
        yield begin
        begin = _begin_behind(file, begin + size, separator)


def _begin_behind(file: BinaryIO, place: int, separator: bytes) -> int | None:
    """Return where the first record behind a place begins; None if there is none."""
    while True:
        file.seek(place)
        block = file.read(_PIECE)
        found = block.find(separator)
        if found >= 0:
            return place + found + len(separator)
        if len(block) < len(separator):
            return None
        place += len(block) - len(separator) + 1  # It may have begun.
