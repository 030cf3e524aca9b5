"""The work for a text grows with the text, not faster: it is counted, not timed."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import cache
from operator import methodcaller
from typing import Any

import pytest

from bpetite import Tokenizer

PARTS = ["a", " ", "\u65e5\u672c", "\n", "ab ", "   ", "<s>", "é", "e\u0301", "<s", "  <s> "]


@cache
def trained(pattern: str = "qwen2") -> Tokenizer:
    return Tokenizer.train_from_iterator(
        ["ab ab hello help    aaaa  é 日本 "], 290, pattern=pattern, special_tokens=["<s>", "    "]
    )


PREPARED: dict[str, dict[str, Any]] = {
    "composed": {"normalization": "NFC"},
    "small letters": {"normalization": "Lowercase"},
    "a space before": {
        "normalization": [["Prepend", " "], ["Replace", "\u2581", " "]],
        "drops_space": True,
    },
}


@pytest.mark.parametrize("pattern", ["qwen2", "none", None])
@pytest.mark.parametrize("part", PARTS)
def test_the_work_for_chunks_grows_with_the_text(part: str, pattern: str | None) -> None:
    tokenizer = trained(pattern or "gpt2")
    looked = []
    for length in (3000, 12_000):
        text = part * (length // len(part))
        total = 0

        def count(piece: str) -> int:
            nonlocal total
            total += len(piece)
            return tokenizer.count(piece)

        whole = tokenizer._fitting(text, "parse")
        fitting = whole._replace(tokens_in=count, pattern=whole.pattern if pattern else None)
        assert len(list(fitting.spans(20, 4))) > 10
        looked.append(total)
        assert fitting.furthest(0, len(text), 10**9) == len(text)
        assert fitting.furthest(len(text), 0, 10**9) == 0
    assert looked[1] <= 6 * looked[0]


@pytest.mark.parametrize("kind", PREPARED)
def test_copies_of_what_a_prepared_text_needs_go_on_by_themselves(kind: str) -> None:
    tokenizer = Tokenizer(replace(trained().vocabulary, **PREPARED[kind]))
    for begin in ("", "hello wor", "a" * 100, "<s> e", "ab<"):
        for copied in (copy.copy, copy.deepcopy, methodcaller("copy")):
            growing = tokenizer.growing(begin)
            other = copied(growing)
            growing.append("ld, and \u0301 more <s>")
            other.append("\u0301s>")
            assert growing.ids == tokenizer.encode(begin + "ld, and \u0301 more <s>")
            assert (other.text, other.ids) == (
                begin + "\u0301s>",
                tokenizer.encode(begin + "\u0301s>"),
            )
    streams = [tokenizer.decode_stream()]
    streams.append(copy.copy(streams[0]))
    for decoding in streams:
        assert decoding.push(tokenizer.encode(" ab")) + decoding.finish() == tokenizer.decode(
            tokenizer.encode(" ab")
        )
