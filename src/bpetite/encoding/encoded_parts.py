"""The ids of a text in parts, for `Tokenizer.encode_parts`."""

from __future__ import annotations

from typing import NamedTuple


class EncodedParts(NamedTuple):
    """The ids of the joined text of parts."""

    ids: list[int]
    parts: list[int]
    """Of each id, the number of the part in which it begins."""
