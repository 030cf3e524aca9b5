"""Vocabularies that look random, of merges in any order, and counts by their rules."""

import itertools
import random
from collections.abc import Mapping
from typing import Any

from bpetite import Counts, Vocabulary

BYTES = {byte: bytes([byte]) for byte in range(256)}
LETTERS = "abc"


def words_up_to(length: int) -> list[str]:
    """Return all words of a few letters."""
    lengths = range(1, length + 1)
    return ["".join(word) for n in lengths for word in itertools.product(LETTERS, repeat=n)]


def random_vocabulary(
    chance: random.Random, special_tokens: Mapping[str, int], **fields: Any
) -> Vocabulary:
    """Merges in any order, some of the same token or of the same rank, and perhaps tokens without a merge."""
    tokens = dict(BYTES)
    id_of_pair: dict[tuple[int, int], int] = {}
    ids = iter(chance.sample(range(256, 400), 40))
    for _ in range(chance.randrange(1, 16)):
        usable = [own for own, token in tokens.items() if set(token) <= set(LETTERS.encode())]
        left, right = chance.choices(usable, k=2)
        token = tokens[left] + tokens[right]
        if len(token) < 7 and (left, right) not in id_of_pair:
            same = [own for own, other in tokens.items() if other == token]
            id_of_pair[left, right] = chance.choice(same) if same else next(ids)
            tokens[id_of_pair[left, right]] = token
    whole_first = chance.random() < 0.5
    if whole_first:
        tokens[next(ids)] = b"abcabca"
    rows = chance.sample([*id_of_pair.items()], len(id_of_pair))
    equal_ranks = []
    if len(rows) > 3 and chance.random() < 0.5:
        equal_ranks = [(0, 2)] if chance.random() < 0.5 else [(1, len(rows))]
    return Vocabulary(
        tokens,
        [pair for pair, _ in rows],
        special_tokens,
        merge_ids=[made for _, made in rows],
        pattern="[^ ]+| ",
        irregular=True,
        whole_pretoken_first=whole_first,
        equal_ranks=equal_ranks,
        **fields,
    )


def counted(vocabulary: Vocabulary, texts: list[str]) -> Counts:
    """Count texts by the rules of a vocabulary."""
    return Counts.from_iterator(
        texts,
        pattern=vocabulary.pattern,
        dialect=vocabulary.dialect,
        special_tokens=list(vocabulary.special_tokens),
        normalization=vocabulary.normalization,
    )
