"""`bpetite merge-counts`: adds up several files of counts."""

from __future__ import annotations

import argparse

from bpetite._internal.progress import Shown
from bpetite.cli.counts import load_counts, room_of, summary_of
from bpetite.cli.options import add_inputs, add_memory_limit, add_output, add_shared, check_output

EXAMPLES = """
bpetite merge-counts --counts monday.counts tuesday.counts --output week.counts
bpetite merge-counts --counts counts/ --output all.counts
"""


def declare(command: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_inputs(command, "files, folders or globs of counts; PATH:2.5 counts it 2.5 times", "--counts")
    add_output(command, "the file to write the sum to")
    add_memory_limit(command)
    add_shared(command, "--quiet", "--no-color")
    command.set_defaults(num_threads=1)


def run(options: argparse.Namespace) -> bytes:
    """Add up, save, and return a line of JSON."""
    check_output(options.output, force=options.force)
    with Shown(quiet=options.quiet) as progress:
        counts = load_counts(options.counts, room_of(options)["memory_limit"], progress=progress)
    counts.save(options.output, overwrite=options.force)
    return summary_of(counts)
