"""Inputs, or files of counts, and a memory limit → counts; counts → the summary that is printed."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from bpetite._internal.arguments import on_command_line
from bpetite._internal.types import Limits
from bpetite.cli.options import reading_of
from bpetite.cli.output import Result
from bpetite.counts import Counts, memory_bytes
from bpetite.reading.counting import ProgressOfAll
from bpetite.reading.memory_limit import room_within
from bpetite.reading.sources import find_inputs, size_of
from bpetite.training import Training


def room_of(options: argparse.Namespace) -> Limits:
    """Return what the memory limit leaves for counting, as options of `Counts.from_files`."""
    return room_within(memory_bytes(options.memory_limit), options.num_threads)


def count_inputs(options: argparse.Namespace, training: Training) -> Counts:
    """Count the documents of `--input`."""
    rules = {**training.counting, **reading_of(options).to_dict()}
    try:
        return Counts.from_files(options.input, **rules, **room_of(options), progress=options.progress)
    except MemoryError as error:
        raise _proposing_limit(error) from None


def load_counts(options: argparse.Namespace, min_count: int = 1) -> Counts:
    """Load the files of `--counts`, each with its weight, and add them up.

    Pretokens rarer than `min_count` are left out while a single file is loaded.
    """
    limit = room_of(options)["memory_limit"]
    inputs = find_inputs(options.counts)
    least = min_count if len(inputs) == 1 and inputs[0].weight == 1 else 1
    loading = ProgressOfAll(options.progress, size_of(inputs))

    def parts() -> Iterator[Counts]:
        for found in inputs:
            counts = Counts.load(found.name, min_count=least, memory_limit=limit, progress=loading.tell)
            loading.next()
            yield counts if found.weight == 1 else counts.weighted(found.weight, found.name)

    try:
        return next(parts()) if len(inputs) == 1 else Counts.merge(parts(), memory_limit=limit)
    except MemoryError as error:
        raise _proposing_limit(error) from None


def _proposing_limit(error: MemoryError) -> MemoryError:
    """Let the error of too little memory for counts say what needs less."""
    what = on_command_line(error.args[0]) if error.args else "not enough memory"
    return MemoryError(f"{what}; a (smaller) --memory-limit keeps more of the counts in temporary files")


def summary_of(counts: Counts) -> Result:
    """Summarize counts."""
    read = counts._read()
    return {
        "distinct_pretokens": len(counts),
        "total": counts.total,
        "documents": read.documents,
        "bytes": read.bytes,
        "replaced_documents": read.replaced,
        "skipped_documents": read.skipped,
        "scale": counts.scale,
    }
