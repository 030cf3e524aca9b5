"""Files in, encoders of their own libraries out, for the comparison of `bpetite convert --check`."""

from __future__ import annotations

import base64
import json
import os
from typing import Any

from bpetite._internal.types import Path
from bpetite.formats.shared.difficult import Encodes
from bpetite.formats.tiktoken import covering_pattern
from bpetite.normalization import normalizing, steps_in
from bpetite.vocabulary import Vocabulary


def tiktoken_encode(path: Path, vocabulary: Vocabulary) -> Encodes:
    """Load the ranks of a file, or of JS-tiktoken's JSON, into tiktoken itself, with the pattern and special
    tokens of the vocabulary.

    tiktoken's own reader of files is not used, as it caches them by name.
    """
    import tiktoken

    with open(path, "rb") as file:
        content = file.read()
    ranks: dict[bytes, int] = {}
    if content.startswith(b"{"):
        for line in filter(None, json.loads(content)["bpe_ranks"].split("\n")):
            _, first, *spelled = line.split(" ")
            ranks |= {base64.b64decode(token): rank for rank, token in enumerate(spelled, int(first))}
    else:
        lines = (line.split() for line in content.splitlines() if line.strip())
        ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    encoding = tiktoken.Encoding(
        os.fspath(path),
        pat_str=covering_pattern(vocabulary.pattern),
        mergeable_ranks=ranks,
        special_tokens=dict(vocabulary.special_tokens),
    )
    normalizer = normalizing(steps_in(vocabulary.normalization))
    return lambda text: encoding.encode(normalizer(text), allowed_special="all")


def tokenizers_library() -> Any:
    """Return tokenizers; a version with another interface than the one that is imitated here is refused."""
    import tokenizers

    if not hasattr(tokenizers.Tokenizer, "from_str"):
        raise ImportError(
            f"tokenizers {tokenizers.__version__} has another interface, which is not supported; install "
            "tokenizers 0.22 or 0.23, or give the tokenizer.json, which can be read without it"
        )
    return tokenizers


def huggingface_encode(path: Path) -> Encodes:
    """Load a `tokenizer.json` with tokenizers itself."""
    return _encode_with(tokenizers_library().Tokenizer.from_file(os.fspath(path)))


def gpt2_encode(vocab_path: Path, merges_path: Path, vocabulary: Vocabulary) -> Encodes:
    """Load a `vocab.json` and a `merges.txt` with tokenizers itself, with the vocabulary's special tokens."""
    library = tokenizers_library()
    model = library.models.BPE.from_file(os.fspath(vocab_path), os.fspath(merges_path))
    peer = library.Tokenizer(model)
    peer.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False)
    peer.add_special_tokens(list(vocabulary.special_tokens))
    return _encode_with(peer)


def _encode_with(peer: Any) -> Encodes:
    return lambda text: peer.encode(text, add_special_tokens=False).ids
