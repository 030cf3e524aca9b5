"""`bpetite encode` and `bpetite decode`: text to a JSON array of ids, ids to raw text."""

from __future__ import annotations

import argparse
import json
import sys

from bpetite.tokenizer import Tokenizer

_ENCODE_EXAMPLES = """examples:
  bpetite encode --model tok.json --text "hello world"
  bpetite encode --model tok.json --input book.txt
  echo hello | bpetite encode --model tok.json
"""

_DECODE_EXAMPLES = """examples:
  bpetite decode --model tok.json --ids 104 105
  bpetite encode --model tok.json --text hi | bpetite decode --model tok.json
"""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the two commands."""
    encode = commands.add_parser(
        "encode",
        help="turn text into ids",
        description="Turn text into ids: a compact JSON array on stdout.",
        epilog=_ENCODE_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    encode.add_argument("--model", required=True, metavar="FILE", help="an artifact")
    source = encode.add_mutually_exclusive_group()
    source.add_argument("--text", metavar="T", help="the text itself")
    source.add_argument("--input", metavar="FILE", help="a UTF-8 file (default: stdin)")
    encode.add_argument(
        "--special",
        choices=("parse", "text", "error"),
        default="parse",
        help="special tokens in the text become their ids, are ordinary text, or are refused",
    )
    encode.set_defaults(run=run_encode)

    decode = commands.add_parser(
        "decode",
        help="turn ids into text",
        description="Turn ids into text: the raw text on stdout, with no newline added.",
        epilog=_DECODE_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    decode.add_argument("--model", required=True, metavar="FILE", help="an artifact")
    decode.add_argument("--ids", type=int, nargs="*", metavar="N", help="ids (default: from stdin)")
    decode.set_defaults(run=run_decode)


def run_encode(options: argparse.Namespace) -> bytes:
    """Return the ids as a compact JSON array."""
    tokenizer = Tokenizer.load(options.model)
    ids = tokenizer.encode(_text(options), special=options.special)
    return json.dumps(ids, separators=(",", ":")).encode("ascii") + b"\n"


def run_decode(options: argparse.Namespace) -> bytes:
    """Return the text of the ids."""
    tokenizer = Tokenizer.load(options.model)
    ids = _ids_from_stdin() if options.ids is None else options.ids
    return tokenizer.decode(ids).encode("utf-8")


def _text(options: argparse.Namespace) -> str:
    if options.text is not None:
        text: str = options.text
        return text
    if options.input is None:
        return _utf8("stdin", sys.stdin.buffer.read())
    with open(options.input, "rb") as file:
        return _utf8(options.input, file.read())


def _utf8(name: str, content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: not valid UTF-8 at byte {error.start}") from None


def _ids_from_stdin() -> list[int]:
    """Read ids from stdin: a JSON array, or numbers between white space."""
    text = _utf8("stdin", sys.stdin.buffer.read())
    words = text.strip().removeprefix("[").removesuffix("]").replace(",", " ").split()
    for word in words:
        if not (word.isascii() and word.isdecimal()):
            raise ValueError(f"stdin: {word!r:.80} is not an id")
    return [int(word) for word in words]
