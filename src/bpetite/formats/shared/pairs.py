"""Tokens with ids, and merges as pairs of bytes, in; a vocabulary out: what GPT-2's and Hugging Face's files
hold."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

from bpetite._constants import Pair
from bpetite._internal.json import refuse
from bpetite._internal.types import BytesPair, Path
from bpetite.dialect import Dialect
from bpetite.vocabulary import Normalization, Vocabulary

_MOST_STEPS = 50_000_000
"""How much work may go into merges that stand before their parents': a file must not be able to ask for
hours."""


def vocabulary_of_pairs(
    path: Path,
    tokens: Mapping[int, bytes],
    merges: Sequence[BytesPair],
    *,
    special_tokens: Mapping[str, int],
    pattern: str,
    dialect: Dialect,
    whole_pretoken_first: bool = False,
    normalization: Normalization | None = None,
    added_tokens: Collection[str] = (),
) -> Vocabulary:
    """Make the vocabulary; errors name `path` and the merge."""
    id_of = {token: token_id for token_id, token in tokens.items()}
    if len(id_of) != len(tokens):
        twice = next(token for token_id, token in tokens.items() if id_of[token] != token_id)
        refuse(path, f"token {twice!r:.80} has two ids")
    _check_known(path, id_of, merges)
    pairs = [(id_of[left], id_of[right]) for left, right in merges]
    results = [id_of[left + right] for left, right in merges]
    late = _made_before_their_parents(tokens, pairs, results)
    if late:
        _check_never_happen(path, tokens, pairs, results, late)
        pairs = [pair for rank, pair in enumerate(pairs) if rank not in late]
        results = [result for rank, result in enumerate(results) if rank not in late]
    try:
        return Vocabulary(
            tokens,
            pairs,
            special_tokens,
            pattern,
            dialect,
            whole_pretoken_first=whole_pretoken_first,
            normalization=normalization,
            added_tokens=added_tokens,
            merge_ids=results,
        )
    except ValueError as error:
        refuse(path, str(error))


def _check_known(path: Path, id_of: Mapping[bytes, int], merges: Sequence[BytesPair]) -> None:
    for rank, (left, right) in enumerate(merges):
        if left not in id_of or right not in id_of:
            part = right if left in id_of else left
            refuse(path, f"merge {rank} is made of {part!r:.80}, which no token is")
        if left + right not in id_of:
            refuse(path, f"merge {rank} makes {left + right!r:.80}, which no token is")
    first = dict(zip(reversed(merges), range(len(merges) - 1, -1, -1), strict=True))
    if len(first) != len(merges):
        rank = next(rank for rank, pair in enumerate(merges) if first[pair] != rank)
        left, right = merges[rank]
        refuse(path, f"merge {rank}, {left!r:.60} and {right!r:.60}, stands twice")


def _made_before_their_parents(
    tokens: Mapping[int, bytes], pairs: Sequence[Pair], results: Sequence[int]
) -> set[int]:
    """Return the ranks of the merges one of whose parents no earlier merge makes."""
    made = {token_id for token_id, token in tokens.items() if len(token) == 1}
    late = set()
    for rank, ((left, right), result) in enumerate(zip(pairs, results, strict=True)):
        if left in made and right in made:
            made.add(result)
        else:
            late.add(rank)
    return late


def _check_never_happen(
    path: Path,
    tokens: Mapping[int, bytes],
    pairs: Sequence[Pair],
    results: Sequence[int],
    late: Collection[int],
) -> None:
    """Refuse late merges that happen in some text, and with them those that depend on an order we do not
    keep.

    A merge never happens anywhere if it does not happen when its token's own bytes are merged: whatever goes
    on inside a stretch of text that nothing has crossed goes on in it alone.
    """
    rank_of = {pair: rank for rank, pair in enumerate(pairs)}
    base = {token[0]: token_id for token_id, token in tokens.items() if len(token) == 1}
    steps = 0
    for rank in sorted(late):
        token = tokens[results[rank]]
        steps += len(token) ** 2
        if steps > _MOST_STEPS:
            refuse(path, f"merge {rank}: too many merges stand before those of their parents")
        if pairs[rank] in _pairs_merged([base[byte] for byte in token if byte in base], rank_of, results):
            left, right = (tokens[parent] for parent in pairs[rank])
            refuse(
                path,
                f"merge {rank} is made of {left!r:.60} and {right!r:.60}, which no earlier merge makes; "
                "such an order of merges cannot be kept exactly",
            )


def _pairs_merged(ids: list[int], rank_of: Mapping[Pair, int], results: Sequence[int]) -> set[Pair]:
    """Merge ids one pair at a time, the lowest rank first, of equal ones the leftmost; return the pairs."""
    merged = set()
    while present := [(rank_of[pair], place) for place, pair in enumerate(pairwise(ids)) if pair in rank_of]:
        rank, place = min(present)
        merged.add((ids[place], ids[place + 1]))
        ids = [*ids[:place], results[rank], *ids[place + 2 :]]
    return merged
