"""`extend` and `truncate` of vocabularies whose merges are in any order, and of those of characters."""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from bpetite import Counts, Tokenizer, TokenMap
from bpetite._encoder import _merge_all
from bpetite._extender import extend
from bpetite._trainer import Word
from bpetite.dialect import Dialect
from bpetite.patterns import PATTERNS
from bpetite.training import apart_in, extend_vocabulary
from bpetite.vocabulary import Vocabulary
from random_vocabularies import counted, random_vocabulary, words_up_to

WORDS = words_up_to(6)
SPECIALS = {"<s>": 250_000, "aab": 250_001}


def some_counts(chance: random.Random, vocabulary: Vocabulary) -> Counts:
    return counted(vocabulary, [" ".join(chance.choices(WORDS, k=20)) for _ in range(3)])


def words_of(tokenizer: Tokenizer, counts: Counts) -> Counter[Word]:
    words: Counter[Word] = Counter()
    for pretoken, count in counts.items():
        words[tuple(tokenizer.encode(pretoken.decode(), special="text"))] += count
    return words


def specified(old: Vocabulary, counts: Counts, add: int) -> list[tuple[tuple[int, int], int]]:
    first = old.largest_id + 1
    taken = {*(text.encode() for text in old.special_tokens), *old.decode_only.values()}
    rules = Dialect() if old.irregular else old.dialect
    words = words_of(Tokenizer(old), counts)
    ids = range(first, first + add)
    lasting = {own: token for own, token in old.tokens.items() if own not in old.provisional}
    return extend(words, lasting, ids, rules=rules, apart=apart_in(old), taken=taken)


@pytest.mark.parametrize("seed", range(40))
def test_extending_any_vocabulary_is_as_specified(seed: int) -> None:
    chance = random.Random(seed)
    old = random_vocabulary(chance, SPECIALS)
    counts = some_counts(chance, old)
    new = extend_vocabulary(old, counts, 9)
    learned = zip(new.merges[len(old.merges) :], new.merge_ids[len(old.merges) :], strict=True)
    assert list(learned) == specified(old, counts, 9)
    assert new.merges[: len(old.merges)] == old.merges
    assert new.special_tokens == old.special_tokens


@pytest.mark.parametrize("seed", range(40))
def test_the_new_encoding_is_the_old_one_with_the_new_merges(seed: int) -> None:
    chance = random.Random(seed)
    old = random_vocabulary(chance, SPECIALS)
    extended = extend_vocabulary(old, some_counts(chance, old), 9)
    before, after = Tokenizer(old), Tokenizer(extended)
    new_merges = extended.merges[len(old.merges) :]
    rank_of = {pair: rank for rank, pair in enumerate(new_merges)}
    id_of_pair = dict(zip(new_merges, extended.merge_ids[len(old.merges) :], strict=True))
    for word in WORDS:
        ids = before.encode(word, special="text")
        _merge_all(ids, rank_of, id_of_pair)
        assert after.encode(word, special="text") == ids, word


def test_no_new_token_has_the_bytes_of_another() -> None:
    chance = random.Random(3)
    for _ in range(60):
        old = random_vocabulary(chance, SPECIALS)
        new = extend_vocabulary(old, some_counts(chance, old), 12)
        learned = [new.tokens[own] for own in new.merge_ids[len(old.merges) :]]
        known = {*old.tokens.values(), *(text.encode() for text in old.special_tokens)}
        assert len(set(learned)) == len(learned)
        assert known.isdisjoint(learned)


@pytest.mark.parametrize("seed", range(30))
def test_truncating_keeps_the_first_merges_or_says_what_stands_in_the_way(seed: int) -> None:
    chance = random.Random(seed)
    old = random_vocabulary(chance, SPECIALS)
    for size in range(old.sizes[0], old.sizes[-1] + 1):
        try:
            kept = old.truncate(size)
        except ValueError as reason:
            message = str(reason)
            assert "stands in the way" in message
            for possible in message.split("possible are ")[1].split(" and "):
                assert old.truncate(int(possible)).sizes[-1] == int(possible)
            continue
        count = len(kept.merges)
        assert kept.merges == old.merges[:count]
        assert {own: kept.tokens[own] for own in kept.merge_ids}.keys() <= old.tokens.keys()
        for word in WORDS[:200]:
            ids = Tokenizer(kept).encode(word, special="text")
            assert Tokenizer(kept).decode(ids) == word


