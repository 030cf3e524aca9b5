"""BPE over words of arbitrary strings instead of bytes; merges are pairs of strings.

The rules are those of textbooks: pairs are counted afresh in every round, the smallest of the most
frequent pairs is merged, and equal strings are one token.
"""

from __future__ import annotations

import struct
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeVar

from bpetite._constants import LARGEST_COUNT
from bpetite._engine import train_symbol_merges
from bpetite._internal.integers import integer

T = TypeVar("T")


def train_bpe(corpus: list[list[str]], num_merges: int) -> list[tuple[str, str]]:
    """Learn up to `num_merges` merges, in the order in which they were chosen.

    >>> train_bpe([["a", "b", "c", "a", "b"]], 3)
    [('a', 'b'), ('ab', 'c'), ('abc', 'ab')]
    """
    words = Counter(map(tuple, corpus))
    symbols = sorted({symbol for word in words for symbol in word})
    number_of = {symbol: number for number, symbol in enumerate(symbols)}
    words_of_numbers = [array("I", map(number_of.__getitem__, word)) for word in words]
    max_merges = max(integer("num_merges", num_merges), 0)
    rows = train_symbol_merges(
        [symbol.encode("utf-8", "surrogatepass") for symbol in symbols],
        [word.tobytes() for word in words_of_numbers],
        list(words.values()),
        tie_break="smallest_bytes",
        shared_tokens=True,
        max_merges=min(max_merges, LARGEST_COUNT),
    )
    merges = []
    for left, right, result in struct.iter_unpack("=3I", rows):
        if result == len(symbols):
            symbols.append(symbols[left] + symbols[right])
        merges.append((symbols[left], symbols[right]))
    return merges


def apply_merges(word: Sequence[str], merges: Iterable[tuple[str, str]]) -> list[str]:
    """Apply merges to a word in the order in which they were learned, each in one pass from left to right.

    >>> apply_merges(["a", "b", "c", "a", "b"], [("a", "b"), ("ab", "c")])
    ['abc', 'ab']
    """
    pieces = list(word)
    for left, right in merges:
        pieces = _merge_pair(pieces, (left, right), left + right)
    return pieces


def _merge_pair(pieces: Sequence[T], pair: tuple[T, T], joined: T) -> list[T]:
    merged = list(pieces)
    for place in range(len(merged)):
        if tuple(merged[place : place + 2]) == pair:
            merged[place : place + 2] = [joined]
    return merged
