"""A line of JSON in, block by block; the strings of one of its fields out, also block by block.

It accepts what `json.loads` accepts. However long the line is, only a block, a name or a number is in memory.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

_DECODER = json.JSONDecoder()

_SPACE = re.compile(r"[ \t\r]*")
_NUMBER_OR_WORD = re.compile(r"[^,\[\]{} \t\r]*")

_HIGH = "[dD][89abAB][0-9a-fA-F]{2}"
_WHOLE = re.compile(
    rf"(?:[^\\]|\\[^u]|\\u(?!{_HIGH})[0-9a-fA-F]{{4}}"
    rf"|\\u{_HIGH}(?=[^\\]|\\[^u]|\\u[0-9a-fA-F]{{4}}))*",
    re.DOTALL,
)
"""Complete characters and escapes; a first surrogate together with what follows."""

_LONGEST_ESCAPE = len(r"\ud83d\ude00")

_LONGEST_NUMBER = 1 << 20

_NAMED = 20
"""The maximum number of fields that an error names."""


class BrokenLine(ValueError):
    """A line is not JSON in UTF-8; the message says what is wrong and where."""


class LongLine:
    """Parses a line while its blocks are read."""

    def __init__(self, blocks: Iterator[bytes], *, is_repaired: bool) -> None:
        self._blocks = blocks
        self._decoder = codecs.getincrementaldecoder("utf-8")("strict")
        self._is_repaired = is_repaired
        self._has_ended = False
        self._text = ""
        self._place = 0
        self._before = 0
        """The number of characters of the line before `_text`."""
        self._decoded = 0
        """The number of bytes of the line that were decoded."""
        self.is_affected = False
        """Whether bytes that are not UTF-8 were replaced."""
        self.names: list[str] = []
        """The first fields of the object."""

    def is_blank(self) -> bool:
        """Whether the line is empty."""
        return not self._next()

    def values_of(self, field: str) -> Iterator[Iterator[str] | str]:
        """Yield each value of a field: the blocks of a string, or the name of another type."""
        if self._next() != "{":
            raise BrokenLine("not a JSON object")
        for name in self._members():
            if len(self.names) < _NAMED:
                self.names.append(name)
            if name != field:
                self._skip_value()
            elif self._next() == '"':
                blocks = self._string()
                yield blocks
                for _ in blocks:  # if they were not asked for
                    pass
            else:
                yield self._skip_value()
        if self._next():
            self._refuse("Extra data")

    # The values in a line. Each method begins at the next character, and stops after its value.

    def _skip_value(self) -> str:
        """Skip a value; return the name of its type."""
        match self._next():
            case '"':
                for _ in self._string():
                    pass
                return "str"
            case "{":
                for _ in self._members():
                    self._skip_value()
                return "dict"
            case "[":
                for _ in self._items("]"):
                    self._skip_value()
                return "list"
            case _:
                return type(self._number_or_word()).__name__

    def _members(self) -> Iterator[str]:
        """Yield the names in an object; the caller skips the value of each."""
        for _ in self._items("}"):
            if self._next() != '"':
                self._refuse("Expecting property name enclosed in double quotes")
            name = "".join(self._string())
            if self._next() != ":":
                self._refuse("Expecting ':' delimiter")
            self._place += 1
            yield name

    def _items(self, close: str) -> Iterator[None]:
        """Yield at the start of each item; the caller skips the item."""
        self._place += 1
        if self._next() != close:
            yield
            while self._next() != close:
                if self._next() != ",":
                    self._refuse("Expecting ',' delimiter")
                self._place += 1
                yield
        self._place += 1

    def _number_or_word(self) -> Any:
        while True:
            word = _matched(_NUMBER_OR_WORD, self._text, self._place)
            if len(word) > _LONGEST_NUMBER:
                self._refuse(f"a number has more than {_LONGEST_NUMBER} digits")
            if self._place + len(word) < len(self._text) or not self._read_on():
                break
        try:
            value = json.loads(word)
        except ValueError:
            self._refuse("Expecting value")
        self._place += len(word)
        return value

    def _string(self) -> Iterator[str]:
        """Yield the value of a string, as far as it was read; surrogate pairs are not divided."""
        try:
            whole, self._place = _DECODER.raw_decode(self._text, self._place)
        except json.JSONDecodeError:  # It goes on behind this block, or is broken.
            pass
        else:
            yield whole
            return
        self._place += 1
        while True:
            part = self._text[self._place : self._whole_end()]
            try:
                said, end = _DECODER.raw_decode(f'"{part}"')
            except json.JSONDecodeError as error:
                self._place += error.pos - 1
                self._refuse(error.msg)
            self._place += min(end - 1, len(part))
            yield said
            if end <= len(part) + 1:
                return
            if not self._read_on():
                self._refuse("Unterminated string")

    def _whole_end(self) -> int:
        """Return the end of the text, or the start of an escape that may continue after it."""
        text, size = self._text, len(self._text)
        place = text.find("\\", max(self._place, size - _LONGEST_ESCAPE))
        if place < 0:
            return size
        first = self._place + len(text[self._place : place].rstrip("\\"))
        end = first + len(_matched(_WHOLE, text, first))
        return end if size - end < _LONGEST_ESCAPE else size  # what is longer is no escape

    # What is read of a line

    def _next(self) -> str:
        """Skip white space; return the character after it, none at the end of the line."""
        while True:
            self._place += len(_matched(_SPACE, self._text, self._place))
            if self._place < len(self._text):
                return self._text[self._place]
            if not self._read_on():
                return ""

    def _read_on(self) -> bool:
        """Append another block to the rest of the text; False at the end of the line."""
        if self._has_ended:
            return False
        block = next(self._blocks, None)
        self._has_ended = block is None
        self._before += self._place
        self._text = self._text[self._place :] + self._decode(block or b"")
        self._place = 0
        return True

    def _decode(self, block: bytes) -> str:
        begun, _ = self._decoder.getstate()
        try:
            text = self._decoder.decode(block, self._has_ended)
        except UnicodeDecodeError as error:
            if not self._is_repaired:
                place = self._decoded - len(begun) + error.start
                raise BrokenLine(f"not valid UTF-8 at byte {place} of the line") from None
            self.is_affected = True
            self._decoder.errors = "replace"
            text = self._decoder.decode(block, self._has_ended)
            self._decoder.errors = "strict"
        self._decoded += len(block)
        return text

    def _refuse(self, what: str) -> NoReturn:
        raise BrokenLine(f"not JSON: {what}: character {self._before + self._place} of the line")


def _matched(pattern: re.Pattern[str], text: str, place: int) -> str:
    """Return the match of a pattern at a place; the pattern may match nothing."""
    match = pattern.match(text, place)
    return "" if match is None else match[0]
