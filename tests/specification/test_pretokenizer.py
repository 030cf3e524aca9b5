"""The specification's pretokenizer: what is matched, what lies between, and that nothing is lost."""

import pytest

from bpetite import Tokenizer
from bpetite._pretokenizer import pieces, pretokenize


def test_pretokenize_keeps_the_leading_space_with_the_word() -> None:
    assert pretokenize("Hello, how are you?") == [b"Hello", b",", b" how", b" are", b" you", b"?"]


def test_pretokenize_of_the_handout() -> None:
    expected = ["some", " text", " that", " i", "'ll", " pre", "-", "tokenize"]
    assert pretokenize("some text that i'll pre-tokenize") == [piece.encode() for piece in expected]


def test_pretokenize_of_nothing_is_nothing() -> None:
    assert pretokenize("") == []


def test_text_between_matches_is_a_piece_of_its_own() -> None:
    assert pieces("to  be", r"[a-z]+") == [(b"to", True), (b"  ", False), (b"be", True)]


@pytest.mark.parametrize("name", ["cl100k_base", "GPT2", "o200k_harmony", "white-space"])
def test_a_word_that_names_no_pattern_is_refused_with_the_names_that_there_are(name: str) -> None:
    with pytest.raises(
        ValueError, match=rf"there is no pattern named '{name}' \(named patterns: gpt2, cl100k"
    ):
        Tokenizer.train_from_iterator(["a"], 256, pattern=name)


def test_a_regular_expression_of_one_word_is_still_possible() -> None:
    with pytest.raises(
        ValueError, match=r"there is no pattern named 'abcdef' \(named patterns: gpt2"
    ):
        Tokenizer.train_from_iterator(["a"], 256, pattern="abcdef")
    assert Tokenizer.train_from_iterator(["abcdef"], 256, pattern="(?:abcdef)").vocab_size == 257
