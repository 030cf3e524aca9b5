"""An input in, its documents out, in order and in batches of a few megabytes.

An input is plain text, JSON lines or Parquet, each but the last also in gzip or zstd; which of them it is,
its name and its first bytes must agree on. A document is a whole text file, what stands between separators in
one, the text field of a line, or the text column of a row. Memory is bounded by the largest document, or by a
few megabytes where the pattern lets documents be cut (`Reading.cut`).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bpetite._engine import Buffers, FieldTexts, JoinedTexts, SplitTexts
from bpetite.corpus.columns import column_texts
from bpetite.corpus.content import Format, Raw, recognise, unpacked
from bpetite.corpus.sources import Input

Invalid = Literal["error", "replace", "skip"]

BLOCK = 1 << 22
"""How much text makes a batch."""


@dataclass(frozen=True)
class Reading:
    """How inputs become documents."""

    separator: str | None = None
    """What stands between the documents of a text file; without one, the file is a document."""

    text_field: str = "text"
    """The field of a JSON line that holds the text."""

    text_column: str = "text"
    """The column of a Parquet file that holds the text."""

    invalid: Invalid = "error"
    """What happens to a document that is not text: an error, U+FFFD for what is wrong, or no document."""

    format: Format = "auto"
    """What the inputs are; `auto` looks at the name and the content of each."""

    cut: Callable[[bytes], int | None] | None = field(default=None, compare=False)
    """Finds where a long document may be cut without a change to its pretokens; None is nowhere."""

    def __post_init__(self) -> None:
        if self.separator == "":
            raise ValueError("separator must not be empty")
        if self.invalid not in ("error", "replace", "skip"):
            raise ValueError(f"invalid must be error, replace or skip, not {self.invalid!r}")
        if self.format not in ("auto", "text", "jsonl", "parquet"):
            raise ValueError(f"format must be auto, text, jsonl or parquet, not {self.format!r}")

    def to_dict(self) -> dict[str, str | None]:
        """Return the choices, as manifests record them."""
        return {
            "separator": self.separator,
            "text_field": self.text_field,
            "text_column": self.text_column,
            "invalid": self.invalid,
            "input_format": self.format,
        }


@dataclass(frozen=True)
class Batch:
    """Some documents of one input, in order."""

    texts: Sequence[str | bytes]
    """Text that has yet to be checked: bytes may not be UTF-8, and a `str` may have lone surrogates."""

    first: int = 0
    """How many documents of the input stand before these."""

    begun: int = 0
    """How many bytes of the first text's document stand before it, in earlier batches."""

    goes_on: bool = False
    """Whether the last text is only the beginning of a document, which the next batch goes on with."""

    affected: int = 0
    """How many documents were replaced or skipped on the way to this batch, since the last one."""

    read: int = 0
    """How many bytes of the input have been read so far."""


def new_buffers() -> Buffers:
    """Return buffers that batches of several inputs may share."""
    return Buffers(2 * BLOCK)


def read_batches(
    source: Input, reading: Reading, raw: Raw | None = None, buffers: Buffers | None = None
) -> Generator[Batch, None, None]:
    """Yield the documents of an input; give `raw` to have its bytes hashed."""
    raw = Raw(source) if raw is None else raw
    buffers = buffers or new_buffers()
    try:
        form, compression = recognise(source.name, raw, reading.format)
        if form == "parquet":
            yield from _parquet_rows(raw, reading, buffers)
            return
        read = unpacked(raw, compression)
        if form == "json":
            form, read = _text_or_lines(raw.name, read)
        batches = _json_lines if form == "jsonl" else _texts
        yield from batches(read, raw, reading, buffers)
    finally:
        raw.close()


def is_plain_text(source: Input, reading: Reading) -> bool:
    """Whether an input is a local file that is, as it stands, a document of text."""
    whole = source.is_local and source.span is None and os.path.isfile(source.name)
    as_it_is = reading.separator is None and reading.invalid == "error"
    return whole and as_it_is and format_of(source, reading) == ("text", None)


def format_of(source: Input, reading: Reading) -> tuple[str, str | None]:
    """Return what an input is (text, jsonl, parquet, or json, which may be either) and how compressed."""
    raw = Raw(source)
    try:
        return recognise(source.name, raw, reading.format)
    finally:
        raw.close()


def batches_of(documents: Iterable[str | bytes], invalid: Invalid = "error") -> Generator[Batch, None, None]:
    """Yield the documents of an iterable."""
    if isinstance(documents, str | bytes):
        raise ValueError("documents must be an iterable of documents, not one document; put it in a list")
    gathered = _Gathered("documents", invalid)
    read = 0
    for document in documents:
        if not isinstance(document, str | bytes):
            raise ValueError(f"a document must be str or bytes, not {type(document).__name__}")
        gathered.add(document)
        read += len(document)
        if gathered.full:
            yield gathered.take(read)
    yield gathered.take(read)


def decoded(name: str, batch: Batch) -> list[str]:
    """Return the texts of a batch, of which one that is none is an error."""
    with refusing_invalid(name, batch):
        return list(map(_text, batch.texts))


