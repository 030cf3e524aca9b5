"""BPE dropout: merges are left out at random, so that a word has many spellings in training.

This is the specification. Candidates are pairs that have a rank, each where it stands. Before each
merge, every candidate is dropped with the same probability; of the rest, that of the lowest rank is
merged, the leftmost among equals. If all are dropped, no merge follows. As in `tokenizers`, whose
ids have the same distribution, a candidate of which another merge took a token away stays among
them until its turn comes, and then nothing is merged.

    a b c    candidates: 1 ab, 2 bc
             1 is dropped, 2 is merged
    a bc     candidates: 1 ab, which is no pair any more, and 5 a bc

Nothing here is random: a number is a hash of the seed, the document, the byte where the pretoken
begins, and the number of draws before. So the ids are the same on every machine, however the work is divided.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from itertools import count
from typing import NamedTuple, TypeVar

T = TypeVar("T")

_MASK = 2**64 - 1
_STEP = 0x9E3779B97F4A7C15
_MOST = 2**14
"""If this many of the lowest candidates are dropped, the others are not asked, and no merge follows."""


class Dropout(NamedTuple):
    """How often a candidate is dropped, and what decides which ones."""

    probability: float
    seed: int
    document: int = 0
    """The number of the text among those that are encoded together."""
    place: int = 0
    """The bytes of the document before the text that is cut: of normalized text and of added tokens."""

    def behind(self, length: int) -> "Dropout":
        """Return the same for what follows so many bytes."""
        return self._replace(place=self.place + length)


def merge_some(
    tokens: list[T],
    rank: Callable[[T, T], int | None],
    join: Callable[[T, T], T],
    is_dropped: Iterator[bool],
) -> None:
    """Merge tokens; before each merge, candidates are asked from the lowest on whether they are dropped.

    >>> ranks = {("a", "b"): 1, ("b", "c"): 2, ("a", "bc"): 5}
    >>> tokens = ["a", "b", "c"]
    >>> drops = iter([True, False, False, True])
    >>> merge_some(tokens, lambda *pair: ranks.get(pair), str.__add__, drops)
    >>> tokens
    ['a', 'bc']
    """
    starts = list(range(len(tokens)))
    candidates: list[tuple[int, int]] = []

    def rank_at(place: int) -> int | None:
        return rank(*tokens[place : place + 2]) if 0 <= place < len(tokens) - 1 else None

    def add(place: int) -> None:
        if (its_rank := rank_at(place)) is not None:
            insort(candidates, (its_rank, starts[place]))

    for place in range(len(tokens)):
        add(place)
    while True:
        kept = (candidate for candidate in candidates[:_MOST] if not next(is_dropped))
        lowest = next(kept, None)
        if lowest is None:
            return
        candidates.remove(lowest)
        its_rank, start = lowest
        place = bisect_left(starts, start)
        if starts[place : place + 1] != [start] or rank_at(place) != its_rank:
            continue
        tokens[place : place + 2] = [join(*tokens[place : place + 2])]
        del starts[place + 1]
        add(place - 1)
        add(place)


def dropped(dropout: Dropout, offset: int = 0) -> Iterator[bool]:
    """Yield whether each candidate that is asked is dropped, for the pretoken at an offset.

    >>> from itertools import islice
    >>> list(islice(dropped(Dropout(0.5, seed=7)), 6))
    [True, False, True, True, True, False]
    """
    chance = int(dropout.probability * 2**53)
    key = _mixed(_mixed(_mixed(dropout.seed) + dropout.document) + dropout.place + offset)
    for step in count(1):
        yield _mixed(key + step * _STEP) >> 11 < chance


def _mixed(number: int) -> int:
    """Return a hash of a number: the last step of SplitMix64."""
    number &= _MASK
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    number = (number ^ number >> 27) * 0x94D049BB133111EB & _MASK
    return number ^ number >> 31
