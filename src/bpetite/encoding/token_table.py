"""The tokens of vocabularies as Arrow tables, for libraries that need the bytes of every id."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from bpetite._engine import Encoder
from bpetite._internal.lazy import needed
from bpetite._internal.lazy import numpy as np
from bpetite.vocabulary import Vocabulary


def token_table(encoder: Encoder, vocabulary: Vocabulary, special: Collection[int]) -> Any:
    """Return a table with a row for each id from 0 to the largest; without a token, `bytes` is null.

    >>> from bpetite.encoding.encoder import encoder_of
    >>> vocabulary = Vocabulary({byte: bytes([byte]) for byte in range(256)}, [], {"<s>": 257})
    >>> token_table(encoder_of(vocabulary), vocabulary, {257})["bytes"].to_pylist()[255:]
    [b'\\xff', None, b'<s>']
    """
    arrow = needed("pyarrow", "token_table")
    ids = range(vocabulary.largest_id + 1)
    present = {*vocabulary.tokens, *vocabulary.decode_only, *vocabulary.special_tokens.values()}
    token_of = encoder.token_bytes
    columns = {
        "id": arrow.array(np.arange(len(ids), dtype=np.uint32)),
        "bytes": arrow.array(
            [token_of(token_id) if token_id in present else None for token_id in ids],
            arrow.binary(),
        ),
        "special": arrow.array([token_id in special for token_id in ids]),
        "decode_only": arrow.array([token_id in vocabulary.decode_only for token_id in ids]),
    }
    return arrow.table(columns)
