"""Streams of accelerated tokenizers return the chunks of the real `DecodeStream`, and its errors."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from bpetite.interfaces.huggingface import DecodeStream, HuggingFaceTokenizer
from bpetite.interfaces.streams import give_back_decode_stream, take_decode_stream
from test_decoding_choices import byte_level

RealStream: Any = tokenizers.decoders.DecodeStream


def with_metaspace() -> tokenizers.Tokenizer:
    """A tokenizer of another decoder, which only the real class can follow."""
    model = tokenizers.models.BPE({"\u2581": 0, "a": 1, "b": 2, "\u2581a": 3}, [("\u2581", "a")])
    real = tokenizers.Tokenizer(model)
    real.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    real.decoder = tokenizers.decoders.Metaspace()
    real.add_special_tokens(["<s>"])
    return real


REAL = {"byte level": byte_level(), "metaspace": with_metaspace()}
FAST = {name: HuggingFaceTokenizer(real) for name, real in REAL.items()}
ANY_ID = st.one_of(
    st.integers(0, 310),
    st.sampled_from(REAL["byte level"].encode("\u65e5\u672c \U0001f600 e\u0301 \ufffd").ids),
    st.sampled_from([0, 1, True, -1, 2**32, 1.5, "a", None]),
)
ANY_INPUT = st.one_of(ANY_ID, st.lists(ANY_ID, max_size=4))


def outcome(stream: Any, tokenizer: Any, ids: Any) -> object:
    """The chunk, or the error."""
    try:
        return stream.step(tokenizer, ids)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", REAL)
@given(
    prompt=st.none() | st.lists(st.integers(0, 310), max_size=4),
    skips=st.booleans(),
    inputs=st.lists(ANY_INPUT, max_size=12),
)
def test_chunks_are_those_of_the_real_class(
    name: str, prompt: list[int] | None, skips: bool, inputs: list[Any]
) -> None:
    real, ours = RealStream(prompt, skips), DecodeStream(prompt, skips)
    of_real = DecodeStream(ids=prompt, skip_special_tokens=skips)
    for ids in inputs:
        expected = outcome(real, REAL[name], ids)
        assert outcome(ours, FAST[name], ids) == expected
        assert outcome(of_real, REAL[name], ids) == expected
        real, ours = copy.copy(real), copy.deepcopy(ours)


def test_ids_of_text_are_decoded_by_the_engine() -> None:
    text = "the cat, na\u00efve caf\u00e9s, \u6771\u4eac, \U0001f469\u200d\U0001f467 and more"
    stream = DecodeStream()
    ids = REAL["byte level"].encode(text).ids
    chunks = [stream.step(FAST["byte level"], token_id) for token_id in ids]
    assert "".join(filter(None, chunks)) == text
    assert stream._chunks is not None
    assert None in chunks


def test_a_stream_goes_on_when_settings_or_the_tokenizer_change() -> None:
    real, fast = byte_level(), HuggingFaceTokenizer(byte_level())
    ids = real.encode("\u65e5\u672c\u8a9e the cat").ids
    for change in range(len(ids)):
        streams: list[Any] = [RealStream(), DecodeStream(), DecodeStream()]
        for place, token_id in enumerate(ids):
            if place == change:
                for tokenizer in (real, fast):
                    tokenizer.add_tokens([f"<new {change}>"])
            other: Any = fast if place < change else real
            chunks = [
                stream.step(tokenizer, token_id)
                for stream, tokenizer in zip(streams, (real, fast, other), strict=True)
            ]
            assert chunks[0] == chunks[1] == chunks[2]


@pytest.fixture
def taken() -> Iterator[None]:
    take_decode_stream()
    take_decode_stream()
    yield
    give_back_decode_stream()


def test_the_name_is_taken_and_given_back(taken: None) -> None:
    decoders: Any = tokenizers.decoders
    assert decoders.DecodeStream is DecodeStream
    ids = REAL["byte level"].encode("cat").ids
    stream = decoders.DecodeStream(ids=ids[:1])
    assert stream.step(REAL["byte level"], ids[1:]) == RealStream(ids[:1]).step(
        REAL["byte level"], ids[1:]
    )
    give_back_decode_stream()
    assert decoders.DecodeStream is RealStream


def test_importing_takes_no_name() -> None:
    code = (
        "import tokenizers, bpetite.interfaces.huggingface as ours\n"
        "assert tokenizers.decoders.DecodeStream is not ours.DecodeStream"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
