"""`bpetite merge-counts`: adds up several files of counts."""

from __future__ import annotations

import argparse

from bpetite._internal.progress import Shown
from bpetite.cli.counts import load_counts, summary_of
from bpetite.cli.options import add_memory_limit, add_output, add_shared, check_output
from bpetite.counts import memory_bytes
from bpetite.reading.memory_limit import room_within

EXAMPLES = """
bpetite merge-counts --counts monday.counts tuesday.counts --output week.counts
bpetite merge-counts --counts counts/ --output all.counts
"""


def declare(command: argparse.ArgumentParser) -> None:
    """Declare the options."""
    command.add_argument(
        "--counts",
        action="extend",
        nargs="+",
        required=True,
        metavar="PATH",
        help="files, folders or globs of counts; PATH:2.5 counts it 2.5 times",
    )
    add_output(command, "the file to write the sum to")
    add_memory_limit(command)
    add_shared(command, "--quiet", "--no-color")


def run(options: argparse.Namespace) -> bytes:
    """Add up, save, and return a line of JSON."""
    check_output(options.output, force=options.force)
    limit = room_within(memory_bytes(options.memory_limit), 1)["memory_limit"]
    with Shown(quiet=options.quiet) as progress:
        counts = load_counts(options.counts, limit, progress=progress)
    counts.save(options.output, overwrite=options.force)
    return summary_of(counts)
