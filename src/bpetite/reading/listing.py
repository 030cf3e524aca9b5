"""A folder, a glob or a name in, its files out; all that cannot be read is refused together.

What stands in a folder or matches a glob must be a file. What is named itself may also be a stream below
`/dev`, such as the shell's `<(program)`, a terminal or stdin. A named pipe elsewhere is refused: opening it
may wait for ever.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator

_NAMED = 5
"""The maximum number of names in a message."""

_STREAMS = ("/dev/", "/proc/")

Found = tuple[str, int | None]
"""The name of an input, and its size if it is an ordinary local file."""


class Listing:
    """Lists files, and notes what cannot be read of them."""

    def __init__(self, written: str | None) -> None:
        """Leave out what is in the folder `written`."""
        self._written = None if written is None else os.path.join(os.path.realpath(written), "")
        self._unreadable: list[str] = []

    def files(self, path: str) -> Iterator[Found]:
        """Yield a file, or the files below a folder or matching a glob, each once and in order.

        Folders and files that begin with a dot are left out of folders.
        """
        before = len(self._unreadable)
        if os.path.isdir(path):
            names, nothing = in_order(set(self._below(path))), "the folder holds no files"
        elif not os.path.lexists(path) and has_wildcards(path):
            names, nothing = in_order(set(self._matches(path))), "no file matches"
        else:
            os.lstat(path)
            yield from self._readable([path], are_named=True)
            return
        if not names and len(self._unreadable) == before:
            raise FileNotFoundError(f"{path}: {nothing}")
        yield from self._readable(names)

    def refuse_unreadable(self, readable: int) -> None:
        """Refuse what cannot be read beside so many that can."""
        number = len(self._unreadable)
        if number:
            named = ", ".join(self._unreadable[:_NAMED])
            more = f", and {number - _NAMED} more" if number > _NAMED else ""
            raise ValueError(f"{number} of {readable + number} inputs cannot be read: {named}{more}")

    def _readable(self, names: Iterable[str], *, are_named: bool = False) -> Iterator[Found]:
        for name in names:
            try:
                status = os.stat(name)
            except OSError as error:
                why = "a link that leads nowhere" if os.path.islink(name) else str(error.strerror)
            else:
                if not os.access(name, os.R_OK):
                    why = "no permission to read it"
                elif stat.S_ISREG(status.st_mode):
                    yield name, status.st_size
                    continue
                elif are_named and os.path.abspath(name).startswith(_STREAMS):
                    yield name, None
                    continue
                else:
                    why = _kind(status.st_mode, are_named)
            self._unreadable.append(f"{name} ({why})")

    def _matches(self, pattern: str) -> Iterator[str]:
        import glob

        for match in glob.iglob(pattern, recursive=True):
            if _is_loop(match):
                continue
            if os.path.isdir(match):
                yield from self._below(match)
            elif not self._is_written(os.path.dirname(match)):
                yield match

    def _below(self, folder: str) -> Iterator[str]:
        """Yield the files of a folder; links are followed, except back into a folder that contains them."""
        waiting = [folder]
        while waiting:
            folder = waiting.pop()
            if self._is_written(folder):
                continue
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        if entry.name.startswith("."):
                            continue
                        if not (os.path.isdir(entry.path) if entry.is_symlink() else entry.is_dir()):
                            yield entry.path
                        elif not (entry.is_symlink() and _is_loop(os.path.join(entry.path, ""))):
                            waiting.append(entry.path)
            except OSError as error:
                self._unreadable.append(f"{folder} (a folder: {error.strerror})")

    def _is_written(self, folder: str) -> bool:
        """Whether a folder is the one that is written to, or within it."""
        if self._written is None:
            return False
        return os.path.join(os.path.realpath(folder), "").startswith(self._written)


def has_wildcards(path: str) -> bool:
    """Whether a path may be a glob."""
    return any(sign in path for sign in "*?[")


def in_order(names: Iterable[str]) -> list[str]:
    """Return names sorted by their bytes."""
    return sorted(names, key=os.fsencode)


def _is_loop(path: str) -> bool:
    """Whether the folders of a path lead through a link back into a folder that contains it."""
    folders = []
    while (above := os.path.dirname(path)) not in ("", path):
        folders.append(os.path.realpath(above))
        path = above
    return len(set(folders)) < len(folders)


def _kind(mode: int, is_named: bool) -> str:
    """Say what it is that is no file."""
    if stat.S_ISFIFO(mode):
        return "a named pipe; to read it, use - and redirect stdin" if is_named else "a named pipe"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"
