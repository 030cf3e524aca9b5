"""An input in, its bytes out, counted and hashed on the way."""

import os
from typing import Any, BinaryIO

from bpetite._engine import Xxh3128
from bpetite.reading.sources import Input

_HASHED = 1 << 20


class Raw:
    """The bytes of an input, counted and (if asked) hashed as they are read."""

    closed = False
    """For pyarrow, which reads compressed inputs from it as from a file."""

    def __init__(self, source: Input, hashed: bool = False) -> None:
        self.name = source.name
        self._file = source.open()
        self._is_local = source.is_local
        self._expected = source.size()
        self._left: int | None = None
        self.row_groups = source.row_groups
        if source.span is not None:
            self.name = f"{source.name}, bytes {source.span[0]} to {source.span[1]}"
            self._file.seek(source.span[0])
            self._left = source.span[1] - source.span[0]
        self._head = b""
        self._digest = Xxh3128() if hashed else None
        self.size = 0

    def head(self, size: int = 512) -> bytes:
        """Return at least so many of the first bytes, if there are, without consuming them."""
        while len(self._head) < size and (more := self._next(4096)):
            self._head += more
        return self._head

    def read(self, size: int) -> bytes:
        """Return at least one byte, unless the input is at its end; its size must not have changed."""
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

    def check_seekable(self) -> None:
        """Refuse Parquet from a pipe: it is read from its end, where the index is."""
        if not self._file.seekable():
            why = "Parquet cannot be read from a pipe or another stream, as its index is at its end"
            raise ValueError(f"{self.name}: {why}; give the file itself")

    def ends_with(self, mark: bytes) -> bool:
        """Whether the input ends with these bytes, where this can be seen without reading all of it."""
        if not self._file.seekable():
            return False
        here = self._file.tell()
        self._file.seek(-len(mark), os.SEEK_END)
        tail = self._file.read(len(mark))
        self._file.seek(here)
        return tail == mark

    def file(self) -> BinaryIO:
        """Return the file, for a reader that seeks in it."""
        self._head = b""
        self._file.seek(0)
        return self._file

    def file_for(self, arrow: Any) -> Any:
        """Return the file as pyarrow reads it best: opened by itself, if it can open the same file again."""
        file = self.file()
        if not self._is_local:
            return file
        again = f"/dev/fd/{file.fileno()}"
        return arrow.OSFile(again) if os.path.exists(again) else file

    @property
    def expected(self) -> int:
        """The expected number of bytes; 0 if unknown."""
        return self._expected or 0

    @property
    def digest(self) -> str | None:
        """The hash of the bytes, if all were read here one after the other."""
        return self._digest.hexdigest() if self._digest and self.size == self._expected else None

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def hash_of(content: bytes) -> str:
    """Return the hash of some bytes."""
    digest = Xxh3128()
    digest.update(content)
    return digest.hexdigest()


def hash_input(path: str) -> tuple[int, str]:
    """Return the size of a file and its hash."""
    digest, size = Xxh3128(), 0
    with open(path, "rb", buffering=0) as file:
        while block := file.read(_HASHED):
            digest.update(block)
            size += len(block)
    return size, digest.hexdigest()
