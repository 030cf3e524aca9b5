"""Counting and encoding on a Ray cluster, with the results of one machine. No other module imports ray.

    inputs → groups of about equal work → a task for each, a few begun ahead → this process, in order

Small files are put together, and large ones divided where records begin. The result of a task
depends on its group alone, so the task of a worker that died is run again. This process writes the
shards of all ids. Counts are added up by tasks, a few at a time, and this process adds up the last
few sums:

    group 1, group 2, ... group 16  → sum
    group 17, ...                   → sum    ...  → the counts

Results wait in the cluster's memory; Ray moves to disk what does not fit. All machines must see the
same files under the same names.
"""

import contextlib
import functools
import logging
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from bpetite._internal.arguments import worded
from bpetite._internal.lazy import LazyModule, needed
from bpetite._internal.progress import shown
from bpetite._internal.types import AnyPath, Limits, Progress
from bpetite.corpus.job import EncodedPart, Job, Options
from bpetite.corpus.manifest import Manifest
from bpetite.corpus.run import run
from bpetite.counts import Counts
from bpetite.counts.counting import ProgressOfAll, count_inputs
from bpetite.reading.division import divide
from bpetite.reading.documents import read_all
from bpetite.reading.options import Reading
from bpetite.reading.recognition import named_format
from bpetite.reading.sources import Input, find_inputs, size_of, weight_of
from bpetite.tokenizer import Tokenizer

T = TypeVar("T")

ray: Any = LazyModule("ray")

_LEAST, _MOST = 1 << 24, 1 << 28
"""The smallest and the largest number of bytes that a task reads, unless the caller sets it."""

_TASKS = 4
"""How many tasks there are for each core, if these limits allow it."""

_AHEAD = 2
"""How many tasks for each core are begun before their results are needed."""

_SUMMANDS = 16
"""How many counts one task adds up."""

_PACKED = 4
"""An estimate of how many times its size a compressed file contains."""

_FILE = 1 << 14
"""The cost of opening a file, as a number of bytes."""

_RETRIES = 20
"""How often the task of a worker that died is run again."""


# Counting
# ------------------------------------------------------------------------------------------------


def count(
    paths: AnyPath | Iterable[AnyPath],
    *,
    address: str = "local",
    rules: Counts | None = None,
    reading: Reading | None = None,
    memory_limit: int | str | None = None,
    task_bytes: int | None = None,
    progress: Progress | bool | None = None,
) -> Counts:
    """Count on the cluster at this address (`local` starts one here).

    `rules` are counts, empty or not, whose pattern and boundaries apply:
    `Counts(pattern="llama3")`. With a `memory_limit`, this process keeps what is beyond it in
    temporary files.
    """
    rules = Counts() if rules is None else rules.empty()
    reading = replace(reading or Reading(), cut=rules.cut)
    inputs = find_inputs(paths)
    parts: list[Any] = []
    done = 0
    with shown(progress) as report, connected(address):
        count_group = task(_count_group, results=2)
        groups = groups_of(inputs, reading, task_bytes)
        begun = ((size_of(group), *count_group(rules, group, reading)) for group in groups)
        for size, documents, counts in ahead(begun):
            ray.get(documents)  # It is there when the counts are; an error is raised here.
            parts.append(counts)
            done += size
            if report is not None:
                report("counting", done, size_of(inputs))
        add_up = task(_add_up)
        while len(parts) > _SUMMANDS:
            parts = [
                add_up(parts[first : first + _SUMMANDS])
                for first in range(0, len(parts), _SUMMANDS)
            ]
        return Counts.merge(map(ray.get, parts), memory_limit=memory_limit)


def _count_group(rules: Counts, group: list[Input], reading: Reading) -> tuple[int, Counts]:
    """Count a group of parts of one weight."""
    limits: Limits = {"num_threads": 1, "memory_limit": None}
    counts = rules.empty()
    counts.beside = count_inputs(counts._table, group, reading, limits, ProgressOfAll(None, 0))
    return counts.documents, counts.weighted(*weight_of(group[0]))


def _add_up(parts: list[Any]) -> Counts:
    """Add up counts, fetching one result at a time."""
    return Counts.merge(map(ray.get, parts))


# Encoding
# ------------------------------------------------------------------------------------------------


def encode(
    tokenizer: Tokenizer,
    paths: AnyPath | Iterable[AnyPath],
    output: AnyPath,
    *,
    address: str = "local",
    options: Options | None = None,
    resume: bool = False,
    overwrite: bool = False,
    task_bytes: int | None = None,
    progress: Progress | bool | None = None,
) -> Manifest:
    """Encode as `bpetite.corpus.encode` does, on the cluster at this address (`local` starts one here).

    `resume` continues after the last whole shard of a stopped run, wherever that ran.
    """
    job = Job.make(tokenizer, paths, Options() if options is None else options, output)
    if job.options.dropout is not None:
        raise ValueError(
            worded(
                lambda name: (
                    f"{name('dropout')} depends on the numbers of documents, which the tasks of a "
                    "cluster do not know; encode on one machine"
                )
            )
        )
    if not all(source.is_local for source in job.inputs):
        raise ValueError(
            "a cluster cannot encode URLs, only files that all machines see under the same name"
        )
    work = functools.partial(_by_tasks, job, address, task_bytes)
    return run(job, Path(output), work, progress, resume=resume, overwrite=overwrite)


