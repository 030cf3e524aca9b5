"""Texts and a list of merges in; the first mistake, or other rule, by which training gives these merges out.

Each trial trains on the same texts with one thing changed; `_CHANGES` lists them, the likeliest first.
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
    """Learn so many merges, or a few more where several merges make the same token."""
    rules = training.dialect
    specials = len(training.special_tokens) if rules.vocab_size_counts == "everything" else 0
    return train_vocabulary(counts, BASE_VOCAB_SIZE + specials + merges, training)


def find_mistake(texts: Sequence[str | bytes], merges: Sequence[BytesPair], **how: Any) -> str:
    """Return the first change of training that gives exactly these merges, or an empty string.

    `how` are the arguments of `Training` without the change.

    >>> how = {"dialect": "cs336", "pattern": "gpt2"}
    >>> find_mistake(["the hot hen"], [(b"h", b"o"), (b"ho", b"t")], **how)
    ''
    >>> find_mistake(["Low low loW"], [(b"o", b"w"), (b"l", b"ow")], **how)
    'if text were made lower case'
    """
    decoded = [text if isinstance(text, str) else text.decode("utf-8", "replace") for text in texts]
    for sentence, (changed, rules) in _settings(decoded, how):
        rules = dict(rules)
        learn = rules.pop("learn", _learn)
        made = learn(_counted(changed, rules), len(merges) + 1, Training(**rules))
        if all(yours == next(made, None) for yours in merges):
            return sentence
    return ""


def _settings(texts: list[str], how: dict[str, Any]) -> Iterator[tuple[str, Setting]]:
    """Yield what each change makes; if there are special tokens in the texts, also with these left there."""
    for sentence, change in _CHANGES.items():
        yield sentence, change(texts, how)
    specials = Training(**how).special_tokens
    if any(token in text for text in texts for token in specials):
        left = _ruled(texts, how, specials_in_corpus="text")
        for sentence, change in _CHANGES.items():
            yield f"{sentence}, and special tokens were left in the text", change(*left)


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
    return (max if rule == "largest_bytes" else min)(tied, key=spelled.__getitem__)


def _counted(texts: Iterable[str], how: dict[str, Any]) -> Counts:
    return Counts(**Training(**how).counting)._with_documents(texts)


def _learn(counts: Counts, merges: int, training: Training) -> Iterator[BytesPair]:
    vocabulary = train_merges(counts, merges, training)
    for left, right in vocabulary.merges:
        yield vocabulary.tokens[left], vocabulary.tokens[right]


def _learn_stale(counts: Counts, merges: int, training: Training, *, adds: bool) -> Iterator[BytesPair]:
    """Merge without ever lowering the counts of the pairs beside a merge; perhaps the new ones are added."""
    rules, specials = training.dialect, len(training.special_tokens)
    tokens = rules.base_vocabulary(specials)
    id_of = {token: token_id for token_id, token in tokens.items()}
    words = [(tuple(id_of[bytes([byte])] for byte in word), count) for word, count in counts.items()]
    pair_counts, first = count_pairs(words), rules.first_merge_id(specials)
    for new_id in range(first, first + merges):
        if not pair_counts:
            return
        spelled = {pair: (tokens[pair[0]], tokens[pair[1]]) for pair in most_frequent(pair_counts)}
        best = best_of_tied(spelled, rules.tie_break, spelled)
        yield spelled[best]
        tokens[new_id] = b"".join(spelled[best])
        del pair_counts[best]
        for place, (word, count) in enumerate(words if adds else ()):
            if best in pairwise(word):
                words[place] = tuple(_merge_pair(word, best, new_id)), count
                made = count_pairs([words[place]])
                pair_counts.update({pair: made[pair] for pair in made if new_id in pair})


def _with(texts: list[str], how: dict[str, Any], **changed: Any) -> Setting:
    """Change an argument of `Training`."""
    return texts, {**how, **changed}


def _ruled(texts: list[str], how: dict[str, Any], **axes: str) -> Setting:
    """Change an axis of the dialect."""
    return texts, {**how, "dialect": Dialect.named(how["dialect"]).replace(**axes)}


def _split_at_space(texts: list[str], how: dict[str, Any]) -> Setting:
    return _ruled(texts, {**how, "pattern": r"\S+"}, unmatched_text="skipped")


def _distinct(texts: list[str], how: dict[str, Any]) -> Setting:
    return [word.decode() for word, _ in _counted(texts, how).items()], {**how, "pattern": _UNCUT}


def _stripped(texts: list[str], how: dict[str, Any]) -> Setting:
    words = _counted(texts, how).items()
    repeated = [word.decode().strip() for word, count in words for _ in range(count)]
    return repeated, {**how, "pattern": _UNCUT}


_CHANGES: dict[str, Callable[[list[str], dict[str, Any]], Setting]] = {
    **{f"if a tie went to {rule}": partial(_ruled, tie_break=axis) for axis, rule in TIE_RULES.items()},
    "if each distinct pretoken were counted once": _distinct,
    "if text were split at white space, which is left out": _split_at_space,
    "if pretokens were stripped, so that their leading space is lost": _stripped,
    "if text were made lower case": lambda texts, how: ([text.lower() for text in texts], how),
    "if special tokens were left in the text": partial(_ruled, specials_in_corpus="text"),
    **{f"if the pattern were {name}": partial(_with, pattern=pattern) for name, pattern in PATTERNS.items()},
    "if pretokens that occur once were dropped": partial(_with, min_count=2),
    "if pairs were counted before the first merge only": partial(
        _with, learn=partial(_learn_stale, adds=False)
    ),
    "if counts of the pairs that a merge takes apart were not lowered": partial(
        _with, learn=partial(_learn_stale, adds=True)
    ),
}
"""What is changed, and the change."""
