"""Arguments in, inputs out: files, folders, globs, URLs and stdin become a list of files in a fixed order.

The arguments keep their order; within a folder or a glob, names are sorted by their bytes. Files
and folders whose names begin with a dot are left out of folders. An argument may end in a weight,
as in `wiki.txt:2` or `web/*.jsonl:1.5`, and before that in the name of the field or column with its
text, as in `a.jsonl:text=body`; a file with exactly this name takes precedence.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from bpetite._internal.arguments import several
from bpetite._internal.lazy import needed
from bpetite._internal.names import recorded
from bpetite._internal.progress import read_stdin
from bpetite._internal.types import AnyPath, Texts
from bpetite.reading.listing import Found, files, has_wildcards, in_order

if TYPE_CHECKING:
    from fractions import Fraction

STDIN = "-"

_MARKED = (
    r"(?s)(?P<path>.+?)(?::text=(?P<field>[^:]+))?(?::(?P<weight>[0-9]+(?:\.[0-9]+|/[0-9]+)?))?"
)
_URL = r"[A-Za-z][A-Za-z0-9+.-]+(?:://|::.*://)"
"""An address, perhaps a chain such as `simplecache::https://host/a.txt`."""


_VERSIONS = (
    *("ETag", "etag", "Content-MD5", "Digest", "md5Hash", "CRC"),
    *("Last-Modified", "LastModified", "last_modified", "updated", "mtime", "created"),
)
"""What file systems call the hash of a file's content, and the time when it changed."""


class Input(NamedTuple):
    """One file of a corpus, local or not, or the documents that are given in place of files."""

    name: str
    """Its path or URL; `-` is stdin."""

    weight: Fraction | int = 1
    """The factor for its counts."""

    source: str = ""
    """The argument that named it."""

    span: tuple[int, int] | None = None
    """The range of bytes, if not all; records begin and end there."""

    whole: int = 0
    """The size of the whole file when it was divided, ..."""

    changed: int = 0
    """... and when it had been changed."""

    form: tuple[str, str | None] | None = None
    """Its format and compression, if known."""

    row_groups: tuple[int, int] | None = None
    """The row groups of Parquet, if not all: the first, and the one after the last. The span then only
    says how much of the file they are."""

    found_size: int | None = None
    """Its size when it was found, if it is an ordinary local file: it may have changed since."""

    field: str | None = None
    """Its field or column with the text, if the argument named one."""

    documents: Texts | None = None
    """Its documents, if these are given and no file."""

    @property
    def is_part(self) -> bool:
        """Whether it is only a part of a file."""
        return self.span is not None

    @property
    def is_local(self) -> bool:
        """Whether it is a file on this machine."""
        return self.documents is None and self.name != STDIN and not _is_url(self.name)

    def open(self) -> BinaryIO:
        """Open it for reading."""
        if self.name == STDIN:
            return read_stdin()
        if self.is_local:
            return open(self.name, "rb", buffering=0)
        with naming_remote(self):
            remote = _fsspec().open(self.name, "rb")
            opened: BinaryIO = remote.open()
        import weakref

        # An archive must stay open as long as the file in it.
        weakref.finalize(opened, remote.close).atexit = False
        return opened

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
        if (status := self.status()) is not None:
            return status.st_size
        if self.documents is not None or not _is_url(self.name):
            return None
        size: int | None = self._remote_facts().get("size")
        return size

    def stamp(self) -> tuple[int | None, list[Any] | None]:
        """Return its size and what changes with its content, each None where the system does not tell it.

        Of an ordinary local file, these are its times; of a URL, what the file system says of a
        version.
        """
        status = self.status()
        if status is not None:
            return status.st_size, [status.st_mtime_ns, status.st_ctime_ns]
        if self.documents is not None or not _is_url(self.name):
            return None, None
        facts = self._remote_facts()
        versions = [f"{name} {facts[name]}" for name in _VERSIONS if facts.get(name) is not None]
        return facts.get("size"), versions or None

    def _remote_facts(self) -> dict[str, Any]:
        """Return what a remote file system says of it."""
        with naming_remote(self):
            system, path = _fsspec().core.url_to_fs(self.name)
            facts: dict[str, Any] = system.info(path)
        return facts

    def about_size(self) -> int | None:
        """Return its size, if known: that of a file when it was found."""
        return self.size() if self.found_size is None or self.is_part else self.found_size


@contextlib.contextmanager
def naming_remote(source: Input) -> Iterator[None]:
    """Turn the errors of a remote file system, which may be of any kind, into an `OSError` that names it."""
    try:
        yield
    except Exception as error:
        if source.is_local or source.name == STDIN or isinstance(error, MemoryError | ImportError):
            raise
        if str(error).startswith(f"{source.name}: "):  # it is ours
            raise
        cause = _cause(error, source.name)
        raise _kind_of(cause)(f"{source.name}: {_reason(cause, source.name)}") from error


