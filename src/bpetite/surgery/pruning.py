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
from bpetite.vocabulary import WORD_END, WORD_START, Vocabulary

_MOST_NAMED = 3


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
        staying.update(token_id for token_id, token in tokens if _is_character(token))
    if staying.isdisjoint(vocabulary.merge_ids):
        return staying
    pairs_of = _pairs_by_token(vocabulary)
    waiting = list(staying)
    while waiting:
        for pair in pairs_of.get(waiting.pop(), ()):
            waiting += {*pair} - staying
            staying.update(pair)
    return staying


def _is_character(token: bytes) -> bool:
    """Whether a token is one character, perhaps with the mark of a word."""
    character = token.removeprefix(WORD_START).removesuffix(WORD_END)
    # Most tokens are longer than any character.
    return len(character) <= 4 and len(character.decode("utf-8", "replace")) == 1


def size_of(vocabulary: Vocabulary) -> int:
    """Return the size as training counts it: all tokens, or all but special and decode-only ones.

    >>> tokens = {byte: bytes([byte]) for byte in range(256)}
    >>> size_of(Vocabulary(tokens, [], {"<s>": 256}))
    256
    """
    if vocabulary.dialect.vocab_size_counts == "everything":
        return vocabulary.vocab_size
    return vocabulary.mergeable_vocab_size - len(vocabulary.provisional)


def number_to_prune(vocabulary: Vocabulary, vocab_size: int, staying: Collection[int]) -> int:
    """Return how many tokens must go until the vocabulary has a size; one that is too small is refused.

    >>> tokens = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b"abc"}
    >>> vocabulary = Vocabulary(tokens, [(97, 98), (256, 99)])
    >>> number_to_prune(vocabulary, 255, range(256))
    Traceback (most recent call last):
    ValueError: vocab_size 255 is too small: 256 tokens must stay (bytes, special and added tokens, and what \
these are made of)
    """
    vocab_size = integer("vocab_size", vocab_size, least=0)
    size = size_of(vocabulary)
    least = size - removable(vocabulary, staying)
    if vocab_size < least:
        raise ValueError(
            f"vocab_size {vocab_size} is too small: {least} tokens must stay (bytes, special and added "
            "tokens, and what these are made of)"
        )
    if vocab_size > size:
        raise ValueError(f"vocab_size {vocab_size} is larger than this vocabulary of {size} tokens")
    return size - vocab_size


def check_number(vocabulary: Vocabulary, number: int, staying: Collection[int]) -> None:
    """Refuse to replace more tokens than can go.

    >>> check_number(Vocabulary({byte: bytes([byte]) for byte in range(256)}, []), 2, range(256))
    Traceback (most recent call last):
    ValueError: number 2 is too large: only 0 tokens can be replaced
    """
    number = integer("number", number, least=0)
    most = removable(vocabulary, staying)
    if number > most:
        raise ValueError(f"number {number} is too large: only {most} tokens can be replaced")


def removable(vocabulary: Vocabulary, staying: Collection[int]) -> int:
    """Return how many tokens can go.

    >>> tokens = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab"}
    >>> removable(Vocabulary(tokens, [(97, 98)]), range(256))
    1
    """
    return len(vocabulary.tokens.keys() - set(staying))


