"""Documents in, those of one side of a split out: the hash of a document decides whether it is held out.

The same document is on the same side in every order and format, so counting and encoding with the same share
agree, and no copy of a held-out document is used for training.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import replace
from fractions import Fraction

from bpetite._engine import Xxh3128
from bpetite.reading.batches import Batch, refuse_invalid
from bpetite.reading.options import Reading, share_of


def is_held_out(document: str | bytes, share: float | str) -> bool:
    """Whether a document belongs to the share that is held out, such as 0.01 or `1%`.

    >>> documents = [f"document {number}" for number in range(1000)]
    >>> sum(is_held_out(document, "10%") for document in documents)
    99
    """
    return _hash(document) < _limit(share_of(share))


def one_side(
    name: str, batches: Generator[Batch, None, None], reading: Reading
) -> Generator[Batch, None, None]:
    """Yield the documents of the side that `reading` names; they must be whole."""
    if reading.hold_out is None:
        yield from batches
        return
    limit, held_out = _limit(share_of(reading.hold_out)), reading.split == "held-out"
    with closing(batches):
        for batch in batches:
            refuse_invalid(name, batch)
            yield replace(batch, texts=[text for text in batch.texts if (_hash(text) < limit) == held_out])


def _hash(document: str | bytes) -> int:
    text = document.encode("utf-8") if isinstance(document, str) else document
    hasher = Xxh3128()
    hasher.update(text)
    return int(hasher.hexdigest(), 16)


def _limit(share: Fraction) -> int:
    return int(share * (1 << 128))
