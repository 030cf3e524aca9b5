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
from itertools import chain
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
        if self.pattern is None:
            return start + self._within(start, len(self.text), False).longest(most)[0]
        behind = map(self.specials.__getitem__, range(self._after(start), len(self.specials)))
        for special_start, special_end in chain(behind, [(len(self.text), 0)]):
            distance, tokens = self._within(start, special_start, False).longest(most)
            if start + distance < special_start or tokens == most or not special_end:
                return start + distance
            start, most = special_end, most - tokens - 1
        return start

    def start(self, end: int, most: int) -> int:
        """Return the smallest start such that there are at most `most` tokens up to `end`."""
        if self.pattern is None:
            return end - self._within(0, end, True).longest(most)[0]
        before = map(self.specials.__getitem__, reversed(range(self._after(end))))
        for special_start, special_end in chain(before, [(0, 0)]):
            distance, tokens = self._within(special_end, end, True).longest(most)
            if end - distance > special_end or tokens == most or not special_end:
                return end - distance
            end, most = special_start, most - tokens - 1
        return end

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
            shared = self._start_of_pretoken(self.start(end, overlap), end) if overlap else end
            start = shared if shared > start else end

    def _end_of_pretoken(self, start: int, least: int, end: int, most: int) -> int:
        """Return the last end of a pretoken after `least` and up to `end`, or `end` if there is none."""
        if self.pattern is None or end == len(self.text):
            return end
        for stop in range(end + 1, least + 1, -_LOOK):
            if edges := self._edges(max(stop - _LOOK, least + 1), stop):
                return edges[-1]
        whole = pretokenize(self.text[start:end], self.pattern)[:-1]
        # A pattern that matches bytes may end a pretoken within a character, which is then left out.
        last = start + len(b"".join(whole).decode("utf-8", "ignore"))
        fits = last > least and self.may_end(last) and self.count(self.text[start:last]) <= most
        return last if fits else end

    def _start_of_pretoken(self, start: int, end: int) -> int:
        """Return the first start of a pretoken from `start` to before `end`, or `start` if there is none."""
        for first in range(start, end if self.pattern is not None else start, _LOOK):
            if edges := self._edges(first, min(first + _LOOK, end)):
                return edges[0]
        return start

    def _edges(self, start: int, stop: int) -> list[int]:
        """Return the places from `start` to before `stop` that are certain to be between two pretokens."""
        assert self.pattern is not None
        near = self.specials[max(self._after(start) - 1, 0) : self._after(stop)]
        edges = {edge for span in near for edge in span if start <= edge < stop}
        while (place := next_cut(self.text, self.pattern, start, stop)) is not None:
            if self.may_end(place):
                edges.add(place)
            start = place + 1
        return sorted(edges)

    def _after(self, position: int) -> int:
        """Return the number of special tokens that begin before a position."""
        return bisect_right(self.specials, (position, 0))

    def _within(self, start: int, end: int, backward: bool) -> Reach:
        return Reach(self.text, start, end, backward, self.count, self.pattern, self.may_end)

    def may_end(self, position: int) -> bool:
        """Whether a position is outside all special tokens."""
        before = self._after(position)
        return not before or self.specials[before - 1][1] <= position


@dataclass(frozen=True)
class Reach:
    """Finds how far one can go from one end of a range; distances are measured from that end."""

    text: str
    first: int
    last: int
    backward: bool
    count: Callable[[str], int]
    pattern: str | None
    may_end: Callable[[int], bool]

    def position(self, distance: int) -> int:
        """Return the position in the text at a distance."""
        return self.last - distance if self.backward else self.first + distance

    def distance(self, position: int) -> int:
        """Return the distance of a position in the text."""
        return self.last - position if self.backward else position - self.first

    def between(self, near: int, far: int) -> str:
        """Return the text between two distances."""
        start, end = sorted((self.position(near), self.position(far)))
        return self.text[start:end]

    def longest(self, most: int) -> tuple[int, int]:
        """Return the largest distance with at most `most` tokens, and the number of tokens."""
        near, tokens, far = self._bracket(most)
        if far is None:
            return near, tokens
        while (middle := self._cut_between(near, far)) is not None:
            reached = tokens + self.count(self.between(near, middle))
            if reached > most:
                far = middle
            else:
                near, tokens = middle, reached
        return self._longest_without_cut(near, far, most - tokens), most

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
            reached = tokens + self.count(self.between(near, far))
            if reached > most:
                return near, tokens, far
            if place is None:
                step *= 2
            else:
                near, tokens = place, reached
        reached = tokens + self.count(self.between(near, whole))
        return (near, tokens, whole) if reached > most else (whole, reached, None)

    def _longest_without_cut(self, near: int, far: int, most: int) -> int:
        """Return the largest distance below `far` that fits, in a range without cuts."""

        def fits(distance: int) -> bool:
            return self.count(self.between(near, distance)) <= most

        lowest = near
        if far - near > _TRIED:
            short, long = near, far
            while long - short > 1:
                middle = (short + long) // 2
                short, long = (middle, long) if fits(middle) else (short, middle)
            lowest, far = short, min(far, long + _NEAR)
        for distance in range(far - 1, lowest, -1):
            if self.may_end(self.position(distance)) and fits(distance):
                return distance
        while not self.may_end(self.position(lowest)):
            lowest -= 1
        return lowest

    def _cut_between(self, near: int, far: int) -> int | None:
        """Return a cut strictly between two distances, near the middle, as a distance."""
        if self.pattern is None:
            return None
        low, high = sorted((self.position(near), self.position(far)))
        middle = (low + high) // 2
        for start in range(max(middle, low + 1), high, _LOOK):
            place = next_cut(self.text, self.pattern, start, min(start + _LOOK, high))
            if place is not None:
                return self.distance(place)
        for end in range(middle, low, -_LOOK):
            place = last_cut(self.text, self.pattern, max(end - _LOOK, low + 1), end)
            if place is not None:
                return self.distance(place)
        return None


def next_cut(text: str, pattern: str, start: int, end: int) -> int | None:
    """Return the first place from `start` to before `end` that is certain to be between two pretokens.

    >>> next_cut("to be or not", "\\\\S+|\\\\s+", 1, 12)
    2
    """
    first = max(start, 1)
    if first >= end:
        return None
    window = text[first - 1 : end].encode("utf-8")
    place = safe_cut(window, pattern)
    if place is None or place == len(window):
        return None
    return first - 1 + len(window[:place].decode("utf-8"))


def last_cut(text: str, pattern: str, start: int, end: int) -> int | None:
    """Return the last such place."""
    last = None
    while (place := next_cut(text, pattern, start, end)) is not None:
        last, start = place, place + 1
    return last
