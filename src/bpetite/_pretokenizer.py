"""Text in, pretokens out: the first step of training and of encoding, once special tokens are set apart.

The canonical pattern is compiled once, when this module is imported; any other pattern when it is first used.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import regex

from bpetite._constants import PRETOKENIZER_PATTERN

_compile = lru_cache(maxsize=None)(regex.compile)
_compile(PRETOKENIZER_PATTERN)


def pretokenize(text: str, pattern: str = PRETOKENIZER_PATTERN) -> list[bytes]:
    """Cut text into pretokens, in source order, as UTF-8 bytes; joined, they are the text.

    >>> pretokenize("ab ab, it's")
    [b'ab', b' ab', b',', b' it', b"'s"]
    """
    return [piece.encode("utf-8") for piece, _ in pieces(text, pattern)]


def pieces(text: str, pattern: str = PRETOKENIZER_PATTERN) -> list[tuple[str, bool]]:
    """Cut text into pieces: what the pattern matches, and (marked False) what lies between two matches.

    Empty matches are no pieces.

    >>> pieces("to be", r"[a-z]+")
    [('to', True), (' ', False), ('be', True)]
    """
    found: list[tuple[str, bool]] = []
    position = 0
    for match in _compile(pattern).finditer(text):
        start, end = match.span()
        if start == end:
            continue
        if position < start:
            found.append((text[position:start], False))
        found.append((text[start:end], True))
        position = end
    if position < len(text):
        found.append((text[position:], False))
    return found


def split_at_specials(text: str, special_tokens: Sequence[str]) -> list[tuple[str, bool]]:
    """Cut text into segments and special tokens (marked True): the leftmost, and there the longest.

    >>> split_at_specials("a<|x|>b", ["<|x|>"])
    [('a', False), ('<|x|>', True), ('b', False)]
    """
    if not special_tokens:
        return [(text, False)] if text else []
    longest_first = sorted(special_tokens, key=len, reverse=True)
    cuts = _compile("(" + "|".join(regex.escape(token) for token in longest_first) + ")").split(text)
    return [(cut, index % 2 == 1) for index, cut in enumerate(cuts) if cut]
