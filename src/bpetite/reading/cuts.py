"""Patterns and special tokens in, a function out that finds where a long text may be cut.

Cutting there changes neither pretokens nor special tokens, nor the number of non-empty texts
between special tokens, so a document of any size can be read in constant memory. If this cannot be
proved for all patterns, there is no such place, and each document is held in memory as a whole.
"""

from collections.abc import Callable, Iterable, Sequence

from bpetite._constants import Pattern
from bpetite._engine import safe_cut

_WINDOW, _WINDOWS = 1 << 12, 64
"""The bytes of the windows that are searched one after the other, from the end, and their number."""

_TRIES = 16
"""How often each pattern may propose another place in a window."""

Cut = Callable[[bytes], int | None]


def cutter(patterns: Sequence[Pattern], special_tokens: Iterable[str]) -> Cut:
    """Return a function that finds a place near the end of a text, or None."""
    specials = [token.encode("utf-8") for token in special_tokens]
    margin = max(map(len, specials), default=0) + 256
    patterns = list(dict.fromkeys(patterns))

    def cut(text: bytes) -> int | None:
        end = len(text) - margin
        for _ in range(_WINDOWS):
            start = end - _WINDOW
            if start < 0:
                break
            place = _agreed(text, start, end, patterns)
            if place is not None and not any(
                _touches(text, place, special) for special in specials
            ):
                return place
            end = start
        return None

    return cut


def _agreed(text: bytes, start: int, end: int, patterns: Sequence[Pattern]) -> int | None:
    """Return the first place, soon found, between two positions that is safe for all patterns."""
    for _ in range(_TRIES):
        places = {_cut_within(text, start, end, pattern) for pattern in patterns}
        if None in places or len(places) == 1:
            return None if None in places else places.pop()
        start = max(place for place in places if place is not None) - 1
        while text[start] & 0xC0 == 0x80:
            start -= 1
    return None


def _cut_within(text: bytes, start: int, end: int, pattern: Pattern) -> int | None:
    """Return the first safe place between two positions, which may lie within characters."""
    while start < end and text[start] & 0xC0 == 0x80:
        start += 1
    while end > start and text[end] & 0xC0 == 0x80:
        end -= 1
    try:
        place = safe_cut(text[start:end], pattern)
    except ValueError:
        return None
    return None if place is None else start + place


def _touches(text: bytes, place: int, special: bytes) -> bool:
    """Whether a special token contains a place, or begins or ends there."""
    return special in text[max(0, place - len(special)) : place + len(special)]
