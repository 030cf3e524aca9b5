"""The engine's scanners and counters against the `regex` module: any text, any pattern."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from random import Random

from bpetite import Counts, _engine
from bpetite._pretokenizer import pieces, pretokenize, split_at_specials
from bpetite.dialect import unmatched_text_of
from bpetite.patterns import PATTERNS
from fuzz import texts, vocabularies


def supported_pattern(rng: Random) -> str:
    """Return a pattern that the engine accepts; it may refuse one, but only with a `ValueError`."""
    while True:
        pattern = texts.pattern(rng)
        try:
            _engine.pattern_way(pattern)
        except ValueError:
            continue
        return pattern


def _misread(pattern: str) -> dict[int, None]:
    """Return characters that texts for a random pattern must not contain.

    The `regex` module treats U+0345, whose uppercase is a letter, as a letter if part of the
    pattern ignores case (`test_engine_pretokenize.py`).
    """
    ignores_case = re.search(r"\(\?[a-z]*i", pattern)
    return {0x345: None} if ignores_case and pattern not in PATTERNS.values() else {}


def _is_misread(pattern: str, text: str, found: list[bytes]) -> bool:
    """Whether `regex` ignores case in a set after `(?i:...)?`, and `re` agrees with the engine."""
    try:
        spans = [match.span() for match in re.finditer(pattern, text)] if "(?i:" in pattern else []
    except re.error:
        return False
    cuts = sorted({0, len(text)}.union(*(span for span in spans if span[0] < span[1])))
    return found == [text[start:end].encode() for start, end in pairwise(cuts)]


def pieces_are_those_of_the_regex_module(rng: Random) -> None:
    """One text, cut by the engine and by the specification."""
    pattern = supported_pattern(rng)
    text = texts.text(rng, 2000).translate(_misread(pattern))
    found, expected = _engine.pretokenize(text, pattern), pretokenize(text, pattern)
    assert found == expected or _is_misread(pattern, text, found), (pattern, text, found, expected)


def counts_are_those_of_the_pieces(rng: Random) -> None:
    """Documents, counted in two parts, with any number of threads, and one by one.

    The engine is first: it gives up where a pattern is too hard to match, and the `regex` module
    does not.
    """
    rules, specials = vocabularies.dialect(rng), vocabularies.specials(rng)
    pattern = supported_pattern(rng)
    documents = [texts.text(rng).translate(_misread(pattern)) for _ in range(rng.randint(0, 5))]
    half = rng.randint(0, len(documents))
    given = [document.encode() if rng.random() < 0.5 else document for document in documents]
    counts = Counts.merge(
        Counts.from_iterator(
            part,
            pattern=pattern,
            dialect=rules,
            special_tokens=specials,
            num_threads=rng.randint(1, 3),
        )
        for part in (given[:half], given[half:])
    )
    expected: Counter[bytes] = Counter()
    for document in documents:
        for segment, is_special in split_at_specials(document, rules.boundaries(specials)):
            for piece, matched in [] if is_special else pieces(segment, pattern):
                if matched or unmatched_text_of(rules, pattern) == "counted":
                    expected[piece] += 1
    assert list(counts.items()) == sorted(expected.items()), (pattern, rules, specials, documents)
    assert counts.total == expected.total(), (counts.total, documents)
    assert counts.bytes == sum(len(document.encode()) for document in documents)
