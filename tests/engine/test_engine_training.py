"""The engine's merge stage against the specification."""

import struct
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise, product
from typing import Any, Unpack

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite import Counts, Tokenizer, _engine
from bpetite._constants import SUPERWORDS_PATTERN
from bpetite._trainer import train_bpe
from bpetite.dialect import AXES, DIALECTS, Dialect
from bpetite.training import Conditions, Training, train_vocabulary

ALL_RULES = [
    *DIALECTS.values(),
    *(
        Dialect().replace(tie_break=tie_break, equal_tokens=equal_tokens, base_ids=base_ids)
        for tie_break, equal_tokens, base_ids in product(
            AXES["tie_break"], AXES["equal_tokens"], AXES["base_ids"]
        )
    ),
]

ANY_CONDITIONS = st.fixed_dictionaries(
    {},
    optional={
        "max_token_length": st.none() | st.integers(1, 6),
        "max_words": st.none() | st.integers(1, 4),
        "without": st.lists(st.sampled_from(["a", "b ", " ", "é", "ab", "\n"]), max_size=2),
        "whole_characters": st.booleans(),
    },
)

Pair = tuple[str, str]


def merge_strings(corpus: Sequence[Sequence[str]], num_merges: int) -> list[Pair]:
    """Count every pair, merge the most frequent one (the smallest among equals), and start again."""
    words = [list(word) for word in corpus]
    merges: list[Pair] = []
    while len(merges) < num_merges:
        counts = Counter(pair for word in words for pair in pairwise(word))
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        merges.append(best)
        words = [merge_word(word, best) for word in words]
    return merges


def merge_word(word: list[str], pair: Pair) -> list[str]:
    merged: list[str] = []
    at = 0
    while at < len(word):
        found = tuple(word[at : at + 2]) == pair
        merged.append("".join(pair) if found else word[at])
        at += 2 if found else 1
    return merged


def packed(word: Sequence[int]) -> bytes:
    """The bytes of an array of symbol numbers."""
    return np.array(word, np.uint32).tobytes()


def engine_strings(corpus: Sequence[Sequence[str]], num_merges: int) -> list[Pair]:
    symbols = sorted({symbol for word in corpus for symbol in word})
    number = {symbol: at for at, symbol in enumerate(symbols)}
    merges = _engine.train_symbol_merges(
        [symbol.encode() for symbol in symbols],
        [packed([number[symbol] for symbol in word]) for word in corpus],
        [1] * len(corpus),
        tie_break="smallest_bytes",
        shared_tokens=True,
        max_merges=num_merges,
    )
    pairs: list[Pair] = []
    for left, right, result in struct.iter_unpack("=3I", merges):
        pairs.append((symbols[left], symbols[right]))
        symbols[result:] = symbols[result:] or ["".join(pairs[-1])]
    return pairs


def check_against_the_specification(
    corpus: str,
    vocab_size: int,
    rules: Dialect,
    pattern: str,
    **conditions: Unpack[Conditions],
) -> None:
    specials = ["<|x|>"]
    expected = train_bpe(
        corpus,
        vocab_size,
        dialect=rules,
        pattern=pattern,
        special_tokens=specials,
        **conditions,
    )
    counts = Counts.from_iterator([corpus], pattern=pattern, dialect=rules, special_tokens=specials)
    training = Training(rules, pattern, specials, **conditions)
    learned = train_vocabulary(counts, vocab_size, training)
    assert learned.merges == expected.merges
    assert {
        **learned.tokens,
        **{i: text.encode() for text, i in learned.special_tokens.items()},
    } == dict(expected.vocab)


@pytest.mark.exhaustive
@pytest.mark.parametrize("rules", ALL_RULES)
def test_every_string_of_two_letters_trains_as_specified(rules: Dialect) -> None:
    for length in range(9):
        for letters in product("ab", repeat=length):
            check_against_the_specification("".join(letters), 300, rules, r"[ab]+")


@given(
    st.text(st.sampled_from("abcé \n"), max_size=120) | st.text(max_size=40),
    st.sampled_from(ALL_RULES),
    st.sampled_from([r"\w+|\s", r"(?s:.+)", r"[a-z]+"]),
    st.integers(257, 330),
    ANY_CONDITIONS,
)
def test_any_corpus_trains_as_specified(
    corpus: str, rules: Dialect, pattern: str, vocab_size: int, conditions: Conditions
) -> None:
    check_against_the_specification(corpus, vocab_size, rules, pattern, **conditions)


