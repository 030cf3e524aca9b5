"""Base tokens, merges and special tokens in, one immutable and checked value out.

Every invariant of a vocabulary is checked here, once, when the value is made; whoever holds a `Vocabulary`
can rely on all of them:

- all 256 bytes are base tokens, at whatever ids;
- every merge's parents are base tokens or were made by an earlier merge, and no pair is merged twice;
- a merge's token is the bytes of its parents, and has an id;
- ids are unique, special tokens included, and fit 32 bits; there may be gaps;
- special tokens are non-empty, different strings.

A merge's *rank* is its place in the order; its token's *id* is another thing, kept apart.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

from bpetite._constants import BASE_VOCAB_SIZE, PRETOKENIZER_PATTERN
from bpetite.dialect import Dialect

Pair = tuple[int, int]

LARGEST_ID = 2**32 - 2
"""Ids are 32 bits wide in arrays; the last value is kept for the engine."""


@dataclass(frozen=True)
class Vocabulary:
    """Base bytes, merges and specials.

    >>> tokens = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab"}
    >>> Vocabulary(tokens, [(97, 98)], {"<|endoftext|>": 257}).merge_ids
    (256,)
    """

    tokens: Mapping[int, bytes]
    """The bytes of every token but the special ones, by id, in the order of ids."""

    merges: Sequence[Pair]
    """Pairs of ids, in the order of rank."""

    special_tokens: Mapping[str, int] = field(default_factory=dict)
    """The ids of the special tokens."""

    pattern: str = PRETOKENIZER_PATTERN
    """The regular expression whose matches are pretokens."""

    dialect: Dialect = field(default_factory=Dialect)
    """The rules by which the vocabulary was trained."""

    whole_pretoken_first: bool = False
    """Whether a pretoken that is a token gets that token's id before any merge is tried."""

    trained_with: Mapping[str, int] = field(default_factory=dict)
    """Training options that differ from their defaults (`min_count`, `max_token_length`), for the record."""

    merge_ids: tuple[int, ...] = field(init=False, compare=False)
    """The id of every merge's token."""

    def __post_init__(self) -> None:
        tokens = dict(sorted(self.tokens.items()))
        merges = tuple((left, right) for left, right in self.merges)
        specials = dict(self.special_tokens)
        _check_ids([*tokens, *specials.values()])
        _check_specials(specials)
        base = _base_ids(tokens)
        merge_ids = _merge_ids(tokens, merges)
        _check_parents(base, merges, merge_ids)
        for name, value in (
            ("tokens", MappingProxyType(tokens)),
            ("merges", merges),
            ("special_tokens", MappingProxyType(specials)),
            ("trained_with", MappingProxyType(dict(self.trained_with))),
            ("merge_ids", merge_ids),
        ):
            object.__setattr__(self, name, value)

    @staticmethod
    def from_merges(
        merges: Iterable[tuple[int, int, int]],
        dialect: Dialect,
        special_tokens: Sequence[str],
        pattern: str = PRETOKENIZER_PATTERN,
        trained_with: Mapping[str, int] | None = None,
    ) -> Vocabulary:
        """Build a vocabulary from what the engine learned: rows of left, right and resulting symbol.

        Symbols 0 to 255 are the base tokens in the order of their ids, new tokens follow as they are made.

        >>> Vocabulary.from_merges([(97, 98, 256)], Dialect.named("cs336"), ["<|x|>"]).tokens[257]
        b'ab'
        """
        tokens = dialect.base_vocabulary(len(special_tokens))
        pairs = _add_merges(tokens, list(tokens), dialect.first_merge_id(len(special_tokens)), merges)
        specials = dialect.special_token_ids(special_tokens, len(tokens))
        _check_distinct(special_tokens)
        return Vocabulary(tokens, pairs, specials, pattern, dialect, trained_with=trained_with or {})

    def extended(self, ids: Sequence[int], rows: Iterable[tuple[int, int, int]]) -> Vocabulary:
        """Add merges, as rows of left, right and resulting symbol; `ids` are those of the symbols so far.

        New tokens get the ids past the largest one in use.
        """
        tokens = dict(self.tokens)
        next_id = max(*self.tokens, *self.special_tokens.values()) + 1
        pairs = _add_merges(tokens, list(ids), next_id, rows)
        return replace(self, tokens=tokens, merges=list(dict.fromkeys([*self.merges, *pairs])))

    @property
    def mergeable_vocab_size(self) -> int:
        """How many tokens there are, special ones left out."""
        return len(self.tokens)

    @property
    def vocab_size(self) -> int:
        """How many tokens there are, special ones included."""
        return len(self.tokens) + len(self.special_tokens)

    @cached_property
    def id_of(self) -> Mapping[bytes, int]:
        """The id of every token's bytes (of equal ones the smallest); special tokens left out."""
        return MappingProxyType(
            {token: token_id for token_id, token in sorted(self.tokens.items(), reverse=True)}
        )

    @cached_property
    def base_ids(self) -> tuple[int, ...]:
        """The id of every byte value."""
        return _base_ids(self.tokens)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256, in hexadecimal, of everything that decides how text becomes ids and ids become text."""
        return hashlib.sha256(
            json.dumps(
                {
                    "merges": self.merges,
                    "pattern": self.pattern,
                    "special_tokens": sorted(self.special_tokens.items()),
                    "tokens": [[token_id, token.hex()] for token_id, token in self.tokens.items()],
                    "whole_pretoken_first": self.whole_pretoken_first,
                },
                sort_keys=True,
                separators=(",", ":"),
            ).encode("ascii")
        ).hexdigest()

    def truncate(self, vocab_size: int) -> Vocabulary:
        """Return the vocabulary that training to this smaller `vocab_size` would have given.

        >>> tokens = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b"abc"}
        >>> Vocabulary(tokens, [(97, 98), (256, 99)]).truncate(257).merges
        ((97, 98),)
        """
        planned = self.dialect.planned_tokens(vocab_size, len(self.special_tokens))
        kept = set(self.base_ids)
        if BASE_VOCAB_SIZE + planned > len(self.tokens):
            raise ValueError(f"vocab_size {vocab_size} is larger than this vocabulary can give")
        merges = []
        for pair, token_id in zip(self.merges, self.merge_ids, strict=True):
            if token_id not in kept:
                if len(kept) == BASE_VOCAB_SIZE + planned:
                    break
                kept.add(token_id)
            merges.append(pair)
        tokens = {token_id: token for token_id, token in self.tokens.items() if token_id in kept}
        specials = dict(self.special_tokens)
        if specials == self.dialect.special_token_ids(list(specials), len(self.tokens)):
            specials = self.dialect.special_token_ids(list(specials), len(tokens))
        return replace(self, tokens=tokens, merges=merges, special_tokens=specials)


def _add_merges(
    tokens: dict[int, bytes], ids: list[int], next_id: int, rows: Iterable[tuple[int, int, int]]
) -> list[Pair]:
    """Add to `tokens` what rows of left, right and resulting symbol make; return the pairs of ids.

    `ids` are those of the symbols so far. With shared tokens a pair may come back in a later row: its first
    place is its rank.
    """
    pairs: dict[Pair, None] = {}
    for left, right, result in rows:
        if result == len(ids):
            ids.append(next_id)
            tokens[next_id] = tokens[ids[left]] + tokens[ids[right]]
            next_id += 1
        pairs[ids[left], ids[right]] = None
    return list(pairs)


def _check_ids(ids: Sequence[int]) -> None:
    if any(type(token_id) is not int for token_id in ids):
        wrong = next(token_id for token_id in ids if type(token_id) is not int)
        raise ValueError(f"ids must be integers, not {wrong!r}")
    if min(ids, default=0) < 0 or max(ids, default=0) > LARGEST_ID:
        raise ValueError(f"ids must lie between 0 and {LARGEST_ID}: {min(ids)} to {max(ids)} were given")
    if len(set(ids)) != len(ids):
        raise ValueError(f"id {_first_twice(ids)} is given to two tokens")


def _check_specials(special_tokens: Mapping[str, int]) -> None:
    for text in special_tokens:
        if not isinstance(text, str) or not text:
            raise ValueError(f"a special token must be a non-empty string, not {text!r}")
        text.encode("utf-8")


def _check_distinct(special_tokens: Sequence[str]) -> None:
    if len(set(special_tokens)) != len(special_tokens):
        raise ValueError(f"special token {_first_twice(special_tokens)!r} is given twice")


def _first_twice(values: Iterable[Hashable]) -> Hashable:
    """Return the first value that an earlier one equals (there must be one)."""
    seen: set[Hashable] = set()
    for value in values:
        if value in seen:
            break
        seen.add(value)
    return value


def _base_ids(tokens: Mapping[int, bytes]) -> tuple[int, ...]:
    ids: dict[int, int] = {}
    for token_id, token in tokens.items():
        if len(token) == 1:
            if token[0] in ids:
                raise ValueError(f"byte {token[0]} has two ids, {ids[token[0]]} and {token_id}")
            ids[token[0]] = token_id
        elif not token:
            raise ValueError(f"token {token_id} is empty")
    missing = [byte for byte in range(BASE_VOCAB_SIZE) if byte not in ids]
    if missing:
        raise ValueError(f"the base tokens lack byte {missing[0]}")
    return tuple(ids[byte] for byte in range(BASE_VOCAB_SIZE))


def _merge_ids(tokens: Mapping[int, bytes], merges: Sequence[Pair]) -> tuple[int, ...]:
    """The id of a merge is the smallest with its bytes that no earlier merge took, or else the first."""
    if len(set(merges)) != len(merges):
        raise ValueError(f"pair {_first_twice(merges)} is merged twice")
    try:
        spelled = [tokens[left] + tokens[right] for left, right in merges]
    except KeyError as unknown:
        rank = next(rank for rank, pair in enumerate(merges) if unknown.args[0] in pair)
        raise ValueError(f"merge {rank} is made of id {unknown.args[0]}, which no token has") from None
    id_of = {token: token_id for token_id, token in tokens.items()}
    try:
        if len(id_of) == len(tokens):
            return tuple([id_of[token] for token in spelled])
        ids_of: defaultdict[bytes, list[int]] = defaultdict(list)
        for token_id, token in tokens.items():
            ids_of[token].append(token_id)
        queues = {token: iter(ids) for token, ids in ids_of.items()}
        return tuple(next(queues[token], ids_of[token][0]) for token in spelled)
    except KeyError as unknown:
        rank = spelled.index(unknown.args[0])
        raise ValueError(f"merge {rank} makes {unknown.args[0]!r}, which no token is") from None


def _check_parents(base: Sequence[int], merges: Sequence[Pair], merge_ids: Sequence[int]) -> None:
    made = set(base)
    for rank, ((left, right), token_id) in enumerate(zip(merges, merge_ids, strict=True)):
        if left not in made or right not in made:
            late = left if left not in made else right
            raise ValueError(f"merge {rank} is made of id {late}, which no earlier merge makes")
        made.add(token_id)
