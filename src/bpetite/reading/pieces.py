"""A long document in blocks in, pieces out, cut where this changes no pretoken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bpetite.reading import batches
from bpetite.reading.cuts import Cut
from bpetite.reading.options import Reading
from bpetite.reading.process_memory import WholeDocument

COPIES = 3
"""How many times a document is in memory that cannot be cut: as blocks, as one text, and in a batch."""


def cut_of(reading: Reading) -> Cut | None:
    """Return the function that cuts long documents, unless they must be whole, as they may be skipped."""
    return None if reading.invalid == "skip" else reading.cut


def longest_held() -> int:
    """Return the number of bytes that are gathered before a document is cut."""
    return 2 * batches.BLOCK


def pieces_of(name: str, blocks: Iterable[bytes], cut: Cut) -> Iterator[tuple[bytes, bool]]:
    """Yield pieces, and whether the document goes on after each; the last one may be empty.

    If there is no place to cut, twice as much is gathered before the next search.
    """
    held, longest = bytearray(), longest_held()
    whole = WholeDocument(name, COPIES)
    for block in blocks:
        held += block
        whole.check(len(held))
        if len(held) < longest:
            continue
        text = bytes(held)
        place = cut(text)
        if place is None:
            longest = 2 * len(text)
            continue
        yield text[:place], True
        held, longest = bytearray(text[place:]), longest_held()
    yield bytes(held), False
