"""Tokens that are made of characters, as SentencePiece's are, in; a vocabulary of bytes out.

In such files a space is spelled U+2581, merges begin with characters, and a character that is no token is
spelled by tokens of its bytes. Here, spaces are spaces (a U+2581 of a text becomes one, as both are the same
there), and the first merges put the bytes of every character together. What these merges make on the way to a
character is provisional: where it is left over, the tokens of its bytes stand in its place.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Literal

from bpetite._constants import Pair
from bpetite._engine import (
    PieceTokens,
    merges_that_happen,
    read_pieces,
    recover_merges,
)
from bpetite._internal.json import refuse
from bpetite._internal.types import Path
from bpetite.dialect import Dialect
from bpetite.formats.shared.pairs import IN_TEXTS, ends_of, rows_of_pairs
from bpetite.normalization import Normalization
from bpetite.patterns import PATTERNS
from bpetite.vocabulary import LARGEST_ID, MARK, Arrays, Vocabulary

BYTE_NAMES = tuple(f"<0x{byte:02X}>" for byte in range(256))
"""The names of the tokens of single bytes."""

_BYTES = {name: byte for byte, name in enumerate(BYTE_NAMES)}


@dataclass(frozen=True)
class Pieces:
    """What a file says of its tokens."""

    path: Path
    ids: Mapping[str, int]
    """The ids of all tokens but bytes and special ones, by their spelling."""
    byte_ids: Mapping[int, int]
    """The ids of the tokens for single bytes, such as `<0x0A>`."""
    has_marks: bool
    """Whether spaces are spelled U+2581."""
    special_tokens: Mapping[str, int]
    left_out: frozenset[str] = frozenset()
    """Special tokens that no text becomes by merging, so that merges with them do not count."""

    def has(self, text: str) -> bool:
        """Whether a text becomes a token of its own."""
        return (text.replace(" ", MARK) if self.has_marks else text) in self.ids


def _pattern_of_pieces(tokens: PieceTokens, *, only_at_spaces: bool) -> str:
    """Return a pattern that cuts text only where no token reaches across."""
    if tokens.has_inner_spaces:
        return PATTERNS["none"]
    return " *[^ ]+| +" if only_at_spaces or tokens.has_joined_lines else r"\n+| *[^ \n]+| +"


def byte_of_name(name: str) -> int | None:
    """Return the byte that a token such as `<0x0A>` is.

    >>> byte_of_name("<0x0A>"), byte_of_name("<0xA>")
    (10, None)
    """
    return _BYTES.get(name)


def vocabulary_of_pieces(
    pieces: Pieces,
    merges: bytes | None,
    ranked: Sequence[tuple[float, str]] = (),
    *,
    pattern: str | None = None,
    puts_space: bool = False,
    normalization: Normalization | None = None,
    token_flags: Mapping[str, Collection[str]] | None = None,
    added_tokens: Collection[str] = (),
    drops_space: bool | Literal["all"] = False,
    unknown: tuple[int, bool] | None = None,
    place: Callable[[int], str] = "merge {}".format,
) -> Vocabulary:
    """Make the vocabulary, of packed merges (`shared/merges.py`) or of tokens with their ranks.

    Errors name the `place` of a merge in its file.

    Without a pattern, text is cut where no token reaches across. `puts_space` puts a space before all text
    between special tokens that begins with none. Where there are tokens for all bytes, nothing is `unknown`.
    """
    path = pieces.path
    lacking = {byte for byte in IN_TEXTS if byte not in pieces.byte_ids}
    lacking -= {byte for byte in lacking if byte < 0x80 and pieces.has(chr(byte))}
    if not lacking:
        unknown = None
    elif unknown is None or pieces.byte_ids:
        refuse(
            path,
            f"there is no token <0x{min(lacking):02X}>, so that characters without a token would be lost",
        )
    has_space = pieces.has(" ")
    if pieces.has_marks and pieces.byte_ids and not has_space and MARK not in pieces.special_tokens:
        refuse(path, "no token is U+2581, so that a space would be spelled by the bytes of that character")
    tokens = _tokens_of(pieces)
    equal: list[Pair] = []
    if merges is None:
        rows, equal = _rows_of_ranks(pieces, tokens, ranked)
    else:
        rows = _rows(pieces, tokens, merges, place)
    arrays = Arrays(tokens.ids, tokens.tokens, tokens.ends, rows)
    cut = pattern
    if cut is None and unknown is not None and unknown[1] and not has_space:
        cut = PATTERNS["none"]  # Unknown characters are joined across all that might be cut.
    elif cut is None:
        cut = _pattern_of_pieces(tokens, only_at_spaces=unknown is not None)
    spelled = list(pieces.ids) if tokens.others else []
    others = {pieces.ids[spelled[place]]: spelled[place].encode("utf-8") for place in tokens.others}
    try:
        return Vocabulary.of_arrays(
            arrays,
            special_tokens=pieces.special_tokens,
            pattern=f"(?space)(?then){cut}" if puts_space else cut,
            dialect=Dialect.named("huggingface"),
            normalization=normalization,
            token_flags=token_flags or {},
            added_tokens=added_tokens,
            irregular=True,
            decode_only=others | {token_id: bytes([byte]) for token_id, byte in tokens.spare},
            drops_space=drops_space,
            unknown=unknown,
            provisional=range(_first_free(pieces), arrays.id_at(-1) + 1),
            equal_ranks=equal,
        )
    except ValueError as error:
        refuse(path, str(error))


def unknown_characters(vocabulary: Vocabulary) -> list[str]:
    """Return an assumption about the characters without a token, if they are not spelled by bytes."""
    if vocabulary.unknown is None:
        return []
    return [f"a character that no token has becomes id {vocabulary.unknown[0]}, and is lost"]


def _tokens_of(pieces: Pieces) -> PieceTokens:
    """Return all tokens, those of bytes and provisional ones included."""
    if _first_free(pieces) > LARGEST_ID:
        refuse(pieces.path, "its ids leave no free ones for the parts of characters")
    try:
        return read_pieces(
            dict(pieces.ids),
            list(pieces.byte_ids.items()),
            () if pieces.byte_ids else IN_TEXTS,
            _first_free(pieces),
            pieces.has_marks,
        )
    except UnicodeEncodeError as lone:
        refuse(pieces.path, f"token {lone.object!r:.80} is not text: {lone.reason}")
    except ValueError as error:
        refuse(pieces.path, str(error))


def _first_free(pieces: Pieces) -> int:
    """Return the first id behind all others."""
    listed = (pieces.ids.values(), pieces.byte_ids.values(), pieces.special_tokens.values())
    return max(max(ids, default=-1) for ids in listed) + 1


def _rows_of_ranks(
    pieces: Pieces, tokens: PieceTokens, ranked: Sequence[tuple[float, str]]
) -> tuple[bytes, list[Pair]]:
    """The merges where two neighbours merge if they are a token together, the lowest rank first, and where
    those with equal ranks are.
    """
    arrays = Arrays(tokens.ids, tokens.tokens, tokens.ends, b"")
    rank_of = {pieces.ids[spelled]: rank for rank, spelled in sorted(ranked, key=itemgetter(0))}
    ids = [token_id for token_id, _ in tokens.single_bytes]
    ids += memoryview(tokens.characters).cast("I").tolist()[2::3]
    ids = [*dict.fromkeys([*ids, *rank_of])]
    token_of = arrays.to_tokens()
    joined = [token_of[token_id] for token_id in ids]
    rows, _ = recover_merges(
        array("I", ids).tobytes(), b"".join(joined), ends_of(joined), _equal(map(rank_of.get, ids))
    )
    return rows, _equal(map(rank_of.get, memoryview(rows).cast("I").tolist()[2::3]))


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


def _rows(pieces: Pieces, tokens: PieceTokens, merges: bytes, place: Callable[[int], str]) -> bytes:
    """The merges of a list of pairs."""
    rows = rows_of_pairs(
        pieces.path,
        tokens.piece_ids,
        tokens.piece_texts,
        tokens.piece_ends,
        merges,
        place=place,
        cut_out=[text for text in pieces.left_out if text not in pieces.ids],
        only_decoded=tokens.others,
    )
    return merges_that_happen(tokens.ids, tokens.tokens, tokens.ends, tokens.characters + rows)
