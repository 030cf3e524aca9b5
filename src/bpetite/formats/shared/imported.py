"""What reading another library's file gives: a vocabulary, and what had to be assumed to get it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bpetite._constants import UNICODE_VERSION
from bpetite.patterns import pattern_name
from bpetite.vocabulary import Vocabulary


@dataclass(frozen=True)
class Imported:
    """A vocabulary that came out of another library's file."""

    vocabulary: Vocabulary

    assumptions: Sequence[str] = ()
    """What the file does not say, in sentences for a person."""

    content: bytes | None = None
    """The file itself, where all that is in it can be written back."""


def assumed_pattern(pattern: str, source: str) -> str:
    """Say which pattern is used and where it is from."""
    name = pattern_name(pattern)
    return f"pretokens are cut by {name or repr(pattern)} ({source})"


UNICODE_ASSUMPTION = (
    f"letters, digits and white space are those of Unicode {UNICODE_VERSION}; "
    "a library with older tables may cut text with newer characters elsewhere"
)
"""Every import assumes this, as no file says which tables it was made with."""
