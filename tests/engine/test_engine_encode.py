"""The engine encodes every text as the specification does, in whatever form it is asked to."""

import contextlib
import itertools
import multiprocessing
import pickle
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Literal

import numpy as np
import pyarrow
import pytest
import tiktoken
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from alone import alone
from bpetite import Tokenizer, Vocabulary, _encoder, _engine
from bpetite._constants import BYTES, PRETOKENIZER_PATTERN, SPACE
from bpetite._pretokenizer import pretokenize
from bpetite.patterns import PATTERNS
from encoders import CORPUS, encoder_of, trained, trained_encoder
from interrupts import interrupts, stops_after_interrupt

DIALECTS = ["bpetite", "cs336", "huggingface", "tiktoken"]

HOSTILE = {
    "a": "a",
    "spaces": " ",
    "newlines": "\n",
    "no-break spaces": "\u00a0",
    "ab": "ab",
    "apostrophes": "'s",
    "one character in four bytes": "🎉",
    "combining marks": "e\u0301",
    "null": "\0",
    "carriage returns": "\r\n",
    "special tokens": "<|endoftext|>",
    "almost a special token": "<|endoftext|",
}

FRAGMENTS = [
    "<|endoftext|>",
    "<|endo",
    "|>",
    " ",
    "  ",
    "\n",
    "'",
    "'ll",
    "the",
    " the",
    "é",
    "天地",
    "🎉",
    "a",
    "1",
    "\u0301",
]
texts = st.one_of(st.text(), st.lists(st.sampled_from(FRAGMENTS)).map("".join))


def specified(text: str, dialect: str = "bpetite") -> list[int]:
    result = trained(dialect)
    return _encoder.encode(text, result.vocab, result.merges, result.special_tokens)


@pytest.mark.parametrize("dialect", DIALECTS)
@given(text=texts)
def test_every_dialect_encodes_as_specified(dialect: str, text: str) -> None:
    assert trained_encoder(dialect).encode(text) == specified(text, dialect)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_corpus_of_the_vocabulary_encodes_as_specified(dialect: str) -> None:
    assert trained_encoder(dialect).encode(CORPUS) == specified(CORPUS, dialect)


@pytest.mark.exhaustive
def test_every_text_over_a_tiny_alphabet_encodes_as_specified() -> None:
    encoder = trained_encoder()
    for length in range(7):
        for letters in itertools.product("ae \n'", repeat=length):
            text = "".join(letters)
            assert encoder.encode(text) == specified(text), text


@pytest.mark.exhaustive
def test_every_code_point_encodes_as_its_pretokens_do() -> None:
    encoder = trained_encoder()
    base = [trained().vocab[id_] for id_ in range(256)]
    assert base == [bytes([value]) for value in range(256)]
    for first in range(0, 0x110000, 0x1000):
        characters = [
            chr(value) for value in range(first, first + 0x1000) if not 0xD800 <= value < 0xE000
        ]
        text = "a".join(f"{character} {character}" for character in characters)
        ids = encoder.encode(text)
        assert encoder.decode(ids) == text
        assert ids == [id_ for piece in pretokenize(text) for id_ in encoder.encode(piece.decode())]


@pytest.mark.parametrize("whole_pretoken_first", [False, True])
@given(text=texts)
def test_ids_are_tiktokens_for_the_same_ranks(whole_pretoken_first: bool, text: str) -> None:
    result = trained("tiktoken")
    ranks = {
        token: id_
        for id_, token in result.vocab.items()
        if id_ not in result.special_tokens.values()
    }
    theirs = tiktoken.Encoding(
        "ours",
        pat_str=PRETOKENIZER_PATTERN,
        mergeable_ranks=ranks,
        special_tokens=dict(result.special_tokens),
    )
    ours = encoder_of(
        result.vocab,
        result.merges,
        result.special_tokens,
        whole_pretoken_first=whole_pretoken_first,
    )
    assert ours.encode(text) == theirs.encode(text, allowed_special="all")
    assert ours.encode(text, "text") == theirs.encode_ordinary(text)


