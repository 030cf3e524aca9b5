"""Encoding with merges that begin with characters, as in SentencePiece's vocabularies.

This is the specification. The engine merges bytes: there, the first merges join the bytes of each character,
and the tests check that the result is the same.
"""

from collections.abc import Callable, Mapping
from itertools import pairwise

Rank = Callable[[str, str], int | None]
"""Returns the rank of the merge of two neighbours, or None if they do not merge."""


def encode(
    text: str,
    ids: Mapping[str, int],
    byte_ids: Mapping[int, int],
    rank: Rank,
    unknown: tuple[int, bool] | None = None,
) -> list[int]:
    """Encode a normalized text.

    The text starts as a list of characters. The two neighbours of the lowest rank are merged, the leftmost
    among equals, until none merge. A symbol that is not a token then becomes the tokens of its bytes, or
    `unknown`: the id for such symbols, and whether it stands once for successive ones.

    >>> ids = {"a": 0, "b": 1, "ab": 2}
    >>> encode("abé", ids, {0xC3: 3, 0xA9: 4}, lambda left, right: 0 if left + right == "ab" else None)
    [2, 3, 4]
    >>> encode("abéß", ids, {}, lambda left, right: None, unknown=(5, True))
    [0, 1, 5]
    """
    symbols = list(text)
    while ranks := [
        (found, place)
        for place, (left, right) in enumerate(pairwise(symbols))
        if (found := rank(left, right)) is not None
    ]:
        _, place = min(ranks)
        symbols[place : place + 2] = [symbols[place] + symbols[place + 1]]
    if unknown is None:
        return [token_id for symbol in symbols for token_id in _ids_of(symbol, ids, byte_ids)]
    encoded: list[int] = []
    for symbol in symbols:
        token_id = ids.get(symbol, unknown[0])
        if not (unknown[1] and encoded[-1:] == [token_id] == [unknown[0]]):
            encoded.append(token_id)
    return encoded


def _ids_of(symbol: str, ids: Mapping[str, int], byte_ids: Mapping[int, int]) -> list[int]:
    return [ids[symbol]] if symbol in ids else [byte_ids[byte] for byte in symbol.encode("utf-8")]
