"""The work for a text grows with the text, not faster: it is counted, not timed."""

from __future__ import annotations

import copy
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from operator import methodcaller
from typing import Any

import pytest

from bpetite import Tokenizer
from bpetite._internal.normalizers import Normalizer, begins_alone
from bpetite.encoding import preparation
from bpetite.encoding.preparation import _Tokens

PARTS = ["a", " ", "\u65e5\u672c", "\n", "ab ", "   ", "<s>", "é", "e\u0301", "<s", "  <s> "]


@cache
def trained(pattern: str = "qwen2") -> Tokenizer:
    return Tokenizer.train_from_iterator(
        ["ab ab hello help    aaaa  é 日本 "], 290, pattern=pattern, special_tokens=["<s>", "    "]
    )


PREPARED: dict[str, dict[str, Any]] = {
    "composed": {"normalization": "NFC"},
    "small letters": {"normalization": "Lowercase"},
    "a space before": {"normalization": [["Prepend", " "], ["Replace", "\u2581", " "]], "drops_space": True},
}


class Counted:
    """An object, and the length of all texts that its methods were given."""

    looked = 0

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        if not callable(found):
            return found

        def counted(*arguments: Any, **named: Any) -> Any:
            Counted.looked += sum(len(text) for text in arguments if isinstance(text, str))
            result = found(*arguments, **named)
            return Counted(result) if name == "growing" else result

        return counted


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Count also what is normalized, and searched for special tokens."""
    with monkeypatch.context() as patched:
        for owner, name in ((Normalizer, "__call__"), (Normalizer, "last_cut"), (_Tokens, "cut")):
            method = getattr(owner, name)

            def counting(self: Any, text: str, *more: Any, method: Any = method) -> Any:
                Counted.looked += len(text)
                return method(self, text, *more)

            patched.setattr(owner, name, counting)
        yield


@pytest.mark.parametrize("special", ["parse", "text"])
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("kind", PREPARED)
def test_the_work_of_appending_does_not_depend_on_the_text_before(
    kind: str, part: str, special: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = Tokenizer(replace(trained().vocabulary, **PREPARED[kind]))
    growing: Any = tokenizer.growing(special=special)
    growing._engine = Counted(growing._engine)

    def work(times: int) -> int:
        Counted.looked = 0
        with counted(monkeypatch):
            for _ in range(times):
                growing.append(part)
        return Counted.looked

    early = work(100)
    work(1000)
    assert work(100) <= 2 * early + 100
    assert growing.ids == tokenizer.encode(growing.text, special)


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
        fitting = replace(whole, count=count, pattern=whole.pattern if pattern else None)
        assert len(list(fitting.spans(20, 4))) > 10
        looked.append(total)
        assert fitting.end(0, 10**9) == len(text)
        assert fitting.start(len(text), 10**9) == 0
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
            assert (other.text, other.ids) == (begin + "\u0301s>", tokenizer.encode(begin + "\u0301s>"))
        for copied in (copy.copy, copy.deepcopy):
            stream = tokenizer._encoder.encode_stream()
            ids = stream.feed(begin)
            other_stream = copied(stream)
            assert ids + stream.feed("s> ab") + stream.finish() == tokenizer.encode(begin + "s> ab")
            assert ids + other_stream.feed("c") + other_stream.finish() == tokenizer.encode(begin + "c")
    streams = [tokenizer.decode_stream()]
    streams.append(copy.copy(streams[0]))
    for decoding in streams:
        assert decoding.push(tokenizer.encode(" ab")) + decoding.finish() == tokenizer.decode(
            tokenizer.encode(" ab")
        )


@pytest.mark.parametrize("flags", [["lstrip"], ["rstrip"], ["lstrip", "rstrip"]])
def test_white_space_is_looked_at_once_though_each_of_it_is_a_token(
    flags: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = 0

    before, after = preparation._white_space_before, preparation._white_space_after

    def counted_before(text: str, end: int, least: int) -> int:
        nonlocal looked
        start = before(text, end, least)
        looked += max(end - start, 0)
        return start

    def counted_after(text: str, start: int) -> int:
        nonlocal looked
        end = after(text, start)
        looked += end - start
        return end

    monkeypatch.setattr(preparation, "_white_space_before", counted_before)
    monkeypatch.setattr(preparation, "_white_space_after", counted_after)
    text = "\u3000 " * 1000 + "a" + " \u3000" * 1000
    assert len(_Tokens({" ": 1}, {" ": flags}).cut(text)) >= 3
    assert looked <= 2 * len(text)


def test_what_begins_alone_composes_with_nothing_before_it() -> None:
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    pairs = (unicodedata.decomposition(character).split() for character in characters)
    seconds = {chr(int(pair[1], 16)) for pair in pairs if len(pair) == 2 and pair[0][0] != "<"}
    seconds.update(map(chr, [*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)]))  # the later parts of Hangul
    alone = 0
    for character in characters:
        if begins_alone(character):
            for form in ("NFD", "NFKD"):
                first = unicodedata.normalize(form, character)[0]
                assert not unicodedata.combining(first)
                assert first not in seconds
            alone += 1
    assert alone > 0.99 * len(characters)
