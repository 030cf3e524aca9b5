"""Sentences about the parts of a tokenizer that a format cannot hold.

Parts that change ids (normalization, flags of special tokens) are not mentioned here: without them, writing
is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from bpetite.formats.shared.imported import Original
from bpetite.patterns import pattern_name
from bpetite.vocabulary import Vocabulary

_MOST_NAMED = 3


def losses(
    vocabulary: Vocabulary, original: Original | None, kind: str, *, to_folder: bool = False
) -> list[str]:
    """Return what a format (`bpetite`, `tiktoken`, `huggingface`, `gpt2`) cannot hold of a tokenizer.

    `original` are the files that it was read from; they are written again if they have this format.

    >>> ones = {byte: bytes([byte]) for byte in range(256)}
    >>> losses(Vocabulary(ones, [], {"<|x|>": 256}), None, "gpt2")
    ['the files do not say which tokens are special; name them when you load the files']
    """
    if original is None:
        return list(_of_vocabulary(vocabulary, kind))
    if kind == original.kind:
        return list(_of_files(original, to_folder=to_folder))
    extras = [f"lost: {what}" for what in original.extras]
    return [*_of_vocabulary(vocabulary, kind), *extras, *_of_files(original, to_folder=False)]


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


def _of_files(original: Original, *, to_folder: bool) -> Iterator[str]:
    if original.companions and not to_folder:
        yield f"left behind: the other files of the tokenizer's folder, {_some(original.companions)}"
    if original.left_behind and to_folder:
        yield f"left behind, as they are not the tokenizer's: {_some(original.left_behind)}"


def _some(texts: Collection[str]) -> str:
    shown = ", ".join(map(repr, sorted(texts)[:_MOST_NAMED]))
    more = len(texts) - _MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown
