"""The name of a model or of an encoding in, where other libraries keep its files on this machine out.

`huggingface_hub` keeps the files of models in folders by name and commit, tiktoken the files of
encodings by the SHA-1 of their addresses. Nothing is downloaded here: errors say which command does
it.
"""

import hashlib
import os
import re
import tempfile
from typing import NamedTuple

from bpetite._internal.names import last_part
from bpetite.formats.shared.published import (
    ENCODINGS,
    encoding_called,
    owner_of,
    unpublished,
    url_of,
)

_NAME_ON_HUB = r"(?:[\w-][\w.-]*/)?[\w-][\w.-]*"
_COMMIT = r"[0-9a-f]{40,64}"

_GPT2_IDS = "gpt-2/encodings/main/encoder.json"
_GPT2_MERGES = "gpt-2/encodings/main/vocab.bpe"
"""The files of GPT-2, where OpenAI publishes them; others call them `vocab.json` and `merges.txt`."""


def hub_cache() -> str:
    """Return the folder in which `huggingface_hub` keeps models, as its environment variables say."""
    for variable in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if variable in os.environ:
            return _expanded(os.environ[variable])
    in_home = os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.join("~", ".cache"), "huggingface"
    )
    return os.path.join(_expanded(os.environ.get("HF_HOME") or in_home), "hub")


def tiktoken_cache() -> str:
    """Return the folder in which tiktoken keeps encodings, as its environment variables say."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if os.environ.get(variable):
            return os.environ[variable]
    return os.path.join(tempfile.gettempdir(), "data-gym-cache")


def snapshot(name: str) -> str | None:
    """Return the folder with a model's files: those of `main`, as it was when they were fetched."""
    if not re.fullmatch(_NAME_ON_HUB, name):
        return None
    model = os.path.join(hub_cache(), "models--" + name.replace("/", "--"))
    try:
        with open(os.path.join(model, "refs", "main"), encoding="utf-8") as file:
            commit = file.read(100).strip()
    except (OSError, ValueError):
        return None
    folder = os.path.join(model, "snapshots", commit)
    is_there = re.fullmatch(_COMMIT, commit) is not None and os.path.isdir(folder)
    return folder if is_there else None


class EncodingFiles(NamedTuple):
    """The files of one of tiktoken's encodings."""

    ranks: str | None
    """The path of the published file, if it is there."""
    pair: tuple[str, str] | None
    """The paths of GPT-2's two files, which are as good for GPT-2's encodings."""


def encoding_files(encoding: str, folder: str) -> EncodingFiles:
    """Find the files of an encoding in a folder: under their own names, or those of tiktoken's cache."""
    ids, merges = (
        _path_in(folder, _GPT2_IDS, "vocab.json"),
        _path_in(folder, _GPT2_MERGES, "merges.txt"),
    )
    pair = None
    if ids and merges and ENCODINGS[encoding] == "r50k_base":
        pair = ids, merges
    return EncodingFiles(_path_in(folder, f"encodings/{ENCODINGS[encoding]}.tiktoken"), pair)


def advice(name: str) -> str | None:
    """Say how to get the tokenizer of a name, so that the name can be loaded; None if it is no such name.

    >>> print(advice("claude-3"))
    its maker has not published its tokenizer
    """
    encoding = encoding_called(name)
    if encoding is not None:
        url = url_of(f"encodings/{ENCODINGS[encoding]}.tiktoken")
        command = f"""python -c "import tiktoken; tiktoken.get_encoding('{encoding}')\""""
        return (
            f"it is an encoding of tiktoken that is not in its cache, {tiktoken_cache()}: run `{command}` "
            f"to fetch it, and load this name again; or load the file that is at {url}"
        )
    if unpublished(name):
        return "its maker has not published its tokenizer"
    fetch = "run `hf download {} tokenizer.json` (of the package huggingface_hub) to fetch it"
    owner = name.partition("/")[0]
    if re.fullmatch(_NAME_ON_HUB, name) and "/" in name and not os.path.isdir(owner):
        lacking = f"the cache of the Hugging Face Hub, {hub_cache()}, lacks it"
        return f"{lacking}: {fetch.format(name)}, and load this name again"
    owner_on_hub = owner_of(name)
    if owner_on_hub is None:
        return None
    whole = f"{owner_on_hub}/MODEL"
    return (
        f"models of the Hugging Face Hub are named with their owners, here {whole}; "
        f"https://huggingface.co/{owner_on_hub} lists them; {fetch.format(whole)}"
    )


def _path_in(folder: str, file: str, *names: str) -> str | None:
    """Return the path of a file of OpenAI, under its own name, other `names`, or that of the cache."""
    in_cache = hashlib.sha1(url_of(file).encode(), usedforsecurity=False).hexdigest()
    paths = (os.path.join(folder, name) for name in (last_part(file), *names, in_cache))
    return next(filter(os.path.isfile, paths), None)


def _expanded(folder: str) -> str:
    return os.path.expandvars(os.path.expanduser(folder))
