"""Types that many signatures share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Path = str | os.PathLike[str]
"""The path of a file."""

BytesPair = tuple[bytes, bytes]
"""A merge as the bytes of its two tokens."""

SpecialTokens: TypeAlias = "Mapping[str, int] | Sequence[str]"
"""Special tokens, with or without ids."""

Ids: TypeAlias = "Iterable[int] | NDArray[np.integer[Any]]"
"""Ids to decode."""

Special = Literal["parse", "text", "error"]
"""How a special token in a text is treated: as its id, as ordinary text, or as an error."""

Unit = Literal["characters", "bytes"]
"""The unit of offsets in a text."""

DType = Literal["uint32", "uint16"]
"""The width of ids in an array."""

Write = Callable[[bytes], object]
"""Takes the next piece of a text, as the `write` of a file does."""

Progress = Callable[[str, int, int], object]
"""Called with the stage (`counting`, `merging`), the amount done, and the total (0 if unknown)."""


if TYPE_CHECKING:

    class Limits(TypedDict):
        """The threads and the bytes of memory that counting may use; the engine takes both as keywords."""

        num_threads: int | None
        memory_limit: int | None
else:
    Limits = dict  # a class of its own would take a millisecond at each start
