"""The vocabulary: base tokens, merges and special tokens, as one immutable and checked value.

All invariants are checked once, when the value is created. Code that receives a `Vocabulary` can
rely on them:

- all 256 bytes are base tokens, with any ids;
- the parents of every merge are base tokens or results of earlier merges, and no pair is merged
  twice;
- the token of a merge has the bytes of its parents, and an id; the size of all tokens together is
  limited;
- ids are unique, special tokens included, and fit 32 bits; there may be gaps (a special token may
  also be the token of the same bytes, and, where spaces are spelled U+2581 before tokens are looked
  for, one of such marks the token of as many spaces);
- special tokens are non-empty, distinct strings.

Files of other libraries hold vocabularies that our training cannot give. They are accepted with
`irregular`: a merge may come before those of its parents, and bytes may have no token; but the
token of a merge must still have the bytes of its parents. Encoding always takes the pair of the
lowest rank, so it is defined for any order.

The *rank* of a merge, its place in the order, is independent of the *id* of its token.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate, chain, count, pairwise
from operator import lt
from struct import iter_unpack
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, cast

from bpetite._constants import BASE_VOCAB_SIZE, PRETOKENIZER_PATTERN, UNICODE_VERSION, Pair, Pattern
from bpetite._engine import avoids, complete_tokens, pairs_json, tokens_json
from bpetite._internal.arguments import check_type, several
from bpetite._internal.integers import counted, integer
from bpetite._internal.json import written
from bpetite._internal.once import once
from bpetite._internal.record import Record, derived, replaced
from bpetite.dialect import Dialect
from bpetite.normalization import Normalization, Step, checked, normalizing, steps_in
from bpetite.patterns import checked_pattern

DropsSpace = bool | Literal["all"]
Spaced = bool | Literal["words", "cleaned"]

TOKEN_FLAGS = ("lstrip", "normalized", "rstrip", "single_word")
"""How a special token may be matched: with the white space before it, in normalized text, with the white
space after it, only as a whole word."""

MARK = "\u2581"
"""How a space is spelled where tokens are made of characters."""

WORD_END = b"\xff"
"""The last byte of a token that ends a pretoken, if these have ends; no UTF-8 has it."""

WORD_START = b"\xfe"
"""The first byte of a token that begins a pretoken, if these have beginnings; no UTF-8 has it."""

LARGEST_ID = 2**32 - 2
"""Ids have 32 bits; the engine reserves the last value."""

_LONGEST_NAMED = 20
"""The longest special token, in characters, that `size_in_words` names: longer ones do not fit its line."""

_FIRST_UNICODE_VERSION = "18.0.0"
"""The version of the first release: a fingerprint names the version if it is another one."""


class Arrays(Record):
    """The tokens and merges of a vocabulary as the engine takes them, without a Python object for each.

    Numbers are the bytes of arrays.
    """

    ids: bytes
    """The ids of all tokens except the special ones, in ascending order (32 bits)."""
    tokens: bytes
    """The bytes of these tokens, concatenated."""
    ends: bytes
    """The end of each token in the bytes (64 bits)."""
    merges: bytes = b""
    """Rows of left, right and resulting id, in the order of rank (32 bits)."""

    @staticmethod
    def of(
        tokens: Mapping[int, bytes], merges: Sequence[Pair] = (), merge_ids: Sequence[int] = ()
    ) -> Arrays:
        """Take tokens in the order of their ids, and merges.

        >>> Arrays.of({3: b"a", 5: b"bc"}).token_at(1)
        b'bc'
        """
        rows = ((*pair, merge_id) for pair, merge_id in zip(merges, merge_ids, strict=True))
        return Arrays(
            ids=array("I", tokens).tobytes(),
            tokens=b"".join(tokens.values()),
            ends=array("Q", accumulate(map(len, tokens.values()))).tobytes(),
            merges=array("I", chain.from_iterable(rows)).tobytes(),
        )

    def __len__(self) -> int:
        """Return the number of tokens."""
        return len(self.ids) // 4

    def token_at(self, place: int) -> bytes:
        """Return the bytes of the token at a place."""
        ends = memoryview(self.ends).cast("Q")
        start = ends[place - 1] if place else 0
        return self.tokens[start : ends[place]]

    def id_at(self, place: int) -> int:
        """Return the id of the token at a place."""
        return memoryview(self.ids).cast("I")[place]

    def token_of(self, token_id: int) -> bytes | None:
        """Return the bytes of the token with this id, if there is one.

        >>> Arrays.of({3: b"a", 5: b"bc"}).token_of(5)
        b'bc'
        """
        ids = memoryview(self.ids).cast("I")
        place = bisect_left(ids, token_id)
        has_token = place < len(ids) and ids[place] == token_id
        return self.token_at(place) if has_token else None

    def begins_with(self, first: Arrays) -> bool:
        """Whether these tokens are other ones, with the same ids, and perhaps more behind them.

        >>> Arrays.of({3: b"a", 5: b"bc"}).begins_with(Arrays.of({3: b"a"}))
        True
        """
        have_ids = self.ids.startswith(first.ids) and self.ends.startswith(first.ends)
        return have_ids and self.tokens.startswith(first.tokens)

    @property
    def merge_count(self) -> int:
        """The number of merges."""
        return len(self.merges) // 12

    def to_tokens(self) -> Mapping[int, bytes]:
        """Return the bytes of every token, by id."""
        ids = memoryview(self.ids).cast("I").tolist()
        ends = memoryview(self.ends).cast("Q").tolist()
        tokens = (self.tokens[start:end] for start, end in pairwise([0, *ends]))
        return MappingProxyType(dict(zip(ids, tokens, strict=True)))

    def to_pairs(self) -> tuple[Pair, ...]:
        """Return the pair of every merge."""
        numbers = memoryview(self.merges).cast("I")
        return tuple(zip(numbers[::3].tolist(), numbers[1::3].tolist(), strict=True))

    def to_flat_merges(self) -> array[int]:
        """Return the ids of every merge's pair, one pair after the other.

        >>> Arrays.of({}, [(97, 98), (99, 100)], [256, 257]).to_flat_merges().tolist()
        [97, 98, 99, 100]
        """
        numbers = array("I", self.merges)
        del numbers[2::3]
        return numbers

    def to_json(
        self, form: Literal["lists", "hexadecimal", "rows"], *, without_merged: bool = False
    ) -> bytes:
        """Return the tokens and their ids as JSON, perhaps without those that merges make.

        `tokens_json` explains the forms.

        >>> arrays = Arrays.of({97: b"a", 98: b"b", 256: b"ab"}, [(97, 98)], [256])
        >>> arrays.to_json("hexadecimal"), arrays.to_json("hexadecimal", without_merged=True)
        (b'{"256":"6162","97":"61","98":"62"}', b'{"97":"61","98":"62"}')
        """
        left_out = self.merges if without_merged else b""
        return tokens_json(self.ids, self.tokens, self.ends, form, left_out)

    def to_merge_ids(self) -> tuple[int, ...]:
        """Return the id of every merge's token."""
        return tuple(memoryview(self.merges).cast("I")[2::3].tolist())


