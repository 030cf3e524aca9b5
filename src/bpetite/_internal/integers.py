"""Checks the integers that are passed to public functions, reads sizes such as `2GB`, and writes counts."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from bpetite._internal.arguments import worded

if TYPE_CHECKING:
    from fractions import Fraction

_QUANTITY = r"([0-9]+(?:\.[0-9]+)?) ?([A-Za-z]*)"


class Units(NamedTuple):
    """What the units of one kind of quantity mean."""

    factors: Mapping[str, int]
    """The factor of each unit, in small letters."""

    expected: str
    """What a text must be, with examples."""

    is_whole: bool
    """Whether a fraction is an error; otherwise it is dropped."""


_SI = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}

BYTES = Units(
    {
        "": 1,
        "b": 1,
        **_SI,
        **_BINARY,
        **{f"{unit}b": factor for unit, factor in {**_SI, **_BINARY}.items()},
    },
    "a size such as 4096, 500MB, 2GB or 1.5GiB",
    is_whole=False,
)
"""Sizes, in which `B` is a byte."""

NUMBERS = Units(
    {"": 1, **_SI, "b": 10**9},
    "a whole number, such as 300, 32k, 1M or 10B",
    is_whole=True,
)
"""Numbers of tokens, documents and threads, in which `B` is a billion."""


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
        return kind(
            worded(lambda say: f"{say(name)} must be an integer{bounds}, not {value!r:.100}")
        )

    if isinstance(value, bool):
        raise refused(TypeError)
    try:
        number = operator.index(value)
    except TypeError:
        raise refused(TypeError) from None
    if (least is not None and number < least) or (most is not None and number > most):
        raise refused(ValueError)
    return number


def number_with_unit(name: str, value: Any, units: Units) -> Any:
    """Convert a text such as `2GB` or `20M` to a number; return anything else unchanged.

    >>> number_with_unit("memory_limit", "1.5 GiB", BYTES), number_with_unit("max_document", "10B", BYTES)
    (1610612736, 10)
    >>> number_with_unit("shard_size", "20M", NUMBERS), number_with_unit("shard_size", "1.5B", NUMBERS)
    (20000000, 1500000000)
    """
    if not isinstance(value, str):
        return value
    import re

    match = re.fullmatch(_QUANTITY, value.strip())
    factor = units.factors.get(match[2].lower()) if match is not None else None
    quantity = _exactly(match[1]) * factor if match is not None and factor is not None else None
    if quantity is None or (units.is_whole and quantity.denominator != 1):
        raise ValueError(worded(lambda say: f"{say(name)}: {value!r:.100} is not {units.expected}"))
    return int(quantity)


def _exactly(digits: str) -> Fraction | int:
    """Return the number that digits are, perhaps with a point in them."""
    if digits.isdecimal():
        return int(digits)
    from fractions import Fraction  # slow to import

    return Fraction(digits)


def counted(number: int, what: str) -> str:
    """Return a number with the word for what was counted.

    >>> counted(1, "document"), counted(2000, "token")
    ('1 document', '2,000 tokens')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"
