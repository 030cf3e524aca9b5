"""Normalization: the specification against the library that has its steps, and the engine against both."""

from __future__ import annotations

from itertools import product
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import PreTokenizedString, Regex
from tokenizers import normalizers as n

from bpetite._engine import Normalizer
from bpetite.specification.normalizer import Beginning, Places, Step, aligned

CHARACTERS = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
FEW = [
    *range(0x3400, 0xA000),
    *range(0xAC01, 0xD7A0),
    *range(0xE000, 0xF900),
    *range(0x17000, 0x18D00),
]
VARIED = sorted(set(CHARACTERS[:0x1F800]) - set(map(chr, FEW)) | set(map(chr, FEW[::97])))
"""All but most ideographs and syllables."""

BEGINNINGS: tuple[Beginning, ...] = ("text", "segment", "within")

NAMES = ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents")
"""Steps that look at characters."""

STEPS: dict[str, tuple[n.Normalizer, Step]] = {
    **{name: (getattr(n, name)(), (name,)) for name in NAMES},
    "Strip left": (n.Strip(True, False), ("Strip left",)),
    "Strip right": (n.Strip(False, True), ("Strip right",)),
    "Prepend": (n.Prepend("xA"), ("Prepend", "xA")),
    "Prepend a mark": (n.Prepend("e\u0301"), ("Prepend", "e\u0301")),
    "to a mark": (n.Replace("b", "\u0301"), ("Replace", "b", "\u0301")),
    "to a space": (n.Replace("\u2581", " "), ("Replace", "\u2581", " ")),
    "to more": (n.Replace("a", "xyz"), ("Replace", "a", "xyz")),
    "to itself": (n.Replace("ab", "ab"), ("Replace", "ab", "ab")),
    "to less": (n.Replace("aa", "a"), ("Replace", "aa", "a")),
    "to nothing": (n.Replace("a.", ""), ("Replace", r"a\.", "")),
    "of what was composed": (n.Replace("xé", "b"), ("Replace", "xé", "b")),
    "of what became small": (n.Replace("ba", "A"), ("Replace", "ba", "A")),
    "by a pattern": (n.Replace(Regex(" {2,}"), "_"), ("Replace", " {2,}", "_")),
    "at the end": (n.Replace(Regex(r"b+\z"), ""), ("Replace", r"b+\Z", "")),
}
"""Those of `tokenizers`, and ours."""

OURS_ONLY: list[Step] = [
    ("Map", "a", "b", "ab", "", "é", "e\u0301", "b\u0301", "xé", "xx", "A"),
    ("Map", "bé", "B", "ẹ", " ", "가", "\u1100"),
    ("Map",),
    (
        "Map clusters",
        "a",
        "bc",
        "b\u0301",
        "ab",
        "e",
        "",
        "é",
        "e\u0301",
        "xé",
        "xx",
        "\u1100",
        "A",
    ),
    ("Prepend first", "\u0301b"),
    ("Replace", "a+b", "ab"),
]

PIECES = [
    *"aaabbeexA É.\n",
    "  ",
    "\u0301",
    "\u0323",
    "\u0344",
    "\u0f73",
    "é",
    "ẹ",
    "e\u0301",
    "xé",
    "İ",
]
PIECES += [
    "\u2581",
    "\u1100",
    "\u1161",
    "\u11a8",
    "가",
    "각",
    "ﬁ",
    "\ufdfa",
    "ｶﾞ",
    "日",
    "\U0001fbf1",
    "\u0897",
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=10).map("".join)


def engine(*steps: Step) -> Normalizer:
    return Normalizer(steps)


def peer(normalizer: n.Normalizer, text: str) -> tuple[str, Places]:
    """Normalize a text there, and return also where its characters stand."""
    pieces = PreTokenizedString(text)
    pieces.normalize(normalizer.normalize)
    pieces.split(lambda _, piece: piece.split(Regex(r"[\s\S]"), "isolated"))
    found = pieces.get_splits("original", "char")
    return "".join(piece for piece, _, _ in found), [place for _, place, _ in found]


# The same as there
# ------------------------------------------------------------------------------------------


@given(st.lists(st.sampled_from(sorted(STEPS)), max_size=4), TEXTS)
def test_steps_do_what_they_do_there(names: list[str], text: str) -> None:
    theirs, steps = (
        n.Sequence([STEPS[name][0] for name in names]),
        [STEPS[name][1] for name in names],
    )
    assert aligned(text, steps) == peer(theirs, text)


CONTEXTS = ["{}", "a\u0301{}\u0323\u0334", "{}\u0301", "\u1100{}\u11a8", "\u0bc6{}\u0323"]


@pytest.mark.parametrize("name", NAMES)
def test_every_character_is_normalized_as_there(name: str) -> None:
    """A line for each character: nothing that is normalized reaches over the end of a line."""
    theirs, ours = STEPS[name][0], engine((name,))
    for context, start in product(CONTEXTS, range(0, len(CHARACTERS), 1024)):
        text = "\n".join(map(context.format, CHARACTERS[start : start + 1024]))
        assert ours(text) == theirs.normalize_str(text), f"from U+{ord(CHARACTERS[start]):04X}"


@pytest.mark.parametrize("name", NAMES)
def test_the_specification_normalizes_every_character_like_the_engine(name: str) -> None:
    """Those that stay alone and behind marks; the places of all others, too."""
    ours = engine((name,))
    changing = [character for character in CHARACTERS if not ours.keeps(character)]
    assert 300 < len(changing) < 20_000
    others = "".join(set(CHARACTERS) - set(changing))
    assert ours(others) is others
    changing = [c for c in changing if not "가" < c < "\ud7a0" or ord(c) % 97 == 0]
    for character in [*changing, *CHARACTERS[::499]]:
        for context in CONTEXTS:
            text = context.format(character)
            assert ours.aligned(text) == aligned(text, [(name,)]), ascii(text)


