"""An input in, parts of it that can be read independently out, in order.

The module of each format divides its files. An input that is compressed or not local is one part.
"""

from collections.abc import Iterator
from contextlib import closing

from bpetite.reading.formats import reader_of
from bpetite.reading.options import Reading
from bpetite.reading.raw import Raw
from bpetite.reading.recognition import recognise
from bpetite.reading.sources import Input

PART_BYTES = 1 << 21
"""The approximate size of a part: at most that of a batch, so that a part that is read early can wait."""

_PACKED = 4
"""Files of Parquet hold about so many times their size."""


def divide(source: Input, reading: Reading, size: int | None = None) -> Iterator[Input]:
    """Yield parts of about that size; together they have the same documents in the same order.

    Errors in an input are left to its reader.
    """
    parts = _parts(source, reading, PART_BYTES if size is None else size)
    try:
        first = next(parts, source)
    except (ValueError, OSError, ImportError):
        first = source
    yield first
    yield from parts


def _parts(source: Input, reading: Reading, size: int) -> Iterator[Input]:
    status = None if source.is_part else source.status()
    if status is None or status.st_size <= size // _PACKED:
        return
    with closing(Raw(source)) as raw:
        form, compression = recognise(source, raw, reading)
        if compression is not None:
            return
        changed = status.st_mtime_ns
        source = source._replace(form=(form, compression), whole=status.st_size, changed=changed)
        yield from reader_of(form).parts(source, raw, reading, size)
