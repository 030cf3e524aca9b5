"""Reads and writes tokenizers of any format, for all commands.

A format that is not given is detected from the content of a file or folder (`formats/loading.py`).
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from typing import Any

from bpetite._internal.files import created
from bpetite._internal.json import naming
from bpetite._internal.names import last_part, recorded
from bpetite.cli.options import add_special_tokens, text_argument
from bpetite.cli.output import tell
from bpetite.patterns import PATTERNS
from bpetite.tokenizer import Tokenizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bpetite._internal.types import SpecialTokens

FORMATS = ("bpetite", "tiktoken", "huggingface", "gpt2")
"""The formats that any tokenizer can be written in."""

READ = (*FORMATS, "tekken", "gguf", "sentencepiece")
"""The formats that can be read."""

ANY_FORMAT = (
    "an artifact, tokenizer.json, files of tiktoken, GPT-2 or SentencePiece, tekken.json, GGUF, or a folder"
)


def add_model(command: argparse.ArgumentParser, name: str = "--model", more: str = "") -> None:
    """Declare the tokenizer of an option, `model`, or several `models`, and options about their files."""
    how: dict[str, dict[str, Any]] = {"--model": {"required": True}, "models": {"nargs": "+"}, "model": {}}
    command.add_argument(name, metavar="MODEL", help=f"{ANY_FORMAT}{more}", **how[name])
    add_what_files_lack(command)


def add_what_files_lack(command: argparse.ArgumentParser) -> None:
    """Declare options for information that some formats lack."""
    lacking = command.add_argument_group("for tokenizer files without a pattern or special tokens")
    add = lacking.add_argument
    add("--pattern", type=text_argument, help=f"the pattern: {', '.join(PATTERNS)}, or a regex")
    add(
        "--missing",
        choices=("refuse", "drop"),
        default="refuse",
        help="a byte without a token: refuse its text (default), or leave it out as the model's library does",
    )
    add_special_tokens(lacking, "TEXT[=ID]", "the special tokens (without ids, they get the next free ids)")


def _given(options: argparse.Namespace) -> tuple[str | None, SpecialTokens | None]:
    """Return the given pattern and special tokens."""
    return options.pattern, _with_ids(_specials(options)) or None


def read_model(options: argparse.Namespace, path: str | None = None, *, must_agree: bool = True) -> Tokenizer:
    """Read the tokenizer of a command, and print the assumptions.

    A given pattern, special token or id that differs from the file's is an error, if it `must_agree`.
    """
    from bpetite.formats import loading

    path = options.model if path is None else path
    found = loading.load(path, *_given(options), options.missing, must_agree=must_agree)
    tokenizer = Tokenizer._of_file(path, found)
    if not getattr(options, "quiet", False):
        for assumption in tokenizer.assumptions:
            tell(f"{path}: assumed: {assumption}")
    return tokenizer


def read_models(options: argparse.Namespace) -> list[tuple[str, Tokenizer]]:
    """Read the tokenizers of a command; given options must agree with at least one of them."""
    from bpetite.formats import loading

    read = [(path, read_model(options, path, must_agree=False)) for path in options.models]
    refused: list[ValueError] = []
    for path, tokenizer in read:
        try:
            with naming(path):
                loading.check_given(tokenizer.vocabulary, *_given(options))
        except ValueError as error:
            refused.append(error)
    if len(refused) == len(read):
        raise refused[0]
    return read


def unique_names(named: Iterable[tuple[str, Tokenizer]]) -> dict[str, Tokenizer]:
    """Return tokenizers by name; repeated names get a number."""
    tokenizers: dict[str, Tokenizer] = {}
    for name, tokenizer in named:
        tokenizers[f"{name} ({len(tokenizers) + 1})" if name in tokenizers else name] = tokenizer
    return tokenizers


def name_of(path: str) -> str:
    """Return the last part of a path, the short name of a tokenizer."""
    return recorded(last_part(os.path.normpath(path)))


def _specials(options: argparse.Namespace) -> dict[str, int | None]:
    """Read `TEXT` and `TEXT=ID`; an equals sign without a number after it belongs to the text."""
    specials: dict[str, int | None] = {}
    for given in options.special_token or ():
        text, _, token_id = given.rpartition("=")
        if text and token_id.isascii() and token_id.isdecimal() and len(token_id) <= 10:
            specials[text] = int(token_id)
        else:
            specials[given] = None
    return specials


def _with_ids(specials: dict[str, int | None]) -> dict[str, int] | list[str]:
    ids = {text: token_id for text, token_id in specials.items() if token_id is not None}
    if ids and len(ids) < len(specials):
        lacking = next(text for text in specials if text not in ids)
        raise ValueError(f"--special-token {lacking}: give all special tokens an id, or none")
    return ids or list(specials)


def kind_of(tokenizer: Tokenizer) -> str:
    """Return the format that a tokenizer was read from."""
    return "bpetite" if tokenizer._original is None else tokenizer._original.kind


def write_tokenizer(
    tokenizer: Tokenizer, path: str, kind: str, *, overwrite: bool, config: bool = False
) -> None:
    """Write a tokenizer in any format.

    In the format that it was read from, it is written as it was; `config` applies to Hugging Face's.
    """
    if kind == "bpetite":
        tokenizer.save(path, overwrite=overwrite)
    elif kind == "huggingface":
        tokenizer.to_huggingface(path, overwrite=overwrite, config=config)
    elif kind == kind_of(tokenizer):
        tokenizer.save_original(path, overwrite=overwrite)
    elif kind == "tiktoken":
        tokenizer.to_tiktoken(path, overwrite=overwrite)
    elif kind == "gpt2":
        with created(path):
            vocab, merges = os.path.join(path, "vocab.json"), os.path.join(path, "merges.txt")
            tokenizer.to_gpt2(vocab, merges, overwrite=overwrite)
    else:
        raise ValueError(
            f"{path}: {kind} files are written only as they were read, and IN is {kind_of(tokenizer)}; "
            f"choose {', '.join(FORMATS)}"
        )


def is_folder(tokenizer: Tokenizer, path: str, kind: str) -> bool:
    """Whether a tokenizer will be written to a folder of files."""
    from bpetite.formats.shared import imported

    original = tokenizer._original
    if original is not None and original.kind == kind:
        return original.is_written_to_folder(path)
    return kind == "gpt2" or (kind == "huggingface" and imported.is_folder(path))
