"""A text that grows, and its ids, for vocabularies that normalize text or whose special tokens have flags.

Segments between special tokens of the original text are prepared independently of each other. So only the
text after the last special token is encoded again, if no later text can change that token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import index
from typing import Any

from bpetite._internal.types import Special

Cut = Callable[[str], Sequence[tuple[int, int, int | None]]]
"""Finds the segments of a text: their starts, their ends, and the ids of those that are special tokens."""


class GrowingPrepared:
    """A text that grows at its end, with the interface of the engine's `GrowingEncoding`."""

    def __init__(self, encoder: Any, special: Special, cut: Cut | None, longest: int) -> None:
        """`cut` finds special tokens, if the text may be divided there; `longest` is the length of one."""
        self._encoder = encoder
        self._special = special
        self._cut = cut
        self._longest = max(longest, 1)
        self._text = ""
        self._ids: list[int] = encoder.encode("", special)
        self._settled: list[tuple[int, int]] = [(0, 0)]
        """Ends of special tokens that no later text can change: in the text, and in its ids."""

    def append(self, text: str) -> int:
        """Append to the text, and return how many of the earlier ids are unchanged."""
        if not isinstance(text, str):
            raise TypeError(f"{type(text).__name__!r} object is not an instance of 'str'")
        return self._become(self._text + text, self._settled)

    def truncate(self, length: int | None = None, *, ids: int | None = None) -> int:
        """Keep the first `length` characters of the text, or the text of its first `ids` ids."""
        if (length is None) == (ids is None):
            raise TypeError("truncate: takes either a length or ids")
        if ids is not None:
            length = self._length_of(_natural(ids))
        text = self._text[: _natural(length)]
        most = len(text) - self._longest
        return self._become(text, [place for place in self._settled if place[0] <= max(most, 0)])

    def _become(self, text: str, settled: list[tuple[int, int]]) -> int:
        """Encode what is not settled of a new text; return how many ids are unchanged."""
        place, number = settled[-1]
        rest, done = text[place:], 0
        ids: list[int] = []
        found: list[tuple[int, int]] = []
        for _, end, token_id in self._cut(rest) if self._cut else ():
            if token_id is not None and len(rest) - end >= self._longest:
                ids += self._encoder.encode(rest[done:end], self._special)
                found.append((place + end, number + len(ids)))
                done = end
        ids += self._encoder.encode(rest[done:], self._special)
        before = self._ids[number:]
        pairs = enumerate(zip(before, ids, strict=False))
        same = next((at for at, (old, new) in pairs if old != new), min(len(before), len(ids)))
        self._ids[number + same :] = ids[same:]
        self._text, self._settled = text, settled + found
        return number + same

    def _length_of(self, number: int) -> int:
        """Return the length of the text of the first ids, without a character that is not complete."""
        if number >= len(self._ids):
            return len(self._text)
        place, before = max(found for found in self._settled if found[1] <= number)
        _, spans = self._encoder.encode_with_offsets(self._text[place:], self._special)
        starts: Iterator[int] = (start for start, _ in spans[number - before :])
        return place + min(starts)

    @property
    def ids(self) -> list[int]:
        """The ids of the text."""
        return self._ids[:]

    def ids_from(self, start: int) -> list[int]:
        """Return the ids from number `start` on."""
        return self._ids[_natural(start) :]

    @property
    def text(self) -> str:
        """The text so far."""
        return self._text

    @property
    def settled(self) -> int:
        """How many ids, from the first on, no later text can change."""
        return self._settled[-1][1]

    def __len__(self) -> int:
        return len(self._ids)

    def __repr__(self) -> str:
        return f"GrowingEncoding({len(self)} ids, {self.settled} of them settled)"


def _natural(number: object) -> int:
    """Return a number that must not be negative."""
    found = index(number)  # type: ignore[arg-type]
    if found < 0:
        raise OverflowError("can't convert negative int to unsigned")
    return found
