"""Inputs → counts, on a cluster: some tasks count groups of inputs, others each add up a range of pretokens.

The ranges are in the order of pretokens, so that a file of counts is written range by range, and no process
holds all counts.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import groupby, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from bpetite._internal import counts_file
from bpetite._internal.counts_file import Rows
from bpetite._internal.types import Path as AnyPath
from bpetite._internal.types import Progress
from bpetite.corpus.cluster.tasks import (
    Cluster,
    connected,
    fetched,
    grouped,
    locating_errors,
    work_in,
)
from bpetite.corpus.shards import remove_parts
from bpetite.counts import Counts, memory_bytes
from bpetite.reading.counting import Tally, count_inputs
from bpetite.reading.cuts import cutter
from bpetite.reading.division import divide
from bpetite.reading.documents import read_batches
from bpetite.reading.memory_limit import room_within
from bpetite.reading.options import Reading
from bpetite.reading.process_memory import limited
from bpetite.reading.sources import Input, find_inputs, size_of, weight_of
from bpetite.show.progress import shown

_RANGES = 16
"""The smallest number of ranges of pretokens."""

_SAMPLED = 16
"""How many places of the corpus are sampled to choose the ranges."""

_SAMPLE = 1 << 17
"""How many bytes of text are counted at each."""

_SENT = 1 << 16
"""The number of rows that are sent at a time to the process that writes them."""

Sent = tuple[NDArray[np.uint8], NDArray[np.uint64], NDArray[np.uint64]]
"""Rows as arrays, which Ray passes to another process without a copy."""

Weighted = tuple[Fraction, str, list[Any]]
"""A weight, the name of its source, and references to the rows that tasks counted."""


class ClusterOptions(TypedDict, total=False):
    """How something is counted on a cluster: where, by which rules, within which limits."""

    address: str
    rules: Counts | None
    reading: Reading | None
    memory_limit: int | str | None
    task_bytes: int | None
    progress: Progress | bool | None


def count(
    paths: AnyPath | Iterable[AnyPath],
    **how: Unpack[ClusterOptions],
) -> Counts:
    """Count as `Counts.from_files` does, on the cluster at this address (`local` starts one here).

    `rules` are counts, empty or not, whose pattern and boundaries apply: `Counts(pattern="llama3")`.
    `memory_limit` is that of each process, this one included, without the memory that Ray shares between
    them. All counts are in this process at the end, or in its temporary files; `count_to_file` and
    `count_to_folder` never hold all counts.
    """
    with _counted(paths, **how) as counted:
        counts = counted.empty()
        counts.limit_memory(room_within(counted.limit, 1)["memory_limit"])
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

    This process holds some thousand rows at a time, never all counts.
    """
    distinct = 0
    with _counted(paths, **how) as counted:
        in_file = counted.empty()._file_rules(counted.read, counted.total)
        with counts_file.write_counts(output, in_file, overwrite) as file:
            for joined, ends, numbers in counted.sums():
                file.add(joined, ends, numbers)
                distinct += len(ends)
        return Counted(distinct, counted.total, counted.read, counted.empty().scale)


