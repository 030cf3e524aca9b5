"""`bpetite stats`: measures how well a vocabulary fits a corpus, by source, as a table or JSON."""

from __future__ import annotations

import argparse

from bpetite import corpus
from bpetite.cli.formats import add_model, read_model
from bpetite.cli.output import json_line, table, way_note
from bpetite.cli.reading import add_measuring, add_sources, measured

EXAMPLES = """
bpetite stats --model tok.json --input english.txt code.jsonl
bpetite stats --model tok.json --input wiki/ web/ --json
"""


def declare(command: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_model(command)
    add_sources(command)
    add_measuring(command)


def run(options: argparse.Namespace) -> bytes:
    """Return the table, or the JSON."""
    tokenizer = read_model(options)
    sources = measured(corpus.stats, tokenizer, options, way_note(tokenizer.pattern_way))
    if options.json:
        return json_line({source.name: source.to_dict() for source in sources})
    rows = [("source", "documents", "bytes", "tokens", "bytes/token", "tokens/word", "vocabulary used")]
    rows += [
        (
            source.name,
            f"{source.documents:,}",
            f"{source.bytes:,}",
            f"{source.tokens:,}",
            f"{source.bytes_per_token:.3f}",
            f"{source.tokens_per_word:.3f}",
            f"{source.vocabulary_used:.1%}",
        )
        for source in sources
    ]
    return table(rows)
