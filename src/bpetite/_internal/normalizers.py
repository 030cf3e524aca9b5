"""Text in, normalized text out, with the original place of each character: the normalizers of `tokenizers`,
for imported vocabularies.

Characters compose and decompose as in Unicode 9, the version of the tables in `tokenizers`; characters that
were added later stay as they are. Python's tables are newer, so those characters are kept out of them; for
all others Unicode guarantees the same result in every version. Lower case is that of Unicode 17.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any, Literal, cast

from bpetite._internal.character_map import CharacterMap, character_map

Step = tuple[str, ...]
"""The name of a normalizer and its arguments: `("NFC",)`, `("Replace", pattern, content)`."""

Places = list[tuple[int, int]]
"""The start and end, in the original text, of each character."""

Aligned = tuple[str, Places]


class Runs(Sequence[tuple[int, int]]):
    """The places of characters, of which most follow one another.

    >>> list(Runs([(2, 0, 1), (1, 4, 6)])), list(Runs([(2, 0, 1)]).moved(3))
    ([(0, 1), (1, 2), (4, 6)], [(3, 4), (4, 5)])
    """

    def __init__(self, rows: list[tuple[int, int, int]]) -> None:
        """Each row is a number of characters, and the start and end of the first; the others follow it."""
        self.rows = rows

    @cached_property
    def _places(self) -> Places:
        return [(start + place, end + place) for count, start, end in self.rows for place in range(count)]

    def __len__(self) -> int:
        return sum(count for count, _, _ in self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self._places[index]

    def moved(self, by: int) -> Runs:
        """Return the same places, so many characters further on."""
        return Runs([(count, start + by, end + by) for count, start, end in self.rows]) if by else self


_Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
_FORMS = ("NFC", "NFD", "NFKC", "NFKD")

ARGUMENTS = {
    **dict.fromkeys([*_FORMS, "Lowercase", "StripAccents", "Strip left", "Strip right"], 0),
    "Map": 1,
    "Prepend": 1,
    "Prepend first": 1,
    "Replace": 2,
    "Space first": 0,
}
"""All normalizers, with the number of their arguments."""

ONLY_FIRST = ("Prepend first", "Space first")
"""Those that only concern the beginning of a whole text: they insert a text, or a space if there is none
(after special tokens are separated)."""

_WHOLE_TEXT = {"Map", "Prepend", "Strip left", "Strip right", "Replace"}
"""Normalizers whose result depends on where a text begins and ends."""

WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""The members of `\\s` in Rust, to be written in a set."""


def _ranges(written: str) -> str:
    """Write ranges of code points as a regular expression's set.

    >>> _ranges("61-63,78") == "[\\\\U00000061-\\\\U00000063\\\\U00000078]"
    True
    """
    ranges = (part.split("-") for part in written.split(","))
    return "[" + "".join("-".join(rf"\U{int(end, 16):08x}" for end in ends) for ends in ranges) + "]"


_YOUNG = _ranges(
    "558,58b-58c,5c8-5c9,7fd,897-89f,8ca-8d3,9fe,c3c,d3b-d3c,eba,1715,1abf-1af0,1df6-1dfa,209d-209f,32ff,"
    "a7f1-a7f4,a82c,ab69,105c0-105ff,10781-10785,10787-107b0,107b2-107bf,10d24-10d27,10d69-10d6d,10eab-10eac,"
    "10ecb-10ecf,10ef0-10efb,10efd-10eff,10f46-10f50,10f82-10f85,11070,1133b,11380-113ff,1145e,11839-1183a,"
    "11900-1195f,119e0,11a34,11a47,11a99,11d42,11d44-11d45,11d97,11f41-11f42,16100-1613f,16d40-16d7f,"
    "16ff0-16ff1,1b123-1b126,1ccd6-1ccf9,1d127-1d128,1d250-1d252,1d25b-1d25c,1d25f,1d280-1d281,1d6a6,1df95,"
    "1dfcd-1dfff,1e030-1e06d,1e08f,1e130-1e136,1e2ae,1e2ec-1e2ef,1e4ec-1e4ef,1e5ee-1e5ef,1e6e3,1e6e6,"
    "1e6ee-1e6ef,1e6f5,1f16c,1fbf0-1fbf9"
)
"""Characters added after Unicode 9 that decompose, compose or have a combining class; some whole scripts."""

