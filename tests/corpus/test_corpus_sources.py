"""Inputs and their documents: every format and compression, in order, whole or refused."""

import contextlib
import functools
import gzip
import http.server
import io
import json
import os
import random
import socket
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TypeVar, cast
from unittest import mock

import pyarrow
import pyarrow.parquet
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from bpetite import Counts, Tokenizer, corpus
from bpetite._internal.types import Invalid
from bpetite.reading import batches, documents, text
from bpetite.reading.batches import batches_of, decoded
from bpetite.reading.cuts import cutter
from bpetite.reading.documents import read_batches
from bpetite.reading.options import Reading
from bpetite.reading.raw import Raw
from bpetite.reading.sources import Input, find_inputs
from bpetite.reading.threads import Steps, in_threads

T = TypeVar("T")

DOCUMENTS = ["first, naïve", "", "third\nwith a line", "東京 4", '"quoted" \\ \u2028', "a" * 5000]


def jsonl(texts: list[str]) -> bytes:
    return b"".join(
        json.dumps({"id": n, "text": text}).encode() + b"\n" for n, text in enumerate(texts)
    )


def parquet(texts: Sequence[str | bytes | None], column: str = "text", rows: int = 2) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(
        pyarrow.table({column: texts, "n": range(len(texts))}), file, row_group_size=rows
    )
    return file.getvalue()


def zstd(content: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(content)


def texts_of(path: Path | str, reading: Reading | None = None) -> list[str]:
    texts: list[str] = []
    goes_on = False
    for batch in read_batches(Input(str(path)), reading or Reading()):
        found = decoded(str(path), batch)
        if goes_on:
            texts[-1] += found.pop(0)
        texts += found
        goes_on = batch.goes_on
    return texts


PACKED: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".zst": zstd}


@pytest.mark.parametrize("suffix", list(PACKED))
def test_documents_of_every_format_and_compression(tmp_path: Path, suffix: str) -> None:
    lines = tmp_path / f"c.jsonl{suffix}"
    lines.write_bytes(PACKED[suffix](jsonl(DOCUMENTS)))
    assert texts_of(lines) == DOCUMENTS
    plain = tmp_path / f"c.txt{suffix}"
    plain.write_bytes(PACKED[suffix]("<|x|>".join(DOCUMENTS).encode()))
    assert texts_of(plain, Reading(separator="<|x|>")) == DOCUMENTS
    assert texts_of(plain) == ["<|x|>".join(DOCUMENTS)]


VIEWS = [
    getattr(pyarrow, name)() for name in ("string_view", "binary_view") if hasattr(pyarrow, name)
]


@pytest.mark.parametrize(
    "kind", [pyarrow.string(), pyarrow.large_string(), pyarrow.binary(), *VIEWS]
)
def test_documents_of_parquet(tmp_path: Path, kind: pyarrow.DataType) -> None:
    table = pyarrow.table({"body": pyarrow.array(DOCUMENTS, pyarrow.string()).cast(kind)})
    pyarrow.parquet.write_table(table, tmp_path / "c.parquet", row_group_size=2)
    assert texts_of(tmp_path / "c.parquet", Reading(text_column="body")) == DOCUMENTS
    pyarrow.parquet.write_table(table, tmp_path / "brotli.parquet", compression="brotli")
    assert texts_of(tmp_path / "brotli.parquet", Reading(text_column="body")) == DOCUMENTS
    encoded = pyarrow.table({"body": pyarrow.array(DOCUMENTS).dictionary_encode()})
    pyarrow.parquet.write_table(encoded, tmp_path / "d.parquet")
    assert texts_of(tmp_path / "d.parquet", Reading(text_column="body")) == DOCUMENTS


# A list of documents is the specification of what a file holds.
PARQUET_KINDS = [
    pyarrow.string(),
    pyarrow.large_string(),
    pyarrow.binary(),
    pyarrow.large_binary(),
    pyarrow.dictionary(pyarrow.int32(), pyarrow.string()),
]


