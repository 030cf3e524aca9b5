"""The size of a training: counted as the dialect does, or all tokens together, and said where it is seen."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bpetite import Counts, Tokenizer
from test_cli import bpetite

CORPUS = "the cat sat on the mat, the cat sat on the hat"


@pytest.mark.parametrize("dialect", ["bpetite", "cs336", "huggingface", "tiktoken"])
@pytest.mark.parametrize("specials", [[], ["<s>"], ["<s>", "</s>"]])
def test_a_total_size_counts_every_token(dialect: str, specials: list[str]) -> None:
    how: dict[str, Any] = {"dialect": dialect, "special_tokens": specials}
    for tok in (
        Tokenizer.train(CORPUS, total_size=270, **how),
        Tokenizer.train_from_iterator([CORPUS], total_size=270, **how),
        Tokenizer.train_from_counts(Counts.from_iterator([CORPUS], **how), total_size=270),
    ):
        assert len(tok) == 270
    with pytest.raises(
        ValueError, match=f"total_size must be an integer of at least {256 + len(specials)}"
    ):
        Tokenizer.train(CORPUS, total_size=255, **how)


def test_one_size_is_given() -> None:
    with pytest.raises(
        TypeError, match="vocab_size must be an integer, not None, unless total_size"
    ):
        Tokenizer.train(CORPUS)
    with pytest.raises(
        ValueError, match="vocab_size and total_size: only one of them can be given"
    ):
        Tokenizer.train(CORPUS, 270, total_size=270)


def test_a_tokenizer_says_how_many_tokens_are_special() -> None:
    assert repr(Tokenizer.train(CORPUS, 270)).startswith(
        "Tokenizer(271 tokens: 270 and '<|endoftext|>', "
    )
    two = Tokenizer.train(CORPUS, 270, special_tokens=["<s>", "</s>"])
    assert repr(two).startswith("Tokenizer(272 tokens: 270 and 2 special, ")
    assert repr(Tokenizer.train(CORPUS, 270, special_tokens=[])).startswith(
        "Tokenizer(270 tokens, "
    )
    long = Tokenizer.train(CORPUS, 270, special_tokens=["<" * 99])
    assert repr(long).startswith("Tokenizer(271 tokens: 270 and 1 special, ")


def test_tokens_that_are_only_decoded_are_counted_among_those_that_are_not_special() -> None:
    trained = Tokenizer.train(CORPUS, 270).vocabulary
    vocabulary = replace(trained, decode_only={300: b"x", 301: b"y"})
    assert (vocabulary.vocab_size, vocabulary.mergeable_vocab_size) == (273, 270)
    assert vocabulary.size_in_words == "273 tokens: 272 and '<|endoftext|>'"


@pytest.mark.parametrize("specials", [[], ["<s>"], ["<s>", "</s>"]])
def test_the_commands_say_the_size_as_the_tokenizer_does(
    specials: list[str], tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text(CORPUS)
    model = tmp_path / "t.json"
    how = ["train", "--input", tmp_path / "a.txt", "--output", model, "--vocab-size", 270]
    trained = bpetite(*how, "--special-token", *specials) if specials else bpetite(*how)
    size = Tokenizer.load(model).vocabulary.size_in_words
    assert re.search(rf"^trained in .+; {re.escape(size)}$", trained.stderr.decode(), re.MULTILINE)
    inspected = bpetite("inspect", model).stdout.decode()
    assert re.search(rf"^  size +{re.escape(size)}$", inspected, re.MULTILINE)


def test_train_takes_the_options_of_train_from_iterator() -> None:
    how: dict[str, Any] = {"dialect": "tiktoken", "pattern": "llama3", "min_count": 2}
    assert Tokenizer.train(CORPUS, 265, **how) == Tokenizer.train_from_iterator(
        [CORPUS], 265, **how
    )


def test_the_command_line_takes_a_total_size(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(CORPUS)
    how = ["train", "--input", tmp_path / "a.txt", "--output", tmp_path / "t.json"]
    done = bpetite(*how, "--total-size", 270)
    assert json.loads(done.stdout)["actual_mergeable_vocab_size"] == 269
    assert len(Tokenizer.load(tmp_path / "t.json")) == 270
    for sizes in ([], ["--vocab-size", 270, "--total-size", 270]):
        refused = bpetite(*how, "--force", *sizes)
        assert (refused.returncode, refused.stdout) == (2, b"")
        assert b"--vocab-size" in refused.stderr
        assert b"--total-size" in refused.stderr
