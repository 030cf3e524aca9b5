"""Encoding and decoding, FR-16 to FR-25, through the public API alone."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite import Tokenizer
from bpetite._internal.types import Special

CORPUS = (
    """The quick brown fox jumps over the lazy dog. It's the dog's day, isn't it?
Übergrößenträger, naïve café, 東京都, привет мир, שלום, 👩‍👩‍👧 and 12345.67 are here too.
    indented    text\twith tabs\r\nand\r\nnewlines\n\n\n
"""
    * 3
)

TEXTS = [
    "",
    " ",
    "a",
    "\n",
    "\r\n",
    "\t\t",
    "   ",
    "\x00",
    "\x1f\x7f",
    "hello world",
    "  leading and trailing  ",
    "The quick brown fox",
    "it's we'll they've I'm you'd we're can't",
    "IT'S WE'LL",
    "''''''",
    "don't'tell",
    "0123456789" * 5,
    "3.14159",
    "١٢٣ ४५६",
    "naïve café",
    "e\u0301 combining",
    "Übergrößenträger",
    "東京都",
    "すもももももももものうち",
    "привет, мир",
    "שלום עולם",
    "مرحبا بالعالم",
    "👩‍👩‍👧‍👦 family",
    "🇩🇪🇫🇷",
    "\u200b\u200d\ufeff",
    "\u2028\u2029\u0085",
    "\u00a0\u3000",
    "\U0010ffff",
    "\ue000\uffff",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "ababababababab",
    "a" * 1000 + "b" * 1000,
    " " * 1000,
    "\n" * 1000,
    "<|endoftext",
    "endoftext|>",
    "<|endo",
    "<|endoftext|>",
    "<|endoftext|><|endoftext|>",
    "a<|endoftext|>b<|endoftext|>",
    "<|<|endoftext|>|>",
    "<|endoftext|",
    "<|ENDOFTEXT|>",
    "def f(x):\n    return x ** 2\n",
    '{"key": [1, 2.5, null, true]}',
    "https://example.org/a?b=c&d=%20",
    "C:\\path\\to\\file",
    "<html>&amp;</html>",
    "\x1b[31mred\x1b[0m",
    CORPUS,
]


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return Tokenizer.train(CORPUS, vocab_size=400)


@pytest.fixture(scope="module")
def tiny() -> Tokenizer:
    return Tokenizer.train("ab ab ab", vocab_size=258)


@pytest.mark.parametrize("text", TEXTS)
def test_roundtrip_gives_the_text_back(tok: Tokenizer, text: str) -> None:
    assert tok.decode(tok.encode(text)) == text


@given(text=st.text())
def test_roundtrip_of_any_text(text: str) -> None:
    tok = Tokenizer.train(CORPUS, vocab_size=300)
    assert tok.decode(tok.encode(text)) == text


def test_encode_of_nothing_is_nothing(tok: Tokenizer) -> None:
    assert tok.encode("") == []


def test_decode_of_nothing_is_nothing(tok: Tokenizer) -> None:
    assert tok.decode([]) == ""


def test_encode_worked_example(tiny: Tokenizer) -> None:
    assert tiny.encode("ab<|endoftext|>ab") == [256, 258, 256]
    assert tiny.decode([256, 258, 256]) == "ab<|endoftext|>ab"


def test_encode_replaces_every_match_of_a_rank(tiny: Tokenizer) -> None:
    assert tiny.encode("abab") == [256, 256]


def test_encode_of_a_triple_is_merged_then_trailing() -> None:
    assert Tokenizer.train("xx", 257).encode("xxx") == [256, 120]


@pytest.mark.parametrize("partial", ["<|endoftext", "endoftext|>", "<|endo"])
def test_partial_special_tokens_are_ordinary_text(tiny: Tokenizer, partial: str) -> None:
    assert tiny.encode(partial) == list(partial.encode())
    assert tiny.decode(tiny.encode(partial)) == partial


def test_consecutive_special_tokens_are_consecutive_ids(tiny: Tokenizer) -> None:
    assert tiny.encode("<|endoftext|>" * 3) == [258, 258, 258]


def test_decode_of_a_special_id_is_its_literal(tiny: Tokenizer) -> None:
    assert tiny.decode([258]) == "<|endoftext|>"


@pytest.mark.parametrize("unknown", [259, 10_000, -1, 2**32, 2**64, -(2**70)])
def test_decode_of_an_unknown_id_raises_key_error(tiny: Tokenizer, unknown: int) -> None:
    with pytest.raises(KeyError):
        tiny.decode([97, unknown])


def test_decode_of_invalid_utf8_raises(tiny: Tokenizer) -> None:
    with pytest.raises(UnicodeDecodeError):
        tiny.decode([0x80])


def test_decode_joins_a_character_that_tokens_split(tiny: Tokenizer) -> None:
    assert tiny.decode(list("é".encode())) == "é"


def test_decode_errors_can_be_replaced_on_request(tiny: Tokenizer) -> None:
    assert tiny.decode([97, 0x80, 98], errors="replace") == "a\ufffdb"
    assert tiny.decode_bytes([0x80]) == b"\x80"


def test_special_tokens_can_be_text_or_an_error(tiny: Tokenizer) -> None:
    literal = "ab<|endoftext|>"
    assert tiny.encode(literal, special="text") == tiny.encode_ordinary(literal)
    assert 258 not in tiny.encode_ordinary(literal)
    assert tiny.decode(tiny.encode_ordinary(literal)) == literal
    with pytest.raises(ValueError, match=r"<\|endoftext\|>"):
        tiny.encode(literal, special="error")
    assert tiny.encode("ab", special="error") == [256]


@pytest.mark.parametrize("special", ["parse", "text"])
def test_special_tokens_are_treated_alike_by_every_method(
    tiny: Tokenizer, special: Special
) -> None:
    text = "ab<|endoftext|>"
    ids = tiny.encode(text, special=special)
    assert tiny.encode_with_offsets(text, special=special)[0] == ids
    assert tiny.encode_batch([text], special=special) == [ids]
    assert tiny.count(text, special=special, num_threads=2) == len(ids)
    assert tiny.count_batch([text], special=special) == [len(ids)]
    assert [chunk.ids for chunk in tiny.chunks(text, 99, special=special)] == [ids]


def test_special_tokens_are_refused_by_every_method_that_is_asked_to(tiny: Tokenizer) -> None:
    text = "ab<|endoftext|>"
    for call in (
        lambda: tiny.encode_with_offsets(text, special="error"),
        lambda: tiny.encode_batch([text], special="error"),
        lambda: tiny.count(text, special="error"),
        lambda: tiny.count_batch([text], special="error"),
        lambda: list(tiny.chunks(text, 99, special="error")),
    ):
        with pytest.raises(ValueError, match=r"<\|endoftext\|>"):
            call()


def test_a_lone_surrogate_is_an_encode_error_that_names_its_place(tiny: Tokenizer) -> None:
    with pytest.raises(UnicodeEncodeError) as caught:
        tiny.encode("ab\ud800")
    assert caught.value.start == 2


TOKENIZER = Tokenizer.train_from_iterator([CORPUS], 300, special_tokens=["<s>", "</s>"])
UNTYPED: Any = TOKENIZER


def test_special_tokens_go_before_and_behind_a_text() -> None:
    ids = TOKENIZER.encode("the dog")
    first, last = TOKENIZER.special_tokens["<s>"], TOKENIZER.special_tokens["</s>"]
    assert TOKENIZER.encode("the dog", prepend="<s>", append=["</s>", last]) == [
        first,
        *ids,
        last,
        last,
    ]
    assert TOKENIZER.encode("<s>", special="text", prepend=first)[0] == first
    with pytest.raises(
        ValueError,
        match=r"append: '<x>' is not a special token of this tokenizer \(it has <s>, </s>",
    ):
        TOKENIZER.encode("a", append="<x>")
    with pytest.raises(KeyError):
        TOKENIZER.encode("a", prepend=999_999)


def test_a_vocabulary_is_not_truncated_to_the_length_of_a_text() -> None:
    with pytest.raises(
        ValueError, match=r"vocab_size 8000 is larger .* \(Tokenizer.fit shortens a text\)"
    ):
        TOKENIZER.truncate(8000)


def test_progress_may_be_asked_for_by_true() -> None:
    assert Tokenizer.train_from_iterator(["ab ab ab"], 258, progress=True) == Tokenizer.train(
        "ab ab ab", 258
    )
    assert Tokenizer.train_from_iterator(["ab ab ab"], 258, progress=False) == Tokenizer.train(
        "ab ab ab", 258
    )
