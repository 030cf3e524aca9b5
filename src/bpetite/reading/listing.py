"""A folder, a glob or a name in, the files that can be read out; what cannot be read is named.

What stands in a folder or matches a glob must be a file. What is named itself may also be a stream below
`/dev`, such as the shell's `<(program)`, a terminal or stdin. A named pipe elsewhere is refused: opening it
may wait for ever.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from typing import Any

from bpetite._internal.arguments import worded
from bpetite._internal.names import recorded

_NAMED = 5
"""The maximum number of names in a message."""

_RECORDED = 1000
"""The maximum number of names that are kept."""

_STREAMS = ("/dev/", "/proc/")

Found = tuple[str, int | None]
"""The name of an input, and its size if it is an ordinary local file."""


class Listing:
    """Lists files, and notes what cannot be read of them."""

    def __init__(self, written: str | None) -> None:
        """Leave out what is in the folder `written`."""
        self._written = None if written is None else os.path.join(os.path.realpath(written), "")
        self._number = 0
        self._first: list[tuple[str, str]] = []

    def named(self, name: str) -> Iterator[Found]:
        """Yield a name that the user gave, if it can be read."""
        return self._readable([name], are_named=True)

    def folder(self, folder: str) -> Iterator[Found]:
        """Yield the files of a folder in order; folders and files that begin with a dot are left out."""
        return self._each_once(self._below(folder), f"{folder}: the folder holds no files")

    def matches(self, pattern: str) -> Iterator[Found]:
        """Yield the files that match a glob, and those of folders that do, in order."""
        import glob

        matches = (match for match in glob.iglob(pattern, recursive=True) if not _is_loop(match))
        names = (name for match in matches for name in self._at(match))
        return self._each_once(names, f"{pattern}: no file matches")

    def tell(self, readable: int, skip_unreadable: bool | None) -> None:
        """Warn of what is left out; it is an error if nothing may be, or if nothing else is there."""
        if not self._number:
            return
        named = ", ".join(f"{name} ({why})" for name, why in self._first[:_NAMED])
        more = f", and {self._number - _NAMED} more" if self._number > _NAMED else ""
        cannot = f"{self._number} of {readable + self._number} inputs cannot be read"
        if not readable or skip_unreadable is None:
            raise ValueError(f"{cannot}: {named}{more}")
        if not skip_unreadable:
            raise ValueError(
                worded(
                    lambda name: f"{cannot} ({name('skip_unreadable', True)} leaves them out): {named}{more}"
                )
            )
        import warnings

        warnings.warn(f"{cannot} and are left out: {named}{more}", RuntimeWarning, stacklevel=4)

    def unreadable(self) -> dict[str, Any]:
        """Return how much cannot be read, and the first names; nothing if there is none."""
        first = [[recorded(name), why] for name, why in self._first]
        return {"number": self._number, "first": first} if self._number else {}

    def _note(self, name: str, why: str) -> None:
        self._number += 1
        if len(self._first) < _RECORDED:
            self._first.append((name, why))

    def _each_once(self, names: Iterable[str], none: str) -> Iterator[Found]:
        """Yield what can be read in order, each once; if there are no names, the error says so."""
        before = self._number
        is_empty = True
        for found in self._readable(in_order(set(names))):
            is_empty = False
            yield found
        if is_empty and self._number == before:
            raise FileNotFoundError(none)

    def _readable(self, names: Iterable[str], *, are_named: bool = False) -> Iterator[Found]:
        for name in names:
            try:
                status = os.stat(name)
            except OSError as error:
                self._note(name, "a link that leads nowhere" if os.path.islink(name) else str(error.strerror))
                continue
            if not os.access(name, os.R_OK):
                self._note(name, "no permission to read it")
            elif stat.S_ISREG(status.st_mode):
                yield name, status.st_size
            elif are_named and os.path.abspath(name).startswith(_STREAMS):
                yield name, None
            else:
                self._note(name, _kind(status.st_mode, are_named))

    def _at(self, match: str) -> Iterator[str]:
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
                self._note(folder, f"a folder: {error.strerror}")

    def _is_written(self, folder: str) -> bool:
        """Whether a folder is the one that is written to, or within it."""
        if self._written is None:
            return False
        return os.path.join(os.path.realpath(folder), "").startswith(self._written)


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
