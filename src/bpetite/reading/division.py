"""An input in, parts of it that can be read independently out, in order.

A part is a range of the file. It has the records whose separators begin in it (the first part also the first
record); its reader continues past its end until the last of them ends. So parts are found without reading
records. They begin anywhere in plain text with separators and in plain JSON lines, at a member of gzip, at a
frame of zstd, and at a row group of Parquet. An input that is not local, or has none of these, is one part.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import pairwise
from typing import BinaryIO

from bpetite.reading.options import Reading
from bpetite.reading.parquet import row_group_sizes
from bpetite.reading.raw import Raw
from bpetite.reading.recognition import recognise
from bpetite.reading.sources import Input

PART_BYTES = 1 << 21
"""The approximate size of a part: at most that of a batch, so that a part that is read early can wait."""

_PACKED = 4
"""The factor by which parts of compressed inputs are smaller, as their texts are about as much larger."""

_MEMBER = b"\x1f\x8b\x08"
_TRIED = 1 << 16
"""The number of bytes that are unpacked to see whether a member of gzip begins at a place."""

_SEARCHED = 1 << 26
"""If no second member begins within this many bytes, only one is assumed."""

_BLOCK = 1 << 20

_FRAME = 0xFD2FB528
_SKIPPED_FRAME = range(0x184D2A50, 0x184D2A60)


def divide(source: Input, reading: Reading, size: int | None = None) -> list[Input]:
    """Return parts of about that size; together they have the same documents in the same order.

    Errors in an input are left to its reader.
    """
    try:
        parts = list(_parts(source, reading, PART_BYTES if size is None else size))
    except (ValueError, OSError, ImportError):
        parts = []
    return parts if len(parts) > 1 else [source]


def _parts(source: Input, reading: Reading, size: int) -> Iterator[Input]:
    status = None if source.is_part else source.status()
    if status is None or status.st_size <= size // _PACKED:
        return
    total = status.st_size
    with closing(Raw(source)) as raw:
        form, compression = recognise(source.name, raw, reading.input_format)
        source = source._replace(form=(form, compression), whole=total, changed=status.st_mtime_ns)
        if form == "parquet":
            yield from _row_groups(source, raw, reading, size)
        elif separator_of(form, reading) is not None:
            bounds: Iterable[int] = range(size, total, size)
            if compression is not None:
                starts = _members if compression == "gzip" else _frames
                bounds = _spaced(starts(raw.file(), total), size // _PACKED)
            for span in pairwise([0, *bounds, total]):
                yield source._replace(span=span)


def separator_of(form: str, reading: Reading) -> bytes | None:
    """Return the separator of records, if it can be searched from any place."""
    if form == "jsonl":
        return b"\n"
    if form != "text" or reading.separator is None:
        return None
    separator = reading.separator.encode("utf-8")
    overlaps = any(separator.startswith(separator[cut:]) for cut in range(1, len(separator)))
    return None if overlaps else separator


def whole_records(
    own: Callable[[int], bytes], beyond: Callable[[int], bytes], separator: bytes, *, is_first: bool
) -> Callable[[int], bytes]:
    """Return a function that reads the records whose separators begin in a part, to the end of the last."""
    blocks = _whole_records(own, beyond, separator, is_first)

    def read(size: int) -> bytes:
        return next((block for block in blocks if block), b"")

    return read


_PIECE = 1 << 18


def _whole_records(
    own: Callable[[int], bytes], beyond: Callable[[int], bytes], separator: bytes, begun: bool
) -> Iterator[bytes]:
    width = len(separator)
    tail = b""  # It may be the beginning of a separator.
    while block := own(_PIECE):
        if not begun:
            block = tail + block
            _, found, rest = block.partition(separator)
            begun = bool(found)
            tail = block[len(block) - width + 1 :]
            if not begun:
                continue
            block = rest
        tail = (tail + block)[-width + 1 :] if width > 1 else b""
        yield block
    # Separators do not overlap: one that begins in this part does not hide the next one.
    behind = b""
    while len(behind) < width and (more := beyond(_PIECE)):
        behind += more
    if not begun:
        place = (tail + behind[: width - 1]).find(separator)
        if place < 0:
            return
        behind = behind[place + width - len(tail) :]
        yield from _up_to(behind, beyond, separator)
        return
    yield from _up_to(behind, beyond, separator)


def _up_to(behind: bytes, beyond: Callable[[int], bytes], separator: bytes) -> Iterator[bytes]:
    """Yield the bytes up to the end of the next separator."""
    place = behind.find(separator)
    while place < 0:
        kept = len(behind) - len(separator) + 1
        if kept > 0:
            yield behind[:kept]
            behind = behind[kept:]
        more = beyond(_PIECE)
        if not more:
            yield behind
            return
        behind += more
        place = behind.find(separator)
    yield behind[: place + len(separator)]


def _row_groups(source: Input, raw: Raw, reading: Reading, size: int) -> Iterator[Input]:
    """Yield row groups of about that size together."""
    sizes = row_group_sizes(raw, reading.text_column)
    first = taken = 0
    for number, group in enumerate(sizes, 1):
        taken += group
        if taken >= size or number == len(sizes):
            span = (source.whole * first // len(sizes), source.whole * number // len(sizes))
            yield source._replace(span=span, row_groups=(first, number))
            first, taken = number, 0


def _spaced(places: Iterator[int], least: int) -> Iterator[int]:
    """Yield places that are at least `size` from each other and from the beginning."""
    last = 0
    for place in places:
        if place - last >= least:
            yield place
            last = place


def _members(file: BinaryIO, total: int) -> Iterator[int]:
    """Yield where members of gzip begin, except the first. A part that does not end with one is refused."""
    start, kept, last = 0, b"", 0
    file.seek(0)
    while block := file.read(_BLOCK):
        block, start = kept + block, start - len(kept)
        place = block.find(_MEMBER)
        while place >= 0:
            if start + place > 0 and _is_member(file, start + place):
                last = start + place
                yield last
            place = block.find(_MEMBER, place + 1)
        start += len(block)
        kept = block[-len(_MEMBER) + 1 :]
        if not last and start > _SEARCHED:
            return
        file.seek(start)


def _is_member(file: BinaryIO, place: int) -> bool:
    """Whether the bytes at a place unpack as gzip, far enough to rule out chance."""
    file.seek(place)
    try:
        zlib.decompressobj(wbits=31).decompress(file.read(_TRIED))
    except zlib.error:
        return False
    return True


def _frames(file: BinaryIO, total: int) -> Iterator[int]:
    """Yield where frames of zstd begin, except the first, as far as the headers of blocks show."""
    place = 0
    while place < total:
        if place > 0:
            yield place
        end = _frame_end(file, place)
        if end is None:
            return
        place = end


def _frame_end(file: BinaryIO, place: int) -> int | None:
    """Return where a frame ends; None if there is no header of a frame."""
    head = _read_at(file, place, 9)
    if len(head) < 9:
        return None
    magic, after, described = struct.unpack("<IIB", head)[0], struct.unpack_from("<I", head, 4)[0], head[4]
    if magic in _SKIPPED_FRAME:
        return place + 8 + int(after)
    if magic != _FRAME:
        return None
    is_single = described >> 5 & 1
    content_size = (is_single, 2, 4, 8)[described >> 6]
    place += 5 + (1 - is_single) + (0, 1, 2, 4)[described & 3] + content_size
    is_last = False
    while not is_last:
        header = _read_at(file, place, 3)
        if len(header) < 3:
            return None
        number = int.from_bytes(header, "little")
        is_last, kind = bool(number & 1), number >> 1 & 3
        place += 3 + (1 if kind == 1 else number >> 3)
    return place + 4 * (described >> 2 & 1)


def _read_at(file: BinaryIO, place: int, size: int) -> bytes:
    file.seek(place, os.SEEK_SET)
    return file.read(size)
