"""A tokenizer and inputs → the number of tokens of each source, and how well the tokenizer fits it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias, TypedDict, TypeVar, Unpack

import numpy as np
from numpy.typing import NDArray

from bpetite._internal.arguments import check_type
from bpetite._internal.names import recorded
from bpetite._internal.progress import shown
from bpetite._internal.types import Progress, Special
from bpetite.corpus.job import Corpus, cutter_for, inputs_of
from bpetite.corpus.specials import (
    Encoded,
    check_special,
    check_tokenizer,
    check_tokenizers,
    counted,
    encoded,
)
from bpetite.encoding.display import per_token
from bpetite.reading.batches import Batch, decoded, text_bytes
from bpetite.reading.documents import naming_invalid, read_all
from bpetite.reading.options import Reading
from bpetite.reading.sources import Input, size_of
from bpetite.reading.threads import threads_of
from bpetite.tokenizer import Tokenizer

_NUMBERS = (
    *("documents", "bytes", "characters", "words", "tokens"),
    *("bytes_per_token", "characters_per_token", "tokens_per_word"),
    *("distinct_tokens", "vocabulary_used", "special_texts"),
)


T = TypeVar("T")

Row: TypeAlias = dict[str, str | int | float | None]
"""The numbers of a source and a tokenizer."""


@dataclass(frozen=True)
class Fit:
    """How well a tokenizer fits a source, or all of them together."""

    name: str | None
    """The name of the source; None for all of them, as a source may have any name."""
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
    special_texts: int
    """The special tokens in the texts that were taken as ordinary text."""

    @property
    def bytes_per_token(self) -> float:
        """Bytes of text for each token; 0 if there are no tokens.

        UTF-8 has one byte for a letter of English, two for one of Russian and three for one of
        Hindi. So this compares tokenizers on the same text; languages are compared by
        `characters_per_token`.
        """
        return per_token(self.bytes, self.tokens)

    @property
    def characters_per_token(self) -> float:
        """Characters of text for each token; 0 if there are no tokens."""
        return per_token(self.characters, self.tokens)

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
        return {name: getattr(self, name) for name in _NUMBERS}


class Measuring(TypedDict, total=False):
    """How tokenizers are measured on texts.

    A special token in a text is ordinary text, as in what `encode` writes, and counted as such in
    `special_texts`; or it is one token (`special="parse"`), or an error. `reading` says how files
    become documents.
    """

    special: Special
    reading: Reading | None
    num_threads: int | None
    progress: Progress | bool | None


def stats(tokenizer: Tokenizer, texts: Corpus, **how: Unpack[Measuring]) -> list[Fit]:
    """Return how well a tokenizer fits each source; after several, a result without a name totals them.

    `texts` may be anything that `encode` takes: files, folders, globs, URLs, a column, or
    `Documents`. The keywords are `special`, `reading`, `num_threads` and `progress`. A special
    token in a text is ordinary text, as in `encode`, unless `special` is `"parse"` or `"error"`;
    `special_texts` counts them.

    >>> from bpetite.corpus import Documents
    >>> [fit] = stats(Tokenizer.train("ab ab ab", 258), Documents(["ab ab", "abc"]))
    >>> fit.documents, fit.tokens, fit.bytes_per_token
    (2, 4, 2.0)
    """
    check_tokenizer(tokenizer)
    return [fit for [fit] in tally([tokenizer], sources_of(texts), **how).fits]


@dataclass
class TokenCount:
    """The numbers of documents, of bytes of text and of tokens of a source.

    `special_texts` is the number of special tokens in the texts that were treated as ordinary text.

    >>> TokenCount(documents=2, tokens=4).tokens
    4
    """

    documents: int = 0
    tokens: int = 0
    bytes: int = 0
    special_texts: int = 0


def count_tokens(
    tokenizer: Tokenizer,
    texts: Corpus,
    *,
    add_special_tokens: bool | None = None,
    **how: Unpack[Measuring],
) -> dict[str, TokenCount]:
    """Return the number of tokens of each source; takes the keywords of `stats`, but is faster.

    `add_special_tokens=True` also counts the tokens that the model's own library puts around each
    document (`Tokenizer.template`).

    >>> from bpetite.corpus import Documents
    >>> count_tokens(Tokenizer.train("ab ab ab", 258), Documents(["ab ab", "abc"]))
    {'documents': TokenCount(documents=2, tokens=4, bytes=8, special_texts=0)}
    """
    check_tokenizer(tokenizer)
    sources = sources_of(texts)
    template = tokenizer._added_template(add_special_tokens)
    counts = {name: TokenCount() for name in sources}
    for name, batch, [(tokens, special_texts)] in _measured([tokenizer], counted, sources, **how):
        counts[name].tokens += tokens
        counts[name].documents += len(batch.texts) - batch.goes_on
        counts[name].bytes += text_bytes(batch.texts)
        counts[name].special_texts += special_texts
    for count in counts.values():
        count.tokens += template.size * count.documents
    return counts


def compare(
    tokenizers: Mapping[str, Tokenizer], texts: Corpus, **how: Unpack[Measuring]
) -> list[Row]:
    """Return a row for each source and tokenizer, for a table of pandas or polars.

    `tokens_to_first` is the number of tokens divided by the first tokenizer's. After several
    sources, rows whose source is None are totals. The keywords are the same as in `stats`.

    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> from bpetite.corpus import Documents
    >>> rows = compare({"new": tok, "old": tok.truncate(257)}, Documents(["ab ab"]))
    >>> [(row["tokenizer"], row["tokens"], row["tokens_to_first"]) for row in rows]
    [('new', 2, 1.0), ('old', 3, 1.5)]
    """
    check_tokenizers(tokenizers)
    return rows_of(tokenizers, tally([*tokenizers.values()], sources_of(texts), **how))


class Tallied(NamedTuple):
    """What one pass over the sources found."""

    fits: list[list[Fit]]
    """How well each tokenizer fits each source; several sources are followed by their total."""
    uses: list[NDArray[np.int64]]
    """How often each id of each tokenizer occurs in all sources together."""


def rows_of(names: Collection[str], tallied: Tallied) -> list[Row]:
    """Return a row for each source and tokenizer."""
    rows: list[Row] = []
    for of_a_source in tallied.fits:
        for name, fit in zip(names, of_a_source, strict=True):
            first = of_a_source[0].tokens
            ratio = fit.tokens / first if first else 1.0
            rows.append(
                {"source": fit.name, "tokenizer": name, **fit.to_dict(), "tokens_to_first": ratio}
            )
    return rows


Sources = Mapping[str, Sequence[Input]]


def sources_of(texts: Any) -> Sources:
    """Return the inputs by the arguments that name them."""
    sources: dict[str, list[Input]] = {}
    for found in inputs_of(texts):
        sources.setdefault(recorded(found.source), []).append(found)
    return sources


def tally(tokenizers: Sequence[Tokenizer], sources: Sources, **how: Unpack[Measuring]) -> Tallied:
    """Read each source once, encode it with each tokenizer, and count: a pipe cannot be read twice."""
    sums_of = {name: _Sums(name, tokenizers) for name in sources}
    for name, batch, measured in _measured(tokenizers, encoded, sources, **how):
        sums_of[name].add_texts(decoded(name, batch), goes_on=batch.goes_on)
        sums_of[name].add_ids(measured)
    total = _Sums(None, tokenizers)
    for sums in sums_of.values():
        total.add(sums)
    fits = [sums.fits() for sums in sums_of.values()]
    if len(sources) > 1:
        fits.append(total.fits())
    return Tallied(fits, total.uses)


def _measured(
    tokenizers: Sequence[Tokenizer],
    measure: Callable[..., T],
    sources: Sources,
    *,
    special: Special = "text",
    reading: Reading | None = None,
    num_threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Iterator[tuple[str, Batch, list[T]]]:
    """Yield the name of the source of each batch, the batch, and what each tokenizer makes of it."""
    check_special(special)
    if reading is not None:
        check_type("reading", reading, Reading)

    def make(texts: Sequence[Any]) -> list[T]:
        return [measure(tok, texts, special, num_threads=num_threads) for tok in tokenizers]

    reading = replace(reading or Reading(), cut=cutter_for(tokenizers))
    threads = threads_of(num_threads)
    size = sum(map(size_of, sources.values()))
    read = 0
    documents = 0
    with shown(progress) as report:
        for name, inputs in sources.items():
            for source, batch, more in read_all(inputs, reading, threads):
                with naming_invalid(source, batch, reading, make):
                    measured = make(batch.texts)
                yield name, batch, measured
                read += more
                documents += len(batch.texts) - batch.goes_on
                if report is not None and (more or batch.texts):
                    report("encoding", read, size)
                    report("documents", documents, 0)


class _Sums:
    """The sums for a source so far."""

    def __init__(self, name: str | None, tokenizers: Sequence[Tokenizer]) -> None:
        self._name = name
        self._tokenizers = tokenizers
        self._inside_word = False
        self.texts: Counter[str] = Counter(documents=0, bytes=0, characters=0, words=0)
        self.uses: list[NDArray[np.int64]] = [
            np.zeros(tok.largest_id + 1, np.int64) for tok in tokenizers
        ]
        self.special_texts = [0] * len(tokenizers)

    def add_texts(self, texts: list[str], *, goes_on: bool) -> None:
        """Add the texts of a batch."""
        words = 0
        for place, text in enumerate(texts):
            words += len(text.split()) - (
                self._inside_word and text != "" and not text[0].isspace()
            )
            ended = place < len(texts) - goes_on
            self._inside_word = not ended and text != "" and not text[-1].isspace()
        self.texts.update(
            documents=len(texts) - goes_on,
            bytes=text_bytes(texts),
            characters=sum(map(len, texts)),
            words=words,
        )

    def add_ids(self, encoded: Sequence[Encoded]) -> None:
        """Add what each tokenizer made of the texts of a batch."""
        for place, of_tokenizer in enumerate(encoded):
            uses = self.uses[place]
            uses += np.bincount(of_tokenizer.ids, minlength=len(uses))
            self.special_texts[place] += of_tokenizer.special_count

    def add(self, other: _Sums) -> None:
        """Add the sums for another source."""
        self.texts.update(other.texts)
        for place in range(len(self.uses)):
            self.uses[place] += other.uses[place]
            self.special_texts[place] += other.special_texts[place]

    def fits(self) -> list[Fit]:
        """Return the result for each tokenizer."""
        return [
            Fit(
                name=self._name,
                tokens=int(uses.sum()),
                distinct_tokens=int(np.count_nonzero(uses)),
                vocab_size=tokenizer.vocab_size,
                special_texts=special_texts,
                **self.texts,
            )
            for tokenizer, uses, special_texts in zip(
                self._tokenizers, self.uses, self.special_texts, strict=True
            )
        ]
