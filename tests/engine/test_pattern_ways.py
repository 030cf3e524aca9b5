"""Which way a pattern cuts text is told wherever a person may ask, and that the regex machine is slow."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from fuzz.patterns import family, variation
from fuzz.texts import text

from bpetite import Tokenizer, _engine
from bpetite._pretokenizer import pretokenize
from bpetite.patterns import PATTERNS

REPEATED = r"(?<=a)\w|(?s:.)"


def bpetite(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bpetite", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True)


@pytest.mark.parametrize("name", sorted(PATTERNS.keys() - {"none"}))
def test_named_patterns_cut_by_masks(name: str) -> None:
    tokenizer = Tokenizer.train_from_iterator(["ab ab"], 257, pattern=name)
    assert tokenizer.pattern_way == "masks"


@pytest.mark.parametrize("pattern", [r"\p{N}", r"[\r\n]", r"\s?\p{L}+", r" ?\S+\d?", "[一-龥]+"])
def test_patterns_with_gaps_cut_by_masks(pattern: str) -> None:
    assert _engine.pattern_way(pattern) == "masks"


@pytest.mark.parametrize(
    "pattern",
    [
        "a{2,}",
        " ?[ab]{2,}b*",
        "b|(?>a{3,})b",
        "a{2,}b?| +(?!b)",
        "[ab]{2,}b| ",
        "(?:a{2,}|b) ?",
        "(a{2,})?b",
        "a{2,}?b",
        "(?:a{2,}b?)+",
    ],
)
def test_a_run_with_a_minimum_cuts_like_the_specification(pattern: str) -> None:
    """One that gives nothing back looks ahead for what it needs."""
    for length in range(9):
        for characters in itertools.product("ab ", repeat=length):
            sample = "".join(characters)
            assert _engine.pretokenize(sample, pattern) == pretokenize(sample, pattern), sample


def test_nearly_all_variations_of_named_patterns_cut_by_masks() -> None:
    rng, ways = Random(1), Counter[str]()
    for pattern in PATTERNS.values():
        for varied in {variation(rng, pattern) for _ in range(20)}:
            with suppress(ValueError):
                ways[_engine.pattern_way(varied)] += 1
    assert ways["masks"] > 0.9 * ways.total() > 100, ways


def test_patterns_that_nobody_wrote_cut_by_masks_and_like_the_specification() -> None:
    rng, ways = Random(2), Counter[str]()
    for _ in range(150):
        pattern = family(rng)
        ways[_engine.pattern_way(pattern)] += 1
        for _ in range(10):
            sample = text(rng)
            assert _engine.pretokenize(sample, pattern) == pretokenize(sample, pattern), (
                pattern,
                sample,
            )
    assert not ways["machine"]
    assert ways["masks"] > 0.85 * ways.total(), ways


@pytest.mark.parametrize(("pattern", "way"), [(REPEATED, "machine"), ("gpt2", "masks")])
def test_commands_say_how_a_pattern_cuts_and_that_the_machine_is_slow(
    tmp_path: Path, pattern: str, way: str
) -> None:
    corpus, model = tmp_path / "corpus.txt", tmp_path / "tok.json"
    corpus.write_text("aab aab abb", encoding="utf-8")
    train = (
        "train",
        "--input",
        corpus,
        "--vocab-size",
        "258",
        "--pattern",
        pattern,
        "--force",
        "--output",
        model,
    )
    said = bpetite(*train).stderr
    assert ("the regex machine, which is slow" in said) == (way == "machine")
    assert bpetite(*train, "--quiet").stderr == ""
    assert Tokenizer.load(model).pattern_way == way
    assert json.loads(bpetite("inspect", model, "--json").stdout)["pattern_way"] == way
    assert (
        f"cut by       {'the regex machine' if way == 'machine' else 'masks'}"
        in bpetite("inspect", model).stdout
    )
    for command in (
        ("stats", "--model", model),
        ("count", "--pattern", pattern, "--output", tmp_path / "counts.parquet"),
        ("encode-corpus", "--model", model, "--output", tmp_path / "ids"),
    ):
        said = bpetite(*command, "--input", corpus).stderr
        assert ("the regex machine, which is slow" in said) == (way == "machine")
