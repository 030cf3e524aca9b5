"""A growing text with a long open end has the ids of the whole text, though only what is new is encoded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import _engine
from bpetite._encoder import encode_parts
from bpetite.patterns import PATTERNS
from bpetite.specification.added_tokens import Choice
from bpetite.specification.normalizer import aligned
from test_growing_engine import ENCODERS, KINDS
from test_parts import MERGES, VOCAB, Case, shortened, token

LONG = 300
"""A longer open end is encoded as a tail."""

FLAGS = {
    "none": [],
    "plain": [("<s>", "s"), ("    ", "s"), ("b", "s")],
    "stripping": [("<l>", "sl"), ("<r>", "sr"), ("<b>", "slr"), ("x", "")],
    "words": [("a", "sw"), ("aa", "w"), ("<s>", "s"), (" a", "sw")],
    "normalized": [("<l>", "snl"), ("aab", "n"), ("  \n", "n"), ("<s>", "s"), ("<s>a", "s")],
    "white space taken": [("<r>", "sr"), (" ", "s"), ("\n ", "")],
}
STEPS: dict[str, list[list[str]]] = {
    "as given": [],
    "composed": [["NFC"]],
    "lowered behind a space": [["Lowercase"], ["Prepend", " "]],
    "a space first": [["Replace", "\u2581", " "], ["Space first"]],
}
CUTS = {
    "letters": PATTERNS["qwen2"],
    "final white space": PATTERNS["cl100k"],
    "none": PATTERNS["none"],
    "single white space": r"[a-z<>]+|\s|[^a-z\s<>]",
    "white space and more": r"\n+| *[^ \n]+| +",
    "gaps": r"a+b|\s+\n|[b<]",
    "looking back": r"(?<=a)b|[a-z]+|\s+|[^a-z\s]+",
}


def a_case(flags: str, steps: str, cuts: str) -> Case:
    tokens = [token(text, number, own) for number, (text, own) in enumerate(FLAGS[flags])]
    return Case(tokens, STEPS[steps], CUTS[cuts])


BEGINNINGS = [
    "a" * LONG,
    " " * LONG,
    "\n" + " " * LONG,
    "ab" * LONG,
    "b " + "aab" * LONG,
    "\u4e2d" * LONG,
]
PIECES = [
    "a",
    "aa",
    "b",
    "ab",
    " ",
    "   ",
    "\n",
    " \n",
    "<",
    "<s>",
    "<s",
    ">",
    "<l>",
    "<r>",
    "<b>",
    "l>",
    "x",
]
PIECES += ["\u0301", "\u00e9", "A", "\u4e2d", "a" * 40, " " * 40, "1"]
appended = st.tuples(st.sampled_from(PIECES), st.sampled_from([None, None, "parse", "text"]))
changes = st.lists(
    st.one_of(appended, appended, appended, st.just("copy"), st.integers(LONG - 40, LONG + 40)),
    max_size=24,
)


@pytest.mark.parametrize("cuts", CUTS)
@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("flags", FLAGS)
@settings(max_examples=25)
@given(own=st.sampled_from(["parse", "text"]), begin=st.sampled_from(BEGINNINGS), changes=changes)
def test_ids_and_parts_are_those_of_the_whole_text_after_every_step(
    flags: str, steps: str, cuts: str, own: Choice, begin: str, changes: list[Any]
) -> None:
    engine = a_case(flags, steps, cuts).engine
    growing = engine.growing(own)
    growing.append(begin)
    parts: list[tuple[str, Choice | None]] = [(begin, None)]
    for change in changes:
        before, settled = growing.ids, growing.settled
        if change == "copy":
            other = growing.copy()
            growing.append("aa <s>")
            growing = other
            assert growing.ids == before
            continue
        if isinstance(change, int):
            parts = shortened(parts, change)
            unchanged = growing.truncate(change)
        else:
            text, choice = change
            if choice is None and parts and parts[-1][1] is None:
                parts[-1] = (parts[-1][0] + text, None)
            else:
                parts.append(change)
            unchanged = growing.append(text, choice)
            assert settled <= growing.settled
            assert settled <= unchanged
        assert growing.ids[:unchanged] == before[:unchanged]
        expected = engine.encode_parts([(text, choice or own) for text, choice in parts])
        assert (growing.ids, growing.parts) == expected


@pytest.mark.parametrize("cuts", CUTS)
@pytest.mark.parametrize("flags", FLAGS)
@settings(max_examples=3)
@given(pieces=st.lists(appended, max_size=8))
def test_tails_encode_as_specified(flags: str, cuts: str, pieces: list[Any]) -> None:
    case = a_case(flags, "composed", cuts)
    parts: list[tuple[str, Choice]] = [(" " * LONG + "a" * 20, "text")]
    growing = case.engine.growing("text")
    growing.append(parts[0][0])
    for text, choice in pieces:
        parts.append((text, choice or "parse"))
        growing.append(text, choice or "parse")
    merges = [(left, right) for left, right, _ in MERGES]
    specified = list(
        encode_parts(
            parts,
            VOCAB,
            merges,
            case.tokens,
            lambda text: aligned(text, [tuple(step) for step in case.steps]),
            pattern=case.pattern,
        )
    )
    assert list(zip(growing.ids, growing.parts, strict=True)) == specified


SHORT_PIECES = ["a", "b", " ", "z", "\u65e5", "\u65a5", "\u0301", "\u2581", "<s>"]


@pytest.mark.parametrize("special", ["parse", "text"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_short_continuation_of_a_long_text_has_the_ids_of_the_whole(
    kind: str, special: Choice
) -> None:
    encoder = ENCODERS[f"{kind}, {PATTERNS['none']}"]

    def continued(growing: _engine.GrowingEncoding, text: str, depth: int) -> None:
        for piece in SHORT_PIECES if depth else []:
            longer = growing.copy()
            unchanged = longer.append(piece)
            assert longer.ids == encoder.encode(text + piece, special), text[-6:] + piece
            assert longer.ids[:unchanged] == growing.ids[:unchanged]
            continued(longer, text + piece, depth - 1)

    for begin in ("abb" * LONG, "z" * LONG, "z\u65e5 " * (LONG // 2), "\u65a5" * LONG):
        growing = encoder.growing(special)
        growing.append(begin)
        continued(growing, begin, 3)


letters = st.sampled_from("aabc\u65e5\u65a5")
random_merges = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=25)
WHOLE, UNKNOWN, FIRST_MERGED = 256, 257, 300
SPELLINGS: list[dict[str, Any]] = [
    {},
    {"whole_pretoken_first": True},
    {"unknown": (UNKNOWN, False)},
    {"unknown": (UNKNOWN, True)},
    {"drops_unknown": True},
]


@pytest.mark.slow
@settings(max_examples=600)
@given(
    choices=random_merges,
    spelling=st.sampled_from(SPELLINGS),
    missing=st.sets(st.sampled_from(b"bc\xe6\xa5")),
    provisional=st.integers(0, 25),
    begin=st.one_of(
        letters.map(lambda letter: letter * 8),
        st.lists(letters, min_size=8, max_size=40).map("".join),
    ),
    pieces=st.lists(
        st.one_of(st.lists(letters, max_size=9).map("".join), st.integers(0, 700)), max_size=20
    ),
)
def test_a_long_pretoken_has_the_ids_of_the_whole_whatever_the_merges(
    choices: list[tuple[int, int]],
    spelling: dict[str, Any],
    missing: set[int],
    provisional: int,
    begin: str,
    pieces: list[Any],
) -> None:
    tokens = {byte: bytes([byte]) for byte in range(256) if byte not in missing}
    usable = [byte for byte in b"abc\xe6\x96\x97\xa5" if byte in tokens]
    merges: list[tuple[int, int, int]] = []
    for left, right in choices:
        pair = (usable[left % len(usable)], usable[right % len(usable)])
        merged = tokens[pair[0]] + tokens[pair[1]]
        if merged in tokens.values() or len(merged) > 100:
            continue
        number = FIRST_MERGED + len(merges)
        tokens[number] = merged
        merges.append((*pair, number))
        usable.append(number)
    tokens[WHOLE] = b"c" + begin.encode() * 8
    made = [merged for _, _, merged in merges]
    first_provisional = (
        len(made) if "drops_unknown" in spelling else max(len(made) - provisional, 0)
    )
    encoder = _engine.Encoder(
        pattern=PATTERNS["none"],
        tokens=b"".join(tokens.values()),
        ends=np.cumsum([len(token) for token in tokens.values()], dtype=np.uint64).tobytes(),
        ids=np.array(list(tokens), dtype=np.uint32).tobytes(),
        merges=np.array(merges, dtype=np.uint32).reshape(-1, 3).tobytes(),
        provisional=made[first_provisional:],
        **spelling,
    )
    growing, text = encoder.growing(), ""
    for piece in [begin * (600 // len(begin)), *pieces]:
        changed = text[:piece] if isinstance(piece, int) else text + piece
        try:
            ids = encoder.encode(changed)
        except ValueError:
            with pytest.raises(ValueError, match="no token"):
                growing.append(piece)
        else:
            growing.truncate(piece) if isinstance(piece, int) else growing.append(piece)
            text = changed
            assert growing.ids == ids


def test_no_id_is_settled_by_a_character_that_a_mark_may_change() -> None:
    # An "a" is a piece before "be", but not before "be" with an accent.
    case = Case([], [["NFC"]], "ab\u00e9|[ab]|[^ab]+")
    growing, text = case.engine.growing(), "c" * LONG
    growing.append(text)
    for piece in ("c", "abe", "\u0301", "ab", "e", "\u0301", "abeabe", "\u0301", "c"):
        settled = growing.ids[: growing.settled]
        text += piece
        growing.append(piece)
        assert growing.ids == case.engine.encode(text)
        assert growing.ids[: len(settled)] == settled


@pytest.mark.parametrize("first", ["parse", "text"])
@pytest.mark.parametrize("second", ["parse", "text"])
@pytest.mark.parametrize("flags", ["l", "sl", "sr", "slr"])
@pytest.mark.parametrize("cuts", CUTS.values())
def test_white_space_is_open_as_long_as_a_token_may_take_it(
    flags: str, cuts: str, first: Choice, second: Choice
) -> None:
    case = Case([token("<l>", 0, flags)], [], cuts)
    for spaces in (" " * 30, "\n" * 30, " \u00a0" * 20):
        growing = case.engine.growing()
        growing.append("a" + spaces, special=first)
        growing.append("<l>" + spaces, special=second)
        growing.append("b", special=first)
        parts: list[tuple[str, Choice]] = [
            ("a" + spaces, first),
            ("<l>" + spaces, second),
            ("b", first),
        ]
        assert (
            (growing.ids, growing.parts) == case.engine.encode_parts(parts) == case.specified(parts)
        )


@pytest.mark.parametrize("piece", ["a", "   ", "\u4e2d", "ac", "\n "])
@pytest.mark.parametrize("cuts", ["letters", "final white space", "none", "white space and more"])
def test_an_interrupted_or_refused_step_leaves_a_tail_as_it_was(piece: str, cuts: str) -> None:
    encoder = a_case("plain", "as given", cuts).engine
    growing = encoder.growing("error")
    text = "x" + piece * (LONG if piece != "   " else 1)
    text += "c" * LONG
    growing.append(text)
    growing.append("c")
    before = growing.ids
    for _ in range(2):
        with pytest.raises(ValueError, match="special token"):
            growing.append("c<s>")
        assert (growing.text, growing.ids) == (text + "c", before)
    growing.append("c")
    assert growing.ids == encoder.encode(text + "cc", "error")


@pytest.mark.parametrize("cuts", CUTS.values())
@pytest.mark.parametrize("steps", [*STEPS.values(), [["Prepend", " "]]])
def test_what_is_put_before_white_space_goes_if_a_token_takes_all_of_it(
    steps: list[list[str]], cuts: str
) -> None:
    case = Case([token("<l>", 0, "sl")], steps, cuts)
    growing = case.engine.growing()
    parts: list[tuple[str, Choice]] = [
        (" " * LONG, "text"),
        ("\n", "text"),
        ("<l>", "parse"),
        ("b", "text"),
    ]
    for count, (text, choice) in enumerate(parts, 1):
        growing.append(text, choice)
        assert (growing.ids, growing.parts) == case.engine.encode_parts(parts[:count])
