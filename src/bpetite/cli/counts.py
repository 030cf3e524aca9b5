"""Files of counts in, their sum out, and what was counted as a line of JSON."""

from __future__ import annotations

from collections.abc import Sequence

from bpetite.cli.options import json_line
from bpetite.counts import Counts
from bpetite.reading.sources import Input, find_inputs


def load_counts(arguments: Sequence[str], memory_limit: str | None, min_count: int = 1) -> Counts:
    """Load files of counts, each with its weight, and add them up.

    Pretokens rarer than `min_count` may be left out where no other file can add to them.
    """
    inputs = find_inputs(arguments)
    if len(inputs) == 1 and inputs[0].weight == 1:
        return Counts.load(inputs[0].name, min_count=min_count, memory_limit=memory_limit)
    parts = (_weighted_counts(found, memory_limit) for found in inputs)
    return Counts.merge(parts, memory_limit=memory_limit)


def _weighted_counts(found: Input, memory_limit: str | None) -> Counts:
    counts = Counts.load(found.name, memory_limit=memory_limit)
    return counts if found.weight == 1 else counts.weighted(found.weight, found.name)


def summary_of(counts: Counts) -> bytes:
    """Return what was counted, as a line of JSON."""
    return json_line(
        {
            "distinct_pretokens": len(counts),
            "total": counts.total,
            "documents": counts.documents,
            "bytes": counts.bytes,
            "replaced_documents": counts.beside.replaced,
            "skipped_documents": counts.beside.skipped,
            "scale": counts.scale,
        }
    )
