"""The tokens of vocabularies as Arrow tables, for libraries that need the bytes of every id."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from bpetite._engine import Encoder
from bpetite._internal.lazy import needed
from bpetite._internal.lazy import numpy as np
from bpetite._internal.memory import available_memory
from bpetite.vocabulary import Vocabulary

_BYTES_PER_ROW = 24
"""The memory of a row while the table is made: its id, its end twice, and flags."""


def token_table(encoder: Encoder, vocabulary: Vocabulary, special: Collection[int]) -> Any:
    """Return a table with a row for each id from 0 to the largest; without a token, `bytes` is null.

    >>> from bpetite.encoding.encoder import encoder_of
    >>> vocabulary = Vocabulary({byte: bytes([byte]) for byte in range(256)}, [], {"<s>": 257})
    >>> token_table(encoder_of(vocabulary), vocabulary, {257})["bytes"].to_pylist()[255:]
    [b'\\xff', None, b'<s>']
    """
    arrow = needed("pyarrow", "token_table")
    rows = vocabulary.largest_id + 1
    _ensure_memory(rows)
    own = {*vocabulary.tokens, *vocabulary.decode_only, *vocabulary.special_tokens.values()}
    ids = sorted(own.difference(vocabulary.provisional))
    columns = {
        "id": arrow.array(np.arange(rows, dtype=np.uint32)),
        "bytes": _bytes_at(ids, list(map(encoder.token_bytes, ids)), rows),
        "special": arrow.array(_flags_at(special, rows)),
        "decode_only": arrow.array(_flags_at(vocabulary.decode_only, rows)),
    }
    return arrow.table(columns)


def _ensure_memory(rows: int) -> None:
    """Raise a `MemoryError` if there is not enough memory for a table of so many rows."""
    available = available_memory()
    if available is not None and rows * _BYTES_PER_ROW > available:
        raise MemoryError(
            f"a table of all ids to the largest, {rows - 1}, needs {rows * _BYTES_PER_ROW} bytes, "
            f"and {available} are available"
        )


def _bytes_at(places: Sequence[int], tokens: Sequence[bytes], rows: int) -> Any:
    """Return a column with tokens at their places, which are ascending, and nulls elsewhere."""
    arrow = needed("pyarrow", "token_table")
    ends = np.zeros(rows + 1, dtype=np.int64)
    ends[1:][places] = list(map(len, tokens))
    np.cumsum(ends, out=ends)
    if ends[-1] > np.iinfo(np.int32).max:
        raise ValueError(f"the tokens have {ends[-1]} bytes, and a column of Arrow holds 2 GB")
    validity = np.packbits(_flags_at(places, rows), bitorder="little")
    buffers = (validity, ends.astype(np.int32), b"".join(tokens))
    return arrow.Array.from_buffers(arrow.binary(), rows, [*map(arrow.py_buffer, buffers)])


def _flags_at(places: Iterable[int], rows: int) -> Any:
    flags = np.zeros(rows, dtype=np.bool_)
    flags[list(places)] = True
    return flags