# The map, and another pattern
# -----------------------------------------------------------------------------------------------


def test_the_map_of_an_extension_is_returned_if_it_is_asked_for() -> None:
    tok = Tokenizer.train("ab ab", 258)
    extended, token_map = tok.extend(["abc abc"], add=2, with_map=True)
    assert extended == tok.extend(["abc abc"], add=2)
    assert token_map == TokenMap.between(tok, extended)
    assert token_map.ids == {token_id: token_id for token_id in range(tok.vocab_size)}
    assert token_map.parts == {259: (256, 99), 260: (257, 99)}


@pytest.mark.parametrize("pattern", ["gpt2", "none"])
def test_texts_are_cut_by_another_pattern_from_then_on(pattern: str) -> None:
    tok = Tokenizer.train("12345 " * 3, 256, pattern="llama3")
    extended = tok.extend(["12345 12345"], add=9, pattern=pattern)
    assert extended.pattern == PATTERNS[pattern]
    assert b"12345" in extended.vocabulary.tokens.values()
    by_pattern = Counts.from_iterator(["12345 12345"], tokenizer=tok, pattern=pattern)
    assert tok.extend(by_pattern, add=9, pattern=pattern) == extended


# Files of other libraries
# -----------------------------------------------------------------------------------------------


def of_pieces() -> dict[str, Any]:
    """A small file as Llama 2's: U+2581 for spaces, and tokens of bytes."""
    texts = ["<unk>", "<s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    texts += ["\u2581", *"abcdehlorw", "\u00e9", "lo", "\u2581l", "\u2581lo", "he"]
    merges = [["l", "o"], ["\u2581", "lo"], ["h", "e"], ["\u2581", "l"]]
    return {
        "version": "1.0",
        "added_tokens": [
            {"id": own, "content": text, "special": True}
            | dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
            for own, text in enumerate(texts[:2])
        ],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Prepend", "prepend": "\u2581"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
            ],
        },
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            ],
        },
        "model": {
            "type": "BPE",
            "unk_token": "<unk>",
            "byte_fallback": True,
            "fuse_unk": True,
            "vocab": {text: own for own, text in enumerate(texts)},
            "merges": merges,
        },
    }


def test_tokens_of_characters_are_extended_and_bytes_are_joined_with_nothing(
    tmp_path: Path,
) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(of_pieces()), "utf-8")
    tok = Tokenizer.load(path)
    new = tok.extend(["hello wörld \u65e5\u672c h\u00e9llo"] * 5, 9)
    learned = {token for own, token in new.vocabulary.tokens.items() if own > tok.largest_id}
    learned -= {new.vocabulary.tokens[own] for own in new.vocabulary.provisional}
    assert len(learned) == 9
    for token in learned:
        token.decode("utf-8")
    assert not any(byte >= 0x80 for token in learned for byte in token.replace("é".encode(), b""))
    for text in ("hello", "wörld \u65e5\u672c", "héllo hello"):
        assert new.decode(new.encode(text)) == text
        assert len(new.encode(text)) <= len(tok.encode(text))
    assert all(own > new.largest_id for own in new.vocabulary.provisional)
    new.to_huggingface(tmp_path / "new.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "new.json"))
    for text in ("hello", "wörld \u65e5\u672c", "héllo hello<s>", "  he\tlo"):
        assert new.encode(text) == theirs.encode(text, add_special_tokens=False).ids
    shorter = new.truncate(len(tok))
    assert [shorter.encode(text) for text in ("hello", "\u65e5")] == [
        tok.encode(text) for text in ("hello", "\u65e5")
    ]
    with pytest.raises(ValueError, match="of at least"):
        tok.truncate(260)
