"""Ids in, text out: the specification of decoding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def decode(ids: Iterable[int], vocab: Mapping[int, bytes]) -> str:
    """Look every id up, join the bytes, decode once and strictly.

    An unknown id is a `KeyError`, bytes that are not UTF-8 a `UnicodeDecodeError`.

    >>> decode([104, 105], {104: b"h", 105: b"i"})
    'hi'
    """
    return b"".join(vocab[token_id] for token_id in ids).decode("utf-8", errors="strict")
