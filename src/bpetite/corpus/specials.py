"""Texts in, ids out, and how many texts of special tokens in them became ordinary text.

What makes training data, or measures it, takes them as text unless asked otherwise: no document
puts a control token into the data. How many there were is said, as documents may have been joined
by such a token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bpetite._engine import Encoder
from bpetite._internal.arguments import check_word
from bpetite._internal.types import DType, Progress, Special, Texts
from bpetite.tokenizer import Tokenizer

_NONE = np.zeros(0, np.int64)


class Encoded(NamedTuple):
    """What texts were encoded to."""

    ids: NDArray[Any]
    offsets: NDArray[np.uint64]
    """The ids of text `i` are those from `offsets[i]` to `offsets[i + 1]`."""
    special_texts: NDArray[np.int64]
    """For each text, how many special tokens in it became ordinary text; empty if none did."""

    @property
    def special_count(self) -> int:
        """The number of these special tokens in all texts."""
        return int(self.special_texts.sum())


def encoded(
    tokenizer: Tokenizer,
    texts: Texts,
    special: Special,
    *,
    dtype: DType = "uint32",
    num_threads: int | None = None,
    prepend: Sequence[int] = (),
    append: Sequence[int] = (),
    progress: Progress | None = None,
    encoder: Encoder | None = None,
) -> Encoded:
    """Encode texts, with the same ids around each, and count the special tokens that are to be text.

    Where a text has none, its ids are the same whether special tokens are text or an error. So only
    texts with some are encoded more than once. The `encoder` may be one of the tokenizer's with
    dropout.
    """
    encode = (encoder or tokenizer._encoder).encode_batch_to_numpy
    options = (dtype, num_threads, list(append), progress, list(prepend))
    if special != "text":
        ids, offsets = encode(texts, special, *options)
        return Encoded(ids, offsets, _NONE)
    with suppress(ValueError):  # There are some, or what is wrong with a text is raised below.
        ids, offsets = encode(texts, "error", *options)
        return Encoded(ids, offsets, _NONE)
    special_ids = _special_ids(tokenizer)
    ids, offsets = encode(texts, "parse", *options)
    as_special = _number_by_text(ids, offsets, special_ids)
    ids, offsets = encode(texts, "text", *options)
    in_any_case = _number_by_text(ids, offsets, special_ids)
    return Encoded(ids, offsets, as_special - in_any_case)


def counted(
    tokenizer: Tokenizer, texts: Texts, special: Special, num_threads: int | None = None
) -> tuple[int, int]:
    """Return the number of tokens of texts, and how many special tokens in them became ordinary text."""
    count = tokenizer._encoder.count_batch
    if special != "text":
        return sum(count(texts, special, num_threads)), 0
    with suppress(ValueError):  # as above
        return sum(count(texts, "error", num_threads)), 0
    result = encoded(tokenizer, texts, special, num_threads=num_threads)
    return len(result.ids), result.special_count


def _special_ids(tokenizer: Tokenizer) -> set[int]:
    """Return the ids of special tokens, without those that are found even where special tokens are text."""
    ordinary = tokenizer.vocabulary.added_tokens
    return {token_id for text, token_id in tokenizer.special_tokens.items() if text not in ordinary}


def _number_by_text(
    ids: NDArray[Any], offsets: NDArray[np.uint64], wanted: set[int]
) -> NDArray[np.int64]:
    """Return how many ids of each text are among those that are wanted."""
    marked = np.isin(ids, list(wanted))
    up_to_here = np.zeros(len(ids) + 1, np.int64)
    np.cumsum(marked, dtype=np.int64, out=up_to_here[1:])
    return np.diff(up_to_here[offsets.astype(np.intp)])


def check_special(special: object) -> None:
    """Refuse a wrong value before anything is read."""
    check_word("special", special, ("parse", "text", "error"))


def check_tokenizer(tokenizer: object) -> None:
    """Refuse what is no tokenizer, such as the path of one."""
    if not isinstance(tokenizer, Tokenizer):
        kind = type(tokenizer).__name__
        raise TypeError(
            f"tokenizer must be a Tokenizer, as Tokenizer.load(path) returns, not {kind}"
        )


def check_tokenizers(tokenizers: object) -> None:
    """Refuse what is no mapping of names to tokenizers."""
    if not isinstance(tokenizers, Mapping):
        raise TypeError(
            f"tokenizers must be a mapping of names to them, not {type(tokenizers).__name__}"
        )
    if not tokenizers:
        raise ValueError("tokenizers must be at least one, not an empty mapping")
    for tokenizer in tokenizers.values():
        check_tokenizer(tokenizer)
