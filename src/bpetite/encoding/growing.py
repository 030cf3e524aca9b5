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
from bpetite.encoding.stateful import Stateful


class _Settled(NamedTuple):
    """A place in the text, and the number of ids before it."""

    place: int = 0
    ids: int = 0
    within: bool = False
    """Whether it stands within text, not behind a special token."""


class GrowingPrepared(Stateful):
    """A text that grows at its end, with the interface of the engine's `GrowingEncoding`."""

    _copied = ("_before", "_fixed", "_ids", "_settled", "_growing")

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
        self._fixed: list[str] = []
        """The text behind it that `growing` has, whatever follows."""
        self._growing: Any = None
        """The engine's growing text behind the last settled place, while there is no special token in it."""
        self._least = 1
        """The number of its ids, settled for the engine, with which a settled place is looked for."""
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
            length = self._length_of(_natural("ids", ids))
        text = self.text[: _natural("length", length)]
        most = max(len(text) - self._longest, 0)
        # Behind a place within text, characters were seen as they are normalized with all that follows them.
        cut = self._preparation.normalizer.last_cut(text[:most])
        while (last := self._settled[-1]).place > most or (last.within and last.place >= cut):
            self._settled.pop()
        place = self._settled[-1].place
        self._before = [text[:place]]
        return self._begin_again(text[place:])

    def _become(self, rest: str) -> int:
        """Encode the text behind the fixed one again; return how many ids are unchanged."""
        if self._growing is None or any(token_id is not None for *_, token_id in self._cut(rest)):
            return self._begin_again("".join(self._fixed) + rest)
        last, normalizer = self._settled[-1], self._normalizer(self._settled[-1]).behind_cut
        # A special token may begin in the last characters.
        cut = normalizer.last_cut(rest[: max(len(rest) - self._longest, 0)])
        same: int = self._growing._append_before(normalizer(rest[:cut]), normalizer(rest[cut:]))
        self._ids[last.ids + same :] = self._growing.ids_from(same)
        self._fixed.append(rest[:cut])
        self._rest = rest[cut:]
        self._settle_within()
        return last.ids + same

    def _begin_again(self, rest: str) -> int:
        """Encode the text behind the last settled place again; return how many ids are unchanged."""
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
        behind = rest[done:]
        growing, cut = self._grow(behind, last)
        ids += self._encoded(behind, last) if growing is None else growing.ids
        before = self._ids[first.ids :]
        pairs = enumerate(zip(before, ids, strict=False))
        same = next((at for at, (old, new) in pairs if old != new), min(len(before), len(ids)))
        self._ids[first.ids + same :] = ids[same:]
        self._settled += found
        self._before.append(rest[:done])
        self._growing, self._least = growing, 1
        self._fixed, self._rest = [behind[:cut]], behind[cut:]
        self._settle_within()
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

    def _grow(self, text: str, last: _Settled) -> tuple[Any, int]:
        """Return the engine's growing text behind a settled place, and the length of what is fixed of it."""
        if not self._settles_within or any(token_id is not None for *_, token_id in self._cut(text)):
            return None, 0
        normalizer = self._normalizer(last)
        cut = normalizer.last_cut(text[: max(len(text) - self._longest, 0)])
        if cut == 0:
            return None, 0
        growing = self._engine.growing()
        growing._append_before(self._normalized(text[:cut], last), normalizer.behind_cut(text[cut:]))
        return growing, cut

    def _settle_within(self) -> None:
        """Settle the text up to the last place that is settled for the engine."""
        if self._growing is None or (number := self._growing.settled) < self._least:
            return
        last, fixed = self._settled[-1], "".join(self._fixed)
        length = len(self._engine.decode(self._growing.ids[:number]))
        place = self._normalizer(last).origin(fixed, self._normalized(fixed, last), length)
        self._least = 2 * number
        if place:
            self._settled.append(_Settled(last.place + place, last.ids + number, within=True))
            self._before.append(fixed[:place])
            self._fixed, self._rest, self._growing = [], fixed[place:] + self._rest, None

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
        return self._ids[_natural("start", start) :]

    @property
    def text(self) -> str:
        """The text so far."""
        self._before, self._fixed = ["".join(self._before)], ["".join(self._fixed)]
        return self._before[0] + self._fixed[0] + self._rest

    @property
    def settled(self) -> int:
        """How many ids, from the first on, no later text can change."""
        return self._settled[-1].ids

    def __len__(self) -> int:
        return len(self._ids)

    def __repr__(self) -> str:
        return f"GrowingEncoding({len(self)} ids, {self.settled} of them settled)"


def _natural(name: str, number: object) -> int:
    """Return a number that must not be negative."""
    found = index(number)  # type: ignore[arg-type]
    if found < 0:
        raise ValueError(f"{name} must be at least 0, not {found}")
    return found
