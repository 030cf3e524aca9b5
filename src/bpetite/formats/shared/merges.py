"""Merges as pairs of texts in, the same as bytes out, as the engine takes them.

The byte FE stands between the two parts of a merge, and FF between merges: no UTF-8 has these bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

_WITHIN, _BETWEEN = b"\xfe", b"\xff"


def packed_merges(merges: Iterable[object], field: str) -> bytes:
    """Pack merges, each a text `left right` or a list of texts; `field` is for the messages.

    >>> packed_merges(["a b", ["Ġ", "t"]], "merges")
    b'a\\xfeb\\xff\\xc4\\xa0\\xfet'
    """
    packed = []
    for rank, merge in enumerate(merges):
        parts = merge.split(" ") if isinstance(merge, str) else merge
        try:
            packed.append(_WITHIN.join([part.encode("utf-8") for part in cast("list[str]", parts)]))
        except (TypeError, AttributeError, UnicodeEncodeError):
            raise ValueError(f"{field}[{rank}]: {merge!r:.80} is not a pair of tokens") from None
    return _BETWEEN.join(packed)


def packed_lines(lines: bytes) -> bytes:
    """Pack lines `left right`.

    >>> packed_lines(b"a b\\nab c")
    b'a\\xfeb\\xffab\\xfec'
    """
    return lines.replace(b" ", _WITHIN).replace(b"\n", _BETWEEN)


def parts_of(merges: bytes) -> Iterator[list[str]]:
    """Yield the parts of each merge, whose number may not be two.

    >>> list(parts_of(b"a\\xfeb\\xffab\\xfec"))
    [['a', 'b'], ['ab', 'c']]
    """
    for merge in merges.split(_BETWEEN) if merges else ():
        yield [part.decode("utf-8", "replace") for part in merge.split(_WITHIN)]


def has_part(merges: bytes, text: str) -> bool:
    """Whether a text is a part of a merge.

    >>> has_part(b"a\\xfeb\\xffab\\xfec", "ab"), has_part(b"a\\xfeb\\xffab\\xfec", "abc")
    (True, False)
    """
    return text.encode("utf-8") in merges.replace(_WITHIN, _BETWEEN).split(_BETWEEN)
