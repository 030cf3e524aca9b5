"""The vocabulary: base tokens, merges and special tokens, as one immutable and checked value.

All invariants are checked once, when the value is created. Code that receives a `Vocabulary` can rely on
them:

- all 256 bytes are base tokens, with any ids;
- the parents of every merge are base tokens or results of earlier merges, and no pair is merged twice;
- the token of a merge has the bytes of its parents, and an id; the size of all tokens together is limited;
- ids are unique, special tokens included, and fit 32 bits; there may be gaps (a special token may also be
  the token of the same bytes, and, where spaces are spelled U+2581 before tokens are looked for, one of such
  marks the token of as many spaces);
- special tokens are non-empty, distinct strings.

Files of other libraries hold vocabularies that our training cannot give. They are accepted with `irregular`:
a merge may come before those of its parents, and bytes may have no token; but the token of a merge must still
have the bytes of its parents. Encoding always takes the pair of the lowest rank, so it is defined for any
order.

The *rank* of a merge, its place in the order, is independent of the *id* of its token.
"""

from __future__ import annotations

import contextlib
import gc
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from itertools import accumulate, chain, pairwise
from operator import ge, lt
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from bpetite._constants import BASE_VOCAB_SIZE, PRETOKENIZER_PATTERN, UNICODE_VERSION, Pair
from bpetite._engine import check_tokens, merges_json, number_merges, spell_merges, tokens_json
from bpetite._internal.arguments import check_type, several
from bpetite._internal.integers import integer
from bpetite._internal.lazy import numpy as np
from bpetite._internal.types import Write
from bpetite.dialect import Dialect
from bpetite.normalization import Normalization, checked, normalizing, steps_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.uint32] | NDArray[np.uint64] | bytes
    """An array of numbers, or its bytes."""

DropsSpace = bool | Literal["all"]

TOKEN_FLAGS = ("lstrip", "normalized", "rstrip", "single_word")
"""How a special token may be matched: with the white space before it, in normalized text, with the white
space after it, only as a whole word."""

MARK = "\u2581"
"""How a space is spelled where tokens are made of characters."""

LARGEST_ID = 2**32 - 2
"""Ids have 32 bits; the engine reserves the last value."""

_FIRST_UNICODE_VERSION = "18.0.0"
"""The version of the first release: a fingerprint names the version if it is another one."""

MAX_TOKEN_BYTES = 2**28
"""The maximum size of all tokens together: a small file of merges must not be able to use up all memory."""


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the cycle collector, which would search the many small objects of a vocabulary in vain."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


@dataclass(frozen=True)
class Packed:
    """The tokens and merges of a vocabulary as the engine takes them: bytes of arrays, without NumPy."""

    ids: bytes
    ends: bytes
    merges: bytes


class Arrays:
    """The tokens and merges of a vocabulary as arrays, without a Python object for each.

    Numbers are given as arrays, or as the bytes of arrays; NumPy arrays are created at their first use.
    """

    def __init__(self, ids: Numbers, tokens: bytes, ends: Numbers, merges: Numbers) -> None:
        self.tokens = tokens
        """The bytes of these tokens, concatenated."""
        self.packed = Packed(_packed(ids, "uint32"), _packed(ends, "uint64"), _packed(merges, "uint32"))

    @cached_property
    def ids(self) -> NDArray[np.uint32]:
        """The ids of all tokens except the special ones, in ascending order."""
        return np.frombuffer(self.packed.ids, np.uint32)

    @cached_property
    def ends(self) -> NDArray[np.uint64]:
        """The end of each token in the bytes."""
        return np.frombuffer(self.packed.ends, np.uint64)

    @cached_property
    def merges(self) -> NDArray[np.uint32]:
        """Rows of left, right and resulting id, in the order of rank."""
        return np.frombuffer(self.packed.merges, np.uint32).reshape(-1, 3)

    def __len__(self) -> int:
        """Return the number of tokens."""
        return len(self.packed.ids) // 4

    def token_at(self, place: int) -> bytes:
        """Return the bytes of the token at a place.

        >>> ones = Vocabulary({byte: bytes([byte]) for byte in range(256)}, [])
        >>> ones.arrays.token_at(97)
        b'a'
        """
        ends = memoryview(self.packed.ends).cast("Q")
        return self.tokens[ends[place - 1] if place else 0 : ends[place]]

    def id_at(self, place: int) -> int:
        """Return the id of the token at a place."""
        return memoryview(self.packed.ids).cast("I")[place]

    def has_id(self, token_id: int) -> bool:
        """Whether a token has this id."""
        return token_id in _numbers(self.packed.ids)

    def lengths(self, last: int) -> list[int]:
        """Return the lengths of the last tokens in bytes.

        >>> Vocabulary({byte: bytes([byte]) for byte in range(256)}, []).arrays.lengths(2)
        [1, 1]
        """
        ends = memoryview(self.packed.ends).cast("Q")[-last - 1 :].tolist()
        return [end - start for start, end in pairwise([0, *ends] if last >= len(self) else ends)]

    @property
    def merge_count(self) -> int:
        """The number of merges."""
        return len(self.packed.merges) // 12

    def largest_id(self, but: int = 0) -> int:
        """Return the largest id of a token, without the last `but` tokens."""
        return max(_numbers(self.packed.ids)[: len(self) - but])

    def tokens_json(self, form: Literal["hexadecimal", "rows"]) -> Callable[[Write], None]:
        """Return a function that writes the tokens as JSON."""
        return partial(tokens_json, self.packed.ids, self.tokens, self.packed.ends, form)

    def to_tokens(self) -> Mapping[int, bytes]:
        """Return the bytes of every token, by id."""
        ends = memoryview(self.packed.ends).cast("Q").tolist()
        pieces = (self.tokens[start:end] for start, end in pairwise([0, *ends]))
        return MappingProxyType(dict(zip(_numbers(self.packed.ids), pieces, strict=True)))

    def to_pairs(self) -> tuple[Pair, ...]:
        """Return the pair of every merge."""
        numbers = memoryview(self.packed.merges).cast("I")
        return tuple(zip(numbers[::3].tolist(), numbers[1::3].tolist(), strict=True))

    def to_merge_ids(self) -> tuple[int, ...]:
        """Return the id of every merge's token."""
        return tuple(memoryview(self.packed.merges).cast("I")[2::3].tolist())

    def are_in_order(self) -> bool:
        """Whether the merges make all tokens but the first 256, in the order of their ids.

        >>> Vocabulary({byte: bytes([byte]) for byte in range(256)}, []).arrays.are_in_order()
        True
        """
        made = memoryview(self.packed.merges).cast("I")[2::3]
        return self.packed.ids[4 * BASE_VOCAB_SIZE :] == made.tobytes()