@pytest.mark.parametrize("whole_pretoken_first", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_any_merge_list_encodes_as_specified(seed: int, whole_pretoken_first: bool) -> None:
    rng = random.Random(seed)
    vocab = {value: bytes([value]) for value in range(256)}
    made = list(b"abc"[: rng.randint(1, 3)])
    merges: list[tuple[int, int]] = []
    for _ in range(rng.randint(0, 60)):
        pair = (rng.choice(made), rng.choice(made))
        token = vocab[pair[0]] + vocab[pair[1]]
        if pair in merges or len(token) > 40:
            continue
        if token not in vocab.values():
            made.append(len(vocab))
            vocab[len(vocab)] = token
        elif rng.random() < 0.5:
            continue
        merges.append(pair)  # often another merge that makes a parent of an earlier one
    for _ in range(rng.randint(0, 20)):
        # Tokens that no merge makes, of which some have the bytes of others.
        vocab[rng.randrange(400, 500)] = bytes(rng.choices(b"abcd", k=rng.randint(2, 5)))
    encoder = encoder_of(vocab, merges, {}, PATTERNS["none"], whole_pretoken_first)
    specification = partial(
        _encoder.encode,
        vocab=vocab,
        merges=merges,
        special_tokens={},
        pattern=PATTERNS["none"],
        whole_pretoken_first=whole_pretoken_first,
    )
    for text in [
        "".join(rng.choices("abcd", k=rng.choice([2, 3, 4, 5, 30, 300]))) for _ in range(80)
    ] * 2:
        assert encoder.encode(text) == specification(text)


def test_a_token_that_two_merges_make_is_merged_as_tokenizers_does() -> None:
    vocab = {value: bytes([value]) for value in range(256)}
    vocab |= {256: b"ba", 257: b"ab", 258: b"aba", 259: b"abaa"}
    merges = [(98, 97), (97, 98), (257, 97), (258, 97), (97, 256)]  # ba, ab, ab+a, aba+a, a+ba
    theirs = tokenizers.Tokenizer(
        tokenizers.models.BPE(
            vocab={token.decode("latin-1"): token_id for token_id, token in vocab.items()},
            merges=[(vocab[a].decode("latin-1"), vocab[b].decode("latin-1")) for a, b in merges],
        )
    )
    ours = encoder_of(vocab, merges, {}, PATTERNS["none"])
    # After the first a+ba there is aba+a, which has the lower rank: the second a+ba is never
    # merged.
    assert ours.encode("abaaba") == [259, 256]
    for letters in itertools.product("ab", repeat=10):
        text = "".join(letters)
        expected = theirs.encode(text).ids
        assert (
            ours.encode(text)
            == _encoder.encode(text, vocab, merges, {}, PATTERNS["none"])
            == expected
        )


def test_ids_may_have_gaps_and_base_ids_any_order() -> None:
    vocab = {1000 * (255 - value): bytes([value]) for value in range(256)}
    a, b = 1000 * (255 - ord("a")), 1000 * (255 - ord("b"))
    vocab[2**32 - 2] = b"ab"
    encoder = encoder_of(vocab, [(a, b)], {"<s>": 5})
    assert encoder.encode("ab<s>ba") == [2**32 - 2, 5, b, a]
    assert encoder.decode([2**32 - 2, 5, b, a]) == "ab<s>ba"


def test_a_whole_pretoken_is_taken_first_only_where_the_vocabulary_says_so() -> None:
    vocab = {value: bytes([value]) for value in range(256)} | {256: b"bc", 257: b"abc"}
    merges = [(ord("b"), ord("c"))]
    assert encoder_of(vocab, merges, {}).encode("abc abc") == [97, 256, 32, 97, 256]
    assert encoder_of(vocab, merges, {}, whole_pretoken_first=True).encode("abc abc") == [
        257,
        32,
        97,
        256,
    ]


def test_of_tokens_with_the_same_bytes_the_smallest_is_the_whole_pretoken() -> None:
    tokens = {value: bytes([value]) for value in range(256)} | {
        256: b"ab",
        257: b"ab",
        258: b"cd",
        259: b"cd",
    }
    encoder = _engine.Encoder(
        pattern=PATTERNS["none"],
        tokens=b"".join(tokens.values()),
        ends=np.cumsum([len(token) for token in tokens.values()], dtype=np.uint64).tobytes(),
        ids=np.array(list(tokens), dtype=np.uint32).tobytes(),
        merges=np.array([[97, 98, 257], [99, 100, 258]], dtype=np.uint32).tobytes(),
        whole_pretoken_first=True,
    )
    for _ in range(2):
        assert [encoder.encode(text) for text in ("ab", "abc", "cd", "cde")] == [
            [256],
            [257, 99],
            [258],
            [258, 101],
        ]


@pytest.mark.parametrize("pattern", [*PATTERNS.values(), r"\w+|[^\w\s]+", r"(?=a)a|b+", r"l+|\s"])
def test_any_pattern_encodes_as_specified(pattern: str) -> None:
    result = trained()
    encoder = encoder_of(result.vocab, result.merges, result.special_tokens, pattern)
    expected = _encoder.encode(CORPUS, result.vocab, result.merges, result.special_tokens, pattern)
    assert encoder.encode(CORPUS) == expected


@pytest.mark.parametrize("name", HOSTILE)
def test_a_megabyte_of_anything_is_encoded(name: str) -> None:
    encoder = trained_encoder()
    text = HOSTILE[name] * (1_000_000 // len(HOSTILE[name]))
    ids = encoder.encode_to_numpy(text)
    assert encoder.decode(ids) == text
    assert encoder.count(text) == len(ids)
    short = HOSTILE[name] * 300
    assert encoder.encode(short) == specified(short)


def test_a_long_pretoken_of_random_letters_encodes_as_specified() -> None:
    text = "".join(random.Random(1).choices("etaoinshrdlu", k=3000))
    assert trained_encoder().encode(text) == specified(text)


# --- Special tokens
# ---------------------------------------------------------------------------------------


def with_specials(*specials: str) -> _engine.Encoder:
    vocab = {value: bytes([value]) for value in range(256)}
    return encoder_of(vocab, [], {special: 300 + index for index, special in enumerate(specials)})


def test_of_overlapping_special_tokens_the_longest_at_the_leftmost_place_is_taken() -> None:
    encoder = with_specials("<a>", "<a><b>", "b>c")
    assert encoder.encode("<a><b>c<a>") == [301, ord("c"), 300]


def test_special_tokens_are_parsed_taken_as_text_or_refused() -> None:
    encoder = with_specials("<s>")
    assert encoder.encode("é<s>", "parse") == [0xC3, 0xA9, 300]
    assert encoder.encode("é<s>", "text") == [*"é<s>".encode()]
    with pytest.raises(ValueError, match=r'special token "<s>" at character 1;.*special="text"'):
        encoder.encode("é<s>", "error")
    assert encoder.encode("é<s", "error") == [*"é<s".encode()]
    with pytest.raises(ValueError, match="special: must be parse, text or error"):
        encoder.encode("", "ignore")  # type: ignore[arg-type]  # a wrong value is the point


def test_a_thousand_special_tokens_are_each_found() -> None:
    specials = [f"<|reserved_{index}|>" for index in range(1000)]
    encoder = with_specials(*specials)
    assert encoder.encode("".join(specials)) == list(range(300, 1300))


def test_what_an_interrupted_call_has_done_is_not_in_the_ids_of_the_next() -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    encoder = trained_encoder()
    with pytest.raises(KeyboardInterrupt):
        encoder.encode_batch_to_numpy(
            ["the a" + "a" * 30_000_000], num_threads=1, progress=interrupted
        )
    assert encoder.encode("b") == specified("b")


def test_the_refusal_is_that_of_the_first_text_whatever_the_number_of_threads() -> None:
    encoder = with_specials("<s>", "<t>")
    batch = ["a" * 300_000] * 8
    batch[3] += "<s>"
    batch[4] = "<t>" + batch[4]
    for num_threads in (1, 2, 5):
        with pytest.raises(ValueError, match='"<s>" at character 300000'):
            encoder.encode_batch(batch, "error", num_threads)


THREADS = (1, 2, 8, 16)
"""One, few, and so many that characters of strings are copied instead of made UTF-8 by the calling thread."""


def error_of(call: Callable[..., object], *arguments: object, **named: object) -> str:
    """The error of a call that fails, with all that it consists of."""
    with pytest.raises(ValueError) as raised:
        call(*arguments, **named)
    parts = raised.value.args if isinstance(raised.value, UnicodeError) else ()
    return f"{type(raised.value).__name__}: {raised.value} {parts}"


def joined(content: list[bytes]) -> _engine.TextColumn:
    return _engine.TextColumn(pyarrow.array(content, pyarrow.binary()))


FAULTS = {
    "a special token": ("<s>", b"<s>"),
    "no text": ("\ud800", b"\xff"),
    "both": ("<s>\ud800", b"<s>\xff"),
}
"""What a text may end with, as `str` and as `bytes`."""


@pytest.mark.parametrize("length", [1000, 200_000], ids=["short texts", "texts that are cut"])
@pytest.mark.parametrize("second", FAULTS)
@pytest.mark.parametrize("first", FAULTS)
def test_the_error_of_a_batch_is_that_of_its_first_bad_text(
    first: str, second: str, length: int
) -> None:
    encoder = with_specials("<s>")
    strings = [character * length for character in "aé中"] * (2_000_000 // length)
    content = [text.encode() for text in strings]
    bad = len(strings) // 3
    for place, fault in ((bad, first), (bad + 1, second)):
        strings[place] += FAULTS[fault][0]
        content[place] += FAULTS[fault][1]
    if first == "a special token":
        of_str = of_bytes = (
            f'ValueError: the text contains the special token "<s>" at character {length};'
        )
    else:
        of_str = error_of(strings[bad].encode)
        of_bytes = f"{bad}: not valid UTF-8 at byte {len(content[bad]) - 1}"
    for num_threads in THREADS:
        for call in (encoder.encode_batch_to_numpy, encoder.count_batch):
            for given_texts in (strings, tuple(strings)):
                assert of_str in error_of(call, given_texts, "error", num_threads=num_threads)
            for given_bytes in (content, joined(content)):
                assert of_bytes in error_of(call, given_bytes, "error", num_threads=num_threads)


def test_strings_give_the_ids_of_their_utf8_on_any_number_of_threads() -> None:
    encoder = trained_encoder()
    rng = random.Random(3)
    alphabets = [
        "a ",
        "a\x7f\x80é",
        "\u07ff\u0800中\uffff",
        "\U00010000😀\U0010ffff",
        "a é中😀",
        CORPUS,
    ]
    strings = [
        "".join(rng.choices(alphabet, k=50)) * repeats
        for repeats in (1, 5, 6, 100, 3000)
        for alphabet in alphabets * (200 // repeats + 2)
    ]
    rng.shuffle(strings)
    strings *= 2_000_000 // sum(map(len, strings)) + 1
    content = [text.encode() for text in strings]
    expected, offsets = encoder.encode_batch_to_numpy(content, num_threads=1)
    for num_threads in THREADS:
        for given_texts in (strings, tuple(strings), content, joined(content)):
            found = encoder.encode_batch_to_numpy(given_texts, num_threads=num_threads)
            np.testing.assert_array_equal(found[0], expected)
            np.testing.assert_array_equal(found[1], offsets)
            assert (
                encoder.count_batch(given_texts, num_threads=num_threads)
                == np.diff(offsets).tolist()
            )


def test_every_character_of_a_string_becomes_utf8() -> None:
    encoder = with_specials()  # which has a token for each byte
    characters = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
    strings = [characters[start : start + 999] for start in range(0, len(characters), 999)] * 2
    ids, _ = encoder.encode_batch_to_numpy(strings, num_threads=8)
    assert ids.astype(np.uint8).tobytes() == characters.encode() * 2


# --- Other forms
# ------------------------------------------------------------------------------------------


@given(batch=st.lists(texts))
def test_batches_arrays_and_counts_agree_with_encoding_one_by_one(batch: list[str]) -> None:
    encoder = trained_encoder()
    expected = [encoder.encode(text) for text in batch]
    assert encoder.encode_batch(batch) == expected
    assert (
        encoder.count_batch(iter(batch))
        == [encoder.count(text) for text in batch]
        == [*map(len, expected)]
    )
    for dtype in ("uint32", "uint16"):
        ids, offsets = encoder.encode_batch_to_numpy(tuple(batch), dtype=dtype)
        assert ids.dtype == np.dtype(dtype)
        assert offsets.dtype == np.uint64
        assert [row.tolist() for row in np.split(ids, offsets[1:-1].astype(np.intp))][
            : len(batch)
        ] == expected
        assert [encoder.encode_to_numpy(text, dtype=dtype).tolist() for text in batch] == expected


@pytest.mark.parametrize("num_threads", [1, 2, 3, 8, None])
def test_ids_are_the_same_for_every_number_of_threads(num_threads: int | None) -> None:
    encoder = trained_encoder()
    rng = random.Random(2)
    text = "".join(rng.choices(CORPUS.split(" "), k=400_000)).replace(".", " <|endoftext|> x")
    batch = [text[:1_000_000], "", text, text[-50:], "z" * 900_000]
    expected = [encoder.encode_to_numpy(text, num_threads=1) for text in batch]
    ids, offsets = encoder.encode_batch_to_numpy(batch, num_threads=num_threads)
    np.testing.assert_array_equal(ids, np.concatenate(expected))
    assert offsets.tolist() == [0, *np.cumsum([*map(len, expected)])]
    assert encoder.count_batch(batch, num_threads=num_threads) == [*map(len, expected)]
    assert encoder.encode(text, num_threads=num_threads) == expected[2].tolist()


@pytest.mark.parametrize("num_threads", [1, 2, 7])
def test_texts_become_utf8_while_others_are_encoded(num_threads: int) -> None:
    # Those of four bytes have more ids than there is room for at first.
    encoder = trained_encoder()
    batch = [
        f"{number} {characters * 3000}"
        for number in range(40)
        for characters in ("🎉🎈", "é a", "天地")
    ]
    expected = [encoder.encode_to_numpy(text, num_threads=1) for text in batch]
    for given_texts in (batch, tuple(batch), [text.encode() for text in batch]):
        ids, offsets = encoder.encode_batch_to_numpy(given_texts, num_threads=num_threads)
        np.testing.assert_array_equal(ids, np.concatenate(expected))
        assert offsets.tolist() == [0, *np.cumsum([*map(len, expected)])]


@pytest.mark.parametrize(("dtype", "words"), [("uint32", 9_000_000), ("uint16", 18_000_000)])
def test_a_large_array_keeps_its_ids_whatever_is_encoded_after_it(
    dtype: Literal["uint32", "uint16"], words: int
) -> None:
    # Large enough that its memory is kept for the next result.
    encoder = trained_encoder()
    first, second, third = (f" {word}" * words for word in ("a", "b", "c"))
    ids = encoder.encode_to_numpy(first, dtype=dtype)
    assert ids.nbytes > 32 << 20
    window = ids[1000:2000]
    copy = window.copy()
    del ids
    others, _ = encoder.encode_batch_to_numpy([second], dtype=dtype, num_threads=2)
    copy_of_others = others.copy()
    np.testing.assert_array_equal(window, copy)
    del window
    again = encoder.encode_to_numpy(third, dtype=dtype)
    again[:] = 0
    del again
    np.testing.assert_array_equal(others, copy_of_others)
    np.testing.assert_array_equal(encoder.encode_to_numpy(second, dtype=dtype), copy_of_others)


def test_the_integers_of_lists_are_shared_and_let_go_of() -> None:
    encoder = trained_encoder()
    ids = encoder.encode(CORPUS)
    largest = max(ids)
    assert largest > 256  # Python shares small integers, and may not count references to them.
    integer = ids[ids.index(largest)]
    before = sys.getrefcount(integer)
    lists = [encoder.encode(CORPUS) for _ in range(1000)]
    held = sys.getrefcount(integer)
    del lists
    after = sys.getrefcount(integer)
    assert (held - before, after - before) == (1000 * ids.count(largest), 0)


def test_uint16_is_refused_where_ids_do_not_fit() -> None:
    encoder = with_specials("<s>")
    assert encoder.encode_to_numpy("a", dtype="uint16").dtype == np.uint16
    vocab = {value: bytes([value]) for value in range(256)}
    large = encoder_of(vocab, [], {"<s>": 65_536})
    with pytest.raises(ValueError, match="ids up to 65536, which do not fit uint16"):
        large.encode_to_numpy("", dtype="uint16")
    with pytest.raises(ValueError, match="dtype: must be uint32 or uint16"):
        large.encode_to_numpy("", dtype="int64")  # type: ignore[arg-type]  # a wrong value is the point


@given(text=texts)
def test_offsets_reconstruct_the_text(text: str) -> None:
    encoder = trained_encoder()
    ids, spans = encoder.encode_with_offsets(text, unit="bytes")
    assert ids == encoder.encode(text)
    raw = text.encode()
    assert [raw[start:end] for start, end in spans] == [encoder.token_bytes(id_) for id_ in ids]
    starts = [len(raw[:start].decode(errors="ignore")) for start, _ in spans]
    ends = [len(raw[:end].decode(errors="replace")) for _, end in spans]
    assert encoder.encode_with_offsets(text)[1] == list(zip(starts, ends, strict=True))


def test_a_token_that_holds_part_of_a_character_spans_the_whole_of_it() -> None:
    ids, spans = with_specials("<é>").encode_with_offsets("aé<é>b")
    assert (ids, spans) == ([97, 0xC3, 0xA9, 300, 98], [(0, 1), (1, 2), (1, 2), (2, 5), (5, 6)])
    with pytest.raises(ValueError, match="unit: must be characters or bytes"):
        with_specials().encode_with_offsets("", unit="words")  # type: ignore[arg-type]  # a wrong value


# --- Streams
# ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pattern", [PATTERNS["gpt2"], PATTERNS["cl100k"], PATTERNS["o200k"], r"\w+|\W"]
)
def test_a_stream_gives_the_same_ids_wherever_it_is_cut(pattern: str) -> None:
    result = trained()
    specials = {"<|endoftext|>": 600, "<|endoftext|><": 601, "oft": 602}
    encoder = encoder_of(
        {id_: token for id_, token in result.vocab.items() if id_ < 500},
        result.merges[:244],
        specials,
        pattern,
    )
    text = "They'll  say\n\n <|endoftext|><|endoftext|>天地 soft 🎉<|endofte 12345 aaaa  "
    expected = encoder.encode(text)
    for first in range(len(text) + 1):
        for second in range(first, len(text) + 1):
            stream = encoder.encode_stream()
            pieces = (text[:first], text[first:second], text[second:])
            ids = [id_ for piece in pieces for id_ in stream.feed(piece)]
            assert ids + stream.finish() == expected


@given(pieces=st.lists(texts), special=st.sampled_from(["parse", "text"]))
def test_a_stream_of_any_pieces_gives_the_ids_of_the_joined_text(
    pieces: list[str], special: str
) -> None:
    stream = trained_encoder().encode_stream(special)  # type: ignore[arg-type]  # one of two literals
    ids = [id_ for piece in pieces for id_ in stream.feed(piece)] + stream.finish()
    assert ids == trained_encoder().encode("".join(pieces), special)  # type: ignore[arg-type]


def test_a_stream_gives_ids_while_the_text_goes_on() -> None:
    encoder = trained_encoder()
    stream = encoder.encode_stream()
    sentence = "The quick brown fox. "
    given = 0
    for number in range(1, 1000):
        given += len(stream.feed(sentence))
        assert given > encoder.count(sentence * number) - 40


def test_a_stream_may_be_used_again_and_drops_a_refused_text() -> None:
    stream = with_specials("<s>").encode_stream("error")
    for _ in range(2):
        assert stream.feed("hello world, hello") + stream.finish() == [*b"hello world, hello"]
        with pytest.raises(ValueError, match="special token"):
            stream.feed("a b c <s> and so on and on")
        assert stream.finish() == []


def test_a_stream_is_as_new_after_a_text_and_after_an_error() -> None:
    stream = with_specials("<s>").encode_stream("error")
    new = stream.feed("one two three four five")
    stream.finish()
    for ending in (stream.finish, lambda: stream.feed("<s> and so on")):
        for _ in range(1000):
            assert stream.feed("x") == []
        with contextlib.suppress(ValueError):
            ending()
        assert stream.feed("one two three four five") == new
        stream.finish()


# --- Arguments, threads, processes
# ------------------------------------------------------------------------


def test_a_lone_surrogate_is_refused_with_its_place() -> None:
    encoder = trained_encoder()
    for call in (
        encoder.encode,
        encoder.encode_to_numpy,
        encoder.count,
        encoder.encode_with_offsets,
    ):
        with pytest.raises(UnicodeEncodeError) as raised:
            call("ab\ud800")
        assert raised.value.start == 2
    with pytest.raises(UnicodeEncodeError):
        encoder.encode_batch(["fine", "ab\ud800"])
    with pytest.raises(UnicodeEncodeError):
        encoder.encode_stream().feed("\udfff")


def test_what_is_no_text_is_refused() -> None:
    encoder = trained_encoder()
    for wrong in (b"a", None, 1, ["a"]):
        with pytest.raises(TypeError):
            encoder.encode(wrong)  # type: ignore[arg-type]  # a wrong type is the point
    with pytest.raises(TypeError, match="one str was given"):
        encoder.encode_batch("abc")
    with pytest.raises(TypeError, match="one bytes was given"):
        encoder.encode_batch_to_numpy(b"abc")  # type: ignore[arg-type]  # a wrong type is the point
    with pytest.raises(TypeError, match="item 1 must be str or bytes, not int"):
        encoder.encode_batch_to_numpy(["a", 1])  # type: ignore[list-item]  # a wrong type is the point
    with pytest.raises(ValueError, match="text 1: not valid UTF-8 at byte 2"):
        encoder.encode_batch_to_numpy(["a", b"ab\xff"])
    with pytest.raises(ValueError, match="num_threads must be at least 1, not 0"):
        encoder.encode("a", num_threads=0)


def definition(**changes: object) -> dict[str, object]:
    given: dict[str, object] = {
        "pattern": PRETOKENIZER_PATTERN,
        "tokens": bytes(range(256)) + b"ab",
        "ends": np.array([*range(1, 257), 258], dtype=np.uint64),
        "ids": np.arange(257, dtype=np.uint32),
        "merges": np.array([(97, 98, 256)], dtype=np.uint32),
        "added_tokens": [("<s>", 257, ["special"])],
    }
    given |= changes
    packed = {
        name: value.tobytes() for name, value in given.items() if isinstance(value, np.ndarray)
    }
    return given | packed


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"pattern": "("}, "pattern"),
        ({"ends": np.arange(1, 258, dtype=np.uint64)}, "they must ascend to the end"),
        ({"ends": np.array([*range(1, 257), 259], dtype=np.uint64)}, "they must ascend to the end"),
        ({"ids": np.arange(255, dtype=np.uint32)}, "255 for 257 tokens"),
        ({"ids": np.array([*range(256), 0], dtype=np.uint32)}, "id 0 is given to two tokens"),
        ({"added_tokens": [("<s>", 256, ["special"])]}, "id 256 is given to two tokens"),
        ({"added_tokens": [("<s>", 257, []), ("<s>", 258, [])]}, '"<s>" is given twice'),
        ({"added_tokens": [("", 257, ["special"])]}, "special token is empty"),
        ({"merges": np.array([(97, 98, 300)], dtype=np.uint32)}, "merge 0 names id 300"),
        (
            {"merges": np.array([(98, 97, 256)], dtype=np.uint32)},
            "does not have the bytes of its parents",
        ),
        (
            {"merges": np.array([(97, 98)], dtype=np.uint32)},
            "the bytes are not whole rows of three numbers",
        ),
        ({"equal_ranks": [(0, 2)]}, "there are no merges 0 to 2"),
        ({"equal_ranks": [(1, 0)]}, "there are no merges 1 to 0"),
        ({"tokens": b"b" + bytes(range(1, 256)) + b"ab"}, "byte 98 has two ids, 0 and 98"),
        (
            {
                "ids": np.array([*range(256), 2**32 - 1], dtype=np.uint32),
                "merges": np.empty((0, 3), np.uint32),
            },
            'token "ab" has the id 4294967295: the largest possible id is 4294967294',
        ),
        ({"added_tokens": [("<s>", 2**32 - 1, [])]}, 'token "<s>" has the id 4294967295'),
        ({"decode_only": [(2**32 - 1, b"")]}, 'token "" has the id 4294967295'),
    ],
)
def test_a_definition_that_is_not_whole_is_refused(changes: dict[str, object], reason: str) -> None:
    _engine.Encoder(**definition())  # type: ignore[arg-type]  # a whole one is accepted
    with pytest.raises(ValueError, match=reason):
        _engine.Encoder(**definition(**changes))  # type: ignore[arg-type]


