"""Text in, ids out, for vocabularies whose merges begin with characters, as SentencePiece's do.

This is the specification of such encoding. The engine merges bytes: there, the first merges put the bytes of
each character together, and the tests hold it to what is written here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

Rank = Callable[[str, str], int | None]
"""Of two neighbours the rank of their merge, or None where they do not merge."""


def encode(text: str, ids: Mapping[str, int], byte_ids: Mapping[int, int], rank: Rank) -> list[int]:
    """Encode a text, normalized before.

    The text begins as its characters. The two neighbours of the lowest rank are merged, of equal ones the
    leftmost, until none merge. What is no token then is spelled by the tokens of its bytes.

    >>> ids = {"a": 0, "b": 1, "ab": 2}
    >>> encode("abé", ids, {0xC3: 3, 0xA9: 4}, lambda left, right: 0 if left + right == "ab" else None)
    [2, 3, 4]
    """
    symbols = list(text)
    while ranks := [
        (found, place)
        for place, (left, right) in enumerate(pairwise(symbols))
        if (found := rank(left, right)) is not None
    ]:
        _, place = min(ranks)
        symbols[place : place + 2] = [symbols[place] + symbols[place + 1]]
    return [token_id for symbol in symbols for token_id in _ids_of(symbol, ids, byte_ids)]


def _ids_of(symbol: str, ids: Mapping[str, int], byte_ids: Mapping[int, int]) -> list[int]:
    return [ids[symbol]] if symbol in ids else [byte_ids[byte] for byte in symbol.encode("utf-8")]
