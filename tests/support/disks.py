"""Disks for tests: a small one that fills up, and a folder that takes no files."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def small_disk(folder: Path, size: int) -> Iterator[bool]:
    """Mount a file system of that size at a folder, if this process is allowed to; return whether it was."""
    folder.mkdir()
    mounted = mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder)
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", folder], check=True)


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[Path]:
    """Yield a folder that accepts no files: by its mode, by a mount (a mode does not stop root), or /proc."""
    folder.mkdir(mode=0o555)
    bound = os.geteuid() == 0 and mount("--bind", folder, folder)
    try:
        stopped = os.geteuid() != 0 or (bound and mount("-o", "remount,ro,bind", folder))
        yield folder if stopped else Path("/proc")
    finally:
        if bound:
            subprocess.run(["umount", folder], check=True)


def mount(*arguments: object) -> bool:
    """Call `mount`; return whether it worked."""
    if shutil.which("mount") is None:
        return False
    return (
        subprocess.run(["mount", *map(str, arguments)], capture_output=True, check=False).returncode
        == 0
    )
