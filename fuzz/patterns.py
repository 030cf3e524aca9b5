"""A random generator and a syntax → patterns that use most of the syntax."""

from __future__ import annotations

from random import Random
from typing import Literal

Syntax = Literal["bpetite", "rust", "oniguruma"]

CHARACTERS = "abkKsSiIſﬅﬁftßK09_ \t\n\r'.,-~^]&[éÉΣσςǅДд漢あ\u0301\u0085\u2028²½٣Ⅷⓐıİ"
"""Characters that patterns distinguish: case pairs, marks, digits, white space, signs of the syntax."""

_ESCAPES = r"""
\n \r \t \x41 \u00e9 \. \- \] \^ \[ \\ \d \D \s \S \w \W \p{L} \p{Lu} \P{Ll} \p{^Lt} \p{Han} \p{Greek}
\p{Alphabetic} \p{Uppercase} \p{Emoji} \p{N} \p{M} \P{L} \p{White_Space} \p{Letter} \v \a \f
"""
_OWN_ESCAPES: dict[Syntax, str] = {
    "bpetite": r"\h \012 \0 \pL \PN \p{sc=Latin} \p{scx=Hira} \U0001F642 \p{IsGreek} \p{LC} \p{InThai}",
    "rust": r"\h \H \e \x{e9} \u{e9} \pL \PN \p{sc=Latin} \p{scx=Hira} \p{alnum} \p{cntrl} \p{word}",
    "oniguruma": r"\h \H \e \x{e9} \p{punct} \p{alnum} \p{space} \p{upper} \p{digit} \p{cntrl} \p{word}",
}
_PLACES: dict[Syntax, str] = {
    "bpetite": r"$ ^ \Z \z \A \b \B \m \M",
    "rust": r"$ ^ \Z \z \A \b \B \< \b{end}",
    "oniguruma": r"$ ^ \Z \z \A",
}
_OPENINGS: dict[Syntax, str] = {
    "bpetite": "( (?: (?: (?> (?i: (?s: (?-i: (?im: (?m: (?i)(?:",
    "rust": "( (?: (?: (?> (?i: (?s: (?-i: (?im: (?m: (?x:",
    "oniguruma": "( (?: (?: (?> (?i: (?m: (?-i: (?mi: (?i)(?:",
}
_OPERATORS: dict[Syntax, list[str]] = {
    "bpetite": [],
    "rust": ["&&", "--", "~~"],
    "oniguruma": ["&&"],
}
_CLASSES = r"alpha ^digit punct alnum space lower upper word ^word blank cntrl xdigit graph print"
_RANGES = ["a-z", "A-Z", "0-9", r"\x00-\x7f", "i-k", "H-J", r"\t-\r", "!-/", "Α-Ω"]
_CHANGES = r"aZ0 _'\[](){}*+?|^$.,-&:!=<>psSdDwWLN" + "\né漢"
_COUNTS = ["*", "+", "?", "{2}", "{1,3}", "{,2}", "{2,}", "", "", "", ""]


class Grammar:
    """Makes patterns of one syntax."""

    def __init__(self, rng: Random, syntax: Syntax) -> None:
        self._rng = rng
        self._syntax = syntax
        self._escapes = (_ESCAPES + _OWN_ESCAPES[syntax]).split()

    def choice(self, depth: int = 2) -> str:
        """Return a pattern whose groups are nested at most this deep."""
        return "|".join(self._sequence(depth) for _ in range(self._rng.choice((1, 1, 1, 2, 3))))

    def _sequence(self, depth: int) -> str:
        return "".join(self._part(depth) for _ in range(self._rng.randint(1, 4)))

    def _part(self, depth: int) -> str:
        chance = self._rng.random()
        if chance < 0.05:
            return self._rng.choice(_PLACES[self._syntax].split())
        if chance < 0.12:
            opening = self._rng.choice(("(?=", "(?!", "(?<=", "(?<!"))
            inside = self.choice(depth - 1) if depth and "<" not in opening else self._atom(0)
            return f"{opening}{inside})"
        return self._atom(depth) + self._count()

    def _atom(self, depth: int) -> str:
        chance = self._rng.random()
        if chance < 0.3:
            return self._literal()
        if chance < 0.5:
            return self._rng.choice(self._escapes)
        if chance < 0.8 or not depth:
            return self._set(2)
        if chance < 0.84:
            return "."
        return self._rng.choice(_OPENINGS[self._syntax].split()) + self.choice(depth - 1) + ")"

    def _count(self) -> str:
        count = self._rng.choice(_COUNTS)
        return count + (self._rng.choice(("", "", "", "?", "+")) if count else "")

    def _literal(self) -> str:
        character = self._rng.choice(CHARACTERS)
        return character if character.isalnum() or character > "\x7f" else f"\\{character}"

    def _set(self, depth: int) -> str:
        members = self._rng.choice(("", "", "^")) + self._items(depth)
        while depth and _OPERATORS[self._syntax] and self._rng.random() < 0.25:
            members += self._rng.choice(_OPERATORS[self._syntax]) + self._items(depth - 1)
        return f"[{members}]"

    def _items(self, depth: int) -> str:
        return "".join(self._item(depth) for _ in range(self._rng.randint(1, 3)))

    def _item(self, depth: int) -> str:
        chance = self._rng.random()
        if chance < 0.3:
            return self._rng.choice(_RANGES)
        if chance < 0.6:
            return self._rng.choice(self._escapes)
        if chance < 0.7:
            return f"[:{self._rng.choice(_CLASSES.split())}:]"
        if chance < 0.8 and depth and _OPERATORS[self._syntax]:
            return self._set(depth - 1)
        character = self._rng.choice(CHARACTERS)
        return f"\\{character}" if character in "-^[]&~" else character


