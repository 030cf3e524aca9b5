"""Writes and reads artifacts, with all checks of an artifact; `docs/artifact.md` is normative.

Equal vocabularies have equal artifacts, byte for byte.
"""

from array import array
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, cast

from bpetite._constants import SCHEMA_VERSION, UNICODE_VERSION
from bpetite._internal.files import write_whole
from bpetite._internal.json import Json, naming, parse_with_lists, typed, written
from bpetite._internal.types import Path
from bpetite.dialect import Dialect
from bpetite.vocabulary import LARGEST_ID, Arrays, Vocabulary


def save_vocabulary(path: Path, vocabulary: Vocabulary, overwrite: bool = False) -> None:
    """Save a vocabulary as an artifact; no partial file is ever left."""
    with write_whole(path, overwrite=overwrite) as file:
        file.write(artifact_bytes(vocabulary))


def artifact_bytes(vocabulary: Vocabulary) -> bytes:
    """Return the artifact of a vocabulary; equal vocabularies give equal bytes."""
    return written(_document(vocabulary)).encode("utf-8")


def _document(vocabulary: Vocabulary) -> Json:
    """Return what an artifact holds."""
    arrays = vocabulary.arrays
    merges = memoryview(arrays.merges).cast("I").tolist()
    made = merges[2::3]
    del merges[2::3]
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
        "merge_ids": made,
        "merges": merges,
        "normalization": vocabulary.normalization,
        "pattern": vocabulary.pattern,
        "schema_version": SCHEMA_VERSION,
        "special_tokens": dict(vocabulary.special_tokens),
        "tokens": _to_hexadecimal(vocabulary.tokens) if lists_all else _unmerged(arrays),
        "trained_with": dict(vocabulary.trained_with),
        "unicode_version": UNICODE_VERSION,
        "whole_pretoken_first": vocabulary.whole_pretoken_first,
        **{key: value for key, value in optional.items() if value},
    }


def _unmerged(arrays: Arrays) -> Json:
    """Return the tokens that no merge makes."""
    made, ids = set(arrays.to_merge_ids()), memoryview(arrays.ids).cast("I").tolist()
    return _to_hexadecimal(
        {token_id: arrays.token_at(place) for place, token_id in enumerate(ids) if token_id not in made}
    )


def _to_hexadecimal(tokens: Mapping[int, bytes]) -> Json:
    return {str(token_id): token.hex() for token_id, token in tokens.items()}


def vocabulary_of(artifact: bytes, path: Path) -> Vocabulary:
    """Return the vocabulary of an artifact's bytes; errors name `path`."""
    return vocabulary_of_document(parse_with_lists(path, artifact, "an artifact"), path)


def vocabulary_of_document(document: Json, path: Path) -> Vocabulary:
    """Return the vocabulary of an artifact's object; errors name `path`."""
    with naming(path):
        _check_keys(document)
        _check_values(document)
        fields = {key: value for key, value in document.items() if key not in _VERSIONS}
        tokens, decode_only = (_from_hexadecimal(key, fields.pop(key)) for key in ("tokens", "decode_only"))
        merges, made = _merge_rows(fields.pop("merges"), fields.pop("merge_ids"))
        equal = fields.pop("equal_ranks", [])
        if len(equal) % 2:
            raise ValueError(f"equal_ranks must hold two places for each rank, not {len(equal)} in all")
        unknown = tuple(fields.pop("unknown")) if "unknown" in fields else None
        is_plain = not (equal or unknown or "provisional" in fields)
        lists_all = not (made and is_plain and tokens.keys().isdisjoint(made))
        if lists_all and not tokens.keys() >= set(made):
            rank = next(rank for rank, token_id in enumerate(made) if token_id not in tokens)
            raise ValueError(f"merge {rank} makes id {made[rank]}, which tokens lacks")
        if unknown and unknown[0] not in {*tokens, *decode_only, *fields["special_tokens"].values()}:
            raise ValueError(f"unknown: no token has id {unknown[0]}")
        fields |= {"decode_only": decode_only, "irregular": lists_all, "unknown": unknown}
        fields["equal_ranks"] = list(zip(equal[::2], equal[1::2], strict=True))
        fields["dialect"] = Dialect(**fields["dialect"])
        return Vocabulary.of_arrays(replace(Arrays.of(tokens), merges=merges), **fields)


