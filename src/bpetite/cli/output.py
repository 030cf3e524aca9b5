"""Writes results to stdout, all of them or with an error that names it, and lays out tokens and tables."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from bpetite._internal.files import write_fully
from bpetite._internal.progress import columns
from bpetite.cli.shared import Result

if TYPE_CHECKING:
    from bpetite.encoding.display import ShownToken

WAYS = {
    "masks": "masks, hundreds of bytes at a time",
    "automaton": "an automaton, one character at a time",
    "machine": "the regex machine, which is slow and takes one thread for a document (see docs/patterns.md)",
}
"""How a pattern cuts text, in words."""


def printed(result: Result, *, as_json: bool = False, for_people: bool = False) -> bytes:
    """Return a result as it is printed: bytes and lines as they are, and a value as JSON, or for people.

    `as_json` is asked for by `--json`; commands with tables look at it themselves.
    """
    if isinstance(result, bytes) and not as_json:
        return result
    if isinstance(result, dict) and for_people and not as_json:
        result = summary(result)
    if not isinstance(result, list):
        result = [as_line(result)]
    return "".join(f"{line}\n" for line in result).encode("utf-8", _ESCAPES)


def as_line(value: object) -> str:
    """Return a value as JSON; bytes become text, with escapes if they are not UTF-8."""
    return json.dumps(
        value, ensure_ascii=False, default=lambda part: part.decode("utf-8", _ESCAPES)
    )


_ESCAPES = "backslashreplace"


def summary(facts: Mapping[str, Any]) -> list[str]:
    """Return named values for people.

    >>> summary({"vocab_size": 32000, "special_tokens": {"<|x|>": 256}, "checked_with": []})
    ['vocab size      32,000', 'special tokens  <|x|> 256', 'checked with    none']
    """
    rows = []
    for name, value in facts.items():
        are_sentences = isinstance(value, list) and any(" " in str(item) for item in value)
        first, *others = value if are_sentences else [value]
        rows.append((name.replace("_", " "), _for_people(first)))
        rows += [("", _for_people(item)) for item in others]
    return described(rows)


def described(facts: Sequence[tuple[str, str]]) -> list[str]:
    """Return named texts in two columns, the texts folded to the width of the terminal.

    >>> described([("rules", "those of tiktoken"), ("note", "")])
    ['rules  those of tiktoken', 'note']
    """
    import textwrap  # slow to import

    begin = 2 + max(len(name) for name, _ in facts)
    width = max(columns() - begin, 20)
    lines = []
    for name, text in facts:
        first, *more = textwrap.wrap(text, width, break_on_hyphens=False) or [""]
        lines.append(f"{name:<{begin}}{first}".rstrip())
        lines += [" " * begin + line for line in more]
    return lines


def _for_people(value: Any) -> str:
    if isinstance(value, Mapping):
        value = [f"{name} {item}" for name, item in value.items()]
    if isinstance(value, list):
        return ", ".join(map(_for_people, value)) or "none"
    if value is None:
        return "none"
    if isinstance(value, str):
        return "".join(letter if letter.isprintable() else f"{letter!a}"[1:-1] for letter in value)
    if isinstance(value, float):
        return f"{value:,.1f}"
    return f"{value:,}" if type(value) is int else str(value)


def write(result: bytes) -> None:
    """Write to stdout at once; an error is reported here, and not again at the end of Python."""
    try:
        write_fully(sys.stdout.buffer, result)
        sys.stdout.buffer.flush()
    except OSError as error:
        discard(sys.stdout)
        error.filename = "stdout"
        raise


def discard(stream: TextIO) -> None:
    """Redirect a stream to the null device, because nobody can read what is left in its buffer."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def way_note(way: str) -> str | None:
    """Return a line about how the pattern cuts text, where that is slow."""
    return f"the pattern cuts text by {WAYS[way]}" if way == "machine" else None


def table(rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> list[str]:
    """Return rows in columns; the cells of some columns are to the left, all others are to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = []
        for place, (cell, width) in enumerate(zip(row, widths, strict=True)):
            cells.append(cell.ljust(width) if place in left else cell.rjust(width))
        lines.append("  ".join(cells).rstrip())
    return lines


TOKEN_SIZES = dict.fromkeys(("bytes_per_token", "characters_per_token", "tokens_per_word"), ".3f")
"""The mean sizes of tokens, and how they are shown."""


def source_name(name: str | None) -> str:
    """Return what a table calls a source, or all of them together."""
    return "total" if name is None else name


def two_lines(heads: Sequence[str]) -> list[list[str]]:
    """Return heads such as `tokens/word` in two lines.

    >>> two_lines(["source", "tokens/word"])
    [['', 'tokens/'], ['source', 'word']]
    """
    words = [re.findall("[^/ ]+/?", head) for head in heads]
    return [[" ".join(part[:-1]) for part in words], [part[-1] for part in words]]


def grouped_table(heads: Sequence[str], cells: Sequence[Sequence[str]], left: int) -> list[str]:
    """Return a table whose first cells are those of groups, empty in the other rows; `left` cells are texts.

    To fit the terminal (80 columns where there is none), heads take two lines, and groups lines of
    their own.

    >>> grouped_table(["source", "tokenizer", "tokens"], [["a.txt", "mine", "7"], ["", "theirs", "9"]], 2)
    ['source  tokenizer  tokens', 'a.txt   mine            7', '        theirs          9']
    """
    width = columns()
    for first_rows in ([heads], two_lines(heads)):
        lines = table([*first_rows, *cells], range(left))
        if max(map(len, lines)) <= width:
            return lines
    ungrouped = [row[1:] for row in (*two_lines(heads), *cells)]
    first, second, *rest = table(ungrouped, range(left - 1))
    lines = [first, second]
    for (group, *_), line in zip(cells, rest, strict=True):
        lines += [group, line] if group else [line]
    return lines


def numbers(rows: Iterable[tuple[str, Mapping[str, Any]]], formats: Mapping[str, str]) -> list[str]:
    """Return a table of named rows, with the numbers that have a format.

    On a terminal that is too narrow, a head such as `tokens/word` takes two lines.
    """
    short = {"documents": "docs", "characters_per_token": "chars/token", "vocabulary_used": "used"}
    heads = [short.get(name, name.replace("_per_", "/").replace("_", " ")) for name in formats]
    cells = []
    for name, row in rows:
        cells.append([name, *(format(row[key], layout) for key, layout in formats.items())])
    lines = table([["source", *heads], *cells])
    if sys.stdout.isatty() and len(max(lines, key=len)) > columns():
        lines = table([*two_lines(["source", *heads]), *cells])
    return lines


def colours_wanted() -> bool:
    """Whether stdout is a terminal whose user did not ask for plain text."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout.isatty()


def painted(tokens: Iterable[ShownToken]) -> str:
    """Return tokens in colours if they are wanted, or with bars between them."""
    from bpetite.encoding.display import coloured, plain  # slow to import

    return coloured(tokens) if colours_wanted() else plain(tokens)
