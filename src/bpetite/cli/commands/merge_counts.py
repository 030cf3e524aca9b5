"""`bpetite merge-counts`: adds up several files of counts."""

from __future__ import annotations

import argparse

from bpetite.cli.counts import load_counts, summary_of
from bpetite.cli.options import (
    Commands,
    add_command,
    add_memory_limit,
    add_output,
    add_quiet,
    check_output,
)
from bpetite.counts import memory_bytes
from bpetite.reading.memory_limit import room_within
from bpetite.show.progress import StageProgress

_EXAMPLES = """
bpetite merge-counts --counts monday.parquet tuesday.parquet --output week.parquet
bpetite merge-counts --counts counts/ --output all.parquet
"""


def add_to(commands: Commands[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    merge = add_command(
        commands, "merge-counts", "Add up files of counts that were made with the same rules.", _EXAMPLES
    )
    merge.add_argument(
        "--counts",
        action="extend",
        nargs="+",
        required=True,
        metavar="PATH",
        help="files, folders or globs of counts; PATH:2.5 counts it 2.5 times",
    )
    add_output(merge, "the file to write the sum to (Parquet)")
    add_memory_limit(merge)
    add_quiet(merge)
    merge.set_defaults(run=run)


def run(options: argparse.Namespace) -> bytes:
    """Add up, save, and return a line of JSON."""
    check_output(options.output, force=options.force)
    limit = room_within(memory_bytes(options.memory_limit), 1)["memory_limit"]
    with StageProgress(quiet=options.quiet) as progress:
        counts = load_counts(options.counts, limit, progress=progress)
    counts.save(options.output, overwrite=options.force)
    return summary_of(counts)
