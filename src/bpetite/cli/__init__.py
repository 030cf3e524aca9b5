"""The `bpetite` command: it parses arguments, runs a subcommand, and exits.

Only the result goes to stdout; messages for people go to stderr. A failure gives a message on stderr, nothing
on stdout, and exit code 1. Wrong options give exit code 2, an interruption 130.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import signal
import sys
import warnings
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

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

_EXAMPLES = """
Examples
  bpetite train --input corpus.txt --vocab-size 32000 --output tok.json
  bpetite encode --model tok.json --text "hello world" --show
  bpetite view tok.json

Each command explains itself: bpetite train --help
"""


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
    arguments = sys.argv[1:] if arguments is None else arguments
    wanted = [word for word in arguments[:1] if word in COMMANDS]
    name = " ".join(["bpetite", *wanted])
    try:
        options = parser_of(wanted)[0].parse_args(arguments or ["--help"])
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

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse unknown options here, where the similar options of the command are known."""
        self.given = args or ()
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return options, unknown

    def error(self, message: str) -> NoReturn:
        """Report what is wrong, and which option or command was probably meant."""
        from difflib import get_close_matches  # slow to import

        def meant(word: str, names: Iterable[str]) -> str:
            near = get_close_matches(word, names, n=1)
            return f"; did you mean {near[0]}?" if near else ""

        for word in re.findall(r"argument COMMAND: invalid choice: '(.*?)'", message):
            message = f"there is no command {word!r}{meant(word, COMMANDS)} (bpetite --help lists them)"
        words = {word.split("=")[0] for word in self.given if word.startswith("--")}
        known = list(self._option_string_actions)
        for word in sorted(words if self.prog != "bpetite" else ()):
            if not any(option.startswith(word) for option in known):
                message += f"\n  there is no {word}{meant(word, known)}"
        super().error(message)


class _MainParser(_Parser):
    """A parser whose help lists the commands in groups."""

    def format_help(self) -> str:
        """Return the description, the groups, and examples."""
        lines = [f"{self.description}", "", "Usage: bpetite COMMAND [options]"]
        for title, commands in _GROUPS.items():
            lines += ["", title, *(f"  {name:<14} {_first(about)}" for name, about in commands.items())]
        return "\n".join(lines) + "\n" + _EXAMPLES


def _first(about: str) -> str:
    """Return the first sentence, without its full stop."""
    return about.split(". ")[0].rstrip(".")


class _Version(argparse.Action):
    """Looks up and prints the version, and exits."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version

        write(f"bpetite {version('bpetite')}\n".encode())
        parser.exit()


def parser_of(wanted: Iterable[str]) -> tuple[_Parser, dict[str, _Parser]]:
    """Return the parser, and that of each command; only those that are wanted have their options."""
    parser = _MainParser(
        prog="bpetite",
        description="Train byte-level BPE tokenizers exactly; encode and decode with them fast.",
        usage="bpetite COMMAND [options]",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    wanted = set(wanted)
    commands = parser.add_subparsers(
        prog="bpetite", dest="command", required=True, metavar="COMMAND", parser_class=_Parser
    )
    for name in COMMANDS:
        if name not in wanted:
            commands.add_parser(name)
            continue
        module = import_module(f"bpetite.cli.commands.{name.replace('-', '_')}")
        command = commands.add_parser(
            name,
            description=_ABOUT[name],
            epilog="examples:\n" + "\n".join(f"  {line}" for line in module.EXAMPLES.strip().splitlines()),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.declare(command)
        command.set_defaults(run=module.run)
    return parser, commands.choices


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
