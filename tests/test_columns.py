"""Texts of Parquet columns: what the engine takes from pages is what pyarrow reads, whoever wrote them."""

import io
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite._engine import Buffers, JoinedTexts, PageTexts, column_chunks
from bpetite.reading import parquet as columns
from bpetite.reading import parquet_pages
from bpetite.reading.raw import Raw
from bpetite.reading.sources import Input

Row = bytes | None

ROWS = [b"first", b"", b"third\n", "東京".encode(), b"a" * 5000, b"\xff"]
CODECS = ["none", "snappy", "zstd", "gzip", "brotli", "lz4"]
LEFT_TO_PYARROW = mock.patch.object(columns._Column, "_has_pages", return_value=False)


def written(rows: Sequence[Row], *, required: bool = False, **options: Any) -> bytes:
    field = pyarrow.field("text", pyarrow.binary(), nullable=not required)
    table = pyarrow.table([pyarrow.array(rows, pyarrow.binary())], pyarrow.schema([field]))
    file = io.BytesIO()
    pyarrow.parquet.write_table(table, file, **options)
    return file.getvalue()


def rows_of(path: Path, size: int = 1 << 20) -> list[Row]:
    return [text for texts in batches_of(path, size) for text in texts]


def batches_of(path: Path, size: int, longest: int = sys.maxsize) -> Iterator[columns.Texts]:
    raw = Raw(Input(str(path)))
    try:
        for texts, _ in columns.column_texts(raw, "text", size, Buffers(size), longest):
            yield texts
    finally:
        raw.close()


def rows_with_blocks(path: Path, size: int, longest: int, block: int, streamed: int = 0) -> list[Row]:
    """Return the rows; long ones come in blocks, and pages of more than `streamed` bytes too."""
    rows: list[Row] = []
    changed = mock.patch.multiple(parquet_pages, PIECE=block, STREAMED=streamed)
    with mock.patch.object(columns, "PIECE", block), changed:
        for texts in batches_of(path, size, longest):
            if isinstance(texts, Iterator):
                blocks = list(texts)
                assert all(len(text) <= block for text in blocks)
                row = b"".join(blocks)
                assert len(row) > longest
                rows.append(row)
            else:
                rows += texts
                assert all(text is None or len(text) <= longest for text in texts)
    return rows


