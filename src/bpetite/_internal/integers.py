"""An argument in, an `int` out: every integer that a public call takes goes through here."""

from __future__ import annotations

import operator
from typing import Any


def integer(name: str, value: Any, *, least: int | None = None, most: int | None = None) -> int:
    """Return an integer of any type that Python takes for an index, NumPy's among them; a bool is none.

    >>> integer("vocab_size", 300, least=256)
    300
    >>> integer("vocab_size", 2.0)
    Traceback (most recent call last):
    ValueError: vocab_size must be an integer, not 2.0
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or (least is not None and number < least) or (most is not None and number > most):
        bounds = "" if least is None else f" of at least {least}"
        if most is not None:
            bounds = f" from {least} to {most}"
        raise ValueError(f"{name} must be an integer{bounds}, not {value!r:.100}")
    return number
