"""Inputs as file systems have them: odd names, pipes, dead links, full disks, files that change."""

import errno
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bpetite import Counts, Tokenizer, corpus
from bpetite.cli import run
from bpetite.corpus import Options, Reading
from bpetite.corpus.shards import ShardWriter
from bpetite.reading.sources import find_inputs

TEXT = "the cat sat on the mat|the cat|a hat"
TOKENIZER = Tokenizer.train(TEXT, 270)
READING = Reading(separator="|")


class Stop(Exception):
    """The exception that stops a run."""


def files(folder: Path, count: int) -> list[Path]:
    folder.mkdir()
    for number in range(count):
        (folder / f"{number}.txt").write_text(TEXT + f"|{number}")
    return sorted(folder.iterdir())


def ids_of(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.glob("shard-*"))]


def stopped(
    paths: list[Path], output: Path, monkeypatch: pytest.MonkeyPatch, at: int, error: Exception
) -> BaseException:
    """Encode, and stop when a shard is about to be completed; return the exception."""
    whole = ShardWriter.finish
    completed: list[ShardWriter] = []

    def finish(self: ShardWriter) -> object:
        if len(completed) == at:
            raise error
        completed.append(self)
        return whole(self)

    with monkeypatch.context() as patched:
        patched.setattr(ShardWriter, "finish", finish)
        with pytest.raises(type(error)) as raised:
            corpus.encode(TOKENIZER, paths, output, options=Options(shard_size=1, reading=READING))
    return raised.value


def resumed(paths: list[Path], output: Path) -> list[bytes]:
    corpus.encode(
        TOKENIZER, paths, output, options=Options(shard_size=1, reading=READING), resume=True
    )
    return ids_of(output)


def undisturbed(paths: list[Path], output: Path) -> list[bytes]:
    corpus.encode(TOKENIZER, paths, output, options=Options(shard_size=1, reading=READING))
    return ids_of(output)


# Names
# -------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="names there are text")
def test_files_whose_names_are_no_text_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = os.fsencode(tmp_path) + b"/in"
    os.mkdir(folder)
    lines = b"".join(json.dumps({"text": text}).encode() + b"\n" for text in TEXT.split("|"))
    for name, content in ((b"\xff.jsonl", lines), (b"\xfe.txt", TEXT.encode())):
        with open(folder + b"/" + name, "wb") as file:
            file.write(content)
    expected = Counts.from_iterator(TEXT.split("|") * 2)
    assert list(Counts.from_files(tmp_path / "in", separator="|").items()) == list(expected.items())
    weighted = Counts.from_files(os.fsdecode(folder + b"/\xff.jsonl") + ":2")
    weighted.save(tmp_path / "c.parquet")
    assert Counts.load(tmp_path / "c.parquet") == weighted
    manifest = corpus.encode(
        TOKENIZER, tmp_path / "in", tmp_path / "ids", options=Options(reading=READING)
    )
    assert manifest.documents == 6
    assert corpus.verify(tmp_path / "ids", inputs=True) == manifest
    TOKENIZER.save(tmp_path / "t.json")
    source = os.fsdecode(folder + b"/\xff.jsonl")
    arguments = ["--model", str(tmp_path / "t.json"), "--input", source, "--quiet"]
    for more in ([], ["--json"]):
        assert run(["stats", *arguments, *more]) == 0
        assert r"\udcff.jsonl" in capsys.readouterr().out
    with open(folder + b"/\xff.jsonl", "ab") as file:
        file.write(b'{"text": "\\ud800"}\n')
    with pytest.raises(ValueError, match="document 3"):
        Counts.from_files(tmp_path / "in", separator="|")


@pytest.mark.skipif(sys.platform != "linux", reason="names there are text")
def test_models_and_counts_may_have_names_that_are_no_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    os.mkdir(folder)
    text, model, counts, other = (
        f"{folder}/{name}" for name in ("a.txt", "tok.json", "1.pq", "2.pq")
    )
    Path(text).write_text(TEXT)
    TOKENIZER.save(model)
    for output in (counts, other):
        assert run(["count", "--input", text, "--output", output]) == 0
    assert (
        run(["merge-counts", "--counts", f"{counts}:2", other, "--output", f"{folder}/sum.pq"]) == 0
    )
    assert Counts.load(f"{folder}/sum.pq").total == 3 * Counts.load(counts).total
    for given in ([counts], [counts, other]):
        arguments = ["--vocab-size", "270", "--output", f"{folder}/new.json", "--force"]
        assert run(["train", "--counts", *given, *arguments]) == 0
    assert run(["inspect", model]) == 0
    assert run(["compare", model, f"{folder}/new.json", "--input", text]) == 0
    assert run(["report", model, "--input", text, "--output", f"{folder}/report.html"]) == 0
    assert (
        run(["encode-corpus", "--model", model, "--input", text, "--output", f"{folder}/ids"]) == 0
    )
    assert run(["verify", f"{folder}/ids", "--inputs"]) == 0


