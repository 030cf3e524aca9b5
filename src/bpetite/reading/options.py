"""How inputs become documents: the options that go with a path, wherever one is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bpetite._internal.arguments import check_word, worded
from bpetite._internal.integers import BYTES, integer, number_with_unit
from bpetite._internal.record import Record, replaced
from bpetite._internal.types import Format, Invalid, Split
from bpetite.reading.formats import FORMS

if TYPE_CHECKING:
    from fractions import Fraction


def share_of(share: Any) -> Fraction:
    """Return `0.01` or `1%` as a number between 0 and 1.

    >>> share_of("2.5%"), share_of(0.01)
    (Fraction(1, 40), Fraction(1, 100))
    """
    from fractions import Fraction

    percent = isinstance(share, str) and share.strip().endswith("%")
    try:
        number = Fraction(str(share).strip().rstrip("%")) / (100 if percent else 1)
    except (ValueError, ZeroDivisionError):
        number = Fraction(0)
    if not 0 < number < 1:
        needed = f"must be a share above 0 and below 1, such as 1% or 0.01, not {share!r:.100}"
        raise ValueError(worded(lambda name: f"{name('hold_out')} {needed}"))
    return number


class Reading(Record):
    """How inputs become documents.

    >>> Reading(separator="<|endoftext|>", hold_out="1%").hold_out
    '1/100'
    """

    separator: str | None = None
    """The text between the documents of a text file; without one, the file is a document."""

    text_field: str = "text"
    """The field of a JSON line with the text."""

    text_column: str = "text"
    """The column of a Parquet file with the text."""

    invalid: Invalid = "error"
    """The treatment of invalid text: an error, U+FFFD in its place, or no document."""

    input_format: Format = "auto"
    """The format of the inputs; `auto` finds it by the name and the content of each."""

    cut: Callable[[bytes], int | None] | None = None
    """Finds where a long document may be cut without changing its pretokens; None means nowhere."""

    hold_out: float | str | None = None
    """The share of documents to hold out, such as `1%`; a hash of each decides which."""

    split: Split = "train"
    """The side of the split that is read: the documents for training, or those held out."""

    max_document: int | str = 1 << 30
    """The bytes of the largest document that is held as a whole; most text files can be read in pieces,
    and what has less than a few megabytes is always taken."""

    def __post_init__(self) -> None:
        size = number_with_unit("max_document", self.max_document, BYTES)
        most = integer("max_document", size, least=1)
        self.__dict__["max_document"] = most
        check_word("split", self.split, ("train", "held-out"))
        check_word("invalid", self.invalid, ("error", "replace", "skip"))
        check_word("input_format", self.input_format, ("auto", *FORMS))
        if self.hold_out is not None:
            self.__dict__["hold_out"] = str(share_of(self.hold_out))
            self.__dict__["cut"] = None  # Only a whole document has a hash.
        elif self.split == "held-out":
            raise ValueError(
                worded(
                    lambda name: f"{name('split', 'held-out')} needs {name('hold_out')}, such as 1%"
                )
            )
        for name in ("separator", "text_field", "text_column"):
            if not isinstance(value := getattr(self, name), str | None):
                raise TypeError(f"{name} must be a str, not {type(value).__name__}")
        if self.separator == "":
            raise ValueError(worded(lambda name: f"{name('separator')} must not be empty"))

    def of_field(self, field: str | None) -> Reading:
        """Return these options with the text in this field or column; unchanged if it is None.

        >>> Reading(text_field="body").of_field("content").text_field
        'content'
        """
        return self if field is None else replaced(self, text_field=field, text_column=field)

    def to_dict(self) -> dict[str, Any]:
        """Return the options, as manifests record them and `Counts.from_files` accepts them.

        >>> Reading(invalid="skip").to_dict()["invalid"]
        'skip'
        """
        return {name: getattr(self, name) for name in self._fields if name != "cut"}
