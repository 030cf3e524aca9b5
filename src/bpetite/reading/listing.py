"""A folder, a glob or a name in, its files out, each once and in order; what cannot be read is refused.

What stands in a folder or matches a glob must be a file. What is named itself may also be a stream
below `/dev`, such as the shell's `<(program)`, a terminal or stdin. A named pipe elsewhere is
refused: opening it may wait for ever. Folders and files that begin with a dot are left out of
folders, and so is the folder that is written to.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from typing import NoReturn

_STREAMS = ("/dev/", "/proc/")

Found = tuple[str, int | None]
"""The name of an input, and its size if it is an ordinary local file."""


def files(path: str, written: str | None) -> Iterator[Found]:
    """Yield a file, or the files below a folder or matching a glob, but those in the folder `written`."""
    if os.path.isdir(path):
        names, nothing = in_order(set(_below(path, written))), "the folder holds no files"
    elif not os.path.lexists(path) and has_wildcards(path):
        names, nothing = in_order(set(_matches(path, written))), "no file matches"
    else:
        os.lstat(path)
        yield _readable(path, is_named=True)
        return
    if not names:
        raise FileNotFoundError(f"{path}: {nothing}")
    yield from map(_readable, names)


def _readable(name: str, *, is_named: bool = False) -> Found:
    """Return a file or stream, or refuse what is neither or cannot be read."""
    try:
        status = os.stat(name)
    except OSError as error:
        _refuse(name, "a broken link" if os.path.islink(name) else str(error.strerror))
    if not os.access(name, os.R_OK):
        _refuse(name, "no permission to read it")
    is_stream = is_named and os.path.abspath(name).startswith(_STREAMS)
    if not is_stream and not stat.S_ISREG(status.st_mode):
        pipe = "a named pipe; to read it, use - and redirect stdin" if is_named else "a named pipe"
        kinds = {stat.S_IFIFO: pipe, stat.S_IFSOCK: "a socket"}
        _refuse(name, kinds.get(stat.S_IFMT(status.st_mode), "a device"))
    return name, status.st_size if stat.S_ISREG(status.st_mode) else None


def _refuse(name: str, why: str) -> NoReturn:
    raise ValueError(f"an input cannot be read: {name} ({why})")


def _matches(pattern: str, written: str | None) -> Iterator[str]:
    import glob

    for match in glob.iglob(pattern, recursive=True):
        if _is_loop(match):
            continue
        if os.path.isdir(match):
            yield from _below(match, written)
        elif not _is_within(os.path.dirname(match), written):
            yield match


def _below(folder: str, written: str | None) -> Iterator[str]:
    """Yield the files of a folder; links are followed, except back into a folder that contains them."""
    waiting = [folder]
    while waiting:
        folder = waiting.pop()
        if _is_within(folder, written):
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
            _refuse(folder, f"a folder: {error.strerror}")


def _is_within(folder: str, other: str | None) -> bool:
    """Whether a folder is another one, or within it."""
    if other is None:
        return False
    return os.path.join(os.path.realpath(folder), "").startswith(
        os.path.join(os.path.realpath(other), "")
    )


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