@given(
    rows=st.lists(
        st.none() | st.sampled_from(DOCUMENTS) | st.text(max_size=9) | st.binary(max_size=9)
    ),
    kind=st.sampled_from(PARQUET_KINDS),
    group=st.integers(1, 9),
    stored=st.tuples(
        st.booleans(), st.sampled_from(["none", "snappy", "zstd"]), st.sampled_from([1, 1 << 20])
    ),
    block=st.sampled_from([1, 30, 1 << 22]),
)
def test_parquet_holds_what_a_list_holds(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[str | bytes | None],
    kind: pyarrow.DataType,
    group: int,
    stored: tuple[bool, str, int],
    block: int,
) -> None:
    as_text = kind in (pyarrow.string(), pyarrow.large_string()) or pyarrow.types.is_dictionary(
        kind
    )
    if as_text:
        rows = [row.decode("utf-8", "replace") if isinstance(row, bytes) else row for row in rows]
    else:
        rows = [row.encode() if isinstance(row, str) else row for row in rows]
    path = tmp_path_factory.getbasetemp() / "rows.parquet"
    use_dictionary, compression, page = stored
    pyarrow.parquet.write_table(
        pyarrow.table({"text": pyarrow.array(rows, kind)}),
        path,
        row_group_size=group,
        use_dictionary=use_dictionary,
        compression=compression,
        data_page_size=page,
    )
    with mock.patch.object(batches, "BLOCK", block):
        skipped = list(read_batches(Input(str(path)), Reading(invalid="skip")))
        strict = outcome(lambda: texts_of(path))
    given_rows = [row for row in rows if row is not None]
    expected = list(batches_of(given_rows, "skip"))
    found, given = (
        [text for batch in made for text in decoded("", batch)] for made in (skipped, expected)
    )
    assert found == given
    lacking = len(rows) - len(given_rows)
    assert sum(b.affected for b in skipped) == sum(b.affected for b in expected) + lacking
    assert strict == outcome(lambda: list_of(path, rows))


def list_of(path: Path, rows: Sequence[str | bytes | None]) -> list[str]:
    texts = []
    for number, row in enumerate(rows):
        if row is None:
            raise ValueError(f"{path}: row {number}: column 'text' is null")
        try:
            texts.append(row if isinstance(row, str) else row.decode())
        except UnicodeDecodeError as error:
            place = f"not valid UTF-8 at byte {error.start}"
            raise ValueError(f"{path}: document {number}: {place}") from None
    return texts


def outcome(work: Callable[[], T]) -> T | str:
    try:
        return work()
    except ValueError as error:
        return str(error)


def test_of_two_broken_documents_the_first_is_told(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(b'{"text": "a"}\n{"text": "\\udc00"}\n{"text": 3}\n')
    with pytest.raises(
        ValueError, match=r"c.jsonl: document 1: lone surrogate '.udc00' at character 0"
    ):
        texts_of(path)


def test_files_of_several_members_are_read_to_the_end(tmp_path: Path) -> None:
    for suffix, pack in (("gz", gzip.compress), ("zst", zstd)):
        (tmp_path / f"c.{suffix}").write_bytes(pack(b"one ") + pack(b"") + pack(b"two"))
        assert texts_of(tmp_path / f"c.{suffix}") == ["one two"]
        (tmp_path / f"e.{suffix}").write_bytes(pack(b""))
        assert texts_of(tmp_path / f"e.{suffix}") == [""]


def test_members_of_gzip_may_end_anywhere_in_what_is_read_at_a_time(tmp_path: Path) -> None:
    pieces = [
        bytes(random.Random(number).choices(b"abcdefgh", k=number * 4999)) for number in range(40)
    ]
    (tmp_path / "c.gz").write_bytes(b"".join(map(gzip.compress, pieces)))
    assert texts_of(tmp_path / "c.gz") == [b"".join(pieces).decode()]


@pytest.mark.parametrize("packed", [1, 2, 100])
def test_gzip_is_unpacked_wherever_blocks_end_and_refused_wherever_it_breaks_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: int
) -> None:
    monkeypatch.setattr(documents, "PACKED", packed)
    monkeypatch.setattr(text, "PIECE", 7)
    one, none, last = (gzip.compress(text) for text in (b"some text, some text", b"", b"7" * 700))
    whole = one + bytes(packed) + none + last
    with_none = len(whole) - len(last)
    texts = dict.fromkeys(
        [*range(len(one), len(one) + packed + 1), with_none], "some text, some text"
    )
    texts[len(whole)] = "some text, some text" + "7" * 700
    for end in range(3, len(whole) + 1):
        (tmp_path / "c.gz").write_bytes(whole[:end])
        if end in texts:
            assert texts_of(tmp_path / "c.gz") == [texts[end]]
        else:
            with pytest.raises(ValueError, match="broken gzip: it ends too early"):
                texts_of(tmp_path / "c.gz")


