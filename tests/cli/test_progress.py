"""Progress where no terminal shows it: lines of a log, few and complete. The clock is the test's own."""

import io
import re
import sys
from pathlib import Path

import pytest

from bpetite import Counts, Tokenizer, corpus
from bpetite._internal.progress import Shown
from bpetite.cli import run
from encoders import CORPUS


class Clock:
    """A clock that goes on when the test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err.splitlines()


@pytest.mark.parametrize("seconds", [0.5, 1, 3, 9, 10, 11, 25, 3600])
@pytest.mark.parametrize("steps", [1, 2, 30])
def test_a_stage_writes_at_most_one_line_in_ten_seconds_and_one_at_its_end(
    seconds: float, steps: int, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock()
    written: list[tuple[float, str]] = []
    with Shown(clock=clock) as progress:
        for done in range(1, steps + 1):
            clock.now += seconds
            progress("merging", done, steps)
            written += [(clock.now, line) for line in lines(capsys)]
    last = lines(capsys)
    times = [time for time, _ in written]
    assert all(after - before >= 10 for before, after in zip([0.0, *times], times, strict=False))
    assert len(times) >= steps * seconds // 10 // 2 if seconds <= 10 else len(times) == steps
    assert [*(line for _, line in written), *last][-1] == f"Training merges: {steps} of {steps}"
    assert len(written) + len(last) == len({*(line for _, line in written), *last})


def test_every_stage_ends_with_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with Shown(clock=Clock()) as progress:
        for size in (0, 1_500_000, 3_000_000):
            progress("counting", size, 3_000_000)
            progress("documents", size // 1000, 0)
        for merges in (0, 50, 100):
            progress("merging", merges, 224)
    assert lines(capsys) == [
        "Counting: 3.0 of 3.0 MB, 3,000 documents",
        "Training merges: 100 of 224",
    ]


def test_of_what_has_no_known_size_the_amount_is_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Shown(clock=Clock()) as progress:
        progress("encoding", 2_000_000, 0)
    assert lines(capsys) == ["Encoding: 2.0 MB"]


def test_work_that_fails_ends_with_its_error_alone(capsys: pytest.CaptureFixture[str]) -> None:
    def fails() -> None:
        with Shown(clock=Clock()) as progress:
            progress("counting", 5, 10)
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        fails()
    assert lines(capsys) == []


def test_what_is_quiet_or_has_no_stderr_writes_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    with Shown(quiet=True, clock=clock) as progress:
        clock.now = 100
        progress("merging", 1, 1)
    assert lines(capsys) == []
    monkeypatch.setattr(sys, "stderr", None)
    with Shown(clock=clock) as progress:
        progress("merging", 1, 1)
    assert capsys.readouterr().out == ""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "c.txt").write_text(CORPUS, "utf-8")
    Tokenizer.train(CORPUS, 300).save(tmp_path / "tok.json")
    Counts.from_files(tmp_path / "c.txt").save(tmp_path / "c.counts")
    return tmp_path


COMMANDS = {
    "Training merges: 44 of 44": "train --input c.txt --vocab-size 300 --output {out}/t.json",
    "Loading: ": "train --counts c.counts --vocab-size 300 --output {out}/t.json",
    "Counting: ": "count --input c.txt --output {out}/c.counts",
    "Encoding: 0.0 of 0.0 MB": "count-tokens tok.json c.txt",
    "Encoding: ": "encode-corpus tok.json c.txt --output {out}/ids",
    "Encoding: 0.0": "stats tok.json c.txt",
    "Encoding: 0": "report tok.json --input c.txt --output {out}/report.html",
}


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_with_long_work_writes_lines_to_stderr_unless_it_is_quiet(
    line: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    results = []
    for quiet in ([], ["--quiet"]):
        out = folder / f"out{len(quiet)}"
        out.mkdir()
        assert run([*COMMANDS[line].format(out=out).split(), *quiet]) == 0
        captured = capsys.readouterr()
        results.append(re.sub(r"[0-9.]+|out\d", "0", captured.out))
        assert (line in captured.err) == (quiet == [])
        assert line.split(":")[0] not in captured.out
        assert captured.err == "" or not quiet
    assert results[0] == results[1]


def test_in_python_progress_is_written_if_it_is_asked_for(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Tokenizer.train_from_files(folder / "c.txt", 300, progress=True)
    assert lines(capsys)[-1] == "Training merges: 44 of 44"
    corpus.encode(
        Tokenizer.load(folder / "tok.json"), folder / "c.txt", folder / "ids", progress=True
    )
    assert lines(capsys) == ["Encoding: 0.0 of 0.0 MB, 1 document"]
    Tokenizer.train_from_files(folder / "c.txt", 300)
    assert lines(capsys) == []


def test_lines_go_on_when_nobody_can_read_them(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Broken())
    with Shown(clock=Clock()) as progress:
        progress("merging", 1, 1)
