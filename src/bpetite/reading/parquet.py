"""A Parquet file in, the texts of one of its columns out, in batches.

The specification is pyarrow. The engine takes the texts from pages that are certainly well-formed; from the
first other page on, pyarrow reads the rest of the row group.

This takes 53 to 64 % of the processor time of reading with pyarrow alone (Snappy; 84 to 87 % with zstd), and
56 to 65 % of the memory of counting 64 MB (`docs/performance/corpora.md`). Repeated entries of a dictionary
take no memory at all, whereas pyarrow copies them for each row.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any, BinaryIO

from bpetite._engine import Buffers, JoinedTexts, PageTexts
from bpetite._internal.lazy import numpy as np
from bpetite._internal.parquet_metadata import ColumnChunk, chunks_of
from bpetite.reading import batches
from bpetite.reading.batches import PIECE, Batch, Gathered
from bpetite.reading.options import Reading
from bpetite.reading.parquet_pages import CODECS, USUAL, Blocks, Pages
from bpetite.reading.pieces import cut_of, longest_held, pieces_of
from bpetite.reading.process_memory import is_limited, refuse_beyond
from bpetite.reading.raw import Raw
from bpetite.reading.unpacking import needed_pyarrow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from numpy.typing import NDArray

Texts = JoinedTexts | list[bytes | None] | Iterator[bytes]
"""Unchecked texts; None is a null. An iterator is one long text in blocks."""


def column_texts(
    raw: Raw, name: str, size: int, buffers: Buffers, longest: int = sys.maxsize
) -> Iterator[tuple[Texts, int]]:
    """Yield the texts of a column, about `size` bytes at a time, and the approximate position in the file.

    A text of more than `longest` bytes comes in blocks.
    """
    arrow = needed_pyarrow("reading Parquet")
    import pyarrow.parquet

    raw.hash_all()
    try:
        # Without a buffer, for which pyarrow would allocate as much as a page claims to need.
        file = pyarrow.parquet.ParquetFile(raw.file_for(arrow), pre_buffer=False)
        _check_column(arrow, raw.name, file.schema_arrow, name)
        column = _Column(arrow, raw.name, file, name, raw.file(), PageTexts(buffers), longest)
        first, after = raw.row_groups or (0, file.num_row_groups)
        for number in range(first, after):
            for texts in column.texts(number, size):
                known = raw.expected * (number - first) // (after - first)
                yield texts, max(column.pages.place - raw.start, known)
        yield column.found.take(), raw.expected
    except (arrow.ArrowException, OSError) as error:
        raise ValueError(f"{raw.name}: broken Parquet: {error}") from error


def row_group_sizes(raw: Raw, name: str) -> list[int]:
    """Return the uncompressed size of a column in each row group."""
    arrow = needed_pyarrow("reading Parquet")
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(raw.file_for(arrow), pre_buffer=False)
        _check_column(arrow, raw.name, file.schema_arrow, name)
        metadata = file.metadata
        places = [n for n in range(metadata.num_columns) if file.schema.column(n).path == name]
        chunks = chunks_of(raw.file(), places[0]) if len(places) == 1 else None
    except (arrow.ArrowException, OSError) as error:
        raise ValueError(f"{raw.name}: broken Parquet: {error}") from error
    return [chunk.unpacked for chunk in chunks] if chunks and len(chunks) == metadata.num_row_groups else []


def read_rows(raw: Raw, reading: Reading, buffers: Buffers) -> Iterator[Batch]:
    """Yield the text column of every row."""
    gathered = Gathered(raw.name, reading.invalid)
    cut = cut_of(reading)
    longest = sys.maxsize if cut is None else longest_held()
    for texts, read in column_texts(raw, reading.text_column, batches.BLOCK, buffers, longest):
        if cut is not None and isinstance(texts, Iterator):
            for piece, goes_on in pieces_of(raw.name, texts, cut):
                gathered.add(piece)
                yield gathered.take(read, goes_on=goes_on)
            continue
        if isinstance(texts, JoinedTexts):
            gathered.add_joined(texts)
        else:
            gathered.add_rows(texts, reading.text_column)
        yield gathered.take(read)


def _check_column(arrow: Any, path: str, schema: Any, name: str) -> None:
    """Refuse a column that does not exist or is not text."""
    if name not in schema.names:
        raise ValueError(f"{path}: no column {name!r} (there is {', '.join(map(repr, schema.names))})")
    kind = schema.field(name).type
    if arrow.types.is_dictionary(kind):
        kind = kind.value_type
    plain = (arrow.string(), arrow.large_string(), arrow.binary(), arrow.large_binary())
    if kind not in plain and str(kind) not in _VIEWS:
        raise ValueError(f"{path}: column {name!r} is not text but {kind}")


class _Column:
    """A column of strings, row group by row group."""

    def __init__(
        self, arrow: Any, path: str, file: Any, name: str, raw: BinaryIO, found: PageTexts, longest: int
    ) -> None:
        self._arrow = arrow
        self._path = path
        self._longest = longest
        self._file = file
        self._name = name
        self.found = found
        leaves = [file.schema.column(place) for place in range(file.metadata.num_columns)]
        places = [place for place, leaf in enumerate(leaves) if leaf.path == name]
        self._is_optional = any(leaves[place].max_definition_level > 0 for place in places)
        self._size = raw.seek(0, os.SEEK_END)
        self._chunks: list[ColumnChunk] = []
        if [leaves[place].physical_type for place in places] == ["BYTE_ARRAY"]:
            self._chunks = chunks_of(raw, places[0]) or []
        self.pages = Pages(arrow, path, raw, found, longest)

    def texts(self, number: int, size: int) -> Iterator[Texts]:
        """Yield the texts of a row group; the last ones may be left in `found`."""
        count = left = self._file.metadata.row_group(number).num_rows
        if self._has_pages(number, count):
            self.found.begin_group(self._is_optional)
            self.pages.begin_chunk(self._chunks[number])
            while left and (rows := self.pages.take_next(left)) is not None:
                left -= rows
                if self.pages.blocks is not None:
                    yield from self._streamed(self.pages.blocks, size)
                    continue
                while not self.found.gather(size, self._longest) or self.found.size >= size:
                    if len(self.found):
                        yield self.found.take()
                    elif self.found.next_absent is not None:
                        yield self.pages.next_long()
                    elif self.found.next_size > self._longest:
                        yield iter(partial(self.found.take_slice, min(PIECE, batches.BLOCK)), b"")
        if left:
            if len(self.found):
                yield self.found.take()
            for arrays in self._arrays(number, count - left, size):
                yield from _texts_of(arrays, self._longest)

    def _streamed(self, blocks: Blocks, size: int) -> Iterator[Texts]:
        """Yield the texts of a page that comes in blocks; the last ones may be left in `found`."""
        while block := blocks.next():
            place, long = self.found.stream_block(block, 0, self._longest)
            if len(self.found) and (long is not None or self.found.size >= size):
                yield self.found.take()
            if long is not None:
                blocks.put_back(block[place:])
                yield blocks.take(long)
        if not self.found.has_streamed:
            raise ValueError(f"{self._path}: broken Parquet: a page breaks off")

    def _has_pages(self, number: int, rows: int) -> bool:
        """Whether the places and the compression of the pages of a row group are certain."""
        chunk = self._chunks[number] if number < len(self._chunks) else None
        if chunk is None or chunk.codec not in CODECS or chunk.values != rows:
            return False
        return 0 < chunk.start <= self._size and 0 <= chunk.packed <= self._size - chunk.start

    def _arrays(self, number: int, taken: int, size: int) -> Iterator[list[Any]]:
        """Yield the rest of a row group, after the rows that were taken, as read by pyarrow."""
        waiting, waits = [], 0
        group = self._file.metadata.row_group(number)
        whole = group.total_byte_size
        if number < len(self._chunks):
            chunk = self._chunks[number]
            whole = chunk.unpacked
            if is_limited() and whole > USUAL:
                held = chunk.packed + _COPIES * self.pages.largest(chunk)
                refuse_beyond(held, f"{self._path}: a column of Parquet that cannot be read in pieces")
        step = max(1, min(_ROWS, size * group.num_rows // (4 * max(whole, 1))))
        for rows in self._file.iter_batches(step, row_groups=[number], columns=[self._name]):
            skipped = min(taken, len(rows))
            taken -= skipped
            waiting.append(_as_binary(self._arrow, rows.column(0).slice(skipped)))
            waits += waiting[-1].nbytes
            if waits >= size:
                yield waiting
                waiting, waits = [], 0
        yield waiting


_COPIES = 3
"""How many times pyarrow and what follows hold a page uncompressed: as a page, as rows, and as texts."""

_VIEWS = ("string_view", "binary_view")
"""The types of arrays without a buffer of joined texts, which not every version of pyarrow has."""

_ROWS = 1 << 16
"""The maximum number of rows that pyarrow reads at a time: about a quarter of a batch."""


# Arrays, as pyarrow reads them ---------------------------------------------------------------------------


def _texts_of(columns: list[Any], longest: int) -> Iterator[Texts]:
    """Yield the texts of columns of binary strings: long ones in blocks, those between them together."""
    if sum(column.nbytes for column in columns) <= longest:
        yield _texts(columns)
        return
    for column in columns:
        first = 0
        bounds = _bounds(column)
        for place in np.flatnonzero(np.diff(bounds) > longest).tolist():
            yield _texts([column.slice(first, place - first)])
            yield _blocks(column.buffers()[2], int(bounds[place]), int(bounds[place + 1]))
            first = place + 1
        yield _texts([column.slice(first)])


def _blocks(content: Any, start: int, end: int) -> Iterator[bytes]:
    size = min(PIECE, batches.BLOCK)
    for place in range(start, end, size):
        yield content.slice(place, min(size, end - place)).to_pybytes()


def _bounds(column: Any) -> NDArray[np.int64]:
    """Return the start of each string in the content of a column, and the end of the last."""
    width = np.int64 if str(column.type) == "large_binary" else np.int32
    stored = np.frombuffer(column.buffers()[1], width)
    return stored[column.offset : column.offset + len(column) + 1].astype(np.int64)


def _texts(columns: list[Any]) -> Texts:
    """Return the texts of columns of binary strings."""
    if any(column.null_count for column in columns):
        return [text for column in columns for text in column.to_pylist()]
    return _joined(columns)


def _joined(columns: list[Any]) -> JoinedTexts:
    contents, offsets, size = [], [np.zeros(1, np.int64)], 0
    for column in columns:
        if not len(column):
            continue
        bounds = _bounds(column)
        first, last = int(bounds[0]), int(bounds[-1])
        if last > first:
            contents.append(column.buffers()[2].slice(first, last - first))
        offsets.append(bounds[1:] + (size - first))
        size += last - first
    return JoinedTexts(b"".join(contents), np.concatenate(offsets))


def _as_binary(arrow: Any, column: Any) -> Any:
    """Return text as the bytes it is stored as, unchecked.

    They are only viewed as bytes: for a cast, pyarrow would first load all of its functions.
    """
    if arrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if str(column.type) in _VIEWS:
        column = column.cast(arrow.large_binary())
    is_wide = column.type in (arrow.large_string(), arrow.large_binary())
    kind = arrow.large_binary() if is_wide else arrow.binary()
    return arrow.Array.from_buffers(kind, len(column), column.buffers(), column.null_count, column.offset)
