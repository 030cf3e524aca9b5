"""Measure a tokenizer and write an HTML file. Further ones are compared with it.

examples:
  bpetite report tok.json --input english.txt code.txt --output report.html
  bpetite report tok.json --input wiki/ web.jsonl.zst --output report.html
  bpetite report tok.json gpt2/ --input german/ python/ --output report.html
"""

from __future__ import annotations

import argparse

from bpetite._internal.files import write_whole
from bpetite.cli.formats import add_models, read_models
from bpetite.cli.options import add_output, add_sources, measuring
from bpetite.cli.output import Result, numbers


def declare(command: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_models(command, "; the report is about the first, the others are compared with it")
    add_sources(command)
    add_output(command, "the HTML file to write")


def run(options: argparse.Namespace) -> Result:
    """Measure, write the file, and return the numbers of each source."""
    from bpetite.corpus.statistics import sources_of, tally  # slow to import
    from bpetite.show.viewer.page import document
    from bpetite.show.viewer.report import report

    models = read_models(options)
    made = report(models, tally([*models.values()], sources_of(options.input), **measuring(options)))
    with write_whole(options.output, overwrite=options.force) as file:
        file.write(document(made))
    if options.json:
        return {
            "sources": made["sources"],
            "unused_tokens": made["unused"],
            "compared": made["compared"],
            "sizes": made["sizes"],
        }
    rows = {row["name"]: row for row in made["sources"]}
    measured = numbers(rows, {"tokens": ",", "bytes_per_token": ".3f"})
    return [*measured, f"{made['unused']:,} tokens were not used"]