def _packed(numbers: Numbers, dtype: Literal["uint32", "uint64"]) -> bytes:
    return numbers if isinstance(numbers, bytes) else np.asarray(numbers, dtype).tobytes()


def _numbers(packed: bytes) -> list[int]:
    """Return the 32-bit numbers in the bytes of an array."""
    return memoryview(packed).cast("I").tolist()


_LAZY_FIELDS = {"tokens": Arrays.to_tokens, "merges": Arrays.to_pairs, "merge_ids": Arrays.to_merge_ids}


@dataclass(frozen=True)
class Vocabulary:
    """Base bytes, merges and specials.

    >>> tokens = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab"}
    >>> Vocabulary(tokens, [(97, 98)], {"<|endoftext|>": 257}).merge_ids
    (256,)
    """

    tokens: Mapping[int, bytes]
    """The bytes of every token except the special ones, by id, in the order of ids. (With `merge_ids`, the
    tokens of merges may be left out; they are added.)"""

    merges: Sequence[Pair]
    """Pairs of ids, in the order of rank."""

    special_tokens: Mapping[str, int] = field(default_factory=dict)
    """The ids of the special tokens, in the order of ids."""

    pattern: str = PRETOKENIZER_PATTERN
    """The regular expression whose matches are pretokens."""

    dialect: Dialect = field(default_factory=Dialect)
    """The rules by which the vocabulary was trained."""

    whole_pretoken_first: bool = False
    """Whether a pretoken that is itself a token gets that token's id before any merge is tried."""

    normalization: Normalization | None = None
    """The normalization of the text between special tokens, before it is cut into pretokens: the name of a
    normalizer (`NFC`), or several as tuples of a name and its arguments (`("Replace", pattern, content)`).
    Only imported vocabularies have it."""

    added_tokens: Collection[str] = frozenset()
    """The special tokens that are ordinary ones of the model: Hugging Face's added tokens that are not
    special, SentencePiece's user-defined pieces. They are found in every text, even where special tokens are
    text (`special="text"`) or an error."""

    token_flags: Mapping[str, Collection[str]] = field(default_factory=dict)
    """The flags of special tokens that are not simply matched in the text (`TOKEN_FLAGS`). Only imported
    vocabularies have them."""

    trained_with: Mapping[str, int] = field(default_factory=dict)
    """Training options that differ from their defaults (`min_count`, `max_token_length`), for the record."""

    merge_ids: Sequence[int] = field(default_factory=tuple)
    """The id of every merge's token; if not given, it is found by its bytes."""

    irregular: bool = False
    """Whether a merge comes before those of its parents, a byte has no token, or ranks are equal. Such are
    refused unless this is set; afterwards, the value tells whether the vocabulary is one of them."""

    decode_only: Mapping[int, bytes] = field(default_factory=dict)
    """Tokens that encoding never gives, by id; they can only be decoded."""

    provisional: Collection[int] = frozenset()
    """Tokens that exist only to be merged further: one that is left after merging is replaced by the ids of
    its bytes. Internally, their ids are after all others. SentencePiece's vocabularies, whose merges begin
    with characters, need them for the first bytes of characters. With `unknown` they may also be single
    bytes, and a character of which any is left is unknown."""

    drops_space: DropsSpace = False
    """Whether decoding removes a space at the beginning of the text, because encoding put one there; `all`
    removes the spaces of the first token, as the decoder `Metaspace` does."""

    unknown: tuple[int, bool] | None = None
    """The id that stands for bytes without a token (with `provisional`, for characters without one), and
    whether it stands once for successive ones of a pretoken, or for each. Without it, text with such a byte
    cannot be encoded."""

    equal_ranks: Sequence[Pair] = ()
    """Where in the order merges of the same rank begin and end: the leftmost of their pairs is merged first.
    Only imported vocabularies have them."""

    drops_missing: bool = False
    """Whether bytes without a token are left out, as tokenizers does without an unknown token. Otherwise, and
    without `unknown`, text with such a byte cannot be encoded."""

    def __post_init__(self) -> None:
        merges: tuple[Pair, ...] = tuple(map(tuple, self.merges))  # type: ignore[arg-type]
        _check_distinct("pair", merges)
        merge_ids = tuple(self.merge_ids or _find_merge_ids(self.tokens, merges))
        if self.irregular:
            tokens, irregular = _check_spelled(self.tokens, merges, merge_ids)
        else:
            tokens, irregular = _replay(self.tokens, merges, merge_ids), False
        equal_ranks = _checked_ranges(self.equal_ranks, len(merges) if self.irregular else 0)
        specials = {
            text: integer(f"special_tokens: the id of {text!r:.80}", token_id)
            for text, token_id in self.special_tokens.items()
        }
        if self.drops_missing and (self.unknown is not None or self.provisional or not irregular):
            raise ValueError(
                "drops_missing: no byte lacks a token, or another rule is given for those that do"
            )
        normalization = checked(self.normalization)
        apart = [
            token_id
            for text, token_id in specials.items()
            if not _is_token_too(text, tokens.get(token_id), normalization)
        ]
        _check_ids([*tokens, *apart, *self.decode_only])
        check_special_tokens(specials)
        specials = dict(sorted(specials.items(), key=lambda item: item[1]))
        _check_added(self.added_tokens, specials)
        token_flags = _checked_flags(self.token_flags, specials)
        for name, value in (
            ("tokens", MappingProxyType(tokens)),
            ("merges", merges),
            ("special_tokens", MappingProxyType(specials)),
            ("added_tokens", frozenset(self.added_tokens)),
            ("normalization", normalization),
            ("token_flags", MappingProxyType(token_flags)),
            ("trained_with", MappingProxyType(dict(self.trained_with))),
            ("merge_ids", merge_ids),
            ("irregular", irregular or bool(equal_ranks)),
            ("equal_ranks", equal_ranks),
            ("provisional", frozenset(self.provisional)),
            ("decode_only", MappingProxyType(dict(sorted(self.decode_only.items())))),
        ):
            object.__setattr__(self, name, value)
        if self.provisional:
            _check_provisional(
                self.provisional,
                self.arrays,
                [*specials.values(), *self.decode_only],
                may_be_bytes=self.unknown is not None,
            )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Create the Python objects of tokens or merges from arrays, at their first use."""
            if name not in _LAZY_FIELDS or "arrays" not in self.__dict__:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            with collector_paused():
                return self.__dict__.setdefault(name, _LAZY_FIELDS[name](self.arrays))

    @cached_property
    def arrays(self) -> Arrays:
        """Tokens and merges as the engine takes them."""
        rows = array("I", bytes(12 * len(self.merges)))
        flat = array("I", chain.from_iterable(self.merges))
        rows[::3], rows[1::3], rows[2::3] = flat[::2], flat[1::2], array("I", self.merge_ids)
        ends = array("Q", accumulate(map(len, self.tokens.values())))
        return Arrays(
            array("I", self.tokens).tobytes(), b"".join(self.tokens.values()), ends.tobytes(), rows.tobytes()
        )

    @staticmethod
    def from_merges(
        merges: Iterable[tuple[int, int, int]] | NDArray[np.uint32] | bytes,
        dialect: Dialect,
        special_tokens: Sequence[str],
        pattern: str = PRETOKENIZER_PATTERN,
        trained_with: Mapping[str, int] | None = None,
    ) -> Vocabulary:
        """Build a vocabulary from the engine's merges: rows of left, right and resulting symbol.

        Symbols 0 to 255 are the base tokens in the order of their ids; new tokens follow in the order of
        merges. The rows may also be the bytes of an array.

        >>> Vocabulary.from_merges([(97, 98, 256)], Dialect.named("cs336"), ["<|x|>"]).tokens[257]
        b'ab'
        """
        check_special_tokens(special_tokens)
        if not isinstance(merges, bytes):
            merges = array("I", chain.from_iterable(merges)).tobytes()
        base = dialect.base_vocabulary(len(special_tokens))
        first = dialect.first_merge_id(len(special_tokens))
        rows, end = number_merges(merges, list(base), first)
        specials = dialect.special_token_ids(special_tokens, BASE_VOCAB_SIZE + end - first)
        unmerged = Vocabulary(base, (), specials, pattern, dialect, trained_with=trained_with or {})
        return unmerged.with_merges(rows)

    def with_merges(self, rows: NDArray[np.uint32] | bytes) -> Vocabulary:
        """Add merges to a vocabulary that has none, as rows of left, right and resulting id (or their bytes).

        The engine builds their tokens; Python objects are created only at their first use.

        >>> Vocabulary({byte: bytes([byte]) for byte in range(256)}, []).with_merges(
        ...     np.array([[97, 98, 256]], np.uint32)
        ... ).tokens[256]
        b'ab'
        """
        packed = _packed(rows, "uint32")
        spelled = None
        if len(self.tokens) == BASE_VOCAB_SIZE:
            spelled = spell_merges(self.base_ids, packed, MAX_TOKEN_BYTES)
        if spelled is None or self._has_other_tokens(spelled[0]):
            # If anything is wrong, checking token by token finds and reports it.
            arrays = Arrays(b"", b"", b"", packed)
            return replace(self, merges=arrays.to_pairs(), merge_ids=arrays.to_merge_ids())
        return self._with_arrays(Arrays(*spelled, packed))

    def with_arrays(
        self, arrays: Arrays, provisional: Collection[int] = (), equal_ranks: Sequence[Pair] = ()
    ) -> Vocabulary:
        """Add all tokens and merges, in any order, to a vocabulary that has only single bytes.

        `arrays` include the single bytes; `provisional` are tokens that exist only to be merged further, and
        `equal_ranks` the places where merges of the same rank begin and end.

        >>> ones = {byte: bytes([byte]) for byte in range(256)}
        >>> whole = Vocabulary(ones | {256: b"abab", 257: b"ab"}, [(257, 257), (97, 98)], irregular=True)
        >>> Vocabulary(ones, []).with_arrays(whole.arrays) == whole
        True
        """
        packed = arrays.packed
        checked = check_tokens(packed.ids, arrays.tokens, packed.ends, packed.merges)
        if (
            checked is None
            or self._has_other_tokens(packed.ids, arrays)
            or dict(checked[1]) != {token_id: byte for byte, token_id in self.id_of_byte.items()}
        ):
            # Checking token by token finds and reports what is wrong.
            return replace(
                self,
                tokens=arrays.to_tokens(),
                merges=arrays.to_pairs(),
                merge_ids=arrays.to_merge_ids(),
                irregular=True,
                provisional=provisional,
                equal_ranks=equal_ranks,
            )
        equal_ranks = _checked_ranges(equal_ranks, arrays.merge_count)
        _check_provisional(
            provisional,
            arrays,
            [*self.special_tokens.values(), *self.decode_only],
            may_be_bytes=self.unknown is not None,
        )
        irregular = not checked[0] or len(self.tokens) < BASE_VOCAB_SIZE or bool(equal_ranks)
        return self._with_arrays(
            arrays, irregular=irregular, provisional=frozenset(provisional), equal_ranks=equal_ranks
        )

    def _fields(self) -> dict[str, Any]:
        return {own.name: getattr(self, own.name) for own in fields(self)}

    def _with_arrays(self, arrays: Arrays, **changed: object) -> Vocabulary:
        """Replace tokens and merges by arrays that are already checked."""
        vocabulary = object.__new__(Vocabulary)
        vocabulary.__dict__.update(self._fields(), id_of_byte=self.id_of_byte, arrays=arrays, **changed)
        for name in _LAZY_FIELDS:
            del vocabulary.__dict__[name]
        return vocabulary

    def _has_other_tokens(self, ids: bytes, arrays: Arrays | None = None) -> bool:
        """Whether one of the ids, which are in their order, is that of a special or an only decoded token.

        A special token that is one of the tokens of `arrays` too is none of these.
        """
        numbers = memoryview(ids).cast("I")
        for text, token_id in chain(self.special_tokens.items(), (("", other) for other in self.decode_only)):
            place = bisect_left(numbers, token_id)
            if place < len(numbers) and numbers[place] == token_id:
                token = None if arrays is None else arrays.token_at(place)
                if not _is_token_too(text, token, self.normalization):
                    return True
        return False

    def extended(self, ids: Sequence[int], rows: Iterable[tuple[int, int, int]]) -> Vocabulary:
        """Add merges, as rows of left, right and resulting symbol; `ids` are the ids of the existing symbols.

        New tokens get ids after the largest one in use.

        >>> symbols = list(range(256))
        >>> base = Vocabulary({byte: bytes([byte]) for byte in symbols}, [])
        >>> base.extended(symbols, [(97, 98, 256)]).merges
        ((97, 98),)
        """
        tokens = dict(self.tokens)
        next_id = max(*self.tokens, *self.special_tokens.values(), *self.decode_only) + 1
        pairs = _add_merges(tokens, list(ids), next_id, rows)
        return replace(self, tokens=tokens, merges=list(dict.fromkeys([*self.merges, *pairs])), merge_ids=())

    def __hash__(self) -> int:
        """Equal vocabularies have equal fingerprints; the converse does not hold."""
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle and copy the fields; they are checked again when the value is recreated."""
        values = self._fields()
        for name, value in values.items():
            if isinstance(value, Mapping):  # a view of a mapping cannot be pickled
                values[name] = dict(value)
        return partial(type(self), **values), ()

    def __repr__(self) -> str:
        """Return a single line, without the tokens."""
        return (
            f"Vocabulary({len(self.tokens):,} tokens, {len(self.merges):,} merges, "
            f"{len(self.special_tokens)} special tokens, fingerprint {self.fingerprint[:12]})"
        )

    @property
    def mergeable_vocab_size(self) -> int:
        """The number of tokens, without special and decode-only ones.

        >>> Vocabulary.from_merges([(97, 98, 256)], Dialect.named("cs336"), ["<|x|>"]).mergeable_vocab_size
        257
        """
        return len(self.arrays)

    @property
    def vocab_size(self) -> int:
        """The number of tokens, special ones included.

        >>> Vocabulary.from_merges([(97, 98, 256)], Dialect.named("cs336"), ["<|x|>"]).vocab_size
        258
        """
        count = len(self.arrays) + len(self.special_tokens_apart) + len(self.decode_only)
        return count - len(self.provisional)

    @cached_property
    def special_tokens_apart(self) -> Mapping[str, int]:
        """The special tokens but those that are tokens of the same bytes, too."""
        numbers = memoryview(self.arrays.packed.ids).cast("I")

        def is_apart(token_id: int) -> bool:
            place = bisect_left(numbers, token_id)
            return place == len(numbers) or numbers[place] != token_id

        return {text: token_id for text, token_id in self.special_tokens.items() if is_apart(token_id)}

    @cached_property
    def id_of(self) -> Mapping[bytes, int]:
        """The id of every token's bytes (for equal tokens the smallest id), without special tokens."""
        return MappingProxyType(
            {token: token_id for token_id, token in sorted(self.tokens.items(), reverse=True)}
        )

    @cached_property
    def id_of_byte(self) -> Mapping[int, int]:
        """The id of every byte value that has a token."""
        return MappingProxyType(_id_of_byte(self.tokens))

    @property
    def base_ids(self) -> tuple[int, ...]:
        """The ids of all byte values; an error if the vocabulary lacks one.

        >>> Vocabulary.from_merges([(97, 98, 256)], Dialect.named("cs336"), ["<|x|>"]).base_ids[:2]
        (1, 2)
        """
        return _all_bytes(self.id_of_byte)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256, in hexadecimal, of everything that decides how text becomes ids and ids become text."""
        from bpetite._internal import fingerprint  # It imports OpenSSL, which most runs do not need.

        arrays = self.arrays
        content: dict[str, object] = {
            "merges": partial(merges_json, arrays.packed.merges, "pairs"),
            "pattern": self.pattern,
            "special_tokens": sorted(self.special_tokens.items()),
            "tokens": arrays.tokens_json("rows"),
            "whole_pretoken_first": self.whole_pretoken_first,
        }
        if self.normalization is not None:
            content["normalization"] = self.normalization
        if self.added_tokens:
            content["added_tokens"] = sorted(self.added_tokens)
        if self.decode_only:
            content["decode_only"] = [[token_id, token.hex()] for token_id, token in self.decode_only.items()]
        if self.token_flags:
            content["token_flags"] = sorted(self.token_flags.items())
        if self.provisional:
            content["provisional"] = sorted(self.provisional)
        if self.drops_space:
            content["drops_space"] = self.drops_space
        if self.unknown is not None:
            content["unknown"] = list(self.unknown)
        if self.drops_missing:
            content["drops_missing"] = True
        if UNICODE_VERSION != _FIRST_UNICODE_VERSION:
            content["unicode_version"] = UNICODE_VERSION
        if self.equal_ranks:
            content["equal_ranks"] = [list(ends) for ends in self.equal_ranks]
        # Ascending ids of merges follow from the bytes of their tokens.
        merge_ids = list(arrays.to_merge_ids())
        if any(map(ge, merge_ids, merge_ids[1:])) and merge_ids != _find_merge_ids(self.tokens, self.merges):
            content["merge_ids"] = merge_ids
        return fingerprint.fingerprint(content)

    def truncate(self, vocab_size: int) -> Vocabulary:
        """Return the vocabulary that training to this smaller `vocab_size` would have given.

        The first merges are kept, and all tokens that no merge makes. `vocab_size` counts what it counts in
        training: all tokens, or those without special and decode-only ones, as the dialect says.

        >>> tokens = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b"abc"}
        >>> Vocabulary(tokens, [(97, 98), (256, 99)]).truncate(257).merges
        ((97, 98),)
        """
        if self.irregular or self.provisional:
            raise ValueError(
                "this vocabulary cannot be truncated: its merges are not in an order that training could give"
            )
        vocab_size = integer("vocab_size", vocab_size)
        kept = set(self.tokens).difference(self.merge_ids)
        counted, all_of = set(kept), self.mergeable_vocab_size
        if self.dialect.vocab_size_counts == "everything":
            counted.update(self.special_tokens.values(), self.decode_only)
            all_of = self.vocab_size
        if vocab_size > all_of:
            raise ValueError(
                f"vocab_size {vocab_size} is larger than this vocabulary of {all_of} tokens: truncate makes "
                f"it smaller, with at least {len(counted)} (Tokenizer.fit shortens a text)"
            )
        if vocab_size < len(counted):
            raise ValueError(
                f"vocab_size must be at least {len(counted)}, as many tokens are made by no merge, "
                f"not {vocab_size}"
            )
        merges = []
        for pair, token_id in zip(self.merges, self.merge_ids, strict=True):
            if token_id not in counted and len(counted) == vocab_size:
                break
            counted.add(token_id)
            kept.add(token_id)
            merges.append(pair)
        tokens = {token_id: token for token_id, token in self.tokens.items() if token_id in kept}
        specials = dict(self.special_tokens)
        if specials == self.dialect.special_token_ids(list(specials), len(self.tokens)):
            moved = self.dialect.special_token_ids(list(specials), len(tokens))
            if kept.isdisjoint(moved.values()) and set(self.decode_only).isdisjoint(moved.values()):
                specials = moved
        return replace(self, tokens=tokens, merges=merges, special_tokens=specials, merge_ids=())


def _add_merges(
    tokens: dict[int, bytes], ids: list[int], next_id: int, rows: Iterable[tuple[int, int, int]]
) -> dict[Pair, int]:
    """Add the tokens of rows of left, right and resulting symbol; return the pairs of ids with their results.

    `ids` are the ids of the symbols so far. With shared tokens a pair may occur again in a later row: the
    first row decides its rank.
    """
    made: dict[Pair, int] = {}
    for left, right, result in rows:
        if result == len(ids):
            ids.append(next_id)
            tokens[next_id] = tokens[ids[left]] + tokens[ids[right]]
            next_id += 1
        made.setdefault((ids[left], ids[right]), ids[result])
    return made


def _is_token_too(text: str, token: bytes | None, normalization: Normalization | None) -> bool:
    """Whether a special token may have the id of a token: it has the same bytes. (Its flags may leave it to
    merging.) Where spaces become marks, it may also be found in a text that has marks itself."""
    if MARK in text and ("Replace", MARK, " ") in steps_in(normalization):
        return text.replace(MARK, " ").encode("utf-8") == token
    return text.encode("utf-8") == token


def _check_ids(ids: Sequence[int]) -> None:
    if not set(map(type, ids)) <= {int}:
        wrong = next(token_id for token_id in ids if type(token_id) is not int)
        raise ValueError(f"ids must be integers, not {wrong!r}")
    if min(ids) < 0 or max(ids) > LARGEST_ID:
        raise ValueError(f"ids must lie between 0 and {LARGEST_ID}: {min(ids)} to {max(ids)} were given")
    _check_distinct("id", ids)


def listed_special_tokens(special_tokens: Iterable[str]) -> tuple[str, ...]:
    """Return special tokens in order; a set, which has no order, or a dict of ids is refused."""
    if isinstance(special_tokens, str):
        raise TypeError("special_tokens must be a list of strings, not one string")
    if isinstance(special_tokens, set | frozenset):
        raise TypeError("special_tokens must be a list of strings, not a set: their order decides ids")
    if isinstance(special_tokens, Mapping):
        raise TypeError(
            "special_tokens must be a list of strings, not a dict: their ids cannot be chosen here"
        )
    specials = tuple(several("special_tokens", "str", special_tokens))
    for text in specials:
        check_type("special_tokens", text, str, "a list of str")
    check_special_tokens(specials)
    return specials


def check_special_tokens(special_tokens: Collection[str]) -> None:
    """Refuse special tokens that are empty, not text, or given twice."""
    for text in special_tokens:
        if not isinstance(text, str) or not text:
            raise ValueError(f"special_tokens must be non-empty strings, not {text!r}")
        text.encode("utf-8")
    _check_distinct("special token", special_tokens)


def _check_provisional(
    provisional: Collection[int], arrays: Arrays, other_ids: Collection[int], *, may_be_bytes: bool
) -> None:
    """Refuse provisional tokens that do not exist, are single bytes, or do not have the last ids."""
    if not provisional:
        return
    own = memoryview(arrays.packed.ids).cast("I")[-len(provisional) :].tolist()
    if sorted(provisional) != own or own[0] < max(other_ids, default=0):
        raise ValueError(
            f"provisional tokens {min(provisional)} to {max(provisional)} do not have the last ids"
        )
    if min(arrays.lengths(len(provisional))) < 2 and not may_be_bytes:
        raise ValueError("a provisional token must not be a single byte")


def _checked_ranges(equal_ranks: Sequence[Pair], merges: int) -> tuple[Pair, ...]:
    """Return where merges of the same rank begin and end; each of these must be of two or more merges."""
    last = 0
    for start, end in equal_ranks:
        if not last <= start < end - 1 < merges:
            raise ValueError(
                f"equal_ranks: {start} to {end} are not several of {merges} merges behind {last}"
            )
        last = end
    return tuple((start, end) for start, end in equal_ranks)


def _check_added(added_tokens: Collection[str], special_tokens: Mapping[str, int]) -> None:
    unknown = sorted(set(added_tokens) - set(special_tokens))
    if unknown:
        raise ValueError(f"added token {unknown[0]!r} is not among the special tokens")


def flagged_tokens(vocabulary: Vocabulary) -> list[tuple[str, int, Sequence[str]]]:
    """Return the text, the id and the flags of each added token, as the engine takes them.

    >>> tokens = {byte: bytes([byte]) for byte in range(256)}
    >>> flagged_tokens(Vocabulary(tokens, [], {"<x>": 256}, token_flags={"<x>": ["lstrip"]}))
    [('<x>', 256, ('lstrip', 'special'))]
    """
    special = ("special",)

    def flags_of(text: str) -> Sequence[str]:
        flags = (*vocabulary.token_flags.get(text, ()),)
        return flags if text in vocabulary.added_tokens else flags + special if flags else special

    return [(text, token_id, flags_of(text)) for text, token_id in vocabulary.special_tokens.items()]


def spelled_otherwise(vocabulary: Vocabulary) -> list[tuple[int, bytes]]:
    """Return what special tokens are decoded to that are not decoded to their texts.

    Those that are searched in normalized text are known by their normalized texts, as in `tokenizers`. Those
    that are tokens of spaces, too, are decoded to spaces, not to the marks that stand for them.
    """
    apart = vocabulary.special_tokens_apart
    found = {
        token_id: vocabulary.tokens[token_id]
        for text, token_id in vocabulary.special_tokens.items()
        if MARK in text and text not in apart
    }
    if vocabulary.normalization is not None:
        normalize = normalizing(steps_in(vocabulary.normalization))
        for text, names in vocabulary.token_flags.items():
            if "normalized" in names:
                found[vocabulary.special_tokens[text]] = normalize(text).encode("utf-8")
    return [*found.items()]


def _checked_flags(
    flags: Mapping[str, Collection[str]], special_tokens: Mapping[str, int]
) -> dict[str, tuple[str, ...]]:
    """Return flags in canonical form: in the order of the special tokens and of their names."""
    for text, names in flags.items():
        if text not in special_tokens:
            raise ValueError(f"token_flags: {text!r:.80} is not among the special tokens")
        if isinstance(names, str) or not set(names) <= set(TOKEN_FLAGS):
            raise ValueError(
                f"token_flags: {text!r:.80} has {names!r:.80}, not some of {', '.join(TOKEN_FLAGS)}"
            )
    return {text: tuple(sorted(set(flags[text]))) for text in special_tokens if flags.get(text)}


def _check_distinct(what: str, values: Collection[Hashable]) -> None:
    if len(set(values)) != len(values):
        seen: set[Hashable] = set()
        for value in values:
            if value in seen:
                raise ValueError(f"{what} {value!r} is given twice")
            seen.add(value)


def _id_of_byte(tokens: Mapping[int, bytes]) -> dict[int, int]:
    ids: dict[int, int] = {}
    for token_id, token in [item for item in tokens.items() if len(item[1]) < 2]:
        if not token:
            raise ValueError(f"token {token_id} is empty")
        if token[0] in ids:
            raise ValueError(f"byte {token[0]} has two ids, {ids[token[0]]} and {token_id}")
        ids[token[0]] = token_id
    return ids


def _all_bytes(id_of_byte: Mapping[int, int]) -> tuple[int, ...]:
    missing = [byte for byte in range(BASE_VOCAB_SIZE) if byte not in id_of_byte]
    if missing:
        raise ValueError(f"the base tokens lack byte {missing[0]}")
    return tuple(id_of_byte[byte] for byte in range(BASE_VOCAB_SIZE))


def _find_merge_ids(tokens: Mapping[int, bytes], merges: Sequence[Pair]) -> list[int]:
    """Return the id of every merge's token: of equal tokens the first that no earlier merge has, if any."""
    id_of = {token: token_id for token_id, token in tokens.items()}
    if len(id_of) == len(tokens):
        with contextlib.suppress(KeyError):  # reported below
            return [id_of[tokens[left] + tokens[right]] for left, right in merges]
    ids_of: defaultdict[bytes, list[int]] = defaultdict(list)
    for token_id in sorted(tokens):
        ids_of[tokens[token_id]].append(token_id)
    free = {token: iter(ids) for token, ids in ids_of.items() if len(ids) > 1}
    merge_ids = []
    for rank, (left, right) in enumerate(merges):
        try:
            token = tokens[left] + tokens[right]
        except KeyError as unknown:
            raise ValueError(f"merge {rank} is made of id {unknown.args[0]}, which no token has") from None
        if token not in ids_of:
            raise ValueError(f"merge {rank} makes {token!r:.80}, which is not a token")
        first = ids_of[token][0]
        merge_ids.append(next(free[token], first) if token in free else first)
    return merge_ids