@given(
    rows=st.lists(st.none() | st.sampled_from(ROWS) | st.binary(max_size=40), max_size=80),
    required=st.booleans(),
    options=st.fixed_dictionaries(
        {
            "compression": st.sampled_from(CODECS),
            "use_dictionary": st.booleans(),
            "dictionary_pagesize_limit": st.sampled_from([20, 1 << 20]),
            "data_page_size": st.sampled_from([1, 60, 1 << 20]),
            "data_page_version": st.sampled_from(["1.0", "1.0", "2.0"]),
            "write_batch_size": st.sampled_from([1, 5, 1024]),
            "row_group_size": st.sampled_from([1, 7, 1 << 20]),
            "write_page_checksum": st.booleans(),
        }
    ),
    size=st.sampled_from([1, 50, 1 << 20]),
    longest=st.integers(0, 60),
)
def test_rows_come_as_they_were_written_whatever_the_pages(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[Row],
    required: bool,
    options: Any,
    size: int,
    longest: int,
) -> None:
    path = tmp_path_factory.getbasetemp() / "column.parquet"
    path.write_bytes(written(rows, required=required and None not in rows, **options))
    assert rows_of(path, size) == rows
    assert rows_with_blocks(path, size, longest, 1 + longest // 2) == rows
    with LEFT_TO_PYARROW:
        assert rows_of(path, size) == rows
        assert rows_with_blocks(path, size, longest, 1 + longest // 2) == rows
    with mock.patch.object(parquet_pages, "USUAL", 30):
        for streamed in (50, 1 << 24):
            assert rows_with_blocks(path, size, longest, 7, streamed) == rows


@pytest.mark.parametrize("codec", ["none", "snappy", "zstd", "gzip"])
@pytest.mark.parametrize("required", [False, True])
def test_the_engine_takes_what_nearly_all_files_have(tmp_path: Path, codec: str, required: bool) -> None:
    rows = [*ROWS * 9, *(b"%d" % number for number in range(5000)), *ROWS]
    choices: list[dict[str, Any]] = [
        {"use_dictionary": False},
        {"use_dictionary": True, "dictionary_pagesize_limit": 9000},
        {"row_group_size": 999, "data_page_size": 2000, "write_batch_size": 10},
        {"data_page_version": "2.0", "use_dictionary": False},
        {"data_page_version": "2.0", "dictionary_pagesize_limit": 9000},
    ]
    for number, options in enumerate(choices):
        path = tmp_path / f"{number}.parquet"
        path.write_bytes(written(rows, required=required, compression=codec, **options))
        with mock.patch.object(columns._Column, "_arrays", side_effect=AssertionError):
            assert rows_of(path) == rows
            with mock.patch.object(parquet_pages, "USUAL", 500):
                assert rows_of(path) == rows


NOT_WHOLE = mock.patch.object(parquet_pages.Pages, "_take_whole", side_effect=AssertionError)


@pytest.mark.parametrize("codec", ["none", "snappy", "zstd", "gzip"])
@pytest.mark.parametrize("required", [False, True])
def test_a_page_with_a_long_row_comes_in_pieces(tmp_path: Path, codec: str, required: bool) -> None:
    words = [b"%d " % (number * 7919 % 5000) for number in range(99_000)]
    rows = [*ROWS, b"".join(words), b"", b"x" * 300_000, b"".join(reversed(words)), *ROWS[:5]]
    path = tmp_path / "c.parquet"
    path.write_bytes(written(rows, required=required, compression=codec, use_dictionary=False))
    with NOT_WHOLE, mock.patch.object(columns._Column, "_arrays", side_effect=AssertionError):
        for size, block in ((1, 1 << 18), (1 << 20, 1000)):
            assert rows_with_blocks(path, size, 5000, block) == rows


@pytest.mark.parametrize("codec", ["none", "snappy", "zstd", "gzip"])
def test_long_texts_of_a_dictionary_are_read_again(tmp_path: Path, codec: str) -> None:
    long = [b"%d " % number * 60_000 for number in range(4)]
    orders = {(0, 1, 2, 3): True, (0, 0, 1, 2): False, (0, 1, 2, 3, 1): False}
    for order, is_in_order in orders.items():
        rows: list[Row] = []
        for number in order:
            rows += [*ROWS, long[number], b"a" * 70_000 if number == 2 else b"short"]
        path = tmp_path / "c.parquet"
        path.write_bytes(written(rows, compression=codec, dictionary_pagesize_limit=1 << 24))
        with mock.patch.object(columns._Column, "_arrays", side_effect=AssertionError):
            others = parquet_pages.Pages._take_whole
            with mock.patch.object(
                parquet_pages.Pages, "_take_whole", autospec=True, side_effect=others
            ) as whole:
                assert rows_with_blocks(path, 1000, 65_000, 50_000) == rows
        assert all(call.args[2] < 1000 for call in whole.call_args_list) == is_in_order


@pytest.mark.parametrize("codec", ["none", "snappy", "zstd"])
def test_a_long_row_that_breaks_off_is_refused_with_its_file(tmp_path: Path, codec: str) -> None:
    row = b"".join(b"%d " % (number * 7919 % 5000) for number in range(99_000))
    whole = written([row], compression=codec, use_dictionary=False)
    path = tmp_path / "c.parquet"
    for place in (len(whole) // 3, len(whole) // 2):
        path.write_bytes(whole[:place] + bytes(5000) + whole[place + 5000 :])
        if codec != "none":
            with pytest.raises(ValueError, match=r"c\.parquet: broken Parquet"):
                rows_with_blocks(path, 1, 5000, 1000)
    raw = Raw(Input(str(path)))
    file = raw.file()
    page = parquet_pages._Packed("c.parquet", file, 4, 1000, 2000, 0)
    for blocks in (page.blocks(), page.blocks()):
        assert blocks is not None
        with pytest.raises(
            ValueError, match=r"c\.parquet: broken Parquet: a page has not the size that it says"
        ):
            list(blocks.take(2000))
    raw.close()


def test_pyarrow_goes_on_where_a_page_has_a_null(tmp_path: Path) -> None:
    rows: list[Row] = [*(b"%d" % number for number in range(300)), None, *ROWS]
    options: dict[str, Any] = {"data_page_size": 1, "write_batch_size": 20, "use_dictionary": False}
    (tmp_path / "c.parquet").write_bytes(written(rows, **options))
    others = columns._Column._arrays
    with mock.patch.object(columns._Column, "_arrays", autospec=True, side_effect=others) as arrays:
        for size in (1, 100, 1 << 20):
            assert rows_of(tmp_path / "c.parquet", size) == rows
    assert [call.args[2] for call in arrays.call_args_list] == [300, 300, 300]


@pytest.mark.parametrize("encoding", ["DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"])
def test_pyarrow_reads_other_encodings(tmp_path: Path, encoding: str) -> None:
    options: dict[str, Any] = {"use_dictionary": False, "column_encoding": {"text": encoding}}
    (tmp_path / "c.parquet").write_bytes(written(ROWS * 99, **options))
    assert rows_of(tmp_path / "c.parquet", 10_000) == ROWS * 99


def test_a_column_is_found_behind_nested_ones(tmp_path: Path) -> None:
    table = pyarrow.table(
        {
            "a": [{"text": b"x", "b": [1, 2]}, {"text": b"y", "b": []}],
            "text": pyarrow.array([b"one", b"two"]),
            "c": [[b"z"], None],
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "c.parquet")
    with mock.patch.object(columns._Column, "_arrays", side_effect=AssertionError):
        assert rows_of(tmp_path / "c.parquet") == [b"one", b"two"]


@pytest.mark.parametrize("use_dictionary", [False, True])
def test_batches_have_the_size_that_was_asked_for_however_large_pages_are(
    tmp_path: Path, use_dictionary: bool
) -> None:
    rows = [bytes([65 + number % 26]) * (number % 7 * 1000) for number in range(900)]
    rows[300] = b"x" * 3_000_000
    (tmp_path / "c.parquet").write_bytes(written(rows, use_dictionary=use_dictionary))
    batches = list(batches_of(tmp_path / "c.parquet", 100_000))
    assert [text for texts in batches for text in texts] == rows
    for texts in batches:
        assert isinstance(texts, JoinedTexts)
        assert sum(map(len, texts[:-1])) < 100_000
    assert len(batches) > 25


def test_damage_is_refused_or_changes_what_pyarrow_reads_too(tmp_path: Path) -> None:
    """Damage that goes unnoticed must be in a part that nobody needs, such as the statistics before a page.

    One place is damaged or two, most of them in the metadata.
    """
    chance = random.Random(0)
    path = tmp_path / "c.parquet"
    outcomes = set()
    for _ in range(800):
        rows = [bytes(chance.choices(b"abcd", k=chance.choice((0, 1, 40)))) for _ in range(30)]
        content = bytearray(
            written(
                rows if chance.random() < 0.5 else chance.choices(rows[:5], k=30),
                compression=chance.choice(CODECS),
                use_dictionary=chance.random() < 0.5,
                data_page_size=chance.choice([1, 100, 10_000]),
                write_batch_size=8,
                row_group_size=chance.choice([11, 1000]),
            )
        )
        whole = _outcome(path, content)
        first_of_metadata = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
        alone = [whole]
        for _ in range(chance.choice((1, 2))):
            place = chance.randrange(chance.choice((0, first_of_metadata)), len(content))
            bit = 1 << chance.randrange(8)
            content[place] ^= bit
            alone.append(_outcome(path, content))
        ours = alone[-1]
        with LEFT_TO_PYARROW:
            theirs = _outcome(path, content)
        streamed = _outcome(path, content, 20)
        for found in (ours, streamed):
            assert found == theirs or (theirs is None and found in alone[:-1])
        outcomes.add((ours is None, theirs is None, ours == whole))
    assert {(True, True, False), (False, False, False), (False, False, True)} <= outcomes


def _outcome(path: Path, content: bytes | bytearray, longest: int | None = None) -> list[Row] | None:
    path.write_bytes(content)
    try:
        return rows_of(path) if longest is None else rows_with_blocks(path, 1000, longest, 7)
    except ValueError:
        return None


def test_pages_and_metadata_that_are_none_are_left(tmp_path: Path) -> None:
    found = PageTexts(Buffers(10))
    found.begin_group(False)
    chance = random.Random(0)
    for _ in range(5000):
        noise = chance.randbytes(chance.randrange(60))
        assert column_chunks(noise, 0) in (None, [])
        if found.take_header(noise) is not None:
            array = pyarrow.array([], pyarrow.uint8()).to_numpy()
            assert found.take_page(array, False, 10) in (None, 0)
    assert len(found) == 0
