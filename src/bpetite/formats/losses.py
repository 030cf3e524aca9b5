"""What a format cannot hold of a tokenizer: an error where ids would change, and a sentence where they would
not."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from bpetite.formats.shared.imported import Original
from bpetite.patterns import pattern_name
from bpetite.vocabulary import Vocabulary

_MOST_NAMED = 3


def check_holds(vocabulary: Vocabulary, what: str, instead: str) -> None:
    """Refuse a vocabulary with something that neither GPT-2's files nor tiktoken's can hold.

    >>> check_holds(Vocabulary({}, [], normalization="NFC", irregular=True), "vocab.json", "another can")
    Traceback (most recent call last):
    ValueError: vocab.json cannot hold the normalization NFC; another can
    """
    check_merges_bytes(vocabulary)
    flagged = [f"{text!r:.80}: {', '.join(flags)}" for text, flags in vocabulary.token_flags.items()]
    parts = {
        f"the normalization {vocabulary.normalization!s:.80}": vocabulary.normalization is not None,
        "which token stands for unknown bytes": vocabulary.unknown is not None,
        f"flags of special tokens ({''.join(flagged[:1])})": bool(flagged),
        "two tokens of the same bytes": len(set(vocabulary.tokens.values())) < len(vocabulary.tokens),
    }
    for part, is_there in parts.items():
        if is_there:
            raise ValueError(f"{what} cannot hold {part}; {instead}")


def check_merges_bytes(vocabulary: Vocabulary) -> None:
    """Refuse a vocabulary whose merges begin with characters, which no format can be written from."""
    if vocabulary.provisional:
        raise ValueError(
            "a vocabulary whose merges begin with characters is only written as the tokenizer.json that it "
            "was read from; its artifact can hold it"
        )
    if vocabulary.equal_ranks:
        raise ValueError("no format of another library holds merges of equal ranks; its artifact can hold it")


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
        yield f"lost: that these tokens are added but not special: {some(vocabulary.added_tokens)}"
    if kind != "tiktoken" and vocabulary.decode_only:
        yield f"lost: tokens that no text becomes, which are only decoded: {len(vocabulary.decode_only)}"
    if vocabulary.drops_space:
        yield "lost: that decoding leaves out the space that a text begins with"


def _of_files(original: Original, *, to_folder: bool) -> Iterator[str]:
    if original.companions and not to_folder:
        yield f"left behind: the other files of the tokenizer's folder, {some(original.companions)}"
    if original.left_behind and to_folder:
        yield f"left behind, as they are not the tokenizer's: {some(original.left_behind)}"


def of_beside(texts: Collection[str]) -> str:
    """Say that special tokens are those of a configuration.

    >>> of_beside(["<a>"])
    "the files beside it name the special tokens: '<a>'"
    """
    return f"the files beside it name the special tokens: {some(texts)}"


def some(texts: Collection[str]) -> str:
    """Name texts, of many only the first."""
    shown = ", ".join(f"{text!r:.80}" for text in sorted(texts)[:_MOST_NAMED])
    more = len(texts) - _MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown
