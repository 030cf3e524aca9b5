"""Normalizing as SentencePiece does: a text in, the normalized text and the place of each character out.

This is the specification. The normalizers of `tokenizers` are functions from text to text; this one is a
walk through the text that no sequence of them replaces, as what it does with spaces depends on user-defined
pieces. What it gives is searched for these pieces (`_added_tokens.py`), and then merged.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

MARK = "\u2581"
"""What each space becomes."""

_LONGEST = 32
"""The most characters of a user-defined piece, or of a text that is replaced."""

Places = list[tuple[int, int]]
"""The start and end, in the text that was given, of each character."""


def normalize(
    text: str,
    replaced: Mapping[str, str],
    user_defined: Collection[str],
    *,
    puts_space: bool = True,
    removes_spaces: bool = True,
) -> tuple[str, Places]:
    """Normalize a text by a map of texts, without touching the user-defined pieces in it.

    At each place the longest piece is taken as it is, or else the longest text of the map is replaced, or
    else one character is taken. `removes_spaces` drops spaces at both ends of the text and those behind
    another space, but none within or behind other characters of a piece; `puts_space` puts one before it.

    >>> normalize(" a  ﬁ ", {"ﬁ": "fi"}, [])
    ('▁a▁fi', [(1, 1), (1, 2), (2, 3), (4, 5), (4, 5)])
    >>> normalize("a  b", {}, ["  "])[0], normalize("a   b", {}, ["  "], puts_space=False)[0]
    ('▁a▁▁b', 'a▁▁b')
    """
    start = 0
    while removes_spaces and start < len(text):
        end, new = _next(text, start, replaced, user_defined)
        if new != " ":
            break
        start = end
    if start == len(text):
        return "", []
    normalized: list[str] = []
    places: Places = []
    if puts_space:
        normalized.append(MARK)
        places.append((start, start))
    is_behind_space = removes_spaces
    while start < len(text):
        end, new = _next(text, start, replaced, user_defined)
        if is_behind_space:
            new = new.lstrip(" ")
        normalized += new.replace(" ", MARK)
        places += [(start, end)] * len(new)
        if new:
            is_behind_space = removes_spaces and new.endswith(" ")
        start = end
    while removes_spaces and normalized[-1:] == [MARK]:
        del normalized[-1], places[-1]
    return "".join(normalized), places


def _next(
    text: str, start: int, replaced: Mapping[str, str], user_defined: Collection[str]
) -> tuple[int, str]:
    """Return the end of what is taken at a place, and what it becomes."""
    piece = _longest(text, start, user_defined)
    if piece:
        return start + len(piece), piece
    key = _longest(text, start, replaced)
    return (start + len(key), replaced[key]) if key else (start + 1, text[start])


def _longest(text: str, start: int, texts: Collection[str]) -> str:
    """Return the longest of the texts that stands at a place, or none."""
    here = (text[start : start + length] for length in range(_LONGEST, 0, -1))
    return next((found for found in here if found in texts), "")
