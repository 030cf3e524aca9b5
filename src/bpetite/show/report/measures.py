"""What one pass over sources found in, the report's numbers out.

Every text is encoded once. This also gives the number of tokens with a smaller vocabulary: the bytes of a
token are merged as if they were a text of their own, so a token that is used n times stands for n uses of
each merge in its tree, and without a merge there are as many more tokens as it was used.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from bpetite.corpus.statistics import Tallied
from bpetite.show.display import bytes_per_token
from bpetite.show.explain import Explainer
from bpetite.tokenizer import Tokenizer


@dataclass
class SourceMeasure:
    """The totals of one source (a file, a language)."""

    name: str
    bytes: int = 0
    characters: int = 0
    tokens: int = 0

    @property
    def bytes_per_token(self) -> float:
        """The mean size of a token."""
        return bytes_per_token(self.bytes, self.tokens)


@dataclass
class Measures:
    """The numbers of a report."""

    tokenizer: Tokenizer
    sources: list[SourceMeasure] = field(default_factory=list)
    uses: Counter[int] = field(default_factory=Counter)
    """The number of uses of each id."""

    @property
    def total(self) -> SourceMeasure:
        """All sources together."""
        whole = SourceMeasure("all")
        for source in self.sources:
            whole.bytes += source.bytes
            whole.characters += source.characters
            whole.tokens += source.tokens
        return whole

    @cached_property
    def explainer(self) -> Explainer:
        """Explains how tokens are built."""
        return Explainer(self.tokenizer.vocabulary)

    @cached_property
    def unused(self) -> list[int]:
        """The ids that were never used, special tokens included."""
        vocabulary = self.tokenizer.vocabulary
        ids = {*vocabulary.tokens, *vocabulary.special_tokens.values()}.difference(vocabulary.provisional)
        return sorted(token_id for token_id in ids if not self.uses[token_id])

    def lengths(self) -> list[tuple[int, int, int]]:
        """Rows of: token length in bytes, number of tokens with this length, number of their uses."""
        there: Counter[int] = Counter()
        used: Counter[int] = Counter()
        vocabulary = self.tokenizer.vocabulary
        for token_id, token in vocabulary.tokens.items():
            if token_id not in vocabulary.provisional:
                there[len(token)] += 1
                used[len(token)] += self.uses[token_id]
        return [(length, there[length], used[length]) for length in sorted(there)]

    def frequencies(self) -> list[int]:
        """The numbers of uses of tokens, in descending order, without unused ones."""
        return sorted((uses for uses in self.uses.values() if uses), reverse=True)

    def tokens_by_size(self) -> list[tuple[int, int]]:
        """For every prefix of the merges: the size of the vocabulary, and the number of tokens with it."""
        vocabulary = self.tokenizer.vocabulary
        saved = self._saved_by_rank()
        size = 256 + len(vocabulary.special_tokens)
        tokens = self._tokens_without_merges()
        rows = [(size, tokens)]
        seen: set[int] = set()
        for rank, made in enumerate(vocabulary.merge_ids):
            tokens -= saved[rank]
            size += made not in seen
            seen.add(made)
            rows.append((size, tokens))
        if size != vocabulary.vocab_size or tokens != self.total.tokens:
            rows.append((vocabulary.vocab_size, self.total.tokens))
        return rows

    def _tokens_without_merges(self) -> int:
        tokens = self.tokenizer.vocabulary.tokens
        return sum(uses * (len(tokens[i]) if i in tokens else 1) for i, uses in self.uses.items())

    def _saved_by_rank(self) -> Counter[int]:
        """The number of tokens that each merge saves, together with all merges before it.

        A merge within a token is only possible after all merges below it in the token's tree, hence the
        highest rank of the tree.
        """
        vocabulary, ranks = self.tokenizer.vocabulary, self.explainer.rank_of_token
        uses = self._uses_of_merged_tokens()
        by_length = sorted(ranks, key=lambda token_id: len(vocabulary.tokens[token_id]))
        highest: dict[int, int] = {}
        for token_id in by_length:
            rank = ranks[token_id]
            highest[token_id] = max(rank, *(highest.get(part, -1) for part in vocabulary.merges[rank]))
        saved: Counter[int] = Counter()
        for token_id in reversed(by_length):
            saved[highest[token_id]] += uses[token_id]
            for part in vocabulary.merges[ranks[token_id]]:
                uses[part] += uses[token_id]
        return saved

    def _uses_of_merged_tokens(self) -> Counter[int]:
        """The uses; a token that no merge makes counts as the tokens that merges make of its bytes."""
        vocabulary, ranks = self.tokenizer.vocabulary, self.explainer.rank_of_token
        uses: Counter[int] = Counter()
        for token_id, count in self.uses.items():
            token = vocabulary.tokens.get(token_id, b"")
            if len(token) < 2 or token_id in ranks:
                uses[token_id] += count
                continue
            steps = self.explainer.steps(token)
            for part in steps[-1].ids if steps else self.explainer.start(token):
                uses[part] += count
        return uses

    def growth(self, bins: int = 40) -> list[tuple[int, float, int]]:
        """Rows of: rank, mean length of the tokens made since the previous row, longest token so far."""
        vocabulary = self.tokenizer.vocabulary
        lengths = [len(vocabulary.tokens[made]) for made in vocabulary.merge_ids]
        rows = []
        longest = 0
        edges = sorted({round(len(lengths) * place / bins) for place in range(bins + 1)})
        for start, end in pairwise(edges):
            longest = max(longest, *lengths[start:end])
            rows.append((end, sum(lengths[start:end]) / (end - start), longest))
        return rows


def measures_of(tokenizer: Tokenizer, tallied: Tallied) -> Measures:
    """Return the measures of the first of the tokenizers that sources were encoded with.

    >>> from bpetite.corpus import Documents
    >>> from bpetite.corpus.statistics import tally
    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> sources = {name: [Documents([text])] for name, text in (("a", "ab ab"), ("b", "abc"))}
    >>> measures = measures_of(tok, tally([tok], sources))
    >>> [(source.name, source.tokens) for source in measures.sources]
    [('a', 2), ('b', 2)]
    >>> measures.tokens_by_size()
    [(257, 8), (258, 5), (259, 4)]
    """
    fits = [fits[0] for fits in tallied.fits]
    sources = [
        SourceMeasure(fit.name, fit.bytes, fit.characters, fit.tokens)
        for fit in (fits[:-1] if len(fits) > 1 else fits)
    ]
    [used] = np.nonzero(tallied.uses[0])
    uses = dict(zip(used.tolist(), tallied.uses[0][used].tolist(), strict=True))
    return Measures(tokenizer, sources, Counter(uses))