# Checking JSON -----------------------------------------------------------------------------------------


def _is_text(value: object) -> bool:
    return isinstance(value, str)


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
    "pattern": (None, lambda value: _is_text(value) or _is_texts(value), "a string or a list of strings"),
    "provisional": (list, _is_id, _AN_ID),
    "schema_version": (None, _is_count, "a number"),
    "special_tokens": (dict, _is_id, _AN_ID),
    "token_flags": (dict, _is_texts, "a list of strings"),
    "tokens": (dict, _is_hexadecimal, "bytes in hexadecimal"),
    "trained_with": (dict, _is_count, "a number of 64 bits"),
    "unicode_version": (None, _is_text, "a string"),
    "unknown": (None, _is_unknown, "a list of an id and true or false"),
    "whole_pretoken_first": (None, lambda value: isinstance(value, bool), "true or false"),
}
"""The kind of each list or object of an artifact and what it holds; or what another value is."""

_OPTIONAL = {"drops_missing", "drops_space", "equal_ranks", "provisional", "token_flags", "unknown"}
_KEYS = [key for key in _FIELDS if key not in _OPTIONAL]


def _check_keys(document: Json) -> None:
    """Check the version, and that every key is known and there."""
    version = document.get("schema_version", SCHEMA_VERSION)
    if type(version) is not int or version != SCHEMA_VERSION:
        raise ValueError(f"schema_version: {version!r:.80} is not {SCHEMA_VERSION}")
    if unknown := [key for key in document if key not in _FIELDS]:
        raise ValueError(f"{unknown[0]!r:.80} is not a key of an artifact")
    if missing := [key for key in _KEYS if key not in document]:
        raise ValueError(f"{missing[0]} is missing")
    version = document["unicode_version"]
    if version != UNICODE_VERSION:
        raise ValueError(
            f"unicode_version: {version!r:.20} made it, but this is Unicode {UNICODE_VERSION}, which may "
            "class some characters differently and so give other ids; use the version of bpetite that made "
            f'it, or, to take the new classes, write "unicode_version":"{UNICODE_VERSION}" into the file'
        )


def _check_values(document: Json) -> None:
    """Check the type of every value, and of what lists and objects hold."""
    for key, value in document.items():
        kind, is_right, what = _FIELDS[key]
        if isinstance(value, bytes):
            continue  # The engine has read and checked it.
        items: Iterable[tuple[Any, Any]] = [("", value)]
        if kind is not None:
            typed(value, kind, key)
            items = value.items() if isinstance(value, dict) else enumerate(value)
        for place, item in items:
            if not is_right(item):
                where = key if kind is None else f"{key}[{place!r:.80}]"
                raise ValueError(f"{where} must be {what}, not {item!r:.80}")
    if document["dialect"].keys() != _AXES:
        raise ValueError(f"dialect must be an object with the axes {', '.join(sorted(_AXES))}")
    if document["trained_with"].keys() - {"min_count", "max_token_length"}:
        raise ValueError(f"trained_with must be of known options, not {document['trained_with']!r:.80}")


def _merge_rows(merges: Any, ids: Any) -> tuple[bytes, list[int]]:
    """Return merges as rows of left, right and resulting id, and the resulting ids."""
    flat, made = array("I", merges), array("I", ids)
    if len(flat) != 2 * len(made):
        raise ValueError(f"merges must hold two ids for each of {len(made)} merge_ids, not {len(flat)}")
    rows = array("I", bytes(12 * len(made)))
    rows[::3], rows[1::3], rows[2::3] = flat[::2], flat[1::2], made
    return rows.tobytes(), made.tolist()


def _from_hexadecimal(field: str, spelled: Mapping[str, str]) -> dict[int, bytes]:
    """Read the bytes of tokens, in the order of their ids, which must be written in canonical form."""
    tokens: dict[int, bytes] = {}
    for key, digits in spelled.items():
        if not (key.isdecimal() and len(key) <= 10 and str(int(key)) == key and int(key) <= LARGEST_ID):
            raise ValueError(f"{field}: {key!r:.80} is not {_AN_ID}")
        tokens[int(key)] = bytes.fromhex(digits)
    return dict(sorted(tokens.items()))
