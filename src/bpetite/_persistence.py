"""Writes and reads artifacts, with all checks of an artifact; `docs/artifact.md` is normative.

Schema 1 holds a vocabulary of the default dialect and pattern whose only special token is
`<|endoftext|>`, token by token; schema 2 holds any other one. Equal vocabularies have equal
artifacts, byte for byte.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, cast

from bpetite._constants import (
    BASE_VOCAB_SIZE,
    END_OF_TEXT_TOKEN,
    GENERAL_SCHEMA_VERSION,
    PRETOKENIZER_PATTERN,
    SCHEMA_VERSION,
    UNICODE_VERSION,
    Pair,
)
from bpetite._engine import numbers_json, pairs_json
from bpetite._internal.files import contents, write_whole
from bpetite._internal.json import Json, naming, parse_with_lists, typed, written
from bpetite._internal.record import replaced
from bpetite._internal.types import AnyPath
from bpetite.dialect import Dialect
from bpetite.vocabulary import LARGEST_ID, Arrays, Vocabulary


class MissingKeyError(ValueError, KeyError):
    """A key that every artifact of its schema has is missing."""

    __str__ = Exception.__str__  # A KeyError would put its message in quotes.


def save(
    path: AnyPath,
    vocab: Mapping[int, bytes],
    merges: Sequence[Pair],
    special_tokens: Mapping[str, int],
    overwrite: bool = False,
) -> None:
    """Save a vocabulary of the default dialect and pattern; `vocab` has the special token, too.

    >>> import tempfile
    >>> from bpetite._trainer import train_bpe
    >>> trained = train_bpe("ab ab ab", 258)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(f"{folder}/tok.json", trained.vocab, trained.merges, trained.special_tokens)
    ...     load(f"{folder}/tok.json")[1:]
    ([(97, 98), (32, 256)], {'<|endoftext|>': 258})
    """
    with naming(path):
        size = BASE_VOCAB_SIZE + len(merges)
        _check_special_tokens(special_tokens, size)
        pairs = _checked_pairs([list(pair) for pair in merges])
        vocabulary = _default_vocabulary(pairs)
        lists = {str(token_id): list(token) for token_id, token in vocab.items()}
        _check_tokens(_tokens_of_lists(lists), vocabulary)
    save_vocabulary(path, vocabulary, overwrite)


def load(path: AnyPath) -> tuple[dict[int, bytes], list[Pair], dict[str, int]]:
    """Load an artifact of schema 1 as `(vocab, merges, special_tokens)`, as `save` takes them."""
    document = parse_with_lists(path, contents(path), "an artifact")
    _check_version(path, document, [SCHEMA_VERSION])
    vocabulary = _of_schema_1(path, document)
    special_tokens = dict(vocabulary.special_tokens)
    vocab = dict(vocabulary.tokens)
    vocab[special_tokens[END_OF_TEXT_TOKEN]] = END_OF_TEXT_TOKEN.encode("utf-8")
    return vocab, list(vocabulary.merges), special_tokens


def save_vocabulary(path: AnyPath, vocabulary: Vocabulary, overwrite: bool = False) -> None:
    """Save a vocabulary as an artifact; no partial file is ever left."""
    with write_whole(path, overwrite=overwrite) as file:
        file.write(artifact_bytes(vocabulary))


def artifact_bytes(vocabulary: Vocabulary) -> bytes:
    """Return the artifact of a vocabulary; equal vocabularies give equal bytes."""
    if _fits_schema_1(vocabulary):
        return written(_to_schema_1(vocabulary))
    return general_artifact_bytes(vocabulary)


def general_artifact_bytes(vocabulary: Vocabulary) -> bytes:
    """Return the artifact of any vocabulary in schema 2, which is shorter and names the Unicode version."""
    return written(_to_schema_2(vocabulary))


def vocabulary_of(artifact: bytes, path: AnyPath) -> Vocabulary:
    """Return the vocabulary of an artifact's bytes; errors name `path`."""
    return vocabulary_of_document(parse_with_lists(path, artifact, "an artifact"), path)


def vocabulary_of_document(document: Json, path: AnyPath) -> Vocabulary:
    """Return the vocabulary of an artifact's object; errors name `path`."""
    _check_version(path, document, [SCHEMA_VERSION, GENERAL_SCHEMA_VERSION])
    if document["schema_version"] == SCHEMA_VERSION:
        return _of_schema_1(path, document)
    return _of_schema_2(path, document)


