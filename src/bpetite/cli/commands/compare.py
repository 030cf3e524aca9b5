"""`bpetite compare`: two tokenizers of any format and a text in, their tokens side by side out."""

from __future__ import annotations

import argparse
from typing import Any

from bpetite.cli.formats import add_two_of_any_format, read_two
from bpetite.cli.options import Commands, add_command, add_json, add_quiet, colours_wanted, json_line
from bpetite.cli.text import text_of
from bpetite.show.display import coloured, plain
from bpetite.tokenizer import Tokenizer

_SHOWN = 2000
"""How many characters of a long text are shown token by token."""

_EXAMPLES = """
bpetite compare mine.json tokenizer.json --text "hello world"
bpetite compare mine.json gpt2/ --input book.txt --json
"""


def add_to(commands: Commands[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    command = add_command(
        commands, "compare", "Show how two tokenizers, of any format, cut the same text.", _EXAMPLES
    )
    add_two_of_any_format(command)
    source = command.add_mutually_exclusive_group()
    source.add_argument("--text", metavar="T", help="the text itself")
    source.add_argument("--input", metavar="FILE", help="a UTF-8 file (default: stdin)")
    add_json(command)
    add_quiet(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> bytes:
    """Return the comparison."""
    tokenizers = read_two(options)
    text = text_of(options)
    rows = [_row(path, tokenizer, text) for path, tokenizer in tokenizers]
    same = rows[0]["ids"] == rows[1]["ids"]
    if options.json:
        compared = {"bytes": len(text.encode("utf-8")), "same_ids": same, "a": rows[0], "b": rows[1]}
        return json_line(compared)
    return _shown(text, rows, [tokenizer for _, tokenizer in tokenizers], same).encode("utf-8") + b"\n"


def _row(path: str, tokenizer: Tokenizer, text: str) -> dict[str, Any]:
    ids = tokenizer.encode(text)
    size = len(text.encode("utf-8"))
    return {
        "path": path,
        "vocab_size": tokenizer.vocab_size,
        "tokens": len(ids),
        "bytes_per_token": round(size / len(ids), 4) if ids else None,
        "ids": ids,
    }


def _shown(text: str, rows: list[dict[str, Any]], tokenizers: list[Tokenizer], same: bool) -> str:
    """Lay the two out for a person."""
    width = max(len(row["path"]) for row in rows)
    lines = []
    for row in rows:
        average = "-" if row["bytes_per_token"] is None else f"{row['bytes_per_token']:.2f}"
        lines.append(
            f"{row['path']:<{width}}  {row['tokens']:>12,} tokens  {average:>6} bytes each  "
            f"(vocabulary of {row['vocab_size']:,})"
        )
    lines.append("the ids are the same" if same else "the ids differ")
    paint = coloured if colours_wanted() else plain
    for row, tokenizer in zip(rows, tokenizers, strict=True):
        lines += ["", row["path"], paint(tokenizer.show(text[:_SHOWN]).tokens)]
        if len(text) <= _SHOWN:
            lines.append(" ".join(map(str, row["ids"])))
    if len(text) > _SHOWN:
        lines += ["", f"(the first {_SHOWN:,} of {len(text):,} characters)"]
    return "\n".join(lines)
