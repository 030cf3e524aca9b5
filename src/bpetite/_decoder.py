"""Decoding: from ids to text. This is the specification."""

from collections.abc import Iterable, Mapping


def decode(ids: Iterable[int], vocab: Mapping[int, bytes], *, spaced: bool = False) -> str:
    """Look up the bytes of every id, join them, and decode them as strict UTF-8.

    With `spaced`, a space is put between any two tokens. An unknown id raises `KeyError`; bytes that
    are not UTF-8 raise `UnicodeDecodeError`.

    >>> decode([104, 105], {104: b"h", 105: b"i"})
    'hi'
    """
    between = b" " if spaced else b""
    content = between.join(vocab[token_id] for token_id in ids)
    return content.decode("utf-8", errors="strict")
