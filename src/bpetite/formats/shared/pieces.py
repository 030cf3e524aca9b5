"""Tokens that are made of characters, as SentencePiece's are, in; a vocabulary of bytes out.

In such files a space is spelled U+2581, merges begin with characters, and a character that is no token is
spelled by tokens of its bytes. Here, spaces are spaces (a U+2581 of a text becomes one, as both are the same
there), and the first merges put the bytes of every character together. What these merges make on the way to a
character is provisional: where it is left over, the tokens of its bytes stand in its place.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain
from typing import cast

from bpetite._engine import listed_merges, merges_that_happen, recover_merges
from bpetite._internal.json import refuse
from bpetite._internal.types import Path
from bpetite.dialect import Dialect
from bpetite.formats.shared.pairs import IN_TEXTS
from bpetite.patterns import PATTERNS
from bpetite.vocabulary import LARGEST_ID, MARK, Arrays, Normalization, Vocabulary

_BETWEEN, _WITHIN = "\ud801", "\ud800"
"""What stands between texts, and between the two parts of a merge: no text holds half a surrogate pair."""


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

    @cached_property
    def texts(self) -> dict[str, int]:
        """The ids of tokens that texts become, by what they are in a text.

        Where spaces are spelled by marks, no text has a space any more.
        """
        if not self.has_marks:
            return {text: token_id for text, token_id in self.ids.items() if text}
        joined = _BETWEEN.join(self.ids)
        if " " not in joined and joined.count(_BETWEEN) == len(self.ids) - 1:
            texts = dict(zip(joined.replace(MARK, " ").split(_BETWEEN), self.ids.values(), strict=True))
            texts.pop("", None)
            return texts
        return {
            spelled.replace(MARK, " "): token_id
            for spelled, token_id in self.ids.items()
            if spelled and " " not in spelled
        }

    def others(self) -> dict[int, bytes]:
        """Return the tokens that no text becomes."""
        if len(self.texts) == len(self.ids):
            return {}
        in_texts = set(self.texts.values())
        return {
            token_id: spelled.encode("utf-8")
            for spelled, token_id in self.ids.items()
            if token_id not in in_texts
        }


def merge_lines(merges: Sequence[object]) -> str | None:
    """Join merges by line breaks, and their parts by spaces, or return None if a part holds a line break.

    >>> merge_lines([["a", "b"], ["ab", "c"]])
    'a b\\nab c'
    """
    try:
        if set(map(type, merges)) == {str}:
            lines = "\n".join(cast("Sequence[str]", merges))
        else:
            lines = "\n".join(map(" ".join, cast("Sequence[list[str]]", merges)))
        lines.encode("utf-8")
    except (TypeError, UnicodeEncodeError):
        return None
    return lines if lines.count("\n") == max(len(merges) - 1, 0) else None


def pattern_of_pieces(texts: Collection[str], *, only_at_spaces: bool = False) -> str:
    r"""Return a pattern that cuts text only where no token reaches across.

    >>> pattern_of_pieces(["the", " the", "  ", "\n"])
    '\\n+| *[^ \\n]+| +'
    >>> pattern_of_pieces(["of the"]) == PATTERNS["none"]
    True
    """
    joined = _BETWEEN.join(texts)
    if re.search(rf"[^ {_BETWEEN}] ", joined):
        return PATTERNS["none"]
    if only_at_spaces or re.search(rf"[^\n{_BETWEEN}]\n|\n[^\n{_BETWEEN}]", joined):
        return " *[^ ]+| +"
    return r"\n+| *[^ \n]+| +"


def byte_of_name(name: str) -> int | None:
    """Return the byte that a token such as `<0x0A>` is.

    >>> byte_of_name("<0x0A>"), byte_of_name("<0xA>")
    (10, None)
    """
    return _BYTES.get(name)


def vocabulary_of_pieces(
    pieces: Pieces,
    merges: Sequence[object] | None,
    in_order: Sequence[str] = (),
    *,
    lines: str | None = None,
    pattern: str | None = None,
    puts_space: bool = False,
    normalization: Normalization | None = None,
    token_flags: Mapping[str, Collection[str]] | None = None,
    added_tokens: Collection[str] = (),
    drops_space: bool = False,
    unknown: tuple[int, bool] | None = None,
    place: Callable[[int], str] = "merge {}".format,
) -> Vocabulary:
    """Make the vocabulary, of merges as pairs of spellings or of tokens `in_order` of their ranks.

    Errors name the `place` of a merge in its file; `lines` are the same merges by `merge_lines`, if known.

    Without a pattern, text is cut where no token reaches across. `puts_space` puts a space before all text
    between special tokens that begins with none. Where there are tokens for all bytes, nothing is `unknown`.
    """
    path = pieces.path
    lacking = {byte for byte in IN_TEXTS if byte not in pieces.byte_ids}
    lacking -= {byte for byte in lacking if byte < 0x80 and chr(byte) in pieces.texts}
    if not lacking:
        unknown = None
    elif unknown is None or pieces.byte_ids:
        refuse(
            path,
            f"there is no token <0x{min(lacking):02X}>, so that characters without a token would be lost",
        )
    if pieces.has_marks and pieces.byte_ids and " " not in pieces.texts and MARK not in pieces.special_tokens:
        refuse(path, "no token is U+2581, so that a space would be spelled by the bytes of that character")
    table = _Table.of(pieces)
    if merges is None:
        rows = _rows_of_ranks(table, in_order)
    else:
        rows = _rows_of_pairs(table, merges, lines, place)
    cut = pattern
    if cut is None and unknown is not None and unknown[1] and " " not in pieces.texts:
        cut = PATTERNS["none"]  # Unknown characters are joined across all that might be cut.
    elif cut is None:
        several = [text for text in pieces.texts if len(text) > 1]
        cut = pattern_of_pieces(several, only_at_spaces=unknown is not None)
    try:
        return Vocabulary(
            {token_id: token for token_id, token in table.tokens.items() if len(token) == 1},
            (),
            pieces.special_tokens,
            f"(?space)(?then){cut}" if puts_space else cut,
            Dialect.named("huggingface"),
            normalization=normalization,
            token_flags=token_flags or {},
            added_tokens=added_tokens,
            irregular=True,
            decode_only=table.decode_only,
            drops_space=drops_space,
            unknown=unknown,
        ).with_arrays(Arrays(table.ids, table.joined, table.ends, rows), sorted(table.provisional))
    except ValueError as error:
        refuse(path, str(error))


def unknown_characters(vocabulary: Vocabulary) -> list[str]:
    """Return an assumption about the characters without a token, if they are not spelled by bytes."""
    if vocabulary.unknown is None:
        return []
    return [f"a character that no token has becomes id {vocabulary.unknown[0]}, and is lost"]


@dataclass(frozen=True)
class _Table:
    """All tokens, those of bytes and provisional ones included."""

    pieces: Pieces
    tokens: Mapping[int, bytes]
    """In the order of ids."""
    decode_only: Mapping[int, bytes]
    provisional: frozenset[int]
    characters: Sequence[tuple[int, int, int]]
    """Merges (left, right and resulting id) that put characters together."""
    ids: bytes
    """Those of the tokens, as the bytes of an array."""
    joined: bytes
    ends: bytes

    @staticmethod
    def of(pieces: Pieces) -> _Table:
        texts = pieces.texts
        try:
            decode_only = pieces.others()
            tokens = dict(zip(texts.values(), encoded(list(texts)), strict=True))
        except UnicodeEncodeError as lone:
            refuse(pieces.path, f"token {lone.object!r:.80} is not text: {lone.reason}")
        base: dict[int, int] = {}
        for byte in range(256):
            spare = pieces.byte_ids.get(byte)
            owner = texts.get(chr(byte), spare) if byte < 0x80 else spare
            if owner is None:
                continue
            base[byte] = owner
            if owner == spare:
                tokens[owner] = bytes([byte])
            elif spare is not None:
                decode_only[spare] = bytes([byte])
        next_id = max([*tokens, *decode_only, *pieces.special_tokens.values()]) + 1
        bytes_alone = []
        for byte in [] if pieces.byte_ids else IN_TEXTS:
            if byte not in base:  # a part of characters that no token may be, so they are unknown
                base[byte] = next_id
                tokens[next_id] = bytes([byte])
                bytes_alone.append(next_id)
                next_id += 1
        made = {bytes([byte]): token_id for byte, token_id in base.items()}
        rows: list[tuple[int, int, int]] = []
        characters = {character.encode("utf-8"): character for character in set("".join(texts))}
        for token in _parts_of_characters(characters):
            token_id = texts.get(characters.get(token, ""), next_id)
            if token_id == next_id:
                tokens[token_id] = token
                next_id += 1
            made[token] = token_id
            rows.append((made[token[:-1]], made[token[-1:]], token_id))
        if next_id > LARGEST_ID:
            refuse(pieces.path, "its ids leave no free ones for the parts of characters")
        in_order = dict(sorted(tokens.items()))
        return _Table(
            pieces,
            in_order,
            decode_only,
            frozenset([*bytes_alone, *(token_id for _, _, token_id in rows)]) - set(texts.values()),
            rows,
            array("I", in_order).tobytes(),
            b"".join(in_order.values()),
            _ends(in_order.values()),
        )


def _ends(tokens: Collection[bytes]) -> bytes:
    """Where each token ends if they are joined, as the bytes of an array."""
    return array("Q", accumulate(map(len, tokens))).tobytes()


def encoded(texts: Sequence[str]) -> list[bytes]:
    """Encode texts, all of them at once: one by one takes four times as long.

    >>> encoded(["a", "é"]), encoded([])
    ([b'a', b'\\xc3\\xa9'], [])
    """
    "".join(texts).encode("utf-8")  # Half a surrogate pair is an error.
    joined = _BETWEEN.join(texts).encode("utf-8", "surrogatepass")
    return joined.split(_BETWEEN.encode("utf-8", "surrogatepass")) if texts else []


def _parts_of_characters(characters: Collection[bytes]) -> list[bytes]:
    """All characters of several bytes, and their beginnings of at least two: the short ones first."""
    beginnings = {character[:end] for character in characters for end in range(2, len(character) + 1)}
    return sorted(beginnings, key=lambda token: (len(token), token))


def _rows_of_ranks(table: _Table, in_order: Sequence[str]) -> bytes:
    """The merges where two neighbours merge if they are a token together, the lowest rank first."""
    ids = [token_id for token_id, token in table.tokens.items() if len(token) == 1]
    ids += [token_id for _, _, token_id in table.characters]
    known = set(ids)
    ids += [token_id for spelled in in_order if (token_id := table.pieces.ids[spelled]) not in known]
    tokens = [table.tokens[token_id] for token_id in ids]
    return recover_merges(array("I", ids).tobytes(), b"".join(tokens), _ends(tokens))[0]


def _rows_of_pairs(
    table: _Table, merges: Sequence[object], lines: str | None, place: Callable[[int], str]
) -> bytes:
    """The merges of a list of pairs."""
    path, ids = table.pieces.path, table.pieces.ids
    spelled, space, line = [*ids, *table.pieces.left_out], " ", "\n"
    every, pairs = "".join(spelled), lines or merge_lines(merges)
    written = spelled
    if " " in every or "\n" in every or pairs is None:
        pairs = _as_texts(path, merges, place)
        used = set(pairs).union(every)
        # What separates the parts of merges, where it is a part of tokens itself, is written otherwise.
        free = [chr(code) for code in range(0xE000, 0xF900) if chr(code) not in used][:2]
        if len(free) < 2:
            refuse(path, "model.vocab: its tokens hold all characters for private use")
        space, line = free
        pairs = pairs.replace(" ", space).replace("\n", line).replace(_WITHIN, " ").replace(_BETWEEN, "\n")
        written = [text.replace(" ", space).replace("\n", line) for text in spelled]
    tokens = encoded(written)
    rows, wrong, unknown, _ = listed_merges(
        array("I", ids.values()).tobytes(),
        b"".join(tokens),
        _ends(tokens),
        pairs.encode("utf-8"),
        True,
        [number for number, token_id in enumerate(ids.values()) if token_id not in table.tokens]
        if table.decode_only
        else (),
    )
    if wrong is not None:
        refuse(path, f"{place(wrong)} is not a pair of tokens")
    if unknown is not None:
        parts = pairs.split("\n")[unknown[0]].replace(space, " ").replace(line, "\n")
        refuse(path, f"{place(unknown[0])}, {parts!r:.80}, has a part that is no token, or makes none")
    characters = array("I", chain.from_iterable(table.characters)).tobytes()
    return merges_that_happen(table.ids, table.joined, table.ends, characters + rows)


def _as_texts(path: Path, merges: Sequence[object], place: Callable[[int], str]) -> str:
    """Join merges, each a text `left right` or a list of two texts."""
    kinds = set(map(type, merges))
    if kinds <= {str}:
        lines = cast("Sequence[str]", merges)
        if not all(line.count(" ") == 1 for line in lines):
            rank = next(rank for rank, line in enumerate(lines) if line.count(" ") != 1)
            refuse(path, f"{place(rank)}: {lines[rank]!r:.80} is not a pair of tokens")
        joined = _BETWEEN.join(lines).replace(" ", _WITHIN)
    else:
        for rank, merge in enumerate(merges):
            if not isinstance(merge, list) or list(map(type, merge)) != [str, str]:
                refuse(path, f"{place(rank)}: {merge!r:.80} is not a pair of tokens")
        joined = _BETWEEN.join(map(_WITHIN.join, cast("Sequence[list[str]]", merges)))
    try:
        joined.replace(_BETWEEN, "").replace(_WITHIN, "").encode("utf-8")
    except UnicodeEncodeError:
        refuse(path, "model.merges: there is half a surrogate pair in it, so it is not text")
    return joined
