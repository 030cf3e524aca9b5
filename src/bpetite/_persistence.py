"""Writes and reads artifacts, with all checks of an artifact.

Schema 1 holds a vocabulary of the default dialect and pattern, token by token; schema 2 holds any vocabulary
whose merges are in an order that training could give; schema 3 holds any vocabulary. `docs/artifact.md` is
normative. Equal vocabularies have equal artifacts, byte for byte.
"""

from __future__ import annotations

import contextlib
import os
from array import array
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import accumulate, chain
from typing import Any, NoReturn

from bpetite._constants import (
    BASE_VOCAB_SIZE,
    END_OF_TEXT_TOKEN,
    PRETOKENIZER_PATTERN,
    SCHEMA_VERSION,
    UNICODE_VERSION,
    Pair,
)
from bpetite._engine import merges_json, numbers_in, tokens_json
from bpetite._internal.files import write_whole
from bpetite._internal.json import Json, parse_object, refuse, type_name, write_object
from bpetite._internal.types import Path, Write
from bpetite.dialect import Dialect
from bpetite.vocabulary import LARGEST_ID, Arrays, Vocabulary, collector_paused

_SCHEMA_1_KEYS = (
    "mergeable_vocab_size",
    "merges",
    "pretokenizer_pattern",
    "schema_version",
    "special_tokens",
    "vocab",
)
_RULES_KEYS = (
    "added_tokens",
    "dialect",
    "merge_ids",
    "merges",
    "normalization",
    "pattern",
    "schema_version",
    "special_tokens",
    "trained_with",
    "unicode_version",
    "whole_pretoken_first",
)
_SCHEMA_2_KEYS = sorted((*_RULES_KEYS, "base_ids", "unmerged"))
_SCHEMA_3_KEYS = sorted((*_RULES_KEYS, "decode_only", "tokens"))


def save(
    path: Path,
    vocab: Mapping[int, bytes],
    merges: Sequence[Pair],
    special_tokens: Mapping[str, int],
    overwrite: bool = False,
) -> None:
    """Save a vocabulary of the default dialect and pattern; `vocab` includes the special token's bytes."""
    specials = set(special_tokens.values())
    for text, token_id in special_tokens.items():
        if vocab.get(token_id) != text.encode("utf-8"):
            raise ValueError(f"vocab does not hold special token {text!r} at id {token_id}")
    tokens = {token_id: token for token_id, token in vocab.items() if token_id not in specials}
    save_vocabulary(path, Vocabulary(tokens, merges, special_tokens), overwrite)


def load(path: Path) -> tuple[dict[int, bytes], list[Pair], dict[str, int]]:
    """Load an artifact of schema 1 as `(vocab, merges, special_tokens)`."""
    with open(path, "rb") as file:
        document = parse_object(path, file.read(), "an artifact")
    _check_schema_version(path, document, (SCHEMA_VERSION,))
    vocabulary = _from_schema_1(path, document)
    vocab = dict(vocabulary.tokens)
    for text, token_id in vocabulary.special_tokens.items():
        vocab[token_id] = text.encode("utf-8")
    return vocab, list(vocabulary.merges), dict(vocabulary.special_tokens)


def save_vocabulary(path: Path, vocabulary: Vocabulary, overwrite: bool = False) -> None:
    """Save a vocabulary as an artifact; no partial file is ever left."""
    with write_whole(path, overwrite=overwrite) as file:
        _write_artifact(vocabulary, file.write)


def artifact_bytes(vocabulary: Vocabulary) -> bytes:
    """Return the artifact of a vocabulary; equal vocabularies give equal bytes."""
    parts: list[bytes] = []
    _write_artifact(vocabulary, parts.append)
    return b"".join(parts)


def _write_artifact(vocabulary: Vocabulary, write: Write) -> None:
    with collector_paused():
        if _fits_schema_1(vocabulary):
            document = _to_schema_1(vocabulary)
        elif _fits_schema_2(vocabulary):
            document = _to_schema_2(vocabulary)
        else:
            document = _to_schema_3(vocabulary)
        write_object(document, write, ascii_only=False)


