"""Compares ids with those of encoding their text: a model may spell a text in another way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise, starmap
from typing import NamedTuple

from bpetite._engine import DecodeStream, EncodeStream
from bpetite._internal.lazy import numpy as np

_FIRST_STRETCH = 64
_LONGEST_STRETCH = 1 << 14


class Repaired(NamedTuple):
    """The canonical ids of a text that ids spelled in another way."""

    ids: list[int]
    places: list[tuple[range, range]]
    """Where ids changed, in order: numbers of old ids, and of the new ids that are in their place."""


def difference(ids: Sequence[int], others: Sequence[int]) -> int | None:
    """Return the number of the first id that differs; None if there is none.

    >>> difference([1, 2], [1, 3]), difference([1, 2], [1]), difference([1], [1])
    (1, 1, None)
    """
    if ids == others:
        return None
    pairs = enumerate(zip(ids, others, strict=False))
    same = min(len(ids), len(others))
    return next((place for place, (one, other) in pairs if one != other), same)


def first_difference(
    ids: Sequence[int], decoder: DecodeStream, encoder: EncodeStream
) -> int | None:
    """Return the number of the first id that encoding the text of the ids changes; None if there is none.

    Ids are decoded a stretch at a time. The ids that no later text can change are compared at once,
    so a difference at the beginning is found there.
    """
    compared = 0
    for final in _encoded_again(ids, decoder, encoder):
        place = difference(ids[compared : compared + len(final)], final)
        if place is not None:
            return compared + place
        compared += len(final)
    return compared if compared < len(ids) else None


def _encoded_again(
    ids: Sequence[int], decoder: DecodeStream, encoder: EncodeStream
) -> Iterator[list[int]]:
    start = 0
    size = _FIRST_STRETCH
    while start < len(ids):
        yield encoder.feed(decoder.push(ids[start : start + size]))
        start += size
        size = min(2 * size, _LONGEST_STRETCH)
    yield encoder.feed(decoder.finish())
    yield encoder.finish()


def changed_places(
    old_ids: Sequence[int],
    new_ids: Sequence[int],
    sizes: Mapping[int, int],
    text_size: int,
    new_ends: Sequence[int],
) -> list[tuple[range, range]]:
    """Return where the new ids of a text differ, between the ends that old and new tokens have in common.

    `sizes` are the bytes of tokens; those that decoding leaves out are at the beginning of the text.

    >>> changed_places([97, 98, 99], [256, 99], {97: 1, 98: 1, 99: 1}, 3, [2, 3])
    [(range(0, 2), range(0, 1))]
    """
    ends = list(accumulate(sizes[token_id] for token_id in old_ids))
    old = np.asarray(ends, np.int64) - (ends[-1] - text_size)
    new = np.maximum.accumulate(np.asarray(new_ends, np.int64)) if new_ends else old[:0]
    common = np.intersect1d(old, new)
    old_places = [0, *np.searchsorted(old, common, "right").tolist(), len(old_ids)]
    new_places = [0, *np.searchsorted(new, common, "right").tolist(), len(new_ids)]
    ranges = zip(
        starmap(range, pairwise(old_places)), starmap(range, pairwise(new_places)), strict=True
    )
    return [
        (old_range, new_range)
        for old_range, new_range in ranges
        if old_ids[old_range.start : old_range.stop] != new_ids[new_range.start : new_range.stop]
    ]
