"""Checks the types of arguments; an error names the argument and what it takes."""

from __future__ import annotations

from collections.abc import Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def check_type(name: str, given: Any, kind: type, what: str | None = None) -> None:
    """Refuse an argument of another type.

    >>> check_type("pattern", 5, str)
    Traceback (most recent call last):
    TypeError: pattern must be a str, not int
    """
    if not isinstance(given, kind):
        raise TypeError(f"{name} must be {what or f'a {kind.__name__}'}, not {type(given).__name__}")


def several(name: str, what: str, given: Any) -> Iterator[Any]:
    """Return the items of an argument that must be iterable.

    >>> list(several("batch", "lists of ids", [[97]]))
    [[97]]
    >>> several("batch", "lists of ids", 5)
    Traceback (most recent call last):
    TypeError: batch must be several lists of ids, not int
    """
    try:
        return iter(given)
    except TypeError:
        if hasattr(given, "__iter__"):  # the error of its own code
            raise
        raise TypeError(f"{name} must be several {what}, not {type(given).__name__}") from None
