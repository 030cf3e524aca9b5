"""The Rust engine (`rust/src/`), as Python sees it. Private: `bpetite` is the public face."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["UNICODE_VERSION", "train_symbol_merges"]

UNICODE_VERSION: str

def train_symbol_merges(
    symbols: Sequence[bytes],
    words: Iterable[Iterable[int]],
    counts: Sequence[int],
    *,
    tie_break: str,
    shared_tokens: bool,
    max_merges: int | None,
) -> NDArray[np.uint32]:
    """Learn merges from words made of symbol numbers: rows of left, right and result symbol."""
