"""Documents in, batches of a few megabytes out; what is not text is refused, repaired or left out here."""

import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple

from bpetite._engine import TextColumn, Xxh3128, is_utf8
from bpetite._internal.arguments import check_type, several
from bpetite._internal.columns import texts_in
from bpetite._internal.types import Invalid, Texts
from bpetite.reading.options import Reading, share_of

BLOCK = 1 << 21
"""The size of a batch in bytes."""

PIECE = 1 << 18
"""The number of bytes that are read at a time: few enough to still be in the cache when they are examined."""


MOST_ROWS = 1 << 16
"""The maximum number of rows of a column in a batch, or that are read at a time: they may all be empty."""


class ReadInput(NamedTuple):
    """An input that was read to its end."""

    name: str
    bytes: int
    xxh3_128: str = ""
    """The hash of its bytes, if asked for."""
    documents: int = 0
    """The number of its documents; in a batch, of those that are there."""
    affected: int = 0
    """The number of documents that were not UTF-8, and were repaired or skipped as the options say."""
    text_bytes: int = 0
    """The number of bytes of the texts of its documents; in a batch, of those that are there."""


class Batch(NamedTuple):
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

    ended: Sequence[ReadInput] = ()
    """The inputs that end here."""


def text_bytes(texts: Sequence[str | bytes]) -> int:
    """Return the number of bytes of texts in UTF-8."""
    if isinstance(texts, TextColumn):
        return texts.size
    return sum(
        len(text if isinstance(text, bytes) or text.isascii() else text.encode()) for text in texts
    )


def columns_in(documents: Any) -> Iterator[TextColumn] | None:
    """Return the texts of a column, in parts of about the size of a batch; None for what is no column."""
    kind = type(documents).__name__
    if isinstance(documents, str | bytes):
        raise TypeError(
            f"documents must be an iterable of str or bytes, not one {kind}: put it in a list"
        )
    if isinstance(documents, Mapping):
        raise TypeError(
            f"documents must be an iterable of str or bytes, not a {kind}: give the texts in it"
        )
    if isinstance(documents, TextColumn):
        return _parts([documents])
    arrays = texts_in(documents)
    return None if arrays is None else _parts(map(TextColumn, arrays))


def _parts(columns: Iterable[TextColumn]) -> Iterator[TextColumn]:
    for column in columns:
        rows = min(max(len(column) * BLOCK // max(column.size, 1), 1), MOST_ROWS)
        for first in range(0, len(column), rows):
            yield column[first : first + rows]


def batches_of(documents: Texts, invalid: Invalid = "error") -> Generator[Batch, None, None]:
    """Yield the documents of an iterable."""
    columns = columns_in(documents)
    first = read = 0
    for texts in _lists_of(documents) if columns is None else columns:
        read += texts.size if isinstance(texts, TextColumn) else sum(map(len, texts))
        kept, affected = repaired(texts, invalid)
        yield Batch(kept, first, affected=affected, read=read)
        first += len(texts)


def _lists_of(documents: Any) -> Iterator[list[str | bytes]]:
    texts: list[str | bytes] = []
    size = 0
    for document in several("documents", "str or bytes", documents):
        if not isinstance(document, str | bytes):
            raise TypeError(f"documents must be str or bytes, not {type(document).__name__}")
        texts.append(document)
        size += len(document)
        if size >= BLOCK:
            yield texts
            texts, size = [], 0
    yield texts


# Text and what is none
# -----------------------------------------------------------------------------------

_SURROGATE = re.compile("[\ud800-\udfff]")


def decoded(name: str, batch: Batch) -> list[str]:
    """Return the texts of a batch; a document that is not valid text is an error."""
    refuse_invalid(name, batch)
    return [text if isinstance(text, str) else text.decode("utf-8") for text in batch.texts]


def refuse_invalid(name: str, batch: Batch) -> None:
    """Refuse a document that is not text."""
    if isinstance(batch.texts, TextColumn) and batch.texts.are_text():
        return
    for place, text in enumerate(batch.texts):
        if not is_text(text):
            why = _fault(text, 0 if place else batch.begun)
            raise ValueError(f"{name}: document {batch.first + place}: {why}")


def repaired(texts: Sequence[str | bytes], invalid: Invalid) -> tuple[Sequence[str | bytes], int]:
    """Replace or leave out what is not valid text, as asked; return how many documents this affects, too."""
    if invalid == "error" or (isinstance(texts, TextColumn) and texts.are_text()):
        return texts, 0
    valid = [text for text in texts if is_text(text)]
    affected = len(texts) - len(valid)
    return (
        valid if invalid == "skip" or not affected else [replaced(text) for text in texts]
    ), affected


def is_text(text: str | bytes) -> bool:
    """Whether a document is valid text: bytes that are UTF-8, or a `str` without lone surrogates."""
    return (
        is_utf8(text) if isinstance(text, bytes) else text.isascii() or not _SURROGATE.search(text)
    )


def replaced(text: str | bytes) -> str:
    """Replace what is not valid text by U+FFFD."""
    if isinstance(text, bytes):
        return text.decode("utf-8", "replace")
    return _SURROGATE.sub("\ufffd", text)


def _fault(text: str | bytes, begun: int) -> str:
    """Say what is wrong with a document, of which `begun` bytes were in earlier pieces."""
    try:
        (text.decode if isinstance(text, bytes) else text.encode)("utf-8")
    except UnicodeDecodeError as error:
        return f"not valid UTF-8 at byte {begun + error.start}"
    except UnicodeEncodeError as error:
        return f"lone surrogate {error.object[error.start]!r} at character {error.start}"
    return "not valid text"


# Held-out documents
# -------------------------------------------------------------------------------------- The same
# document is on the same side in every order and format. So counting and encoding with the same
# share agree, and no copy of a held-out document is used for training.


def is_held_out(document: str | bytes, share: float | str) -> bool:
    """Whether a document belongs to the share that is held out, such as 0.01 or `1%`.

    >>> documents = [f"document {number}" for number in range(1000)]
    >>> sum(is_held_out(document, "10%") for document in documents)
    99
    """
    check_type("document", document, (str, bytes), "a str or bytes")
    hasher = Xxh3128()
    hasher.update(document.encode("utf-8") if isinstance(document, str) else document)
    return int(hasher.hexdigest(), 16) < int(share_of(share) * (1 << 128))


def one_side(
    name: str, batches: Generator[Batch, None, None], reading: Reading
) -> Generator[Batch, None, None]:
    """Yield the documents of the side that `reading` names; they must be whole."""
    with closing(batches):
        for batch in batches:
            if reading.hold_out is not None:
                refuse_invalid(name, batch)
                held_out = reading.split == "held-out"
                share = reading.hold_out
                texts = [text for text in batch.texts if is_held_out(text, share) == held_out]
                batch = batch._replace(texts=texts)
            yield batch
