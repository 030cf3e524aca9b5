"""The Rust engine (`rust/src/`), as Python sees it. Private: `bpetite` is the public face."""

from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "UNICODE_VERSION",
    "CountTable",
    "character_classes",
    "check_pattern",
    "pretokenize",
    "train_symbol_merges",
]

_Progress: TypeAlias = Callable[[str, int, int], object]

UNICODE_VERSION: str

def pretokenize(text: str, pattern: str) -> list[bytes]: ...
def check_pattern(pattern: str) -> None: ...
def character_classes() -> bytes: ...

@final
class CountTable:
    def __new__(
        cls, pattern: str, boundaries: Sequence[str] = (), count_unmatched: bool = True
    ) -> CountTable: ...
    def add_files(
        self,
        paths: Sequence[str | PathLike[str]],
        *,
        num_threads: int | None = None,
        memory_limit: int | None = None,
        progress: _Progress | None = None,
    ) -> None: ...
    def add_documents(
        self,
        documents: Iterable[str | bytes],
        *,
        num_threads: int | None = None,
        memory_limit: int | None = None,
        progress: _Progress | None = None,
    ) -> None: ...
    def add_counts(self, pretokens: bytes, ends: NDArray[np.uint64], counts: NDArray[np.uint64]) -> None: ...
    def merge(self, other: CountTable) -> None: ...
    def sorted(self, min_count: int = 1) -> tuple[bytes, NDArray[np.uint64], NDArray[np.uint64]]: ...
    def __len__(self) -> int: ...
    @property
    def total(self) -> int: ...
    @property
    def documents(self) -> int: ...
    @property
    def bytes(self) -> int: ...

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
