"""Inputs → counts, on a cluster: some tasks count groups of inputs, others each add up a range of pretokens.

    group 1 → a..f, f..m, m..z        sum of a..f → rows, or a file
    group 2 → a..f, f..m, m..z        sum of f..m → ...

The ranges are in the order of pretokens, so that a file of counts is written range by range, and no process
holds all counts.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from bpetite._internal import counts_file
from bpetite._internal.counts_file import Rows
from bpetite._internal.progress import shown
from bpetite._internal.types import Limits, Progress
from bpetite._internal.types import Path as AnyPath
from bpetite.corpus.cluster.tasks import Cluster, connected, fetched
from bpetite.corpus.shards import remove_parts
from bpetite.counts import Counts
from bpetite.reading.counting import Tally, count_inputs
from bpetite.reading.cuts import cutter
from bpetite.reading.documents import read_batches
from bpetite.reading.options import Reading
from bpetite.reading.sources import Input, find_inputs, size_of, weight_of

_RANGES = 16
"""The smallest number of ranges of pretokens."""

_SAMPLED = 16
"""Of how many inputs the beginning is counted, to choose the ranges."""

Sent = tuple[NDArray[np.uint8], NDArray[np.uint64], NDArray[np.uint64]]
"""Rows as arrays, which Ray passes to another process without a copy."""


class ClusterOptions(TypedDict, total=False):
    """How something is counted on a cluster: where, and by which rules."""

    address: str
    rules: Counts | None
    reading: Reading | None
    task_bytes: int | None
    progress: Progress | bool | None


def count(paths: AnyPath | Iterable[AnyPath], **how: Unpack[ClusterOptions]) -> Counts:
    """Count as `Counts.from_files` does, on the cluster at this address (`local` starts one here).

    `rules` are counts, empty or not, whose pattern and boundaries apply: `Counts(pattern="llama3")`.
    All counts are in this process at the end; `count_to_file` and `count_to_folder` never hold all counts.
    """
    with _counted(paths, **how) as counted:
        counts = counted.empty
        counts.beside += counted.read
        for rows in counted.sums():
            counts._table.add_counts(*rows)
    return counts


@dataclass(frozen=True)
class Counted:
    """What was counted and written to files."""

    distinct: int
    total: int
    read: Tally
    scale: int


def count_to_file(
    paths: AnyPath | Iterable[AnyPath],
    output: AnyPath,
    *,
    overwrite: bool = False,
    **how: Unpack[ClusterOptions],
) -> Counted:
    """Count as `count` does, and write the same file as `Counts.save`.

    This process holds the counts of one range of pretokens at a time, never all counts.
    """
    distinct = 0
    with _counted(paths, **how) as counted:
        in_file = counted.empty._file_rules(counted.read, counted.total)
        with counts_file.write_counts(output, in_file, overwrite) as file:
            for rows in counted.sums():
                file.add(*rows)
                distinct += len(rows[1])
    return Counted(distinct, counted.total, counted.read, counted.empty.scale)


def count_to_folder(
    paths: AnyPath | Iterable[AnyPath], output: AnyPath, **how: Unpack[ClusterOptions]
) -> Counted:
    """Count as `count` does, into a folder of counts files: each worker writes a range of pretokens.

    Together the files hold what one file would hold; no process holds all counts. The folder must not exist.
    It gets its name when all files are complete, and all machines must see it under the same name.
    """
    target = Path(output).absolute()
    if os.path.lexists(target):
        raise FileExistsError(f"{output} exists already")
    hidden = target.with_name(f".{target.name}.{os.getpid()}-{os.urandom(4).hex()}.part")
    hidden.mkdir()
    try:
        with _counted(paths, **how) as counted:
            distinct = counted.write(hidden)
        remove_parts(hidden)  # of workers that died
        os.rename(hidden, target)
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
    return Counted(distinct, counted.total, counted.read, counted.empty.scale)


@dataclass
class _Ranges:
    """Counts on a cluster, divided into ranges of pretokens."""

    cluster: Cluster
    empty: Counts
    """Empty counts with the rules and weights of all."""
    ranges: list[list[Any]]
    """For each range, references to the rows that must be added up."""
    read: Tally
    total: int = 0

    def sums(self) -> Iterator[Rows]:
        """Yield the rows of all ranges, in order."""
        add_up = self.cluster.task(_add_up)
        for rows in [add_up(self.empty, rows) for rows in self.ranges]:
            yield _received(self.cluster.get(rows))

    def write(self, folder: Path) -> int:
        """Write each range to a file of its own, and return how many rows there are.

        The first file also says how much was read.
        """
        write_range = self.cluster.task(_write_range)
        written = [
            write_range(
                self.empty, str(folder / f"part-{number:05d}.counts"), rows, Tally() if number else self.read
            )
            for number, rows in enumerate(self.ranges)
        ]
        return sum(self.cluster.get(written))


@contextlib.contextmanager
def _counted(
    paths: AnyPath | Iterable[AnyPath],
    *,
    address: str = "local",
    rules: Counts | None = None,
    reading: Reading | None = None,
    task_bytes: int | None = None,
    progress: Progress | bool | None = None,
) -> Iterator[_Ranges]:
    """Count inputs on the cluster; the counts exist until the block ends."""
    rules = Counts() if rules is None else rules.empty()
    reading = replace(reading or Reading(), cut=cutter([rules.pattern], rules.boundaries))
    inputs = find_inputs(paths, skip_unreadable=reading.skip_unreadable)
    weights = dict.fromkeys(weight_of(found) for found in inputs if found.weight != 1)
    empty = Counts.merge([rules, *(rules.weighted(*weight) for weight in weights)])
    done, total = 0, size_of(inputs)
    with shown(progress) as report, connected(address) as cluster:
        splitters = _splitters(empty, inputs, reading, max(_RANGES, cluster.cores))
        counted = _Ranges(cluster, empty, [[] for _ in range(len(splitters) + 1)], Tally())
        count_group = cluster.task(_count_group, results=len(splitters) + 2)
        groups = cluster.groups(inputs, reading, task_bytes)
        begun = (
            (size_of(group), count_group(empty, cluster.put(group), reading, splitters)) for group in groups
        )
        for size, (*rows, tally) in cluster.ahead(begun):
            read, pretokens = cluster.get(tally)
            counted.read += read
            counted.total += pretokens
            for of_range, result in zip(counted.ranges, rows, strict=True):
                of_range.append(result)
            done += size
            if report is not None:
                report("counting", done, total)
        yield counted


def _splitters(empty: Counts, inputs: Sequence[Input], reading: Reading, ranges: int) -> list[bytes]:
    """Choose the pretokens at which ranges begin, from a sample; the result does not depend on them."""
    sample = empty.empty()
    reading = replace(reading, invalid="replace")
    for found in islice(inputs, 0, None, max(1, len(inputs) // _SAMPLED)):
        with contextlib.suppress(ValueError, OSError):  # A task will report it.
            for batch in islice(read_batches(found, reading), 1):
                sample._table.add_documents(batch.texts, num_threads=1)
    pretokens = [pretoken for pretoken, _ in sample.items()]
    places = [len(pretokens) * number // ranges for number in range(1, ranges)]
    return sorted({pretokens[place] for place in places if place < len(pretokens)})


def _count_group(
    empty: Counts, group: list[Input], reading: Reading, splitters: list[bytes]
) -> list[Sent | tuple[Tally, int]]:
    """Return the rows of each range of pretokens of a group of parts, and what was read."""
    counts, weighted = empty.empty(), empty.empty()
    limits: Limits = {"num_threads": 1, "memory_limit": None}
    counts.beside += count_inputs(counts._table, group, reading, limits)
    weighted._accumulate(counts, int(group[0].weight * empty.scale))
    return [*weighted._table.ranges(splitters), (weighted._read(), weighted.total)]


def _received(rows: Sent) -> Rows:
    content, ends, numbers = rows
    return content.tobytes(), ends, numbers


def _sum_of(empty: Counts, parts: list[Any]) -> Counts:
    """Add up what tasks counted, fetching one result at a time."""
    total = empty.empty()
    total.scale, total.weights = empty.scale, empty.weights
    for made in parts:
        total._table.add_counts(*_received(fetched(made)))
    return total


def _add_up(empty: Counts, parts: list[Any]) -> Sent:
    """Return the sorted sum."""
    joined, ends, numbers = _sum_of(empty, parts)._table.sorted(num_threads=1)
    return np.frombuffer(joined, np.uint8), ends, numbers


def _write_range(empty: Counts, path: str, parts: list[Any], read: Tally) -> int:
    """Write a range as a file of counts; return how many rows it has."""
    counts = _sum_of(empty, parts)
    counts.beside += read
    counts.save(path, overwrite=True, num_threads=1)
    return len(counts)