def _check_version(path: AnyPath, document: Json, known: Sequence[int]) -> None:
    _check_has(path, document, ["schema_version"])
    version = document["schema_version"]
    if type(version) is not int or version not in known:
        raise ValueError(
            f"{path}: schema_version: {version!r:.80} is not {' or '.join(map(str, known))}"
        )


def _check_keys(
    path: AnyPath, document: Json, keys: Iterable[str], optional: Iterable[str] = ()
) -> None:
    """Check that every key is known and there."""
    if unknown := [key for key in document if key not in {*keys, *optional}]:
        schema = document["schema_version"]
        raise ValueError(
            f"{path}: {unknown[0]!r:.80} is not a key of an artifact of schema {schema}"
        )
    _check_has(path, document, keys)


def _check_has(path: AnyPath, document: Json, keys: Iterable[str]) -> None:
    if missing := [key for key in keys if key not in document]:
        raise MissingKeyError(f"{path}: {missing[0]} is missing")


# Schema 1: the default dialect and pattern
# -------------------------------------------------------------

_SCHEMA_1_KEYS = (
    "mergeable_vocab_size",
    "merges",
    "pretokenizer_pattern",
    "schema_version",
    "special_tokens",
    "vocab",
)


def _default_vocabulary(pairs: array[int]) -> Vocabulary:
    """Return the vocabulary that merges alone determine: bytes, a token for each merge, the special token."""
    size = BASE_VOCAB_SIZE + len(pairs) // 2
    rows = _rows_of(pairs, array("I", range(BASE_VOCAB_SIZE, size)))
    base = Arrays.of({byte: bytes([byte]) for byte in range(BASE_VOCAB_SIZE)})
    special_tokens = {END_OF_TEXT_TOKEN: size}
    return Vocabulary.of_arrays(replaced(base, merges=rows), special_tokens=special_tokens)


def _rows_of(pairs: array[int], merge_ids: array[int]) -> bytes:
    """Return rows of left, right and resulting id; the pairs are one after the other."""
    rows = array("I", bytes(12 * len(merge_ids)))
    rows[::3] = pairs[::2]
    rows[1::3] = pairs[1::2]
    rows[2::3] = merge_ids
    return rows.tobytes()


def _fits_schema_1(vocabulary: Vocabulary) -> bool:
    """Whether the merges alone determine the vocabulary, so that nothing of it is lost."""
    if vocabulary.dialect != Dialect() or vocabulary.pattern != PRETOKENIZER_PATTERN:
        return False
    if vocabulary.special_tokens != {END_OF_TEXT_TOKEN: vocabulary.mergeable_vocab_size}:
        return False
    try:
        return _default_vocabulary(vocabulary.arrays.to_flat_merges()) == vocabulary
    except ValueError:  # The merges are in no order of training.
        return False


def _to_schema_1(vocabulary: Vocabulary) -> Json:
    arrays = vocabulary.arrays
    size = vocabulary.mergeable_vocab_size
    return {
        "mergeable_vocab_size": size,
        "merges": pairs_json(arrays.to_flat_merges().tobytes()),
        "pretokenizer_pattern": PRETOKENIZER_PATTERN,
        "schema_version": SCHEMA_VERSION,
        "special_tokens": {END_OF_TEXT_TOKEN: size},
        "vocab": _with_end_of_text(arrays, size).to_json("lists"),
    }


def _of_schema_1(path: AnyPath, document: Json) -> Vocabulary:
    _check_keys(path, document, _SCHEMA_1_KEYS)
    with naming(path):
        if document["pretokenizer_pattern"] != PRETOKENIZER_PATTERN:
            actual = document["pretokenizer_pattern"]
            raise ValueError(f"pretokenizer_pattern: {actual!r:.80} is not the pattern of schema 1")
        pairs = _checked_pairs(document["merges"])
        count = len(pairs) // 2
        size = document["mergeable_vocab_size"]
        if type(size) is not int or size != BASE_VOCAB_SIZE + count:
            makes = (
                f"{BASE_VOCAB_SIZE} bytes and {count} merges make {BASE_VOCAB_SIZE + count} tokens"
            )
            raise ValueError(f"mergeable_vocab_size is {size!r:.80}, but {makes}")
        _check_special_tokens(typed(document["special_tokens"], dict, "special_tokens"), size)
        vocabulary = _default_vocabulary(pairs)
        vocab = document["vocab"]
        # A tuple is of arrays: the engine has read the lists.
        tokens = Arrays(*vocab) if isinstance(vocab, tuple) else _tokens_of_lists(vocab)
        _check_tokens(tokens, vocabulary)
        return vocabulary


