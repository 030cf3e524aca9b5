"""`bpetite count`: counts a corpus and writes a file of counts."""

from __future__ import annotations

import argparse

from bpetite._internal.progress import Shown
from bpetite._internal.types import Progress
from bpetite.cli.counts import count_inputs, room_of, summary_of
from bpetite.cli.options import add_inputs, add_memory_limit, add_output, add_rules, add_shared, check_output
from bpetite.cli.output import way_note
from bpetite.cli.reading import INPUT_HELP, add_reading, reading_of
from bpetite.counts import Counts
from bpetite.training import Training

EXAMPLES = """
bpetite count --input corpus.txt --output corpus.counts
bpetite count --input wiki.jsonl.zst:2 'web/*.parquet:1.5' --output corpus.counts --memory-limit 4GB
bpetite count --input data/ --separator '<|endoftext|>' --dialect tiktoken --output corpus.counts
"""


def declare(command: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_inputs(command, f"{INPUT_HELP}; PATH:2.5 counts it 2.5 times")
    add_output(command, "the file to write the counts to")
    add_rules(command)
    add_shared(command, "--num-threads")
    add_memory_limit(command)
    add_shared(command, "--quiet", "--no-color")
    add_reading(command)
    add_shared(command, "--cluster")


def run(options: argparse.Namespace) -> bytes:
    """Count, save, and return a line of JSON."""
    check_output(options.output, force=options.force)
    training = Training(options.dialect, options.pattern, options.special_token)
    count = count_inputs if options.cluster is None else _count_on_cluster
    with Shown(way_note(training.pattern_way), quiet=options.quiet) as progress:
        counts = count(options, training, progress)
        counts.save(options.output, overwrite=options.force, num_threads=options.num_threads)
        progress.complete(f"counting complete: {counts.documents:,} documents", counts.bytes)
    return summary_of(counts)


def _count_on_cluster(options: argparse.Namespace, training: Training, progress: Progress) -> Counts:
    from bpetite.corpus import cluster

    return cluster.count(
        options.input,
        address=options.cluster,
        rules=Counts(**training.counting),
        reading=reading_of(options),
        memory_limit=room_of(options)["memory_limit"],
        progress=progress,
    )
