"""SentencePiece's `.model` of type BPE: its protobuf message in, a vocabulary out.

Only the parts that decide ids are read: pieces with their scores and kinds, and the normalization.
"""

import math
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from bpetite.formats.shared.character_map import replaced_texts
from bpetite.formats.shared.configuration import Configuration
from bpetite.formats.shared.imported import Imported, of_beside, parsed_unlike
from bpetite.formats.shared.pairs import BYTE_NAMES, Pieces, vocabulary_of_pieces
from bpetite.normalization import Step, normalizing
from bpetite.vocabulary import MARK, Vocabulary

_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED, _BYTE = range(1, 7)
_SPECIAL = (_UNKNOWN, _CONTROL, _USER_DEFINED, _BYTE)
_KINDS = {1: "Unigram", 3: "words", 4: "characters"}
_BPE = 2

_PIECE, _TRAINER, _NORMALIZER = 1, 2, 3
"""The fields of the message that are read."""

_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5

Fields = dict[int, Any]
"""The fields of a part of the message by their numbers."""


def may_begin(content: bytes) -> bool:
    """Whether bytes begin like such a message: with a piece, in most files, or with settings."""
    return re.match(rb"(?s)\n[^\n].?[\n\x15\x18]|[\x12\x1a]", content) is not None


class Piece(NamedTuple):
    """A piece of a file, in which pieces stand in the order of their ids."""

    text: str
    score: float
    kind: int


def parse(content: bytes, beside: Configuration | None = None) -> Imported:
    """Read a file's content, and add the tokens that a configuration beside it names."""
    pieces: list[Piece] = []
    trainer = Fields()
    normalizer = Fields()
    for number, value in _fields(content):
        if number == _PIECE and isinstance(value, bytes):
            pieces.append(_piece(len(pieces), value))
        elif number == _TRAINER and isinstance(value, bytes):
            trainer.update(_fields(value))
        elif number == _NORMALIZER and isinstance(value, bytes):
            normalizer.update(_fields(value))
    kind = trainer.get(3, 1)
    if kind != _BPE:
        known = _KINDS.get(kind, "no known kind")
        raise ValueError(f"a SentencePiece model of {known}; only BPE can be read")
    if not normalizer.get(5, 1):
        raise ValueError(
            "it does not replace spaces by U+2581 (escape_whitespaces is off), which is not supported"
        )
    if trainer.get(24):
        raise ValueError(
            "it puts the space after a text (treat_whitespace_as_suffix), which is not supported"
        )
    steps, assumptions = _normalization(normalizer, pieces)
    puts_space = bool(normalizer.get(3, 1))
    imported = of_pieces(pieces, puts_space=puts_space, steps=steps, beside=beside)
    lost = ("the scores of pieces, but not their order", "the settings of training")
    return imported._replace(assumed=[*assumptions, *imported.assumed], extras=lost)


