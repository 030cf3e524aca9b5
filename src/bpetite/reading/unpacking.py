"""Compressed bytes in, uncompressed bytes out: gzip by the engine, zstd by pyarrow."""

from __future__ import annotations

from collections.abc import Callable

from bpetite._engine import Gunzip
from bpetite._internal.lazy import needed_pyarrow
from bpetite.reading.raw import Raw

PACKED = 1 << 16
"""The number of compressed bytes that are unpacked at a time, for about one block of content."""


def unpacked(raw: Raw, compression: str | None) -> Callable[[int], bytes]:
    """Return a function that reads the content; a truncated compressed input is an error."""
    if compression is None:
        return raw.read
    broken = f"{raw.name}: incomplete or broken {compression}"
    if not raw.head():
        raise ValueError(f"{broken}: it is empty")
    return _gunzipped(raw, broken) if compression == "gzip" else _decompressed(raw, compression, broken)


def _gunzipped(raw: Raw, broken: str) -> Callable[[int], bytes]:
    gunzip = Gunzip()

    def read(size: int) -> bytes:
        while True:
            try:
                block = gunzip.read(size)
            except ValueError as error:
                raise ValueError(f"{broken}: {error}") from None
            if block is not None:
                return block
            gunzip.take_block(raw.read(PACKED))

    return read


def _decompressed(raw: Raw, compression: str, broken: str) -> Callable[[int], bytes]:
    arrow = needed_pyarrow(f"reading {compression}")
    stream = arrow.CompressedInputStream(arrow.PythonFile(raw, mode="r"), compression)

    def read(size: int) -> bytes:
        try:
            block: bytes = stream.read(size)
        except OSError as error:
            if error.errno is not None:
                raise
            raise ValueError(f"{broken}: {error}") from None
        return block

    return read
