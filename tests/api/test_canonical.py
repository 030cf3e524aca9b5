"""Ids that encoding would not give: where the first is, and the ids of their text instead."""

from __future__ import annotations

from dataclasses import replace
from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer
from bpetite.vocabulary import Vocabulary
from test_growing import NORMALIZING, PIECES, TOKENIZERS

LAST = Tokenizer.train("ab ab ab", 258)
END = 700
AT_END = {256 + byte: bytes([byte, 255]) for byte in range(255)}
WORDS = {byte: bytes([byte]) for byte in range(255)} | AT_END
OF_WORDS = Tokenizer(
    Vocabulary(
        WORDS | {600: b"ab", 601: b"ab\xff", END: b"\xff"},
        [(97, 98), (600, END), *((byte, END) for byte in range(255))],
        {"<s>": 610},
        merge_ids=[600, 601, *AT_END],
        provisional=[END],
        word_end="</w>",
        pattern=r"\w+|[^\w\s]+",
        left_out=r"\s",
        irregular=True,
    )
)
SPACED = Tokenizer(
    replace(LAST.vocabulary, normalization=(("Prepend first", " "),), drops_space=True)
)
ALL = {**TOKENIZERS, **NORMALIZING, "words": OF_WORDS, "spaced": SPACED}

spelled = st.lists(
    st.one_of(st.sampled_from(PIECES), st.integers(0, 254), st.sampled_from([*"ab "])), max_size=12
)
"""Texts, whose ids are joined, and ids of bytes."""


def ids_of(tokenizer: Tokenizer, pieces: list[str | int]) -> list[int]:
    ids = []
    for piece in pieces:
        ids += tokenizer.encode(piece) if isinstance(piece, str) else [piece]
    return ids


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=60)
@given(pieces=spelled, repeated=st.integers(0, 40))
def test_the_first_difference_is_that_of_encoding_the_decoded_text(
    name: str, pieces: list[str | int], repeated: int
) -> None:
    tokenizer = ALL[name]
    whole = tokenizer.encode("the cat's hat, " * repeated)
    ids = whole + ids_of(tokenizer, pieces)
    again = tokenizer.encode(tokenizer.decode(ids, errors="replace"))
    place = tokenizer.first_difference(iter(ids))
    assert tokenizer.is_canonical(np.array(ids, np.uint32)) == (place is None)
    if name == "words" and again != ids:
        return  # A word may also be followed by one that no space parts from it.
    if place is None:
        assert ids == again
    else:
        assert ids[:place] == again[:place]
        assert ids[place : place + 1] != again[place : place + 1]


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=60)
@given(pieces=spelled)
def test_repaired_ids_are_those_of_the_text_and_places_lead_to_them(
    name: str, pieces: list[str | int]
) -> None:
    tokenizer = ALL[name]
    ids = ids_of(tokenizer, pieces)
    try:
        text = tokenizer.decode(ids)
    except UnicodeDecodeError:
        with pytest.raises(UnicodeDecodeError):
            tokenizer.repair(ids)
        return
    repaired = tokenizer.repair(iter(ids))
    if tokenizer.is_canonical(ids):
        assert repaired == (ids, [])
        return
    assert repaired.ids == tokenizer.encode(text)
    assert repaired.places
    rebuilt, done = [], 0
    for old, new in repaired.places:
        rebuilt += ids[done : old.start]
        assert len(rebuilt) == new.start
        assert ids[old.start : old.stop] != repaired.ids[new.start : new.stop]
        rebuilt += repaired.ids[new.start : new.stop]
        done = old.stop
    assert rebuilt + ids[done:] == repaired.ids


def test_places_are_as_short_as_tokens_allow() -> None:
    ids = [256, 257, 32, 97, 98, 33, 256, 97, 98, 258]
    repaired = LAST.repair(ids)
    assert repaired.ids == [256, 257, 257, 33, 256, 256, 258]
    assert repaired.places == [(range(2, 5), range(2, 3)), (range(7, 9), range(5, 6))]
    assert SPACED.repair([32, 98, 32, 98, 97, 98]).places == [(range(4, 6), range(4, 5))]


def test_unknown_ids_and_what_is_no_id_are_refused() -> None:
    for call in (LAST.first_difference, LAST.repair, LAST.is_canonical):
        with pytest.raises(KeyError, match="unknown id 300"):
            call([97, 300])
        with pytest.raises(TypeError):
            call(["a"])  # type: ignore[list-item]
        with pytest.raises(TypeError, match="ids must be an iterable"):
            call(5)  # type: ignore[arg-type]


def test_ids_that_are_no_text_differ_and_cannot_be_repaired() -> None:
    assert LAST.first_difference([256, 0xC3]) == 1
    assert LAST.first_difference([256, 0xC3, 0xA9]) is None
    with pytest.raises(UnicodeDecodeError):
        LAST.repair([256, 0xC3])


def test_a_difference_at_the_beginning_is_found_there() -> None:
    ids = [97, 98, *LAST.encode("ab ab " * 300_000)]
    start = process_time()
    assert LAST.first_difference(ids) == 0
    early = process_time() - start
    start = process_time()
    assert LAST.first_difference(ids[2:]) is None
    assert early < (process_time() - start) / 2
