"""Training through the public API: options, prefixes, extension, and corpora at the edges."""

import pickle
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite import Counts, Dialect, Tokenizer, symbols, training
from bpetite._internal import memory
from bpetite._trainer import _apply_merge_to_word, train_bpe
from bpetite.dialect import DIALECTS

CORPUS = "the cat sat on the mat, the bat sat on the hat; naïve cafés and 1234 aaaa aaa\n" * 3
NEW_TEXT = "the theatre of the naïve bats: 12 acts, aaaaa"


@pytest.mark.parametrize("name", list(DIALECTS))
def test_every_smaller_vocabulary_is_a_prefix(name: str) -> None:
    whole = Tokenizer.train_from_iterator([CORPUS], 330, dialect=name)
    for size in range(257, whole.mergeable_vocab_size, 7):
        alone = Tokenizer.train_from_iterator([CORPUS], size, dialect=name)
        assert whole.truncate(size).vocabulary == alone.vocabulary


def naive_extension(old: Tokenizer, text: str, add: int) -> list[tuple[int, int]]:
    """Encode every pretoken with the old merges, then continue training with a recount after each merge."""
    words: Counter[tuple[int, ...]] = Counter()
    for pretoken, count in Counts.from_iterator([text]).items():
        words[tuple(old.encode_ordinary(pretoken.decode()))] += count
    merges: list[tuple[int, int]] = []
    next_id = max(*old.vocabulary.tokens, *old.special_tokens.values()) + 1
    while len(merges) < add:
        counts: Counter[tuple[int, int]] = Counter()
        for word, count in words.items():
            for pair in pairwise(word):
                counts[pair] += count
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        merged: Counter[tuple[int, ...]] = Counter()
        for word, count in words.items():
            merged[_apply_merge_to_word(word, best, next_id)] += count
        words = merged
        merges.append(best)
        next_id += 1
    return merges


def test_extend_goes_on_where_the_old_merges_end() -> None:
    old = Tokenizer.train(CORPUS, 300)
    new = old.extend([NEW_TEXT], add=25)
    assert new.merges[: len(old.merges)] == old.merges
    assert list(new.merges[len(old.merges) :]) == naive_extension(old, NEW_TEXT, 25)
    assert new.special_tokens == old.special_tokens
    for token_id, token in old.vocabulary.tokens.items():
        assert new.token_bytes(token_id) == token
    assert new.encode("the<|endoftext|>") == old.encode("the<|endoftext|>")


@given(
    st.text("ab ", max_size=20), st.text("ab ", max_size=20), st.integers(0, 12), st.integers(0, 12)
)
def test_extend_equals_its_naive_form(first: str, second: str, start: int, add: int) -> None:
    old = Tokenizer.train(first, 256 + start)
    new = old.extend([second], add=add)
    assert list(new.merges[len(old.merges) :]) == naive_extension(old, second, add)


@pytest.mark.parametrize("name", list(DIALECTS))
def test_extend_by_the_same_text_is_training_on(name: str) -> None:
    whole = Tokenizer.train_from_iterator([CORPUS], 320, dialect=name, special_tokens=[])
    parts = Tokenizer.train_from_iterator([CORPUS], 290, dialect=name, special_tokens=[]).extend(
        [CORPUS], 30
    )
    assert parts.vocabulary == whole.vocabulary


def test_extend_takes_counts_but_not_those_of_another_pattern() -> None:
    tok = Tokenizer.train(CORPUS, 300)
    assert tok.extend(Counts.from_iterator([NEW_TEXT]), 5) == tok.extend([NEW_TEXT], 5)
    with pytest.raises(ValueError, match="pattern"):
        tok.extend(Counts.from_iterator([NEW_TEXT], pattern="o200k"), 5)
    with pytest.raises(ValueError, match="add must be"):
        tok.extend([NEW_TEXT], -1)


def test_extending_takes_the_options_of_training() -> None:
    tok = Tokenizer.train("", 256)
    assert tok.extend(["ab", "ab", "cd"], 9, min_count=2).merges == ((97, 98),)
    seen: list[tuple[str, int, int]] = []
    short = tok.extend(
        ["abcd"] * 2,
        9,
        max_token_length=2,
        num_threads=1,
        progress=lambda *event: seen.append(event),
    )
    assert short.merges == ((97, 98), (99, 100))
    assert seen[-1][0] == "merging"


