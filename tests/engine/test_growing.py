"""A text that grows has the ids of the whole text after every step, whatever the pattern."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite import Tokenizer, _encoder
from bpetite.patterns import PATTERNS

CORPUS = (
    "the cat's hat, the 12 345 rats\n\n  and the caf\u00e9 \u5929\u5730 <s><s>x \tHTTPServer's don't "
    * 4
)

CUSTOM = [r"\w+|[^\w\s]+", r"(?=a)a|b+", r"[a-z ]+|\s", r".{1,7}(?=\s|$)|\s"]

TOKENIZERS = {
    pattern: Tokenizer.train_from_iterator(
        [CORPUS], 300, pattern=pattern, special_tokens=["<s>", "<s><s>x"]
    )
    for pattern in [*PATTERNS.values(), *CUSTOM]
}

PIECES = [
    "<s>",
    "<s><s>",
    "<",
    "s>",
    "x",
    " ",
    "  ",
    "\n",
    "\r\n",
    "'",
    "'s",
    "s",
    "l",
    "the",
    " the",
    "T",
    "1",
    "234",
]
PIECES += [
    "\u00e9",
    "\u0301",
    "\u5929\u5730",
    "\u3000",
    "!",
    "?!\n",
    "a",
    "b",
    "\t",
    "\U0001f389",
    "/",
    "HTTP",
]
pieces = st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join))
steps = st.lists(st.one_of(pieces, st.integers(0, 60), st.integers(0, 40).map(float)), max_size=12)
"""Texts to append, lengths to cut the text to, and, as floats, numbers of ids to cut the text to."""


@pytest.mark.parametrize("special", ["parse", "text"])
@pytest.mark.parametrize("pattern", TOKENIZERS)
@given(steps=steps)
def test_the_ids_are_those_of_the_whole_text_after_every_step(
    pattern: str, special: str, steps: list[str | int | float]
) -> None:
    tokenizer = TOKENIZERS[pattern]
    growing, text = tokenizer.growing(special=special), ""  # type: ignore[arg-type]
    for step in steps:
        before, settled = growing.ids, growing.settled
        if isinstance(step, str):
            text += step
            stayed = growing.append(step)
            assert settled <= stayed
        elif isinstance(step, float):
            text = tokenizer.decode(before[: int(step)], errors="ignore")
            stayed = growing.truncate(ids=int(step))
        else:
            text = text[:step]
            stayed = growing.truncate(step)
        ids = tokenizer.encode(text, special)  # type: ignore[arg-type]
        assert (growing.text, growing.ids, len(growing)) == (text, ids, len(ids))
        assert growing.ids_from(stayed) == ids[stayed:]
        assert before[:stayed] == ids[:stayed]
        assert growing.settled <= len(ids)


FLAGS = [
    {"<s>": ["lstrip"], "<s><s>x": ["rstrip"]},
    {"<s>": ["normalized", "rstrip"]},
    {"<s>": ["single_word"]},
]
PREPARED = [
    "NFC",
    "NFKC",
    "Lowercase",
    "Strip left",
    "Strip right",
    [["Prepend", " "], ["NFD"]],
    [["Prepend first", "a "]],
    "Space first",
]


def prepared(normalization: Any, flags: Any) -> Tokenizer:
    trained = TOKENIZERS[PATTERNS["gpt2"]].vocabulary
    return Tokenizer(replace(trained, normalization=normalization, token_flags=flags))


NORMALIZING = {
    f"{normalization} {flags}": prepared(normalization, flags)
    for normalization in [None, *PREPARED]
    for flags in [{}, *FLAGS]
    if normalization or flags
}


@pytest.mark.parametrize("special", ["parse", "text"])
@pytest.mark.parametrize("name", NORMALIZING)
@given(steps=steps)
def test_a_growing_text_is_prepared_like_the_whole_text(
    name: str, special: str, steps: list[str | int | float]
) -> None:
    tokenizer = NORMALIZING[name]
    growing, text = tokenizer.growing(special=special), ""  # type: ignore[arg-type]
    for step in steps:
        before, settled = growing.ids, growing.settled
        if isinstance(step, str):
            text += step
            stayed = growing.append(step)
            assert settled <= stayed
        elif isinstance(step, float):
            stayed = growing.truncate(ids=int(step))
            assert text.startswith(growing.text)
            assert growing.text == text or int(step) < len(before)
            text = growing.text
        else:
            text = text[:step]
            stayed = growing.truncate(step)
        ids = tokenizer.encode(text, special)  # type: ignore[arg-type]
        assert (growing.text, growing.ids, len(growing)) == (text, ids, len(ids))
        assert growing.ids_from(stayed) == ids[stayed:]
        assert before[:stayed] == ids[:stayed]
        assert growing.settled <= len(ids)


def pieces_of(text: str, ends: list[int]) -> list[str]:
    """Cut a text at some places, from its beginning to its end."""
    places = sorted({0, len(text), *(min(end, len(text)) for end in ends)})
    return [text[start:end] for start, end in pairwise(places)]


@pytest.mark.parametrize("special", ["parse", "text"])
@pytest.mark.parametrize("name", NORMALIZING)
@given(text=st.lists(pieces).map("".join), ends=st.lists(st.integers(0, 60)))
def test_a_text_that_arrives_in_pieces_is_prepared_like_the_whole_text(
    name: str, special: str, text: str, ends: list[int]
) -> None:
    tokenizer = NORMALIZING[name]
    ids = tokenizer.encode(text, special)  # type: ignore[arg-type]
    for divided in (pieces_of(text, ends), list(text)):
        assert list(tokenizer.encode_iterable(divided, special=special)) == ids  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NORMALIZING)
def test_a_special_token_that_is_refused_is_found_across_pieces(name: str) -> None:
    tokenizer = NORMALIZING[name]
    for divided in (["the <s> cat"], list("the <s> cat"), ["the <s", "> cat"]):
        with pytest.raises(ValueError, match="<s>"):
            list(tokenizer.encode_iterable(divided, special="error"))
    whole = list(tokenizer.encode_iterable(["the <s", " cat"], special="error"))
    assert whole == tokenizer.encode("the <s cat")
    with pytest.raises(UnicodeEncodeError):
        list(tokenizer.encode_iterable(["the \ud800"]))
    with pytest.raises(TypeError):
        list(tokenizer.encode_iterable([b"the"]))  # type: ignore[list-item]


SPACED = [["Replace", "\u2581", " "]]
CUTTABLE = {
    str(normalization): prepared(normalization, {})
    for normalization in [
        "NFC",
        "NFKC",
        "Lowercase",
        [["NFD"], ["StripAccents"], ["Lowercase"]],
        [["Replace", "e", "'"], ["NFC"]],
        [["Prepend", " "], *SPACED],
        [["Prepend first", " "], *SPACED],
        [["Space first"], *SPACED],
    ]
}
"""Those that normalize a part of a text alike, whatever follows."""


@pytest.mark.parametrize("special", ["parse", "text"])
@pytest.mark.parametrize("name", CUTTABLE)
@given(steps=steps)
def test_a_text_is_settled_before_it_meets_a_special_token(
    name: str, special: str, steps: list[str | int | float]
) -> None:
    tokenizer = CUTTABLE[name]
    growing, text = tokenizer.growing(special=special), ""  # type: ignore[arg-type]
    for step in steps:
        settled = growing.ids[: growing.settled]
        if isinstance(step, str):
            text += step + "\u2581"
            growing.append(step + "\u2581")
            assert growing.ids[: len(settled)] == settled
        elif isinstance(step, int):
            text = text[:step]
            growing.truncate(step)
        else:
            growing.truncate(ids=int(step))
            text = growing.text
        ids = tokenizer.encode(text, special)  # type: ignore[arg-type]
        assert (growing.text, growing.ids) == (text, ids)
        assert list(tokenizer.encode_iterable(pieces_of(text, [3, 7, 20]), special=special)) == ids  # type: ignore[arg-type]


@pytest.mark.parametrize("name", CUTTABLE)
def test_a_text_without_special_tokens_is_neither_kept_nor_encoded_again(name: str) -> None:
    text = "The cafe\u0301's cat, the rats "
    stream = CUTTABLE[name]._encoder.encode_stream()
    early = [len(stream.feed(text)) for _ in range(100)]
    assert sum(early) > 50 * len(stream.finish())
    growing = CUTTABLE[name].growing(text * 100)
    assert len(growing) - growing.settled < 40


def test_a_text_is_cut_only_where_nothing_can_compose_with_what_is_before() -> None:
    for steps in (
        [["Lowercase"], ["Replace", "e", "\u0301"]],
        [["NFC"], ["Replace", "\u00e9", "\u0301"]],
    ):
        tokenizer = prepared([*steps, ["NFC"]], {})
        for text in ("the cat aE!", "the cat ae\u0301!"):
            ids = tokenizer.encode(text)
            assert list(tokenizer.encode_iterable(text, special="text")) == ids
            growing = tokenizer.growing(special="text")
            for character in text:
                growing.append(character)
            assert growing.ids == ids


def test_a_character_that_loses_its_mark_may_change_what_was_settled_before_it() -> None:
    tokenizer = CUTTABLE["NFC"]
    growing = tokenizer.growing("the cat's\u0301 b", special="text")
    growing.truncate(len("the cat's"))
    assert growing.ids == tokenizer.encode("the cat's")


def test_what_is_before_a_special_token_is_settled_though_it_was_normalized() -> None:
    growing = NORMALIZING["NFC {}"].growing("the cafe\u0301 " * 100 + "<s> and the cat, the rats")
    assert len(growing) - growing.settled < 20
    growing.truncate(10)
    assert growing.settled < len(growing) == len(NORMALIZING["NFC {}"].encode("the cafe\u0301 "))


@given(parts=st.lists(pieces, max_size=6))
def test_a_growing_text_encodes_as_specified(parts: list[str]) -> None:
    tokenizer = TOKENIZERS[PATTERNS["gpt2"]]
    vocabulary = tokenizer.vocabulary
    growing = tokenizer.growing()
    for part in parts:
        growing.append(part)
    tokens = {
        **vocabulary.tokens,
        **{id_: text.encode() for text, id_ in vocabulary.special_tokens.items()},
    }
    expected = _encoder.encode("".join(parts), tokens, vocabulary.merges, vocabulary.special_tokens)
    assert growing.ids == expected


@pytest.mark.parametrize("pattern", PATTERNS.values())
def test_nearly_all_ids_of_a_named_pattern_are_settled(pattern: str) -> None:
    growing = TOKENIZERS[pattern].growing("the cat sat on the mat. " * 1000)
    if pattern not in (PATTERNS["none"], PATTERNS["superwords"]):  # They do not cut this text.
        assert growing.settled > len(growing) - 30


@pytest.mark.parametrize("tokenizer", [TOKENIZERS[PATTERNS["gpt2"]], NORMALIZING["NFC {}"]])
def test_after_an_error_all_is_as_it_was(tokenizer: Tokenizer) -> None:
    growing = tokenizer.growing("the c", special="error")
    ids = growing.ids
    with pytest.raises(ValueError, match='"<s>" at character 7'):
        growing.append("at<s>")
    with pytest.raises(UnicodeEncodeError):
        growing.append("\ud800")
    for negative in ({"length": -1}, {"ids": -1}):
        with pytest.raises(ValueError, match=f"{next(iter(negative))} must be at least 0, not -1"):
            growing.truncate(**negative)
    with pytest.raises(ValueError, match="start must be at least 0, not -2"):
        growing.ids_from(-2)
    for neither_or_both in [{}, {"length": 1, "ids": 1}]:
        with pytest.raises(TypeError, match="either a length or ids"):
            growing.truncate(**neither_or_both)
    assert (growing.text, growing.ids) == ("the c", ids)
    growing.append("at")
    assert growing.ids == tokenizer.encode("the cat")
    assert repr(growing).startswith("GrowingEncoding(")
