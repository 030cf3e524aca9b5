"""Count the tokens of a corpus. `bpetite count` counts pretokens, to train on them.

examples:
  bpetite count-tokens --model tok.json --input book.txt questions.jsonl
  bpetite count-tokens --model tok.json --input 'web/*.parquet' --text-column body --json
"""

from __future__ import annotations

import argparse
from dataclasses import asdict

from bpetite.cli.formats import add_model, read_model
from bpetite.cli.options import add_measured, add_shared, measured
from bpetite.cli.output import Result, table, way_note


def declare(command: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_model(command)
    add_measured(command)
    add_shared(command, "--special", "--num-threads")


def run(options: argparse.Namespace) -> Result:
    """Return the table, or the JSON."""
    from bpetite import corpus  # slow to import

    tokenizer = read_model(options)
    options.progress.note = way_note(tokenizer.pattern_way)
    counted = measured(corpus.count_tokens, tokenizer, options)
    if options.json:
        return {name: asdict(one) for name, one in counted.items()}
    rows = [(name, one.documents, one.tokens) for name, one in counted.items()]
    if len(rows) > 1:
        rows.append(("total", sum(row[1] for row in rows), sum(row[2] for row in rows)))
    cells = [(name, f"{documents:,}", f"{tokens:,}") for name, documents, tokens in rows]
    return table([("source", "documents", "tokens"), *cells])
