"""Every command's result on stdout: all of it and exit code 0, or one message and exit code 1.

In the environments of `environments.py`, because Python buffers, encodes and warns as they say.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from bpetite import Counts, Tokenizer
from bpetite.cli import COMMANDS
from environments import STRANGE

CORPUS = "the cat sat on the mat, naïve cafés\n" * 40

PRINTERS = {
    "train": ["train", "--input", "corpus.txt", "--vocab-size", "300", "--output", "out"],
    "count": ["count", "--input", "corpus.txt", "--output", "out"],
    "merge-counts": ["merge-counts", "--counts", "counts", "--output", "out"],
    "extend": [
        *("extend", "tok.json", "--input", "corpus.txt", "--add", "5", "--quiet"),
        *("--output", "out"),
    ],
    "prune": [
        *("prune", "tok.json", "--input", "corpus.txt", "--vocab-size", "270", "--quiet"),
        *("--output", "out"),
    ],
    "replace": [
        *("replace", "tok.json", "--input", "corpus.txt", "--number", "5", "--quiet"),
        *("--output", "out"),
    ],
    "demo": ["demo", "--vocab-size", "300"],
    "encode": ["encode", "--model", "tok.json", "--input", "corpus.txt"],
    "decode": ["decode", "--model", "tok.json", "--ids", "97"],
    "encode-corpus": [
        *(
            "encode-corpus",
            "--model",
            "tok.json",
            "--input",
            "corpus.txt",
            "--quiet",
            "--output",
            "out",
        )
    ],
    "encode-column": [
        *("encode-column", "--model", "tok.json", "--input", "rows.parquet"),
        *("--quiet", "--output", "out"),
    ],
    "count-tokens": ["count-tokens", "--model", "tok.json", "--input", "corpus.txt"],
    "fit": ["fit", "tok.json", "--tokens", "3", "--text", "the cat"],
    "chunks": ["chunks", "tok.json", "--tokens", "3", "--text", "the cat"],
    "verify": ["verify", "shards"],
    "convert": ["convert", "tok.json", "out"],
    "check": ["check", "tok.json"],
    "bench": ["bench", "tok.json", "corpus.txt", "--libraries", "bpetite"],
    "inspect": ["inspect", "tok.json"],
    "compare": ["compare", "tok.json", "tok.json", "--text", "the cat"],
    "explain": ["explain", "--input", "corpus.txt", "--merges", "merges.txt"],
    "view": ["view", "tok.json", "--no-browser"],
    "stats": ["stats", "--model", "tok.json", "--input", "corpus.txt"],
    "report": ["report", "tok.json", "--input", "corpus.txt", "--output", "out"],
    "help": ["--help"],
    "help of a command": ["encode", "--help"],
    "nothing": [],
    "version": ["--version"],
}
"""A command line for every command, and for what is printed without one."""

ODD_NAMES = ("körpus, 東京.txt".encode(), b"k\xf6rpus.txt")
"""Names of files as the system sees them, which Python writes as its own locale says."""

posix = pytest.mark.skipif(os.name != "posix", reason="a POSIX shell and its pipes")

BUFFERED = ("nothing set", "unbuffered")
"""The environments that decide what is left in a buffer when the process ends."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("printed")
    (folder / "corpus.txt").write_text(CORPUS, "utf-8")
    (folder / "merges.txt").write_text("t h\n")
    Tokenizer.train(CORPUS, 300).save(folder / "tok.json")
    Counts.from_files(folder / "corpus.txt").save(folder / "counts")
    pyarrow.parquet.write_table(pyarrow.table({"text": CORPUS.split()}), folder / "rows.parquet")
    assert run(folder, [*PRINTERS["encode-corpus"][:-1], "shards"], "nothing set").returncode == 0
    return folder


def run(
    folder: Path,
    arguments: list[str],
    environment: str,
    stdout: int = subprocess.PIPE,
    limits: str = ":",
) -> subprocess.CompletedProcess[str]:
    """Run the command in a shell that sets limits or closes streams before."""
    shutil.rmtree(folder / "out", ignore_errors=True)
    (folder / "out").unlink(missing_ok=True)
    return subprocess.run(
        ["sh", "-c", f'{limits}; exec "$@"', "sh", sys.executable, "-m", "bpetite", *arguments],
        cwd=folder,
        env={**os.environ, **STRANGE[environment]},
        stdout=stdout,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        check=False,
    )


