"""A text that arrives in pieces, and its ids, for vocabularies whose texts are prepared for the engine.

The steps are those of `Preparation`, each on its own: special tokens of the original text are found, the text
between them is normalized, those of the normalized text are found, and the engine encodes the rest. Each step
passes on what no later text can change, and keeps the rest.
"""

from __future__ import annotations

from typing import Any

from bpetite._engine import check_text
from bpetite._internal.types import Special
from bpetite.encoding.preparation import Preparation
from bpetite.encoding.stateful import Stateful


class PreparedStream(Stateful):
    """The interface of the engine's `EncodeStream`."""

    _copied = ("_stream", "_original", "_normalized")

    def __init__(self, ordinary: Any, preparation: Preparation, special: Special) -> None:
        """`ordinary` is the engine's encoder, without special tokens."""
        self._stream = ordinary.encode_stream()
        self._preparation = preparation
        self._special = special
        self._begin()

    def _begin(self) -> None:
        self._original = self._preparation.search(self._special)
        self._normalized = self._preparation.search(self._special, normalized=True)
        self._is_first = True
        self._begin_segment()

    def _begin_segment(self) -> None:
        self._pending = ""
        self._next_cut = 0
        first = self._preparation.normalizer_of_first
        self._normalizer = first if self._is_first else self._preparation.normalizer

    def feed(self, piece: str) -> list[int]:
        """Add the next piece of the text, and return the ids that are now final."""
        check_text(piece)
        piece.encode("utf-8")
        return self._ids(self._original.feed(piece))

    def finish(self) -> list[int]:
        """End the text, and return the remaining ids; a new text may then begin."""
        ids = self._ids(self._original.finish()) + self._end_segment()
        self._begin()
        return ids

    def _ids(self, parts: list[str | int]) -> list[int]:
        """Return the ids of parts of the original text: of special tokens, and of the text between them."""
        ids: list[int] = []
        for part in parts:
            if isinstance(part, int):
                ids += [*self._end_segment(), part]
                self._is_first = False
                self._begin_segment()
                continue
            self._pending += part
            if len(self._pending) >= self._next_cut:
                cut = self._normalizer.last_cut(self._pending)
                ids += self._encoded(self._normalized.feed(self._until(cut)))
                self._next_cut = 0 if cut else len(self._pending) * 5 // 4
        return ids

    def _until(self, cut: int) -> str:
        """Return the normalized text up to a cut, and keep the rest."""
        normalizer, text = self._normalizer, self._pending[:cut]
        self._pending = self._pending[cut:]
        if text:
            self._normalizer = normalizer.behind_cut
        return normalizer(text)

    def _end_segment(self) -> list[int]:
        ids = self._encoded(self._normalized.feed(self._until(len(self._pending))))
        ids += self._encoded(self._normalized.finish())
        return [*ids, *self._stream.finish()]

    def _encoded(self, parts: list[str | int]) -> list[int]:
        """Return the ids of parts of the normalized text."""
        ids: list[int] = []
        for part in parts:
            if isinstance(part, int):
                ids += [*self._stream.finish(), part]
            else:
                puts_space = self._is_first and self._preparation.space_first and part[0] != " "
                ids += self._stream.feed(" " + part if puts_space else part)
            self._is_first = False
        return ids
