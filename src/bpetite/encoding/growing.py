"""A text that grows, and its ids, for vocabularies that normalize text or whose special tokens have flags.

Only the text after the last *settled* place is encoded again. A special token of the original text ends at
such a place, if no later text can change that token; so does text that is normalized, and then encoded, alike
whatever follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import index
from typing import Any, NamedTuple

from bpetite._engine import check_text
from bpetite._internal.normalizers import Normalizer
from bpetite._internal.types import Special
from bpetite.encoding.preparation import Preparation


class _Settled(NamedTuple):
    """A place in the text, and the number of ids before it."""

    place: int = 0
    ids: int = 0
    within: bool = False
    """Whether it stands within text, not behind a special token."""


class GrowingPrepared:
    """A text that grows at its end, with the interface of the engine's `GrowingEncoding`."""

    def __init__(self, encoder: Any, engine: Any, preparation: Preparation, special: Special) -> None:
        """`encoder` prepares a text for the `engine`, which is given if its tokens tile the prepared text."""
        self._encoder = encoder
        self._engine = engine
        self._preparation = preparation
        self._special = special
        self._settles_within = engine is not None and preparation.settles_within(special)
        is_divided = special != "error" and preparation.searches(special)
        self._is_divided = is_divided and (self._settles_within or preparation.is_alike_behind_tokens)
        self._longest = preparation.longest if self._is_divided else 1
        self._before: list[str] = []
        """The text before the last settled place."""
        self._rest = ""
        self._ids: list[int] = encoder.encode("", special)
        self._settled = [_Settled()]

    def append(self, text: str) -> int:
        """Append to the text, and return how many of the earlier ids are unchanged."""
        check_text(text)
        return self._become(self._rest + text)

    def truncate(self, length: int | None = None, *, ids: int | None = None) -> int:
        """Keep the first `length` characters of the text, or the text of its first `ids` ids."""
        if (length is None) == (ids is None):
            raise TypeError("truncate: takes either a length or ids")
        if ids is not None:
            length = self._length_of(_natural(ids))
        text = self.text[: _natural(length)]
        most = max(len(text) - self._longest, 0)
        # Behind a place within text, characters were seen as they are normalized with all that follows them.
        cut = self._preparation.normalizer.last_cut(text[:most])
        while (last := self._settled[-1]).place > most or (last.within and last.place >= cut):
            self._settled.pop()
        place = self._settled[-1].place
        self._before, self._rest = [text[:place]], ""
        return self._become(text[place:])

    def _become(self, rest: str) -> int:
        """Encode the text after the last settled place again; return how many ids are unchanged."""
        first = last = self._settled[-1]
        found: list[_Settled] = []
        ids: list[int] = []
        done = 0
        for _, end, token_id in self._cut(rest):
            if token_id is not None and len(rest) - end >= self._longest:
                ids += self._encoded(rest[done:end], last)
                last = _Settled(first.place + end, first.ids + len(ids))
                found.append(last)
                done = end
        more, within = self._settle(rest[done:], last)
        ids += more
        found += [within] if within else []
        before = self._ids[first.ids :]
        pairs = enumerate(zip(before, ids, strict=False))
        same = next((at for at, (old, new) in pairs if old != new), min(len(before), len(ids)))
        self._ids[first.ids + same :] = ids[same:]
        if found:
            length = found[-1].place - first.place
            self._before.append(rest[:length])
            rest = rest[length:]
            self._settled += found
        self._rest = rest
        return first.ids + same

    def _cut(self, text: str) -> list[tuple[int, int, int | None]]:
        """Return the places of special tokens, if they divide the text, and of the text between them."""
        if self._is_divided:
            return self._preparation.first_cut(text, self._special)
        return [(0, len(text), None)] if text else []

    def _encoded(self, text: str, last: _Settled) -> list[int]:
        """Return the ids of the text behind a settled place."""
        ids: list[int] = []
        if not self._settles_within:
            return [*self._encoder.encode(text, self._special)]
        for start, end, token_id in self._cut(text):
            if token_id is None:
                ids += self._engine.encode(self._normalized(text[start:end], last, start))
            else:
                ids.append(token_id)
        return ids

    def _normalizer(self, last: _Settled) -> Normalizer:
        """Return what normalizes the text behind a settled place."""
        if last.within:
            return self._preparation.normalizer.behind_cut
        return self._preparation.normalizer if last.place else self._preparation.normalizer_of_first

    def _normalized(self, text: str, last: _Settled, start: int = 0) -> str:
        if start == 0 and (last.within or last.place):
            return self._normalizer(last)(text)
        return self._preparation.normalized(text, is_first=last.place + start == 0)

    def _settle(self, text: str, last: _Settled) -> tuple[list[int], _Settled | None]:
        """Return the ids of the text behind a settled place, and a settled place within it, if any."""
        if not self._settles_within or any(token_id is not None for *_, token_id in self._cut(text)):
            return self._encoded(text, last), None
        # A special token may begin in the last characters.
        cut = self._normalizer(last).last_cut(text[: max(len(text) - self._longest, 0)])
        before = self._normalized(text[:cut], last)
        growing = self._engine.growing()
        growing.append(before)
        number = growing.settled
        length = len(self._engine.decode(growing.ids[:number]))
        place = self._normalizer(last).origin(text[:cut], before, length)
        growing.append(self._normalizer(last).behind_cut(text[cut:]) if cut else self._normalized(text, last))
        within = _Settled(last.place + place, last.ids + number, within=True) if place else None
        return growing.ids, within

    def _length_of(self, number: int) -> int:
        """Return the length of the text of the first ids, without a character that is not complete."""
        if number >= len(self._ids):
            return len(self.text)
        place, before, _ = max(found for found in self._settled if found.ids <= number and not found.within)
        _, spans = self._encoder.encode_with_offsets(self.text[place:], self._special)
        starts: Iterator[int] = (start for start, _ in spans[number - before :])
        return place + min(starts)

    @property
    def ids(self) -> list[int]:
        """The ids of the text."""
        return self._ids[:]

    def ids_from(self, start: int) -> list[int]:
        """Return the ids from number `start` on."""
        return self._ids[_natural(start) :]

    @property
    def text(self) -> str:
        """The text so far."""
        self._before = ["".join(self._before)]
        return self._before[0] + self._rest

    @property
    def settled(self) -> int:
        """How many ids, from the first on, no later text can change."""
        return self._settled[-1].ids

    def __len__(self) -> int:
        return len(self._ids)

    def __repr__(self) -> str:
        return f"GrowingEncoding({len(self)} ids, {self.settled} of them settled)"


def _natural(number: object) -> int:
    """Return a number that must not be negative."""
    found = index(number)  # type: ignore[arg-type]
    if found < 0:
        raise OverflowError("can't convert negative int to unsigned")
    return found
