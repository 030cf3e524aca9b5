"""Tokenizer objects of other libraries in, a vocabulary out.

They are recognised by the module of their class; none of these libraries is imported here. Our own objects
with their interfaces are read, too.
"""

from __future__ import annotations

from typing import Any

from bpetite._internal.json import naming
from bpetite.formats import huggingface
from bpetite.formats.shared.imported import Imported, assumed_pattern
from bpetite.formats.shared.peers import tokenizers_library
from bpetite.formats.tiktoken import vocabulary_of_ranks
from bpetite.vocabulary import Arrays, Vocabulary


def read(tokenizer: Any) -> Imported:
    """Read a `tiktoken.Encoding`, a `tokenizers.Tokenizer` or a tokenizer of transformers."""
    if isinstance(own := getattr(tokenizer, "_vocabulary", None), Vocabulary):
        return Imported(own, is_own=True)  # what `as_tiktoken` gives
    libraries = {kind.__module__.partition(".")[0] for kind in type(tokenizer).__mro__}
    if "tiktoken" in libraries:
        return _of_tiktoken(tokenizer)
    backend = getattr(tokenizer, "backend_tokenizer", None) if "transformers" in libraries else tokenizer
    is_accelerated = type(backend).__module__ == "bpetite.interfaces.huggingface"
    if backend is not None and (is_accelerated or libraries & {"tokenizers", "transformers"}):
        tokenizers_library()
        content = backend.to_str().encode("utf-8")
        return huggingface.parse("the tokenizer", content).read_from(
            "huggingface", {"tokenizer.json": content}
        )
    if "transformers" in libraries:
        raise ValueError(
            f"{type(tokenizer).__name__} holds no tokenizer of the tokenizers library; "
            "save it and load the folder"
        )
    raise TypeError(
        f"a tokenizer is a path, or an object of tiktoken, tokenizers or transformers, not "
        f"{type(tokenizer).__name__}"
    )


def _of_tiktoken(encoding: Any) -> Imported:
    ranks: dict[bytes, int] = encoding._mergeable_ranks
    in_order = sorted(ranks.items(), key=lambda item: item[1])
    with naming(f"tiktoken's {encoding.name}"):
        arrays = Arrays.of({rank: token for token, rank in in_order})
        vocabulary = vocabulary_of_ranks(arrays, encoding._pat_str, encoding._special_tokens)
    return Imported(vocabulary, [assumed_pattern(vocabulary.pattern, "the encoding's")])
