"""NumPy and pyarrow, imported at their first use: they are slow to import and often not needed.

from bpetite._internal.lazy import numpy as np
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any


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

    The engine would import it, too. But if Python exits meanwhile, it stops its threads wherever
    they are, which is safe only in Python code, not in the engine.
    """
    _ = numpy.ndarray


def needed(name: str, purpose: str, extra: str = "corpus") -> Any:
    """Return a package that one of our extras installs; if it is not there, the error says what needs it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f"{purpose} needs {name}: pip install 'bpetite[{extra}]'") from error


if TYPE_CHECKING:
    import numpy as numpy
else:
    numpy = LazyModule("numpy")
