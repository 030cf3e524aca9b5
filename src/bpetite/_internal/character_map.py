"""Texts and what replaces them in, a function that replaces them in a text out.

At each place of a text, the longest of the texts there is replaced. The result is not searched again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache


class CharacterMap:
    """Replaces texts.

    >>> CharacterMap({"a": "b", "ab": "", "b": "a"})("aabb")
    'ba'
    """

    def __init__(self, replaced: Mapping[str, str]) -> None:
        self._replaced = replaced
        lengths: dict[str, set[int]] = {}
        for key in replaced:
            lengths.setdefault(key[0], set()).add(len(key))
        self._lengths = {first: sorted(found, reverse=True) for first, found in lengths.items()}
        self._search = re.compile(f"[{''.join(map(re.escape, lengths))}]").search if lengths else None

    def __call__(self, text: str) -> str:
        """Replace what is to be replaced in a text."""
        return "".join(part for part, _, _ in self.parts(text))

    def parts(self, text: str) -> Iterator[tuple[str, int, int | None]]:
        """Yield the parts of the new text, each with its start in the old text. A part that replaces others
        comes with their end, too; all others are as they were."""
        kept = start = 0
        while self._search and (match := self._search(text, start)):
            start = match.start()
            for length in self._lengths[match.group()]:
                new = self._replaced.get(text[start : start + length])
                if new is not None and start + length <= len(text):
                    yield text[kept:start], kept, None
                    yield new, start, start + length
                    kept = start = start + length
                    break
            else:
                start += 1
        yield text[kept:], kept, None


@lru_cache(maxsize=8)
def character_map(written: str) -> CharacterMap:
    """Return the map that is written as a JSON object.

    >>> character_map('{"A": "a"}')("ABA")
    'aBa'
    """
    try:
        replaced = json.loads(written)
    except (ValueError, RecursionError):
        replaced = None
    if not isinstance(replaced, dict) or not all(isinstance(new, str) for new in replaced.values()):
        raise ValueError(f"normalization: {written!r:.80} is not a JSON object of texts")
    if "" in replaced:
        raise ValueError("normalization: a map cannot replace an empty text")
    for text in (*replaced, *replaced.values()):
        text.encode("utf-8")
    return CharacterMap(replaced)
