"""Lines of JSON in, the texts of one of their fields out.

The engine takes lines that are certainly well-formed; Python's `json.loads` reads all others, and says what
is wrong with them. A line is held as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from bpetite._engine import FieldTexts
from bpetite.reading import batches
from bpetite.reading.batches import PIECE, Batch, Gathered, replaced
from bpetite.reading.memory_limit import check_whole
from bpetite.reading.options import Reading
from bpetite.reading.raw import Raw


def read_json_lines(read: Callable[[int], bytes], raw: Raw, reading: Reading) -> Iterator[Batch]:
    """Yield the text field of every line; a line of only white space has no document."""
    gathered = GatheredLines(raw.name, reading)
    while block := read(min(PIECE, batches.BLOCK)):
        gathered.add_lines(block)
        if gathered.full:
            yield gathered.take(raw.size)
        check_whole(raw.name, gathered.rest_size, int(reading.max_document))
    gathered.add_lines(b"\n")  # The last line may have no end.
    yield gathered.take(raw.size)


def text_or_lines(name: str, read: Callable[[int], bytes]) -> tuple[str, Callable[[int], bytes]]:
    """Distinguish JSON lines from a JSON text: the first line of the former is a whole object."""
    first = b""
    while b"\n" not in first and len(first) < batches.BLOCK and (more := read(batches.BLOCK)):
        first += more
    line, newline, _ = first.partition(b"\n")
    undecided = f"{name}: may be JSON lines or a text; the input format says which (jsonl or text)"
    if not newline and len(first) >= batches.BLOCK:
        raise ValueError(undecided)
    try:
        form = "jsonl" if type(json.loads(line)) is dict else "text"
    except ValueError:
        form = "text"
    except RecursionError:
        raise ValueError(undecided) from None
    blocks = iter([first])
    return form, lambda size: next(blocks, None) or read(size)


class GatheredLines(Gathered):
    """Texts of JSON lines: the engine takes them from plain lines, and Python from all others."""

    def __init__(self, name: str, reading: Reading) -> None:
        super().__init__(name, reading.invalid)
        self._field = reading.text_field
        self._found = FieldTexts(self._field.encode("utf-8", "surrogatepass"))
        self._line = 0

    @property
    def full(self) -> bool:
        """Whether there is enough for a batch."""
        return self._found.size >= batches.BLOCK

    @property
    def rest_size(self) -> int:
        """The number of bytes of the incomplete line."""
        return self._found.rest_size

    def add_lines(self, block: bytes) -> None:
        """Take lines; the beginning of an incomplete one is kept for the next block."""
        place = 0
        while place < len(block):
            before = len(self._found)
            place, lines, left = self._found.take_lines(block, place)
            self.number += len(self._found) - before
            self._line += lines
            if left is not None:
                self._add_line(left)

    def take(self, read: int, *, goes_on: bool = False) -> Batch:
        """Return the batch."""
        self._joined = self._found.take()
        return super().take(read, goes_on=goes_on)

    def _keep(self, text: Any) -> None:
        self._found.append(text)

    def _add_line(self, line: bytes) -> None:
        """Take a line as `json.loads` does; one with invalid UTF-8 is repaired if it then is JSON."""
        invalid = ""
        try:
            decoded = line.decode("utf-8")
        except UnicodeDecodeError as error:
            invalid = f"not valid UTF-8 at byte {error.start} of the line"
            decoded = line.decode("utf-8", "replace") if self._invalid == "replace" else ""
        try:
            record = json.loads(decoded)
        except RecursionError:
            return self._lack(invalid or "nested too deeply")
        except ValueError as error:
            return self._lack(invalid or f"not JSON: {error}") if line.strip() else None
        text = record.get(self._field) if type(record) is dict else None
        if type(text) is not str:
            return self._lack(invalid or _lacking(record, self._field))
        return self.add_repaired(replaced(text)) if invalid else self.add(text)

    def _lack(self, why: str) -> None:
        self.lack(f"line {self._line}: {why}")


def _lacking(record: Any, name: str) -> str:
    if type(record) is not dict:
        return f"not a JSON object but {type(record).__name__}"
    if name not in record:
        return f"no field {name!r} (there is {', '.join(map(repr, record)) or 'none'})"
    return f"field {name!r} is not a string but {type(record[name]).__name__}"