def vocabulary_of(artifact: bytes, path: Path) -> Vocabulary:
    """Return the vocabulary of an artifact's bytes; errors name `path`."""
    vocabulary = vocabulary_as_written(artifact, path)
    if vocabulary is not None:
        return vocabulary
    return vocabulary_of_document(parse_object(path, artifact, "an artifact"), path)


def vocabulary_of_document(document: Json, path: Path) -> Vocabulary:
    """Return the vocabulary of an artifact's object; errors name `path`."""
    readers = {SCHEMA_VERSION: _from_schema_1, 2: _from_schema_2, 3: _from_schema_3}
    _check_schema_version(path, document, tuple(readers))
    return readers[document["schema_version"]](path, document)


def vocabulary_as_written(artifact: bytes, path: Path) -> Vocabulary | None:
    """Read an artifact in exactly the form that is written here; `None` for any other file.

    This is the fast path: the engine reads the long lists without checking them, and the result is written
    again and compared with the file. Any other file is then read and checked part by part.
    """
    beginning, lists = artifact, {}
    if artifact.startswith(b'{"mergeable_vocab_size":'):
        beginning = artifact[: artifact.find(b',"vocab":{')] + b',"vocab":{}}'
    elif not artifact.startswith(b'{"added_tokens":'):
        return None
    for name in ("merge_ids", "merges"):
        start = beginning.find(f'"{name}":['.encode()) + len(name) + 3
        end = beginning.find(b',"', start)
        if start > len(name) + 2 and (numbers := numbers_in(beginning[start:end])) is not None:
            lists[name] = numbers
            beginning = beginning[:start] + b"[]" + beginning[end:]
    try:
        document = {**parse_object(path, beginning, "an artifact"), **lists}
        version = document["schema_version"]
        if "merges" not in lists or version not in (SCHEMA_VERSION, 2):
            return None
        found = (
            _from_schema_1(path, document) if version == SCHEMA_VERSION else _from_schema_2(path, document)
        )
        return found if artifact_bytes(found) == artifact else None
    except (KeyError, ValueError):
        return None


# Reading JSON ------------------------------------------------------------------------------------------


def _check_schema_version(path: Path, document: Json, known: Sequence[int]) -> None:
    if "schema_version" not in document:
        refuse(path, "schema_version is missing")
    version = document["schema_version"]
    if type(version) is not int or version not in known:
        refuse(path, f"schema_version: {version!r:.80} is not {' or '.join(map(str, known))}")


def _check_keys(path: Path, document: Json, keys: Sequence[str]) -> None:
    for key in keys:
        if key not in document:
            refuse(path, f"{key} is missing")
    for key in document:
        if key not in keys:
            refuse(path, f"{key!r} is not a key of schema {document['schema_version']}")


def _object(path: Path, document: Json, key: str) -> Json:
    value = document[key]
    if not isinstance(value, dict):
        refuse(path, f"{key} must be an object, not {type_name(value)}")
    return value


def _integers(path: Path, field: str, value: object, largest: int, length: int | None = None) -> list[int]:
    """Check a list of integers between 0 and `largest`."""
    if not isinstance(value, list):
        refuse(path, f"{field} must be a list, not {type_name(value)}")
    if length is not None and len(value) != length:
        refuse(path, f"{field} must have {length} values, not {len(value)}")
    if not set(map(type, value)) <= {int}:
        place, wrong = next((place, item) for place, item in enumerate(value) if type(item) is not int)
        refuse(path, f"{field}[{place}] must be an integer, not {type_name(wrong)}")
    if value and (min(value) < 0 or max(value) > largest):
        place = next(place for place, item in enumerate(value) if not 0 <= item <= largest)
        refuse(path, f"{field}[{place}]: {value[place]} is not between 0 and {largest}")
    return value


