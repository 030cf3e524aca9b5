"""Text and ids in turns: ids that a model wrote stay as they are, and the text around them is encoded.

    turn:   "user: hi\\n"    [258, 97]      "\\nuser: so?"
    ids:    encoded          as they are   encoded behind the ids, as if the text were cut there

The places between turns are *seams*. Successive pieces of text are one turn, whose ids are those of
the joined text (`Tokenizer.growing`), and successive ids are one turn. Text behind ids is encoded
by itself, but not as the beginning of a text: no space is put before it. So, unless the vocabulary
changes texts, decoding all ids gives all text. An added token takes the white space next to it
only within its turn.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from operator import index
from typing import Any, NamedTuple, final

from bpetite._engine import Encoder, GrowingEncoding
from bpetite._internal.arguments import several
from bpetite._internal.integers import integer
from bpetite._internal.types import Ids, Special
from bpetite.encoding.canonical import difference
from bpetite.encoding.decoding import unknown_id
from bpetite.vocabulary import Vocabulary


class Seam(NamedTuple):
    """A place between two turns, and whether encoding the joined text would cut there, too."""

    text: int | None
    """The place in the text, in characters; None if ids before it are no text."""
    ids: int
    """The number of ids before it."""
    is_kept: bool | None
    """Whether the text up to the end of the next turn has the ids of the text before and of the next turn.
    None if a turn on either side of the seam is no text."""
    differs: int | None
    """If not: the number of the first id that becomes another one."""


class _Piece(NamedTuple):
    text: str
    special: Special | None
    label: int


class _Turn(NamedTuple):
    """Pieces of text; or ids, and then there is no piece."""

    start: int  # the number of ids before
    pieces: list[_Piece]


class _Joined(NamedTuple):
    """The text of a number of turns, as one text."""

    turns: int
    seams: list[Seam]
    place: int | None
    growing: GrowingEncoding | None  # None behind what is no text


@final
class Transcript:
    """Text and ids in turns, with the ids of all of it and a label for each.

    Made by `Tokenizer.transcript`. One thread at a time may use it. After an error, it is as it was.
    """

    def __init__(
        self, encoder: Encoder, vocabulary: Vocabulary, special: Special = "parse"
    ) -> None:
        """Begin without a turn; `special` is the choice for text that has none of its own."""
        self._encoder, self._vocabulary, self._special = encoder, vocabulary, special
        self._turns: list[_Turn] = []
        # The ids and labels of all but an open turn of text, which grows.
        self._ids: list[int] = []
        self._labels: list[int] = []
        self._open: GrowingEncoding | None = None
        self._joined = _Joined(0, [], 0, encoder.growing(special))

    def append(self, text: str, special: Special | None = None, label: int = 0) -> int:
        """Append text, and return how many of the earlier ids are unchanged; all others are new.

        With `special`, it is a part of its own, as in `growing`. An id has the `label` of the text in
        which it begins.
        """
        label = integer("label", label)
        growing = self._open
        if growing is None:
            growing = self._encoder.growing(self._special, "within" if self._turns else "text")
        unchanged = len(self._ids) + growing.append(text, special)
        if self._open is None:
            if not text:
                return unchanged
            self._open = growing
            self._turns.append(_Turn(len(self._ids), []))
        self._turns[-1].pieces.append(_Piece(text, special, label))
        return unchanged

    def append_ids(self, ids: Ids, label: int = 1) -> int:
        """Append ids as they are, each with the `label`, and return how many ids there were before."""
        label = integer("label", label)
        listed: list[Any] = list(several("ids", "integers", ids))
        try:
            self._encoder.decode_bytes(listed)
        except KeyError as unknown:
            raise unknown_id(unknown, self._vocabulary) from None
        start = len(self)
        if listed:
            if self._open is not None:
                self._labels += self._open_labels(self._open)
                self._ids += self._open.ids
                self._open = None
            if not self._turns or self._turns[-1].pieces:
                self._turns.append(_Turn(start, []))
            self._ids += map(index, listed)
            self._labels += [label] * len(listed)
        return start

    @property
    def ids(self) -> list[int]:
        """The ids of all turns."""
        return self.ids_from(0)

    def ids_from(self, start: int) -> list[int]:
        """Return the ids from number `start` on, such as those that `append` has changed."""
        start = integer("start", start, least=0)
        open_start = max(start - len(self._ids), 0)
        open_ids = [] if self._open is None else self._open.ids_from(open_start)
        return self._ids[start:] + open_ids

    @property
    def labels(self) -> list[int]:
        """The label of each id: a loss mask, unless other labels than 0 and 1 were chosen."""
        return self._labels + ([] if self._open is None else self._open_labels(self._open))

    def _open_labels(self, growing: GrowingEncoding) -> list[int]:
        pieces = self._turns[-1].pieces
        labels = [piece.label for piece in pieces]
        if len({*labels}) == 1:
            return labels[:1] * len(growing)
        ends = list(accumulate(len(piece.text) for piece in pieces))
        labels.append(labels[-1])  # of what is put behind the text
        return [labels[bisect_right(ends, start)] for start in growing.starts]

    @property
    def text(self) -> str:
        """All text; a `UnicodeDecodeError` if the ids of a turn are no text."""
        return "".join(
            piece.text for turn in range(len(self._turns)) for piece in self._texts(turn)
        )

    def _texts(self, turn: int) -> list[_Piece]:
        """Return the pieces of a turn; the text of ids is one."""
        start, pieces = self._turns[turn]
        if pieces:
            return pieces
        content = self._encoder.decode_bytes(self._ids_of(turn), behind=start > 0)
        return [_Piece(content.decode("utf-8"), "parse", 0)]

    def _ids_of(self, turn: int) -> list[int]:
        start = self._turns[turn].start
        is_last = turn + 1 == len(self._turns)
        return self.ids_from(start) if is_last else self._ids[start : self._turns[turn + 1].start]

    @property
    def seams(self) -> list[Seam]:
        """The places between turns, each with whether encoding would cut there, too.

        That is decided by the text up to the end of the next turn: later text may change it. Only
        turns that are new since the last call, and the last one, are encoded again.
        """
        for turn in range(self._joined.turns, len(self._turns) - 1):
            self._joined = self._join(self._joined, turn)
        if not self._turns:
            return []
        growing = self._joined.growing
        copied = self._joined._replace(growing=None if growing is None else growing.copy())
        return self._join(copied, len(self._turns) - 1).seams

    def _join(self, joined: _Joined, turn: int) -> _Joined:
        """Append a turn to the joined text, and judge the seam before it."""
        start, ids = self._turns[turn].start, self._ids_of(turn)
        _, seams, place, growing = joined
        is_kept = differs = None
        try:
            pieces = self._texts(turn)
            apart = self._grown(self._encoder.growing(self._special, "within"), pieces)
            if growing is not None:
                settled = growing.settled
                before = growing.ids_from(settled)
                now = self._grown(growing, pieces).ids_from(settled)
                is_kept = now in (before + ids, before + apart.ids)
                differs = None if is_kept else self._first_other(start, ids, before, now)
            else:
                growing = apart
            place = None if place is None else place + sum(len(piece.text) for piece in pieces)
        except ValueError:  # The turn is no text, or has bytes without a token.
            place = growing = None
        seam = Seam(joined.place, start, is_kept, differs)
        return _Joined(turn + 1, [*seams, seam] if turn else [], place, growing)

    @staticmethod
    def _grown(growing: GrowingEncoding, pieces: list[_Piece]) -> GrowingEncoding:
        for piece in pieces:
            growing.append(piece.text, piece.special)
        return growing

    def _first_other(self, start: int, ids: list[int], before: list[int], now: list[int]) -> int:
        """Return the number of the first id of the transcript that encoding the joined text changes."""
        first = difference(before, now[: len(before)])
        if first is None:
            return start + (difference(ids, now[len(before) :]) or 0)
        # A model may have spelled the text before in its own way: as many bytes are other ones.
        size = sum(len(self._encoder.token_bytes(other)) for other in before[first:])
        while size > 0 and start > 0:
            start -= 1
            size -= len(self._encoder.token_bytes(self._ids[start]))
        return start

    def copy(self) -> Transcript:
        """Return an independent copy, as do `copy.copy` and `copy.deepcopy`."""
        same = Transcript(self._encoder, self._vocabulary, self._special)
        same._turns = [_Turn(start, [*pieces]) for start, pieces in self._turns]
        same._ids, same._labels = [*self._ids], [*self._labels]
        same._open = None if self._open is None else self._open.copy()
        return same

    __copy__ = copy

    def __deepcopy__(self, memo: object, /) -> Transcript:
        return self.copy()

    def __len__(self) -> int:
        """Return how many ids there are."""
        return len(self._ids) + (0 if self._open is None else len(self._open))

    def __repr__(self) -> str:
        return f"Transcript({len(self)} ids, {len(self._turns)} turns)"