def _replay(
    tokens: Mapping[int, bytes], merges: Sequence[Pair], merge_ids: Sequence[int]
) -> dict[int, bytes]:
    """Build every merge's token from its parents; return all tokens in the order of ids."""
    if len(merge_ids) != len(merges):
        raise ValueError(f"there are {len(merges)} merges, but {len(merge_ids)} ids of their tokens")
    made = {token_id: tokens[token_id] for token_id in sorted(_all_bytes(_id_of_byte(tokens)))}
    sizes = dict.fromkeys(made, 1)
    for (left, right), token_id in zip(merges, merge_ids, strict=True):
        sizes[token_id] = sizes.get(left, 0) + sizes.get(right, 0)
    if sum(sizes.values()) > MAX_TOKEN_BYTES:
        raise ValueError(f"the tokens of the merges have more than {MAX_TOKEN_BYTES} bytes in all")
    waiting = iter(merges)
    try:
        for (left, right), token_id in zip(waiting, merge_ids, strict=True):
            made[token_id] = made[left] + made[right]
    except KeyError as late:
        rank = len(merges) - 1 - sum(1 for _ in waiting)
        message = f"merge {rank} is made of id {late.args[0]}, which no earlier merge makes"
        raise ValueError(message) from None
    if len(made) != BASE_VOCAB_SIZE + len(merges):
        _check_shared(tokens, merges, merge_ids)
    for token_id, token in tokens.items():
        if made.setdefault(token_id, token) != token:
            raise ValueError(f"token {token_id} is {token!r:.80}, but its merge makes {made[token_id]!r:.80}")
    ids = list(made)
    return made if all(map(lt, ids, ids[1:])) else dict(sorted(made.items()))