def _cause(error: BaseException, name: str) -> BaseException:
    """Return the first of an error and its causes that says more than the name: fsspec may say only that."""
    cause: BaseException | None = error
    while cause is not None:
        if str(cause).strip() not in name:
            return cause
        cause = cause.__cause__ or cause.__context__
    return error


_STATUSES = {
    401: PermissionError,
    403: PermissionError,
    404: FileNotFoundError,
    410: FileNotFoundError,
}


def _kind_of(error: BaseException) -> type[Exception]:
    """Return the kind of error that is raised for one of a remote file system."""
    status = getattr(error, "status", None)  # of a web server
    if status is not None:
        return _STATUSES.get(status, OSError)
    known = [FileNotFoundError, PermissionError, ValueError]
    return next((kind for kind in known if isinstance(error, kind)), OSError)


def _reason(error: BaseException, name: str) -> str:
    """Say what happened to a remote file."""
    status = getattr(error, "status", None)
    if status is not None:
        return f"the server answers {status} {getattr(error, 'message', '')}".rstrip()
    if str(error).strip() not in name:
        return f"{type(error).__name__}: {str(error).strip()}"
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    return f"it cannot be read ({type(error).__name__})"


def size_of(inputs: Iterable[Any]) -> int:
    """Return how many bytes inputs are, or were when they were found, as far as this is known."""
    return sum(found.about_size() or 0 for found in inputs)


def find_inputs(
    arguments: AnyPath | Iterable[AnyPath], *, output: AnyPath | None = None
) -> list[Input]:
    """Return the inputs that arguments name; an argument that names nothing is a `FileNotFoundError`.

    What is in the folder `output` is no input of the run that writes there, unless it is named
    itself.
    """
    is_one = isinstance(arguments, str | bytes | os.PathLike)
    listed = [arguments] if is_one else several("paths", "paths", arguments)
    given = [_path(argument) for argument in listed]
    if not given:
        raise ValueError("no inputs are given: the list of paths is empty")
    if sum(_parts_of(argument)[0] == STDIN for argument in given) > 1:
        raise ValueError("stdin (-) can be read only once")
    if "" in given:
        raise ValueError(
            f"path {given.index('')} of {len(given)} is empty; it must name a file or a folder"
        )
    written = None if output is None else os.fspath(output)
    return [
        Input(name, weight, path, found_size=size, field=field)
        for path, weight, field in map(_parts_of, given)
        for name, size in _names(path, written)
    ]


def without_weights(inputs: list[Input]) -> list[Input]:
    """Return inputs of work that takes each text once; refuse one with a weight."""
    for source in inputs:
        if source.weight != 1:
            use = "weights are for counting and training, all else takes an input once"
            raise ValueError(f"{source.name}: has the weight {source.weight}, but {use}")
    return inputs


def _path(argument: Any) -> str:
    try:
        path = os.fsdecode(argument)
    except TypeError:
        raise TypeError(f"paths must be str or paths, not {type(argument).__name__}") from None
    if "\0" in path:
        raise ValueError(f"paths: no file has the name {path!r:.100}")
    return path


def _is_url(name: str) -> bool:
    """Whether a name is an address; a local file of that name takes precedence."""
    return re.match(_URL, name, re.DOTALL) is not None and not os.path.lexists(name)


def weight_of(found: Input) -> tuple[Fraction | int, str]:
    """Return the weight of an input, and its name for records."""
    return found.weight, "" if found.weight == 1 else recorded(found.source)


def _parts_of(argument: str) -> tuple[str, Fraction | int, str | None]:
    """Split the name of a field and a weight off the end of an argument."""
    match = re.fullmatch(_MARKED, argument)
    if match is None or ":" not in argument or os.path.lexists(argument):
        return argument, 1, None
    path, field = match["path"], match["field"]
    if match["weight"] is None or (_is_url(path) and path.count("/") < 3):  # scheme://host:port
        return (argument if field is None else path), 1, field
    from fractions import Fraction

    try:
        weight = Fraction(match["weight"])
    except ZeroDivisionError:
        weight = Fraction(0)
    if weight <= 0:
        raise ValueError(f"{argument}: a weight must be a number above 0")
    return path, weight, field


def _names(path: str, written: str | None) -> Iterable[Found]:
    if path == STDIN:
        return [(path, None)]
    if _is_url(path):
        with naming_remote(Input(path)):
            return [(name, None) for name in _remote_names(path)]
    return files(path, written)


def _remote_names(url: str) -> list[str]:
    system, path = _fsspec().core.url_to_fs(url)
    if has_wildcards(path):
        paths = [match for match in system.glob(path) if not system.isdir(match)]
    elif system.isdir(path):
        paths = [name for name in system.find(path) if "/." not in name[len(path) :]]
    else:
        system.info(path)  # FileNotFoundError
        return [url]
    if not paths:
        raise FileNotFoundError(f"{url}: no file matches")
    before, _, after = chain_of(url)
    return in_order("::".join([*before, system.unstrip_protocol(name), *after]) for name in paths)


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


def _fsspec() -> Any:
    return needed("fsspec", "reading URLs")
