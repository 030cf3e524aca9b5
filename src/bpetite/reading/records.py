"""A file of records, such as lines, in parts that begin and end with a record.

    a record | a record | a long record            | a record     large.jsonl
    part 1              | part 2                   | part 3       parts of at least `size` bytes

Only the bytes behind the nominal end of a part are searched for a separator.
"""

from collections.abc import Iterator
from itertools import chain, pairwise
from typing import BinaryIO

from bpetite.reading.raw import Raw
from bpetite.reading.sources import Input

_PIECE = 1 << 16
"""The number of bytes that are searched at a time."""


def stretches(source: Input, raw: Raw, separator: bytes, size: int) -> Iterator[Input]:
    """Yield parts of a plain file; none if copies of the separator may overlap, or if the file is small."""
    overlaps = any(separator.startswith(separator[cut:]) for cut in range(1, len(separator)))
    if overlaps or size >= source.whole:
        return
    for span in pairwise(chain([0], _begins(raw.file(), source.whole, separator, size), [source.whole])):
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
