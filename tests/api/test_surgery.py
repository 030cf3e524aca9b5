"""Tokens that leave a vocabulary, others that take their ids, and the map from old ids to new ones."""

import json
import random
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from bpetite import Counts, Tokenizer, TokenMap, Vocabulary
from bpetite._encoder import encode_ordinary
from bpetite.specification.pruning import pruned_tokens
from bpetite.surgery.pruning import Pruning
from random_vocabularies import BYTES, counted, random_vocabulary, words_up_to

PARTS = pyarrow.list_(pyarrow.int64())
WORDS = words_up_to(7)
SPECIALS = {"<s>": 1000, "<t>": 7000}


def specified(vocabulary: Vocabulary, word: str) -> list[int]:
    return list(
        encode_ordinary(
            word,
            vocabulary.tokens,
            vocabulary.merges,
            {},
            "[^ ]+| ",
            whole_pretoken_first=vocabulary.whole_pretoken_first,
            equal_ranks=vocabulary.equal_ranks,
        )
    )


@pytest.mark.parametrize("seed", range(60))
def test_words_without_a_removed_token_keep_their_ids(seed: int) -> None:
    chance = random.Random(seed)
    vocabulary = random_vocabulary(chance, SPECIALS)
    tokenizer = Tokenizer(vocabulary)
    counts = counted(vocabulary, [" ".join(chance.choices(WORDS, k=30))])
    removable = len(vocabulary.tokens) - 256
    size = vocabulary.sizes[-1] - chance.randrange(removable + 1)
    choices: tuple[Literal["close", "keep"], ...] = ("close", "keep")
    for ids in choices:
        smaller, token_map = tokenizer.prune(counts, size, ids=ids)
        assert smaller.vocabulary.sizes[-1] == size
        new_ids = [new for new in token_map.ids.values() if new is not None]
        assert new_ids == sorted(new_ids)
        if ids == "close":
            assert new_ids == [*range(len(new_ids))]
        for word in chance.sample(WORDS, 150):
            old = [token_map[token_id] for token_id in tokenizer.encode(word)]
            assert None in old or smaller.encode(word) == old, word
            assert smaller.decode(smaller.encode(word)) == word


@pytest.mark.parametrize("seed", range(60))
def test_the_order_in_which_tokens_leave_is_the_specified_one(seed: int) -> None:
    chance = random.Random(seed)
    vocabulary = random_vocabulary(chance, SPECIALS)
    words = chance.choices(WORDS, k=40)
    counts = counted(vocabulary, [" ".join(words)])
    uses = dict.fromkeys(vocabulary.tokens, 0)
    for pretoken, times in counts.items():
        for token_id in specified(vocabulary, pretoken.decode()):
            uses[token_id] += times
    ids, numbers = counts._table.uses(Tokenizer(vocabulary)._made_encoder(), num_threads=3)
    found = dict(zip(ids.tolist(), numbers.tolist(), strict=True))
    assert found == {token_id: times for token_id, times in uses.items() if times}
    pruning = Pruning(vocabulary)
    number = len(pruning.removable)
    expected = pruned_tokens(uses, vocabulary.merges, vocabulary.merge_ids, pruning.staying, number)
    assert pruning.least_used(found, number) == expected


def test_the_least_used_goes_first_then_the_larger_id_and_uses_go_to_the_parts() -> None:
    tokens = BYTES | {256: b"ab", 257: b"cd", 258: b"abcd", 259: b"xy"}
    tok = Tokenizer(Vocabulary(tokens, [(97, 98), (99, 100), (256, 257), (120, 121)], {"<s>": 260}))
    texts = ["abcd", "abcd", "xy", "xy", "ab"]
    smaller, token_map = tok.prune(texts, 258, ids="keep")
    # First xy and abcd, which are used twice: the larger id. Then ab is used thrice, cd twice.
    assert [smaller.token_bytes(token_id) for token_id in (256, 257)] == [b"ab", b"cd"]
    assert token_map[258] is token_map[259] is None
    assert tok.prune(texts, 257)[0].merges == ((97, 98),)
    assert tok.prune(texts, 260)[1].ids == {token_id: token_id for token_id in range(261)}


