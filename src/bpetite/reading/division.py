"""An input in, parts of it that can be read independently out, in order.

    a record | a record | a long record            | a record     large.jsonl
    part 1              | part 2                   | part 3       parts of at least `size` bytes

A part is a range of the file that begins and ends with a record, so only the bytes behind its nominal end are
searched for a separator. Plain text with separators and plain JSON lines have such places, and so do the row
groups of Parquet. An input that is compressed or not local is one part.
"""

from collections.abc import Iterator
from contextlib import closing
from itertools import chain, pairwise
from typing import BinaryIO

from bpetite.reading.options import Reading
from bpetite.reading.parquet import row_group_sizes
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
    total = status.st_size
    with closing(Raw(source)) as raw:
        form, compression = recognise(source.name, raw, reading.input_format)
        source = source._replace(form=(form, compression), whole=total, changed=status.st_mtime_ns)
        separator = _separator(form, reading)
        if form == "parquet":
            yield from _row_groups(source, row_group_sizes(raw, source.field or reading.text_column), size)
        elif compression is None and separator is not None and size < total:
            for span in pairwise(chain([0], _begins(raw.file(), total, separator, size), [total])):
                yield source._replace(span=span)


def _separator(form: str, reading: Reading) -> bytes | None:
    """Return the separator of records, if it can be searched from any place: copies of it never overlap."""
    if form == "jsonl":
        return b"\n"
    if form != "text" or reading.separator is None:
        return None
    separator = reading.separator.encode("utf-8")
    overlaps = any(separator.startswith(separator[cut:]) for cut in range(1, len(separator)))
    return None if overlaps else separator


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


def _row_groups(source: Input, sizes: list[int], size: int) -> Iterator[Input]:
    """Yield row groups of about that size together."""
    first = taken = 0
    for number, group in enumerate(sizes, 1):
        taken += group
        if taken >= size or number == len(sizes):
            span = (source.whole * first // len(sizes), source.whole * number // len(sizes))
            yield source._replace(span=span, row_groups=(first, number))
            first, taken = number, 0