@contextlib.contextmanager
def refusing_invalid(name: str, batch: Batch) -> Iterator[None]:
    """Have a document that is no text refused by the name of its input, and its number there."""
    try:
        yield
    except ValueError:
        for place, text in enumerate(batch.texts):
            _check(name, batch.first + place, text, 0 if place else batch.begun)
        raise


# What an input holds -------------------------------------------------------------------------------------


def _text_or_lines(name: str, read: Callable[[int], bytes]) -> tuple[str, Callable[[int], bytes]]:
    """Tell JSON lines from a JSON text by the first line: an object of its own, or not."""
    first = b""
    while b"\n" not in first and len(first) < BLOCK and (more := read(BLOCK)):
        first += more
    line, newline, _ = first.partition(b"\n")
    undecided = f"{name}: may be JSON lines or a text; the input format says which (jsonl or text)"
    if not newline and len(first) >= BLOCK:
        raise ValueError(undecided)
    try:
        form = "jsonl" if type(json.loads(line)) is dict else "text"
    except ValueError:
        form = "text"
    except RecursionError:
        raise ValueError(undecided) from None
    blocks = iter([first])
    return form, lambda size: next(blocks, None) or read(size)


# Documents of each format --------------------------------------------------------------------------------


class _Gathered:
    """Documents on their way into a batch; what is no text meets its fate here."""

    def __init__(self, name: str, invalid: Invalid) -> None:
        self._name = name
        self._invalid = invalid
        self._texts: list[Any] = []
        self._joined: JoinedTexts | None = None
        self._size = 0
        self._first = 0
        self._begun = 0
        self._affected = 0
        self.number = 0

    @property
    def full(self) -> bool:
        return self._joined is not None or self._size >= BLOCK

    def add(self, text: str | bytes, *, checked: bool = False) -> None:
        """Take the next document. Bytes that must be UTF-8 are left for whoever uses them to check."""
        self.number += 1
        self._size += len(text)
        if not checked and (self._invalid != "error" or isinstance(text, str)):
            whole = _text_or_none(text)
            if whole is None:
                if self._invalid == "error":
                    _check(self._name, self.number - 1, text)
                self._affected += 1
                if self._invalid == "skip":
                    return
                whole = _replaced(text)
            text = whole
        self._keep(text)

    def _keep(self, text: str | bytes) -> None:
        self._texts.append(text)

    def add_joined(self, texts: JoinedTexts) -> None:
        """Take the next documents, which are all of a batch."""
        if self._invalid == "error":
            self.number += len(texts)
            self._joined = texts
        else:
            for text in texts:
                self.add(text)

    def add_replaced(self, text: str) -> None:
        """Take a document that has been mended already."""
        self._affected += 1
        self.add(text, checked=True)

    def lack(self, why: str) -> None:
        """Take note of a record without any text, which can only be an error or be left out."""
        self.number += 1
        if self._invalid != "skip":
            for place, text in enumerate(self._texts):  # What is wrong first is told first.
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
        """Return what was gathered; if the last document `goes_on`, its other pieces share its number."""
        self.number -= goes_on
        texts = self._texts if self._joined is None else self._joined
        batch = Batch(texts, self._first, self._begun, goes_on, self._affected, read)
        self._begun = (len(texts) == 1) * self._begun + len(texts[-1]) if goes_on else 0
        self._first = self.number
        self._texts, self._joined, self._size, self._affected = [], None, 0, 0
        return batch


