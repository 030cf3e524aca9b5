"""Arguments that are texts, the text of `--text` or of stdin, and tables, for all commands that have them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence


def text_of(options: argparse.Namespace) -> str:
    """Return the text of `--text`, or of stdin."""
    if options.text is None:
        return utf8("stdin", sys.stdin.buffer.read())
    if _is_decoded(options.text):
        text: str = options.text
        return text
    return utf8("--text", os.fsencode(options.text))


def text_argument(argument: str) -> str:
    """Return an argument that is a text and no path; what the locale could not decode is taken as UTF-8."""
    if _is_decoded(argument):
        return argument
    content = os.fsencode(argument)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        shown = f"{content[:100]!r}"
        raise argparse.ArgumentTypeError(f"not valid UTF-8 at byte {error.start}: {shown}") from None


def _is_decoded(argument: str) -> bool:
    return not any("\udc80" <= character <= "\udcff" for character in argument)


def utf8(name: str, content: bytes) -> str:
    """Decode UTF-8, or raise an error that names the place of the first invalid byte."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: not valid UTF-8 at byte {error.start}") from None


def table(rows: Sequence[Sequence[str]]) -> bytes:
    """Return rows in columns, of which the first is to the left and the others are to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return "\n".join(lines).encode("utf-8", "backslashreplace") + b"\n"