def of_pieces(
    pieces: Sequence[Piece],
    *,
    puts_space: bool,
    steps: Sequence[Step] = (),
    beside: Configuration | None = None,
) -> Imported:
    """Make a vocabulary of pieces in the order of ids, and of tokens beside them.

    `steps` come before the one that puts a space before a text.
    """
    ids, ranked = _ids_and_ranks(pieces)
    byte_ids: dict[int, int] = {}
    special_tokens: dict[str, int] = {}
    flags: dict[str, Sequence[str]] = {}
    user_defined: list[str] = []
    unknown_id: int | None = None
    end: list[Step] = []
    if ("Replace", " {2,}", " ") in steps:
        end.append(("Replace", r" +\Z", ""))
    one_space = normalizing([step for step in (*steps, *end) if step[0] == "Replace"])
    for token_id, (text, _, kind) in enumerate(pieces):
        if kind == _NORMAL:
            continue
        if kind == _UNKNOWN and unknown_id is None:
            unknown_id = token_id
        # User-defined pieces are searched in the original text, with plain spaces.
        plain = text.replace(MARK, " ") if kind == _USER_DEFINED else text
        if kind == _USER_DEFINED and one_space(plain) != plain:
            raise ValueError(
                f"user-defined piece {token_id} ({text!r:.80}) has spaces at an end, or several, "
                "and remove_extra_whitespaces is on, which is not supported together"
            )
        if kind not in _SPECIAL or (kind == _USER_DEFINED and " " in text):
            continue  # One with a space is searched where all spaces are U+2581, so it is never found.
        del ids[text]
        if kind == _BYTE:
            if text not in BYTE_NAMES:
                raise ValueError(f"piece {token_id}: {text!r:.80} is not the name of a byte")
            byte_ids[BYTE_NAMES[text]] = token_id
            continue
        if kind == _USER_DEFINED:
            user_defined.append(plain)
            flags[plain] = ["normalized"]
        if plain in special_tokens:
            raise ValueError(f"piece {token_id}: {plain!r:.80} appears twice")
        special_tokens[plain] = token_id
    configuration = beside or Configuration()
    added = {
        text: token_id for text, token_id in configuration.ids.items() if text not in special_tokens
    }
    for text, token_id in added.items():
        if token_id < len(pieces):
            piece_text = pieces[token_id].text
            if piece_text.replace(MARK, " ") != text:
                differs = f"say that {token_id} is {text!r:.80}, but it is piece {piece_text!r:.80}"
                raise ValueError(f"the files next to it {differs}")
        token = configuration.tokens[text]
        flags[text] = token.flags
        if not token.is_special:
            user_defined.append(text)
    special_tokens |= added
    space: list[Step] = [("Prepend first", " ")] if puts_space else []
    vocabulary = vocabulary_of_pieces(
        Pieces(ids, byte_ids, True, special_tokens),
        None,
        ranked,
        normalization=(*steps, *space, ("Replace", MARK, " "), *end),
        token_flags={text: names for text, names in flags.items() if names},
        added_tokens=user_defined,
        drops_space=puts_space,
        unknown=None if unknown_id is None else (unknown_id, True),
    )
    assumptions = [of_beside(added)] if added else []
    assumptions.append(parsed_unlike("sentencepiece"))
    return Imported(vocabulary, assumptions, template=configuration.template(special_tokens))


def _ids_and_ranks(pieces: Sequence[Piece]) -> tuple[dict[str, int], list[tuple[float, str]]]:
    """Return the ids of pieces, and those of several characters with ranks: the highest score is the lowest.

    Pieces that are empty, appear twice or are of a kind that cannot be repeated are refused.
    """
    ids: dict[str, int] = {}
    ranked: list[tuple[float, str]] = []
    for token_id, (text, score, kind) in enumerate(pieces):
        if not text:
            raise ValueError(f"piece {token_id}: {text!r} is empty")
        if text in ids:
            raise ValueError(f"piece {token_id}: {text!r:.80} appears twice, at {ids[text]} first")
        if kind == _UNUSED:
            unused = "is marked as unused: what replaces it depends on the text around it"
            raise ValueError(f"piece {token_id}: {text!r:.80} {unused}")
        ids[text] = token_id
        if kind == _NORMAL and len(text) > 1:
            if math.isnan(score):
                raise ValueError(f"the score of {text!r:.80} is not a number")
            ranked.append((-score, text))
    return ids, ranked


def _normalization(normalizer: Fields, pieces: Sequence[Piece]) -> tuple[list[Step], list[str]]:
    """Return the first steps of the normalization, and assumptions about texts that do not come back."""
    steps: list[Step] = []
    assumptions: list[str] = []
    compiled = normalizer.get(2)
    if compiled and isinstance(compiled, bytes):
        # User-defined pieces are looked for first, and are kept as they are.
        symbols = tuple(text for text, _, kind in pieces if kind == _USER_DEFINED)
        new_texts = replaced_texts(compiled)
        replaced = {text: new for text, new in new_texts.items() if not text.startswith(symbols)}
        replaced |= {symbol: symbol for symbol in symbols}
        steps.append(("Map", *chain.from_iterable(sorted(replaced.items()))))
        name = normalizer.get(1, b"")
        shown = name.decode("utf-8", "replace") if isinstance(name, bytes) else "?"
        assumptions.append(
            f"texts are normalized ({shown!r:.40}), and decoding returns the normalized text"
        )
    if normalizer.get(4, 1):
        assumptions.append(
            "runs of spaces become one space, and spaces at the ends of a text are removed "
            "(remove_extra_whitespaces)"
        )
        steps += [("Replace", " {2,}", " "), ("Replace", r"\A ", "")]
    return steps, assumptions


# The message
# -------------------------------------------------------------------------------------------


