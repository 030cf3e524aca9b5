"""What encoding a text gives in the interface of `tokenizers`: ids, and on demand all else about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

Span = tuple[int, int]


class Described(Protocol):
    """Whatever can tell more about the tokens of a text."""

    def offsets(self, text: str) -> list[Span]:
        """Where each token stands."""
        ...

    def words(self, text: str) -> list[int]:
        """Which pretoken each token is of."""
        ...

    def tokens(self, text: str, ids: Sequence[int]) -> list[str]:
        """How each token is spelled."""
        ...

    @property
    def trims(self) -> bool:
        """Whether offsets leave out the white space of their tokens."""
        ...

    def trimmed(self, tokens: Sequence[str], offsets: Sequence[Span]) -> list[Span]:
        """Offsets without the white space of their tokens."""
        ...


@dataclass(frozen=True)
class Inner:
    """The tokens of a text, before any are cut off or put around them."""

    text: str
    ids: list[int]
    described: Described

    @cached_property
    def offsets(self) -> list[Span]:
        """Where each token stands in the text."""
        return self.described.offsets(self.text)

    @cached_property
    def words(self) -> list[int]:
        """Which pretoken each token is of."""
        return self.described.words(self.text)

    @cached_property
    def tokens(self) -> list[str]:
        """How each token is spelled."""
        return self.described.tokens(self.text, self.ids)


class Special(NamedTuple):
    """A special token that is put beside a text."""

    token_id: int
    type_id: int
    name: str


@dataclass(frozen=True)
class Around:
    """Special tokens that are put before and behind a text, each with its id, type and name."""

    before: tuple[Special, ...] = ()
    behind: tuple[Special, ...] = ()
    type_id: int = 0
    is_ranged: bool = False
    """Whether what is around is told apart from the text in `sequence_ids`."""

    @property
    def count(self) -> int:
        """How many special tokens these are."""
        return len(self.before) + len(self.behind)


@dataclass(frozen=True)
class Pads:
    """What fills up an encoding."""

    left: int = 0
    right: int = 0
    pad_id: int = 0
    type_id: int = 0
    token: str = ""


@dataclass(frozen=True, eq=False)
class Encoding:
    """The tokens of a text, or of a part of it, with those that are put around them."""

    inner: Inner
    start: int
    stop: int
    around: Around
    pads: Pads = field(default_factory=Pads)
    overflowing: list[Encoding] = field(default_factory=list)

    @cached_property
    def ids(self) -> list[int]:
        """The ids of all tokens."""
        ids = self.inner.ids
        if self.stop - self.start != len(ids):
            ids = ids[self.start : self.stop]
        if self.around.count:
            before = [special.token_id for special in self.around.before]
            ids = [*before, *ids, *(special.token_id for special in self.around.behind)]
        return self._padded(ids, self.pads.pad_id) if self.pads.left or self.pads.right else ids

    @cached_property
    def type_ids(self) -> list[int]:
        """The type of each token."""
        before = [special.type_id for special in self.around.before]
        own = [self.around.type_id] * (self.stop - self.start)
        types = [*before, *own, *(special.type_id for special in self.around.behind)]
        return self._padded(types, self.pads.type_id)

    @cached_property
    def tokens(self) -> list[str]:
        """How each token is spelled."""
        before = [special.name for special in self.around.before]
        own = self.inner.tokens[self.start : self.stop]
        tokens = [*before, *own, *(special.name for special in self.around.behind)]
        return self._padded(tokens, self.pads.token)

    @cached_property
    def offsets(self) -> list[Span]:
        """Where each token stands in the text, in characters."""
        inner = self.inner
        own = inner.offsets[self.start : self.stop]
        if inner.described.trims:
            own = inner.described.trimmed(inner.tokens[self.start : self.stop], own)
        return self._surrounded(own, (0, 0))

    @cached_property
    def word_ids(self) -> list[int | None]:
        """Which pretoken each token is of; None for what is put around."""
        return self._surrounded([*self.inner.words[self.start : self.stop]], None)

    @property
    def words(self) -> list[int | None]:
        """An older name of `word_ids`."""
        return self.word_ids

    @cached_property
    def attention_mask(self) -> list[int]:
        """1 for each token, 0 for what fills up."""
        return self._padded([1] * (self.around.count + self.stop - self.start), 0)

    @cached_property
    def special_tokens_mask(self) -> list[int]:
        """0 for the tokens of the text, 1 for all others."""
        return self._surrounded([0] * (self.stop - self.start), 1)

    @cached_property
    def sequence_ids(self) -> list[int | None]:
        """0 for the tokens of the text, None for all others."""
        if not self.around.is_ranged:
            return [0] * len(self)
        return self._surrounded([0] * (self.stop - self.start), None)

    @property
    def n_sequences(self) -> int:
        """How many texts these are the tokens of."""
        return 1

    def __len__(self) -> int:
        return self.around.count + self.stop - self.start + self.pads.left + self.pads.right

    def __repr__(self) -> str:
        return (
            f"Encoding(num_tokens={len(self)}, attributes=[ids, type_ids, tokens, offsets, attention_mask, "
            "special_tokens_mask, overflowing])"
        )

    # From one thing to another -----------------------------------------------------------------------

    def token_to_sequence(self, token_index: int) -> int | None:
        """Return of which text a token is."""
        if token_index > len(self):
            return None
        if not self.around.is_ranged:
            return 0
        return 0 if self._begin <= token_index < self._begin + self.stop - self.start else None

    def token_to_chars(self, token_index: int) -> Span | None:
        """Return where a token stands."""
        if self.token_to_sequence(token_index) is None or token_index >= len(self):
            return None
        return self.offsets[token_index]

    def token_to_word(self, token_index: int) -> int | None:
        """Return of which pretoken a token is."""
        if self.token_to_sequence(token_index) is None or token_index >= len(self):
            return None
        return self.word_ids[token_index]

    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> Span | None:
        """Return the first token of a pretoken, and the one behind its last."""
        first = last = None
        for place in self._range(sequence_index):
            word = self.word_ids[place]
            if word is not None and word > word_index:
                break
            if word == word_index:
                first, last = place if first is None else first, place + 1
        return None if first is None or last is None else (first, last)

    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> Span | None:
        """Return where a pretoken stands."""
        found = self.word_to_tokens(word_index, sequence_index)
        return found and (self.offsets[found[0]][0], self.offsets[found[1] - 1][1])

    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Return the token that a character is in."""
        for place in self._range(sequence_index):
            start, end = self.offsets[place]
            if start <= char_pos < end:
                return place
        return None

    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Return the pretoken that a character is in."""
        token = self.char_to_token(char_pos, sequence_index)
        return None if token is None else self.token_to_word(token)

    @property
    def _begin(self) -> int:
        """Where the tokens of the text begin."""
        return self.pads.left + len(self.around.before)

    def _range(self, sequence_index: int) -> range:
        if sequence_index == 0 and self.around.is_ranged:
            return range(self._begin, self._begin + self.stop - self.start)
        return range(len(self))

    def _padded(self, values: list, pad: object) -> list:  # type: ignore[type-arg]  # of any one type
        pads = self.pads
        return [pad] * pads.left + values + [pad] * pads.right if pads.left or pads.right else values

    def _surrounded(self, own: list, other: object) -> list:  # type: ignore[type-arg]  # of any one type
        around = self.around
        return self._padded([*[other] * len(around.before), *own, *[other] * len(around.behind)], other)

    # Cutting and filling up --------------------------------------------------------------------------

    def truncated(self, length: int, stride: int, direction: str) -> Encoding:
        """Return the first part of so many tokens, with those that follow as its overflow."""
        ranges = _ranges(len(self.inner.ids), length, stride, direction)
        parts = [replace(self, start=start, stop=stop) for start, stop in ranges]
        # What overflows keeps the type it had before anything was put around it.
        around = replace(self.around, type_id=0)
        return replace(parts[0], overflowing=[replace(part, around=around) for part in parts[1:]])

    def filled_up(self, length: int, pads: Pads, direction: str) -> Encoding:
        """Return an encoding of at least so many tokens."""
        missing = max(length - len(self), 0)
        sides: dict[str, Any] = {"left": missing} if direction == "left" else {"right": missing}
        overflowing = [part.filled_up(length, pads, direction) for part in self.overflowing]
        return replace(self, pads=replace(pads, **sides), overflowing=overflowing)


def _ranges(count: int, length: int, stride: int, direction: str) -> list[Span]:
    """Return the parts of at most `length` tokens, of which neighbours share `stride`.

    >>> _ranges(5, 3, 1, "right"), _ranges(5, 3, 0, "left")
    ([(0, 3), (2, 5)], [(2, 5), (0, 2)])
    """
    found: list[Span] = []
    step = length - stride
    for moved in range(0, count, step):
        start, stop = (
            (moved, min(moved + length, count))
            if direction == "right"
            else (max(count - moved - length, 0), count - moved)
        )
        found.append((start, stop))
        if stop == count if direction == "right" else start == 0:
            break
    return found
