"""Measure how well a vocabulary fits a corpus. Each source has a row.

examples:
  bpetite stats --model tok.json --input english.txt code.jsonl
  bpetite stats --model tok.json --input wiki/ web/ --json

Use bytes per token to compare tokenizers. Use characters per token to compare
languages, because UTF-8 needs one byte for an English letter, but two or three
for others.
"""

from bpetite.cli import shared
from bpetite.cli.formats import add_models, read_model
from bpetite.cli.output import TOKEN_SIZES, numbers, source_name

_SHOWN = {"documents": ",", "bytes": ",", "tokens": ",", **TOKEN_SIZES, "vocabulary_used": ".1%"}
"""The numbers that the table shows, and how."""


def declare(command: shared.Parser) -> None:
    """Declare the options."""
    add_models(command)
    shared.add_sources(command, required=False)  # words behind MODEL are inputs, too


def run(options: shared.Options) -> shared.Result:
    """Return the table, or the JSON."""
    from bpetite import corpus  # slow to import

    tokenizer = read_model(options)
    fits = corpus.stats(tokenizer, options.input, **shared.measuring(options))
    *_, total = fits
    shared.tell_of_special_texts("stats", options, total.special_texts)
    if options.json:
        sources = {fit.name: fit.to_dict() for fit in fits if fit.name is not None}
        return {"sources": sources, "total": total.to_dict()}
    rows = [(source_name(fit.name), fit.to_dict()) for fit in fits]
    return numbers(rows, _SHOWN)
