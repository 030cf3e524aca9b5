"""Values of JSON in, the same values with a known type out; an error names their place."""

from __future__ import annotations

from typing import TypeVar

from bpetite._internal.json import Json, type_name

T = TypeVar("T")


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
