"""Counts: how often each pretoken of a corpus occurs. Counts can be added, saved and loaded.

Counting is the only stage that reads the corpus. Counts do not depend on the order of documents or
on how the corpus was divided, so threads, machines and days can each count a part.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby, pairwise
from math import lcm
from typing import TYPE_CHECKING, Any, Protocol, Self, Unpack

from bpetite._constants import END_OF_TEXT_TOKEN, LARGEST_COUNT, Pattern
from bpetite._engine import CountTable, TextColumn, pattern_way
from bpetite._internal.arguments import Name, check_path, check_type, several, shortened, worded
from bpetite._internal.integers import BYTES, counted, integer, number_with_unit
from bpetite._internal.lazy import LazyModule
from bpetite._internal.lazy import numpy as np
from bpetite._internal.progress import shown
from bpetite._internal.record import replaced
from bpetite._internal.types import AnyPath, Limits, Progress, ReadingOptions, Texts
from bpetite._internal.warning import warn
from bpetite.counts.counting import ProgressOfAll, Tally, count_inputs
from bpetite.dialect import Dialect, unmatched_text_of
from bpetite.normalization import SPACE_FIRST, Normalization, checked, steps_in
from bpetite.patterns import PATTERNS, checked_pattern, named_pattern
from bpetite.reading import batches as batching
from bpetite.reading.cuts import Cut, cutter
from bpetite.reading.options import Reading
from bpetite.reading.sources import Input, find_inputs, size_of, weight_of
from bpetite.reading.specials import noticed_in, noticed_in_files
from bpetite.vocabulary import Vocabulary, flagged_tokens, listed_special_tokens

if TYPE_CHECKING:
    from fractions import Fraction

    from bpetite.counts import file as counts_file
else:  # Few runs need it.
    counts_file = LazyModule("bpetite.counts.file")


def memory_bytes(size: int | str | None, name: str = "memory_limit") -> int | None:
    """Return a size in bytes; it may be written with a unit.

    >>> memory_bytes("2GB"), memory_bytes("1.5 GiB"), memory_bytes(4096)
    (2000000000, 1610612736, 4096)
    """
    size = number_with_unit(name, size, BYTES)
    return None if size is None else min(integer(name, size, least=1), LARGEST_COUNT)


AddedTokens = tuple[tuple[str, tuple[str, ...]], ...]
"""The texts of special and added tokens in order, each with its flags."""

_LITTLE = 1 << 20
"""The bytes that counts beside a limited table may take."""


_RULES = {
    "pattern": ["pattern"],
    "boundaries": ["dialect", "special_tokens"],
    "unmatched_text": ["dialect"],
    "normalization": ["normalization"],
    "added_tokens": ["tokenizer"],
}
"""The rules of counting, and the arguments that decide them."""


class Tokenizing(Protocol):
    """A `Tokenizer`."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary."""


