"""Removes tokens from a vocabulary, so that texts without them keep their ids.

A token can go if no remaining merge is made of it (`specification.pruning` says why). For 64,000 of
128,000 tokens, that takes 0.5 s: a heap has the tokens that can go, and each knows its merges.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from heapq import heapify, heappop, heappush
from itertools import chain
from typing import Any

from bpetite._constants import Pair
from bpetite._internal.arguments import UnknownTokenError
from bpetite._internal.integers import integer
from bpetite._internal.record import replaced
from bpetite.formats.shared.imported import lacking_bytes
from bpetite.vocabulary import Vocabulary, is_character

_MOST_NAMED = 3
_STAYING = "bytes, special and added tokens, and what these are made of"


def staying_tokens(vocabulary: Vocabulary, template: Iterable[int] = ()) -> set[int]:
    """Return the ids of the tokens that must stay: bytes, and what is special, added or only decoded; where
    merges begin with characters, these; and all tokens that those are made of.

    `template` are ids that are put around texts.

    >>> tokens = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b"abc"}
    >>> merges = [(97, 98), (256, 99)]
    >>> sorted(staying_tokens(Vocabulary(tokens, merges, {"abc": 257, "<s>": 258})))[256:]
    [256, 257, 258]
    """
    staying = {*vocabulary.special_tokens.values(), *vocabulary.decode_only, *template}
    staying.update(vocabulary.provisional)
    if vocabulary.unknown is not None:
        staying.add(vocabulary.unknown[0])
    staying.update(vocabulary.id_of_byte.values())
    if vocabulary.provisional:
        tokens = vocabulary.tokens.items()
        staying.update(token_id for token_id, token in tokens if is_character(token))
    if staying.isdisjoint(vocabulary.merge_ids):
        return staying
    pairs_of = _pairs_by_token(vocabulary)
    waiting = list(staying)
    while waiting:
        for pair in pairs_of.get(waiting.pop(), ()):
            waiting += {*pair} - staying
            staying.update(pair)
    return staying


class Pruning:
    """What can be removed from a vocabulary, with `template`, which are ids that are put around texts.

    >>> tokens = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b"abc"}
    >>> pruning = Pruning(Vocabulary(tokens, [(97, 98), (256, 99)]))
    >>> pruning.least_used({257: 5, 256: 2}, 2)
    [257, 256]
    >>> pruning.without([257], closes=True)[0].merges
    ((97, 98),)
    """

    def __init__(self, vocabulary: Vocabulary, template: Iterable[int] = ()) -> None:
        self.vocabulary = vocabulary
        self.staying = staying_tokens(vocabulary, template)
        self.removable = vocabulary.tokens.keys() - self.staying

    def number_to_remove(self, vocab_size: int) -> int:
        """Return how many tokens must go until the vocabulary has a size, counted as in training."""
        vocab_size = integer("vocab_size", vocab_size, least=0)
        size = self.vocabulary.sizes[-1]
        least = size - len(self.removable)
        if vocab_size < least:
            raise ValueError(
                f"vocab_size {vocab_size} is too small: {least} tokens must stay ({_STAYING})"
            )
        if vocab_size > size:
            raise ValueError(
                f"vocab_size {vocab_size} is larger than this vocabulary of {size} tokens"
            )
        return size - vocab_size

    def check_number(self, number: int) -> None:
        """Refuse to replace more tokens than can go."""
        most = len(self.removable)
        if integer("number", number, least=0) > most:
            raise ValueError(f"number {number} is too large: only {most} tokens can be replaced")

    def check_removed(self, removed: Collection[int]) -> None:
        """Refuse to remove tokens that must stay, that do not exist, or that others are made of."""
        vocabulary = self.vocabulary
        made_of = defaultdict(set)
        for pair, made in zip(vocabulary.merges, vocabulary.merge_ids, strict=True):
            if made not in removed:
                for part in pair:
                    made_of[part].add(made)
        for token_id in removed:
            if token_id in self.staying:
                raise ValueError(f"tokens: {self._named(token_id)} must stay, as do all {_STAYING}")
            if token_id not in self.removable:
                raise UnknownTokenError(f"tokens: no token has the id {token_id}")
            others = sorted(made_of[token_id])
            if others:
                first = ", ".join(map(self._named, others[:_MOST_NAMED]))
                more = f" and {len(others) - _MOST_NAMED} more" if others[_MOST_NAMED:] else ""
                raise ValueError(
                    f"tokens: {self._named(token_id)} cannot go without the tokens that are made of "
                    f"it: {first}{more}"
                )

    def _named(self, token_id: int) -> str:
        """Name a token by its id and its bytes."""
        return f"{token_id} ({contents_of(self.vocabulary)[token_id]!r:.80})"

    def least_used(self, uses: Mapping[int, int], number: int) -> list[int]:
        """Return the ids of so many tokens, in the order in which they go; those not in `uses` are unused."""
        pairs_of = _pairs_by_token(self.vocabulary)
        merges_with = Counter(chain.from_iterable(self.vocabulary.merges))
        uses_of = dict.fromkeys(self.vocabulary.tokens, 0) | dict(uses)
        leaves = [(uses_of[own], -own) for own in self.removable if own not in merges_with]
        heapify(leaves)
        removed: list[int] = []
        while len(removed) < number:
            # Its uses are final: only tokens that are made of it would add to them.
            token_id = -heappop(leaves)[1]
            removed.append(token_id)
            pairs = pairs_of.get(token_id, ())
            for part in pairs[0] if pairs else ():
                uses_of[part] += uses_of[token_id]
            for part in chain.from_iterable(pairs):
                merges_with[part] -= 1
                if not merges_with[part] and part in self.removable:
                    heappush(leaves, (uses_of[part], -part))
        return removed

    def without(self, removed: Iterable[int], *, closes: bool) -> tuple[Vocabulary, dict[int, int]]:
        """Return the vocabulary without tokens, and the new ids of all that are left.

        Ids stay, or, if it `closes` holes, are numbered anew in the same order.
        """
        left = sorted(set(ids_of(self.vocabulary)).difference(removed))
        new_ids = range(len(left)) if closes else left
        moved = dict(zip(left, new_ids, strict=True))
        return with_ids(self.vocabulary, moved), moved


def _pairs_by_token(vocabulary: Vocabulary) -> dict[int, list[Pair]]:
    """Return the pairs that make each token, the first merge first."""
    pairs_of: dict[int, list[Pair]] = {}
    for pair, made in zip(vocabulary.merges, vocabulary.merge_ids, strict=True):
        if made in pairs_of:
            pairs_of[made].append(pair)
        else:
            pairs_of[made] = [pair]
    return pairs_of


def contents_of(vocabulary: Vocabulary) -> dict[int, bytes]:
    """Return the bytes of every token, of special ones those of their texts.

    >>> contents_of(Vocabulary({97: b"a"}, [], {"<s>": 300}, irregular=True))
    {97: b'a', 300: b'<s>'}
    """
    specials = {own: text.encode("utf-8") for text, own in vocabulary.special_tokens.items()}
    return {**vocabulary.tokens, **vocabulary.decode_only, **specials}


def ids_of(vocabulary: Vocabulary) -> list[int]:
    """Return the ids of all tokens but provisional ones, in ascending order.

    >>> ids_of(Vocabulary({byte: bytes([byte]) for byte in range(256)}, [], {"<s>": 300}))[-1]
    300
    """
    of_arrays = memoryview(vocabulary.arrays.ids).cast("I")
    ids = {*of_arrays, *vocabulary.special_tokens.values(), *vocabulary.decode_only}
    return sorted(ids.difference(vocabulary.provisional))


def with_ids(vocabulary: Vocabulary, moved: Mapping[int, int]) -> Vocabulary:
    """Return the vocabulary of the tokens in `moved`, under their new ids; others go, with their merges.

    Provisional tokens stay, and their ids remain after all others.

    >>> tokens = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b"cd"}
    >>> moved = {byte: byte for byte in range(256)} | {257: 300}
    >>> with_ids(Vocabulary(tokens, [(97, 98), (99, 100)]), moved).merge_ids
    (300,)
    """
    provisional = sorted(vocabulary.provisional)
    first = max(moved.values(), default=-1) + 1
    new_ids = {
        **moved,
        **dict(zip(provisional, range(first, first + len(provisional)), strict=True)),
    }
    tokens = {
        new_ids[token_id]: token
        for token_id, token in vocabulary.tokens.items()
        if token_id in new_ids
    }
    merges: list[Pair] = []
    merge_ids: list[int] = []
    kept_before = [0]
    """How many of the first merges are kept."""
    for (left, right), made in zip(vocabulary.merges, vocabulary.merge_ids, strict=True):
        if made in new_ids:
            merges.append((new_ids[left], new_ids[right]))
            merge_ids.append(new_ids[made])
        kept_before.append(len(merges))
    ranges = ((kept_before[start], kept_before[end]) for start, end in vocabulary.equal_ranks)
    unknown = vocabulary.unknown
    changes: dict[str, Any] = {
        "tokens": dict(sorted(tokens.items())),
        "merges": merges,
        "merge_ids": merge_ids,
        "special_tokens": {
            text: new_ids[token_id] for text, token_id in vocabulary.special_tokens.items()
        },
        "equal_ranks": [(start, end) for start, end in ranges if end - start > 1],
        "provisional": [new_ids[token_id] for token_id in provisional],
        "decode_only": {
            new_ids[token_id]: token for token_id, token in vocabulary.decode_only.items()
        },
        "unknown": None if unknown is None else (new_ids[unknown[0]], unknown[1]),
    }
    if vocabulary.drops_missing and not lacking_bytes(vocabulary):
        changes["drops_missing"] = False  # Only its order was irregular: it never dropped any.
    return replaced(vocabulary, **changes)