def _by_tasks(
    job: Job, address: str, task_bytes: int | None, manifest: Manifest
) -> Generator[EncodedPart, None, None]:
    """Yield what tasks encode, each a group of parts of inputs."""
    inputs = job.inputs[len(manifest.inputs) :]
    with connected(address):
        # In a list, so that Ray does not replace the reference by a new copy for each task.
        sent_job = [ray.put(replace(job, inputs=[]))]
        encode_group = task(_encode_group)
        groups = groups_of(inputs, job.options.reading, task_bytes)
        for result in ahead(encode_group(sent_job, group) for group in groups):
            yield from ray.get(result)


@functools.lru_cache(maxsize=1)
def _job_of(reference: Any) -> Job:
    """Return the job that this worker does; its tokenizer knows the pretokens of earlier tasks."""
    job: Job = ray.get(reference)
    return job


def _encode_group(sent_job: list[Any], group: list[Input]) -> list[EncodedPart]:
    """Encode a group of parts of inputs."""
    job = _job_of(sent_job[0])
    return [
        job.part(*item) for item in read_all(group, job.options.reading, threads=1, hashed=True)
    ]


# Ray
# -----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def connected(address: str) -> Iterator[None]:
    """Connect to a cluster, and disconnect at the end; the error of a task is raised as it was there."""
    needed("ray", "a cluster", extra="ray")
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
                **_without_current_folder(address),
            )
        yield
    except ray.exceptions.RayError as error:
        if isinstance(error, ray.exceptions.RayTaskError) and error.cause is not None:
            raise error.cause from error  # the cause shows where it was raised
        reason = str(error).strip().partition("\n")[0]
        raise RuntimeError(
            f"the cluster could not finish: {type(error).__name__}: {reason}"
        ) from error
    finally:
        if mine:
            ray.shutdown()


def _without_current_folder(address: str) -> dict[str, Any]:
    """Return options with which workers import nothing from the current folder, which Ray would put first.

    Ray leaves it out where the job brings a folder of its own, and asks so by this method. A client
    (`ray://`) does not send its folder at all.
    """
    if address.startswith("ray://"):
        return {}
    config = ray.job_config.JobConfig()
    config._runtime_env_has_working_dir = lambda: True
    return {"job_config": config}


def task(function: Callable[..., Any], results: int = 1) -> Callable[..., Any]:
    """Return a function that runs this one as a task and returns references to its results."""
    call: Callable[..., Any] = ray.remote(max_retries=_RETRIES, num_returns=results)(
        function
    ).remote
    return call


def ahead(begun: Iterable[T]) -> Iterator[T]:
    """Yield tasks as an iterator begins them, while some more are begun.

    They are few, so an error leaves few that nobody waits for. They are not cancelled: Ray (2.60)
    ends the whole process if a task begins as it is cancelled.
    """
    waiting: deque[T] = deque()
    for one in begun:
        waiting.append(one)
        if len(waiting) > _AHEAD * _cores():
            yield waiting.popleft()
    yield from waiting


def _cores() -> int:
    """Return how many tasks run at once."""
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


# Groups
# --------------------------------------------------------------------------------------------------


def groups_of(
    inputs: Sequence[Input], reading: Reading, task_bytes: int | None
) -> Iterator[list[Input]]:
    """Yield groups of inputs and parts of them, each the work of one task."""
    size = task_bytes
    if not size:  # The size of a URL takes a request.
        work = sum(_work_in(found, reading) for found in inputs)
        size = max(_LEAST, min(_MOST, work // (_TASKS * _cores())))
    parts = (part for found in inputs for part in divide(found, reading, size))
    return grouped(parts, reading, size)


def _work_in(found: Input, reading: Reading) -> int:
    """Return how much work an input is, measured in bytes of plain text."""
    is_packed = named_format(found.name, reading.input_format) in (None, "parquet")
    return _FILE + size_of([found]) * (_PACKED if is_packed else 1)


def grouped(parts: Iterable[Input], reading: Reading, task_bytes: int) -> Iterator[list[Input]]:
    """Yield groups of consecutive parts of one weight, each the work of one task."""
    group: list[Input] = []
    room = task_bytes
    for part in parts:
        work = _work_in(part, reading)
        if group and (work > room or weight_of(part) != weight_of(group[0])):
            yield group
            group, room = [], task_bytes
        group.append(part)
        room -= work
    if group:
        yield group
