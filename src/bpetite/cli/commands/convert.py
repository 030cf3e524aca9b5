"""Convert a tokenizer to another format. What would give other ids is refused.

examples:
  bpetite convert tok.json tokenizer.json
  bpetite convert tok.json model/ --to huggingface --pad-token '<pad>'
  bpetite convert tok.json tok.tiktoken --check
  bpetite convert cl100k_base.tiktoken tok.json
  bpetite convert my.tiktoken tok.json --pattern cl100k --special-token '<s>=9'
  bpetite convert Qwen2.5-7B/ tok.json
  bpetite convert model.gguf tokenizer.json
"""

import os
import tempfile
from functools import partial
from typing import Any

from bpetite._internal.files import created
from bpetite._internal.json import naming
from bpetite._internal.names import is_folder_name, last_part
from bpetite.cli import shared
from bpetite.cli.formats import add_models, read_model
from bpetite.formats import loading
from bpetite.formats.shared.imported import Original, losses
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


def declare(command: shared.Parser) -> None:
    """Declare the options."""
    add = command.add_argument
    add_models(command)
    add(
        "--output",
        dest="target",
        default="",
        metavar="OUT",
        help="what to write, also as a word behind MODEL; the name decides the format: tokenizer.json; "
        "NAME.tiktoken; a folder (huggingface with the settings below, else the format of MODEL if "
        "that is a folder, or else GPT-2's files); anything else is an artifact",
    )
    what = "the format of OUT (default: by its name); a folder of huggingface has tokenizer_config.json, too"
    add("--to", choices=(*_OF_ANY, *_AS_READ), help=what)
    pads = "a special token that fills up batches, for the tokenizer_config.json"
    add("--pad-token", type=shared.text_argument, metavar="TEXT", help=pads)
    add("--chat-template", metavar="FILE", help="a template (Jinja), for the tokenizer_config.json")
    add("--check", action="store_true", help="compare ids with the libraries of the two formats")
    shared.add_shared(command, "--force")


def run(options: shared.Options) -> shared.Result:
    """Convert, and return what was converted."""
    [source], target = options.models, options.target
    if os.path.isfile(target):
        shared.check_output(target, force=options.force)
    tokenizer = read_model(options)
    given = shared.chosen(options, "pad_token", "chat_template")
    settings = {name: value for name, value in given.items() if value is not None}
    kind = options.to or _target_format(tokenizer, target, has_settings=bool(settings))
    if kind in _AS_READ and kind != _kind_of(tokenizer):
        raise ValueError(
            f"{target}: {kind} files can be read, but not written unless MODEL is one, and it is "
            f"{_kind_of(tokenizer)}; choose another format with --to: {', '.join(_OF_ANY)}"
        )
    if settings and kind != "huggingface":
        option = f"--{next(iter(settings)).replace('_', '-')}"
        raise ValueError(f"{option} is for --to huggingface, and {target} is for {kind}")
    if "chat_template" in settings:
        with naming(options.chat_template), open(options.chat_template, encoding="utf-8", newline="") as file:
            settings["chat_template"] = file.read()
    to_folder = _is_to_folder(tokenizer, target, kind)
    if not to_folder:
        shared.check_output(target, force=options.force)
    checked = []
    if options.check:
        with tempfile.TemporaryDirectory() as folder:
            attempt = os.path.join(folder, last_part(target))
            _write(tokenizer, attempt, kind)
            again = loading.load(attempt, tokenizer.pattern, tokenizer.special_tokens, must_agree=False)
        encode = partial(tokenizer.encode, add_special_tokens=False)
        for original, path in (tokenizer._original, source), (again.original, target):
            checked.append(compared_with(original, tokenizer.vocabulary, encode, path))
    _write(tokenizer, target, kind, overwrite=options.force, **settings)
    for loss in losses(tokenizer.vocabulary, tokenizer._original, kind, to_folder=to_folder):
        options.progress.say(f"{target}: {loss}")
    return {
        "from": _kind_of(tokenizer),
        "to": kind,
        "vocab_size": tokenizer.vocab_size,
        "special_tokens": dict(tokenizer.special_tokens),
        "pattern": tokenizer.pattern,
        "fingerprint": tokenizer.fingerprint,
        "checked_with": [found.library for found in checked if found],
    }


def _kind_of(tokenizer: Tokenizer) -> str:
    """Return the format that a tokenizer was read from."""
    return "bpetite" if tokenizer._original is None else tokenizer._original.kind


def _target_format(tokenizer: Tokenizer, path: str, *, has_settings: bool = False) -> str:
    """Choose the format by the name of the output; of a folder with settings, the one that has them."""
    name = last_part(path)
    ending = name if name in _BY_NAME else os.path.splitext(name)[1]
    original = tokenizer._original
    if ending == ".model" and original and next(iter(original.files), "").endswith(ending):
        return original.kind  # of tiktoken or of SentencePiece
    if ending in _BY_NAME:
        return _BY_NAME[ending]
    if "." in name and not is_folder_name(path):
        return "bpetite"
    if has_settings:
        return "huggingface"
    return original.kind if original and original.is_folder else "gpt2"


def _is_to_folder(tokenizer: Tokenizer, path: str, kind: str) -> bool:
    """Whether a tokenizer will be written to a folder of files."""
    original = tokenizer._original_of(kind) or Original(kind, {"tokenizer.json": b""})
    return kind in (_kind_of(tokenizer), "gpt2", "huggingface") and original.is_written_to_folder(path)


def _write(tokenizer: Tokenizer, path: str, kind: str, *, overwrite: bool = False, **settings: Any) -> None:
    """Write a tokenizer in a format; in the one that it was read from, as it was."""
    if kind == "bpetite":
        tokenizer.save(path, overwrite=overwrite)
    elif kind == "huggingface":
        tokenizer.to_huggingface(path, overwrite=overwrite, **settings)
    elif kind == _kind_of(tokenizer):
        tokenizer.save_original(path, overwrite=overwrite)
    elif kind == "tiktoken":
        tokenizer.to_tiktoken(path, overwrite=overwrite)
    else:
        with created(path):
            vocab, merges = os.path.join(path, "vocab.json"), os.path.join(path, "merges.txt")
            tokenizer.to_gpt2(vocab, merges, overwrite=overwrite)
