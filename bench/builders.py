"""Texts and tokenizer files → the section on changed vocabularies in `docs/benchmarks.md`.

Trains superwords, also beside SuperBPE's fork of tokenizers; extends and prunes the models; encodes
with superwords and with the first stage alone. First checks the answers (`bench.check_changes`).
Each measurement is a process of its own, and the two sides of a comparison alternate.

    python -m bench.builders FOLDER [--models FILE ...] [--size 1GB] [--rounds N] [--only PART ...]
        [--fork PYTHON] [--against PYTHON]

FOLDER holds .txt and .txt.xz files, one of them called english. FILE is a tokenizer file, which may be
compressed with xz. The first PYTHON has the fork (commit 757f2a5, built from its source); without
it, its recorded cost is shown. The second has another build of bpetite, which extends the models,
too. With --only, the table of each PART is printed, and the page stays as it is.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from bench.changes import SEPARATOR
from bench.large import cost
from bench.section import PROJECT, machine, table, write_section
from bench.train import MEGABYTE, corpora, head_of, unpacked
from bpetite._internal.integers import BYTES, number_with_unit
from bpetite.patterns import PATTERNS

AT, SIZE = 100_000, 128_000
"""The tokens of a first stage, and with superwords."""
FORK_MEGABYTES, FORK_AT, FORK_SIZE = 8, 32_000, 40_000
"""What SuperBPE's fork trains, too: more would take minutes, and gigabytes."""
ADDED = 10_000
"""How many tokens the models are extended by."""
ENCODED_MEGABYTES = 16
PASSES = 6
"""How often a process encodes the same text."""


class Spent(NamedTuple):
    """The cost of a process, with the figures that it printed."""

    wall: float
    processor: float
    peak: float
    """In MB."""
    printed: Mapping[str, Any]


RECORDED = Spent(30.2, 31.2, 841, {})
"""What the fork took for 8 MB of english, on two cores of an AMD EPYC."""


class Task(NamedTuple):
    """What all parts of the report read."""

    texts: Mapping[str, Path]
    models: Mapping[str, Path]
    scratch: Path
    options: argparse.Namespace

    @property
    def english(self) -> Path:
        """The text that superwords are learned from."""
        return self.texts["english"]


