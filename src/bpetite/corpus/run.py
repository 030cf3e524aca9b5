"""Inputs and a tokenizer → a folder of shards; a stopped run can be resumed.

    inputs → batches of documents → ids, in order → shards of `shard_size` tokens → lines of the journal

`num_threads` threads read documents, as many others encode one batch each, this one writes, and one more
completes a shard while the next one begins. On a cluster, tasks read and encode, and others write shards.
Memory does not depend on the size of the corpus: only a few batches are in work at a time.
"""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bpetite._engine import Xxh3128
from bpetite._internal.types import Path as AnyPath
from bpetite._internal.types import Progress
from bpetite.corpus.job import Corpus, Documents, Job, Options, stamp_of
from bpetite.corpus.manifest import Journal, Manifest, Position, ReadInput, RunState
from bpetite.corpus.resume import begin_run, finished, proposing_resume
from bpetite.corpus.shards import Ids, Shard, ShardWriter
from bpetite.reading.batches import Batch, Ended
from bpetite.reading.options import Reading
from bpetite.reading.parallel import read_all
from bpetite.reading.sources import Input, size_of
from bpetite.reading.threads import FORKED, ahead, check_process, threads_of
from bpetite.show.progress import shown
from bpetite.tokenizer import Tokenizer


def encode(
    tokenizer: Tokenizer,
    corpus: Corpus,
    output: AnyPath,
    *,
    options: Options | None = None,
    resume: bool = False,
    num_threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Manifest:
    """Encode files (or a column of Arrow, or `Documents`) into a folder of shards.

    `resume` continues a stopped run, and ends with the same bytes as a run that was not stopped; it is
    refused if the tokenizer, an option or an input has changed. `progress` is called with
    `("encoding", bytes so far, bytes in all)` and `("documents", documents so far, 0)`.

    >>> import tempfile
    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     manifest = encode(tok, Documents(["ab", "ab ab"]), f"{folder}/ids")
    >>> manifest.documents, manifest.tokens
    (2, 3)
    """
    job = Job.make(tokenizer, corpus, options or Options(), output)
    folder = Path(output)
    done = finished(folder, job, resume)
    if done is not None:
        return done
    threads = threads_of(num_threads)
    with contextlib.closing(Journal(folder)) as journal, proposing_resume(folder), shown(progress) as report:
        reached = begin_run(folder, journal, job, resume)
        with _Encoders(job, reached.position, threads) as encoders, _Writers(folder, job) as writers:
            run = Run(folder, journal, job, reached, writers, report)
            with contextlib.closing(encoders.parts()) as parts:
                return run.finish(parts)


@dataclass(frozen=True)
class Stretch:
    """Some documents of one input, in order."""

    documents: int
    affected: int = 0
    batch: Batch | None = None
    """The texts, if they are to be hashed."""
    ended: Ended | None = None
    """What was read of the input, if it ends here."""


@dataclass(frozen=True)
class Part:
    """Some encoded documents of a corpus."""

    ids: Any
    """On a cluster, a reference to them."""
    tokens: int
    ends: NDArray[np.uint64]
    """Where each whole document ends in the ids."""
    stretches: Sequence[Stretch]
    """The same documents, by their inputs."""
    read: int
    """The number of bytes of the inputs."""


def stretches_of(batch: Batch, *, hashed: bool = False) -> list[Stretch]:
    """Return the documents of a batch by their inputs."""
    if batch.ended:
        return [Stretch(ended.documents, ended=ended) for ended in batch.ended]
    documents = len(batch.texts) - batch.goes_on
    return [Stretch(documents, batch.affected, batch if hashed else None)]


class ShardBuilder(Protocol):
    """Writes shards: threads of this process, or tasks of a cluster."""

    at_once: int
    """How many shards may be completed at a time."""

    def write(self, number: int, ids: Any, start: int, stop: int, ends: NDArray[np.uint64]) -> None:
        """Append ids from `start` to `stop` to a shard; documents end in them at `ends`."""

    def end(self) -> Future[Shard]:
        """Begin to complete the shard."""


class Run:
    """Divides encoded documents into shards; a shard ends with the document that fills it."""

    def __init__(
        self,
        folder: Path,
        journal: Journal,
        job: Job,
        reached: RunState,
        shards: ShardBuilder,
        progress: Progress | None,
    ) -> None:
        self._process = os.getpid()
        self._folder = folder
        self._journal = journal
        self._job = job
        self._reached = reached
        self._begin = reached.position
        self._left = reached.position.documents
        """The number of documents that come again, and are in shards already."""
        self._place = _Place(reached)
        self._shards = shards
        self._number = len(reached.shards)
        self._tokens = self._documents = 0
        """What is in the shard so far."""
        self._noted = len(reached.inputs)
        """How many inputs are in the journal, or belong to a shard that is being completed."""
        self._completing: deque[tuple[Future[Shard], range, Position]] = deque()
        self._progress = progress
        self._total = 0 if progress is None else size_of(job.inputs)
        self._read = sum(read.bytes for read in reached.inputs)
        self._before = sum(shard.documents for shard in reached.shards)

    def finish(self, parts: Iterable[Part]) -> Manifest:
        """Write all parts, and the manifest."""
        try:
            for part in parts:
                self._take(part)
                self._settle(self._shards.at_once)
        except Exception as error:
            if str(error) != FORKED:
                self._settle(0)  # Complete shards are put into the journal; an error there came first.
            raise
        if self._documents:
            self._end_shard(Position(len(self._job.inputs)))
        self._settle(0)
        manifest = self._job.manifest(self._reached)
        manifest.save(self._folder)
        self._journal.remove()
        return manifest

    def _take(self, part: Part) -> None:
        """Write a part, and end a shard after each document that fills it."""
        self._place.add(part.stretches)
        first = min(self._left, len(part.ends))
        if self._left:
            self._left -= first
            self._place.go_past(first)
            self._check_place()
        if self._left:
            self._place.finish_part()
            self._check_place()
            return
        start = int(part.ends[first - 1]) if first else 0
        while True:
            missing = max(0, self._job.options.shard_size - self._tokens)
            after = first + int(np.searchsorted(part.ends[first:], np.uint64(start + missing))) + 1
            if after > len(part.ends):
                break
            stop = int(part.ends[after - 1])
            self._write(part.ids, start, stop, part.ends[first:after])
            self._place.go_past(after - first)
            self._end_shard(self._place.position())
            first, start = after, stop
        self._write(part.ids, start, part.tokens, part.ends[first:])
        self._place.go_past(len(part.ends) - first)
        self._place.finish_part()
        self._report(part.read)

    def _check_place(self) -> None:
        """Refuse an input that has other documents than those that are in shards, or fewer."""
        place = self._place.position()
        if place.input != self._begin.input or (not self._left and place != self._begin):
            name = self._job.inputs[self._begin.input].name
            raise ValueError(f"{name}: changed since the run began")

    def _write(self, ids: Any, start: int, stop: int, ends: NDArray[np.uint64]) -> None:
        if stop > start or len(ends):
            self._shards.write(self._number, ids, start, stop, ends)
            self._tokens += stop - start
            self._documents += len(ends)

    def _report(self, read: int) -> None:
        self._read += read
        if self._progress is not None:
            self._progress("encoding", self._read, self._total)
            self._progress("documents", self._before + self._documents, 0)
            check_process(self._process)

    def _end_shard(self, position: Position) -> None:
        """Complete a shard while the next one begins."""
        self._settle(self._shards.at_once - 1)
        inputs = range(self._noted, len(self._reached.inputs))
        self._completing.append((self._shards.end(), inputs, position))
        self._number, self._noted = self._number + 1, inputs.stop
        self._before += self._documents
        self._tokens = self._documents = 0

    def _settle(self, most: int) -> None:
        """Put complete shards into the journal, in order, until at most `most` are left."""
        while self._completing and (len(self._completing) > most or self._completing[0][0].done()):
            completed, inputs, position = self._completing.popleft()
            try:
                shard = completed.result()
            except BaseException:
                self._completing.clear()  # Later shards are not in the journal without this one.
                raise
            self._journal.step(shard, self._reached.inputs, inputs, position)
            self._reached.shards.append(shard)


class _Place:
    """How far a corpus is in shards: which inputs, and how many documents of the next one."""

    def __init__(self, reached: RunState) -> None:
        self._inputs = reached.inputs
        self._number = reached.position.input
        self._stretches: deque[Stretch] = deque()
        self._inside = 0
        """How many documents of the first stretch are done."""
        self._begin_input()

    def _begin_input(self) -> None:
        self._documents = self._affected = 0
        self._hash = Xxh3128()
        self._is_hashed = False

    def add(self, stretches: Iterable[Stretch]) -> None:
        """Take what comes next."""
        self._stretches.extend(stretches)

    def go_past(self, documents: int) -> None:
        """Count documents as done, and note the inputs that end before the last of them."""
        while self._stretches:
            stretch = self._stretches[0]
            more = min(documents, stretch.documents - self._inside)
            self._hash_texts(stretch.batch, self._inside, self._inside + more)
            self._documents += more
            self._inside += more
            documents -= more
            if not documents:
                return
            self._finish_stretch()

    def finish_part(self) -> None:
        """Note what is left without documents."""
        while self._stretches:
            self._finish_stretch()

    def _finish_stretch(self) -> None:
        stretch = self._stretches.popleft()
        if stretch.batch is not None and stretch.batch.goes_on:
            self._hash_texts(stretch.batch, stretch.documents, stretch.documents + 1)
        self._inside = 0
        self._affected += stretch.affected
        if stretch.ended is not None:
            name, size, digest, _ = stretch.ended
            digest = digest or self._digest()
            self._inputs.append(ReadInput(name, size, digest, self._documents, self._affected))
            self._number += 1
            self._begin_input()

    def _hash_texts(self, batch: Batch | None, first: int, after: int) -> None:
        if batch is None:
            return
        self._is_hashed = True
        for place in range(first, after):
            text = batch.texts[place]
            # A text that is not UTF-8 was never encoded; its hash must only differ from all others.
            self._hash.update(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
            if place < len(batch.texts) - batch.goes_on:
                self._hash.update(b"\xff")  # a byte that no UTF-8 contains

    def _digest(self) -> str:
        return self._hash.hexdigest() if self._is_hashed else ""

    def position(self) -> Position:
        """Return where the next document is."""
        return Position(self._number, self._documents, self._digest())


Read = tuple[Input | Documents, Batch, int]
"""An input, what was read of it, and the number of bytes that this took."""


class _Stopped(Exception):
    """The encoding of a batch was given up because something failed."""


class _Encoders:
    """Threads that read the inputs and encode their documents."""

    def __init__(self, job: Job, begin: Position, threads: int) -> None:
        self._job = job
        self._begin = begin
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, "bpetite-encode")
        self._process = os.getpid()
        self._has_failed = False

    def __enter__(self) -> _Encoders:
        return self

    def __exit__(self, *_: object) -> None:
        self._has_failed = True
        if os.getpid() == self._process:  # else the threads belong to the other process
            self._pool.shutdown(cancel_futures=True)

    def parts(self) -> Generator[Part, None, None]:
        """Yield the encoded documents, in order."""
        with contextlib.closing(self._read()) as items:
            for part in ahead(self._encoding(items), self._threads):
                check_process(self._process)
                yield part.result()

    def _read(self) -> Generator[Read, None, None]:
        inputs = self._job.inputs[self._begin.input :]
        reading = self._job.options.reading
        if inputs and isinstance(inputs[0], Documents):
            yield from _read_documents(inputs[0], reading)
        files = (found for found in inputs if isinstance(found, Input))
        yield from read_all(files, reading, self._threads, hashed=True)

    def _encoding(self, items: Iterable[Read]) -> Iterator[Future[Part]]:
        left = self._begin.documents
        for source, batch, read in items:
            check_process(self._process)
            hashed = not isinstance(source, Input) or (not batch.ended and stamp_of(source) is None)
            stretches = stretches_of(batch, hashed=hashed)
            done = min(left, len(batch.texts) - batch.goes_on)
            left -= done
            yield self._pool.submit(self._encoded, source, batch, done, stretches, read)

    def _encoded(
        self, source: Input | Documents, batch: Batch, done: int, stretches: Sequence[Stretch], read: int
    ) -> Part:
        """Encode a batch; its first `done` documents are in shards already."""
        ends = np.zeros(done, np.uint64)
        if done:
            batch = replace(batch, texts=batch.texts[done:], first=batch.first + done, begun=0)
        if not batch.texts:
            return Part(ends, 0, ends, stretches, read)
        ids, ended = self._job.ids_of(source, batch, self._stop_if_failed)
        return Part(ids, len(ids), np.concatenate((ends, ended)) if done else ended, stretches, read)

    def _stop_if_failed(self, *_: object) -> None:
        if self._has_failed:
            raise _Stopped


def _read_documents(documents: Documents, reading: Reading) -> Generator[Read, None, None]:
    read = 0
    with contextlib.closing(documents.batches(reading)) as made:
        for batch in made:
            yield documents, batch, batch.read - read
            read = batch.read
    yield documents, Batch([], ended=[Ended(documents.name, read, "")]), 0


class _Writers:
    """Writes shards, and completes each in another thread while the next one begins."""

    at_once = 2

    def __init__(self, folder: Path, job: Job) -> None:
        self._folder = folder
        self._job = job
        self._thread = ThreadPoolExecutor(1, "bpetite-finish")
        self._process = os.getpid()
        self._writer: ShardWriter | None = None
        self._unfinished: list[ShardWriter] = []
        self._has_failed = False

    def __enter__(self) -> _Writers:
        return self

    def __exit__(self, *_: object) -> None:
        if os.getpid() != self._process:
            return
        self._has_failed = True
        self._thread.shutdown(cancel_futures=True)
        for writer in self._unfinished:
            writer.discard()

    def write(self, number: int, ids: Ids, start: int, stop: int, ends: NDArray[np.uint64]) -> None:
        """Append ids to a shard."""
        if self._writer is None:
            self._writer = ShardWriter(self._folder, number, self._job.options.format, self._job.dtype)
            self._unfinished.append(self._writer)
        self._writer.write(ids[start:stop], ends - np.uint64(start))

    def end(self) -> Future[Shard]:
        """Begin to complete the shard."""
        writer, self._writer = self._writer, None
        assert writer is not None  # a shard is full only after a document was written
        return self._thread.submit(self._finish, writer)

    def _finish(self, writer: ShardWriter) -> Shard:
        """Complete a shard, unless an earlier one failed."""
        if self._has_failed:
            raise _Stopped
        try:
            shard = writer.finish()
        except BaseException:
            self._has_failed = True
            raise
        self._unfinished.remove(writer)
        return shard
