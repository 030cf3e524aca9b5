"""Ids → shard files that a training loop maps into memory.

A shard is a file of ids and a file of the places where documents begin and end. `npy`: `.npy` and
`.offsets.npy`; `bin`: raw ids and `.offsets.npy`; `megatron`: Megatron-LM's `.bin` and `.idx`. A file gets
its name only when it is complete. `docs/scale.md` specifies all of them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import struct
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from bpetite._internal.files import PART, named, read_fully, sync_folder, write_fully

ShardFormat = Literal["npy", "bin", "megatron"]
Ids = NDArray[Any]

FORMATS: tuple[ShardFormat, ...] = ("npy", "bin", "megatron")

_DTYPES = ("uint16", "uint32", "int32")
_MEGATRON_MAGIC = b"MMIDIDX\x00\x00"
_MEGATRON_DTYPES = {"int32": 4, "uint16": 8}
_PLACES = 1 << 17
"""How many places of documents are computed at a time."""

_OFFSETS = np.dtype("<u8")
_LENGTHS = np.dtype("<i4")


@dataclass(frozen=True)
class ShardFile:
    """A file of a shard: its name, size and hash."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Shard:
    """A complete shard."""

    tokens: int
    documents: int
    files: tuple[ShardFile, ...]


def choose_dtype(asked: str, largest_id: int, shard_format: ShardFormat) -> str:
    """Return the type of the ids in files; refuse a type that cannot hold every id.

    >>> choose_dtype("auto", 65535, "npy"), choose_dtype("auto", 65536, "npy")
    ('uint16', 'uint32')
    """
    wide = "int32" if shard_format == "megatron" else "uint32"
    if asked == "auto":
        asked = "uint16" if largest_id < 2**16 else wide
    if asked not in ("uint16", wide):
        raise ValueError(f"dtype must be auto, uint16 or {wide} for {shard_format}, not {asked!r}")
    if largest_id > np.iinfo(asked).max:
        raise ValueError(
            f"dtype {asked} cannot hold every id of this vocabulary: the largest is {largest_id}"
        )
    return asked


def names_of(number: int, shard_format: ShardFormat) -> tuple[str, str]:
    """Return the names of a shard's two files: of ids, and of the places of documents."""
    stem = f"shard-{number:06d}"
    if shard_format == "megatron":
        return f"{stem}.bin", f"{stem}.idx"
    return f"{stem}.{shard_format}", f"{stem}.offsets.npy"


