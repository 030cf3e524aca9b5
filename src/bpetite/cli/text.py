"""Arguments that are texts, and the text of `--text` or of stdin, for all commands that take one."""

from __future__ import annotations

import argparse
import os
import sys


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
