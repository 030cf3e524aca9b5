"""Reads tokenizers of any format, for all commands.

A format that is not given is detected from the content of a file or folder (`formats/loading.py`).
"""

import argparse
import math
import os
import re
from collections.abc import Collection, Sequence
from itertools import chain, count
from typing import Any

from bpetite._internal.arguments import on_command_line
from bpetite._internal.json import naming
from bpetite._internal.names import recorded
from bpetite.cli.output import way_note
from bpetite.cli.shared import add_choice, add_special_tokens, chosen, text_argument
from bpetite.encoding.template import left_out
from bpetite.formats import loading
from bpetite.formats.loading import ANY_FORMAT
from bpetite.formats.shared.imported import TEMPLATE_ASSUMPTION, UNICODE_ASSUMPTION
from bpetite.patterns import PATTERNS
from bpetite.tokenizer import Tokenizer

_NAME = "a name in the cache of the Hugging Face Hub or of tiktoken"


def add_models(command: argparse.ArgumentParser, more: str = "") -> None:
    """Declare the tokenizer of a command, behind `--model` or not, and options about its file.

    There may be several if something is said about `more` of them.
    """
    how: dict[str, Any] = {"dest": "models", "action": "extend", "metavar": "MODEL"}
    command.add_argument(
        nargs="*", default=argparse.SUPPRESS, help=f"{ANY_FORMAT}; or {_NAME}{more}", **how
    )
    command.add_argument(
        "--model", nargs="+", default=argparse.SUPPRESS, help="the same, as an option", **how
    )
    command.set_defaults(most_models=math.inf if more else 1)
    lacking = command.add_argument_group("for tokenizer files without a pattern or special tokens")
    pattern = f"the pattern: {', '.join(PATTERNS)}, or a regex; repeat the option to cut the pieces further"
    lacking.add_argument("--pattern", action="append", type=text_argument, help=pattern)
    bytes_ = "a byte without a token: refuse its text (default), or drop the byte as the model's library does"
    add_choice(lacking, "--missing", ("refuse", "drop"), bytes_)
    add_special_tokens(
        lacking, "TEXT[=ID]", "the special tokens (without ids, they get the next free ids)"
    )


def lacking(options: argparse.Namespace) -> dict[str, Any]:
    """Return what is given for files that lack it, as keywords of `Tokenizer.load`."""
    return {**chosen(options, "pattern", "missing"), "special_tokens": _special_tokens(options)}


def read_model(
    options: argparse.Namespace, path: str | None = None, *, must_agree: bool = True
) -> Tokenizer:
    """Read the tokenizer of a command, and print the assumptions.

    A given pattern, special token or id that differs from the file's is an error, if it
    `must_agree`.
    """
    path = options.models[0] if path is None else path
    found = loading.load(path, **lacking(options), must_agree=must_agree)
    tokenizer = Tokenizer._of_file(path, found)
    options.progress.note = options.progress.note or way_note(tokenizer.pattern_way)
    unprinted = {UNICODE_ASSUMPTION}  # True of every file: `inspect` shows it.
    if "add_special_tokens" in options:
        unprinted.add(TEMPLATE_ASSUMPTION)
    notes = [assumption for assumption in tokenizer.assumptions if assumption not in unprinted]
    if tokenizer._template is not None and not getattr(options, "add_special_tokens", True):
        notes.append(left_out(tokenizer._template, tokenizer.special_tokens))
    for note in notes:
        options.progress.say(f"{path}: note: {on_command_line(note)}")
    return tokenizer


def read_models(options: argparse.Namespace) -> dict[str, Tokenizer]:
    """Read the tokenizers of a command by short names; a path that is given again gets a number.

    Given options must agree with at least one of them.
    """
    tokenizers: dict[str, Tokenizer] = {}
    refused: list[ValueError] = []
    for path in options.models:
        tokenizer = read_model(options, path, must_agree=False)
        tokenizers[_unused(name_of(path, options.models), tokenizers)] = tokenizer
        try:
            with naming(path):
                loading.check_given(tokenizer.vocabulary, options.pattern, _special_tokens(options))
        except ValueError as error:
            refused.append(error)
    if len(refused) == len(options.models):
        raise refused[0]
    return tokenizers


def format_of(tokenizer: Tokenizer) -> str:
    """Return the format that a tokenizer was read from."""
    return "bpetite" if tokenizer._original is None else tokenizer._original.kind


def _unused(name: str, names: Collection[str]) -> str:
    """Return a name that is not among others: itself, or with a number."""
    numbered = (f"{name} ({number})" for number in count(len(names) + 1))
    return next(each for each in chain([name], numbered) if each not in names)


_NAMES_OF_ALL = {
    *("tokenizer.json", "vocab.json", "merges.txt", "vocab.bpe", "encoder.json"),
    *("tokenizer.model", "tekken.json", "spiece.model", "sentencepiece.bpe.model"),
}
"""The names that files have in every folder of a model: they do not say which model it is."""


def name_of(path: str, among: Sequence[str] = ()) -> str:
    """Return the last part of a path that says which tokenizer it is: its folder, if its name does not.

    Where other paths end alike, it begins with the folders that tell it from them.

    >>> name_of("llama/tokenizer.json"), name_of("llama/tok.json"), name_of("tokenizer.json")
    ('llama', 'tok.json', 'tokenizer.json')
    >>> paths = ["llama/tokenizer.json", "a/qwen/tokenizer.json", "b/qwen/tokenizer.json", "tok.json"]
    >>> [name_of(path, paths) for path in paths]
    ['llama', 'a/qwen', 'b/qwen', 'tok.json']
    """
    split = [os.path.normpath(one).split(os.path.sep) for one in (path, *among)]
    others = [other for other in split if other != split[0]]
    most = len(split[0])
    parts = 2 if split[0][-1] in _NAMES_OF_ALL and most > 1 else 1
    while parts < most and any(other[-parts:] == split[0][-parts:] for other in others):
        parts += 1
    return recorded(os.path.sep.join(split[0][-parts : most - (parts > 1)]))


def _special_tokens(options: argparse.Namespace) -> dict[str, int] | list[str] | None:
    """Read `TEXT` and `TEXT=ID`; an equals sign without a number after it belongs to the text."""
    given: list[str] = options.special_token or []
    with_ids = [re.fullmatch(r"(?s)(.+)=([0-9]{1,10})", text) for text in given]
    ids = {found[1]: int(found[2]) for found in with_ids if found}
    if ids and not all(with_ids):
        lacking = given[with_ids.index(None)]
        raise ValueError(f"--special-token {lacking}: give all special tokens an id, or none")
    return ids or given or None
