"""Inputs in, counts out: plain files by the engine's own path, documents in batches from all others."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import groupby

from bpetite.corpus.cuts import cutter
from bpetite.corpus.documents import (
    BLOCK,
    Batch,
    Reading,
    is_plain_text,
    read_ahead,
    read_batches,
    refuse_invalid,
)
from bpetite.corpus.sources import Input, Path, find_inputs
from bpetite.counts import Counts, Progress, Tally, memory_bytes
from bpetite.dialect import Dialect

_REMEMBERED = 4 * BLOCK


def count(
    paths: Path | Iterable[Path],
    *,
    pattern: str = "gpt2",
    dialect: str | Dialect = "bpetite",
    special_tokens: Sequence[str] | None = None,
    reading: Reading | None = None,
    num_threads: int | None = None,
    memory_limit: int | str | None = None,
    progress: Progress | None = None,
) -> Counts:
    """Count files, folders, globs and URLs, each with its weight if it has one (`wiki/*.jsonl.zst:2`)."""
    counts = Counts(pattern=pattern, dialect=dialect, special_tokens=special_tokens)
    inputs = find_inputs(paths)
    total = sum(found.size() or 0 for found in inputs)
    reading = replace(reading or Reading(), cut=cutter(counts.pattern, counts.boundaries))
    summed = None if progress is None else _Sum(progress, total)
    limit = memory_bytes(memory_limit)
    weighted: list[Counts] = []
    for (weight, source), group in groupby(inputs, key=weight_of):
        if weight == 1:
            count_inputs(counts, list(group), reading, num_threads, limit, summed)
        else:
            part = counts.empty()
            count_inputs(part, list(group), reading, num_threads, limit, summed)
            weighted.append(part.weighted(weight, source))
    return Counts.merge([counts, *weighted]) if weighted else counts


def weight_of(found: Input) -> tuple[Fraction, str]:
    """Return the weight of an input, and under which name it is recorded."""
    return found.weight, "" if found.weight == 1 else found.source


class _Sum:
    """Progress over all inputs, told by calls that each know of their own."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._total = total
        self._before = 0
        self._now = 0

    def tell(self, stage: str, done: int, total: int) -> None:
        """Pass on how far the present call is."""
        self._now = done
        self._progress(stage, self._before + done, self._total)

    def next(self) -> None:
        """Go on to the next call."""
        self._before += self._now
        self._now = 0


def count_inputs(
    counts: Counts,
    inputs: Sequence[Input],
    reading: Reading,
    num_threads: int | None = None,
    memory_limit: int | None = None,
    progress: _Sum | None = None,
) -> None:
    """Add what inputs hold to counts."""
    for plain, group in groupby(inputs, key=lambda found: is_plain_text(found, reading)):
        if plain:
            counts._table.add_files(
                [found.name for found in group],
                num_threads=num_threads,
                memory_limit=memory_limit,
                progress=None if progress is None else progress.tell,
            )
        else:
            _count_documents(counts, _Documents(list(group), reading), num_threads, memory_limit, progress)
        if progress is not None:
            progress.next()


def _count_documents(
    counts: Counts,
    documents: _Documents,
    num_threads: int | None,
    memory_limit: int | None,
    progress: _Sum | None,
) -> None:
    def tell(stage: str, *_: int) -> None:
        if progress is not None:
            progress.tell(stage, documents.read, 0)

    try:
        counts._table.add_documents(
            documents, num_threads=num_threads, memory_limit=memory_limit, progress=tell
        )
    except ValueError:
        documents.refuse_invalid()
        raise
    counts.beside += documents.tally
    tell("counting")


class _Documents:
    """The documents of several inputs, one after the other, with an account of what was read."""

    def __init__(self, inputs: Sequence[Input], reading: Reading) -> None:
        self._inputs = inputs
        self._reading = reading
        self._recent: deque[tuple[str, Batch, int]] = deque()
        self._remembered = 0
        self.read = 0
        self.tally = Tally()

    def __iter__(self) -> Iterator[str | bytes]:
        mended = self._reading.invalid == "replace"
        for found, batch in read_ahead(self._batches()):
            self._remember(found.name, batch)
            yield from batch.texts
            self.tally += Tally(
                documents=-batch.goes_on,
                replaced=batch.affected if mended else 0,
                skipped=0 if mended else batch.affected,
            )

    def _batches(self) -> Iterator[tuple[Input, Batch]]:
        before = 0
        for found in self._inputs:
            batch = Batch([])
            for batch in read_batches(found, self._reading):
                self.read = before + batch.read
                yield found, batch
            before += batch.read

    def _remember(self, name: str, batch: Batch) -> None:
        """Keep the latest batches: all that the engine may hold at a time."""
        self._recent.append((name, batch, sum(map(len, batch.texts))))
        self._remembered += self._recent[-1][2]
        while self._remembered - self._recent[0][2] > _REMEMBERED:
            self._remembered -= self._recent.popleft()[2]

    def refuse_invalid(self) -> None:
        """Name the file and the document that the engine met last and could not take for text."""
        for name, batch, _ in self._recent:
            refuse_invalid(name, batch)
