"""Columns of other libraries: what goes in and comes out by Arrow is what lists of texts give."""

import ctypes
import gc
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas  # type: ignore[import-untyped]
import polars
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite import Counts, TextColumn, Tokenizer
from bpetite._internal.types import Nulls
from bpetite.corpus import Documents, count_tokens, encode, encode_column, stats
from bpetite.corpus.columns import _sorting

Row = str | None

TOKENIZER = Tokenizer.train("the cat sat on the mat, naïve cafés 東京 " * 20, 300)
ROWS: list[Row] = [
    "the cat",
    "",
    "naïve cafés",
    None,
    "on the mat, on the mat",
    "東京 <|endoftext|>",
    "x",
]
rows_of_any_kind = st.lists(st.none() | st.text(alphabet="the cé東\n", max_size=20), max_size=30)


def views_with_empty_slices(rows: list[Row]) -> Any:
    views = pyarrow.array(["b" * 20, *rows], pyarrow.string()).cast(pyarrow.string_view())
    return pyarrow.chunked_array([views[1:1], views[1:], views[len(rows) :][:0]])


KINDS: dict[str, Callable[[list[Row]], Any]] = {
    "string": lambda rows: pyarrow.array(rows, pyarrow.string()),
    "large_string": lambda rows: pyarrow.array(rows, pyarrow.large_string()),
    "string_view": lambda rows: pyarrow.array(rows, pyarrow.string_view()),
    "binary": lambda rows: pyarrow.array(as_bytes(rows), pyarrow.binary()),
    "large_binary": lambda rows: pyarrow.array(as_bytes(rows), pyarrow.large_binary()),
    "binary_view": lambda rows: pyarrow.array(as_bytes(rows), pyarrow.binary_view()),
    "dictionary": lambda rows: pyarrow.array(rows, pyarrow.string()).dictionary_encode(),
    "small dictionary": lambda rows: pyarrow.array(
        rows, pyarrow.dictionary(pyarrow.int8(), pyarrow.large_string())
    ),
    "chunked": lambda rows: pyarrow.chunked_array([rows[:2], [], rows[2:]], pyarrow.string()),
    "slice": lambda rows: pyarrow.array(["before", None, *rows, "after"], pyarrow.string())[2:-1],
    "slice of views": lambda rows: pyarrow.array(["b" * 20, *rows, "a"], pyarrow.string_view())[
        1:-1
    ],
    "views with empty slices": views_with_empty_slices,
    "table": lambda rows: pyarrow.table({"text": pyarrow.array(rows, pyarrow.string())}),
    "slice of a table": lambda rows: pyarrow.record_batch(
        {"t": pyarrow.array(["x", *rows], pyarrow.string())}
    )[1:],
    "stream": lambda rows: pyarrow.table({"t": pyarrow.array(rows, pyarrow.string())}).to_reader(3),
    "polars": lambda rows: polars.Series(rows, dtype=polars.String),
    "categories of polars": lambda rows: polars.Series(rows, dtype=polars.Categorical),
    "pandas": lambda rows: pandas.Series(rows, dtype="str"),
}


def as_bytes(rows: list[Row]) -> list[bytes | None]:
    return [row if row is None else row.encode() for row in rows]


def listed(column: Any) -> list[Any]:
    """The values of a result, once pyarrow has found nothing wrong with it."""
    array = pyarrow.array(column)
    array.validate(full=True)
    return array.to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("kind", KINDS)