@pytest.mark.parametrize("zeros", [1, 511, 1 << 17])
def test_zeros_that_pad_gzip_are_no_text(tmp_path: Path, zeros: int) -> None:
    padded = gzip.compress(b"one ") + bytes(zeros) + gzip.compress(b"two") + bytes(zeros)
    (tmp_path / "c.gz").write_bytes(padded)
    assert texts_of(tmp_path / "c.gz") == [gzip.decompress(padded).decode()] == ["one two"]
    (tmp_path / "c.gz").write_bytes(bytes(zeros) + padded)
    with pytest.raises(ValueError, match=r"its name says gzip, but it holds no gzip"):
        texts_of(tmp_path / "c.gz")


def test_gzip_is_read_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "c.gz").write_bytes(gzip.compress(b"text"))
    assert texts_of(tmp_path / "c.gz") == ["text"]
    (tmp_path / "c.zst").write_bytes(zstd(b"text"))
    with pytest.raises(ImportError, match="reading zstd needs pyarrow"):
        texts_of(tmp_path / "c.zst")


def test_content_tells_what_a_name_does_not(tmp_path: Path) -> None:
    for content, expected in (
        (gzip.compress(b"packed"), "packed"),
        (zstd(b"packed"), "packed"),
        (b"plain", "plain"),
        (b"PAR1 is how Parquet begins", "PAR1 is how Parquet begins"),
    ):
        (tmp_path / "corpus").write_bytes(content)
        assert texts_of(tmp_path / "corpus") == [expected]
    (tmp_path / "corpus").write_bytes(parquet(["row"]))
    assert texts_of(tmp_path / "corpus") == ["row"]
    (tmp_path / "c.json").write_bytes(jsonl(["lines"]))
    assert texts_of(tmp_path / "c.json") == ["lines"]
    (tmp_path / "c.json").write_bytes(jsonl(["long" * 9999, "lines"]))
    assert texts_of(tmp_path / "c.json") == ["long" * 9999, "lines"]
    (tmp_path / "c.json").write_text('{\n "text": "pretty"\n}')
    assert texts_of(tmp_path / "c.json") == ['{\n "text": "pretty"\n}']


def test_json_lines_are_no_text_whatever_their_name(tmp_path: Path) -> None:
    lines = jsonl(["first", "second"])
    long = jsonl(["long" * 99_999, "second"])
    for name in ("corpus", "corpus.dat", "part-0001", "c.backup"):
        for content in (lines, long, b"\n \n" + lines):
            expected = [json.loads(line)["text"] for line in content.split(b"\n") if line.strip()]
            for suffix, pack in PACKED.items():
                (tmp_path / f"{name}{suffix}").write_bytes(pack(content))
                assert texts_of(tmp_path / f"{name}{suffix}") == expected
    (tmp_path / "corpus").write_bytes(b'{"n": 1, "body": "first"}\n')
    assert texts_of(tmp_path / "corpus", Reading(text_field="body")) == ["first"]
    for content in (
        b'{"n": 1, "body": "first"}\n',
        b'{"text": 5}\n',
        b'{"text" \n',
        b"{x}",
        b'["text"]\n',
    ):
        (tmp_path / "corpus").write_bytes(content)
        assert texts_of(tmp_path / "corpus") == [content.decode()]
    for name in ("c.txt", "c.txt.gz"):
        (tmp_path / name).write_bytes(PACKED[name[5:]](lines))
        with pytest.raises(
            ValueError, match=r"its name says text, but it holds JSON lines; input_format="
        ):
            texts_of(tmp_path / name)
        assert texts_of(tmp_path / name, Reading(input_format="text")) == [lines.decode()]
        assert texts_of(tmp_path / name, Reading(input_format="jsonl")) == ["first", "second"]


