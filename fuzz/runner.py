"""Seconds or a number of cases → a line for each target; exit code 1 if one of them found something.

Every case has a number that determines everything in it, so that a finding can be repeated:
`python -m fuzz --only encoding.ids_are_as_specified --seed 1 --case 4711`.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import sys
import time
import traceback
from collections.abc import Callable
from ctypes import c_long
from multiprocessing.sharedctypes import Synchronized
from random import Random

from fuzz import encoding, loading, reading, scanning, training

Target = Callable[[Random], None]

TARGETS: dict[str, Target] = {
    f"{target.__module__.removeprefix('fuzz.')}.{target.__name__}": target
    for target in (
        scanning.pieces_are_those_of_the_regex_module,
        scanning.counts_are_those_of_the_pieces,
        reading.patterns_mean_what_tiktoken_reads,
        reading.patterns_mean_what_tokenizers_reads,
        training.training_is_as_specified,
        training.merges_of_symbols_are_those_of_a_recount,
        encoding.ids_are_as_specified,
        encoding.ids_are_tiktokens,
        encoding.streams_are_the_whole,
        encoding.any_ids_decode_as_their_bytes,
        loading.a_broken_artifact_is_refused,
        loading.a_broken_gpt2_file_is_refused,
        loading.a_broken_tiktoken_file_is_refused,
        loading.a_broken_huggingface_file_is_refused,
        loading.broken_counts_are_refused,
        loading.broken_shards_are_refused,
        loading.lines_are_read_as_json_loads_reads_them,
    )
}

STALLED_AFTER = 300.0
"""A case that takes more seconds than this hangs (on a busy machine, starting a process takes long)."""

MOST_SHOWN = 2_000
"""How many characters of a finding are printed; its number repeats it completely."""

MOST_FINDINGS = 20
"""A target stops after this many findings."""


def main() -> int:
    """Run the targets and return the exit code."""
    options = _options()
    chosen = [name for name in TARGETS if options.only in name]
    if options.case is not None:
        for name in chosen:
            run_case(name, options.seed, options.case)
        return 0
    findings = 0
    for name in chosen:
        findings += _fuzz(name, options.seed, options.seconds / len(chosen), options.executions)
    return 1 if findings else 0


def run_case(name: str, seed: int, case: int) -> None:
    """Run one case of a target; a random pattern that is too hard to match is reported, but is no finding."""
    try:
        TARGETS[name](Random(f"{name} {seed} {case}"))
    except ValueError as refused:
        if "Max limit for backtracking" not in str(refused):
            raise


def _fuzz(name: str, seed: int, seconds: float, executions: int | None) -> int:
    """Run a target in a process of its own, for a time or a number of cases; return how much it found."""
    processes = multiprocessing.get_context("spawn")
    at, found = processes.Value(c_long, 0), processes.Value(c_long, 0)
    started = time.monotonic()
    first = 0
    while executions is None or first < executions:
        left = seconds - (time.monotonic() - started)
        if executions is None and left <= 0:
            break
        child = processes.Process(
            target=_work, args=(name, seed, first, left, executions, at, found)
        )
        child.start()
        if _finished(child, at):
            break
        found.value += 1
        print(
            f"{name}: case {at.value} of seed {seed} ended its process: {child.exitcode}",
            file=sys.stderr,
        )
        first = max(first, at.value) + 1
        if found.value >= MOST_FINDINGS:
            break
    took = time.monotonic() - started
    print(
        f"{name:48} {at.value:>10,} executions {found.value:>4} findings {took:7.1f} s", flush=True
    )
    return found.value


def _finished(child: multiprocessing.process.BaseProcess, at: Synchronized[int]) -> bool:
    """Wait for the child, and end one that hangs. Return whether it ended by itself."""
    last, moved = at.value, time.monotonic()
    while child.is_alive():
        child.join(1.0)
        if at.value != last:
            last, moved = at.value, time.monotonic()
        elif time.monotonic() - moved > STALLED_AFTER:
            child.kill()
            child.join()
    return child.exitcode == 0


def _work(
    name: str,
    seed: int,
    first: int,
    seconds: float,
    executions: int | None,
    at: Synchronized[int],
    found: Synchronized[int],
) -> None:
    """Run case after case, in a child process."""
    end = time.monotonic() + seconds
    for case in itertools.count(first) if executions is None else range(first, executions):
        if (executions is None and time.monotonic() > end) or found.value >= MOST_FINDINGS:
            break
        at.value = case
        try:
            run_case(name, seed, case)
        except (
            BaseException
        ):  # A panic is not an Exception, and any exception of a case is a finding.
            found.value += 1
            print(f"{name}: case {case} of seed {seed}", file=sys.stderr)
            print("".join(traceback.format_exc(limit=-3))[:MOST_SHOWN], file=sys.stderr)
        at.value = case + 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="for all targets together")
    parser.add_argument("--executions", type=int, help="cases for each target, instead of a time")
    parser.add_argument(
        "--seed", type=int, default=time.time_ns() % 2**32, help="default: another every time"
    )
    parser.add_argument("--only", default="", metavar="NAME", help="targets whose name holds this")
    parser.add_argument(
        "--case", type=int, metavar="N", help="run this one case again, in this process"
    )
    return parser.parse_args()
