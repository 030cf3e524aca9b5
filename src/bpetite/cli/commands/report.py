"""`bpetite report`: measures tokenizers on texts, writes an HTML file, and prints the main numbers."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from bpetite import corpus
from bpetite._internal.files import write_whole
from bpetite._internal.names import recorded
from bpetite.cli.formats import add_some_of_any_format, name_of, read_models, unique_names
from bpetite.cli.options import (
    Commands,
    add_command,
    add_json,
    add_output,
    add_quiet,
    check_output,
    json_line,
)
from bpetite.cli.reading import add_reading, add_sources, reading_of
from bpetite.reading.batches import decoded
from bpetite.reading.cuts import cutter
from bpetite.reading.documents import read_batches
from bpetite.reading.options import Reading
from bpetite.reading.sources import Input, find_inputs
from bpetite.show.progress import BytesProgress
from bpetite.tokenizer import Tokenizer

_EXAMPLES = """
bpetite report tok.json --input english.txt code.txt --output report.html
bpetite report tok.json --input wiki/ web.jsonl.zst --output report.html
bpetite report tok.json gpt2/ cl100k_base.tiktoken --input german/ python/ --output report.html
"""


def add_to(commands: Commands[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    command = add_command(
        commands,
        "report",
        "Measure a tokenizer on texts and write one HTML file with plots and tables. "
        "Further tokenizers are compared with it.",
        _EXAMPLES,
    )
    add_some_of_any_format(command, "the report is about the first, the others are compared with it")
    add_sources(command)
    add_output(command, "the HTML file to write")
    add_json(command)
    add_quiet(command)
    add_reading(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> bytes:
    """Measure, write the file, and return the numbers of each source."""
    from bpetite.show.report.measures import measure
    from bpetite.show.report.page import report_html

    check_output(options.output, force=options.force)
    models = read_models(options)
    name, tokenizer = name_of(models[0][0]), models[0][1]
    cut = cutter(tokenizer.pattern, tokenizer.special_tokens)
    with BytesProgress("encoding", quiet=options.quiet) as progress:
        sources = _sources(options.input, replace(reading_of(options), cut=cut), progress)
        measures = measure(tokenizer, sources)
        compared = _compared(models, options, progress) if len(models) > 1 else []
    page = report_html(name, measures, compared)
    with write_whole(options.output, overwrite=options.force) as file:
        file.write(page.encode("utf-8", "backslashreplace"))
    rows = [*measures.sources, measures.total]
    if options.json:
        numbers = [{**vars(row), "bytes_per_token": row.bytes_per_token} for row in rows]
        beside = {"compared": compared} if compared else {}
        return json_line({"sources": numbers, "unused_tokens": len(measures.unused), **beside})
    width = max(len(row.name) for row in rows)
    lines = [
        f"{row.name:<{width}}  {row.tokens:>14,} tokens  {row.bytes_per_token:6.3f} bytes per token"
        for row in rows
    ]
    lines += [f"{len(measures.unused):,} tokens were not used", ""]
    return "\n".join(lines).encode("utf-8", "backslashreplace")


def _compared(
    models: Sequence[tuple[str, Tokenizer]], options: argparse.Namespace, progress: BytesProgress
) -> list[dict[str, Any]]:
    """Return a row for each source and tokenizer."""
    return corpus.compare(
        unique_names((name_of(path), tokenizer) for path, tokenizer in models),
        options.input,
        reading=reading_of(options),
        progress=progress,
    )


def _sources(
    paths: Sequence[str], reading: Reading, progress: BytesProgress
) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield each source with its documents; long ones are divided where this does not change their ids."""
    inputs: dict[str, list[Input]] = {}
    for found in find_inputs(paths, skip_unreadable=reading.skip_unreadable):
        inputs.setdefault(recorded(found.source), []).append(found)
    size = sum(found.size() or 0 for group in inputs.values() for found in group)
    before = 0
    for name, group in inputs.items():
        yield name, _documents(group, reading, partial(_tell, progress, before, size))
        before += sum(found.size() or 0 for found in group)


def _tell(progress: BytesProgress, before: int, size: int, read: int) -> None:
    progress("encoding", before + read, size)


def _documents(inputs: Sequence[Input], reading: Reading, progress: Callable[[int], object]) -> Iterator[str]:
    before = 0
    for found in inputs:
        for batch in read_batches(found, reading):
            yield from decoded(found.name, batch)
            progress(before + batch.read)
        before += found.size() or 0
