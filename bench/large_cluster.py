"""A size → a table of what counting and encoding cost on a cluster of this machine, against one process.

    python -m bench.large_cluster 1GB FOLDER

FOLDER holds .txt files, of which a corpus in five formats is made, as by `bench.large`; it is
written there too, and removed at the end. The commands are run in turn: without a cluster, with
`--cluster local`, and with `--cluster local` for a file of 100 kB, which shows what Ray and its
workers cost to start. The processor time is that of all processes, those of Ray among them.
"""

from __future__ import annotations

import contextlib
import filecmp
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.large import SEPARATOR, cost
from bench.section import machine, table
from bpetite._internal.integers import BYTES, number_with_unit

ROUNDS = 3
SMALL = 100_000
LOOK = 0.05
"""The seconds between two looks at the processor times, which nobody can add up at the end."""

_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


def time_of_all(*arguments: object) -> float:
    """Run a command; return the processor time of it and of all processes that it started."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bpetite", *map(str, arguments)], stdout=subprocess.DEVNULL
    )
    times, ours = {}, {process.pid}
    while process.poll() is None:
        for number, parent, time_so_far in running():
            if parent in ours or number in ours:
                ours.add(number)
                times[number] = time_so_far
        time.sleep(LOOK)
    if process.returncode:
        raise SystemExit(f"failed: {arguments}")
    return sum(times.values())


def running() -> Iterator[tuple[int, int, float]]:
    """Yield the number of each process, that of its parent, and its processor time so far."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text("utf-8", "replace").rpartition(")")[2].split()
            yield (
                int(path.parent.name),
                int(fields[1]),
                (int(fields[11]) + int(fields[12])) / _TICKS,
            )


def row(what: str, made: Path) -> list[str]:
    """Run the three commands in turn, several times."""
    small = made / "small.txt"
    reading = ("--separator", SEPARATOR, "--quiet")
    told = ("--model", made / "tok.json") if what == "encode-corpus" else ()
    spent: list[list[float]] = []
    for number in range(ROUNDS):
        name = f"{what}-{number}"
        runs = {"alone": (made / "data", ()), "cluster": (made / "data", ("--cluster", "local"))}
        runs["start"] = (small, ("--cluster", "local"))
        spent.append(
            [
                time_of_all(
                    what,
                    *told,
                    "--input",
                    path,
                    "--output",
                    made / f"{name}-{kind}",
                    *reading,
                    *where,
                )
                for kind, (path, where) in runs.items()
            ]
        )
        alone, cluster = made / f"{name}-alone", made / f"{name}-cluster"
        same = (
            filecmp.dircmp(alone, cluster).diff_files
            if alone.is_dir()
            else not filecmp.cmp(alone, cluster, False)
        )
        if same:
            raise SystemExit(f"the results of {what} differ")
    ratios = sorted((cluster - start) / alone for alone, cluster, start in spent)
    medians = [f"{statistics.median(column):.1f}" for column in zip(*spent, strict=True)]
    return [
        what,
        *medians,
        f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})",
    ]


def main(size: int, folder: Path) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory(dir=folder) as there:
        made = Path(there)
        command = [sys.executable, "-m", "bench.large", str(size), str(folder), there]
        subprocess.run(command, check=True)
        text = (made / "data" / "part.txt").read_bytes()
        (made / "small.txt").write_bytes(text[:SMALL] + SEPARATOR.encode())
        trained = ("--vocab-size", 32_000, "--output", made / "tok.json", "--quiet")
        cost("train", "--input", made / "data" / "part.txt", "--separator", SEPARATOR, *trained)
        print(f"{size / 1e9:g} GB on {machine()}\n")
        head = ["processor seconds", "without", "on the cluster", "its start", "the rest, times"]
        print(table(head, [row(what, made) for what in ("count", "encode-corpus")]))


if __name__ == "__main__":
    asked, texts_in = sys.argv[1:]
    main(number_with_unit("size", asked, BYTES) or 0, Path(texts_in))
