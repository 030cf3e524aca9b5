"""Add up files of counts that were made with the same rules.

examples:
  bpetite merge-counts --counts mon.counts tue.counts --output week.counts
  bpetite merge-counts --counts counts/ --output all.counts
"""

from __future__ import annotations

import argparse

from bpetite.cli.counts import load_counts, summary_of
from bpetite.cli.options import add_inputs, add_output, add_shared
from bpetite.cli.output import Result


def declare(command: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_inputs(command, "files, folders or globs of counts; PATH:2.5 counts it 2.5 times", "--counts")
    add_output(command, "the file to write the sum to")
    add_shared(command, "--memory-limit")
    command.set_defaults(num_threads=1)


def run(options: argparse.Namespace) -> Result:
    """Add up, save, and return a summary."""
    counts = load_counts(options)
    counts.save(options.output, overwrite=options.force)
    return summary_of(counts)
