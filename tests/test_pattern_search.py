"""Where matches begin and fail: counts, ids and pieces are as specified, and no text takes long."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from fuzz.patterns import FEW_LETTERS, of_few_letters

from bpetite import Counts, Tokenizer, Vocabulary, _encoder, _engine
from bpetite._constants import BYTES, Pattern
from bpetite._pretokenizer import pieces, pretokenize
from bpetite.dialect import DIALECTS
from interrupts import interrupts, stops_after_interrupt

MERGES = [(97, 98), (256, 97), (97, 97), (98, 98), (99, 97), (32, 97)]
TOKENS = {token_id: bytes([token_id]) for token_id in range(256)}
for _number, (_left, _right) in enumerate(MERGES):
    TOKENS[256 + _number] = TOKENS[_left] + TOKENS[_right]


def counted(texts: list[str], pattern: Pattern, unmatched_text: str) -> dict[bytes, int]:
    """Count as the specification cuts."""
    counts: Counter[bytes] = Counter()
    for text in texts:
        for piece, is_match in pieces(text, pattern):
            if is_match or unmatched_text == "counted":
                counts[piece] += 1
    return dict(counts)


def check(texts: list[str], pattern: Pattern) -> None:
    """Compare pieces, counts in every dialect, and ids with the specification's."""
    for text in texts:
        assert _engine.pretokenize(text, pattern) == pretokenize(text, pattern), (pattern, text)
    for name, dialect in DIALECTS.items():
        counts = dict(Counts.from_iterator(texts, pattern=pattern, dialect=name, num_threads=1).items())
        assert counts == counted(texts, pattern, dialect.unmatched_text), (pattern, name, texts)
    tokenizer = Tokenizer(Vocabulary(TOKENS, MERGES, {}, pattern))
    for text, ids in zip(texts, tokenizer.encode_batch(texts), strict=True):
        assert ids == _encoder.encode(text, TOKENS, MERGES, {}, pattern), (pattern, text)


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("ac", r"a*(?<!d)|c", {b"a": 1, b"c": 1}),
        ("aab", r"(?:a|aa)*b|c", {b"aab": 1}),
        ("ba", r"a*|b", {b"a": 1, b"b": 1}),
        ("xab x", r"(?<=x)a*|b", {b"a": 1, b"b": 1}),
    ],
)
def test_text_without_a_match_alone_is_skipped(text: str, pattern: str, expected: dict[bytes, int]) -> None:
    for dialect in ("cs336", "tiktoken"):
        assert dict(Counts.from_iterator([text], pattern=pattern, dialect=dialect).items()) == expected
    check([text], pattern)


def supported(rng: Random) -> str:
    while True:
        pattern = f"(?:{of_few_letters(rng)})"  # or a word would be taken for the name of a pattern
        try:
            _engine.pattern_way(pattern)
        except ValueError:
            continue
        return pattern


@pytest.mark.parametrize("seed", range(10))
def test_random_patterns_are_searched_for_as_specified(seed: int) -> None:
    """10,000 texts, each in every dialect."""
    rng = Random(f"patterns of few letters {seed}")
    for _ in range(100):
        expression = supported(rng)
        sequences: list[Pattern] = [(expression, BYTES), (expression, supported(rng)), (BYTES, expression)]
        pattern = rng.choice(sequences) if rng.random() < 0.2 else expression
        letters = rng.choice((FEW_LETTERS, FEW_LETTERS, "ab", "aac"))
        check(["".join(rng.choices(letters, k=rng.randint(0, 12))) for _ in range(10)], pattern)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"(?<!\w)(?:\w+\.?)+@\w+|\d+", "a" * 5000 + " now 12"),
        (r"(?:a|aa)*b|c", "a" * 5000 + "c"),
        (r"(?:a|[ab])*(?=cd)|c", "ab" * 2500 + "c"),
        (r"(?<!c(?:a|[ab]){30})[ab](?!x)|c", "a" * 5000 + "c"),
    ],
)
@pytest.mark.parametrize("dialect", ["bpetite", "tiktoken"])
def test_no_way_of_a_match_is_tried_twice(pattern: str, text: str, dialect: str) -> None:
    """Each letter would double the time: this would not end."""
    counts = Counts.from_iterator([text], pattern=pattern, dialect=dialect)
    assert text[-1].encode() in dict(counts.items()) or b"12" in dict(counts.items())


HUGE = r"(?:a|b){1,30000}c|d"


def test_a_match_that_needs_too_much_memory_is_an_error_that_names_the_pattern() -> None:
    assert _engine.pretokenize("ab" * 500, HUGE) == [b"ab" * 500]
    for call in (
        lambda text: _engine.pretokenize(text, HUGE),
        lambda text: Counts.from_iterator([text], pattern=HUGE),
        lambda text: Tokenizer(Vocabulary(TOKENS, MERGES, {}, HUGE)).encode(text),
    ):
        with pytest.raises(ValueError, match=r"a\|b\)\{1,30000\}c\|d.* takes more than 1 GB of memory"):
            call("ab" * 20_000)


@interrupts
@pytest.mark.parametrize(
    "work",
    [
        f"_engine.pretokenize('ab' * 1_000_000, {HUGE.replace('30000', '8000')!r})",
        "_engine.pattern_way([words(number) for number in range(64)])",
    ],
)
def test_searching_and_compiling_end_within_a_second_of_an_interrupt(work: str) -> None:
    ready = (
        "from bpetite import _engine\n"
        "word = lambda number: f'{number * 7919 % 99991:x}{number * 104729 % 99991:x}'\n"
        "words = lambda first: '|'.join(map(word, range(first, first + 220)))\n"
    )
    assert stops_after_interrupt(ready, work)


def test_an_empty_pattern_is_refused() -> None:
    for call in (
        lambda pattern: Tokenizer.train_from_iterator(["ab"], 257, pattern=pattern),
        lambda pattern: Counts.from_iterator(["ab"], pattern=pattern),
        lambda pattern: Tokenizer(Vocabulary(TOKENS, MERGES, {}, pattern)),
        _engine.pattern_way,
    ):
        for pattern in ("", [""], ["a", ""]):
            with pytest.raises(ValueError, match="pattern is empty, or one of its steps"):
                call(pattern)


def test_the_command_line_refuses_an_empty_pattern(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bpetite", "train", "--input", __file__, "--pattern", ""]
    command += ["--vocab-size", "260", "--output", str(tmp_path / "never.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "pattern is empty" in done.stderr
    assert "Traceback" not in done.stderr
