"""Reads and writes JSON objects strictly: duplicate keys, NaN and the like are refused."""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar, get_origin, get_type_hints

from bpetite._engine import cut_json
from bpetite._internal.types import AnyPath

Json = dict[str, Any]

T = TypeVar("T")


def parse_object(path: AnyPath, content: bytes, what: str) -> Json:
    """Read an object; `path` and `what` (such as "an artifact") are for error messages.

    >>> parse_object("a.json", b'{"a": 1}', "an artifact")
    {'a': 1}
    """
    import json

    text = decoded(path, content)
    try:
        document = json.loads(
            text, object_pairs_hook=_without_duplicates, parse_constant=_no_constant
        )
    except RecursionError:
        refuse(path, f"nested too deeply to be {what}")
    except ValueError as error:
        refuse(path, f"not valid JSON: {error}" if content else "it is empty")
    if not isinstance(document, dict):
        refuse(path, f"{what} is one JSON object, not {type_name(document)}")
    return document


def parse_with_lists(path: AnyPath, content: bytes, what: str) -> Json:
    """Read an object as `parse_object` does, but let the engine read the long lists of a tokenizer.

    If nothing in them is unusual, numbers become the bytes of an array, pairs of numbers a tuple
    with these bytes, tokens a tuple of ids, joined bytes and ends, and merges of texts have the
    byte FE between their parts and FF between them: no UTF-8 has these bytes.

    >>> parse_with_lists("a.json", b'{"model": {"vocab": {"a": 0}, "merges": ["a b", "ab c"]}}', "a file")
    {'model': {'vocab': {'a': 0}, 'merges': b'a\\xfeb\\xffab\\xfec'}}
    """
    cut = cut_json(content)
    document = parse_object(path, content if cut is None else cut[0], what)
    for place, found in cut[1].items() if cut else ():
        *parents, key = place.split(".")
        (document[parents[0]] if parents else document)[key] = found
    return document


def written(fields: Json, *, ascii_only: bool = False) -> bytes:
    """Return the JSON of an object, with sorted keys and without spaces; bytes are the JSON of a value.

    >>> written({"y": None, "x": ["é", True, 2], "z": b"[1,2]"}).decode()
    '{"x":["é",true,2],"y":null,"z":[1,2]}'
    """
    import json

    def json_of(value: object) -> bytes:
        if isinstance(value, bytes):
            return value
        text = json.dumps(
            value, sort_keys=True, separators=(",", ":"), ensure_ascii=ascii_only, default=dict
        )
        return text.encode("utf-8")

    items = (json_of(name) + b":" + json_of(value) for name, value in sorted(fields.items()))
    return b"{" + b",".join(items) + b"}"


def refuse(path: AnyPath, what: str) -> NoReturn:
    """Raise an error that names the file and what is wrong with it."""
    raise ValueError(f"{os.fspath(path)}: {what}")


@contextmanager
def naming(path: AnyPath) -> Iterator[None]:
    """Let errors about the content of a file begin with its name.

    >>> with naming("a.json"):
    ...     raise ValueError("it is empty")
    Traceback (most recent call last):
    ValueError: a.json: it is empty
    """
    try:
        yield
    except UnicodeEncodeError as lone:  # half of a pair of surrogates
        refuse(path, f"{lone.object!r:.80} is not text: {lone.reason}")
    except RecursionError:  # from Python 3.12 on, JSON may be nested more deeply than functions
        refuse(path, "nested too deeply to be a tokenizer")
    except ValueError as error:
        refuse(path, str(error).removeprefix(f"{os.fspath(path)}: "))


_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
"""The byte-order marks of UTF-8 and UTF-16."""


def refuse_mark(path: AnyPath, content: bytes) -> None:
    """Refuse a text that begins with a byte-order mark, which some editors and shells write."""
    if content.startswith(_MARKS):
        refuse(path, "it begins with a byte-order mark; save it as UTF-8 without one")


def decoded(path: AnyPath, content: bytes) -> str:
    """Return the text of a file; errors name `path`."""
    refuse_mark(path, content)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        refuse(path, f"not valid UTF-8 at byte {error.start}")


def fields_of(kind: type[T], stored: Any) -> T:
    """Return a dataclass made of the fields in a file, each of its type; no number is negative."""
    expected = {name: get_origin(hint) or hint for name, hint in get_type_hints(kind).items()}
    found = sorted(stored) if type(stored) is dict else stored
    if found != sorted(expected):
        raise TypeError(f"must hold exactly {', '.join(sorted(expected))}, not {found!s:.200}")
    for name, hint in expected.items():
        if (hint is not Any and type(stored[name]) is not hint) or (
            hint is int and stored[name] < 0
        ):
            raise TypeError(f"{name} is {stored[name]!r:.80}")
    return kind(**stored)


def type_name(value: object) -> str:
    """Name the type of a JSON value."""
    names = {
        dict: "an object",
        list: "a list",
        str: "a string",
        bool: "a boolean",
        int: "an integer",
    }
    return "null" if value is None else names.get(type(value), "a number")


def typed(value: object, kind: type[T], place: str) -> T:
    """Return a value that has a type; a string is also text.

    >>> typed([], dict, "model")
    Traceback (most recent call last):
    ValueError: model must be an object, not a list
    """
    if not isinstance(value, kind):
        raise ValueError(f"{place} must be {type_name(kind())}, not {type_name(value)}")
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as lone:
            raise ValueError(f"{place}: {value!r:.80} is not text: {lone.reason}") from None
    return value


def flag(parent: Json, place: str, name: str, *, default: bool = False) -> bool:
    """Return a boolean in an object, which may be left out or be null."""
    value = parent.get(name)
    return default if value is None else typed(value, bool, f"{place}.{name}")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> Json:
    found = dict(pairs)
    if len(found) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise ValueError(f"key {counts.most_common(1)[0][0]!r:.80} appears twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
