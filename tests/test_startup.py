"""What is not needed is not imported: each run loads what it uses, and starts in so little time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import bpetite
from bpetite import Tokenizer

SLOW = {"dataclasses", "numpy", "regex", "rich", "unicodedata"}
"""Modules whose import takes milliseconds or more."""

REST = {"bpetite._engine", "bpetite.corpus", "bpetite.formats", "bpetite.interfaces", "bpetite.show"}
"""Parts of the package that most runs do not need."""

REPORT = "\nimport json, sys\nprint(json.dumps(sorted(sys.modules)), file=sys.stderr)"

COMMAND = """
from bpetite.cli import main
try:
    main({arguments})
except SystemExit as end:
    assert not end.code, end.code
"""


def loaded(code: str, folder: Path) -> set[str]:
    """The modules that a process has loaded after it has run some code."""
    command = [sys.executable, "-c", code + REPORT]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("startup")
    (folder / "corpus.txt").write_text("low lower lowest", "utf-8")
    (folder / "large.txt").write_text("low lower lowest " * (1 << 15), "utf-8")
    Tokenizer.train("low lower lowest", 260).save(folder / "tok.json")
    return folder


def test_importing_the_package_imports_nothing_that_takes_time(folder: Path) -> None:
    assert loaded("import bpetite", folder) & (SLOW | REST | {"argparse"}) == set()


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["train", "--help"]])
def test_help_needs_little(folder: Path, arguments: list[str]) -> None:
    there = loaded(COMMAND.format(arguments=arguments), folder)
    assert "argparse" in there
    assert there & SLOW == set()


@pytest.mark.parametrize("name", bpetite.__all__)
def test_every_public_name_is_there_when_it_is_asked_for(folder: Path, name: str) -> None:
    assert "bpetite" in loaded(f"import bpetite\nassert bpetite.{name} is bpetite.{name}", folder)
    assert loaded(f"from bpetite import {name}", folder)
    assert name in dir(bpetite)


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'bpetite' has no attribute 'Tokeniser'"):
        bpetite.Tokeniser  # noqa: B018


@pytest.mark.parametrize("dialect", ["bpetite", "cs336"])
def test_training_to_a_file_needs_neither_numpy_nor_formats(folder: Path, dialect: str) -> None:
    arguments = ["train", "--quiet", "--input", "large.txt", "--vocab-size", "270", "--dialect", dialect]
    arguments += ["--output", f"{dialect}.json"]
    there = loaded(COMMAND.format(arguments=arguments), folder)
    assert there & (SLOW | {"bpetite.tokenizer", "bpetite.formats.tiktoken"}) == set()
    assert Tokenizer.load(folder / f"{dialect}.json").dialect.name == dialect


def test_training_from_a_file_imports_only_what_reads_plain_text(folder: Path) -> None:
    there = loaded("from bpetite import Tokenizer\nTokenizer.train_from_files('large.txt', 270)", folder)
    standard = {"dataclasses", "decimal", "fractions", "glob", "inspect", "pickle", "tempfile"}
    ours = {
        "_internal.counts_file",
        "_internal.normalizers",
        "_persistence",
        "reading.documents",
        "reading.parallel",
        "reading.parquet",
    }
    assert there & (standard | {f"bpetite.{name}" for name in ours}) == set()


@pytest.mark.parametrize(
    "arguments",
    [
        ["encode", "--model", "tok.json", "--text", "low lower"],
        ["decode", "--model", "tok.json", "--ids", "108", "111"],
    ],
)
def test_an_artifact_is_used_without_numpy_or_the_formats_of_others(
    folder: Path, arguments: list[str]
) -> None:
    there = loaded(COMMAND.format(arguments=arguments), folder)
    others = {f"bpetite.formats.{name}" for name in ("gguf", "gpt2", "huggingface", "tekken", "tiktoken")}
    assert there & (SLOW | {"bpetite.encoding", "bpetite.interfaces"} | others) == set()


def test_lists_of_ids_need_no_numpy_and_arrays_do(folder: Path) -> None:
    code = "from bpetite import Tokenizer\ntok = Tokenizer.load('tok.json')\nids = tok.encode('low')\n"
    there = loaded(code + "assert tok.decode(ids) == 'low' and tok.fingerprint and tok.largest_id", folder)
    assert "numpy" not in there
    assert "numpy" in loaded(code + "tok.encode_to_numpy('low')", folder)
