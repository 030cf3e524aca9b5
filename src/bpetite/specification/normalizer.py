"""Normalizes a text, step by step, and says where each character of the result was in the original.

This is the specification. The steps are the normalizers of `tokenizers`.

Characters compose and decompose as in Unicode 9, the version of the tables in `tokenizers`;
characters that were added later stay as they are. Python's tables are newer, so those characters
are kept out of them; for all others Unicode guarantees the same result in every version. Lower case
is that of Unicode 17.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Literal

import regex

Step = tuple[str, ...]
"""The name of a step and its arguments: `("NFC",)`, `("Replace", pattern, content)`."""

Beginning = Literal["text", "segment", "within"]
"""Where a text begins: as the whole text does, behind a token, or in the middle of a segment."""

Places = list[tuple[int, int]]
"""The start and end, in the original text, of each character."""

Written = Iterator[tuple[str, int, int]]
"""Characters, each with the start and end, in the text before a step, of what it stands for."""

FORMS = ("NFC", "NFD", "NFKC", "NFKD")

WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""What `Strip left` and `Strip right` remove."""


def aligned(text: str, steps: Sequence[Step], at: Beginning = "text") -> tuple[str, Places]:
    """Normalize a text by steps, and return also the place of each character.

    >>> aligned("A\u0308bc", [("NFC",), ("Lowercase",), ("Replace", "bc", "xyz")])
    ('äxyz', [(0, 1), (3, 4), (3, 4), (3, 4)])
    """
    places = [(place, place + 1) for place in range(len(text))]
    for step in steps:
        written = list(_written(text, step, at)) if text else []
        text = "".join(character for character, _, _ in written)
        places = [(places[start][0], places[end - 1][1]) for _, start, end in written]
    return text, places


def _written(text: str, step: Step, at: Beginning) -> Written:
    """Yield what a step makes of a text that is not empty."""
    name, *arguments = step
    characters = [(character, place, place + 1) for place, character in enumerate(text)]
    if name in FORMS:
        yield from _normal_form(text, name)
    elif name == "Lowercase":
        for character, start, end in characters:
            yield from ((small, start, end) for small in lower(character))
    elif name == "StripAccents":
        yield from (item for item in characters if not is_mark(item[0]))
    elif name == "Strip left":
        kept = len(text.lstrip(WHITE_SPACE))
        yield from characters[len(text) - kept :]
    elif name == "Strip right":
        kept = len(text.rstrip(WHITE_SPACE))
        yield from characters[:kept]
    elif name == "Map":
        yield from _mapped(text, dict(zip(arguments[::2], arguments[1::2], strict=True)))
    elif name == "Map clusters":
        yield from _mapped_clusters(text, dict(zip(arguments[::2], arguments[1::2], strict=True)))
    elif name == "Replace":
        yield from _replaced(text, *arguments)
    else:
        if at == "text" or (at == "segment" and name == "Prepend"):
            yield from ((character, 0, 1) for character in arguments[0])
        yield from characters


def _replaced(text: str, pattern: str, content: str) -> Written:
    """Replace the matches of a pattern; the new text stands for the last character of a match.

    An empty match is none.
    """
    done = 0
    for match in regex.finditer(pattern, text):
        start, end = match.span()
        if start < end:
            yield from ((text[place], place, place + 1) for place in range(done, start))
            yield from ((character, end - 1, end) for character in content)
            done = end
    yield from ((text[place], place, place + 1) for place in range(done, len(text)))


def _mapped(text: str, new: Mapping[str, str]) -> Written:
    """Replace, at each place, the longest of the texts that stand there; the result is not searched again."""
    longest = max(map(len, new), default=0)
    start = 0
    while start < len(text):
        end = min(start + longest, len(text))
        while end > start and text[start:end] not in new:
            end -= 1
        end = max(end, start + 1)  # Where nothing is replaced, one character is kept.
        original = text[start:end]
        yield from ((character, start, end) for character in new.get(original, original))
        start = end


