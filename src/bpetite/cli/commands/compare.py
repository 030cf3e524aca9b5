"""Compare how tokenizers cut a text, or how many tokens it takes.

examples:
  bpetite compare mine.json tokenizer.json --text "hello world"
  bpetite compare mine.json gpt2/ theirs.json --input german/ python/
  bpetite compare mine.json gpt2/ --input book.txt --json

The ratio compares the number of tokens with the first tokenizer's. Use bytes
per token to compare tokenizers, and characters per token to compare languages,
because UTF-8 needs one byte for an English letter, but two or three for
others. Tokens per word mean nothing for languages that put no spaces between
words.
"""

from itertools import groupby
from operator import itemgetter
from typing import Any

from bpetite.cli import shared
from bpetite.cli.formats import add_models, read_models
from bpetite.cli.output import TOKEN_SIZES, colours_wanted, grouped_table, source_name
from bpetite.show.compare import Comparison


def declare(command: shared.Parser) -> None:
    """Declare the options."""
    add_models(command, "; the others are compared with the first")
    source = command.add_mutually_exclusive_group()
    source.add_argument("--text", metavar="T", help="show the tokens of this text (default: stdin)")
    inputs = f"count the tokens of {shared.INPUT_HELP}; each argument is a source in the table"
    shared.add_inputs(source, inputs, required=False)
    shared.add_measuring(command)


def run(options: shared.Options) -> shared.Result:
    """Return the tokens of a text, or the table."""
    from bpetite import corpus  # slow to import
    from bpetite.corpus.specials import encoded

    tokenizers = read_models(options)
    if options.input:
        rows = corpus.compare(tokenizers, options.input, **shared.measuring(options))
        totals = rows[-len(tokenizers) :]
        special_texts = max(int(row["special_texts"] or 0) for row in totals)
        shared.tell_of_special_texts("compare", options, special_texts)
        if options.json:
            return {"rows": rows}
        return grouped_table(_HEADS, _cells(rows), 2)
    text = shared.text_of(options)
    special = options.special
    special_texts = max(encoded(tok, [text], special).special_count for tok in tokenizers.values())
    shared.tell_of_special_texts("compare", options, special_texts)
    shown = {name: tok.show(text, special=special) for name, tok in tokenizers.items()}
    comparison = Comparison(text, shown)
    if options.json:
        return {"same_ids": comparison.same, "rows": comparison.rows()}
    return comparison.lines(colours=colours_wanted())


_HEADS = ["source", "tokenizer", "tokens", "bytes/token", "chars/token", "tokens/word", "ratio"]


def _cells(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Return a row for each source and tokenizer; a source is named once, the first has no ratio."""
    cells = []
    for source, group in groupby(rows, itemgetter("source")):
        name = source_name(source)
        for place, row in enumerate(group):
            sizes = [format(row[size], form) for size, form in TOKEN_SIZES.items()]
            ratio = f"{row['tokens_to_first']:.2f}x" if place else ""
            cells.append([name, row["tokenizer"], f"{row['tokens']:,}", *sizes, ratio])
            name = ""
    return cells
