"""Tokenizers and what one pass over texts counted in, the numbers out that the page draws as a report.

Every text is encoded once. The uses of the tokens also tell how many tokens every smaller vocabulary, cut
from this one, would have needed. A token's bytes are merged as if they were a text of their own, so a token
that was used n times stands for n uses of each merge that builds it:

    "lower" used 10 times:  l o w e r  →  lo w e r  →  low e r  →  low er  →  lower
                            without its last merge there are 10 tokens more, without the last two 20, ...
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from bpetite.corpus.statistics import Tallied, rows_of
from bpetite.encoding.display import bytes_per_token
from bpetite.patterns import pattern_name
from bpetite.show.explain import Explainer
from bpetite.show.viewer.page import drawn
from bpetite.tokenizer import Tokenizer

Uses = Mapping[int, int]
"""How often each id was used; an id that never was may be missing."""

_OF_SOURCE = ("name", "bytes", "characters", "tokens", "bytes_per_token")
_UNUSED_SHOWN = 200
_MOST_USED_SHOWN = 12
_POINTS = 200


def report(models: Mapping[str, Tokenizer], tallied: Tallied) -> dict[str, Any]:
    """Return the report of the first of the tokenizers, with which the others are compared."""
    name, tokenizer = next(iter(models.items()))
    fits = [fits[0] for fits in tallied.fits]
    uses = {token_id: count for token_id, count in enumerate(tallied.uses[0].tolist()) if count}
    by_use = sorted(uses.items(), key=lambda item: -item[1])
    never = unused(tokenizer, uses)
    size = fits[-1].bytes
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
        "sizes": [
            (tokens_there, needed, bytes_per_token(size, needed))
            for tokens_there, needed in _thinned(tokens_by_size(tokenizer, uses))
        ],
        "lengths": lengths(tokenizer, uses),
        "frequencies": _thinned([(place, count) for place, (_, count) in enumerate(by_use, 1)]),
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


def tokens_by_size(tokenizer: Tokenizer, uses: Uses) -> list[tuple[int, int]]:
    """Return for every prefix of the merges: the size of the vocabulary, and the number of tokens with it.

    >>> tokens_by_size(Tokenizer.train("ab ab ab", 258), {256: 3, 257: 1})
    [(257, 9), (258, 5), (259, 4)]
    """
    vocabulary = tokenizer.vocabulary
    explainer = Explainer(vocabulary)
    tokens = 0
    saved: Counter[int] = Counter()
    for token_id, count in uses.items():
        token = vocabulary.tokens.get(token_id)
        if token is None:  # special
            tokens += count
            continue
        tokens += count * len(token)
        left, highest = len(token), 0
        for step in explainer.steps(token) if explainer.can_start(token) else ():
            highest = max(highest, step.rank)  # a prefix of the merges stops before its first missing one
            saved[highest] += count * (left - len(step.ids))
            left = len(step.ids)
    size = 256 + len(vocabulary.special_tokens)
    rows = [(size, tokens)]
    seen: set[int] = set()
    for rank, made in enumerate(vocabulary.merge_ids):
        tokens -= saved[rank]
        size += made not in seen
        seen.add(made)
        rows.append((size, tokens))
    total = sum(uses.values())
    if (size, tokens) != (vocabulary.vocab_size, total):
        rows.append((vocabulary.vocab_size, total))
    return rows


def _thinned(rows: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Keep some rows, evenly spaced on a logarithmic scale, including the first and the last."""
    if len(rows) <= _POINTS:
        return list(rows)
    places = {round(math.exp(math.log(len(rows)) * place / (_POINTS - 1))) - 1 for place in range(_POINTS)}
    return [rows[place] for place in sorted(places)]
