"""Texts of tokens in, whether two of them may overlap in a longer text out."""

from __future__ import annotations

from collections.abc import Collection

_MOST_COMPARED = 10_000_000
"""The maximum total length of prefixes that are searched for overlaps; beyond it, one is assumed."""


def overlap(first: Collection[str], second: Collection[str]) -> bool:
    """Whether a text of one list may overlap with a text of the other.

    >>> overlap(["<a>"], ["<b>"]), overlap(["<a>"], [">x"])
    (False, True)
    """
    if sum(len(text) ** 2 for text in (*first, *second)) > _MOST_COMPARED:
        return True
    return _begins_within(first, second) or _begins_within(second, first)


def _begins_within(texts: Collection[str], others: Collection[str]) -> bool:
    """Whether one of the texts lies within one of the others, or begins there and reaches past its end."""
    whole, beginnings = set(texts), {text[:end] for text in texts for end in range(1, len(text))}
    first_characters = {text[0] for text in texts}
    lengths = sorted({len(text) for text in texts})
    return any(
        other[start:] in beginnings or any(other[start : start + length] in whole for length in lengths)
        for other in others
        for start, character in enumerate(other)
        if character in first_characters
    )
