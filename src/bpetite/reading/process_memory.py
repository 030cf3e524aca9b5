"""The memory limit of this process, for what can only be read as a whole."""

from __future__ import annotations

import contextlib
import sys

_UNKNOWN = 100 << 20
"""The bytes that a process is taken to have in use where the system does not tell."""

_limits: list[int] = []
"""The limit of this process, if there is one."""


def set_limit(limit: int | None) -> None:
    """Set the limit of this process; None is none."""
    _limits[:] = [] if limit is None else [limit]


def refuse_beyond(size: int, what: str) -> None:
    """Refuse what takes more bytes than the limit leaves, before it is read."""
    if not _limits:
        return
    used = memory_in_use()
    if used + size > _limits[0]:
        raise ValueError(
            f"{what} takes {megabytes(size)}MB of memory; {megabytes(used)}MB are in use, so the limit "
            f"must be {megabytes(used + size)}MB or more"
        )


def megabytes(size: int) -> int:
    """Return a size in megabytes, rounded up."""
    return -(-size // 10**6)


def memory_in_use() -> int:
    """Return the bytes of memory that this process has in use, without what it shares with others."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        with open("/proc/self/status", encoding="ascii") as file:
            status = file.read()
        kinds = ("RssAnon:", "RssFile:")
        return sum(int(status.partition(kind)[2].split()[0]) << 10 for kind in kinds)
    try:
        import resource
    except ImportError:
        return _UNKNOWN
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak << 10
