"""`bpetite count`: counts a corpus and writes a file of counts."""

from __future__ import annotations

import argparse
from typing import Any

from bpetite._internal.progress import Shown
from bpetite.cli.counts import proposing_limit, room_of, summary_line, summary_of
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
    note = way_note(Training(options.dialect, options.pattern, options.special_token).pattern_way)
    rules: dict[str, Any] = {
        "pattern": options.pattern or "gpt2",
        "dialect": options.dialect,
        "special_tokens": options.special_token,
    }
    with Shown(note, quiet=options.quiet) as progress:
        if options.cluster is not None:
            return _count_on_cluster(options, Counts(**rules), progress)
        with proposing_limit():
            counts = Counts.from_files(
                options.input,
                progress=progress,
                **room_of(options),
                **reading_of(options).to_dict(),
                **rules,
            )
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