_LAZY_FIELDS = {
    "tokens": Arrays.to_tokens,
    "merges": Arrays.to_pairs,
    "merge_ids": Arrays.to_merge_ids,
}


class Vocabulary(Record, lazy=_LAZY_FIELDS):
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

    special_tokens: Mapping[str, int] = MappingProxyType({})
    """The ids of the special tokens, in the order of ids."""

    pattern: Pattern = PRETOKENIZER_PATTERN
    """The regular expression whose matches are pretokens; or several, each for pieces of the one before."""

    dialect: Dialect = Dialect()
    """The rules by which the vocabulary was trained."""

    whole_pretoken_first: bool = False
    """Whether a pretoken that is itself a token gets that token's id before any merge is tried."""

    normalization: Normalization | None = None
    """The normalization of the text between special tokens, before it is cut into pretokens: the name of a
    normalizer (`NFC`), or several as tuples of a name and its arguments (`("Replace", pattern, content)`)."""

    added_tokens: Collection[str] = frozenset()
    """The special tokens that are ordinary ones of the model: Hugging Face's added tokens that are not
    special, SentencePiece's user-defined pieces. They are found in every text, even where special
    tokens are
    text (`special="text"`) or an error."""

    token_flags: Mapping[str, Collection[str]] = MappingProxyType({})
    """The flags of special tokens that are not simply matched in the text (`TOKEN_FLAGS`). Only imported
    vocabularies have them."""

    trained_with: Mapping[str, int | Sequence[str]] = MappingProxyType({})
    """Training options that differ from their defaults (`min_count`, `without`), for the record."""

    merge_ids: Sequence[int] = ()
    """The id of every merge's token; if not given, it is found by its bytes."""

    irregular: bool = False
    """Whether a merge comes before those of its parents, a byte has no token, or ranks are equal. Such are
    refused unless this is set; afterwards, the value tells whether the vocabulary is one of them."""

    decode_only: Mapping[int, bytes] = MappingProxyType({})
    """Tokens that encoding never gives, by id; they can only be decoded."""

    provisional: Collection[int] = frozenset()
    """Tokens that exist only to be merged further: one that is left after merging is replaced by the ids of
    its bytes. Internally, their ids are after all others. SentencePiece's vocabularies, whose
    merges begin with characters, need them for the first bytes of characters. They may also be
    single bytes, and a character of which any is left is then unknown, or has no token."""

    drops_space: DropsSpace = False
    """Whether decoding removes a space at the beginning of the text, because encoding put one there; `all`
    removes the spaces of the first token, as the decoder `Metaspace` does."""

    unknown: tuple[int, bool] | None = None
    """The id that stands for bytes without a token (with `provisional`, for characters without one), and
    whether it stands once for successive ones of a pretoken, or for each. Without it, text with
    such a byte
    cannot be encoded."""

    equal_ranks: Sequence[Pair] = ()
    """Where in the order merges of the same rank begin and end: the leftmost of their pairs is merged first.
    Only imported vocabularies have them."""

    drops_missing: bool = False
    """Whether bytes without a token (with `provisional`, characters without one) are left out, as tokenizers
    does without an unknown token. Otherwise, and without `unknown`, text with one cannot be encoded."""

    left_out: str | None = None
    """A set of characters, as an expression (`\\s`): a pretoken that consists of these has no ids. Only
    imported vocabularies have one, whose own library removes what it splits a text at."""

    spaced: Spaced = False
    """Whether decoding puts a space between any two tokens, as tokenizers does without a decoder; with
    `words`, not before a token within a word (`word_start`), and `cleaned` also removes spaces
    before marks, as the decoder `WordPiece` does."""

    word_end: str | None = None
    """What decoding writes for `WORD_END`, a byte that ends each pretoken before it is merged, so that tokens
    at the end of a word are others (BPE with `end_of_word_suffix`). A space is left out behind the
    last token. None: pretokens have no ends."""

    word_start: str | None = None
    """The prefix in the names of tokens within words (BPE with `continuing_subword_prefix`): those at the
    beginning of a pretoken are others, as the byte `WORD_START` is put before each pretoken. None:
    they are the same. Where tokens are `spaced`, decoding writes the prefix for the first token."""

    arrays: Arrays = derived()
    """Tokens and merges as the engine takes them."""

    id_of_byte: Mapping[int, int] = derived()
    """The id of every byte value that has a token."""

    def _check_types(self) -> None:
        """Refuse fields of other types, by their names; what is in them is checked where it is read."""
        for name in ("special_tokens", "token_flags", "trained_with", "decode_only"):
            check_type(name, getattr(self, name), Mapping, "a mapping")
        for name in ("added_tokens", "provisional", "equal_ranks"):
            several(name, "values", getattr(self, name))
        for name in ("whole_pretoken_first", "irregular", "drops_missing"):
            check_type(name, getattr(self, name), bool, "a bool")
        if self.spaced not in (False, True, "words", "cleaned"):
            raise ValueError(f"spaced: {self.spaced!r:.80} is not a bool, 'words' or 'cleaned'")
        check_type("dialect", self.dialect, Dialect, "a Dialect")
        for name in ("word_end", "word_start"):
            if getattr(self, name) is not None:
                check_type(name, getattr(self, name), str, "a str")
        if not isinstance(self.tokens, Arrays):
            check_type("tokens", self.tokens, Mapping, "a mapping")
            several("merges", "pairs of ids", self.merges)
            several("merge_ids", "ids", self.merge_ids)

    def __post_init__(self) -> None:
        self._check_types()
        arrays = self.tokens if isinstance(self.tokens, Arrays) else self._as_arrays()
        completed, in_order, id_of_byte = complete_tokens(**vars(arrays), irregular=self.irregular)
        if completed:
            arrays = Arrays(*completed, arrays.merges)
        equal_ranks = _checked_ranges(self.equal_ranks, arrays.merge_count if self.irregular else 0)
        irregular = not in_order or len(id_of_byte) < BASE_VOCAB_SIZE
        has_ends = self.word_end is not None
        has_starts = self.word_start is not None
        lacks_characters = not set(self.provisional).isdisjoint(dict(id_of_byte).values())
        lacks_some = irregular or has_ends or has_starts or lacks_characters
        if self.drops_missing and (self.unknown is not None or not lacks_some):
            raise ValueError(
                "drops_missing: no byte lacks a token, or there is another rule for those that do"
            )
        if self.left_out is not None:
            _check_set("left_out", self.left_out)
        if self.spaced and self.drops_space:
            raise ValueError("spaced: no space at the beginning can be left out at the same time")
        specials = _checked_specials(self.special_tokens)
        normalization = checked(self.normalization)
        other_ids = self._check_other_ids(arrays, specials, steps_in(normalization))
        if unknown := sorted(set(self.added_tokens) - specials.keys()):
            raise ValueError(f"added token {unknown[0]!r} is not among the special tokens")
        _check_provisional(self.provisional, arrays, other_ids)
        if has_ends and (WORD_END[0] not in dict(id_of_byte) or self.whole_pretoken_first):
            raise ValueError("word_end: no token is byte 255, or whole pretokens come first")
        if has_starts and (WORD_START[0] not in dict(id_of_byte) or self.whole_pretoken_first):
            raise ValueError("word_start: no token is byte 254, or whole pretokens come first")
        if has_starts and has_ends:
            raise ValueError("word_start: pretokens have ends already")
        if self.spaced in ("words", "cleaned") and not self.word_start:
            raise ValueError(f"spaced: {self.spaced!r} needs the prefix of tokens within words")
        # From now on, `arrays` has the tokens and merges, and `__getattr__` is asked for these
        # fields.
        for name in _LAZY_FIELDS:
            del self.__dict__[name]
        self.__dict__.update(
            arrays=arrays,
            pattern=checked_pattern(self.pattern),
            id_of_byte=MappingProxyType(dict(id_of_byte)),
            special_tokens=MappingProxyType(specials),
            added_tokens=frozenset(self.added_tokens),
            normalization=normalization,
            token_flags=MappingProxyType(_checked_flags(self.token_flags, specials)),
            trained_with=_frozen_options(self.trained_with),
            irregular=irregular or bool(equal_ranks),
            equal_ranks=equal_ranks,
            provisional=frozenset(self.provisional),
            decode_only=MappingProxyType(dict(sorted(self.decode_only.items()))),
        )

    def _as_arrays(self) -> Arrays:
        """Return the tokens and merges that the call gave, with the ids that merges make."""
        _check_ids(self.tokens)
        merge_ids = self.merge_ids or _find_merge_ids(self.tokens, self.merges)
        try:
            return Arrays.of(dict(sorted(self.tokens.items())), self.merges, merge_ids)
        except (OverflowError, TypeError, ValueError):
            expected = f"pairs of ids, between 0 and {LARGEST_ID}, with the id of a token for each"
            raise ValueError(f"merges must be {expected}") from None

    def _check_other_ids(
        self, arrays: Arrays, specials: Mapping[str, int], steps: Sequence[Step]
    ) -> list[int]:
        """Return the ids that are not those of tokens in the arrays; refuse one that is used twice."""
        other_ids = []
        for text, token_id in specials.items():
            if arrays.token_of(token_id) != _spelled(text, steps):
                other_ids.append(token_id)
        other_ids += self.decode_only
        _check_ids(other_ids)
        for token_id in other_ids:
            if arrays.token_of(token_id) is not None:
                raise ValueError(f"id {token_id} is given twice")
        return other_ids

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Create the Python objects of tokens or merges from arrays, at their first use."""
            if name not in _LAZY_FIELDS or "arrays" not in self.__dict__:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return self.__dict__.setdefault(name, _LAZY_FIELDS[name](self.arrays))

    @staticmethod
    def of_arrays(arrays: Arrays, **others: Any) -> Vocabulary:
        """Build a vocabulary from tokens and merges that are arrays already; `others` are its other fields.

        >>> ones = {byte: bytes([byte]) for byte in range(256)}
        >>> Vocabulary.of_arrays(Arrays.of(ones, [(97, 98)], [256])).tokens[256]
        b'ab'
        """
        check_type("arrays", arrays, Arrays, "Arrays")
        # Only here are the tokens arrays; `__post_init__` takes them, and the field has a mapping.
        return Vocabulary(cast("Mapping[int, bytes]", arrays), (), **others)

    @staticmethod
    def from_merges(
        merges: Iterable[tuple[int, int, int]] | bytes,
        dialect: Dialect,
        special_tokens: Sequence[str],
        pattern: Pattern = PRETOKENIZER_PATTERN,
        trained_with: Mapping[str, int | Sequence[str]] | None = None,
        normalization: Normalization | None = None,
    ) -> Vocabulary:
        """Build a vocabulary from the engine's merges: rows of left, right and resulting symbol.

        Symbols 0 to 255 are the base tokens in the order of their ids; new tokens follow in the
        order of merges. The rows may also be the bytes of an array.

        >>> Vocabulary.from_merges([(97, 98, 256)], Dialect.named("cs336"), ["<|x|>"]).tokens[257]
        b'ab'
        """
        check_type("dialect", dialect, Dialect, "a Dialect")
        special_tokens = listed_special_tokens(special_tokens)
        rows_of_symbols = merges if isinstance(merges, bytes) else several("merges", "rows", merges)
        base = dialect.base_vocabulary(len(special_tokens))
        first_id = dialect.first_merge_id(len(special_tokens))
        rows, new_tokens = _rows_of_ids(rows_of_symbols, list(base), first_id)
        return Vocabulary.of_arrays(
            replaced(Arrays.of(dict(sorted(base.items()))), merges=rows),
            special_tokens=dialect.special_token_ids(special_tokens, len(base) + new_tokens),
            pattern=pattern,
            dialect=dialect,
            trained_with=trained_with or {},
            normalization=normalization,
        )

    def extended(
        self,
        ids: Sequence[int],
        rows: Iterable[tuple[int, int, int]] | bytes,
        new_ids: Sequence[int] | None = None,
    ) -> Vocabulary:
        """Add merges, as rows of left, right and resulting symbol; `ids` are the ids of the existing symbols.

        New tokens get `new_ids` in the order given, or ids after the largest one in use.

        >>> symbols = list(range(256))
        >>> base = Vocabulary({byte: bytes([byte]) for byte in symbols}, [])
        >>> base.extended(symbols, [(97, 98, 256)]).merges
        ((97, 98),)
        """
        ids = list(several("ids", "integers", ids))
        rows = rows if isinstance(rows, bytes) else several("rows", "rows of three symbols", rows)
        free = self.largest_id + 1
        new_rows, new = _rows_of_ids(rows, ids, free, new_ids)
        vocabulary = self
        if self.provisional and new_ids is None:
            vocabulary = self._with_provisional_from(free + new)
        arrays = vocabulary.arrays
        # The engine adds the tokens that the new merges make.
        longer = replaced(arrays, merges=arrays.merges + new_rows)
        return replaced(vocabulary, tokens=longer, merges=(), merge_ids=())

    def __eq__(self, other: object) -> bool:
        """Compare all fields; tokens and merges as arrays."""
        if not isinstance(other, Vocabulary):
            return NotImplemented
        names = ["arrays", *(name for name in self._fields if name not in _LAZY_FIELDS)]
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def __hash__(self) -> int:
        """Equal vocabularies have equal fingerprints; the converse does not hold."""
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle and copy the fields; they are checked again when the value is recreated."""
        others = {}
        for name in self._fields:
            if name not in _LAZY_FIELDS:
                value = getattr(self, name)
                # A view of a mapping cannot be pickled.
                others[name] = dict(value) if isinstance(value, Mapping) else value
        return partial(self.of_arrays, self.arrays, **others), ()

    def __repr__(self) -> str:
        """Return a single line, without the tokens."""
        return (
            f"Vocabulary({counted(len(self.tokens), 'token')}, {counted(len(self.merges), 'merge')}, "
            f"{counted(len(self.special_tokens), 'special token')}, fingerprint {self.fingerprint[:12]})"
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

    @once
    def lacks_characters(self) -> bool:
        """Whether bytes are provisional, so that a character without a token has no ids of bytes."""
        return not set(self.provisional).isdisjoint(self.id_of_byte.values())

    @property
    def size_in_words(self) -> str:
        """The number of tokens, and how many of them are special; a single special token is named.

        >>> Vocabulary.from_merges([(97, 98, 256)], Dialect.named("cs336"), ["<|x|>"]).size_in_words
        "258 tokens: 257 and '<|x|>'"
        """
        size, specials = self.vocab_size, [*self.special_tokens_apart]
        if not specials:
            return f"{size:,} tokens"
        is_named = len(specials) == 1 and len(specials[0]) <= _LONGEST_NAMED
        special = repr(specials[0]) if is_named else f"{len(specials):,} special"
        return f"{size:,} tokens: {size - len(specials):,} and {special}"

    @property
    def largest_id(self) -> int:
        """The largest id in use, except for provisional tokens.

        >>> Vocabulary.from_merges([(97, 98, 256)], Dialect.named("cs336"), ["<|x|>"]).largest_id
        257
        """
        last = self.arrays.id_at(-1 - len(self.provisional))
        return max(last, *self.special_tokens.values(), *self.decode_only, 0)

    @property
    def sizes(self) -> list[int]:
        """The sizes that the first 0, 1, 2, ... merges give, as `truncate` and training count them.

        >>> tokens = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b"abc"}
        >>> Vocabulary(tokens, [(97, 98), (256, 99)]).sizes
        [256, 257, 258]
        """
        counted = {*self.tokens}.difference(self.merge_ids, self.provisional)
        if self.dialect.vocab_size_counts == "everything":
            counted.update(self.special_tokens.values(), self.decode_only)
        sizes = [len(counted)]
        for token_id in self.merge_ids:
            if token_id not in self.provisional:
                counted.add(token_id)
            sizes.append(len(counted))
        return sizes

    @once
    def special_tokens_apart(self) -> Mapping[str, int]:
        """The special tokens but those that are tokens of the same bytes, too."""
        token_of = self.arrays.token_of
        specials = self.special_tokens.items()
        return {text: token_id for text, token_id in specials if token_of(token_id) is None}

    @once
    def id_of(self) -> Mapping[bytes, int]:
        """The id of every token's bytes (for equal tokens the smallest id), without special tokens."""
        from_largest = sorted(self.tokens.items(), reverse=True)
        return MappingProxyType({token: token_id for token_id, token in from_largest})

    @once
    def ids_in_order(self) -> Sequence[int]:
        """The ids of the tokens, without special tokens, in the order of the tokens' bytes.

        >>> Vocabulary.from_merges([(97, 98, 256)], Dialect.named("tiktoken")).ids_in_order[97:99]
        (97, 256)
        """
        return tuple(sorted(self.tokens, key=self.tokens.__getitem__))

    @property
    def base_ids(self) -> tuple[int, ...]:
        """The ids of all byte values; an error if the vocabulary lacks one.

        >>> Vocabulary.from_merges([(97, 98, 256)], Dialect.named("cs336"), ["<|x|>"]).base_ids[:2]
        (1, 2)
        """
        missing = set(range(BASE_VOCAB_SIZE)) - self.id_of_byte.keys()
        if missing:
            raise ValueError(f"the base tokens lack byte {min(missing)}")
        return tuple(self.id_of_byte[byte] for byte in range(BASE_VOCAB_SIZE))

    @once
    def fingerprint(self) -> str:
        """SHA-256, in hexadecimal, of everything that decides how text becomes ids and ids become text."""
        import hashlib  # It imports OpenSSL, which most runs do not need.

        arrays = self.arrays
        content: dict[str, object] = {
            "merges": pairs_json(arrays.to_flat_merges().tobytes()),
            "pattern": self.pattern,
            "special_tokens": sorted(self.special_tokens.items()),
            "tokens": arrays.to_json("rows"),
            "whole_pretoken_first": self.whole_pretoken_first,
        }
        optional = {
            "normalization": self.normalization,
            "added_tokens": sorted(self.added_tokens),
            "decode_only": [
                [token_id, token.hex()] for token_id, token in self.decode_only.items()
            ],
            "token_flags": sorted(self.token_flags.items()),
            "provisional": sorted(self.provisional),
            "drops_space": self.drops_space,
            "unknown": self.unknown,
            "drops_missing": self.drops_missing,
            "word_end": None if self.word_end is None else [self.word_end],
            "word_start": None if self.word_start is None else [self.word_start],
            "unicode_version": UNICODE_VERSION
            if UNICODE_VERSION != _FIRST_UNICODE_VERSION
            else None,
            "equal_ranks": self.equal_ranks,
            "left_out": self.left_out,
            "spaced": self.spaced,
        }
        content |= {name: value for name, value in optional.items() if value}
        # Ascending ids of merges follow from the bytes of their tokens.
        merge_ids = list(arrays.to_merge_ids())
        is_ascending = all(map(lt, merge_ids, merge_ids[1:]))
        if not is_ascending and merge_ids != _find_merge_ids(self.tokens, self.merges):
            content["merge_ids"] = merge_ids
        return hashlib.sha256(written(content, ascii_only=True)).hexdigest()

    def with_tokens(
        self, texts: Sequence[str], *, special: bool, ids: Mapping[str, int] | None = None
    ) -> Vocabulary:
        """Return the vocabulary with additional tokens, special or not.

        New ids follow the largest one in use. A text that is already a token keeps its id, which is
        looked up in `ids` (the spelled tokens), if given, or else by its bytes.

        >>> tokens = {byte: bytes([byte]) for byte in range(256)}
        >>> dict(Vocabulary(tokens, []).with_tokens(["<x>", "a"], special=True).special_tokens)
        {'a': 97, '<x>': 256}
        """
        specials = dict(self.special_tokens)
        added = set(self.added_tokens)
        if ids is not None:
            check_type("ids", ids, Mapping, "a mapping")
        first_id = next_id = self.largest_id + 1
        for text in several("texts", "str", texts):
            check_type("texts", text, str, "several str")
            if text in specials:
                if (text not in added) != special:
                    kind = "not special" if special else "special"
                    raise ValueError(f"tokens: {text!r:.80} is a token already, which is {kind}")
                continue
            if ids is None:
                existing = self.id_of.get(text.encode("utf-8"))
            else:
                existing = ids.get(text)
            if existing is not None and self.arrays.token_of(existing) not in _bytes_of(text):
                raise ValueError(
                    f"tokens: {text!r:.80} is the name of token {existing}; choose another text"
                )
            specials[text] = next_id if existing is None else existing
            next_id += existing is None
            if not special:
                added.add(text)
        vocabulary = self
        if self.provisional and next_id > first_id:
            vocabulary = self._with_provisional_from(next_id)
        return replaced(vocabulary, special_tokens=specials, added_tokens=added)

    def _with_provisional_from(self, first_id: int) -> Vocabulary:
        """Return the vocabulary with other ids for provisional tokens, which are never seen outside."""
        new_ids = dict(zip(sorted(self.provisional), count(first_id), strict=False))

        def moved(token_id: int) -> int:
            return new_ids.get(token_id, token_id)

        return replaced(
            self,
            tokens={moved(token_id): token for token_id, token in self.tokens.items()},
            merges=[(moved(left), moved(right)) for left, right in self.merges],
            merge_ids=list(map(moved, self.merge_ids)),
            provisional=frozenset(new_ids.values()),
        )

    def truncate(self, vocab_size: int) -> Vocabulary:
        """Return the vocabulary that training to this smaller `vocab_size` would have given.

        The first merges are kept, and all tokens that no merge makes. `vocab_size` means the same
        as in training: all tokens, or all but special and decode-only tokens, depending on the
        dialect. Where merges are in another order than training gives, a kept one may be made of a
        token of a later one: such a size is refused with the next ones that are possible.

        >>> tokens = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b"abc"}
        >>> Vocabulary(tokens, [(97, 98), (256, 99)]).truncate(257).merges
        ((97, 98),)
        """
        sizes = self.sizes
        least = self._character_merges
        vocab_size = integer("vocab_size", vocab_size, least=sizes[least])
        if vocab_size > sizes[-1]:
            raise ValueError(
                f"vocab_size {vocab_size} is larger than this vocabulary of {sizes[-1]} tokens: truncate "
                f"makes it smaller, with at least {sizes[least]} (Tokenizer.fit shortens a text)"
            )
        kept = bisect_right(sizes, vocab_size) - 1
        if self.irregular:
            kept = self._self_contained(kept, sizes)
        merge_ids = self.merge_ids[:kept]
        tokens = {*self.tokens}.difference(self.merge_ids).union(merge_ids)
        specials = dict(self.special_tokens)
        if specials == self.dialect.special_token_ids(list(specials), len(self.tokens)):
            moved = self.dialect.special_token_ids(list(specials), len(tokens))
            if tokens.union(self.decode_only).isdisjoint(moved.values()):
                specials = moved
        ranges = ((start, min(end, kept)) for start, end in self.equal_ranks)
        return replaced(
            self,
            tokens={token_id: self.tokens[token_id] for token_id in sorted(tokens)},
            merges=self.merges[:kept],
            merge_ids=merge_ids,
            special_tokens=specials,
            equal_ranks=[(start, end) for start, end in ranges if end - start > 1],
        )

    @property
    def _character_merges(self) -> int:
        """How many merges there are up to the last one that puts bytes together to a character."""
        last = 0
        if self.provisional:
            for number, token_id in enumerate(self.merge_ids, start=1):
                if token_id in self.provisional or is_character(self.tokens[token_id]):
                    last = number
        return last

    def _self_contained(self, kept: int, sizes: Sequence[int]) -> int:
        """Return up to how many of the `kept` merges none is made of a token that only later ones make.

        If these give a smaller size, it is refused.
        """
        first_rank: dict[int, int] = {}
        for rank, token_id in enumerate(self.merge_ids):
            first_rank.setdefault(token_id, rank)
        parents = (max(first_rank.get(parent, -1) for parent in pair) for pair in self.merges)
        # For each number of merges, the last rank that these need.
        needed = list(accumulate(parents, max, initial=-1))
        numbers = [number for number, last in enumerate(needed) if last < number]
        place = bisect_right(numbers, kept)
        if sizes[numbers[place - 1]] == sizes[kept]:
            return numbers[place - 1]
        nearest = numbers[place - 1 : place + 1]
        possible = " and ".join(str(sizes[number]) for number in nearest)
        parent = self.tokens[self.merge_ids[needed[kept]]]
        raise ValueError(
            f"vocab_size {sizes[kept]}: {parent!r:.80} stands in the way: earlier merges need it, and it is "
            f"only made by merge {needed[kept]}; possible are {possible}"
        )


def is_character(token: bytes) -> bool:
    """Whether a token is one character or a part of one, perhaps with the mark of a word.

    >>> is_character("é".encode() + WORD_END), is_character(b"ab")
    (True, False)
    """
    character = token.removeprefix(WORD_START).removesuffix(WORD_END)
    # Most tokens are longer than any character.
    return len(character) <= 4 and len(character.decode("utf-8", "replace")) == 1


def _rows_of_ids(
    rows: Iterable[tuple[int, int, int]] | bytes,
    ids: list[int],
    next_id: int,
    new_ids: Sequence[int] | None = None,
) -> tuple[bytes, int]:
    """Return rows of ids, of rows of left, right and resulting symbol, and how many symbols are new.

    `ids` are the ids of the symbols so far; new ones have `new_ids`, or those from `next_id` on.
    With shared tokens a pair may occur again in a later row, which makes no new symbol: the first
    row decides its rank.

    >>> array("I", _rows_of_ids([(0, 1, 2), (2, 0, 3)], [97, 98], 256)[0]).tolist()
    [97, 98, 256, 256, 97, 257]
    """
    try:
        numbers = array("I", rows if isinstance(rows, bytes) else chain.from_iterable(rows))
    except (TypeError, ValueError, OverflowError):
        raise ValueError("rows of merges must be three symbols each, of 32 bits") from None
    new = max(numbers[2::3], default=0) + 1 - len(ids)
    if new_ids is not None and len(new_ids) < new:
        raise ValueError(f"new_ids: {len(new_ids)} for {new} new tokens")
    if new_ids is not None or ids != list(range(next_id)):
        ids = [*ids, *(range(next_id, next_id + new) if new_ids is None else new_ids[:new])]
        numbers = array("I", map(ids.__getitem__, numbers))
    if 3 * new < len(numbers):
        id_of_pair: dict[Pair, int] = {}
        for left, right, token_id in iter_unpack("3I", numbers):
            id_of_pair.setdefault((left, right), token_id)
        distinct = ((*pair, token_id) for pair, token_id in id_of_pair.items())
        numbers = array("I", chain.from_iterable(distinct))
    return numbers.tobytes(), max(new, 0)


def _spelled(text: str, steps: Sequence[Step]) -> bytes:
    """Return the bytes of the token whose id a special token may have. (Its flags may leave it to merging.)
    Where spaces become marks, it may also be found in a text that has marks itself."""
    if ("Replace", MARK, " ") in steps:
        text = text.replace(MARK, " ")
    return text.encode("utf-8")


def _bytes_of(text: str) -> tuple[bytes, bytes]:
    """Return the bytes that a token of this spelling may have."""
    return text.encode("utf-8"), text.replace(MARK, " ").encode("utf-8")


def _check_ids(ids: Collection[int]) -> None:
    for token_id in ids:
        if type(token_id) is not int:
            raise ValueError(f"ids must be integers, not {token_id!r}")
        if not 0 <= token_id <= LARGEST_ID:
            raise ValueError(f"ids must lie between 0 and {LARGEST_ID}: {token_id} was given")
    _check_distinct("id", ids)


def listed_special_tokens(special_tokens: Iterable[str]) -> tuple[str, ...]:
    """Return special tokens in order; a set, which has no order, or a dict of ids is refused."""
    for kind, in_words in ((str, "one string"), ((set, frozenset), "a set"), (Mapping, "a dict")):
        if isinstance(special_tokens, kind):
            reason = "their order decides ids"
            raise TypeError(f"special_tokens must be a list of strings, not {in_words}: {reason}")
    specials = tuple(several("special_tokens", "str", special_tokens))
    for text in specials:
        check_type("special_tokens", text, str, "a list of str")
    check_special_tokens(specials)
    return specials


def _check_set(name: str, value: str) -> None:
    """Refuse a pattern that is not a set of characters."""
    check_type(name, value, str)
    try:
        avoids(value, value)
    except ValueError as reason:
        raise ValueError(f"{name}: {reason}") from None


def _checked_specials(special_tokens: Mapping[str, int]) -> dict[str, int]:
    """Return special tokens in the order of their ids."""
    specials = {}
    for text, token_id in special_tokens.items():
        specials[text] = integer(f"special_tokens: the id of {text!r:.80}", token_id)
    check_special_tokens(specials)
    return dict(sorted(specials.items(), key=lambda item: item[1]))


def check_special_tokens(special_tokens: Collection[str]) -> None:
    """Refuse special tokens that are empty, not text, or given twice."""
    for text in special_tokens:
        if not isinstance(text, str) or not text:
            raise ValueError(f"special_tokens must be non-empty strings, not {text!r}")
        text.encode("utf-8")
    _check_distinct("special token", special_tokens)


def _check_provisional(
    provisional: Collection[int], arrays: Arrays, other_ids: Collection[int]
) -> None:
    """Refuse provisional tokens that do not exist or do not have the last ids."""
    if not provisional:
        return
    ids = sorted(provisional)
    places = range(len(arrays))[-len(ids) :]
    last_ids = [arrays.id_at(place) for place in places]
    if ids != last_ids or ids[0] < max(other_ids, default=0):
        raise ValueError(f"provisional tokens {ids[0]} to {ids[-1]} do not have the last ids")


def _pair(name: str, pair: Any) -> Pair:
    """Return the two integers of a pair; `name` is for the error."""
    try:
        first, second = pair
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a pair of integers, not {pair!r:.100}") from None
    return first, second


def _checked_ranges(equal_ranks: Sequence[Pair], merges: int) -> tuple[Pair, ...]:
    """Return where merges of the same rank begin and end; each of these must be of two or more merges."""
    last = 0
    for ranks in equal_ranks:
        start, end = _pair("equal_ranks: each", ranks)
        if not last <= start < end - 1 < merges:
            raise ValueError(
                f"equal_ranks: {start} to {end} are not several of {merges} merges from {last}"
            )
        last = end
    return tuple((start, end) for start, end in equal_ranks)


def flagged_tokens(vocabulary: Vocabulary) -> list[tuple[str, int, Sequence[str]]]:
    """Return the text, the id and the flags of each added token, as the engine takes them.

    >>> tokens = {byte: bytes([byte]) for byte in range(256)}
    >>> flagged_tokens(Vocabulary(tokens, [], {"<x>": 256}, token_flags={"<x>": ["lstrip"]}))
    [('<x>', 256, ('lstrip', 'special'))]
    """
    flagged: list[tuple[str, int, Sequence[str]]] = []
    for text, token_id in vocabulary.special_tokens.items():
        flags = tuple(vocabulary.token_flags.get(text, ()))
        if text not in vocabulary.added_tokens:
            flags += ("special",)
        flagged.append((text, token_id, flags))
    return flagged


def spelled_otherwise(vocabulary: Vocabulary) -> list[tuple[int, bytes]]:
    """Return what special tokens are decoded to that are not decoded to their texts.

    Those that are searched in normalized text are known by their normalized texts, as in
    `tokenizers`. Those that are tokens of spaces, too, are decoded to spaces, not to the marks that
    stand for them.
    """
    decoded = {}
    for text, token_id in vocabulary.special_tokens.items():
        if MARK in text and text not in vocabulary.special_tokens_apart:
            decoded[token_id] = vocabulary.tokens[token_id]
    if vocabulary.normalization is not None:
        normalize = normalizing(steps_in(vocabulary.normalization))
        for text, flags in vocabulary.token_flags.items():
            if "normalized" in flags:
                decoded[vocabulary.special_tokens[text]] = normalize(text).encode("utf-8")
    return [*decoded.items()]


def _frozen_options(
    options: Mapping[str, int | Sequence[str]],
) -> Mapping[str, int | tuple[str, ...]]:
    """Return the options of a training, which nobody can change.

    >>> _frozen_options({"without": [":"]})["without"]
    (':',)
    """
    frozen = {
        name: value if isinstance(value, int) else tuple(value) for name, value in options.items()
    }
    return MappingProxyType(frozen)


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


def _check_distinct(kind: str, values: Collection[Hashable]) -> None:
    for value, times in Counter(iter(values)).items():
        if times > 1:
            raise ValueError(f"{kind} {value!r} is given twice")


def _find_merge_ids(tokens: Mapping[int, bytes], merges: Sequence[Pair]) -> list[int]:
    """Return the id of every merge's token: of equal tokens the first that no earlier merge has, if any."""
    ids_of: defaultdict[bytes, list[int]] = defaultdict(list)
    for token_id in sorted(tokens):
        ids_of[tokens[token_id]].append(token_id)
    free = {token: iter(ids) for token, ids in ids_of.items() if len(ids) > 1}
    merge_ids = []
    for rank, pair in enumerate(merges):
        left, right = _pair(f"merges: merge {rank}", pair)
        try:
            token = tokens[left] + tokens[right]
        except KeyError as unknown:
            raise ValueError(
                f"merge {rank} uses id {unknown.args[0]}, which no token has"
            ) from None
        if token not in ids_of:
            raise ValueError(f"merge {rank} makes {token!r:.80}, which is not a token")
        token_id = ids_of[token][0]
        if token in free:
            token_id = next(free[token], token_id)
        merge_ids.append(token_id)
    return merge_ids
