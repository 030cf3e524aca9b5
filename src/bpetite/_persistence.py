"""Writes and reads artifacts, with all checks of an artifact; `docs/artifact.md` is normative.

Equal vocabularies have equal artifacts, byte for byte.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, cast

from bpetite._constants import BASE_VOCAB_SIZE, SCHEMA_VERSION, UNICODE_VERSION
from bpetite._internal.files import write_whole
from bpetite._internal.json import Json, parse_with_lists, refuse, type_name, written
from bpetite._internal.types import Path
from bpetite.dialect import Dialect
from bpetite.vocabulary import LARGEST_ID, Arrays, Vocabulary, collector_paused


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
    # Merges in an order of training tell what their tokens are.
    lists_all = vocabulary.irregular or vocabulary.provisional or vocabulary.unknown
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
        "tokens": _to_hexadecimal(vocabulary.tokens) if lists_all else _unmerged(vocabulary),
        "trained_with": dict(vocabulary.trained_with),
        "unicode_version": UNICODE_VERSION,
        "whole_pretoken_first": vocabulary.whole_pretoken_first,
        **{key: value for key, value in optional.items() if value},
    }


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
    _check_values(path, document)
    fields = {key: value for key, value in document.items() if key not in _VERSIONS}
    tokens, decode_only = (_from_hexadecimal(path, key, fields.pop(key)) for key in ("tokens", "decode_only"))
    merges, made = _merge_rows(path, fields.pop("merges"), fields.pop("merge_ids"))
    equal = fields.pop("equal_ranks", [])
    if len(equal) % 2:
        refuse(path, f"equal_ranks must hold two places for each rank, not {len(equal)} in all")
    unknown = tuple(fields.pop("unknown")) if "unknown" in fields else None
    is_plain = not (equal or unknown or "provisional" in fields)
    lists_all = not (made and is_plain and tokens.keys().isdisjoint(made))
    if lists_all and not tokens.keys() >= set(made):
        rank = next(rank for rank, token_id in enumerate(made) if token_id not in tokens)
        refuse(path, f"merge {rank} makes id {made[rank]}, which tokens lacks")
    if unknown and unknown[0] not in {*tokens, *decode_only, *fields["special_tokens"].values()}:
        refuse(path, f"unknown: no token has id {unknown[0]}")
    fields |= {"decode_only": decode_only, "irregular": lists_all, "unknown": unknown}
    fields["equal_ranks"] = list(zip(equal[::2], equal[1::2], strict=True))
    try:
        fields["dialect"] = Dialect(**fields["dialect"])
        return Vocabulary.of_arrays(replace(Arrays.of(tokens), merges=merges), **fields)
    except ValueError as error:
        refuse(path, str(error).removeprefix(f"{os.fspath(path)}: "))


# Checking JSON -----------------------------------------------------------------------------------------


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_id(value: object) -> bool:
    return type(value) is int and 0 <= value <= LARGEST_ID


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**64


def _is_flags(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_text, value))


def _is_hexadecimal(value: object) -> bool:
    try:
        return bytes.fromhex(cast(str, value)).hex() == value
    except (TypeError, ValueError):
        return False


def _is_unknown(value: object) -> bool:
    return isinstance(value, list) and [*map(type, value)] == [int, bool] and _is_id(value[0])


_AN_ID = f"an id from 0 to {LARGEST_ID}"
_VERSIONS = ("schema_version", "unicode_version")
_AXES = Dialect().to_dict().keys()

_FIELDS: Mapping[str, tuple[type | None, Callable[[Any], bool], str]] = {
    "added_tokens": (list, _is_text, "a string"),
    "decode_only": (dict, _is_hexadecimal, "bytes in hexadecimal"),
    "dialect": (dict, _is_text, "a string"),
    "drops_missing": (None, lambda value: value is True, "true, or left out"),
    "drops_space": (None, lambda value: value is True or value == "all", 'true or "all", or left out'),
    "equal_ranks": (list, _is_id, _AN_ID),
    "merge_ids": (list, _is_id, _AN_ID),
    "merges": (list, _is_id, _AN_ID),
    "normalization": (None, lambda value: True, "checked where it is used"),
    "pattern": (None, _is_text, "a string"),
    "provisional": (list, _is_id, _AN_ID),
    "schema_version": (None, _is_count, "a number"),
    "special_tokens": (dict, _is_id, _AN_ID),
    "token_flags": (dict, _is_flags, "a list of strings"),
    "tokens": (dict, _is_hexadecimal, "bytes in hexadecimal"),
    "trained_with": (dict, _is_count, "a number of 64 bits"),
    "unicode_version": (None, _is_text, "a string"),
    "unknown": (None, _is_unknown, "a list of an id and true or false"),
    "whole_pretoken_first": (None, lambda value: isinstance(value, bool), "true or false"),
}
"""The kind of each list or object of an artifact and what it holds; or what another value is."""

_OPTIONAL = {"drops_missing", "drops_space", "equal_ranks", "provisional", "token_flags", "unknown"}
_KEYS = [key for key in _FIELDS if key not in _OPTIONAL]


def _check_keys(path: Path, document: Json) -> None:
    """Check the version, and that every key is known and there."""
    version = document.get("schema_version", SCHEMA_VERSION)
    if type(version) is not int or version != SCHEMA_VERSION:
        refuse(path, f"schema_version: {version!r:.80} is not {SCHEMA_VERSION}")
    for key in document:
        if key not in _FIELDS:
            refuse(path, f"{key!r:.80} is not a key of an artifact")
    for key in _KEYS:
        if key not in document:
            refuse(path, f"{key} is missing")
    version = document["unicode_version"]
    if version != UNICODE_VERSION:
        refuse(
            path,
            f"unicode_version: {version!r:.20} made it, but this is Unicode {UNICODE_VERSION}, which may "
            "class some characters differently and so give other ids; use the version of bpetite that made "
            f'it, or, to take the new classes, write "unicode_version":"{UNICODE_VERSION}" into the file',
        )


def _check_values(path: Path, document: Json) -> None:
    """Check the type of every value, and of what lists and objects hold."""
    for key, value in document.items():
        kind, is_right, what = _FIELDS[key]
        if isinstance(value, bytes):
            continue  # The engine has read and checked it.
        if kind is None:
            if not is_right(value):
                refuse(path, f"{key} must be {what}, not {value!r:.80}")
            continue
        if not isinstance(value, kind):
            refuse(path, f"{key} must be {type_name(kind())}, not {type_name(value)}")
        items = value.items() if isinstance(value, dict) else enumerate(cast("list[Any]", value))
        for place, item in items:
            if not is_right(item):
                refuse(path, f"{key}[{place!r:.80}] must be {what}, not {item!r:.80}")
    if document["dialect"].keys() != _AXES:
        refuse(path, f"dialect must be an object with the axes {', '.join(sorted(_AXES))}")
    if document["trained_with"].keys() - {"min_count", "max_token_length"}:
        refuse(path, f"trained_with must be of known options, not {document['trained_with']!r:.80}")


def _merge_rows(path: Path, merges: Any, ids: Any) -> tuple[bytes, list[int]]:
    """Return merges as rows of left, right and resulting id, and the resulting ids."""
    flat, merge_ids = array("I", merges), array("I", ids)
    if len(flat) != 2 * len(merge_ids):
        refuse(
            path, f"merges must hold two ids for each of {len(merge_ids)} merge_ids, not {len(flat)} in all"
        )
    rows = array("I", bytes(12 * len(merge_ids)))
    rows[::3], rows[1::3], rows[2::3] = flat[::2], flat[1::2], merge_ids
    return rows.tobytes(), merge_ids.tolist()


def _from_hexadecimal(path: Path, field: str, spelled: Mapping[str, str]) -> dict[int, bytes]:
    """Read the bytes of tokens, in the order of their ids, which must be written in canonical form."""
    tokens: dict[int, bytes] = {}
    for key, digits in spelled.items():
        is_id = key.isdecimal() and len(key) <= 10 and str(int(key)) == key and int(key) <= LARGEST_ID
        if not is_id:
            refuse(path, f"{field}: {key!r:.80} is not {_AN_ID}")
        tokens[int(key)] = bytes.fromhex(digits)
    return dict(sorted(tokens.items()))