class Counts:
    """How often each pretoken of a corpus occurs.

    >>> counts = Counts.from_iterator(["ab ab", "ab"])
    >>> len(counts), counts.total, counts.documents
    (2, 3, 2)
    >>> list(counts.items())
    [(b' ab', 1), (b'ab', 2)]
    """

    dialect: Dialect | None
    """The dialect that was given; None if a file does not say it, or parts had different ones."""
    special_tokens: tuple[str, ...] | None
    """The special tokens that were given, in order; None as with the dialect."""

    def __init__(
        self,
        *,
        pattern: Pattern = "gpt2",
        dialect: str | Dialect = "bpetite",
        special_tokens: Sequence[str] | None = None,
        normalization: Normalization | None = None,
    ) -> None:
        """Create empty counts; the dialect decides whether special tokens are boundaries in the corpus."""
        rules = Dialect.named(dialect)
        boundaries = rules.boundaries(default_specials(special_tokens))
        cuts = named_pattern(pattern)
        self._begin(cuts, boundaries, unmatched_text_of(rules, cuts), checked(normalization))
        self.dialect, self.special_tokens = rules, default_specials(special_tokens)

    @classmethod
    def _by(cls, tokenizer: Tokenizing | None, pattern: Pattern | None, **others: Any) -> Self:
        """Begin counts like a tokenizer, which decides all rules but another pattern, or by given rules."""
        rules = {name: value for name, value in others.items() if value is not None}
        if tokenizer is None:
            if SPACE_FIRST in steps_in(checked(rules.get("normalization"))):
                raise ValueError(f"normalization: {SPACE_FIRST[0]!r} needs a tokenizer that has it")
            return cls(pattern="gpt2" if pattern is None else pattern, **rules)
        for name, value in rules.items():
            raise ValueError(
                f"tokenizer: it decides the {name}, too, so leave out {name}={value!r:.80}"
            )
        return cls._begin_like(tokenizer, pattern)

    def _begin(
        self,
        pattern: Pattern,
        boundaries: tuple[str, ...],
        unmatched_text: str,
        normalization: Normalization | None,
        added_tokens: AddedTokens | None = None,
    ) -> Self:
        """Begin with these rules, and without counts."""
        self.pattern = checked_pattern(pattern)
        self.boundaries = boundaries
        self.unmatched_text = unmatched_text
        self.normalization = normalization
        """What was done to the text between boundaries before it was cut, such as `NFC`."""
        self.added_tokens = added_tokens
        """Of counts like a tokenizer: its special and added tokens, which are not counted, each with its
        flags; None for others."""
        self.dialect = self.special_tokens = None
        self.name = ""
        """The file that these were loaded from, or the first of them."""
        self.scale = 1
        """The factor by which all counts are multiplied (more than 1 after weights such as 3/2)."""
        self.weights: dict[str, str] = {}
        """The weights of sources, where they are not 1."""
        self.beside = Tally()
        """Documents and bytes that were read, but that the engine's table does not know of."""
        self._table = CountTable(
            pattern,
            self._dividing,
            unmatched_text == "counted",
            steps_in(normalization),
            [] if self._dividing else [(text, 0, flags) for text, flags in added_tokens or ()],
        )
        return self

    @classmethod
    def _begin_like(cls, tokenizer: Any, pattern: Pattern | None = None) -> Self:
        """Begin counts of the pretokens that a tokenizer makes tokens of, or would with another pattern."""
        vocabulary = getattr(tokenizer, "vocabulary", tokenizer)
        check_type("tokenizer", vocabulary, Vocabulary, "a Tokenizer")
        added_tokens = tuple(
            (text, tuple(sorted(flag for flag in flags if flag != "special")))
            for text, _, flags in sorted(flagged_tokens(vocabulary))
        )
        counts = object.__new__(cls)._begin(
            vocabulary.pattern if pattern is None else named_pattern(pattern),
            (),
            "counted",
            vocabulary.normalization,
            added_tokens,
        )
        counts.dialect = vocabulary.dialect
        counts.special_tokens = tuple(vocabulary.special_tokens)
        return counts

    @property
    def _dividing(self) -> tuple[str, ...]:
        """Texts that divide a document, and that are all that the engine need look for.

        Tokens without flags are found in the text as boundaries are, if it is not changed before.
        """
        if self.normalization is not None or not self.added_tokens:
            return self.boundaries
        plain = [text for text, flags in self.added_tokens if {*flags} <= {"normalized"}]
        return tuple(plain) if len(plain) == len(self.added_tokens) else self.boundaries

    @property
    def pattern_way(self) -> str:
        """How the pattern cuts text; see `Tokenizer.pattern_way`.

        >>> Counts(pattern="llama3").pattern_way
        'masks'
        """
        return pattern_way(self.pattern)

    @property
    def cut(self) -> Cut | None:
        """Finds places where a document may be cut while it is read.

        None if there are none: where a normalized text may be cut is known only after
        normalization, and where tokens take white space, only once they are found.

        >>> Counts().cut is None, Counts(normalization="NFC").cut is None
        (False, True)
        """
        is_changed = self.normalization is not None
        if is_changed or len(self._dividing) < len(self.added_tokens or ()):
            return None
        return cutter([self.pattern], self._dividing)

    @classmethod
    def from_files(
        cls,
        paths: AnyPath | Iterable[AnyPath],
        *,
        pattern: Pattern | None = None,
        dialect: str | Dialect | None = None,
        special_tokens: Sequence[str] | None = None,
        normalization: Normalization | None = None,
        tokenizer: Tokenizing | None = None,
        num_threads: int | None = None,
        memory_limit: int | str | None = None,
        progress: Progress | bool | None = None,
        **reading: Unpack[ReadingOptions],
    ) -> Counts:
        """Count the texts in files, folders, globs and URLs.

        Paths work as on the command line: text, JSON lines or Parquet, plain or compressed. A path
        may end in a weight: `wiki/*.jsonl.zst:2` counts twice. Other keywords control how documents
        are read: `separator`, `text_field`, `text_column`, `invalid`, `input_format`, `hold_out`,
        `split` and `max_document`; `bpetite.corpus.Reading` explains them.

        `normalization`, such as `NFC`, is applied to each document before it is cut; as only a
        whole document can be normalized, each is then held in memory.

        The default rules are the pattern "gpt2" and the dialect "bpetite". With `tokenizer`, counts
        are of the pretokens whose tokens are the ids of `encode`, outside special and added tokens:
        it decides all rules but another `pattern`. (Text before the first of these tokens, between
        them and after the last is a document.)

        `progress` is called with `("counting", bytes, total)`, first when all inputs were found,
        and with `("documents", number, 0)`.

        >>> import json, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "corpus.jsonl")
        ...     _ = path.write_text(json.dumps({"body": "ab ab"}))
        ...     Counts.from_files(path, text_field="body")
        Counts(2 distinct pretokens, 2 in all, 1 document)
        """
        counts = cls._by(
            tokenizer,
            pattern,
            dialect=dialect,
            special_tokens=special_tokens,
            normalization=normalization,
        )
        rules = Reading(**reading)
        limits: Limits = {"num_threads": num_threads, "memory_limit": memory_bytes(memory_limit)}
        inputs = find_inputs(paths)
        if specials := counts._specials_as_text:
            noticed = noticed_in_files(inputs, rules, specials)
            if noticed is not None:
                warn(noticed)
        return counts._with_inputs(inputs, rules, limits, progress)

    @property
    def _specials_as_text(self) -> tuple[str, ...]:
        """The special tokens that are counted as text, as any other is; none where they end documents."""
        if self.boundaries or self.added_tokens is not None:
            return ()
        return self.special_tokens or ()

    def _with_inputs(
        self,
        inputs: Sequence[Input],
        reading: Reading,
        limits: Limits,
        progress: Progress | bool | None,
    ) -> Counts:
        """Return these counts, which are empty, with those of inputs."""
        reading = replaced(reading, cut=self.cut)
        self._set_limits(**limits)
        with shown(progress) as shown_progress:
            report = ProgressOfAll(shown_progress, size_of(inputs))
            report.tell("counting", 0, 0)
            weighted_parts: list[Counts] = []
            for (weight, source), group in groupby(inputs, key=weight_of):
                part = self if weight == 1 else self.empty()
                tally = count_inputs(part._table, group, reading, limits, report)
                part.beside = part.beside.plus(tally)
                if weight != 1:
                    weighted = part.weighted(weight, source)
                    weighted._leave_memory(_LITTLE)
                    weighted_parts.append(weighted)
            self._table.settle()
            if not weighted_parts:
                return self
            return Counts.merge([self, *weighted_parts], memory_limit=limits["memory_limit"])

    @classmethod
    def from_iterator(
        cls,
        documents: Texts,
        *,
        pattern: Pattern | None = None,
        dialect: str | Dialect | None = None,
        special_tokens: Sequence[str] | None = None,
        normalization: Normalization | None = None,
        tokenizer: Tokenizing | None = None,
        num_threads: int | None = None,
        memory_limit: int | str | None = None,
        progress: Progress | bool | None = None,
    ) -> Counts:
        """Count documents from any iterable of `str` or UTF-8 `bytes`, or from an Arrow column.

        With `tokenizer`, they are counted as it cuts them; see `from_files`.

        >>> Counts.from_iterator(["ab ab", b"ab"]).total
        3
        """
        counts = cls._by(
            tokenizer,
            pattern,
            dialect=dialect,
            special_tokens=special_tokens,
            normalization=normalization,
        )
        texts = batching.columns_in(documents) or several("documents", "str or bytes", documents)
        if specials := counts._specials_as_text:
            noticed, texts = noticed_in(texts, specials)
            if noticed is not None:
                warn(noticed)
        limits: Limits = {"num_threads": num_threads, "memory_limit": memory_bytes(memory_limit)}
        return counts._with_documents(texts, progress, **limits)

    def _with_documents(
        self,
        documents: Iterable[str | bytes | TextColumn],
        progress: Progress | bool | None = None,
        **limits: Unpack[Limits],
    ) -> Counts:
        """Return these counts, which are empty, with those of documents."""
        with shown(progress) as report:
            self._table.add_documents(documents, progress=report, **limits)
        self._table.settle()
        return self

    @staticmethod
    def merge(parts: Iterable[Counts], *, memory_limit: int | str | None = None) -> Counts:
        """Return the sum of counts that use the same rules.

        >>> monday, tuesday = Counts.from_iterator(["ab ab"]), Counts.from_iterator(["ab"])
        >>> Counts.merge([monday, tuesday]) == Counts.from_iterator(["ab ab", "ab"])
        True
        """
        total: Counts | None = None
        for part in several("parts", "Counts", parts):
            check_type("parts", part, Counts, "several Counts")
            if total is None:
                total = part.empty()
                total.limit_memory(memory_limit)
            total._check_same_rules(part)
            if memory_limit is not None:
                part._leave_memory(_LITTLE)
            total._add(part)
        if total is None:
            raise ValueError("there are no counts to merge")
        return total

    def weighted(self, weight: Fraction | int, source: str | None = None) -> Counts:
        """Return the counts of a corpus that contains this one `weight` times.

        Counts stay integers and nothing is rounded: for 3/2, each count is tripled and `scale`, the
        common factor of all counts, is doubled. `weights` records the weight under the name
        `source`.

        >>> from fractions import Fraction
        >>> Counts.from_iterator(["ab", "ab"]).weighted(Fraction(3, 2)).scale
        2
        """
        from fractions import Fraction

        try:
            factor = Fraction(weight)
        except TypeError:
            raise TypeError(f"weight must be a number, not {type(weight).__name__}") from None
        if source is not None:
            check_type("source", source, str)
        if factor <= 0:
            raise ValueError(f"weight must be above 0, not {weight}")
        try:
            result = self._times(factor.numerator)
        except OverflowError as error:
            named = "" if source is None else f"{source}: "
            raise OverflowError(f"{named}weight {weight}: {error}") from None
        result.scale = self.scale * factor.denominator
        result.weights = dict(self.weights)
        if source is not None and factor != 1:
            result.weights[source] = str(factor)
        return result

    def _add(self, other: Counts) -> None:
        """Add counts, after bringing both to a common scale."""
        common = lcm(self.scale, other.scale)
        if common != self.scale:
            multiplied = self._times(common // self.scale)
            self._table = multiplied._table
            self.beside = multiplied.beside
            self.scale = common
        self._accumulate(other, common // other.scale)
        self.weights = {**self.weights, **other.weights}
        if self.dialect != other.dialect:
            self.dialect = None
        if self.special_tokens != other.special_tokens:
            self.special_tokens = None

    def _times(self, factor: int) -> Counts:
        """Return the counts multiplied, with the documents and bytes of these."""
        result = self.empty()
        result.limit_memory(self._table.memory_limit)
        self._leave_memory(_LITTLE)
        result._accumulate(self, factor)
        return result

    def _accumulate(self, other: Counts, factor: int) -> None:
        """Add the counts of another value `factor` times, but its documents and bytes once."""
        self._table.merge(other._table, factor)
        self.beside = self.beside.plus(other.beside)

    def limit_memory(self, size: int | str | None) -> None:
        """Set the maximum size in memory; the rest is kept in temporary files.

        >>> counts = Counts.from_iterator(["ab ab"])
        >>> counts.limit_memory("1GB")
        """
        self._set_limits(memory_limit=memory_bytes(size))

    def _set_limits(self, **limits: Unpack[Limits]) -> None:
        """Check limits, and set that of memory: the engine does both where documents are added, even none."""
        self._table.add_documents([], **limits)

    def _leave_memory(self, most: int) -> None:
        """Move more than `most` bytes of limited counts to temporary files, unless they are being read."""
        with contextlib.suppress(RuntimeError):
            self._table.spill(most)

    def empty(self) -> Counts:
        """Return empty counts with the same rules.

        >>> len(Counts.from_iterator(["ab ab"]).empty())
        0
        """
        rules = self.pattern, self.boundaries, self.unmatched_text, self.normalization
        empty = object.__new__(Counts)._begin(*rules, self.added_tokens)
        empty.dialect = self.dialect
        empty.special_tokens = self.special_tokens
        empty.name = self.name
        return empty

    def _check_same_rules(self, other: Counts) -> None:
        """Refuse counts by other rules than those of these, which have a name if they were loaded."""
        for rule, arguments in _RULES.items():
            ours, theirs = getattr(self, rule), getattr(other, rule)
            if ours == theirs:
                continue
            if rule == "boundaries" and set(ours) == set(theirs):
                continue
            our_name, their_name = _name_of(ours), _name_of(theirs)
            where = f"{other.name}: " if other.name else ""
            differ = f"{where}counted with the {rule} {their_name}, but "
            if self.name and other.name:
                raise ValueError(f"{differ}{self.name} with {our_name}: they cannot be added up")
            differ += f"{our_name} is needed; leave out "
            raise ValueError(worded(partial(_or_give, differ, arguments)))

    def _to_train_on(self, other: Counts) -> Counts:
        """Return these rules, which a training needs, as counts like a tokenizer fulfil them.

        Its added tokens cut texts as boundaries do, and it leaves no text out.
        """
        if other.added_tokens is not None:
            self.unmatched_text = other.unmatched_text
            if {*self.boundaries} <= {text for text, _ in other.added_tokens}:
                self.boundaries, self.added_tokens = (), other.added_tokens
        return self

    def save(
        self, path: AnyPath, overwrite: bool = False, *, num_threads: int | None = None
    ) -> None:
        """Save as a file of counts; no partial file is ever left.

        The file is the same for any number of threads (default: one for each core).

        >>> import tempfile
        >>> counts = Counts.from_iterator(["ab ab"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     counts.save(f"{folder}/corpus.counts")
        ...     Counts.load(f"{folder}/corpus.counts") == counts
        True
        """
        check_path("path", path)
        limit = self._table.memory_limit
        if limit is not None:
            self._leave_memory(limit // 2)  # Sorting takes as much again.
        rules = counts_file.Rules(
            pattern=self.pattern,
            boundaries=list(self.boundaries),
            unmatched_text=self.unmatched_text,
            normalization=self.normalization,
            added_tokens=None if self.added_tokens is None else dict(self.added_tokens),
            total=self.total,
            scale=self.scale,
            weights=self.weights,
            dialect={} if self.dialect is None else self.dialect.to_dict(),
            special_tokens=list(self.special_tokens or ()),
            **self._read()._asdict(),
        )
        with counts_file.write_counts(path, rules, overwrite) as add:
            self._table.visit_sorted(add, num_threads=num_threads)

    def _read(self) -> Tally:
        return self.beside.plus(Tally(self._table.documents, self._table.bytes))

    @classmethod
    def load(
        cls,
        path: AnyPath,
        *,
        min_count: int = 1,
        memory_limit: int | str | None = None,
        progress: Progress | bool | None = None,
    ) -> Counts:
        """Load and check a file of counts, without pretokens rarer than `min_count`.

        `progress("loading", done, total)` is called several times, with bytes of the file.

        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "corpus.counts")
        ...     Counts.from_iterator(["ab ab", "ab"]).save(path)
        ...     list(Counts.load(path, min_count=2).items())
        [(b'ab', 2)]
        """
        min_count = integer("min_count", min_count, least=1)
        check_path("path", path)
        rules, parts = counts_file.read_counts(path)
        try:
            counted_by = rules.pattern, tuple(rules.boundaries), rules.unmatched_text
            added_tokens = None
            if rules.added_tokens is not None:
                listed = rules.added_tokens.items()
                added_tokens = tuple((text, tuple(flags)) for text, flags in sorted(listed))
            counts = object.__new__(cls)._begin(
                *counted_by, checked(rules.normalization), added_tokens
            )
            if rules.dialect:
                counts.dialect = Dialect(**rules.dialect)
                counts.special_tokens = tuple(rules.special_tokens)
        except (
            ValueError,
            TypeError,
        ) as refused:  # a pattern that the engine cannot scan, or no dialect
            raise ValueError(f"{os.fspath(path)}: {refused}") from None
        counts.name = os.fsdecode(path)
        counts.scale = rules.scale
        counts.weights = rules.weights
        counts.beside = Tally(rules.documents, rules.bytes, rules.replaced, rules.skipped)
        counts.limit_memory(memory_limit)
        with shown(progress) as report:
            for rows in parts:
                if min_count > 1:
                    rows = _frequent(rows, min_count * rules.scale)
                try:
                    counts._table.add_counts(*rows)
                except OverflowError as error:  # in a file that has a pretoken twice
                    raise ValueError(f"{os.fspath(path)}: {error}") from None
                if report is not None:
                    size = os.path.getsize(path)
                    report("loading", size * counts._table.total // rules.total, size)
        return counts

    def items(self) -> Iterator[tuple[bytes, int]]:
        """Yield each pretoken and its count, in the order of bytes.

        >>> dict(Counts.from_iterator(["b a b"]).items())
        {b' a': 1, b' b': 1, b'b': 1}
        """
        joined, ends, counts = self._table.sorted()
        for (start, end), count in zip(pairwise([0, *ends.tolist()]), counts.tolist(), strict=True):
            yield joined[start:end], count

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "beside": self._read(), "_table": self._table.sorted()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._table = self.empty()._table
        self._table.add_counts(*state["_table"])

    def __eq__(self, other: object) -> bool:
        """Whether all counts, rules of counting, scales and totals are equal."""
        if not isinstance(other, Counts):
            return NotImplemented
        ours, theirs = self.__getstate__(), other.__getstate__()
        for state in (ours, theirs):
            for attribute in ("dialect", "special_tokens", "name"):
                del state[attribute]
        our_pretokens, *our_numbers = ours.pop("_table")
        their_pretokens, *their_numbers = theirs.pop("_table")
        if ours != theirs or our_pretokens != their_pretokens:
            return False
        return all(map(np.array_equal, our_numbers, their_numbers))

    def __len__(self) -> int:
        """Return the number of distinct pretokens."""
        return len(self._table)

    @property
    def total(self) -> int:
        """The sum of all counts.

        >>> Counts.from_iterator(["ab ab", "ab"]).total
        3
        """
        return self._table.total

    @property
    def documents(self) -> int:
        """The number of documents that were counted; special tokens that are boundaries divide a document.

        >>> Counts.from_iterator(["ab ab", "ab"]).documents
        2
        """
        return self._read().documents

    @property
    def bytes(self) -> int:
        """The number of bytes of text that were read.

        >>> Counts.from_iterator(["ab ab", "ab"]).bytes
        7
        """
        return self._read().bytes

    def __repr__(self) -> str:
        return (
            f"Counts({counted(len(self), 'distinct pretoken')}, {self.total:,} in all, "
            f"{counted(self.documents, 'document')})"
        )


def _name_of(rule: Any) -> str:
    """Return the name of a pattern, if it has one, or else the beginning of a rule."""
    for name, pattern in PATTERNS.items():
        if pattern == rule:
            return name
    return shortened(rule or ())


def _or_give(differ: str, arguments: Sequence[str], name: Name) -> str:
    return f"{differ}{' and '.join(map(name, arguments))}, or give what counting was given"


def _frequent(rows: counts_file.Rows, least: int) -> counts_file.Rows:
    """Keep the rows whose count is at least `least`."""
    joined, ends, counts = rows
    is_frequent = counts >= least
    lengths = np.diff(ends, prepend=np.uint64(0))
    is_kept_byte = np.repeat(is_frequent, lengths.astype(np.int64))
    kept = np.frombuffer(joined, np.uint8)[is_kept_byte]
    return kept.tobytes(), np.cumsum(lengths[is_frequent], dtype=np.uint64), counts[is_frequent]


def default_specials(special_tokens: Sequence[str] | None) -> tuple[str, ...]:
    """Return the special tokens of a training, in order: `<|endoftext|>` unless others are given."""
    return (END_OF_TEXT_TOKEN,) if special_tokens is None else listed_special_tokens(special_tokens)