class ShardWriter:
    """Writes one shard; `finish` completes its files and gives them their names, `discard` removes them."""

    def __init__(self, folder: Path, number: int, shard_format: ShardFormat, dtype: str) -> None:
        self._folder = folder
        self._format = shard_format
        self._dtype = np.dtype(dtype).newbyteorder("<")
        self._ids_name, self._documents_name = names_of(number, shard_format)
        self._part_suffix = f".{os.getpid()}-{secrets.token_hex(4)}{PART}"
        self.tokens = 0
        self.documents = 0
        self._file: BinaryIO | None = None
        self._places: _PlacesFile | None = None

    def write(self, ids: Ids, ends: NDArray[np.uint64]) -> None:
        """Append ids; `ends` are the places in them where documents end."""
        with named(self._folder / self._ids_name):
            write_fully(self._opened(), np.ascontiguousarray(ids, self._dtype).data)
        if len(ends):
            with named(self._folder / self._documents_name):
                self._opened_places().write(ends + np.uint64(self.tokens))
        self.tokens += len(ids)
        self.documents += len(ends)

    def finish(self) -> Shard:
        """Complete the files and give them their names."""
        shard = self.complete()
        self.publish()
        return shard

    def complete(self) -> Shard:
        """Write the rest of the files and hash them; they still have temporary names."""
        with named(self._folder / self._ids_name):
            return self._complete()

    def _complete(self) -> Shard:
        ids = self._opened()
        if self._format == "npy":
            ids.seek(0)
            write_fully(ids, npy_header(self.tokens, self._dtype))
        names = (self._documents_name, self._ids_name)
        with named(self._folder / self._documents_name):
            places = self._opened_places().complete()
        with ThreadPoolExecutor(1, "bpetite-sync") as beside:
            synced = beside.submit(_sync, places, ids)  # The disk writes while hashes are computed.
            files = tuple(ShardFile(name, *hash_file(self._part(name))) for name in names)
            synced.result()
        return Shard(self.tokens, self.documents, files)

    def publish(self) -> None:
        """Give the complete files their names."""
        self._opened().close()
        self._opened_places().file.close()
        for name in (self._documents_name, self._ids_name):
            os.replace(self._part(name), self._folder / name)
        sync_folder(self._folder)

    def _opened(self) -> BinaryIO:
        """Return the file of ids, which is created when it is first needed."""
        if self._file is None:
            # Without a buffer: a forked process would write its copy of it, too.
            self._file = open(self._part(self._ids_name), "wb", 0)  # noqa: SIM115 - closed by publish or discard
            if self._format == "npy":
                write_fully(self._file, npy_header(0, self._dtype))
        return self._file

    def _opened_places(self) -> _PlacesFile:
        """Return the file of the places of documents, which is created when it is first needed."""
        if self._places is None:
            self._places = _PlacesFile(self._part(self._documents_name), self._format, self._dtype)
        return self._places

    def discard(self) -> None:
        """Remove what was written."""
        for file in (self._file, self._places.file if self._places else None):
            with contextlib.suppress(OSError):
                if file is not None:
                    file.close()
        for name in (self._documents_name, self._ids_name):
            self._part(name).unlink(missing_ok=True)

    def _part(self, name: str) -> Path:
        return self._folder / f".{name}{self._part_suffix}"


class _PlacesFile:
    """The file of the places of documents while it is written; few of these are in memory at a time."""

    def __init__(self, path: Path, shard_format: ShardFormat, dtype: np.dtype[Any]) -> None:
        self.file: BinaryIO = open(path, "w+b", 0)  # noqa: SIM115 - closed by its writer
        self._is_index = shard_format == "megatron"
        self._dtype = dtype
        self._count = self._last = 0
        write_fully(self.file, self._head() + (b"" if self._is_index else bytes(_OFFSETS.itemsize)))

    def write(self, ends: NDArray[np.uint64]) -> None:
        """Append the places in the shard where documents end."""
        lengths = np.diff(ends, prepend=np.uint64(self._last))
        write_fully(self.file, (_index_lengths(lengths) if self._is_index else ends.astype(_OFFSETS)).data)
        self._count, self._last = self._count + len(ends), int(ends[-1])

    def complete(self) -> BinaryIO:
        """Write the rest, and return the file."""
        if self._is_index:
            self._write_pointers()
        self.file.seek(0)
        write_fully(self.file, self._head())
        return self.file

    def _head(self) -> bytes:
        if self._is_index:
            return _index_head(self._count, self._dtype)
        return npy_header(self._count + 1, _OFFSETS)

    def _write_pointers(self) -> None:
        """Write where each document begins, which follows from the lengths, and the numbers of documents."""
        start = 0
        for first in range(0, self._count, _PLACES):
            self.file.seek(len(_index_head(0, self._dtype)) + _LENGTHS.itemsize * first)
            lengths = np.zeros(min(_PLACES, self._count - first), _LENGTHS)
            read_fully(self.file, lengths.data)
            ends = np.cumsum(lengths, dtype=np.int64) + start
            self.file.seek(0, os.SEEK_END)
            write_fully(self.file, ((ends - lengths) * self._dtype.itemsize).astype("<i8").data)
            start = int(ends[-1])
        for first in range(0, self._count + 1, _PLACES):
            numbers = np.arange(first, min(first + _PLACES, self._count + 1), dtype="<i8")
            write_fully(self.file, numbers.data)


def remove_parts(folder: Path) -> None:
    """Remove the unfinished files, of shards, manifest or tokenizer, that a killed run left."""
    for path in folder.glob(f".*{PART}"):
        path.unlink(missing_ok=True)


def _sync(*files: BinaryIO) -> None:
    for file in files:
        os.fsync(file.fileno())


