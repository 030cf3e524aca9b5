"""Pruning: tokens that no merge is made of leave a vocabulary, the least used first.

This is the specification: `surgery.pruning` must let the same tokens go, and the tests check that it
does.
"""

from collections.abc import Collection, Mapping, Sequence

from bpetite._constants import Pair


def pruned_tokens(
    uses: Mapping[int, int],
    merges: Sequence[Pair],
    merge_ids: Sequence[int],
    staying: Collection[int],
    number: int,
) -> list[int]:
    """Return the ids of so many tokens, in the order in which they leave.

    A token may leave if no merge is made of it, and merges that make it leave with it. The least
    used goes first, among equals the one of the larger id. From then on, its parts are used where it
    was: those of the first merge that made it. `uses` has the uses of every token, even of those that
    are never used.

    As no merge goes on from a token that leaves, it was in the ids of every text in which one of its
    merges happened. So a text whose ids had none of the tokens that left keeps its ids.

    >>> uses = {97: 0, 98: 3, 99: 1, 256: 2, 257: 5}
    >>> pruned_tokens(uses, [(97, 98), (256, 99)], [256, 257], {97, 98, 99}, 2)
    [257, 256]
    """
    uses = dict(uses)
    remaining = list(zip(merges, merge_ids, strict=True))
    left: list[int] = []
    while len(left) < number:
        parts = {part for pair, _ in remaining for part in pair}
        leaves = uses.keys() - parts - set(staying)
        token_id = min(leaves, key=lambda leaf: (uses[leaf], -leaf))
        made_of = [pair for pair, made in remaining if made == token_id]
        for part in made_of[0] if made_of else ():
            uses[part] += uses[token_id]
        remaining = [(pair, made) for pair, made in remaining if made != token_id]
        del uses[token_id]
        left.append(token_id)
    return left