REFUSED = [
    ("c.txt", gzip.compress(b"a"), "its name says .txt, but it holds gzip"),
    ("c.txt.gz", b"plain text", "its name says gzip, but it holds no gzip"),
    ("c.zst", gzip.compress(b"a"), "its name says zstd, but it holds gzip"),
    ("c.gz", b"", "its name says gzip"),
    ("c.gz", gzip.compress(b"abc" * 999)[:-9], "broken gzip: it ends too early"),
    ("c.gz", gzip.compress(b"abc") + gzip.compress(b"abc")[:5], "broken gzip: it ends too early"),
    (
        "c.gz",
        gzip.compress(b"abc")[:-8] + bytes(4) + b"\x03\0\0\0",
        "broken gzip: incorrect data check",
    ),
    ("c.gz", gzip.compress(b"abc")[:-4] + bytes(4), "broken gzip: incorrect length check"),
    ("c.zst", zstd(os.urandom(9999))[:-9], "broken zstd"),
    ("c.gz", gzip.compress(b"abc") + b"garbage", "broken gzip"),
    ("c.parquet", parquet(["a", "b"])[:-9], "not a complete Parquet file"),
    ("c.parquet", b"plain", "not a complete Parquet file"),
    ("c.parquet", b"PAR1" + bytes(99) + b"PAR1", "broken Parquet"),
    ("c.parquet", parquet(["a"], column="body"), "no column 'text'.*'body'"),
    ("c.parquet", parquet([None, "b"]), "row 0: column 'text' is null"),
    ("c.parquet", parquet([b"ok", b"\xff"]), "document 1: not valid UTF-8 at byte 0"),
    ("c.jsonl", parquet(["a"]), "read as jsonl, but it holds Parquet"),
    ("c.parquet.gz", gzip.compress(parquet(["a"])), "Parquet inside gzip"),
    ("c.txt.bz2", b"BZh91AY&SY", "bzip2 is not supported"),
    ("corpus", b"\xfd7zXZ\x00", "xz is not supported"),
    ("c.zip", b"PK\x03\x04", "zip is not supported"),
    ("c.jsonl", b'{"text": "a"}\n{"text": 3}\n', "line 2: field 'text' is not a string but int"),
    ("c.jsonl", b'{"text": "a"}\n{"body": "b"}\n', "line 2: no field 'text'.*'body'"),
    ("c.jsonl", b'{"text": "a"}\n["b"]\n', "line 2: not a JSON object but list"),
    ("c.jsonl", b'{"text": "a"}\n\n{"text"\n', "line 3: not JSON"),
    ("c.jsonl", b'{"text": "a"}\n{"text": "\xe9"}\n', "line 2: not valid UTF-8 at byte 10"),
    ("c.jsonl", b'{"text": "a"}\n{"text": "\\ud800"}\n', "document 1: lone surrogate"),
    ("c.json", b'{"n": ' + b"[" * 100_000 + b"\n", "line 1: nested too deeply"),
    ("c.jsonl", b'{"text": "a"}\n{"n": ' + b"[" * 100_000 + b"\n", "line 2: nested too deeply"),
    ("c.txt", b"ab\xe9", "document 0: not valid UTF-8 at byte 2"),
]


