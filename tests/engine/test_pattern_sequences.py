"""Patterns in a sequence, which cut the same windows of text together, cut it like the specification does."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from fuzz.patterns import family
from fuzz.texts import text as any_text
from hypothesis import given
from hypothesis import strategies as st

from bpetite import Counts, Tokenizer, Vocabulary, _engine
from bpetite._constants import BYTES, SPACE
from bpetite._pretokenizer import pretokenize
from bpetite.formats import gguf
from bpetite.patterns import PATTERNS, pattern_steps

YOUTU = (
    "[\uac00-\ud7a3\u3131-\u318e]+|[\uff01\u2026\u201c\u201d\u2018\u2019\u2014\uff1a\uff1b\uff0c"
    "\u3001-\u303f\ufe30-\ufe4f]+|[\u3105-\u312f]+|[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    PATTERNS["o200k"].replace(r"\p{N}{1,3}", r"\p{N}"),
)
MINICPM = (r"\p{N}{1,3}", PATTERNS["qwen2"].replace(r"|\p{N}|", r"|\p{N}+|"))
DEEPSEEK_LLM = (
    r"[\r\n]",
    r"\s?[A-Za-z\u00b5\u00c0-\u00d6\u0370-\u0373\U00010400-\U0001044f]+",
    r"\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+",
    r"\s+(?![\s\S])",
    "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+",
    r"\p{N}+",
)
FALCON = (r"(?:(?>\p{P}))++", PATTERNS["gpt2"], BYTES, r"\p{N}+", "[0-9][0-9][0-9]")
PUBLISHED = sorted(
    {
        YOUTU,
        MINICPM,
        FALCON,
        DEEPSEEK_LLM,
        *(pattern_steps(pattern) for pattern, _ in gguf._NAMES if not isinstance(pattern, str)),
    }
)
"""The sequences of published models."""

JOINT = [pattern for pattern in PUBLISHED if _engine.pattern_way(pattern) == "masks"]
SMALL = {
    "runs": ("b+", "[ab]", "1"),
    "counted from where a run begins": ("a", "1{1,3}", "b1?"),
    "whole groups": ("b", "111", "a+"),
    "at the end": ("[b1]", "a+(?![ab1])", "aa"),
    "open ends": ("1", "a*b|a", "[^b]+", "b"),
    "gpt2 in between": ("[1!]", PATTERNS["gpt2"], "a"),
    "bytes": ("b+|1", BYTES, "a{1,2}", "Ġ[a1]?", "11"),
}
STEPS = [
    "a",
    "a+",
    "b{1,2}",
    "aa",
    "[ab]+",
    "1",
    "1{1,3}",
    r"\s",
    r"\s?a+",
    r"\s+(?!\S)|\s",
    "[^a]+",
    "11",
    "ab|b1",
]
EVERY = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]


def differing(texts: list[str], pattern: Sequence[str]) -> list[str]:
    return [
        text for text in texts if _engine.pretokenize(text, pattern) != pretokenize(text, pattern)
    ]


def test_sequences_of_published_models_cut_by_masks_where_their_rules_are_local() -> None:
    names = {name for pattern, names in gguf._NAMES if pattern in JOINT for name in names.split()}
    assert {"falcon", "default", "deepseek-coder", "viking"} <= names
    assert {YOUTU, MINICPM, DEEPSEEK_LLM, FALCON} <= set(JOINT)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SMALL)
def test_every_short_text_over_few_letters(name: str) -> None:
    assert _engine.pattern_way(SMALL[name]) == "masks"
    texts = [
        "".join(letters)
        for length in range(8)
        for letters in itertools.product("ab1 ", repeat=length)
    ]
    # Behind other text, each of them begins somewhere else in a window.
    texts += [
        "a1 b" * (120 + place % 9) + "a" * (place % 4) + text
        for place, text in enumerate(texts[:4000])
    ]
    assert differing(texts, SMALL[name]) == []


def test_every_machine() -> None:
    """Without vector instructions, all is the same."""
    script = (
        "from test_pattern_sequences import *\n"
        "for pattern in [*SMALL.values(), *JOINT]:\n"
        "    texts = [''.join(letters) for letters in itertools.product('ab1 ', repeat=5)]\n"
        "    texts += [any_text(Random(number)) * 9 for number in range(40)]\n"
        "    assert differing(texts, pattern) == [], pattern\n"
        "print('alike')"
    )
    environment = os.environ | {"BPETITE_PORTABLE": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment
    )
    assert done.stdout == "alike\n", done.stderr


@pytest.mark.exhaustive
@pytest.mark.parametrize("pattern", JOINT)
def test_every_code_point(pattern: Sequence[str]) -> None:
    texts = [
        "".join(f"a{one}1{one} {one}" for one in EVERY[first : first + 4096])
        for first in range(0, 0x20000, 4096)
    ]
    texts += ["\n".join(EVERY[first : first + 4096]) for first in range(0x20000, len(EVERY), 4096)]
    assert differing(texts, pattern) == []


@pytest.mark.parametrize("pattern", [*JOINT, *SMALL.values()])
@pytest.mark.parametrize("unit", ["a", "1", " ", "\n", "!", "中", "a ", "12 "])
def test_pieces_longer_than_windows(pattern: Sequence[str], unit: str) -> None:
    texts = [
        unit * (length // len(unit)) + behind
        for length in (63, 65, 511, 1025, 4099)
        for behind in ("", "b", "1a!")
    ]
    assert differing(texts, pattern) == []


BYTE_STEPS = [*STEPS, "Ġ", "[²³¹]", r"\p{N}+", "[Ã-ï][¡-¿]+", "¤|¸Ń?"]


@given(
    steps=st.lists(st.sampled_from([*STEPS, r"\ba", "(?<=a)b"]), max_size=3),
    behind=st.lists(st.sampled_from(BYTE_STEPS), min_size=1, max_size=4),
    text=st.text("ab1 \n", max_size=300)
    | st.text("ab1 é中²", max_size=60).map(lambda text: text * 20),
)
def test_any_steps_behind_bytes(steps: list[str], behind: list[str], text: str) -> None:
    pattern = [*steps, BYTES, *behind]
    assert _engine.pretokenize(text, pattern) == pretokenize(text, pattern)


@given(
    steps=st.lists(st.sampled_from(STEPS), min_size=2, max_size=5),
    text=st.text("ab1 \n", max_size=300)
    | st.text("ab1 é中", max_size=60).map(lambda text: text * 20),
)
def test_any_sequence_of_steps(steps: list[str], text: str) -> None:
    assert _engine.pretokenize(text, steps) == pretokenize(text, steps)


def test_sequences_that_nobody_wrote() -> None:
    rng, ways = Random(3), Counter[str]()
    for _ in range(100):
        steps = [rng.choice([family(rng), *STEPS]) for _ in range(rng.randint(2, 4))]
        ways[_engine.pattern_way(steps)] += 1
        texts = [any_text(rng) for _ in range(10)]
        assert differing(texts, steps) == [], steps
    assert ways["masks"] > 60, ways


@pytest.mark.parametrize(
    "pattern",
    [
        (SPACE, *DEEPSEEK_LLM),
        (*DEEPSEEK_LLM, BYTES, "[Ġ1]"),
        (BYTES, r"\p{N}+", "[Ã-ï][¡-¿]"),
        (r"\b\w+", " ?[ab]+|1", BYTES, "[²³¹¼½¾]", r"\p{L}{2}"),
    ],
)
def test_steps_that_are_no_patterns(pattern: Sequence[str]) -> None:
    assert differing([any_text(Random(number)) * 3 for number in range(300)], pattern) == []


def test_a_list_of_steps_stays_one_in_every_file(tmp_path: Path) -> None:
    steps = [r"\p{N}", "gpt2", "(?:b|c)"]
    tok = Tokenizer.train_from_iterator(["abc 12 ab1 12"], 262, pattern=steps)
    assert tok.pattern == (r"\p{N}", PATTERNS["gpt2"], "(?:b|c)")
    tok.save(tmp_path / "tok.json")
    again = Tokenizer.load(tmp_path / "tok.json")
    assert (again.pattern, again.fingerprint) == (tok.pattern, tok.fingerprint)
    counts = Counts.from_iterator(["abc 12 ab1 12"], pattern=steps)
    counts.save(tmp_path / "corpus.counts")
    loaded = Counts.load(tmp_path / "corpus.counts")
    assert (loaded, loaded.pattern) == (counts, tok.pattern)
    assert Tokenizer.train_from_counts(loaded, 262).fingerprint == tok.fingerprint


def test_a_list_of_one_step_is_this_step() -> None:
    assert Counts(pattern=["llama3"]).pattern == PATTERNS["llama3"]
    assert (
        Vocabulary({byte: bytes([byte]) for byte in range(256)}, [], pattern=["a+"]).pattern == "a+"
    )


def test_steps_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text("abc 12 ab1 12")
    said = ["--pattern", r"\p{N}", "--pattern", "gpt2", "--vocab-size", "262", "--quiet"]
    paths = ["--input", f"{tmp_path}/corpus.txt", "--output", f"{tmp_path}/tok.json"]
    subprocess.run([sys.executable, "-m", "bpetite", "train", *paths, *said], check=True)
    assert Tokenizer.load(tmp_path / "tok.json").pattern == (r"\p{N}", PATTERNS["gpt2"])


@pytest.mark.parametrize("given", [5, None, b"a", ["a", 5], [("a", "b")]])
def test_what_is_no_list_of_steps_is_refused(given: Any) -> None:
    with pytest.raises(TypeError, match="pattern must be a str or a list of them"):
        Counts(pattern=given)


@pytest.mark.parametrize(
    "steps", [[], ["a", ""], ["a"] * 65, [BYTES, SPACE], ["a", "("], "a(?then)b"]
)
def test_steps_that_cannot_be_run_are_refused(steps: list[str]) -> None:
    with pytest.raises(ValueError, match=r"steps|step of|follow|is not supported"):
        Counts(pattern=steps)
    with pytest.raises(ValueError, match=r"steps|step of|follow|is not supported"):
        _engine.pretokenize("a", steps)
