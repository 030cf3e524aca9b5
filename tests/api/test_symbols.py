"""BPE over lists of strings: the textbook problem, and the engine against its plain solution."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite.symbols import apply_merges, train_bpe


def naive(corpus: list[list[str]], num_merges: int) -> list[tuple[str, str]]:
    """The problem, as textbooks state it."""
    merges: list[tuple[str, str]] = []
    for _ in range(num_merges):
        counts = Counter(pair for word in corpus for pair in pairwise(word))
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        merges.append(best)
        corpus = [apply_merges(word, [best]) for word in corpus]
    return merges


def test_returns_a_list_of_merges_with_the_expected_length() -> None:
    merges = train_bpe([["a", "b", "c", "d"]], 2)
    assert isinstance(merges, list)
    assert len(merges) == 2


def test_simple_corpus_produces_the_expected_sequence() -> None:
    assert train_bpe([["a", "b", "c", "a", "b"]], 3) == [("a", "b"), ("ab", "c"), ("abc", "ab")]


def test_stops_early_when_no_adjacent_pairs_remain() -> None:
    assert train_bpe([["a", "b"], ["c"]], 10) == [("a", "b")]
    assert train_bpe([["a"], ["b"]], 10) == []
    assert train_bpe([], 10) == []


def test_ties_go_to_the_lexicographically_smallest_pair() -> None:
    assert train_bpe([["a", "b"], ["a", "c"]], 1) == [("a", "b")]
    assert train_bpe([["b", "a"], ["a", "c"]], 1) == [("a", "c")]


def test_the_most_frequent_pair_beats_an_earlier_rarer_one() -> None:
    assert train_bpe([["a", "b"], ["x", "y", "x", "y", "x", "y"]], 1) == [("x", "y")]


def test_realistic_corpus_of_low_lower_newer() -> None:
    corpus = [list("low")] * 5 + [list("lower")] * 2 + [list("newer")] * 6
    assert train_bpe(corpus, 4) == [("e", "r"), ("w", "er"), ("l", "o"), ("e", "wer")]


@pytest.mark.parametrize("num_merges", [0, -1])
def test_no_rounds_learn_nothing(num_merges: int) -> None:
    assert train_bpe([["a", "b"]], num_merges) == []


def test_symbols_need_not_be_characters_and_equal_strings_are_one_token() -> None:
    corpus = [["a", "b"], ["ab", "c"], ["ab", "c"], ["a", "b", "c"]]
    assert train_bpe([list(word) for word in corpus], 5) == naive(corpus, 5)


def test_an_empty_symbol_is_refused() -> None:
    with pytest.raises(ValueError, match="empty symbol"):
        train_bpe([["a", ""]], 1)


def test_apply_merges_goes_from_left_to_right() -> None:
    assert apply_merges(["x", "x", "x"], [("x", "x")]) == ["xx", "x"]
    assert apply_merges([], [("x", "x")]) == []


@given(
    corpus=st.lists(
        st.lists(st.sampled_from(["a", "b", "ab", "ba", "é", "\ud800"]), max_size=8), max_size=8
    ),
    num_merges=st.integers(0, 12),
)
def test_engine_equals_the_problem_statement(corpus: list[list[str]], num_merges: int) -> None:
    assert train_bpe([list(word) for word in corpus], num_merges) == naive(corpus, num_merges)


def test_a_pair_that_gained_occurrences_after_it_was_listed_is_merged_from_left_to_right() -> None:
    words = [["a", "b", "a", "b"], ["c", "a", "b", "c", "ab"], ["c", "ab", "c", "ab"]]
    assert train_bpe(words, 3) == [("a", "b"), ("c", "ab"), ("cab", "cab")]