class _GatheredLines(_Gathered):
    """Texts of JSON lines: the engine takes them from plain lines, and Python from all others."""

    def __init__(self, name: str, reading: Reading, buffers: Buffers) -> None:
        super().__init__(name, reading.invalid)
        self._field = reading.text_field
        self._found = FieldTexts(self._field.encode("utf-8", "surrogatepass"), buffers)
        self._line = 0

    @property
    def full(self) -> bool:
        return self._found.size >= BLOCK

    def add_lines(self, block: bytes) -> None:
        """Take lines; one that has no end yet is gone on with in the next block."""
        place = 0
        while place < len(block):
            before = len(self._found)
            place, lines, left = self._found.take_lines(block, place)
            self.number += len(self._found) - before
            self._line += lines
            if left is not None:
                self._add_line(left)

    def take(self, read: int, *, goes_on: bool = False) -> Batch:
        self._joined = self._found.take()
        return super().take(read, goes_on=goes_on)

    def _keep(self, text: Any) -> None:
        self._found.append(text)

    def _add_line(self, line: bytes) -> None:
        """Take a line as `json.loads` does."""
        try:
            record = _record(line.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            if line.strip():
                self._add_broken_line(line, error)
            return
        text = record.get(self._field) if type(record) is dict else None
        if type(text) is str:
            self.add(text)
        else:
            self.lack(f"line {self._line}: {_lacking(record, self._field)}")

    def _add_broken_line(self, line: bytes, error: ValueError | RecursionError) -> None:
        """Deal with a line that is not JSON in UTF-8: only bad UTF-8 inside good JSON can be mended."""
        if isinstance(error, RecursionError):
            return self.lack(f"line {self._line}: nested too deeply")
        if not isinstance(error, UnicodeDecodeError):
            return self.lack(f"line {self._line}: not JSON: {error}")
        if self._invalid == "replace" and (text := self._mended(line)) is not None:
            return self.add_replaced(text)
        return self.lack(f"line {self._line}: not valid UTF-8 at byte {error.start} of the line")

    def _mended(self, line: bytes) -> str | None:
        """Return the text of a line in which what is not UTF-8 is replaced; None if there is none."""
        try:
            record = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None
        text = record.get(self._field) if type(record) is dict else None
        return _replaced(text) if type(text) is str else None


_PIECE = 1 << 18
"""How many bytes are read at a time: they should still be in the cache when they are looked at."""

_DECODER = json.JSONDecoder()
_JSON_SPACE = " \t\n\r"


def _texts(read: Callable[[int], bytes], raw: Raw, reading: Reading, buffers: Buffers) -> Iterator[Batch]:
    """Yield the whole, or what separators end; nothing after the last of them is no document."""
    cut = None if reading.invalid == "skip" else reading.cut
    gathered = _Gathered(raw.name, reading.invalid)
    found = SplitTexts((reading.separator or "").encode("utf-8"), buffers)
    goes_on, longest = False, 2 * BLOCK
    while block := read(min(_PIECE, BLOCK)):
        found.take_block(block)
        if found.size < BLOCK:
            continue
        if len(found):
            goes_on, longest = False, 2 * BLOCK
            gathered.add_joined(found.take())
            if gathered.full:
                yield gathered.take(raw.size)
        elif cut is not None and found.size >= longest:
            rest = found.take_rest()
            place = cut(rest)
            if place is None:
                found.take_block(rest)
                longest = 2 * len(rest)
                continue
            goes_on, longest = True, 2 * BLOCK
            found.take_block(rest[place:])
            gathered.add(rest[:place])
            yield gathered.take(raw.size, goes_on=True)
    if len(found):
        goes_on = False
        gathered.add_joined(found.take())
        if gathered.full:
            yield gathered.take(raw.size)
    rest = found.take_rest()
    if rest or goes_on or reading.separator is None:
        gathered.add(rest)
    yield gathered.take(raw.size)


def _json_lines(
    read: Callable[[int], bytes], raw: Raw, reading: Reading, buffers: Buffers
) -> Iterator[Batch]:
    """Yield the text field of every line; a line of white space alone holds no document."""
    gathered = _GatheredLines(raw.name, reading, buffers)
    while block := read(min(_PIECE, BLOCK)):
        gathered.add_lines(block)
        if gathered.full:
            yield gathered.take(raw.size)
    gathered.add_lines(b"\n")  # The last line may have no end.
    yield gathered.take(raw.size)


def _record(line: str) -> Any:
    """Return what `json.loads` returns, without its search for white space where there is none."""
    if line.startswith("{"):
        record, end = _DECODER.raw_decode(line)
        if end == len(line) or not line[end:].strip(_JSON_SPACE):
            return record
    return json.loads(line)


def _lacking(record: Any, name: str) -> str:
    if type(record) is not dict:
        return f"not a JSON object but {type(record).__name__}"
    if name not in record:
        return f"no field {name!r} (there is {', '.join(map(repr, record)) or 'none'})"
    return f"field {name!r} is not a string but {type(record[name]).__name__}"


def _parquet_rows(raw: Raw, reading: Reading, buffers: Buffers) -> Iterator[Batch]:
    """Yield the text column of every row."""
    gathered = _Gathered(raw.name, reading.invalid)
    for texts, read in column_texts(raw, reading.text_column, BLOCK, buffers):
        if isinstance(texts, JoinedTexts):
            gathered.add_joined(texts)
        else:
            gathered.add_rows(texts, reading.text_column)
        yield gathered.take(read)


# Text that is none ---------------------------------------------------------------------------------------

_SURROGATE = re.compile("[\ud800-\udfff]")


def _text(text: str | bytes) -> str:
    """Return a document's text, or raise why it has none."""
    if isinstance(text, bytes):
        return text.decode("utf-8")
    if not text.isascii():
        text.encode("utf-8")
    return text


def _text_or_none(text: str | bytes) -> str | None:
    """Return a document's text, None if it has none: bytes that are not UTF-8, or lone surrogates."""
    try:
        return _text(text)
    except UnicodeError:
        return None


def _replaced(text: str | bytes) -> str:
    """Put U+FFFD in the place of what is not text."""
    if isinstance(text, bytes):
        return text.decode("utf-8", "replace")
    return _SURROGATE.sub("\ufffd", text)


def _check(name: str, number: int, text: str | bytes, begun: int = 0) -> None:
    """Refuse a document that is not text, by file, document and place; bytes may be `begun` before."""
    try:
        _text(text)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{name}: document {number}: not valid UTF-8 at byte {begun + error.start}"
        ) from None
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{name}: document {number}: lone surrogate {text[error.start]!r} at character {error.start}"
        ) from None