SOME_CONDITIONS: list[Conditions] = [
    {"max_words": 1},
    {"max_words": 2, "without": ["a  "]},
    {"without": ["aa"]},
    {"whole_characters": True},
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("conditions", SOME_CONDITIONS)
@pytest.mark.parametrize("rules", DIALECTS.values())
def test_every_short_string_trains_under_conditions_as_specified(
    rules: Dialect, conditions: Conditions
) -> None:
    for length in range(7):
        for letters in product("a é", repeat=length):
            check_against_the_specification("".join(letters), 300, rules, r"(?s:.+)", **conditions)


@given(
    st.text(st.sampled_from("ab é"), max_size=60),
    st.sets(st.sampled_from([b"ab", b"a b", "é".encode(), b" a", b"aba"])),
    st.sampled_from(AXES["tie_break"]),
    st.booleans(),
)
def test_tokens_that_are_taken_are_not_made(
    corpus: str, taken: set[bytes], tie_break: Any, is_shared: bool
) -> None:
    equal_tokens = "shared" if is_shared else "distinct"
    rules = Dialect().replace(tie_break=tie_break, equal_tokens=equal_tokens)
    expected = train_bpe(corpus, 300, dialect=rules, pattern=r"(?s:.+)", taken=taken)
    counts = Counts.from_iterator([corpus], pattern=r"(?s:.+)", dialect=rules)
    rows = _engine.train_merges(
        counts._table,
        {"tie_break": rules.tie_break, "max_tokens": 44, "taken": list(taken)},
        base=bytes(range(256)),
        shared_tokens=is_shared,
    )
    pairs = [(left, right) for left, right, _ in struct.iter_unpack("=3I", rows)]
    assert tuple(pairs) == expected.merges
    made = [expected.vocab[left] + expected.vocab[right] for left, right in expected.merges]
    assert len({*made, *taken}) == len(made) + len(taken)


@pytest.mark.parametrize("name", DIALECTS)
def test_text_between_the_matches_of_superwords_is_counted_in_every_dialect(name: str) -> None:
    corpus = "by the way, by the way 2024...  by the\n way<|x|> by the way"
    check_against_the_specification(corpus, 300, DIALECTS[name], SUPERWORDS_PATTERN)
    by_name = Counts.from_iterator([corpus], pattern="superwords", dialect=name)
    assert by_name.unmatched_text == "counted"
    between = {b"by the way, by the way ", b" by the\n way", b"x", b" by the way"}
    assert between < dict(by_name.items()).keys()
    again = Counts.from_iterator([corpus], pattern=SUPERWORDS_PATTERN, dialect=name)
    assert Counts.merge([by_name, again]).total == 2 * by_name.total == 20
    in_steps = Counts(pattern=["\\n", "superwords"], dialect=name)
    assert in_steps.unmatched_text == "counted"


words_of_strings = st.lists(
    st.lists(st.sampled_from(["a", "b", "ab", "ba", "é"]), max_size=10), max_size=6
)


@given(words_of_strings, st.integers(0, 12))
def test_merges_of_strings_are_those_of_a_fresh_recount(
    corpus: list[list[str]], num_merges: int
) -> None:
    assert engine_strings(corpus, num_merges) == merge_strings(corpus, num_merges)


def test_merges_are_rows_of_left_right_and_result() -> None:
    merges = _engine.train_symbol_merges(
        [b"a", b"b", b"c"],
        [packed([0, 1, 2, 0, 1])],
        [1],
        tie_break="smallest_bytes",
        shared_tokens=True,
        max_merges=3,
    )
    assert np.frombuffer(merges, np.uint32).tolist() == [0, 1, 3, 3, 2, 4, 4, 3, 5]


@pytest.mark.parametrize("words", [[], [[]], [[0], [0]]])
def test_no_pair_gives_no_merge(words: list[list[int]]) -> None:
    merges = _engine.train_symbol_merges(
        [b"a"],
        [*map(packed, words)],
        [1] * len(words),
        tie_break="smallest_ids",
        shared_tokens=False,
        max_merges=None,
    )
    assert merges == b""


def test_a_pair_count_past_64_bits_is_an_overflow_error() -> None:
    with pytest.raises(OverflowError, match="64 bits"):
        _engine.train_symbol_merges(
            [b"a", b"b"],
            [packed([0, 1])] * 2,
            [2**63, 2**63],
            tie_break="smallest_ids",
            shared_tokens=False,
            max_merges=None,
        )


@pytest.mark.parametrize(
    ("symbols", "words", "counts", "tie_break", "message"),
    [
        ([b"a"], [[1]], [1], "smallest_ids", "words: 1 is not the number"),
        ([b"a"], [[0, 0]], [], "smallest_ids", "counts: 0 counts for 1 words"),
        ([b"a"], [[0, 0]], [1], "largest", "tie_break: must be smallest_ids, largest_bytes or"),
        ([b"", b"a"], [[0, 1]], [1], "smallest_bytes", "an empty symbol"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(
    symbols: list[bytes], words: list[list[int]], counts: list[int], tie_break: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        _engine.train_symbol_merges(
            symbols,
            [*map(packed, words)],
            counts,
            tie_break=tie_break,
            shared_tokens=True,
            max_merges=None,
        )


def train_on_bytes(
    pretokens: Sequence[bytes], counts: Sequence[int], max_tokens: int
) -> list[list[int]]:
    """Train with shared tokens, on two threads, on pretokens that were counted before."""
    table = _engine.CountTable(r"(?s:.+)")
    ends = np.cumsum([len(pretoken) for pretoken in pretokens], dtype=np.uint64)
    table.add_counts(b"".join(pretokens), ends, np.array(counts, np.uint64))
    rows = _engine.train_merges(
        table,
        {"tie_break": "largest_bytes", "max_tokens": max_tokens},
        base=bytes(range(256)),
        shared_tokens=True,
        num_threads=2,
    )
    result: list[list[int]] = np.frombuffer(rows, np.uint32).reshape(-1, 3).tolist()
    return result


def test_counts_that_are_not_kept_train_the_same_and_are_empty_afterwards() -> None:
    counts = Counts.from_iterator(["low lower lowest"])
    kept = train_vocabulary(counts, 262)
    assert (len(counts), counts.bytes) == (3, 16)
    assert train_vocabulary(counts, 262, keep_counts=False) == kept
    assert (len(counts), counts.bytes) == (0, 16)
    assert train_vocabulary(counts, 262).merges == ()


def test_counts_that_are_not_kept_are_given_up_while_they_are_read() -> None:
    counts = Counts.from_iterator(["low lower lowest"])
    left = []
    train_vocabulary(counts, 262, progress=lambda *_: left.append(len(counts)), keep_counts=False)
    assert left == [0, 0]


def test_counts_given_to_a_tokenizer_stay_as_they_are() -> None:
    counts = Counts.from_iterator(["low lower lowest"])
    Tokenizer.train_from_counts(counts, 262)
    assert len(counts) == 3


def test_ten_megabytes_of_one_letter_double_until_one_token_is_left_over() -> None:
    rows = train_on_bytes([b"a" * 10_000_000], [1], 1000)
    doublings = [[97, 97, 256], *([token, token, token + 1] for token in range(256, 278))]
    assert rows[:23] == doublings
    assert len(rows) < 40


@pytest.mark.parametrize("letters", [b"ab", b"abcdefghijklmnopqrstuvwxyz", "漢字仮名".encode()])
def test_ten_megabytes_of_random_letters_in_one_pretoken_are_trained(letters: bytes) -> None:
    unit = 3 if letters[0] > 127 else 1
    draws = np.random.default_rng(0).integers(0, len(letters) // unit, 10_000_000 // unit)
    word = np.frombuffer(letters, np.uint8).reshape(-1, unit)[draws].tobytes()
    pairs = np.frombuffer(word, np.uint8)
    keys, counts = np.unique(pairs[:-1].astype(np.int64) * 256 + pairs[1:], return_counts=True)
    best = max(zip(counts.tolist(), keys.tolist(), strict=True))[1]
    rows = train_on_bytes([word], [1], 2000)
    assert rows[0] == [best // 256, best % 256, 256]
    assert max(row[2] for row in rows) == 2255


def test_a_million_distinct_pretokens_of_count_one_are_trained() -> None:
    rows = train_on_bytes(
        [b"%x" % (number * 2654435761 % 2**32) for number in range(1_000_000)], [1] * 10**6, 500
    )
    assert max(row[2] for row in rows) == 755


def test_counts_near_the_end_of_64_bits_are_kept_or_refused() -> None:
    assert train_on_bytes([b"ab", b"cd"], [2**64 - 1, 2**64 - 2], 2) == [
        [97, 98, 256],
        [99, 100, 257],
    ]
    with pytest.raises(OverflowError, match="64 bits"):
        train_on_bytes([b"ab", b"xab"], [2**63, 2**63], 2)