# The engine
# ------------------------------------------------------------------------------------------------

SEQUENCES = st.lists(
    st.sampled_from([*(step for _, step in STEPS.values()), *OURS_ONLY]), max_size=4
)


def test_any_two_steps_are_taken_like_one_after_the_other() -> None:
    """The engine takes them together, for a part of the text at a time."""
    texts = ["".join(text) for text in product(["x", "e", "\u0301", "a", "b", "é"], repeat=3)]
    steps = [*(step for _, step in STEPS.values()), *OURS_ONLY]
    for pair in product(steps, repeat=2):
        both, one, other = engine(*pair), engine(pair[0]), engine(pair[1])
        for text in texts:
            assert both(text) == other(one(text)), (pair, ascii(text))


@given(SEQUENCES, TEXTS, st.sampled_from(BEGINNINGS))
def test_the_engine_does_what_the_specification_does(
    steps: list[Step], text: str, at: Beginning
) -> None:
    ours = engine(*steps)
    normalized, places = aligned(text, steps, at)
    assert ours(text, at) == normalized
    assert ours.aligned(text, at) == (normalized, places)


@pytest.mark.parametrize(
    "steps", [[("NFC",)], [("NFKC",), ("Lowercase",)], [("Replace", "ê", "e")]]
)
@pytest.mark.parametrize("filling", ["a", "é", "日", "😀", "aé日😀"])
def test_changes_are_found_wherever_they_stand(steps: list[Step], filling: str) -> None:
    ours = engine(*steps)
    for before in range(80):
        start = (filling * 80)[:before]
        for change in ("e\u0301", "é\u0323", "ﬁ", "A", "ê", "\U0001d15e"):
            for text in (start + change, start + change + filling * 40, (start + change) * 3):
                assert ours.aligned(text) == aligned(text, steps)


def test_a_text_that_does_not_change_is_not_copied() -> None:
    for steps in (
        [],
        [("NFC",)],
        [("Lowercase",)],
        [("Replace", "\u2581", " ")],
        [("Strip right",)],
    ):
        text = "what is normal already, é 日 😀, though q\u0323 is looked at" * 9
        assert engine(*steps)(text) is text
    assert engine(("Lowercase",))("a" * 99 + "A") == "a" * 100


def join(parts: list[tuple[str, Places]], start: int) -> tuple[str, Places]:
    (first, places), (second, behind) = parts
    return first + second, [*places, *((begin + start, end + start) for begin, end in behind)]


@given(SEQUENCES, TEXTS, st.sampled_from(BEGINNINGS))
def test_a_text_may_be_cut_before_a_character_that_starts(
    steps: list[Step], text: str, at: Beginning
) -> None:
    ours = engine(*steps)
    whole = aligned(text, steps, at)
    cuts = [place for place in range(1, len(text)) if ours.starts(text[place])]
    for cut in cuts:
        parts = [aligned(text[:cut], steps, at), aligned(text[cut:], steps, "within")]
        assert join(parts, cut) == whole
        if ours.keeps(text[cut - 1]):
            assert aligned(text[:cut], steps, "within")[0].endswith(text[cut - 1])


@pytest.mark.parametrize("name", NAMES)
def test_every_character_starts_or_keeps_as_is_said(name: str) -> None:
    """A line for each, behind what composes with much."""
    ours = engine((name,))
    starting = [character for character in VARIED if ours.starts(character) and character != "\n"]
    assert len(starting) > len(VARIED) - 3000
    kept = "\n".join(character for character in starting if ours.keeps(character))
    assert ours(kept) is kept
    alone = ours("\n".join(starting)).split("\n")
    for before in ("e", "ẹ", "e\u0301", "\u0bc6", "\u1100", "가", "か", "\u0f71", "ᾳ"):
        text = ours("\n".join(before + character for character in starting))
        assert text.split("\n") == [ours(before) + character for character in alone]


def test_what_starts_and_what_stays_is_told_of_common_text() -> None:
    """So that nothing above holds because nothing starts."""
    composed, small = engine(("NFC",)), engine(("NFC",), ("Lowercase",))
    prepended = engine(("Prepend", " "), ("Replace", "\u2581", " "))
    for character in "aZ é日か가\U0001f600":
        for ours in (composed, small, prepended):
            assert ours.starts(character)
            assert ours.keeps(character) == (ours is not small or character != "Z")
    assert not any(map(composed.starts, "\u0301\u0323\u1161\u11a8\u3099"))
    assert prepended.starts("\u2581")
    assert not prepended.keeps("\u2581")
    assert not engine(("Strip left",)).starts("b")
    # `x` and `é` become one only if nothing is cut between them; and `e` may become `é`.
    replaced = engine(("NFC",), ("Replace", "xé", "b"))
    assert not any(map(replaced.starts, "eéax"))


@pytest.mark.parametrize(
    "step",
    [
        ["NFX"],
        ["NFC", "x"],
        ["Replace", "a"],
        ["Map", "a"],
        ["Map", "", "a"],
        [],
        ["Replace", "(", ""],
    ],
)
def test_what_is_no_step_is_refused(step: list[str]) -> None:
    with pytest.raises(ValueError):
        Normalizer([step])


def test_a_beginning_has_a_name() -> None:
    unknown: Literal["text"] = "start"  # type: ignore[assignment]
    with pytest.raises(ValueError, match="text, segment or within"):
        engine()("a", unknown)
