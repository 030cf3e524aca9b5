"""Checks the arguments of BPE dropout, in Python and on the command line."""

from numbers import Real
from typing import Any

from bpetite._internal.arguments import worded
from bpetite._internal.integers import integer

_LARGEST_SEED = 2**64 - 1


def checked_dropout(dropout: Any, seed: Any) -> tuple[float, int] | None:
    """Return the probability and the seed; None if nothing is dropped, as by default.

    >>> checked_dropout(0.1, 7), checked_dropout(1, None), checked_dropout(0, 7)
    ((0.1, 7), (1.0, 0), None)
    >>> checked_dropout(1.5, 7)
    Traceback (most recent call last):
    ValueError: dropout must be a number from 0 to 1, not 1.5
    """
    if seed is not None:
        seed = integer("seed", seed, least=0, most=_LARGEST_SEED)
    if dropout is None:
        if seed is not None:
            raise ValueError(
                worded(lambda name: f"{name('seed')} needs {name('dropout')}, which was not given")
            )
        return None
    is_number = isinstance(dropout, Real) and not isinstance(dropout, bool)
    if not is_number or not 0 <= dropout <= 1:
        refused = ValueError if is_number else TypeError
        expected = f"must be a number from 0 to 1, not {dropout!r:.100}"
        raise refused(worded(lambda name: f"{name('dropout')} {expected}"))
    return (float(dropout), seed or 0) if dropout else None
