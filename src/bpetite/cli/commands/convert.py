"""Convert a tokenizer to another format. A conversion never changes ids.

examples:
  bpetite convert tok.json tokenizer.json
  bpetite convert tok.json model/ --to huggingface --pad-token '<pad>'
  bpetite convert tok.json model/ --to huggingface --chat-template chat.jinja
  bpetite convert tok.json tok.tiktoken --check
  bpetite convert cl100k_base.tiktoken tok.json
  bpetite convert my.tiktoken tok.json --pattern cl100k --special-token '<s>=9'
  bpetite convert Qwen2.5-7B/ tok.json
  bpetite convert model.gguf tokenizer.json
"""

import os
import tempfile
from collections.abc import Mapping
from functools import partial
from typing import Any

from bpetite._internal.files import created
from bpetite._internal.json import naming
from bpetite._internal.names import is_folder, last_part
from bpetite.cli import shared
from bpetite.cli.formats import add_models, format_of, read_model
from bpetite.formats import huggingface, loading
from bpetite.formats.shared.configuration import CONFIGURATION
from bpetite.formats.shared.imported import losses
from bpetite.formats.shared.peers import compared_with
from bpetite.tokenizer import Tokenizer

_OF_ANY = ("bpetite", "tiktoken", "huggingface", "gpt2")
"""The formats that any tokenizer can be written in."""

_AS_READ = ("tekken", "gguf", "sentencepiece")
"""The formats that only a tokenizer is written in that was read from them."""

_BY_NAME = {
    "tokenizer.json": "huggingface",
    "tekken.json": "tekken",
    ".tiktoken": "tiktoken",
    ".gguf": "gguf",
    ".model": "sentencepiece",
}
"""The formats of outputs, by their names or endings."""

_ROLES = {
    "bos_token": "the special token that begins texts (default: one with a usual name, such as <s>)",
    "eos_token": "the special token that ends texts (messages, with a chat template; default: likewise)",
    "pad_token": "a special token that pads batches",
}
"""The settings that name a special token, and their help."""


def declare(command: shared.Parser) -> None:
    """Declare the options."""
    add = command.add_argument
    add_models(command)
    add(
        "--output",
        dest="target",
        default="",
        metavar="OUT",
        help="what to write; it may also follow MODEL. OUT is a folder if it is one already, if its name "
        "ends in / or has no extension, or, with --to huggingface, if it does not end in .json. The name "
        "selects the format: tokenizer.json; NAME.tiktoken; a folder (huggingface with the settings below, "
        "otherwise the format of MODEL if that is a folder, otherwise GPT-2's files); any other file is an "
        "artifact",
    )
    what = "the format of OUT (default: by its name); transformers loads huggingface folders"
    add("--to", choices=(*_OF_ANY, *_AS_READ), help=what)
    settings = command.add_argument_group("for a huggingface folder (its tokenizer_config.json)")
    for role, what in _ROLES.items():
        option = f"--{role.replace('_', '-')}"
        settings.add_argument(option, type=shared.text_argument, metavar="TEXT", help=what)
    settings.add_argument("--chat-template", metavar="FILE", help="a template (Jinja)")
    add("--check", action="store_true", help="compare ids with the libraries of the two formats")
    shared.add_shared(command, "--force")


def run(options: shared.Options) -> shared.Result:
    """Convert, and return what was converted."""
    [source] = options.models
    target = options.target
    if os.path.isfile(target):
        shared.check_output(target, force=options.force)
    tokenizer = read_model(options)
    chosen = shared.chosen(options, *_ROLES, "chat_template")
    settings = {name: value for name, value in chosen.items() if value is not None}
    kind, to_folder = destination_of(tokenizer, target, options.to, has_settings=bool(settings))
    check_destination(tokenizer, target, kind, to_folder=to_folder)
    if settings and not (kind == "huggingface" and to_folder):
        option = f"--{next(iter(settings)).replace('_', '-')}"
        output = kind if to_folder else "a file"
        raise ValueError(f"{option} is for a folder of huggingface, and {target} is for {output}")
    if "chat_template" in settings:
        with (
            naming(options.chat_template),
            open(options.chat_template, encoding="utf-8", newline="") as file,
        ):
            settings["chat_template"] = file.read()
    if not to_folder:
        shared.check_output(target, force=options.force)
    checked = []
    if options.check:
        with tempfile.TemporaryDirectory() as folder:
            attempt = os.path.join(folder, last_part(target))
            write_as(tokenizer, attempt, kind, to_folder=to_folder)
            again = loading.load(
                attempt, tokenizer.pattern, tokenizer.special_tokens, must_agree=False
            )
        encode = partial(tokenizer.encode, add_special_tokens=False)
        for original, path in ((tokenizer._original, source), (again.original, target)):
            checked.append(compared_with(original, tokenizer.vocabulary, encode, path))
    write_as(tokenizer, target, kind, to_folder=to_folder, overwrite=options.force, **settings)
    lost = losses(
        tokenizer.vocabulary, tokenizer._original, kind, tokenizer._template, to_folder=to_folder
    )
    for loss in lost:
        options.progress.say(f"{target}: {loss}")
    if kind == "huggingface" and to_folder:
        for role, token in _guessed(tokenizer, settings).items():
            option = f"--{role.replace('_', '-')}"
            options.progress.say(
                f"{target}: note: {role} is {token}, by its name; {option} names another"
            )
    return {
        "from": format_of(tokenizer),
        "to": kind,
        "vocab_size": tokenizer.vocab_size,
        "special_tokens": dict(tokenizer.special_tokens),
        "pattern": tokenizer.pattern,
        "fingerprint": tokenizer.fingerprint,
        "checked_with": [comparison.library for comparison in checked if comparison],
    }


