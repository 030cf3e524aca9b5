"""Everything that decides ids in, one hash out: SHA-256 of a JSON text, which is never there as a whole.

It is the text that `json.dumps` writes with sorted keys and without spaces. Its long lists are written from
arrays, a few thousand rows at a time: objects of Python for all tokens and merges take several times as long.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import cast

import numpy as np
from numpy.typing import NDArray

_ROWS = 1 << 13
"""How many rows of a list are written at a time."""

_NONE = b"\0"
"""Stands in a cell where there is no character; JSON has no such character."""

Cells = NDArray[np.uint8]
"""Characters in columns: a row of them for each row of a list."""


def fingerprint(content: Mapping[str, object]) -> str:
    """Return the hash; a list may be given as an iterator over pieces of its JSON, without the brackets.

    >>> fingerprint({"b": iter([b"1", b"2"]), "a": [3]}) == hashlib.sha256(b'{"a":[3],"b":[1,2]}').hexdigest()
    True
    """
    digest = hashlib.sha256()
    before = b"{"
    for name, value in sorted(content.items()):
        digest.update(before + _written(name) + b":")
        for piece in _list(value) if isinstance(value, Iterator) else [_written(value)]:
            digest.update(piece)
        before = b","
    digest.update(b"}")
    return digest.hexdigest()


def _written(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("ascii")


def _list(pieces: Iterable[bytes]) -> Iterator[bytes]:
    before = b""
    yield b"["
    for piece in pieces:
        yield before + piece
        before = b","
    yield b"]"


def pairs_json(pairs: NDArray[np.uint32]) -> Iterator[bytes]:
    """Yield pieces of a list of pairs.

    >>> list(pairs_json(np.array([[97, 98], [256, 4294967294]], np.uint32)))
    [b'[97,98],[256,4294967294]']
    """
    for start in range(0, len(pairs), _ROWS):
        left, right = map(_digits, pairs[start : start + _ROWS].T)
        yield _without_gaps(_side_by_side("[", left, ",", right, "],")).removesuffix(b",")


def tokens_json(ids: NDArray[np.uint32], tokens: bytes, ends: NDArray[np.uint64]) -> Iterator[bytes]:
    """Yield pieces of a list of tokens: each its id and its bytes in hexadecimal.

    >>> list(tokens_json(np.array([7, 256], np.uint32), b"aab", np.array([1, 3], np.uint64)))
    [b'[7,"61"],[256,"6162"]']
    """
    bounds = np.concatenate([np.zeros(1, np.int64), ends.astype(np.int64)])
    for start in range(0, len(ids), _ROWS):
        here = bounds[start : start + _ROWS + 1]
        cells = _side_by_side('"],[', _digits(ids[start : start + _ROWS]), ',"')
        spelled = tokens[here[0] : here[-1]].hex().encode("ascii")
        piece = _without_gaps(_each_before(cells, np.frombuffer(spelled, np.uint8), 2 * np.diff(here)))
        yield piece.removeprefix(b'"],') + b'"]'


def _digits(values: NDArray[np.uint32]) -> Cells:
    """Return the decimal digits of numbers, the last in the last column."""
    cells = np.empty((len(str(values.max())), len(values)), np.uint8)
    for place, row in enumerate(cells[::-1]):
        tens = values // 10
        row[:] = (values - 10 * tens + ord("0")) * ((values > 0) | (place == 0))
        values = tens
    return cast("Cells", cells.T)


def _side_by_side(*columns: str | Cells) -> Cells:
    """Put columns beside each other; a text is the same in every row."""
    count = next(len(column) for column in columns if not isinstance(column, str))
    wide = [
        np.broadcast_to(np.frombuffer(column.encode("ascii"), np.uint8), (count, len(column)))
        if isinstance(column, str)
        else column
        for column in columns
    ]
    return np.concatenate(wide, axis=1)


def _each_before(cells: Cells, texts: Cells, lengths: NDArray[np.int64]) -> Cells:
    """Put each row of cells before its text, of texts that stand one behind the other."""
    counts = np.column_stack([np.full(len(cells), cells.shape[1]), lengths]).ravel()
    of_cells = np.repeat(np.arange(len(counts)) % 2 == 0, counts)
    mixed = np.empty(len(of_cells), np.uint8)
    mixed[of_cells] = cells.ravel()
    mixed[~of_cells] = texts
    return mixed


def _without_gaps(cells: Cells) -> bytes:
    return cells.tobytes().translate(None, _NONE)
