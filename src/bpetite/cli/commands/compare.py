"""Compare how tokenizers cut a text, or how many tokens it takes.

examples:
  bpetite compare mine.json tokenizer.json --text "hello world"
  bpetite compare mine.json gpt2/ theirs.json --input german/ python/
  bpetite compare mine.json gpt2/ --input book.txt --json

The ratio compares the number of tokens with the first tokenizer's. Use bytes
per token to compare tokenizers, and characters per token to compare languages,
because UTF-8 needs one byte for an English letter, but two or three for
others. Tokens per word mean nothing for languages without spaces between words.
"""

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
    what = f"count the tokens of {shared.INPUT_HELP}; each argument is a source in the table"
    shared.add_inputs(source, what, required=False)
    shared.add_measuring(command)


def run(options: shared.Options) -> shared.Result:
    """Return the tokens of a text, or the table."""
    from bpetite import corpus  # slow to import
    from bpetite.corpus.specials import encoded

    tokenizers = read_models(options)
    if options.input:
        rows = corpus.compare(tokenizers, options.input, **shared.measuring(options))
        of_all = rows[-len(tokenizers) :]
        shared.tell_of_special_texts(
            "compare", options, max(int(row["special_texts"] or 0) for row in of_all)
        )
        return {"rows": rows} if options.json else grouped_table(_HEADS, _cells(rows), 2)
    text = shared.text_of(options)
    special_texts = [encoded(tok, [text], options.special).special_count for tok in tokenizers.values()]
    shared.tell_of_special_texts("compare", options, max(special_texts))
    shown = {name: tok.show(text, special=options.special) for name, tok in tokenizers.items()}
    compared = Comparison(text, shown)
    if options.json:
        return {"same_ids": compared.same, "rows": compared.rows()}
    return compared.lines(colours=colours_wanted())


_HEADS = ["source", "tokenizer", "tokens", "bytes/token", "chars/token", "tokens/word", "ratio"]


def _cells(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Return a row for each source and tokenizer; a source is named once, the first has no ratio."""
    cells = []
    for before, row in zip([None, *rows], rows, strict=False):
        is_first = before is None or before["source"] != row["source"]
        source = source_name(row["source"]) if is_first else ""
        ratio = "" if is_first else f"{row['tokens_to_first']:.2f}x"
        sizes = [format(row[name], how) for name, how in TOKEN_SIZES.items()]
        cells.append([source, row["tokenizer"], f"{row['tokens']:,}", *sizes, ratio])
    return cells
