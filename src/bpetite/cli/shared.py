"""The options that several commands share, and the values that they stand for."""

import argparse
import os
from collections.abc import Iterator, Sequence
from typing import Any

from bpetite._internal.files import check_target, exists_already, named, try_writing
from bpetite._internal.integers import NUMBERS, number_with_unit
from bpetite._internal.progress import read_stdin
from bpetite.dialect import DIALECTS
from bpetite.patterns import PATTERNS
from bpetite.reading.formats import FORMS
from bpetite.reading.options import Reading
from bpetite.reading.sources import STDIN, find_inputs, without_weights
from bpetite.training import CONDITIONS

Parser = argparse.ArgumentParser
Options = argparse.Namespace
Result = bytes | list[str] | dict[str, Any] | None
"""What a command returns: bytes, which are printed as they are, lines, or a value of JSON."""

INPUT_HELP = (
    "files, folders, globs or URLs of text, JSON lines or Parquet, plain or compressed by gzip or zstd; "
    "- is stdin; PATH:text=F reads the text from field or column F"
)


def number(word: str) -> int:
    """Return an argument that is a whole number, perhaps with a unit, such as `32k`."""
    try:
        return int(word) if word[:1] == "-" else int(number_with_unit("number", word, NUMBERS))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{word!r:.100} is not {NUMBERS.expected}") from None


def probability(word: str) -> float:
    """Return an argument that is a number, such as `0.1`; its bounds are checked later."""
    try:
        return float(word)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{word!r:.100} is not a number from 0 to 1") from None


SHARED: dict[str, dict[str, Any]] = {
    "--special": {
        "choices": ("parse", "text", "error"),
        "default": "parse",
        "help": "read special tokens in the text as ids (parse, the default), ordinary text, or an error",
    },
    "--add-special-tokens": {
        "action": "store_true",
        "help": "add the tokens that the model's own library puts around each text, such as <s>",
    },
    "--num-threads": {
        "type": number,
        "metavar": "N",
        "help": "threads to use (default: all cores)",
    },
    "--memory-limit": {
        "metavar": "SIZE",
        "help": "the total memory for counting, such as 2GB, at least about 120MB; counts that do not fit "
        "are kept in temporary files (default: no limit)",
    },
    "--cluster": {
        "metavar": "ADDRESS",
        "help": "run on this Ray cluster; `local` starts one locally",
    },
    "--force": {"action": "store_true", "help": "overwrite the output if it exists"},
    "--json": {
        "action": "store_true",
        "help": "print the result as JSON (in a pipe, summaries always are)",
    },
    "--quiet": {"action": "store_true", "help": "print only errors on stderr"},
    "--no-color": {"action": "store_true", "help": "no colours (as if NO_COLOR were set)"},
}


def add_shared(command: argparse._ActionsContainer, *flags: str) -> None:
    """Declare options that mean the same in every command."""
    for flag in flags:
        command.add_argument(flag, **SHARED[flag])


def chosen(options: Options, *names: str) -> dict[str, Any]:
    """Return options as arguments of a function that calls them the same."""
    return {name: getattr(options, name) for name in names}


def add_output(command: argparse.ArgumentParser, what: str) -> None:
    """Declare the output file, which is checked before the command runs."""
    command.add_argument("--output", required=True, metavar="FILE", help=what)
    add_shared(command, "--force")


def check_models(command: argparse.ArgumentParser, options: Options) -> None:
    """Let words behind the tokenizers be inputs, ids or the output; end the command without what it needs."""
    if "most_models" not in options:
        return
    if "models" not in options:
        command.error("the following arguments are required: MODEL")
    if "target" in options and not options.target:
        if len(options.models) < 2:
            command.error("the following arguments are required: OUT")
        options.target = options.models.pop()
    if options.most_models == 1 and "input" in options and not isinstance(options.input, str):
        first, *files = options.models
        given = [*(options.input or []), *files]
        if given and getattr(options, "text", None) is None:
            options.models, options.input = [first], given
        elif "text" not in options and not getattr(options, "counts", None):
            command.error("the following arguments are required: --input")
    if "ids" in options and all(map(str.isdecimal, options.models[1:])):
        options.ids = [*map(int, options.models[1:]), *(options.ids or [])] or options.ids
        del options.models[1:]
    if len(options.models) > options.most_models:
        command.error(f"expected one MODEL, not {len(options.models)}: {' '.join(options.models)}")


