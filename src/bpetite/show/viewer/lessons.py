"""Replays the training on a small corpus step by step: what the page shows of each dialect, side by side.

The engine trains; here its merges are replayed, so that every step has the counts, the pairs that
were tied, and the words after the merge:

    words  low × 5, lower × 2, newest × 6        counts  e s: 6   s t: 6   l o: 7 ...
    merge  l + o → lo                            words   lo w × 5, lo w e r × 2, newest × 6
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nlargest, nsmallest
from itertools import pairwise
from operator import itemgetter
from typing import Any

from bpetite._constants import Pair
from bpetite.counts import Counts
from bpetite.dialect import DIALECTS
from bpetite.show.viewer.page import drawn
from bpetite.symbols import _merge_pair
from bpetite.teaching.difference import explain_difference, merges_in
from bpetite.teaching.mistakes import TIE_RULES, Word, count_pairs, train_merges
from bpetite.training import Training

Answer = dict[str, Any]

LONGEST_CORPUS = 100_000
"""The page trains on at most this many bytes."""

MOST_MERGES = 500

_PAIRS_SHOWN = 8
_WORDS_SHOWN = 24


def lessons(corpus: str, pattern: str, special: str, merges: int) -> Answer:
    """Train by the rules of each dialect."""
    _check_size(corpus)
    most = max(0, min(merges, MOST_MERGES))
    specials = [special] if special else []
    return {"lessons": [_lesson(name, corpus, pattern, specials, most) for name in DIALECTS]}


def difference(corpus: str, merges: str, dialect: str, pattern: str, special: str) -> Answer:
    """Find where the merges first differ from those of a dialect, and why; `rank` is null if they do not.

    `bold` are the parts of the lines that name the cause.
    """
    _check_size(corpus)
    listed = merges_in(merges)
    first = explain_difference(
        corpus,
        listed,
        dialect=dialect,
        pattern=pattern,
        special_tokens=[special] if special else [],
    )
    if first is None:
        return {"rank": None, "heading": f"All {len(listed):,} merges match the dialect {dialect}."}
    heading, _yours, _expected, *lines = str(first).split("\n")
    return {
        "rank": first.rank,
        "heading": heading,
        "sides": [
            ("Yours", list(map(drawn, first.yours or ())), first.your_count),
            ("Expected", list(map(drawn, first.expected or ())), first.expected_count),
        ],
        "lines": lines,
        "bold": [first.cause] if first.cause else first.explanations,
    }


def _check_size(corpus: str) -> None:
    size = len(corpus.encode("utf-8"))
    if size > LONGEST_CORPUS:
        raise ValueError(
            f"the page trains on at most {LONGEST_CORPUS:,} bytes; this corpus has {size:,}"
        )


def _lesson(name: str, corpus: str, pattern: str, specials: Sequence[str], most: int) -> Answer:
    training = Training(name, pattern, specials)
    counts = Counts(**training.counting)._with_documents([corpus])
    learned = train_merges(counts, most, training)
    id_of_byte = learned.id_of_byte
    words = {tuple(map(id_of_byte.__getitem__, word)): count for word, count in counts.items()}
    merges = list(zip(learned.merges, learned.merge_ids, strict=True))[:most]
    return {
        "name": name,
        "rule": TIE_RULES[training.dialect.tie_break],
        "tokens": {token_id: drawn(token) for token_id, token in learned.tokens.items()},
        "words": _shown(words),
        "steps": list(_replay(words, merges)),
    }


def _replay(words: Mapping[Word, int], merges: Iterable[tuple[Pair, int]]) -> Iterator[Answer]:
    """Yield each merge with the counts before it and the words after it."""
    current = dict(words)
    counted = count_pairs(current.items())
    for pair, new_id in merges:
        shown = nsmallest(_PAIRS_SHOWN, counted, key=lambda other: (other != pair, -counted[other]))
        step = {
            "pair": pair,
            "made": new_id,
            "tied": sum(count == counted[pair] for count in counted.values()),
            "pairs": [(other, counted[other]) for other in shown],
            "more_pairs": len(counted) - len(shown),
        }
        changed = {word: count for word, count in current.items() if pair in pairwise(word)}
        merged = []
        for word, count in changed.items():
            del current[word]
            merged.append((tuple(_merge_pair(word, pair, new_id)), count))
        counted.subtract(count_pairs(changed.items()))
        counted.update(count_pairs(merged))
        counted = +counted  # without the pairs that are gone
        for word, count in merged:
            current[word] = current.get(word, 0) + count
        yield {**step, "words": _shown(current)}


def _shown(words: Mapping[Word, int]) -> Answer:
    """The most frequent words, and the number of the others."""
    rows = nlargest(_WORDS_SHOWN, words.items(), key=itemgetter(1))
    return {"rows": rows, "more": len(words) - len(rows)}
