"""`bpetite explain`: finds the first merge that differs from a dialect's, and explains why."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from dataclasses import asdict

from bpetite._internal.progress import Shown
from bpetite.cli.options import add_inputs, add_rules, add_shared, utf8
from bpetite.cli.output import json_line, lines
from bpetite.cli.reading import INPUT_HELP, add_reading, reading_of
from bpetite.counts import Counts
from bpetite.show.difference import explain_difference, merges_in
from bpetite.training import Training

EXAMPLES = """
bpetite explain --input corpus.txt --merges merges.txt --dialect cs336
bpetite explain --input corpus.txt --merges merges.json --dialect bpetite --special-token '<|x|>'
"""


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
    add_shared(command, "--num-threads", "--json", "--quiet", "--no-color")
    add_reading(command)
    command.set_defaults(dialect="cs336")


def run(options: argparse.Namespace) -> bytes:
    """Return the explanation, for people or as JSON."""
    with open(options.merges, "rb") as file:
        content = utf8(options.merges, file.read())
    with _naming(options.merges):
        merges = merges_in(content)
    training = Training(options.dialect, options.pattern, options.special_token)
    with Shown(quiet=options.quiet) as progress:
        counts = Counts.from_files(
            options.input,
            **training.counting,
            **reading_of(options).to_dict(),
            num_threads=options.num_threads,
            progress=progress,
        )
    with _naming(options.merges):
        found = explain_difference(
            counts, merges, dialect=options.dialect, special_tokens=options.special_token
        )
    if options.json:
        return json_line(found and asdict(found))
    same = f"all {len(merges):,} merges are those of the dialect {options.dialect}"
    return lines([same if found is None else str(found)])


@contextlib.contextmanager
def _naming(path: str) -> Iterator[None]:
    """Let errors begin with the name of the file of merges."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
