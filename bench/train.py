"""Corpora → the section on training in `docs/benchmarks.md`.

First checks that the merges are those of the specification and of the `tokenizers` package, then
times us and the peers in the same run: each measurement is a whole process, and rounds alternate.
The pattern is GPT-2's unless the table names another one, and the text between two `<|endoftext|>`
is a document. A corpus may have any size.

    python -m bench.train [FOLDER]

FOLDER holds .txt and .txt.xz files; by default, the source of the standard library is the corpus.
"""

from __future__ import annotations

import argparse
import lzma
import os
import pickle
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

from bench.contenders import CONTENDERS
from bench.section import machine, raise_priority, table, touch_memory, versions, write_section
from bench.stages import count
from bpetite._constants import END_OF_TEXT_TOKEN, PRETOKENIZER_PATTERN
from bpetite.patterns import PATTERNS

MEGABYTE = 1_000_000
VOCAB_SIZE = 32_000
SMALL_VOCAB_SIZE = 8_000
"""The tokens that a small corpus is trained to, too."""
PEERS = ("gigatoken", "ffbpe", "rustbpe", "tokenizers", "sentencepiece")
TAKE_PATTERNS = ("bpetite", "rustbpe", "tokenizers")
"""The contenders that train with any pattern."""
IMPORTS = (
    "bpetite",
    "gigatoken",
    "ffbpe",
    "rustbpe",
    "tokenizers",
    "tiktoken",
    "sentencepiece",
    "numpy",
)
"""Imports that are timed, beside an interpreter without any; `bpetite` also for its class `Tokenizer`."""
STARTS = 21
"""How often each of these is started."""
SLOW = 20.0
"""A contender that takes more seconds than this is measured only once."""
TURNS = 7
"""How often counting is timed on one and on two threads."""
PATTERN_MEGABYTES = 16
"""Other patterns are measured on this much of a corpus: the peers take minutes for all of it."""
PATIENCE = 900.0
"""A contender that takes more seconds than this is stopped."""


# Measuring.


@dataclass(frozen=True)
class Cost:
    """The cost of a process: seconds on the wall, seconds of all processors, peak of memory in bytes."""

    wall: float
    cpu: float
    peak: int


def measure(
    contender: str,
    path: Path,
    vocab_size: int = VOCAB_SIZE,
    threads: int = 2,
    pattern: str = PRETOKENIZER_PATTERN,
) -> Cost | None:
    """Run a contender in a process of its own; `None` if it failed or was stopped."""
    settings = [str(path), str(vocab_size), str(threads), pattern, END_OF_TEXT_TOKEN]
    command = [sys.executable, "-m", "bench.contenders", contender, *settings]
    environment = {
        **compiled(),
        "RAYON_NUM_THREADS": str(threads),
        "TOKENIZERS_PARALLELISM": "true",
    }
    start = time.perf_counter()
    with (
        tempfile.TemporaryFile() as told,
        subprocess.Popen(
            command, env=environment, stdout=told, stderr=subprocess.DEVNULL
        ) as process,
    ):
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            wall = time.perf_counter() - start
            if pid:
                break
            if wall > PATIENCE:
                process.kill()
            time.sleep(0.001)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            print(f"{contender} ended with {process.returncode} on {path.name}", file=sys.stderr)
            return None
        told.seek(0)
        return Cost(wall, usage.ru_utime + usage.ru_stime, int(told.read().split()[-1]))


