"""The result of encoding in the interface of `tokenizers`: ids, and on demand details of tokens."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, Protocol

Span = tuple[int, int]

_UNSIGNED = "can't convert negative int to unsigned"


class Described(Protocol):
    """The source of details about the tokens of a text."""

    def offsets(self, text: str, ids: list[int]) -> list[Span]:
        """Where each token stands."""
        ...

    def first_offsets(self, tokens: TextTokens, place: int) -> Span:
        """The place of a token if those before it are left out."""
        ...

    def words(self, text: str, ids: list[int]) -> Sequence[int | None]:
        """Which pretoken each token is of."""
        ...

    def tokens(self, text: str, ids: list[int]) -> list[str]:
        """How each token is spelled."""
        ...


class TextTokens:
    """The tokens of a text, before truncation and without special tokens around them."""

    _offsets: list[Span] | None = None

    def __init__(self, text: str, ids: list[int], described: Described) -> None:
        self.text = text
        self.ids = ids
        self.described = described

    @property
    def offsets(self) -> list[Span]:
        """Where each token stands in the text, in characters."""
        # `cached_property` takes a lock in older Pythons, which is half of what a short text takes.
        if self._offsets is None:
            self._offsets = self._find_offsets()
        return self._offsets

    def _find_offsets(self) -> list[Span]:
        return self.described.offsets(self.text, self.ids)

    @cached_property
    def words(self) -> Sequence[int | None]:
        """Which pretoken each token is of."""
        return self.described.words(self.text, self.ids)

    @cached_property
    def tokens(self) -> list[str]:
        """How each token is spelled."""
        return self.described.tokens(self.text, self.ids)

    def offsets_of(self, start: int, stop: int) -> list[Span]:
        """Where some of the tokens stand, if the others are left out."""
        offsets = self.offsets[start:stop]
        if start and offsets:
            offsets[0] = self.described.first_offsets(self, start)
        return offsets


class WordsTokens(TextTokens):
    """The tokens of a text that was given as a list of words."""

    def __init__(self, words: Sequence[TextTokens]) -> None:
        self._words = words
        self.ids = [*chain.from_iterable(word.ids for word in words)]

    def _find_offsets(self) -> list[Span]:
        """Where each token stands in its word, in characters."""
        return [*chain.from_iterable(word.offsets for word in self._words)]

    @cached_property
    def words(self) -> Sequence[int | None]:
        """Which of the given words each token is of."""
        return [place for place, word in enumerate(self._words) for _ in word.ids]

    @cached_property
    def tokens(self) -> list[str]:
        """How each token is spelled."""
        return [*chain.from_iterable(word.tokens for word in self._words)]

    def offsets_of(self, start: int, stop: int) -> list[Span]:
        """Where some of the tokens stand, if the others are left out."""
        offsets = self.offsets[start:stop]
        if start and offsets:
            before = start
            for word in self._words:
                if before < len(word.ids):
                    offsets[0] = word.offsets_of(before, before + 1)[0]
                    break
                before -= len(word.ids)
        return offsets


class BareTokens(TextTokens):
    """The tokens of a text of which only the ids are wanted."""

    def __init__(self, ids: list[int]) -> None:
        self.ids = ids
        self._offsets = [(0, 0)] * len(ids)
        self.words = [None] * len(ids)
        self.tokens = [""] * len(ids)

    def offsets_of(self, start: int, stop: int) -> list[Span]:
        """Return no places."""
        return self.offsets[start:stop]


class Stretch:
    """Consecutive tokens of a text, as part of an encoding."""

    __slots__ = ("begins", "moved_by", "source", "start", "stop", "type_id")
    is_of_text, attention = 1, 1

    def __init__(
        self,
        source: TextTokens,
        start: int,
        stop: int,
        type_id: int,
        moved_by: int = 0,
        begins: int | None = None,
    ) -> None:
        """`begins` is the first token that truncation left, if it is another one."""
        self.source = source
        self.begins = start if begins is None else begins
        self.start = start
        self.stop = stop
        self.type_id = type_id
        self.moved_by = moved_by

    def __len__(self) -> int:
        return self.stop - self.start

    def ids(self) -> list[int]:
        """Their ids."""
        return self.source.ids[self.start : self.stop]

    def type_ids(self) -> Iterable[int]:
        """The type of each."""
        return [self.type_id] * (self.stop - self.start)

    def tokens(self) -> list[str]:
        """How each is spelled."""
        return self.source.tokens[self.start : self.stop]

    def words(self) -> Sequence[int | None]:
        """Which pretoken each is of."""
        return self.source.words[self.start : self.stop]

    def offsets(self) -> list[Span]:
        """Where each stands."""
        source, start, stop = self.source, self.start, self.stop
        offsets = source.offsets_of(start, stop) if start == self.begins else source.offsets[start:stop]
        by = self.moved_by
        return [(start + by, end + by) for start, end in offsets] if by else offsets

    def part(self, start: int, stop: int) -> Stretch:
        """Some of them."""
        first, last = self.start + start, self.start + stop
        return Stretch(self.source, first, last, self.type_id, self.moved_by, self.begins)

    def moved(self, by: int) -> Stretch:
        """The same, so many characters further on."""
        moved_by = self.moved_by + by
        return Stretch(self.source, self.start, self.stop, self.type_id, moved_by, self.begins)


class Surrounding:
    """Tokens outside of texts, as part of an encoding: special tokens of a template, or padding."""

    __slots__ = ("attention", "entries", "place")
    is_of_text = 0

    def __init__(
        self, entries: Sequence[tuple[int, int, str]], attention: int = 1, place: Span = (0, 0)
    ) -> None:
        """Each entry is an id, a type and a spelling."""
        self.entries = entries
        self.attention = attention
        self.place = place

    def __len__(self) -> int:
        return len(self.entries)

    def ids(self) -> list[int]:
        """Their ids."""
        return [token_id for token_id, _, _ in self.entries]

    def type_ids(self) -> Iterable[int]:
        """The type of each."""
        return [type_id for _, type_id, _ in self.entries]

    def tokens(self) -> list[str]:
        """How each is spelled."""
        return [name for _, _, name in self.entries]

    def words(self) -> Sequence[int | None]:
        """Which pretoken each is of."""
        return [None] * len(self.entries)

    def offsets(self) -> list[Span]:
        """Where each stands."""
        return [self.place] * len(self.entries)

    def part(self, start: int, stop: int) -> Surrounding:
        """Some of them."""
        return Surrounding(self.entries[start:stop], self.attention, self.place)

    def moved(self, by: int) -> Surrounding:
        """The same, so many characters further on."""
        return Surrounding(self.entries, self.attention, (self.place[0] + by, self.place[1] + by))


Piece = Stretch | Surrounding


class Encoding:
    """Tokens of one or several texts, with those inserted between and around them."""

    __slots__ = ("_length", "_pieces", "_ranges", "overflowing")

    def __init__(
        self,
        pieces: Sequence[Piece] = (),
        ranges: dict[int, Span] | None = None,
        overflowing: list[Encoding] | None = None,
        length: int | None = None,
    ) -> None:
        """`ranges` tells of sequences where their tokens begin and end, `length` how many there are."""
        self._pieces = pieces
        self._ranges = {} if ranges is None else ranges
        self._length = sum(map(len, pieces)) if length is None else length
        self.overflowing = [] if overflowing is None else overflowing

    @property  # type: ignore[misc]  # it is only asked for
    def __class__(self) -> Any:
        """That of `tokenizers`, for whoever asks whether this is one."""
        import tokenizers

        return tokenizers.Encoding

    @property
    def ids(self) -> list[int]:
        """The ids of all tokens."""
        pieces = self._pieces
        return pieces[0].ids() if len(pieces) == 1 else _joined(p.ids() for p in pieces)

    @property
    def type_ids(self) -> list[int]:
        """The type of each token."""
        return _joined(piece.type_ids() for piece in self._pieces)

    @property
    def tokens(self) -> list[str]:
        """How each token is spelled."""
        pieces = self._pieces
        return pieces[0].tokens() if len(pieces) == 1 else _joined(p.tokens() for p in pieces)

    @property
    def offsets(self) -> list[Span]:
        """Where each token stands in its text, in characters."""
        pieces = self._pieces
        return pieces[0].offsets() if len(pieces) == 1 else _joined(p.offsets() for p in pieces)

    @property
    def word_ids(self) -> list[int | None]:
        """The pretoken of each token; None for tokens outside of texts."""
        return _joined(piece.words() for piece in self._pieces)

    @property
    def words(self) -> list[int | None]:
        """An older name of `word_ids`."""
        return self.word_ids

    @property
    def attention_mask(self) -> list[int]:
        """1 for each token, 0 for padding."""
        return _joined([piece.attention] * len(piece) for piece in self._pieces)

    @property
    def special_tokens_mask(self) -> list[int]:
        """0 for the tokens of texts, 1 for all others."""
        return _joined([1 - piece.is_of_text] * len(piece) for piece in self._pieces)

    @property
    def sequence_ids(self) -> list[int | None]:
        """The number of the text that each token is of, None for all others."""
        sequences: list[int | None] = [None] * self._length
        for sequence in range(self.n_sequences):
            start, stop = self._range(sequence)
            sequences[start:stop] = [sequence] * (stop - start)
        return sequences

    @property
    def n_sequences(self) -> int:
        """The number of texts."""
        return len(self._ranges) or 1

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        return (
            f"Encoding(num_tokens={self._length}, attributes=[ids, type_ids, tokens, offsets, "
            "attention_mask, special_tokens_mask, overflowing])"
        )

    # Conversions between places ----------------------------------------------------------------------

    def token_to_sequence(self, token_index: int) -> int | None:
        """Return the text of a token."""
        if _unsigned(token_index) > self._length:
            return None
        if not self._ranges:
            return 0
        found = (number for number, (start, stop) in self._ranges.items() if start <= token_index < stop)
        return next(found, None)

    def token_to_chars(self, token_index: int) -> Span | None:
        """Return the place of a token."""
        if self.token_to_sequence(token_index) is None or token_index >= self._length:
            return None
        return self.offsets[token_index]

    def token_to_word(self, token_index: int) -> int | None:
        """Return the pretoken of a token."""
        if self.token_to_sequence(token_index) is None or token_index >= self._length:
            return None
        return self.word_ids[token_index]

    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> Span | None:
        """Return the first token of a pretoken, and the one after its last."""
        begin, stop = self._range(_unsigned(sequence_index))
        first = last = None
        for place, word in enumerate(self.word_ids[begin:stop], begin):
            if word is not None and word > _unsigned(word_index):
                break
            if word == word_index:
                first, last = place if first is None else first, place + 1
        return None if first is None or last is None else (first, last)

    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> Span | None:
        """Return the place of a pretoken."""
        found = self.word_to_tokens(word_index, sequence_index)
        if found is None:
            return None
        offsets = self.offsets
        return offsets[found[0]][0], offsets[found[1] - 1][1]

    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Return the token of a character."""
        _unsigned(char_pos)
        begin, stop = self._range(_unsigned(sequence_index))
        for place, (start, end) in enumerate(self.offsets[begin:stop], begin):
            if start <= char_pos < end:
                return place
        return None

    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Return the pretoken of a character."""
        token = self.char_to_token(char_pos, sequence_index)
        return None if token is None else self.token_to_word(token)

    def _range(self, sequence: int) -> Span:
        return self._ranges.get(sequence, (0, self._length))

    # Merging, truncating and padding -------------------------------------------------------------------

    def set_sequence_id(self, sequence_id: int) -> None:
        """Make all tokens those of one text, which has this number."""
        self._ranges[_unsigned(sequence_id)] = (0, self._length)

    @staticmethod
    def merge(encodings: Iterable[Encoding], growing_offsets: bool = True) -> Encoding:
        """Concatenate encodings; offsets may continue where the previous ones end."""
        merged = Encoding()
        for encoding in encodings:
            merged = merged._followed_by(encoding, growing_offsets)
        return merged

    def _followed_by(self, other: Encoding, growing_offsets: bool) -> Encoding:
        overflowing = [
            part._followed_by(following, growing_offsets)
            for part in self.overflowing
            for following in (other, *other.overflowing)
        ]
        overflowing += [self._followed_by(following, growing_offsets) for following in other.overflowing]
        by = self.offsets[-1][1] if growing_offsets and self._length else 0
        pieces = [piece.moved(by) for piece in other._pieces] if by else other._pieces
        ranges = {
            number: (start + self._length, stop + self._length)
            for number, (start, stop) in other._ranges.items()
        }
        return Encoding([*self._pieces, *pieces], {**self._ranges, **ranges}, overflowing)

    def truncate(self, max_length: int, stride: int = 0, direction: str = "right") -> None:
        """Keep the first or last tokens; the others are the overflow, in parts of equal length."""
        if direction not in ("left", "right"):
            raise ValueError(f"Invalid truncation direction value : {direction}")
        if _unsigned(max_length) >= self._length:
            return
        if max_length == 0:
            whole = Encoding(self._pieces, self._ranges, self.overflowing)
            self._become(Encoding(overflowing=[whole]))
            return
        if _unsigned(stride) >= max_length:
            raise ValueError(f"stride must be less than max_length, which is {max_length}, not {stride}")
        parts = [
            Encoding(_cut(self._pieces, *span)) for span in spans(self._length, max_length, stride, direction)
        ]
        parts[0].overflowing = parts[1:]
        self._become(parts[0])

    def pad(
        self,
        length: int,
        direction: str = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
    ) -> None:
        """Pad to a number of tokens, the overflow, too."""
        if direction not in ("left", "right"):
            raise ValueError(f"Unknown `direction`: `{direction}`. Use one of `left` or `right`")
        for part in self.overflowing:
            part.pad(length, direction, pad_id, pad_type_id, pad_token)
        missing = _unsigned(length) - self._length
        if missing <= 0:
            return
        pads = Surrounding([(pad_id, pad_type_id, pad_token)] * missing, attention=0)
        if direction == "right":
            self._pieces = [*self._pieces, pads]
        else:
            self._pieces = [pads, *self._pieces]
            self._ranges = {
                number: (start + missing, stop + missing) for number, (start, stop) in self._ranges.items()
            }
        self._length += missing

    def _become(self, other: Encoding) -> None:
        self._pieces, self._ranges = other._pieces, other._ranges
        self._length, self.overflowing = other._length, other.overflowing

    # Pickling ------------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        names = ("ids", "type_ids", "tokens", "words", "offsets", "special_tokens_mask", "attention_mask")
        return {
            **{name: getattr(self, name) for name in names},
            "overflowing": [part._state() for part in self.overflowing],
            "sequence_ranges": {
                str(number): {"start": start, "end": stop} for number, (start, stop) in self._ranges.items()
            },
        }

    def __getstate__(self) -> bytes:
        return json.dumps(self._state(), ensure_ascii=False, separators=(",", ":")).encode("utf-8")

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        return _real_encoding, (self.__getstate__(),)


def _real_encoding(state: bytes) -> Any:
    """Return the encoding of `tokenizers` with this state."""
    import tokenizers

    encoding = tokenizers.Encoding()
    encoding.__setstate__(state)
    return encoding


def _joined(lists: Iterable[Iterable[Any]]) -> list[Any]:
    return [*chain.from_iterable(lists)]


def _unsigned(number: int) -> int:
    if number < 0:
        raise OverflowError(_UNSIGNED)
    return number


def _cut(pieces: Sequence[Piece], start: int, stop: int) -> list[Piece]:
    """Return the pieces of a range of tokens."""
    cut: list[Piece] = []
    begin = 0
    for piece in pieces:
        first, last = max(start - begin, 0), min(stop - begin, len(piece))
        if first < last:
            cut.append(piece.part(first, last))
        begin += len(piece)
    return cut


def spans(count: int, length: int, stride: int, direction: str) -> list[Span]:
    """Return the parts of at most `length` tokens, of which neighbours share `stride`.

    >>> spans(5, 3, 1, "right"), spans(5, 3, 0, "left")
    ([(0, 3), (2, 5)], [(2, 5), (0, 2)])
    """
    found: list[Span] = []
    for moved in range(0, count, length - stride):
        start, stop = (
            (moved, min(moved + length, count))
            if direction == "right"
            else (max(count - moved - length, 0), count - moved)
        )
        found.append((start, stop))
        if stop == count if direction == "right" else start == 0:
            break
    return found
