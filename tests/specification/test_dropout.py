"""With dropout, words have the spellings of tokenizers, each as often as there."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from math import sqrt
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer as Theirs
from tokenizers import decoders, models, pre_tokenizers, trainers

from bpetite import Tokenizer
from encoders import CORPUS

WORDS = [
    *("bananas", "ananas", "bandana", "abababab", "banbanan", "nananana", "aaaaaaaa", "abandon"),
    *("quick", "brown", "jumps", "amused", "lazy", "count", "words", "return", "comment", "they"),
    *("quickly", "browner", "jumped", "unamused", "counter", "wording", "returned", "recounted"),
    *("Größe", "naïve", "café", "Übung", "Meister", "Meisterübung", "macht", "Größenordnung"),
    *(
        "Съешь",
        "этих",
        "мягких",
        "французских",
        "булок",
        "булочек",
        "天地玄黃",
        "宇宙洪荒",
        "日月盈昃",
    ),
    *("いろはにほへと", "ちりぬるを", "सभी", "मनुष्यों", "foxes", "overjumps", "dogged"),
]
TEXTS = [CORPUS, "banana bandana abab abababa ananas " * 20]
TIMES = 3000
PROBABILITY = 0.3


def trained(model: Any, pre_tokenizer: Any, **options: Any) -> Theirs:
    real = Theirs(model)
    real.pre_tokenizer = pre_tokenizer
    trainer = trainers.BpeTrainer(
        vocab_size=700, special_tokens=["<unk>"], show_progress=False, **options
    )
    real.train_from_iterator(TEXTS, trainer)
    return real


def of_bytes(**model: Any) -> Theirs:
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    real = trained(
        models.BPE(**model),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        initial_alphabet=alphabet,
    )
    real.decoder = decoders.ByteLevel()
    return real


def with_suffix() -> Theirs:
    suffix = "</w>"
    real = trained(
        models.BPE(unk_token="<unk>", end_of_word_suffix=suffix),
        pre_tokenizers.WhitespaceSplit(),
        end_of_word_suffix=suffix,
    )
    real.decoder = decoders.BPEDecoder(suffix=suffix)
    return real


def with_prefix() -> Theirs:
    prefix = "##"
    real = trained(
        models.BPE(unk_token="<unk>", continuing_subword_prefix=prefix),
        pre_tokenizers.Whitespace(),
        continuing_subword_prefix=prefix,
    )
    real.decoder = decoders.WordPiece()
    return real


KINDS: dict[str, Callable[[], Theirs]] = {
    "bytes": of_bytes,
    "bytes, whole words first": lambda: of_bytes(ignore_merges=True),
    "characters with a suffix": with_suffix,
    "characters with a prefix": with_prefix,
}


def limit_of(freedom: int) -> float:
    """What chi-squared exceeds once in a billion times (as Wilson and Hilferty approximate it)."""
    part = 2 / (9 * freedom)
    return float(freedom * (1 - part + 6 * sqrt(part)) ** 3)


def chi_squared(ours: Counter[Any], theirs: Counter[Any]) -> tuple[float, int]:
    """Compare two samples of the same size; return also the degrees of freedom. Rare results are one."""
    cells: Counter[Any] = Counter()
    others: Counter[Any] = Counter()
    for result in ours | theirs:
        name = result if ours[result] + theirs[result] >= 20 else None
        cells[name] += ours[result]
        others[name] += theirs[result]
    terms = [(cells[name] - others[name]) ** 2 / (cells[name] + others[name]) for name in cells]
    return sum(terms), len(terms) - 1


@pytest.mark.parametrize("kind", KINDS)
def test_each_spelling_of_a_word_is_as_frequent_as_in_tokenizers(kind: str, tmp_path: Path) -> None:
    real = KINDS[kind]()
    real.save(str(tmp_path / "tokenizer.json"))
    tokenizer = Tokenizer.load(tmp_path / "tokenizer.json")
    real.model.dropout = PROBABILITY
    total, freedom = 0.0, 0
    for seed, word in enumerate(WORDS):
        rows = tokenizer.encode_batch([word] * TIMES, dropout=PROBABILITY, seed=seed)
        theirs = Counter(tuple(found.ids) for found in real.encode_batch([word] * TIMES))
        of_word, its_freedom = chi_squared(Counter(map(tuple, rows)), theirs)
        total += of_word
        freedom += its_freedom
    assert freedom > 300
    assert total < limit_of(freedom)


def merged_at_once(
    word: str, ids: dict[str, int], ranks: dict[Any, int], rng: Any
) -> tuple[int, ...]:
    """Merge as the paper does, where a candidate that is no pair any more is forgotten at once."""
    tokens = list(word)
    while True:
        candidates = [
            (ranks[pair], place)
            for place, pair in enumerate(pairwise(tokens))
            if pair in ranks and rng.random() >= PROBABILITY
        ]
        if not candidates:
            return tuple(ids[token] for token in tokens)
        _, place = min(candidates)
        tokens[place : place + 2] = ["".join(tokens[place : place + 2])]


def test_the_comparison_tells_another_rule_apart() -> None:
    """Then words are left in pieces twice as often."""
    real = of_bytes()
    model = json.loads(real.to_str())["model"]
    ranks = {tuple(merge): rank for rank, merge in enumerate(model["merges"])}
    real.model.dropout = PROBABILITY
    total, freedom, rng = 0.0, 0, random.Random(1)
    for word in [word for word in WORDS if word.isascii()]:
        found = (merged_at_once(word, model["vocab"], ranks, rng) for _ in range(TIMES))
        theirs = Counter(tuple(found.ids) for found in real.encode_batch([word] * TIMES))
        of_word, its_freedom = chi_squared(Counter(found), theirs)
        total += of_word
        freedom += its_freedom
    assert total > 2 * limit_of(freedom)
