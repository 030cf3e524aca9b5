"""Tokens that are made of characters, as SentencePiece's are, in; a vocabulary of bytes out.

In such files a space is spelled U+2581, merges begin with characters, and a character that is no token is
spelled by tokens of its bytes. Here, spaces are spaces (a U+2581 of a text becomes one, as both are the same
there), and the first merges put the bytes of every character together. What these merges make on the way to a
character is provisional: where it is left over, the tokens of its bytes stand in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, groupby
from operator import itemgetter
from typing import Any

from bpetite._constants import Pair
from bpetite._engine import merges_that_happen, read_pieces, recover_merges
from bpetite.dialect import Dialect
from bpetite.formats.shared.imported import IN_TEXTS
from bpetite.formats.shared.pairs import rows_of_pairs, texts_of
from bpetite.patterns import PATTERNS
from bpetite.vocabulary import LARGEST_ID, MARK, Arrays, Vocabulary

BYTE_NAMES = {f"<0x{byte:02X}>": byte for byte in range(256)}
"""The bytes by the names of their tokens."""


@dataclass(frozen=True)
class Pieces:
    """What a file says of its tokens."""

    ids: dict[str, int]
    """The ids of all tokens but bytes and special ones, by their spelling."""
    byte_ids: Mapping[int, int]
    """The ids of the tokens for single bytes, such as `<0x0A>`."""
    has_marks: bool
    """Whether spaces are spelled U+2581."""
    special_tokens: Mapping[str, int]
    left_out: frozenset[str] = frozenset()
    """Special tokens that no text becomes by merging, so that merges with them do not count."""

    @property
    def space(self) -> str:
        """How a space is spelled."""
        return MARK if self.has_marks else " "

    @property
    def first_free(self) -> int:
        """The first id behind all others."""
        listed = (self.ids.values(), self.byte_ids.values(), self.special_tokens.values())
        return max(max(ids, default=-1) for ids in listed) + 1


def vocabulary_of_pieces(
    pieces: Pieces,
    merges: bytes | None,
    ranked: Sequence[tuple[float, str]] = (),
    *,
    pattern: str | None = None,
    puts_space: bool = False,
    unknown: tuple[int, bool] | None = None,
    place: Callable[[int], str] = "merge {}".format,
    **fields: Any,
) -> Vocabulary:
    """Make the vocabulary, of packed merges (`packed_merges`) or of tokens with their ranks.

    Errors name the `place` of a merge in its file. `fields` are all others of the vocabulary.

    Without a pattern, text is cut where no token reaches across. `puts_space` puts a space before all text
    between special tokens that begins with none. Where there are tokens for all bytes, nothing is `unknown`.
    """
    ids, free = pieces.ids, pieces.first_free
    characters = map(chr, range(0x80))
    spelled = {ord(one) for one in characters if one.replace(" ", pieces.space) in ids}
    lacking = sorted(set(IN_TEXTS) - pieces.byte_ids.keys() - spelled)
    if not lacking:
        unknown = None
    elif unknown is None or pieces.byte_ids:
        raise ValueError(
            f"there is no token <0x{lacking[0]:02X}>, so that characters without a token would be lost"
        )
    has_space = pieces.space in ids
    if pieces.has_marks and pieces.byte_ids and not has_space and MARK not in pieces.special_tokens:
        raise ValueError(
            "no token is U+2581, so that a space would be spelled by the bytes of that character"
        )
    if free > LARGEST_ID - len(lacking):
        raise ValueError("its ids leave no free ones for the parts of characters")
    byte_ids = {byte: own for byte, own in pieces.byte_ids.items() if byte not in spelled}
    byte_ids |= zip(lacking, count(free))
    tokens, whole, others = read_pieces(ids, list(byte_ids.items()), free + len(lacking), pieces.has_marks)
    arrays = Arrays(*tokens, whole)
    equal: list[Pair] = []
    if merges is None:
        arrays, equal = _by_ranks(
            arrays, {ids[spelled]: rank for rank, spelled in sorted(ranked, key=itemgetter(0))}
        )
    else:
        rows = rows_of_pairs(ids, merges, others, place=place, cut_out=pieces.left_out)
        arrays = replace(arrays, merges=merges_that_happen(*tokens, whole + rows))
    cut = pattern
    if cut is None and unknown is not None and unknown[1] and not has_space:
        cut = PATTERNS["none"]  # Unknown characters are joined across all that might be cut.
    elif cut is None:
        cut = _pattern_of_pieces(pieces, only_at_spaces=unknown is not None)
    spare = {own: bytes([byte]) for byte, own in pieces.byte_ids.items() if byte in spelled}
    return Vocabulary.of_arrays(
        arrays,
        irregular=True,
        special_tokens=pieces.special_tokens,
        pattern=f"(?space)(?then){cut}" if puts_space else cut,
        dialect=Dialect.named("huggingface"),
        decode_only=texts_of(ids, others) | spare,
        unknown=unknown,
        provisional=range(free, arrays.id_at(-1) + 1),
        equal_ranks=equal,
        **fields,
    )


def _pattern_of_pieces(pieces: Pieces, *, only_at_spaces: bool) -> str:
    """Return a pattern that cuts text only where no token reaches across."""
    if any(pieces.space in text.lstrip(pieces.space) for text in pieces.ids):
        return PATTERNS["none"]
    only_at_spaces = only_at_spaces or any("\n" in text and text.strip("\n") for text in pieces.ids)
    return " *[^ ]+| +" if only_at_spaces else r"\n+| *[^ \n]+| +"


def _by_ranks(arrays: Arrays, ranks: Mapping[int, float]) -> tuple[Arrays, list[Pair]]:
    """Add the merges where two neighbours merge if they are a token together, the lowest rank first; return
    also where those with equal ranks are. Bytes and what the given merges make need no rank.
    """
    token_of = arrays.to_tokens()
    unranked = [token_id for token_id, token in token_of.items() if len(token) == 1]
    ids = [*dict.fromkeys([*unranked, *arrays.to_merge_ids(), *ranks])]
    in_order = Arrays.of({token_id: token_of[token_id] for token_id in ids})
    rows, _ = recover_merges(in_order.ids, in_order.tokens, in_order.ends, _equal(map(ranks.get, ids)))
    arrays = replace(arrays, merges=rows)
    return arrays, _equal(map(ranks.get, arrays.to_merge_ids()))


def _equal(ranks: Iterable[float | None]) -> list[Pair]:
    """Return where equal ranks begin and end; None is no rank.

    >>> _equal([None, None, 1.0, 2.0, 2.0, 3.0])
    [(3, 5)]
    """
    found: list[Pair] = []
    start = 0
    for rank, same in groupby(ranks):
        end = start + len(list(same))
        if rank is not None and end - start > 1:
            found.append((start, end))
        start = end
    return found