def compiled() -> dict[str, str]:
    """Return an environment in which modules are compiled once, as after an installation."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def medians(runs: Sequence[Callable[[], Cost | None]], rounds: int) -> list[Cost | None]:
    """Measure all in turn, several times; return the medians of each."""
    costs: list[list[Cost]] = [[] for _ in runs]
    given_up: set[int] = set()
    for _ in range(rounds):
        for at, run in enumerate(runs):
            if at in given_up:
                continue
            cost = run()
            if cost is not None:
                costs[at].append(cost)
            if cost is None or cost.wall > SLOW:
                given_up.add(at)
    return [
        Cost(
            median(c.wall for c in each),
            median(c.cpu for c in each),
            int(median(c.peak for c in each)),
        )
        if each
        else None
        for each in costs
    ]


# The corpora.


def corpora(folder: str | None, scratch: Path) -> Iterator[Path]:
    """Return the corpora as plain text files; compressed ones are decompressed to `scratch`."""
    if folder is None:
        yield standard_library(scratch / "stdlib.txt")
        return
    for path in sorted(Path(folder).iterdir()):
        if path.name.endswith(".txt"):
            yield path
        elif path.name.endswith(".txt.xz"):
            yield unpacked(path, scratch)


def unpacked(path: Path, scratch: Path) -> Path:
    """Return the path of a file, or of its content in `scratch` if xz has compressed it."""
    if path.suffix != ".xz":
        return path
    plain = scratch / path.name.removesuffix(".xz")
    with lzma.open(path) as compressed, plain.open("wb") as out:
        while block := compressed.read(1 << 20):
            out.write(block)
    return plain


def standard_library(into: Path) -> Path:
    """Write the standard library of this Python into one file, each module a document."""
    modules = sorted(Path(sysconfig.get_paths()["stdlib"]).rglob("*.py"))
    texts = (path.read_bytes() for path in modules if "site-packages" not in path.parts)
    with into.open("wb") as out:
        for text in texts:
            try:
                text.decode("utf-8")
            except UnicodeDecodeError:
                continue
            out.write(text + END_OF_TEXT_TOKEN.encode())
    return into


def head_of(path: Path, megabytes: int, scratch: Path) -> Path:
    """Write the first complete documents of a corpus, or lines of its only one, up to a size, into a file."""
    part = scratch / f"{path.stem}-{megabytes}MB.txt"
    if not part.exists():
        with path.open("rb") as file:
            text = file.read(megabytes * MEGABYTE)
        end = max(text.rfind(END_OF_TEXT_TOKEN.encode()), 0) or text.rfind(b"\n") + 1
        part.write_bytes(text[:end])
    return part


# The checks, in a process of their own: the memory of this process would count as that of its
# children.


def check(path: Path) -> None:
    """Stop unless the merges on a corpus are right."""
    command = [sys.executable, "-m", "bench.check_training", str(path), str(VOCAB_SIZE)]
    subprocess.run(command, check=True)


# The report.


def report(paths: Sequence[Path], scratch: Path, rounds: int) -> str:
    """Measure everything; return the section."""
    notes = [
        f"Command: `make bench-train`. Machine: {machine()}, {touch_memory()}, "
        f"{raise_priority()}. Versions: {versions(PEERS)}.",
        "Whole processes, start included, two threads: "
        "seconds on the wall / seconds of processor time / peak MB; "
        f"medians of {rounds} interleaved rounds (one where a round takes over {SLOW:.0f} s).",
    ]
    return "\n\n".join(
        [
            *notes,
            peers_table(paths, rounds),
            "SentencePiece cuts the same text by rules of its own, at white space, and merges characters. "
            "The trainer of splintr has no interface in Python, tk-train no package.",
            patterns_table(paths, scratch, rounds),
            imports_table(),
            growth_table(paths, scratch, rounds),
            vocabulary_table(paths, rounds),
            threads_table(paths, rounds),
            counting_table(paths),
            *([merging_table(paths)] if sys.platform == "linux" else []),
        ]
    )


def shown(cost: Cost | None) -> str:
    """Return all that was measured."""
    return "–" if cost is None else f"{cost.wall:.2f} / {cost.cpu:.2f} / {cost.peak / MEGABYTE:.0f}"


def seconds(cost: Cost | None) -> str:
    """Return the time on the wall."""
    return "–" if cost is None else f"{cost.wall:.2f}"


def peers_table(paths: Sequence[Path], rounds: int) -> str:
    """Return our cost and that of the peers on each corpus."""
    columns = [
        medians([partial(measure, name, path) for name in CONTENDERS], rounds) for path in paths
    ]
    rows = [
        [name, *(f"{shown(column[at])}{times(column[at], column[0])}" for column in columns)]
        for at, name in enumerate(CONTENDERS)
    ]
    head = [
        f"{VOCAB_SIZE:,} tokens",
        *(f"{path.stem}, {size_of(path)}" for path in paths),
    ]
    return table(head, rows)


def patterns_table(paths: Sequence[Path], scratch: Path, rounds: int) -> str:
    """Return the same with the patterns of Llama 3 and o200k, on a part of each corpus."""
    parts = [head_of(path, PATTERN_MEGABYTES, scratch) for path in paths]
    rows = []
    for name in ("llama3", "o200k"):
        columns = [
            medians(
                [partial(measure, who, part, pattern=PATTERNS[name]) for who in TAKE_PATTERNS],
                rounds,
            )
            for part in parts
        ]
        rows += [
            [
                f"{name}: {who}",
                *(f"{shown(column[at])}{times(column[at], column[0])}" for column in columns),
            ]
            for at, who in enumerate(TAKE_PATTERNS)
        ]
    head = [f"pattern, {VOCAB_SIZE:,} tokens", *(f"{part.stem}, {size_of(part)}" for part in parts)]
    return table(head, rows)


def imports_table() -> str:
    """Return the time of starting an interpreter that imports something, and of its end."""
    runs = {name: f"import {name}" for name in IMPORTS}
    runs = {"nothing": "pass", "bpetite.Tokenizer": "from bpetite import Tokenizer", **runs}
    runs = {name: code for name, code in runs.items() if start_of(code) is not None}
    turns = [{name: start_of(code) for name, code in runs.items()} for _ in range(STARTS)]
    found = {name: median(turn[name] or 0.0 for turn in turns) for name in runs}
    rows = [
        [name, f"{1000 * took:.0f}", f"{1000 * (took - found['nothing']):+.0f}"]
        for name, took in found.items()
    ]
    return table(["a process that imports", "ms", "more than nothing"], rows)


def start_of(code: str) -> float | None:
    """Return the seconds of an interpreter that runs some code; `None` if it fails."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code], env=compiled(), capture_output=True, check=False
    )
    return time.perf_counter() - start if done.returncode == 0 else None


