"""`bpetite count`: counts a corpus and writes a file of counts."""

from __future__ import annotations

import argparse

from bpetite._internal.progress import Shown
from bpetite.cli.counts import count_inputs, summary_line, summary_of
from bpetite.cli.options import add_inputs, add_memory_limit, add_output, add_rules, add_shared, check_output
from bpetite.cli.output import way_note
from bpetite.cli.reading import INPUT_HELP, add_reading, reading_of, refuse_limit_on_cluster
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
    with Shown(way_note(training.pattern_way), quiet=options.quiet) as progress:
        if options.cluster is not None:
            return _count_on_cluster(options, Counts(**training.counting), progress)
        counts = count_inputs(options, training, progress)
        counts.save(options.output, overwrite=options.force, num_threads=options.num_threads)
        progress.complete(f"counting complete: {counts.documents:,} documents", counts.bytes)
    return summary_of(counts)


def _count_on_cluster(options: argparse.Namespace, rules: Counts, progress: Shown) -> bytes:
    refuse_limit_on_cluster(options)
    from bpetite.corpus import cluster

    made = cluster.count(
        options.input,
        options.output,
        address=options.cluster,
        rules=rules,
        reading=reading_of(options),
        overwrite=options.force,
        progress=progress,
    )
    progress.complete(f"counting complete: {made.read.documents:,} documents", made.read.bytes)
    return summary_line(made.distinct, made.total, made.read, made.scale)