def pruned_tokens(
    vocabulary: Vocabulary, uses: Mapping[int, int], staying: Collection[int], number: int
) -> list[int]:
    """Return the ids of so many tokens, in the order in which they go; what is not in `uses` is not used.

    >>> tokens = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b"abc"}
    >>> pruned_tokens(Vocabulary(tokens, [(97, 98), (256, 99)]), {257: 5, 256: 2}, range(256), 2)
    [257, 256]
    """
    pairs_of = _pairs_by_token(vocabulary)
    merges_with = Counter(chain.from_iterable(vocabulary.merges))
    uses_of = dict.fromkeys(vocabulary.tokens, 0) | dict(uses)
    can_go = vocabulary.tokens.keys() - set(staying)
    # One number for the uses and the id: the smallest is the least used, then that of the larger id.
    leaves = [
        (uses_of[token_id] << 32) - token_id for token_id in can_go if token_id not in merges_with
    ]
    heapify(leaves)
    removed: list[int] = []
    while len(removed) < number:
        # Its uses are final: only tokens that are made of it would add to them.
        token_id = -heappop(leaves) % 2**32
        removed.append(token_id)
        pairs = pairs_of.get(token_id, ())
        for part in pairs[0] if pairs else ():
            uses_of[part] += uses_of[token_id]
        for part in chain.from_iterable(pairs):
            merges_with[part] -= 1
            if not merges_with[part] and part in can_go:
                heappush(leaves, (uses_of[part] << 32) - part)
    return removed


def _pairs_by_token(vocabulary: Vocabulary) -> dict[int, list[Pair]]:
    """Return the pairs that make each token, the first merge first."""
    pairs_of: dict[int, list[Pair]] = {}
    for pair, made in zip(vocabulary.merges, vocabulary.merge_ids, strict=True):
        if made in pairs_of:
            pairs_of[made].append(pair)
        else:
            pairs_of[made] = [pair]
    return pairs_of


def check_removed(
    vocabulary: Vocabulary, removed: Collection[int], staying: Collection[int]
) -> None:
    """Refuse to remove tokens that must stay, that do not exist, or that others are made of.

    >>> tokens = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b"abc"}
    >>> check_removed(Vocabulary(tokens, [(97, 98), (256, 99)]), [256], range(256))
    Traceback (most recent call last):
    ValueError: tokens: 256 (b'ab') cannot go without the tokens that are made of it: 257 (b'abc')
    """
    made_of = defaultdict(set)
    for pair, made in zip(vocabulary.merges, vocabulary.merge_ids, strict=True):
        if made not in removed:
            for part in pair:
                made_of[part].add(made)
    for token_id in removed:
        if token_id not in vocabulary.tokens and token_id not in staying:
            raise UnknownTokenError(f"tokens: no token has the id {token_id}")
        if token_id in staying:
            raise ValueError(
                f"tokens: {_named(vocabulary, token_id)} must stay, as do all bytes, special and added "
                "tokens, and what these are made of"
            )
        others = sorted(made_of[token_id])
        if others:
            named = ", ".join(_named(vocabulary, other) for other in others[:_MOST_NAMED])
            more = len(others) - _MOST_NAMED
            raise ValueError(
                f"tokens: {_named(vocabulary, token_id)} cannot go without the tokens that are made of "
                f"it: {named}{f' and {more} more' if more > 0 else ''}"
            )


def _named(vocabulary: Vocabulary, token_id: int) -> str:
    """Name a token by its id and its bytes."""
    token = vocabulary.tokens.get(token_id) or vocabulary.decode_only.get(token_id)
    texts = [text for text, special in vocabulary.special_tokens.items() if special == token_id]
    shown: object = texts[0] if texts else token
    return f"{token_id} ({shown!r:.80})"


def closed_ids(vocabulary: Vocabulary, removed: Collection[int]) -> dict[int, int]:
    """Return new ids of the tokens that are left: in the same order, from 0 on, without holes.

    >>> tokens = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b"cd"}
    >>> closed_ids(Vocabulary(tokens, [(97, 98), (99, 100)], {"<s>": 300}), [256])[300]
    257
    """
    left = sorted(set(ids_of(vocabulary)).difference(removed))
    return {old: new for new, old in enumerate(left)}


def ids_of(vocabulary: Vocabulary) -> list[int]:
    """Return the ids of all tokens but provisional ones, in ascending order.

    >>> ids_of(Vocabulary({byte: bytes([byte]) for byte in range(256)}, [], {"<s>": 300}))[-1]
    300
    """
    others = [*vocabulary.special_tokens.values(), *vocabulary.decode_only]
    return sorted({*vocabulary.tokens, *others}.difference(vocabulary.provisional))


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
