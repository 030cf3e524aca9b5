"""Checks the integers that are passed to public functions, reads sizes such as `2GB`, and writes counts."""

import operator
from typing import Any

from bpetite._internal.arguments import worded

_NUMBER = r"(?i)([0-9]+(?:\.[0-9]+)?) ?([kmgt]?)(i?)b?"


def integer(name: str, value: Any, *, least: int | None = None, most: int | None = None) -> int:
    """Convert an integer of any type (NumPy's, too) to an `int`, and check its bounds; a bool is refused.

    >>> integer("vocab_size", 300, least=256)
    300
    >>> integer("vocab_size", 2.0)
    Traceback (most recent call last):
    TypeError: vocab_size must be an integer, not 2.0
    """
    bounds = "" if least is None else f" of at least {least}"
    if most is not None:
        bounds = f" from {least} to {most}"

    def refused(kind: type[Exception]) -> Exception:
        return kind(worded(lambda say: f"{say(name)} must be an integer{bounds}, not {value!r:.100}"))

    if isinstance(value, bool):
        raise refused(TypeError)
    try:
        number = operator.index(value)
    except TypeError:
        raise refused(TypeError) from None
    if (least is not None and number < least) or (most is not None and number > most):
        raise refused(ValueError)
    return number


def number_with_unit(name: str, value: Any, *, whole: bool = False) -> Any:
    """Convert a text such as `2GB`, `1.5 GiB` or `20M` to a number; return anything else unchanged.

    A part of a byte or token is dropped, or if it must be `whole`, an error.

    >>> number_with_unit("shard_size", "20M"), number_with_unit("memory_limit", "1.5 GiB")
    (20000000, 1610612736)
    """
    if not isinstance(value, str):
        return value
    import re

    match = re.fullmatch(_NUMBER, value.strip())
    if match is None or (match[3] and not match[2]):
        is_none = f"{value!r:.100} is not a size such as 4096, 500MB, 2GB or 1.5GiB"
        raise ValueError(worded(lambda say: f"{say(name)}: {is_none}"))
    from fractions import Fraction

    unit = 1024 if match[3] else 1000
    number = Fraction(match[1]) * unit ** " kmgt".index(match[2].lower() or " ")
    if whole and number.denominator != 1:
        raise ValueError(worded(lambda say: f"{say(name)}: {value!r:.100} is not a whole number"))
    return int(number)


def counted(number: int, what: str) -> str:
    """Return a number with the word for what was counted.

    >>> counted(1, "document"), counted(2000, "token")
    ('1 document', '2,000 tokens')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"
