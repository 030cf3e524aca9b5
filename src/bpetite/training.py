"""Training from counts: the engine learns the merges, and the dialect decides their ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from os import PathLike
from typing import Any, TypedDict, Unpack

from bpetite._constants import BASE_VOCAB_SIZE, LARGEST_COUNT, Pattern
from bpetite._engine import extend_merges, train_merges
from bpetite._internal.arguments import check_type, several, worded
from bpetite._internal.integers import integer
from bpetite._internal.memory import available_memory
from bpetite._internal.record import Record, replaced
from bpetite._internal.types import MergeOptions, Progress, ReadingOptions, Texts
from bpetite._internal.warning import warn
from bpetite.counts import Counts, default_specials, memory_bytes
from bpetite.counts.counts import Tokenizing
from bpetite.dialect import Dialect
from bpetite.encoding.encoder import encoder_of
from bpetite.normalization import Normalization, checked
from bpetite.patterns import PATTERNS, named_pattern
from bpetite.vocabulary import Vocabulary


class Conditions(TypedDict, total=False):
    """What the bytes of a new token must fulfil."""

    max_token_length: int | None
    max_words: int | None
    without: Sequence[str]
    whole_characters: bool


CONDITIONS = frozenset(Conditions.__annotations__)


class Superwords(Record):
    """How tokens that join words are learned: after a first stage, with pretokens of another pattern.

    >>> from bpetite import Tokenizer
    >>> tok = Tokenizer.train("of the " * 9, 262, superwords=Superwords(at=260))
    >>> tok.vocabulary.tokens[261]
    b' of the'
    """

    at: int
    """The size at which superwords begin, counted as `vocab_size` is."""
    pattern: Pattern = "superwords"
    """The pattern of the second stage, and of the tokenizer."""
    max_words: int | None = 4
    """The maximum number of words in a token."""
    without: Sequence[str] = (": ",)
    """Texts that no superword contains."""
    counts: Counts | None = None
    """Counts by this pattern, of other texts than the first stage's, or where those are read only once."""

    def first_size(self, vocab_size: int) -> int:
        """Return the size of the first stage, of a vocabulary of this size.

        >>> Superwords(at=300).first_size(200)
        Traceback (most recent call last):
        ValueError: superwords.at is 300, which is above the size of the vocabulary, 200
        """
        at = integer("superwords.at", self.at, least=0)
        if at > vocab_size:
            raise ValueError(
                f"superwords.at is {at}, which is above the size of the vocabulary, {vocab_size}"
            )
        return at


class ExtendingOptions(Conditions, total=False):
    """How a vocabulary gets further tokens."""

    pattern: Pattern | None
    min_count: int
    num_threads: int | None
    progress: Progress | bool | None


class MergingOptions(Conditions, total=False):
    """How counts become a vocabulary."""

    dialect: str | Dialect
    special_tokens: Sequence[str] | None
    min_count: int
    total_size: int | None
    num_threads: int | None
    memory_limit: int | str | None
    progress: Progress | bool | None
    superwords: Superwords | None


class TrainingOptions(MergingOptions, total=False):
    """How texts become a vocabulary."""

    pattern: Pattern
    normalization: Normalization | None


class FileTrainingOptions(TrainingOptions, ReadingOptions, total=False):
    """How files become a vocabulary."""