def variation(rng: Random, pattern: str) -> str:
    """Return a pattern with one character dropped, doubled or replaced, as by a typing error."""
    place = rng.randrange(len(pattern))
    character = pattern[place]
    other = rng.choice(rng.choice((pattern, _CHANGES)))
    return pattern[:place] + rng.choice(("", character * 2, other)) + pattern[place + 1 :]


_LETTERS = [
    r"\p{L}",
    r"\p{L}",
    r"[\p{L}]",
    r"[\p{L}\p{M}]",
    r"[\p{L}_]",
    r"[\p{Latin}\p{Greek}]",
    "[A-Za-z]",
    r"\w",
]
_UPPER = [r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Lu}\p{Lo}]", r"\p{Lu}"]
_LOWER = [r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lo}]", r"\p{Ll}"]
_BEFORE_LETTERS = [
    "",
    " ?",
    r"\s?",
    r"[\t ]?",
    r"[^\S\r\n]?",
    r"[^\r\n\p{L}\p{N}]?",
    r"[^\r\n\p{L}\p{N}]?+",
]
_CONTRACTIONS = [
    r"'(?:[sdmt]|ll|ve|re)",
    "'s|'t|'re|'ve|'m|'ll|'d",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)",
    "['’](?i:[sdmt]|ll)",
]
_NUMBERS = [r"\p{N}", r"\p{N}{1,3}", r"\p{N}{1,2}+", r" ?\p{N}+", r"\d+", r"[0-9]{1,4}"]
_SCRIPTS = [
    r"\p{Han}+",
    r"[\p{Han}\p{Hiragana}\p{Katakana}]+",
    r"[\p{Thai}\p{Lao}]+",
    r"\p{Hangul}{1,2}",
]
_SIGNS = [r"[^\s\p{L}\p{N}]", r"[^\s\p{L}\p{M}\p{N}]", r"[\p{P}\p{S}]", r"[^\s\w]"]
_AFTER_SIGNS = ["", "", r"[\r\n]*", r"[\r\n]*+", r"[\r\n/]*", r"\n?"]
_LINE_ENDS = ["", r"\s*[\r\n]+", r"\s*[\r\n]", r"[\r\n]+", r"\s*\n{1,2}"]
_SPACES = [r"\s+(?!\S)|\s+", r"\s++$|\s+(?!\S)|\s", r"\s+(?!\S)|\s", r"\s+", r" {1,8}|\s"]


def family(rng: Random) -> str:
    """Return a pattern of the family that tokenizers use, as perhaps nobody has written it."""
    many = rng.choice(("+", "+", "+", "+", "+", "++", "++", "{1,24}"))
    ending = rng.choice(_CONTRACTIONS)
    before, upper, lower = rng.choice(_BEFORE_LETTERS), rng.choice(_UPPER), rng.choice(_LOWER)
    after_words = rng.choice(("", f"(?:{ending})?"))
    words = rng.choice(
        (
            f"{ending}|{before}{rng.choice(_LETTERS)}{many}",
            f"{before}{rng.choice(_LETTERS)}{many}",
            f"{before}{upper}*{lower}+{after_words}|{before}{upper}+{lower}*{after_words}",
        )
    )
    signs = (
        rng.choice(("", " ?"))
        + rng.choice(_SIGNS)
        + rng.choice(("+", "+", "++"))
        + rng.choice(_AFTER_SIGNS)
    )
    script = rng.choice(("", "", rng.choice(_SCRIPTS)))
    parts = [
        script,
        words,
        rng.choice(_NUMBERS),
        signs,
        rng.choice(_LINE_ENDS),
        rng.choice(_SPACES),
    ]
    return "|".join(filter(None, parts))


def text(rng: Random) -> str:
    """Return a short text of characters that patterns distinguish."""
    return "".join(rng.choices(CHARACTERS, k=rng.randint(0, 12)))


FEW_LETTERS = "abcd "
"""The characters of texts for patterns of few letters."""

_FEW_REPEATS = [
    "",
    "",
    "",
    "",
    "*",
    "+",
    "?",
    "*?",
    "+?",
    "??",
    "*+",
    "?+",
    "{2}",
    "{1,3}",
    "{,2}?",
]
_FEW_LOOKS = ["(?=", "(?!", "(?<=", "(?<!"]
_FEW_PLACES = ["^", "$", r"\b", r"\B", r"\Z"]


def of_few_letters(rng: Random, depth: int = 2) -> str:
    """Return a pattern whose matches begin often, may be empty, look around them, and fail late."""
    return "|".join(_few_in_sequence(rng, depth) for _ in range(rng.choice((1, 1, 2, 2, 3))))


def _few_in_sequence(rng: Random, depth: int) -> str:
    return "".join(_few(rng, depth) for _ in range(rng.choice((1, 1, 2, 3))))


def _few(rng: Random, depth: int) -> str:
    chance = rng.random()
    if chance < 0.2:
        looked_for = "".join(rng.choices("abcd", k=rng.choice((1, 1, 1, 2))))
        return rng.choice(_FEW_LOOKS) + looked_for + ")"
    if chance < 0.25:
        return rng.choice(_FEW_PLACES)
    if chance < 0.5 and depth:
        group = rng.choice(("(?:", "(?:", "(?:", "(?>")) + of_few_letters(rng, depth - 1) + ")"
        return group + rng.choice(_FEW_REPEATS)
    letters = rng.choice(("a", "b", "c", "d", "aa", "ab", ".", r"\w"))
    many = rng.choice((letters, f"[{rng.choice(('ab', 'cd', '^a', '^ab'))}]"))
    return many + rng.choice(_FEW_REPEATS)
