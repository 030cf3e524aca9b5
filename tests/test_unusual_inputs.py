"""Inputs as file systems have them: odd names, pipes, dead links, full disks, files that change."""

import errno
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from bpetite import Counts, Tokenizer, corpus
from bpetite.cli import run
from bpetite.corpus import Options, Reading
from bpetite.corpus.shards import ShardWriter

TEXT = "the cat sat on the mat|the cat|a hat"
TOKENIZER = Tokenizer.train(TEXT, 270)
READING = Reading(separator="|")


class Stop(Exception):
    """What stops a run."""


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
    """Encode, and stop when a shard is to be completed; return what was raised."""
    whole = ShardWriter._complete
    completed: list[ShardWriter] = []

    def complete(self: ShardWriter) -> object:
        if len(completed) == at:
            raise error
        completed.append(self)
        return whole(self)

    with monkeypatch.context() as patched:
        patched.setattr(ShardWriter, "_complete", complete)
        with pytest.raises(type(error)) as raised:
            corpus.encode(TOKENIZER, paths, output, options=Options(shard_size=1, reading=READING))
    return raised.value


def resumed(paths: list[Path], output: Path) -> list[bytes]:
    corpus.encode(TOKENIZER, paths, output, options=Options(shard_size=1, reading=READING), resume=True)
    return ids_of(output)


def undisturbed(paths: list[Path], output: Path) -> list[bytes]:
    corpus.encode(TOKENIZER, paths, output, options=Options(shard_size=1, reading=READING))
    return ids_of(output)


# Names -------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="names there are text")
def test_files_whose_names_are_no_text_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
    manifest = corpus.encode(TOKENIZER, tmp_path / "in", tmp_path / "ids", options=Options(reading=READING))
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


# What is no file ---------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="pipes and links as POSIX has them")
def test_what_is_no_file_in_a_folder_is_named_and_not_waited_for(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    files(folder, 2)
    os.mkfifo(folder / "pipe")
    for number in range(7):
        (folder / f"link-{number}").symlink_to(tmp_path / "nowhere")
    for argument in (folder, f"{folder}/*"):
        with pytest.raises(
            ValueError, match=r"8 of its 10 entries are not files that can be read"
        ) as refused:
            Counts.from_files(argument)
        assert "link-0 (a link that leads nowhere)" in str(refused.value)
        assert "and 3 more" in str(refused.value)
    for number in range(7):
        (folder / f"link-{number}").unlink()
    with pytest.raises(ValueError, match=r"pipe \(a pipe\)"):
        corpus.encode(TOKENIZER, folder, tmp_path / "ids")


# Runs that go on -----------------------------------------------------------------------------------------


def test_a_run_that_goes_on_names_inputs_that_are_missing_or_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = files(tmp_path / "in", 10)
    stopped(paths, tmp_path / "out", monkeypatch, 6, Stop())
    (tmp_path / "x.txt").write_text("x")
    for changed, says in (
        (paths[:-1], r"1 is missing \(.*9\.txt\)$"),
        ([*paths, tmp_path / "x.txt"], r"1 is new \(.*x\.txt\)$"),
        (paths[:3], r"7 are missing \(.*3\.txt, .* and 2 more\)$"),
        ([*paths[1:], tmp_path / "x.txt"], r"1 is missing \(.*0\.txt\); 1 is new \(.*x\.txt\)$"),
        ([paths[0], paths[2], paths[1], *paths[3:]], r"another order, .*, from .*2\.txt on$"),
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


def test_a_full_disk_is_told_with_the_file_and_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = files(tmp_path / "in", 4)
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    raised = stopped(paths, tmp_path / "out", monkeypatch, 3, full)
    assert isinstance(raised, OSError)
    assert raised.errno == errno.ENOSPC
    assert raised.filename == str(tmp_path / "out" / "shard-000003.npy")
    assert "--resume continues" in str(raised)
    assert resumed(paths, tmp_path / "out") == undisturbed(paths, tmp_path / "whole")


def test_a_size_of_shards_may_have_a_unit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    TOKENIZER.save(tmp_path / "t.json")
    (tmp_path / "c.txt").write_text("a " * 3000)
    arguments = ["encode-corpus", "--model", str(tmp_path / "t.json"), "--input", str(tmp_path / "c.txt")]
    for size, stored in (("1k", 1000), ("20M", 20_000_000), ("7", 7)):
        output = tmp_path / size
        assert run([*arguments, "--output", str(output), "--shard-size", size, "--quiet"]) == 0
        assert json.loads((output / "manifest.json").read_bytes())["options"]["shard_size"] == stored
        assert np.load(output / "shard-000000.npy").size == 6000 or stored < 6000
    assert run([*arguments, "--output", str(tmp_path / "x"), "--shard-size", "many"]) == 1
    assert "--shard-size: 'many' is not a size" in capsys.readouterr().err