def test_threads_may_share_an_encoder() -> None:
    encoder = encoder_of(trained().vocab, trained().merges, trained().special_tokens)
    words = CORPUS.split(" ")
    batches = [" ".join(random.Random(seed).choices(words, k=20_000)) for seed in range(8)]
    expected = [trained_encoder().encode(text) for text in batches]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(encoder.encode, batches)) == expected


ENDLESS = """
import hashlib, sys
from bpetite import Tokenizer

def megabytes():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmRSS"))

tokenizer = Tokenizer.train("some text to learn from " * 100, 300).with_memory("128 MiB")
def words(part):
    return " ".join(hashlib.sha256(b"%d %d" % (part, word)).hexdigest() for word in range(30_000))
tokenizer.count(words(0), num_threads=1)
before = megabytes()
for part in range(1, 80):
    tokenizer.count(words(part), num_threads=1)
print(megabytes() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_the_cache_stays_bounded_on_endless_distinct_pretokens() -> None:
    command = [sys.executable, "-c", ENDLESS]
    grown = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout
    assert int(grown) <= 128 + 24  # 128 are allowed; the rest is what allocators keep


def test_ids_do_not_depend_on_the_memory_of_the_cache() -> None:
    text = "".join(
        f"{number:x} {'中国哲学书电子化计划'[number % 9 :] * 2}{number} "
        for number in range(20_000)
    )
    tokenizer = Tokenizer.train(CORPUS * 3, 600)
    expected = tokenizer.encode_to_numpy(text)
    sizes: list[int | str] = ["1MiB", "1.5MB", 3 << 20, "16MiB", "1GB"]
    for memory in sizes:
        changed = tokenizer.with_memory(memory)
        assert changed == tokenizer
        for num_threads in [1, 2, 2]:
            np.testing.assert_array_equal(
                changed.encode_to_numpy(text, num_threads=num_threads), expected
            )
        assert pickle.loads(pickle.dumps(changed)).memory == changed.memory
    assert 32 << 20 <= tokenizer.memory <= 1 << 30
    assert tokenizer.with_memory("3MB").memory <= 3_000_000
    for too_little in ["1 MB", 0, "much"]:
        with pytest.raises(ValueError, match="memory"):
            tokenizer.with_memory(too_little)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="memory"):
        tokenizer.with_memory(1.5e9)  # type: ignore[arg-type]


OF_LIMITED = """
import pickle, resource
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
from bpetite import Tokenizer