@pytest.mark.parametrize(("name", "content", "message"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_broken_or_contradicts_its_name_is_refused(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message) as raised:
        texts_of(tmp_path / name)
    assert str(tmp_path / name) in str(raised.value)


def test_what_no_replacement_makes_json_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_bytes(b'{"text": "a"}\n{"text": "\xff\n')
    with pytest.raises(ValueError, match=r"c\.jsonl: line 2: not valid UTF-8 at byte 10"):
        texts_of(tmp_path / "c.jsonl", Reading(invalid="replace"))
    assert texts_of(tmp_path / "c.jsonl", Reading(invalid="skip")) == ["a"]


def test_truncation_anywhere_is_refused(tmp_path: Path) -> None:
    for suffix, content in (
        ("gz", gzip.compress(jsonl(DOCUMENTS))),
        ("zst", zstd(jsonl(DOCUMENTS))),
        ("parquet", parquet([*DOCUMENTS])),
    ):
        for length in range(1, len(content), max(1, len(content) // 97)):
            (tmp_path / f"c.{suffix}").write_bytes(content[:length])
            with pytest.raises(ValueError):
                texts_of(tmp_path / f"c.{suffix}", Reading(separator="\n"))


def test_a_broken_document_is_repaired_or_left_out_only_if_asked(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_bytes(b"a|\xff\xfeb|c")
    (tmp_path / "c.jsonl").write_bytes(
        b'{"text": "a"}\n{"text": "\\ud800\\udc00\\udc00"}\n{"text": "\xff"}\n'
    )
    for name, replaced, affected in (
        ("c.txt", "\ufffd\ufffdb", 1),
        ("c.jsonl", "\U00010000\ufffd", 2),
    ):
        path = Input(str(tmp_path / name))
        mended = list(read_batches(path, Reading(separator="|", invalid="replace")))
        assert decoded(name, mended[0])[1] == replaced
        assert mended[0].affected == affected
        left = list(read_batches(path, Reading(separator="|", invalid="skip")))
        texts = [text for batch in left for text in decoded(name, batch)]
        assert texts == [text for text in ("a", "c") if affected == 1 or text == "a"]
        assert sum(batch.affected for batch in left) == affected


def test_nothing_after_the_last_separator_is_no_document(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("a\x00\x00b\x00")
    assert texts_of(tmp_path / "c", Reading(separator="\x00")) == ["a", "", "b"]
    (tmp_path / "c").write_text("")
    assert texts_of(tmp_path / "c", Reading(separator="\x00")) == []
    assert texts_of(tmp_path / "c") == [""]


@given(
    texts=st.lists(st.text(st.sampled_from("ab <|>é\n"), max_size=30), max_size=8),
    separator=st.sampled_from(["|", "<|>", "aa", "é", "\n\n"]),
    block=st.integers(1, 9),
)
def test_where_blocks_end_makes_no_difference(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], separator: str, block: int
) -> None:
    whole = separator.join(texts)
    path = tmp_path_factory.getbasetemp() / "blocks"
    path.write_bytes(whole.encode())
    expected = whole.split(separator)
    before = batches.BLOCK
    batches.BLOCK = block
    try:
        found = texts_of(path, Reading(separator=separator, cut=cutter(["x"], [])))
    finally:
        batches.BLOCK = before
    assert found == (expected[:-1] if expected[-1] == "" else expected)


def test_long_documents_are_read_in_pieces_that_change_no_pretoken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bpetite._engine import pretokenize
    from bpetite.patterns import PATTERNS

    monkeypatch.setattr(batches, "BLOCK", 1 << 15)
    text = "It's 東京, naïve <|end of text|> cafés\n\n 12345 x" * 9000
    (tmp_path / "long.txt").write_text(text)
    for name in ("gpt2", "cl100k", "o200k", "whitespace"):
        pattern = PATTERNS[name]
        reading = Reading(cut=cutter([pattern], ["<|end of text|>"]))
        found = list(read_batches(Input(str(tmp_path / "long.txt")), reading))
        pieces = [piece for batch in found for piece in decoded("long.txt", batch)]
        assert len(pieces) > 5
        assert [batch.goes_on for batch in found] == [True] * (len(found) - 1) + [False]
        assert [t for piece in pieces for t in pretokenize(piece, pattern)] == pretokenize(
            text, pattern
        )
        assert all(
            piece.count("<|end of text|>") == piece.count("<|") == piece.count("|>")
            for piece in pieces
        )
        assert not any(piece.startswith("<|") or piece.endswith("|>") for piece in pieces)
    whole = list(
        read_batches(Input(str(tmp_path / "long.txt")), Reading(cut=cutter([r"\b\w+|\W"], [])))
    )
    assert [len(batch.texts) for batch in whole] == [1]


FORMS: dict[str, Callable[[list[str]], bytes]] = {
    "c.jsonl": jsonl,
    "c.jsonl.gz": lambda texts: gzip.compress(jsonl(texts)),
    "c.parquet": parquet,
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("threads", [1, 3])
def test_long_texts_in_lines_and_rows_are_read_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, threads: int
) -> None:
    long = 'It\'s 東京, naïve <|endoftext|> cafés\n\n "12345" 😀\\' * 9000
    texts = ["short", long, "", "a", long + "b", long]
    (tmp_path / name).write_bytes(FORMS[name](texts))
    whole = Counts.from_iterator(texts, dialect="tiktoken")
    tokenizer = Tokenizer.train_from_iterator(texts, 300, dialect="tiktoken")
    for block in (1 << 15, batches.BLOCK):
        monkeypatch.setattr(batches, "BLOCK", block)
        counts = Counts.from_files(tmp_path / name, dialect="tiktoken", num_threads=threads)
        assert (list(counts.items()), counts.documents) == (list(whole.items()), whole.documents)
        folder = tmp_path / f"{block}"
        manifest = corpus.encode(tokenizer, tmp_path / name, folder, num_threads=threads)
        assert [(read.documents, read.affected) for read in manifest.inputs] == [(len(texts), 0)]
        corpus.verify(folder)
    monkeypatch.setattr(batches, "BLOCK", 1 << 15)
    reading = Reading(cut=cutter([tokenizer.pattern], []))
    assert texts_of(tmp_path / name, reading) == texts


@pytest.mark.parametrize("name", ["c.txt", "c.jsonl", "c.parquet"])
def test_of_a_long_document_what_is_no_text_is_told_or_repaired_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(batches, "BLOCK", 1 << 15)
    wrong = b"the cat sat on the mat, " * 5000 + b"\xff" + b"the cat sat " * 9000 + b"\xff|"
    lines = b'{"text": "a"}\n{"text": "%s"}\n{"text": "b"}\n' % wrong
    content = {"c.txt": b"|".join([b"a|" + wrong + b"b|"]), "c.jsonl": lines}
    (tmp_path / name).write_bytes(content.get(name) or parquet([b"a", wrong, b"b"]))
    reading = Reading(separator="|", cut=cutter([r"\S+|\s+"], []))
    place = {"c.txt": "document 1: .* byte 120000", "c.jsonl": "line 2: .* byte 120010 of the line"}
    with pytest.raises(ValueError, match=place.get(name, place["c.txt"])):
        texts_of(tmp_path / name, reading)
    for invalid, affected in (("replace", 1), ("skip", 1)):
        chosen = replace(reading, invalid=cast(Invalid, invalid))
        whole = wrong.decode(errors="replace").removesuffix("|" if name == "c.txt" else "")
        expected = ["a", *[whole][: invalid == "replace"], "b"]
        assert texts_of(tmp_path / name, chosen) == expected
        found = list(read_batches(Input(str(tmp_path / name)), chosen))
        assert sum(batch.affected for batch in found) == affected
        assert any(batch.goes_on for batch in found) == (invalid == "replace" and name == "c.txt")


@pytest.mark.parametrize("name", ["c.txt.gz", "c.jsonl", "c.jsonl.gz"])
def test_a_document_that_must_be_whole_has_a_largest_size(tmp_path: Path, name: str) -> None:
    text = "a" * 6_000_000
    (tmp_path / name).write_bytes(
        gzip.compress(text.encode()) if name == "c.txt.gz" else FORMS[name]([text])
    )
    with pytest.raises(
        ValueError, match=f"{name}: a document has more than 5,000,000 bytes; max_document"
    ):
        Counts.from_files(tmp_path / name, max_document="5MB", pattern=r"a+")
    assert Counts.from_files(tmp_path / name, max_document="7MB", pattern=r"a+").documents == 1


def test_a_long_document_holds_as_many_documents_in_pieces_as_in_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cut beside a special token would join the two documents that it separates."""
    monkeypatch.setattr(batches, "BLOCK", 1 << 15)
    content = b"the cat<|endoftext|> sat" * 20_000
    (tmp_path / "plain.txt").write_bytes(content)
    (tmp_path / "packed.txt.gz").write_bytes(gzip.compress(content))
    plain, packed = (
        Counts.from_files(path, dialect="tiktoken")
        for path in sorted(tmp_path.iterdir(), reverse=True)
    )
    assert list(plain.items()) == list(packed.items())
    assert plain.documents == packed.documents == 20_001


def test_inputs_come_in_the_order_given_and_sorted_by_bytes_within(tmp_path: Path) -> None:
    for name in (
        "b/2.txt",
        "b/10.txt",
        "b/Z.txt",
        "b/é.txt",
        "b/.hidden",
        "b/.git/x",
        "b/c/d.txt",
        "a.txt",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "b" / "c" / "loop").symlink_to(tmp_path / "b")
    (tmp_path / "b" / "link.txt").symlink_to(tmp_path / "a.txt")

    def names(*arguments: str) -> list[str]:
        found = find_inputs([str(tmp_path / argument) for argument in arguments])
        return [os.path.relpath(each.name, tmp_path) for each in found]

    folder = ["b/10.txt", "b/2.txt", "b/Z.txt", "b/c/d.txt", "b/link.txt", "b/é.txt"]
    assert names("b", "a.txt") == [*folder, "a.txt"]
    assert names("a.txt", "b/*.txt") == ["a.txt", *(name for name in folder if "/c/" not in name)]
    assert names("b/**/d.txt") == ["b/c/d.txt"]
    for missing in ("none.txt", "none*.txt"):
        with pytest.raises(FileNotFoundError, match="none"):
            names(missing)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="holds no files"):
        names("empty")


def test_a_path_may_end_in_a_weight(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    (tmp_path / "b:2").write_text("b")
    for argument, weight in (
        ("a", 1),
        ("a:2", 2),
        ("a:1.5", Fraction(3, 2)),
        ("a:1/3", Fraction(1, 3)),
        ("b:2", 1),
    ):
        (found,) = find_inputs(tmp_path / argument)
        assert (found.weight, Path(found.name).name) == (weight, argument if weight == 1 else "a")
    for wrong in ("a:0", "a:0.0", "a:1/0"):
        with pytest.raises(ValueError, match="weight"):
            find_inputs(tmp_path / wrong)


def test_urls_are_read_through_fsspec(tmp_path: Path) -> None:
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.pipe(
        {
            "/corpus/b.jsonl": jsonl(["b"]),
            "/corpus/a.txt.gz": gzip.compress(b"a"),
            "/corpus/.x": b"x",
        }
    )
    memory.pipe("/corpus/c.parquet", parquet(["c"]))
    for argument in ("memory://corpus", "memory://corpus/*[a-z].*"):
        found = find_inputs(argument)
        assert [each.name for each in found] == [
            "memory:///corpus/a.txt.gz",
            "memory:///corpus/b.jsonl",
            "memory:///corpus/c.parquet",
        ]
        assert [text for each in found for text in texts_of(each.name)] == ["a", "b", "c"]
    with pytest.raises(FileNotFoundError):
        find_inputs("memory://corpus/none")


def test_urls_lead_through_others(tmp_path: Path) -> None:
    import fsspec

    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("d/a.txt", "a")
        archive.writestr("d/b.jsonl", jsonl(["b"]))
        archive.writestr("d/c.txt.gz", gzip.compress(b"c"))
        archive.writestr("e.parquet", parquet(["e"]))
    (tmp_path / "x.zip").write_bytes(content.getvalue())
    fsspec.filesystem("memory").pipe("/zipped/x.zip", content.getvalue())
    for outer in (str(tmp_path / "x.zip"), "memory://zipped/x.zip"):
        for inner in ("zip://d", "zip://d/*"):
            found = find_inputs(f"{inner}::{outer}")
            names = ["a.txt", "b.jsonl", "c.txt.gz"]
            assert [each.name for each in found] == [f"zip://d/{name}::{outer}" for name in names]
            assert [text for each in found for text in texts_of(each.name)] == ["a", "b", "c"]
        assert texts_of(f"zip://e.parquet::{outer}") == ["e"]
    (cached,) = find_inputs("simplecache::memory://zipped/*.zip")
    assert cached.name == "simplecache::memory:///zipped/x.zip"


class _Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def test_a_web_server_is_a_source(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(jsonl(["a", "b"]))
    handler = functools.partial(_Handler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert texts_of(f"http://127.0.0.1:{server.server_port}/a.jsonl") == ["a", "b"]
        server.shutdown()


class _Failing(_Handler):
    """Answers with the status that its path names."""

    def do_GET(self) -> None:
        self.send_error(int(self.path.strip("/").split(".")[0]))

    do_HEAD = do_GET


@contextlib.contextmanager
def served(handler: Callable[..., http.server.BaseHTTPRequestHandler]) -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


NAMED: dict[str, bytes] = {
    "a.jsonl": jsonl(["a", "b"]),
    "a.jsonl.gz": gzip.compress(jsonl(["a", "b"])),
    "a.json.zst": zstd(jsonl(["a", "b"])),
    "a.parquet": parquet(["a", "b"]),
}


@pytest.mark.parametrize("name", NAMED)
def test_what_a_url_adds_to_a_name_hides_no_format(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(NAMED[name])
    with served(functools.partial(_Handler, directory=str(tmp_path))) as server:
        for more in (
            "",
            "?download=true",
            "?name=x.txt",
            "?a/b.txt&c=d",
            "#x",
            "#x.txt",
            "?a=b.csv#c.txt",
        ):
            assert texts_of(f"{server}/{name}{more}") == ["a", "b"], more
        assert texts_of(f"{server}/{name.replace('.', '%2E')}") == ["a", "b"]


def test_a_url_that_names_a_table_is_refused_whatever_it_adds(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,n\na,1\n")
    with served(functools.partial(_Handler, directory=str(tmp_path))) as server:
        for more in ("", "?download=true", "?name=x.txt", "#x.jsonl"):
            with pytest.raises(ValueError, match="CSV is not supported"):
                texts_of(f"{server}/a.csv{more}")


@pytest.mark.parametrize("status", [401, 403, 404, 410, 500, 503])
def test_what_happened_to_a_url_is_said(status: int) -> None:
    with served(_Failing) as server:
        url = f"{server}/{status}.txt"
        with pytest.raises(OSError, match=str(status)) as refused:
            find_inputs(url)
        assert str(refused.value).startswith(f"{url}: ")
        assert isinstance(refused.value, FileNotFoundError) == (status in (404, 410))
        assert isinstance(refused.value, PermissionError) == (status in (401, 403))


def test_a_host_that_does_not_answer_is_named_with_the_reason() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # nobody listens
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/a.txt"
        with pytest.raises(OSError, match=r"(?i)connect") as refused:
            find_inputs(url)
        assert str(refused.value).startswith(f"{url}: ")
    with pytest.raises(OSError, match=r"^http://nowhere\.invalid/a\.txt: .*(resol|known|name)"):
        find_inputs("http://nowhere.invalid/a.txt")
    with pytest.raises(FileNotFoundError, match=r"^memory://none/a\.txt: there is no such file"):
        find_inputs("memory://none/a.txt")


@pytest.mark.parametrize("name", ["big::x.txt", "a::b::c.txt", "http::x", "s3::x.jsonl"])
def test_a_local_file_that_looks_like_an_address_is_a_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=name):
        find_inputs(name)
    Path(name).write_bytes(jsonl(["text"]) if name.endswith("jsonl") else b"text")
    assert texts_of(name) == ["text"]
    for argument in (name, f"{name}:2", "*", name[:3] + "*"):
        (found,) = find_inputs(argument)
        assert (found.name, found.is_local, found.weight) == (
            name,
            True,
            2 if ":2" in argument else 1,
        )
    Path("memory:/a").mkdir(parents=True)
    Path("memory:/a/b.txt").write_text("local")
    assert texts_of("memory://a/b.txt") == ["local"]


def test_hugging_face_datasets_are_a_corpus(tmp_path: Path) -> None:
    import datasets

    texts = [f"row {number}, naïve 東京" for number in range(50)]
    path = tmp_path / "rows.parquet"
    path.write_bytes(parquet(texts))
    expected = list(Counts.from_iterator(texts).items())
    for streaming in (False, True):
        rows = datasets.load_dataset(
            "parquet",
            data_files=str(path),
            split="train",
            streaming=streaming,
            cache_dir=str(tmp_path),
        )
        counts = Counts.from_iterator(row["text"] for row in rows)
        assert (list(counts.items()), counts.documents) == (expected, 50)


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.txt"
    path.write_bytes(b"abc")
    with closing(Raw(Input(str(path)))) as raw:
        path.write_bytes(b"abcdef")
        with pytest.raises(ValueError, match=r"changed while it was read \(3 to 6 bytes\)"):
            list(iter(lambda: raw.read(100), b""))


def test_empty_documents_have_a_place_among_ids_and_none_in_counts(tmp_path: Path) -> None:
    """In counting, a special token makes two documents of one; in shards, it does not."""
    (tmp_path / "in.jsonl").write_bytes(jsonl(["a", "", "b<|endoftext|>c", ""]))
    tokenizer = Tokenizer.train("the cat", 260)
    assert corpus.encode(tokenizer, tmp_path / "in.jsonl", tmp_path / "ids").documents == 4
    assert corpus.stats(tokenizer, tmp_path / "in.jsonl")[-1].documents == 4
    counted = Counts.from_files(tmp_path / "in.jsonl", dialect="tiktoken")
    assert counted.documents == 3
    joined = Counts.from_iterator(
        ["a<|endoftext|><|endoftext|>b<|endoftext|>c"], dialect="tiktoken"
    )
    assert (joined.documents, list(joined.items())) == (3, list(counted.items()))


def test_documents_come_from_any_iterable() -> None:
    assert [b.texts for b in batches_of(["a", b"b"])] == [["a", b"b"]]
    with pytest.raises(TypeError, match="put it in a list"):
        list(batches_of("text"))
    with pytest.raises(TypeError, match="str or bytes, not int"):
        list(batches_of(cast("list[str]", [1])))
    with pytest.raises(ValueError, match="document 1: lone surrogate"):
        [decoded("documents", batch) for batch in batches_of(["a", "\ud800"])]


def test_reading_ahead_passes_errors_on_and_stops_when_left() -> None:
    made: list[int] = []

    def items(fail: bool) -> Steps[int]:
        for number in range(1000):
            if fail and number == 3:
                raise KeyError("inside")
            made.append(number)
            yield [number], False

    ahead = in_threads([True], items, 1)
    assert [next(ahead), next(ahead), next(ahead)] == [0, 1, 2]
    with pytest.raises(KeyError, match="inside"):
        next(ahead)
    made.clear()
    ahead = in_threads([False], items, 1)
    next(ahead)
    ahead.close()
    assert len(made) < 9