def _integer_array(
    path: Path, field: str, value: object, largest: int, length: int | None = None
) -> array[int]:
    """Check a list of integers between 0 and `largest`, or convert the bytes of an array."""
    if isinstance(value, bytes):
        return array("I", value)
    return array("I", _integers(path, field, value, largest, length))


def _rows(pairs: array[int], merge_ids: array[int]) -> bytes:
    """Return rows of left, right and resulting id, as the engine takes them."""
    rows = array("I", bytes(12 * len(merge_ids)))
    rows[::3], rows[1::3], rows[2::3] = pairs[::2], pairs[1::2], merge_ids
    return rows.tobytes()


def _ids(path: Path, field: str, keys: Mapping[str, Any]) -> list[int]:
    """Read ids that are the keys of an object; each must be written in canonical form."""
    import re

    is_canonical = re.compile(r"0|[1-9][0-9]{0,9}").fullmatch
    for key in keys:
        if not is_canonical(key):
            refuse(path, f"{field}: {key!r:.80} is not an id")
    return list(map(int, keys))


# Schema 1: the default dialect and pattern ---------------------------------------------------------------


def _fits_schema_1(vocabulary: Vocabulary) -> bool:
    size = vocabulary.mergeable_vocab_size
    return (
        not vocabulary.irregular
        and vocabulary.dialect == Dialect()
        and vocabulary.pattern == PRETOKENIZER_PATTERN
        and vocabulary.special_tokens == {END_OF_TEXT_TOKEN: size}
        and vocabulary.base_ids == tuple(range(BASE_VOCAB_SIZE))
        and vocabulary.arrays.are_in_order()
        and vocabulary.arrays.id_at(size - 1) == size - 1
        and not vocabulary.whole_pretoken_first
        and vocabulary.normalization is None
        and not vocabulary.token_flags
        and not vocabulary.added_tokens
        and not vocabulary.trained_with
        and not vocabulary.decode_only
        and not vocabulary.provisional
        and not vocabulary.drops_space
        and vocabulary.unknown is None
    )


def _to_schema_1(vocabulary: Vocabulary) -> Json:
    arrays, special = vocabulary.arrays, END_OF_TEXT_TOKEN.encode("utf-8")
    joined = arrays.tokens + special
    return {
        "mergeable_vocab_size": vocabulary.mergeable_vocab_size,
        "merges": partial(merges_json, arrays.packed.merges, "pairs"),
        "pretokenizer_pattern": vocabulary.pattern,
        "schema_version": SCHEMA_VERSION,
        "special_tokens": dict(vocabulary.special_tokens),
        "vocab": partial(
            tokens_json,
            arrays.packed.ids + array("I", [vocabulary.mergeable_vocab_size]).tobytes(),
            joined,
            arrays.packed.ends + array("Q", [len(joined)]).tobytes(),
            "lists",
        ),
    }


def _from_schema_1(path: Path, document: Json) -> Vocabulary:
    _check_keys(path, document, _SCHEMA_1_KEYS)
    size = document["mergeable_vocab_size"]
    if type(size) is not int:
        refuse(path, f"mergeable_vocab_size must be an integer, not {type_name(size)}")
    if document["pretokenizer_pattern"] != PRETOKENIZER_PATTERN:
        refuse(path, f"pretokenizer_pattern: {document['pretokenizer_pattern']!r} is not schema 1's")
    is_as_written = isinstance(document["merges"], bytes)  # the caller compares the bytes
    merges = _schema_1_merges(path, document["merges"])
    count = len(merges) // 2
    if size != BASE_VOCAB_SIZE + count:
        refuse(path, f"mergeable_vocab_size is {size}, but 256 bytes and {count} merges make {256 + count}")
    specials = _object(path, document, "special_tokens")
    if list(specials) != [END_OF_TEXT_TOKEN]:
        refuse(path, f"special_tokens must hold {END_OF_TEXT_TOKEN!r} alone, not {list(specials)!r}")
    if type(specials[END_OF_TEXT_TOKEN]) is not int or specials[END_OF_TEXT_TOKEN] != size:
        refuse(path, f"special_tokens: the id of {END_OF_TEXT_TOKEN!r} must be {size}")
    ids = range(BASE_VOCAB_SIZE, size)
    with contextlib.suppress(ValueError):  # reported below
        made = Vocabulary({byte: bytes([byte]) for byte in range(BASE_VOCAB_SIZE)}, (), specials).with_merges(
            _rows(merges, array("I", ids))
        )
        if is_as_written or _holds_tokens(document["vocab"], made.arrays):
            return made
    tokens = _schema_1_tokens(path, _object(path, document, "vocab"), size)
    try:
        pairs = list(zip(merges[::2], merges[1::2], strict=True))
        return Vocabulary(tokens, pairs, specials, merge_ids=ids)
    except ValueError as error:
        refuse(path, f"vocab: {error}")


