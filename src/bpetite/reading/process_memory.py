"""The memory limit of this process, for what can only be read as a whole."""

from __future__ import annotations

import contextlib
import sys

from bpetite._internal.arguments import worded

_UNKNOWN = 100 << 20
"""The bytes that a process is taken to have in use where the system does not tell."""

_STEP = 1 << 24
"""The bytes that a document grows until its size is checked again."""

_COPIES = 3
"""How many times a document is in memory that cannot be cut: as blocks, as one text, and in a batch."""

_limits: list[int] = []
"""The limit of this process, if there is one."""


def set_limit(limit: int | None) -> None:
    """Set the limit of this process; None is none."""
    _limits[:] = [] if limit is None else [limit]


def is_limited() -> bool:
    """Whether this process has a limit."""
    return bool(_limits)


def refuse_beyond(size: int, what: str) -> None:
    """Refuse what takes more bytes than the limit leaves, before it is read."""
    if not is_limited():
        return
    used = memory_in_use()
    if used + size > _limits[0]:
        raise ValueError(
            f"{what} takes {megabytes(size)}MB of memory; {megabytes(used)}MB are in use, so the limit "
            f"must be {megabytes(used + size)}MB or more"
        )


class WholeDocument:
    """A document that is held as a whole while it grows; one that is too large is refused."""

    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self._most = most
        self._checked = 0

    def check(self, size: int) -> None:
        """Refuse to go on after so many bytes."""
        if size > self._most:
            message = f"{self._name}: a document has more than {self._most:,} bytes; "
            raise ValueError(worded(lambda name: f"{message}{name('max_document')} allows more"))
        if not is_limited() or self._checked <= size < self._checked + _STEP:
            return
        self._checked = size
        if size < _STEP:
            return
        more = (_COPIES - 1) * size + _COPIES * _STEP
        refuse_beyond(
            more, f"{self._name}: the rest of a document of more than {megabytes(size)}MB that must be whole"
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
