"""Known sequences of patterns in, an equivalent single pattern out, which is faster.

In a sequence, each pattern is applied to the pieces of the one before, each as if it were a whole text. In
the single pattern, every alternative stops where such a piece would end, and treats this place as the end of
a text.
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
"""GPT-2's pattern on the text between digits: its own alternative for digits is unused."""

_SINGLE: dict[tuple[str, ...], str] = {
    _DEEPSEEK: DEEPSEEK_V3,
    **{
        (digits, PATTERNS["gpt2"]): _GPT2_BETWEEN_DIGITS % digits
        for digits in (r"\p{N}", r"\p{N}+", r"\p{N}{1,3}", r"\p{N}{1,2}")
    },
}


def single_pattern(patterns: Sequence[str]) -> str | None:
    """Return the single pattern that is equivalent to a sequence, or None if it is not known."""
    return _SINGLE.get(tuple(patterns))
