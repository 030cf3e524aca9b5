"""SentencePiece's `.model` of type BPE: its protobuf message in, a vocabulary out.

Only the parts that decide ids are read: pieces with their scores and kinds, and the normalization.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from bpetite._internal.json import refuse
from bpetite._internal.types import Path
from bpetite.formats.shared.charsmap import replaced_texts
from bpetite.formats.shared.configuration import Configuration, NamedToken
from bpetite.formats.shared.imported import UNICODE_ASSUMPTION, Imported
from bpetite.formats.shared.pieces import Pieces, byte_of_name, unknown_characters, vocabulary_of_pieces
from bpetite.normalization import Step, normalizing
from bpetite.vocabulary import MARK

_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED, _BYTE = range(1, 7)
_APART = frozenset([_UNKNOWN, _CONTROL, _USER_DEFINED, _BYTE])
_KINDS = {1: "Unigram", 3: "words", 4: "characters"}
_BPE = 2

_PIECE, _TRAINER, _NORMALIZER = 1, 2, 3
"""The fields of the message that are read."""

_BEGINNINGS = {bytes([field << 3 | 2]) for field in (_PIECE, _TRAINER, _NORMALIZER)}
"""How a message may begin: the fields of a message, and of each of its parts, stand in any order."""

_TEXT, _SCORE, _KIND = 0x0A, 0x15, 0x18
"""How the text, the score and the kind of a piece begin; a piece itself begins as its text does."""

_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5


def may_begin(content: bytes) -> bool:
    """Whether a message may begin so."""
    return content[:1] in _BEGINNINGS


def is_model(content: bytes) -> bool:
    """Whether a file begins with a field of such a message: a piece, in most files, or settings."""
    if not may_begin(content):
        return False
    try:
        field, value = next(_fields("", content))
        inner = dict(_fields("", value)) if isinstance(value, bytes) else {}
    except (StopIteration, ValueError):
        return False
    return bool(inner) and (field != _PIECE or isinstance(inner.get(1), bytes))


def parse(path: Path, content: bytes, beside: Configuration | None = None) -> Imported:
    """Read a file's content, and add the tokens that a configuration beside it names; errors name `path`."""
    pieces, end = _leading_pieces(content)
    trainer: dict[int, int | bytes] = {}
    normalizer: dict[int, int | bytes] = {}
    for field, value in _fields(path, content, end):
        if field == _PIECE and isinstance(value, bytes):
            pieces.add(*_piece(path, len(pieces.texts), value))
        elif field == _TRAINER and isinstance(value, bytes):
            trainer.update(_fields(path, value))
        elif field == _NORMALIZER and isinstance(value, bytes):
            normalizer.update(_fields(path, value))
    kind = trainer.get(3, 1)
    if kind != _BPE:
        refuse(
            path,
            f"a SentencePiece model of {_KINDS.get(_number(kind), 'no known kind')}; only BPE can be read",
        )
    _check_normalizer(path, trainer, normalizer)
    normalization, said = _normalization(path, normalizer, pieces)
    puts_space = bool(normalizer.get(3, 1))
    imported = of_pieces(path, pieces, puts_space=puts_space, normalization=normalization, beside=beside)
    said += imported.assumptions
    return replace(
        imported,
        assumptions=said,
        extras=("the scores of pieces, but not their order", "the settings of training"),
    )


@dataclass(frozen=True)
class Listed:
    """The pieces of a file in the order of their ids."""

    texts: list[str]
    scores: list[float]
    kinds: list[int]

    def add(self, text: str, score: float, kind: int) -> None:
        """Add a piece.

        >>> listed = Listed([], [], [])
        >>> listed.add("the", -1.0, 1)
        >>> listed.texts
        ['the']
        """
        self.texts.append(text)
        self.scores.append(score)
        self.kinds.append(kind)


