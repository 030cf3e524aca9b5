"""Inputs in, counts out: plain files by the engine's own path, documents in batches from all others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import groupby

from bpetite._internal.types import Path, Progress
from bpetite.corpus.cuts import cutter
from bpetite.corpus.documents import (
    Batch,
    Reading,
    is_plain_text,
    new_buffers,
    read_batches,
)
from bpetite.corpus.sources import Input, find_inputs
from bpetite.counts import Counts, Tally, memory_bytes
from bpetite.dialect import Dialect


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
    """Count files, folders, globs and URLs, each with its weight if it has one (`wiki/*.jsonl.zst:2`).

    `progress` is called with `("counting", bytes, of how many)` and `("documents", how many, 0)`.
    """
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
        self._before = self._now = 0
        self._documents_before = self._documents = 0

    def tell(self, stage: str, done: int, total: int) -> None:
        """Pass on how far the present call is."""
        self._now = done
        self._progress(stage, self._before + done, self._total)

    def tell_documents(self, so_far: int) -> None:
        """Pass on how many documents the present call has counted, at least."""
        self._documents = max(self._documents, so_far)
        self._progress("documents", self._documents_before + self._documents, 0)

    def next(self) -> None:
        """Go on to the next call."""
        self._before += self._now
        self._documents_before += self._documents
        self._now = self._documents = 0


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
                on_documents=None if progress is None else progress.tell_documents,
            )
        else:
            _count_documents(counts, list(group), reading, num_threads, memory_limit, progress)
        if progress is not None:
            progress.next()


def _count_documents(
    counts: Counts,
    inputs: Sequence[Input],
    reading: Reading,
    num_threads: int | None,
    memory_limit: int | None,
    progress: _Sum | None,
) -> None:
    """Have the engine count batches while more of them are read."""
    pieces = 0

    def batches() -> Iterator[tuple[str, int, int, Sequence[str | bytes]]]:
        nonlocal pieces
        for name, batch, read in _batches(inputs, reading):
            pieces += batch.goes_on
            affected = {"replaced" if reading.invalid == "replace" else "skipped": batch.affected}
            counts.beside += Tally(documents=-batch.goes_on, **affected)
            yield name, batch.first, batch.begun, batch.texts
            if progress is not None:
                progress.tell("counting", read, 0)

    counts._table.add_batches(
        batches(),
        num_threads=num_threads,
        memory_limit=memory_limit,
        on_documents=None if progress is None else lambda done: progress.tell_documents(done - pieces),
    )


def _batches(inputs: Sequence[Input], reading: Reading) -> Iterator[tuple[str, Batch, int]]:
    """Yield the name of an input, some of its documents, and how much has been read of all inputs."""
    before = read = 0
    buffers = new_buffers()
    for found in inputs:
        for batch in read_batches(found, reading, buffers=buffers):
            read = before + batch.read
            yield found.name, batch, read
        before = read
