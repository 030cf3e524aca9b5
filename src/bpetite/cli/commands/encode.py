"""Turn text into ids. Each document gives a JSON array; --show prints tokens.

examples:
  bpetite encode --model tok.json --text "hello world"
  bpetite encode --model tok.json --text "hello world" --show
  bpetite encode --model tok.json --input book.txt
  bpetite encode --model tok.json --input chapters/ questions.jsonl
  echo hello | bpetite encode --model tok.json
"""

from __future__ import annotations

import argparse
import json

from bpetite.cli.formats import add_model, read_model
from bpetite.cli.options import (
    INPUT_HELP,
    add_inputs,
    add_reading,
    add_shared,
    documents_of,
    reading_of,
    text_of,
)
from bpetite.cli.output import Result, as_line, painted
from bpetite.reading.options import Reading


def declare(command: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_model(command)
    source = command.add_mutually_exclusive_group()
    source.add_argument("--text", metavar="T", help="the text itself")
    add_inputs(source, f"{INPUT_HELP} (default: stdin)", required=False)
    add_shared(command, "--special")
    command.add_argument("--show", action="store_true", help="print the tokens themselves, coloured")
    add_reading(command)


def run(options: argparse.Namespace) -> Result:
    """Return the ids as compact JSON arrays, or the tokens for display."""
    tokenizer = read_model(options)
    is_divided = options.input or (options.text is None and reading_of(options) != Reading())
    texts = documents_of(options) if is_divided else [text_of(options)]
    if options.show:
        shown = [tokenizer.show(text, special=options.special) for text in texts]
        if options.json:
            return [as_line([vars(token) for token in one.tokens]) for one in shown]
        return [f"{painted(one.tokens)}\n{one.summary}" for one in shown]
    encoded = (tokenizer.encode(text, special=options.special) for text in texts)
    return [json.dumps(ids, separators=(",", ":")) for ids in encoded]