def hash_file(path: Path) -> tuple[int, str]:
    """Return the size and SHA-256 of a file."""
    with open(path, "rb", buffering=0) as file:
        digest = hashlib.file_digest(file, "sha256")
        return file.tell(), digest.hexdigest()


def npy_header(length: int, dtype: np.dtype[Any]) -> bytes:
    """Return the header of a one-dimensional `.npy` file; its size does not depend on the length."""
    fields = f"{{'descr': '{dtype.newbyteorder('<').str}', 'fortran_order': False, 'shape': ({length},), }}"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + fields.ljust(117).encode("ascii") + b"\n"


def megatron_index(offsets: NDArray[np.uint64], dtype: np.dtype[Any]) -> bytes:
    """Return Megatron-LM's `.idx`: every document is a sequence of its own."""
    lengths = np.diff(offsets)
    return b"".join(
        [
            _index_head(len(lengths), dtype),
            _index_lengths(lengths).tobytes(),
            (offsets[:-1] * np.uint64(dtype.itemsize)).astype("<i8").tobytes(),
            np.arange(len(offsets), dtype="<i8").tobytes(),
        ]
    )


def _index_head(count: int, dtype: np.dtype[Any]) -> bytes:
    return _MEGATRON_MAGIC + struct.pack("<QBQQ", 1, _MEGATRON_DTYPES[dtype.name], count, count + 1)


def _index_lengths(lengths: NDArray[np.uint64]) -> NDArray[np.int32]:
    if len(lengths) and int(np.max(lengths)) > np.iinfo(np.int32).max:
        raise ValueError("megatron: a document has more tokens than its index can record (2,147,483,647)")
    return lengths.astype(_LENGTHS)


def read_offsets(path: Path, shard_format: ShardFormat, dtype: str) -> NDArray[np.uint64]:
    """Check the file of the places of documents, and return where they begin and end."""
    if shard_format != "megatron":
        offsets: NDArray[np.uint64] = _mapped(path, "uint64")
        if not len(offsets):
            raise ValueError(f"{path}: not the offsets of a shard")
        return offsets
    content = path.read_bytes()
    head = len(_MEGATRON_MAGIC) + struct.calcsize("<QBQQ")
    if len(content) < head or not content.startswith(_MEGATRON_MAGIC):
        raise ValueError(f"{path}: not a Megatron-LM index")
    version, code, count, documents = struct.unpack("<QBQQ", content[len(_MEGATRON_MAGIC) : head])
    if (version, code, documents) != (1, _MEGATRON_DTYPES[dtype], count + 1):
        raise ValueError(f"{path}: not the index of {dtype} ids, or not of version 1")
    lengths = np.frombuffer(content, "<i4", count, head).astype(np.uint64)
    offsets = np.concatenate((np.zeros(1, np.uint64), np.cumsum(lengths, dtype=np.uint64)))
    if megatron_index(offsets, np.dtype(dtype)) != content:
        raise ValueError(f"{path}: its pointers do not match its lengths")
    return offsets


def read_ids(path: Path, shard_format: ShardFormat, dtype: str) -> Ids:
    """Return the ids of a shard, mapped into memory."""
    if dtype not in _DTYPES:
        raise ValueError(f"{path}: ids cannot have the type {dtype}")
    if shard_format == "npy":
        return _mapped(path, dtype)
    if path.stat().st_size == 0:
        return np.zeros(0, dtype)
    return np.memmap(path, np.dtype(dtype).newbyteorder("<"), "r")


def _mapped(path: Path, dtype: str) -> NDArray[Any]:
    """Map a `.npy` file that we wrote into memory; its header must fit its size."""
    kind = np.dtype(dtype).newbyteorder("<")
    start = len(npy_header(0, kind))
    count, rest = divmod(path.stat().st_size - start, kind.itemsize)
    with open(path, "rb") as file:
        if rest or file.read(start) != npy_header(count, kind):
            raise ValueError(f"{path}: not a complete .npy file of {dtype}")
    return np.memmap(path, kind, "r", start) if count else np.zeros(0, kind)
