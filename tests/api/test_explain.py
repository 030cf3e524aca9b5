"""How tokens are built: the replay against the specification."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite import Tokenizer, Vocabulary
from bpetite._encoder import encode
from bpetite._trainer import _apply_merge_to_word
from bpetite.encoding.explain import Explainer
from encoders import CORPUS

TOKENIZER = Tokenizer.train(CORPUS, 500)
EXPLAINER = Explainer(TOKENIZER.vocabulary)


@given(st.text(alphabet="abcdeloq usé東\n", max_size=30))
def test_the_last_step_is_what_encoding_gives(text: str) -> None:
    ids: list[int] = []
    for pretoken in TOKENIZER.pretokens(text):
        steps = EXPLAINER.steps(pretoken)
        ids += steps[-1].ids if steps else EXPLAINER.start(pretoken)
    assert (
        ids
        == encode(text, TOKENIZER.vocabulary.tokens, TOKENIZER.merges, {})
        == TOKENIZER.encode(text)
    )


def test_every_step_is_the_lowest_rank_applied_everywhere() -> None:
    pretoken = b" aaaaaaaa"
    before = EXPLAINER.start(pretoken)
    for step in EXPLAINER.steps(pretoken):
        ranks = [EXPLAINER.rank_of.get(pair) for pair in pairwise(before)]
        assert step.rank == min(rank for rank in ranks if rank is not None)
        assert TOKENIZER.merges[step.rank] == step.pair
        before = _apply_merge_to_word(before, step.pair, step.made)
        assert before == step.ids


def test_the_parts_of_every_token_spell_it() -> None:
    for token_id, token in TOKENIZER.vocabulary.tokens.items():
        parts = {part.token_id: part for part in EXPLAINER.parts(token_id)}
        assert parts[token_id].token == token
        for part in parts.values():
            if part.pair is not None:
                assert part.token == parts[part.pair[0]].token + parts[part.pair[1]].token


def test_a_special_token_has_no_parts_and_an_unknown_id_is_a_key_error() -> None:
    special = TOKENIZER.special_tokens["<|endoftext|>"]
    assert [part.token for part in EXPLAINER.parts(special)] == [b"<|endoftext|>"]
    assert special in EXPLAINER.special_ids
    with pytest.raises(KeyError):
        EXPLAINER.parts(999_999)


def test_of_several_merges_that_make_a_token_the_one_that_encoding_takes_is_told() -> None:
    tokens = {byte: bytes([byte]) for byte in range(256)} | {256: b"bc", 257: b"ab", 258: b"abc"}
    vocabulary = Vocabulary(tokens, [(98, 99), (97, 98), (257, 99), (97, 256)])
    assert vocabulary.merge_ids == (256, 257, 258, 258)
    assert Explainer(vocabulary).part(258).rank == 3
    assert Explainer(vocabulary).part(258).pair == (97, 256)


def test_pretokens_are_normalized_where_the_vocabulary_does_so() -> None:
    composing = Tokenizer(replace(TOKENIZER.vocabulary, normalization="NFC"))
    assert composing.pretokens("cafe\u0301<|endoftext|>") == ["café".encode(), b"<|endoftext|>"]


def test_pretokens_are_the_text_and_keep_special_tokens_whole() -> None:
    text = "the <|endoftext|><|endoftext|>fox's\n\n"
    pieces = TOKENIZER.pretokens(text)
    assert b"".join(pieces) == text.encode()
    assert pieces.count(b"<|endoftext|>") == 2
    assert Tokenizer.train("ab", 257).pretokens("") == []
