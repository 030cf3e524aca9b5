"""A path of texts means the same at every door: in Python and on the command line, for every format."""

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
import zstandard

from bpetite import Counts, Tokenizer
from bpetite.cli import run

TEXTS = ["the cat sat on the mat", "", "naïve 東京 東京", "the mat\nthe cat", '"quoted" text'] * 7


def lines(texts: list[str], field: str = "text") -> bytes:
    return b"".join(json.dumps({"id": 1, field: text}).encode() + b"\n" for text in texts)


def rows(texts: list[str], column: str = "text") -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({column: texts}), file)
    return file.getvalue()


def zstd(content: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(content)


joined = "\x00".join(TEXTS).encode()

Case = tuple[dict[str, bytes], list[str], dict[str, Any]]

CASES: dict[str, Case] = {
    "text": ({"c.txt": joined}, ["c.txt"], {"separator": "\x00"}),
    "text, gzip": ({"c.txt.gz": gzip.compress(joined)}, ["c.txt.gz"], {"separator": "\x00"}),
    "text, zstd": ({"c.zst": zstd(joined)}, ["c.zst"], {"separator": "\x00"}),
    "JSON lines": ({"c.jsonl": lines(TEXTS)}, ["c.jsonl"], {}),
    "JSON lines by another name": ({"c": lines(TEXTS)}, ["c"], {"input_format": "jsonl"}),
    "JSON lines, another field": ({"c.json": lines(TEXTS, "body")}, ["c.json"], {"text_field": "body"}),
    "JSON lines, told by their beginning, which comes byte by byte": (
        {"c.json.gz": b"".join(map(gzip.compress, (b"{", b'"', lines(TEXTS)[2:])))},
        ["c.json.gz"],
        {},
    ),
    "JSON lines, gzip": ({"c.jsonl.gz": gzip.compress(lines(TEXTS))}, ["c.jsonl.gz"], {}),
    "JSON lines, zstd": ({"c.jsonl.zst": zstd(lines(TEXTS))}, ["c.jsonl.zst"], {}),
    "Parquet": ({"c.parquet": rows(TEXTS)}, ["c.parquet"], {}),
    "Parquet, another column": ({"c.pq": rows(TEXTS, "body")}, ["c.pq"], {"text_column": "body"}),
    "Parquet without a name": ({"c": rows(TEXTS)}, ["c"], {}),
    "a folder": (
        {
            "d/1.jsonl": lines(TEXTS[:9]),
            "d/2.parquet": rows(TEXTS[9:20]),
            "d/e/3.jsonl.gz": gzip.compress(lines(TEXTS[20:])),
        },
        ["d"],
        {},
    ),
    "a glob": ({"1.jsonl": lines(TEXTS[:9]), "2.jsonl": lines(TEXTS[9:])}, ["*.jsonl"], {}),
    "a weight": ({"c.jsonl": lines(TEXTS)}, ["c.jsonl:2"], {}),
    "fields of their own": (
        {"1.jsonl": lines(TEXTS[:9], "body"), "2.pq": rows(TEXTS[9:20], "a b"), "3.jsonl": lines(TEXTS[20:])},
        ["1.jsonl:text=body", "2.pq:text=a b", "3.jsonl"],
        {},
    ),
    "a field of its own and a weight": ({"c.jsonl": lines(TEXTS, "b")}, ["c.jsonl:text=b:2"], {}),
    "a URL": ({"c.jsonl": lines(TEXTS)}, ["file://{folder}/c.jsonl"], {}),
    "what is not text": (
        {"c.jsonl": lines(TEXTS) + b'{"text": "\\ud800"}\n{"text": 3}\n'},
        ["c.jsonl"],
        {"invalid": "skip"},
    ),
}


def as_options(keywords: dict[str, Any]) -> list[str]:
    return [part for name, value in keywords.items() for part in (f"--{name.replace('_', '-')}", value)]


def by_counting(paths: list[str], keywords: dict[str, Any], folder: Path) -> Tokenizer:
    return Tokenizer.train_from_counts(Counts.from_files(paths, **keywords), 290)


def by_training(paths: list[str], keywords: dict[str, Any], folder: Path) -> Tokenizer:
    return Tokenizer.train_from_files(paths, 290, num_threads=1, **keywords)


def by_command(paths: list[str], keywords: dict[str, Any], folder: Path) -> Tokenizer:
    arguments = ["--vocab-size", "290", "--output", f"{folder}/t.json", *as_options(keywords)]
    assert run(["train", "--input", *paths, *arguments, "--quiet"]) == 0
    return Tokenizer.load(folder / "t.json")


def by_two_commands(paths: list[str], keywords: dict[str, Any], folder: Path) -> Tokenizer:
    counts = f"{folder}/counts.parquet"
    arguments = ["--output", counts, "--force", *as_options(keywords)]
    assert run(["count", "--input", *paths, *arguments, "--quiet"]) == 0
    return Tokenizer.train_from_counts(Counts.load(counts), 290)


DOORS: list[Callable[[list[str], dict[str, Any], Path], Tokenizer]] = [
    by_counting,
    by_training,
    by_command,
    by_two_commands,
]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("door", DOORS)
def test_a_path_means_the_same_at_every_door(
    name: str,
    door: Callable[[list[str], dict[str, Any], Path], Tokenizer],
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    files, paths, keywords = CASES[name]
    for path, content in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    paths = [path.format(folder=tmp_path) if "://" in path else str(tmp_path / path) for path in paths]
    expected = Tokenizer.train_from_iterator(TEXTS, 290)
    assert len(expected.merges) > 20
    assert door(paths, keywords, tmp_path_factory.mktemp("out")) == expected


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("c.txt", gzip.compress(b"text"), "its name says .txt, but it holds gzip"),
        ("c.jsonl", b"plain text\n", "line 1: not JSON"),
        ("c.jsonl", b'{"body": "text"}\n', "no field 'text'"),
        ("c.parquet", b"plain text", "not a complete Parquet file"),
        ("c.txt", "text".encode("utf-16"), "not valid UTF-8 at byte 0"),
        ("c.tar", b"c.txt" + bytes(252) + b"ustar\x0000" + bytes(2000), "tar is not"),
        ("corpus", b"c.txt" + bytes(252) + b"ustar  \0" + bytes(2000), "tar is not"),
        ("c.tar.gz", gzip.compress(b"c.txt" + bytes(252) + b"ustar\x0000" + bytes(2000)), "tar is not"),
        ("c.tgz", gzip.compress(b"c.txt" + bytes(252) + b"ustar\x0000" + bytes(2000)), "tar is not"),
    ],
    ids=range(9),
)
def test_nothing_is_trained_on_as_text_that_is_no_text(
    name: str, content: bytes, says: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    for train in (
        lambda: Counts.from_files(tmp_path / name),
        lambda: Tokenizer.train_from_files([tmp_path], 300),
    ):
        with pytest.raises(ValueError, match=says) as refused:
            train()
        assert str(tmp_path / name) in str(refused.value)
