"""The connection to Ray, and inputs → tasks of about equal work. No other module imports ray."""

from __future__ import annotations

import contextlib
import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from bpetite.reading.division import divide
from bpetite.reading.options import Reading
from bpetite.reading.recognition import named_format
from bpetite.reading.sources import Input, size_of

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
        self, inputs: Iterable[Input], reading: Reading, task_bytes: int | None
    ) -> Iterator[list[Input]]:
        """Yield groups of inputs and parts of them, each the work of one task."""
        inputs = list(inputs)
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


def fetched(result: Any) -> Any:
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
