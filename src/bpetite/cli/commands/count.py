"""`bpetite count`: counts a corpus and writes a file of counts."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from bpetite._internal.names import is_folder_name
from bpetite._internal.progress import Shown
from bpetite.cli.counts import proposing_limit, room_of, summary_line, summary_of
from bpetite.cli.options import add_memory_limit, add_output, add_rules, add_shared, check_output
from bpetite.cli.pattern_way import way_note
from bpetite.cli.reading import INPUT_HELP, add_reading, reading_of
from bpetite.counts import Counts
from bpetite.training import Training

ABOUT = "Count the pretokens of a corpus. Files of counts can be added up and trained on."
EXAMPLES = """
bpetite count --input corpus.txt --output corpus.counts
bpetite count --input wiki.jsonl.zst:2 'web/*.parquet:1.5' --output corpus.counts --memory-limit 4GB
bpetite count --input data/ --separator '<|endoftext|>' --dialect tiktoken --output corpus.counts
"""


def declare(command: argparse.ArgumentParser) -> None:
    """Declare the options."""
    command.add_argument(
        "--input",
        action="extend",
        nargs="+",
        required=True,
        metavar="PATH",
        help=f"{INPUT_HELP}; PATH:2.5 counts it 2.5 times",
    )
    add_output(command, "the file to write the counts to")
    add_rules(command)
    add_shared(command, "--num-threads")
    add_memory_limit(command)
    add_shared(command, "--quiet", "--no-color")
    add_reading(command)
    add_shared(command, "--cluster")


def run(options: argparse.Namespace) -> bytes:
    """Count, save, and return a line of JSON."""
    to_folder = options.cluster is not None and is_folder_name(options.output)
    if not to_folder:
        check_output(options.output, force=options.force)
    rules = Training.of(options.dialect, options.pattern, options.special_token)
    note = way_note(rules.pattern_way)
    with Shown(note, quiet=options.quiet) as progress:
        if options.cluster is not None:
            return _count_on_cluster(options, progress, to_folder=to_folder)
        with proposing_limit():
            counts = Counts.from_files(
                options.input,
                progress=progress,
                **room_of(options),
                **reading_of(options).to_dict(),
                **_rules(options),
            )
        counts.save(options.output, overwrite=options.force, num_threads=options.num_threads)
        progress.complete(f"counting complete: {counts.documents:,} documents", counts.bytes)
    return summary_of(counts)


def _count_on_cluster(options: argparse.Namespace, progress: Shown, *, to_folder: bool) -> bytes:
    """Count on a cluster, to a file or to a folder of files."""
    if options.memory_limit is not None:
        raise ValueError("--memory-limit is for one process; with --cluster, a task counts up to 256 MiB")
    from bpetite.corpus import cluster

    count = cluster.count_to_folder if to_folder else partial(cluster.count_to_file, overwrite=options.force)
    made = count(
        options.input,
        options.output,
        address=options.cluster,
        rules=Counts(**_rules(options)),
        reading=reading_of(options),
        progress=progress,
    )
    progress.complete(f"counting complete: {made.read.documents:,} documents", made.read.bytes)
    return summary_line(made.distinct, made.total, made.read, made.scale)


def _rules(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "pattern": options.pattern or "gpt2",
        "dialect": options.dialect,
        "special_tokens": options.special_token,
    }
