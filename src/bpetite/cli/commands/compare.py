"""`bpetite compare`: compares tokenizers on one text, or by a table of numbers on many texts."""

from __future__ import annotations

import argparse
from typing import Any

from bpetite import corpus
from bpetite._internal.names import recorded
from bpetite.cli.formats import add_some_of_any_format, read_models, unique_names
from bpetite.cli.options import Commands, add_command, colours_wanted, json_line
from bpetite.cli.reading import INPUT_HELP, add_measuring, measured
from bpetite.cli.text import text_of
from bpetite.show.compare import Comparison
from bpetite.tokenizer import Tokenizer

_EXAMPLES = """
bpetite compare mine.json tokenizer.json --text "hello world"
bpetite compare mine.json gpt2/ theirs.json --input german/ python/
bpetite compare mine.json gpt2/ --input book.txt --json
"""


def add_to(commands: Commands[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    command = add_command(
        commands,
        "compare",
        "Compare tokenizers: how they cut a text, or how many tokens they need for many texts.",
        _EXAMPLES,
    )
    add_some_of_any_format(command, "the others are compared with the first")
    source = command.add_mutually_exclusive_group()
    source.add_argument("--text", metavar="T", help="show the tokens of this text (default: stdin)")
    source.add_argument(
        "--input",
        action="extend",
        nargs="+",
        metavar="PATH",
        help=f"count the tokens of {INPUT_HELP}; each argument is a row of the table",
    )
    add_measuring(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> bytes:
    """Return the tokens of a text, or the table."""
    tokenizers = unique_names((recorded(path), tok) for path, tok in read_models(options))
    return _texts(tokenizers, options) if options.input else _one_text(tokenizers, options)


def _one_text(tokenizers: dict[str, Tokenizer], options: argparse.Namespace) -> bytes:
    text = text_of(options)
    compared = Comparison(
        text, {name: tok.show(text, special=options.special) for name, tok in tokenizers.items()}
    )
    if options.json:
        return json_line({"same_ids": compared.same, "rows": compared.rows()})
    return _lines(compared.lines(colours=colours_wanted()))


def _texts(tokenizers: dict[str, Tokenizer], options: argparse.Namespace) -> bytes:
    rows = measured(corpus.compare, tokenizers, options)
    return json_line({"rows": rows}) if options.json else _lines(_table(rows, list(tokenizers)))


def _table(rows: list[dict[str, Any]], names: list[str]) -> list[str]:
    """Format a line for each source, with three columns for each tokenizer."""
    by_source: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_source.setdefault(row["source"], []).append(row)
    width = max(map(len, ["source", *by_source]))
    column = max(30, *map(len, names))
    numbers = f"{'tokens':>14} {'bytes/token':>11}"
    heads = [f"{numbers:<{column}}", *(f"{numbers} {'ratio':>5}" for _ in names[1:])]
    columns = [max(column, len(head)) for head in heads]
    lines = [
        "  ".join(["".ljust(width), *map(str.rjust, names, columns)]),
        "  ".join(["source".ljust(width), *map(str.rjust, [numbers, *heads[1:]], columns)]),
    ]
    for source, found in by_source.items():
        cells = [f"{row['tokens']:>14,} {row['bytes_per_token']:>11.3f}" for row in found]
        cells[1:] = [
            f"{cell} {row['tokens_to_first']:>4.2f}x" for cell, row in zip(cells[1:], found[1:], strict=True)
        ]
        lines.append("  ".join([source.ljust(width), *map(str.rjust, cells, columns)]))
    return lines


def _lines(lines: list[str]) -> bytes:
    return "\n".join([*lines, ""]).encode("utf-8", "backslashreplace")