@pytest.mark.parametrize("given", ["in", "in/*", "in/**/*"])
def test_the_output_may_be_within_the_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.chdir(tmp_path)
    paths = files(Path("in"), 3)
    expected = undisturbed(paths, tmp_path / "expected")
    arguments: Any = [given]
    stopped(arguments, Path("in/ids"), monkeypatch, 2, Stop())
    assert resumed(arguments, Path("in/ids")) == expected
    assert resumed(arguments, Path("in/../in/ids")) == expected


def test_a_refused_input_keeps_the_shards_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths, output = files(tmp_path / "in", 3), tmp_path / "ids"
    expected = undisturbed(paths, tmp_path / "expected")
    stopped(paths, output, monkeypatch, 2, Stop())
    text = paths[2].read_bytes()
    paths[2].write_bytes(b"\xff")
    with pytest.raises(ValueError, match="not valid UTF-8"):
        resumed(paths, output)
    assert len(ids_of(output)) >= 2
    paths[2].write_bytes(text)
    assert resumed(paths, output) == expected


def test_paths_may_be_bytes_and_a_list_of_none_is_refused(tmp_path: Path) -> None:
    paths: Any = [os.fsencode(path) for path in files(tmp_path / "in", 2)]
    expected = Counts.from_files(tmp_path / "in")
    assert Counts.from_files(paths) == expected
    folder: Any = os.fsencode(tmp_path / "in")
    assert Counts.from_files(folder) == expected
    nothing: list[str] = []
    with pytest.raises(ValueError, match="no inputs are given"):
        Tokenizer.train_from_files(nothing, 300)
    separator: Any = b"|"
    with pytest.raises(TypeError, match="separator must be a str, not bytes"):
        Counts.from_files(folder, separator=separator)


# What is no file
# ---------------------------------------------------------------------------------------


posix = pytest.mark.skipif(os.name != "posix", reason="pipes and links as POSIX has them")


def unreadable(folder: Path) -> None:
    """Make a folder of two files and nine entries that cannot be read."""
    files(folder, 2)
    os.mkfifo(folder / "pipe")
    (folder / "loop").symlink_to("loop")
    for number in range(7):
        (folder / f"link-{number}").symlink_to("nowhere")


@posix
def test_folders_may_be_deeper_than_calls_and_open_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    depth = sys.getrecursionlimit() + 50
    for _ in range(depth):
        os.mkdir("d")
        os.chdir("d")
    Path("a.txt").write_text(TEXT)
    os.chdir(tmp_path)
    deepest = os.path.join(".", *["d"] * depth)
    try:
        assert [found.name for found in find_inputs(".")] == [f"{deepest}/a.txt"]
    finally:  # pytest cannot remove folders as deep as these
        os.unlink(f"{deepest}/a.txt")
        os.removedirs(deepest)


@posix
def test_what_is_no_file_in_a_folder_is_named_and_not_waited_for(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    unreadable(folder)
    for argument in ([folder], [f"{folder}/*"], sorted(folder.iterdir())):
        with pytest.raises(
            ValueError, match=r"^an input cannot be read: .*link-0 \(a broken link\)$"
        ):
            Counts.from_files(argument)
    for number in range(7):
        (folder / f"link-{number}").unlink()
    with pytest.raises(ValueError, match=r"loop \(a broken link\)$"):
        corpus.encode(TOKENIZER, folder, tmp_path / "ids")
    (folder / "loop").unlink()
    with pytest.raises(ValueError, match=r"pipe \(a named pipe\)$"):
        corpus.encode(TOKENIZER, folder, tmp_path / "ids")


@posix
def test_files_and_folders_without_permission_are_refused_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files(tmp_path / "in", 3)
    files(tmp_path / "in" / "locked", 1)
    scandir, denied = os.scandir, tmp_path / "in" / "1.txt"

    def locked(folder: str) -> Any:
        if folder.endswith("locked"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), folder)
        return scandir(folder)

    # A user who may read everything would not see what the modes of files forbid.
    monkeypatch.setattr(os, "scandir", locked)
    monkeypatch.setattr(os, "access", lambda name, _: name != str(denied))
    with pytest.raises(ValueError, match=r"locked \(a folder: Permission denied\)$"):
        Counts.from_files(tmp_path / "in", separator="|")
    with pytest.raises(ValueError, match=r"1\.txt \(no permission to read it\)$"):
        Counts.from_files([tmp_path / "in" / "0.txt", denied], separator="|")


