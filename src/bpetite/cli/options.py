"""Options that several commands share, and the texts that arguments and stdin give."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from bpetite._internal.files import check_target, named, try_writing
from bpetite.dialect import DIALECTS
from bpetite.patterns import PATTERNS

SHARED: dict[str, dict[str, Any]] = {
    "--special": {
        "choices": ("parse", "text", "error"),
        "default": "parse",
        "help": "special tokens in the text: their ids (parse, the default), ordinary text, or an error",
    },
    "--num-threads": {"type": int, "metavar": "N", "help": "threads to use (default: all cores)"},
    "--cluster": {"metavar": "ADDRESS", "help": "run on this Ray cluster; `local` starts one here"},
    "--force": {"action": "store_true", "help": "overwrite the output if it exists"},
    "--json": {"action": "store_true", "help": "print JSON instead of text for people"},
    "--quiet": {"action": "store_true", "help": "print only errors on stderr"},
    "--no-color": {"action": "store_true", "help": "no colours (as if NO_COLOR were set)"},
}


def add_shared(command: argparse.ArgumentParser, *flags: str) -> None:
    """Declare options that mean the same in every command."""
    for flag in flags:
        command.add_argument(flag, **SHARED[flag])


def chosen(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return options as arguments of a function that calls them the same."""
    return {name: getattr(options, name) for name in names}


def add_output(command: argparse.ArgumentParser, what: str) -> None:
    """Declare the output file."""
    command.add_argument("--output", required=True, metavar="FILE", help=what)
    add_shared(command, "--force")


def check_output(path: str, *, force: bool) -> None:
    """Check that the output can be written, before any work is done."""
    target = check_target(path, overwrite=True)
    if os.path.lexists(path) and not force:
        raise FileExistsError(f"{path} exists already; --force overwrites it")
    with named(path):
        try_writing(target)


def add_rules(command: argparse.ArgumentParser) -> None:
    """Declare the rules of counting and training."""
    add = command.add_argument
    add(
        "--dialect",
        choices=list(DIALECTS),
        default="bpetite",
        help="the rules for ties, ids and special tokens (default: %(default)s)",
    )
    add(
        "--pattern",
        type=text_argument,
        help=f"the pattern that cuts text into pretokens: {', '.join(PATTERNS)}, or a regex (default: gpt2)",
    )
    add_special_tokens(command, "TEXT", "special tokens, in the order of their ids (default: <|endoftext|>)")


def add_special_tokens(command: argparse._ActionsContainer, metavar: str, what: str) -> None:
    """Declare special tokens, given one by one or in a file."""
    command.add_argument(
        "--special-token", type=text_argument, action="extend", nargs="+", metavar=metavar, help=what
    )
    command.add_argument(
        "--special-token-file",
        dest="special_token",
        type=_lines_of_file,
        action="extend",
        metavar="FILE",
        help="special tokens from a UTF-8 file, one per line",
    )


def _lines_of_file(path: str) -> list[str]:
    with open(path, "rb") as file:
        content = file.read()
    try:
        return list(filter(None, utf8(path, content).splitlines()))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_memory_limit(command: argparse.ArgumentParser, what: str = "this process") -> None:
    """Declare the memory limit of counting."""
    command.add_argument(
        "--memory-limit",
        metavar="SIZE",
        help=f"the memory that {what} may take, such as 2GB, at least about 120MB; counts that do not "
        "fit are kept in temporary files (default: no limit)",
    )


def add_inputs(
    command: argparse._ActionsContainer, what: str, flag: str = "--input", *, required: bool = True
) -> None:
    """Declare the inputs; an option that is given again adds to them."""
    command.add_argument(flag, action="extend", nargs="+", required=required, metavar="PATH", help=what)


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
