"""Computes the numbers that the page draws as a report, from tokenizers and counts of one pass over texts."""

from collections.abc import Mapping
from typing import Any

from bpetite.corpus.statistics import Tallied, rows_of
from bpetite.encoding.curve import Uses, curve_of, spread
from bpetite.patterns import pattern_name
from bpetite.show.viewer.page import drawn
from bpetite.tokenizer import Tokenizer
from bpetite.vocabulary import Vocabulary

_UNUSED_SHOWN = 200
_MOST_USED_SHOWN = 12
_PARTS = 20
"""In how many equal parts the merges are divided."""


def report(
    models: Mapping[str, Tokenizer], tallied: Tallied, made: Mapping[str, str]
) -> dict[str, Any]:
    """Return the report of the first of the tokenizers, with which the others are compared.

    `made` tells the date, the version and the command; all else depends on tokenizers and texts
    alone.
    """
    name, tokenizer = next(iter(models.items()))
    vocabulary = tokenizer.vocabulary
    uses = {}
    for model, counts in zip(models, tallied.uses, strict=True):
        uses[model] = {i: count for i, count in enumerate(counts.tolist()) if count}
    by_use = sorted(uses[name].items(), key=lambda item: -item[1])
    never_used = unused(tokenizer, uses[name])
    token_of = {i: tokenizer.token_bytes(i) for i in never_used}
    longest = sorted(never_used, key=lambda i: (-len(token_of[i]), i))
    return {
        "name": name,
        "made": made,
        "facts": [
            (
                "Tokens",
                f"{tokenizer.vocab_size:,}, of which {len(tokenizer.special_tokens)} special",
            ),
            ("Dialect", tokenizer.dialect.name),
            ("Pattern", pattern_name(tokenizer.pattern) or str(tokenizer.pattern)),
            ("Fingerprint", tokenizer.fingerprint),
        ],
        "rows": rows_of(models, tallied),
        "vocab_sizes": [model.vocab_size for model in models.values()],
        "curves": [(model, _curve(models[model], used, tallied)) for model, used in uses.items()],
        "frequencies": [(model, _frequencies(used)) for model, used in uses.items()],
        "lengths": lengths(tokenizer, uses[name]),
        "most_used": [
            (drawn(tokenizer.token_bytes(i)), i, count) for i, count in by_use[:_MOST_USED_SHOWN]
        ],
        "unused": len(never_used),
        "unused_by_rank": unused_by_rank(vocabulary, uses[name]),
        "unused_shown": [(drawn(token_of[i]), i) for i in longest[:_UNUSED_SHOWN]],
    }


def _frequencies(uses: Uses) -> list[Any]:
    """Return some of the numbers of uses, with their ranks from 1, the largest first."""
    descending = sorted(uses.values(), reverse=True)
    return [*spread([*enumerate(descending, 1)])]


def _curve(tokenizer: Tokenizer, uses: Uses, tallied: Tallied) -> list[dict[str, int | float]]:
    """Return a row for each size of vocabulary, or none where no smaller ones can be cut."""
    total = tallied.fits[-1][0]
    if tokenizer.vocabulary.provisional:
        return []
    return curve_of(tokenizer.vocabulary, uses, total.bytes, total.characters)


def unused(tokenizer: Tokenizer, uses: Uses) -> list[int]:
    """Return the ids that were never used, special tokens included."""
    vocabulary = tokenizer.vocabulary
    ids = {*vocabulary.tokens, *vocabulary.special_tokens.values()}.difference(
        vocabulary.provisional
    )
    return sorted(ids.difference(uses))


def unused_by_rank(vocabulary: Vocabulary, uses: Uses) -> list[tuple[int, int, int]]:
    """Return rows of: first and last merge of a part of all merges, how many of its tokens were not used.

    >>> tokens = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b"abc"}
    >>> unused_by_rank(Vocabulary(tokens, [(97, 98), (256, 99)]), {257: 1})
    [(0, 0, 1), (1, 1, 0)]
    """
    merge_ids = vocabulary.merge_ids
    width = max(-(-len(merge_ids) // _PARTS), 1)
    rows = []
    for start in range(0, len(merge_ids), width):
        ids = merge_ids[start : start + width]
        never_used = sum(token_id not in uses for token_id in ids)
        rows.append((start, start + len(ids) - 1, never_used))
    return rows


def lengths(tokenizer: Tokenizer, uses: Uses) -> list[tuple[int, int, int, int]]:
    """Return rows of: token length in bytes, how many tokens have it, how many are unused, number of uses."""
    of_length: dict[int, list[int]] = {}
    for token_id, token in tokenizer.vocabulary.tokens.items():
        if token_id not in tokenizer.vocabulary.provisional:
            of_length.setdefault(len(token), []).append(uses.get(token_id, 0))
    rows = []
    for length, counts in sorted(of_length.items()):
        rows.append((length, len(counts), counts.count(0), sum(counts)))
    return rows
