"""A limit for the memory of this process in, what counting or encoding may take of it out.

What the process has in use before is measured: Python, the engine, NumPy, pyarrow, a tokenizer. Each thread
takes a fixed amount beside that, and the table of counts, or the encoder's cache, gets the rest.
"""

from __future__ import annotations

import contextlib
import os
import sys

from bpetite._engine import trim_memory
from bpetite._internal.types import Limits
from bpetite.reading.process_memory import megabytes, memory_in_use
from bpetite.reading.threads import threads_of

_OF_THREAD = 22 << 20
"""The bytes of a thread: its batches, what it unpacks, its own small tables, and what the allocator keeps."""

_BESIDE = 12 << 20
"""The bytes beside threads and table: to merge temporary files, to write rows."""

_LEAST = 4 << 20
"""The smallest table: with less, nearly all counts would be written again and again."""

_OF_ENCODING = 44 << 20
"""The bytes of a thread that reads and of one that encodes: their batches and ids, and those that wait."""

_VARIES = 2 << 20
"""By how much the memory in use may differ when a command is given once more."""

CACHE = 64 << 20
"""The bytes of the encoder's cache, where the memory of a process is limited."""

_CACHES = 148 << 20
"""The bytes of a cache that is full, of the one that replaces it, and what the allocator keeps of them."""

_SHARDS = 16
"""The parts of a table, of which each thread may double one at a time."""


_MAPPED_FROM, _MAPPED = -3, 1 << 18
"""The number of glibc's `M_MMAP_THRESHOLD`, and its value: larger blocks go back to the system when they are
freed. Unless it is set, glibc raises it to the size of what was freed, up to 32 MB."""


def room_within(limit: int | None, num_threads: int | None) -> Limits:
    """Return the bytes for the table of counts, and the number of threads, within a limit for this process.

    A limit that cannot be met is a `ValueError`, which names the smallest one that can.
    """
    if limit is None:
        return {"memory_limit": None, "num_threads": num_threads}
    _prepare()
    used = _least_in_use() + _BESIDE
    threads = max(1, min(threads_of(num_threads), (limit - used) // 2 // _OF_THREAD))
    table = _table(limit - used, threads)
    if table < _LEAST:
        least = used + _OF_THREAD + _LEAST * (2 * _SHARDS + 1) // (2 * _SHARDS) + _VARIES
        raise ValueError(
            f"a memory limit of {limit:,} bytes is too small: before anything is counted, this process takes "
            f"{megabytes(used - _BESIDE)}MB; the smallest limit that works is {megabytes(least)}MB"
        )
    return {"memory_limit": table, "num_threads": threads}


def threads_within(limit: int | None, num_threads: int | None) -> int | None:
    """Return the number of threads that may encode within a limit for this process.

    A limit that cannot be met is a `ValueError`, which names the smallest one that can.
    """
    if limit is None:
        return num_threads
    _prepare()
    used = _least_in_use()
    room = limit - used - _BESIDE - _CACHES
    if room < _OF_ENCODING:
        least = limit - room + _OF_ENCODING + _VARIES
        raise ValueError(
            f"a memory limit of {limit:,} bytes is too small: before anything is encoded, this process takes "
            f"{megabytes(used)}MB; the smallest limit that works is {megabytes(least)}MB"
        )
    return min(threads_of(num_threads), room // _OF_ENCODING)


def _prepare() -> None:
    """Import what takes memory, and let allocators give back what is freed instead of keeping it."""
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    with contextlib.suppress(ImportError):
        import numpy  # noqa: F401 - for its memory
        import pyarrow.parquet  # noqa: F401 - for its memory
    with contextlib.suppress(AttributeError, ImportError, OSError, TypeError):  # without glibc or `ctypes`
        import ctypes

        ctypes.CDLL(None).mallopt(_MAPPED_FROM, _MAPPED)


_known: dict[int, int] = {}
"""The least memory that this process had in use when it was asked, by its number."""


def _least_in_use() -> int:
    """Return what is in use; a worker that has counted before may keep more, and use it again."""
    trim_memory()
    here = os.getpid()
    _known[here] = min(memory_in_use(), _known.get(here, sys.maxsize))
    return _known[here]


def _table(left: int, threads: int) -> int:
    """Return the size of a table that stays within `left` bytes while each thread doubles a shard of it."""
    return (left - threads * _OF_THREAD) * 2 * _SHARDS // (2 * _SHARDS + min(threads, _SHARDS))
