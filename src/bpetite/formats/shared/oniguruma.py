"""A pattern in, the same in the syntax of `tokenizers` (Oniguruma with Ruby's syntax) out, and back; a
pattern without an equivalent is an error.

The differences that matter: `{1,3}+` repeats there and is possessive here; `$` and `^` match at every line
there; `(?s:` does not exist there, and `(?m:` means the same; `\\w` and `\\b` include other characters;
`[a[b]]` and `&&` are set operations there.
"""

from __future__ import annotations

import re
from contextlib import suppress

from bpetite._engine import read_pattern, same_pattern
from bpetite.patterns import CL100K

_SPELLED = {
    # The interval ends its alternative, so whether it is possessive makes no difference; nor does `$` after a
    # possessive run of white space, which can only end before something else or at the end of the text.
    CL100K: CL100K.replace("{1,3}+", "{1,3}"),
}
_UNSPELLED = {spelled: pattern for pattern, spelled in _SPELLED.items()}

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
    '(?:(?=[\\\\p{L}])[^\\\\p{Han}])+'
    """
    return _UNSPELLED.get(written) or read_pattern(written, "oniguruma cuts" if cuts else "oniguruma")
