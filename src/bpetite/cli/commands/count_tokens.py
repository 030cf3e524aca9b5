"""`bpetite count-tokens`: counts the tokens of a corpus, by source."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from bpetite import corpus
from bpetite.cli.formats import add_model, read_model
from bpetite.cli.output import json_line, table, way_note
from bpetite.cli.reading import add_measuring, add_sources, measured

EXAMPLES = """
bpetite count-tokens --model tok.json --input book.txt questions.jsonl
bpetite count-tokens --model tok.json --input 'web/*.parquet' --text-column body --json
"""


def declare(command: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_model(command)
    add_sources(command)
    add_measuring(command)


def run(options: argparse.Namespace) -> bytes:
    """Return the table, or the JSON."""
    tokenizer = read_model(options)
    counted = measured(corpus.count_tokens, tokenizer, options, way_note(tokenizer.pattern_way))
    if options.json:
        return json_line({name: asdict(one) for name, one in counted.items()})
    rows = [(name, f"{one.documents:,}", f"{one.tokens:,}") for name, one in counted.items()]
    if len(rows) > 1:
        documents = sum(one.documents for one in counted.values())
        tokens = sum(one.tokens for one in counted.values())
        rows.append(("total", f"{documents:,}", f"{tokens:,}"))
    return table([("source", "documents", "tokens"), *rows])
