"""An input in, the same input in parts that can be read apart out, in order.

Text with separators and JSON lines can be divided where a record begins, if they are local and not
compressed. Everything else is a part of its own.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from bpetite.reading import batches
from bpetite.reading.documents import format_of
from bpetite.reading.options import Reading
from bpetite.reading.sources import Input


def divide(source: Input, reading: Reading, size: int) -> list[tuple[Input, Reading]]:
    """Return parts of about that size; together they hold the same documents in the same order."""
    form = format_of(source, reading)
    separator = _separator(form, reading)
    total = source.size()
    if separator is None or total is None or total <= size:
        return [(source, reading)]
    reading = replace(reading, input_format="jsonl" if form == ("jsonl", None) else "text")
    bounds = [0]
    for wanted in range(size, total, size):
        if wanted > bounds[-1]:
            bounds.append(_next_record(source, wanted, total, separator))
    spans = pairwise(sorted({*bounds, total}))
    return [(replace(source, span=span), reading) for span in spans]


def _separator(form: tuple[str, str | None], reading: Reading) -> bytes | None:
    """Return what ends a record, if it can be found from anywhere in the file."""
    if form == ("jsonl", None):
        return b"\n"
    if form != ("text", None) or reading.separator is None:
        return None
    separator = reading.separator.encode("utf-8")
    overlaps = any(separator.startswith(separator[cut:]) for cut in range(1, len(separator)))
    return None if overlaps else separator


def _next_record(source: Input, wanted: int, total: int, separator: bytes) -> int:
    """Return where the first record begins that begins at `wanted` or later."""
    with source.open() as file:
        place = max(0, wanted - len(separator))
        file.seek(place)
        rest = b""
        while block := file.read(batches.BLOCK):
            rest += block
            found = rest.find(separator)
            if found >= 0:
                return place + found + len(separator)
            place += len(rest) - len(separator) + 1
            rest = rest[len(rest) - len(separator) + 1 :]
    return total
