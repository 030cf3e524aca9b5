"""The options for reading documents, shared by all commands that read a corpus."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from bpetite._internal.progress import Shown
from bpetite.cli.options import add_inputs, add_shared, text_argument
from bpetite.reading.options import Reading
from bpetite.reading.sources import find_inputs

T = TypeVar("T")

INPUT_HELP = "files, folders, globs or URLs of text, JSON lines or Parquet, plain, gzip or zstd; - is stdin"


def add_sources(command: argparse.ArgumentParser) -> None:
    """Declare inputs, each of which gets a row of the result."""
    add_inputs(command, f"{INPUT_HELP}; each argument is a source")


_OPTIONS: Sequence[tuple[str, str | tuple[str, ...], str]] = (
    ("separator", "S", "the text that separates documents in a text file (default: a file is one document)"),
    ("text_field", "F", "the field of a JSON line that holds the text (default: %(default)s)"),
    ("text_column", "C", "the column of Parquet that holds the text (default: %(default)s)"),
    (
        "invalid",
        ("error", "replace", "skip"),
        "documents that are not valid text: an error (the default), repaired with U+FFFD, or left out",
    ),
    (
        "input_format",
        ("auto", "text", "jsonl", "parquet"),
        "the format of the inputs (default: detected from the name and content of each)",
    ),
    ("hold_out", "SHARE", "leave out this share of the documents, such as 1%%, chosen by a hash of each"),
    (
        "split",
        ("train", "held-out"),
        "with --hold-out: read the documents that are not held out (the default), or those that are",
    ),
    (
        "max_document",
        "SIZE",
        "refuse a larger document that must be held as a whole: one that is no text file, or for whose "
        "pattern no cut is proved (default: 1GiB)",
    ),
)
"""Fields of `Reading`, with the placeholder of a text or the choices, and the help."""


def add_reading(command: argparse.ArgumentParser) -> None:
    """Declare the options; their defaults are those of `Reading`."""
    group = command.add_argument_group("reading of documents")
    for name, values, what in _OPTIONS:
        kind: dict[str, Any] = {"metavar": values, "type": text_argument}
        if isinstance(values, tuple):
            kind = {"choices": values}
        group.add_argument(f"--{name.replace('_', '-')}", default=getattr(Reading, name), help=what, **kind)


def add_measuring(command: argparse.ArgumentParser) -> None:
    """Declare the options of commands that measure tokenizers on texts."""
    add_shared(command, "--special", "--num-threads", "--json", "--quiet", "--no-color")
    add_reading(command)


def measured(
    measure: Callable[..., T], tokenizers: Any, options: argparse.Namespace, note: str | None = None
) -> T:
    """Call a function for tokenizers and inputs, while its progress is shown."""
    with Shown(note, quiet=options.quiet) as progress:
        return measure(
            tokenizers,
            options.input,
            special=options.special,
            reading=reading_of(options),
            num_threads=options.num_threads,
            progress=progress,
        )


def documents_of(options: argparse.Namespace) -> Iterator[str]:
    """Yield the documents of `--input`."""
    from bpetite.reading.batches import decoded  # slow to import, as is the next
    from bpetite.reading.documents import read_batches

    reading = reading_of(options)
    for found in find_inputs(options.input):
        for batch in read_batches(found, reading):
            yield from decoded(found.name, batch)


def reading_of(options: argparse.Namespace) -> Reading:
    """Return the values of the options."""
    return Reading(**{name: getattr(options, name) for name in Reading().to_dict()})