def test_special_and_added_tokens_their_parts_and_the_template_stay() -> None:
    tokens = BYTES | {256: b"ab", 257: b"abc", 258: b"xy"}
    merges = [(97, 98), (256, 99), (120, 121)]
    tok = Tokenizer(Vocabulary(tokens, merges, {"abc": 257, "<s>": 300}, added_tokens=["abc"]))
    with pytest.raises(ValueError, match="vocab_size 257 is too small: 258 tokens must stay"):
        tok.prune(["xy"], 257)
    smaller, token_map = tok.prune(["xy"], 258)
    assert token_map[258] is None
    assert smaller.special_tokens == {"abc": 257, "<s>": 258}
    assert smaller.encode("abc<s>") == [257, 258]


def test_named_tokens_leave_and_what_stands_in_the_way_is_named() -> None:
    tok = Tokenizer(
        Vocabulary(BYTES | {256: b"ab", 257: b"abc"}, [(97, 98), (256, 99)], {"<s>": 258})
    )
    made_of = (
        r"tokens: 256 \(b'ab'\) cannot go without the tokens that are made of it: 257 \(b'abc'\)"
    )
    with pytest.raises(ValueError, match=made_of):
        tok.prune(tokens=["ab"])
    smaller, token_map = tok.prune(tokens=["ab", 257])
    assert smaller.encode("abc<s>") == [97, 98, 99, 256]
    assert (token_map[256], token_map[258]) == (None, 256)
    for token in (97, 258):
        with pytest.raises(ValueError, match=rf"tokens: {token} .* must stay"):
            tok.prune(tokens=[token])
    with pytest.raises(KeyError, match="tokens: no token has the id 999"):
        tok.prune(tokens=[999])


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({}, "documents_or_counts and vocab_size are needed, or else tokens"),
        ({"documents_or_counts": ["ab"]}, "documents_or_counts and vocab_size are needed"),
        ({"vocab_size": 256}, "documents_or_counts and vocab_size are needed"),
        ({"vocab_size": 256, "tokens": [256]}, "tokens: give either tokens, or texts"),
        ({"documents_or_counts": ["ab"], "vocab_size": 999}, "vocab_size 999 is larger than this"),
        ({"documents_or_counts": ["ab"], "vocab_size": 99}, "vocab_size 99 is too small: 256 tok"),
        ({"tokens": [256], "ids": "new"}, 'ids: must be close or keep, not "new"'),
    ],
)
def test_what_cannot_be_pruned_is_refused(arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Tokenizer.train("ab ab", 257).prune(**arguments)


def test_counts_by_other_rules_are_refused() -> None:
    tok = Tokenizer.train("ab ab", 257)
    with pytest.raises(ValueError, match="counted with the pattern cl100k, but gpt2 is needed"):
        tok.prune(Counts.from_iterator(["ab"], pattern="cl100k"), 256)
    with pytest.raises(ValueError, match="normalization"):
        tok.prune(Counts.from_iterator(["ab"], normalization="NFC"), 256)


def test_counting_uses_tells_what_cannot_be_encoded() -> None:
    vocabulary = Vocabulary({0: b"a", 1: b"b"}, [], irregular=True, pattern="[^ ]+| ")
    encoder = Tokenizer(vocabulary)._made_encoder()
    with pytest.raises(ValueError, match="has a byte for which this vocabulary has no token"):
        counted(vocabulary, ["ac"])._table.uses(encoder)
    huge = Counts.from_iterator(["aaa"], pattern="[^ ]+| ").weighted(2**63)
    with pytest.raises(OverflowError, match="id 0 is used more often than 64 bits can count"):
        huge._table.uses(encoder)


def test_new_tokens_take_the_freed_ids_in_ascending_order() -> None:
    tok = Tokenizer.train("ab ab ab cd cd ef ef gh", 264, dialect="tiktoken")
    texts = ["xyz xyz xyz xyz ab"]
    removed = [old for old, new in tok.prune(texts, 260, ids="keep")[1].ids.items() if new is None]
    assert removed == [258, 260, 261, 262]
    other, token_map = tok.replace(texts, 4)
    assert [old for old, new in token_map.ids.items() if new is None] == removed
    # No fourth can be learned: its id is a hole.
    learned = {258: b"xy", 260: b"xyz", 261: b" xyz"}
    assert {token_id: other.token_bytes(token_id) for token_id in learned} == learned
    assert token_map.parts == {258: (120, 121), 260: (120, 121, 122), 261: (32, 120, 121, 122)}
    assert token_map.rows([[0.0]] * 264).shape == (264, 1)
    assert other.decode(other.encode("xyz ab<|endoftext|>")) == "xyz ab<|endoftext|>"
    with pytest.raises(ValueError, match="number 99 is too large: only 7 tokens can be replaced"):
        tok.replace(texts, 99)


# The map
# -------------------------------------------------------------------------------------------


def test_rows_are_copied_or_the_mean_of_the_parts() -> None:
    token_map = TokenMap({0: 0, 1: None, 2: 3}, {1: (0, 2), 5: (1,), 6: ()})
    old = np.array([[1, 10], [2, 20], [4, 40]], np.float32)
    expected: list[list[float]] = [[1, 10], [2.5, 25], [0, 0], [4, 40], [0, 0], [2, 20], [0, 0]]
    assert token_map.rows(old).tolist() == expected
    assert token_map.rows(old[:, 0]).tolist() == [row[0] for row in expected]
    padded = np.vstack([old, [[7, 70]]]).astype(np.float64)
    assert token_map.rows(padded).tolist() == [*expected, [7, 70]]
    assert token_map.rows(padded).dtype == np.float64


def test_means_of_small_floats_are_computed_with_32_bits() -> None:
    half = np.full((4096, 1), 60000, np.float16)
    mean = TokenMap(dict.fromkeys(range(4096)), {0: range(4096)}).rows(half)
    assert (mean.dtype, mean.tolist()) == (np.dtype(np.float16), [[60000]])


def test_a_matrix_that_does_not_fit_is_refused() -> None:
    token_map = TokenMap({0: 0, 1: None, 2: 3}, {1: (0, 2)})
    with pytest.raises(ValueError, match="matrix: it has 2 rows, and the map is of 3 ids"):
        token_map.rows(np.zeros((2, 4)))
    with pytest.raises(ValueError, match="matrix: it has none rows"):
        token_map.rows(np.float32(1))
    with pytest.raises(TypeError, match="the rows of int64 have no mean"):
        token_map.rows(np.zeros((3, 4), np.int64))


@pytest.mark.parametrize("name", ["map.json", "map.parquet"])
def test_a_map_is_saved_and_loaded(tmp_path: Path, name: str) -> None:
    token_map = TokenMap({0: 0, 1: None, 5: 3}, {1: (0, 5), 2: ()})
    token_map.save(tmp_path / name)
    assert TokenMap.load(tmp_path / name) == token_map
    with pytest.raises(FileExistsError):
        token_map.save(tmp_path / name)
    token_map.save(tmp_path / name, overwrite=True)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"kind": "x"}, "it is no token map: kind is 'x'"),
        ({"ids": [[0, 0]]}, "ids must be an object, not a list"),
        ({"ids": {"00": 1}}, "ids: '00' is not an id"),
        ({"ids": {"0": 1, "1": 1}}, "two old ids have the same new id"),
        ({"ids": {"0": -1}}, "ids: -1 is not an id"),
        ({"ids": {"0": True}}, "ids: True is not an id"),
        ({"ids": {"-1": 1}}, "ids: '-1' is not an id"),
        ({"parts": {"9": [7]}}, "parts: new id 9 is spelled by 7, which ids do not have"),
        ({"parts": {"0": [0]}}, "parts: 0 is the new id of an old token, too"),
        ({"parts": {"9": 0}}, "parts must be lists of ids"),
        ({"parts": {"9": ["a"]}}, "parts: 'a' is not an id"),
    ],
)
def test_a_broken_map_is_refused(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    path = tmp_path / "map.json"
    good = {"kind": "bpetite token map", "ids": {"0": 0}, "parts": {}}
    path.write_text(json.dumps({**good, **changes}))
    with pytest.raises(ValueError, match=rf"map.json: .*{reason}"):
        TokenMap.load(path)


def test_a_broken_parquet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "map.parquet"
    twice = {"old_id": [0, 0], "new_id": [0, 1], "parts": pyarrow.array([None, None], PARTS)}
    pyarrow.parquet.write_table(pyarrow.table(twice), path)
    with pytest.raises(ValueError, match=r"map.parquet: an id appears twice"):
        TokenMap.load(path)
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(ValueError, match=r"map.parquet: it is no token map"):
        TokenMap.load(path)


def test_new_tokens_are_spelled_by_old_ids() -> None:
    before = Tokenizer.train("ab ab", 257)
    after = before.extend(["abcd abcd"], add=3).add_tokens(["<ab>"], special=True)
    token_map = TokenMap.between(before, after)
    assert token_map.parts[after.token_id("abcd")] == (256, 99, 100)
    assert token_map.parts[after.special_tokens["<ab>"]] == (60, 256, 62)
    assert token_map.ids == {token_id: token_id for token_id in range(258)}
