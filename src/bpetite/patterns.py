"""Named patterns: the regular expressions that cut text into pretokens.

A pattern is written in the syntax of the `regex` module. Each match, from left to right, is a
pretoken; so is the text between two matches, so that no text is lost. A pattern may also be a list
of such steps.
"""

import re
from contextlib import suppress

from bpetite._constants import PRETOKENIZER_PATTERN, SUPERWORDS_PATTERN, Pattern
from bpetite._engine import read_pattern, same_pattern

CL100K = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"""
    r"""|\s++$|\s*[\r\n]|\s+(?!\S)|\s"""
)

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = (
    _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + _SPACES
)
QWEN3_5 = (
    _CONTRACTIONS
    + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|"
    + _SPACES
)


def _by_capitals(upper: str, lower: str, ending: str) -> str:
    """Return the words of o200k and similar patterns: capitals, then small letters, at least one letter."""
    before = r"[^\r\n\p{L}\p{N}]?"
    return f"{before}{upper}*{lower}+{ending}|{before}{upper}+{lower}*{ending}"


_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_WORDS = _by_capitals(_UPPER, _LOWER, f"{_CONTRACTIONS}?")
O200K = rf"{_WORDS}|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_SPACES}"
TEKKEN = rf"{_by_capitals(_UPPER, _LOWER, '')}|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_SPACES}"

_NO_HAN = r"(?:(?!\p{Han})%s)"
_WORDS_WITHOUT_HAN = _by_capitals(_NO_HAN % _UPPER, _NO_HAN % _LOWER, f"{_CONTRACTIONS}?")
KIMI_K2 = (
    rf"[\p{{Han}}]+|{_WORDS_WITHOUT_HAN}|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_SPACES}"
)

NANOCHAT = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*"""
    r"""|\s*[\r\n]|\s+(?!\S)|\s+"""
)
STARCODER = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?![^\s\p{N}])|\s+"