_NO_MARK_YET = _ranges(
    "5c8-5c9,7fd,897-89f,8ca-8d3,9fe,afa-aff,b53-b55,c04,c3c,cf3,d00,d3b-d3c,d81,eba,ece,1715,180f,1abf-1af0,"
    "1cf7,1df6-1dfa,a82c,a8ff,10d24-10d27,10d69-10d6d,10eab-10eac,10ecb-10ecf,10ef0-10eff,10f46-10f50,"
    "10f82-10f85,11070,11073-11074,110c2,11145-11146,111c9,111ce-111cf,11241,1133b,113b8-113c0,113c2,113c5,"
    "113c7-113ca,113cc-113d0,113d2,113e1-113e2,1145e,1182c-1183a,11930-11935,11937-11938,1193b-1193e,11940,"
    "11942-11943,119d1-119d7,119da-119e0,119e4,11a01-11a0a,11a33-11a39,11a3b-11a3e,11a47,11a51-11a5b,"
    "11a8a-11a99,11b60-11b67,11d31-11d36,11d3a,11d3c-11d3d,11d3f-11d45,11d47,11d8a-11d8e,11d90-11d91,"
    "11d93-11d97,11df0,11ef3-11ef6,11f00-11f01,11f03,11f34-11f3a,11f3e-11f42,11f5a,13440,13447-13455,"
    "1611e-1612f,16f4f,16f7f-16f87,16fe4,16ff0-16ff1,1cf00-1cf2d,1cf30-1cf46,1d127-1d128,1d250-1d252,"
    "1d25b-1d25c,1d25f,1d280-1d281,1e08f,1e130-1e136,1e2ae,1e2ec-1e2ef,1e4ec-1e4ef,1e5ee-1e5ef,1e6e3,1e6e6,"
    "1e6ee-1e6ef,1e6f5"
)
"""Characters that are combining marks today but were not in Unicode 9; for two it is the other way round."""

_MARKS_THEN = "\u1cf2\u1cf3"

_LOWER: dict[str, str] = {
    chr(code): chr(code + distance)
    for codes, distance in [
        ([0x1C89, 0xA7CC, 0xA7CE, 0xA7D2, 0xA7D4, 0xA7DA], 1),
        ([0xA7CB], -0xA567),
        ([0xA7DC], -0xA641),
        (range(0x10D50, 0x10D66), 0x20),
        (range(0x16EA0, 0x16EB9), 0x1B),
    ]
    for code in codes
}
"""Letters of Unicode 15 to 17, which Python 3.11 lacks."""


@lru_cache(maxsize=1)
def _cut_at_young() -> Callable[[str], list[str]]:
    return re.compile(f"({_YOUNG})").split


def _young(text: str) -> list[str]:
    """Cut a text into older characters and, at every second place, a newer one."""
    return _cut_at_young()(text)


@lru_cache(maxsize=1)
def _is_no_mark_yet() -> Callable[[str], object]:
    return re.compile(_NO_MARK_YET).match


_NEAR_END = 64
"""The number of characters at the end of a text among which a place is searched first."""