def _schema_1_merges(path: Path, merges: object) -> array[int]:
    """Check that every merge is a pair of earlier ids; the bytes of an array are checked later."""
    if isinstance(merges, bytes):
        return array("I", merges)
    if not isinstance(merges, list):
        refuse(path, f"merges must be a list, not {type_name(merges)}")
    for rank, pair in enumerate(merges):
        if type(pair) is not list or len(pair) != 2:
            refuse(path, f"merges[{rank}] must be a list of two ids, not {pair!r:.80}")
    flat = list(chain.from_iterable(merges))
    if not set(map(type, flat)) <= {int}:
        rank = next(place for place, part in enumerate(flat) if type(part) is not int) // 2
        refuse(path, f"merges[{rank}] must hold integers, not {merges[rank]!r:.80}")
    for rank, (left, right) in enumerate(merges, BASE_VOCAB_SIZE):
        if not (0 <= left < rank and 0 <= right < rank):
            place = rank - BASE_VOCAB_SIZE
            refuse(path, f"merges[{place}]: {merges[place]!r:.80} refers to an id that does not exist yet")
    return array("I", flat)


def _holds_tokens(vocab: object, arrays: Arrays) -> bool:
    """Whether an object holds exactly these tokens, followed by the special token."""
    ids = list(map(str, range(len(arrays) + 1)))
    if not isinstance(vocab, dict) or vocab.keys() != set(ids):
        return False
    lists = [vocab[token_id] for token_id in ids]
    if set(map(type, lists)) != {list}:
        return False
    values = list(chain.from_iterable(lists))
    if set(map(type, values)) != {int} or min(values) < 0 or max(values) > 255:
        return False
    special = END_OF_TEXT_TOKEN.encode("utf-8")
    ends = array("Q", accumulate(map(len, lists[:-1])))
    return bytes(values) == arrays.tokens + special and ends.tobytes() == arrays.packed.ends


def _schema_1_tokens(path: Path, vocab: Json, size: int) -> dict[int, bytes]:
    """Check that the tokens are the 256 bytes, one per merge, and the special token."""
    ids = _ids(path, "vocab", vocab)
    if len(ids) != size + 1 or set(ids) != set(range(size + 1)):
        refuse(path, f"vocab must hold the ids 0 to {size}, each once; it holds {len(ids)} ids")
    tokens = _byte_strings(path, "vocab", dict(zip(ids, vocab.values(), strict=True)))
    special = tokens.pop(size)
    if special != END_OF_TEXT_TOKEN.encode("utf-8"):
        refuse(path, f"vocab[{size}] is {special!r:.80}, but must be {END_OF_TEXT_TOKEN!r}")
    for byte in range(BASE_VOCAB_SIZE):
        if tokens[byte] != bytes([byte]):
            refuse(path, f"vocab[{byte}] is {tokens[byte]!r:.80}, but must be the byte {byte}")
    return tokens