def _checked_pairs(merges: Any) -> array[int]:
    """Return the ids of merges, of which each must be a list of two; the engine may have read them."""
    if isinstance(merges, tuple):
        return array("I", merges[0])
    if isinstance(merges, bytes):  # Numbers; there may be none.
        merges = array("I", merges).tolist()
    for rank, pair in enumerate(typed(merges, list, "merges")):
        if not isinstance(pair, list) or len(pair) != 2 or not all(map(_is_id, pair)):
            raise ValueError(f"merges[{rank}] must be a list of two ids, not {pair!r:.80}")
    return array("I", chain.from_iterable(merges))


def _check_special_tokens(special_tokens: Mapping[str, Any], size: int) -> None:
    if list(special_tokens) != [END_OF_TEXT_TOKEN]:
        raise ValueError(
            f"special_tokens must be {END_OF_TEXT_TOKEN} alone, not {[*special_tokens]!r:.80}"
        )
    token_id = special_tokens[END_OF_TEXT_TOKEN]
    if type(token_id) is not int or token_id != size:
        raise ValueError(
            f"special_tokens: the id of {END_OF_TEXT_TOKEN} must be {size}, not {token_id!r:.80}"
        )


def _tokens_of_lists(vocab: Any) -> Arrays:
    """Return tokens that are lists of bytes, by their ids in decimal."""
    tokens: dict[int, bytes] = {}
    for key, values in typed(vocab, dict, "vocab").items():
        if not isinstance(values, list) or not all(map(_is_byte, values)):
            raise ValueError(
                f"vocab[{key!r:.80}] must be a list of bytes, 0 to 255, not {values!r:.80}"
            )
        tokens[_canonical_id("vocab", key)] = bytes(values)
    return Arrays.of(dict(sorted(tokens.items())))


def _with_end_of_text(arrays: Arrays, size: int) -> Arrays:
    """Return the tokens with ids up to `size` and, behind them, the special token."""
    joined = arrays.tokens + END_OF_TEXT_TOKEN.encode("utf-8")
    ends = arrays.ends + array("Q", [len(joined)]).tobytes()
    return Arrays(array("I", range(size + 1)).tobytes(), joined, ends)


def _check_tokens(tokens: Arrays, vocabulary: Vocabulary) -> None:
    """Check that the listed tokens are those of the merges, and the special token."""
    size = vocabulary.mergeable_vocab_size
    expected = _with_end_of_text(vocabulary.arrays, size)
    if tokens == expected:
        return
    listed = set(memoryview(tokens.ids).cast("I"))
    if missing := set(range(size + 1)) - listed:
        raise ValueError(f"vocab lacks id {min(missing)}; it must hold the ids 0 to {size}")
    if len(listed) > size + 1:
        raise ValueError(f"vocab has id {max(listed)}; it must hold the ids 0 to {size}")
    for token_id in range(size + 1):
        token, right_token = tokens.token_at(token_id), expected.token_at(token_id)
        if token != right_token:
            raise ValueError(f"vocab[{token_id}] is {token!r:.80}, but must be {right_token!r:.80}")


# Schema 2: any vocabulary
# ------------------------------------------------------------------------------


def _to_schema_2(vocabulary: Vocabulary) -> Json:
    arrays = vocabulary.arrays
    # Merges in an order of training say what their tokens are.
    lists_all = vocabulary.irregular or vocabulary.provisional or vocabulary.unknown
    optional = {
        "drops_missing": vocabulary.drops_missing,
        "drops_space": vocabulary.drops_space,
        "equal_ranks": list(chain.from_iterable(vocabulary.equal_ranks)),
        "left_out": vocabulary.left_out,
        "provisional": sorted(vocabulary.provisional),
        "spaced": vocabulary.spaced,
        "token_flags": dict(vocabulary.token_flags),
        "unknown": list(vocabulary.unknown or ()),
        "word_end": [] if vocabulary.word_end is None else [vocabulary.word_end],
        "word_start": [] if vocabulary.word_start is None else [vocabulary.word_start],
    }
    return {
        "added_tokens": sorted(vocabulary.added_tokens),
        "decode_only": _to_hexadecimal(vocabulary.decode_only),
        "dialect": vocabulary.dialect.to_dict(),
        "merge_ids": numbers_json(memoryview(arrays.merges).cast("I")[2::3].tobytes()),
        "merges": numbers_json(arrays.to_flat_merges().tobytes()),
        "normalization": vocabulary.normalization,
        "pattern": vocabulary.pattern,
        "schema_version": GENERAL_SCHEMA_VERSION,
        "special_tokens": dict(vocabulary.special_tokens),
        "tokens": arrays.to_json("hexadecimal", without_merged=not lists_all),
        "trained_with": dict(vocabulary.trained_with),
        "unicode_version": UNICODE_VERSION,
        "whole_pretoken_first": vocabulary.whole_pretoken_first,
        **{key: value for key, value in optional.items() if value},
    }


