"""Modules that are imported at their first use, because they are slow to import and often not needed.

Type checkers must see the module itself:

    if TYPE_CHECKING:
        from bpetite.formats import gguf
    else:
        gguf = LazyModule("bpetite.formats.gguf")

Modules that are used in many places are defined here: `from bpetite._internal.lazy import numpy as np`.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def imported(name: str) -> Any:
    """Import a module by its name, without `importlib`, which takes longer to import than some of ours.

    >>> imported("json.decoder").__name__
    'json.decoder'
    """
    __import__(name)
    return sys.modules[name]


class LazyModule:
    """A placeholder for a module; attributes are cached, so that the next access is as fast as usual.

    >>> json = LazyModule("json")
    >>> json.loads("[1]"), "loads" in vars(json)
    ([1], True)
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> object:
        value = getattr(imported(self._name), name)
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
