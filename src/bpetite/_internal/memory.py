"""What the system tells of memory, in bytes: of this process, and of the machine."""

import contextlib
import sys

_UNKNOWN = 100 << 20
"""What a process is taken to have in use where the system does not tell."""


def memory_in_use() -> int:
    """Return the memory that this process has in use, without what it shares with others."""
    with contextlib.suppress(OSError, IndexError):
        return _of_process(b"RssAnon:") + _of_process(b"RssFile:")
    return peak_memory() or _UNKNOWN


def peak_memory() -> int | None:
    """Return the most memory that this process has had, on systems that report it."""
    with contextlib.suppress(OSError, IndexError):  # `getrusage` counts what began the process, too
        return _of_process(b"VmHWM:")
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak << 10


def available_memory() -> int | None:
    """Return the free memory, on systems that report it."""
    found = []
    with contextlib.suppress(OSError, IndexError):
        found.append(1024 * int(_word("/proc/meminfo", b"MemAvailable:")))
    with contextlib.suppress(
        OSError, ValueError
    ):  # the limit of a container, which may be the word "max"
        limit, used = (int(_word(f"/sys/fs/cgroup/memory.{name}")) for name in ("max", "current"))
        found.append(max(limit - used, 0))
    with contextlib.suppress(
        OSError, IndexError, ValueError
    ):  # `ulimit -v`, which may be "unlimited"
        allowed = int(_word("/proc/self/limits", b"Max address space"))
        found.append(max(allowed - _of_process(b"VmSize:"), 0))
    return min(found, default=None)


def _of_process(kind: bytes) -> int:
    return 1024 * int(_word("/proc/self/status", kind))


def _word(path: str, before: bytes = b"") -> bytes:
    """Return the first word of a file of the kernel, or the one after some others."""
    with open(path, "rb") as file:
        return file.read().partition(before)[2].split()[0] if before else file.read().split()[0]
