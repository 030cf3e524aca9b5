"""Named pre-tokenizer patterns: a name or a regular expression in, the regular expression out.

A pattern is written in the syntax of the `regex` module. What it matches, from left to right, is a pretoken;
text between two matches is a pretoken of its own, so that nothing is ever lost.
"""

from __future__ import annotations

import re

from bpetite._constants import PRETOKENIZER_PATTERN

CL100K = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"""
    r"""|\s++$|\s*[\r\n]|\s+(?!\S)|\s"""
)

_UPPER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}"
_LOWER = r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
_ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K = "|".join(
    [
        rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]*[{_LOWER}]+{_ENDING}",
        rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]+[{_LOWER}]*{_ENDING}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)

PATTERNS: dict[str, str] = {
    "gpt2": PRETOKENIZER_PATTERN,
    "cl100k": CL100K,
    "o200k": O200K,
    "whitespace": r"\S+|\s+",
    "none": r"(?s:.+)",
}
"""The named patterns; the engine scans each of them without a regex machine."""


_PART = re.compile(r"(?s)\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?then\)|.")


def pattern_steps(pattern: str) -> list[str]:
    """Return the steps of a pattern: most are one step, a sequence is joined by `(?then)`.

    >>> pattern_steps("a(?then)[(?then)]")
    ['a', '[(?then)]']
    """
    found = [""]
    for part in _PART.findall(pattern) if "(?then)" in pattern else [pattern]:
        if part == "(?then)":
            found.append("")
        else:
            found[-1] += part
    return found


def named_pattern(pattern: str) -> str:
    """Return the regular expression of a named pattern; any other string is one already.

    A single word that names no pattern is refused: as a regular expression it would match nothing but itself.

    >>> named_pattern("whitespace")
    '\\\\S+|\\\\s+'
    """
    if pattern in PATTERNS or not _WORD.fullmatch(pattern):
        return PATTERNS.get(pattern, pattern)
    from difflib import get_close_matches  # Only who mistypes waits for it.

    beginning = pattern.lower().replace("-", "_").split("_")[0]
    near = beginning if beginning in PATTERNS else next(iter(get_close_matches(pattern, PATTERNS)), None)
    raise ValueError(
        f"there is no pattern named {pattern!r}{f'; did you mean {near!r}?' if near else ''} "
        f"(named patterns: {', '.join(PATTERNS)}; to match just this word, write '(?:{pattern})')"
    )


_WORD = re.compile("[A-Za-z][A-Za-z0-9_-]{2,}")
"""What is meant as a name: a regular expression worth using has more to it."""


def pattern_name(pattern: str) -> str | None:
    """Return the name of a regular expression that has one."""
    return next((name for name, expression in PATTERNS.items() if expression == pattern), None)
