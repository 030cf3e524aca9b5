"""A path and a format in, a tokenizer out, or into the path: what `convert` and `compare` share.

A format that is not named is told by the path: `.tiktoken` is tiktoken's, a folder with `vocab.json` and
`merges.txt` is GPT-2's, a file that is called or looks like a `tokenizer.json` is Hugging Face's, and any
other is an artifact.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from bpetite.formats import gpt2, huggingface, peers, tiktoken
from bpetite.formats.difficult import Encodes
from bpetite.formats.imported import Imported
from bpetite.patterns import PATTERNS
from bpetite.tokenizer import Tokenizer

FORMATS = ("bpetite", "tiktoken", "huggingface", "gpt2")


def add_what_files_lack(command: argparse.ArgumentParser) -> None:
    """Declare the options for what some formats do not hold."""
    lacking = command.add_argument_group("what tiktoken's and GPT-2's files do not hold")
    add = lacking.add_argument
    add("--pattern", help=f"for tiktoken's: {', '.join(PATTERNS)}, or a regular expression")
    add(
        "--special-token",
        action="append",
        default=[],
        metavar="TEXT[=ID]",
        help="a special token; repeat for more (without an id, the next free one)",
    )
    add(
        "--whole-pretoken-first",
        action="store_true",
        help="for tiktoken's: keep tokens that no merge makes and only a whole pretoken becomes",
    )


def format_of(path: str, named: str | None) -> str:
    """Return the format that is named, or the one that the path tells."""
    if named is not None:
        return named
    if path.endswith(".tiktoken"):
        return "tiktoken"
    if os.path.isdir(path):
        return "gpt2"
    if os.path.basename(path) == "tokenizer.json" or _begins_like_huggingfaces(path):
        return "huggingface"
    return "bpetite"


def _begins_like_huggingfaces(path: str) -> bool:
    """Whether a file has a key near its beginning that every `tokenizer.json` has there, and no artifact."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return b'"truncation"' in file.read(1024)


def read_tokenizer(path: str, kind: str, options: argparse.Namespace) -> tuple[Tokenizer, Sequence[str]]:
    """Read a tokenizer of any format; beside it, what was assumed."""
    if kind == "bpetite":
        return Tokenizer.load(path), ()
    imported = _import(path, kind, options)
    return Tokenizer(imported.vocabulary), imported.assumptions


def _import(path: str, kind: str, options: argparse.Namespace) -> Imported:
    if kind == "huggingface":
        return huggingface.read(path)
    if kind == "gpt2":
        return gpt2.read(*gpt2_paths(path), special_tokens=list(_specials(options)) or None)
    if options.pattern is None:
        raise ValueError(f"{path}: a tiktoken file does not hold its pattern; give it with --pattern")
    return tiktoken.read(
        path,
        pattern=options.pattern,
        special_tokens=_with_ids(_specials(options)),
        whole_pretoken_first=options.whole_pretoken_first,
    )


def _specials(options: argparse.Namespace) -> dict[str, int | None]:
    """Read `TEXT` and `TEXT=ID`; an equals sign that no number follows belongs to the text."""
    specials: dict[str, int | None] = {}
    for given in options.special_token:
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


def gpt2_paths(path: str) -> tuple[Path, Path]:
    """Return the two files in a folder."""
    return Path(path) / "vocab.json", Path(path) / "merges.txt"


def write_tokenizer(tokenizer: Tokenizer, path: str, kind: str, *, overwrite: bool) -> None:
    """Write a tokenizer in any format."""
    if kind == "bpetite":
        tokenizer.save(path, overwrite=overwrite)
    elif kind == "tiktoken":
        tokenizer.to_tiktoken(path, overwrite=overwrite)
    elif kind == "huggingface":
        tokenizer.to_huggingface(path, overwrite=overwrite)
    else:
        os.makedirs(path, exist_ok=True)
        tokenizer.to_gpt2(*gpt2_paths(path), overwrite=overwrite)


def peer_encode(tokenizer: Tokenizer, path: str, kind: str) -> tuple[str, Encodes] | None:
    """Load the file with the library it is for: that library's name, and how it encodes."""
    if kind == "tiktoken":
        return "tiktoken", peers.tiktoken_encode(path, tokenizer.vocabulary)
    if kind == "huggingface":
        return "tokenizers", peers.huggingface_encode(path)
    if kind == "gpt2":
        return "tokenizers", peers.gpt2_encode(*gpt2_paths(path), tokenizer.vocabulary)
    return None
