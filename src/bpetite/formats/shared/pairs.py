"""Tokens with ids and merges as pairs in, both in printable form; a vocabulary out. GPT-2's and Hugging
Face's files and GGUF have them.

The engine computes everything: some files list every way to cut each token in two, half a million in all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Literal, cast

from bpetite._engine import listed_merges, merges_that_happen, read_printed
from bpetite.vocabulary import LARGEST_ID, Arrays, Vocabulary

Repeated = Literal["last", "first", "refused"]
"""The rank of a pair that is listed more than once: that of its first or last place, or an error."""

_WITHIN, _BETWEEN = b"\xfe", b"\xff"
"""What stands between the two parts of a merge, and between merges, where they are packed as the engine takes
them: no UTF-8 has these bytes."""


def check_ids(ids: Mapping[str, object], where: str = "") -> None:
    """Refuse numbers of tokens that are no ids, or that two tokens have.

    >>> check_ids({"a": 5, "b": 5}, "model.vocab: ")
    Traceback (most recent call last):
    ValueError: model.vocab: id 5 is given to 'a' and 'b'
    """
    owner: dict[object, str] = {}
    for text, token_id in ids.items():
        if type(token_id) is not int or not 0 <= token_id <= LARGEST_ID:
            raise ValueError(
                f"{where}the id of {text!r:.80} is {token_id!r:.80}, not a number from 0 to {LARGEST_ID}"
            )
        if owner.setdefault(token_id, text) != text:
            raise ValueError(f"{where}id {token_id} is given to {owner[token_id]!r:.80} and {text!r:.80}")


def vocabulary_of_pairs(
    ids: dict[str, int],
    merges: bytes,
    *,
    place: Callable[[int], str] = "merge {}".format,
    repeated: Repeated = "last",
    cut_out: Collection[str] = (),
    **fields: Any,
) -> Vocabulary:
    """Make the vocabulary; errors name the `place` of the merge of a rank.

    `ids` are those of all tokens but the special ones; `merges` are packed (`packed_merges`); `fields` are
    all others of the vocabulary. Tokens with characters that stand for no byte are only decoded, as their own
    library decodes them. Merges with tokens that are `cut_out` of texts before do not count.

    A pair that is listed again has the rank of its last place, or of its first, as it has for the library
    that the file is for, or is refused. Where merges stand before those of their parents, those that never
    happen are left out: at most one merge of each token happens.
    """
    tokens, others = read_printed(ids)
    rows = rows_of_pairs(ids, merges, others, place=place, cut_out=cut_out, repeated=repeated)
    arrays = Arrays(*tokens, merges_that_happen(*tokens, rows))
    return Vocabulary.of_arrays(arrays, irregular=True, decode_only=texts_of(ids, others), **fields)


def texts_of(ids: dict[str, int], listed: Collection[int]) -> dict[int, bytes]:
    """Return the texts of some tokens.

    >>> texts_of({"a": 5, "b": 7}, [7])
    {7: b'b'}
    """
    wanted = set(listed)
    return {token_id: text.encode("utf-8") for text, token_id in ids.items() if token_id in wanted}


def rows_of_pairs(
    ids: dict[str, int],
    merges: bytes,
    only_decoded: Collection[int],
    *,
    place: Callable[[int], str],
    cut_out: Collection[str] = (),
    repeated: Repeated = "last",
) -> bytes:
    """Find the tokens of merges; return rows of left, right and result.

    Errors name the `place` of a merge. Merges with tokens that are `only_decoded` are left out, as no text
    has them.
    """
    apart = [text for text in cut_out if text not in ids]
    rows, wrong, unknown, again = listed_merges(ids, merges, repeated != "first", set(only_decoded), apart)

    def parts(rank: int) -> list[str]:
        return next(islice(parts_of(merges), rank, None))

    if wrong is not None:
        raise ValueError(f"{place(wrong)}: {' '.join(parts(wrong))!r:.80} is not a pair of tokens")
    if unknown is not None:
        number, are_unknown = unknown
        left, right = parts(number)
        part = next(
            part for part, lacks in zip((left, right, left + right), are_unknown, strict=True) if lacks
        )
        made = "is made of" if any(are_unknown[:2]) else "makes"
        raise ValueError(f"{place(number)} {made} {part!r:.80}, which is not a token")
    if again is not None and repeated == "refused":
        left, right = parts(again)
        raise ValueError(f"{place(again)}, {left!r:.80} and {right!r:.80}, appears twice")
    return rows


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
