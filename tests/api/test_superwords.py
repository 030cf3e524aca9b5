"""Superwords: a second stage of training that joins words."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from bpetite import Counts, Superwords, Tokenizer
from bpetite._encoder import encode_ordinary
from bpetite._extender import extend
from bpetite._pretokenizer import pieces
from bpetite._trainer import Word, _count_of_words
from bpetite.dialect import DIALECTS
from bpetite.patterns import PATTERNS

WORDS = ["of", "the", "in", "a", "king:", "queen,", "12", "one-two", "(to)", "x\n", "by\tis", ""]


def corpus_of(seed: int) -> list[str]:
    chance = random.Random(seed)
    common = ["of the", "in the", "to be or not to be", "a: b", "by the way,  "]
    return [" ".join(chance.choices([*WORDS, *common], k=60)) for _ in range(4)]


@pytest.mark.parametrize("dialect", list(DIALECTS))
@pytest.mark.parametrize("seed", range(3))
def test_superwords_are_as_specified(dialect: str, seed: int) -> None:
    texts = corpus_of(seed)
    rules = DIALECTS[dialect]
    options: dict[str, Any] = {"dialect": dialect, "special_tokens": []}
    trained = Tokenizer.train_from_iterator(
        texts, 330, superwords=Superwords(at=290, max_words=3), **options
    )
    first = Tokenizer.train_from_iterator(texts, 290, **options).vocabulary
    words: Counter[Word] = Counter()
    for text in texts:
        for pretoken, _ in pieces(text, PATTERNS["superwords"]):
            ids = encode_ordinary(pretoken.decode(), first.tokens, first.merges, {}, "(?s:.)+")
            words[tuple(ids)] += 1
    learned = extend(
        words,
        first.tokens,
        range(290, 330),
        rules=rules,
        allows=lambda token: _count_of_words(token) <= 3 and b": " not in token,
    )
    assert trained.merges == (*first.merges, *(pair for pair, _ in learned))
    assert trained.pattern == PATTERNS["superwords"]
    assert any(_count_of_words(token) == 3 for token in trained.vocabulary.tokens.values())
    assert not any(b": " in token for token in trained.vocabulary.tokens.values())
    assert trained.vocabulary.trained_with["superwords_at"] == 290


@pytest.mark.parametrize("first_pattern", ["gpt2", "o200k"])
def test_encoding_is_as_specified(first_pattern: str) -> None:
    """Of short and long pretokens, new and known ones, whose pieces and runs are short and long."""
    trained = Tokenizer.train_from_iterator(
        corpus_of(2), 400, pattern=first_pattern, superwords=Superwords(at=300, max_words=None)
    )
    vocabulary = trained.vocabulary
    late = {*range(300, 400)}
    chance = random.Random(4)
    texts = [
        *corpus_of(3),
        " of the" * 900,
        "of" * 300 + " of the of" * 20 + "of" * 300,
        " ".join(
            chance.choices([*WORDS, "to be", "über", "12345", "....", "\n\n", "日本"], k=1500)
        ),
        *("".join(chance.choices("of theinab:,.\n ", k=40)) for _ in range(200)),
    ]
    for text in texts:
        tokens, merges = vocabulary.tokens, vocabulary.merges
        ids = list(encode_ordinary(text, tokens, merges, {}, PATTERNS["superwords"]))
        assert trained.encode(text) == ids
        assert trained.encode(text) == ids
        assert trained.count(text) == len(ids)
        growing = trained.growing()
        for start in range(0, len(text), 1000):
            growing.append(text[start : start + 1000])
        assert growing.ids == ids
        assert trained.decode(ids) == text
    assert len(late.intersection(trained.encode(texts[0]))) > 5


def test_the_result_is_plain_bpe_with_the_same_ids_elsewhere(tmp_path: Path) -> None:
    trained = Tokenizer.train_from_iterator(
        corpus_of(1), 340, dialect="tiktoken", superwords=Superwords(at=280)
    )
    assert trained.special_tokens == {"<|endoftext|>": 339}
    trained.to_huggingface(tmp_path / "tokenizer.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    trained.save(tmp_path / "trained.json")
    again = Tokenizer.load(tmp_path / "trained.json")
    for text in [*corpus_of(7), "of the<|endoftext|>in the", "  \n of the", "a:  b"]:
        assert trained.encode(text) == theirs.encode(text).ids == again.encode(text)
        assert trained.decode(trained.encode(text)) == text


def test_other_texts_for_the_second_stage() -> None:
    options: dict[str, Any] = {"dialect": "cs336", "special_tokens": []}
    looser = Counts.from_iterator(["so to say " * 9], pattern="superwords", **options)
    trained = Tokenizer.train_from_iterator(
        iter(corpus_of(2)), 310, superwords=Superwords(at=280, counts=looser), **options
    )
    learned = [trained.vocabulary.tokens[own] for own in trained.vocabulary.merge_ids[280 - 256 :]]
    assert all(token in b"so to say " * 9 for token in learned)
    assert any(_count_of_words(token) > 1 for token in learned)
    first = Counts.from_iterator(corpus_of(2), **options)
    from_counts = Tokenizer.train_from_counts(
        first, 310, superwords=Superwords(at=280, counts=looser)
    )
    assert from_counts.merges == trained.merges


def test_what_cannot_be_is_refused_before_anything_is_counted(tmp_path: Path) -> None:
    texts = corpus_of(3)
    with pytest.raises(ValueError, match=r"superwords.at is 400, which is above .* 300"):
        Tokenizer.train_from_iterator(texts, 300, superwords=Superwords(at=400))
    with pytest.raises(ValueError, match="read twice"):
        Tokenizer.train_from_iterator(iter(texts), 300, superwords=Superwords(at=290))
    with pytest.raises(ValueError, match="with counts"):
        Tokenizer.train_from_counts(Counts.from_iterator(texts), 300, superwords=Superwords(at=290))
    with pytest.raises(ValueError, match="vocab_size"):
        Tokenizer.train_from_iterator(texts, 300, superwords=Superwords(at=200))
    with pytest.raises(ValueError, match="pattern"):
        Tokenizer.train_from_iterator(
            texts, 300, superwords=Superwords(at=290, counts=Counts.from_iterator(texts))
        )
