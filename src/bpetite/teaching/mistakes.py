"""Finds the first mistake, or other rule, by which training on texts gives a list of merges.

Each trial trains on the same texts with one thing changed; `_CHANGES` lists them, the likeliest
first.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

from bpetite._constants import BASE_VOCAB_SIZE, Pair
from bpetite._internal.types import BytesPair
from bpetite.counts import Counts
from bpetite.dialect import Dialect
from bpetite.patterns import PATTERNS
from bpetite.symbols import _merge_pair
from bpetite.training import Training, train_vocabulary
from bpetite.vocabulary import Vocabulary

LARGEST_TRIED = 32_000_000
"""The most characters of text on which mistakes are tried."""

TIE_RULES = {
    "smallest_ids": "the smallest pair of ids",
    "largest_bytes": "the greatest pair of bytes",
    "smallest_bytes": "the smallest pair of bytes",
}

Word = tuple[int, ...]

_UNCUT = PATTERNS["none"]

Setting: TypeAlias = tuple[list[str], dict[str, Any]]
"""Texts, and the arguments of `Training`."""


def train_merges(counts: Counts, merges: int, training: Training) -> Vocabulary:
    """Learn this number of merges, or a few more where several merges make the same token."""
    rules = training.dialect
    specials = len(training.special_tokens) if rules.vocab_size_counts == "everything" else 0
    return train_vocabulary(counts, BASE_VOCAB_SIZE + specials + merges, training)


def find_mistake(texts: Sequence[str | bytes], merges: Sequence[BytesPair], **options: Any) -> str:
    """Return the first change of training that gives exactly these merges, or an empty string.

    `options` are the arguments of `Training` without the change.

    >>> options = {"dialect": "cs336", "pattern": "gpt2"}
    >>> find_mistake(["the hot hen"], [(b"h", b"o"), (b"ho", b"t")], **options)
    ''
    >>> find_mistake(["Low low loW"], [(b"o", b"w"), (b"l", b"ow")], **options)
    'if text were made lower case'
    """
    decoded = [text if isinstance(text, str) else text.decode("utf-8", "replace") for text in texts]
    for sentence, (changed_texts, changed_options) in _settings(decoded, options):
        rules = dict(changed_options)
        learn = rules.pop("learn", _learn)
        counts = _counted(changed_texts, rules)
        learned = learn(counts, len(merges) + 1, Training(**rules))
        if all(yours == next(learned, None) for yours in merges):
            return sentence
    return ""


def _settings(texts: list[str], options: dict[str, Any]) -> Iterator[tuple[str, Setting]]:
    """Yield what each change makes; if there are special tokens in the texts, also with these left there."""
    for sentence, change in _CHANGES.items():
        yield sentence, change(texts, options)
    specials = Training(**options).special_tokens
    if any(token in text for text in texts for token in specials):
        with_specials = _ruled(texts, options, specials_in_corpus="text")
        for sentence, change in _CHANGES.items():
            yield f"{sentence}, and special tokens were left in the text", change(*with_specials)


def count_pairs(words: Iterable[tuple[Word, int]]) -> Counter[Pair]:
    """Count the adjacent pairs of words, each as often as its word occurs."""
    pair_counts: Counter[Pair] = Counter()
    for word, count in words:
        for pair in pairwise(word):
            pair_counts[pair] += count
    return pair_counts


def most_frequent(pair_counts: Counter[Pair]) -> list[Pair]:
    """Return the pairs with the highest count, in the order in which the corpus has them."""
    highest = max(pair_counts.values())
    return [pair for pair, count in pair_counts.items() if count == highest]


def best_of_tied(tied: Iterable[Pair], rule: str, spelled: Mapping[Pair, BytesPair]) -> Pair:
    """Return the pair to which a rule gives a tie.

    >>> best_of_tied([(97, 98), (98, 97)], "largest_bytes", {(97, 98): (b"a", b"b"), (98, 97): (b"b", b"a")})
    (98, 97)
    """
    if rule == "smallest_ids":
        return min(tied)
    choose = max if rule == "largest_bytes" else min
    return choose(tied, key=spelled.__getitem__)


def _counted(texts: Iterable[str], options: dict[str, Any]) -> Counts:
    return Counts(**Training(**options).counting)._with_documents(texts)


def _learn(counts: Counts, merges: int, training: Training) -> Iterator[BytesPair]:
    vocabulary = train_merges(counts, merges, training)
    for left, right in vocabulary.merges:
        yield vocabulary.tokens[left], vocabulary.tokens[right]


def _learn_stale(
    counts: Counts, merges: int, training: Training, *, adds: bool
) -> Iterator[BytesPair]:
    """Merge without ever lowering the counts of a merge's neighbours; if it `adds`, new pairs are counted."""
    rules = training.dialect
    specials = len(training.special_tokens)
    tokens = rules.base_vocabulary(specials)
    id_of = {token: token_id for token_id, token in tokens.items()}
    words = []
    for pretoken, count in counts.items():
        words.append((tuple(id_of[bytes([byte])] for byte in pretoken), count))
    pair_counts = count_pairs(words)
    first_id = rules.first_merge_id(specials)
    for new_id in range(first_id, first_id + merges):
        if not pair_counts:
            return
        tied = most_frequent(pair_counts)
        spelled = {(left, right): (tokens[left], tokens[right]) for left, right in tied}
        best = best_of_tied(spelled, rules.tie_break, spelled)
        yield spelled[best]
        tokens[new_id] = b"".join(spelled[best])
        del pair_counts[best]
        for place, (word, count) in enumerate(words if adds else ()):
            if best in pairwise(word):
                words[place] = tuple(_merge_pair(word, best, new_id)), count
                of_word = count_pairs([words[place]])
                pair_counts.update({pair: of_word[pair] for pair in of_word if new_id in pair})