def of_pieces(
    path: Path,
    pieces: Listed,
    *,
    puts_space: bool,
    normalization: tuple[Step, ...] = (),
    beside: Configuration | None = None,
) -> Imported:
    """Make a vocabulary of pieces (text, score and kind), in the order of ids, and of tokens beside them."""
    ids = dict(zip(pieces.texts, range(len(pieces.texts)), strict=True))
    _check_pieces(path, pieces, ids)
    byte_ids: dict[int, int] = {}
    special_tokens: dict[str, int] = {}
    user_defined: list[str] = []
    one_space = normalizing([step for step in normalization if step[0] == "Replace"])
    for token_id in [token_id for token_id, kind in enumerate(pieces.kinds) if kind in _APART]:
        text, kind = pieces.texts[token_id], pieces.kinds[token_id]
        if kind == _USER_DEFINED:
            # User-defined pieces are searched in the original text, with plain spaces.
            plain = text.replace(MARK, " ")
            if one_space(plain) != plain:
                refuse(
                    path,
                    f"user-defined piece {token_id} ({text!r:.80}) has spaces at an end, or several, "
                    "and remove_extra_whitespaces is on, which is not supported together",
                )
            if " " in text:
                continue  # It is searched where all spaces are U+2581, so it is never found.
        del ids[text]
        if kind == _BYTE:
            byte = byte_of_name(text)
            if byte is None:
                refuse(path, f"piece {token_id}: {text!r:.80} is not the name of a byte")
            byte_ids[byte] = token_id
            continue
        if kind == _USER_DEFINED:
            text = plain
            user_defined.append(plain)
        if text in special_tokens:
            refuse(path, f"piece {token_id}: {text!r:.80} appears twice")
        special_tokens[text] = token_id
    flags: dict[str, Sequence[str]] = {text: ["normalized"] for text in user_defined}
    added = _added_beside(path, beside or Configuration(), pieces, special_tokens)
    for text, token in added.items():
        special_tokens[text] = cast(int, token.token_id)
        flags[text] = token.flags
        if not token.is_special:
            user_defined.append(text)
    space: list[Step] = [("Prepend first", " ")] if puts_space else []
    vocabulary = vocabulary_of_pieces(
        Pieces(path, ids, byte_ids, True, special_tokens),
        None,
        _ranked(path, pieces),
        normalization=normalization or (*space, ("Replace", MARK, " ")),
        token_flags={text: names for text, names in flags.items() if names},
        added_tokens=user_defined,
        drops_space=puts_space,
        unknown=next(((place, True) for place, kind in enumerate(pieces.kinds) if kind == _UNKNOWN), None),
    )
    named = [f"added, as the files beside it say: {', '.join(map(repr, added))}"] if added else []
    return Imported(
        vocabulary,
        [
            *named,
            *unknown_characters(vocabulary),
            "pretokens are cut where no piece reaches across (the file has no pattern)",
            "control pieces in a text are found unless they are to be text; sentencepiece finds none",
            "no special tokens are put around a text",
            UNICODE_ASSUMPTION,
        ],
    )


def _added_beside(
    path: Path, beside: Configuration, pieces: Listed, special_tokens: Mapping[str, int]
) -> dict[str, NamedToken]:
    """Return the tokens that a configuration adds; one that contradicts the pieces is refused."""
    added: dict[str, NamedToken] = {}
    for text, token in beside.tokens.items():
        if text in special_tokens or token.token_id is None:
            continue
        token_id = token.token_id
        if token_id < len(pieces.texts) and pieces.texts[token_id].replace(MARK, " ") != text:
            refuse(
                path,
                f"the files beside it say that {token_id} is {text!r:.80}, but it is piece "
                f"{pieces.texts[token_id]!r:.80}",
            )
        added[text] = token
    return added


def _check_pieces(path: Path, pieces: Listed, ids: Mapping[str, int]) -> None:
    """Refuse pieces that are empty, appear twice or are of a kind that cannot be repeated."""
    if "" in ids:
        refuse(path, f"piece {ids['']}: '' is empty")
    if len(ids) < len(pieces.texts):
        place, text = next(item for item in enumerate(pieces.texts) if ids[item[1]] != item[0])
        refuse(path, f"piece {ids[text]}: {text!r:.80} appears twice, at {place} first")
    if _UNUSED in pieces.kinds:
        place = pieces.kinds.index(_UNUSED)
        text = pieces.texts[place]
        refuse(
            path,
            f"piece {place}: {text!r:.80} is marked as unused: "
            "what stands for it depends on the text around it",
        )


def _ranked(path: Path, pieces: Listed) -> list[tuple[float, str]]:
    """Return the pieces of several characters with their ranks: the highest score is the lowest."""
    scored = zip(pieces.texts, pieces.scores, pieces.kinds, strict=True)
    ranked = [(-score, text) for text, score, kind in scored if kind == _NORMAL and len(text) > 1]
    if unordered := [text for score, text in ranked if math.isnan(score)]:
        refuse(path, f"the score of {unordered[0]!r:.80} is not a number")
    return ranked


def _check_normalizer(
    path: Path, trainer: Mapping[int, int | bytes], normalizer: Mapping[int, int | bytes]
) -> None:
    if not normalizer.get(5, 1):
        refuse(
            path, "it does not replace spaces by U+2581 (escape_whitespaces is off), which is not supported"
        )
    if trainer.get(24):
        refuse(path, "it puts the space after a text (treat_whitespace_as_suffix), which is not supported")


