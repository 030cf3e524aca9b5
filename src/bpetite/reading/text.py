"""Plain text in, its documents out: the whole text, or the texts that separators end."""

from collections.abc import Callable, Iterator, Sequence

from bpetite._engine import FileTexts
from bpetite.reading import batches
from bpetite.reading.batches import PIECE, Batch, is_text, repaired
from bpetite.reading.division import stretches
from bpetite.reading.memory_limit import check_whole
from bpetite.reading.options import Reading
from bpetite.reading.raw import Raw
from bpetite.reading.sources import Input


def documents(read: Callable[[int], bytes], raw: Raw, reading: Reading) -> Iterator[Batch]:
    """Yield the whole text, or the texts that separators end; an empty rest is not a document.

    A long document comes in pieces, cut where this changes no pretoken, unless it may be skipped.
    If there is no place to cut, twice as much is gathered before the next search.
    """
    cut = None if reading.invalid == "skip" else reading.cut
    found = FileTexts((reading.separator or "").encode("utf-8"))
    pieces, longest = _Pieces(raw, reading), 2 * batches.BLOCK
    while block := read(min(PIECE, batches.BLOCK)):
        found.take_block(block)
        if not len(found):
            check_whole(raw.name, found.size, int(reading.max_document))
        if found.size < batches.BLOCK:
            continue
        if len(found):
            longest = 2 * batches.BLOCK
            yield pieces.batch(found.take())
        elif cut is not None and found.size >= longest:
            rest = found.take_rest()
            place = cut(rest)
            found.take_block(rest[place or 0 :])
            longest = 2 * (len(rest) if place is None else batches.BLOCK)
            if place is not None:
                yield pieces.batch([rest[:place]], goes_on=True)
    if len(found):
        yield pieces.batch(found.take())
    rest = found.take_rest()
    yield pieces.batch([rest] if rest or pieces.begun or reading.separator is None else [])


def parts(source: Input, raw: Raw, reading: Reading, size: int) -> Iterator[Input]:
    """Yield stretches of documents; without a separator, the file is one."""
    if reading.separator is None:
        return iter(())
    return stretches(source, raw, reading.separator.encode("utf-8"), size)


class _Pieces:
    """Makes batches of documents and of pieces of long ones, which have the number of their document."""

    def __init__(self, raw: Raw, reading: Reading) -> None:
        self._raw, self._invalid = raw, reading.invalid
        self._number = self.begun = 0
        """The number of the first document, and how many bytes of it were in earlier batches."""
        self._is_repaired = False
        """Whether an earlier piece of the first document was repaired: it is told once."""

    def batch(self, texts: Sequence[bytes], *, goes_on: bool = False) -> Batch:
        """Return the next batch; if the last text `goes_on`, it is the only one."""
        kept, affected = repaired(texts, self._invalid)
        is_first = bool(affected) and not is_text(texts[0])
        affected -= self._is_repaired and is_first
        batch = Batch(kept, self._number, self.begun, goes_on, affected, self._raw.size)
        self._is_repaired = goes_on and (self._is_repaired or is_first)
        self.begun = self.begun + len(texts[0]) if goes_on else 0
        self._number += len(texts) - goes_on
        return batch
