"""Tokens with ids and merges as pairs in, both in printable form; a vocabulary out. GPT-2's and Hugging
Face's files and GGUF have them.

The engine computes everything: some files list every way to cut each token in two, half a million in all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal, NoReturn, cast

from bpetite._engine import listed_merges, merges_that_happen, places_of_length, read_printed
from bpetite._internal.json import refuse
from bpetite._internal.types import Path
from bpetite.dialect import Dialect
from bpetite.formats.shared.printable import from_printable
from bpetite.vocabulary import Arrays, Normalization, Vocabulary

Repeated = Literal["last", "first", "refused"]
"""The rank of a pair that is listed more than once: that of its first or last place, or an error."""

IN_TEXTS = (*range(0xC0), *range(0xC2, 0xF5))
"""The bytes that can occur in UTF-8."""


def vocabulary_of_pairs(
    path: Path,
    ids: dict[str, int],
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
        own_ids, tokens, ends, printed, printed_ends, others = read_printed(ids)
    except UnicodeEncodeError as lone:
        refuse(path, f"token {lone.object!r:.80} is not text: {lone.reason}")
    keeps_last = repeated != "first"
    rows, wrong, lacking, again = listed_merges(own_ids, printed, printed_ends, merges, keeps_last, ())
    if wrong is not None:
        refuse(path, f"{place(wrong)} is not a merge: {' '.join(_parts(merges, wrong))!r:.80}")
    if lacking is not None:
        _refuse_unknown(path, _parts(merges, lacking[0]), lacking[1], place(lacking[0]))
    if again is not None and repeated == "refused":
        left, right = map(_shown, _parts(merges, again))
        refuse(path, f"{place(again)}, {left} and {right}, appears twice")
    arrays = Arrays(own_ids, tokens, ends, merges_that_happen(own_ids, tokens, ends, rows))
    base = {arrays.id_at(number): arrays.token_at(number) for number in places_of_length(ends, 1)}
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
            decode_only={ids[text]: text.encode("utf-8") for text in others},
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


def _refuse_unknown(path: Path, parts: Sequence[str], unknown: Sequence[bool], place: str) -> NoReturn:
    """Refuse a merge, of whose left part, right part and result some are no token."""
    for part, is_unknown in zip(parts, unknown, strict=False):
        if is_unknown:
            refuse(path, f"{place} is made of {_shown(part)}, which is not a token")
    refuse(path, f"{place} makes {_shown(''.join(parts))}, which is not a token")


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
