"""Texts of Parquet columns are what was written, whatever the pages; damage is refused."""

import io
import random
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite.reading import batches
from bpetite.reading.documents import read_batches
from bpetite.reading.options import Reading
from bpetite.reading.sources import Input

Row = bytes | None

ROWS: list[Row] = [b"first", b"", b"third\n", "東京".encode(), b"a" * 5000]
CODECS = ["none", "snappy", "zstd", "gzip", "brotli", "lz4"]


def written(rows: list[Row], **options: Any) -> bytes:
    file = io.BytesIO()
    table = pyarrow.table({"text": pyarrow.array(rows, pyarrow.binary())})
    pyarrow.parquet.write_table(table, file, **options)
    return file.getvalue()


def rows_of(path: Path, **reading: Any) -> list[Row]:
    read = read_batches(Input(str(path)), Reading(**reading))
    return [
        text if isinstance(text, bytes) else text.encode() for batch in read for text in batch.texts
    ]


@given(
    rows=st.lists(
        st.none() | st.sampled_from(ROWS) | st.text(max_size=40).map(str.encode), max_size=80
    ),
    options=st.fixed_dictionaries(
        {
            "compression": st.sampled_from(CODECS),
            "use_dictionary": st.booleans(),
            "dictionary_pagesize_limit": st.sampled_from([20, 1 << 20]),
            "data_page_size": st.sampled_from([1, 60, 1 << 20]),
            "data_page_version": st.sampled_from(["1.0", "2.0"]),
            "row_group_size": st.sampled_from([1, 7, 1 << 20]),
        }
    ),
)
def test_rows_come_as_they_were_written_whatever_the_pages(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], options: Any
) -> None:
    path = tmp_path_factory.getbasetemp() / "column.parquet"
    path.write_bytes(written(rows, **options))
    assert rows_of(path, invalid="skip") == [row for row in rows if row is not None]
    if None in rows:
        with pytest.raises(ValueError, match=rf"row {rows.index(None)}: column 'text' is null"):
            rows_of(path)


@pytest.mark.parametrize("encoding", ["DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"])
def test_other_encodings_are_read(tmp_path: Path, encoding: str) -> None:
    options: dict[str, Any] = {"use_dictionary": False, "column_encoding": {"text": encoding}}
    (tmp_path / "c.parquet").write_bytes(written(ROWS * 99, **options))
    assert rows_of(tmp_path / "c.parquet") == ROWS * 99


def test_a_column_is_found_behind_nested_ones(tmp_path: Path) -> None:
    table = pyarrow.table(
        {
            "a": [{"text": b"x", "b": [1, 2]}, {"text": b"y", "b": []}],
            "text": pyarrow.array([b"one", b"two"]),
            "c": [[b"z"], None],
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "c.parquet")
    assert rows_of(tmp_path / "c.parquet") == [b"one", b"two"]


@pytest.mark.parametrize("use_dictionary", [False, True])
def test_batches_are_no_larger_than_asked_for(
    tmp_path: Path, use_dictionary: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "BLOCK", 400_000)
    rows: list[Row] = [bytes([65 + number % 26]) * (number % 7 * 1000) for number in range(900)]
    path = tmp_path / "c.parquet"
    path.write_bytes(written(rows, use_dictionary=False if not use_dictionary else ["text"]))
    read = list(read_batches(Input(str(path)), Reading()))
    assert [text for batch in read for text in batch.texts] == rows
    assert max(sum(map(len, batch.texts)) for batch in read) < (
        400_000 if not use_dictionary else 4_000_000
    )


def test_damage_is_refused_with_the_name_of_the_file(tmp_path: Path) -> None:
    """Or it is in a part that nobody needs, or cannot be seen, as pages have no sums by default."""
    chance = random.Random(0)
    path = tmp_path / "c.parquet"
    outcomes = set()
    for _ in range(600):
        rows: list[Row] = [
            bytes(chance.choices(b"abcd", k=chance.choice((0, 1, 40)))) for _ in range(30)
        ]
        options: dict[str, Any] = {
            "compression": chance.choice(CODECS),
            "row_group_size": chance.choice([11, 1000]),
        }
        content = bytearray(
            written(rows, data_page_size=chance.choice([1, 100, 10_000]), **options)
        )
        first_of_metadata = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
        for _ in range(chance.choice((1, 2))):
            place = chance.randrange(chance.choice((0, first_of_metadata)), len(content))
            content[place] ^= 1 << chance.randrange(8)
        path.write_bytes(content)
        try:
            outcomes.add("right" if rows_of(path, invalid="skip") == rows else "wrong")
        except ValueError as error:
            outcomes.add("refused" if str(path) in str(error) else str(error))
    assert outcomes <= {"right", "wrong", "refused"}
    assert {"right", "refused"} <= outcomes
