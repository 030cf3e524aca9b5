"""`bpetite explain`: finds the first merge that differs from a dialect's, and explains why."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from bpetite.cli.options import Commands, add_command, add_json, add_quiet, add_rules, add_threads, json_line
from bpetite.cli.reading import INPUT_HELP, add_reading, reading_of
from bpetite.cli.text import utf8
from bpetite.counts import Counts
from bpetite.show.difference import Merge, explain_difference, merges_in
from bpetite.show.progress import BytesProgress

_EXAMPLES = """
bpetite explain --input corpus.txt --merges merges.txt --dialect cs336
bpetite explain --input corpus.txt --merges merges.json --dialect bpetite --special-token '<|x|>'
"""


def add_to(commands: Commands[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    command = add_command(
        commands,
        "explain",
        "Explain why your merges differ from a dialect's. The first difference is shown with its counts.",
        _EXAMPLES,
    )
    command.add_argument(
        "--input", action="extend", nargs="+", required=True, metavar="PATH", help=INPUT_HELP
    )
    command.add_argument(
        "--merges",
        required=True,
        metavar="FILE",
        help="your merges: a merges.txt, or a list of pairs, as JSON or as Python prints it",
    )
    add_rules(command)
    add_threads(command)
    add_json(command)
    add_quiet(command)
    add_reading(command)
    command.set_defaults(run=run, dialect="cs336")


def run(options: argparse.Namespace) -> bytes:
    """Return the explanation, for people or as JSON."""
    merges = _merges(options.merges)
    with BytesProgress("counting", quiet=options.quiet) as progress:
        counts = Counts.from_files(
            options.input,
            pattern=options.pattern or "gpt2",
            dialect=options.dialect,
            special_tokens=options.special_token,
            **reading_of(options).to_dict(),
            num_threads=options.num_threads,
            progress=progress,
        )
    try:
        found = explain_difference(
            counts, merges, dialect=options.dialect, special_tokens=options.special_token
        )
    except ValueError as refused:
        raise ValueError(f"{options.merges}: {refused}") from None
    if options.json:
        return json_line(None if found is None else _plain(asdict(found)))
    same = f"all {len(merges):,} merges are those of the dialect {options.dialect}"
    return f"{same if found is None else found}\n".encode()


def _merges(path: str) -> list[Merge]:
    with open(path, "rb") as file:
        content = utf8(path, file.read())
    try:
        return merges_in(content)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _plain(value: Any) -> Any:
    """Convert a value for JSON: bytes become text, with Python's backslash escapes if they are not UTF-8."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value