def main(arguments: Sequence[str], project: Path = PROJECT) -> None:
    """Check, measure, and write or print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", type=Path, nargs="*", default=[], metavar="FILE")
    parser.add_argument("--size", default="1GB", help="of the text that superwords are trained on")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=[])
    parser.add_argument("--fork", metavar="PYTHON", help="an interpreter with SuperBPE's fork")
    parser.add_argument("--against", metavar="PYTHON", help="an interpreter with another build")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        texts = {path.stem: path for path in corpora(str(options.folder), scratch)}
        models = dict(unpacked_models(options.models, scratch))
        task = Task(texts, models, scratch, options)
        check(task)
        parts = [PARTS[name](task) for name in options.only or PARTS]
    how = (
        f"Command: `make bench-builders`. Machine: {machine()}. Of {options.rounds} interleaved rounds, "
        "each of new processes, those with the least processor time are shown (of commands, the only "
        "one; of encoding, medians). Where nothing else is named, seconds are processor time. The "
        f"pattern of first stages is Llama 3's; `bench.large` made {options.size} of english."
    )
    text = "\n\n".join([how, *parts])
    if not options.only:
        write_section("Changed vocabularies", text, project)
    print(text)


def unpacked_models(files: Sequence[Path], scratch: Path) -> Iterator[tuple[str, Path]]:
    """Yield the name of each model, that of its folder or file, and its file."""
    for number, file in enumerate(files):
        folder = scratch / f"model{number}"
        folder.mkdir()
        name = file.name.removesuffix(".xz").removesuffix(".tiktoken")
        yield file.parent.name if name == "tokenizer.json" else name, unpacked(file, folder)


def check(task: Task) -> None:
    """Stop unless the changes are right.

    Another process checks them: the memory of this one would count as that of its children.
    """
    files = [str(path) for path in (task.english, *task.models.values())]
    subprocess.run([sys.executable, "-m", "bench.check_changes", *files], check=True)


def spent(*arguments: object, python: str = sys.executable) -> Spent:
    """Run a process of `bench.changes`."""
    return Spent(*cost(*arguments, python=python, module="bench.changes"))


def shown(name: str, run: Spent) -> list[str]:
    """Return a row of what a process took."""
    return [name, f"{run.wall:.1f}", f"{run.processor:.1f}", f"{run.peak:,.0f}"]


COST = ["s on the wall", "s of processor time", "peak MB"]
WITH_FILE = "with the model's file"
"""The head of the seconds in which the file is edited and read again, too."""


def quickest(rounds: int, *runs: Callable[[], Spent]) -> list[Spent]:
    """Run processes in turn, and return the one of each that took the least processor time."""
    taken = [[run() for run in runs] for _ in range(rounds)]
    return [min(column, key=lambda run: run.processor) for column in zip(*taken, strict=True)]


# The parts of the report.


def superwords(task: Task) -> str:
    """Train superwords as a command does, and the first stage alone."""
    size = number_with_unit("--size", task.options.size, BYTES)
    corpus = task.scratch / "large.txt"
    spent("text", task.english, size, corpus)
    output = task.scratch / "large.json"
    first = trained(corpus, output, "--vocab-size", AT)
    joined = trained(corpus, output, "--vocab-size", SIZE, "--superwords-at", AT)
    rows = [shown(name, run) for name, run in zip(stages(), (first, joined), strict=True)]
    corpus.unlink()
    return table([f"`bpetite train`, english, {task.options.size}", *COST], rows)


def stages() -> tuple[str, str]:
    """Return the names of a vocabulary of the first stage, and of one with superwords."""
    return f"{AT:,} tokens", f"{AT:,} and {SIZE - AT:,} superwords"


def trained(corpus: Path, output: Path, *options: object) -> Spent:
    """Train as a command does."""
    rules = ("--dialect", "tiktoken", "--pattern", "llama3", "--quiet", "--force")
    return Spent(*cost("train", "--input", corpus, "--output", output, *rules, *options))


def published(task: Task) -> str:
    """Train beside the published trainer, which must learn the same merges."""
    part = head_of(task.english, FORK_MEGABYTES, task.scratch)
    settings = (part, FORK_AT, FORK_SIZE, PATTERNS["llama3"], PATTERNS["superwords"])
    fork = task.options.fork
    if fork is None:
        [ours] = quickest(task.options.rounds, partial(spent, "superwords", *settings))
        name, theirs = "SuperBPE's fork of tokenizers (as recorded, on two cores)", RECORDED
    else:
        ours, theirs = quickest(
            task.options.rounds,
            partial(spent, "superwords", *settings),
            partial(spent, "published", *settings, python=fork),
        )
        if ours.printed != theirs.printed:
            raise SystemExit("SuperBPE's fork learned other merges")
        name = "SuperBPE's fork of tokenizers"
    rows = [[*shown("bpetite", ours), ""]]
    rows.append([*shown(name, theirs), f"{theirs.processor / ours.processor:.0f}"])
    what = f"{FORK_AT:,} and {FORK_SIZE - FORK_AT:,} superwords, english, {FORK_MEGABYTES} MB"
    return table([what, *COST, "times our processor time"], rows)


def extend(task: Task) -> str:
    """Extend every model on every text; another build must learn the same tokens."""
    builds = {"": sys.executable}
    if task.options.against is not None:
        builds[", the other build"] = task.options.against
    rows = []
    for model, file in task.models.items():
        for text, path in task.texts.items():
            runs = [
                partial(spent, "extend", file, path, ADDED, python=python)
                for python in builds.values()
            ]
            best = quickest(task.options.rounds, *runs)
            for build, run in zip(builds, best, strict=True):
                rows.append([f"{model}, {text}{build}", *_seconds_of_extending(run)])
            if len({run.printed["tokens"] for run in best if "tokens" in run.printed}) > 1:
                raise SystemExit(f"{model}, {text}: the other build learned other tokens")
    head = [f"`extend` by {ADDED:,} tokens", "s of counting", "s of learning", WITH_FILE, "peak MB"]
    return table(head, rows)


def _seconds_of_extending(run: Spent) -> list[str]:
    """Return the cells of a row, of which a model that was refused has none."""
    if "refusal" in run.printed:
        return ["refused", "–", "–", "–"]
    seconds = [f"{run.printed[step]:.2f}" for step in ("counting", "learning", "editing")]
    return [*seconds, f"{run.peak:,.0f}"]


def prune(task: Task) -> str:
    """Prune every model to half of its tokens."""
    rows = []
    for model, file in task.models.items():
        counts = task.scratch / "counts"
        counting = ("--input", task.english, "--separator", SEPARATOR, "--output", counts)
        cost("count", "--like", file, *counting, "--quiet", "--force")
        [run] = quickest(task.options.rounds, partial(spent, "prune", file, counts))
        seconds = [f"{run.printed[step]:.2f}" for step in ("pruning", "editing")]
        sizes = f"{run.printed['before']:,} to {run.printed['after']:,} tokens"
        rows.append([f"{model}, {sizes}", *seconds, f"{run.peak:,.0f}"])
    return table(["`prune` by counts of english", "s of pruning", WITH_FILE, "peak MB"], rows)


def encode(task: Task) -> str:
    """Encode with superwords and with the first stage alone."""
    part = head_of(task.english, ENCODED_MEGABYTES, task.scratch)
    first, joined = task.scratch / "first.json", task.scratch / "joined.json"
    trained(task.english, first, "--vocab-size", AT)
    trained(task.english, joined, "--vocab-size", SIZE, "--superwords-at", AT)
    check_ids = [sys.executable, "-m", "bench.check_changes", "--ids", str(part), str(joined)]
    subprocess.run(check_ids, check=True)
    of_first: list[Spent] = []
    of_joined: list[Spent] = []
    for _ in range(task.options.rounds):
        of_first.append(spent("encode", first, part, PASSES))
        of_joined.append(spent("encode", joined, part, PASSES))
    whole = _rates(of_first)
    rows = []
    for name, runs in zip(stages(), (of_first, of_joined), strict=True):
        rates = zip(_rates(runs), whole, strict=True)
        cells = [f"{rate:.0f} ({rate / reference:.2f})" for rate, reference in rates]
        rows.append([name, *cells, f"{runs[0].printed['ids']:,}"])
    head = f"encoding, english, {ENCODED_MEGABYTES} MB, 1 thread"
    return table([head, "MB/s, first pass", "MB/s, later passes", "ids"], rows)


def _rates(runs: Sequence[Spent]) -> list[float]:
    """Return the median rates of first and of later passes, in MB/s."""
    size = runs[0].printed["bytes"] / MEGABYTE
    first = median(run.printed["seconds"][0] for run in runs)
    later = median(seconds for run in runs for seconds in run.printed["seconds"][1:])
    return [size / first, size / later]


PARTS: dict[str, Callable[[Task], str]] = {
    part.__name__: part for part in (superwords, published, extend, prune, encode)
}

if __name__ == "__main__":
    main(sys.argv[1:])
