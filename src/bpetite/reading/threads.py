"""Parts of work in, what several threads make of them out: in the order of the parts, or as it comes.

    parts:  a b c d ...      two threads:  a: a1 a2 a3    in order: a1 a2 a3 b1 b2
                                           b: b1 b2       else:     a1 b1 a2 b2 a3

Each thread works on one part after the other, and puts what it makes into an outbox: that of the part, or one
for all parts. An outbox has little room, and few parts are begun before their turn, so memory does not depend
on the amount of work. Of several errors, the first one in the order of the parts is raised: no later part is
begun, and earlier ones are finished.
"""

from __future__ import annotations

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


class _Outbox:
    """What was made and not taken yet; behind all that was made of a part comes the part itself."""

    def __init__(self, room: int) -> None:
        self.items: SimpleQueue[Any] = SimpleQueue()
        self.room = threading.Semaphore(room)

    def take(self, process: int) -> Any:
        """Return the next item, as soon as there is one."""
        while True:
            check_process(process)
            try:
                return self.items.get(timeout=_LOOK)
            except Empty:
                continue


@dataclass(eq=False)
class _Part(Generic[P]):
    """A part that was begun."""

    outbox: _Outbox
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
    shared = None if in_order else _Outbox(max(1, threads // _SHARING))
    given: SimpleQueue[_Part[P] | None] = SimpleQueue()
    begun: deque[_Part[P]] = deque()
    started: list[threading.Thread] = []

    def begin() -> None:
        """Give the next part to the threads; an error in finding it is raised in its place."""
        part = _Part[P](shared or _Outbox(1))
        try:
            part.work = next(remaining)
        except StopIteration:
            return
        except Exception as error:
            part.error = error
            part.outbox.items.put(part)
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
        is_well = True
        while begun:
            item = begun[0].outbox.take(process)
            if not isinstance(item, _Part):
                begun[0].outbox.room.release()
                yield item
                continue
            item.is_done = True
            is_well = is_well and item.error is None
            while begun and begun[0].is_done:
                error = begun.popleft().error
                if error is not None:
                    raise error
            if is_well:
                begin()
    finally:
        if os.getpid() == process:
            has_left.set()
            for left in begun:
                left.outbox.room.release(threads)
            for _ in started:
                given.put(None)
            for thread in started:
                thread.join()


def _work(
    given: SimpleQueue[_Part[P] | None], work: Callable[[P], Iterable[T]], has_left: threading.Event
) -> None:
    """Make items of parts, in a thread."""
    while (part := given.get()) is not None:
        try:
            if part.work is not None and not has_left.is_set():
                _make(work(part.work), part.outbox, has_left)
        except BaseException as error:
            part.error = error
        part.work = None  # While it waits, its content is forgotten.
        part.outbox.items.put(part)


def _make(items: Iterable[T], outbox: _Outbox, has_left: threading.Event) -> None:
    for item in items:
        outbox.room.acquire()
        if has_left.is_set():
            return
        outbox.items.put(item)
        del item


def _started(thread: threading.Thread) -> bool:
    """Start a thread; False if the system cannot."""
    try:
        thread.start()
    except RuntimeError:
        return False
    return True
