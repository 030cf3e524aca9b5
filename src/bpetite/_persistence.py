"""Writes and reads artifacts, with all checks of an artifact; `docs/artifact.md` is normative.

Equal vocabularies have equal artifacts, byte for byte.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, NoReturn

from bpetite._constants import (
    BASE_VOCAB_SIZE,
    SCHEMA_VERSION,
    UNICODE_VERSION,
)
from bpetite._internal.files import write_whole
from bpetite._internal.json import Json, parse_with_lists, refuse, type_name, written
from bpetite._internal.types import Path
from bpetite.dialect import Dialect
from bpetite.vocabulary import LARGEST_ID, Arrays, Vocabulary, collector_paused

_KEYS = (
    "added_tokens",
    "decode_only",
    "dialect",
    "merge_ids",
    "merges",
    "normalization",
    "pattern",
    "schema_version",
    "special_tokens",
    "tokens",
    "trained_with",
    "unicode_version",
    "whole_pretoken_first",
)
_OPTIONAL_KEYS = ("drops_missing", "drops_space", "equal_ranks", "provisional", "token_flags", "unknown")


def save_vocabulary(path: Path, vocabulary: Vocabulary, overwrite: bool = False) -> None:
    """Save a vocabulary as an artifact; no partial file is ever left."""
    with write_whole(path, overwrite=overwrite) as file:
        file.write(artifact_bytes(vocabulary))


def artifact_bytes(vocabulary: Vocabulary) -> bytes:
    """Return the artifact of a vocabulary; equal vocabularies give equal bytes."""
    with collector_paused():
        return written(_document(vocabulary)).encode("utf-8")


def _document(vocabulary: Vocabulary) -> Json:
    """Return what an artifact holds."""
    arrays = vocabulary.arrays
    optional = {
        "drops_missing": vocabulary.drops_missing,
        "drops_space": vocabulary.drops_space,
        "equal_ranks": list(chain.from_iterable(vocabulary.equal_ranks)),
        "provisional": sorted(vocabulary.provisional),
        "token_flags": dict(vocabulary.token_flags),
        "unknown": list(vocabulary.unknown or ()),
    }
    return {
        "added_tokens": sorted(vocabulary.added_tokens),
        "decode_only": _to_hexadecimal(vocabulary.decode_only),
        "dialect": vocabulary.dialect.to_dict(),
        "merge_ids": arrays.to_merge_ids(),
        "merges": list(chain.from_iterable(arrays.to_pairs())),
        "normalization": vocabulary.normalization,
        "pattern": vocabulary.pattern,
        "schema_version": SCHEMA_VERSION,
        "special_tokens": dict(vocabulary.special_tokens),
        "tokens": _to_hexadecimal(vocabulary.tokens) if _lists_all(vocabulary) else _unmerged(vocabulary),
        "trained_with": dict(vocabulary.trained_with),
        "unicode_version": UNICODE_VERSION,
        "whole_pretoken_first": vocabulary.whole_pretoken_first,
        **{key: value for key, value in optional.items() if value},
    }


def _lists_all(vocabulary: Vocabulary) -> bool:
    """Whether all tokens are listed: merges in an order of training tell what theirs are."""
    return bool(vocabulary.irregular or vocabulary.provisional or vocabulary.unknown)


def _unmerged(vocabulary: Vocabulary) -> Json:
    """Return the tokens that no merge makes."""
    arrays = vocabulary.arrays
    made = memoryview(arrays.merges).cast("I")[2::3].tobytes()
    if arrays.ids[4 * BASE_VOCAB_SIZE :] == made:  # as in most vocabularies
        return _to_hexadecimal(
            {arrays.id_at(place): arrays.token_at(place) for place in range(BASE_VOCAB_SIZE)}
        )
    made_ids = set(arrays.to_merge_ids())
    return _to_hexadecimal({key: token for key, token in vocabulary.tokens.items() if key not in made_ids})


def _to_hexadecimal(tokens: Mapping[int, bytes]) -> Json:
    return {str(token_id): token.hex() for token_id, token in tokens.items()}


def vocabulary_of(artifact: bytes, path: Path) -> Vocabulary:
    """Return the vocabulary of an artifact's bytes; errors name `path`."""
    return vocabulary_of_document(parse_with_lists(path, artifact, "an artifact"), path)