class Training:
    """The options of a training, except the corpus and the size.

    They are checked when this is made, so that errors are raised before a corpus is read. The
    dialect and the special tokens are those of the counts that are trained on, unless others are
    given.

    >>> Training("cs336").planned_tokens(500)
    243
    >>> counts = Counts.from_iterator(["ab"], dialect="cs336", special_tokens=["<s>"])
    >>> Training(counts=counts).special_tokens
    ('<s>',)
    """

    def __init__(
        self,
        dialect: str | Dialect | None = None,
        pattern: Pattern | None = None,
        special_tokens: Sequence[str] | None = None,
        min_count: int = 1,
        counts: Counts | None = None,
        normalization: Normalization | None = None,
        superwords: Superwords | None = None,
        **conditions: Unpack[Conditions],
    ) -> None:
        if superwords is not None:
            check_type("superwords", superwords, Superwords)
        if counts is not None:
            if superwords is not None and superwords.counts is None:
                raise ValueError(
                    "superwords: with counts, those by its pattern are needed, too (counts=)"
                )
            dialect = counts.dialect if dialect is None else dialect
            if special_tokens is None:
                special_tokens = counts.special_tokens
            if special_tokens is None:
                special_tokens = counts.boundaries or None
            if normalization is None:
                normalization = counts.normalization
        self.dialect = Dialect.named("bpetite" if dialect is None else dialect)
        self.pattern = None if pattern is None else named_pattern(pattern)
        """None means the pattern of the counts."""
        self.special_tokens = default_specials(special_tokens)
        self.min_count = integer("min_count", min_count, least=1)
        self.conditions = checked_conditions(**conditions)
        self.normalization = checked(normalization)
        self.superwords = superwords

    def vocab_size_of(self, vocab_size: int | None, total_size: int | None) -> int:
        """Return the size as the dialect counts it, of this or of the number of all tokens: one is given.

        >>> Training("bpetite").vocab_size_of(None, 10_000), Training("cs336").vocab_size_of(None, 10_000)
        (9999, 10000)
        """
        if vocab_size is None and total_size is None:
            raise TypeError("vocab_size must be an integer, not None, unless total_size is given")
        if vocab_size is not None and total_size is not None:
            raise ValueError("vocab_size and total_size: only one of them can be given")
        if vocab_size is not None:
            return vocab_size
        specials = len(self.special_tokens)
        size = integer("total_size", total_size, least=BASE_VOCAB_SIZE + specials)
        return size if self.dialect.vocab_size_counts == "everything" else size - specials

    def planned_tokens(self, vocab_size: int) -> int:
        """Return the number of tokens to learn."""
        return self.dialect.planned_tokens(vocab_size, len(self.special_tokens))

    def tokens_of_first_stage(self, vocab_size: int) -> int:
        """Return how many tokens are learned before superwords: all, if none are asked for."""
        if self.superwords is not None:
            vocab_size = self.superwords.first_size(vocab_size)
        return self.planned_tokens(vocab_size)

    @property
    def counting(self) -> dict[str, Any]:
        """The options that `Counts` takes."""
        pattern = PATTERNS["gpt2"] if self.pattern is None else self.pattern
        return {
            "pattern": pattern,
            "dialect": self.dialect,
            "special_tokens": self.special_tokens,
            "normalization": self.normalization,
        }

    def merging(self, most: int, scale: int) -> MergeOptions:
        """Return the options of the engine to learn up to `most` tokens from counts of a scale."""
        # 1 keeps everything, even with weights below 1.
        least = 1 if self.min_count == 1 else self.min_count * scale
        if least > LARGEST_COUNT:
            raise OverflowError(
                f"min_count {self.min_count} is larger than any count, which has 64 bits"
            )
        conditions = self.conditions
        return {
            "tie_break": self.dialect.tie_break,
            "max_tokens": min(most, LARGEST_COUNT),
            "min_count": least,
            "max_token_length": conditions.get("max_token_length"),
            "max_words": conditions.get("max_words"),
            "without": [text.encode("utf-8") for text in conditions.get("without", ())],
            "whole_characters": conditions.get("whole_characters", False),
        }

    @property
    def trained_with(self) -> dict[str, Any]:
        """The options that artifacts record besides the dialect and the pattern."""
        rare = {} if self.min_count == 1 else {"min_count": self.min_count}
        return {**rare, **self.conditions}

    def of_stage(self, superwords: Superwords) -> Training:
        """Return the options of the stage that learns superwords.

        >>> Training(max_token_length=20).of_stage(Superwords(at=300)).conditions
        {'max_token_length': 20, 'max_words': 4, 'without': (': ',)}
        """
        conditions: Conditions = {
            **self.conditions,
            "max_words": superwords.max_words,
            "without": superwords.without,
        }
        return Training(
            self.dialect,
            superwords.pattern,
            self.special_tokens,
            self.min_count,
            normalization=self.normalization,
            **conditions,
        )


