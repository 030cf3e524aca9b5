"""Encoding with merges that begin with characters, as in SentencePiece's vocabularies.

This is the specification. The engine merges bytes: there, the first merges join the bytes of each
character, and the tests check that the result is the same.
"""

from collections.abc import Callable, Mapping
from itertools import pairwise

from bpetite.specification.dropout import Dropout, dropped, merge_some

Rank = Callable[[str, str], int | None]
"""Returns the rank of the merge of two neighbours, or None if they do not merge."""


def encode(
    text: str,
    ids: Mapping[str, int],
    byte_ids: Mapping[int, int],
    rank: Rank,
    unknown: tuple[int, bool] | None = None,
    suffix: str = "",
    prefix: str = "",
    dropout: Dropout | None = None,
) -> list[int]:
    """Encode a normalized text.

    The text starts as a list of characters. The two neighbours of the lowest rank are merged, the
    leftmost among equals, until none merge. A symbol that is not a token then becomes the tokens of
    its bytes, or `unknown`: the id for such symbols, and whether it stands once for successive
    ones. The last character has a suffix from the start, if there is one, and all but the first have
    a prefix, which a merge keeps only of its left part; a character that is no token is merged with
    none. With `dropout`, merges are left out at random.

    >>> ids = {"a": 0, "b": 1, "ab": 2}
    >>> encode("abé", ids, {0xC3: 3, 0xA9: 4}, lambda left, right: 0 if left + right == "ab" else None)
    [2, 3, 4]
    >>> encode("abéß", ids, {}, lambda left, right: None, unknown=(5, True))
    [0, 1, 5]
    >>> encode("ab", {"a": 0, "##b": 1, "ab": 2}, {}, lambda left, right: 0, (5, False), prefix="##")
    [2]
    """
    encoded: list[int] = []
    symbols = [prefix + character if place else character for place, character in enumerate(text)]
    if suffix:
        symbols[-1:] = [character + suffix for character in symbols[-1:]]
    if dropout is None:
        symbols = _merged(symbols, rank, prefix)
    else:
        merge_some(
            symbols, rank, lambda left, right: left + right.removeprefix(prefix), dropped(dropout)
        )
    for symbol in symbols:
        if symbol in ids:
            encoded.append(ids[symbol])
        elif unknown is None:
            encoded += [byte_ids[byte] for byte in symbol.encode("utf-8")]
        else:
            encoded.append(unknown[0])
        if unknown is not None:
            unknown_id, stands_once = unknown
            if stands_once and encoded[-2:] == [unknown_id] * 2:
                encoded.pop()
    return encoded


def _merged(symbols: list[str], rank: Rank, prefix: str) -> list[str]:
    """Merge the neighbours of the lowest rank, the leftmost among equals, until none merge."""
    while True:
        candidates = []
        for place, (left, right) in enumerate(pairwise(symbols)):
            rank_here = rank(left, right)
            if rank_here is not None:
                candidates.append((rank_here, place))
        if not candidates:
            return symbols
        _, place = min(candidates)
        symbols[place : place + 2] = [symbols[place] + symbols[place + 1].removeprefix(prefix)]
