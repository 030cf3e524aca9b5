"""A vocabulary's normalization: a name, or steps with arguments, as the engine takes them."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from bpetite._engine import Normalizer

Step = tuple[str, ...]
"""The name of a normalizer and its arguments: `("NFC",)`, `("Replace", pattern, content)`."""

Normalization = str | tuple[Step, ...]
"""The name of one normalizer, or several with their arguments."""

MAPS = ("Map", "Map clusters")
"""The steps whose arguments are texts, each followed by what replaces it."""

SPACE_FIRST = ("Space first",)
"""The step that puts a space at the beginning of a text that has none, once added tokens are found."""


def steps_in(normalization: Normalization | None) -> tuple[Step, ...]:
    """Return the steps of a normalization.

    >>> steps_in("NFC"), steps_in(None)
    ((('NFC',),), ())
    """
    if normalization is None:
        return ()
    return ((normalization,),) if isinstance(normalization, str) else normalization


def checked(normalization: object) -> Normalization | None:
    """Return a normalization in canonical form; an unknown one is refused.

    >>> checked([["NFC"]]), checked([["NFD"], ["Replace", "a", "b"]])
    ('NFC', (('NFD',), ('Replace', 'a', 'b')))
    """
    if normalization is None:
        return None
    listed = [[normalization]] if isinstance(normalization, str) else normalization
    if not isinstance(listed, Sequence):
        raise ValueError(
            f"normalization must be a name or a list of steps, not {normalization!r:.80}"
        )
    steps = tuple(map(_checked_step, listed))
    if not steps:
        return None
    _normalizer(steps)  # Refuses steps that it does not know.
    is_single_name = len(steps) == len(steps[0]) == 1
    return steps[0][0] if is_single_name else steps


def _checked_step(step: Any) -> Step:
    is_list = isinstance(step, list | tuple) and len(step) > 0
    if not is_list or not all(isinstance(word, str) for word in step):
        raise ValueError(f"normalization: {step!r:.80} is not a list of a name and its arguments")
    for word in step:
        word.encode("utf-8")  # Refuses surrogates.
    if step[0] in MAPS and len({*step[1::2]}) < len(step) // 2:
        raise ValueError("normalization: Map replaces a text twice")
    return tuple(step)


def normalizing(steps: Sequence[Step]) -> Callable[[str], str]:
    """Return a function that normalizes a text behind the beginning of a longer one.

    >>> normalizing([("Lowercase",), ("Prepend first", "_")])("ABC")
    'abc'
    """
    normalizer = _normalizer(tuple(steps))
    return lambda text: normalizer(text, "segment")


@lru_cache(
    maxsize=4
)  # A map has tens of thousands of texts, and a vocabulary is checked more than once.
def _normalizer(steps: tuple[Step, ...]) -> Normalizer:
    """Return the engine's normalizer, which does all but to put a space first."""
    return Normalizer([step for step in steps if step != SPACE_FIRST])
