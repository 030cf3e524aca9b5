"""With dropout, the engine drops the merges that the specification drops, however the work is divided."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise, product
from typing import Any

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer, Vocabulary, _encoder
from bpetite._pretokenizer import pretokenize
from bpetite.formats.shared.pairs import Pieces, vocabulary_of_pieces
from bpetite.normalization import steps_in
from bpetite.patterns import PATTERNS
from bpetite.specification.added_tokens import AddedToken, sections
from bpetite.specification.character_encoder import encode as of_characters
from bpetite.specification.dropout import Dropout
from bpetite.specification.normalizer import aligned
from encoders import CORPUS, encoder_of, trained, trained_encoder
from interrupts import interrupts, stops_after_interrupt

PROBABILITIES = [0.05, 0.3, 0.5, 0.9, 0.999, 1.0]
chances = st.sampled_from(PROBABILITIES)
seeds = st.integers(0, 2**64 - 1)
END = "<|endoftext|>"
texts = st.lists(
    st.sampled_from(
        [END, "<|endo", " ", "  ", "\n", "'ll", "the", " the", "é", "天地", "🎉", "a", "1"]
    )
).map("".join)


def specified(text: str, dropout: Dropout) -> list[int]:
    result = trained()
    return _encoder.encode(
        text, result.vocab, result.merges, result.special_tokens, dropout=dropout
    )


# The ids of the specification
# ------------------------------------------------------------------------------------------


@given(st.one_of(st.text(), texts), chances, seeds, seeds)
def test_any_text_encodes_as_specified(
    text: str, probability: float, seed: int, document: int
) -> None:
    encoder = trained_encoder().with_dropout(probability, seed, document)
    ids = encoder.encode(text)
    assert ids == specified(text, Dropout(probability, seed, document))
    assert encoder.decode(ids) == text


@pytest.mark.parametrize("probability", PROBABILITIES)
def test_every_text_over_a_tiny_alphabet_encodes_as_specified(probability: float) -> None:
    """The merges are irregular: two make the same token, one comes before that of its parent."""
    vocab = {value: bytes([value]) for value in range(256)}
    vocab |= {256: b"ab", 257: b"aba", 258: b"ba", 259: b"abab", 260: b"aa", 261: b"babab"}
    merges = [
        (256, 97),
        (97, 258),
        (256, 256),
        (97, 98),
        (98, 97),
        (97, 97),
        (98, 259),
    ]
    encoder = encoder_of(vocab, merges, {}, PATTERNS["none"]).with_dropout(probability, 3)
    dropout = Dropout(probability, 3)
    specification = partial(
        _encoder.encode,
        vocab=vocab,
        merges=merges,
        special_tokens={},
        pattern=PATTERNS["none"],
        dropout=dropout,
    )
    for length in range(9):
        for letters in product("ab", repeat=length):
            text = "".join(letters)
            assert encoder.encode(text) == specification(text), text


@pytest.mark.parametrize("whole_pretoken_first", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_any_merge_list_encodes_as_specified(seed: int, whole_pretoken_first: bool) -> None:
    """No token is taken for a whole pretoken, as in tokenizers."""
    rng = random.Random(seed)
    vocab = {value: bytes([value]) for value in range(256)}
    made = list(b"abc"[: rng.randint(1, 3)])
    merges: list[tuple[int, int]] = []
    for _ in range(rng.randint(5, 60)):
        pair = (rng.choice(made), rng.choice(made))
        token = vocab[pair[0]] + vocab[pair[1]]
        if pair in merges or len(token) > 40:
            continue
        if token not in vocab.values():
            made.append(len(vocab))
            vocab[len(vocab)] = token
        merges.append(pair)
    for _ in range(rng.randint(0, 20)):
        vocab[rng.randrange(400, 500)] = bytes(rng.choices(b"abcd", k=rng.randint(2, 5)))
    encoder = encoder_of(vocab, merges, {}, PATTERNS["none"], whole_pretoken_first)
    for number in range(60):
        text = "".join(rng.choices("abcd", k=rng.choice([2, 3, 4, 5, 30, 300])))
        dropout = Dropout(rng.choice(PROBABILITIES), number)
        ids = encoder.with_dropout(dropout.probability, number).encode(text)
        assert ids == _encoder.encode(
            text,
            vocab,
            merges,
            {},
            PATTERNS["none"],
            whole_pretoken_first=whole_pretoken_first,
            dropout=dropout,
        )


@pytest.mark.parametrize("probability", PROBABILITIES)
@pytest.mark.parametrize("letters", ["etaoinshrdlu", "a", " ", "天地"])
def test_a_long_pretoken_encodes_as_specified(letters: str, probability: float) -> None:
    text = "".join(random.Random(1).choices(letters, k=3000))
    ids = trained_encoder().with_dropout(probability, 5).encode(text)
    assert ids == specified(text, Dropout(probability, 5))


@pytest.mark.parametrize("probability", [0.999, 0.9998, 0.99999])
def test_merging_ends_where_very_many_candidates_are_dropped_in_a_row(probability: float) -> None:
    text = "".join(random.Random(1).choices("etaoin", k=40_000))
    ids = trained_encoder().with_dropout(probability, 5).encode(text)
    assert ids == specified(text, Dropout(probability, 5))


ALPHABET = "aé東\U0001f600 "


@settings(deadline=None)
@given(
    st.lists(st.text(ALPHABET, min_size=2, max_size=4), max_size=12, unique=True),
    st.sets(st.sampled_from(ALPHABET)),
    st.text(ALPHABET + "b", max_size=12),
    st.sampled_from([1, 2, 12]),
    chances,
    st.booleans(),
)
def test_characters_are_never_dropped_where_merges_begin_with_them(
    tokens: list[str], singles: set[str], text: str, same: int, probability: float, lacks: bool
) -> None:
    """Characters of three bytes have parts that are provisional; all vocabularies have some of them."""
    singles |= {"東"}
    byte_ids = {} if lacks else {byte: byte for byte in range(256)}
    unknown = (256, True) if lacks else None
    ids = {token: 257 + place for place, token in enumerate([*sorted(singles), *tokens])}
    ids = {"<unk>": 256, **ids} if lacks else ids
    ranks = {token: place // same for place, token in enumerate(tokens)}
    pieces = Pieces(ids, byte_ids, False, {})
    vocabulary = vocabulary_of_pieces(
        pieces, None, [(rank, token) for token, rank in ranks.items()], unknown=unknown
    )
    dropout = Dropout(probability, 7)
    expected: list[int] = []
    place = 0
    for pretoken in pretokenize(text, vocabulary.pattern):
        expected += of_characters(
            pretoken.decode(),
            ids,
            byte_ids,
            lambda left, right: ranks.get(left + right),
            vocabulary.unknown,
            dropout=dropout.behind(place),
        )
        place += len(pretoken)
    tokenizer = Tokenizer(vocabulary)
    assert tokenizer.encode(text, dropout=probability, seed=7) == expected
    if not lacks:
        found = _encoder.encode(
            text,
            vocabulary.tokens,
            vocabulary.merges,
            {},
            vocabulary.pattern,
            provisional=vocabulary.provisional,
            equal_ranks=vocabulary.equal_ranks,
            dropout=dropout,
        )
        assert found == expected
    given_ids, spans = tokenizer.encode_with_offsets(text, dropout=probability, seed=7)
    assert given_ids == expected
    assert all(0 <= start < end <= len(text) for start, end in spans)


def normalized() -> Tokenizer:
    """A tokenizer that changes texts before they are cut."""
    result = trained()
    tokens = {own: token for own, token in result.vocab.items() if token != END.encode()}
    return Tokenizer(
        Vocabulary(
            tokens,
            result.merges,
            {"<s>": 9000, "<m>": 9001},
            normalization=STEPS,
            token_flags={"<m>": ["normalized"]},
        )
    )


STEPS = (("NFC",), ("Lowercase",))
NORMALIZED = ["E\u0301", "ab", " AB, the", "<s>", "Ab<M>", "<m>", "x"]


@given(st.lists(st.sampled_from(NORMALIZED)), chances)
def test_places_are_those_of_normalized_text_and_tokens(pieces: list[str], chance: float) -> None:
    tokenizer = normalized()
    vocabulary = tokenizer.vocabulary
    text = "".join(pieces)
    dropout = Dropout(chance, 1)
    expected: list[int] = []
    added = [AddedToken("<s>", 9000), AddedToken("<m>", 9001, normalized=True)]
    for section in sections(text, added, lambda part: aligned(part, steps_in(STEPS))):
        if section.token_id is not None:
            expected.append(section.token_id)
        else:
            expected += _encoder.encode_ordinary(
                section.text, vocabulary.tokens, vocabulary.merges, {}, dropout=dropout
            )
        dropout = dropout.behind(len(section.text.encode()))
    assert tokenizer.encode(text, dropout=chance, seed=1) == expected


def test_a_long_normalized_text_has_the_same_ids_on_any_number_of_threads() -> None:
    text = "".join(NORMALIZED) * 40_000
    one, three = [
        normalized().encode_to_numpy(text, dropout=0.5, seed=1, num_threads=threads)
        for threads in (1, 3)
    ]
    assert np.array_equal(one, three)


# One division and another
# ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(CORPUS, 500)


def test_ids_are_the_same_for_every_division(tokenizer: Tokenizer) -> None:
    """Of a text among threads, of texts among calls, and of columns in chunks."""
    rng = random.Random(1)
    words = CORPUS.split(" ")
    batch = [" ".join(rng.choices(words, k=rng.randrange(2, 400))) for _ in range(300)]
    batch.insert(100, " ".join(rng.choices(words, k=300_000)) + END + "x" * 5000)
    drop: Any = {"dropout": 0.2, "seed": 9}
    lists = tokenizer.encode_batch(batch, **drop)
    expected = [
        tokenizer._made_encoder().with_dropout(0.2, 9, number).encode(text)
        for number, text in enumerate(batch)
    ]
    assert lists == expected
    assert lists[0] == tokenizer.encode(batch[0], **drop)
    assert lists != tokenizer.encode_batch(batch)
    for threads in (1, 2, 5):
        as_bytes = [text.encode() for text in batch]
        assert tokenizer.encode_batch(as_bytes, num_threads=threads, **drop) == lists
        ids, offsets = tokenizer.encode_batch_to_numpy(
            batch, num_threads=threads, dtype="uint16", **drop
        )
        assert [ids[start:end].tolist() for start, end in pairwise(offsets.tolist())] == lists
    column = pyarrow.chunked_array([batch[:7], batch[7:200], batch[200:]])
    assert pyarrow.array(tokenizer.encode_column(column, **drop)).to_pylist() == lists
    assert tokenizer.decode_batch(lists) == batch
    assert tokenizer.encode_to_numpy(batch[0], **drop).tolist() == lists[0]
    around = tokenizer.encode_batch(batch, append=END, **drop)
    assert [ids[:-1] for ids in around] == lists


def test_a_document_may_come_in_pieces(tokenizer: Tokenizer) -> None:
    dropping = tokenizer._made_encoder().with_dropout
    whole = dropping(0.3, 2, 4).encode(CORPUS)
    cut = CORPUS.index(" amused")
    begun = len(CORPUS[:cut].encode())
    in_pieces = dropping(0.3, 2, 4).encode(CORPUS[:cut])
    in_pieces += dropping(0.3, 2, 4, begun).encode(CORPUS[cut:])
    assert in_pieces == whole


def test_equal_texts_of_a_batch_and_equal_words_of_a_text_differ(tokenizer: Tokenizer) -> None:
    rows = tokenizer.encode_batch([" the quick brown"] * 100, dropout=0.5, seed=1)
    assert len(set(map(tuple, rows))) > 50
    ids = tokenizer.encode(" brown" * 100, dropout=0.5, seed=1)
    assert tokenizer.decode(ids) == " brown" * 100
    other = tokenizer.encode(" brown" * 100, dropout=0.5, seed=2)
    assert ids != other


def test_offsets_are_those_of_the_ids(tokenizer: Tokenizer) -> None:
    for unit in ("bytes", "characters"):
        ids, spans = tokenizer.encode_with_offsets(CORPUS, unit=unit, dropout=0.4, seed=3)
        assert ids == tokenizer.encode(CORPUS, dropout=0.4, seed=3)
        content = CORPUS.encode()
        if unit == "bytes":
            tokens = [content[start:end] for start, end in spans]
            assert tokens == [tokenizer.token_bytes(token_id) for token_id in ids]


# Borders
# ------------------------------------------------------------------------------------------


def test_without_dropout_nothing_changes_and_with_all_nothing_is_merged(
    tokenizer: Tokenizer,
) -> None:
    for nothing in (0, 0.0, None):
        assert tokenizer.encode(CORPUS, dropout=nothing) == tokenizer.encode(CORPUS)
    assert tokenizer.encode(CORPUS, dropout=0, seed=5) == tokenizer.encode(CORPUS)
    assert tokenizer.encode(CORPUS + END, dropout=1) == [*CORPUS.encode(), 500]
    assert tokenizer.encode(CORPUS, dropout=0.1) == tokenizer.encode(CORPUS, dropout=0.1, seed=0)
    largest: Any = np.uint64(2**64 - 1)
    assert tokenizer.encode(CORPUS, dropout=np.float64(0.1), seed=largest)


REFUSED = [
    (1.5, 1, ValueError, r"dropout must be a number from 0 to 1, not 1\.5"),
    (-0.1, 1, ValueError, r"dropout must be a number from 0 to 1, not -0\.1"),
    (float("nan"), 1, ValueError, "dropout must be a number from 0 to 1, not nan"),
    ("0.1", 1, TypeError, r"dropout must be a number from 0 to 1, not '0\.1'"),
    (True, 1, TypeError, "dropout must be a number from 0 to 1, not True"),
    (0.1, -1, ValueError, "seed must be an integer from 0 to 18446744073709551615, not -1"),
    (0.1, 2**64, ValueError, "seed must be an integer from 0 to .*, not 18446744073709551616"),
    (0.1, 1.0, TypeError, r"seed must be an integer from 0 to .*, not 1\.0"),
    (0.1, True, TypeError, "seed must be an integer from 0 to .*, not True"),
    (None, 1, ValueError, "seed needs dropout, which was not given"),
]
CALLS: list[Callable[..., object]] = [
    lambda tok, **drop: tok.encode("ab", **drop),
    lambda tok, **drop: tok.encode_to_numpy("ab", **drop),
    lambda tok, **drop: tok.encode_batch(["ab"], **drop),
    lambda tok, **drop: tok.encode_batch_to_numpy(["ab"], **drop),
    lambda tok, **drop: tok.encode_column(pyarrow.array(["ab"]), **drop),
    lambda tok, **drop: tok.encode_with_offsets("ab", **drop),
]


@pytest.mark.parametrize(("dropout", "seed", "error", "reason"), REFUSED)
def test_a_wrong_probability_or_seed_is_refused_by_name(
    tokenizer: Tokenizer, dropout: Any, seed: Any, error: type[Exception], reason: str
) -> None:
    for call in CALLS:
        with pytest.raises(error, match=reason):
            call(tokenizer, dropout=dropout, seed=seed)


@pytest.mark.parametrize("probability", [0.1, 0.999999, 1 - 2**-53])
@pytest.mark.parametrize("letters", ["a", " ", "etaoinshrdlu"])
def test_a_long_pretoken_takes_little_more_than_linear_time(
    letters: str, probability: float
) -> None:
    """The debug build merges a megabyte in five seconds; a quadratic way would take hours."""
    text = "".join(random.Random(1).choices(letters, k=1 << 20))
    encoder = trained_encoder().with_dropout(probability, 1)
    begin = time.process_time()
    ids = encoder.encode_to_numpy(text, num_threads=1)
    assert encoder.decode(ids) == text
    assert time.process_time() - begin < 60


@interrupts
def test_ctrl_c_ends_a_long_pretoken() -> None:
    ready = (
        "from bpetite import Tokenizer\n"
        "tok = Tokenizer.train('ab' * 4 + 'abab' * 9, 260)\n"
        "text = 'ab' * (1 << 25)"
    )
    assert stops_after_interrupt(ready, "tok.encode_to_numpy(text, dropout=0.5, seed=1)")
