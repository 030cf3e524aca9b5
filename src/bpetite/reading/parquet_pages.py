"""A column of a Parquet file in, its texts out, page by page, with the help of the engine.

The engine also reads the metadata of columns: pyarrow ends the process if these are damaged.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from bpetite._engine import PageTexts, column_chunks
from bpetite._internal.lazy import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HEADERS = (1 << 8, 1 << 16, 1 << 22)
"""The number of bytes that are read for a page header, which may contain two texts of the page."""

_USUAL = 1 << 24
"""Larger pages get memory of their own, which the engine uses in place until the next page."""

_SNAPPY = 1
CODECS = {0: None, _SNAPPY: None, 2: "gzip", 6: "zstd"}
"""The names of compressions that pyarrow unpacks for the engine."""

_MOST = {0: 1, _SNAPPY: 22, 2: 1032, 6: 1 << 15}
"""The maximum number of bytes for each compressed byte: a copy of 64 bytes takes 3 in Snappy, one of 258
takes 2 bits in gzip, and a block of 2^17 takes 4 bytes in zstd."""


class ColumnChunk(NamedTuple):
    """A column in a row group."""

    encodings: list[int]
    codec: int
    values: int
    unpacked: int
    packed: int
    start: int


def chunks_of(file: BinaryIO, column: int) -> list[ColumnChunk] | None:
    """Return the place of a column in each row group; None if the metadata are unclear."""
    file.seek(-8, os.SEEK_END)
    size = int.from_bytes(file.read(4), "little")
    file.seek(-8 - size, os.SEEK_END)
    chunks = column_chunks(file.read(size), column)
    return None if chunks is None else [ColumnChunk(*told) for told in chunks]


class Pages:
    """The pages of a column in a row group, one after the other."""

    def __init__(self, arrow: Any, raw: Any, found: PageTexts) -> None:
        self._arrow = arrow
        self._raw = raw
        self._found = found
        self._room = np.empty(0, np.uint8)
        self.place = self._end = self._most = self._ratio = 0
        self._is_snappy = False
        self._codec: Any = None

    def begin_chunk(self, chunk: ColumnChunk) -> None:
        """Go to the first page of a row group."""
        self.place, self._end, self._most = chunk.start, chunk.start + chunk.packed, chunk.unpacked
        self._is_snappy, self._ratio = chunk.codec == _SNAPPY, _MOST[chunk.codec]
        codec = CODECS[chunk.codec]
        self._codec = self._arrow.Codec(codec) if codec else None

    def take_next(self, most: int) -> int | None:
        """Let the engine take a page of at most this many rows; return their number, None if it refuses."""
        header = self._header()
        if header is None:
            return None
        length, packed, unpacked = header
        self.place += length
        if packed > self._end - self.place or unpacked > min(self._most, self._ratio * packed):
            return None
        page = self._page(packed)
        self.place += packed
        if self._codec is not None:
            try:
                page = self._codec.decompress(page, unpacked, asbytes=True)
            except (self._arrow.ArrowException, OSError):
                return None
        return self._found.take_page(page, self._is_snappy, most)

    def _header(self) -> tuple[int, int, int] | None:
        for size in _HEADERS:
            header = self._found.take_header(self._read(min(size, self._end - self.place)))
            if header is not None:
                return header
        return None

    def _page(self, size: int) -> NDArray[np.uint8] | bytes:
        if size > _USUAL:
            return self._read(size)
        if len(self._room) < size:
            self._room = np.empty(2 * size, np.uint8)
        page = self._room[:size]
        self._raw.seek(self.place)
        return page[: self._raw.readinto(page) or 0]

    def _read(self, size: int) -> bytes:
        self._raw.seek(self.place)
        read: bytes = self._raw.read(max(size, 0))
        return read
