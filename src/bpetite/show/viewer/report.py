"""Tokenizers and what one pass over texts counted in, the numbers out that the page draws as a report."""

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


def report(models: Mapping[str, Tokenizer], tallied: Tallied, made: Mapping[str, str]) -> dict[str, Any]:
    """Return the report of the first of the tokenizers, with which the others are compared.

    `made` tells the date, the version and the command; all else depends on tokenizers and texts alone.
    """
    name, tokenizer = next(iter(models.items()))
    vocabulary = tokenizer.vocabulary
    uses = {
        of: {i: count for i, count in enumerate(of_ids.tolist()) if count}
        for of, of_ids in zip(models, tallied.uses, strict=True)
    }
    by_use = sorted(uses[name].items(), key=lambda item: -item[1])
    never = [(tokenizer.token_bytes(i), i) for i in unused(tokenizer, uses[name])]
    longest = sorted(never, key=lambda token: (-len(token[0]), token[1]))
    return {
        "name": name,
        "made": made,
        "facts": [
            ("Tokens", f"{tokenizer.vocab_size:,}, of which {len(tokenizer.special_tokens)} special"),
            ("Dialect", tokenizer.dialect.name),
            ("Pattern", pattern_name(tokenizer.pattern) or str(tokenizer.pattern)),
            ("Fingerprint", tokenizer.fingerprint),
        ],
        "rows": rows_of(models, tallied),
        "vocab_sizes": [model.vocab_size for model in models.values()],
        "curves": [(of, _curve(models[of], used, tallied)) for of, used in uses.items()],
        "frequencies": [
            (of, spread([*enumerate(sorted(used.values(), reverse=True), 1)])) for of, used in uses.items()
        ],
        "lengths": lengths(tokenizer, uses[name]),
        "most_used": [(drawn(tokenizer.token_bytes(i)), i, count) for i, count in by_use[:_MOST_USED_SHOWN]],
        "unused": len(never),
        "unused_by_rank": unused_by_rank(vocabulary, uses[name]),
        "unused_shown": [(drawn(token), i) for token, i in longest[:_UNUSED_SHOWN]],
    }


def _curve(tokenizer: Tokenizer, uses: Uses, tallied: Tallied) -> list[dict[str, int | float]]:
    """Return a row for each size of vocabulary, or none where no smaller ones can be cut."""
    total = tallied.fits[-1][0]
    if tokenizer.vocabulary.provisional:
        return []
    return curve_of(tokenizer.vocabulary, uses, total.bytes, total.characters)


def unused(tokenizer: Tokenizer, uses: Uses) -> list[int]:
    """Return the ids that were never used, special tokens included."""
    vocabulary = tokenizer.vocabulary
    ids = {*vocabulary.tokens, *vocabulary.special_tokens.values()}.difference(vocabulary.provisional)
    return sorted(ids.difference(uses))


def unused_by_rank(vocabulary: Vocabulary, uses: Uses) -> list[tuple[int, int, int]]:
    """Return rows of: first and last merge of a part of all merges, how many of its tokens were not used.

    >>> tokens = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b"abc"}
    >>> unused_by_rank(Vocabulary(tokens, [(97, 98), (256, 99)]), {257: 1})
    [(0, 0, 1), (1, 1, 0)]
    """
    made = vocabulary.merge_ids
    width = max(-(-len(made) // _PARTS), 1)
    parts = [(start, made[start : start + width]) for start in range(0, len(made), width)]
    return [(start, start + len(ids) - 1, sum(i not in uses for i in ids)) for start, ids in parts]


def lengths(tokenizer: Tokenizer, uses: Uses) -> list[tuple[int, int, int, int]]:
    """Return rows of: token length in bytes, how many tokens have it, how many are unused, number of uses."""
    of_length: dict[int, list[int]] = {}
    for token_id, token in tokenizer.vocabulary.tokens.items():
        if token_id not in tokenizer.vocabulary.provisional:
            of_length.setdefault(len(token), []).append(uses.get(token_id, 0))
    return [(length, len(used), used.count(0), sum(used)) for length, used in sorted(of_length.items())]
