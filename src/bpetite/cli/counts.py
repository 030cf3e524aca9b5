"""Loads and adds up files of counts, and summarizes counts as a line of JSON."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator, Sequence

from bpetite._internal.arguments import on_command_line
from bpetite._internal.types import Limits, Progress
from bpetite.cli.output import json_line
from bpetite.cli.reading import reading_of
from bpetite.counts import Counts, memory_bytes
from bpetite.reading.counting import ProgressOfAll
from bpetite.reading.memory_limit import room_within
from bpetite.reading.sources import find_inputs, size_of
from bpetite.training import Training


@contextlib.contextmanager
def proposing_limit() -> Iterator[None]:
    """Let the error of too little memory for counts say what needs less."""
    try:
        yield
    except MemoryError as error:
        what = on_command_line(error.args[0]) if error.args else "not enough memory"
        hint = "a (smaller) --memory-limit keeps more of the counts in temporary files"
        raise MemoryError(f"{what}; {hint}") from None


def room_of(options: argparse.Namespace) -> Limits:
    """Return what the memory limit leaves for counting, as options of `Counts.from_files`."""
    return room_within(memory_bytes(options.memory_limit), options.num_threads)


@proposing_limit()
def count_inputs(options: argparse.Namespace, training: Training, progress: Progress) -> Counts:
    """Count the documents of `--input`."""
    return Counts.from_files(
        options.input,
        **training.counting,
        **reading_of(options).to_dict(),
        **room_of(options),
        progress=progress,
    )


@proposing_limit()
def load_counts(
    arguments: Sequence[str],
    memory_limit: int | None,
    min_count: int = 1,
    progress: Progress | None = None,
) -> Counts:
    """Load files of counts, each with its weight, and add them up.

    Pretokens rarer than `min_count` are left out while a single file is loaded.
    """
    inputs = find_inputs(arguments)
    least = min_count if len(inputs) == 1 and inputs[0].weight == 1 else 1
    loading = ProgressOfAll(progress, size_of(inputs))

    def parts() -> Iterator[Counts]:
        for found in inputs:
            counts = Counts.load(
                found.name, min_count=least, memory_limit=memory_limit, progress=loading.tell
            )
            loading.next()
            yield counts if found.weight == 1 else counts.weighted(found.weight, found.name)

    return next(parts()) if len(inputs) == 1 else Counts.merge(parts(), memory_limit=memory_limit)


def summary_of(counts: Counts) -> bytes:
    """Summarize counts as a line of JSON."""
    read = counts._read()
    return json_line(
        {
            "distinct_pretokens": len(counts),
            "total": counts.total,
            "documents": read.documents,
            "bytes": read.bytes,
            "replaced_documents": read.replaced,
            "skipped_documents": read.skipped,
            "scale": counts.scale,
        }
    )
