"""Arguments in, results on stdout, an exit code out: the `bpetite` command.

Stdout holds the result and nothing else; whatever is written for people goes to stderr. A failure is a
message on stderr, nothing on stdout, and exit code 1; misuse of options is 2; an interruption is 130.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from bpetite.cli import corpus, counting, demo, encode, stats, train

_COMMANDS = (train, encode, counting, corpus, stats, demo)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        result: bytes = options.run(options)
        sys.stdout.buffer.write(result)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        _close_stdout()
        return 141
    except KeyboardInterrupt:
        print("bpetite: interrupted", file=sys.stderr)
        return 130
    except (OSError, ValueError, KeyError, OverflowError, MemoryError, ImportError) as error:
        print(f"bpetite {options.command}: {_message(error)}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bpetite",
        description="Train byte-level BPE tokenizers exactly; encode and decode with them fast.",
        epilog="Each command explains itself: bpetite train --help",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in _COMMANDS:
        command.add_to(commands)
    return parser


def _message(error: BaseException) -> str:
    """Say what happened in the words of the error; for an unknown id, with the id."""
    if isinstance(error, KeyError):
        what = error.args[0] if error.args else ""
        return what if isinstance(what, str) else f"unknown id {what}"
    if isinstance(error, MemoryError) and not str(error):
        return "not enough memory"
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _close_stdout() -> None:
    """Let nothing more be written to a pipe that nobody reads."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
