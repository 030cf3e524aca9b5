"""Tokens with ids and merges as pairs in, both in printable form; a vocabulary out. GPT-2's and Hugging
Face's files and GGUF have them.

Everything is computed on arrays: some files list every way to cut each token in two, half a million in all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from bpetite._engine import happening_merges, resolve_pairs, spelled_in_order
from bpetite._internal.json import refuse
from bpetite._internal.types import Path
from bpetite.dialect import Dialect
from bpetite.formats.shared.printable import bytes_of_codes, from_printable
from bpetite.vocabulary import Arrays, Normalization, Vocabulary

Repeated = Literal["last", "first", "refused"]
"""The rank of a pair that is listed more than once: that of its first or last place, or an error."""

_UNKNOWN = 2**32 - 1
IN_TEXTS = (*range(0xC0), *range(0xC2, 0xF5))
"""The bytes that can occur in UTF-8."""


def vocabulary_of_pairs(
    path: Path,
    ids: Mapping[str, int],
    merges: bytes,
    *,
    special_tokens: Mapping[str, int],
    pattern: str,
    dialect: Dialect,
    whole_pretoken_first: bool = False,
    normalization: Normalization | None = None,
    token_flags: Mapping[str, Collection[str]] | None = None,
    added_tokens: Collection[str] = (),
    unknown: tuple[int, bool] | None = None,
    place: Callable[[int], str] = "merge {}".format,
    repeated: Repeated = "last",
) -> Vocabulary:
    """Make the vocabulary; errors name `path` and the `place` of the merge of a rank.

    `ids` are those of all tokens but the special ones; `merges` has a line `left right` for each, in UTF-8.
    Tokens with characters that stand for no byte are only decoded, as their own library decodes them.

    A pair that is listed again has the rank of its last place, or of its first, as it has for the library
    that the file is for, or is refused. Where merges stand before those of their parents, those that never
    happen are left out: at most one merge of each token happens.
    """
    try:
        spelled = _Spelled.of(ids)
    except UnicodeEncodeError as lone:
        refuse(path, f"token {lone.object!r:.80} is not text: {lone.reason}")
    rows = _resolved(path, spelled, merges, place, repeated)
    if not spelled_in_order(spelled.tokens, spelled.ends, rows):
        rows = rows[happening_merges(spelled.tokens, spelled.ends, rows)]
    arrays = Arrays(spelled.ids, spelled.tokens, spelled.ends, spelled.ids[rows])
    starts = spelled.ends - spelled.lengths
    base = {
        int(spelled.ids[place]): spelled.tokens[starts[place] : starts[place] + 1]
        for place in np.nonzero(spelled.lengths == 1)[0]
    }
    try:
        return Vocabulary(
            base,
            (),
            special_tokens,
            pattern,
            dialect,
            whole_pretoken_first=whole_pretoken_first,
            normalization=normalization,
            token_flags=token_flags or {},
            added_tokens=added_tokens,
            unknown=unknown,
            irregular=True,
            decode_only=spelled.decode_only,
        ).with_arrays(arrays)
    except ValueError as error:
        refuse(path, str(error))


def lacking_bytes(vocabulary: Vocabulary) -> list[str]:
    """Return an assumption about the bytes without a token, if there are any."""
    lacking = set(IN_TEXTS) - set(vocabulary.id_of_byte)
    if not lacking:
        return []
    which = f"({len(lacking)} bytes lack a token, such as {min(lacking):#x})"
    if len(lacking) == 1:
        which = f"({min(lacking):#x} lacks a token)"
    if vocabulary.unknown is not None:
        return [f"a byte without a token becomes id {vocabulary.unknown[0]}, and is lost {which}"]
    return [f"text with a byte without a token cannot be encoded {which}"]


@dataclass(frozen=True)
class _Spelled:
    """Tokens as arrays, in the order of ids."""

    ids: NDArray[np.uint32]
    tokens: bytes
    ends: NDArray[np.uint64]
    lengths: NDArray[np.uint64]
    spellings: bytes
    """The same tokens in printable form, in UTF-8."""
    ends_of_spellings: NDArray[np.uint64]
    decode_only: Mapping[int, bytes]
    """Empty tokens, and those with characters that stand for no byte."""

    @staticmethod
    def of(ids_of: Mapping[str, int]) -> _Spelled:
        in_order = sorted(ids_of, key=ids_of.__getitem__)
        ids = np.fromiter(map(ids_of.__getitem__, in_order), np.uint32, len(in_order))
        lengths = np.fromiter(map(len, in_order), np.int64, len(in_order))
        codes = np.frombuffer("".join(in_order).encode("utf-32-le", "surrogatepass"), np.uint32)
        values = bytes_of_codes(codes)
        of_token = np.repeat(np.arange(len(in_order)), lengths)
        spelled = lengths > 0
        spelled[of_token[values < 0]] = False
        others = np.nonzero(~spelled)[0].tolist()
        kept = spelled[of_token]
        ends = np.cumsum(lengths[spelled], dtype=np.uint64)
        # A printable character takes one byte or two.
        sizes = np.cumsum(1 + (codes[kept] >= 0x80), dtype=np.uint64)
        return _Spelled(
            ids[spelled],
            values[kept].astype(np.uint8).tobytes(),
            ends,
            lengths[spelled].astype(np.uint64),
            codes[kept].tobytes().decode("utf-32-le").encode("utf-8"),
            sizes[ends.astype(np.int64) - 1],
            {int(ids[place]): in_order[place].encode("utf-8") for place in others},
        )


def _resolved(
    path: Path, spelled: _Spelled, merges: bytes, place: Callable[[int], str], repeated: Repeated
) -> NDArray[np.uint32]:
    """Return the places of the parents and results of all merges among the tokens."""
    rows, wrong = resolve_pairs(spelled.spellings, spelled.ends_of_spellings, merges)
    if wrong is not None:
        refuse(path, f"{place(wrong)} is not a merge: {' '.join(_parts(merges, wrong))!r:.80}")
    unknown = np.nonzero(rows == _UNKNOWN)[0]
    if len(unknown):
        rank = int(unknown[0])
        left, right = _parts(merges, rank)
        for part, number in zip((left, right), rows[rank].tolist(), strict=False):
            if number == _UNKNOWN:
                refuse(path, f"{place(rank)} is made of {_shown(part)}, which is not a token")
        refuse(path, f"{place(rank)} makes {_shown(left + right)}, which is not a token")
    distinct = distinct_pairs(rows, keep_last=repeated == "last")
    if repeated == "refused" and len(distinct) < len(rows):
        again = int(
            np.nonzero(np.any(distinct != rows[: len(distinct)], axis=1))[0].min(initial=len(distinct))
        )
        left, right = map(_shown, _parts(merges, again))
        refuse(path, f"{place(again)}, {left} and {right}, appears twice")
    return distinct


def distinct_pairs(rows: NDArray[np.uint32], *, keep_last: bool) -> NDArray[np.uint32]:
    """Leave out the rows whose pair also occurs in a later row (or in an earlier one).

    >>> rows = np.array([[1, 2, 3], [2, 1, 4], [1, 2, 3]], np.uint32)
    >>> distinct_pairs(rows, keep_last=True).tolist()
    [[2, 1, 4], [1, 2, 3]]
    """
    pairs = rows[:, 0].astype(np.uint64) << np.uint64(32) | rows[:, 1]
    in_order = np.sort(pairs)
    if not np.any(in_order[1:] == in_order[:-1]):
        return rows
    firsts = np.unique(pairs[::-1] if keep_last else pairs, return_index=True)[1]
    return rows[np.sort(len(rows) - 1 - firsts if keep_last else firsts)]


def _parts(merges: bytes, rank: int) -> list[str]:
    return merges.split(b"\n")[rank].decode("utf-8", "replace").split(" ")


def _shown(spelled: str) -> str:
    try:
        return f"{from_printable(spelled)!r:.80}"
    except KeyError:
        return f"{spelled!r:.80} (not byte-level)"


def merge_lines(path: Path, merges: Sequence[object], field: str) -> bytes:
    """Return merges, each a text `left right` or a list of two texts, as lines; `field` is for the messages.

    >>> merge_lines("a.json", ["a b", ["Ġ", "t"]], "merges")
    b'a b\\n\\xc4\\xa0 t'
    """
    if set(map(type, merges)) <= {str}:
        lines = cast("Sequence[str]", merges)
    elif set(map(type, merges)) == {list} and set(map(len, cast("Sequence[list[object]]", merges))) == {2}:
        try:
            lines = list(map(" ".join, cast("Sequence[list[str]]", merges)))
        except TypeError:
            lines = [_merge_line(path, merge, f"{field}[{rank}]") for rank, merge in enumerate(merges)]
    else:
        lines = [_merge_line(path, merge, f"{field}[{rank}]") for rank, merge in enumerate(merges)]
    joined = "\n".join(lines)
    if joined.count("\n") != max(len(lines) - 1, 0) or joined.count(" ") != len(lines):
        rank = next(rank for rank, line in enumerate(lines) if line.count(" ") != 1 or "\n" in line)
        refuse(path, f"{field}[{rank}]: {lines[rank]!r:.80} is not a pair of tokens")
    return joined.encode("utf-8", "surrogatepass")


def _merge_line(path: Path, merge: object, place: str) -> str:
    if isinstance(merge, list) and list(map(type, merge)) == [str, str]:
        return " ".join(merge)
    if not isinstance(merge, str):
        refuse(path, f"{place}: {merge!r:.80} is not a pair of tokens")
    return merge
