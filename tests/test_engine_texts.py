"""Texts that stand in one buffer are the texts themselves: split, taken, encoded and counted alike."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite._engine import CountTable, JoinedTexts
from bpetite.patterns import PATTERNS
from encoders import trained_encoder

letters = st.binary(max_size=40).map(lambda some: bytes(b"ab|"[byte % 3] for byte in some))


@given(buffer=letters, separator=letters.filter(bool))
def test_splitting_is_that_of_bytes(buffer: bytes, separator: bytes) -> None:
    assert list(JoinedTexts.split(buffer, separator)) == buffer.split(separator)


@given(content=letters, separator=letters.filter(bool), place=st.integers(0, 40))
def test_splitting_may_begin_in_what_was_left_over(content: bytes, separator: bytes, place: int) -> None:
    before, buffer = content[:place], content[place:]
    if separator in before:
        before, buffer = b"", content
    texts = JoinedTexts.split(buffer, separator, before)
    whole = content.split(separator)
    assert list(texts) == whole
    assert len(texts) == len(whole)
    for start in range(len(whole) + 1):
        assert list(texts[start:]) == whole[start:]
        assert list(texts[:start]) == whole[:start]
        assert list(texts[1:][:start]) == whole[1:][:start]


@given(texts=st.lists(st.binary(max_size=5)), start=st.integers(-9, 9), stop=st.integers(-9, 9))
def test_texts_are_taken_as_from_a_list(texts: list[bytes], start: int, stop: int) -> None:
    offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    joined = JoinedTexts(b"".join(texts), offsets)
    assert len(joined) == len(texts)
    assert list(joined) == texts
    assert list(joined[start:stop]) == texts[start:stop]
    assert list(joined[start:][:stop]) == texts[start:][:stop]
    for index in range(-len(texts), len(texts)):
        assert joined[index] == texts[index]
    for index in (len(texts), -len(texts) - 1):
        with pytest.raises(IndexError):
            joined[index]


def test_texts_may_begin_behind_the_start_of_the_buffer() -> None:
    assert list(JoinedTexts(b"..abc..", np.array([2, 2, 4, 5]))) == [b"", b"ab", b"c"]
    assert list(JoinedTexts(b"..", np.array([], np.int64))) == []


@pytest.mark.parametrize("offsets", [[0, 4], [2, 1], [-1, 2], [0, -1], [4]])
def test_texts_outside_of_the_buffer_are_refused(offsets: list[int]) -> None:
    with pytest.raises(ValueError, match="ascend within the buffer"):
        JoinedTexts(b"abc", np.array(offsets))


def test_what_cannot_be_split_or_taken_is_refused() -> None:
    with pytest.raises(ValueError, match="separator must not be empty"):
        JoinedTexts.split(b"abc", b"")
    with pytest.raises(ValueError, match="one stretch"):
        JoinedTexts.split(b"a|b|c", b"|")[::2]


@given(texts=st.lists(st.text(alphabet="ab é東<|endoftext|>", max_size=30)))
def test_they_encode_and_count_as_the_texts_themselves(texts: list[str]) -> None:
    encoder = trained_encoder()
    content = [text.encode() for text in texts]
    joined = JoinedTexts(b"".join(content), np.cumsum([0, *map(len, content)], dtype=np.int64))
    assert encoder.encode_batch(joined) == encoder.encode_batch(texts)
    assert encoder.count_batch(joined) == encoder.count_batch(texts)
    for ours, theirs in zip(
        encoder.encode_batch_to_numpy(joined), encoder.encode_batch_to_numpy(texts), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
    tables = [CountTable(PATTERNS["gpt2"], ["<|endoftext|>"]) for _ in range(2)]
    tables[0].add_documents(joined)
    tables[1].add_documents(texts)
    assert tables[0].sorted()[0] == tables[1].sorted()[0]
    assert tables[0].sorted()[2].tolist() == tables[1].sorted()[2].tolist()
    assert (tables[0].documents, tables[0].bytes) == (tables[1].documents, tables[1].bytes)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([b"fine", b"ab\xff", b"\xff"], "1: not valid UTF-8 at byte 2"),
        ([b"fine", b"\xc3", b"\xa9"], "1: not valid UTF-8 at byte 0"),
        ([b"fine \xc3", b"\xa9"], "0: not valid UTF-8 at byte 5"),
    ],
)
def test_each_must_be_text_by_itself(texts: list[bytes], message: str) -> None:
    joined = JoinedTexts(b"".join(texts), np.cumsum([0, *map(len, texts)], dtype=np.int64))
    split = JoinedTexts.split(b"|".join(texts)[1:], b"|", texts[0][:1])
    for many in (joined, split, texts):
        with pytest.raises(ValueError, match=f"text {message}"):
            trained_encoder().encode_batch_to_numpy(many)
        with pytest.raises(ValueError, match=f"document {message}"):
            CountTable(PATTERNS["gpt2"]).add_documents(many)


@given(texts=st.lists(st.text(max_size=8)))
def test_an_id_is_appended_to_each(texts: list[str]) -> None:
    encoder = trained_encoder()
    ids, offsets = encoder.encode_batch_to_numpy(texts, append=97, dtype="uint16")
    rows = [ids[start:end].tolist() for start, end in pairwise(offsets.tolist())]
    assert rows == [[*encoder.encode(text), 97] for text in texts]


def test_an_unknown_id_is_not_appended() -> None:
    for unknown in (10**6, -1, 2**40):
        with pytest.raises(KeyError):
            trained_encoder().encode_batch_to_numpy(["a"], append=unknown)
