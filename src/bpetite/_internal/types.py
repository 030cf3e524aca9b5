"""The types that many signatures share, each in its one place."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Path = str | os.PathLike[str]
"""Where a file is."""

BytesPair = tuple[bytes, bytes]
"""A merge as the bytes of its two tokens."""

Ids: TypeAlias = "Iterable[int] | NDArray[np.integer[Any]]"
"""What is decoded."""

Special = Literal["parse", "text", "error"]
"""What a special token in a text becomes: its id, ordinary text, or an error."""

Unit = Literal["characters", "bytes"]
"""In which unit places in a text are given."""

DType = Literal["uint32", "uint16"]
"""The width of ids in an array."""

Progress = Callable[[str, int, int], object]
"""Called with the stage (`counting`, `merging`), what is done, and the total (0 where it is not known)."""