def check_output(path: str, *, force: bool) -> None:
    """Check that the output can be written, before any work is done."""
    target = check_target(path, overwrite=True)
    if os.path.lexists(path) and not force:
        raise exists_already(path)
    with named(path):
        try_writing(target)


def add_rules(
    command: argparse._ActionsContainer, or_else: str = "", dialect: str | None = None
) -> None:
    """Declare the rules of counting and training; the help has each default, and what may be before it."""
    advice = "; for a new model, use tiktoken" if dialect is None else ""
    rules = f"the rules for ties, ids and special tokens{advice} (default: {or_else}{dialect or 'bpetite'})"
    command.add_argument("--dialect", choices=list(DIALECTS), default=dialect, help=rules)
    named = ", ".join(PATTERNS) + ", or a regex; repeat the option to cut the pieces further"
    cuts = f"the pattern that cuts text into pretokens: {named} (default: {or_else}gpt2)"
    command.add_argument("--pattern", action="append", type=text_argument, help=cuts)
    special = f"special tokens, in the order of their ids (default: {or_else}<|endoftext|>)"
    add_special_tokens(command, "TEXT", special)


def add_normalization(command: argparse._ActionsContainer, or_else: str = "") -> None:
    """Declare what is done to texts before they are cut."""
    does = f"normalize each text before it is cut, also in encoding (default: {or_else}no normalization)"
    command.add_argument("--normalization", choices=("NFC", "NFD", "NFKC", "NFKD"), help=does)


def add_conditions(command: argparse._ActionsContainer) -> None:
    """Declare conditions on new tokens."""
    add = command.add_argument
    rare = "learn from pretokens that occur at least this often"
    add("--min-count", type=number, default=1, metavar="N", help=rare)
    longest = "the maximum length of a token in bytes"
    add("--max-token-length", type=number, metavar="N", help=longest)
    words = "the maximum number of words in a token: runs of bytes other than spaces"
    add("--max-words", type=number, metavar="N", help=words)
    contains = "learn no token that contains this text; repeat the option for several"
    add("--without", action="append", type=text_argument, metavar="TEXT", help=contains)
    whole = "learn only tokens of whole characters, or of the beginning of one character"
    add("--whole-characters", action="store_true", help=whole)


def conditions_of(options: Options) -> dict[str, Any]:
    """Return the conditions on new tokens."""
    return chosen(options, "min_count", *CONDITIONS) | {"without": options.without or ()}


def add_special_tokens(command: argparse._ActionsContainer, metavar: str, what: str) -> None:
    """Declare special tokens."""
    command.add_argument(
        "--special-token",
        type=text_argument,
        action="extend",
        nargs="+",
        metavar=metavar,
        help=what,
    )


def add_choice(
    command: argparse._ActionsContainer, flag: str, choices: Sequence[str], what: str
) -> None:
    """Declare an option of a few words; the first is the default."""
    command.add_argument(flag, choices=choices, default=choices[0], help=what)


def add_inputs(
    command: argparse._ActionsContainer, what: str, flag: str = "--input", *, required: bool = True
) -> None:
    """Declare the inputs; an option that is given again adds to them."""
    command.add_argument(
        flag, action="extend", nargs="+", required=required, metavar="PATH", help=what
    )


