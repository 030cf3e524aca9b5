"""Parts of work in, what several threads make of them out: in the order of the parts, or as it comes.

    parts:  a b c d ...      two threads:  a: a1 a2 a3    in order: a1 a2 a3 b1 b2
                                           b: b1 b2       else:     a1 b1 a2 b2 a3

A part is worked on in steps. What a step makes waits until the caller takes it, and only then the
next step of this part begins; few parts are begun before their turn. So memory does not depend on
the amount of work. Of several errors, the first one in the order of the parts is raised: no later
part is begun, and earlier ones are finished.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from bpetite._engine import thread_count
from bpetite._internal.integers import integer

if TYPE_CHECKING:
    from concurrent.futures import Future
    from threading import Event

P = TypeVar("P")
T = TypeVar("T")

_MORE = 2
"""How many more parts than threads are begun: what is made of each may wait, and takes memory."""

_LOOK = 0.1
"""The seconds after which the waiting caller checks that it is still in the process with the threads."""


def check_process(process: int) -> None:
    """Raise an error in a fork of a process: threads and files belong to the other one."""
    if os.getpid() != process:
        raise RuntimeError(
            "this process was forked during a call that uses threads, and does not have these threads; "
            "the call continues only in the other process"
        )


def threads_of(num_threads: int | None) -> int:
    """Return the number of threads; None means one for each core."""
    return thread_count(
        None if num_threads is None else integer("num_threads", num_threads, least=1)
    )


Steps = Generator[tuple[Sequence[T], bool], None, None]
"""What each step of a part makes, and whether it is known to be the last one."""

_END: tuple[Sequence[Any], bool] = (), True


class _Part(Generic[T]):
    """A part that was begun."""

    def __init__(self, steps: Steps[T] | None, made: Future[tuple[Sequence[T], bool]]) -> None:
        self.steps = steps
        self.made = made
        """What the current step makes."""


def in_threads(
    parts: Iterable[P],
    work: Callable[[P], Steps[T]],
    threads: int,
    *,
    in_order: bool = True,
    has_left: Event | None = None,
) -> Generator[T, None, None]:
    """Yield what the parts become.

    `has_left` is set when the caller wants no more; long work may look at it.
    """
    from concurrent.futures import Future

    from bpetite._internal.threads import Threads

    process = os.getpid()
    remaining = iter(parts)
    begun: list[_Part[T]] = []
    failed: BaseException | None = None
    pool = Threads(threads)

    def begin() -> bool:
        """Begin the next part, if there is one; an error in finding it is raised in its place."""
        part = _Part[T](None, Future())
        try:
            part.steps = work(next(remaining))
            part.made = pool.submit(next, part.steps, _END)
        except StopIteration:
            return False
        except Exception as error:
            part.made.set_exception(error)
        begun.append(part)
        return True

    try:
        while True:
            while failed is None and len(begun) < threads + _MORE and begin():
                pass
            if not begun:
                break
            part = _ready(begun[:1] if in_order else begun, process)
            failed = part.made.exception() or failed
            if part.made.exception() is not None:
                del begun[begun.index(part) :]
                continue
            made, is_last = part.made.result()
            if is_last or part.steps is None:
                begun.remove(part)
            else:
                part.made = pool.submit(next, part.steps, _END)
            yield from made
        if failed is not None:
            raise failed
    finally:
        if os.getpid() == process:
            if has_left is not None:
                has_left.set()
            pool.shutdown(cancel_futures=True)


def _ready(parts: Sequence[_Part[T]], process: int) -> _Part[T]:
    """Return the first of some parts whose step is done, as soon as there is one."""
    from concurrent.futures import FIRST_COMPLETED, wait

    while True:
        check_process(process)
        wait([part.made for part in parts], _LOOK, FIRST_COMPLETED)
        for part in parts:
            if part.made.done():
                return part
