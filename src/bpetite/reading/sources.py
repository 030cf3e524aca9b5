"""Arguments in, inputs out: files, folders, globs, URLs and stdin become a list of files in a fixed order.

The arguments keep their order; within a folder or a glob, names are sorted by their bytes. Files and folders
whose names begin with a dot are left out of folders. An argument may end in a weight, as in `wiki.txt:2` or
`web/*.jsonl:1.5`; a file with exactly this name takes precedence.
"""

from __future__ import annotations

import glob
import os
import re
import stat
import sys
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from heapq import merge
from itertools import groupby, islice
from operator import attrgetter
from typing import Any, BinaryIO

from bpetite._internal.long_list import LongList
from bpetite._internal.types import Path

STDIN = "-"

_SORTED_AT_ONCE = 1 << 16
"""The maximum number of names that are sorted in memory."""

_WAITING = 1 << 16
"""How many packed bytes of sorted names may wait in memory: of many files there are many such lists."""

_NAMED = 5
"""The maximum number of unreadable entries that an error names."""

_WEIGHTED = re.compile(r"(?P<path>.+):(?P<weight>[0-9]+(?:\.[0-9]+|/[0-9]+)?)", re.DOTALL)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(?:://|::)")
_GLOB = re.compile(r"[*?[]")


@dataclass(frozen=True, slots=True)
class Input:
    """One file of a corpus, local or not."""

    name: str
    """Its path or URL; `-` is stdin."""

    weight: Fraction = Fraction(1)
    """The factor for its counts."""

    source: str = ""
    """The argument that named it."""

    span: tuple[int, int] | None = None
    """The range of bytes, if not all: the records whose separators begin there."""

    whole: int = 0
    """The size of the whole file when it was divided."""

    form: tuple[str, str | None] | None = None
    """Its format and compression, if known."""

    row_groups: tuple[int, int] | None = None
    """The row groups of Parquet, if not all: the first, and the one after the last. The span then only says
    how much of the file they are."""

    @property
    def is_part(self) -> bool:
        """Whether it is only a part of a file."""
        return self.span is not None

    @property
    def is_local(self) -> bool:
        """Whether it is a file on this machine."""
        return self.name != STDIN and not _URL.match(self.name)

    def open(self) -> BinaryIO:
        """Open it for reading."""
        if self.name == STDIN:
            return sys.stdin.buffer
        if self.is_local:
            return open(self.name, "rb", buffering=0)
        remote = _fsspec().open(self.name, "rb")
        opened: BinaryIO = remote.open()
        weakref.finalize(
            opened, remote.close
        ).atexit = False  # An archive must stay open as long as the file in it.
        return opened

    def behind(self) -> Input:
        """Return the bytes after a span."""
        _, end = self.span or (0, 0)
        return replace(self, span=(end, max(end, self.whole)))

    def status(self) -> os.stat_result | None:
        """Return the `stat` of an ordinary local file; None for other inputs."""
        if not self.is_local:
            return None
        status = os.stat(self.name)
        return status if stat.S_ISREG(status.st_mode) else None

    def size(self) -> int | None:
        """Return its size in bytes (or that of the span), if known without reading it."""
        if self.span is not None:
            return self.span[1] - self.span[0]
        if self.is_local:
            status = self.status()
            return None if status is None else status.st_size
        if self.name == STDIN:
            return None
        system, path = _fsspec().core.url_to_fs(self.name)
        size: int | None = system.info(path).get("size")
        return size


def find_inputs(arguments: Path | Iterable[Path]) -> Sequence[Input]:
    """Return the inputs that arguments name; an argument that names nothing is a `FileNotFoundError`."""
    given = [arguments] if isinstance(arguments, str | os.PathLike) else list(arguments)
    if sum(_weighted(os.fspath(argument))[0] == STDIN for argument in given) > 1:
        raise ValueError("stdin (-) can be read only once")
    found = LongList(Input, attrgetter("name", "weight", "source"))
    for argument in given:
        path, weight = _weighted(os.fspath(argument))
        found.extend(Input(name, weight, path) for name in _names(path))
    return found


def weight_of(found: Input) -> tuple[Fraction, str]:
    """Return the weight of an input, and its name for records."""
    return found.weight, "" if found.weight == 1 else found.source


def _weighted(argument: str) -> tuple[str, Fraction]:
    """Split a weight off the end of an argument."""
    match = _WEIGHTED.fullmatch(argument)
    if match is None or os.path.lexists(argument):
        return argument, Fraction(1)
    path = match["path"]
    if _URL.match(path) and path.count("/") < 3:  # scheme://host:port
        return argument, Fraction(1)
    weight = Fraction(match["weight"]) if not match["weight"].endswith("/0") else Fraction(0)
    if weight <= 0:
        raise ValueError(f"{argument}: a weight must be above 0")
    return path, weight


def _names(path: str) -> Iterable[str]:
    if path == STDIN:
        return [path]
    if _URL.match(path):
        return _remote_names(path)
    if os.path.isdir(path):
        return _readable(path, _files_below(path, ()), "the folder holds no files")
    if not os.path.lexists(path) and _GLOB.search(path):
        matches = glob.iglob(path, recursive=True)
        names = (name for match in matches if not _loops(match) for name in _files_at(match))
        return _readable(path, names, "no file matches")
    os.stat(path)
    return [path]


def _loops(path: str) -> bool:
    """Whether a path leads through a link back into a folder that contains it."""
    folders = []
    while (above := os.path.dirname(path)) not in ("", path):
        folders.append(os.path.realpath(above))
        path = above
    return len(set(folders)) < len(folders)


def _files_at(path: str) -> Iterator[str]:
    if os.path.isdir(path):
        yield from _files_below(path, ())
    else:
        yield path


def _files_below(folder: str, above: tuple[tuple[int, int], ...]) -> Iterator[str]:
    """Yield the files of a folder; links are followed, except back into a folder that contains them."""
    status = os.stat(folder)
    here = (status.st_dev, status.st_ino)
    if here in above:
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir():
                yield from _files_below(entry.path, (*above, here))
            else:
                yield entry.path


def _readable(folder: str, names: Iterable[str], none: str) -> Iterator[str]:
    """Yield names in order, each once.

    A folder with entries that have no text is refused: broken links, pipes, sockets, devices.
    """
    wrong: list[str] = []
    number = refused = 0
    for name, _ in groupby(_in_order(names)):
        why = _unreadable(name)
        number, refused = number + 1, refused + (why is not None)
        if why is not None and refused <= _NAMED:
            wrong.append(f"{name} ({why})")
        yield name
    if refused:
        more = f", and {refused - _NAMED} more" if refused > _NAMED else ""
        raise ValueError(
            f"{folder}: {refused} of its {number} entries are not files that can be read: "
            f"{', '.join(wrong)}{more}"
        )
    if not number:
        raise FileNotFoundError(f"{folder}: {none}")


def _unreadable(name: str) -> str | None:
    try:
        mode = os.stat(name).st_mode
    except OSError as error:
        return "a link that leads nowhere" if os.path.islink(name) else str(error.strerror)
    if stat.S_ISREG(mode):
        return None
    return "a pipe" if stat.S_ISFIFO(mode) else "no ordinary file"


def _remote_names(url: str) -> list[str]:
    system, path = _fsspec().core.url_to_fs(url)
    if _GLOB.search(path):
        paths = [match for match in system.glob(path) if not system.isdir(match)]
    elif system.isdir(path):
        paths = [name for name in system.find(path) if "/." not in name[len(path) :]]
    else:
        system.info(path)  # FileNotFoundError
        return [url]
    if not paths:
        raise FileNotFoundError(f"{url}: no file matches")
    before, _, after = chain_of(url)
    return _sorted("::".join([*before, system.unstrip_protocol(name), *after]) for name in paths)


def chain_of(url: str) -> tuple[list[str], str, list[str]]:
    """Split a chained URL: the part before the URL with the file's own name, that URL, and the rest.

    >>> chain_of("simplecache::zip://a.txt::s3://bucket/b.zip")
    (['simplecache'], 'zip://a.txt', ['s3://bucket/b.zip'])
    >>> chain_of("a::b.txt")
    ([], 'a::b.txt', [])
    """
    parts = url.split("::")
    place = next((place for place, part in enumerate(parts) if "://" in part), None)
    return ([], url, []) if place is None else (parts[:place], parts[place], parts[place + 1 :])


def _sorted(names: Iterable[str]) -> list[str]:
    return sorted(names, key=os.fsencode)


def _in_order(names: Iterable[str]) -> Iterator[str]:
    """Yield names sorted by their bytes; very many are sorted in portions, which are kept on disk."""
    left, runs = iter(names), []
    while run := _sorted(islice(left, _SORTED_AT_ONCE)):
        runs.append(LongList(str, lambda name: (name,), run, _WAITING))
    return merge(*runs, key=os.fsencode)


def _fsspec() -> Any:
    try:
        import fsspec
        import fsspec.core
    except ImportError as error:
        raise ImportError("reading URLs needs fsspec: pip install 'bpetite[corpus]'") from error
    return fsspec
