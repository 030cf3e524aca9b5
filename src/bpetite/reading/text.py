"""Text in, documents out: the whole text, or the texts that separators end."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bpetite._engine import SplitTexts
from bpetite.reading import batches
from bpetite.reading.batches import PIECE, Batch, Gathered
from bpetite.reading.memory_limit import check_whole
from bpetite.reading.options import Reading
from bpetite.reading.raw import Raw


def read_text(read: Callable[[int], bytes], raw: Raw, reading: Reading) -> Iterator[Batch]:
    """Yield the whole text, or the texts that separators end; an empty rest is not a document.

    A long document comes in pieces, cut where this changes no pretoken, unless it may be skipped. If there is
    no place to cut, twice as much is gathered before the next search.
    """
    cut = None if reading.invalid == "skip" else reading.cut
    gathered = Gathered(raw.name, reading.invalid)
    found = SplitTexts((reading.separator or "").encode("utf-8"))
    goes_on, longest = False, 2 * batches.BLOCK
    while block := read(min(PIECE, batches.BLOCK)):
        found.take_block(block)
        if not len(found):
            check_whole(raw.name, found.size, int(reading.max_document))
        if found.size < batches.BLOCK:
            continue
        if len(found):
            goes_on, longest = False, 2 * batches.BLOCK
            gathered.add_joined(found.take())
            if gathered.full:
                yield gathered.take(raw.size)
        elif cut is not None and found.size >= longest:
            rest = found.take_rest()
            place = cut(rest)
            if place is None:
                found.take_block(rest)
                longest = 2 * len(rest)
                continue
            goes_on, longest = True, 2 * batches.BLOCK
            found.take_block(rest[place:])
            gathered.add(rest[:place])
            yield gathered.take(raw.size, goes_on=True)
    if len(found):
        goes_on = False
        gathered.add_joined(found.take())
        if gathered.full:
            yield gathered.take(raw.size)
    rest = found.take_rest()
    if rest or goes_on or reading.separator is None:
        gathered.add(rest)
    yield gathered.take(raw.size)