def _guessed(tokenizer: Tokenizer, settings: Mapping[str, str]) -> dict[str, str]:
    """Return the roles of special tokens that neither the options nor the files of MODEL say."""
    files = {} if tokenizer._original is None else tokenizer._original.files
    if format_of(tokenizer) == "huggingface" and CONFIGURATION in files:
        return {}
    guessed = huggingface.guessed_roles(tokenizer.vocabulary, files, settings.get("chat_template"))
    return {role: token for role, token in guessed.items() if role not in settings}


def destination_of(
    tokenizer: Tokenizer, path: str, to: str | None, *, has_settings: bool
) -> tuple[str, bool]:
    """Return the format of the output, and whether it is a folder.

    A folder is one that exists, or a name that ends in a separator; without a format, or with one
    of several files, also a name without an ending. Names of folders have dots, such as those of
    versions, so for huggingface every name is a folder's that does not end in `.json`.
    """
    name = last_part(path)
    to_folder = is_folder(path)
    if to is None and (to_folder or "." not in name):
        return _folder_format(tokenizer, has_settings=has_settings), True
    if to is None:
        return _file_format(tokenizer, name), False
    if to == "huggingface":
        return to, to_folder or not name.endswith(".json")
    return to, to_folder or to == "gpt2"


def _file_format(tokenizer: Tokenizer, name: str) -> str:
    """Choose the format of a file by its name."""
    ending = name if name in _BY_NAME else os.path.splitext(name)[1]
    original = tokenizer._original
    if ending == ".model" and original and next(iter(original.files), "").endswith(ending):
        return original.kind  # of tiktoken or of SentencePiece
    return _BY_NAME.get(ending, "bpetite")


def _folder_format(tokenizer: Tokenizer, *, has_settings: bool) -> str:
    """Choose the format of a folder: one with settings, that of the folder that was read, or GPT-2's."""
    if has_settings:
        return "huggingface"
    original = tokenizer._original
    return original.kind if original and original.is_folder else "gpt2"


def check_destination(tokenizer: Tokenizer, path: str, kind: str, *, to_folder: bool) -> None:
    """Refuse a format that cannot be written, or not to a folder."""
    original = tokenizer._original
    if kind in _AS_READ and kind != format_of(tokenizer):
        raise ValueError(
            f"{path}: {kind} files can be read, but not written unless MODEL is one, and it is "
            f"{format_of(tokenizer)}; choose another format with --to: {', '.join(_OF_ANY)}"
        )
    was_folder = original is not None and original.is_folder and original.kind == kind
    if to_folder and not (kind in ("gpt2", "huggingface") or was_folder):
        example = os.path.join(path, "tok.json" if kind == "bpetite" else f"tok.{kind}")
        raise ValueError(
            f"{path} is a folder, and {kind} is a format of one file: name it, as in {example}"
        )


def write_as(
    tokenizer: Tokenizer,
    path: str,
    kind: str,
    *,
    to_folder: bool,
    overwrite: bool = False,
    **settings: Any,
) -> None:
    """Write a tokenizer in a format; in the one that it was read from, as it was."""
    original = tokenizer._original_of(kind)
    if kind == "bpetite":
        tokenizer.save(path, overwrite=overwrite)
    elif kind == "huggingface" and to_folder:
        tokenizer.save_folder(path, overwrite=overwrite, **settings)
    elif kind == "huggingface":
        tokenizer.to_huggingface(path, overwrite=overwrite)
    elif original is not None and not original.files:
        tokenizer.save_original(path, overwrite=overwrite)  # which refuses it
    elif original is not None and to_folder:
        original.write_folder(path, overwrite=overwrite)
    elif original is not None:
        original.write_file(path, overwrite=overwrite)
    elif kind == "tiktoken":
        tokenizer.to_tiktoken(path, overwrite=overwrite)
    else:
        with created(path):
            vocab = os.path.join(path, "vocab.json")
            merges = os.path.join(path, "merges.txt")
            tokenizer.to_gpt2(vocab, merges, overwrite=overwrite)