def _normalization(
    path: Path, normalizer: Mapping[int, int | bytes], pieces: Listed
) -> tuple[tuple[Step, ...], list[str]]:
    """Return the steps of the normalization, and assumptions about texts that do not come back."""
    steps: list[Step] = []
    said: list[str] = []
    space: list[Step] = [("Prepend first", " ")] if normalizer.get(3, 1) else []
    compiled = normalizer.get(2)
    if isinstance(compiled, bytes) and compiled:
        symbols = {
            text
            for text, kind in zip(pieces.texts, pieces.kinds, strict=True)
            if kind == _USER_DEFINED and text
        }
        replaced = replaced_texts(path, compiled)
        # User-defined pieces are looked for first, and are kept as they are.
        begun = tuple(symbols)
        for text in [text for text in replaced if text.startswith(begun)]:
            del replaced[text]
        replaced.update((symbol, symbol) for symbol in sorted(symbols))
        steps.append(("Map", json.dumps(replaced, ensure_ascii=False, sort_keys=True, separators=(",", ":"))))
        name = normalizer.get(1, b"")
        named = name.decode("utf-8", "replace") if isinstance(name, bytes) else "?"
        said.append(f"texts come back as they are normalized ({named!r:.40})")
    if not normalizer.get(4, 1):
        return (*steps, *space, ("Replace", MARK, " ")), said
    said.append("of several spaces one is kept, and none at the ends of a text (remove_extra_whitespaces)")
    one_space: list[Step] = [("Replace", " {2,}", " "), ("Replace", r"\A ", "")]
    return (*steps, *one_space, *space, ("Replace", MARK, " "), ("Replace", r" +\Z", "")), said


# The message ---------------------------------------------------------------------------------------------


def _leading_pieces(content: bytes) -> tuple[Listed, int]:
    """The pieces that a file begins with, as long as they are written as sentencepiece writes short ones;
    and where they end.

    Such a piece is a text, a score, and a kind other than normal, each with a byte that says what it is.
    """
    texts: list[bytes] = []
    scores: list[bytes] = []
    kinds: list[int] = []
    at, end = 0, len(content)
    while at + 4 < end and content[at] == _TEXT and content[at + 2] == _TEXT:
        size, length = content[at + 1], content[at + 3]
        score = at + 4 + length
        after = at + 2 + size
        if size > 0x7F or after > end or after < score + 5 or content[score] != _SCORE:
            break
        if after == score + 5:
            kinds.append(_NORMAL)
        elif after == score + 7 and content[score + 5] == _KIND and content[score + 6] < 0x80:
            kinds.append(content[score + 6])
        else:
            break
        texts.append(content[at + 4 : score])
        scores.append(content[score + 1 : score + 5])
        at = after
    try:
        decoded = [text.decode("utf-8") for text in texts]
    except UnicodeDecodeError:
        return Listed([], [], []), 0  # Reading piece by piece tells which it is.
    return Listed(decoded, [*_floats(b"".join(scores))], kinds), at


def _floats(packed: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(packed) // 4}f", packed)


def _piece(path: Path, place: int, message: bytes) -> tuple[str, float, int]:
    """Return the text, score and kind of a piece."""
    found = dict(_fields(path, message))
    text, score, kind = found.get(1, b""), found.get(2, b"\0\0\0\0"), found.get(3, _NORMAL)
    if (
        not isinstance(text, bytes)
        or not isinstance(score, bytes)
        or len(score) != 4
        or isinstance(kind, bytes)
    ):
        refuse(path, f"piece {place} is not a text with a score and a kind")
    try:
        return text.decode("utf-8"), _floats(score)[0], kind
    except UnicodeDecodeError as error:
        refuse(path, f"piece {place}: not valid UTF-8 at byte {error.start}")


def _fields(path: Path, message: bytes, at: int = 0) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of a message from a place on: their numbers with integers, or with bytes."""
    end = len(message)
    while at < end:
        key, at = _varint(path, message, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = _varint(path, message, at)
            yield key >> 3, value
            continue
        if kind == _BYTES:
            length, at = _varint(path, message, at)
        elif kind in (_FIXED_32, _FIXED_64):
            length = 4 if kind == _FIXED_32 else 8
        else:
            refuse(path, f"broken at byte {at}: there is no kind of field {kind}")
        if length > end - at:
            refuse(path, f"cut off, or broken: a field of {length} bytes, and {end - at} are left")
        yield key >> 3, message[at : at + length]
        at += length


def _varint(path: Path, message: bytes, at: int) -> tuple[int, int]:
    """Read the number at a place; return it and its end."""
    value = 0
    for place, byte in enumerate(message[at : at + 10]):
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value, at + place + 1
    return refuse(path, "cut off, or broken, within a number")


def _number(value: int | bytes) -> int:
    return value if isinstance(value, int) else -1
