"""`bpetite count` and `bpetite merge-counts`: a corpus into a file of counts, several such files into one."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial

from bpetite import corpus
from bpetite._internal.counts_file import check_available
from bpetite.cli.options import (
    Commands,
    add_cluster,
    add_command,
    add_memory_limit,
    add_output,
    add_quiet,
    add_rules,
    add_threads,
    check_output,
    json_line,
)
from bpetite.cli.progress import BytesProgress
from bpetite.cli.reading import INPUT_HELP, add_reading, reading_of
from bpetite.corpus.sources import Input, find_inputs
from bpetite.counts import Counts

_COUNT_EXAMPLES = """
bpetite count --input corpus.txt --output counts.parquet
bpetite count --input wiki.jsonl.zst:2 'web/*.parquet:1.5' --output counts.parquet --memory-limit 4GB
bpetite count --input data/ --separator '<|endoftext|>' --dialect tiktoken --output counts.parquet
"""

_MERGE_EXAMPLES = """
bpetite merge-counts --input monday.parquet tuesday.parquet --output week.parquet
bpetite merge-counts --input counts/ --output all.parquet
"""


def add_to(commands: Commands[argparse.ArgumentParser]) -> None:
    """Declare the two commands."""
    count = add_command(
        commands,
        "count",
        "Count the pretokens of a corpus. Files of counts (Parquet) can be added up and trained on.",
        _COUNT_EXAMPLES,
    )
    count.add_argument(
        "--input", nargs="+", required=True, metavar="PATH", help=f"{INPUT_HELP}; PATH:2.5 weighs it"
    )
    add_output(count, "where the counts go (Parquet)")
    add_rules(count)
    add_threads(count)
    add_memory_limit(count)
    add_quiet(count)
    add_reading(count)
    add_cluster(count)
    count.set_defaults(run=run_count)

    merge = add_command(
        commands, "merge-counts", "Add up files of counts that were made by the same rules.", _MERGE_EXAMPLES
    )
    merge.add_argument(
        "--input",
        nargs="+",
        required=True,
        metavar="PATH",
        help="files, folders or globs of counts; PATH:2.5 weighs one",
    )
    add_output(merge, "where the sum goes (Parquet)")
    add_memory_limit(merge)
    merge.set_defaults(run=run_merge)


def run_count(options: argparse.Namespace) -> bytes:
    """Count, save, and return a line of JSON."""
    check_output(options.output, force=options.force)
    check_available()
    with BytesProgress("counting", quiet=options.quiet) as progress:
        counts = _count_with(options)(
            options.input,
            pattern=options.pattern or "gpt2",
            dialect=options.dialect,
            special_tokens=options.special_token,
            reading=reading_of(options),
            memory_limit=options.memory_limit,
            progress=progress,
        )
        counts.save(options.output, overwrite=options.force)
        progress.complete(f"{counts.documents:,} documents", counts.bytes)
    return summary_of(counts)


def _count_with(options: argparse.Namespace) -> Callable[..., Counts]:
    """Return what counts: this machine, or a cluster."""
    if options.cluster is None:
        return partial(corpus.count, num_threads=options.num_threads)
    from bpetite.corpus import cluster

    return partial(cluster.count, address=options.cluster)


def run_merge(options: argparse.Namespace) -> bytes:
    """Add up, save, and return a line of JSON."""
    check_output(options.output, force=options.force)
    counts = load_counts(options.input, options.memory_limit)
    counts.save(options.output, overwrite=options.force)
    return summary_of(counts)


def load_counts(arguments: Sequence[str], memory_limit: str | None) -> Counts:
    """Load files of counts, each with its weight, and add them up."""
    parts = (_weighted_counts(found, memory_limit) for found in find_inputs(arguments))
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