def checked_conditions(
    max_token_length: int | None = None,
    max_words: int | None = None,
    without: Sequence[str] = (),
    whole_characters: bool = False,
) -> Conditions:
    """Return the conditions that are set.

    >>> checked_conditions(max_words=4, without=[": ", ": "])
    {'max_words': 4, 'without': (': ',)}
    >>> checked_conditions(without=[": ", ""])
    Traceback (most recent call last):
    ValueError: without: an empty text is in every token
    """
    conditions: Conditions = {}
    if max_token_length is not None:
        longest = integer("max_token_length", max_token_length, least=1)
        conditions["max_token_length"] = min(longest, LARGEST_COUNT)
    if max_words is not None:
        most = integer("max_words", max_words, least=1)
        conditions["max_words"] = min(most, LARGEST_COUNT)
    if isinstance(without, str):
        expected = "must be texts, not one string; put it in a list"
        raise TypeError(worded(lambda name: f"{name('without')} {expected}"))
    texts = tuple(dict.fromkeys(several("without", "texts", without)))
    for text in texts:
        check_type("without", text, str, "texts")
        text.encode("utf-8")  # raises for a lone surrogate
    if "" in texts:
        raise ValueError(worded(lambda name: f"{name('without')}: an empty text is in every token"))
    if texts:
        conditions["without"] = texts
    check_type("whole_characters", whole_characters, bool, "a bool")
    if whole_characters:
        conditions["whole_characters"] = True
    return conditions


def train_vocabulary(
    counts: Counts,
    vocab_size: int,
    training: Training | None = None,
    *,
    count_again: Callable[[dict[str, Any]], Counts] | None = None,
    num_threads: int | None = None,
    memory_limit: int | str | None = None,
    progress: Progress | None = None,
    keep_counts: bool = True,
) -> Vocabulary:
    """Learn merges from counts until the vocabulary has the wanted size or no pair is left.

    If merging is expected to need more than `memory_limit`, in addition to the counts, it is
    refused at once. Counts that are not kept are empty afterwards, and their memory is free for
    merging. Superwords are learned from their own counts, or from those that `count_again` returns
    for other options of `Counts`.

    >>> train_vocabulary(Counts.from_iterator(["ab ab ab"]), 258).merges
    ((97, 98), (32, 256))
    """
    training = training or Training()
    rules = training.dialect
    check_counted_by(counts, training)
    rows = train_merges(
        counts._table,
        training.merging(training.tokens_of_first_stage(vocab_size), counts.scale),
        base=rules.base_bytes(),
        shared_tokens=rules.equal_tokens == "shared",
        num_threads=num_threads,
        progress=progress,
        expect=partial(_check_memory, memory_bytes(memory_limit)),
        keep_counts=keep_counts,
    )
    made_of = rules, training.special_tokens
    vocabulary = Vocabulary.from_merges(
        rows, *made_of, counts.pattern, training.trained_with, training.normalization
    )
    superwords = training.superwords
    if superwords is None:
        return vocabulary
    second = training.of_stage(superwords)
    looser = superwords.counts
    if looser is None:
        assert count_again is not None
        looser = count_again(second.counting)
    check_counted_by(looser, second)
    add = training.planned_tokens(vocab_size) - vocabulary.arrays.merge_count
    # The symbol of a token is its place in the order of ids, there as here.
    rows += _further_rows(vocabulary, looser, add, second, num_threads, progress)
    options = training.trained_with | second.trained_with
    options["superwords_at"] = superwords.at
    return Vocabulary.from_merges(rows, *made_of, looser.pattern, options, training.normalization)


def extend_vocabulary(
    vocabulary: Vocabulary,
    counts: Counts,
    add: int,
    *,
    pattern: Pattern | None = None,
    min_count: int = 1,
    new_ids: Sequence[int] | None = None,
    num_threads: int | None = None,
    progress: Progress | None = None,
    **conditions: Unpack[Conditions],
) -> Vocabulary:
    """Learn up to `add` further tokens from counts by its rules; existing ids keep their meaning.

    The words are the ids that the vocabulary's own encoder gives each counted pretoken. New merges
    rank behind all others, join no tokens that only stand for the bytes of a character, and make
    only tokens whose bytes no token has. So the new encoding of a pretoken is the old one with the
    new merges applied, whatever the order of the old ones. (`_extender.py` says it in
    Python.) Ties go as in the vocabulary's dialect, or, where its merges are in an order that
    training could not give, to the smallest ids. With a `pattern`, counts are by that one, which is
    the vocabulary's from then on. New tokens have `new_ids`, or those that follow the
    largest one in use.

    >>> old = train_vocabulary(Counts.from_iterator(["ab"]), 300)
    >>> extend_vocabulary(old, Counts.from_iterator(["abc"]), 5).merges
    ((97, 98), (256, 99))
    """
    training = Training(vocabulary.dialect, min_count=min_count, **conditions)
    add = integer("add", add, least=0)
    rows = _further_rows(vocabulary, counts, add, training, num_threads, progress)
    ids = memoryview(vocabulary.arrays.ids).cast("I").tolist()
    extended = vocabulary.extended(ids, rows, new_ids)
    return extended if pattern is None else replaced(extended, pattern=named_pattern(pattern))


