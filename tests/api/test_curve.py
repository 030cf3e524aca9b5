"""The curve of vocabulary size against compression, against smaller vocabularies themselves."""

from __future__ import annotations

import pytest

from bpetite import Tokenizer, Vocabulary
from bpetite._internal.types import Special
from encoders import CORPUS

TEXT = (
    "The dog's lazy, the fox is quick. " * 5
    + "Größe 東京<|endoftext|>def count():\n\treturn 7\n" * 4
)
BYTES = {byte: bytes([byte]) for byte in range(256)}


@pytest.mark.parametrize("dialect", ["bpetite", "cs336", "huggingface", "tiktoken"])
def test_what_smaller_vocabularies_give_is_what_they_give(dialect: str) -> None:
    tok = Tokenizer.train_from_iterator([CORPUS], 420, dialect=dialect)
    curve = tok.curve(TEXT)
    fewest = 256 + len(tok.special_tokens) * (dialect != "bpetite")
    assert [row["vocab_size"] for row in curve] == list(range(fewest, 421))
    for row in curve:
        tokens = tok.truncate(int(row["vocab_size"])).count(TEXT, "text")
        assert row["tokens"] == tokens
        assert row["bytes_per_token"] == len(TEXT.encode()) / tokens
        assert row["characters_per_token"] == len(TEXT) / tokens


@pytest.mark.parametrize("special", ["parse", "text"])
def test_it_has_the_sizes_that_are_asked_for(special: Special) -> None:
    tok = Tokenizer.train(CORPUS, 420)
    found = [
        (row["vocab_size"], row["tokens"]) for row in tok.curve(TEXT, [420, 300], special=special)
    ]
    assert found == [(size, tok.truncate(size).count(TEXT, special)) for size in (420, 300)]


@pytest.mark.parametrize("size", [255, 421])
def test_a_size_that_truncate_refuses_is_refused(size: int) -> None:
    tok = Tokenizer.train(CORPUS, 420)
    with pytest.raises(
        ValueError, match=f"each of sizes must be an integer from 256 to 420, not {size}"
    ):
        tok.curve(TEXT, [300, size])


def test_smaller_vocabularies_where_several_merges_make_a_token() -> None:
    merges = [(98, 99), (97, 98), (257, 99), (97, 256)]
    vocabulary = Vocabulary(BYTES | {256: b"bc", 257: b"ab", 258: b"abc"}, merges)
    text = "abc abcd ab bc abcabc xabcd"
    for size, kept in [(256, 0), (257, 1), (258, 2), (259, 4)]:
        smaller = Vocabulary(dict([*vocabulary.tokens.items()][:size]), merges[:kept])
        [row] = Tokenizer(vocabulary).curve(text, [size])
        assert row["tokens"] == Tokenizer(smaller).count(text)


def test_a_token_that_no_merge_makes_is_in_every_smaller_vocabulary() -> None:
    vocabulary = Vocabulary(
        BYTES | {256: b"ab", 257: b"word"}, [(97, 98)], irregular=True, whole_pretoken_first=True
    )
    found = [(row["vocab_size"], row["tokens"]) for row in Tokenizer(vocabulary).curve("word ab")]
    assert found == [(257, 4), (258, 3)]


def test_a_text_without_tokens_is_no_error() -> None:
    assert Tokenizer.train("ab ab", 257).curve("", [257]) == [
        {"vocab_size": 257, "tokens": 0, "bytes_per_token": 0.0, "characters_per_token": 0.0}
    ]


def test_a_vocabulary_without_smaller_ones_is_refused() -> None:
    tokens = BYTES | {256: b"ab", 257: b"\xc3\xa9"}
    vocabulary = Vocabulary(tokens, [(97, 98), (195, 169)], irregular=True, provisional=[257])
    with pytest.raises(ValueError, match="has no smaller ones"):
        Tokenizer(vocabulary).curve("ab")