@pytest.mark.parametrize("min_count", [1, 2, 3, 100])
def test_min_count_equals_the_specification_and_is_recorded(min_count: int) -> None:
    tok = Tokenizer.train_from_iterator([CORPUS], 400, min_count=min_count)
    assert tok.merges == train_bpe(CORPUS, 400, min_count=min_count).merges
    assert dict(tok.vocabulary.trained_with) == ({} if min_count == 1 else {"min_count": min_count})


@pytest.mark.parametrize("longest", [1, 2, 3, 5, 1000])
def test_max_token_length_equals_the_specification(longest: int) -> None:
    tok = Tokenizer.train_from_iterator([CORPUS], 400, max_token_length=longest)
    assert tok.merges == train_bpe(CORPUS, 400, max_token_length=longest).merges
    assert tok.vocabulary.trained_with == {"max_token_length": longest}


@pytest.mark.parametrize(
    ("conditions", "recorded"),
    [
        ({"max_words": 2}, {"max_words": 2}),
        ({"without": ["e ", "e ", "\n"]}, {"without": ("e ", "\n")}),
        ({"whole_characters": True}, {"whole_characters": True}),
        ({"max_words": None, "without": (), "whole_characters": False}, {}),
    ],
)
def test_conditions_equal_the_specification_and_are_recorded(
    conditions: Any, recorded: dict[str, object], tmp_path: Path
) -> None:
    corpus, pattern = CORPUS + " naïve 你好 你们", r"(?s:.+)"
    tok = Tokenizer.train_from_iterator([corpus], 330, pattern=pattern, **conditions)
    assert tok.merges == train_bpe(corpus, 330, pattern=pattern, **conditions).merges
    assert tok.vocabulary.trained_with == recorded
    tok.save(tmp_path / "tok.json")
    loaded = Tokenizer.load(tmp_path / "tok.json")
    assert loaded.vocabulary.trained_with == recorded
    assert loaded.fingerprint == tok.fingerprint
    assert loaded == tok == pickle.loads(pickle.dumps(tok))
    extended = Tokenizer.train_from_iterator([], 256, pattern=pattern).extend(
        [corpus], 74, **conditions
    )
    spelled = [extended.token_bytes(token_id) for token_id in extended.vocabulary.merge_ids]
    assert spelled == [tok.token_bytes(token_id) for token_id in tok.vocabulary.merge_ids]


def test_counts_remember_the_rules_that_made_them() -> None:
    counts = Counts.from_iterator(["a<|x|>b"], dialect="tiktoken", special_tokens=["<|x|>"])
    assert (
        Tokenizer.train_from_counts(
            counts, 300, dialect="tiktoken", special_tokens=["<|x|>"]
        ).merges
        == ()
    )
    with pytest.raises(ValueError, match="boundaries"):
        Tokenizer.train_from_counts(counts, 300, dialect="tiktoken", special_tokens=["<|y|>"])
    with pytest.raises(ValueError, match="boundaries"):
        Tokenizer.train_from_counts(counts, 300, dialect="bpetite")
    assert list(Tokenizer.train_from_counts(counts, 300).special_tokens) == ["<|x|>"]
    skipping = Dialect.named("bpetite").replace(unmatched_text="skipped")
    with pytest.raises(ValueError, match="unmatched"):
        Tokenizer.train_from_counts(Counts.from_iterator(["a"]), 300, dialect=skipping)
    with pytest.raises(ValueError, match="pattern"):
        Counts.merge([Counts.from_iterator(["a"]), Counts.from_iterator(["a"], pattern="o200k")])
    with pytest.raises(ValueError, match="no counts"):
        Counts.merge([])


@pytest.mark.parametrize(
    ("documents", "merges"),
    [([], 0), ([""], 0), (["a"], 0), (["<|endoftext|>"] * 5, 0), (["ab"], 1), ([b"ab", "ab"], 1)],
)
def test_the_smallest_corpora(documents: list[str | bytes], merges: int) -> None:
    tok = Tokenizer.train_from_iterator(documents, 1000, dialect="tiktoken")
    assert len(tok.merges) == merges


def test_bytes_that_are_not_utf8_are_refused_with_their_place() -> None:
    with pytest.raises(ValueError, match=r"document 2.*byte 3"):
        Tokenizer.train_from_iterator(["ok", b"ok", b"caf\xe9"], 300)


def test_an_iterable_that_raises_passes_its_exception_on() -> None:
    class Broken(Exception):
        pass

    def documents() -> Iterator[str]:
        yield "fine"
        raise Broken("half-way")

    with pytest.raises(Broken, match="half-way"):
        Tokenizer.train_from_iterator(documents(), 300)


