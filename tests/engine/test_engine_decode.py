"""The engine decodes every row of ids as the specification does, whole or one by one."""

import codecs
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite import _decoder
from bpetite.encoding.decoding import check_handler, unknown_in_stream
from encoders import CORPUS, encoder_of, trained, trained_encoder

ids_lists = st.lists(st.sampled_from(sorted(trained().vocab)))


def outcome(call: Callable[..., str], *arguments: object) -> object:
    """What a call returns, or the message of the exception that it raises."""
    try:
        return call(*arguments)
    except UnicodeDecodeError as refused:
        return refused.args


@given(ids=ids_lists)
def test_ids_decode_as_specified(ids: list[int]) -> None:
    raw = b"".join(trained().vocab[id_] for id_ in ids)
    assert trained_encoder().decode_bytes(ids) == raw
    assert trained_encoder().decode(ids, "replace") == raw.decode(errors="replace")
    assert outcome(trained_encoder().decode, ids) == outcome(_decoder.decode, ids, trained().vocab)


def test_texts_decode_alike_however_large_the_one_before_was() -> None:
    encoder = trained_encoder()
    ids = np.array(encoder.encode(CORPUS + " naïve 東京"), np.uint32)
    text = encoder.decode(ids)
    for megabytes in (0, 80, 40, 0, 120):
        copies = 1 + (megabytes << 20) // len(text.encode())
        assert encoder.decode(np.tile(ids, copies)) == text * copies


@pytest.mark.parametrize(
    "dtype", ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]
)
def test_ids_may_come_in_an_array_of_any_integers(dtype: str) -> None:
    ids = np.array([*b"hello"], dtype=dtype)
    assert trained_encoder().decode(ids) == "hello"
    assert trained_encoder().decode(ids[::2]) == "hlo"
    assert trained_encoder().decode(ids[::-1]) == "olleh"


def test_ids_may_come_in_any_iterable() -> None:
    encoder = trained_encoder()
    of_numpy: list[Any] = [np.uint32(104), np.int64(105)]
    for ids in (
        [104, 105],
        (104, 105),
        iter([104, 105]),
        {104: 1, 105: 2},
        of_numpy,
        range(104, 106),
    ):
        assert encoder.decode(ids) == "hi"
    assert encoder.decode([]) == encoder.decode(np.array([])) == ""


@pytest.mark.parametrize("unknown", [601, 2**31, 2**32 - 1, 2**32, 2**80, -1])
def test_an_unknown_id_is_a_key_error_that_names_it(unknown: int) -> None:
    encoder = trained_encoder()
    for call in (encoder.decode, encoder.decode_bytes):
        with pytest.raises(KeyError) as raised:
            call([104, unknown])
        assert raised.value.args == (unknown,)
    with pytest.raises(KeyError) as raised:
        encoder.decode_stream(unknown=unknown_in_stream).push([104, unknown])
    assert str(raised.value) == f"unknown id {unknown}: the vocabulary has no such token"
    with pytest.raises(KeyError, match=str(unknown)):
        encoder.token_bytes(unknown)
    if -(2**63) <= unknown < 2**63:
        with pytest.raises(KeyError) as raised:
            encoder.decode(np.array([104, unknown], dtype=np.int64))
        assert raised.value.args == (unknown,)


@pytest.mark.parametrize(
    "wrong",
    [
        [True],
        [1.0],
        ["a"],
        [None],
        "a",
        5,
        None,
        np.array([1.0]),
        np.array([True]),
        np.array([[1]]),
        np.array(["a"]),
    ],
)
def test_what_is_no_row_of_integers_is_refused(wrong: Sequence[int]) -> None:
    with pytest.raises(TypeError):
        trained_encoder().decode(wrong)


def test_a_long_row_decodes_to_the_text() -> None:
    encoder = trained_encoder()
    text = CORPUS * 500
    assert encoder.decode(encoder.encode_to_numpy(text)) == text
    assert encoder.decode_bytes(encoder.encode(text)) == text.encode()


@given(text=st.text())
def test_a_stream_gives_every_character_as_soon_as_it_is_complete(text: str) -> None:
    encoder = trained_encoder()
    stream = encoder.decode_stream()
    reference = codecs.getincrementaldecoder("utf-8")()
    for id_ in encoder.encode(text):
        assert stream.push(id_) == reference.decode(encoder.token_bytes(id_))
    assert stream.finish() == ""


def test_a_stream_that_ends_inside_a_character_is_refused_or_replaced() -> None:
    encoder = trained_encoder()
    stream = encoder.decode_stream()
    assert stream.push([0xE5, 0xA4]) == ""
    with pytest.raises(UnicodeDecodeError):
        stream.finish()
    assert stream.push(list("天".encode())) == "天"
    mending = encoder.decode_stream("replace")
    assert mending.push([0xE5, 0xA4]) == ""
    assert mending.push(0x41) == "\ufffdA"
    assert mending.push(np.array([0xE5])) == ""
    assert mending.finish() == "\ufffd"
    with pytest.raises(LookupError, match="nonsense"):
        check_handler("nonsense")


def test_tokens_longer_than_a_record_decode() -> None:
    vocab = {value: bytes([value]) for value in range(256)}
    merges = [(97, 97)]
    vocab[256] = b"aa"
    for id_ in range(256, 264):
        merges.append((id_, id_))
        vocab[id_ + 1] = vocab[id_] * 2
    encoder = encoder_of(vocab, merges, {"<s>": 300})
    for length in range(1, 600):
        assert encoder.decode(encoder.encode("a" * length + "<s>")) == "a" * length + "<s>"
