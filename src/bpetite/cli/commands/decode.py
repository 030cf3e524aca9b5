"""Turn ids into text. The text is printed as it is, without an added newline.

examples:
  bpetite decode --model tok.json --ids 104 105
  bpetite encode --model tok.json --text hi | bpetite decode --model tok.json
"""

import argparse
import re

from bpetite._internal.progress import read_stdin
from bpetite.cli import shared
from bpetite.cli.formats import add_models, read_model


def declare(command: shared.Parser) -> None:
    """Declare the options."""
    add_models(command)
    ids = "ids (default: read from stdin)"
    command.add_argument("--ids", action="extend", type=_id, nargs="*", metavar="N", help=ids)


def run(options: shared.Options) -> shared.Result:
    """Return the text of the ids."""
    tokenizer = read_model(options)
    ids = _ids_from_stdin() if options.ids is None else options.ids
    return tokenizer.decode(ids).encode("utf-8")


def _id(word: str) -> int:
    """Read a plain decimal number; `int` would accept more, such as `9_7`."""
    if not re.fullmatch("-?[0-9]+", word):
        raise argparse.ArgumentTypeError(f"{word!r:.80} is not an id")
    return int(word)


def _ids_from_stdin() -> list[int]:
    """Read ids from stdin: a JSON array, or numbers between white space."""
    text = shared.utf8("stdin", read_stdin().read()).strip()
    if text.startswith("[") != text.endswith("]"):
        missing = "]" if text.startswith("[") else "["
        raise ValueError(f"stdin: the array of ids has no {missing}")
    plain = text.removeprefix("[").removesuffix("]")
    words = plain.replace(",", " ").split()
    for word in words:
        if not (word.isascii() and word.isdecimal()):
            raise ValueError(f"stdin: {word!r:.80} is not an id")
    return [int(word) for word in words]
