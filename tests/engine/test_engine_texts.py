"""Texts that stand in one buffer are the texts themselves: split, taken, encoded and counted alike."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Literal

import numpy as np
import pyarrow
import pytest
import xxhash
from hypothesis import example, given
from hypothesis import strategies as st

from bpetite._engine import CountTable, FileTexts, TextColumn, Xxh3128
from bpetite.patterns import PATTERNS
from encoders import trained_encoder

DTYPES: tuple[Literal["uint16", "uint32"], ...] = ("uint16", "uint32")

letters = st.binary(max_size=40).map(lambda some: bytes(b"ab|"[byte % 3] for byte in some))


def split(blocks: Iterable[bytes], separator: bytes) -> tuple[list[bytes], bytes]:
    """Return the texts between separators in blocks, taken at several moments, and the rest."""
    found = FileTexts(separator)
    texts: list[bytes] = []
    for number, block in enumerate(blocks):
        before = found.size
        found.take_block(block)
        assert found.size >= before + len(block)
        if number % 3 == 2:
            texts += found.take()
            assert len(found) == 0
    texts += found.take()
    rest = found.take_rest()
    assert found.size == len(found.take_rest()) == 0
    return texts, rest


@given(blocks=st.lists(letters, max_size=8), separator=letters)
@example(blocks=[b"a|", b"||b|", b"|"], separator=b"||")
@example(blocks=[b"aba", b"bab", b"a"], separator=b"abab")
def test_splitting_is_that_of_bytes_however_they_come(
    blocks: list[bytes], separator: bytes
) -> None:
    content = b"".join(blocks)
    *texts, rest = content.split(separator) if separator else [content]
    assert split(blocks, separator) == (texts, rest)
    assert split([content], separator) == (texts, rest)
    assert split((bytes([byte]) for byte in content), separator) == (texts, rest)


def test_what_has_no_end_can_be_taken_out_and_put_back() -> None:
    found = FileTexts(b"|")
    found.take_block(b"a|bc")
    rest = found.take_rest()
    found.take_block(rest[1:])
    found.take_block(b"d|e")
    assert (list(found.take()), found.take_rest()) == ([b"a", b"cd"], b"e")


def test_texts_stay_what_they_are_while_more_are_split() -> None:
    found = FileTexts(b"|")
    held = []
    for number in range(20):
        texts = [b"%d" % number * place for place in range(number)]
        found.take_block(b"".join(text + b"|" for text in texts))
        held.append((found.take(), texts))
        if number % 3 == 0:
            del held[0]
    for joined, texts in held:
        assert list(joined) == texts


def column(texts: list[bytes]) -> TextColumn:
    return TextColumn(pyarrow.array(texts, pyarrow.binary()))


@given(texts=st.lists(st.binary(max_size=5)), start=st.integers(-9, 9), stop=st.integers(-9, 9))
def test_texts_are_taken_as_from_a_list(texts: list[bytes], start: int, stop: int) -> None:
    joined = column(texts)
    assert len(joined) == len(texts)
    assert list(joined) == texts
    assert list(joined[start:stop]) == texts[start:stop]
    assert list(joined[start:][:stop]) == texts[start:][:stop]
    for index in range(-len(texts), len(texts)):
        assert joined[index] == texts[index]
    for index in (len(texts), -len(texts) - 1):
        with pytest.raises(IndexError):
            joined[index]


def test_only_one_stretch_of_texts_is_taken() -> None:
    with pytest.raises(ValueError, match="a slice must have step 1"):
        column([b"a", b"b", b"c"])[::2]


@given(texts=st.lists(st.text(alphabet="ab é東<|endoftext|>", max_size=30)))
def test_they_encode_and_count_as_the_texts_themselves(texts: list[str]) -> None:
    encoder = trained_encoder()
    content = [text.encode() for text in texts]
    joined = column(content)
    assert encoder.encode_batch(joined) == encoder.encode_batch(texts)
    assert encoder.count_batch(joined) == encoder.count_batch(texts)
    for ours, theirs in zip(
        encoder.encode_batch_to_numpy(joined), encoder.encode_batch_to_numpy(texts), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
    tables = [CountTable(PATTERNS["gpt2"], ["<|endoftext|>"]) for _ in range(2)]
    tables[0].add_documents(iter([joined]))
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
    joined = column(texts)
    found = FileTexts(b"|")
    found.take_block(b"|".join([*texts, b""]))
    for many in (joined, found.take(), texts):
        with pytest.raises(ValueError, match=f"(text|row) {message}"):
            trained_encoder().encode_batch_to_numpy(many)
        with pytest.raises(ValueError, match=f"document {message}"):
            CountTable(PATTERNS["gpt2"]).add_documents(
                many if isinstance(many, list) else iter([many])
            )


@given(texts=st.lists(st.text(max_size=8)))
def test_an_id_is_appended_to_each(texts: list[str]) -> None:
    encoder = trained_encoder()
    ids, offsets = encoder.encode_batch_to_numpy(texts, append=97, dtype="uint16")
    rows = [ids[start:end].tolist() for start, end in pairwise(offsets.tolist())]
    assert rows == [[*encoder.encode(text), 97] for text in texts]


def test_progress_can_stop_a_batch() -> None:
    class Stopped(Exception):
        pass

    def stop(*_: object) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        trained_encoder().encode_batch_to_numpy(
            ["a b c é " * 1000] * 10_000, num_threads=1, progress=stop
        )


def test_an_unknown_id_is_not_appended() -> None:
    for unknown in (10**6, -1, 2**40):
        with pytest.raises(KeyError):
            trained_encoder().encode_batch_to_numpy(["a"], append=unknown)


@given(st.lists(st.binary(max_size=600)))
def test_the_hash_of_pieces_is_that_of_the_whole_as_others_have_it(pieces: list[bytes]) -> None:
    ours = Xxh3128()
    for piece in pieces:
        ours.update(piece)
    assert ours.hexdigest() == xxhash.xxh3_128_hexdigest(b"".join(pieces))
