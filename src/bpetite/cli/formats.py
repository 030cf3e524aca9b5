"""Reads and writes tokenizers of any format, for all commands.

A format that is not given is detected from the content of a file or folder (`formats/loading.py`).
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from bpetite._internal.files import created
from bpetite._internal.names import last_part, recorded
from bpetite.cli.options import add_special_tokens, text_argument
from bpetite.cli.output import tell
from bpetite.patterns import PATTERNS
from bpetite.tokenizer import Tokenizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bpetite.formats.shared.difficult import Encodes

FORMATS = ("bpetite", "tiktoken", "huggingface", "gpt2")
"""The formats that any tokenizer can be written in."""

READ = (*FORMATS, "tekken", "gguf", "js-tiktoken", "sentencepiece")
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


class Opened(NamedTuple):
    """A tokenizer, its format and its files."""

    tokenizer: Tokenizer
    kind: str
    """The format."""
    files: tuple[str, ...]
    """The files that were read."""


def open_tokenizer(path: str, options: argparse.Namespace) -> Opened:
    """Read a tokenizer, and print the assumptions."""
    from bpetite.formats import loading

    found = loading.find(path, options.pattern, _with_ids(_specials(options)) or None, options.missing)
    tokenizer = Tokenizer._of_file(path, found)
    if not getattr(options, "quiet", False):
        for assumption in tokenizer.assumptions:
            tell(f"{path}: assumed: {assumption}")
    return Opened(tokenizer, found.kind, found.files)


def check_given(tokenizer: Tokenizer, path: str, options: argparse.Namespace) -> None:
    """Raise an error if a given pattern, special token or id differs from the file's."""
    from bpetite.formats import loading

    loading.check_given(path, tokenizer.vocabulary, options.pattern, _with_ids(_specials(options)))


def read_model(options: argparse.Namespace) -> Tokenizer:
    """Read the tokenizer of a command, and check the given pattern and special tokens against it."""
    tokenizer = open_tokenizer(options.model, options).tokenizer
    check_given(tokenizer, options.model, options)
    return tokenizer


def read_models(options: argparse.Namespace) -> list[tuple[str, Tokenizer]]:
    """Read the tokenizers of a command; given options must agree with at least one of them."""
    read = [(path, open_tokenizer(path, options).tokenizer) for path in options.models]
    refused: list[ValueError] = []
    for path, tokenizer in read:
        try:
            check_given(tokenizer, path, options)
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


def write_tokenizer(
    opened: Opened, path: str, kind: str, *, overwrite: bool, config: bool = False
) -> tuple[str, ...]:
    """Write a tokenizer in any format, and return the files that hold it.

    In the format that it was read from, it is written as it was; `config` applies to Hugging Face's.
    """
    tokenizer, original = opened.tokenizer, opened.tokenizer._original
    if kind == "bpetite":
        tokenizer.save(path, overwrite=overwrite)
    elif kind == "huggingface":
        tokenizer.to_huggingface(path, overwrite=overwrite, config=config)
        if is_folder(opened, path, kind):
            return (os.path.join(path, "tokenizer.json"),)
    elif original is not None and original.kind == kind:
        tokenizer.save_original(path, overwrite=overwrite)
        return tuple(os.fspath(written) for written in original.at(path))[: len(opened.files)]
    elif kind == "tiktoken":
        tokenizer.to_tiktoken(path, overwrite=overwrite)
    elif kind == "gpt2":
        with created(path):
            vocab, merges = os.path.join(path, "vocab.json"), os.path.join(path, "merges.txt")
            tokenizer.to_gpt2(vocab, merges, overwrite=overwrite)
        return vocab, merges
    else:
        raise ValueError(
            f"{path}: {kind} files are written only as they were read, and IN is {opened.kind}; "
            f"choose {', '.join(FORMATS)}"
        )
    return (path,)


def is_folder(opened: Opened, path: str, kind: str) -> bool:
    """Whether a tokenizer will be written to a folder of files."""
    from bpetite.formats.shared import imported

    original = opened.tokenizer._original
    if original is not None and original.kind == kind:
        return original.is_written_to_folder(path)
    return kind == "gpt2" or (kind == "huggingface" and imported.is_folder(path))


def peer_encode(opened: Opened) -> tuple[str, Encodes] | None:
    """Load the files with their own library; return its name and its function for encoding."""
    from bpetite.formats.shared import peers

    vocabulary = opened.tokenizer.vocabulary
    if opened.kind in ("tiktoken", "js-tiktoken"):
        return "tiktoken", peers.tiktoken_encode(opened.files[0], vocabulary)
    if opened.kind == "huggingface":
        return "tokenizers", peers.huggingface_encode(opened.files[0])
    if opened.kind == "gpt2":
        return "tokenizers", peers.gpt2_encode(Path(opened.files[0]), Path(opened.files[1]), vocabulary)
    return None
