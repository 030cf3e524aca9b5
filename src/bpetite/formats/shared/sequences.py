"""Sequences of patterns in, the one pattern that cuts text in the same way out, and back: where one is known.

In a sequence each pattern is applied to the pieces that the earlier ones left, each as if it were a whole
text. Written as one pattern, every alternative must stop where a piece would end, and see an end there.
"""

from __future__ import annotations

from collections.abc import Sequence

from bpetite.patterns import CJK, DEEPSEEK_V3, PATTERNS

_DEEPSEEK = (
    r"\p{N}{1,3}",
    f"[{CJK}]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"""
    r"|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)
"""DeepSeek V3 and R1: digits, then Chinese and Japanese, then the rest."""

_GPT2_BETWEEN_DIGITS = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+|%s| ?[^\s\p{L}\p{N}]+|\s+(?![^\s\p{N}])|\s+"
"""GPT-2's pattern on what lies between digits: there its own digits match nothing, and a digit is an end."""

_SINGLE: dict[tuple[str, ...], str] = {
    _DEEPSEEK: DEEPSEEK_V3,
    **{
        (digits, PATTERNS["gpt2"]): _GPT2_BETWEEN_DIGITS % digits
        for digits in (r"\p{N}", r"\p{N}+", r"\p{N}{1,3}", r"\p{N}{1,2}")
    },
}
_SEQUENCE = {single: sequence for sequence, single in _SINGLE.items()}


def single_pattern(patterns: Sequence[str]) -> str | None:
    """Return the one pattern that does what the sequence does, or None where it is not known."""
    return _SINGLE.get(tuple(patterns))


def sequence_of(pattern: str) -> tuple[str, ...]:
    """Return the sequence that a pattern stands for; most stand for themselves.

    >>> sequence_of("a+")
    ('a+',)
    """
    return _SEQUENCE.get(pattern, (pattern,))
