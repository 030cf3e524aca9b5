"""Compressed bytes in, uncompressed bytes out: gzip by the engine, zstd by pyarrow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from bpetite._engine import Gunzip

PACKED = 1 << 16
"""The number of compressed bytes that are unpacked at a time, for about one block of content."""


class PackedBytes(Protocol):
    """What is unpacked: an input, or a part of one."""

    name: str

    def head(self) -> bytes:
        """Return the first bytes without consuming them."""

    def read(self, size: int) -> bytes:
        """Return the next bytes, none at the end."""


def unpacked(raw: PackedBytes, compression: str | None) -> Callable[[int], bytes]:
    """Return a function that reads the content; a truncated compressed input is an error."""
    if compression is None:
        return raw.read
    if not raw.head():
        raise ValueError(f"{raw.name}: incomplete or broken {compression}: it is empty")
    return _gunzipped(raw) if compression == "gzip" else _decompressed(raw, compression)


def _gunzipped(raw: PackedBytes) -> Callable[[int], bytes]:
    gunzip = Gunzip()

    def read(size: int) -> bytes:
        while True:
            try:
                block = gunzip.read(size)
            except ValueError as error:
                raise ValueError(f"{raw.name}: incomplete or broken gzip: {error}") from None
            if block is not None:
                return block
            gunzip.take_block(raw.read(PACKED))

    return read


def _decompressed(raw: PackedBytes, compression: str) -> Callable[[int], bytes]:
    arrow = needed_pyarrow(f"reading {compression}")
    stream = arrow.CompressedInputStream(arrow.PythonFile(_Readable(raw), mode="r"), compression)

    def read(size: int) -> bytes:
        try:
            block: bytes = stream.read(size)
        except OSError as error:
            if error.errno is not None:
                raise
            raise ValueError(f"{raw.name}: incomplete or broken {compression}: {error}") from None
        return block

    return read


class _Readable:
    """An input as a file object for pyarrow."""

    closed = False

    def __init__(self, raw: PackedBytes) -> None:
        self.read = raw.read

    def close(self) -> None:
        """Do nothing: the one who opened the input closes it."""


def needed_pyarrow(purpose: str) -> Any:
    """Return pyarrow; if it is not installed, the error says what needs it."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(f"{purpose} needs pyarrow: pip install 'bpetite[corpus]'") from error
    return pyarrow