@pytest.mark.parametrize("wrong", [0, -1, 2.0, True, "2"])
def test_options_of_the_wrong_kind_are_refused(wrong: int) -> None:
    if wrong is not True:
        with pytest.raises((ValueError, TypeError)):
            Tokenizer.train_from_iterator(["ab"], 300, num_threads=wrong)
    kind = ValueError if type(wrong) is int else TypeError
    with pytest.raises(kind, match="min_count"):
        Tokenizer.train_from_iterator(["ab"], 300, min_count=wrong)
    with pytest.raises(kind, match="max_token_length"):
        Tokenizer.train_from_iterator(["ab"], 300, max_token_length=wrong)


def unread() -> Iterator[str]:
    """Documents that must not be read."""
    yield str(1 // 0)


@pytest.mark.parametrize(
    "options",
    [
        {"min_count": 0},
        {"max_token_length": 0},
        {"max_words": 0},
        {"max_words": 1.5},
        {"without": ": "},
        {"without": [""]},
        {"without": [b": "]},
        {"without": ["\ud800"]},
        {"without": 5},
        {"whole_characters": 1},
        {"dialect": "klingon"},
        {"special_tokens": "<a>"},
        {"special_tokens": [""]},
        {"special_tokens": [b"<a>"]},
        {"special_tokens": ["<a>", "<a>"]},
        {"special_tokens": {"<a>", "<b>"}},
        {"special_tokens": {"<a>": 7}},
        {"special_tokens": ["\ud800"]},
    ],
)
@pytest.mark.parametrize("dialect", ["bpetite", "tiktoken"])
def test_wrong_options_are_refused_before_the_corpus_is_read(
    dialect: str, options: dict[str, Any]
) -> None:
    with pytest.raises((ValueError, TypeError)):
        Tokenizer.train_from_iterator(unread(), 300, **{"dialect": dialect, **options})
    with pytest.raises((ValueError, TypeError)):
        Tokenizer.train_from_files("/nowhere", 300, **{"dialect": dialect, **options})


@pytest.mark.parametrize("name", list(DIALECTS))
def test_special_tokens_may_come_from_an_iterator(name: str) -> None:
    specials = ["<a>", "<b>"]
    expected = Tokenizer.train_from_iterator([CORPUS], 300, dialect=name, special_tokens=specials)
    once = iter(specials)
    got = Tokenizer.train_from_iterator([CORPUS], 300, dialect=name, special_tokens=once)  # type: ignore[arg-type]
    assert got.special_tokens == expected.special_tokens
    assert got == expected


def test_numbers_beyond_64_bits_are_as_good_as_none() -> None:
    huge = 10**30
    expected = Tokenizer.train(CORPUS, 2000)
    assert Tokenizer.train(CORPUS, huge) == expected
    assert expected == Tokenizer.train_from_iterator(
        [CORPUS], huge, max_token_length=huge, memory_limit=huge, num_threads=huge
    )
    assert Tokenizer.train(CORPUS, 256).extend([CORPUS], add=huge).merges[0] == expected.merges[0]
    assert symbols.train_bpe([["a", "b"]], huge) == [("a", "b")]
    with pytest.raises(OverflowError, match=f"min_count {huge}"):
        Tokenizer.train_from_iterator([CORPUS], 300, min_count=huge)


def test_the_name_of_a_file_of_counts_is_no_counts() -> None:
    with pytest.raises(TypeError, match="counts must be Counts, not str"):
        Tokenizer.train_from_counts("counts.parquet", 300)  # type: ignore[arg-type]


def test_a_mapping_is_no_iterable_of_documents() -> None:
    with pytest.raises(
        TypeError, match="documents must be an iterable of str or bytes, not a dict: give the texts"
    ):
        Tokenizer.train_from_iterator({"train": ["a text"]}, 300)


def test_one_string_is_no_iterable_of_documents() -> None:
    with pytest.raises(TypeError, match="put it in a list"):
        Tokenizer.train_from_iterator("abc", 300)
    with pytest.raises(TypeError, match="not one string"):
        Tokenizer.train_from_iterator(["abc"], 300, special_tokens="<|x|>")


def test_a_pattern_that_is_no_regular_expression_is_refused_with_the_reason() -> None:
    with pytest.raises(ValueError, match="pattern"):
        Tokenizer.train_from_iterator(["abc"], 300, pattern="(")


def test_progress_is_told_by_stage() -> None:
    calls: list[tuple[str, int, int]] = []
    Tokenizer.train_from_iterator(
        [CORPUS], 290, progress=lambda stage, done, total: calls.append((stage, done, total))
    )
    stages = [stage for stage, _, _ in calls]
    assert set(stages) == {"counting", "merging"}
    assert stages == sorted(stages)
    assert calls[-1] == ("merging", 34, 34)


def test_a_progress_that_raises_stops_training() -> None:
    class Enough(Exception):
        pass

    def progress(stage: str, done: int, total: int) -> None:
        raise Enough

    with pytest.raises(Enough):
        Tokenizer.train_from_iterator([CORPUS], 300, progress=progress)


def test_memory_that_the_machine_does_not_have_is_told_before_merging(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(training, "available_memory", lambda: 1_000_000)
    with pytest.warns(RuntimeWarning, match=r"expected to take .* MB of memory.*min_count"):
        Tokenizer.train_from_iterator([CORPUS], 300)
    monkeypatch.setattr(training, "available_memory", lambda: None)
    Tokenizer.train_from_iterator([CORPUS], 300)


def test_available_memory_is_what_the_system_tells() -> None:
    available = memory.available_memory()
    assert available is None or available > 0


def test_memory_that_the_process_may_not_take_is_not_available(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limit = {"/proc/self/limits": b"4096", "/proc/self/status": b"8"}

    def word(path: str, before: bytes = b"") -> bytes:
        if path not in limit:
            raise FileNotFoundError(path)
        return limit[path]

    monkeypatch.setattr(memory, "_word", word)
    assert memory.available_memory() == 0
    limit["/proc/self/limits"] = b"unlimited"
    assert memory.available_memory() is None


@pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux tells of a process")
def test_a_limit_of_the_process_is_found() -> None:
    code = """
import resource
from bpetite._internal.memory import available_memory
resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
print(available_memory())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) < 2**30


def test_a_memory_limit_of_training_is_met_or_refused_with_what_would_fit(tmp_path: Path) -> None:
    words = [f"{'x' * 50}{number} " * (1 + number % 4) for number in range(20_000)]
    counts = Counts.from_iterator(words)
    with pytest.raises(
        MemoryError, match=r"expected to take [0-9.]+ MB, but the limit is 1\.0 MB"
    ) as refused:
        Tokenizer.train_from_counts(counts, 300, memory_limit="1MB")
    expected = float(re.search(r"take ([0-9.]+) MB", str(refused.value))[1])  # type: ignore[index]
    limit = int(16.8e6 + (expected - 16.8) * 0.8e6)
    with pytest.raises(MemoryError, match="a larger min_count needs less"):
        Tokenizer.train_from_counts(counts, 300, memory_limit=limit)
    least = 2
    fits = Tokenizer.train_from_counts(counts, 300, min_count=least, memory_limit=limit)
    assert fits == Tokenizer.train_from_counts(counts, 300, min_count=least)
    counts.save(tmp_path / "counts.parquet")
    frequent = Counts.load(tmp_path / "counts.parquet", min_count=least)
    assert list(frequent.items()) == [
        (pretoken, count) for pretoken, count in counts.items() if count >= least
    ]
    assert Tokenizer.train_from_counts(frequent, 300, min_count=least) == fits


def test_min_count_is_in_occurrences_where_counts_are_loaded(tmp_path: Path) -> None:
    counts = Counts.from_iterator(["ab", "ab", "cd"]).weighted(Fraction(3, 2))
    counts.save(tmp_path / "counts.parquet")
    for least in range(1, 5):
        loaded = Counts.load(tmp_path / "counts.parquet", min_count=least)
        kept = [row for row in counts.items() if least == 1 or row[1] >= least * counts.scale]
        assert list(loaded.items()) == kept


def test_a_tokenizer_that_was_just_trained_is_like_any_other() -> None:
    trained = Tokenizer.train("low lower lowest", 265)
    again = pickle.loads(pickle.dumps(trained))
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: trained.encode("lower"), range(8)))
    assert found == [again.encode("lower")] * 8
    with pytest.raises(AttributeError, match="'Tokenizer' object has no attribute 'encoder'"):
        _ = trained.encoder  # type: ignore[attr-defined]


def test_an_encoder_is_made_when_it_is_needed(tmp_path: Path) -> None:
    with mock.patch("bpetite.tokenizer.encoder_of", side_effect=AssertionError):
        tok = Tokenizer.train("ab ab", 258)
        tok.save(tmp_path / "tok.json")
        with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
            _ = tok.nothing  # type: ignore[attr-defined]
    assert tok.encode("ab ab") == Tokenizer.load(tmp_path / "tok.json").encode("ab ab")
