"""Turns an Arrow column of any library into buffers for the engine, and the engine's results into a column.

pyarrow takes a column over from its library, checks it, and brings its texts into one layout:

    ["ab", None, "c"]    ->    offsets [0, 2, 2, 3], content b"abc"; row 1 is null

No Python object is made for a row.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import Any

from bpetite._engine import Encoder, TextColumn
from bpetite._internal.arguments import check_word
from bpetite._internal.lazy import LazyModule, needed
from bpetite._internal.lazy import numpy as np
from bpetite._internal.types import Column, DType, Nulls, Special

arrow: Any = LazyModule("pyarrow")
compute: Any = LazyModule("pyarrow.compute")

_TEXTS = {"binary", "large_binary", "binary_view", "null"}
_LARGEST_ID = 2**32 - 1


# Columns in
# -------------------------------------------------------------------------------------------


def arrays_in(column: object) -> Iterator[Any] | None:
    """Return the arrays of a column as they come; None for what is no column."""
    is_array = hasattr(column, "__arrow_c_array__")
    if not is_array and not hasattr(column, "__arrow_c_stream__"):
        return None
    needed("pyarrow", "a column of Arrow")
    with _refusing():
        return map(_sound, [arrow.array(column)] if is_array else _arrays_of(column))


def _arrays_of(stream: Any) -> Iterator[Any]:
    try:
        table = arrow.RecordBatchReader.from_stream(stream)
    except arrow.ArrowInvalid:  # a single column
        return iter(arrow.chunked_array(stream).chunks)
    return map(arrow.array, _to_the_end(table))


def _to_the_end(table: Iterator[Any]) -> Iterator[Any]:
    with _refusing("the stream of columns ended with an error"):
        yield from table


@contextmanager
def _refusing(what: str = "the column contradicts itself") -> Iterator[None]:
    try:
        yield
    except (arrow.ArrowInvalid, arrow.ArrowIndexError) as error:
        raise ValueError(f"{what}: {error}") from None


def _sound(array: Any, *, full: bool = False) -> Any:
    """Check an array against itself; a full check looks at its offsets, too.

    One without elements is replaced by a new one: its buffers may be missing, whatever its offset.
    """
    if _is_empty(array):
        return arrow.nulls(0, array.type)
    with _refusing():
        array.validate(full=full)
    if array.offset < 0:
        raise ValueError("the column contradicts itself: its offset is negative")
    return array


def _is_empty(array: Any) -> bool:
    try:
        return len(array) == 0
    except SystemError:  # of a negative length
        return False


def texts_in(column: object) -> Iterator[Any] | None:
    """Return the arrays of a column of texts, all of one type, as they come; None for what is no column."""
    arrays = arrays_in(column)
    return None if arrays is None else map(_as_large_binary, arrays)


def _as_large_binary(array: Any) -> Any:
    if arrow.types.is_struct(array.type):
        if array.type.num_fields != 1:
            names = ", ".join(field.name for field in array.type)
            raise TypeError(
                f"a table is not a column of texts: choose one of its columns ({names})"
            )
        if array.null_count:
            raise ValueError("a table is not a column of texts: it has rows that are null")
        array = _sound(array.field(0))
    if arrow.types.is_dictionary(array.type):
        _sound(array, full=True)
        return _as_large_binary(array.dictionary).take(array.indices)
    kind = str(array.type).replace("string", "binary")
    if kind not in _TEXTS:
        raise TypeError(f"the column must hold strings or bytes, not {array.type}")
    if kind != str(array.type):  # as bytes, so that it is not checked here whether they are UTF-8
        array = array.view(getattr(arrow, kind)())
    return _sound(array, full=True).cast(arrow.large_binary())


def buffers_in(column: object, nulls: str | None) -> tuple[list[tuple[Any, Any]], list[int]] | None:
    """Return the offsets and the content of each array of a column, and the rows that are left out.

    None for what is no column, or for one that needs a library which is not installed.
    """
    nulls = "error" if nulls is None else nulls
    check_word("nulls", nulls, ("error", "skip", "empty"))
    arrays = None
    with suppress(ImportError):
        arrays = texts_in(column)
    if arrays is None:
        return None
    chunks, left_out, rows = [], [], 0
    for array in arrays:
        missing = _nulls_of(array, rows, nulls)
        rows += len(array)
        if missing and nulls == "skip":
            left_out += missing
            array = array.drop_null()
        chunks.append(_buffers_of(array.fill_null(b"") if array.null_count else array))
    return chunks, left_out


def _nulls_of(array: Any, first: int, nulls: str) -> list[int]:
    """Return the numbers of the null rows, which may be an error; the first row has the number `first`."""
    if not array.null_count:
        return []
    missing: list[int] = (first + np.flatnonzero(array.is_null())).tolist()
    if nulls == "error":
        raise ValueError(
            f'row {missing[0]} is null; nulls="empty" takes such rows as empty (where texts are taken one by '
            'one: TextColumn(column, nulls="empty") or "skip")'
        )
    return missing


def _buffers_of(array: Any) -> tuple[Any, Any]:
    _, offsets, content = array.buffers()
    if len(array) == 0:
        return np.zeros(1, np.int64), np.zeros(0, np.uint8)
    starts = np.frombuffer(offsets, np.int64, len(array) + 1, array.offset * 8)
    return starts, np.frombuffer(content, np.uint8) if content else np.zeros(0, np.uint8)


# Columns out
# ------------------------------------------------------------------------------------------


def encoded(
    encoder: Encoder,
    column: Column,
    special: Special,
    dtype: DType,
    num_threads: int | None,
    around: tuple[list[int], list[int]],
    nulls: Nulls,
) -> Any:
    """Encode the texts of a column to lists of ids, each with the same ids `around` its own."""
    before, after = around
    texts, missing = texts_and_nulls(column, nulls)
    ids, offsets = encoder.encode_batch_to_numpy(
        texts, special, dtype, num_threads, after, prepend=before
    )
    return lists_of(ids, offsets, missing)


def texts_and_nulls(column: Column, nulls: Nulls) -> tuple[TextColumn, Any]:
    """Return the texts of all rows, empty ones for nulls, and which rows are null and stay so."""
    texts, missing = _rows(column, texts_in(column), nulls, arrow.large_binary())
    return TextColumn(texts, nulls="empty"), missing


def lists_of(ids: Any, offsets: Any, missing: Any) -> Any:
    """Return a column of lists of ids."""
    values = arrow.array(ids)
    return _column(
        arrow.list_(values.type), arrow.large_list(values.type), offsets, missing, [], [values]
    )


def counted(
    encoder: Encoder, column: Column, special: Special, num_threads: int | None, nulls: Nulls
) -> Any:
    """Return the number of ids of each text of a column."""
    texts, missing = texts_and_nulls(column, nulls)
    counts = encoder.count_batch(texts, special, num_threads)
    return arrow.array(np.array(counts, np.uint64), mask=missing)


def decoded(encoder: Encoder, column: Column, errors: str, nulls: Nulls) -> Any:
    """Decode the lists of ids of a column to texts."""
    check_word("errors", errors, ("strict", "replace", "ignore"))
    lists, missing = _rows(column, arrays_in(column), nulls, arrow.list_(arrow.uint32()))
    if not arrow.types.is_list(lists.type) and not arrow.types.is_large_list(lists.type):
        raise TypeError(f"the column must hold lists of ids, not {lists.type}")
    for array in lists.chunks:
        _sound(array, full=True)
    lengths = compute.list_value_length(lists).fill_null(0).to_numpy()
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint64)
    ids = compute.list_flatten(lists)
    if not arrow.types.is_integer(ids.type):
        raise TypeError(f"ids must be integers, not {ids.type}")
    if ids.null_count:
        raise ValueError("the column has lists with an id that is null")
    ids = ids.to_numpy()
    if len(wrong := np.flatnonzero((ids < 0) | (ids > _LARGEST_ID))):
        row = np.searchsorted(offsets, wrong[0], "right") - 1
        raise ValueError(f"row {row}: an id is negative or too large")
    content, ends = encoder.decode_lists(ids.astype(np.uint32), offsets)
    texts = _column(
        arrow.string(), arrow.large_string(), ends, missing, [arrow.py_buffer(content)], []
    )
    try:
        texts.validate(full=True)
    except arrow.ArrowInvalid:  # some bytes are not UTF-8
        joined, bounds = content.tobytes(), enumerate(pairwise(ends.tolist()))
        decoded = [_text(row, joined[start:end], errors) for row, (start, end) in bounds]
        texts = arrow.array(decoded, texts.type, mask=missing)
    return texts


def _text(row: int, content: bytes, errors: str) -> str:
    try:
        return content.decode("utf-8", errors)
    except UnicodeDecodeError as error:
        raise ValueError(f"row {row}, decoded: not valid UTF-8 at byte {error.start}") from None


def _rows(column: Column, arrays: Iterator[Any] | None, nulls: Nulls, kind: Any) -> tuple[Any, Any]:
    """Return all rows together, and which of them are null and stay so; without any, they are of a `kind`."""
    check_word("nulls", nulls, ("error", "keep", "empty"))
    if arrays is None:
        expected = "a column of Arrow (with __arrow_c_stream__ or __arrow_c_array__)"
        raise TypeError(f"column must be {expected}, not {type(column).__name__}")
    found, rows = [], 0
    for array in arrays:
        _nulls_of(array, rows, nulls)
        found.append(array)
        rows += len(array)
    whole = arrow.chunked_array(found, None if found else kind)
    return whole, whole.is_null().to_numpy() if nulls == "keep" else np.zeros(rows, bool)


def _column(
    short: Any, long: Any, offsets: Any, missing: Any, buffers: list[Any], children: list[Any]
) -> Any:
    """Make a column, with offsets of 32 bits if they fit, as all libraries take these."""
    fits = offsets[-1] < 1 << 31
    bounds = arrow.py_buffer(offsets.astype(np.int32 if fits else np.int64))
    present = arrow.array(~missing).buffers()[1] if missing.any() else None
    kind = short if fits else long
    return arrow.Array.from_buffers(
        kind, len(missing), [present, bounds, *buffers], children=children
    )
