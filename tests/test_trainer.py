"""The specification of training, FR-7 to FR-15, on examples that can be followed on paper."""

import os
import subprocess
import sys
from itertools import product

import pytest

from bpetite._pretokenizer import pretokenize
from bpetite._trainer import (
    ProgressEvent,
    TrainerResult,
    _apply_merge_to_word,
    _apply_merge_to_words,
    _count_pairs,
    _select_best_pair,
    train_bpe,
)
from bpetite.dialect import Dialect

HANDOUT = (
    "low low low low low\n"
    "lower lower widest widest widest\n"
    "newest newest newest newest newest newest\n"
)  # fmt: skip


def spelled(result: TrainerResult) -> list[bytes]:
    """The merges of a result as `left right`."""
    return [result.vocab[left] + b" " + result.vocab[right] for left, right in result.merges]


def test_train_worked_example() -> None:
    assert pretokenize("ab ab ab") == [b"ab", b" ab", b" ab"]
    words = {(97, 98): 1, (32, 97, 98): 2}
    assert _count_pairs(words) == {(97, 98): 3, (32, 97): 2}
    assert _select_best_pair(_count_pairs(words)) == (97, 98)
    words = _apply_merge_to_words(words, (97, 98), 256)
    assert words == {(256,): 1, (32, 256): 2}
    result = train_bpe("ab ab ab", 258)
    assert result.merges == ((97, 98), (32, 256))
    assert result.vocab[256] == b"ab"
    assert result.vocab[257] == b" ab"
    assert result.mergeable_vocab_size == 258
    assert result.vocab[258] == b"<|endoftext|>"
    assert dict(result.special_tokens) == {"<|endoftext|>": 258}


def test_train_starts_from_the_256_bytes() -> None:
    result = train_bpe("", 256)
    assert [result.vocab[byte] for byte in range(256)] == [bytes([byte]) for byte in range(256)]
    assert result.merges == ()
    assert dict(result.special_tokens) == {"<|endoftext|>": 256}


@pytest.mark.parametrize("vocab_size", [255, 0, -1])
def test_train_raises_value_error_for_vocab_size_below_256(vocab_size: int) -> None:
    with pytest.raises(ValueError, match="at least 256"):
        train_bpe("ab", vocab_size)


@pytest.mark.parametrize("vocab_size", [True, 300.0, "300"])
def test_train_raises_type_error_for_a_vocab_size_that_is_no_integer(vocab_size: int) -> None:
    with pytest.raises(TypeError, match="integer"):
        train_bpe("ab", vocab_size)


def test_train_vocab_size_256_learns_no_merges() -> None:
    assert train_bpe("ab ab ab", 256).merges == ()


def test_train_tie_breaking_picks_lexicographically_smallest_pair() -> None:
    assert train_bpe("cab", 257).merges == ((97, 98),)


def test_train_non_overlapping_merge_on_triple_emits_merged_then_trailing() -> None:
    assert _apply_merge_to_word((120, 120, 120), (120, 120), 256) == (256, 120)
    assert train_bpe("xxx", 258).merges == ((120, 120), (256, 120))


def test_train_words_that_become_equal_are_combined() -> None:
    assert _apply_merge_to_words({(1, 2): 3, (256,): 4}, (1, 2), 256) == {(256,): 7}


def test_train_early_stops_when_no_mergeable_pairs_remain() -> None:
    result = train_bpe("ab", 1000)
    assert result.merges == ((97, 98),)
    assert result.mergeable_vocab_size == 257
    assert dict(result.special_tokens) == {"<|endoftext|>": 257}


def test_train_early_stops_instead_of_merging_across_chunk_boundaries() -> None:
    assert train_bpe("ab\nab\nab\nab\nab", 300).merges == ((97, 98),)


@pytest.mark.parametrize(
    ("corpus", "merges"),
    [("aaa", ((97, 97), (256, 97))), ("aaaa", ((97, 97), (256, 256)))],
)
def test_train_stops_when_counts_reach_zero(
    corpus: str, merges: tuple[tuple[int, int], ...]
) -> None:
    assert train_bpe(corpus, 300).merges == merges


def test_train_treats_endoftext_literal_in_corpus_as_ordinary_text() -> None:
    assert train_bpe("ab<|endoftext|>ab", 300).merges != train_bpe("abab", 300).merges
    assert b"endoftext" in train_bpe("ab<|endoftext|>ab", 300).vocab.values()


