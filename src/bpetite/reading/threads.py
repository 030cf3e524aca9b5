"""Parts of work in, what several threads make of them out: in the order of the parts, or as it comes.

    parts:  a b c d ...      two threads:  a: a1 a2 a3    in order: a1 a2 a3 b1 b2
                                           b: b1 b2       else:     a1 b1 a2 b2 a3

Each thread works on one part after the other, and puts what it makes into an outbox: that of the part, or one
for all parts. An outbox has little room, and few parts are begun before their turn, so memory does not depend
on the amount of work. Of several errors, the first one in the order of the parts is raised: no later part is
begun, and earlier ones are finished.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from bpetite._engine import thread_count
from bpetite._internal.integers import integer

P = TypeVar("P")
T = TypeVar("T")

_SHARING = 2
"""The number of threads for each item that may wait in an outbox for all: waiting batches take memory."""

_LOOK = 0.1
"""The seconds after which the waiting caller checks that it is still in the process with the threads."""

FORKED = (
    "this process was forked during a call that uses threads, and does not have these threads; "
    "the call goes on in the other process only"
)


def check_process(process: int) -> None:
    """Raise an error in a fork of a process: threads and files belong to the other one."""
    if os.getpid() != process:
        raise RuntimeError(FORKED)


def threads_of(num_threads: int | None) -> int:
    """Return the number of threads; None means one for each core."""
    return thread_count(None if num_threads is None else integer("num_threads", num_threads, least=1))


@dataclass(eq=False)
class _Part(Generic[P]):
    """A part that was begun."""

    outbox: SimpleQueue[Any]
    """What was made and not taken yet; behind all that was made of a part comes the part itself."""
    room: threading.Semaphore
    """For how many items there is room in the outbox."""
    work: P | None = None
    error: BaseException | None = None
    is_done: bool = False


def in_threads(
    parts: Iterable[P],
    work: Callable[[P], Iterable[T]],
    threads: int,
    *,
    in_order: bool = True,
    has_left: threading.Event | None = None,
) -> Generator[T, None, None]:
    """Yield what the parts become. Where the system starts no thread, the caller does the work.

    `has_left` is set when the caller wants no more; long work may look at it.
    """
    has_left = threading.Event() if has_left is None else has_left
    process = os.getpid()
    remaining = iter(parts)
    shared: SimpleQueue[Any] = SimpleQueue()
    shared_room = threading.Semaphore(max(1, threads // _SHARING))
    given: SimpleQueue[_Part[P] | None] = SimpleQueue()
    begun: deque[_Part[P]] = deque()
    started: list[threading.Thread] = []

    def begin() -> None:
        """Give the next part to the threads; an error in finding it is raised in its place."""
        part = _Part[P](shared, shared_room)
        if in_order:
            part = _Part[P](SimpleQueue(), threading.Semaphore(1))
        try:
            part.work = next(remaining)
        except StopIteration:
            return
        except Exception as error:
            part.error, part.is_done = error, True
        else:
            given.put(part)
        begun.append(part)

    try:
        for _ in range(threads):
            thread = threading.Thread(target=_work, args=(given, work, has_left), daemon=True)
            if _started(thread):
                started.append(thread)
        if not started:
            for part in remaining:
                yield from work(part)
            return
        for _ in range(threads + 1):
            begin()
        while begun:
            if begun[0].is_done:
                error = begun.popleft().error
                if error is not None:
                    raise error
                continue
            item = _next(begun[0].outbox, process)
            if not isinstance(item, _Part):
                begun[0].room.release()
                yield item
                continue
            item.is_done = True
            if all(part.error is None for part in begun):
                begin()
    finally:
        if os.getpid() == process:
            has_left.set()
            for _ in started:
                given.put(None)
            for thread in started:
                thread.join()


def _next(outbox: SimpleQueue[Any], process: int) -> Any:
    """Return the next item, or the part, as soon as there is one."""
    while True:
        check_process(process)
        with contextlib.suppress(Empty):
            return outbox.get(timeout=_LOOK)


def _work(
    given: SimpleQueue[_Part[P] | None], work: Callable[[P], Iterable[T]], has_left: threading.Event
) -> None:
    """Make items of parts, in a thread."""
    while (part := given.get()) is not None and not has_left.is_set():
        try:
            for item in work(part.work) if part.work is not None else ():
                _put(part, item, has_left)
                del item
                if has_left.is_set():
                    break
        except BaseException as error:
            part.error = error
        part.work = None  # While it waits, its content is forgotten.
        part.outbox.put(part)


def _put(part: _Part[Any], item: Any, has_left: threading.Event) -> None:
    """Add an item as soon as there is room, or forget it if the caller has left."""
    while not has_left.is_set():
        if part.room.acquire(timeout=_LOOK):
            part.outbox.put(item)
            return


def _started(thread: threading.Thread) -> bool:
    """Start a thread; False if the system cannot."""
    try:
        thread.start()
    except RuntimeError:
        return False
    return True