def _byte_strings(path: Path, field: str, lists: Mapping[int, Any]) -> dict[int, bytes]:
    """Convert lists of byte values to bytes; a slower path reports errors."""
    are_lists = set(map(type, lists.values())) <= {list}
    if are_lists and set(map(type, chain.from_iterable(lists.values()))) <= {int}:
        with contextlib.suppress(ValueError):
            return {token_id: bytes(token) for token_id, token in lists.items()}
    return {
        token_id: bytes(_integers(path, f"{field}[{token_id}]", token, 255))
        for token_id, token in lists.items()
    }


# Schema 2: any vocabulary whose merges are in an order of training -----------------------------------------


def _fits_schema_2(vocabulary: Vocabulary) -> bool:
    return not (
        vocabulary.irregular
        or vocabulary.decode_only
        or vocabulary.provisional
        or vocabulary.drops_space
        or vocabulary.unknown
    )


def _to_schema_2(vocabulary: Vocabulary) -> Json:
    return {
        **_rules(vocabulary),
        "base_ids": vocabulary.base_ids,
        "schema_version": 2,
        "unmerged": _to_unmerged(vocabulary),
    }


def _rules(vocabulary: Vocabulary) -> Json:
    """The fields that schemas 2 and 3 have in common: all except the tokens."""
    merges = vocabulary.arrays.packed.merges
    return {
        "added_tokens": sorted(vocabulary.added_tokens),
        "dialect": vocabulary.dialect.to_dict(),
        "merge_ids": partial(merges_json, merges, "results"),
        "merges": partial(merges_json, merges, "flat"),
        "normalization": vocabulary.normalization,
        **({"token_flags": dict(vocabulary.token_flags)} if vocabulary.token_flags else {}),
        "pattern": vocabulary.pattern,
        "special_tokens": dict(vocabulary.special_tokens),
        "trained_with": dict(vocabulary.trained_with),
        "unicode_version": UNICODE_VERSION,
        "whole_pretoken_first": vocabulary.whole_pretoken_first,
    }


def _to_unmerged(vocabulary: Vocabulary) -> Json:
    """Return the tokens that are neither single bytes nor results of merges."""
    if vocabulary.arrays.are_in_order():
        return {}
    derived = {*vocabulary.base_ids, *vocabulary.arrays.to_merge_ids()}
    if len(derived) == vocabulary.mergeable_vocab_size:
        return {}
    return {
        str(token_id): list(token) for token_id, token in vocabulary.tokens.items() if token_id not in derived
    }


def _from_schema_2(path: Path, document: Json) -> Vocabulary:
    _check_rules(path, document, _SCHEMA_2_KEYS)
    base_ids = _integers(path, "base_ids", document["base_ids"], LARGEST_ID, BASE_VOCAB_SIZE)
    if len(set(base_ids)) != BASE_VOCAB_SIZE:
        refuse(path, "base_ids: an id appears twice")
    merges = _merge_rows(path, document)
    unmerged = _unmerged(path, document, base_ids, memoryview(merges).cast("I")[2::3])
    tokens = {**{token_id: bytes([byte]) for byte, token_id in enumerate(base_ids)}, **unmerged}
    try:
        return _unmerged_vocabulary(path, document, tokens).with_merges(merges)
    except ValueError as error:
        refuse(path, str(error).removeprefix(f"{os.fspath(path)}: "))


def _refuse_unicode_version(path: Path, found: object) -> NoReturn:
    """Say how an artifact of another version of Unicode can be used all the same."""
    if not isinstance(found, str):
        refuse(path, f"unicode_version must be a string, not {type_name(found)}")
    refuse(
        path,
        f"unicode_version: {found!r:.20} made it, but this is Unicode {UNICODE_VERSION}, which may class "
        "some characters differently and so give other ids; use the version of bpetite that made it, or, to "
        f'take the new classes, write "unicode_version":"{UNICODE_VERSION}" into the file',
    )


