"""The tokens that two tokenizers have in common: for models that read each other's ids."""

from __future__ import annotations

from typing import Any

from bpetite._internal.arguments import check_type
from bpetite._internal.lazy import needed
from bpetite.tokenizer import Tokenizer


def shared(a: Tokenizer, b: Tokenizer) -> Any:
    """Return the tokens that two tokenizers have in common, as an Arrow table in the order of `id_a`.

    Tokens are the same if they are decoded to the same bytes, and both are special or neither is.
    Those that encoding never gives are left out; of equal tokens, the smallest id counts.

    >>> first, second = Tokenizer.train("ab", 257), Tokenizer.train("ab ab ab", 258)
    >>> shared(first, second).slice(256).to_pylist()
    [{'id_a': 256, 'id_b': 256, 'bytes': b'ab'}, {'id_a': 257, 'id_b': 258, 'bytes': b'<|endoftext|>'}]
    """
    arrow = needed("pyarrow", "shared")
    check_type("a", a, Tokenizer, "a Tokenizer")
    check_type("b", b, Tokenizer, "a Tokenizer")
    ids_in_b = _ids_by_token(b)
    rows = [
        {"id_a": token_id, "id_b": ids_in_b[token], "bytes": token[0]}
        for token, token_id in _ids_by_token(a).items()
        if token in ids_in_b
    ]
    names = {"id_a": arrow.uint32(), "id_b": arrow.uint32(), "bytes": arrow.binary()}
    return arrow.Table.from_pylist(rows, arrow.schema(names))


def _ids_by_token(tokenizer: Tokenizer) -> dict[tuple[bytes, bool], int]:
    """Return the smallest id of each token, in ascending order, by its bytes and whether it is special."""
    ids: dict[tuple[bytes, bool], int] = {}
    columns = [column.to_pylist() for column in tokenizer.token_table().columns]
    for token_id, token, is_special, is_decode_only in zip(*columns, strict=True):
        if token is not None and not is_decode_only:
            ids.setdefault((token, is_special), token_id)
    return ids
