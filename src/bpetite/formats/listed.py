"""Vocabularies in JSON of their own: tokens and merges in, GPT-2's two files out.

Courses such as CS336 let people write a BPE tokenizer, and each saves it in another way. Such a
file is read if it says which bytes its tokens are: in lists, or spelled in one of `_SPELLINGS`, in
which each byte is a token; or if its merges are pairs of ids, of which the first 256 are the bytes.
"""

import ast
import base64
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from bpetite._constants import BASE_VOCAB_SIZE
from bpetite._internal.json import Json, type_name
from bpetite._internal.types import BytesPair
from bpetite.formats.shared.imported import IN_TEXTS
from bpetite.formats.shared.pairs import check_ids
from bpetite.formats.shared.printable import from_printable, to_printable

_TOKENS = ("vocab", "vocabulary", "id_to_token", "token_to_id")
_SPECIALS = ("special_tokens", "specials", "special_to_id", "special_token_to_id")
"""The names of the parts of a document."""

_Spelling = Callable[[str], bytes]


def _of_literal(text: str) -> bytes:
    """Return the bytes of Python's literal.

    >>> _of_literal("b'a\\\\x00'")
    b'a\\x00'
    """
    try:
        token = ast.literal_eval(text)
    except (MemoryError, RecursionError, SyntaxError):  # It may be nested too deeply.
        token = None
    if not isinstance(token, bytes):
        raise ValueError
    return token


_SPELLINGS: Mapping[str, tuple[_Spelling, Callable[[bytes], str]]] = {
    "printable": (from_printable, to_printable),
    "hexadecimal": (bytes.fromhex, bytes.hex),
    "base64": (
        partial(base64.b64decode, validate=True),
        lambda token: base64.b64encode(token).decode(),
    ),
    "Python's": (_of_literal, repr),
    "Latin-1": (lambda text: text.encode("latin-1"), lambda token: token.decode("latin-1")),
}
"""How bytes are read and spelled."""


class Pair(NamedTuple):
    """GPT-2's two files, and what else a document says."""

    vocab: bytes
    merges: bytes
    special_tokens: list[str] | None
    pattern: str | None


def read(document: Json) -> Pair:
    """Read a document; `merges` may also be the text of a `merges.txt`."""
    merges = document["merges"]
    if isinstance(merges, str):
        lines = merges.replace("\r\n", "\n").split("\n")
        merges = [line for line in lines if line and not line.startswith("#version")]
    listed = next((document[key] for key in _TOKENS if document.get(key)), None)
    id_pairs = _pairs_of_ids(merges)
    specials: dict[str, int] = {}
    if listed is None and not id_pairs:
        raise ValueError(
            f"it has merges, but not of ids, and no tokens (as {', '.join(_TOKENS)}), so nothing says which "
            "bytes they join"
        )
    if listed is None:
        tokens = {byte: bytes([byte]) for byte in range(BASE_VOCAB_SIZE)}
    else:
        tokens, specials = _tokens(_entries(listed))
    pairs = _of_ids(id_pairs, tokens) if id_pairs else _of_tokens(merges, set(tokens.values()))
    specials |= _specials(document, tokens)
    ids = _printed(tokens, specials)
    written = [f"{to_printable(left)} {to_printable(right)}" for left, right in pairs]
    pattern = document.get("pattern")
    return Pair(
        json.dumps(ids).encode("ascii"),
        "\n".join(["#version: 0.2", *written, ""]).encode("utf-8"),
        [*specials] or None,
        pattern if isinstance(pattern, str) and pattern else None,
    )


def _printed(tokens: Mapping[int, bytes], specials: Mapping[str, int]) -> dict[str, int]:
    """Return the ids of tokens in printable form, and of special tokens as they are."""
    special_of = {token_id: text for text, token_id in specials.items()}
    ids = dict(specials)
    for token_id, token in tokens.items():
        special = special_of.get(token_id)
        if special is not None and special.encode("utf-8") != token:
            raise ValueError(f"id {token_id} is given to {special!r:.80} and {token!r:.80}")
        text = special or to_printable(token)
        if ids.setdefault(text, token_id) != token_id:
            raise ValueError(f"the ids {ids[text]} and {token_id} are given to {text!r:.80}")
    check_ids(ids)
    return ids


def _entries(listed: object) -> dict[int, Any]:
    """Return tokens by their ids, as they are written."""
    if not isinstance(listed, list | dict):
        raise ValueError(f"its tokens are {type_name(listed)}")
    if isinstance(listed, list):
        are_rows = all(isinstance(entry, list) and len(entry) == 2 for entry in listed)
        has_ids = are_rows and all(type(entry[0]) is int for entry in listed)
        has_ids = has_ids and all(isinstance(entry[1], list | str) for entry in listed)
        entries = dict(listed if has_ids else enumerate(listed))
    elif all(type(value) is int for value in listed.values()):
        entries = {token_id: text for text, token_id in listed.items()}
    else:
        for key in listed:
            if not re.fullmatch("[0-9]{1,10}", key):
                raise ValueError(f"{key!r:.80} is not the id of a token")
        entries = {int(key): value for key, value in listed.items()}
    if len(entries) < len(listed):
        raise ValueError("two of its tokens have the same id")
    return entries