def _check_spelled(
    tokens: Mapping[int, bytes], merges: Sequence[Pair], merge_ids: Sequence[int]
) -> tuple[dict[int, bytes], bool]:
    """Check that the token of every merge has the bytes of its parents, whatever the order of merges.

    Return all tokens in the order of ids, and whether a parent is made later than a merge or a byte is
    missing.
    """
    if len(merge_ids) != len(merges):
        raise ValueError(f"there are {len(merges)} merges, but {len(merge_ids)} ids of their tokens")
    id_of_byte = _id_of_byte(tokens)
    made = set(id_of_byte.values())
    in_order = True
    for rank, ((left, right), token_id) in enumerate(zip(merges, merge_ids, strict=True)):
        unknown = next((part for part in (left, right, token_id) if part not in tokens), None)
        if unknown is not None:
            raise ValueError(f"merge {rank} is made of id {unknown}, which no token has")
        token = tokens[left] + tokens[right]
        if tokens[token_id] != token:
            raise ValueError(
                f"merge {rank} makes {token!r:.80}, but id {token_id} is {tokens[token_id]!r:.80}"
            )
        in_order = in_order and left in made and right in made
        made.add(token_id)
    return dict(sorted(tokens.items())), not in_order or len(id_of_byte) < BASE_VOCAB_SIZE


def _check_shared(tokens: Mapping[int, bytes], merges: Sequence[Pair], merge_ids: Sequence[int]) -> None:
    """Check that merges that result in the same id have the same bytes."""
    made = {token_id: tokens[token_id] for token_id in _all_bytes(_id_of_byte(tokens))}
    for rank, ((left, right), token_id) in enumerate(zip(merges, merge_ids, strict=True)):
        token = made[left] + made[right]
        if made.setdefault(token_id, token) != token:
            raise ValueError(f"merge {rank} makes {token!r:.80}, but id {token_id} is {made[token_id]!r:.80}")
