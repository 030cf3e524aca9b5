"""The commands that change the vocabulary of a tokenizer write it and the map of its ids."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bpetite import Counts, Tokenizer, TokenMap

CORPUS = "the cat sat on the mat, the bat sat on the hat; naïve cafés, 東京都 12345\n" * 3


def bpetite(*arguments: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "bpetite", *map(str, arguments)], capture_output=True, check=False
    )


def done(*arguments: object) -> Any:
    ran = bpetite(*arguments, "--json")
    assert ran.returncode == 0, ran.stderr.decode()
    return json.loads(ran.stdout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("surgery")
    (folder / "corpus.txt").write_text(CORPUS, "utf-8")
    tok = Tokenizer.train_from_iterator([CORPUS], 320, dialect="tiktoken")
    tok.save(folder / "tok.json")
    tok.save_folder(folder / "model", pad_token="<|endoftext|>")
    counts = Counts.from_iterator([CORPUS], dialect="tiktoken")
    counts.save(folder / "corpus.counts")
    return folder


@pytest.mark.parametrize("source", [["--input", "corpus.txt"], ["--counts", "corpus.counts"]])
@pytest.mark.parametrize("name", ["map.json", "map.parquet"])
def test_prune_gives_what_python_gives(
    folder: Path, tmp_path: Path, source: list[str], name: str
) -> None:
    texts = [source[0], folder / source[1]]
    written = tmp_path / "small.json", tmp_path / name
    said = done(
        *("prune", folder / "tok.json", *texts, "--vocab-size", 280),
        *("--output", written[0], "--map", written[1]),
    )
    smaller, token_map = Tokenizer.load(folder / "tok.json").prune([CORPUS], 280)
    assert Tokenizer.load(written[0]) == smaller
    assert TokenMap.load(written[1]) == token_map
    assert said == {
        "to": "bpetite",
        "vocab_size": 280,
        "removed": token_map.old_size - 280,
        "new": 0,
        "rows": 280,
        "fingerprint": smaller.fingerprint,
    }


def test_a_folder_stays_a_folder(folder: Path, tmp_path: Path) -> None:
    texts = ["--input", folder / "corpus.txt"]
    done(
        *("prune", folder / "model", *texts, "--vocab-size", 280),
        *("--ids", "keep", "--output", tmp_path / "out"),
    )
    kept, _ = Tokenizer.load(folder / "model").prune([CORPUS], 280, ids="keep")
    assert Tokenizer.load(tmp_path / "out") == kept
    settings = json.loads((tmp_path / "out" / "tokenizer_config.json").read_text())
    assert settings["pad_token"] == "<|endoftext|>"


def test_replace_gives_what_python_gives(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_text("zebras and quaggas and zebras and quaggas", "utf-8")
    done(
        *("replace", folder / "tok.json", tmp_path / "new.txt", "--number", 6),
        *("--output", tmp_path / "other.json", "--map", tmp_path / "map.json"),
    )
    texts = [(tmp_path / "new.txt").read_text()]
    other, token_map = Tokenizer.load(folder / "tok.json").replace(texts, 6)
    assert Tokenizer.load(tmp_path / "other.json") == other
    assert TokenMap.load(tmp_path / "map.json") == token_map


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["prune", "tok.json", "--vocab-size", "280"], "arguments are required: --input"),
        (
            ["prune", "tok.json", "corpus.txt", "--vocab-size", "9"],
            "vocab_size 9 is too small: 257",
        ),
        (["replace", "tok.json", "corpus.txt", "--number", "1k"], "number 1000 is too large"),
        (
            [
                "prune",
                "tok.json",
                "--counts",
                "corpus.counts",
                "--vocab-size",
                "280",
                "--map",
                "tok.json",
            ],
            "tok.json exists already; --force replaces it",
        ),
    ],
)
def test_mistakes_are_refused_before_anything_is_written(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], reason: str
) -> None:
    monkeypatch.chdir(folder)
    ran = bpetite(*arguments, "--output", tmp_path / "out.json")
    assert reason in ran.stderr.decode()
    assert (ran.returncode, ran.stdout) in ((1, b""), (2, b""))
    assert not [*tmp_path.iterdir()]
