"""Tokenizers and what one pass over texts counted in, the numbers out that the page draws as a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from bpetite.corpus.statistics import Tallied, rows_of
from bpetite.encoding.curve import Uses, curve_of, spread
from bpetite.patterns import pattern_name
from bpetite.show.viewer.page import drawn
from bpetite.tokenizer import Tokenizer

_OF_SOURCE = ("name", "bytes", "characters", "tokens", "bytes_per_token")
_UNUSED_SHOWN = 200
_MOST_USED_SHOWN = 12


def report(models: Mapping[str, Tokenizer], tallied: Tallied) -> dict[str, Any]:
    """Return the report of the first of the tokenizers, with which the others are compared."""
    name, tokenizer = next(iter(models.items()))
    vocabulary = tokenizer.vocabulary
    fits = [fits[0] for fits in tallied.fits]
    uses = {token_id: count for token_id, count in enumerate(tallied.uses[0].tolist()) if count}
    by_use = sorted(uses.items(), key=lambda item: -item[1])
    never = unused(tokenizer, uses)
    return {
        "name": name,
        "facts": [
            ("Tokens", f"{tokenizer.vocab_size:,}, of which {len(tokenizer.special_tokens)} special"),
            ("Dialect", tokenizer.dialect.name),
            ("Pattern", pattern_name(tokenizer.pattern) or tokenizer.pattern),
            ("Fingerprint", tokenizer.fingerprint),
        ],
        "sources": [{number: getattr(fit, number) for number in _OF_SOURCE} for fit in fits],
        "compared": rows_of(models, tallied) if len(models) > 1 else [],
        "sizes": []
        if vocabulary.provisional
        else curve_of(vocabulary, uses, fits[-1].bytes, fits[-1].characters),
        "lengths": lengths(tokenizer, uses),
        "frequencies": spread([(place, count) for place, (_, count) in enumerate(by_use, 1)]),
        "most_used": [(drawn(tokenizer.token_bytes(i)), i, uses[i]) for i, _ in by_use[:_MOST_USED_SHOWN]],
        "unused": len(never),
        "unused_share": len(never) / tokenizer.vocab_size,
        "unused_shown": [(drawn(tokenizer.token_bytes(i)), i) for i in never[:_UNUSED_SHOWN]],
    }


def unused(tokenizer: Tokenizer, uses: Uses) -> list[int]:
    """Return the ids that were never used, special tokens included."""
    vocabulary = tokenizer.vocabulary
    ids = {*vocabulary.tokens, *vocabulary.special_tokens.values()}.difference(vocabulary.provisional)
    return sorted(ids.difference(uses))


def lengths(tokenizer: Tokenizer, uses: Uses) -> list[tuple[int, int, int]]:
    """Return rows of: token length in bytes, number of tokens with this length, number of their uses."""
    there: Counter[int] = Counter()
    used: Counter[int] = Counter()
    for token_id, token in tokenizer.vocabulary.tokens.items():
        if token_id not in tokenizer.vocabulary.provisional:
            there[len(token)] += 1
            used[len(token)] += uses.get(token_id, 0)
    return [(length, there[length], used[length]) for length in sorted(there)]