def _mapped_clusters(text: str, new: Mapping[str, str]) -> Written:
    """Replace, as the `Precompiled` of tokenizers does, each grapheme cluster of fewer than 6 bytes by what
    the shortest text becomes that it begins with; of all others, each character.

    Each new character stands for the next original one, and more of them for the last. Where there
    are fewer, the last character written before takes the others, too: if it was one of too many,
    it stands for the next one instead, and if there is none, all that follow are early.
    """
    written: list[list[Any]] = []
    """Characters, each with how many there are more than before."""
    for cluster in regex.findall(r"\X", text):
        beginnings = [cluster[: length + 1] for length in range(len(cluster))]
        found = next((beginning for beginning in beginnings if beginning in new), None)
        is_short = len(cluster.encode("utf-8")) < 6
        if is_short and found is not None:
            replaced = [(cluster, new[found])]
        else:
            replaced = [(character, new.get(character, character)) for character in cluster]
        for old_text, new_text in replaced:
            written += [[one, int(index >= len(old_text))] for index, one in enumerate(new_text)]
            if written:
                written[-1][1] -= max(0, len(old_text) - len(new_text))
    place = 0
    for character, more in written:
        start = place - 1 if more > 0 else place
        yield character, start, start + 1
        place = start + 1 - min(more, 0)


# Normal forms
# ---------------------------------------------------------------------------------------------

Decomposed = tuple[str, int]
"""A character of a decomposed text, and how many characters of the text before the step it stands for: the
parts of a character but the first stand for none."""


def _normal_form(text: str, form: str) -> Written:
    parts = _decomposed(text, "NFKD" if "K" in form else "NFD")
    if form.endswith("C"):
        parts = _recomposed(parts)
    done = 0
    for character, count in parts:
        # A character has the place of the first one that it stands for, or else of the last one
        # before.
        place = done if count else done - 1
        yield character, place, place + 1
        done += count


def _decomposed(text: str, form: Literal["NFD", "NFKD"]) -> Iterator[Decomposed]:
    """Decompose a text, and sort the characters of each run by their combining classes, if they have any."""
    parts: list[Decomposed] = []
    for character in text:
        whole = character if is_young(character) else unicodedata.normalize(form, character)
        parts += [(part, int(place == 0)) for place, part in enumerate(whole)]
    for _, run in groupby(parts, key=lambda part: combining_class(part[0]) > 0):
        yield from sorted(run, key=lambda part: combining_class(part[0]))


def _recomposed(parts: Iterator[Decomposed]) -> Iterator[Decomposed]:
    """Compose each character with the last one of class 0, if no character between them is in the way."""
    # The last one of class 0, and those behind it. A mark at the beginning of a text composes with
    # nothing.
    run: list[Decomposed] = []
    for character, count in parts:
        combining = combining_class(character)
        in_the_way = len(run) > 1 and combining_class(run[-1][0]) >= combining
        composed = composite(run[0][0], character) if run and not in_the_way else None
        if composed:
            run[0] = composed, run[0][1] + count
        elif combining:
            run.append((character, count))
        else:
            yield from run
            run = [(character, count)]
    yield from run


def combining_class(character: str) -> int:
    """Return the canonical combining class; 0 for a character that came after Unicode 9."""
    return 0 if is_young(character) else unicodedata.combining(character)


def composite(first: str, second: str) -> str | None:
    """Return the character that two compose to, if there is one."""
    composed = unicodedata.normalize("NFC", first + second)
    if len(composed) > 1 or any(map(is_young, (first, second, composed))):
        return None
    return composed


# Characters
# -----------------------------------------------------------------------------------------------


def lower(character: str) -> str:
    """Return a character in lower case, regardless of its neighbours.

    >>> lower("Σ"), lower("İ") == "i\u0307"
    ('σ', True)
    """
    return _LOWER.get(character) or character.lower()


def is_mark(character: str) -> bool:
    """Whether a character was a combining mark in Unicode 9."""
    if unicodedata.category(character)[0] == "M":
        return not _NO_MARK_YET.match(character)
    return character in _MARKS_THEN


def is_young(character: str) -> bool:
    """Whether a character came after Unicode 9."""
    return _YOUNG.match(character) is not None


def _ranges(written: str) -> re.Pattern[str]:
    """Return a regular expression for a set of code points.

    >>> bool(_ranges("61-63,78").match("b")), bool(_ranges("61-63,78").match("d"))
    (True, False)
    """
    ranges = []
    for codes in written.split(","):
        escaped = [rf"\U{int(code, 16):08x}" for code in codes.split("-")]
        ranges.append("-".join(escaped))
    return re.compile(f"[{''.join(ranges)}]")


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