@given(rows=rows_of_any_kind)
def test_every_kind_of_column_gives_what_its_texts_give(kind: str, rows: list[Row]) -> None:
    column = KINDS[kind]
    ids = [None if row is None else TOKENIZER.encode(row) for row in rows]
    assert listed(TOKENIZER.encode_column(column(rows), nulls="keep")) == ids
    assert listed(TOKENIZER.encode_column(column(rows), nulls="empty")) == [
        row or [] for row in ids
    ]
    counts = [row if row is None else len(row) for row in ids]
    assert listed(TOKENIZER.count_column(column(rows), nulls="keep")) == counts
    texts = [row for row in rows if row is not None]
    assert list(TextColumn(column(rows), nulls="skip")) == [text.encode() for text in texts]
    if texts != rows:
        with pytest.raises(ValueError, match=f"row {rows.index(None)} is null"):
            TOKENIZER.encode_column(column(rows))
        with pytest.raises(ValueError, match=f"row {rows.index(None)} is null"):
            TOKENIZER.encode_batch(column(rows))
        rows = [*texts]
    assert TOKENIZER.encode_batch(column(rows)) == TOKENIZER.encode_batch(texts)
    assert TOKENIZER.count_batch(column(rows)) == TOKENIZER.count_batch(texts)
    for ours, theirs in zip(
        TOKENIZER.encode_batch_to_numpy(column(rows)),
        TOKENIZER.encode_batch_to_numpy(texts),
        strict=True,
    ):
        np.testing.assert_array_equal(ours, theirs)
    assert Counts.from_iterator(column(rows)) == Counts.from_iterator(texts)


@given(rows=rows_of_any_kind, dtype=st.sampled_from(["uint16", "uint32"]), large=st.booleans())
def test_ids_become_the_texts_that_they_are_of(rows: list[Row], dtype: Any, large: bool) -> None:
    encoded = pyarrow.array(
        TOKENIZER.encode_column(KINDS["string"](rows), dtype=dtype, nulls="keep")
    )
    assert encoded.type == pyarrow.list_(
        pyarrow.uint16() if dtype == "uint16" else pyarrow.uint32()
    )
    if large:
        encoded = encoded.cast(pyarrow.large_list(pyarrow.int64()))
    assert listed(TOKENIZER.decode_column(encoded, nulls="keep")) == rows
    assert listed(TOKENIZER.decode_column(encoded[1:], nulls="empty")) == [
        row or "" for row in rows[1:]
    ]
    if None in rows:
        with pytest.raises(ValueError, match=f"row {rows.index(None)} is null"):
            TOKENIZER.decode_column(encoded)


@pytest.mark.parametrize(
    "kind", [f"{sign}int{bits}" for sign in ("", "u") for bits in (16, 32, 64)]
)
def test_ids_may_have_any_width(kind: str) -> None:
    column = pyarrow.chunked_array(
        [[[104, 105]], [[], [256]]], pyarrow.list_(getattr(pyarrow, kind)())
    )
    assert listed(TOKENIZER.decode_column(column)) == ["hi", "", TOKENIZER.decode([256])]


def test_bytes_that_are_no_text_are_treated_as_asked() -> None:
    column = pyarrow.array([[104, 0xC3, 105], [0xE6, 0x9D], [0xFF, 0xFF]])
    for errors in ("replace", "ignore"):
        expected = [TOKENIZER.decode(ids, errors=errors) for ids in column.to_pylist()]
        assert listed(TOKENIZER.decode_column(column, errors=errors)) == expected
    with pytest.raises(ValueError, match="row 0, decoded: not valid UTF-8 at byte 1"):
        TOKENIZER.decode_column(column)
    with pytest.raises(ValueError, match='errors: must be strict, replace or ignore, not "other"'):
        TOKENIZER.decode_column(column, errors="other")


def test_options_are_those_of_batches() -> None:
    texts = ["a<|endoftext|>b", "", "c"]
    column = pyarrow.array(texts)
    end = TOKENIZER.special_tokens["<|endoftext|>"]
    for special in ("parse", "text"):
        expected = TOKENIZER.encode_batch(texts, special=special)
        assert listed(TOKENIZER.encode_column(column, special=special)) == expected
        assert listed(TOKENIZER.count_column(column, special=special)) == list(map(len, expected))
    appended = [[*ids, end] for ids in TOKENIZER.encode_batch(texts)]
    for num_threads in (1, 2, 7):
        assert (
            listed(TOKENIZER.encode_column(column, append=end, num_threads=num_threads)) == appended
        )
    with pytest.raises(ValueError, match=r'special token "<\|endoftext\|>" at character 1'):
        TOKENIZER.encode_column(column, special="error")
    with pytest.raises(KeyError, match="99999"):
        TOKENIZER.encode_column(column, append=99999)


