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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from bpetite._internal.files import PART, named, sync_folder, write_fully

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

    @property
    def bytes(self) -> int:
        """The size of its files."""
        return sum(file.bytes for file in self.files)


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
        self._format = shard_format
        self._dtype = np.dtype(dtype).newbyteorder("<")
        self._part_suffix = f".{os.getpid()}-{secrets.token_hex(4)}{PART}"
        self._ids_path, self._places_path = (folder / name for name in names_of(number, shard_format))
        self._files: dict[Path, BinaryIO] = {}
        """The open files by their final names; they are created when something is written."""
        self.tokens = 0
        self.documents = 0
        self._last = 0
        """Where the last document ends."""

    def write(self, ids: Ids, ends: NDArray[np.uint64]) -> None:
        """Append ids; `ends` are the places in them where documents end."""
        if not self._files:
            self._begin(self._ids_path, self._ids_head())
            self._begin(self._places_path, self._places_head())
        self._append(self._ids_path, np.ascontiguousarray(ids, self._dtype))
        if len(ends):
            ends = ends + np.uint64(self.tokens)
            lengths = np.diff(ends, prepend=np.uint64(self._last))
            is_index = self._format == "megatron"
            self._append(self._places_path, _index_lengths(lengths) if is_index else ends.astype(_OFFSETS))
            self._last = int(ends[-1])
        self.tokens += len(ids)
        self.documents += len(ends)

    def finish(self) -> Shard:
        """Complete the files and give them their names."""
        with named(self._ids_path):
            shard = self.complete()
        self.publish()
        return shard

    def complete(self) -> Shard:
        """Write the rest of the files and hash them; they still have temporary names."""
        if self._format == "megatron":
            self._append_pointers()
        files = []
        for path, head in ((self._places_path, self._places_head()), (self._ids_path, self._ids_head())):
            with named(path):
                self._files[path].seek(0)
                write_fully(self._files[path], head)
                files.append(ShardFile(path.name, *hash_file(self._part(path))))
                os.fsync(self._files[path].fileno())
        return Shard(self.tokens, self.documents, tuple(files))

    def publish(self) -> None:
        """Give the complete files their names."""
        for path in (self._places_path, self._ids_path):
            self._files[path].close()
            os.replace(self._part(path), path)
        sync_folder(self._ids_path.parent)

    def discard(self) -> None:
        """Remove what was written."""
        for path in (self._places_path, self._ids_path):
            if path in self._files:
                with contextlib.suppress(OSError):
                    self._files[path].close()
            self._part(path).unlink(
                missing_ok=True
            )  # an interruption may come between its making and our knowing it

    def _begin(self, path: Path, head: bytes) -> None:
        with named(path):
            # Without a buffer: a forked process would write its copy of it, too.
            self._files[path] = open(self._part(path), "w+b", 0)  # noqa: SIM115 - closed by publish or discard
            write_fully(self._files[path], head)

    def _append(self, path: Path, numbers: NDArray[Any]) -> None:
        with named(path):
            write_fully(self._files[path], numbers.data)

    def _ids_head(self) -> bytes:
        return npy_header(self.tokens, self._dtype) if self._format == "npy" else b""

    def _places_head(self) -> bytes:
        """Return what is before the lengths of documents, or before the places where they end."""
        if self._format == "megatron":
            return _index_head(self.documents, self._dtype)
        return npy_header(self.documents + 1, _OFFSETS) + bytes(_OFFSETS.itemsize)

    def _append_pointers(self) -> None:
        """Write where each document begins, which follows from the lengths, and the numbers of documents."""
        head = len(self._places_head())
        lengths = np.memmap(self._files[self._places_path], _LENGTHS, "r", head, (self.documents,))
        start = 0
        for first in range(0, self.documents, _PLACES):
            ends = start + np.cumsum(lengths[first : first + _PLACES], dtype=np.int64)
            begins = ends - lengths[first : first + _PLACES]
            self._append(self._places_path, (begins * self._dtype.itemsize).astype("<i8"))
            start = int(ends[-1])
        for first in range(0, self.documents + 1, _PLACES):
            numbers = np.arange(first, min(first + _PLACES, self.documents + 1), dtype="<i8")
            self._append(self._places_path, numbers)

    def _part(self, path: Path) -> Path:
        return path.with_name(f".{path.name}{self._part_suffix}")


def remove_parts(folder: Path) -> None:
    """Remove the unfinished files, of shards, manifest or tokenizer, that a killed run left."""
    for path in folder.glob(f".*{PART}"):
        path.unlink(missing_ok=True)


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
