"""A column of a Parquet file in, its texts out, page by page, with the help of the engine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from bpetite._engine import PageTexts, Unsnappy
from bpetite._internal.lazy import numpy as np
from bpetite._internal.parquet_metadata import ColumnChunk
from bpetite.reading import batches
from bpetite.reading.batches import PIECE
from bpetite.reading.process_memory import refuse_beyond
from bpetite.reading.unpacking import PACKED, unpacked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from numpy.typing import NDArray

_HEADERS = (1 << 8, 1 << 16, 1 << 22)
"""The number of bytes that are read for a page header, which may contain two texts of the page."""

USUAL = 1 << 24
"""Larger pages get memory of their own, which the engine uses in place until the next page."""

STREAMED = 1 << 24
"""Larger pages come in blocks, if they can: this takes less memory and more time."""

_COPIES = 2
"""How many times a text that must be whole is in memory beside its page: in a batch, and hashed."""

_SNAPPY, _GZIP = 1, 2
CODECS = {0: None, _SNAPPY: None, _GZIP: "gzip", 6: "zstd"}
"""The names of compressions that pyarrow unpacks for the engine."""

_MOST = {0: 1, _SNAPPY: 22, _GZIP: 1032, 6: 1 << 15}
"""The maximum number of bytes for each compressed byte: a copy of 64 bytes takes 3 in Snappy, one of 258
takes 2 bits in gzip, and a block of 2^17 takes 4 bytes in zstd."""


class Pages:
    """The pages of a column in a row group, one after the other.

    A large page comes in blocks if texts of more than `longest` bytes may be cut, and if its codec and its
    encoding allow it.
    """

    def __init__(self, arrow: Any, name: str, raw: Any, found: PageTexts, longest: int) -> None:
        self._arrow = arrow
        self._name = name
        self._raw = raw
        self._found = found
        self._longest = longest
        self._room = np.empty(0, np.uint8)
        self.place = self._end = self._most = self._ratio = self._kind = 0
        self._codec: Any = None
        self._may_stream = False
        self.blocks: Blocks | None = None
        """The strings of the last page, if it comes in blocks."""
        self._dictionary: _Dictionary | None = None

    def begin_chunk(self, chunk: ColumnChunk) -> None:
        """Go to the first page of a row group."""
        self.place, self._end, self._most = chunk.start, chunk.start + chunk.packed, chunk.unpacked
        self._kind, self._ratio = chunk.codec, _MOST[chunk.codec]
        codec = CODECS[chunk.codec]
        self._codec = self._arrow.Codec(codec) if codec else None
        self._may_stream, self._dictionary, self.blocks = True, None, None

    def take_next(self, most: int) -> int | None:
        """Let the engine take a page of at most this many rows; return their number, None if it refuses."""
        start, self.blocks = self.place, None
        header = self._header()
        if header is None:
            return None
        length, packed, size, is_packed, is_dictionary = header
        kind, ratio = (self._kind, self._ratio) if is_packed else (0, 1)
        self.place += length
        if packed > self._end - self.place or size > min(self._most, ratio * packed):
            return None
        if self._may_stream and size > max(self._longest, STREAMED):
            page = _Packed(self._name, self._raw, self.place, packed, size, kind)
            rows = self._stream_dictionary(page, start) if is_dictionary else self._stream(page, most)
            if rows is not None:
                self.place += packed
                return rows
            self.place = start
            self._header()
            self.place += length
        rows = self._take_whole(packed, size, kind, most)
        if rows and self._dictionary is not None and not self._found.are_in_order(self._dictionary.place):
            self._may_stream, self.place, self._dictionary = False, self._dictionary.start, None
            if self.take_next(most) is None:
                return None
            self.place = start
            return self.take_next(most)
        return rows

    def largest(self, chunk: ColumnChunk) -> int:
        """Return the size of the largest page, uncompressed; of all pages if a header is not understood."""
        largest, self.place, self._end = 0, chunk.start, chunk.start + chunk.packed
        while self.place < self._end:
            if (header := self._header()) is None:
                return chunk.unpacked
            length, packed, size, *_ = header
            largest, self.place = max(largest, size), self.place + length + packed
        return largest

    def next_long(self) -> Iterator[bytes]:
        """Return the next row, which stands in a dictionary that is not in memory."""
        place, size = self._found.next_absent, self._found.next_size
        self._found.skip_row()
        if self._dictionary is None or place is None:
            raise ValueError(f"{self._name}: changed while it was read")
        return self._dictionary.text(place, size)

    def _stream(self, page: _Packed, most: int) -> int | None:
        """Begin a page in blocks."""
        if (blocks := page.blocks()) is None:
            return None
        first = blocks.next()
        begun = self._found.begin_stream(first, most)
        if begun is None:
            return None
        start, rows = begun
        blocks.put_back(first[start:])
        self.blocks = blocks
        return rows

    def _stream_dictionary(self, page: _Packed, start: int) -> int | None:
        """Keep the short strings of a dictionary, and the places of the others."""
        if (blocks := page.blocks()) is None or self._found.begin_stream(b"", sys.maxsize) is None:
            return None
        try:
            while block := blocks.next():
                if not self._found.stream_dictionary(block, blocks.place - len(block)):
                    return None
        except (self._arrow.ArrowException, OSError, ValueError):
            return None
        if not self._found.has_streamed:
            return None
        self._dictionary = _Dictionary(page, start)
        return 0

    def _take_whole(self, packed: int, size: int, kind: int, most: int) -> int | None:
        if size > USUAL:
            held = size if kind == 0 else size + packed
            held += _COPIES * size if self._longest == sys.maxsize else 0
            refuse_beyond(held, f"{self._name}: a page of Parquet that cannot be read in pieces")
        page = self._page(packed)
        self.place += packed
        if self._codec is not None and kind != 0:
            try:
                page = self._codec.decompress(page, size, asbytes=True)
            except (self._arrow.ArrowException, OSError):
                return None
        return self._found.take_page(page, kind == _SNAPPY, most)

    def _header(self) -> tuple[int, int, int, bool, bool] | None:
        for size in _HEADERS:
            header = self._found.take_header(self._read(min(size, self._end - self.place)))
            if header is not None:
                return header
        return None

    def _page(self, size: int) -> NDArray[np.uint8] | bytes:
        if size > USUAL:
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


class Blocks:
    """The bytes of a page, uncompressed, block by block."""

    def __init__(self, name: str, read: Callable[[int], bytes], size: int) -> None:
        self._name = name
        self._read = read
        self._size = size
        self._rest = b""
        self.place = 0
        """The number of bytes that were handed out."""

    def next(self) -> bytes:
        """Return the next bytes, none at the end of the page."""
        size = min(PIECE, batches.BLOCK)
        block = self._rest or self._read(size)
        block, self._rest = block[:size], block[size:]
        self.place += len(block)
        if self.place > self._size or (not block and self.place < self._size):
            raise ValueError(f"{self._name} has not the size that it says")
        return block

    def put_back(self, rest: bytes) -> None:
        """Hand out the end of the last block once more."""
        self._rest = rest + self._rest
        self.place -= len(rest)

    def take(self, size: int) -> Iterator[bytes]:
        """Yield so many bytes."""
        while size:
            if not (block := self.next()):
                raise ValueError(f"{self._name} breaks off")
            if len(block) > size:
                self.put_back(block[size:])
            yield block[:size]
            size -= min(size, len(block))


class _Packed:
    """A page in a file."""

    def __init__(self, name: str, raw: Any, start: int, packed: int, size: int, kind: int) -> None:
        self.name = f"{name}: broken Parquet: a page"
        self._raw = raw
        self._start, self._end = start, start + packed
        self._place = start
        self._size = size
        self._kind = kind
        self._is_known = False
        """Whether it is Snappy that comes in pieces."""

    def blocks(self) -> Blocks | None:
        """Return its bytes from the beginning; None if they cannot be had in blocks."""
        self._place = self._start
        if self._kind == _SNAPPY:
            snappy = self._snappy()
            return None if snappy is None else Blocks(self.name, snappy, self._size)
        if self._kind == _GZIP and not self.head().startswith(b"\x1f\x8b"):
            return None
        return Blocks(self.name, unpacked(self, CODECS[self._kind]), self._size)

    def _snappy(self) -> Callable[[int], bytes] | None:
        """Look whether no copy reaches back too far; return a function that unpacks the page."""
        snappy = Unsnappy()
        try:
            while not self._is_known and (piece := self.read(PIECE)):
                snappy.look(piece)
        except ValueError:
            return None
        self._is_known = self._is_known or snappy.size == self._size
        if not self._is_known:
            return None
        self._place = self._start

        def read(size: int) -> bytes:
            block = b""
            while not block and (piece := self.read(PACKED)):
                block = snappy.unpack(piece)
            return block

        return read

    # What `unpacked` needs

    def head(self) -> bytes:
        """Return the first bytes without consuming them."""
        self._raw.seek(self._start)
        head: bytes = self._raw.read(min(16, self._end - self._start))
        return head

    def read(self, size: int) -> bytes:
        """Return the next bytes as they are in the file, none at the end of the page."""
        self._raw.seek(self._place)
        read: bytes = self._raw.read(min(size, self._end - self._place))
        self._place += len(read)
        return read


class _Dictionary:
    """The page of a dictionary whose long strings are not in memory, but read again in their order."""

    def __init__(self, page: _Packed, start: int) -> None:
        self._page = page
        self.start = start
        """The place of its header."""
        self._blocks: Blocks | None = None

    @property
    def place(self) -> int:
        """The place of the first string that can still be read."""
        return self._blocks.place if self._blocks is not None else 0

    def text(self, place: int, size: int) -> Iterator[bytes]:
        """Yield a string."""
        if self._blocks is None:
            self._blocks = self._page.blocks()
        if self._blocks is None or place < self._blocks.place:
            raise ValueError(f"{self._page.name}: it changed while it was read")
        for _ in self._blocks.take(place - self._blocks.place):
            pass
        yield from self._blocks.take(size)