def size_of(path: Path) -> str:
    """Return the size of a file in readable form."""
    return f"{path.stat().st_size / MEGABYTE:.0f} MB"


def times(cost: Cost | None, ours: Cost | None) -> str:
    """Return the ratio of a peer's time to ours."""
    if cost is None or ours is None or cost is ours:
        return ""
    return f" (**{cost.wall / ours.wall:.1f}x**)"


def growth_table(paths: Sequence[Path], scratch: Path, rounds: int) -> str:
    """Return our seconds for growing parts of each corpus."""
    sizes = (1, 4, 16, 64)
    rows = []
    for path in paths:
        parts = [head_of(path, size, scratch) for size in sizes]
        few = partial(measure, "bpetite", parts[0], SMALL_VOCAB_SIZE)
        costs = medians([few, *(partial(measure, "bpetite", part) for part in parts)], rounds)
        rows.append([path.stem, *map(seconds, costs)])
    small = f"{sizes[0]} MB, {SMALL_VOCAB_SIZE:,} tokens"
    return table(["bpetite, seconds for", small, *(f"{size} MB" for size in sizes)], rows)


def vocabulary_table(paths: Sequence[Path], rounds: int) -> str:
    """Return our seconds for growing vocabularies."""
    sizes = (8_000, 16_000, 32_000, 64_000, 128_000)
    rows = []
    for path in paths:
        costs = medians([partial(measure, "bpetite", path, size) for size in sizes], rounds)
        rows.append([path.stem, *map(seconds, costs)])
    return table(["bpetite, seconds for", *(f"{size:,} tokens" for size in sizes)], rows)


def threads_table(paths: Sequence[Path], rounds: int) -> str:
    """Return our seconds with one thread and with two."""
    rows = []
    for path in paths:
        costs = medians(
            [partial(measure, "bpetite", path, threads=threads) for threads in (1, 2)], rounds
        )
        rows.append([path.stem, *map(seconds, costs)])
    return table(["bpetite, seconds with", "1 thread", "2 threads"], rows)


def counting_table(paths: Sequence[Path]) -> str:
    """Return our seconds of counting alone, and the gain by a second thread."""
    rows = []
    for path in paths:
        turns = [
            [stage("counting", str(path), str(threads)) for threads in (1, 2)] for _ in range(TURNS)
        ]
        one, two = (median(column) for column in zip(*turns, strict=True))
        rows.append([path.stem, f"{one:.3f}", f"{two:.3f}", f"**{one / two:.2f}x**"])
    return table(["counting alone, seconds with", "1 thread", "2 threads", ""], rows)


def merging_table(paths: Sequence[Path]) -> str:
    """Return the memory that merging adds for each pretoken."""
    rows = []
    for path in paths:
        counts = count(str(path), threads=2)
        text = sum(len(pretoken) for pretoken, _ in counts.items()) / len(counts)
        most = stage("merging", str(VOCAB_SIZE), given=pickle.dumps(counts))
        rows.append(
            [path.stem, f"{len(counts):,}", f"{text:.0f}", f"{most:.0f}", f"{most - text:.0f}"]
        )
    head = [
        "merging, bytes for each pretoken",
        "pretokens",
        "their text",
        "beside the counts",
        "beyond the text",
    ]
    return table(head, rows)


def stage(*arguments: str, given: bytes | None = None) -> float:
    """Return what a process reports about a stage of our training."""
    command = [sys.executable, "-m", "bench.stages", *arguments]
    return float(subprocess.run(command, check=True, input=given, stdout=subprocess.PIPE).stdout)


def main() -> None:
    """Check, measure and write the section."""
    parser = argparse.ArgumentParser(description="Check and time training against the peers.")
    parser.add_argument("folder", nargs="?", help="a folder of .txt and .txt.xz files")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        paths = list(corpora(arguments.folder or None, scratch))
        for path in paths:
            check(head_of(path, 4, scratch))
        section = report(paths, scratch, arguments.rounds)
    write_section("Training", section)
    print(section)


if __name__ == "__main__":
    main()
