"""A pattern in, the same in the syntax of `tokenizers` (Oniguruma with Ruby's syntax) out, and back; a
pattern without an equivalent is an error.

The differences that matter: `{1,3}+` repeats there and is possessive here; `$` and `^` match at every line
there; `(?s:` does not exist there, and `(?m:` means the same; `\\w` and `\\b` include other characters;
`[a[b]]` and `&&` are set operations there.
"""

from __future__ import annotations

import functools
import re
import sys
from contextlib import suppress

from bpetite._engine import read_pattern, same_pattern
from bpetite._internal.lazy import regex
from bpetite.patterns import CL100K, COVERING

_SPELLED = {
    # The interval ends its alternative, so whether it is possessive makes no difference; nor does `$` after a
    # possessive run of white space, which can only end before something else or at the end of the text.
    CL100K: CL100K.replace("{1,3}+", "{1,3}"),
}
_UNSPELLED = {spelled: pattern for pattern, spelled in _SPELLED.items()}

_ESCAPE = r"\\(?:[pP]\{[A-Za-z_]+\}|[sSdDrntfv]|[^\w\s])"
_RANGE_FREE = rf"(?:{_ESCAPE}|(?!&&|--|~~)[^\\\[\]])"
_ATOM = rf"""(?x)
      {_ESCAPE}
    | \[\^?{_RANGE_FREE}+\]
    | \((?:\?(?:i?:|=|!|<=|<!|>)|(?!\?))
    | [)|]
    | (?:[*+?]|\{{\d+,\d*\}}(?!\+))[?+]?
    | \{{\d+\}}(?![?+])
    | [^\\\[\](){{}}*+?|^$]
    """
_CONTEXT = r"\(\?[=!<>]|(?:[*+?]|\{\d+,\d*\})\+|(?<![\\\[])\^|(?<!\\)\$|\\[bBAzZG]"


_CUTS = r"(?s)\(\?>(.+)\)\|\(\?s:\.\)\(\?:\(\?!\1\)\(\?s:\.\)\)\*\+"
"""How a pattern is translated whose empty matches cut text, too."""


def to_oniguruma(pattern: str) -> str:
    """Translate a pattern to the syntax of `tokenizers`; one that it would read differently is refused.

    >>> to_oniguruma(r"\\p{N}{1,3}|\\s+")
    '\\\\p{N}{1,3}|\\\\s+'
    """
    if pattern in _SPELLED:
        return _SPELLED[pattern]
    if found := re.fullmatch(_CUTS, pattern):
        with suppress(ValueError):
            if same_pattern(from_oniguruma(found[1], cuts=True), pattern):
                return found[1]
    for written in (pattern, pattern.replace("(?s:", "(?m:")):
        try:
            if same_pattern(read_pattern(written, "oniguruma"), pattern):
                return written
        except ValueError:
            continue
    raise ValueError(f"pattern {pattern!r:.200}: tokenizers would read it differently")


def from_oniguruma(written: str, *, cuts: bool = False) -> str:
    """Translate a pattern from the syntax of `tokenizers`; one without an equivalent is refused.

    `cuts` says that text is cut at both ends of every match, so that an empty match means something, too.

    >>> from_oniguruma(r"[\\p{L}&&[^\\p{Han}]]+")
    '(?:(?!\\\\p{Han})\\\\p{L})+'
    """
    return _UNSPELLED.get(written) or read_pattern(written, "oniguruma cuts" if cuts else "oniguruma")


def covers_all_text(pattern: str) -> bool:
    """Whether a pattern certainly matches all of every text.

    >>> covers_all_text(CL100K), covers_all_text(r"\\p{L}+")
    (True, False)
    """
    return pattern in COVERING or matches_every_character(pattern)


@functools.lru_cache(maxsize=16)
def matches_every_character(pattern: str) -> bool:
    """Whether alternatives without look-around or possessive repetition match every single character.

    Then the pattern leaves no character of any text unmatched.
    """
    alternatives = [part for part in _alternatives(pattern) if not re.search(_CONTEXT, part)]
    if not alternatives:
        return False
    match = regex.compile("|".join(f"(?:{part})" for part in alternatives), regex.VERSION0).fullmatch
    surrogates = range(0xD800, 0xE000)
    return all(match(chr(code)) for code in range(sys.maxunicode + 1) if code not in surrogates)


def _alternatives(pattern: str) -> list[str]:
    """Split a pattern at the bars outside of groups and classes."""
    parts, depth, start, place = [], 0, 0, 0
    find_atom = re.compile(_ATOM).match  # Compiled here, because few patterns are read by it.
    while atom := find_atom(pattern, place):
        depth += {"(": 1, ")": -1}.get(atom.group()[0], 0)
        if atom.group() == "|" and depth == 0:
            parts.append(pattern[start:place])
            start = atom.end()
        place = atom.end()
    return [*parts, pattern[start:]] if place == len(pattern) else []
