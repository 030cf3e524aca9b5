"""An input in, its documents out, in order and in batches of a few megabytes.

An input is plain text or JSON lines, perhaps compressed by gzip or zstd, or Parquet; its name and its first
bytes must agree on which. A document is a whole text file, a text between separators, the text field of a
line, or the text column of a row. Memory is bounded by the largest document, or by a few megabytes if the
pattern allows documents to be cut (`Reading.cut`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator

from bpetite._engine import Gunzip
from bpetite._internal.lazy import needed_pyarrow
from bpetite.reading.batches import Batch, one_side
from bpetite.reading.json_lines import read_json_lines, text_or_lines
from bpetite.reading.options import Reading
from bpetite.reading.parquet import read_rows
from bpetite.reading.raw import Raw
from bpetite.reading.recognition import recognise
from bpetite.reading.sources import Input, naming_remote
from bpetite.reading.text import read_text

PACKED = 1 << 16
"""The number of compressed bytes that are unpacked at a time, for about one block of content."""


def read_batches(source: Input, reading: Reading, raw: Raw | None = None) -> Generator[Batch, None, None]:
    """Yield the documents of an input; `raw` is given to hash its bytes."""
    raw = Raw(source) if raw is None else raw
    return one_side(source.name, _all_batches(source, raw, reading), reading)


def _all_batches(source: Input, raw: Raw, reading: Reading) -> Generator[Batch, None, None]:
    try:
        with naming_remote(source):
            form, compression = source.form or recognise(source.name, raw, reading.input_format)
            if form == "parquet":
                yield from read_rows(raw, reading)
                return
            read = _unpacked(raw, compression)
            if form == "json":
                form, read = text_or_lines(raw.name, read)
            documents_of = read_json_lines if form == "jsonl" else read_text
            yield from documents_of(read, raw, reading)
            if source.is_part:
                status = os.stat(source.name)
                if (status.st_size, status.st_mtime_ns) != (source.whole, source.changed):
                    raise ValueError(f"{source.name}: changed while it was read")
    finally:
        raw.close()


def _unpacked(raw: Raw, compression: str | None) -> Callable[[int], bytes]:
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
