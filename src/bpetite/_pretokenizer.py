"""Cuts text into pretokens: the first step of training and encoding, after special tokens are split off.

This is the specification. The default pattern is compiled on import, any other pattern at its first
use.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache

import regex

from bpetite._constants import BYTES, PRETOKENIZER_PATTERN, SPACE, Pattern

_PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_NOT_PRINTABLE = [byte for byte in range(256) if byte not in _PRINTABLE]
_PRINTED = {byte: chr(byte) for byte in _PRINTABLE}
_PRINTED |= {byte: chr(0x100 + place) for place, byte in enumerate(_NOT_PRINTABLE)}
"""The printable character that byte-level tokenizers use for a byte: itself, or one from U+0100 on."""

_BYTE = {character: byte for byte, character in _PRINTED.items()}

_compile = lru_cache(maxsize=None)(regex.compile)
_compile(PRETOKENIZER_PATTERN)


def pretokenize(text: str, pattern: Pattern = PRETOKENIZER_PATTERN) -> list[bytes]:
    """Cut text into pretokens, in order, as UTF-8 bytes; joined, they are the text.

    A pattern may be a list of steps: each step cuts the pieces of the step before, and treats each
    piece as a whole text. The step `SPACE` puts a space before every piece that does not begin with
    one. After the step `BYTES`, expressions match printable characters that stand for single bytes
    (as in byte-level tokenizers), so that they may cut within a character.

    >>> pretokenize("ab ab, it's")
    [b'ab', b' ab', b',', b' it', b"'s"]
    >>> pretokenize("a1 b23", [SPACE, "[0-9]", " ?[a-z]"])
    [b' a', b'1', b' b', b'2', b'3']
    """
    return [piece for piece, _ in pieces(text, pattern)]


def pieces(text: str, pattern: Pattern = PRETOKENIZER_PATTERN) -> list[tuple[bytes, bool]]:
    """Cut text into pieces: the matches of the pattern, and (marked False) the text between two matches.

    Empty matches are not pieces. In a sequence, text between two matches is a piece like any other.

    >>> pieces("to be", r"[a-z]+")
    [(b'to', True), (b' ', False), (b'be', True)]
    """
    steps = [pattern] if isinstance(pattern, str) else pattern
    if len(steps) == 1 and steps[0] not in (SPACE, BYTES):
        return [(piece.encode("utf-8"), is_match) for piece, is_match in _cut(text, steps[0])]
    texts = [text] if text else []
    for step in steps:
        texts = list(_after_step(step, texts))
    if BYTES in steps:
        return [(bytes(_BYTE[character] for character in piece), True) for piece in texts]
    return [(piece.encode("utf-8"), True) for piece in texts]


def _after_step(step: str, texts: Sequence[str]) -> Iterator[str]:
    """Yield what a step of a sequence makes of the pieces of the step before."""
    for text in texts:
        if step == SPACE:
            yield text if text.startswith(" ") else " " + text
        elif step == BYTES:
            yield "".join(_PRINTED[byte] for byte in text.encode("utf-8"))
        else:
            for piece, _ in _cut(text, step):
                yield piece


def _cut(text: str, expression: str) -> list[tuple[str, bool]]:
    """Cut text once, by a regular expression."""
    cuts: list[tuple[str, bool]] = []
    position = 0
    for match in _compile(expression).finditer(text):
        if match[0]:
            cuts.append((text[position : match.start()], False))
            cuts.append((match[0], True))
            position = match.end()
    cuts.append((text[position:], False))
    return [(piece, is_match) for piece, is_match in cuts if piece]


def split_at_specials(text: str, special_tokens: Sequence[str]) -> list[tuple[str, bool]]:
    """Split text at special tokens (marked True): the leftmost first, and the longest of those at one place.

    >>> split_at_specials("a<|x|>b", ["<|x|>"])
    [('a', False), ('<|x|>', True), ('b', False)]
    """
    if not special_tokens:
        return [(text, False)] if text else []
    longest_first = sorted(special_tokens, key=len, reverse=True)
    alternatives = "|".join(map(regex.escape, longest_first))
    cuts = _compile(f"({alternatives})").split(text)
    # As the expression is a group, every second cut is a match of it.
    return [(cut, index % 2 == 1) for index, cut in enumerate(cuts) if cut]
