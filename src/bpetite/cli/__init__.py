"""The `bpetite` command: it parses arguments, runs a subcommand, and exits.

Only the result goes to stdout; messages for people go to stderr. A failure gives a message on
stderr, nothing on stdout, and exit code 1. Wrong options give exit code 2, an interruption 130.

A command is a module in `commands/`: its docstring is its help (what it does, and examples),
`declare` adds its options to a parser, and `run` returns the result.
"""

import argparse
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NoReturn

from bpetite._internal.arguments import UnknownTokenError, on_command_line
from bpetite._internal.progress import Shown, columns, tell
from bpetite.cli.output import discard, printed, write
from bpetite.cli.shared import Result, add_shared, check_models, check_output
from bpetite.reading.memory_limit import set_limit

GROUPS = {
    "Learn a vocabulary": ("train", "count", "merge-counts", "extend", "prune", "replace", "demo"),
    "Text and ids": (
        *("encode", "decode", "count-tokens", "fit", "chunks"),
        *("encode-corpus", "encode-column", "verify"),
    ),
    "Other formats": ("convert", "check"),
    "Look inside": ("inspect", "compare", "explain", "view", "stats", "report", "bench"),
}
"""The commands, as the help of all has them."""

COMMANDS = [name for names in GROUPS.values() for name in names]


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit."""
    if sys.stderr is None:  # messages must not go to the next file that is opened
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # as long as the process
    if sys.stdout is None:
        tell("bpetite: stdout is closed, and the result would be lost")
        sys.exit(1)
    signal.signal(signal.SIGTERM, _terminated)
    # What pyarrow's own allocator keeps is a quarter of the memory of counting Parquet.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    try:
        sys.exit(run(arguments, begin=_raise_interruptions))
    finally:
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(
                signal.SIGINT, signal.SIG_DFL
            )  # The work is done: Python's end is not to be reported.
        try:
            sys.stderr.flush()
        except OSError:  # a message that nobody can read changes no exit code
            discard(sys.stderr)


def _raise_interruptions() -> None:
    """Let Ctrl-C raise `KeyboardInterrupt`, so that what was begun is cleaned up."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def run(
    arguments: Sequence[str] | None = None, *, begin: Callable[[], object] = lambda: None
) -> int:
    """Run the command and return its exit code; `begin` is called when its modules are loaded."""
    first, *rest = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    name = f"bpetite {first}" if first in COMMANDS else "bpetite"
    try:
        write(
            _result(first, rest, begin) if first in COMMANDS else printed(_without_command(first))
        )
    except BrokenPipeError:
        return 141
    except KeyboardInterrupt as error:
        tell(f"bpetite: interrupted{error}")
        return 130
    except SystemExit:
        raise
    except BaseException as error:  # also a panic of the engine, which is no Exception
        tell(f"{name}: {_message(error)}")
        return 1
    finally:
        set_limit(None)
    return 0


def _result(name: str, arguments: Sequence[str], begin: Callable[[], object]) -> bytes:
    """Run a command, and return what it prints; `progress` is shown, and its warnings are messages."""
    parser = parser_of(name)
    options = parser.parse_intermixed_args(arguments)
    check_models(parser, options)
    if options.no_color:
        os.environ["NO_COLOR"] = "1"
    if "output" in options and "force" in options:
        check_output(options.output, force=options.force)
    options.arguments = arguments
    options.progress = Shown(quiet=options.quiet)
    with warnings.catch_warnings(), options.progress:
        warnings.simplefilter("always", RuntimeWarning)
        warnings.showwarning = lambda message, *_: tell(f"bpetite {name}: {_text_of(message)}")
        begin()
        result = options.run(options)
    return printed(result, as_json=options.json, for_people=sys.stdout.isatty())


