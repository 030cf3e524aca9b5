"""How a pattern cuts text, in words: for `inspect`, and on stderr for the commands that cut much."""

from __future__ import annotations

import sys

WAYS = {
    "masks": "masks, hundreds of bytes at a time",
    "automaton": "an automaton, one character at a time",
    "machine": "the regex machine, which is slow and takes one thread for a document (see docs/patterns.md)",
}


def say_way(way: str, *, quiet: bool) -> None:
    """Say on stderr how the pattern cuts text: always where that is slow, else where somebody watches."""
    if not quiet and (way == "machine" or sys.stderr.isatty()):
        print(f"the pattern cuts text by {WAYS[way]}", file=sys.stderr)
