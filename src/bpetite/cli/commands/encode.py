"""`bpetite encode` and `bpetite decode`: text to a JSON array of ids, ids to raw text."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys

from bpetite.cli.options import (
    Commands,
    add_command,
    add_model,
    add_no_color,
    add_special,
    colours_wanted,
)
from bpetite.show.display import coloured, plain
from bpetite.tokenizer import Tokenizer

_ENCODE_EXAMPLES = """
bpetite encode --model tok.json --text "hello world"
bpetite encode --model tok.json --text "hello world" --show
bpetite encode --model tok.json --input book.txt
echo hello | bpetite encode --model tok.json
"""

_DECODE_EXAMPLES = """
bpetite decode --model tok.json --ids 104 105
bpetite encode --model tok.json --text hi | bpetite decode --model tok.json
"""


def add_to(commands: Commands[argparse.ArgumentParser]) -> None:
    """Declare the two commands."""
    encode = add_command(
        commands,
        "encode",
        "Turn text into ids. They are printed as a compact JSON array; --show prints the tokens for people.",
        _ENCODE_EXAMPLES,
    )
    add_model(encode)
    source = encode.add_mutually_exclusive_group()
    source.add_argument("--text", metavar="T", help="the text itself")
    source.add_argument("--input", metavar="FILE", help="a UTF-8 file (default: stdin)")
    add_special(encode)
    encode.add_argument("--show", action="store_true", help="print the tokens themselves, coloured")
    add_no_color(encode)
    encode.set_defaults(run=run_encode)

    decode = add_command(
        commands,
        "decode",
        "Turn ids into text. The raw text is printed, with no newline added.",
        _DECODE_EXAMPLES,
    )
    add_model(decode)
    decode.add_argument("--ids", type=_id, nargs="*", metavar="N", help="ids (default: from stdin)")
    decode.set_defaults(run=run_decode)


def run_encode(options: argparse.Namespace) -> bytes:
    """Return the ids as a compact JSON array, or the tokens to be looked at."""
    tokenizer = Tokenizer.load(options.model)
    text = text_of(options)
    if not options.show:
        ids = tokenizer.encode(text, special=options.special)
        return json.dumps(ids, separators=(",", ":")).encode("ascii") + b"\n"
    shown = tokenizer.show(text, special=options.special)
    paint = coloured if colours_wanted() else plain
    return f"{paint(shown.tokens)}\n{shown.summary}\n".encode()


def run_decode(options: argparse.Namespace) -> bytes:
    """Return the text of the ids."""
    tokenizer = Tokenizer.load(options.model)
    ids = _ids_from_stdin() if options.ids is None else options.ids
    return tokenizer.decode(ids).encode("utf-8")


def text_of(options: argparse.Namespace) -> str:
    """Return the text of `--text`, of `--input`, or of stdin."""
    if options.text is not None:
        return _text_argument(options.text)
    if options.input is None:
        return _utf8("stdin", sys.stdin.buffer.read())
    with open(options.input, "rb") as file:
        return _utf8(options.input, file.read())


def _text_argument(text: str) -> str:
    """Return the text of `--text`; where the locale could not read it, by its bytes."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return _utf8("--text", os.fsencode(text))
    return text


def _utf8(name: str, content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: not valid UTF-8 at byte {error.start}") from None


def _id(word: str) -> int:
    """Read a number as people write it; `int` takes more, such as `9_7`."""
    if not re.fullmatch("-?[0-9]+", word):
        raise argparse.ArgumentTypeError(f"{word!r:.80} is not an id")
    return int(word)


def _ids_from_stdin() -> list[int]:
    """Read ids from stdin: a JSON array, or numbers between white space."""
    text = _utf8("stdin", sys.stdin.buffer.read()).strip()
    if text.startswith("[") != text.endswith("]"):
        raise ValueError(f"stdin: the array of ids does not {'end' if text.startswith('[') else 'begin'}")
    words = text.removeprefix("[").removesuffix("]").replace(",", " ").split()
    for word in words:
        if not (word.isascii() and word.isdecimal()):
            raise ValueError(f"stdin: {word!r:.80} is not an id")
    return [int(word) for word in words]