def vocabulary_of_document(document: Json, path: Path) -> Vocabulary:
    """Return the vocabulary of an artifact's object; errors name `path`."""
    _check_keys(path, document)
    _check_rules(path, document)
    tokens = _from_hexadecimal(path, document, "tokens")
    decode_only = _from_hexadecimal(path, document, "decode_only")
    merges = _merge_rows(path, document)
    provisional = _integers(path, "provisional", document.get("provisional", []), LARGEST_ID)
    equal = _integers(path, "equal_ranks", document.get("equal_ranks", []), LARGEST_ID)
    if len(equal) % 2:
        refuse(path, f"equal_ranks must hold two places for each rank, not {len(equal)} in all")
    unknown = _unknown(path, document["unknown"]) if "unknown" in document else None
    made = memoryview(merges).cast("I")[2::3].tolist()
    lists_all = bool(not made or not tokens.keys().isdisjoint(made) or provisional or equal or unknown)
    if lists_all and not tokens.keys() >= set(made):
        rank = next(rank for rank, token_id in enumerate(made) if token_id not in tokens)
        refuse(path, f"merge {rank} makes id {made[rank]}, which tokens lacks")
    try:
        known = {*tokens, *decode_only, *document["special_tokens"].values()}
        if unknown is not None and unknown[0] not in known:
            raise ValueError(f"unknown: no token has id {unknown[0]}")
        return Vocabulary.of_arrays(
            replace(Arrays.of(tokens), merges=merges),
            special_tokens=document["special_tokens"],
            pattern=document["pattern"],
            dialect=_dialect(path, document),
            whole_pretoken_first=document["whole_pretoken_first"],
            normalization=document["normalization"],
            token_flags=document.get("token_flags", {}),
            added_tokens=document["added_tokens"],
            trained_with=document["trained_with"],
            irregular=lists_all,
            decode_only=decode_only,
            provisional=provisional,
            drops_space=document.get("drops_space", False),
            drops_missing=document.get("drops_missing", False),
            unknown=unknown,
            equal_ranks=list(zip(equal[::2], equal[1::2], strict=True)),
        )
    except ValueError as error:
        refuse(path, str(error).removeprefix(f"{os.fspath(path)}: "))


# Reading JSON ------------------------------------------------------------------------------------------


def _check_keys(path: Path, document: Json) -> None:
    """Check the version, and that every key is known and there."""
    version = document.get("schema_version", SCHEMA_VERSION)
    if type(version) is not int or version != SCHEMA_VERSION:
        refuse(path, f"schema_version: {version!r:.80} is not {SCHEMA_VERSION}")
    for key in document:
        if key not in (*_KEYS, *_OPTIONAL_KEYS):
            refuse(path, f"{key!r:.80} is not a key of an artifact")
    for key in ("schema_version", *_KEYS):
        if key not in document:
            refuse(path, f"{key} is missing")


def _object(path: Path, document: Json, key: str) -> Json:
    value = document[key]
    if not isinstance(value, dict):
        refuse(path, f"{key} must be an object, not {type_name(value)}")
    return value


def _integers(path: Path, field: str, value: object, largest: int) -> list[int]:
    """Check a list of integers between 0 and `largest`."""
    if not isinstance(value, list):
        refuse(path, f"{field} must be a list, not {type_name(value)}")
    if not set(map(type, value)) <= {int}:
        place, wrong = next((place, item) for place, item in enumerate(value) if type(item) is not int)
        refuse(path, f"{field}[{place}] must be an integer, not {type_name(wrong)}")
    if value and (min(value) < 0 or max(value) > largest):
        place = next(place for place, item in enumerate(value) if not 0 <= item <= largest)
        refuse(path, f"{field}[{place}]: {value[place]} is not between 0 and {largest}")
    return value


def _integer_array(path: Path, field: str, value: object) -> array[int]:
    """Check a list of ids, or take those that the engine has read."""
    return array("I", value if isinstance(value, bytes) else _integers(path, field, value, LARGEST_ID))


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


def _check_rules(path: Path, document: Json) -> None:
    """Check all but tokens and merges."""
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
    flat = _integer_array(path, "merges", document["merges"])
    if len(flat) % 2:
        refuse(path, f"merges must hold two ids for each merge, not {len(flat)} ids")
    merge_ids = _integer_array(path, "merge_ids", document["merge_ids"])
    if len(merge_ids) != len(flat) // 2:
        refuse(path, f"merge_ids must have {len(flat) // 2} values, not {len(merge_ids)}")
    return _rows(flat, merge_ids)


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