def _to_hexadecimal(tokens: Mapping[int, bytes]) -> Json:
    return {str(token_id): token.hex() for token_id, token in tokens.items()}


def _of_schema_2(path: AnyPath, document: Json) -> Vocabulary:
    _check_keys(path, document, _KEYS, _OPTIONAL)
    with naming(path):
        _check_unicode_version(document["unicode_version"])
        _check_values(document)
        fields = {key: value for key, value in document.items() if key not in _VERSIONS}
        tokens = _from_hexadecimal("tokens", fields.pop("tokens"))
        decode_only = _from_hexadecimal("decode_only", fields.pop("decode_only"))
        merges, merge_ids = _merge_rows(fields.pop("merges"), fields.pop("merge_ids"))
        equal_ranks = fields.pop("equal_ranks", [])
        if len(equal_ranks) % 2:
            raise ValueError(
                f"equal_ranks must hold two places for each rank, not {len(equal_ranks)} in all"
            )
        unknown = tuple(fields.pop("unknown")) if "unknown" in fields else None
        is_plain = not (equal_ranks or unknown or "provisional" in fields)
        lists_all = not (merge_ids and is_plain and tokens.keys().isdisjoint(merge_ids))
        if lists_all:
            _check_has_all(tokens, merge_ids)
        if unknown and unknown[0] not in {
            *tokens,
            *decode_only,
            *fields["special_tokens"].values(),
        }:
            raise ValueError(f"unknown: no token has id {unknown[0]}")
        fields["decode_only"] = decode_only
        fields["dialect"] = Dialect(**fields["dialect"])
        fields["equal_ranks"] = list(zip(equal_ranks[::2], equal_ranks[1::2], strict=True))
        fields["irregular"] = lists_all
        fields["unknown"] = unknown
        [fields["word_end"]] = fields.pop("word_end", [None])
        [fields["word_start"]] = fields.pop("word_start", [None])
        return Vocabulary.of_arrays(replaced(Arrays.of(tokens), merges=merges), **fields)


def _check_has_all(tokens: Mapping[int, bytes], merge_ids: Sequence[int]) -> None:
    for rank, token_id in enumerate(merge_ids):
        if token_id not in tokens:
            raise ValueError(f"merge {rank} makes id {token_id}, which tokens lacks")


# Checking JSON
# -----------------------------------------------------------------------------------------


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_byte(value: object) -> bool:
    return type(value) is int and 0 <= value < 256


def _is_id(value: object) -> bool:
    return type(value) is int and 0 <= value <= LARGEST_ID


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**64


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_text, value))


def _is_hexadecimal(value: object) -> bool:
    try:
        return bytes.fromhex(cast(str, value)).hex() == value
    except (TypeError, ValueError):
        return False


def _is_unknown(value: object) -> bool:
    return isinstance(value, list) and [*map(type, value)] == [int, bool] and _is_id(value[0])


_TRAINED_WITH: Mapping[str, Callable[[Any], bool]] = {
    "max_token_length": _is_count,
    "max_words": _is_count,
    "min_count": _is_count,
    "superwords_at": _is_count,
    "whole_characters": lambda value: value is True,
    "without": lambda value: _is_texts(value) and all(value) and len({*value}) == len(value),
}
"""The options of training that artifacts record."""

_AN_ID = f"an id from 0 to {LARGEST_ID}"
_VERSIONS = ("schema_version", "unicode_version")
_AXES = Dialect().to_dict().keys()

