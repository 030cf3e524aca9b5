"""The text of `--text` or of stdin, for all commands that take one."""

from __future__ import annotations

import argparse
import os
import sys


def text_of(options: argparse.Namespace) -> str:
    """Return the text of `--text`, or of stdin."""
    if options.text is None:
        return utf8("stdin", sys.stdin.buffer.read())
    return _text_argument(options.text)


def _text_argument(text: str) -> str:
    """Return the text of `--text`; where the locale could not read it, by its bytes."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return utf8("--text", os.fsencode(text))
    return text


def utf8(name: str, content: bytes) -> str:
    """Return the text, or say where the bytes are not UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: not valid UTF-8 at byte {error.start}") from None
