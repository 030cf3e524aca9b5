"""Dialects: the rules in which BPE trainers differ, as one immutable value.

A dialect is chosen by name (`Dialect.named("cs336")`) or axis by axis; artifacts record it.
`docs/dialects.md` explains every axis with an example where dialects disagree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args, get_type_hints

from bpetite._constants import BASE_VOCAB_SIZE, SUPERWORDS_PATTERN, Pattern
from bpetite._internal.arguments import check_type, check_word, several, worded
from bpetite._internal.integers import integer
from bpetite._internal.record import Record, replaced


class Dialect(Record):
    """The rules that decide ties, ids and specials.

    >>> Dialect.named("cs336").tie_break
    'largest_bytes'
    >>> Dialect.named("bpetite").replace(special_ids="first").name
    'custom'
    """

    tie_break: Literal["smallest_ids", "largest_bytes", "smallest_bytes"] = "smallest_ids"
    """The pair that is merged when several have the highest count: the smallest pair of ids, or the largest
    or smallest pair of token bytes (compared as tuples of bytes; for equal bytes, the smaller ids)."""

    base_ids: Literal["byte_value", "gpt2_printable"] = "byte_value"
    """The order in which the 256 base tokens get their ids: by byte value, or in the order of GPT-2's
    printable characters for bytes (`!` to `~`, `¡` to `¬`, `®` to `ÿ`, then the rest by value)."""

    special_ids: Literal["first", "after_bytes", "last"] = "last"
    """The place of the special tokens' ids, in the order given: before the base tokens, between the base
    tokens and the merges, or after the merges."""

    vocab_size_counts: Literal["bytes_and_merges", "everything"] = "bytes_and_merges"
    """What `vocab_size` counts: base tokens and merges, or all tokens including special ones."""

    specials_in_corpus: Literal["text", "boundary"] = "text"
    """Whether a special token in the corpus is ordinary text, or a boundary that is never counted or
    crossed."""

    equal_tokens: Literal["distinct", "shared"] = "distinct"
    """Whether two merges with the same bytes make two tokens, or share one (the second adds no id)."""

    unmatched_text: Literal["counted", "skipped"] = "counted"
    """Whether text that the pattern does not match is counted as a pretoken, or left out of the counts.
    (Encoding never leaves text out.) Most named patterns match all text; that between the matches of
    `superwords` is always counted."""

    def __post_init__(self) -> None:
        for axis, choices in AXES.items():
            check_word(axis, getattr(self, axis), choices)

    @staticmethod
    def named(name: str | Dialect) -> Dialect:
        """Return the dialect of that name (a `Dialect` is returned unchanged).

        >>> Dialect.named("tiktoken").special_ids
        'last'
        """
        if isinstance(name, Dialect):
            return name
        check_type("dialect", name, str, "a str or a Dialect")
        if name not in DIALECTS:
            raise ValueError(
                f"dialect: {name!r} is not known; the named ones are {', '.join(DIALECTS)}"
            )
        return DIALECTS[name]

    @property
    def name(self) -> str:
        """The name of this dialect, or `custom` if it has none.

        >>> Dialect(special_ids="first").name
        'custom'
        """
        return next((name for name, dialect in DIALECTS.items() if dialect == self), "custom")

    def replace(self, **axes: Any) -> Dialect:
        """Return this dialect with some axes changed.

        >>> Dialect().replace(tie_break="largest_bytes").tie_break
        'largest_bytes'
        """
        if unknown := sorted(set(axes) - set(AXES)):
            raise ValueError(
                f"dialect: there is no axis {unknown[0]!r}; the axes are {', '.join(AXES)}"
            )
        return replaced(self, **axes)

    def planned_tokens(self, vocab_size: int, special_count: int) -> int:
        """Return how many tokens merging may add; a `vocab_size` too small for all other tokens is refused.

        >>> Dialect.named("cs336").planned_tokens(500, 1)
        243
        """
        vocab_size = integer("vocab_size", vocab_size)
        special_count = integer("special_count", special_count, least=0)
        counts_everything = self.vocab_size_counts == "everything"
        smallest = BASE_VOCAB_SIZE + (special_count if counts_everything else 0)
        if vocab_size < smallest:
            specials = (
                f" and {special_count} special" if counts_everything and special_count else ""
            )
            needed = f"must be at least {smallest} (256 base tokens{specials}), not {vocab_size}"
            raise ValueError(worded(lambda name: f"{name('vocab_size')} {needed}"))
        return vocab_size - smallest

    def boundaries(self, special_tokens: Sequence[str]) -> tuple[str, ...]:
        """Return the special tokens that are boundaries between documents.

        >>> Dialect.named("tiktoken").boundaries(["<|x|>"]), Dialect.named("bpetite").boundaries(["<|x|>"])
        (('<|x|>',), ())
        """
        texts = tuple(several("special_tokens", "str", special_tokens))
        return texts if self.specials_in_corpus == "boundary" else ()

    def base_bytes(self) -> bytes:
        """Return the 256 byte values in the order in which the base tokens get their ids.

        >>> Dialect.named("huggingface").base_bytes()[:3]
        b'!"#'
        """
        if self.base_ids == "byte_value":
            return bytes(range(BASE_VOCAB_SIZE))
        printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
        return bytes(printable + sorted(set(range(BASE_VOCAB_SIZE)) - set(printable)))

    def base_vocabulary(self, special_count: int) -> dict[int, bytes]:
        """Return the base tokens by id.

        >>> Dialect.named("cs336").base_vocabulary(1)[1]
        b'\\x00'
        """
        special_count = integer("special_count", special_count, least=0)
        first = special_count if self.special_ids == "first" else 0
        return {first + place: bytes([byte]) for place, byte in enumerate(self.base_bytes())}

    def first_merge_id(self, special_count: int) -> int:
        """Return the id of the first token that merging adds.

        >>> Dialect.named("cs336").first_merge_id(1)
        257
        """
        special_count = integer("special_count", special_count, least=0)
        return BASE_VOCAB_SIZE + (0 if self.special_ids == "last" else special_count)

    def special_token_ids(
        self, special_tokens: Sequence[str], mergeable_vocab_size: int
    ) -> dict[str, int]:
        """Return the id of every special token after this number of base and merged tokens.

        >>> Dialect.named("bpetite").special_token_ids(["<|endoftext|>"], 258)
        {'<|endoftext|>': 258}
        """
        mergeable_vocab_size = integer("mergeable_vocab_size", mergeable_vocab_size, least=0)
        texts = several("special_tokens", "str", special_tokens)
        firsts = {"first": 0, "after_bytes": BASE_VOCAB_SIZE, "last": mergeable_vocab_size}
        return {token: firsts[self.special_ids] + place for place, token in enumerate(texts)}

    def to_dict(self) -> dict[str, str]:
        """Return the choice on every axis, as artifacts record it.

        >>> Dialect.named("cs336").to_dict()["tie_break"]
        'largest_bytes'
        """
        return dict(vars(self))


AXES: dict[str, tuple[str, ...]] = {
    axis: get_args(choices) for axis, choices in get_type_hints(Dialect).items()
}
"""The choices on every axis."""

DIALECTS: dict[str, Dialect] = {
    "bpetite": Dialect(),
    "cs336": Dialect(
        tie_break="largest_bytes",
        special_ids="first",
        vocab_size_counts="everything",
        specials_in_corpus="boundary",
        equal_tokens="shared",
        unmatched_text="skipped",
    ),
    "huggingface": Dialect(
        base_ids="gpt2_printable",
        special_ids="first",
        vocab_size_counts="everything",
        equal_tokens="shared",
    ),
    "tiktoken": Dialect(
        vocab_size_counts="everything",
        specials_in_corpus="boundary",
        equal_tokens="shared",
        unmatched_text="skipped",
    ),
}
"""The named dialects."""


def unmatched_text_of(rules: Dialect, pattern: Pattern) -> str:
    """Return what becomes of text between the matches of a pattern: the dialect's `unmatched_text`.

    The pattern `superwords` leaves nearly all words between its matches: they are counted.

    >>> rules = Dialect.named("tiktoken")
    >>> unmatched_text_of(rules, "[a-z]+"), unmatched_text_of(rules, SUPERWORDS_PATTERN)
    ('skipped', 'counted')
    """
    steps = (pattern,) if isinstance(pattern, str) else pattern
    return "counted" if SUPERWORDS_PATTERN in steps else rules.unmatched_text