def count_to_folder(
    paths: AnyPath | Iterable[AnyPath],
    output: AnyPath,
    **how: Unpack[ClusterOptions],
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
    return Counted(distinct, counted.total, counted.read, counted.empty().scale)


@contextlib.contextmanager
def _counted(
    paths: AnyPath | Iterable[AnyPath],
    *,
    address: str = "local",
    rules: Counts | None = None,
    reading: Reading | None = None,
    memory_limit: int | str | None = None,
    task_bytes: int | None = None,
    progress: Progress | bool | None = None,
) -> Iterator[_Ranges]:
    """Count inputs on the cluster; the counts exist until the block ends."""
    rules = Counts() if rules is None else rules.empty()
    reading = replace(reading or Reading(), cut=cutter([rules.pattern], rules.boundaries))
    inputs = find_inputs(paths, skip_unreadable=reading.skip_unreadable)
    limit = memory_bytes(memory_limit)
    room_within(limit, 1)  # A limit that cannot be met is an error at once.
    with shown(progress) as report, connected(address) as cluster:
        counted = _Ranges(cluster, rules, limit)
        counted.count(inputs, reading, task_bytes, report)
        yield counted


@dataclass
class _Ranges:
    """Counts on a cluster, divided into ranges of pretokens."""

    cluster: Cluster
    rules: Counts
    limit: int | None
    ranges: list[list[Weighted]] = field(default_factory=list)
    """For each range, the parts that must be added up."""
    read: Tally = field(default_factory=Tally)
    total: int = 0

    def count(
        self, inputs: Sequence[Input], reading: Reading, task_bytes: int | None, progress: Progress | None
    ) -> None:
        """Count inputs, and wait until all are counted."""
        size = task_bytes or self.cluster.task_bytes(work_in(inputs, reading))
        splitters = self._splitters(inputs, reading)
        self.ranges = [[] for _ in range(len(splitters) + 1)]
        done, total, weighted = 0, size_of(inputs), Fraction(0)
        for group, weight, tally in self.cluster.ahead(self._groups(inputs, reading, size, splitters)):
            read, pretokens = self.cluster.get(tally)
            self.read += read
            weighted += pretokens * weight
            done += group
            if progress is not None:
                progress("counting", done, total)
        self.total = int(weighted * self.empty().scale)

    def _groups(
        self, inputs: Sequence[Input], reading: Reading, size: int, splitters: list[bytes]
    ) -> Iterator[tuple[int, Fraction, Any]]:
        """Start the counting of groups of parts; yield the size, the weight and what was read of each."""
        count_group = self.cluster.task(_count_group, results=len(splitters) + 2)
        for (weight, source), members in groupby(inputs, key=weight_of):
            rows: list[list[Any]] = [[] for _ in self.ranges]
            for weighted, of_range in zip(self.ranges, rows, strict=True):
                weighted.append((weight, source, of_range))
            parts = (part for found in members for part in divide(found, reading, size))
            for group in grouped(parts, reading, size):
                sent = self.cluster.put(group)
                *made, tally = count_group(self.rules, sent, reading, splitters, self.limit)
                for of_range, result in zip(rows, made, strict=True):
                    of_range.append(result)
                yield size_of(group), weight, tally

    def empty(self) -> Counts:
        """Return empty counts of the same rules and weights."""
        weighted = [
            self.rules.weighted(weight, source) for weight, source, _ in self.ranges[0] if weight != 1
        ]
        return Counts.merge([self.rules, *weighted])

    def sums(self) -> Iterator[Rows]:
        """Yield the rows of all ranges, in order; the cluster forgets them as they are yielded."""
        add_up = self.cluster.stream(_add_up)
        sums = deque(add_up(self.rules, parts, self.limit) for parts in self.ranges)
        self.ranges = self.ranges[:1]
        while sums:
            for rows in sums.popleft():
                yield _received(self.cluster.get(rows))

    def write(self, folder: Path) -> int:
        """Write each range to a file of its own, and return how many rows there are.

        The first file also says how much was read.
        """
        write_range = self.cluster.task(_write_range)
        written = [
            write_range(
                self.rules,
                str(folder / f"part-{number:05d}.parquet"),
                parts,
                self.limit,
                Tally() if number else self.read,
            )
            for number, parts in enumerate(self.ranges)
        ]
        return sum(self.cluster.get(written))

    def _splitters(self, inputs: Sequence[Input], reading: Reading) -> list[bytes]:
        """Choose the pretokens at which ranges begin, from a sample; the result does not depend on them."""
        ranges = max(_RANGES, self.cluster.cores)
        sample = self.rules.empty()
        reading = replace(reading, invalid="replace")
        chosen = list(islice(inputs, 0, None, max(1, len(inputs) // _SAMPLED)))
        each = max(1, _SAMPLED // max(1, len(chosen)))
        for found in chosen:
            parts = divide(found, reading, max(1, size_of([found]) // each))
            for part in parts[:: max(1, len(parts) // each)]:
                with contextlib.suppress(ValueError, OSError):  # A task will report it.
                    for batch in islice(read_batches(part, reading), 1):
                        sample._table.add_documents(_beginning(batch.texts), num_threads=1)
        joined, ends, _ = sample._table.sorted(num_threads=1)
        places = [len(ends) * number // ranges for number in range(1, ranges)]
        return sorted({_Sorted(joined, ends)[place] for place in places if place < len(ends)})


def _beginning(texts: Sequence[str | bytes]) -> Sequence[str | bytes]:
    """Return the first texts, of which about `_SAMPLE` bytes are enough."""
    size = 0
    for number, text in enumerate(texts):
        size += len(text)
        if size > _SAMPLE:
            return texts[: number + 1]
    return texts


def _count_group(
    empty: Counts, group: list[Input], reading: Reading, splitters: list[bytes], memory_limit: int | None
) -> Iterator[Sent | tuple[Tally, int]]:
    """Yield the rows of each range of pretokens of a group of parts, and what was read."""
    counts = empty.empty()
    limits = room_within(memory_limit, 1)
    with limited(memory_limit), locating_errors(group, reading):
        counts.beside += count_inputs(counts._table, group, reading, limits)
    if memory_limit is None:
        yield from counts._table.ranges(splitters)
    else:
        yield from _divided(_sorted_rows(counts, memory_limit), splitters)
    yield counts._read(), counts.total


def _sorted_rows(counts: Counts, memory_limit: int | None) -> Iterator[Rows]:
    """Yield all rows in order; with a memory limit some at a time, from a temporary file."""
    if memory_limit is None:
        yield counts._table.sorted(num_threads=1)
        return
    with TemporaryDirectory() as folder:
        counts.save(f"{folder}/counts", num_threads=1)
        yield from counts_file.read_counts(f"{folder}/counts")[1]


class _Sorted(Sequence[bytes]):
    """Joined pretokens as a sequence of pretokens, for binary search."""

    def __init__(self, joined: bytes, ends: NDArray[np.uint64]) -> None:
        self._joined = joined
        self._ends = ends

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, place: Any) -> Any:
        return self._joined[int(self._ends[place - 1]) if place else 0 : int(self._ends[place])]


def _divided(parts: Iterable[Rows], splitters: Sequence[bytes]) -> Iterator[Sent]:
    """Yield the rows of each range: up to the first splitter, between two, and from the last one on."""
    left = deque(splitters)
    held: list[Sent] = []
    for joined, ends, numbers in parts:
        rows, first = _Sorted(joined, ends), 0
        while left and (after := bisect_left(rows, left[0], first)) < len(rows):
            yield _joined([*held, _stretch((joined, ends, numbers), first, after)])
            first, held = after, []
            left.popleft()
        held.append(_stretch((joined, ends, numbers), first, len(rows)))
    yield _joined(held)
    for _ in left:
        yield _joined([])


def _stretch(rows: Rows, first: int, after: int) -> Sent:
    joined, ends, numbers = rows
    start = int(ends[first - 1]) if first else 0
    stop = int(ends[after - 1]) if after else 0
    content = np.frombuffer(joined, np.uint8, stop - start, start)
    return content, ends[first:after] - np.uint64(start), numbers[first:after]


def _joined(parts: Sequence[Sent]) -> Sent:
    """Join several parts of rows to one."""
    if len(parts) == 1:
        return parts[0]
    before = np.cumsum([0, *(len(content) for content, *_ in parts)], dtype=np.uint64)
    contents = [np.zeros(0, np.uint8), *(content for content, *_ in parts)]
    ends = [
        np.zeros(0, np.uint64),
        *(ends + start for (_, ends, _), start in zip(parts, before, strict=False)),
    ]
    numbers = [np.zeros(0, np.uint64), *(numbers for *_, numbers in parts)]
    return np.concatenate(contents), np.concatenate(ends), np.concatenate(numbers)


def _received(rows: Sent) -> Rows:
    content, ends, numbers = rows
    return content.tobytes(), ends, numbers


def _sum_of(empty: Counts, parts: list[Weighted], memory_limit: int | None) -> Counts:
    """Add up what tasks counted, fetching one result at a time."""
    room = room_within(memory_limit, 1)["memory_limit"]

    def sums() -> Iterator[Counts]:
        for weight, source, rows in parts:
            counts = empty.empty()
            counts.limit_memory(room)
            for made in rows:
                counts._table.add_counts(*_received(fetched(made)))
            yield counts if weight == 1 else counts.weighted(weight, source)

    return next(sums()) if len(parts) == 1 else Counts.merge(sums(), memory_limit=room)


def _add_up(empty: Counts, parts: list[Weighted], memory_limit: int | None) -> Iterator[Sent]:
    """Yield the sorted sum, some thousand rows at a time."""
    for rows in _sorted_rows(_sum_of(empty, parts, memory_limit), memory_limit):
        for first in range(0, len(rows[1]), _SENT):
            yield _stretch(rows, first, min(first + _SENT, len(rows[1])))


def _write_range(
    empty: Counts, path: str, parts: list[Weighted], memory_limit: int | None, read: Tally
) -> int:
    """Write a range as a file of counts; return how many rows it has."""
    counts = _sum_of(empty, parts, memory_limit)
    counts.beside += read
    counts.save(path, overwrite=True, num_threads=1)
    return len(counts)