def _tokens(entries: Mapping[int, Any]) -> tuple[dict[int, bytes], dict[str, int]]:
    """Return the bytes of tokens, and the special tokens, which have no bytes in that spelling."""
    spelled_tokens = [value for value in entries.values() if isinstance(value, str)]
    texts = set(spelled_tokens)
    spelled: _Spelling | None = None
    if len(spelled_tokens) > len(entries) // 2:
        for read_bytes, spell in _SPELLINGS.values():
            if all(spell(bytes([byte])) in texts for byte in IN_TEXTS):
                spelled = read_bytes
                break
        else:
            raise ValueError(
                "it has vocab and merges, but does not say which bytes its tokens are, as lists of bytes do, "
                f"or texts in which each byte is a token ({', '.join(_SPELLINGS)}); if they are spelled as "
                "GPT-2's, save them as vocab.json and merges.txt"
            )
    tokens: dict[int, bytes] = {}
    specials: dict[str, int] = {}
    for token_id, value in entries.items():
        try:
            if isinstance(value, list):
                tokens[token_id] = bytes(value)
            elif isinstance(value, str) and spelled is not None:
                tokens[token_id] = spelled(value)
            else:
                raise ValueError
        except (KeyError, TypeError, ValueError):
            if not isinstance(value, str) or not value:
                raise ValueError(f"token {token_id} is {value!r:.80}, not bytes") from None
            specials[value] = token_id
    return tokens, specials


def _of_tokens(merges: object, known: set[bytes]) -> list[BytesPair]:
    """Return merges of tokens in the first spelling in which all of them join tokens to a token."""
    if not isinstance(merges, list):
        raise ValueError(f"its merges are {type_name(merges)}")
    split = [merge.split(" ") if isinstance(merge, str) else merge for merge in merges]
    for read_bytes, _ in _SPELLINGS.values():
        pairs = _pairs_in(split, read_bytes, known)
        if pairs is not None:
            return pairs
    raise ValueError("its merges are no pairs of its tokens, or join them to what is not a token")


def _pairs_in(
    merges: Iterable[Any], read_bytes: _Spelling, known: set[bytes]
) -> list[BytesPair] | None:
    pairs: list[BytesPair] = []
    for merge in merges:
        try:
            left, right = [
                read_bytes(part) if isinstance(part, str) else bytes([*part]) for part in merge
            ]
        except (KeyError, TypeError, ValueError):
            return None
        if not {left, right, left + right} <= known:
            return None
        pairs.append((left, right))
    return pairs


def _pairs_of_ids(merges: object) -> list[tuple[int, int, int | None]]:
    """Return merges that are pairs of ids, each with the id of its token if that is given."""
    if isinstance(merges, dict):
        merges = [[*map(int, re.findall("[0-9]+", key)), value] for key, value in merges.items()]
    rows: list[tuple[int, int, int | None]] = []
    for merge in merges if isinstance(merges, list) else ():
        row = merge
        if isinstance(merge, list) and len(merge) == 2 and isinstance(merge[0], list):
            row = [*merge[0], merge[1]]
        if not isinstance(row, list) or len(row) not in (2, 3) or set(map(type, row)) != {int}:
            return []
        rows.append((row[0], row[1], row[2] if len(row) == 3 else None))
    return rows


def _of_ids(
    rows: Sequence[tuple[int, int, int | None]], tokens: dict[int, bytes]
) -> list[BytesPair]:
    """Return merges of ids as merges of tokens, and add the tokens that they make."""
    ids = {token: token_id for token_id, token in tokens.items()}
    pairs: list[BytesPair] = []
    for rank, (left, right, made) in enumerate(rows):
        if left not in tokens or right not in tokens:
            raise ValueError(f"merge {rank} is {left} and {right}, of which one is not a token yet")
        joined = tokens[left] + tokens[right]
        token_id = ids.get(joined, BASE_VOCAB_SIZE + rank) if made is None else made
        if tokens.setdefault(token_id, joined) != joined:
            raise ValueError(
                f"merge {rank} makes {joined!r:.80}, but token {token_id} is {tokens[token_id]!r:.80}"
            )
        pairs.append((tokens[left], tokens[right]))
    return pairs


def _specials(document: Json, tokens: Mapping[int, bytes]) -> dict[str, int]:
    """Return the special tokens that a document names."""
    ids = {token: token_id for token_id, token in tokens.items()}
    specials: dict[str, int] = {}
    for key in _SPECIALS:
        named = document.get(key) or []
        for text in named if isinstance(named, list | dict) else (named,):
            token_id = (
                named[text] if isinstance(named, dict) else ids.get(str(text).encode("utf-8"))
            )
            if not isinstance(text, str) or not text or token_id is None:
                raise ValueError(f"{key}: {text!r:.80} is no token with an id")
            specials[text] = token_id
    return specials
