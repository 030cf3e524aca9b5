"""The engine's training against the specification's, in all dialects and with all options."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random

from bpetite import Tokenizer, symbols
from bpetite._trainer import train_bpe
from bpetite.training import Conditions
from fuzz import texts, vocabularies
from fuzz.scanning import supported_pattern


def training_is_as_specified(rng: Random) -> None:
    """Merges, ids and special tokens of one corpus; every smaller vocabulary must be a prefix."""
    corpus = "".join(texts.text(rng, 120) for _ in range(rng.randint(0, 4)))
    specials, pattern = vocabularies.specials(rng), supported_pattern(rng)
    rules = vocabularies.dialect(rng)
    vocab_size = 256 + len(specials) + int(150 * rng.random() ** 2)
    min_count = rng.choice((1, 1, 1, 2, 3))
    conditions: Conditions = {
        "max_token_length": rng.choice((None, None, None, 1, 2, 5)),
        "max_words": rng.choice((None, None, 1, 2)),
        "without": rng.choices(("a", " ", "é", "ab", ": "), k=max(rng.randint(-3, 2), 0)),
        "whole_characters": rng.random() < 0.3,
    }
    expected = train_bpe(
        corpus,
        vocab_size,
        dialect=rules,
        pattern=pattern,
        special_tokens=specials,
        min_count=min_count,
        **conditions,
    )
    trained = Tokenizer.train_from_iterator(
        [corpus],
        vocab_size,
        dialect=rules,
        pattern=pattern,
        special_tokens=specials,
        min_count=min_count,
        **conditions,
        num_threads=rng.randint(1, 3),
    )
    case = (corpus, vocab_size, rules, pattern, specials, min_count, conditions)
    first_places = tuple(dict.fromkeys(expected.merges))
    assert tuple(trained.merges) == first_places, (case, trained.merges, expected.merges)
    assert dict(trained.special_tokens) == dict(expected.special_tokens), case
    found = dict(trained.vocabulary.tokens)
    found.update((token_id, text.encode()) for text, token_id in trained.special_tokens.items())
    assert found == dict(expected.vocab), case
    _check_prefix(rng, trained, corpus, vocab_size, min_count, conditions, case)


def _check_prefix(
    rng: Random,
    trained: Tokenizer,
    corpus: str,
    vocab_size: int,
    min_count: int,
    conditions: Conditions,
    case: object,
) -> None:
    smallest = vocab_size - rng.randint(0, vocab_size - 256 - len(trained.special_tokens))
    reached = trained.vocab_size if trained.dialect.vocab_size_counts == "everything" else None
    smaller = min(smallest, reached or trained.mergeable_vocab_size)
    again = Tokenizer.train_from_iterator(
        [corpus],
        smaller,
        dialect=trained.dialect,
        pattern=trained.pattern,
        special_tokens=list(trained.special_tokens),
        min_count=min_count,
        **conditions,
    )
    assert trained.truncate(smaller).vocabulary == again.vocabulary, (case, smaller)


def merges_of_symbols_are_those_of_a_recount(rng: Random) -> None:
    """Words of strings: a recount after every merge, the smallest pair among equal ones."""
    alphabet = rng.choice((["a"], ["a", "b"], ["a", "b", "ab", "ba", "aa", "é"], list("abcdefgh")))
    words = [rng.choices(alphabet, k=rng.randint(0, 25)) for _ in range(rng.randint(0, 8))]
    planned = rng.randint(0, 40)
    expected: list[tuple[str, str]] = []
    left = [list(word) for word in words]
    while len(expected) < planned:
        counts = Counter(pair for word in left for pair in pairwise(word))
        if not counts:
            break
        expected.append(min(counts, key=lambda pair: (-counts[pair], pair)))
        left = [symbols.apply_merges(word, expected[-1:]) for word in left]
    assert symbols.train_bpe(words, planned) == expected, (words, planned)
