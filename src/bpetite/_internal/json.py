"""Reads and writes JSON objects strictly: duplicate keys, NaN and the like are refused."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping

from bpetite._internal.lazy import LazyModule
from bpetite._internal.types import Path, Write

TYPE_CHECKING = False
if TYPE_CHECKING:
    import json
    from typing import Any, NoReturn

    Json = dict[str, Any]
else:
    json = LazyModule("json")
    Json = dict


def parse_object(path: Path, content: bytes, what: str) -> Json:
    """Read an object; `path` and `what` (such as "an artifact") are for error messages.

    >>> parse_object("a.json", b'{"a": 1}', "an artifact")
    {'a': 1}
    """
    refuse_mark(path, content)
    try:
        document = json.loads(
            content.decode("utf-8"), object_pairs_hook=_without_duplicates, parse_constant=_no_constant
        )
    except UnicodeDecodeError as error:
        refuse(path, f"not valid UTF-8 at byte {error.start}")
    except RecursionError:
        refuse(path, f"nested too deeply to be {what}")
    except ValueError as error:
        refuse(path, f"not valid JSON: {error}" if content else "it is empty")
    if not isinstance(document, dict):
        refuse(path, f"{what} is one JSON object, not {type_name(document)}")
    return document


def write_object(content: Mapping[str, object], write: Write, *, ascii_only: bool = True) -> None:
    """Write the JSON of an object: sorted keys, no spaces; a value that is a function writes its own JSON.

    >>> pieces = []
    >>> content = {"b": lambda write: write(b"[1,2]"), "a": {"y": None, "x": "é"}}
    >>> write_object(content, pieces.append, ascii_only=False)
    >>> b"".join(pieces).decode()
    '{"a":{"x":"é","y":null},"b":[1,2]}'
    """
    json_of = _ascii if ascii_only else written
    before = "{"
    for name, value in sorted(content.items()):
        write(f"{before}{json_of(name)}:".encode())
        if callable(value):
            value(write)
        else:
            write(json_of(value).encode("utf-8"))
        before = ","
    write(b"{}" if before == "{" else b"}")


def _ascii(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


_ESCAPES: dict[int, str] = {
    **{control: f"\\u{control:04x}" for control in range(0x20)},
    **{ord(character): f"\\{letter}" for character, letter in zip('"\\\b\f\n\r\t', '"\\bfnrt', strict=True)},
}
"""What stands for a character in a string of JSON."""


def written(value: object) -> str:
    """Return the JSON of a value, with sorted keys and without spaces, as `json.dumps` does.

    What is trained is mostly saved by a process that reads no JSON; importing `json`, which imports `re`,
    would take it longer than writing.

    >>> written({"y": None, "x": ["é", True, 2]})
    '{"x":["é",true,2],"y":null}'
    """
    if isinstance(value, str):
        return f'"{value.translate(_ESCAPES)}"'
    if value is None:
        return "null"
    if isinstance(value, int):
        return str(value).lower()  # a bool, too
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{written(name)}:{written(value[name])}" for name in sorted(value)) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(written, value)) + "]"
    raise TypeError(f"{value!r:.80} cannot be written as JSON")


def refuse(path: Path, what: str) -> NoReturn:
    """Raise an error that names the file and what is wrong with it."""
    raise ValueError(f"{os.fspath(path)}: {what}")


_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
"""The byte-order marks of UTF-8 and UTF-16."""


def refuse_mark(path: Path, content: bytes) -> None:
    """Refuse a text that begins with a byte-order mark, which some editors and shells write."""
    if content.startswith(_MARKS):
        refuse(path, "it begins with a byte-order mark; save it as UTF-8 without one")


def type_name(value: object) -> str:
    """Name the type of a JSON value."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "an integer"}
    return "null" if value is None else names.get(type(value), "a number")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> Json:
    found = dict(pairs)
    if len(found) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise ValueError(f"key {counts.most_common(1)[0][0]!r:.80} appears twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
