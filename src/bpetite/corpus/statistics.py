"""A tokenizer and inputs → how well the tokenizer fits each source: bytes per token and more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bpetite._internal.names import recorded
from bpetite._internal.types import Path, Progress, Special
from bpetite.corpus.job import Documents
from bpetite.reading.ahead import read_ahead
from bpetite.reading.batches import decoded, refusing_invalid
from bpetite.reading.cuts import cutter
from bpetite.reading.documents import read_batches
from bpetite.reading.options import Reading
from bpetite.reading.sources import Input, find_inputs, size_of
from bpetite.show.display import bytes_per_token
from bpetite.tokenizer import Tokenizer


@dataclass(frozen=True)
class Fit:
    """How well a tokenizer fits a source, or all of them (`total`)."""

    name: str
    documents: int
    bytes: int
    """Of text, in UTF-8."""
    words: int
    """Sequences of characters between white space."""
    tokens: int
    distinct_tokens: int
    """How many different ids occur."""
    vocab_size: int

    @property
    def bytes_per_token(self) -> float:
        """Bytes of text for each token; 0 if there are no tokens."""
        return bytes_per_token(self.bytes, self.tokens)

    @property
    def tokens_per_word(self) -> float:
        """Also called fertility; 0 if there are no words."""
        return self.tokens / self.words if self.words else 0.0

    @property
    def vocabulary_used(self) -> float:
        """The share of the vocabulary that occurs, between 0 and 1."""
        return self.distinct_tokens / self.vocab_size

    def to_dict(self) -> dict[str, int | float]:
        """Return everything but the name."""
        return {
            "documents": self.documents,
            "bytes": self.bytes,
            "words": self.words,
            "tokens": self.tokens,
            "bytes_per_token": self.bytes_per_token,
            "tokens_per_word": self.tokens_per_word,
            "distinct_tokens": self.distinct_tokens,
            "vocabulary_used": self.vocabulary_used,
        }


def stats(
    tokenizer: Tokenizer,
    texts: Path | Iterable[Path] | Documents,
    *,
    special: Special = "parse",
    reading: Reading | None = None,
    num_threads: int | None = None,
    progress: Progress | None = None,
) -> list[Fit]:
    """Return how well a tokenizer fits each source; several sources are followed by their `total`.

    `texts` are what `encode` takes: files, folders, globs, URLs, or `Documents`. A special token in a text is
    one token, unless `special` is `"text"`; its bytes count as bytes of text either way.

    >>> [fit] = stats(Tokenizer.train("ab ab ab", 258), Documents(["ab ab", "abc"]))
    >>> fit.documents, fit.tokens, fit.bytes_per_token
    (2, 4, 2.0)
    """
    specials = tokenizer.special_tokens if special != "text" else ()
    reading = replace(reading or Reading(), cut=cutter(tokenizer.pattern, specials))
    sources: dict[str, list[Input | Documents]] = {}
    if isinstance(texts, Documents):
        sources[texts.name] = [texts]
    else:
        for found in find_inputs(texts, skip_unreadable=reading.skip_unreadable):
            sources.setdefault(recorded(found.source), []).append(found)
    size = sum(map(size_of, sources.values()))
    tallies, before, documents = [], 0, 0
    for name, inputs in sources.items():
        tally = _Tally(name, tokenizer)
        for source in inputs:
            read = 0
            batches = (
                source.batches(reading) if isinstance(source, Documents) else read_batches(source, reading)
            )
            for batch in read_ahead(batches):
                with refusing_invalid(source.name, batch):
                    ids, _ = tokenizer.encode_batch_to_numpy(
                        batch.texts, special=special, num_threads=num_threads
                    )
                tally.add(decoded(source.name, batch), ids, batch.goes_on)
                documents += len(batch.texts) - batch.goes_on
                read = batch.read
                if progress is not None:
                    progress("encoding", before + read, size)
                    progress("documents", documents, 0)
            before += read
        tallies.append(tally)
    if len(tallies) > 1:
        total = _Tally("total", tokenizer)
        for tally in tallies:
            total.add_all(tally)
        tallies.append(total)
    return [tally.fit() for tally in tallies]


def compare(
    tokenizers: Mapping[str, Tokenizer],
    texts: Path | Iterable[Path] | Documents,
    *,
    special: Special = "parse",
    reading: Reading | None = None,
    num_threads: int | None = None,
    progress: Progress | None = None,
) -> list[dict[str, str | int | float]]:
    """Return a row for each source and tokenizer, as a table of pandas or polars takes them.

    `tokens_to_first` is the number of tokens divided by that of the first tokenizer.

    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> rows = compare({"new": tok, "old": tok.truncate(257)}, Documents(["ab ab"]))
    >>> [(row["tokenizer"], row["tokens"], row["tokens_to_first"]) for row in rows]
    [('new', 2, 1.0), ('old', 3, 1.5)]
    """
    if isinstance(texts, Documents):
        texts = Documents(list(texts.documents), texts.name)  # each tokenizer reads them
    fits = {
        name: stats(
            tokenizer, texts, special=special, reading=reading, num_threads=num_threads, progress=progress
        )
        for name, tokenizer in tokenizers.items()
    }
    rows: list[dict[str, str | int | float]] = []
    for of_a_source in zip(*fits.values(), strict=True):
        for name, fit in zip(fits, of_a_source, strict=True):
            first = of_a_source[0].tokens
            ratio = fit.tokens / first if first else 1.0
            rows.append({"source": fit.name, "tokenizer": name, **fit.to_dict(), "tokens_to_first": ratio})
    return rows


class _Tally:
    """The sums for a source so far."""

    def __init__(self, name: str, tokenizer: Tokenizer) -> None:
        vocabulary = tokenizer.vocabulary
        largest = max(max(vocabulary.tokens), *vocabulary.special_tokens.values(), 0)
        self._name = name
        self._vocab_size = vocabulary.vocab_size
        self._used = np.zeros(largest + 1, np.bool_)
        self._documents = self._bytes = self._words = self._tokens = 0
        self._inside_word = False

    def add(self, texts: list[str], ids: NDArray[Any], goes_on: bool) -> None:
        """Add a batch."""
        for place, text in enumerate(texts):
            self._bytes += len(text) if text.isascii() else len(text.encode("utf-8"))
            self._words += len(text.split()) - (self._inside_word and text != "" and not text[0].isspace())
            ended = place < len(texts) - goes_on
            self._inside_word = not ended and text != "" and not text[-1].isspace()
        self._documents += len(texts) - goes_on
        self._tokens += len(ids)
        self._used[ids] = True

    def add_all(self, other: _Tally) -> None:
        """Add the sums of another source."""
        self._documents += other._documents
        self._bytes += other._bytes
        self._words += other._words
        self._tokens += other._tokens
        self._used |= other._used

    def fit(self) -> Fit:
        """Return the result."""
        return Fit(
            name=self._name,
            documents=self._documents,
            bytes=self._bytes,
            words=self._words,
            tokens=self._tokens,
            distinct_tokens=int(self._used.sum()),
            vocab_size=self._vocab_size,
        )
