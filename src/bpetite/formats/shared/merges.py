"""Merges as pairs of texts in, the same as bytes out, as the engine takes them.

The byte FE stands between the two parts of a merge, and FF between merges: no UTF-8 has these bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from bpetite._internal.json import refuse
from bpetite._internal.types import Path

_WITHIN, _BETWEEN = b"\xfe", b"\xff"


def packed_merges(path: Path, merges: Sequence[object], field: str) -> bytes:
    """Pack merges, each a text `left right` or a list of two texts; `field` is for the messages.

    >>> packed_merges("a.json", ["a b", ["Ġ", "t"]], "merges")
    b'a\\xfeb\\xff\\xc4\\xa0\\xfet'
    """
    lines = cast("Sequence[str]", merges)
    if set(map(type, merges)) == {str} and set(map(_spaces_of, lines)) == {1}:
        joined = "\n".join(lines)
        if joined.count("\n") == len(lines) - 1:  # All at once is faster.
            return packed_lines(_encoded(path, joined, field))
    return _BETWEEN.join(
        _WITHIN.join(_encoded(path, part, field) for part in _parts(path, merge, f"{field}[{rank}]"))
        for rank, merge in enumerate(merges)
    )


def packed_lines(lines: bytes) -> bytes:
    """Pack lines `left right`.

    >>> packed_lines(b"a b\\nab c")
    b'a\\xfeb\\xffab\\xfec'
    """
    return lines.replace(b" ", _WITHIN).replace(b"\n", _BETWEEN)


def parts_of(merges: bytes, rank: int) -> list[str]:
    """Return the parts of a merge, whose number may not be two.

    >>> parts_of(b"a\\xfeb\\xffab\\xfec", 1)
    ['ab', 'c']
    """
    return [part.decode("utf-8", "replace") for part in merges.split(_BETWEEN)[rank].split(_WITHIN)]


def has_part(merges: bytes, text: str) -> bool:
    """Whether a text is a part of a merge.

    >>> has_part(b"a\\xfeb\\xffab\\xfec", "ab"), has_part(b"a\\xfeb\\xffab\\xfec", "abc")
    (True, False)
    """
    return text.encode("utf-8") in merges.replace(_WITHIN, _BETWEEN).split(_BETWEEN)


def _spaces_of(line: str) -> int:
    return line.count(" ")


def _parts(path: Path, merge: object, place: str) -> Iterator[str]:
    parts = merge.split(" ") if isinstance(merge, str) else merge
    if not isinstance(parts, list) or list(map(type, parts)) != [str, str]:
        refuse(path, f"{place}: {merge!r:.80} is not a pair of tokens")
    yield from parts


def _encoded(path: Path, text: str, field: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        refuse(path, f"{field}: there is half a surrogate pair in it, so it is not text")
