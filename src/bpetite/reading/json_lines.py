"""Lines of JSON in, the texts of one of their fields out.

The engine takes lines that are certainly well-formed; Python's `json.loads` reads all others, and
says what is wrong with them. A line is held as a whole.
"""

from collections.abc import Callable, Iterator
from io import BytesIO

from bpetite._engine import FileTexts
from bpetite.reading import batches
from bpetite.reading.batches import PIECE, Batch, is_text, refuse_invalid, replaced
from bpetite.reading.division import stretches
from bpetite.reading.memory_limit import check_whole
from bpetite.reading.options import Reading
from bpetite.reading.raw import Raw
from bpetite.reading.sources import Input


def documents(read: Callable[[int], bytes], raw: Raw, reading: Reading) -> Iterator[Batch]:
    """Yield the text field of every line; a line of only white space has no document."""
    lines = JsonLines(raw.name, reading)
    while block := read(min(PIECE, batches.BLOCK)):
        begun = lines.add(block)
        if lines.found.size >= batches.BLOCK:
            yield lines.take(raw.size)
        check_whole(raw.name, begun, int(reading.max_document))
    lines.add(b"\n")  # The last line may have no end.
    yield lines.take(raw.size)


def parts(source: Input, raw: Raw, reading: Reading, size: int) -> Iterator[Input]:
    """Yield stretches of lines."""
    return stretches(source, raw, b"\n", size)


class JsonLines:
    """Gathers the texts of JSON lines: the engine takes them from plain lines, and Python from all others."""

    def __init__(self, name: str, reading: Reading) -> None:
        self._name = name
        self._invalid = reading.invalid
        self._field = reading.text_field
        self.found = FileTexts(self._field.encode("utf-8", "surrogatepass"))
        self._begun = BytesIO()
        """The beginning of an incomplete line."""
        self._line = self._first = self._affected = 0
        self.number = 0
        """The number of documents so far."""

    def add(self, block: bytes) -> int:
        """Take lines; keep the beginning of an incomplete one for the next block, and return its size."""
        end = block.find(b"\n") + 1
        self._begun.write(block[:end] or block)
        if end:
            self._take_lines(self._begun.getvalue(), 0)
            self._begun = BytesIO()
            self._begun.write(block[self._take_lines(block, end) :])
        return self._begun.tell()

    def _take_lines(self, block: bytes, place: int) -> int:
        """Take the whole lines from a place on; return where the incomplete one begins."""
        left: bytes | None = b""
        while left is not None:
            before = len(self.found)
            place, lines, left = self.found.take_lines(block, place)
            self.number += len(self.found) - before
            self._line += lines
            if left is not None:
                self._add_line(left)
        return place

    def take(self, read: int) -> Batch:
        """Return the batch."""
        batch = Batch(self.found.take(), self._first, affected=self._affected, read=read)
        self._first, self._affected = self.number, 0
        return batch

    def _add_line(self, line: bytes) -> None:
        """Take a line as `json.loads` does; one with invalid UTF-8 is repaired if it then is JSON."""
        if not line.strip():
            return
        self.number += 1
        try:
            text = self._text_of(line)
        except (ValueError, TypeError, RecursionError) as error:
            if self._invalid != "skip":
                raise ValueError(
                    f"{self._name}: line {self._line}: {_fault(line, error)}"
                ) from None
            self._affected += 1
            return
        if not (is_text(text) and is_text(line)):
            if self._invalid == "error":
                refuse_invalid(self._name, Batch([text], self.number - 1))
            self._affected += 1
            if self._invalid == "skip":
                return
            text = replaced(text)
        self.found.append(text)

    def _text_of(self, line: bytes) -> str:
        import json

        record = json.loads(
            line.decode("utf-8", "replace" if self._invalid == "replace" else "strict")
        )
        if type(record) is not dict:
            raise TypeError(f"not a JSON object but {type(record).__name__}")
        if self._field not in record:
            fields = ", ".join(map(repr, record)) or "none"
            raise TypeError(f"no field {self._field!r} (there is {fields})")
        text = record[self._field]
        if type(text) is not str:
            raise TypeError(f"field {self._field!r} is not a string but {type(text).__name__}")
        return text


def _fault(line: bytes, error: Exception) -> str:
    """Say why a line has no text."""
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as invalid:
        return f"not valid UTF-8 at byte {invalid.start} of the line"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return f"not JSON: {error}" if isinstance(error, ValueError) else str(error)
