"""Finds how much of a text fits a number of tokens, for `Tokenizer.fit` and `Tokenizer.chunks`.

The text is cut at places where the pattern is known to begin a new pretoken. Token counts of parts
add up there, so each part is counted once. Between two such places every length is tried, the
longest first, because a longer text may have fewer tokens ("hell" may be two tokens, and "hello"
one).
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from heapq import merge
from typing import Literal, NamedTuple

from bpetite._constants import Pattern
from bpetite._engine import pretokenize, safe_cut

Side = Literal["right", "left"]
"""The side of a text from which tokens are left out."""

_LOOK = 256
"""The number of characters that are searched at a time for a cut."""

_TRIED = 1024
"""In a longer range without a cut, only lengths near the result of a bisection are tried."""

_NEAR = 128
"""That distance in characters: longer than almost all tokens."""


@lru_cache(maxsize=128)
def any_of(texts: frozenset[str]) -> re.Pattern[str]:
    """Return a pattern that finds texts: the leftmost, and there the longest.

    >>> any_of(frozenset(["<x>", "<x><y>"])).findall("a<x>b<x><y>")
    ['<x>', '<x><y>']
    """
    longest_first = sorted(texts, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)) if texts else "(?!)")


class Chunk(NamedTuple):
    """A part of a text."""

    text: str
    ids: list[int]
    """The ids of this part, encoded on its own."""
    start: int
    """The start of the part in the text, in characters."""
    end: int


class Fitting(NamedTuple):
    """A text that is searched for parts of at most a given number of tokens."""

    text: str
    tokens_in: Callable[[str], int]
    """Counts the tokens of a part, special tokens included."""
    pattern: Pattern | None
    """The pattern that decides on cuts, or None if counts of parts do not add up."""
    edges: Sequence[int]
    """The starts and ends of special tokens, in order; no part begins or ends within one."""

    def spans(self, size: int, overlap: int) -> Iterator[tuple[int, int]]:
        """Divide the text into parts of at most `size` tokens; neighbours share up to `overlap` tokens."""
        start = end = 0
        while end < len(self.text):
            furthest = self.furthest(start, len(self.text), size)
            if furthest <= end and start < end:  # with the shared tokens, no new text would fit
                start = end
                continue
            if furthest == start:
                raise ValueError(
                    f"{self.text[start]!r} at character {start} takes more than {size} tokens"
                )
            end = self._end_of_pretoken(start, max(start, end), furthest, size)
            yield start, end
            shared = self.furthest(end, 0, overlap) if overlap else end
            shared = next(self.cuts(shared, end), shared)
            start = shared if shared > start else end

    def _end_of_pretoken(self, start: int, least: int, end: int, most: int) -> int:
        """Return the last end of a pretoken after `least` and up to `end`, or `end` if there is none."""
        if self.pattern is None or end == len(self.text):
            return end
        if (cut := self.last_cut(least + 1, end + 1)) is not None:
            return cut
        whole = pretokenize(self.text[start:end], self.pattern)[:-1]
        # A pattern that matches bytes may end a pretoken within a character, which is then left
        # out.
        last = start + len(b"".join(whole).decode("utf-8", "ignore"))
        fits = last > least and self.may_end(last) and self.tokens_in(self.text[start:last]) <= most
        return last if fits else end

    def cuts(self, start: int, stop: int) -> Iterator[int]:
        """Yield the places from `start` to before `stop` that are certain to be between two pretokens."""
        if self.pattern is None:
            return
        for first in range(start, stop, _LOOK):
            end = min(first + _LOOK, stop)
            edges = self.edges[bisect_left(self.edges, first) : bisect_left(self.edges, end)]
            found = filter(self.may_end, pattern_cuts(self.text, self.pattern, first, end))
            yield from merge(edges, found)

    def last_cut(self, start: int, stop: int) -> int | None:
        """Return the last place from `start` to before `stop` that is certain to be between two pretokens."""
        for end in range(stop, start, -_LOOK):
            if cuts := list(self.cuts(max(end - _LOOK, start), end)):
                return cuts[-1]
        return None

    def may_end(self, position: int) -> bool:
        """Whether a position is outside all special tokens."""
        place = bisect_left(self.edges, position)
        return place % 2 == 0 or self.edges[place] == position

    def _count(self, one: int, other: int) -> int:
        """Count the tokens of the text between two positions."""
        return self.tokens_in(self.text[min(one, other) : max(one, other)])

    def furthest(self, start: int, limit: int, most: int) -> int:
        """Return the position furthest from `start`, and not beyond `limit`, with at most `most` tokens.

        Counts go from cut to cut: in steps until too many tokens are reached, then by bisection.
        """
        toward = 1 if start <= limit else -1
        near, step = start, 4 * most + _LOOK
        far: int | None = None
        while True:
            if far is not None:
                place = self._cut_between(near, far)
                if place is None:
                    return self._furthest_without_cut(near, far, most)
            elif abs(limit - near) <= step:
                place = limit
            else:
                end = near + toward * step
                place = self._cut_between(near + toward * (step // 2), end)
                if place is None:
                    far = end if step > _TRIED and self._count(near, end) > most else None
                    step *= 2
                    continue
            tokens = self._count(near, place)
            if tokens > most:
                far = place
            elif place == limit:
                return limit
            else:
                near, most = place, most - tokens

    def _furthest_without_cut(self, near: int, far: int, most: int) -> int:
        """Return the position furthest from `near`, before `far`, that fits, in a range without cuts."""
        places = range(near, far, 1 if near <= far else -1)
        count = partial(self._count, near)
        if len(places) > _TRIED:
            places = places[: bisect_right(places, most, key=count) + _NEAR]
        return next(
            place for place in reversed(places) if self.may_end(place) and count(place) <= most
        )

    def _cut_between(self, one: int, other: int) -> int | None:
        """Return a cut strictly between two positions, near the middle."""
        low, high = sorted((one, other))
        middle = max((low + high) // 2, low + 1)
        place = next(self.cuts(middle, high), None)
        return self.last_cut(low + 1, middle) if place is None else place


def pattern_cuts(text: str, pattern: Pattern, start: int, end: int) -> Iterator[int]:
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
