"""Counts inputs: the engine reads plain files itself, and gets others as batches of documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from operator import add
from typing import NamedTuple

from bpetite._engine import CountTable, TextColumn
from bpetite._internal.types import Limits, Progress
from bpetite.reading.options import Reading
from bpetite.reading.recognition import is_plain_text
from bpetite.reading.sources import Input

_FILES = 1 << 14
"""The number of plain files that one call counts."""


class Tally(NamedTuple):
    """What was read."""

    documents: int = 0
    bytes: int = 0
    replaced: int = 0
    """The number of documents in which invalid text was replaced, as asked for."""
    skipped: int = 0
    """The number of documents with invalid text that were skipped, as asked for."""

    def plus(self, other: Tally) -> Tally:
        """Return both together."""
        return Tally(*map(add, self, other))


class ProgressOfAll:
    """Progress over all inputs, from calls that each report only their own; perhaps to nobody."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress or (lambda stage, done, total: None)
        self._total = total
        self._before: Counter[str] = Counter()
        self._now: Counter[str] = Counter()

    def tell(self, stage: str, done: int, total: int) -> None:
        """Report the progress of the current call."""
        self._now["bytes"] = done
        self._progress(stage, self._before["bytes"] + done, self._total)

    def tell_documents(self, so_far: int) -> None:
        """Report the minimum number of documents that the current call has counted."""
        self._now["documents"] = max(self._now["documents"], so_far)
        self._progress("documents", self._before["documents"] + self._now["documents"], 0)

    def next(self) -> None:
        """Go on to the next call."""
        self._before += self._now
        self._now.clear()


def count_inputs(
    table: CountTable,
    inputs: Iterable[Input],
    reading: Reading,
    limits: Limits,
    progress: ProgressOfAll,
) -> Tally:
    """Add the documents of inputs to a table; return what was read in addition to what the table knows."""
    beside = Tally()
    for are_plain, group in groupby(inputs, key=lambda source: is_plain_text(source, reading)):
        if not are_plain:
            beside = beside.plus(_count_documents(table, group, reading, limits, progress))
            progress.next()
            continue
        while names := [source.name for source in islice(group, _FILES)]:
            table.add_files(
                names, progress=progress.tell, on_documents=progress.tell_documents, **limits
            )
            progress.next()
    return beside


def _count_documents(
    table: CountTable,
    inputs: Iterable[Input],
    reading: Reading,
    limits: Limits,
    progress: ProgressOfAll,
) -> Tally:
    """Let the engine count batches in any order, while more are read."""
    from bpetite.reading.documents import read_all  # slow to import, as is the next
    from bpetite.reading.threads import threads_of

    bytes_read = 0
    affected = 0
    pieces = 0
    """The number of texts that are no end of a document: the table counts each as one."""

    def texts() -> Iterator[str | bytes | TextColumn]:
        nonlocal pieces, affected, bytes_read
        threads = threads_of(limits["num_threads"])
        for _, batch, size in read_all(inputs, reading, threads, in_order=False):
            bytes_read += size
            pieces += batch.goes_on
            affected += batch.affected
            if isinstance(batch.texts, TextColumn):
                yield batch.texts
            else:
                yield from batch.texts
            progress.tell("counting", bytes_read, 0)

    table.add_documents(
        texts(), on_documents=lambda done: progress.tell_documents(done - pieces), **limits
    )
    if reading.invalid == "replace":
        return Tally(documents=-pieces, replaced=affected)
    return Tally(documents=-pieces, skipped=affected)