tokenizer = Tokenizer.train("ab ab", 258)
assert tokenizer.memory == (3 << 30) // 32, tokenizer.memory
print(pickle.dumps((tokenizer, tokenizer.with_memory("64 MiB"))).hex())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits are read from /proc")
def test_the_cache_takes_a_part_of_what_the_process_may_have_and_pickles_keep_only_what_was_chosen() -> (
    None
):
    command = [sys.executable, "-c", OF_LIMITED]
    packed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    usual, chosen = pickle.loads(bytes.fromhex(packed))
    assert (usual.memory, chosen.memory) == (Tokenizer.train("ab ab", 258).memory, 64 << 20)


CHARACTERS, LINES = "aé中丮丯乀書🎉", r"[^\n]+|\n"


@given(st.randoms(use_true_random=False))
def test_long_pretokens_that_are_cut_have_the_ids_of_the_specification(rng: random.Random) -> None:
    vocab = {byte: bytes([byte]) for byte in range(256)}
    id_of = {token: token_id for token_id, token in vocab.items()}
    made = sorted(set(CHARACTERS.encode()))
    merges: dict[tuple[int, int], int] = {}

    def add(token: bytes) -> int:
        vocab[id_of.setdefault(token, len(vocab))] = token
        return id_of[token]

    for character in rng.sample(CHARACTERS, 6):  # tokens of one character, as in real vocabularies
        left, *rest = character.encode()
        for byte in rest:
            merges[left, byte] = add(vocab[left] + bytes([byte]))
            left = merges[left, byte]
            made.append(left)
    for _ in range(rng.randrange(20)):
        pair = rng.choice(made), rng.choice(made)
        if len(token := vocab[pair[0]] + vocab[pair[1]]) < 16:
            merges[pair] = add(token)
            made.append(merges[pair])
    if (
        whole := rng.random() < 0.5
    ):  # tokens that replace pretokens, and that perhaps no merge makes
        for _ in range(5):
            add("".join(rng.choices(CHARACTERS, k=rng.randint(1, 8))).encode())
    start = rng.randrange(len(merges) + 1)
    equal = [(start, rng.randint(start, len(merges)))] if rng.random() < 0.5 else []
    encoder = encoder_of(vocab, list(merges), {}, LINES, whole, equal).with_memory(1 << 20)
    lines = ["".join(rng.choices(CHARACTERS, k=rng.randint(1, 30))) for _ in range(12)]
    text = "\n".join([*lines, *lines])
    expected = _encoder.encode(
        text, vocab, list(merges), {}, LINES, whole_pretoken_first=whole, equal_ranks=equal
    )
    assert encoder.encode(text) == expected
    assert encoder.encode(text) == expected


