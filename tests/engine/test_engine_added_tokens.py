"""The engine finds added tokens as the specification does, also in a text that arrives in pieces."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, combinations, groupby, product
from typing import Literal, get_args

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite._engine import Encoder
from bpetite.specification.added_tokens import AddedToken, cut

Choice = Literal["parse", "text", "error"]
Found = tuple[int, int, int | None]
CHOICES: tuple[Choice, ...] = get_args(Choice)
FLAGS = list(product([False, True], repeat=4))
TINY = ["a", " ", "<", "\u00a0"]


def token(
    text: str, token_id: int, special: bool, single_word: bool, lstrip: bool, rstrip: bool
) -> AddedToken:
    return AddedToken(
        text, token_id, special, single_word=single_word, lstrip=lstrip, rstrip=rstrip
    )


BYTES = Encoder(
    pattern="(?s:.)",
    tokens=bytes(range(256)),
    ends=np.arange(1, 257, dtype=np.uint64).tobytes(),
    ids=np.arange(256, dtype=np.uint32).tobytes(),
    merges=np.empty((0, 3), np.uint32).tobytes(),
)
"""Text between tokens is its bytes."""

FIRST = 1000
"""The id of token 0."""


class Search:
    """What the engine finds."""

    def __init__(self, tokens: Sequence[AddedToken]) -> None:
        names = ("special", "single_word", "lstrip", "rstrip")
        flags = [[name for name in names if getattr(one, name)] for one in tokens]
        self.encoder = BYTES.with_added_tokens(
            [(one.text, FIRST + one.token_id, own) for one, own in zip(tokens, flags, strict=True)]
        )

    def cut(self, text: str, special: Choice) -> list[Found]:
        """The tokens in a text, and the text between them."""
        ids = self.encoder.encode(text, special)
        ends = [0, *accumulate(len(character.encode()) for character in text)]
        found: list[Found] = []
        for token_id, (start, end) in zip(
            ids, self.encoder.places(text, ids, special), strict=True
        ):
            if token_id >= FIRST:
                found.append((ends[start], ends[end], token_id - FIRST))
            elif found and found[-1][2] is None:
                found[-1] = (found[-1][0], found[-1][1] + 1, None)
            else:
                found.append((ends[start], ends[start] + 1, None))
        return found

    def told_in_pieces(self, pieces: Sequence[str], special: Choice) -> list[str | int]:
        """The same as text and ids, of a text that arrives in pieces."""
        stream = self.encoder.encode_stream(special)
        ids = [*chain.from_iterable(map(stream.feed, pieces)), *stream.finish()]
        told: list[str | int] = []
        for is_text, group in groupby(ids, lambda token_id: token_id < FIRST):
            own = [*group]
            told += [bytes(own).decode()] if is_text else [token_id - FIRST for token_id in own]
        return told


def texts_of(alphabet: Sequence[str], longest: int) -> list[str]:
    return [
        "".join(text) for length in range(longest + 1) for text in product(alphabet, repeat=length)
    ]


def specified(text: str, tokens: Sequence[AddedToken], special: Choice) -> list[Found] | None:
    """What is to be found, with places in UTF-8; None for a text that is refused."""
    try:
        found = list(cut(text, tokens, special))
    except ValueError:
        return None
    return [
        (len(text[:start].encode()), len(text[:end].encode()), token_id)
        for start, end, token_id in found
    ]


def found_by(search: Search, text: str, special: Choice) -> list[Found] | None:
    try:
        return search.cut(text, special)
    except ValueError:
        return None


def told(text: str, found: list[Found] | None) -> list[str | int] | None:
    """The same as text and ids."""
    if found is None:
        return None
    given = text.encode()
    return [
        given[start:end].decode() if token_id is None else token_id
        for start, end, token_id in found
    ]


def told_in_pieces(
    search: Search, pieces: Sequence[str], special: Choice
) -> list[str | int] | None:
    try:
        return search.told_in_pieces(pieces, special)
    except ValueError:
        return None


def tokens_on_tiny_alphabets() -> Iterator[list[AddedToken]]:
    texts = texts_of(TINY, 2)[1:]
    for text, flags in product(texts, FLAGS):
        yield [token(text, 0, *flags)]
    for number, texts_of_two in enumerate(combinations(texts, 2)):
        # Of the pairs of flags, others for each pair of texts.
        for step in range(8):
            one, another = divmod(number * 37 + step * 101, 16)
            yield [
                token(texts_of_two[0], 0, *FLAGS[one % 16]),
                token(texts_of_two[1], 1, *FLAGS[another]),
            ]


@pytest.mark.exhaustive
def test_the_engine_finds_what_the_specification_finds_in_each_short_text() -> None:
    for number, tokens in enumerate(tokens_on_tiny_alphabets()):
        search = Search(tokens)
        letters = sorted({*"".join(one.text for one in tokens), " ", "a"})[: 3 + number % 2]
        for text in texts_of(letters, 4):
            for special in CHOICES:
                expected = specified(text, tokens, special)
                assert found_by(search, text, special) == expected, (tokens, text, special)
                assert told_in_pieces(search, list(text), special) == told(text, expected), (
                    tokens,
                    text,
                    special,
                )


PARTS = [
    "<a>",
    "<",
    ">",
    "a",
    "ab",
    "9",
    " ",
    "  ",
    "\u00a0",
    "\n",
    "\u00e9",
    "e\u0301",
    "\u2581",
    "\u4e2d",
    "\U0001f600",
]
TEXTS = st.lists(st.sampled_from(PARTS), max_size=12).map("".join)
TOKENS = st.lists(
    st.builds(
        AddedToken,
        st.lists(st.sampled_from(PARTS), min_size=1, max_size=3).map("".join),
        st.integers(0, 9),
        special=st.booleans(),
        single_word=st.booleans(),
        lstrip=st.booleans(),
        rstrip=st.booleans(),
    ),
    max_size=40,
    unique_by=lambda token: token.text,
)


@pytest.mark.exhaustive
@settings(max_examples=1500, deadline=None)
@given(TOKENS, st.text() | TEXTS | st.lists(TEXTS, max_size=20).map("".join), st.data())
def test_the_engine_finds_what_the_specification_finds(
    tokens: list[AddedToken], text: str, data: st.DataObject
) -> None:
    search = Search(tokens)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=5)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    for special in CHOICES:
        expected = specified(text, tokens, special)
        assert found_by(search, text, special) == expected
        assert told_in_pieces(search, pieces, special) == told(text, expected)
        assert told_in_pieces(search, list(text), special) == told(text, expected)


@pytest.mark.parametrize("length", [15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 300])
def test_a_token_is_found_wherever_it_stands(length: int) -> None:
    texts = ["<m>", "<", "\n", "\u00e9\u00e9", "  ", "   ", "x" * 20]
    tokens = [AddedToken(text, number) for number, text in enumerate(texts)]
    search = Search(tokens)
    for text, place in product(texts, range(length + 1)):
        whole = "." * place + text + "." * (length - place)
        assert found_by(search, whole, "parse") == specified(whole, tokens, "parse")


@pytest.mark.parametrize("number", [1, 7, 8, 9, 40, 300, 2000])
def test_any_number_of_tokens_is_found(number: int) -> None:
    texts = [
        chr(33 + one % 90) * (1 + one // 90 % 3) + str(one) * (one % 2) for one in range(number)
    ]
    tokens = [AddedToken(text, one) for one, text in enumerate(dict.fromkeys(texts))]
    search = Search(tokens)
    for whole in ("".join(texts), " ".join(texts), "-".join(reversed(texts)), "plain text " * 20):
        assert found_by(search, whole, "parse") == specified(whole, tokens, "parse")


@pytest.mark.slow
def test_each_character_beside_a_token_is_of_a_word_or_not_and_white_space_or_not() -> None:
    word = [AddedToken("<m>", 0, single_word=True)]
    taking = [AddedToken("<m>", 0, lstrip=True, rstrip=True)]
    of_word = regex.compile(r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]")
    of_space = regex.compile(r"\p{White_Space}")
    search_word, search_taking = Search(word), Search(taking)
    for code_point in range(sys.maxunicode + 1):
        if 0xD800 <= code_point < 0xE000:
            continue
        one = chr(code_point)
        length = len(one.encode())
        for text, place in ((one + "<m>", length), ("<m>" + one, 0)):
            is_found = (place, place + 3, 0) in search_word.cut(text, "parse")
            assert is_found == (not of_word.match(one)), hex(code_point)
            takes = search_taking.cut(text, "parse") == [(0, length + 3, 0)]
            assert takes == bool(of_space.match(one)), hex(code_point)


def test_a_refusal_names_the_place_in_the_text() -> None:
    search = Search([AddedToken("<m>", 7)])
    for pieces in (["\u00e9" * 50 + "<m>"], [*("\u00e9" * 50), "<m>"]):
        with pytest.raises(ValueError, match='special token "<m>" at character 50;'):
            search.told_in_pieces(pieces, "error")
    with pytest.raises(ValueError, match='special token "<m>" at character 50;'):
        search.cut("\u00e9" * 50 + "<m>", "error")


@pytest.mark.parametrize(("texts", "refusal"), [(["a", "a"], "given twice"), ([""], "is empty")])
def test_empty_and_repeated_tokens_are_refused(texts: list[str], refusal: str) -> None:
    with pytest.raises(ValueError, match=refusal):
        Search([AddedToken(text, number) for number, text in enumerate(texts)])