class _Parser(argparse.ArgumentParser):
    """A parser whose help is a result like others, and whose errors are messages like others: argparse itself
    takes no notice of a full disk or of the width of a terminal."""

    def print_help(self, file: object = None) -> None:
        write(self.format_help().encode())

    def format_help(self) -> str:
        self.usage = _usage(self)
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        self.usage = _usage(self)
        tell(f"{self.format_usage()}{self.prog}: error: {message}")
        sys.exit(2)


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """A formatter that is told the width of the terminal: to find it, argparse would import `shutil`."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=columns() - 2)


def parser_of(name: str) -> argparse.ArgumentParser:
    """Return the parser of a command."""
    module = import_module(f"bpetite.cli.commands.{name.replace('-', '_')}")
    parser = _Parser(prog=f"bpetite {name}", description=_about(name), formatter_class=_Formatter)
    add_shared(parser, "--quiet", "--no-color", "--json")
    module.declare(parser)
    parser.set_defaults(run=module.run)
    return parser


def _usage(parser: argparse.ArgumentParser) -> str:
    """Return the usage: what must be given. The help lists all other options."""
    usage, optional = " ".join(parser.format_usage().split()).removeprefix("usage: "), 1
    while optional:
        usage, optional = re.subn(r" ?\[[^\[\]]*\]", "", usage)
    models = " MODEL" * (parser.get_default("most_models") is not None)
    arguments = {action.dest: action.nargs for action in parser._actions}
    if arguments.get("input") == "+" and parser.get_default("most_models") == 1:
        models += " [PATH ...]" if "text" in arguments else " PATH ..."
    output = " OUT" * (parser.get_default("target") is not None)
    usage = re.sub(r"(--\S+) (?=[A-Z])", "\\1\xa0", f"{usage}{models}{output} [options]")
    import textwrap  # slow to import

    return textwrap.fill(usage, 72, subsequent_indent=" " * 13, break_on_hyphens=False).replace(
        "\xa0", " "
    )


def _about(name: str) -> str:
    """Return the docstring of a command's module, from its source: with -OO, Python drops it."""
    path = os.path.join(os.path.dirname(__file__), "commands", f"{name.replace('-', '_')}.py")
    loader: Any = __spec__.loader  # which also reads what is packed into an archive
    source: bytes = loader.get_data(path)
    return source.decode("utf-8").split('"""')[1]


def _without_command(word: str) -> Result:
    """Answer an argument that is no command: the help of all, the version, or what was probably meant."""
    if word == "--version":
        from importlib.metadata import version  # slow to import

        return [f"bpetite {version('bpetite')}"]
    if word not in ("-h", "--help"):
        from difflib import get_close_matches  # slow to import

        near = get_close_matches(word, COMMANDS, n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        wrong = f"there is no command {word!r}{meant} (bpetite --help lists them)"
        _Parser(prog="bpetite", usage="bpetite COMMAND [options]").error(wrong)
    return help_text().encode()


def help_text() -> str:
    """Return the description, the commands in groups with their first sentences, and examples."""
    groups = ""
    for title, names in GROUPS.items():
        groups += f"\n{title}\n"
        for name in names:
            groups += f"  {name:<14} {_about(name).split('.')[0]}\n"
    return f"""\
Train byte-level BPE tokenizers exactly; encode and decode with them fast.

Usage: bpetite COMMAND [options]
{groups}
Examples
  bpetite train --input corpus.txt --vocab-size 32000 --output tok.json
  bpetite encode --model tok.json --text "hello world" --show
  bpetite view tok.json

For the options of a command: bpetite train --help
Commands print text to a terminal, and JSON with --json. Summaries, for example
of train, count and convert, are also JSON in a pipe.
"""


_EXPECTED = (OSError, ValueError, OverflowError, MemoryError, ImportError, RuntimeError)
"""What an input, an option or the machine may be to blame for; `docs/errors.md` says which is which."""


def _message(error: BaseException) -> str:
    """Return the message of an error; one that nobody expects is a defect, and says where it was raised."""
    if isinstance(error, UnknownTokenError):
        return str(error)
    if not isinstance(error, _EXPECTED) or isinstance(error, NotImplementedError | RecursionError):
        import traceback  # slow to import

        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"at line {last.lineno} of {os.path.basename(last.filename)}"
        return f"{type(error).__name__}: {error} ({place}): a defect of bpetite, please report it"
    if isinstance(error, ModuleNotFoundError) and error.name in ("tiktoken", "tokenizers"):
        return f"this needs the package {error.name}: pip install {error.name}"
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {on_command_line(error.strerror)}"
    if isinstance(error, MemoryError):
        return _text_of(error) or "not enough memory"
    return _text_of(error) or type(error).__name__


def _text_of(error: object) -> str:
    """Return the message of an error or a warning, in the words of the command line."""
    arguments: tuple[object, ...] = getattr(error, "args", ())
    text = on_command_line(arguments[0] if len(arguments) == 1 else error)
    # The engine names the argument as in Python.
    return re.sub(r'\bspecial="(\w+)"', r"--special \1", text)


def _terminated(number: int, frame: object) -> NoReturn:
    """Exit like an interruption, so that incomplete files are removed."""
    sys.exit(128 + number)
