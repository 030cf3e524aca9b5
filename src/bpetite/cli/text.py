"""Arguments that are texts, the text of `--text` or of stdin, and tables, for all commands that have them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Collection, Iterable, Sequence


def text_of(options: argparse.Namespace) -> str:
    """Return the text of `--text`, or of stdin."""
    if options.text is None:
        return utf8("stdin", sys.stdin.buffer.read())
    return utf8("--text", _bytes_of(options.text))


def text_argument(argument: str) -> str:
    """Return an argument that is a text and no path."""
    content = _bytes_of(argument)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        shown = f"{content[:100]!r}"
        raise argparse.ArgumentTypeError(f"not valid UTF-8 at byte {error.start}: {shown}") from None


def _bytes_of(argument: str) -> bytes:
    """Return the bytes of an argument, of which the locale may have made lone surrogates."""
    try:
        return argument.encode("utf-8")
    except UnicodeEncodeError:
        return os.fsencode(argument)


def utf8(name: str, content: bytes) -> str:
    """Decode UTF-8, or raise an error that names the place of the first invalid byte."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: not valid UTF-8 at byte {error.start}") from None


def table(rows: Sequence[Sequence[str]]) -> bytes:
    """Return rows in columns, of which the first is to the left and the others are to the right."""
    return lines(columns(rows, left=[0]))


def columns(rows: Sequence[Sequence[str]], left: Collection[int]) -> list[str]:
    """Align rows; the cells of some columns are to the left, all others are to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place in left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def lines(shown: Iterable[str]) -> bytes:
    """Return lines as they are printed."""
    return "".join(f"{line}\n" for line in shown).encode("utf-8", "backslashreplace")