_FIELDS: Mapping[str, tuple[type | None, Callable[[Any], bool], str]] = {
    "added_tokens": (list, _is_text, "a string"),
    "decode_only": (dict, _is_hexadecimal, "bytes in hexadecimal"),
    "dialect": (dict, _is_text, "a string"),
    "drops_missing": (None, lambda value: value is True, "true, or left out"),
    "drops_space": (
        None,
        lambda value: value is True or value == "all",
        'true or "all", or left out',
    ),
    "equal_ranks": (list, _is_id, _AN_ID),
    "left_out": (None, _is_text, "a string"),
    "merge_ids": (list, _is_id, _AN_ID),
    "merges": (list, _is_id, _AN_ID),
    "normalization": (None, lambda value: True, "checked where it is used"),
    "pattern": (
        None,
        lambda value: _is_text(value) or _is_texts(value),
        "a string or a list of strings",
    ),
    "provisional": (list, _is_id, _AN_ID),
    "schema_version": (None, _is_count, "a number"),
    "spaced": (
        None,
        lambda value: value is True or value in ("words", "cleaned"),
        'true, "words" or "cleaned", or left out',
    ),
    "special_tokens": (dict, _is_id, _AN_ID),
    "token_flags": (dict, _is_texts, "a list of strings"),
    "tokens": (dict, _is_hexadecimal, "bytes in hexadecimal"),
    "trained_with": (dict, lambda value: True, "an option"),
    "unicode_version": (None, _is_text, "a string"),
    "unknown": (None, _is_unknown, "a list of an id and true or false"),
    "whole_pretoken_first": (None, lambda value: isinstance(value, bool), "true or false"),
    "word_end": (None, lambda value: _is_texts(value) and len(value) == 1, "a list of one string"),
    "word_start": (
        None,
        lambda value: _is_texts(value) and len(value) == 1,
        "a list of one string",
    ),
}
"""The kind of each list or object of an artifact and what it holds; or what another value is."""

_OPTIONAL = {
    "drops_missing",
    "drops_space",
    "equal_ranks",
    "left_out",
    "provisional",
    "spaced",
    "token_flags",
    "unknown",
    "word_end",
    "word_start",
}
_KEYS = [key for key in _FIELDS if key not in _OPTIONAL]


def _check_unicode_version(version: object) -> None:
    if version != UNICODE_VERSION:
        raise ValueError(
            f"unicode_version: {version!r:.20} made it, but this is Unicode {UNICODE_VERSION}, which may "
            "class some characters differently and so give other ids; use the version of bpetite that made "
            f'it, or, to take the new classes, write "unicode_version":"{UNICODE_VERSION}" into the file'
        )


def _check_values(document: Json) -> None:
    """Check the type of every value, and of what lists and objects hold."""
    for key, value in document.items():
        kind, is_right, in_words = _FIELDS[key]
        if isinstance(value, bytes):
            continue  # The engine has read and checked it.
        if isinstance(value, tuple):  # The engine has read pairs, which only schema 1 has.
            value = memoryview(value[0]).cast("B").cast("I", (len(value[0]) // 8, 2)).tolist()
        items: Iterable[tuple[Any, Any]] = [("", value)]
        if kind is not None:
            typed(value, kind, key)
            items = value.items() if isinstance(value, dict) else enumerate(value)
        for place, item in items:
            if not is_right(item):
                where = key if kind is None else f"{key}[{place!r:.80}]"
                raise ValueError(f"{where} must be {in_words}, not {item!r:.80}")
    if document["dialect"].keys() != _AXES:
        raise ValueError(f"dialect must be an object with the axes {', '.join(sorted(_AXES))}")
    for option, value in document["trained_with"].items():
        is_allowed = _TRAINED_WITH.get(option)
        if is_allowed is None or not is_allowed(value):
            raise ValueError(
                f"trained_with must be of known options, not {document['trained_with']!r:.80}"
            )


def _merge_rows(merges: Any, ids: Any) -> tuple[bytes, list[int]]:
    """Return merges as rows of left, right and resulting id, and the resulting ids."""
    pairs = array("I", merges)
    merge_ids = array("I", ids)
    if len(pairs) != 2 * len(merge_ids):
        expected = f"two ids for each of {len(merge_ids)} merge_ids"
        raise ValueError(f"merges must hold {expected}, not {len(pairs)}")
    return _rows_of(pairs, merge_ids), merge_ids.tolist()


def _from_hexadecimal(field: str, spelled: Mapping[str, str]) -> dict[int, bytes]:
    """Read the bytes of tokens, in the order of their ids, which must be written in canonical form."""
    tokens: dict[int, bytes] = {}
    for key, digits in spelled.items():
        tokens[_canonical_id(field, key)] = bytes.fromhex(digits)
    return dict(sorted(tokens.items()))


def _canonical_id(field: str, key: str) -> int:
    """Return the id that is the key of an object, if it is written in the one canonical way."""
    is_number = key.isdecimal() and len(key) <= 10
    if not is_number or str(int(key)) != key or int(key) > LARGEST_ID:
        raise ValueError(f"{field}: {key!r:.80} is not {_AN_ID}")
    return int(key)