def test_a_column_is_read_where_documents_are() -> None:
    texts = ["the cat", "sat", "on the mat"] * 50_000
    column = pyarrow.chunked_array([texts[:5], texts[5:]])
    assert Counts.from_iterator(column) == Counts.from_iterator(texts)
    assert Counts.from_iterator(TextColumn(column)) == Counts.from_iterator(texts)
    assert Tokenizer.train_from_iterator(column, 300) == Tokenizer.train_from_iterator(texts, 300)
    assert stats(TOKENIZER, Documents(column)) == stats(TOKENIZER, Documents(texts))
    for columns in (column, TextColumn(column), pyarrow.array(texts), polars.Series(texts)):
        assert count_tokens(TOKENIZER, columns)["documents"].tokens == sum(
            TOKENIZER.count_batch(texts)
        )


def test_a_column_is_encoded_to_shards(tmp_path: Path) -> None:
    texts = ["the cat", "", "on the mat"]
    encode(TOKENIZER, pyarrow.array(texts), tmp_path / "ids")
    ids = np.load(tmp_path / "ids" / "shard-000000.npy")
    assert ids.tolist() == [number for text in texts for number in TOKENIZER.encode(text)]


WRONG: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "integers": (lambda: pyarrow.array([1, 2]), TypeError, "must hold strings or bytes, not int64"),
    "lists": (lambda: pyarrow.array([["a"]]), TypeError, "must hold strings or bytes, not list<"),
    "structs": (
        lambda: pyarrow.array([{"a": {"b": "c"}}]),
        TypeError,
        "must hold strings or bytes, not struct<b: string>",
    ),
    "several columns": (
        lambda: polars.DataFrame({"a": ["x"], "b": ["y"]}),
        TypeError,
        "a table is not a column of texts: choose one of its columns (a, b)",
    ),
    "fixed size": (
        lambda: pyarrow.array([b"ab"], pyarrow.binary(2)),
        TypeError,
        "must hold strings or bytes, not fixed_size_binary[2]",
    ),
    "runs": (
        lambda: pyarrow.RunEndEncodedArray.from_arrays([2], ["a"]),
        TypeError,
        "must hold strings or bytes, not run_end_encoded<",
    ),
    "no text": (
        lambda: pyarrow.array([b"a", b"b\xff"]),
        ValueError,
        "row 1: not valid UTF-8 at byte 1",
    ),
    "no text behind": (
        lambda: pyarrow.chunked_array([[b"a"], [b"b", b"\xff"]]),
        ValueError,
        "row 2: not valid UTF-8 at byte 0",
    ),
    "no column": (lambda: 5, TypeError, "column must be a column of Arrow"),
    "a list": (lambda: ["a"], TypeError, "column must be a column of Arrow"),
    "an array of NumPy": (lambda: np.array([1]), TypeError, "not ndarray"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_column_of_texts_is_refused(name: str) -> None:
    make, error, message = WRONG[name]
    for call in (TOKENIZER.encode_column, TOKENIZER.count_column):
        with pytest.raises(error, match=re.escape(message)):
            call(make())


def test_the_row_of_an_error_counts_the_rows_that_were_left_out() -> None:
    column = TextColumn(pyarrow.array([None, b"a", None, b"\xff"]), nulls="skip")
    with pytest.raises(ValueError, match="row 3: not valid UTF-8 at byte 0"):
        TOKENIZER.encode_batch(column)


@pytest.mark.parametrize("call", [TextColumn, TOKENIZER.encode_column, TOKENIZER.decode_column])
def test_a_treatment_of_nulls_that_is_none_is_refused(call: Any) -> None:
    column = pyarrow.array([[1]] if call == TOKENIZER.decode_column else ["a"])
    for nulls in ("drop", "keep" if call is TextColumn else "skip"):
        with pytest.raises(ValueError, match=f'nulls: must be error, .*not "{nulls}"'):
            call(column, nulls=nulls)
    with pytest.raises(TypeError, match="nulls: must be"):
        call(column, nulls=5)


def test_lists_that_hold_no_ids_are_refused() -> None:
    for column, error, message in [
        (pyarrow.array(["a"]), TypeError, "must hold lists of ids, not string"),
        (pyarrow.array([["a"]]), TypeError, "ids must be integers, not string"),
        (pyarrow.array([[1], [2, None]]), ValueError, "an id that is null"),
        (pyarrow.array([[1], [-1]]), ValueError, "row 1: an id is negative or too large"),
        (pyarrow.array([[1], [1 << 32]]), ValueError, "row 1: an id is negative or too large"),
        (pyarrow.array([[1], [], [999]]), KeyError, "row 2: no token has the id 999"),
        ([[1]], TypeError, "column must be a column of Arrow"),
    ]:
        with pytest.raises(error, match=message):
            TOKENIZER.decode_column(column)


def test_a_stream_that_fails_says_why_and_one_that_was_used_up_too() -> None:
    schema = pyarrow.schema([("text", pyarrow.string())])

    def batches() -> Iterator[Any]:
        yield pyarrow.record_batch([["the cat"]], schema)
        raise RuntimeError("the disk is gone")

    for call in (TOKENIZER.encode_column, Counts.from_iterator):
        with pytest.raises(ValueError, match=r"(?s)ended with an error: .*the disk is gone"):
            call(pyarrow.RecordBatchReader.from_batches(schema, batches()))
    capsule = pyarrow.array(["a"]).__arrow_c_array__()

    class Once:
        def __arrow_c_array__(self, requested_schema: object = None) -> Any:
            return capsule

    assert TOKENIZER.count_batch(Once()) == [1]
    with pytest.raises(ValueError, match="Cannot import released"):
        TOKENIZER.count_batch(Once())


def test_what_a_library_raises_is_passed_on() -> None:
    class Broken:
        def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
            raise OSError("no such table")

    class NoCapsule:
        def __arrow_c_array__(self, requested_schema: object = None) -> Any:
            return "one", "two"

    with pytest.raises(OSError, match="no such table"):
        TOKENIZER.encode_column(Broken())
    with pytest.raises(ValueError, match="PyCapsule"):
        TOKENIZER.encode_column(NoCapsule())


def test_columns_are_kept_as_long_as_anybody_has_them_and_no_longer() -> None:
    gc.collect()
    before = pyarrow.total_allocated_bytes()
    column = pyarrow.array(["the cat sat"] * 100_000)
    texts = TextColumn(column)
    part = texts[5:7]
    ids = TOKENIZER.encode_column(column)
    assert pyarrow.total_allocated_bytes() - before > 1_000_000
    del column, texts
    gc.collect()
    assert list(part) == [b"the cat sat"] * 2
    del part
    gc.collect()
    assert pyarrow.total_allocated_bytes() <= before
    first, second = pyarrow.array(ids), polars.Series(ids)
    del ids
    gc.collect()
    assert first.to_pylist() == second.to_list() == [TOKENIZER.encode("the cat sat")] * 100_000


# Producers that lie
# ---------------------------------------------------------------------------------------


class Struct(ctypes.Structure):
    """The beginning of an array of Arrow's C interface, which tests change."""

    _fields_ = [
        ("length", ctypes.c_int64),
        ("null_count", ctypes.c_int64),
        ("offset", ctypes.c_int64),
        ("n_buffers", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("buffers", ctypes.POINTER(ctypes.c_void_p)),
        ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p),
    ]


class Changed:
    """An array whose struct was changed before it is given away."""

    def __init__(self, array: Any, change: Callable[[Struct], None]) -> None:
        self.array, self.change = array, change

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        schema, capsule = self.array.__arrow_c_array__()
        pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
        pointer_of.restype, pointer_of.argtypes = (
            ctypes.c_void_p,
            [ctypes.py_object, ctypes.c_char_p],
        )
        self.change(Struct.from_address(pointer_of(capsule, b"arrow_array")))
        return schema, capsule


def setting(**fields: int) -> Callable[[Struct], None]:
    def change(struct: Struct) -> None:
        for name, value in fields.items():
            setattr(struct, name, value)

    return change


def without_buffer(number: int) -> Callable[[Struct], None]:
    def change(struct: Struct) -> None:
        struct.buffers[number] = None

    return change


def with_offsets(kind: Any, offsets: list[int], width: Any) -> Any:
    """Strings whose offsets change once pyarrow has looked at them."""
    stored = np.zeros(len(offsets), width)
    buffers = [None, pyarrow.py_buffer(stored), pyarrow.py_buffer(b"abcdef")]
    column = pyarrow.Array.from_buffers(kind, len(offsets) - 1, buffers)
    stored[:] = offsets
    return column


def with_view(length: int, buffer: int, start: int) -> Any:
    view = np.array([length, 0, buffer, start], np.int32)
    buffers = [None, pyarrow.py_buffer(view), pyarrow.py_buffer(b"abcdefghijklmnopqrstuvwxyz")]
    return pyarrow.Array.from_buffers(pyarrow.string_view(), 1, buffers)


def with_index(index: int) -> Any:
    indices = pyarrow.array([index], pyarrow.int8())
    return pyarrow.DictionaryArray.from_arrays(indices, ["a", "b"], safe=False)


STRING, LARGE = pyarrow.string(), pyarrow.large_string()
THREE = pyarrow.array(["one", "two", "three"])
LIES: dict[str, Callable[[], Any]] = {
    "a negative length": lambda: Changed(THREE, setting(length=-1)),
    "a negative offset": lambda: Changed(THREE, setting(offset=-1)),
    "a length beyond all memory": lambda: Changed(THREE, setting(length=2**62)),
    "an offset beyond all memory": lambda: Changed(THREE, setting(offset=2**63 - 1)),
    "no buffers": lambda: Changed(THREE, setting(n_buffers=0)),
    "too few buffers": lambda: Changed(THREE, setting(n_buffers=2)),
    "no offsets": lambda: Changed(THREE, without_buffer(1)),
    "no content": lambda: Changed(THREE, without_buffer(2)),
    "no dictionary": lambda: Changed(THREE.dictionary_encode(), setting(dictionary=0)),
    "no views": lambda: Changed(THREE.cast(pyarrow.string_view()), setting(n_buffers=1)),
    "no columns": lambda: Changed(pyarrow.record_batch([THREE], ["a"]), setting(n_children=0)),
    "more rows than its column": lambda: Changed(
        pyarrow.record_batch([THREE], ["a"]), setting(length=4)
    ),
    "offsets that fall": lambda: with_offsets(STRING, [0, 3, 1], np.int32),
    "negative offsets": lambda: with_offsets(STRING, [-2, 1], np.int32),
    "large offsets that fall": lambda: with_offsets(LARGE, [0, 3, 1], np.int64),
    "a view beyond its buffer": lambda: with_view(20, 0, 10),
    "a view that begins before its buffer": lambda: with_view(20, 0, -1),
    "a view of no buffer": lambda: with_view(20, 1, 0),
    "a view with a negative length": lambda: with_view(-1, 0, 0),
    "an index beyond its dictionary": lambda: with_index(2),
    "a negative index": lambda: with_index(-1),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_column_that_contradicts_itself_is_refused_before_anything_is_read(lie: str) -> None:
    for call in (TOKENIZER.encode_column, TOKENIZER.count_batch, Counts.from_iterator, TextColumn):
        with pytest.raises(ValueError, match="the column contradicts itself"):
            call(LIES[lie]())


def lists_with(offsets: list[int]) -> Any:
    stored = np.zeros(len(offsets), np.int32)
    ids = pyarrow.array([1, 2, 3], pyarrow.uint32())
    buffers = [None, pyarrow.py_buffer(stored)]
    column = pyarrow.Array.from_buffers(pyarrow.list_(pyarrow.uint32()), 1, buffers, children=[ids])
    stored[:] = offsets
    return column


FALSE_LISTS: dict[str, Callable[[], Any]] = {
    "a negative length": lambda: Changed(lists_with([0, 3]), setting(length=-1)),
    "no ids": lambda: Changed(lists_with([0, 3]), setting(n_children=0)),
    "no offsets": lambda: Changed(lists_with([0, 3]), without_buffer(1)),
    "more ids than there are": lambda: lists_with([0, 4]),
    "negative offsets": lambda: lists_with([-1, 1]),
    "offsets that fall": lambda: lists_with([2, 1]),
}


@pytest.mark.parametrize("lie", FALSE_LISTS)
def test_lists_that_contradict_themselves_are_refused(lie: str) -> None:
    with pytest.raises(ValueError, match="the column contradicts itself"):
        TOKENIZER.decode_column(FALSE_LISTS[lie]())


# A column of Parquet
# ---------------------------------------------------------------------------------------


def test_a_file_keeps_its_codecs_its_row_groups_and_what_its_rows_are_sorted_by(
    tmp_path: Path,
) -> None:
    table = pyarrow.table(
        {
            "key": range(7),
            "body": ROWS[:3] + ["a"] * 4,
            "deep": [{"x": 1, "y": ["a"]}] * 7,
            "with.dot": [1.5] * 7,
        }
    )
    codecs = {
        "key": "GZIP",
        "body": "BROTLI",
        "deep.x": "ZSTD",
        "deep.y.list.element": "LZ4",
        "with.dot": "NONE",
    }
    sorted_by = [
        pyarrow.parquet.SortingColumn(0),
        pyarrow.parquet.SortingColumn(4, descending=True),
    ]
    source, output = tmp_path / "a.parquet", tmp_path / "b.parquet"
    pyarrow.parquet.write_table(
        table, source, row_group_size=3, compression=codecs, sorting_columns=sorted_by
    )
    encode_column(TOKENIZER, source, output, column="body")
    written = pyarrow.parquet.ParquetFile(output)
    assert [written.metadata.row_group(group).num_rows for group in range(3)] == [3, 3, 1]
    for number in range(3):
        group = written.metadata.row_group(number)
        assert list(group.sorting_columns) == sorted_by
        chunks = [group.column(place) for place in range(written.metadata.num_columns)]
        assert {chunk.path_in_schema: chunk.compression for chunk in chunks} == {
            **codecs,
            "with.dot": "UNCOMPRESSED",
            "ids.list.element": "BROTLI",
        }
    assert written.read().drop_columns(["ids"]) == table


def test_only_what_all_row_groups_are_sorted_by_is_kept(tmp_path: Path) -> None:
    first, second = pyarrow.parquet.SortingColumn(0), pyarrow.parquet.SortingColumn(1)
    assert sorting_of([[first, second], [first, second]]) == [first, second]
    assert sorting_of([[first, second], [first]]) == [first]
    assert sorting_of([[first], [second]]) == []
    assert sorting_of([[first], []]) == []
    pyarrow.parquet.write_table(pyarrow.table({"text": ["a"]}), tmp_path / "a.parquet")
    encode_column(TOKENIZER, tmp_path / "a.parquet", tmp_path / "b.parquet")
    metadata = pyarrow.parquet.read_metadata(tmp_path / "b.parquet")
    assert metadata.row_group(0).sorting_columns == ()


def sorting_of(groups: list[list[Any]]) -> list[Any]:
    return _sorting([SimpleNamespace(sorting_columns=tuple(group)) for group in groups])


def test_a_column_without_a_value_gives_no_ids(tmp_path: Path) -> None:
    for kind in (pyarrow.null(), pyarrow.string(), pyarrow.binary()):
        column = pyarrow.array([None, None], kind)
        assert listed(TOKENIZER.encode_column(column, nulls="keep")) == [None, None]
        pyarrow.parquet.write_table(pyarrow.table({"text": column}), tmp_path / "a.parquet")
        treatments: list[tuple[Nulls, list[Any]]] = [("keep", [None, None]), ("empty", [[], []])]
        for nulls, expected in treatments:
            told = encode_column(
                TOKENIZER,
                tmp_path / "a.parquet",
                tmp_path / "b.parquet",
                nulls=nulls,
                overwrite=True,
            )
            assert told == (2, 0, 0)
            assert pyarrow.parquet.read_table(tmp_path / "b.parquet")["ids"].to_pylist() == expected
        with pytest.raises(ValueError, match="row 0: column 'text' is null"):
            encode_column(TOKENIZER, tmp_path / "a.parquet", tmp_path / "c.parquet")
        with pytest.raises(ValueError, match="row 0: column 'text' is null"):
            Counts.from_files(tmp_path / "a.parquet")
        assert Counts.from_files(tmp_path / "a.parquet", invalid="skip").documents == 0


def test_a_name_of_two_columns_is_refused(tmp_path: Path) -> None:
    pairs = pyarrow.Table.from_arrays([pyarrow.array(["a"])] * 4, names=["text", "text", "n", "n"])
    pyarrow.parquet.write_table(pairs, tmp_path / "a.parquet")
    for call in (
        lambda: encode_column(TOKENIZER, tmp_path / "a.parquet", tmp_path / "b.parquet"),
        lambda: Counts.from_files(tmp_path / "a.parquet"),
        lambda: stats(TOKENIZER, tmp_path / "a.parquet"),
    ):
        with pytest.raises(ValueError, match=r"a\.parquet: 2 columns are called 'text'"):
            call()
    single = pairs.rename_columns(["text", "other", "n", "n"])
    pyarrow.parquet.write_table(single, tmp_path / "a.parquet")
    assert encode_column(TOKENIZER, tmp_path / "a.parquet", tmp_path / "b.parquet").rows == 1
    assert Counts.from_files(tmp_path / "a.parquet").documents == 1


@pytest.mark.parametrize("texts", [["the cat", "sat"], []])
def test_parquet_from_a_pipe_is_refused_by_what_it_is(tmp_path: Path, texts: list[str]) -> None:
    column = pyarrow.array(texts, pyarrow.string())
    pyarrow.parquet.write_table(pyarrow.table({"text": column}), tmp_path / "a.parquet")
    TOKENIZER.save(tmp_path / "tok.json")
    out = ["--output", str(tmp_path / "out")]
    for command in (
        ["encode-column", str(tmp_path / "tok.json"), "--input", "-", *out],
        ["encode-column", str(tmp_path / "tok.json"), "--input", "/dev/stdin", *out],
        ["count", "--input", "-", *out],
        ["count-tokens", str(tmp_path / "tok.json"), "--input", "/dev/stdin"],
    ):
        content = (tmp_path / "a.parquet").read_bytes()
        ran = subprocess.run(
            [sys.executable, "-m", "bpetite", *command],
            input=content,
            capture_output=True,
            check=False,
        )
        assert (ran.returncode, ran.stdout) == (1, b"")
        assert b"Parquet cannot be read from a pipe" in ran.stderr
        assert b"give the file itself" in ran.stderr
    assert not (tmp_path / "out").exists()


def test_rows_are_numbered_from_0_in_the_whole_file(tmp_path: Path) -> None:
    path, special = tmp_path / "a.parquet", "a <|endoftext|>"
    cases: list[tuple[list[Any], str, dict[str, Any]]] = [
        ([b"a"] * 5 + [b"\xff"], "not valid UTF-8 at byte 0", {}),
        (["a"] * 5 + [special], "the text contains the special token", {"special": "error"}),
        (["a"] * 5 + [None], "column 'text' is null", {}),
    ]
    for rows, wrong, options in cases:
        pyarrow.parquet.write_table(pyarrow.table({"text": rows}), path, row_group_size=2)
        with pytest.raises(ValueError, match=rf"a\.parquet: row 5: {wrong}"):
            encode_column(TOKENIZER, path, tmp_path / "b.parquet", **options)
        with pytest.raises(
            ValueError, match=rf"(row|document) 5(: column 'text' is null|: {wrong})"
        ):
            stats(TOKENIZER, path, **options)
