"""A vocabulary and how often its tokens were used, how well every smaller vocabulary compresses out.

The uses of the tokens tell how many tokens each vocabulary would have needed that is cut from this
one. A token's bytes are merged as if they were a text of their own, so a token that was used n
times stands for n uses of each merge that builds it:

    "lower" used 10 times:  l o w e r  →  lo w e r  →  low e r  →  low er  →  lower
                            without its last merge there are 10 tokens more, without the last two 20, ...
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import TypeVar

from bpetite._internal.integers import integer
from bpetite.encoding.display import per_token
from bpetite.encoding.explain import Explainer
from bpetite.vocabulary import Vocabulary

Uses = Mapping[int, int]
"""How often each id was used; an id that never was may be missing."""

Row = TypeVar("Row")

_POINTS = 200


def curve_of(
    vocabulary: Vocabulary,
    uses: Uses,
    size: int,
    characters: int,
    sizes: Iterable[int] | None = None,
) -> list[dict[str, int | float]]:
    """Return a row for each size of vocabulary; `size` (in bytes) and `characters` are those of the text."""
    needed = dict(zip(vocabulary.sizes, tokens_by_merges(vocabulary, uses), strict=True))
    first, last = min(needed), max(needed)
    chosen = spread(list(needed)) if sizes is None else sizes
    checked = [integer("each of sizes", wanted, least=first, most=last) for wanted in chosen]
    return [
        {
            "vocab_size": wanted,
            "tokens": needed[wanted],
            "bytes_per_token": per_token(size, needed[wanted]),
            "characters_per_token": per_token(characters, needed[wanted]),
        }
        for wanted in checked
    ]


def tokens_by_merges(vocabulary: Vocabulary, uses: Uses) -> list[int]:
    """Return the number of tokens with the first 0, 1, 2, ... merges.

    >>> tokens = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b" ab"}
    >>> tokens_by_merges(Vocabulary(tokens, [(97, 98), (32, 256)]), {256: 1, 257: 2})
    [8, 5, 3]
    """
    if vocabulary.provisional:
        raise ValueError(
            "this vocabulary has no smaller ones: its merges are not in an order that training could give"
        )
    explainer = Explainer(vocabulary)
    saved = [0] * len(vocabulary.merges)
    for token_id, count in uses.items():
        token = vocabulary.tokens.get(token_id, b"")
        steps = explainer.steps(token) if explainer.can_start(token) else []
        if not steps or steps[-1].ids != (token_id,):
            continue  # no merge makes it: it is in every smaller vocabulary
        left, highest = len(token), 0
        for step in steps:
            highest = max(
                highest, step.rank
            )  # the first merges end before the first that is missing
            saved[highest] += count * (left - len(step.ids))
            left = len(step.ids)
    return [*accumulate(reversed(saved), initial=sum(uses.values()))][::-1]


def spread(rows: Sequence[Row]) -> list[Row]:
    """Keep some rows, evenly spaced on a logarithmic scale, including the first and the last."""
    if len(rows) <= _POINTS:
        return list(rows)
    places = {
        round(math.exp(math.log(len(rows)) * place / (_POINTS - 1))) - 1 for place in range(_POINTS)
    }
    return [rows[place] for place in sorted(places)]
