"""A Parquet file in, the texts of one of its columns out, in batches, as pyarrow reads them.

Of a column, a page and a row are in memory as a whole, whatever their size.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from bpetite._engine import TextColumn
from bpetite._internal.lazy import needed
from bpetite.reading import batches
from bpetite.reading.batches import Batch, refuse_invalid, repaired
from bpetite.reading.memory_limit import megabytes, refuse_beyond
from bpetite.reading.options import Reading
from bpetite.reading.raw import Raw
from bpetite.reading.sources import Input

_COPIES = 4
"""How many times rows are in memory at most: as a page, as pyarrow gathers them, and in waiting batches."""

_SMALL, _BUFFER = 1 << 24, 1 << 16
"""Of larger files than this, pyarrow reads so many bytes at a time into a buffer, which grows to what a page
claims to need. Of smaller ones it reads all of a column in a row group, so that no claim takes memory."""

_VIEWS = ("string_view", "binary_view")
"""Types that not every version of pyarrow has."""


def documents(read: Callable[[int], bytes], raw: Raw, reading: Reading) -> Iterator[Batch]:
    """Yield the text column of every row."""
    first = 0
    for column, size in _columns(raw, reading.text_column):
        if column.null_count and reading.invalid != "skip":
            row = column.is_null().index(True).as_py()
            if reading.invalid == "error":
                refuse_invalid(raw.name, Batch(TextColumn(column[:row]), first))
            raise ValueError(
                f"{raw.name}: row {first + row}: column {reading.text_column!r} is null"
            )
        texts, affected = repaired(TextColumn(column, nulls="skip"), reading.invalid)
        yield Batch(texts, first, affected=affected + column.null_count, read=size)
        first += len(column)
    yield Batch([], first, read=raw.expected)


def parts(source: Input, raw: Raw, reading: Reading, size: int) -> Iterator[Input]:
    """Yield row groups of about that size together, measured uncompressed and with all of their columns."""
    with opened(raw, source.field or reading.text_column) as file:
        groups = map(file.metadata.row_group, range(file.num_row_groups))
        sizes = [group.total_byte_size for group in groups]
    first = taken = 0
    for number, group in enumerate(sizes, 1):
        taken += group
        if taken >= size or number == len(sizes):
            span = (source.whole * first // len(sizes), source.whole * number // len(sizes))
            yield source._replace(span=span, row_groups=(first, number))
            first, taken = number, 0


@contextlib.contextmanager
def opened(raw: Raw, name: str) -> Iterator[Any]:
    """Open a file that has a column of texts, and turn the errors of pyarrow into ours.

    The metadata of its columns are not looked at: pyarrow ends the process if they are damaged.
    """
    arrow = needed("pyarrow", "reading Parquet")
    import pyarrow.parquet

    raw.check_seekable()
    try:
        buffer = _BUFFER if raw.expected > _SMALL else 0
        file = pyarrow.parquet.ParquetFile(
            raw.file_for(arrow), pre_buffer=False, buffer_size=buffer
        )
        _check_column(arrow, raw.name, file.schema_arrow, name)
        yield file
    except (arrow.ArrowException, OSError) as error:
        if getattr(error, "filename", None) is not None:  # of another file
            raise
        raise ValueError(f"{raw.name}: broken Parquet: {error}") from error


def _columns(raw: Raw, name: str) -> Iterator[tuple[Any, int]]:
    """Yield the column of successive rows, and about how much of the file was read."""
    with opened(raw, name) as file:
        first, after = raw.row_groups or (0, file.num_row_groups)
        for number in range(first, after):
            group = file.metadata.row_group(number)
            row = group.total_byte_size // max(group.num_rows, 1)
            _check_memory(raw.name, row)
            rows = min(max(batches.BLOCK // _COPIES // max(row, 1), 1), batches.MOST_ROWS)
            for some in file.iter_batches(
                rows, row_groups=[number], columns=[name], use_threads=False
            ):
                _check_memory(raw.name, some.nbytes // len(some))
                yield some.column(0), raw.expected * (number - first) // (after - first)


def _check_memory(path: str, row: int) -> None:
    """Refuse rows of about so many bytes that do not fit the limit of this process."""
    if row > batches.BLOCK:
        refuse_beyond(
            _COPIES * row, f"{path}: a row of about {megabytes(row)}MB, which must be whole,"
        )


def _check_column(arrow: Any, path: str, schema: Any, name: str) -> None:
    """Refuse a column that does not exist or is not text."""
    if name not in schema.names:
        raise ValueError(
            f"{path}: no column {name!r} (there is {', '.join(map(repr, schema.names))})"
        )
    if schema.names.count(name) > 1:
        raise ValueError(f"{path}: {schema.names.count(name)} columns are called {name!r}")
    kind = schema.field(name).type
    if arrow.types.is_dictionary(kind):
        kind = kind.value_type
    plain = (
        arrow.null(),
        arrow.string(),
        arrow.large_string(),
        arrow.binary(),
        arrow.large_binary(),
    )
    if kind not in plain and str(kind) not in _VIEWS:
        raise ValueError(f"{path}: column {name!r} is not text but {kind}")
