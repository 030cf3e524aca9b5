"""Explain why your merges differ from a dialect's. The first difference is shown.

examples:
  bpetite explain --input corpus.txt --merges merges.txt --dialect cs336
  bpetite explain --input corpus.txt --merges merges.json --dialect bpetite --special-token '<|x|>'
"""

from __future__ import annotations

import argparse
from dataclasses import asdict

from bpetite._internal.json import naming
from bpetite.cli.options import (
    INPUT_HELP,
    add_inputs,
    add_reading,
    add_rules,
    add_shared,
    chosen,
    reading_of,
    utf8,
)
from bpetite.cli.output import Result
from bpetite.counts import Counts
from bpetite.show.difference import explain_difference, merges_in
from bpetite.training import Training


def declare(command: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_inputs(command, INPUT_HELP)
    command.add_argument(
        "--merges",
        required=True,
        metavar="FILE",
        help="your merges: a merges.txt, or a list of pairs, as JSON or as Python prints it",
    )
    add_rules(command)
    add_shared(command, "--num-threads")
    add_reading(command)
    command.set_defaults(dialect="cs336")


def run(options: argparse.Namespace) -> Result:
    """Return the explanation, for people or as JSON."""
    with open(options.merges, "rb") as file:
        content = utf8(options.merges, file.read())
    with naming(options.merges):
        merges = merges_in(content)
    rules = Training(options.dialect, options.pattern, options.special_token).counting
    how = {**reading_of(options).to_dict(), **chosen(options, "num_threads", "progress")}
    counts = Counts.from_files(options.input, **rules, **how)
    with naming(options.merges):
        found = explain_difference(
            counts, merges, dialect=options.dialect, special_tokens=options.special_token
        )
    if options.json:
        return None if found is None else asdict(found)
    return [str(found or f"all {len(merges):,} merges are those of the dialect {options.dialect}")]
