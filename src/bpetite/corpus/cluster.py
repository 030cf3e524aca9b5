"""Counting and encoding on a Ray cluster, with the results of one machine. No other module imports ray.

    inputs → groups of about equal work → a task for each, a few begun ahead → this process, in order

Small files are put together, and large ones divided where records begin. The result of a task depends on its
group alone, so the task of a worker that died is run again. This process writes the shards of all ids. Of
counts, each task returns its rows cut into ranges of pretokens, each of which a task of its own adds up:

    group 1 → a..f, f..m, m..z        sum of a..f → rows, which this process writes, range by range
    group 2 → a..f, f..m, m..z        sum of f..m → ...

Results wait in the cluster's memory; Ray moves to disk what does not fit. No process holds all counts. All
machines must see the same files under the same names.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from bpetite._internal.counts_file import Rows, write_counts
from bpetite._internal.progress import shown
from bpetite._internal.types import Limits, Progress
from bpetite._internal.types import Path as AnyPath
from bpetite.corpus.job import Job, Options
from bpetite.corpus.manifest import Manifest, Reached
from bpetite.corpus.run import Part, Stretch, run, stretches_of
from bpetite.corpus.shards import Ids
from bpetite.counts import Counts
from bpetite.reading.counting import ProgressOfAll, Tally, count_inputs
from bpetite.reading.cuts import cutter
from bpetite.reading.division import divide
from bpetite.reading.documents import read_batches
from bpetite.reading.options import Reading
from bpetite.reading.parallel import read_all
from bpetite.reading.recognition import named_format
from bpetite.reading.sources import Input, find_inputs, size_of, weight_of
from bpetite.tokenizer import Tokenizer

T = TypeVar("T")

_LEAST, _MOST = 1 << 24, 1 << 28
"""The smallest and the largest number of bytes that a task reads, unless the caller sets it."""

_TASKS = 4
"""How many tasks there are for each core, if these limits allow it."""

_AHEAD = 2
"""How many tasks for each core are begun before their results are needed."""

_PACKED = 4
"""An estimate of how many times its size a compressed file contains."""

_FILE = 1 << 14
"""The cost of opening a file, as a number of bytes."""

_RETRIES = 20
"""How often the task of a worker that died is run again."""

_RANGES = 16
"""The smallest number of ranges of pretokens."""

_SAMPLED = 16
"""Of how many inputs the beginning is counted, to choose the ranges."""


# Counting ------------------------------------------------------------------------------------------------


class Counted(NamedTuple):
    """What was counted and written to a file."""

    distinct: int
    total: int
    read: Tally
    scale: int


def count(
    paths: AnyPath | Iterable[AnyPath],
    output: AnyPath,
    *,
    address: str = "local",
    rules: Counts | None = None,
    reading: Reading | None = None,
    task_bytes: int | None = None,
    overwrite: bool = False,
    progress: Progress | bool | None = None,
) -> Counted:
    """Count on the cluster at this address (`local` starts one here), and write the file of `Counts.save`.

    `rules` are counts, empty or not, whose pattern and boundaries apply: `Counts(pattern="llama3")`.
    """
    rules = Counts() if rules is None else rules.empty()
    reading = replace(reading or Reading(), cut=cutter([rules.pattern], rules.boundaries))
    inputs = find_inputs(paths)
    weights = dict.fromkeys(weight_of(found) for found in inputs if found.weight != 1)
    empty = Counts.merge([rules, *(rules.weighted(*weight) for weight in weights)])
    read, total, distinct, done = Tally(), 0, 0, 0
    with shown(progress) as report, connected(address) as cluster:
        splitters = _splitters(empty, inputs, reading, max(_RANGES, cluster.cores))
        ranges: list[list[Any]] = [[] for _ in range(len(splitters) + 1)]
        count_group = cluster.task(_count_group, results=len(ranges) + 1)
        groups = cluster.groups(inputs, reading, task_bytes)
        begun = ((size_of(group), count_group(empty, group, reading, splitters)) for group in groups)
        for size, (told, *rows) in cluster.ahead(begun):
            of_group, pretokens = cluster.get(told)
            read, total, done = read + of_group, total + pretokens, done + size
            for of_range, result in zip(ranges, rows, strict=True):
                of_range.append(result)
            if report is not None:
                report("counting", done, size_of(inputs))
        add_up = cluster.task(_add_up)
        sums = [add_up(empty, rows) for rows in ranges]
        with write_counts(output, empty._file_rules(read, total), overwrite) as file:
            for result in sums:
                joined, ends, counts = cluster.get(result)
                file.add(joined, ends, counts)
                distinct += len(ends)
    return Counted(distinct, total, read, empty.scale)


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


def _count_group(empty: Counts, group: list[Input], reading: Reading, splitters: list[bytes]) -> list[Any]:
    """Return what was read of a group of parts, and the rows of each range of pretokens."""
    counts, weighted = empty.empty(), empty.empty()
    limits: Limits = {"num_threads": 1, "memory_limit": None}
    counts.beside += count_inputs(counts._table, group, reading, limits, ProgressOfAll(None, 0))
    weighted._accumulate(counts, int(group[0].weight * empty.scale))
    return [(weighted._read(), weighted.total), *_ranges(weighted._table.sorted(num_threads=1), splitters)]


def _ranges(rows: Rows, splitters: list[bytes]) -> list[tuple[NDArray[Any], ...]]:
    """Divide sorted rows: below the first splitter, from each one to the next, and from the last on.

    >>> rows = Counts.from_iterator(["a b c"])._table.sorted()
    >>> [joined.tobytes() for joined, _, _ in _ranges(rows, [b" c", b"a"])]
    [b' b', b' c', b'a']
    """
    joined, ends, counts = rows
    starts = np.insert(ends, 0, 0)
    order = range(len(ends))
    cuts = [bisect_left(order, first, key=lambda row: joined[starts[row] : ends[row]]) for first in splitters]
    content = np.frombuffer(joined, np.uint8)
    return [
        (content[starts[first] : starts[after]], ends[first:after] - starts[first], counts[first:after])
        for first, after in pairwise([0, *cuts, len(ends)])
    ]


def _add_up(empty: Counts, parts: list[Any]) -> Rows:
    """Return the sorted sum of the rows of one range, fetching one result at a time."""
    table = empty.empty()._table
    for part in parts:
        joined, ends, numbers = _fetched(part)
        table.add_counts(joined.tobytes(), ends, numbers)
    return table.sorted(num_threads=1)


# Encoding ------------------------------------------------------------------------------------------------


def encode(
    tokenizer: Tokenizer,
    paths: AnyPath | Iterable[AnyPath],
    output: AnyPath,
    *,
    address: str = "local",
    options: Options | None = None,
    resume: bool = False,
    task_bytes: int | None = None,
    progress: Progress | bool | None = None,
) -> Manifest:
    """Encode as `bpetite.corpus.encode` does, on the cluster at this address (`local` starts one here).

    `resume` continues after the last whole shard of a stopped run, wherever that ran.
    """
    job = Job.make(tokenizer, paths, options or Options(), output)
    if not all(source.is_local for source in job.inputs):
        raise ValueError("a cluster cannot encode URLs, only files that all machines see under the same name")
    work = functools.partial(_by_tasks, job, address, task_bytes)
    return run(job, Path(output), work, resume, progress)


def _by_tasks(
    job: Job, address: str, task_bytes: int | None, reached: Reached
) -> Generator[Part, None, None]:
    """Yield what tasks encode, each a group of parts of inputs."""
    inputs = [found for found in job.inputs[len(reached.inputs) :] if isinstance(found, Input)]
    with connected(address) as cluster:
        sent_job = cluster.put(replace(job, inputs=[]))
        encode_group = cluster.task(_encode_group)
        groups = cluster.groups(inputs, job.options.reading, task_bytes)
        begun = ((encode_group([sent_job], group), size_of(group)) for group in groups)
        for result, read in cluster.ahead(begun):
            ids, ends, stretches = cluster.get(result)
            yield Part(ids, ends, stretches, read)


@functools.lru_cache(maxsize=1)
def _job_of(reference: Any) -> Job:
    """Return the job that this worker does; its tokenizer knows the pretokens of earlier tasks."""
    job: Job = _fetched(reference)
    return job


def _encode_group(sent_job: list[Any], group: list[Input]) -> tuple[Ids, NDArray[np.uint64], list[Stretch]]:
    """Encode a group: its ids, where documents end in them, and what was read of each input.

    The reference to the job is in a list, so that Ray does not replace it by a new copy for each task.
    """
    job = _job_of(sent_job[0])
    ids, ends, tokens = [np.zeros(0, job.dtype)], [np.zeros(0, np.uint64)], 0
    stretches: list[Stretch] = []
    for source, batch, _ in read_all(group, job.options.reading, threads=1, hashed=True):
        if batch.texts:
            part, ended = job.ids_of(source, batch)
            ids.append(part.astype(job.dtype, copy=False))
            ends.append(ended + np.uint64(tokens))
            tokens += len(part)
        stretches += stretches_of(batch)
    return np.concatenate(ids), np.concatenate(ends), stretches


# Ray -----------------------------------------------------------------------------------------------------


class Cluster:
    """A cluster that this process is connected to."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self.put: Callable[[object], Any] = ray.put
        self.get: Callable[[Any], Any] = ray.get

    @property
    def cores(self) -> int:
        """How many tasks run at once."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def task(self, function: Callable[..., Any], results: int = 1) -> Callable[..., Any]:
        """Return a function that runs this one as a task and returns references to its results."""
        remote = self._ray.remote(max_retries=_RETRIES, num_returns=results)(function)
        call: Callable[..., Any] = remote.remote
        return call

    def groups(
        self, inputs: Sequence[Input], reading: Reading, task_bytes: int | None
    ) -> Iterator[list[Input]]:
        """Yield groups of inputs and parts of them, each the work of one task."""
        size = task_bytes or max(_LEAST, min(_MOST, _work_in(inputs, reading) // (_TASKS * self.cores)))
        parts = (part for found in inputs for part in divide(found, reading, size))
        return grouped(parts, reading, size)

    def ahead(self, begun: Iterable[T]) -> Iterator[T]:
        """Yield tasks as an iterator begins them, while some more are begun.

        They are few, so an error leaves few that nobody waits for. They are not cancelled: Ray (2.60) ends
        the whole process if a task begins as it is cancelled.
        """
        waiting: deque[T] = deque()
        for one in begun:
            waiting.append(one)
            if len(waiting) > _AHEAD * self.cores:
                yield waiting.popleft()
        yield from waiting


@contextlib.contextmanager
def connected(address: str) -> Iterator[Cluster]:
    """Connect to a cluster, and disconnect at the end; the error of a task is raised as it was there."""
    try:
        import ray
    except ImportError as error:
        raise ImportError("a cluster needs ray: pip install 'bpetite[ray]'") from error
    # The first error is raised; Ray need not print the others.
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")
    mine = not ray.is_initialized()
    try:
        if mine:
            ray.init(
                address=address,
                include_dashboard=False if address == "local" else None,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        yield Cluster(ray)
    except ray.exceptions.RayError as error:
        if isinstance(error, ray.exceptions.RayTaskError) and error.cause is not None:
            raise error.cause from error  # the cause shows where it was raised
        reason = str(error).strip().partition("\n")[0]
        raise RuntimeError(f"the cluster could not finish: {type(error).__name__}: {reason}") from error
    finally:
        if mine:
            ray.shutdown()


def _fetched(result: Any) -> Any:
    """Return the result of a reference, inside a task."""
    import ray

    return ray.get(result)


def _work_in(inputs: Iterable[Input], reading: Reading) -> int:
    """Return how much work inputs are, measured in bytes of plain text."""
    work = 0
    for found in inputs:
        is_packed = named_format(found.name, reading.input_format) in (None, "parquet")
        work += _FILE + size_of([found]) * (_PACKED if is_packed else 1)
    return work


def grouped(parts: Iterable[Input], reading: Reading, task_bytes: int) -> Iterator[list[Input]]:
    """Yield groups of consecutive parts of one weight, each the work of one task."""
    group: list[Input] = []
    room = task_bytes
    for part in parts:
        work = _work_in([part], reading)
        if group and (work > room or part.weight != group[0].weight):
            yield group
            group, room = [], task_bytes
        group.append(part)
        room -= work
    if group:
        yield group
