"""Ids → shard files that a training loop maps into memory.

A shard is a file of ids and a file of the places where documents begin and end. `npy`: `.npy` and
`.offsets`; `bin`: raw ids and `.offsets`; `megatron`: Megatron-LM's `.bin` and `.idx`. `.offsets`
has the content of a `.npy` file and another ending, so that `*.npy` matches only ids. A file gets
its name only when it is complete. `docs/scale.md` specifies all of them.
"""

import contextlib
import hashlib
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from bpetite._internal.files import PART, named, write_whole
from bpetite._internal.threads import Threads

ShardFormat = Literal["npy", "bin", "megatron"]
Ids = NDArray[Any]

FORMATS: tuple[ShardFormat, ...] = ("npy", "bin", "megatron")

DTYPES = ("uint16", "uint32", "int32")
_MEGATRON_MAGIC = b"MMIDIDX\x00\x00"
_MEGATRON_DTYPES = {"int32": 4, "uint16": 8}
_MEGATRON_HEAD = "<QBQQ"
_MEGATRON_ENTRY = 4 + 8 + 8
"""The bytes of a document in an index; behind the documents, there are 8 more."""

_OFFSETS = np.dtype("<u8")


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
    files: list[ShardFile]
    special_texts: int = 0
    """The number of special tokens in its documents that became ordinary text."""

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
    check_largest(asked, largest_id)
    return asked


def check_largest(dtype: str, largest_id: int) -> None:
    """Refuse a type that cannot hold every id."""
    if largest_id > np.iinfo(dtype).max:
        raise ValueError(
            f"dtype {dtype} cannot hold every id of this vocabulary, up to {largest_id}"
        )


def names_of(number: int, shard_format: ShardFormat) -> tuple[str, str]:
    """Return the names of a shard's two files: of ids, and of the places of documents."""
    stem = f"shard-{number:06d}"
    if shard_format == "megatron":
        return f"{stem}.bin", f"{stem}.idx"
    return f"{stem}.{shard_format}", f"{stem}.offsets"


def names_in(shard: Shard, number: int, shard_format: ShardFormat) -> tuple[str, str]:
    """Return the names of a shard's two files, as `names_of`, or refuse a shard with other files.

    The offsets were once called `.offsets.npy`.
    """
    ids_name, places_name = names_of(number, shard_format)
    names = {file.name for file in shard.files}
    former_name = f"{places_name}.npy"
    if former_name in names and shard_format != "megatron":
        places_name = former_name
    if names != {ids_name, places_name}:
        raise ValueError(f"shard {number} must be {ids_name} and {places_name}")
    return ids_name, places_name