def _further_rows(
    vocabulary: Vocabulary,
    counts: Counts,
    add: int,
    training: Training,
    num_threads: int | None,
    progress: Progress | None,
) -> bytes:
    """Learn merges behind those of a vocabulary; return rows of symbols, which are places among its ids."""
    options = training.merging(add, counts.scale)
    if vocabulary.irregular:
        options["tie_break"] = "smallest_ids"
    specials = (text.encode("utf-8") for text in vocabulary.special_tokens)
    options["taken"] = [*vocabulary.decode_only.values(), *specials]
    arrays = vocabulary.arrays
    return extend_merges(
        encoder_of(vocabulary),
        counts._table,
        options,
        ids=arrays.ids,
        tokens=arrays.tokens,
        ends=arrays.ends,
        apart=apart_in(vocabulary),
        num_threads=num_threads,
        progress=progress,
        expect=partial(_check_memory, None),
    )


def apart_in(vocabulary: Vocabulary) -> list[int]:
    """Return the tokens that no new merge joins: those that stand for a part of a character.

    >>> apart_in(Vocabulary({byte: bytes([byte]) for byte in range(256)}, []))
    []
    """
    # Where characters are tokens, those in ASCII have a token for their byte, too.
    spare = (token for token in vocabulary.decode_only.values() if len(token) == 1)
    if not vocabulary.provisional and not any(token < b"\x80" for token in spare):
        return []
    of_bytes = {byte: own for byte, own in vocabulary.id_of_byte.items() if byte >= 0x80}
    return sorted({*vocabulary.provisional, *of_bytes.values()})


def _check_memory(limit: int | None, expected: int) -> None:
    """Raise an error if merging would probably exceed the limit; warn if it exceeds the free memory."""
    takes = f"merging is expected to take {_gigabytes(expected)}"
    if limit is not None and expected > limit:
        exceeded = f"{takes}, but the limit is {_gigabytes(limit)}"
        raise MemoryError(
            worded(lambda name: f"{exceeded}; a larger {name('min_count')} needs less")
        )
    free = available_memory()
    if free is not None and expected > free:
        exceeded = f"{takes} of memory, but only {_gigabytes(free)} are free"
        message = worded(lambda name: f"{exceeded}; a larger {name('min_count')} needs less")
        warn(message, RuntimeWarning)


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


def check_counted_by(counts: Counts, training: Training) -> None:
    """Refuse counts that were made with other rules than those of the training."""
    if not isinstance(counts, Counts):
        raise TypeError(
            f"counts must be Counts, not {type(counts).__name__}; Counts.load reads a file of them"
        )
    needed = Counts(**training.counting | {"pattern": training.pattern or counts.pattern})
    needed._to_train_on(counts)._check_same_rules(counts)


def counts_for(
    tokenizer: Tokenizing,
    texts_or_counts: Texts | Counts,
    num_threads: int | None = None,
    progress: Progress | None = None,
    pattern: Pattern | None = None,
) -> Counts:
    """Return counts by the rules of a tokenizer, but perhaps by another pattern.

    Those of other rules are refused; texts, or files of `Path` objects, are counted.
    """
    if isinstance(texts_or_counts, Counts):
        _check_counted_for(texts_or_counts, tokenizer.vocabulary, pattern)
        return texts_or_counts
    how: dict[str, Any] = {
        "tokenizer": tokenizer,
        "pattern": pattern,
        "num_threads": num_threads,
        "progress": progress,
    }
    paths = [texts_or_counts] if isinstance(texts_or_counts, PathLike) else texts_or_counts
    if isinstance(paths, list) and paths and all(isinstance(path, PathLike) for path in paths):
        return Counts.from_files(paths, **how)
    return Counts.from_iterator(texts_or_counts, **how)


def _check_counted_for(counts: Counts, vocabulary: Vocabulary, pattern: Pattern | None) -> None:
    needed = Counts._begin_like(vocabulary, pattern)
    if counts.added_tokens is None:
        needed = Counts(
            pattern=needed.pattern,
            dialect=vocabulary.dialect,
            special_tokens=list(vocabulary.special_tokens),
            normalization=vocabulary.normalization,
        )
    needed._check_same_rules(counts)
