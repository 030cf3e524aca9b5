"""Writes whole files: no file is ever left half-written under its final name."""

import contextlib
import io
import os
import stat
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from bpetite._internal.arguments import worded
from bpetite._internal.names import is_folder

MOST_READ = 1 << 30
"""The maximum size of a file in bytes that is read whole: files of tokenizers take tens of megabytes, weights
and corpora gigabytes."""

_CHUNK = 1 << 20

PART = ".part"
"""The end of temporary names."""


def check_target(path: str | os.PathLike[str], *, overwrite: bool = False) -> str:
    """Return the file that `path` leads to, or raise an error if no file can be written there.

    The folder must exist. An existing file raises `FileExistsError` unless `overwrite` is set; a
    device or a pipe always does, because the file would replace it.
    """
    if not os.fspath(path):
        raise FileNotFoundError("the name of the output is empty")
    if is_folder(os.fspath(path)):
        raise IsADirectoryError(f"{path} is a folder")
    target = os.path.realpath(os.fspath(path))
    exists = os.path.exists(target)
    if exists and not os.path.isfile(target):
        raise FileExistsError(f"{path} is a device or a pipe, which a file would replace")
    if exists and not overwrite:
        raise exists_already(path)
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"{path}: the folder {folder} does not exist")
    return target


def read_whole(file: BinaryIO, path: str | os.PathLike[str], beginning: bytes = b"") -> bytes:
    """Return what is in an open file, whose beginning was read; of a pipe, only reading shows its size."""
    with named(path):
        size = os.fstat(file.fileno()).st_size
    if size > MOST_READ:
        raise ValueError(
            f"{path}: it has {size} bytes, but the file of a tokenizer at most {MOST_READ}"
        )
    chunks = [beginning]
    rest = MOST_READ - len(beginning)
    while chunk := file.read(min(_CHUNK, rest + 1)):
        rest -= len(chunk)
        if rest < 0:
            raise ValueError(
                f"{path}: it has more bytes than the file of a tokenizer may have, {MOST_READ}"
            )
        chunks.append(chunk)
    return b"".join(chunks)


def contents(path: str | os.PathLike[str]) -> bytes:
    """Return what is in a file of a tokenizer, of a limited size."""
    with open(path, "rb") as file:
        return read_whole(file, path)


def write_fully(file: BinaryIO, content: bytes | memoryview) -> None:
    """Write all of the content to an unbuffered file, whose `write` may take only a part."""
    rest = memoryview(content).cast("B")
    while rest:
        rest = rest[file.write(rest) :]


class _UnnamedFile(io.FileIO):
    """A file that is written under a temporary name; its errors name the file that it will be.

    Where it replaces a file, others can read as much of it as of that file, from its first byte on.
    """

    def __init__(self, target: str, shown: str, mode: int | None) -> None:
        self.shown = shown
        self.path = _temporary_beside(target)
        first = 0o666 if mode is None else 0o600
        with named(shown):
            super().__init__(
                self.path, "xb", opener=lambda path, flags: os.open(path, flags, first)
            )
            if mode not in (None, stat.S_IMODE(os.fstat(self.fileno()).st_mode)):
                os.chmod(self.path, mode)

    def write(self, content: Any, /) -> int:
        with named(self.shown):
            return super().write(content)


@contextlib.contextmanager
def write_whole(path: str | os.PathLike[str], *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """Open a temporary file in the same folder; it replaces `path` if the block ends without an error.

    A block that closes the file discards it. A file that is replaced hands on its permissions.
    Errors of writing name `path`; what else fails in the block keeps its own name.
    """
    target = check_target(path, overwrite=overwrite)
    shown = os.fspath(path)
    part = _UnnamedFile(target, shown, _permissions(target))
    try:
        with io.BufferedWriter(part) as file:
            yield file
            if file.closed:
                return
            file.flush()
            with named(shown):
                os.fsync(part.fileno())
        with named(shown):
            _put_in_place(part.path, target, overwrite)
    finally:
        with contextlib.suppress(OSError):  # already renamed, or the folder is read-only
            os.unlink(part.path)
    sync_folder(os.path.dirname(target))


@contextlib.contextmanager
def named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let errors of the operating system that name no file, or a temporary one, name this one."""
    try:
        yield
    except OSError as error:
        if error.errno is None or not (
            error.filename is None or str(error.filename).endswith(PART)
        ):
            raise
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from error


def _permissions(target: str) -> int | None:
    """Return the permissions of a file; None where there is none, or the system has no such thing."""
    try:
        return stat.S_IMODE(os.stat(target).st_mode) if os.name == "posix" else None
    except FileNotFoundError:
        return None


def try_writing(target: str) -> None:
    """Create a temporary file in the folder of a file and remove it; an error says why that is impossible."""
    temporary = _temporary_beside(target)
    with open(temporary, "xb"):
        pass
    os.unlink(temporary)


def _temporary_beside(target: str) -> str:
    folder, name = os.path.split(target)
    return os.path.join(folder, f".{name}.{os.getpid()}-{os.urandom(4).hex()}{PART}")


def write_all(
    files: Mapping[str | os.PathLike[str], bytes],
    *,
    overwrite: bool = False,
    folder: str | os.PathLike[str] | None = None,
) -> None:
    """Write several files, all or none (only a kill between two renames leaves some of them unwritten).

    A `folder` for them is created where it is missing, with the folders of files in it.
    """
    with contextlib.ExitStack() as stack:
        if folder is not None:
            for needed in dict.fromkeys([os.fspath(folder), *map(os.path.dirname, files)]):
                stack.enter_context(created(needed))
        for path, content in files.items():
            file = stack.enter_context(write_whole(path, overwrite=overwrite))
            file.write(content)
            file.flush()
            with named(path):
                os.fsync(file.fileno())  # If the disk is full, no file is renamed.


@contextlib.contextmanager
def created(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Create a folder where it is missing; if nothing has been put into it by the end, remove it."""
    is_new = not os.path.isdir(folder)
    if is_new:
        os.makedirs(folder)
    try:
        yield
    finally:
        if is_new and not os.listdir(folder):
            os.rmdir(folder)


def exists_already(path: object) -> FileExistsError:
    """Return the error for an output that would replace a file."""
    return FileExistsError(
        worded(lambda say: f"{path} exists already; {say('overwrite', True)} replaces it")
    )


def _put_in_place(temporary: str, target: str, overwrite: bool) -> None:
    """Rename the file; without `overwrite`, even a file that appeared in the meantime is not replaced."""
    if overwrite:
        os.replace(temporary, target)
        return
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise exists_already(target) from None
    except OSError:  # a file system without hard links
        _rename_to_new(temporary, target)


def _rename_to_new(temporary: str, target: str) -> None:
    """Rename a file to a name that is new: it is taken first, as `os.rename` would replace a file."""
    try:
        os.close(os.open(target, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        raise exists_already(target) from None
    try:
        os.replace(temporary, target)
    except OSError:
        os.unlink(target)
        raise


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Make a new name durable, on platforms that can sync a folder."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