CJK = "一-龥぀-ゟ゠-ヿ"
DEEPSEEK_V3 = "|".join(
    [
        r"\p{N}{1,3}",
        r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+""",
        rf"[^\r\n\p{{L}}\p{{P}}\p{{S}}\p{{N}}{CJK}]?(?:(?![{CJK}])[\p{{L}}\p{{M}}])+",
        rf" ?(?:(?![{CJK}])[\p{{P}}\p{{S}}])+[\r\n]*",
        r"\s*[\r\n]+",
        rf"\s+(?![^\s\p{{N}}{CJK}])",
        r"\s+",
        rf"(?:(?=[{CJK}])[^\p{{L}}\p{{P}}\p{{S}}])?(?:(?=[{CJK}])[\p{{L}}\p{{M}}])+",
        rf"(?:(?=[{CJK}])[\p{{P}}\p{{S}}])+",
        rf"(?:(?=[{CJK}])[^\p{{L}}\p{{M}}\p{{P}}\p{{S}}])+(?!(?=[{CJK}])[\p{{L}}\p{{M}}])",
    ]
)
"""DeepSeek applies three patterns in sequence: digits, then Chinese and Japanese, then the rest. This single
expression is equivalent: each alternative stops where an earlier pattern would have cut."""

PATTERNS: dict[str, str] = {
    "gpt2": PRETOKENIZER_PATTERN,
    "cl100k": CL100K,
    "o200k": O200K,
    "llama3": LLAMA3,
    "qwen2": LLAMA3.replace("{1,3}", ""),
    "qwen3.5": QWEN3_5,
    "deepseek-v3": DEEPSEEK_V3,
    "tekken": TEKKEN,
    "kimi-k2": KIMI_K2,
    "nanochat": NANOCHAT,
    "starcoder": STARCODER,
    "superwords": SUPERWORDS_PATTERN,
    "whitespace": r"\S+|\s+",
    "none": r"(?s:.+)",
}
"""The named patterns; `docs/patterns.md` says which models use them."""


_DEEPSEEK = (
    r"\p{N}{1,3}",
    f"[{CJK}]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"""
    r"|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)
"""DeepSeek V3 and R1: digits, then Chinese and Japanese, then the rest."""

_GPT2_BETWEEN_DIGITS = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+|%s| ?[^\s\p{L}\p{N}]+|\s+(?![^\s\p{N}])|\s+"
"""GPT-2's pattern on the text between digits: its own alternative for digits is unused."""

SINGLE: dict[tuple[str, ...], str] = {
    _DEEPSEEK: DEEPSEEK_V3,
    **{
        (digits, PATTERNS["gpt2"]): _GPT2_BETWEEN_DIGITS % digits
        for digits in (r"\p{N}", r"\p{N}+", r"\p{N}{1,3}", r"\p{N}{1,2}")
    },
}
"""Sequences of patterns, each applied to the pieces of the one before, and a single pattern that does the
same faster: its alternatives stop where such a piece would end, and treat this place as the end of a text."""


def pattern_steps(pattern: Pattern) -> tuple[str, ...]:
    """Return the steps of a pattern.

    >>> pattern_steps("a+"), pattern_steps(["a", "b"])
    (('a+',), ('a', 'b'))
    """
    return (pattern,) if isinstance(pattern, str) else tuple(pattern)


def checked_pattern(pattern: object) -> Pattern:
    """Return a pattern in canonical form: its only step, or a tuple of several.

    >>> checked_pattern(["a+"]), checked_pattern(["a", "b"])
    ('a+', ('a', 'b'))
    """
    steps = [pattern] if isinstance(pattern, str) else pattern
    if not isinstance(steps, list | tuple) or not all(isinstance(step, str) for step in steps):
        raise TypeError(f"pattern must be a str or a list of them, not {pattern!r:.80}")
    return steps[0] if len(steps) == 1 else tuple(steps)


def named_pattern(pattern: object) -> Pattern:
    """Return a pattern in canonical form, with regular expressions instead of names.

    A single word that is not a name is refused: as a regular expression it would match only itself.

    >>> named_pattern("whitespace"), named_pattern(["[0-9]", "whitespace"])
    ('\\\\S+|\\\\s+', ('[0-9]', '\\\\S+|\\\\s+'))
    """
    return checked_pattern([_expression(step) for step in pattern_steps(checked_pattern(pattern))])


def _expression(pattern: str) -> str:
    if pattern in PATTERNS or not is_word(pattern):
        return PATTERNS.get(pattern) or _without_intersections(pattern)
    raise ValueError(
        f"there is no pattern named {pattern!r} "
        f"(named patterns: {', '.join(PATTERNS)}; to match just this word, write '(?:{pattern})')"
    )


def _without_intersections(pattern: str) -> str:
    """Return a pattern whose sets have no `&&[`, which our syntax refuses.

    It is translated if the engines that know the operation read the whole pattern alike: Rust's,
    Oniguruma, and with them version 1 of `regex`. A pattern that has a name becomes the named one.

    >>> _without_intersections(r"[\\p{L}&&[^\\p{Han}]]+")
    '(?:(?=[\\\\p{L}])[^\\\\p{Han}])+'
    """
    if "&&[" not in pattern:
        return pattern
    with suppress(ValueError):
        read = read_pattern(pattern, "rust")
        if same_pattern(read, read_pattern(pattern, "oniguruma")):
            return next((named for named in PATTERNS.values() if same_pattern(named, read)), read)
    return pattern


def is_word(pattern: str) -> bool:
    """Whether a string such as `llama-3` or `qwen3.5` is meant as a name, not as a regular expression.

    >>> is_word("qwen3.5"), is_word("[a-z]+"), is_word("a.b")
    (True, False, False)
    """
    return re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{2,60}(?:\.[0-9]+)?", pattern) is not None


def pattern_name(pattern: Pattern) -> str | None:
    """Return the name of a pattern, if it has one."""
    return next((name for name, expression in PATTERNS.items() if expression == pattern), None)
