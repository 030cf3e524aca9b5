"""Files in, encoders of their own libraries out, and whether they give the same ids."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

from bpetite.formats.shared.difficult import Encodes, check_same_ids
from bpetite.formats.shared.imported import Original
from bpetite.formats.tiktoken import made_encoding
from bpetite.normalization import normalizing, steps_in
from bpetite.vocabulary import Vocabulary


def compared_with(
    original: Original | None, vocabulary: Vocabulary, encode: Encodes, where: str, texts: Iterable[str] = ()
) -> str | None:
    """Compare the ids of difficult texts and others with those of the files' own library; return its name and
    version, or None where there is none."""
    peer = None if original is None else peer_encode(original, vocabulary)
    if peer is None:
        return None
    name, theirs = peer
    check_same_ids(vocabulary, encode, theirs, f"{where}, as {name} reads it,", texts)
    return f"{name} {version(name)}"


def peer_encode(original: Original, vocabulary: Vocabulary) -> tuple[str, Encodes] | None:
    """Load files with their own library, with what they lack of the vocabulary; return its name and its
    function for encoding, or None where there is none."""
    if original.kind == "tiktoken":
        return "tiktoken", _tiktoken_encode(original.content, vocabulary)
    if original.kind not in ("huggingface", "gpt2"):
        return None
    library = tokenizers_library()
    if original.kind == "huggingface":
        peer = library.Tokenizer.from_str(original.content.decode("utf-8"))
    else:
        vocab, merges = [content.decode("utf-8") for content in original.files.values()][:2]
        lines = merges.replace("\r\n", "\n").removeprefix("#version: 0.2\n").split("\n")
        pairs = [tuple(line.split(" ")) for line in lines if line]
        peer = library.Tokenizer(library.models.BPE(json.loads(vocab), pairs))
        peer.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False)
        peer.add_special_tokens(list(vocabulary.special_tokens))
    return "tokenizers", lambda text: peer.encode(text, add_special_tokens=False).ids


def _tiktoken_encode(content: bytes, vocabulary: Vocabulary) -> Encodes:
    """Load ranks into tiktoken."""
    lines = (line.split() for line in content.splitlines() if line.strip())
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    encoding = made_encoding("the file", vocabulary, ranks)
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
