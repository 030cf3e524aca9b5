"""Decoding without special tokens, behind a prompt, of scalars; and whether ids are those of a text."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from bpetite import Tokenizer, Vocabulary
from test_sentencepiece import loaded, trained

CORPUS = ["the cat sat on the mat, naïve cafés and 東京"] * 20


def byte_level() -> tokenizers.Tokenizer:
    real = tokenizers.Tokenizer(tokenizers.models.BPE())
    real.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    real.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    real.train_from_iterator(CORPUS, trainer)
    real.add_tokens(["<kept>"])
    return real


REAL = byte_level()
OURS = Tokenizer.load(REAL)
any_ids = st.lists(st.integers(0, OURS.vocab_size - 1), max_size=12)


@given(any_ids, st.booleans())
def test_special_tokens_are_left_out_as_tokenizers_does(ids: list[int], skip: bool) -> None:
    expected = REAL.decode(ids, skip_special_tokens=skip)
    assert OURS.decode(ids, skip_special=skip, errors="replace") == expected
    assert OURS.decode_batch(
        [ids, np.array(ids, np.uint32)], skip_special=skip, errors="replace"
    ) == [
        expected,
        expected,
    ]
    stream = OURS.decode_stream(skip_special=skip, errors="replace")
    assert "".join(map(stream.push, ids)) + stream.finish() == expected


@given(any_ids, any_ids, st.booleans())
def test_a_stream_goes_on_behind_a_prompt(prompt: list[int], ids: list[int], skip: bool) -> None:
    whole = OURS.decode_stream(skip_special=skip, errors="replace")
    whole.push(prompt)
    stream = OURS.decode_stream(prompt=prompt, skip_special=skip, errors="replace")
    assert [stream.push(token_id) for token_id in ids] == [whole.push(token_id) for token_id in ids]
    assert stream.finish() == whole.finish()


def test_a_first_space_behind_a_prompt_is_one_of_the_text(tmp_path: Any) -> None:
    tok = loaded(trained("llama"), tmp_path)
    prompt, ids = tok.encode("the cat"), tok.encode("sat")
    stream = tok.decode_stream(prompt=prompt)
    assert tok.decode(prompt) + stream.push(ids) == tok.decode([*prompt, *ids])
    assert tok.decode_stream().push(ids) == "sat"


@pytest.mark.parametrize("kind", [np.int64, np.uint16, np.array])
def test_a_scalar_of_any_kind_is_one_id(kind: Any) -> None:
    [a, *_] = OURS.encode("the")
    assert OURS.decode_stream().push(kind(a)) == OURS.decode([a])


def test_ids_are_canonical_if_their_text_has_them() -> None:
    ids = OURS.encode("the cat</s>")
    assert OURS.is_canonical(ids)
    assert OURS.is_canonical(np.array(ids))
    assert not OURS.is_canonical([*OURS.encode("th"), *OURS.encode("e")])
    assert not OURS.is_canonical([OURS.token_id(b"\xc3")])
    with pytest.raises(KeyError):
        OURS.is_canonical([1 << 20])


def test_tokens_are_found_by_their_bytes() -> None:
    found = OURS.tokens_with_prefix("t")
    assert found == OURS.tokens_with_prefix(b"t") == sorted(found)
    assert {b"t", b"the"} <= {*map(OURS.token_bytes, found)}
    assert all(OURS.token_bytes(token_id).startswith(b"t") for token_id in found)
    assert OURS.token_id("the") == OURS.token_id(b"the")
    assert len(OURS.tokens_with_prefix(b"")) == len(OURS.vocabulary.tokens)
    with pytest.raises(TypeError, match="prefix must be bytes or a str, not int"):
        OURS.tokens_with_prefix(5)  # type: ignore[arg-type]


def test_an_unknown_id_or_token_is_a_sentence_that_says_what_there_is() -> None:
    tok = Tokenizer.train("ab ab", 257)
    gaps = Tokenizer(
        Vocabulary({byte: bytes([byte]) for byte in range(256)}, [], {"<s>": 300, "<t>": 302})
    )
    calls: list[Callable[[Tokenizer, int], object]] = [
        lambda tok, token_id: tok.decode([97, token_id]),
        lambda tok, token_id: tok.decode([97, token_id], skip_special=True),
        lambda tok, token_id: tok.decode(np.array([97, token_id])),
        lambda tok, token_id: tok.decode_bytes([token_id]),
        lambda tok, token_id: tok.decode_batch([[97], [token_id]]),
        lambda tok, token_id: tok.token_bytes(token_id),
    ]
    for call in calls:
        for token_id in (999_999, -1, 258):
            with pytest.raises(KeyError) as raised:
                call(tok, token_id)
            assert (
                str(raised.value)
                == f"unknown id {token_id}: the ids of this vocabulary are 0 to 257"
            )
        with pytest.raises(KeyError, match="ids of this vocabulary are 0 to 255, 300 and 302"):
            call(gaps, 301)
    says_of: dict[str | bytes, str] = {
        "<|endoftext|>": "b'<|endoftext|>' is a special token: its id, 257, is in special_tokens",
        b"abab": "b'abab' is not a token of this vocabulary: only the bytes of one token have an id",
    }
    for token, says in says_of.items():
        with pytest.raises(KeyError) as raised:
            tok.token_id(token)
        assert str(raised.value).startswith(says)
    with pytest.raises(KeyError, match="unknown id 999: the vocabulary has no such token"):
        tok.decode_stream().push([97, 999])