class Normalizer:
    """Several normalizers, applied in order.

    >>> Normalizer([("NFD",), ("Lowercase",)])("É") == "e\u0301"
    True
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = [(step[0], _plain(step), _aligned(step)) for step in steps]
        self.is_identity = not steps
        single = [step for step in steps if _is_of_single_characters(step)]
        others = [step for step in steps if step not in single]
        self.is_local = not _WHOLE_TEXT & {step[0] for step in others}
        """Whether a text stays unchanged if and only if each part of it does."""

        self.puts_space = [(name, len("".join(given))) for name, *given in others] == [("Prepend", 1)]
        """Whether normalizing inserts a character before a text, and replaces at most single ones."""

        self._replaces_single = not others
        self._single = single
        self._cuts_where_alone = self.is_local and all(_stands_alone(step[2]) for step in single)
        self._keeps_places = {step[0] for step in steps} <= {*_FORMS, "Lowercase", "StripAccents"}
        changes_ascii = any(step[1].isascii() for step in single)
        self.keeps_ascii = self.is_local and not changes_ascii and ("Lowercase",) not in steps
        """Whether it is certain that no text of ASCII is changed."""

    def __call__(self, text: str) -> str:
        """Normalize a text."""
        if self.keeps_ascii and text.isascii():
            return text
        for _, apply, _ in self._steps:
            text = apply(text)
        return text

    @property
    def has_cuts(self) -> bool:
        """Whether a text may be cut somewhere, whatever follows: what is before such a place is normalized as
        in a longer text, what is behind it by `behind_cut`."""
        return self._cuts_where_alone or self._replaces_single or self.puts_space

    def _may_cut(self, text: str, place: int) -> bool:
        return self._cuts_where_alone and begins_alone(text[place])

    def last_cut(self, text: str) -> int:
        """Return the last place where a text may be cut, whatever follows, or 0.

        >>> Normalizer([("NFC",)]).last_cut("a e\u0301"), Normalizer([("Strip left",)]).last_cut("a b")
        (2, 0)
        """
        if self._replaces_single or self.puts_space:
            return len(text)
        return next((at for at in range(len(text) - 1, 0, -1) if self._may_cut(text, at)), 0)

    def origin(self, text: str, normalized: str, place: int) -> int:
        """Return the place in a text of a place in its normalized form, if the text may be cut there, or 0.

        >>> Normalizer([("NFC",)]).origin("e\u0301 b", "é b", 1), Normalizer([("NFC",)]).origin("ab", "ab", 2)
        (2, 0)
        """
        if not 0 < place < len(normalized):
            return 0
        if self._replaces_single or self.puts_space:
            return max(place + len(text) - len(normalized), 0)
        if normalized != text:
            # Places are only looked up behind a cut near the end, if that is before the place.
            start = self.last_cut(text[:-_NEAR_END])
            done = len(self(text[:start]))
            if done >= place:
                start = done = 0
            behind = place - done
            place = start + self.aligned(text[start:])[1][behind][0]
            if len(self(text[start:place])) != behind:
                return 0  # within what a character has become
        return place if self._may_cut(text, place) else 0

    @cached_property
    def behind_cut(self) -> Normalizer:
        """What normalizes a text behind a cut."""
        return Normalizer(self._single) if self.puts_space else self

    def keeps_places(self, text: str, normalized: str) -> bool:
        """Whether it is certain that each character becomes one character in its place.

        A text that several steps leave unchanged may have been composed by one and decomposed by the next.
        """
        if self._replaces_single:
            return True
        return self._keeps_places and (text.isascii() or (len(self._steps) < 2 and normalized == text))

    def aligned(self, text: str) -> tuple[str, Places | Runs]:
        """Normalize a text, and return also the original place of each character.

        >>> normalized, places = Normalizer([("NFC",)]).aligned("ae\u0301")
        >>> normalized == "aé", list(places)
        (True, [(0, 1), (1, 2)])
        """
        if len(self._steps) == 1 and self._steps[0][0] in _FORMS:
            return _normalized(text, cast(_Form, self._steps[0][0]))
        places = [(place, place + 1) for place in range(len(text))]
        for _, apply, align in self._steps:
            if apply(text) != text:
                text, places = align(text, places)
        return text, places


def _is_of_single_characters(step: Step) -> bool:
    """Whether a step only replaces one character by another."""
    return step[0] == "Replace" and len(step[1]) == len(step[2]) == 1 and bool(_is_literal(step[1]))


def _plain(step: Step) -> Callable[[str], str]:
    """Return the function that normalizes a text."""
    name, *arguments = step
    if name in _FORMS:
        form = cast(_Form, name)
        return lambda text: _normal_form(text, form)
    if name == "Lowercase":
        return lambda text: "".join(map(lower, text)) if not text.isascii() else text.lower()
    if name == "StripAccents":
        return lambda text: "".join(character for character in text if not is_mark(character))
    if name == "Strip left":
        return lambda text: re.sub(rf"\A[{WHITE_SPACE}]+", "", text)
    if name == "Strip right":
        return lambda text: text[: _end_of_text(text)]
    if name == "Prepend":
        return lambda text: text and arguments[0] + text
    if name == "Map":
        return character_map(arguments[0])
    if arguments[0] and _is_literal(arguments[0]):
        return lambda text: text.replace(arguments[0], arguments[1])
    find, content = _matches(arguments[0]), arguments[1]
    return lambda text: "".join(content if is_match else text[s:e] for s, e, is_match in find(text))


def _aligned(step: Step) -> Callable[[str, Places], Aligned]:
    """Return the function that normalizes a text whose characters have places."""
    name, *arguments = step
    if name in _FORMS:
        form = cast(_Form, name)

        def normalize(text: str, places: Places) -> Aligned:
            normalized, runs = _normalized(text, form)
            return normalized, [(places[start][0], places[end - 1][1]) for start, end in runs]

        return normalize
    if name == "Lowercase":
        return lambda text, places: _transformed(
            [(c, int(place > 0)) for character in text for place, c in enumerate(lower(character))], places
        )
    if name == "StripAccents":
        return lambda text, places: _filtered(text, places, lambda character: not is_mark(character))
    if name == "Strip left":
        return lambda text, places: _sliced(text, places, len(text) - len(_plain(step)(text)), len(text))
    if name == "Strip right":
        return lambda text, places: _sliced(text, places, 0, _end_of_text(text))
    if name == "Map":
        return lambda text, places: _mapped(character_map(arguments[0]), text, places)
    if name == "Prepend":
        more = arguments[0]
        return lambda text, places: (
            (more + text, [places[0]] * len(more) + places) if text else (text, places)
        )
    find, content = _matches(arguments[0]), arguments[1]

    def replace(text: str, places: Places) -> Aligned:
        replaced: Places = []
        for start, end, is_match in find(text):
            # New characters have the place of the last character that they replace.
            last = places[end - 1] if end else (0, 0)
            replaced += [last] * len(content) if is_match else places[start:end]
        return _plain(step)(text), replaced

    return replace


# Normal forms ---------------------------------------------------------------------------------------------


def _normal_form(text: str, form: _Form) -> str:
    """Normalize a text by the tables of Unicode 9.

    >>> _normal_form("e\u0301\U0001fbf1", "NFKC") == "é\U0001fbf1"
    True
    """
    if unicodedata.is_normalized(form, text):
        return text
    # Every second part is newer characters; nothing composes with them or is reordered across them.
    parts = _young(text)
    return "".join(
        part if place % 2 else unicodedata.normalize(form, part) for place, part in enumerate(parts)
    )


_STAND_ALONE = "\0-\x7f\u3400-\u4db5\u4e00-\u9fd5"
"""ASCII and ideographs: they only compose with what is behind them."""

_MAY_CHANGE = rf"[\0-\x7f]?[^{_STAND_ALONE}]+"
"""What normal forms may change."""

_stands_alone = re.compile(f"[{_STAND_ALONE}]").match


def begins_alone(character: str) -> bool:
    """Whether a character neither composes with what is before it, nor is moved before it.

    >>> begins_alone("é"), begins_alone("\u0301"), begins_alone("か"), begins_alone("\u1161")
    (True, False, True, False)
    """
    if _stands_alone(character):
        return True
    first = unicodedata.normalize("NFKD", character)[0]
    return unicodedata.category(first)[0] != "M" and not "\u1160" <= first <= "\u11ff"  # parts of Hangul


def _normalized(text: str, form: _Form) -> tuple[str, Runs]:
    """Normalize a text, and return also the place of each character.

    >>> normalized, runs = _normalized("ae\u0301x", "NFC")
    >>> normalized == "aéx", runs.rows
    (True, [(1, 0, 1), (1, 1, 2), (1, 3, 4)])
    """
    parts: list[str] = []
    rows: list[tuple[int, int, int]] = []
    done = 0
    for match in re.finditer(_MAY_CHANGE, text):
        part, (start, end) = match.group(), match.span()
        if _normal_form(part, form) == part:
            continue
        own = [(place, place + 1) for place in range(start, end)]
        changed, inner = _transformed(_changes(part, form), own)
        parts += [text[done:start], changed]
        if done < start:
            rows.append((start - done, done, done + 1))
        rows += [(1, first, last) for first, last in inner]
        done = end
    if done < len(text):
        rows.append((len(text) - done, done, done + 1))
    return "".join([*parts, text[done:]]), Runs(rows)


def _changes(text: str, form: _Form) -> list[tuple[str, int]]:
    """Normalize a text. Each character comes with a change: 0 if it replaces one character, 1 if it is
    inserted after another one, -n if it replaces n characters more."""
    decomposed = _decomposed(text, "NFKD" if "K" in form else "NFD")
    return list(decomposed if form.endswith("D") else _recomposed(decomposed))


def _decomposed(text: str, form: Literal["NFD", "NFKD"]) -> Iterator[tuple[str, int]]:
    waiting: list[tuple[str, int]] = []
    for character in text:
        for place, part in enumerate(_decomposition(character, form)):
            if not _combining(part):
                yield from sorted(waiting, key=lambda item: _combining(item[0]))
                waiting.clear()
                yield part, int(place > 0)
            else:
                waiting.append((part, int(place > 0)))
    yield from sorted(waiting, key=lambda item: _combining(item[0]))


def _recomposed(decomposed: Iterator[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    starter: tuple[str, int] | None = None
    behind: list[tuple[str, int]] = []
    last_class = -1
    for character, change in decomposed:
        combining = _combining(character)
        if starter is None:
            if combining:
                yield character, change
            else:
                starter = character, change
            continue
        composed = _composed(starter[0], character) if last_class < combining or not behind else None
        if composed:
            starter = composed, starter[1] + change - 1
        elif combining:
            behind.append((character, change))
            last_class = combining
        else:
            yield starter
            yield from behind
            behind, last_class, starter = [], -1, (character, change)
    if starter is not None:
        yield starter
    yield from behind


@lru_cache(maxsize=4096)
def _decomposition(character: str, form: _Form) -> str:
    return character if _young(character)[1:] else unicodedata.normalize(form, character)


@lru_cache(maxsize=4096)
def _combining(character: str) -> int:
    return 0 if _young(character)[1:] else unicodedata.combining(character)


@lru_cache(maxsize=4096)
def _composed(first: str, second: str) -> str | None:
    composed = unicodedata.normalize("NFC", first + second)
    is_one = len(composed) == 1 and not _young(first + second + composed)[1:]
    return composed if is_one else None


# The others -----------------------------------------------------------------------------------------------


def lower(character: str) -> str:
    """Return a character in lower case, regardless of its neighbours.

    >>> lower("Σ"), lower("İ") == "i\u0307"
    ('σ', True)
    """
    return _LOWER.get(character) or character.lower()


def is_mark(character: str) -> bool:
    """Whether a character is a combining mark."""
    if unicodedata.category(character)[0] == "M":
        return not _is_no_mark_yet()(character)
    return character in _MARKS_THEN


def _end_of_text(text: str) -> int:
    """Return where the white space at the end of a text begins."""
    end = len(text)
    while end and _is_space(text[end - 1]):
        end -= 1
    return end


_is_space = re.compile(f"[{WHITE_SPACE}]").match


_is_literal = re.compile(r"[^\\.^$*+?{}()\[\]|]+").fullmatch
_is_plain = re.compile(r"(?:\\[AZ]|[^\\.^$*+?{}()\[\]|]|\+|\{\d,\})+").fullmatch


@lru_cache(maxsize=64)
def _matches(pattern: str) -> Callable[[str], list[tuple[int, int, bool]]]:
    """Return a function that finds the matches of a pattern and the text between them."""
    if _is_plain(pattern):
        finditer: Callable[[str], Iterator[Any]] = re.compile(pattern).finditer
    else:
        import regex  # slow to import

        finditer = regex.compile(pattern, regex.VERSION0).finditer

    def matches(text: str) -> list[tuple[int, int, bool]]:
        found: list[tuple[int, int, bool]] = []
        end = 0
        for match in finditer(text):
            if end < match.start():
                found.append((end, match.start(), False))
            found.append((*match.span(), True))
            end = match.end()
        return [*found, (end, len(text), False)] if end < len(text) else found

    return matches


# Places ---------------------------------------------------------------------------------------------------


def _transformed(changes: Sequence[tuple[str, int]], places: Places) -> Aligned:
    """Give each character of a normalized text the place of the characters that it replaces."""
    taken = 0
    transformed: Places = []
    for _, change in changes:
        if change > 0:
            transformed.append(places[taken - 1] if taken else (0, 0))
        else:
            transformed.append(places[taken])
            taken += 1 - change
    return "".join(character for character, _ in changes), transformed


def _mapped(replace: CharacterMap, text: str, places: Places) -> Aligned:
    """Give new texts the place of all that they replace."""
    parts: list[str] = []
    mapped: Places = []
    for part, start, end in replace.parts(text):
        parts.append(part)
        if end is None:
            mapped += places[start : start + len(part)]
        else:
            mapped += [(places[start][0], places[end - 1][1])] * len(part)
    return "".join(parts), mapped


def _filtered(text: str, places: Places, keep: Callable[[str], bool]) -> Aligned:
    kept = [(character, place) for character, place in zip(text, places, strict=True) if keep(character)]
    return "".join(character for character, _ in kept), [place for _, place in kept]


def _sliced(text: str, places: Places, start: int, end: int) -> Aligned:
    return text[start:end], places[start:end]