@posix
def test_a_named_pipe_is_refused_and_a_stream_below_dev_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(
        ValueError, match=r"pipe \(a named pipe; to read it, use - and redirect stdin\)$"
    ):
        Counts.from_files(tmp_path / "pipe")
    read, write = os.pipe()
    os.write(write, b"ab ab")
    os.close(write)
    try:
        assert Counts.from_files(f"/dev/fd/{read}").total == 2  # as a shell names `<(program)`
    finally:
        os.close(read)


# Runs that go on
# -----------------------------------------------------------------------------------------


def test_a_run_that_goes_on_names_the_first_input_that_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = files(tmp_path / "in", 10)
    stopped(paths, tmp_path / "out", monkeypatch, 6, Stop())
    (tmp_path / "x.txt").write_text("x")
    for changed, says in (
        (paths[:-1], r"the inputs changed: number 10 was .*/9\.txt, now None$"),
        ([*paths, tmp_path / "x.txt"], r"number 11 was None, now .*/x\.txt$"),
        (paths[1:], r"number 1 was .*/0\.txt, now .*/1\.txt$"),
        ([paths[0], paths[2], paths[1], *paths[3:]], r"number 2 was .*/1\.txt, now .*/2\.txt$"),
    ):
        with pytest.raises(ValueError, match=says):
            resumed(changed, tmp_path / "out")
    assert resumed(paths, tmp_path / "out") == undisturbed(paths, tmp_path / "whole")


@pytest.mark.parametrize("changed", [TEXT + "|3", "quite another|text"])
def test_what_was_not_read_yet_is_read_as_it_is_when_its_turn_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    paths = files(tmp_path / "in", 4)
    stopped(paths, tmp_path / "out", monkeypatch, 2, Stop())
    paths[3].unlink()
    paths[3].write_text(changed)
    assert resumed(paths, tmp_path / "out") == undisturbed(paths, tmp_path / "whole")


def test_what_was_read_must_be_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = files(tmp_path / "in", 4)
    stopped(paths, tmp_path / "out", monkeypatch, 6, Stop())
    content = paths[0].read_text()
    paths[0].write_text(content + "|more")
    with pytest.raises(ValueError, match=r"0\.txt: changed since it was encoded"):
        resumed(paths, tmp_path / "out")
    paths[0].unlink()
    paths[0].write_text(content)
    assert resumed(paths, tmp_path / "out") == undisturbed(paths, tmp_path / "whole")


def test_a_size_of_shards_may_have_a_unit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    TOKENIZER.save(tmp_path / "t.json")
    (tmp_path / "c.txt").write_text("a " * 3000)
    arguments = [
        "encode-corpus",
        "--model",
        str(tmp_path / "t.json"),
        "--input",
        str(tmp_path / "c.txt"),
    ]
    sizes = {
        "1k": 1000,
        "20M": 20_000_000,
        "7": 7,
        "100B": 100_000_000_000,
        "1.5b": 1_500_000_000,
        "2T": 2 * 10**12,
    }
    for size, stored in sizes.items():
        output = tmp_path / size
        assert run([*arguments, "--output", str(output), "--shard-size", size, "--quiet"]) == 0
        assert (
            json.loads((output / "manifest.json").read_bytes())["options"]["shard_size"] == stored
        )
        assert np.load(output / "shard-000000.npy").size == 6000 or stored < 6000
    for wrong in ("many", "100MB", "1GiB", "1.5"):
        with pytest.raises(SystemExit) as exited:
            run([*arguments, "--output", str(tmp_path / "x"), "--shard-size", wrong])
        assert exited.value.code == 2
        assert f"--shard-size: {wrong!r} is not a whole number" in capsys.readouterr().err