def add_sources(command: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Declare inputs, each of which gets a row of the result."""
    add_inputs(command, f"{INPUT_HELP}; each argument is a source", required=required)
    add_measuring(command)


def add_measuring(command: Parser) -> None:
    """Declare how tokenizers are measured on texts."""
    add_special_as_text(command)
    add_shared(command, "--num-threads")
    add_reading(command)


def add_special_as_text(command: Parser) -> None:
    """Declare `--special` where training data is made or measured."""
    what = (
        "read special tokens in the text as ordinary text (the default), ids (parse), or an error"
    )
    add_choice(command, "--special", ("text", "parse", "error"), what)


def tell_of_special_texts(name: str, options: Options, special_texts: int | None) -> None:
    """Tell how many special tokens became ordinary text, if there were any."""
    if special_texts:
        became = "special tokens in the documents that became ordinary text"
        options.progress.say(
            f"bpetite {name}: {became}: {special_texts:,}; --special parse gives them their ids"
        )


_READING: Sequence[tuple[str, str | tuple[str, ...], str]] = (
    (
        "separator",
        "S",
        "the text that separates documents in a text file (default: a file is one document)",
    ),
    ("text_field", "F", "the field of a JSON line that holds the text (default: %(default)s)"),
    ("text_column", "C", "the Parquet column that holds the text (default: %(default)s)"),
    (
        "invalid",
        ("error", "replace", "skip"),
        "documents that are not valid text: an error (the default), repaired with U+FFFD, or skipped",
    ),
    (
        "input_format",
        ("auto", *FORMS),
        "the format of the inputs (default: detected from the name and content of each)",
    ),
    (
        "hold_out",
        "SHARE",
        "hold out this share of the documents, such as 1%%, chosen by a hash of each",
    ),
    (
        "split",
        ("train", "held-out"),
        "with --hold-out: read the documents that are not held out (the default), or those that are",
    ),
    (
        "max_document",
        "SIZE",
        "refuse a larger document that must be in memory as a whole: one that is not a text file, or "
        "whose pattern has no proven place to cut (default: 1GiB)",
    ),
)
"""Fields of `Reading`, with the placeholder of a text or the choices, and the help."""


def add_reading(command: Parser, separator: str | None = None) -> None:
    """Declare how documents are read; the defaults are those of `Reading`, but for another separator."""
    group = command.add_argument_group("reading documents")
    for name, values, what in _READING:
        kind: dict[str, Any] = {"metavar": values, "type": text_argument}
        if isinstance(values, tuple):
            kind = {"choices": values}
        default = getattr(Reading, name)
        if name == "separator" and separator is not None:
            default, what = separator, what.replace("a file is one document", "%(default)s")
        group.add_argument(f"--{name.replace('_', '-')}", default=default, help=what, **kind)


def reading_of(options: Options) -> Reading:
    """Return how documents are read."""
    return Reading(**chosen(options, *Reading().to_dict()))


def measuring(options: Options) -> dict[str, Any]:
    """Return how tokenizers are measured, as keywords of `corpus.stats` and others."""
    return {**chosen(options, "special", "num_threads", "progress"), "reading": reading_of(options)}


def documents_of(options: Options) -> Iterator[str]:
    """Yield the documents of `--input`, or of stdin."""
    from bpetite.reading.batches import decoded  # slow to import, as is the next
    from bpetite.reading.documents import read_batches

    reading = reading_of(options)
    for source in without_weights(find_inputs(options.input or STDIN)):
        for batch in read_batches(source, reading):
            yield from decoded(source.name, batch)


def text_of(options: Options) -> str:
    """Return the text of `--text`, or of stdin."""
    if options.text is None:
        return utf8("stdin", read_stdin().read())
    return utf8("--text", _bytes_of(options.text))


def text_argument(argument: str) -> str:
    """Return an argument that is a text and no path."""
    content = _bytes_of(argument)
    try:
        return utf8("", content)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{error}: {content[:100]!r}") from None


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
        raise ValueError(
            f"{name}: not valid UTF-8 at byte {error.start}".removeprefix(": ")
        ) from None
