"""Lines of JSON in, the texts of one of their fields out.

The engine takes lines that are plainly well-formed; all others are read as `json.loads` reads them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from bpetite._engine import Buffers, FieldTexts
from bpetite.reading import batches
from bpetite.reading.batches import PIECE, Batch, Gathered, replaced
from bpetite.reading.options import Reading
from bpetite.reading.raw import Raw

_DECODER = json.JSONDecoder()
_JSON_SPACE = " \t\n\r"


def read_json_lines(
    read: Callable[[int], bytes], raw: Raw, reading: Reading, buffers: Buffers
) -> Iterator[Batch]:
    """Yield the text field of every line; a line of white space alone holds no document."""
    gathered = _GatheredLines(raw.name, reading, buffers)
    while block := read(min(PIECE, batches.BLOCK)):
        gathered.add_lines(block)
        if gathered.full:
            yield gathered.take(raw.size)
    gathered.add_lines(b"\n")  # The last line may have no end.
    yield gathered.take(raw.size)


def text_or_lines(name: str, read: Callable[[int], bytes]) -> tuple[str, Callable[[int], bytes]]:
    """Tell JSON lines from a JSON text by the first line: an object of its own, or not."""
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


class _GatheredLines(Gathered):
    """Texts of JSON lines: the engine takes them from plain lines, and Python from all others."""

    def __init__(self, name: str, reading: Reading, buffers: Buffers) -> None:
        super().__init__(name, reading.invalid)
        self._field = reading.text_field
        self._found = FieldTexts(self._field.encode("utf-8", "surrogatepass"), buffers)
        self._line = 0

    @property
    def full(self) -> bool:
        """Whether there is enough for a batch."""
        return self._found.size >= batches.BLOCK

    def add_lines(self, block: bytes) -> None:
        """Take lines; one that has no end yet is gone on with in the next block."""
        place = 0
        while place < len(block):
            before = len(self._found)
            place, lines, left = self._found.take_lines(block, place)
            self.number += len(self._found) - before
            self._line += lines
            if left is not None:
                self._add_line(left)

    def take(self, read: int, *, goes_on: bool = False) -> Batch:
        """Return what was gathered."""
        self._joined = self._found.take()
        return super().take(read, goes_on=goes_on)

    def _keep(self, text: Any) -> None:
        self._found.append(text)

    def _add_line(self, line: bytes) -> None:
        """Take a line as `json.loads` does."""
        try:
            record = _record(line.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            if line.strip():
                self._add_broken_line(line, error)
            return
        text = record.get(self._field) if type(record) is dict else None
        if type(text) is str:
            self.add(text)
        else:
            self.lack(f"line {self._line}: {_lacking(record, self._field)}")

    def _add_broken_line(self, line: bytes, error: ValueError | RecursionError) -> None:
        """Deal with a line that is not JSON in UTF-8: only bad UTF-8 inside good JSON can be repaired."""
        if isinstance(error, RecursionError):
            return self.lack(f"line {self._line}: nested too deeply")
        if not isinstance(error, UnicodeDecodeError):
            return self.lack(f"line {self._line}: not JSON: {error}")
        if self._invalid == "replace" and (text := self._repaired(line)) is not None:
            return self.addreplaced(text)
        return self.lack(f"line {self._line}: not valid UTF-8 at byte {error.start} of the line")

    def _repaired(self, line: bytes) -> str | None:
        """Return the text of a line in which what is not UTF-8 is replaced; None if there is none."""
        try:
            record = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None
        text = record.get(self._field) if type(record) is dict else None
        return replaced(text) if type(text) is str else None


def _record(line: str) -> Any:
    """Return what `json.loads` returns, without its search for white space where there is none."""
    if line.startswith("{"):
        record, end = _DECODER.raw_decode(line)
        if end == len(line) or not line[end:].strip(_JSON_SPACE):
            return record
    return json.loads(line)


def _lacking(record: Any, name: str) -> str:
    if type(record) is not dict:
        return f"not a JSON object but {type(record).__name__}"
    if name not in record:
        return f"no field {name!r} (there is {', '.join(map(repr, record)) or 'none'})"
    return f"field {name!r} is not a string but {type(record[name]).__name__}"
