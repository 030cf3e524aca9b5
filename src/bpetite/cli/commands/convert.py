"""`bpetite convert`: converts a tokenizer to another format and prints a line of JSON."""

from __future__ import annotations

import argparse
import os
import tempfile

from bpetite._internal.names import is_folder_name, last_part
from bpetite.cli.formats import (
    ANY_FORMAT,
    READ,
    add_what_files_lack,
    is_folder,
    kind_of,
    read_model,
    write_tokenizer,
)
from bpetite.cli.options import add_shared, check_output
from bpetite.cli.output import json_line, tell
from bpetite.formats import loading
from bpetite.formats.losses import losses
from bpetite.formats.shared.difficult import check_same_ids
from bpetite.formats.shared.imported import Original
from bpetite.formats.shared.peers import peer_encode
from bpetite.tokenizer import Tokenizer

EXAMPLES = """
bpetite convert tok.json tokenizer.json
bpetite convert tok.json my-model/tokenizer.json --tokenizer-config
bpetite convert tok.json tok.tiktoken --check
bpetite convert cl100k_base.tiktoken tok.json
bpetite convert my.tiktoken tok.json --pattern cl100k --special-token '<|endoftext|>=100257'
bpetite convert Qwen2.5-7B/ tok.json
bpetite convert model.gguf tokenizer.json
"""


def declare(command: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = command.add_argument
    add("source", metavar="IN", help=ANY_FORMAT)
    add(
        "target",
        metavar="OUT",
        help="the name decides the format: tokenizer.json; NAME.tiktoken; a folder (the format of IN if that "
        "is a folder, or else GPT-2's files); anything else is an artifact",
    )
    add("--to", dest="target_format", choices=READ, help="the format of OUT (default: by its name)")
    add(
        "--tokenizer-config",
        action="store_true",
        help="also write a tokenizer_config.json to the same folder, for transformers' AutoTokenizer",
    )
    add("--check", action="store_true", help="compare ids with the libraries of the two formats")
    add_shared(command, "--force", "--quiet", "--no-color")
    add_what_files_lack(command)


def run(options: argparse.Namespace) -> bytes:
    """Convert, and return the line of JSON."""
    if os.path.isfile(options.target):
        check_output(options.target, force=options.force)
    tokenizer = read_model(options, options.source)
    target_format = options.target_format or _target_format(tokenizer, options.target, quiet=options.quiet)
    if options.tokenizer_config and target_format != "huggingface":
        raise ValueError(f"--tokenizer-config requires a tokenizer.json as output, not {options.target}")
    to_folder = is_folder(tokenizer, options.target, target_format)
    if not to_folder:
        check_output(options.target, force=options.force)
    checked = []
    if options.check:
        checked += _check(tokenizer, tokenizer._original, options.source)
        with tempfile.TemporaryDirectory() as folder:
            attempt = os.path.join(folder, last_part(options.target))
            write_tokenizer(tokenizer, attempt, target_format, overwrite=False)
            again = loading.load(attempt, tokenizer.pattern, tokenizer.special_tokens, must_agree=False)
            checked += _check(tokenizer, again.original, options.target)
    write_tokenizer(
        tokenizer, options.target, target_format, overwrite=options.force, config=options.tokenizer_config
    )
    if not options.quiet:
        for loss in losses(tokenizer.vocabulary, tokenizer._original, target_format, to_folder=to_folder):
            tell(f"{options.target}: {loss}")
    summary = {
        "from": kind_of(tokenizer),
        "to": target_format,
        "vocab_size": tokenizer.vocab_size,
        "special_tokens": dict(tokenizer.special_tokens),
        "pattern": tokenizer.pattern,
        "fingerprint": tokenizer.fingerprint,
        "checked_with": checked,
    }
    return json_line(summary)


def _target_format(tokenizer: Tokenizer, path: str, *, quiet: bool) -> str:
    """Choose the format by the name of the output; print it if the name does not show it."""
    name = last_part(path)
    original = tokenizer._original
    if name == "tekken.json" or name.endswith((".gguf", ".model")):
        if original and original.files and _ending(name) == _ending(next(iter(original.files))):
            return original.kind
        unless = "unless IN is such a file" + (" without weights" if name.endswith(".gguf") else "")
        raise ValueError(
            f"{path}: this format can be read, but not written {unless}; choose another one with --to"
        )
    if name.endswith(".tiktoken"):
        return "tiktoken"
    if name == "tokenizer.json":
        return "huggingface"
    kind = "gpt2" if is_folder_name(path) or "." not in name else "bpetite"
    if kind == "gpt2" and original and original.is_folder:
        return original.kind
    if not quiet and not is_folder_name(path):
        gpt2 = "a folder with GPT-2's vocab.json and merges.txt"
        what = gpt2 if kind == "gpt2" else "an artifact of bpetite"
        tell(f"{path} will be {what}; choose another format with --to")
    return kind


def _ending(name: str) -> str:
    return name if name == "tekken.json" else os.path.splitext(name)[1]


def _check(tokenizer: Tokenizer, original: Original | None, path: str) -> list[str]:
    """Compare with the files' own library, if there is one; return its name."""
    peer = None if original is None else peer_encode(original, tokenizer.vocabulary)
    if peer is None:
        return []
    name, encode = peer
    check_same_ids(tokenizer.vocabulary, tokenizer.encode, encode, f"{path}, as {name} reads it,")
    return [name]