LONG_WORK = {
    "encode": "tokenizer.encode_batch_to_numpy([text] * 200)",
    "long pretokens": "tokenizer.count_batch(['a' * 50_000_000] * 200)",
    "decode": "tokenizer.decode_batch([tokenizer.encode_to_numpy(text[:5_000_000])] * 100_000)",
}


@interrupts
@pytest.mark.parametrize("work", LONG_WORK)
def test_an_interrupt_stops_the_work_within_a_second(work: str) -> None:
    ready = """
from bpetite import Tokenizer
tokenizer = Tokenizer.train("some text to learn from " * 100, 300)
text = "some text to learn from " * 4_000_000
"""
    assert stops_after_interrupt(ready, LONG_WORK[work])


@interrupts
@pytest.mark.parametrize(
    "call",
    [
        lambda encoder: encoder.count_batch(itertools.repeat("a")),
        lambda encoder: encoder.encode_batch_to_numpy(itertools.repeat(b"a")),
        lambda encoder: encoder.decode(itertools.repeat(97)),
    ],
)
def test_a_signal_ends_an_iterable_that_runs_no_python_code(
    call: Callable[[_engine.Encoder], object],
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupted)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(KeyboardInterrupt):
            call(trained_encoder())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _encode_in_child(text: str) -> list[int]:
    return trained_encoder().encode(text)


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this system"
)
@alone
def test_a_forked_child_encodes_while_the_parents_threads_do() -> None:
    text = CORPUS * 100
    expected = trained_encoder().encode(text)
    with ThreadPoolExecutor(4) as pool:
        busy = [pool.submit(trained_encoder().encode, text) for _ in range(40)]
        with multiprocessing.get_context("fork").Pool(2) as children:
            assert children.map(_encode_in_child, [text] * 4) == [expected] * 4
        assert all(future.result() == expected for future in busy)


@pytest.mark.parametrize(
    "pattern",
    [
        (r"\p{N}", r" ?[a-z]+|\s+(?!\S)"),
        (SPACE, r" ?[a-z]+| ?[^a-z\s]+"),
        ("[0-9]", SPACE, " ?[a-z]+", BYTES, r"\p{N}"),
    ],
)
@given(text=st.text(" ab1²é<|x>\n", max_size=40))
def test_patterns_in_steps_give_the_ids_of_the_specification(pattern: str, text: str) -> None:
    tokens = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b" a", 258: b" ab"}
    merges, specials = [(97, 98), (32, 97), (32, 256)], {"<|x|>": 300}
    tok = Tokenizer(Vocabulary(tokens, merges, specials, pattern))
    expected = _encoder.encode(text, {**tokens, 300: b"<|x|>"}, merges, specials, pattern)
    assert tok.encode(text) == expected
    assert tok.encode_batch([text, text]) == [expected, expected]
    assert list(tok.encode_iterable(text)) == expected
    assert tok.encode_batch_to_numpy([text])[0].tolist() == expected
    assert tok.count(text) == len(expected)
