"""Packed bytes in, what they hold out: gzip by the engine, zstd by pyarrow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bpetite._engine import Gunzip
from bpetite.reading.raw import Raw

_PACKED = 1 << 16
"""How many bytes of gzip are unpacked at a time: they hold about as much as is looked at in one go."""


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
