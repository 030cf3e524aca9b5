"""Tokenizer objects of other libraries in, a vocabulary out.

They are recognised by their methods. Our own objects with their interfaces are read, too.
"""

from __future__ import annotations

from typing import Any

from bpetite._internal.json import naming
from bpetite.formats import huggingface
from bpetite.formats.shared.imported import Imported
from bpetite.formats.shared.peers import tokenizers_library
from bpetite.formats.tiktoken import vocabulary_of_ranks
from bpetite.vocabulary import Arrays, Vocabulary


def read(tokenizer: Any) -> Imported:
    """Read a `tiktoken.Encoding`, a `tokenizers.Tokenizer` or a tokenizer of transformers."""
    if isinstance(own := getattr(tokenizer, "_vocabulary", None), Vocabulary):
        return Imported(own, is_own=True)  # what `as_tiktoken` gives
    if hasattr(tokenizer, "_mergeable_ranks"):
        return _of_tiktoken(tokenizer)
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if type(backend).__module__.partition(".")[0] == "tokenizers":
        tokenizers_library()
    elif not hasattr(backend, "to_str"):
        raise TypeError(
            f"a tokenizer is a path, or an object of tiktoken, tokenizers or transformers, not "
            f"{type(tokenizer).__name__}; save one of another library and load what it wrote"
        )
    content = backend.to_str().encode("utf-8")
    return huggingface.parse("the tokenizer", content).read_from("huggingface", {"tokenizer.json": content})


def _of_tiktoken(encoding: Any) -> Imported:
    ranks: dict[bytes, int] = encoding._mergeable_ranks
    in_order = sorted(ranks.items(), key=lambda item: item[1])
    with naming(f"tiktoken's {encoding.name}"):
        arrays = Arrays.of({rank: token for token, rank in in_order})
        vocabulary = vocabulary_of_ranks(arrays, encoding._pat_str, encoding._special_tokens)
    return Imported(vocabulary)
