"""A module's name in, the module out, imported at its first use: for what is often not needed at all.

A module that uses one tells type checkers, and readers, that it is the module itself:

    if TYPE_CHECKING:
        from bpetite.formats import gguf
    else:
        gguf = LazyModule("bpetite.formats.gguf")

What much of the package shares stands here: `from bpetite._internal.lazy import numpy as np`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING


class LazyModule:
    """Stands for a module; what was asked for once is kept, so that it is found at once the next time.

    >>> json = LazyModule("json")
    >>> json.loads("[1]"), "loads" in vars(json)
    ([1], True)
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> object:
        value = getattr(importlib.import_module(self._name), name)
        setattr(self, name, value)
        return value


def import_numpy() -> None:
    """Import NumPy before the engine makes the first array.

    The engine would import it, too; but if Python ends meanwhile, it ends its threads where they are, and
    only Python's own code can be left like that.
    """
    _ = numpy.ndarray


if TYPE_CHECKING:
    import numpy as numpy
    import regex as regex
else:
    numpy = LazyModule("numpy")
    regex = LazyModule("regex")
