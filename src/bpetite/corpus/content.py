"""An input in, its bytes out: what they are, by name and content, and what they hold once unpacked."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any, BinaryIO, Literal

from bpetite._engine import Gunzip, Xxh3128
from bpetite.corpus.sources import Input, chain_of

Format = Literal["auto", "text", "jsonl", "parquet"]

_HASHED = 1 << 20
_PACKED = 1 << 16
"""How many bytes of gzip are unpacked at a time: they hold about as much as is looked at in one go."""

_COMPRESSED = {".gz": "gzip", ".gzip": "gzip", ".zst": "zstd", ".zstd": "zstd"}
_FORMATS = {
    ".json": "json",
    ".txt": "text",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_UNREADABLE = {".bz2": "bzip2", ".xz": "xz", ".zip": "zip", ".lz4": "lz4", ".7z": "7-Zip", ".br": "brotli"}
_MAGIC = (
    ("gzip", re.compile(rb"\x1f\x8b\x08")),
    ("zstd", re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")),
    ("bzip2", re.compile(rb"BZh[1-9]1AY&SY")),
    ("xz", re.compile(rb"\xfd7zXZ\x00")),
    ("zip", re.compile(rb"PK\x03\x04")),
)
_PARQUET = b"PAR1"


class Raw:
    """The bytes of an input, counted and (if asked) hashed as they are read."""

    def __init__(self, source: Input, hashed: bool = False) -> None:
        self.name = source.name
        self._file = source.open()
        self._is_local = source.is_local
        self._expected = source.size()
        self._left: int | None = None
        if source.span is not None:
            self.name = f"{source.name}, bytes {source.span[0]} to {source.span[1]}"
            self._file.seek(source.span[0])
            self._left = source.span[1] - source.span[0]
        self._digest = Xxh3128() if hashed else None
        self._head = b""
        self.size = 0

    def head(self) -> bytes:
        """Return the first bytes without taking them."""
        while len(self._head) < 64 and (more := self._next(4096)):
            self._head += more
        return self._head

    def read(self, size: int) -> bytes:
        """Return at least one byte unless the input is at its end, which must be where it was at first."""
        block, self._head = self._head or self._next(size), b""
        self.size += len(block)
        if self._digest is not None:
            self._digest.update(block)
        if not block and self._expected not in (None, self.size):
            raise ValueError(
                f"{self.name}: changed while it was read ({self._expected} to {self.size} bytes)"
            )
        return block

    def _next(self, size: int) -> bytes:
        block = self._file.read(size if self._left is None else min(size, self._left)) or b""
        if self._left is not None:
            self._left -= len(block)
        return block

    @property
    def digest(self) -> str:
        """The hash of what was read, in hexadecimal."""
        return "" if self._digest is None else self._digest.hexdigest()

    def file(self) -> BinaryIO:
        """Return the file, for a reader that goes its own ways in it."""
        self._head = b""
        self._file.seek(0)
        return self._file

    def file_for(self, arrow: Any) -> Any:
        """Return the file as pyarrow reads it best: by itself, where it can open the very same file again."""
        file = self.file()
        if not self._is_local:
            return file
        again = f"/dev/fd/{file.fileno()}"
        return arrow.OSFile(again) if os.path.exists(again) else file

    @property
    def expected(self) -> int:
        """How many bytes there should be; 0 where nobody knows."""
        return self._expected or 0

    def hash_all(self) -> None:
        """Read to the end for the sake of the hash, if there is to be one."""
        if self._digest is None:
            return
        self.file()
        self.size = 0
        while self.read(_HASHED):
            pass

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def hash_input(path: str) -> tuple[int, str]:
    """Return the size of a file and the hash that inputs are recognised by."""
    digest, size = Xxh3128(), 0
    with open(path, "rb", buffering=0) as file:
        while block := file.read(_HASHED):
            digest.update(block)
            size += len(block)
    return size, digest.hexdigest()


def recognise(name: str, raw: Raw, asked: Format) -> tuple[str, str | None]:
    """Return an input's format and compression; a name that says other than the content is refused."""
    head = raw.head()
    stem, suffix = os.path.splitext(chain_of(name)[1].lower())
    named_compression = _COMPRESSED.get(suffix)
    if named_compression is not None:
        suffix = os.path.splitext(stem)[1]
    held = next((kind for kind, magic in _MAGIC if magic.match(head)), None)
    unreadable = held if held in ("bzip2", "xz", "zip") else _UNREADABLE.get(suffix)
    if unreadable is not None:
        raise ValueError(f"{name}: {unreadable} is not read; unpack it, or pack it with gzip or zstd")
    named = _FORMATS.get(suffix)
    if named_compression != held and (named_compression or named):
        claim = named_compression or suffix
        raise ValueError(f"{name}: named as {claim}, but it holds {held or f'no {named_compression}'}")
    if held is not None:
        if named == "parquet" or asked == "parquet":
            raise ValueError(f"{name}: Parquet inside {held} is not read; unpack it")
        return (named or "text" if asked == "auto" else asked), held
    is_parquet = head.startswith(_PARQUET) and _ends_as_parquet(raw)
    form = named if asked == "auto" else asked
    if form == "parquet" and not is_parquet:
        raise ValueError(f"{name}: not a whole Parquet file (no {_PARQUET.decode()} at both ends)")
    if form in ("text", "jsonl") and is_parquet:
        raise ValueError(f"{name}: taken for {form}, but it holds Parquet")
    return form or ("parquet" if is_parquet else "text"), None


def _ends_as_parquet(raw: Raw) -> bool:
    file = raw._file
    if not file.seekable():
        return False
    here = file.tell()
    file.seek(-len(_PARQUET), os.SEEK_END)
    tail = file.read(len(_PARQUET))
    file.seek(here)
    return tail == _PARQUET


def unpacked(raw: Raw, compression: str | None) -> Callable[[int], bytes]:
    """Return a function that reads the content; a compressed input that breaks off is an error."""
    if compression is None:
        return raw.read
    if not raw.head():
        raise ValueError(f"{raw.name}: not whole {compression}: it is empty")
    return _gunzipped(raw) if compression == "gzip" else _decompressed(raw, compression)


def _gunzipped(raw: Raw) -> Callable[[int], bytes]:
    gunzip = Gunzip()

    def read(size: int) -> bytes:
        while True:
            try:
                block = gunzip.read(size)
            except ValueError as error:
                raise ValueError(f"{raw.name}: not whole gzip: {error}") from None
            if block is not None:
                return block
            gunzip.take_block(raw.read(_PACKED))

    return read


def _decompressed(raw: Raw, compression: str) -> Callable[[int], bytes]:
    arrow = needed_pyarrow(f"reading {compression}")
    stream = arrow.CompressedInputStream(arrow.PythonFile(_Readable(raw), mode="r"), compression)

    def read(size: int) -> bytes:
        try:
            block: bytes = stream.read(size)
        except OSError as error:
            if error.errno is not None:
                raise
            raise ValueError(f"{raw.name}: not whole {compression}: {error}") from None
        return block

    return read


class _Readable:
    """`Raw` as the file object that pyarrow wants."""

    closed = False

    def __init__(self, raw: Raw) -> None:
        self.read = raw.read

    def close(self) -> None:
        """Leave closing to whoever opened."""


def needed_pyarrow(purpose: str) -> Any:
    """Return pyarrow, or say what needs it."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(f"{purpose} needs pyarrow: pip install 'bpetite[corpus]'") from error
    return pyarrow
