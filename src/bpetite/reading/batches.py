"""Documents in, batches of a few megabytes out; what is not text is refused, repaired or left out here."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bpetite._engine import TextColumn, is_utf8
from bpetite._internal.arguments import several
from bpetite._internal.columns import texts_in
from bpetite._internal.types import Invalid, Texts

BLOCK = 1 << 21
"""The size of a batch in bytes."""

PIECE = 1 << 18
"""The number of bytes that are read at a time: few enough to still be in the cache when they are examined."""


_MOST_ROWS = 1 << 16
"""The maximum number of rows of a column in a batch: they may all be empty."""


class Ended(NamedTuple):
    """An input that was read to its end."""

    name: str
    size: int
    digest: str
    """The hash of its bytes, if asked for."""

    documents: int = 0
    """The number of its documents in the batch."""


@dataclass(frozen=True)
class Batch:
    """Some documents in order: of one input, or all those of several small ones."""

    texts: Sequence[str | bytes]
    """Unchecked text: bytes may not be UTF-8, and a `str` may contain lone surrogates."""

    first: int = 0
    """The number of documents of the input before these."""

    begun: int = 0
    """The number of bytes of the first text's document that were in earlier batches."""

    goes_on: bool = False
    """Whether the last text is only the beginning of a document, which the next batch continues."""

    affected: int = 0
    """The number of documents that were repaired or skipped since the last batch."""

    read: int = 0
    """The number of bytes of the input that were read so far."""

    ended: Sequence[Ended] = ()
    """The inputs that end here."""


def columns_in(documents: Any) -> Iterator[TextColumn] | None:
    """Return the texts of a column, in parts of about the size of a batch; None for what is no column."""
    if isinstance(documents, TextColumn):
        return _parts([documents])
    arrays = texts_in(documents)
    return None if arrays is None else _parts(map(TextColumn, arrays))


def _parts(columns: Iterable[TextColumn]) -> Iterator[TextColumn]:
    for column in columns:
        rows = min(max(len(column) * BLOCK // max(column.size, 1), 1), _MOST_ROWS)
        for first in range(0, len(column), rows):
            yield column[first : first + rows]


def batches_of(documents: Texts, invalid: Invalid = "error") -> Generator[Batch, None, None]:
    """Yield the documents of an iterable."""
    if isinstance(documents, str | bytes):
        kind = type(documents).__name__
        raise TypeError(f"documents must be several str or bytes, not one {kind}: put it in a list")
    gathered = Gathered("documents", invalid)
    read = 0
    columns = columns_in(documents)
    if columns is not None:
        for column in columns:
            gathered.add_joined(column)
            read += column.size
            yield gathered.take(read)
        return
    for document in several("documents", "str or bytes", documents):
        if not isinstance(document, str | bytes):
            raise TypeError(f"documents must be str or bytes, not {type(document).__name__}")
        gathered.add(document)
        read += len(document)
        if gathered.full:
            yield gathered.take(read)
    yield gathered.take(read)


def decoded(name: str, batch: Batch) -> list[str]:
    """Return the texts of a batch; a document that is not valid text is an error."""
    try:
        return list(map(_text, batch.texts))
    except ValueError:
        refuse_invalid(name, batch)
        raise


def refuse_invalid(name: str, batch: Batch) -> None:
    """Refuse a document that is not text."""
    if not isinstance(batch.texts, TextColumn) or not batch.texts.are_text():
        for place, text in enumerate(batch.texts):
            _check(name, batch.first + place, text, 0 if place else batch.begun)


class Gathered:
    """Documents on their way into a batch."""

    def __init__(self, name: str, invalid: Invalid) -> None:
        self._name = name
        self._invalid = invalid
        self._texts: list[Any] = []
        self._joined: TextColumn | None = None
        self._size = 0
        self._first = 0
        self._begun = 0
        self._affected = 0
        self._goes_on = False
        """Whether the next text continues the document before it."""
        self._is_repaired = False
        """Whether the current document was repaired."""
        self.number = 0

    @property
    def full(self) -> bool:
        """Whether there is enough for a batch."""
        return self._joined is not None or self._size >= BLOCK

    def add(self, text: str | bytes, *, checked: bool = False) -> None:
        """Take the next document. Where bytes must be UTF-8, their user checks them."""
        self.number += 1
        self._size += len(text)
        self._is_repaired &= self._goes_on
        self._goes_on = False
        is_checked = checked or (self._invalid == "error" and isinstance(text, bytes))
        if not is_checked and not _is_text(text):
            if self._invalid == "error":
                _check(self._name, self.number - 1, text)
            self._affected += not self._is_repaired
            self._is_repaired = True
            if self._invalid == "skip":
                return
            text = replaced(text)
        self._keep(text)

    def _keep(self, text: str | bytes) -> None:
        self._texts.append(text)

    def add_joined(self, texts: TextColumn) -> None:
        """Take the next documents, which make a whole batch."""
        if self._invalid == "error" or texts.are_text():
            self.number += len(texts)
            self._joined = texts
        else:
            for text in texts:
                self.add(text)

    def add_repaired(self, text: str) -> None:
        """Take a document that is repaired already."""
        self._affected += 1
        self.add(text, checked=True)

    def lack(self, why: str) -> None:
        """Handle a record without text, which is an error or skipped."""
        self.number += 1
        if self._invalid != "skip":
            for place, text in enumerate(self._texts):  # The first error in the input is raised.
                _check(self._name, self._first + place, text)
            raise ValueError(f"{self._name}: {why}")
        self._affected += 1

    def add_rows(self, texts: Iterable[bytes | None], column: str) -> None:
        """Take the next rows of a column, of which a null has no text."""
        for text in texts:
            if text is None:
                self.lack(f"row {self.number + 1}: column {column!r} is null")
            else:
                self.add(text)

    def take(self, read: int, *, goes_on: bool = False) -> Batch:
        """Return the batch; if the last document `goes_on`, its other pieces have the same number."""
        self.number -= goes_on
        texts = self._texts if self._joined is None else self._joined
        batch = Batch(texts, self._first, self._begun, goes_on, self._affected, read)
        self._begun = (len(texts) == 1) * self._begun + len(texts[-1]) if goes_on else 0
        self._first, self._goes_on = self.number, goes_on
        self._texts, self._joined, self._size, self._affected = [], None, 0, 0
        return batch


_SURROGATE = re.compile("[\ud800-\udfff]")


def _text(text: str | bytes) -> str:
    """Return a document's text; one without valid text is an error."""
    if isinstance(text, bytes):
        return text.decode("utf-8")
    if not text.isascii():
        text.encode("utf-8")
    return text


def _is_text(text: str | bytes) -> bool:
    """Whether a document is valid text: bytes that are UTF-8, or a `str` without lone surrogates."""
    if isinstance(text, bytes) and len(text) > PIECE:
        return is_utf8(text)
    try:
        _text(text)
    except UnicodeError:
        return False
    return True


def replaced(text: str | bytes) -> str:
    """Replace what is not valid text by U+FFFD."""
    if isinstance(text, bytes):
        return text.decode("utf-8", "replace")
    return _SURROGATE.sub("\ufffd", text)


def _check(name: str, number: int, text: str | bytes, begun: int = 0) -> None:
    """Refuse a document that is not UTF-8; `begun` of its bytes were in earlier pieces."""
    if _is_text(text):
        return
    try:
        _text(text)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{name}: document {number}: not valid UTF-8 at byte {begun + error.start}"
        ) from None
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise ValueError(
            f"{name}: document {number}: lone surrogate {half!r} at character {error.start}"
        ) from None
