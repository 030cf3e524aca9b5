"""A pool of threads that reports a lack of memory instead of waiting forever."""

import mmap
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_MEMORY_OF_A_THREAD = 9 << 20
"""What a new thread needs: in most systems its stack takes 8 MB, and its first calls some 20 KB."""


class Threads(ThreadPoolExecutor):
    """A pool of threads, each of which begins, or an error is raised.

    A thread whose stack just fits, but not its first call, ends without a word, and Python waits
    forever for its beginning (seen in 3.11 with an address space that ended in these 20 KB).
    """

    def submit(self, work: Callable[P, T], /, *args: P.args, **keywords: P.kwargs) -> Future[T]:
        """Submit work if there is memory for one more thread."""
        _check_memory()
        return super().submit(work, *args, **keywords)


def _check_memory() -> None:
    """Raise a `MemoryError` if a thread has no room; nothing is written to what is mapped here."""
    try:
        mmap.mmap(-1, _MEMORY_OF_A_THREAD).close()
    except OSError:
        raise MemoryError("not enough memory to begin a thread") from None