def test_train_is_the_same_in_every_process() -> None:
    program = "from bpetite._trainer import train_bpe; print(train_bpe('the cat, the bat' * 3, 300).merges)"
    answers = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(answers) == 1


def test_train_does_not_depend_on_the_order_of_words() -> None:
    words = ["low", "lower", "widest", "newest", "wide", "slow"]
    assert train_bpe("\n".join(words), 300) == train_bpe("\n".join(reversed(words)), 300)


def test_train_reports_start_every_hundredth_merge_and_complete() -> None:
    events: list[ProgressEvent] = []
    corpus = " ".join(f"{a}{b}{c}" for a in "abcdefgh" for b in "ijklmnop" for c in "qrstuvwx")
    result = train_bpe(corpus, 256 + 250, progress=events.append)
    assert len(result.merges) == 250
    assert events == [
        ProgressEvent("start", 0, 250),
        ProgressEvent("merge", 100, 250),
        ProgressEvent("merge", 200, 250),
        ProgressEvent("complete", 250, 250),
    ]


def test_train_result_cannot_be_changed() -> None:
    result = train_bpe("ab", 257)
    with pytest.raises(AttributeError):
        result.merges = ()  # type: ignore[misc]  # the point of the test
    with pytest.raises(TypeError):
        result.vocab[0] = b"x"  # type: ignore[index]  # the point of the test


def test_train_handout_example_gives_its_printed_merges_and_vocabulary() -> None:
    result = train_bpe(HANDOUT, 257 + 12, dialect="cs336", pattern=r"\S+")
    assert spelled(result) == [
        b"s t", b"e st", b"o w", b"l ow", b"w est", b"n e", b"ne west", b"w i", b"wi d", b"wid est", b"low e",
        b"lowe r",
    ]  # fmt: skip
    six = train_bpe(HANDOUT, 257 + 6, dialect="cs336", pattern=r"\S+")
    assert list(six.vocab.values()) == [
        b"<|endoftext|>",
        *(bytes([byte]) for byte in range(256)),
        *(b"st", b"est", b"ow", b"low", b"west", b"ne"),
    ]


def test_train_specials_are_a_boundary_where_the_dialect_says_so() -> None:
    kept_apart = train_bpe("a<|endoftext|>b", 300, dialect="tiktoken", pattern=r"(?s:.+)")
    assert kept_apart.merges == ()
    as_text = train_bpe("a<|endoftext|>b", 300, pattern=r"(?s:.+)")
    assert b"a<|endoftext|>b" in as_text.vocab.values()


def test_train_ids_of_every_placement_of_specials() -> None:
    ids = {
        placement: train_bpe("ab", 300, dialect=Dialect().replace(special_ids=placement))
        for placement in ("first", "after_bytes", "last")
    }
    assert dict(ids["first"].special_tokens) == {"<|endoftext|>": 0}
    assert ids["first"].vocab[257] == b"ab"
    assert dict(ids["after_bytes"].special_tokens) == {"<|endoftext|>": 256}
    assert ids["after_bytes"].vocab[257] == b"ab"
    assert dict(ids["last"].special_tokens) == {"<|endoftext|>": 257}
    assert ids["last"].vocab[256] == b"ab"


def test_train_never_spells_the_same_bytes_twice() -> None:
    """The text between two token boundaries is merged independently, so equal bytes have the same tokens."""
    corpora = ["".join(letters) for length in range(9) for letters in product("ab", repeat=length)]
    for corpus in [*corpora, *map(" ".join, zip(corpora, reversed(corpora), strict=True))]:
        tokens = train_bpe(corpus, 300, special_tokens=[]).vocab.values()
        assert len(set(tokens)) == len(tokens)


def test_train_drops_rare_pretokens() -> None:
    assert train_bpe("ab ab cd", 300, min_count=2).merges == ()
    assert spelled(train_bpe(" ab ab cd", 300, min_count=2)) == [b"  a", b" a b"]


def test_train_keeps_tokens_within_the_longest_length() -> None:
    result = train_bpe("abcdefgh abcdefgh", 300, max_token_length=3, special_tokens=[])
    assert max(map(len, result.vocab.values())) == 3