def _with(texts: list[str], options: dict[str, Any], **changed: Any) -> Setting:
    """Change an argument of `Training`."""
    return texts, {**options, **changed}


def _ruled(texts: list[str], options: dict[str, Any], **axes: str) -> Setting:
    """Change an axis of the dialect."""
    return texts, {**options, "dialect": Dialect.named(options["dialect"]).replace(**axes)}


def _split_at_space(texts: list[str], options: dict[str, Any]) -> Setting:
    return _ruled(texts, {**options, "pattern": r"\S+"}, unmatched_text="skipped")


def _distinct(texts: list[str], options: dict[str, Any]) -> Setting:
    words = _counted(texts, options).items()
    return [word.decode() for word, _ in words], {**options, "pattern": _UNCUT}


def _stripped(texts: list[str], options: dict[str, Any]) -> Setting:
    repeated: list[str] = []
    for word, count in _counted(texts, options).items():
        repeated += [word.decode().strip()] * count
    return repeated, {**options, "pattern": _UNCUT}


Change: TypeAlias = Callable[[list[str], dict[str, Any]], Setting]

_CHANGES: dict[str, Change] = {
    **{
        f"if a tie went to {rule}": partial(_ruled, tie_break=axis)
        for axis, rule in TIE_RULES.items()
    },
    "if each distinct pretoken were counted once": _distinct,
    "if text were split at white space, which is left out": _split_at_space,
    "if pretokens were stripped, so that their leading space is lost": _stripped,
    "if text were made lower case": lambda texts, options: (
        [text.lower() for text in texts],
        options,
    ),
    "if special tokens were left in the text": partial(_ruled, specials_in_corpus="text"),
    **{
        f"if the pattern were {name}": partial(_with, pattern=pattern)
        for name, pattern in PATTERNS.items()
    },
    "if pretokens that occur once were dropped": partial(_with, min_count=2),
    "if pairs were counted before the first merge only": partial(
        _with, learn=partial(_learn_stale, adds=False)
    ),
    "if counts of the pairs that a merge takes apart were not lowered": partial(
        _with, learn=partial(_learn_stale, adds=True)
    ),
}
"""What is changed, and the change."""