def _check_rules(path: Path, document: Json, keys: Sequence[str]) -> None:
    """Check the fields that schemas 2 and 3 have in common."""
    schema = document["schema_version"]
    optional = (
        ("token_flags", "drops_space", "provisional", "unknown", "equal_ranks", "drops_missing")
        if schema == 3
        else ("token_flags",)
    )
    for key in document:
        if key not in (*keys, *optional):
            refuse(path, f"{key!r:.80} is not a key of schema {schema}")
    _check_keys(path, document, (*keys, *(key for key in optional if key in document)))
    if document.get("drops_space", True) is not True and document["drops_space"] != "all":
        refuse(path, 'drops_space must be true or "all", or be left out')
    if document.get("drops_missing", True) is not True:
        refuse(path, "drops_missing must be true, or be left out")
    if document["unicode_version"] != UNICODE_VERSION:
        _refuse_unicode_version(path, document["unicode_version"])
    if not isinstance(document["pattern"], str):
        refuse(path, f"pattern must be a string, not {type_name(document['pattern'])}")
    if not isinstance(document["whole_pretoken_first"], bool):
        refuse(path, "whole_pretoken_first must be true or false")
    added_tokens = document["added_tokens"]
    if not isinstance(added_tokens, list) or not all(isinstance(token, str) for token in added_tokens):
        refuse(path, "added_tokens must be a list of strings")
    specials = _object(path, document, "special_tokens")
    _integers(path, "special_tokens", list(specials.values()), LARGEST_ID)
    flags = _object(path, document, "token_flags") if "token_flags" in document else {}
    for text, names in flags.items():
        if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
            refuse(path, f"token_flags[{text!r:.80}] must be a list of strings")
    trained_with = _object(path, document, "trained_with")
    _integers(path, "trained_with", list(trained_with.values()), 2**64 - 1)
    if not set(trained_with) <= {"min_count", "max_token_length"}:
        refuse(
            path, f"trained_with: {', '.join(trained_with)}: only min_count and max_token_length are known"
        )


def _unmerged_vocabulary(
    path: Path,
    document: Json,
    tokens: Mapping[int, bytes],
    decode_only: Mapping[int, bytes] | None = None,
    *,
    irregular: bool = False,
) -> Vocabulary:
    """Build the vocabulary without its merges."""
    return Vocabulary(
        tokens,
        (),
        document["special_tokens"],
        document["pattern"],
        _dialect(path, document),
        document["whole_pretoken_first"],
        normalization=document["normalization"],
        token_flags=document.get("token_flags", {}),
        added_tokens=document["added_tokens"],
        trained_with=document["trained_with"],
        irregular=irregular,
        decode_only=decode_only or {},
        drops_space=document.get("drops_space", False),
        drops_missing=document.get("drops_missing", False),
        unknown=_unknown(path, document["unknown"]) if "unknown" in document else None,
    )


def _unknown(path: Path, value: object) -> tuple[int, bool]:
    if not isinstance(value, list) or len(value) != 2 or not isinstance(value[1], bool):
        refuse(path, "unknown must be a list of an id and true or false")
    return _integers(path, "unknown", value[:1], LARGEST_ID)[0], value[1]


def _dialect(path: Path, document: Json) -> Dialect:
    axes = _object(path, document, "dialect")
    if set(axes) != set(Dialect().to_dict()):
        refuse(path, f"dialect must have the axes {', '.join(Dialect().to_dict())}")
    if not all(isinstance(choice, str) for choice in axes.values()):
        refuse(path, "dialect: every choice must be a string")
    return Dialect(**axes)


