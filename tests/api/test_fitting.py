"""How much of a text fits: `Tokenizer.fit` and `Tokenizer.chunks` against trying every length."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise, product
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite import Tokenizer
from bpetite._pretokenizer import split_at_specials
from bpetite.encoding import fitting
from bpetite.patterns import PATTERNS
from bpetite.vocabulary import Vocabulary

CORPUS = "hello hell help the then theme 123 1234\n\n  ab  abc don't we're  été 日本語日本 " * 3
SPECIALS = ["<|x|>", "<|x|><|y|>", "|>he"]


@lru_cache
def tokenizer(pattern: str) -> Tokenizer:
    return Tokenizer.train_from_iterator([CORPUS], 400, pattern=pattern, special_tokens=SPECIALS)


PATTERNS_TRIED = [*PATTERNS, r"\w+|\W"]
TEXTS = st.lists(
    st.sampled_from([*"hel pthm123\n aé日\u0301", "hello", "  ", "'re", *SPECIALS, "<|x", "|>"]),
    max_size=14,
).map("".join)


def test_special_tokens_are_found_as_the_specification_finds_them() -> None:
    for specials in ([], ["ab"], ["a", "ab", "abb"], ["bb", "ba"], ["aa", "aab", "b"]):
        for length in range(7):
            for text in map("".join, product("ab", repeat=length)):
                cuts = fitting.any_of(frozenset(specials)).finditer(text)
                expected = [
                    segment for segment, special in split_at_specials(text, specials) if special
                ]
                assert [found.group() for found in cuts] == expected


def ends(tok: Tokenizer, text: str, special: Literal["parse", "text"]) -> list[int]:
    """The places where a text may be cut: not inside a special token."""
    if special == "text":
        return list(range(len(text) + 1))
    within: set[int] = set()
    place = 0
    for token_id in tok.encode(text):
        token = tok.token_bytes(token_id).decode("utf-8", "ignore")
        if token in tok.special_tokens and token_id == tok.special_tokens[token]:
            place = text.index(token, place)
            within.update(range(place + 1, place + len(token)))
            place += len(token)
    return [end for end in range(len(text) + 1) if end not in within]


@given(
    st.sampled_from(PATTERNS_TRIED), TEXTS, st.integers(0, 12), st.sampled_from(["parse", "text"])
)
def test_what_fits_is_the_longest_that_does(
    pattern: str, text: str, most: int, special: Literal["parse", "text"]
) -> None:
    tok = tokenizer(pattern)
    places = ends(tok, text, special)
    beginning = max(end for end in places if tok.count(text[:end], special=special) <= most)
    ending = min(start for start in places if tok.count(text[start:], special=special) <= most)
    assert tok.fit(text, most, special=special) == text[:beginning]
    assert tok.fit(text, most, side="left", special=special) == text[ending:]


@pytest.mark.parametrize("pattern", PATTERNS_TRIED)
@pytest.mark.parametrize("most", [1, 100, 1000])
def test_much_of_a_long_text_fits(pattern: str, most: int) -> None:
    tok = tokenizer(pattern)
    text = "hello help <|x|>the theme été 日本語日本 " * 200 + "a" * 5000 + "hel" * 1000
    sides: tuple[Literal["right", "left"], ...] = ("right", "left")
    for side in sides:
        kept = tok.fit(text, most, side=side)
        longer = len(kept) + 1
        assert tok.count(kept) <= most
        assert (
            tok.count(text[:longer] if side == "right" else text[-longer:]) > most
            or "<|x|>" in text[:16]
        )
        assert text.startswith(kept) if side == "right" else text.endswith(kept)


@given(
    st.sampled_from(PATTERNS_TRIED),
    TEXTS.map(lambda text: text * 3),
    st.integers(5, 20),
    st.integers(0, 4),
)
def test_chunks_cover_the_text_and_fit(pattern: str, text: str, size: int, overlap: int) -> None:
    tok = tokenizer(pattern)
    chunks = list(tok.chunks(text, size, overlap=overlap))
    reached = 0
    for chunk in chunks:
        assert chunk.text == text[chunk.start : chunk.end]
        assert chunk.ids == tok.encode(chunk.text)
        assert 0 < len(chunk.ids) <= size
        assert chunk.start <= reached < chunk.end
        assert tok.count(text[chunk.start : reached]) <= overlap
        reached = chunk.end
    assert reached == len(text)


def test_chunks_end_between_words_where_they_can() -> None:
    tok = tokenizer("gpt2")
    text = "the theme then help hello 日本語日本 " * 50
    for pattern in PATTERNS_TRIED[:3]:
        tok = tokenizer(pattern)
        chunks = list(tok.chunks(text, 16))
        assert [token_id for chunk in chunks for token_id in chunk.ids] == tok.encode(text)
        assert len(chunks) < 1.5 * tok.count(text) / 16


def test_neighbours_share_at_most_the_overlap() -> None:
    tok = tokenizer("gpt2")
    text = "the theme then help hello " * 40
    chunks = list(tok.chunks(text, 12, overlap=4))
    shared = [text[after.start : before.end] for before, after in pairwise(chunks)]
    assert all(0 < tok.count(piece) <= 4 for piece in shared)
    assert all(piece.startswith(" ") for piece in shared)


def test_a_vocabulary_that_normalizes_fits_too() -> None:
    plain = tokenizer("gpt2").vocabulary
    tok = Tokenizer(
        Vocabulary(
            plain.tokens, plain.merges, plain.special_tokens, plain.pattern, normalization="NFC"
        )
    )
    text = "e\u0301te\u0301 hello <|x|>" * 30
    for most in (0, 1, 2, 3, 7, 50):
        best = max(end for end in ends(tok, text, "parse") if tok.count(text[:end]) <= most)
        assert tok.fit(text, most) == text[:best]
    assert "".join(chunk.text for chunk in tok.chunks(text, 10)) == text


def test_what_makes_no_sense_is_refused() -> None:
    tok = tokenizer("gpt2")
    with pytest.raises(ValueError, match="max_tokens must be an integer of at least 0, not -1"):
        tok.fit("a", -1)
    with pytest.raises(ValueError, match='side: must be right or left, not "top"'):
        tok.fit("a", 1, side="top")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="text must be one str, not a list"):
        tok.fit(["a"], 1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the text contains the special token"):
        tok.fit("a<|x|>", 1, special="error")
    with pytest.raises(ValueError, match="overlap must be smaller than size: 3 is not less than 3"):
        list(tok.chunks("a", 3, overlap=3))
    with pytest.raises(ValueError, match="'語' at character 1 takes more than 1 tokens"):
        list(tokenizer("none").chunks("a語", 1))
