"""Documents in, counts out: how often each pretoken occurs, as a value that can be added up.

Counting is the only stage that sees the corpus. Counts do not depend on the order of documents or on how the
corpus was divided, so threads, machines and days can each count a part.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from bpetite._constants import END_OF_TEXT_TOKEN
from bpetite._engine import CountTable
from bpetite.dialect import Dialect
from bpetite.patterns import named_pattern

Progress = Callable[[str, int, int], object]
"""Called with the stage (`counting`, `merging`), what is done, and the total (0 where it is not known)."""

Path = str | os.PathLike[str]


class Counts:
    """How often each pretoken of a corpus occurs.

    >>> counts = Counts.from_iterator(["ab ab", "ab"])
    >>> len(counts), counts.total, counts.documents
    (2, 3, 2)
    >>> list(counts.items())
    [(b' ab', 1), (b'ab', 2)]
    """

    def __init__(
        self,
        *,
        pattern: str = "gpt2",
        dialect: str | Dialect = "bpetite",
        special_tokens: Sequence[str] | None = None,
    ) -> None:
        """Make empty counts; the dialect says whether special tokens are boundaries in the corpus."""
        rules = Dialect.named(dialect)
        self.pattern = named_pattern(pattern)
        self.boundaries = rules.boundaries(default_specials(special_tokens))
        self.unmatched_text = rules.unmatched_text
        self._table = CountTable(self.pattern, self.boundaries, rules.unmatched_text == "counted")

    @classmethod
    def from_files(
        cls,
        paths: Path | Iterable[Path],
        *,
        pattern: str = "gpt2",
        dialect: str | Dialect = "bpetite",
        special_tokens: Sequence[str] | None = None,
        num_threads: int | None = None,
        memory_limit: int | None = None,
        progress: Progress | None = None,
    ) -> Counts:
        """Count UTF-8 text files, each of which is a document."""
        counts = cls(pattern=pattern, dialect=dialect, special_tokens=special_tokens)
        names = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
        counts._table.add_files(
            [os.fspath(name) for name in names],
            num_threads=num_threads,
            memory_limit=memory_limit,
            progress=progress,
        )
        return counts

    @classmethod
    def from_iterator(
        cls,
        documents: Iterable[str | bytes],
        *,
        pattern: str = "gpt2",
        dialect: str | Dialect = "bpetite",
        special_tokens: Sequence[str] | None = None,
        num_threads: int | None = None,
        memory_limit: int | None = None,
        progress: Progress | None = None,
    ) -> Counts:
        """Count documents from any iterable of `str` or UTF-8 `bytes`."""
        if isinstance(documents, str | bytes):
            raise ValueError("documents must be an iterable of documents, not one document; put it in a list")
        counts = cls(pattern=pattern, dialect=dialect, special_tokens=special_tokens)
        counts._table.add_documents(
            documents, num_threads=num_threads, memory_limit=memory_limit, progress=progress
        )
        return counts

    @staticmethod
    def merge(parts: Iterable[Counts]) -> Counts:
        """Add up counts that were made by the same rules."""
        total: Counts | None = None
        for part in parts:
            if total is None:
                total = part._empty()
            total._check_same_rules(part)
            total._table.merge(part._table)
        if total is None:
            raise ValueError("there are no counts to merge")
        return total

    def _empty(self) -> Counts:
        empty = object.__new__(Counts)
        empty.pattern, empty.boundaries, empty.unmatched_text = (
            self.pattern,
            self.boundaries,
            self.unmatched_text,
        )
        empty._table = CountTable(self.pattern, self.boundaries, self.unmatched_text == "counted")
        return empty

    def _check_same_rules(self, other: Counts) -> None:
        for rule in ("pattern", "boundaries", "unmatched_text"):
            ours, theirs = getattr(self, rule), getattr(other, rule)
            if ours != theirs:
                raise ValueError(f"counts differ in their {rule}: {ours!r} and {theirs!r}")

    def items(self) -> Iterator[tuple[bytes, int]]:
        """Yield each pretoken and its count, in the order of bytes."""
        joined, ends, counts = self._table.sorted()
        start = 0
        for end, count in zip(ends.tolist(), counts.tolist(), strict=True):
            yield joined[start:end], count
            start = end

    def __len__(self) -> int:
        """Return how many distinct pretokens there are."""
        return len(self._table)

    @property
    def total(self) -> int:
        """How many pretokens were counted in all."""
        return self._table.total

    @property
    def documents(self) -> int:
        """How many documents were counted."""
        return self._table.documents

    @property
    def bytes(self) -> int:
        """How many bytes of text were read."""
        return self._table.bytes

    def __repr__(self) -> str:
        return (
            f"Counts({len(self):,} distinct pretokens, {self.total:,} in all, {self.documents:,} documents)"
        )


def default_specials(special_tokens: Sequence[str] | None) -> tuple[str, ...]:
    """Return the special tokens that training uses: `<|endoftext|>` unless others are given."""
    if isinstance(special_tokens, str):
        raise ValueError("special_tokens must be a list of strings, not one string")
    return (END_OF_TEXT_TOKEN,) if special_tokens is None else tuple(special_tokens)
