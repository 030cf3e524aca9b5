"""A Parquet file in, the places of its columns out, or the file as pyarrow reads it.

The engine reads the metadata: pyarrow ends the process if they are damaged.
"""

from __future__ import annotations

import os
from typing import Any, BinaryIO, NamedTuple

from bpetite._engine import column_chunks
from bpetite._internal.types import Path


class ColumnChunk(NamedTuple):
    """A column in a row group."""

    encodings: list[int]
    codec: int
    values: int
    unpacked: int
    packed: int
    start: int


def chunks_of(file: BinaryIO, column: int) -> list[ColumnChunk] | None:
    """Return the place of a column in each row group; None if the metadata are unclear."""
    file.seek(-8, os.SEEK_END)
    size = int.from_bytes(file.read(4), "little")
    file.seek(-8 - size, os.SEEK_END)
    chunks = column_chunks(file.read(size), column)
    return None if chunks is None else [ColumnChunk(*chunk) for chunk in chunks]


def opened_parquet(path: Path, **options: Any) -> Any:
    """Open a file with pyarrow by the bytes of its name, which need not be UTF-8."""
    import pyarrow.parquet

    return pyarrow.parquet.ParquetFile(pyarrow.OSFile(os.fsencode(path)), pre_buffer=False, **options)
