"""The `bpetite` command: it parses arguments, runs a subcommand, and exits.

Only the result goes to stdout; messages for people go to stderr. A failure gives a message on stderr, nothing
on stdout, and exit code 1. Wrong options give exit code 2, an interruption 130.
"""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
import warnings
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

from bpetite._internal.arguments import on_command_line
from bpetite.cli.output import discard, tell, write
from bpetite.reading.memory_limit import set_limit

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_GROUPS = {
    "Learn a vocabulary": {
        "train": "Learn a vocabulary from a corpus, or from counts. It is saved as an artifact.",
        "count": "Count the pretokens of a corpus. Files of counts can be added up and trained on.",
        "merge-counts": "Add up files of counts that were made with the same rules.",
        "demo": "Train on Python's own standard library and show the result. Nothing is saved.",
    },
    "Text and ids": {
        "encode": "Turn text into ids. Each document gives a compact JSON array; --show prints tokens.",
        "decode": "Turn ids into text. The raw text is printed, with no newline added.",
        "encode-corpus": "Encode a corpus into a folder of token files. --resume continues a stopped run.",
        "encode-column": "Add a column of ids to a Parquet file. All other columns stay as they are.",
        "count-tokens": "Count the tokens of a corpus. `bpetite count` counts pretokens, to train on them.",
        "verify": "Check a folder of token files. Every file is hashed, and some documents are decoded.",
    },
    "Other formats": {
        "convert": "Convert a tokenizer to another format. One that cannot give the same ids is refused.",
    },
    "Look inside": {
        "inspect": "Show a tokenizer's rules and tokens. With --token, show how one token is built.",
        "compare": "Compare how tokenizers cut a text, or how many tokens they need for texts.",
        "explain": "Explain why your merges differ from a dialect's. The first difference is shown.",
        "view": "Look at a tokenizer, or at two, in a browser. The page is served to this machine only.",
        "stats": "Measure how well a vocabulary fits a corpus. The result has a row for each source.",
        "report": "Measure a tokenizer and write an HTML file. Further ones are compared with it.",
    },
    "Shell": {"completion": "Print the script that completes bpetite in a shell."},
}
"""The commands in groups, with what they do; the help of all has the first sentence. The module of a command
is imported only when the command is used."""

_ABOUT = {name: about for commands in _GROUPS.values() for name, about in commands.items()}
COMMANDS = list(_ABOUT)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit."""
    if sys.stderr is None:  # messages must not go to the next file that is opened
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # as long as the process
    if sys.stdout is None:
        tell("bpetite: stdout is closed, and the result would be lost")
        sys.exit(1)
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(_ClosedInput()))
    signal.signal(signal.SIGTERM, _terminated)
    # What pyarrow's own allocator keeps is a quarter of the memory of counting Parquet.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    try:
        sys.exit(run(arguments))
    finally:
        try:
            sys.stderr.flush()
        except OSError:  # a message that nobody can read changes no exit code
            discard(sys.stderr)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    first, *rest = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    name = f"bpetite {first}" if first in COMMANDS else "bpetite"
    try:
        if first not in COMMANDS:
            write(_without_command(first))
            return 0
        options = parser_of(first, rest).parse_args(rest)
        if getattr(options, "no_color", False):
            os.environ["NO_COLOR"] = "1"
        with warnings.catch_warnings():
            warnings.simplefilter("always", RuntimeWarning)
            warnings.showwarning = lambda message, *_: tell(f"{name}: {_said(message)}")
            result: bytes = options.run(options)
        write(result)
    except BrokenPipeError:
        return 141
    except KeyboardInterrupt:
        tell("bpetite: interrupted")
        return 130
    except SystemExit:
        raise
    except BaseException as error:  # also a panic of the engine, which is no Exception
        tell(f"{name}: {_message(error)}")
        return 1
    finally:
        set_limit(None)
    return 0


class _ClosedInput(io.RawIOBase):
    """Replaces a closed stdin: reading from it raises an error."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> NoReturn:
        raise OSError("stdin is closed, and there is nothing to read")


