"""A Parquet file in, what its columns take and how they are encoded out, or the file as pyarrow reads it.

pyarrow ends the process if the metadata of a column are damaged, so they are read here: a tree of numbered
fields, in the compact protocol of Thrift.
"""

from __future__ import annotations

import os
from typing import Any, BinaryIO, NamedTuple

from bpetite._internal.types import Path

_ROW_GROUPS, _COLUMNS, _IN_OTHER_FILE, _METADATA, _ENCODINGS, _UNPACKED = 4, 1, 1, 3, 2, 6
"""The numbers of fields: of a file, a row group, a column in it (twice), and the metadata of that (twice)."""


class ColumnChunk(NamedTuple):
    """A column in a row group."""

    encodings: list[int]
    unpacked: int
    """The number of bytes that it takes in memory."""


def chunks_of(file: BinaryIO) -> list[list[ColumnChunk]] | None:
    """Return the columns of each row group; None if the metadata are unclear."""
    file.seek(-8, os.SEEK_END)
    size = int.from_bytes(file.read(4), "little")
    try:
        file.seek(-8 - size, os.SEEK_END)
        groups = _Thrift(file.read(size)).structure()[_ROW_GROUPS]
        return [[_chunk(column) for column in group[_COLUMNS]] for group in groups]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def _chunk(column: dict[int, Any]) -> ColumnChunk:
    if _IN_OTHER_FILE in column:
        raise ValueError
    metadata = column[_METADATA]
    encodings, unpacked = metadata[_ENCODINGS], metadata[_UNPACKED]
    if not isinstance(unpacked, int) or unpacked < 0:
        raise ValueError
    return ColumnChunk(list(encodings), unpacked)


class _Thrift:
    """Reads structures of fields; what cannot be one is a ValueError or a LookupError."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._place = 0

    def structure(self) -> dict[int, Any]:
        """Read the fields up to the end of a structure."""
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            fields[number] = self._value(head & 15)
        return fields

    def _value(self, kind: int) -> Any:
        if kind in (1, 2):  # true, false
            return kind == 1
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._integer()
        if kind in (7, 8):  # a floating-point number, bytes
            return self._skip(8 if kind == 7 else self._natural())
        if kind in (9, 10):
            return self._items()
        if kind == 12:
            return self.structure()
        raise ValueError

    def _items(self) -> list[Any]:
        head = self._byte()
        kind, count = head & 15, head >> 4
        if count == 15:
            count = self._natural()
        return [self._byte() if kind in (1, 2) else self._value(kind) for _ in range(count)]

    def _byte(self) -> int:
        self._place += 1
        return self._content[self._place - 1]

    def _skip(self, size: int) -> None:
        self._place += size

    def _natural(self) -> int:
        number = shift = 0
        while (byte := self._byte()) > 127 and shift < 64:
            number |= (byte & 127) << shift
            shift += 7
        return number | byte << shift

    def _integer(self) -> int:
        number = self._natural()
        return (number >> 1) ^ -(number & 1)


def opened_parquet(path: Path, **options: Any) -> Any:
    """Open a file with pyarrow by the bytes of its name, which need not be UTF-8."""
    import pyarrow.parquet

    return pyarrow.parquet.ParquetFile(pyarrow.OSFile(os.fsencode(path)), pre_buffer=False, **options)
