"""NumPy and regex, which are imported at their first use: they are slow to import and often not needed.

from bpetite._internal.lazy import numpy as np
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING


class LazyModule:
    """A placeholder for a module; attributes are cached, so that the next access is as fast as usual.

    >>> json = LazyModule("json")
    >>> json.loads("[1]"), "loads" in vars(json)
    ([1], True)
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> object:
        value: object = getattr(import_module(self._name), name)
        setattr(self, name, value)
        return value


def import_numpy() -> None:
    """Import NumPy before the engine makes the first array.

    The engine would import it, too. But if Python exits meanwhile, it stops its threads wherever they are,
    which is safe only in Python code, not in the engine.
    """
    _ = numpy.ndarray


if TYPE_CHECKING:
    import numpy as numpy
    import regex as regex
else:
    numpy = LazyModule("numpy")
    regex = LazyModule("regex")
