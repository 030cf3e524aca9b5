"""Where matches begin and fail: counts, ids and pieces are as specified, and no text takes long."""

from __future__ import annotations

import itertools
import subprocess
import sys
import unicodedata
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from fuzz.patterns import FEW_LETTERS, of_few_letters

from bpetite import Counts, Tokenizer, Vocabulary, _encoder, _engine
from bpetite._constants import BYTES, Pattern
from bpetite._pretokenizer import pieces, pretokenize
from bpetite.dialect import DIALECTS
from bpetite.patterns import PATTERNS
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
        counts = dict(
            Counts.from_iterator(texts, pattern=pattern, dialect=name, num_threads=1).items()
        )
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
def test_text_without_a_match_alone_is_skipped(
    text: str, pattern: str, expected: dict[bytes, int]
) -> None:
    for dialect in ("cs336", "tiktoken"):
        assert (
            dict(Counts.from_iterator([text], pattern=pattern, dialect=dialect).items()) == expected
        )
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
        sequences: list[Pattern] = [
            (expression, BYTES),
            (expression, supported(rng)),
            (BYTES, expression),
        ]
        pattern = rng.choice(sequences) if rng.random() < 0.2 else expression
        letters = rng.choice((FEW_LETTERS, FEW_LETTERS, "ab", "aac"))
        check(["".join(rng.choices(letters, k=rng.randint(0, 12))) for _ in range(10)], pattern)


THREES = r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))"
LOOKING_AHEAD = [
    PATTERNS["llama3"].replace(r"\p{N}{1,3}", THREES),
    PATTERNS["qwen2"].replace(r"|\p{N}|", f"|{THREES}|"),
    PATTERNS["o200k"].replace(r"\p{N}{1,3}", THREES),
    rf"{THREES}| ?[^\s\p{{N}}]+|\s(?!\s*\n)|\s",
]
"""Parts of them look ahead without a limit."""


@pytest.mark.parametrize("pattern", LOOKING_AHEAD)
def test_digits_in_threes_from_the_right_within_larger_patterns(pattern: str) -> None:
    assert _engine.pattern_way(pattern) == "masks"
    texts = [
        "".join(letters)
        for length in range(8)
        for letters in itertools.product("a1 ,", repeat=length)
    ]
    # Behind other text, each of them begins somewhere else in a window.
    texts += [
        "a1 b" * (120 + place % 9) + "1" * (place % 7) + text
        for place, text in enumerate(texts[:4000])
    ]
    texts += [
        "1" * length + behind
        for length in (63, 510, 511, 512, 1025, 4099)
        for behind in ("", "a", " 12")
    ]
    digits = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code))[0] == "N"]
    texts += [
        "".join(
            f"{one * (number % 8)} {one}1{one}a"
            for number, one in enumerate(digits[first : first + 50])
        )
        for first in range(0, len(digits), 50)
    ]
    assert [
        text for text in texts if _engine.pretokenize(text, pattern) != pretokenize(text, pattern)
    ] == []
    check(["1234567 123,456 12 a1b22c333", "٣٣٣٣ 1" + "7" * 600, "a" * 600 + "1234"], pattern)


@pytest.mark.parametrize("seed", range(3))
def test_long_texts_are_divided_only_where_what_is_ahead_makes_no_difference(seed: int) -> None:
    rng = Random(seed)
    text = "".join(rng.choices(["1", "12", "a", " ", ",", "é", "\n", "words of text "], k=60_000))
    for pattern in LOOKING_AHEAD:
        expected = dict(Counter(pretokenize(text, pattern)))
        for threads in (1, 2):
            assert (
                dict(Counts.from_iterator([text], pattern=pattern, num_threads=threads).items())
                == expected
            )


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
        with pytest.raises(
            ValueError, match=r"a\|b\)\{1,30000\}c\|d.* takes more than 1 GB of memory"
        ):
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
