"""A random generator → texts, patterns and corpora, of the kinds that break tokenizers."""

from __future__ import annotations

import sysconfig
from collections.abc import Callable
from pathlib import Path
from random import Random

from bpetite.patterns import PATTERNS
from fuzz.patterns import Grammar, family, variation

SPECIALS = ("<|endoftext|>", "<|endoftext|><", "<|", "|>", "<s>", "é¶", "oft", "ab")

FRAGMENTS: tuple[str, ...] = (
    *SPECIALS,
    *" \n\t\r'\"!/-_.,aAbBzZsStTmMdD019",
    *("  ", "\r\n", " \n", "\n ", "   \n\n", "'s", "'S", "'ll", "'LL", "'ve", "'re", "''", "'lL"),
    *(" '", "ſ", "'ſ"),
    *("the", " the", "The", "THE", "x7", "12345", "²", "½", "Ⅷ", "٣", "৪"),
    *("é", "e\u0301", "ß", "ẞ", "İ", "ı", "K", "ŉ", "ǅ", "ﬀ", "ʰ", "ª", "中", "文字"),
    *("ひらカタ", "한국", "שלום", "हिन्दी"),
    *("\x00", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x1f", "\x7f", "\x80", "\x85", "\xa0", "\xad"),
    *("\u1680", "\u180e", "\u2000", "\u2028", "\u2029", "\u202e"),
    *("\u202f", "\u205f", "\u3000", "\u200b", "\u200d", "\ufeff"),
    *("\ud7ff", "\ue000", "\ufffd", "\uffff", "\U00010000", "😀", "👩‍👩‍👧", "🇩🇪", "\U0010ffff"),
    *("\u0345", "\u20dd"),
    *("def f(x):\n    return x", "<|endofte", "endoftext|>", "//", "/\n"),
    *("a" * 15, "b" * 16, "c" * 17, " " * 63),
)  # fmt: skip

_RANGES = ((0, 0x80), (0x80, 0x800), (0x800, 0xD800), (0xE000, 0x10000), (0x10000, 0x110000))


def text(rng: Random, longest: int = 400) -> str:
    """Return a text of at most about `longest` characters."""
    length = int(longest ** rng.random())
    return rng.choice(_STYLES)(rng, length)[: 2 * longest]


def _fragments(rng: Random, length: int) -> str:
    """Return few kinds of fragments for some texts, so that there are runs; for others, all kinds."""
    kinds = rng.sample(FRAGMENTS, rng.choice((1, 2, 3, 6, len(FRAGMENTS))))
    return "".join(rng.choices(kinds, k=length))


def _characters(rng: Random, length: int) -> str:
    first, past = rng.choice(_RANGES)
    return "".join(chr(rng.randrange(first, past)) for _ in range(length))


def _letters(rng: Random, length: int) -> str:
    return "".join(rng.choices("ab"[: rng.randint(1, 2)] + "c é"[: rng.randint(0, 3)], k=length))


def _around_a_block(rng: Random, length: int) -> str:
    """Insert something at the end of a block of 64 bytes."""
    unit = rng.choice(FRAGMENTS)
    filler = unit * (64 * rng.randint(1, 4) // max(1, len(unit.encode())) + 1)
    return filler[: len(filler) - rng.randint(0, 3)] + _fragments(rng, min(length, 20))


def _source(rng: Random, length: int) -> str:
    """Return real text with a few characters changed."""
    whole: str = rng.choice(_SOURCE)
    start = rng.randrange(max(1, len(whole) - length))
    characters = list(whole[start : start + length])
    for _ in range(rng.randint(0, 3)):
        if characters:
            characters[rng.randrange(len(characters))] = rng.choice(FRAGMENTS)
    return "".join(characters)


_MODULES = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
_SOURCE = [path.read_text("utf-8")[:100_000] for path in _MODULES[::10]]
_STYLES: tuple[Callable[[Random, int], str], ...] = (
    _fragments,
    _fragments,
    _characters,
    _letters,
    _around_a_block,
    _source,
)


def pattern(rng: Random) -> str:
    """Return a pattern: a named one, a variation of one, one of their family, or a random one."""
    if rng.random() < 0.25:
        return family(rng)
    if rng.random() < 0.6:
        named = rng.choice(list(PATTERNS.values()))
        return named if rng.random() < 0.6 else variation(rng, named)
    return _expression(rng) if rng.random() < 0.6 else Grammar(rng, "bpetite").choice()


_ATOMS = (
    r"\p{L}", r"\p{N}", r"\p{Lu}", r"\P{L}", r"\w", r"\W", r"\s", r"\S", r"\d", ".", "a", "b",
    " ", "'", "é", "中", r"[^\s\p{L}\p{N}]", r"[\r\n]", "[a-z]", r"[^\r\n\p{L}]", "(?i:ab|s)", "(?:'s|'ll)",
    r"\n",
)  # fmt: skip
_REPEATS = ("", "", "", "+", "*", "?", "{1,3}", "{2}", "+?", "*?", "++", "?+")
_ENDS = ("", "", "", "", r"(?!\S)", r"(?=\s)", "$", r"(?!a)")


def _expression(rng: Random) -> str:
    branches = [
        "".join(rng.choice(_ATOMS) + rng.choice(_REPEATS) for _ in range(rng.randint(1, 3)))
        + rng.choice(_ENDS)
        for _ in range(rng.randint(1, 3))
    ]
    return "|".join(branches)


def cut(rng: Random, whole: str) -> list[str]:
    """Cut a text into pieces, some of them empty."""
    places = sorted(rng.randint(0, len(whole)) for _ in range(rng.randint(0, 6)))
    return [
        whole[start:end] for start, end in zip([0, *places], [*places, len(whole)], strict=True)
    ]
