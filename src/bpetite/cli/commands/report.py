"""`bpetite report`: measures tokenizers on texts, writes an HTML file, and prints the main numbers."""

from __future__ import annotations

import argparse

from bpetite._internal.files import write_whole
from bpetite._internal.progress import Shown
from bpetite.cli.formats import add_model, name_of, read_models, unique_names
from bpetite.cli.options import add_output, add_shared, check_output
from bpetite.cli.output import json_line, lines, table
from bpetite.cli.reading import add_reading, add_sources, reading_of
from bpetite.corpus.statistics import sources_of, tally

EXAMPLES = """
bpetite report tok.json --input english.txt code.txt --output report.html
bpetite report tok.json --input wiki/ web.jsonl.zst --output report.html
bpetite report tok.json gpt2/ cl100k_base.tiktoken --input german/ python/ --output report.html
"""


def declare(command: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_model(command, "models", "; the report is about the first, the others are compared with it")
    add_sources(command)
    add_output(command, "the HTML file to write")
    add_shared(command, "--json", "--quiet", "--no-color")
    add_reading(command)


def run(options: argparse.Namespace) -> bytes:
    """Measure, write the file, and return the numbers of each source."""
    from bpetite.show.viewer.page import document
    from bpetite.show.viewer.report import report

    check_output(options.output, force=options.force)
    models = unique_names((name_of(path), tokenizer) for path, tokenizer in read_models(options))
    reading = reading_of(options)
    with Shown(quiet=options.quiet) as progress:
        sources = sources_of(options.input)
        tallied = tally(list(models.values()), sources, reading=reading, progress=progress)
    made = report(models, tallied)
    with write_whole(options.output, overwrite=options.force) as file:
        file.write(document(made))
    rows = made["sources"]
    if options.json:
        return json_line({"sources": rows, "unused_tokens": made["unused"], "compared": made["compared"]})
    cells = [(row["name"], f"{row['tokens']:,}", f"{row['bytes_per_token']:.3f}") for row in rows]
    measured = table([("source", "tokens", "bytes per token"), *cells])
    return measured + lines([f"{made['unused']:,} tokens were not used"])