def _merge_rows(path: Path, document: Json) -> bytes:
    """Read merges as rows of left, right and resulting id."""
    flat = _integer_array(path, "merges", document["merges"], LARGEST_ID)
    if len(flat) % 2:
        refuse(path, f"merges must hold two ids for each merge, not {len(flat)} ids")
    merge_ids = _integer_array(path, "merge_ids", document["merge_ids"], LARGEST_ID, len(flat) // 2)
    return _rows(flat, merge_ids)


def _unmerged(path: Path, document: Json, base_ids: Sequence[int], merge_ids: memoryview) -> dict[int, bytes]:
    """Read the tokens that are neither single bytes nor results of merges."""
    unmerged = _object(path, document, "unmerged")
    tokens: dict[int, bytes] = {}
    if not unmerged:
        return tokens
    taken = {*base_ids, *merge_ids.tolist()}
    for token_id, token in zip(_ids(path, "unmerged", unmerged), unmerged.values(), strict=True):
        if token_id in taken:
            refuse(path, f"unmerged: id {token_id} belongs to a byte or to a merge")
        tokens[token_id] = bytes(_integers(path, f"unmerged[{token_id}]", token, 255))
    return tokens


# Schema 3: any vocabulary ----------------------------------------------------------------------------------


def _to_schema_3(vocabulary: Vocabulary) -> Json:
    return {
        **_rules(vocabulary),
        "decode_only": _to_hexadecimal(vocabulary.decode_only),
        **({"drops_missing": True} if vocabulary.drops_missing else {}),
        **({"drops_space": vocabulary.drops_space} if vocabulary.drops_space else {}),
        **(
            {"equal_ranks": list(chain.from_iterable(vocabulary.equal_ranks))}
            if vocabulary.equal_ranks
            else {}
        ),
        **({"provisional": sorted(vocabulary.provisional)} if vocabulary.provisional else {}),
        "schema_version": 3,
        "tokens": vocabulary.arrays.tokens_json("hexadecimal"),
        **({} if vocabulary.unknown is None else {"unknown": list(vocabulary.unknown)}),
    }


def _to_hexadecimal(tokens: Mapping[int, bytes]) -> Json:
    return {str(token_id): token.hex() for token_id, token in tokens.items()}


def _from_schema_3(path: Path, document: Json) -> Vocabulary:
    _check_rules(path, document, _SCHEMA_3_KEYS)
    tokens = _from_hexadecimal(path, document, "tokens")
    decode_only = _from_hexadecimal(path, document, "decode_only")
    merges = _merge_rows(path, document)
    provisional = _integers(path, "provisional", document.get("provisional", []), LARGEST_ID)
    equal = _integers(path, "equal_ranks", document.get("equal_ranks", []), LARGEST_ID)
    if len(equal) % 2:
        refuse(path, f"equal_ranks must hold two places for each rank, not {len(equal)} in all")
    base = {token_id: token for token_id, token in tokens.items() if len(token) < 2}
    ends = array("Q", accumulate(map(len, tokens.values())))
    arrays = Arrays(array("I", tokens).tobytes(), b"".join(tokens.values()), ends.tobytes(), merges)
    try:
        unmerged = _unmerged_vocabulary(path, document, base, decode_only, irregular=True)
        if unmerged.unknown is not None and unmerged.unknown[0] not in {
            *tokens,
            *decode_only,
            *unmerged.special_tokens.values(),
        }:
            raise ValueError(f"unknown: no token has id {unmerged.unknown[0]}")
        return unmerged.with_arrays(arrays, provisional, list(zip(equal[::2], equal[1::2], strict=True)))
    except ValueError as error:
        refuse(path, str(error).removeprefix(f"{os.fspath(path)}: "))


def _from_hexadecimal(path: Path, document: Json, field: str) -> dict[int, bytes]:
    """Read the bytes of tokens, in the order of their ids."""
    spelled = _object(path, document, field)
    ids = _ids(path, field, spelled)
    _integers(path, field, ids, LARGEST_ID)
    import re

    is_hexadecimal = re.compile(r"(?:[0-9a-f]{2})*").fullmatch
    tokens: dict[int, bytes] = {}
    for token_id, digits in zip(ids, spelled.values(), strict=True):
        if not isinstance(digits, str) or not is_hexadecimal(digits):
            refuse(path, f"{field}[{token_id}] must be bytes in hexadecimal, not {digits!r:.80}")
        tokens[token_id] = bytes.fromhex(digits)
    return dict(sorted(tokens.items()))
