"""What a format cannot hold of a tokenizer, in sentences for a person.

Where that would change ids (normalization, how special tokens are looked for), nothing is said here: writing
is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from bpetite._internal.json import parse_object
from bpetite.formats import huggingface
from bpetite.patterns import pattern_name
from bpetite.vocabulary import Vocabulary

_MOST_NAMED = 3

_BESIDE_IDS = {
    "post_processor": "the template that puts tokens around a text",
    "truncation": "how texts are truncated",
    "padding": "how texts are padded",
}


def losses(vocabulary: Vocabulary, tokenizer_json: bytes | None, kind: str) -> list[str]:
    """Say what is lost if a tokenizer is written as a format (`bpetite`, `tiktoken`, `huggingface`, `gpt2`).

    `tokenizer_json` is the content of the file that it was read from, if it was.

    >>> ones = {byte: bytes([byte]) for byte in range(256)}
    >>> losses(Vocabulary(ones, [], {"<|x|>": 256}), None, "gpt2")
    ['the files do not say which tokens are special; name them when you load the files']
    """
    if tokenizer_json is None:
        return list(_of_vocabulary(vocabulary, kind))
    if kind == "huggingface":  # It is written back to the byte.
        return []
    return [*_of_vocabulary(vocabulary, kind), *_of_document(tokenizer_json)]


def _of_vocabulary(vocabulary: Vocabulary, kind: str) -> Iterator[str]:
    if kind == "bpetite":
        return
    if kind == "tiktoken":
        pattern = pattern_name(vocabulary.pattern) or repr(vocabulary.pattern)
        yield f"the file does not hold the pattern; give it when you load the file: {pattern}"
    if kind == "tiktoken" and vocabulary.special_tokens:
        yield "the file does not hold the special tokens; give them and their ids when you load the file"
    if kind == "gpt2" and vocabulary.special_tokens:
        yield "the files do not say which tokens are special; name them when you load the files"
    if kind != "huggingface" and vocabulary.added_tokens:
        yield f"lost: that these tokens are added but not special: {_some(vocabulary.added_tokens)}"
    if kind != "tiktoken" and vocabulary.decode_only:
        yield f"lost: tokens that no text becomes, which are only decoded: {len(vocabulary.decode_only)}"
    if vocabulary.drops_space:
        yield "lost: that decoding leaves out the space that a text begins with"


def _of_document(content: bytes) -> list[str]:
    document = parse_object("the tokenizer.json", content, "a tokenizer.json")
    return [f"lost: {_BESIDE_IDS[key]}" for key in huggingface.left_out(document)]


def _some(texts: Collection[str]) -> str:
    shown = ", ".join(map(repr, sorted(texts)[:_MOST_NAMED]))
    more = len(texts) - _MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown
