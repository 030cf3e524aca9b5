"""Finds how much of a text fits a number of tokens, for `Tokenizer.fit` and `Tokenizer.chunks`.

The text is cut at places where the pattern is known to begin a new pretoken. Token counts of parts add up
there, so each part is counted once. Between two such places every length is tried, the longest first,
because a longer text may have fewer tokens ("hell" may be two tokens, and "hello" one).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from typing import NamedTuple

from bpetite._engine import pretokenize, safe_cut

_LOOK = 256
"""The number of characters that are searched at a time for a cut."""

_TRIED = 1024
"""In a longer range without a cut, only lengths near the result of a bisection are tried."""

_NEAR = 128
"""That distance in characters: longer than almost all tokens."""


def split_at_specials(text: str, special_tokens: Iterable[str]) -> list[tuple[str, bool]]:
    """Cut a text into segments and special tokens (marked True): the leftmost, and there the longest.

    >>> split_at_specials("a<x>b", ["<x>"])
    [('a', False), ('<x>', True), ('b', False)]
    """
    longest_first = sorted(special_tokens, key=len, reverse=True)
    pattern = "|".join(map(re.escape, longest_first))
    segments = re.split(f"({pattern})", text) if pattern else [text]
    return [(segment, place % 2 == 1) for place, segment in enumerate(segments) if segment]


class Chunk(NamedTuple):
    """A part of a text."""

    text: str
    ids: list[int]
    """The ids of this part, encoded on its own."""
    start: int
    """The start of the part in the text, in characters."""
    end: int


@dataclass(frozen=True)
class Fitting:
    """A text that is searched for parts of at most a given number of tokens."""

    text: str
    count: Callable[[str], int]
    """Counts the tokens of a part, special tokens included."""
    pattern: str | None
    """The pattern that decides on cuts, or None if counts of parts do not add up."""
    specials: Sequence[tuple[int, int]]
    """The ranges of special tokens, in order; no part begins or ends within one."""

    def end(self, start: int, most: int) -> int:
        """Return the largest end such that there are at most `most` tokens from `start` on."""
        return start + Reach(self, start, len(self.text), False).longest(most)

    def start(self, end: int, most: int) -> int:
        """Return the smallest start such that there are at most `most` tokens up to `end`."""
        return end - Reach(self, 0, end, True).longest(most)

    def spans(self, size: int, overlap: int) -> Iterator[tuple[int, int]]:
        """Divide the text into parts of at most `size` tokens; neighbours share up to `overlap` tokens."""
        start = end = 0
        while end < len(self.text):
            furthest = self.end(start, size)
            if furthest <= end and start < end:  # with the shared tokens, no new text would fit
                start = end
                continue
            if furthest == start:
                raise ValueError(f"{self.text[start]!r} at character {start} takes more than {size} tokens")
            end = self._end_of_pretoken(start, max(start, end), furthest, size)
            yield start, end
            shared = self.start(end, overlap) if overlap else end
            shared = next(self.cuts(shared, end), shared)
            start = shared if shared > start else end

    def _end_of_pretoken(self, start: int, least: int, end: int, most: int) -> int:
        """Return the last end of a pretoken after `least` and up to `end`, or `end` if there is none."""
        if self.pattern is None or end == len(self.text):
            return end
        if (cut := self.last_cut(least + 1, end + 1)) is not None:
            return cut
        whole = pretokenize(self.text[start:end], self.pattern)[:-1]
        # A pattern that matches bytes may end a pretoken within a character, which is then left out.
        last = start + len(b"".join(whole).decode("utf-8", "ignore"))
        fits = last > least and self.may_end(last) and self.count(self.text[start:last]) <= most
        return last if fits else end

    def cuts(self, start: int, stop: int) -> Iterator[int]:
        """Yield the places from `start` to before `stop` that are certain to be between two pretokens."""
        if self.pattern is None:
            return
        for first in range(start, stop, _LOOK):
            end = min(first + _LOOK, stop)
            near = self.specials[max(self._after(first) - 1, 0) : self._after(end)]
            edges = [edge for span in near for edge in span if first <= edge < end]
            found = filter(self.may_end, pattern_cuts(self.text, self.pattern, first, end))
            yield from merge(edges, found)

    def last_cut(self, start: int, stop: int) -> int | None:
        """Return the last place from `start` to before `stop` that is certain to be between two pretokens."""
        for end in range(stop, start, -_LOOK):
            if cuts := list(self.cuts(max(end - _LOOK, start), end)):
                return cuts[-1]
        return None

    def _after(self, position: int) -> int:
        """Return the number of special tokens that begin before a position."""
        return bisect_right(self.specials, (position, 0))

    def may_end(self, position: int) -> bool:
        """Whether a position is outside all special tokens."""
        before = self._after(position)
        return not before or self.specials[before - 1][1] <= position


@dataclass(frozen=True)
class Reach:
    """Finds how far one can go from one end of a range; distances are measured from that end."""

    fitting: Fitting
    first: int
    last: int
    backward: bool

    def position(self, distance: int) -> int:
        """Return the position in the text at a distance, or the distance of a position."""
        return self.last - distance if self.backward else self.first + distance

    def count(self, near: int, far: int) -> int:
        """Count the tokens of the text between two distances."""
        start, end = sorted((self.position(near), self.position(far)))
        return self.fitting.count(self.fitting.text[start:end])

    def longest(self, most: int) -> int:
        """Return the largest distance with at most `most` tokens."""
        near, tokens, far = self._bracket(most)
        if far is None:
            return near
        while (middle := self._cut_between(near, far)) is not None:
            reached = tokens + self.count(near, middle)
            if reached > most:
                far = middle
            else:
                near, tokens = middle, reached
        return self._longest_without_cut(near, far, most - tokens)

    def _bracket(self, most: int) -> tuple[int, int, int | None]:
        """Return a distance that fits, its number of tokens, and a larger one that does not fit, if any."""
        near = tokens = 0
        whole = self.last - self.first
        step = 4 * most + _LOOK
        while near + step < whole:
            place = self._cut_between(near + step // 2, near + step)
            if place is None and step <= _TRIED:
                step *= 2
                continue
            far = near + step if place is None else place
            reached = tokens + self.count(near, far)
            if reached > most:
                return near, tokens, far
            if place is None:
                step *= 2
            else:
                near, tokens = place, reached
        reached = tokens + self.count(near, whole)
        return (near, tokens, whole) if reached > most else (whole, reached, None)

    def _longest_without_cut(self, near: int, far: int, most: int) -> int:
        """Return the largest distance below `far` that fits, in a range without cuts."""
        may_end = self.fitting.may_end
        lowest = near
        if far - near > _TRIED:
            short, long = near, far
            while long - short > 1:
                middle = (short + long) // 2
                short, long = (middle, long) if self.count(near, middle) <= most else (short, middle)
            lowest, far = short, min(far, long + _NEAR)
        for distance in range(far - 1, lowest, -1):
            if may_end(self.position(distance)) and self.count(near, distance) <= most:
                return distance
        while not may_end(self.position(lowest)):
            lowest -= 1
        return lowest

    def _cut_between(self, near: int, far: int) -> int | None:
        """Return a cut strictly between two distances, near the middle, as a distance."""
        low, high = sorted((self.position(near), self.position(far)))
        middle = max((low + high) // 2, low + 1)
        place = next(self.fitting.cuts(middle, high), None)
        if place is None:
            place = self.fitting.last_cut(low + 1, middle)
        return None if place is None else abs(place - self.position(0))


def pattern_cuts(text: str, pattern: str, start: int, end: int) -> Iterator[int]:
    """Yield the places from `start` to before `end` that a pattern is certain to begin a pretoken at.

    >>> list(pattern_cuts("to be or not", "\\\\S+|\\\\s+", 1, 12))
    [2, 3, 5, 6, 8, 9]
    """
    first = max(start, 1)
    while first < end:
        window = text[first - 1 : end].encode("utf-8")
        place = safe_cut(window, pattern)
        if place is None or place == len(window):
            return
        first += len(window[:place].decode("utf-8"))
        yield first - 1