def messages(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What the command says, without the progress of a work that succeeded."""
    return [
        line for line in done.stderr.splitlines() if line.startswith("bpetite") or "rror" in line
    ]


def test_every_command_is_among_those_that_print() -> None:
    assert {line[0] for line in PRINTERS.values() if line and line[0] != "--help"} - {
        "--version"
    } == {*COMMANDS}


def written(out: Path) -> dict[str, bytes]:
    files = out.iterdir() if out.is_dir() else [out] if out.exists() else []
    return {path.name: path.read_bytes() for path in files}


NAMED = [
    (printer, name)
    for printer, arguments in PRINTERS.items()
    for name in ("corpus.txt", *map(os.fsdecode, ODD_NAMES))
    if printer != "view" and (name == "corpus.txt" or {"corpus.txt", "tok.json"} & {*arguments})
]
"""Each command that ends, and the names of the files that it is told."""


@posix
@pytest.mark.parametrize(("printer", "name"), NAMED)
def test_a_command_does_the_same_in_every_environment(
    folder: Path, printer: str, name: str
) -> None:
    """The times that some print, and the speeds, are left out, with the spaces before them."""
    model = f"{name}.json"
    for link, target in ((name, "corpus.txt"), (model, "tok.json")):
        if not (folder / link).exists():
            (folder / link).symlink_to(target)
    told = [
        word.replace("corpus.txt", name).replace("tok.json", model) for word in PRINTERS[printer]
    ]
    results = {}
    # What is buffered, and what Python warns of, does not depend on a name.
    for environment in STRANGE if name == "corpus.txt" else ("nothing set", "ASCII"):
        done = run(folder, told, environment)
        assert done.returncode == 0, done.stderr
        assert "Warning" not in done.stderr.replace(name, "")
        results[environment] = (re.sub(r"[ \d.,]+", "0", done.stdout), written(folder / "out"))
    for environment, result in results.items():
        assert result == results["nothing set"], environment


@posix
def test_texts_among_the_arguments_are_the_same_in_every_locale(folder: Path) -> None:
    texts = ["--special-token", "<é>", "<日本>", "--pattern", "é+|.", "--separator", "ï"]
    as_arguments = [os.fsdecode(text.encode()) for text in texts]
    results = []
    for environment in ("nothing set", "ASCII"):
        done = run(folder, [*PRINTERS["train"], *as_arguments], environment)
        assert done.returncode == 0, done.stderr
        results.append((folder / "out").read_bytes())
    assert results[0] == results[1]


@posix
@pytest.mark.parametrize("name", [*map(os.fsdecode, ODD_NAMES)])
def test_a_run_is_continued_and_checked_in_another_locale(tmp_path: Path, name: str) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / name).write_text("the cat\n" * 300)
    (tmp_path / "b.txt").write_bytes(b"\xff")
    Tokenizer.train("the cat", 260).save(tmp_path / "tok.json")
    encode = [
        "encode-corpus",
        "--model",
        "tok.json",
        "--input",
        "a",
        "b.txt",
        "--shard-size",
        "500",
    ]
    encode += ["--quiet", "--resume", "--output", "shards"]
    stopped = run(tmp_path, encode, "ASCII")
    assert stopped.returncode == 1
    assert (tmp_path / "shards" / "shard-000000.npy").exists()
    (tmp_path / "b.txt").write_text("sat")
    assert run(tmp_path, encode, "nothing set").stderr == ""
    assert run(tmp_path, ["verify", "shards", "--inputs", "--quiet"], "ASCII").stderr == ""
    assert run(tmp_path, encode, "ASCII").stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize("environment", BUFFERED)
@pytest.mark.parametrize("printer", PRINTERS)
def test_a_full_disk_behind_stdout_is_one_message(
    folder: Path, printer: str, environment: str
) -> None:
    with open("/dev/full", "wb") as full:
        done = run(folder, PRINTERS[printer], environment, full.fileno())
    assert done.returncode == 1
    [message] = messages(done)
    assert re.fullmatch(r"bpetite( [a-z-]+)?: stdout: No space left on device", message)
    assert done.stderr.endswith(f"{message}\n")


@posix
@pytest.mark.parametrize("environment", BUFFERED)
@pytest.mark.parametrize("printer", PRINTERS)
def test_a_closed_stdout_is_one_message(folder: Path, printer: str, environment: str) -> None:
    done = run(folder, PRINTERS[printer], environment, limits="exec >&-")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "bpetite: stdout is closed, and the result would be lost\n"


@posix
@pytest.mark.parametrize("environment", BUFFERED)
@pytest.mark.parametrize("printer", PRINTERS)
def test_a_reader_that_has_left_is_no_message(folder: Path, printer: str, environment: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = run(folder, PRINTERS[printer], environment, writing)
    finally:
        os.close(writing)
    assert done.returncode == 141
    assert messages(done) == []


@posix
@pytest.mark.parametrize("environment", BUFFERED)
def test_a_result_of_which_a_part_has_room_is_an_error(
    folder: Path, tmp_path: Path, environment: str
) -> None:
    """The system takes the first part without an error: the rest must not be forgotten."""
    with open(tmp_path / "part", "wb") as part:
        done = run(folder, PRINTERS["encode"], environment, part.fileno(), "ulimit -f 1")
    assert done.returncode == 1
    assert done.stderr == "bpetite encode: stdout: File too large\n"
    assert 0 < (tmp_path / "part").stat().st_size <= 1024


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize("environment", BUFFERED)
@pytest.mark.parametrize(("arguments", "code"), [(["encode"], 2), (["inspect", "none.json"], 1)])
def test_a_message_that_cannot_be_written_leaves_the_exit_code(
    folder: Path, arguments: list[str], code: int, environment: str
) -> None:
    assert run(folder, arguments, environment, limits="exec 2>/dev/full").returncode == code


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize("environment", BUFFERED)
@pytest.mark.parametrize("printer", sorted(PRINTERS.keys() - {"view"}))
def test_messages_that_cannot_be_written_change_nothing(
    folder: Path, printer: str, environment: str
) -> None:
    done = run(folder, PRINTERS[printer], environment, limits="exec 2>/dev/full")
    assert (done.returncode, bool(done.stdout)) == (0, True)


@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"]])
def test_help_needs_no_docstrings(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "bpetite", *arguments]
    told = [
        subprocess.run(
            command, capture_output=True, check=True, env={**os.environ, "PYTHONOPTIMIZE": level}
        )
        for level in ("", "2")
    ]
    assert told[0].stdout == told[1].stdout
    assert b"bpetite train --input" in told[0].stdout
