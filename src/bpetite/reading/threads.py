"""Parts of work in, what several threads make of them out: in the order of the parts, or as it comes.

    parts:  a b c d ...      two threads:  a: a1 a2 a3    in order: a1 a2 a3 b1 b2
                                           b: b1 b2       else:     a1 b1 a2 b2 a3

Each thread works on one part after the other. What was made waits for the caller; when a few items wait, the
threads wait too, so memory does not depend on the amount of work. Of several errors, the first one in the
order of the parts is raised: no later part is begun, and earlier ones are finished.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from bpetite._engine import thread_count
from bpetite._internal.integers import integer

P = TypeVar("P")
T = TypeVar("T")

_SHARING = 2
"""The number of threads for each item that may wait: waiting batches take memory, and reading is fast."""

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


def ahead(begun: Iterable[T], most: int) -> Iterator[T]:
    """Yield what an iterator yields as it begins work, with `most` more begun; its own error comes last."""
    waiting: deque[T] = deque()
    failure: Exception | None = None
    beginning = iter(begun)
    while failure is None:
        try:
            waiting.append(next(beginning))
        except StopIteration:
            break
        except Exception as error:
            failure = error
        if len(waiting) > most:
            yield waiting.popleft()
    while waiting:
        yield waiting.popleft()
    if failure is not None:
        raise failure


def in_threads(
    parts: Iterable[P], work: Callable[[P], Iterable[T]], threads: int, *, in_order: bool = True
) -> Generator[T, None, None]:
    """Yield what the parts become. Where the system starts no thread, the caller does the work."""
    return _Workers(iter(parts), work, threads, in_order).items()


@dataclass(eq=False)
class _Outbox(Generic[T]):
    """What was made of a part and not taken yet."""

    items: deque[T] = field(default_factory=deque)
    error: BaseException | None = None
    is_done: bool = False


class _Left(Exception):
    """The caller does not want more."""


class _Workers(Generic[P, T]):
    """The threads that work on parts, and the caller who takes their items."""

    def __init__(
        self, parts: Iterator[P], work: Callable[[P], Iterable[T]], threads: int, in_order: bool
    ) -> None:
        self._parts = parts
        self._do = work
        self._in_order = in_order
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(threads)]
        self._room = max(1, threads // _SHARING)
        self._waiting = 0
        self._open: list[_Outbox[T]] = []
        """Of the parts that were begun, in order, except those of which all was taken."""
        self._news = threading.Condition()
        self._beginning = threading.Lock()
        self._has_begun_all = self._has_left = False
        self._process = os.getpid()

    def items(self) -> Generator[T, None, None]:
        """Yield the items, and raise the first error in the order of parts."""
        try:
            started = [thread for thread in self._threads if _started(thread)]
            if not started:
                for part in self._parts:
                    yield from self._do(part)
                return
            while (outbox := self._next()) is not None:
                yield outbox.items.popleft()
        finally:
            if os.getpid() == self._process:
                with self._news:
                    self._has_begun_all = self._has_left = True
                    self._news.notify_all()
                for thread in self._threads:
                    if thread.is_alive():  # Ctrl-C may come before all are started.
                        thread.join()

    def _next(self) -> _Outbox[T] | None:
        """Return the part whose item is taken next; None at the end."""
        with self._news:
            while True:
                check_process(self._process)
                self._open = [part for part in self._open if part.items or part.error or not part.is_done]
                if not self._open and self._has_begun_all:
                    return None
                for outbox in self._open[:1] if self._in_order else self._open:
                    if outbox.items:
                        self._waiting -= 1
                        self._news.notify_all()
                        return outbox
                if self._open and self._open[0].error is not None:
                    raise self._open[0].error
                self._news.notify_all()  # The caller may now wait for another part.
                self._news.wait(_LOOK)

    def _work(self) -> None:
        while (begun := self._begin()) is not None:
            outbox, part = begun
            try:
                for item in self._do(part):
                    self._put(outbox, item)
            except BaseException as error:
                outbox.error = error
            del part, begun  # While this thread waits, the part is forgotten.
            with self._news:
                outbox.is_done = True
                self._has_begun_all |= outbox.error is not None
                self._news.notify_all()

    def _begin(self) -> tuple[_Outbox[T], P] | None:
        """Begin the next part; an error in finding it is raised in its place."""
        with self._beginning:
            if self._has_begun_all:
                return None
            outbox = _Outbox[T]()
            try:
                part = next(self._parts)
            except BaseException as error:
                with self._news:
                    if not isinstance(error, StopIteration):
                        outbox.error, outbox.is_done = error, True
                        self._open.append(outbox)
                    self._has_begun_all = True
                    self._news.notify_all()
                return None
            with self._news:
                self._open.append(outbox)
            return outbox, part

    def _put(self, outbox: _Outbox[T], item: T) -> None:
        with self._news:
            self._news.wait_for(
                lambda: self._has_left or self._waiting < self._room or self._is_awaited(outbox)
            )
            if self._has_left:
                raise _Left
            self._waiting += 1
            outbox.items.append(item)
            self._news.notify_all()

    def _is_awaited(self, outbox: _Outbox[T]) -> bool:
        """Whether the caller waits for this part."""
        return self._in_order and self._open[0] is outbox and not outbox.items


def _started(thread: threading.Thread) -> bool:
    """Start a thread; False if the system cannot."""
    try:
        thread.start()
    except RuntimeError:
        return False
    return True
