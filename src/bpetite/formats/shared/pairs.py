"""Tokens with ids and merges as pairs in, both in printable form; a vocabulary out. GPT-2's and Hugging
Face's files and GGUF have them.

The engine computes everything: some files list every way to cut each token in two, half a million in all.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Literal

from bpetite._engine import listed_merges, merges_that_happen, read_printed
from bpetite._internal.json import refuse
from bpetite._internal.types import Path
from bpetite.dialect import Dialect
from bpetite.formats.shared.merges import parts_of
from bpetite.normalization import Normalization
from bpetite.vocabulary import Arrays, Vocabulary

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
    cut_out: Collection[str] = (),
) -> Vocabulary:
    """Make the vocabulary; errors name `path` and the `place` of the merge of a rank.

    `ids` are those of all tokens but the special ones; `merges` are packed (`shared/merges.py`).
    Tokens with characters that stand for no byte are only decoded, as their own library decodes them.
    Merges with tokens that are `cut_out` of texts before do not count.

    A pair that is listed again has the rank of its last place, or of its first, as it has for the library
    that the file is for, or is refused. Where merges stand before those of their parents, those that never
    happen are left out: at most one merge of each token happens.
    """
    try:
        own_ids, tokens, ends, printed, printed_ends, others = read_printed(ids)
    except UnicodeEncodeError as lone:
        refuse(path, f"token {lone.object!r:.80} is not text: {lone.reason}")
    rows = rows_of_pairs(
        path, own_ids, printed, printed_ends, merges, place=place, cut_out=cut_out, repeated=repeated
    )
    arrays = Arrays(own_ids, tokens, ends, merges_that_happen(own_ids, tokens, ends, rows))
    try:
        return Vocabulary.of_arrays(
            arrays,
            special_tokens=special_tokens,
            pattern=pattern,
            dialect=dialect,
            whole_pretoken_first=whole_pretoken_first,
            normalization=normalization,
            token_flags=token_flags or {},
            added_tokens=added_tokens,
            unknown=unknown,
            irregular=True,
            decode_only={ids[text]: text.encode("utf-8") for text in others},
        )
    except ValueError as error:
        refuse(path, str(error))


def rows_of_pairs(
    path: Path,
    ids: bytes,
    texts: bytes,
    ends: bytes,
    merges: bytes,
    *,
    place: Callable[[int], str],
    cut_out: Collection[str] = (),
    repeated: Repeated = "last",
    only_decoded: Sequence[int] = (),
) -> bytes:
    """Find the tokens (ids, joined texts and their ends) of merges; return rows of left, right and result.

    Errors name the `place` of a merge. Merges with tokens at the places `only_decoded` are left out, as no
    text has them.
    """
    others = [text.encode("utf-8") for text in cut_out]
    rows, wrong, unknown, again = listed_merges(
        ids,
        texts + b"".join(others),
        ends + ends_of(others, len(texts)),
        merges,
        repeated != "first",
        only_decoded,
    )
    if wrong is not None:
        refuse(path, f"{place(wrong)}: {' '.join(parts_of(merges, wrong))!r:.80} is not a pair of tokens")
    if unknown is not None:
        number, are_unknown = unknown
        left, right = parts_of(merges, number)
        part = next(
            part for part, lacks in zip((left, right, left + right), are_unknown, strict=True) if lacks
        )
        made = "is made of" if any(are_unknown[:2]) else "makes"
        refuse(path, f"{place(number)} {made} {part!r:.80}, which is not a token")
    if again is not None and repeated == "refused":
        left, right = parts_of(merges, again)
        refuse(path, f"{place(again)}, {left!r:.80} and {right!r:.80}, appears twice")
    return rows


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
    if vocabulary.drops_missing:
        return [f"a byte without a token is left out {which}"]
    return [f"text with a byte without a token cannot be encoded {which}"]


def check_merges_bytes(vocabulary: Vocabulary) -> None:
    """Refuse a vocabulary whose merges begin with characters, which no format can be written from."""
    if vocabulary.provisional:
        raise ValueError(
            "a vocabulary whose merges begin with characters is only written as the tokenizer.json that it "
            "was read from; its artifact can hold it"
        )
    if vocabulary.equal_ranks:
        raise ValueError("no format of another library holds merges of equal ranks; its artifact can hold it")


def ends_of(tokens: Iterable[bytes], start: int = 0) -> bytes:
    """Return where each token ends if they are joined, as the bytes of an array.

    >>> array("Q", ends_of([b"a", b"bcd"], 5)).tolist()
    [6, 9]
    """
    return array("Q", accumulate(map(len, tokens), initial=start)).tobytes()[8:]
