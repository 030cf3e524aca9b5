"""The memory limit of this process: what of it counting or encoding may take, and what is too large for it.

    --memory-limit = in use before + beside threads and table + threads * each thread + table (or cache)

What the process has in use before is measured: Python, the engine, NumPy, pyarrow, a tokenizer.
Each thread takes a fixed amount beside that, and the table of counts, or the encoder's cache, gets
the rest. A document that can only be held as a whole, and grows beyond the limit, is refused.
"""

import contextlib

from bpetite._internal.arguments import worded
from bpetite._internal.memory import memory_in_use
from bpetite._internal.types import Limits

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
"""The parts of a table, of which each thread may enlarge one at a time."""

_MAPPED_FROM, _MAPPED = -3, 1 << 18
"""The number of glibc's `M_MMAP_THRESHOLD`, and its value: larger blocks go back to the system when they are
freed. Unless it is set, glibc raises it to the size of what was freed, up to 32 MB."""

_STEP = 1 << 24
"""A document of fewer bytes is never refused."""

_COPIES = 3
"""How many times a document is in memory that cannot be cut: as blocks, as one text, and in a batch."""

_limit: int | None = None
"""The limit of this process, if there is one."""


def set_limit(limit: int | None) -> None:
    """Set the limit of this process; None is none."""
    global _limit
    _limit = limit


def room_within(limit: int | None, num_threads: int | None) -> Limits:
    """Set a limit for this process; return the bytes for the table of counts, and the number of threads.

    A limit that cannot be met is a `ValueError`, which names the smallest one that can.
    """
    least = _OF_THREAD + _LEAST * (2 * _SHARDS + 1) // (2 * _SHARDS)
    room, threads = _divided(limit, num_threads, _BESIDE, least, 2 * _OF_THREAD, "counted")
    if room is None or threads is None:
        return {"memory_limit": None, "num_threads": num_threads}
    # The table stays within its part while each thread doubles a shard of it.
    table = (room - threads * _OF_THREAD) * 2 * _SHARDS // (2 * _SHARDS + min(threads, _SHARDS))
    return {"memory_limit": table, "num_threads": threads}


def threads_within(limit: int | None, num_threads: int | None) -> int | None:
    """Set a limit for this process; return the number of threads that may encode.

    A limit that cannot be met is a `ValueError`, which names the smallest one that can.
    """
    beside = _BESIDE + _CACHES
    return _divided(limit, num_threads, beside, _OF_ENCODING, _OF_ENCODING, "encoded")[1]


def _divided(
    limit: int | None, num_threads: int | None, beside: int, least: int, of_thread: int, done: str
) -> tuple[int | None, int | None]:
    """Set a limit; return what it leaves, which must be some least, and the number of threads."""
    from bpetite.reading.threads import threads_of

    set_limit(limit)
    if limit is None:
        return None, num_threads
    used = _in_use_before()
    room = limit - used - beside
    if room < least:
        raise ValueError(
            f"a memory limit of {limit:,} bytes is too small: before anything is {done}, this process takes "
            f"{megabytes(used)}MB; the smallest limit that works is "
            f"{megabytes(used + beside + least + _VARIES)}MB"
        )
    return room, max(1, min(threads_of(num_threads), room // of_thread))


def _in_use_before() -> int:
    """Return what is in use once all is imported, and let allocators give back what is freed."""
    from bpetite._engine import trim_memory

    with contextlib.suppress(ImportError):
        import numpy  # noqa: F401 - for its memory
        import pyarrow.parquet  # noqa: F401 - for its memory
    with contextlib.suppress(
        AttributeError, ImportError, OSError, TypeError
    ):  # without glibc or `ctypes`
        import ctypes

        ctypes.CDLL(None).mallopt(_MAPPED_FROM, _MAPPED)
    trim_memory()
    return memory_in_use()


def refuse_beyond(size: int, what: str) -> None:
    """Refuse what takes more bytes than the limit leaves, before it is read."""
    if _limit is None:
        return
    used = memory_in_use()
    if used + size > _limit:
        raise ValueError(
            f"{what} takes {megabytes(size)}MB of memory; {megabytes(used)}MB are in use, so the limit "
            f"must be {megabytes(used + size)}MB or more"
        )


def check_whole(name: str, size: int, most: int) -> None:
    """Refuse a document that is held as a whole if the bytes of it that were read are too many."""
    if size > most:
        message = f"{name}: a document has more than {most:,} bytes; "
        raise ValueError(worded(lambda name: f"{message}{name('max_document')} allows more"))
    if size >= _STEP:
        more = (_COPIES - 1) * size + _COPIES * _STEP
        refuse_beyond(
            more, f"{name}: the rest of a document of over {megabytes(size)}MB that must be whole"
        )


def megabytes(size: int) -> int:
    """Return a size in megabytes, rounded up."""
    return -(-size // 10**6)
