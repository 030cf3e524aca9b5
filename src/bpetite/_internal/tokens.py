"""Checks arguments that take tokens by their ids or texts."""

from collections.abc import Mapping, Set
from typing import Any

from bpetite._internal.integers import integer


def ids_or_texts(name: str, tokens: Any) -> list[int | str]:
    """Return the ids and texts of an argument that takes one or several, or None; they need not be known.

    >>> ids_or_texts("append", "</s>"), ids_or_texts("append", [2, "</s>"]), ids_or_texts("append", None)
    (['</s>'], [2, '</s>'], [])
    >>> ids_or_texts("append", b"</s>")
    Traceback (most recent call last):
    TypeError: append: a token is an id or the text of a special token, not b'</s>'
    """
    if tokens is None:
        return []
    is_single = isinstance(tokens, str | bytes | bytearray) or not hasattr(tokens, "__iter__")
    if (
        is_single or getattr(tokens, "ndim", None) == 0
    ):  # An array without dimensions is one number.
        return [_id_or_text(name, tokens)]
    if isinstance(tokens, Mapping | Set):
        raise TypeError(f"{name} must be tokens in an order, not a {type(tokens).__name__}")
    return [_id_or_text(name, token) for token in tokens]


def _id_or_text(name: str, token: Any) -> int | str:
    if isinstance(token, str):
        return token
    try:
        return integer(name, token)
    except TypeError:
        raise TypeError(
            f"{name}: a token is an id or the text of a special token, not {token!r:.100}"
        ) from None