class _Parser(argparse.ArgumentParser):
    """A parser whose help is a result like others, and which suggests what was probably meant."""

    given: Sequence[str] = ()

    def print_help(self, file: object = None) -> None:
        """Write the help to stdout; argparse itself takes no notice of a full disk."""
        write(self.format_help().encode())

    def error(self, message: str) -> NoReturn:
        """Report what is wrong, and which option was probably meant."""
        known = list(self._option_string_actions)
        for word in sorted({word.split("=")[0] for word in self.given if word.startswith("--")}):
            if not any(option.startswith(word) for option in known):
                message += f"\n  there is no {word}{_meant(word, known)}"
        super().error(message)


def parser_of(name: str, given: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the parser of a command for the arguments that are given."""
    module = import_module(f"bpetite.cli.commands.{name.replace('-', '_')}")
    parser = _Parser(
        prog=f"bpetite {name}",
        description=_ABOUT[name],
        epilog="examples:\n" + "\n".join(f"  {line}" for line in module.EXAMPLES.strip().splitlines()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.given = given
    module.declare(parser)
    parser.set_defaults(run=module.run)
    return parser


def _without_command(word: str) -> bytes:
    """Answer an argument that is no command: the help of all, the version, or what was probably meant."""
    if word == "--version":
        from importlib.metadata import version  # slow to import

        return f"bpetite {version('bpetite')}\n".encode()
    if word not in ("-h", "--help"):
        wrong = f"there is no command {word!r}{_meant(word, COMMANDS)} (bpetite --help lists them)"
        _Parser(prog="bpetite", usage="bpetite COMMAND [options]").error(wrong)
    return help_text().encode()


def _meant(word: str, names: Iterable[str]) -> str:
    from difflib import get_close_matches  # slow to import

    near = get_close_matches(word, names, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def help_text() -> str:
    """Return the description, the commands in groups, and examples."""
    described = ["Train byte-level BPE tokenizers exactly; encode and decode with them fast."]
    described += ["", "Usage: bpetite COMMAND [options]"]
    for title, commands in _GROUPS.items():
        firsts = {name: about.split(". ")[0].rstrip(".") for name, about in commands.items()}
        described += ["", title, *(f"  {name:<14} {about}" for name, about in firsts.items())]
    return (
        "\n".join(described)
        + """

Examples
  bpetite train --input corpus.txt --vocab-size 32000 --output tok.json
  bpetite encode --model tok.json --text "hello world" --show
  bpetite view tok.json

Each command explains itself: bpetite train --help
"""
    )


_EXPECTED = (OSError, ValueError, OverflowError, MemoryError, ImportError, RuntimeError)
"""What an input, an option or the machine may be to blame for; `docs/errors.md` says which is which."""


def _message(error: BaseException) -> str:
    """Return the message of an error; one that nobody expects is a defect, and says where it was raised."""
    if isinstance(error, KeyError) and isinstance(error.args[0], int):
        return f"unknown id {error.args[0]}"
    if not isinstance(error, _EXPECTED) or isinstance(error, NotImplementedError | RecursionError):
        return f"{type(error).__name__}: {error} ({_place(error)}): a defect of bpetite, please report it"
    if isinstance(error, ModuleNotFoundError) and error.name in ("tiktoken", "tokenizers"):
        return f"this needs the package {error.name}: pip install {error.name}"
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {on_command_line(error.strerror)}"
    if isinstance(error, MemoryError):
        return _said(error) or "not enough memory"
    return _said(error) or type(error).__name__


def _place(error: BaseException) -> str:
    import traceback  # slow to import

    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"at line {last.lineno} of {os.path.basename(last.filename)}"


def _said(error: object) -> str:
    """Return the message of an error or a warning, in the words of the command line."""
    arguments: tuple[object, ...] = getattr(error, "args", ())
    return on_command_line(arguments[0] if len(arguments) == 1 else error)


def _terminated(number: int, frame: object) -> NoReturn:
    """Exit like an interruption, so that incomplete files are removed."""
    sys.exit(128 + number)