def _piece(place: int, message: bytes) -> Piece:
    fields: Fields = {1: b"", 2: b"\0\0\0\0", 3: _NORMAL}
    fields.update(_fields(message))
    try:
        text = fields[1].decode("utf-8")
        [score] = struct.unpack("<f", fields[2])
        return Piece(text, score, fields[3] + 0)  # A TypeError if it is bytes.
    except UnicodeDecodeError as error:
        raise ValueError(f"piece {place}: not valid UTF-8 at byte {error.start}") from None
    except (AttributeError, TypeError, struct.error):
        raise ValueError(f"piece {place} is not a text with a score and a kind") from None


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of a message: their numbers with integers, or with bytes."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & 7
        if kind in (_VARINT, _BYTES):
            value, at = _varint(message, at)
            if kind == _VARINT:
                yield key >> 3, value
                continue
        elif kind in (_FIXED_32, _FIXED_64):
            value = 4 if kind == _FIXED_32 else 8
        else:
            raise ValueError(f"broken at byte {at}: there is no kind of field {kind}")
        room = len(message) - at
        if value > room:
            raise ValueError(f"cut off, or broken: a field of {value} bytes, and {room} are left")
        yield key >> 3, message[at : at + value]
        at += value


# Changing a file
# ---------------------------------------------------------------------------------------

_VOCAB_SIZE = 4
_IDS_OF_TRAINER = range(40, 44)
"""The fields of the settings of training that are the size, and the ids of control pieces."""


def edited(content: bytes, vocabulary: Vocabulary, moved: Mapping[int, int]) -> bytes:
    """Return the file of a changed vocabulary; `editing.edited` explains `moved`.

    A piece's id is its place, and the scores say which is merged first: those of new pieces are
    below all others.
    """
    messages = list(_fields(content))
    if b"".join(_field(number, value) for number, value in messages) != content:
        raise ValueError("it has fields that cannot be written again")
    old_pieces = [value for number, value in messages if number == _PIECE]
    pieces: dict[int, bytes] = {}
    scores = [0.0]
    for old_id, value in enumerate(old_pieces):
        if old_id in moved and isinstance(value, bytes):
            pieces[moved[old_id]] = value
            scores.append(_piece(old_id, value).score)
    score = math.floor(min(scores))
    known = {*moved.values(), *vocabulary.provisional}
    for token_id in dict.fromkeys(vocabulary.merge_ids):
        if token_id in known:
            continue
        score -= 1
        if struct.unpack("<f", struct.pack("<f", score))[0] != score:
            raise ValueError(f"no score of 32 bits is below {min(scores)} by one")
        text = vocabulary.tokens[token_id].decode("utf-8").replace(" ", MARK).encode("utf-8")
        pieces[token_id] = _field(1, text) + b"\x15" + struct.pack("<f", score)
    hole = next((token_id for token_id in range(len(pieces)) if token_id not in pieces), None)
    if hole is not None:
        raise ValueError(f"its ids are places, and no token would have id {hole}")
    written = [_field(_PIECE, pieces[token_id]) for token_id in range(len(pieces))]
    for number, value in messages:
        if number == _TRAINER and isinstance(value, bytes):
            written.append(_field(number, _edited_trainer(value, len(pieces), moved)))
        elif number != _PIECE:
            written.append(_field(number, value))
    return b"".join(written)


def _edited_trainer(message: bytes, size: int, moved: Mapping[int, int]) -> bytes:
    """Return the settings of training with another size and ids; what they are else stays as it is."""
    written = b""
    at = 0
    while at < len(message):
        start = at
        key, at = _varint(message, at)
        kind = key & 7
        value = 4 if kind == _FIXED_32 else 8
        if kind in (_VARINT, _BYTES):
            value, at = _varint(message, at)
        if kind == _VARINT and key >> 3 == _VOCAB_SIZE:
            written += _field(key >> 3, size)
        elif kind == _VARINT and key >> 3 in _IDS_OF_TRAINER:
            written += _field(key >> 3, moved.get(value, value))
        else:
            at += 0 if kind == _VARINT else value
            written += message[start:at]
    return written


def _field(number: int, value: int | bytes) -> bytes:
    """Write a field of a message.

    >>> _field(1, 300), _field(2, b"ab")
    (b'\\x08\\xac\\x02', b'\\x12\\x02ab')
    """
    if isinstance(value, bytes):
        return _number(number << 3 | _BYTES) + _number(len(value)) + value
    return _number(number << 3 | _VARINT) + _number(value)


def _number(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*written, value])


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Read the number at a place; return it and its end."""
    if at < len(message) and message[at] < 0x80:  # as most are
        return message[at], at + 1
    value = 0
    for place, byte in enumerate(message[at : at + 10]):
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value, at + place + 1
    raise ValueError("cut off, or broken, within a number")
