"""Lines of JSON in, the texts of one of their fields out.

The engine takes lines that are certainly well-formed; Python's `json.loads` reads all others. Where texts may
be cut, a line that is longer than a few batches is read in blocks, and its text comes in pieces.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from bpetite._engine import Buffers, FieldTexts
from bpetite.reading import batches
from bpetite.reading.batches import PIECE, Batch, Gathered, refuse_surrogate, replaced
from bpetite.reading.cuts import Cut
from bpetite.reading.long_lines import BrokenLine, LongLine
from bpetite.reading.options import Reading
from bpetite.reading.pieces import COPIES, cut_of, longest_held, pieces_of
from bpetite.reading.process_memory import WholeDocument
from bpetite.reading.raw import Raw

_DECODER = json.JSONDecoder()
_JSON_SPACE = " \t\n\r"


def read_json_lines(
    read: Callable[[int], bytes], raw: Raw, reading: Reading, buffers: Buffers
) -> Iterator[Batch]:
    """Yield the text field of every line; a line of only white space has no document."""
    gathered = GatheredLines(raw.name, reading, buffers)
    cut = cut_of(reading)
    whole = WholeDocument(raw.name, COPIES)
    while block := read(min(PIECE, batches.BLOCK)):
        gathered.add_lines(block)
        if gathered.full:
            yield gathered.take(raw.size)
        if cut is not None and gathered.rest_size >= longest_held():
            yield from gathered.long_line(read, raw, cut)
        whole.check(gathered.rest_size)
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

    def __init__(self, name: str, reading: Reading, buffers: Buffers) -> None:
        super().__init__(name, reading.invalid)
        self._field = reading.text_field
        self._found = FieldTexts(self._field.encode("utf-8", "surrogatepass"), buffers)
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
        """Return the batch: lines, or a piece of one."""
        if not self._texts:
            self._joined = self._found.take()
        return super().take(read, goes_on=goes_on)

    def long_line(self, read: Callable[[int], bytes], raw: Raw, cut: Cut) -> Iterator[Batch]:
        """Read the incomplete line to its end, and yield its text in pieces."""
        if len(self._found):
            yield self.take(raw.size)
        self._line += 1
        behind: list[bytes] = []
        blocks = _up_to_newline(self._found.take_rest(), read, behind)
        line = LongLine(blocks, is_repaired=self._invalid == "replace")
        try:
            if not line.is_blank():
                yield from self._pieces(line, raw, cut)
        except BrokenLine as error:
            self.lack(f"line {self._line}: {error}")
        except RecursionError:
            self.lack(f"line {self._line}: nested too deeply")
        for block in behind:
            self.add_lines(block)

    def _pieces(self, line: LongLine, raw: Raw, cut: Cut) -> Iterator[Batch]:
        """Yield the pieces of a line's text; the last one comes when the whole line was read."""
        text, other, is_begun = None, "", False
        for value in line.values_of(self._field):
            if is_begun:
                raise BrokenLine(f"field {self._field!r} appears twice, which is not supported in long lines")
            text = None
            if isinstance(value, str):
                other = value
                continue
            for text, goes_on in pieces_of(self._name, self._encoded(value, line), cut):
                if goes_on:
                    is_begun = True
                    self.add(text)
                    yield self.take(raw.size, goes_on=True)
        if text is None:
            raise BrokenLine(_no_string(self._field, other) if other else _no_field(self._field, line.names))
        self._affected += line.is_affected
        self.add(text)
        yield self.take(raw.size)

    def _encoded(self, blocks: Iterator[str], line: LongLine) -> Iterator[bytes]:
        """Yield blocks as UTF-8; a lone surrogate is refused, or replaced if asked for."""
        before = 0
        for block in blocks:
            try:
                encoded = block.encode("utf-8")
            except UnicodeEncodeError as error:
                if self._invalid != "replace":
                    refuse_surrogate(self._name, self.number, error, before)
                encoded, line.is_affected = replaced(block).encode("utf-8"), True
            yield encoded
            before += len(block)

    def _keep(self, text: Any) -> None:
        if isinstance(text, bytes):  # a piece
            super()._keep(text)
        else:
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
        """Handle a line that is not JSON in UTF-8: only bad UTF-8 within valid JSON can be repaired."""
        if isinstance(error, RecursionError):
            return self.lack(f"line {self._line}: nested too deeply")
        if not isinstance(error, UnicodeDecodeError):
            return self.lack(f"line {self._line}: not JSON: {error}")
        if self._invalid == "replace" and (text := self._repaired(line)) is not None:
            return self.add_repaired(text)
        return self.lack(f"line {self._line}: not valid UTF-8 at byte {error.start} of the line")

    def _repaired(self, line: bytes) -> str | None:
        """Return the text of a line with invalid UTF-8 replaced; None if it has none."""
        try:
            record = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None
        text = record.get(self._field) if type(record) is dict else None
        return replaced(text) if type(text) is str else None


def _record(line: str) -> Any:
    """The same as `json.loads`, but faster: it does not search for white space around the value."""
    if line.startswith("{"):
        record, end = _DECODER.raw_decode(line)
        if end == len(line) or not line[end:].strip(_JSON_SPACE):
            return record
    return json.loads(line)


def _up_to_newline(first: bytes, read: Callable[[int], bytes], behind: list[bytes]) -> Iterator[bytes]:
    """Yield blocks up to the end of a line; what was read of the next one is added to `behind`."""
    yield first
    while block := read(min(PIECE, batches.BLOCK)):
        line, newline, rest = block.partition(b"\n")
        yield line
        if newline:
            behind.append(rest)
            return


def _lacking(record: Any, name: str) -> str:
    if type(record) is not dict:
        return f"not a JSON object but {type(record).__name__}"
    if name not in record:
        return _no_field(name, record)
    return _no_string(name, type(record[name]).__name__)


def _no_field(name: str, names: Iterable[str]) -> str:
    return f"no field {name!r} (there is {', '.join(map(repr, names)) or 'none'})"


def _no_string(name: str, kind: str) -> str:
    return f"field {name!r} is not a string but {kind}"