class ShardWriter:
    """Writes one shard; `finish` completes its files and gives them their names, `discard` removes them.

    Where its documents end is in memory until then: 8 bytes for each.
    """

    def __init__(self, folder: Path, number: int, shard_format: ShardFormat, dtype: str) -> None:
        self._format = shard_format
        self._dtype = np.dtype(dtype).newbyteorder("<")
        ids_name, places_name = names_of(number, shard_format)
        self._ids_path = folder / ids_name
        self._places_path = folder / places_name
        self._opened = contextlib.ExitStack()
        self._file: BinaryIO | None = None
        """The file of ids, which is created when something is written."""
        self._offsets = [np.zeros(1, np.uint64)]
        self.tokens = 0
        self.documents = 0
        self.special_texts = 0

    def write(self, ids: Ids, ends: NDArray[np.uint64], special_texts: int = 0) -> None:
        """Append ids; `ends` are the places in them where documents end."""
        if not len(ids) and not len(ends):
            return
        if self._file is None:
            self._file = self._opened.enter_context(write_whole(self._ids_path, overwrite=True))
            self._file.write(self._head())
        self._file.write(np.ascontiguousarray(ids, self._dtype).data)
        self._file.flush()  # A forked process would write what its copy of the buffer holds, too.
        self._offsets.append(ends + np.uint64(self.tokens))
        self.tokens += len(ids)
        self.documents += len(ends)
        self.special_texts += special_texts

    def finish(self) -> Shard:
        """Complete the files and give them their names."""
        offsets = np.concatenate(self._offsets)
        with write_whole(self._places_path, overwrite=True) as places:
            places.write(offsets_file(offsets, self._format, self._dtype))
        files = [ShardFile(self._places_path.name, *hash_file(self._places_path))]
        if self._file is not None:
            self._file.seek(0)
            self._file.write(self._head())
            self._file.flush()
            files.append(ShardFile(self._ids_path.name, *self._synced_and_hashed(self._file)))
        self._opened.close()
        return Shard(self.tokens, self.documents, files, self.special_texts)

    def _synced_and_hashed(self, file: BinaryIO) -> tuple[int, str]:
        """Return the size and SHA-256 of the ids, while the system writes them to the disk.

        Both take about as long, and nothing else is done meanwhile when the last shard ends.
        """
        with Threads(1) as disk, named(self._ids_path):
            synced = disk.submit(os.fsync, file.fileno())
            size, sha256 = hash_file(Path(file.name))
            synced.result()
        return size, sha256

    def discard(self) -> None:
        """Remove what was written, unless it is finished."""
        with contextlib.suppress(OSError), self._opened:
            if self._file is not None:
                self._file.close()  # `write_whole` removes a file that is closed before its block ends.

    def _head(self) -> bytes:
        return npy_header(self.tokens, self._dtype) if self._format == "npy" else b""


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
    kind = dtype.newbyteorder("<").str
    fields = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({length},), }}"
    padded = fields.ljust(117).encode("ascii") + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(padded)) + padded


def offsets_file(
    offsets: NDArray[np.uint64], shard_format: ShardFormat, dtype: np.dtype[Any]
) -> bytes:
    """Return the file of the places where documents begin and end.

    In Megatron-LM's `.idx`, every document is a sequence of its own.
    """
    if shard_format != "megatron":
        return npy_header(len(offsets), _OFFSETS) + offsets.astype(_OFFSETS).tobytes()
    lengths = np.diff(offsets)
    if (lengths > np.iinfo(np.int32).max).any():
        raise ValueError(
            "megatron: a document has more tokens than its index can record (2,147,483,647)"
        )
    kind = _MEGATRON_DTYPES[dtype.name]
    starts = offsets[:-1] * np.uint64(dtype.itemsize)
    parts = [
        _MEGATRON_MAGIC,
        struct.pack(_MEGATRON_HEAD, 1, kind, len(lengths), len(offsets)),
        lengths.astype("<i4").tobytes(),
        starts.astype("<i8").tobytes(),
        np.arange(len(offsets), dtype="<i8").tobytes(),
    ]
    return b"".join(parts)


def read_offsets(path: Path, shard_format: ShardFormat, dtype: str) -> NDArray[np.uint64]:
    """Check the file of the places of documents, and return where they begin and end."""
    if shard_format != "megatron":
        offsets: NDArray[np.uint64] = _mapped(path, "uint64")
        if not len(offsets):
            raise ValueError(f"{path}: not the offsets of a shard")
        return offsets
    content = path.read_bytes()
    head = len(_MEGATRON_MAGIC) + struct.calcsize(_MEGATRON_HEAD)
    count = max(0, len(content) - head) // _MEGATRON_ENTRY
    lengths = np.frombuffer(content[head : head + 4 * count], "<i4")
    offsets = np.zeros(count + 1, np.uint64)
    np.cumsum(lengths.astype(np.uint64), out=offsets[1:])
    if offsets_file(offsets, shard_format, np.dtype(dtype)) != content:
        raise ValueError(f"{path}: not the index of {dtype} ids as Megatron-LM writes it")
    return offsets


def read_ids(path: Path, shard_format: ShardFormat, dtype: str) -> Ids:
    """Return the ids of a shard, mapped into memory."""
    if dtype not in DTYPES:
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
