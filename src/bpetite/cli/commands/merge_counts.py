"""Add up files of counts that use the same rules.

examples:
  bpetite merge-counts --counts mon.counts tue.counts --output week.counts
  bpetite merge-counts --counts counts/ --output all.counts
"""

from bpetite.cli import shared
from bpetite.cli.counts import load_counts, summary_of


def declare(command: shared.Parser) -> None:
    """Declare the options."""
    shared.add_inputs(
        command, "files, folders or globs of counts; PATH:2.5 counts it 2.5 times", "--counts"
    )
    shared.add_output(command, "the file to write the sum to")
    shared.add_shared(command, "--memory-limit")
    command.set_defaults(num_threads=1)


def run(options: shared.Options) -> shared.Result:
    """Add up, save, and return a summary."""
    counts = load_counts(options)
    counts.save(options.output, overwrite=options.force)
    return summary_of(counts)
