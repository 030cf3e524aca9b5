"""How a pattern cuts text, in words: for `inspect`, and on stderr for the commands that cut much."""

from __future__ import annotations

import sys

WAYS = {
    "masks": "masks, hundreds of bytes at a time",
    "automaton": "an automaton, one character at a time",
    "machine": "the regex machine, which is slow and takes one thread for a document (see docs/patterns.md)",
}


def way_note(way: str) -> str | None:
    """Return a line about how the pattern cuts text, where that is slow or somebody watches."""
    if way == "machine" or sys.stderr.isatty():
        return f"the pattern cuts text by {WAYS[way]}"
    return None
