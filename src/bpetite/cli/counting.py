"""`bpetite count` and `bpetite merge-counts`: a corpus into a file of counts, several such files into one."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence

from bpetite import corpus
from bpetite.cli.progress import BytesProgress
from bpetite.cli.reading import INPUT_HELP, add_reading, reading_of
from bpetite.corpus.sources import Input, find_inputs
from bpetite.counts import Counts
from bpetite.dialect import DIALECTS
from bpetite.patterns import PATTERNS

_COUNT_EXAMPLES = """examples:
  bpetite count --input corpus.txt --output counts.parquet
  bpetite count --input wiki.jsonl.zst:2 'web/*.parquet:1.5' --output counts.parquet --memory-limit 4GB
  bpetite count --input data/ --separator '<|endoftext|>' --dialect tiktoken --output counts.parquet
"""

_MERGE_EXAMPLES = """examples:
  bpetite merge-counts --input monday.parquet tuesday.parquet --output week.parquet
  bpetite merge-counts --input counts/ --output all.parquet
"""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the two commands."""
    count = commands.add_parser(
        "count",
        help="count the pretokens of a corpus",
        description="Count the pretokens of a corpus into a Parquet file, to add up and to train on later.",
        epilog=_COUNT_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = count.add_argument
    add("--input", nargs="+", required=True, metavar="PATH", help=f"{INPUT_HELP}; PATH:2.5 weighs it")
    add_output(count, "where the counts go (Parquet)")
    add_rules(count)
    add_means(count)
    add_reading(count)
    add_cluster(count)
    count.set_defaults(run=run_count)

    merge = commands.add_parser(
        "merge-counts",
        help="add up files of counts",
        description="Add up files of counts that were made by the same rules.",
        epilog=_MERGE_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    merge.add_argument(
        "--input",
        nargs="+",
        required=True,
        metavar="PATH",
        help="files, folders or globs of counts; PATH:2.5 weighs one",
    )
    add_output(merge, "where the sum goes (Parquet)")
    merge.set_defaults(run=run_merge)


def add_output(command: argparse.ArgumentParser, what: str) -> None:
    """Declare where the result goes."""
    command.add_argument("--output", required=True, metavar="FILE", help=what)
    command.add_argument("--force", action="store_true", help="overwrite the output if it exists")


def add_rules(command: argparse.ArgumentParser) -> None:
    """Declare the rules by which is counted."""
    add = command.add_argument
    add("--dialect", choices=list(DIALECTS), default="bpetite", help="the rules (default: %(default)s)")
    add(
        "--pattern",
        help=f"what a pretoken is: {', '.join(PATTERNS)}, or a regular expression (default: gpt2)",
    )
    add(
        "--special-token",
        action="append",
        metavar="TEXT",
        help="a special token; repeat for more (default: <|endoftext|>)",
    )


def add_means(command: argparse.ArgumentParser) -> None:
    """Declare what a count may use."""
    add = command.add_argument
    add("--num-threads", type=int, metavar="N", help="threads to use (default: all cores)")
    add("--memory-limit", metavar="SIZE", help="memory for counting, such as 2GB (default: no limit)")
    add("--quiet", action="store_true", help="no progress on stderr")


def add_cluster(command: argparse.ArgumentParser) -> None:
    """Declare where the work is done."""
    command.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="do the work on the Ray cluster at this address; `local` starts one on this machine",
    )


def refuse_existing(options: argparse.Namespace) -> None:
    """Refuse an output that exists, before any work is done."""
    if os.path.lexists(options.output) and not options.force:
        raise FileExistsError(f"{options.output} exists already; --force overwrites it")


def run_count(options: argparse.Namespace) -> bytes:
    """Count, save, and return a line of JSON."""
    refuse_existing(options)
    with BytesProgress("counting", quiet=options.quiet) as progress:
        if options.cluster is None:
            counts = corpus.count(
                options.input,
                pattern=options.pattern or "gpt2",
                dialect=options.dialect,
                special_tokens=options.special_token,
                reading=reading_of(options),
                num_threads=options.num_threads,
                memory_limit=options.memory_limit,
                progress=progress,
            )
        else:
            from bpetite.corpus import cluster

            counts = cluster.count(
                options.input,
                address=options.cluster,
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


def run_merge(options: argparse.Namespace) -> bytes:
    """Add up, save, and return a line of JSON."""
    refuse_existing(options)
    counts = load_counts(options.input)
    counts.save(options.output, overwrite=options.force)
    return summary_of(counts)


def load_counts(arguments: Sequence[str]) -> Counts:
    """Load files of counts, each with its weight, and add them up."""
    return Counts.merge(_weighted_counts(found) for found in find_inputs(arguments))


def _weighted_counts(found: Input) -> Counts:
    counts = Counts.load(found.name)
    return counts if found.weight == 1 else counts.weighted(found.weight, found.name)


def summary_of(counts: Counts) -> bytes:
    """Return what was counted, as a line of JSON."""
    summary = {
        "distinct_pretokens": len(counts),
        "total": counts.total,
        "documents": counts.documents,
        "bytes": counts.bytes,
        "replaced_documents": counts.beside.replaced,
        "skipped_documents": counts.beside.skipped,
        "scale": counts.scale,
    }
    return json.dumps(summary).encode("ascii") + b"\n"
