"""A tokenizer and inputs → the number of tokens of each source, and how well the tokenizer fits it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bpetite._internal.names import recorded
from bpetite._internal.types import Progress, Special
from bpetite.corpus.job import Corpus, Documents, cutter_for, documents_in
from bpetite.reading.batches import Batch, decoded, refusing_invalid
from bpetite.reading.documents import read_batches
from bpetite.reading.options import Reading
from bpetite.reading.sources import Input, find_inputs, size_of
from bpetite.reading.threads import in_threads
from bpetite.show.display import bytes_per_token
from bpetite.show.progress import shown
from bpetite.tokenizer import Tokenizer


@dataclass(frozen=True)
class Fit:
    """How well a tokenizer fits a source, or all of them (`total`)."""

    name: str
    documents: int
    bytes: int
    """Of text, in UTF-8."""
    characters: int
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
    texts: Corpus,
    *,
    special: Special = "parse",
    reading: Reading | None = None,
    num_threads: int | None = None,
    progress: Progress | bool | None = None,
) -> list[Fit]:
    """Return how well a tokenizer fits each source; several sources are followed by their `total`.

    `texts` are what `encode` takes: files, folders, globs, URLs, a column, or `Documents`. A special token in
    a text is one token, unless `special` is `"text"`; its bytes count as bytes of text either way.

    >>> [fit] = stats(Tokenizer.train("ab ab ab", 258), Documents(["ab ab", "abc"]))
    >>> fit.documents, fit.tokens, fit.bytes_per_token
    (2, 4, 2.0)
    """
    with shown(progress) as report:
        tallied = tally(
            [tokenizer],
            sources_of(texts, reading or Reading()),
            special=special,
            reading=reading,
            num_threads=num_threads,
            progress=report,
        )
    return [fit for [fit] in tallied.fits]


@dataclass
class TokenCount:
    """The numbers of documents and of tokens of a source.

    >>> TokenCount(documents=2, tokens=4).tokens
    4
    """

    documents: int = 0
    tokens: int = 0


def count_tokens(
    tokenizer: Tokenizer,
    texts: Corpus,
    *,
    special: Special = "parse",
    reading: Reading | None = None,
    num_threads: int | None = None,
    progress: Progress | bool | None = None,
) -> dict[str, TokenCount]:
    """Return the number of tokens of each source; `stats` measures more, and takes longer.

    >>> count_tokens(Tokenizer.train("ab ab ab", 258), Documents(["ab ab", "abc"]))
    {'documents': TokenCount(documents=2, tokens=4)}
    """
    reading = replace(reading or Reading(), cut=cutter_for([tokenizer]))
    sources = sources_of(texts, reading)
    counted = {name: TokenCount() for name in sources}
    with shown(progress) as report:
        for name, source, batch in _batches(sources, reading, report):
            with refusing_invalid(source, batch):
                counts = tokenizer.count_batch(batch.texts, special=special, num_threads=num_threads)
            counted[name].tokens += sum(counts)
            counted[name].documents += len(batch.texts) - batch.goes_on
    return counted


def compare(
    tokenizers: Mapping[str, Tokenizer],
    texts: Corpus,
    *,
    special: Special = "parse",
    reading: Reading | None = None,
    num_threads: int | None = None,
    progress: Progress | bool | None = None,
) -> list[dict[str, str | int | float]]:
    """Return a row for each source and tokenizer, as a table of pandas or polars takes them.

    `tokens_to_first` is the number of tokens divided by that of the first tokenizer.

    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> rows = compare({"new": tok, "old": tok.truncate(257)}, Documents(["ab ab"]))
    >>> [(row["tokenizer"], row["tokens"], row["tokens_to_first"]) for row in rows]
    [('new', 2, 1.0), ('old', 3, 1.5)]
    """
    with shown(progress) as report:
        tallied = tally(
            list(tokenizers.values()),
            sources_of(texts, reading or Reading()),
            special=special,
            reading=reading,
            num_threads=num_threads,
            progress=report,
        )
    return rows_of(tokenizers, tallied)


@dataclass(frozen=True)
class Tallied:
    """What one pass over the sources found."""

    fits: list[list[Fit]]
    """How well each tokenizer fits each source; several sources are followed by their total."""
    uses: list[NDArray[np.int64]]
    """How often each id of each tokenizer occurs in all sources together."""


def rows_of(names: Iterable[str], tallied: Tallied) -> list[dict[str, str | int | float]]:
    """Return a row for each source and tokenizer."""
    rows: list[dict[str, str | int | float]] = []
    names = list(names)
    for of_a_source in tallied.fits:
        for name, fit in zip(names, of_a_source, strict=True):
            first = of_a_source[0].tokens
            ratio = fit.tokens / first if first else 1.0
            rows.append({"source": fit.name, "tokenizer": name, **fit.to_dict(), "tokens_to_first": ratio})
    return rows


Sources = Mapping[str, Sequence[Input | Documents]]


def sources_of(texts: Any, reading: Reading) -> Sources:
    """Return the inputs by the arguments that name them."""
    documents = documents_in(texts)
    if documents is not None:
        return {documents.name: [documents]}
    sources: dict[str, list[Input]] = {}
    for found in find_inputs(texts, skip_unreadable=reading.skip_unreadable):
        sources.setdefault(recorded(found.source), []).append(found)
    return sources


def tally(
    tokenizers: Sequence[Tokenizer],
    sources: Sources,
    *,
    special: Special = "parse",
    reading: Reading | None = None,
    num_threads: int | None = None,
    progress: Progress | None = None,
) -> Tallied:
    """Read each source once, encode it with each tokenizer, and count: a pipe cannot be read twice."""
    reading = replace(reading or Reading(), cut=cutter_for(tokenizers))
    found = {name: _Sums(name, tokenizers) for name in sources}
    for name, source, batch in _batches(sources, reading, progress):
        sums = found[name]
        for uses, tokenizer in zip(sums.uses, tokenizers, strict=True):
            with refusing_invalid(source, batch):
                ids, _ = tokenizer.encode_batch_to_numpy(
                    batch.texts, special=special, num_threads=num_threads
                )
            uses += np.bincount(ids, minlength=len(uses))
        sums.add_texts(decoded(source, batch), goes_on=batch.goes_on)
    total = _Sums("total", tokenizers)
    for sums in found.values():
        total.add(sums)
    several = [total] if len(sources) > 1 else []
    return Tallied([sums.fits() for sums in (*found.values(), *several)], total.uses)


def _batches(
    sources: Sources, reading: Reading, progress: Progress | None
) -> Iterator[tuple[str, str, Batch]]:
    """Yield the batches of all sources, each with the names of its source and of its input."""
    size = sum(map(size_of, sources.values()))
    before = documents = 0
    for name, inputs in sources.items():
        for source in inputs:
            own = source.batches(reading) if isinstance(source, Documents) else read_batches(source, reading)
            read = 0
            for batch in in_threads([own], iter, threads=1):
                yield name, source.name, batch
                documents += len(batch.texts) - batch.goes_on
                read = batch.read
                if progress is not None:
                    progress("encoding", before + read, size)
                    progress("documents", documents, 0)
            before += read


class _Sums:
    """The sums for a source so far."""

    def __init__(self, name: str, tokenizers: Sequence[Tokenizer]) -> None:
        self._name = name
        self._tokenizers = tokenizers
        self._documents = self._bytes = self._characters = self._words = 0
        self._inside_word = False
        self.uses: list[NDArray[np.int64]] = [
            np.zeros(tokenizer.largest_id + 1, np.int64) for tokenizer in tokenizers
        ]

    def add_texts(self, texts: list[str], *, goes_on: bool) -> None:
        """Add the texts of a batch."""
        for place, text in enumerate(texts):
            self._bytes += len(text) if text.isascii() else len(text.encode("utf-8"))
            self._characters += len(text)
            self._words += len(text.split()) - (self._inside_word and text != "" and not text[0].isspace())
            ended = place < len(texts) - goes_on
            self._inside_word = not ended and text != "" and not text[-1].isspace()
        self._documents += len(texts) - goes_on

    def add(self, other: _Sums) -> None:
        """Add the sums of another source."""
        self._documents += other._documents
        self._bytes += other._bytes
        self._characters += other._characters
        self._words += other._words
        for ours, theirs in zip(self.uses, other.uses, strict=True):
            ours += theirs

    def fits(self) -> list[Fit]:
        """Return the result for each tokenizer."""
        return [
            Fit(
                name=self._name,
                documents=self._documents,
                bytes=self._bytes,
                characters=self._characters,
                words=self._words,
                tokens=int(uses.sum()),
                distinct_tokens=int(np.count_nonzero(uses)),
                vocab_size=tokenizer.vocab_size,
            )
            for tokenizer, uses in zip(self._tokenizers, self.uses, strict=True)
        ]
