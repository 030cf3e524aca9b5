"""Inputs in, batches of their documents out, read by several threads.

Inputs are divided into parts where their formats allow it, and each thread reads one part after the other.
The batches wait for the caller, in the order of the inputs or as they come. When a few batches for each
thread are waiting, the threads wait too, so memory does not depend on the size of the corpus.

Of several errors, the first one in the corpus is raised: no later part is begun, and earlier ones are read to
their ends. A part does not know the number of the line or document for its error; to find it, the input is
read once more as a whole.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

from bpetite._engine import read_small_files, thread_count
from bpetite._internal.integers import integer
from bpetite.reading.ahead import started_thread
from bpetite.reading.batches import Batch, new_buffers, refuse_invalid
from bpetite.reading.division import divide
from bpetite.reading.documents import read_batches
from bpetite.reading.json_lines import GatheredLines
from bpetite.reading.options import Reading
from bpetite.reading.raw import Raw, hash_input
from bpetite.reading.recognition import is_marked, named_format
from bpetite.reading.sources import Input

_SHARING = 2
"""The number of threads for each batch that may wait: waiting batches take memory, and reading is fast."""

_LOOK = 0.1
"""The seconds after which a waiting thread checks whether the work still goes on."""


FORKED = (
    "this process was forked during a call that uses threads, and does not have these threads; "
    "the call goes on in the other process only"
)


_SMALL = 1 << 14
"""A file of at most this size is small: its fixed costs exceed those of reading it."""

_PLAIN = ("text", "jsonl")
"""The formats of small files that the engine reads; others are opened one by one."""

_MOST_BUNDLED = 256
"""The maximum number of small files that are read together."""

_MOST_BYTES = 1 << 21
"""The maximum size of these files together, that of a batch."""

_MOST_IN_BUNDLE = 1 << 23
"""The maximum size of their texts together, a few batches."""


def threads_of(num_threads: int | None) -> int:
    """Return the number of threads; None means one for each core."""
    return thread_count(None if num_threads is None else integer("num_threads", num_threads, least=1))


@dataclass(frozen=True)
class Ended:
    """An input was read to its end."""

    size: int
    digest: str
    """The hash of its bytes, if asked for."""


@dataclass(frozen=True)
class Bundle:
    """Small files that were read together, each to its end."""

    sources: Sequence[Input]
    ended: list[Ended]
    texts: Sequence[bytes]
    """The documents of all of them."""
    counts: list[int]
    """The number of documents of each."""


Item = tuple[Input, Batch | Bundle | Ended, int]
"""An input or a part of one, what was read of it, and the number of bytes that this took."""


def read_all(
    inputs: Iterable[Input],
    reading: Reading,
    threads: int,
    *,
    in_order: bool = True,
    hashed: bool = False,
) -> Generator[Item, None, None]:
    """Yield the batches of inputs, and `Ended` after those of each input; for small files, bundles.

    Out of order, batches are checked here: invalid text is an error. In order, this is left to the caller,
    for whom the documents of an input are numbered consecutively.
    """
    parts = _divided(inputs, reading, threads)
    first = list(islice(parts, 2))
    is_alone = threads == 1 or len(first) < 2
    read = _PartReader(reading, is_checked=not (in_order or is_alone), is_hashed=hashed)
    if is_alone:
        for part in chain(first, parts):
            yield from read.part(part)
        return
    with contextlib.closing(_Workers(chain(first, parts), read, threads, in_order).items()) as items:
        yield from _numbered(items) if in_order else items


@dataclass(frozen=True)
class _Part:
    source: Input
    whole: Input
    is_last: bool
    bundled: Sequence[Input] = ()
    """The small files that are read together, the first of which is `source`."""


def _divided(inputs: Iterable[Input], reading: Reading, threads: int) -> Iterator[_Part]:
    """Yield parts of large inputs, and several consecutive small ones as one part."""
    may_bundle = reading.invalid == "error" and reading.hold_out is None
    bundled: list[Input] = []
    together = 0
    for found in inputs:
        size = found.found_size
        is_small = may_bundle and size is not None and size <= _SMALL and not found.is_part
        if is_small and named_format(found.name, reading.input_format) is not None:
            bundled.append(found)
            together += size or 0
        is_full = len(bundled) == _MOST_BUNDLED or together >= _MOST_BYTES
        if bundled and (bundled[-1] is not found or is_full):
            yield _Part(bundled[0], bundled[0], True, bundled)
            is_bundled = bundled[-1] is found
            bundled, together = [], 0
            if is_bundled:
                continue
        elif bundled:
            continue
        parts = divide(found, reading) if threads > 1 else [found]
        for number, part in enumerate(parts, 1):
            yield _Part(part, found, number == len(parts))
    if bundled:
        yield _Part(bundled[0], bundled[0], True, bundled)


def read_again(source: Input, reading: Reading) -> None:
    """Read an input as a whole to get the exact error."""
    source = source._replace(span=None, row_groups=None)
    for batch in read_batches(source, reading):
        refuse_invalid(source.name, batch)


def _numbered(items: Iterable[Item]) -> Iterator[Item]:
    """Number the documents of an input consecutively across its parts."""
    before = read = 0
    for source, made, more in items:
        if not isinstance(made, Batch):
            before = read = 0
            yield source, made, more
            continue
        if not made.first and not made.begun:
            before = read
        read += len(made.texts) - made.goes_on
        yield source, (replace(made, first=made.first + before) if before else made), more


class _PartReader:
    """Reads parts."""

    def __init__(self, reading: Reading, *, is_checked: bool, is_hashed: bool) -> None:
        self._reading = reading
        self._is_checked = is_checked and reading.invalid == "error"
        self._is_hashed = is_hashed
        self._buffers = new_buffers()

    def part(self, part: _Part) -> Iterator[Item]:
        """Yield the batches of a part, and `Ended` if its input ends with it."""
        if len(part.bundled) > 1:
            bundle = None
            with contextlib.suppress(ValueError):  # The error is raised when the files are read one by one.
                bundle = self._bundle(part.bundled)
            if bundle is not None:
                yield part.source, bundle, sum(ended.size for ended in bundle.ended)
                return
            for found in part.bundled:
                yield from self.part(_Part(found, found, True))
            return
        source, read = part.source, 0
        raw = Raw(source, hashed=self._is_hashed and not source.is_part)
        try:
            with contextlib.closing(read_batches(source, self._reading, raw, self._buffers)) as made:
                for batch in made:
                    if self._is_checked:
                        refuse_invalid(source.name, batch)
                    yield source, batch, batch.read - read
                    read = batch.read
        except ValueError:
            if source.is_part:
                read_again(part.whole, self._reading)
            raise
        if part.is_last:
            yield source, self._ended(source, raw), 0

    def _bundle(self, sources: Sequence[Input]) -> Bundle | None:
        """Read small files together, unless one of them is not what its name and size promise."""
        ended: list[Ended] = []
        counts: list[int] = []
        parts: list[Sequence[Any]] = []
        size = begun = 0
        lines = GatheredLines("", self._reading, self._buffers)
        forms = [named_format(source.name, self._reading.input_format) for source in sources]
        plain = [source.name for source, form in zip(sources, forms, strict=True) if form in _PLAIN]
        contents = read_small_files(plain, _SMALL, self._is_hashed)
        if contents is None:
            return None
        read = iter(contents)
        for source, form in zip(sources, forms, strict=True):
            content = b""
            if form in _PLAIN:
                content, digest = next(read)
                if is_marked(content):
                    return None
                ended.append(Ended(len(content), digest))
                size += len(content)
            if form == "jsonl":
                before = lines.number
                lines.add_lines(content)
                lines.add_lines(b"\n")  # The last line may have no end.
                counts.append(lines.number - before)
                continue
            if lines.number > begun:
                parts.append(lines.take(0).texts)
                begun = lines.number
            if form == "text":
                texts: Sequence[Any] = self._split(content)
            else:
                found = self._small_records(source)
                if found is None:
                    return None
                texts, end = found
                ended.append(end)
                size += sum(map(len, texts))
            parts.append(texts)
            counts.append(len(texts))
            if size > _MOST_IN_BUNDLE:
                return None
        if lines.number > begun:
            parts.append(lines.take(0).texts)
        texts = parts[0] if len(parts) == 1 else list(chain.from_iterable(parts))
        refuse_invalid("", Batch(texts))
        return Bundle(sources, ended, texts, counts)

    def _split(self, content: bytes) -> list[bytes]:
        """Return the documents of a text file."""
        separator = (self._reading.separator or "").encode("utf-8")
        texts = content.split(separator) if separator else [content]
        if separator and not texts[-1]:
            texts.pop()
        return texts

    def _small_records(self, source: Input) -> tuple[list[bytes], Ended] | None:
        """Return the documents of a file with records, unless its texts are much larger than the file."""
        raw = Raw(source, hashed=self._is_hashed)
        texts: list[Any] = []
        for batch in read_batches(source, self._reading, raw, self._buffers):
            if batch.goes_on or (batch.first > 0 and batch.texts):
                return None
            texts.extend(batch.texts)
        return texts, Ended(raw.size, raw.digest)

    def _ended(self, source: Input, raw: Raw) -> Ended:
        if source.is_part and self._is_hashed:
            return Ended(*hash_input(source.name))
        return Ended(raw.size, raw.digest)


@dataclass(eq=False)
class _Outbox:
    """What was read of a part."""

    number: int
    part: _Part | None
    items: deque[Item] = field(default_factory=deque)
    error: BaseException | None = None
    is_done: bool = False


class _Left(Exception):
    """The caller does not want more."""


class _Workers:
    """The threads that read parts, and the caller who takes their items."""

    def __init__(self, parts: Iterator[_Part], read: _PartReader, threads: int, in_order: bool) -> None:
        self._parts = parts
        self._read = read
        self._in_order = in_order
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(threads)]
        self._room = max(1, threads // _SHARING)
        self._waiting = self._number = 0
        self._open: deque[_Outbox] = deque()
        """The parts that were begun, in order, except those whose items were all taken."""
        self._ready: deque[_Outbox] = deque()
        """The part of each waiting item in order of arrival, if items are wanted in that order."""
        self._news = threading.Condition()
        self._beginning = threading.Lock()
        self._has_left = self._has_begun_all = False
        self._process = os.getpid()

    def items(self) -> Generator[Item, None, None]:
        """Yield the items, and raise the first error in the order of parts."""
        try:
            started = [thread for thread in self._threads if started_thread(thread)]
            while not started and (outbox := self._begin()) is not None and outbox.part is not None:
                yield from self._read.part(outbox.part)
            while (item := self._take()) is not None:
                yield item
        finally:
            if os.getpid() == self._process:
                with self._news:
                    self._has_left = True
                    self._news.notify_all()
                for thread in self._threads:
                    if thread.is_alive():  # Ctrl-C may come before all are started.
                        thread.join()

    # What each thread does

    def _work(self) -> None:
        while (outbox := self._begin()) is not None:
            try:
                for item in self._read.part(outbox.part) if outbox.part else ():
                    self._put(outbox, item)
            except _Left:
                return
            except BaseException as error:
                outbox.error = error
            with self._news:
                outbox.is_done = True
                self._has_begun_all |= outbox.error is not None
                if not self._in_order and outbox.error is None:
                    self._open.remove(outbox)
                self._news.notify_all()

    def _begin(self) -> _Outbox | None:
        """Begin the next part; an error in finding it is raised in its place."""
        with self._beginning:
            if self._has_left or self._has_begun_all:
                return None
            outbox = _Outbox(self._number, None)
            try:
                outbox.part = next(self._parts, None)
            except BaseException as error:
                outbox.error = error
            with self._news:
                if outbox.part is None:
                    self._has_begun_all = outbox.is_done = True
                    self._news.notify_all()
                if outbox.part is not None or outbox.error is not None:
                    self._number += 1
                    self._open.append(outbox)
            return outbox if outbox.part is not None else None

    def _put(self, outbox: _Outbox, item: Item) -> None:
        with self._news:
            while not self._has_left and self._waiting >= self._room and not self._is_awaited(outbox):
                self._news.wait(_LOOK)
            if self._has_left:
                raise _Left
            self._waiting += 1
            outbox.items.append(item)
            if not self._in_order:
                self._ready.append(outbox)
            self._news.notify_all()

    def _is_awaited(self, outbox: _Outbox) -> bool:
        """Whether the caller waits for this part."""
        return self._in_order and self._open[0] is outbox and not outbox.items

    # What the caller does

    def _take(self) -> Item | None:
        """Return the next item, None after the last one."""
        while True:
            if os.getpid() != self._process:
                raise RuntimeError(FORKED)
            with self._news:
                outbox = self._next()
                if outbox is not None:
                    self._waiting -= 1
                    self._news.notify_all()
                    return outbox.items.popleft()
                if self._has_begun_all and not self._open:
                    return None
                if self._open and self._open[0].is_done and (error := self._open[0].error) is not None:
                    raise error
                self._news.wait(_LOOK)

    def _next(self) -> _Outbox | None:
        """Return the part whose item is taken next, if any."""
        if not self._in_order:
            return self._ready.popleft() if self._ready else None
        while self._open and self._open[0].is_done and not self._open[0].items and not self._open[0].error:
            self._open.popleft()
            self._news.notify_all()  # The caller now waits for another part.
        return self._open[0] if self._open and self._open[0].items else None
