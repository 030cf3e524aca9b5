"""Inputs and a tokenizer → a folder of shards; a stopped run can be resumed.

A shard ends with the document that brings it to `shard_size` tokens. `num_threads` threads read documents, as
many others encode one batch each, one more writes ids, and two complete shards. Memory does not depend on the
size of the corpus: only a few batches are in work at a time, and the arrays that ids are put in are reused.
"""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bpetite._engine import Xxh3128
from bpetite._internal.types import Path as AnyPath
from bpetite._internal.types import Progress
from bpetite.corpus.job import Corpus, Documents, Encoded, Job, Options, stamp_of
from bpetite.corpus.manifest import Journal, Manifest, Position, ReadInput, RunState
from bpetite.corpus.resume import begin_run, finished, proposing_resume
from bpetite.corpus.shards import Ids, ShardWriter
from bpetite.reading.batches import Batch
from bpetite.reading.parallel import FORKED, Bundle, Ended, read_all, threads_of
from bpetite.reading.sources import Input, size_of
from bpetite.show.progress import shown
from bpetite.tokenizer import Tokenizer

T = TypeVar("T")
_WAITING = 1
"""How many batches of ids may wait to be written."""

_FINISHERS = 2
"""How many shards are hashed and synced at a time."""


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
    with contextlib.closing(Journal(folder)) as journal, proposing_resume(folder), shown(progress) as report:
        reached, begin = begin_run(folder, journal, job, resume)
        with _Run(folder, journal, job, reached, begin, num_threads, report) as run:
            return run.finish()


class _Stopped(Exception):
    """The encoding of a batch was given up because another thread had failed."""


class _Run:
    """One run, from where it starts to the manifest."""

    def __init__(
        self,
        folder: Path,
        journal: Journal,
        job: Job,
        reached: RunState,
        begin: Callable[[], bool],
        num_threads: int | None,
        progress: Progress | None,
    ) -> None:
        self._process = os.getpid()
        self._folder = folder
        self._journal = journal
        self._job = job
        self._reached = reached
        self._progress = progress
        self._total = 0 if progress is None else size_of(job.inputs)
        self._before = sum(read.bytes for read in reached.inputs)
        self._reached_position = reached.position
        self._behind = sum(shard.documents for shard in reached.shards)
        self._noted = len(reached.inputs)
        """How many inputs are in the journal, or in the work of a thread that will put them there."""
        self._writer: ShardWriter | None = None
        self._number = len(reached.shards)
        self._tokens = self._documents = 0
        self._threads = threads_of(num_threads)
        self._encoders = ThreadPoolExecutor(self._threads, "bpetite-encode")
        self._writer_thread = ThreadPoolExecutor(1, "bpetite-write")
        self._finishers = ThreadPoolExecutor(_FINISHERS, "bpetite-finish")
        self._encoding: deque[Callable[[], None]] = deque()
        self._writing: deque[Future[Any]] = deque()
        self._finishing: deque[Future[bool | None]] = deque()
        self._unfinished: list[ShardWriter] = []
        self._failed = False
        # Documents are read and encoded meanwhile; if this fails, no shard is completed.
        self._finishing.append(self._finishers.submit(self._noting_failure, begin))

    def __enter__(self) -> _Run:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_forked():
            return  # Threads and files belong to the other process.
        self._failed = True
        for threads in (self._encoders, self._writer_thread, self._finishers):
            threads.shutdown()
        for writer in self._unfinished:
            writer.discard()

    def finish(self) -> Manifest:
        """Encode what is left, and write the manifest."""
        try:
            self._encode_inputs()
            self._settle(0)
        except Exception:
            if self._is_forked():
                raise
            with contextlib.suppress(_Stopped):
                self._settle(0)  # What was read before is finished; an error there is raised first.
                self._wait(self._writing, 0)
                self._wait(self._finishing, 0)
            raise
        self._report(self._before)
        if self._documents:
            self._end_shard(Position(len(self._job.inputs)))
        self._wait(self._writing, 0)
        self._wait(self._finishing, 0)
        manifest = self._job.manifest(self._reached)
        manifest.save(self._folder)
        self._journal.remove()
        return manifest

    def _encode_inputs(self) -> None:
        """Read and encode all documents; the results are handled in the order of the inputs."""
        number = len(self._reached.inputs)
        passed: _Passed | None = None
        with contextlib.closing(self._read(number)) as items:
            for source, made, more in items:
                self._check_process()
                self._before += more
                if isinstance(made, Bundle):
                    bundle = _PassedBundle(made, number, self._note)
                    self._begin_batch(source.name, Batch(made.texts), bundle)
                    self._encoding.append(bundle.end)
                    number += len(made.ended)
                    self._settle(self._threads)
                    self._report(self._before)
                    continue
                begin = self._reached_in(number)
                if passed is None:
                    stamped = isinstance(source, Input) and stamp_of(source) is not None
                    passed = _Passed(source.name, number, hashed=not stamped)
                    affected = 0
                if isinstance(made, Ended):
                    passed.check_reached(begin)
                    self._encoding.append(partial(self._end_input, passed, made, affected))
                    number, passed = number + 1, None
                else:
                    affected += made.affected
                    self._begin_batch(source.name, passed.skip(made, begin), passed)
                    self._settle(self._threads)
                    self._report(self._before)

    def _read(
        self, first: int
    ) -> Generator[tuple[Input | Documents, Batch | Bundle | Ended, int], None, None]:
        """Yield what is read of the inputs from number `first` on, in order."""
        reading = self._job.options.reading
        inputs = islice(self._job.inputs, first, None)
        begun = self._reached_position.documents > 0  # An input that was begun is read by itself.
        for apart in (islice(inputs, begun), inputs):
            yield from read_all(_files(apart), reading, self._threads, hashed=True)
        documents = self._job.inputs[0] if len(self._job.inputs) > first else None
        if isinstance(documents, Documents):
            read = 0
            with contextlib.closing(documents.batches(reading)) as made:
                for batch in made:
                    yield documents, batch, batch.read - read
                    read = batch.read
            yield documents, Ended(read, ""), 0

    def _reached_in(self, number: int) -> Position:
        """Return where to continue in an input: where an earlier run stopped, or at its beginning."""
        begin = self._reached_position
        return begin if number == begin.input else Position(number)

    def _begin_batch(self, name: str, batch: Batch, passed: _Passed | _PassedBundle) -> None:
        """Start the encoding of a batch, if it has documents."""
        if batch.texts:
            encoded = self._encoders.submit(self._job.ids_of, name, batch, self._stop_if_failed)
            self._encoding.append(partial(self._take, encoded, batch, passed))

    def _report(self, read: int) -> None:
        """Report how many bytes were read, and how many documents are encoded."""
        if self._progress is not None:
            self._progress("encoding", read, self._total)
            self._progress("documents", self._behind, 0)
            self._check_process()

    def _is_forked(self) -> bool:
        """Whether this process is a fork of the one that encodes: the documents or `progress` may fork."""
        return os.getpid() != self._process

    def _check_process(self) -> None:
        if self._is_forked():
            raise RuntimeError(FORKED)

    def _settle(self, most: int) -> None:
        """Handle the oldest results until at most `most` are left."""
        while len(self._encoding) > most:
            try:
                self._encoding.popleft()()
            except BaseException:
                self._encoding.clear()  # Only the first error is reported.
                raise

    def _stop_if_failed(self, *_: object) -> None:
        if self._failed:
            raise _Stopped

    def _take(self, encoded: Future[Encoded], batch: Batch, passed: _Passed | _PassedBundle) -> None:
        """Queue the ids of a batch for writing; end a shard after each document that fills it."""
        try:
            ids, ends = encoded.result()
        except _Stopped:
            self._wait(self._writing, 0)  # One of these has the error that stopped it.
            self._wait(self._finishing, 0)
            raise
        texts = batch.texts
        while True:
            missing = max(0, self._job.options.shard_size - self._tokens)
            last = int(np.searchsorted(ends, np.uint64(missing)))
            if last == len(ends):
                break
            stop = int(ends[last])
            self._write(ids[:stop], ends[: last + 1])
            passed.go_past(texts[: last + 1])
            self._end_shard(passed.position())
            ids, ends, texts = ids[stop:], ends[last + 1 :] - np.uint64(stop), texts[last + 1 :]
        self._write(ids, ends)
        passed.go_past(texts, goes_on=batch.goes_on)

    def _end_input(self, passed: _Passed, read: Ended, affected: int) -> None:
        """Add an input that was read to its end to the inputs that are done."""
        digest = read.digest or passed.digest()
        self._note(ReadInput(passed.name, read.size, digest, passed.documents, affected))

    def _note(self, finished: ReadInput) -> None:
        self._reached.inputs.append(finished)

    def _write(self, ids: Ids, ends: NDArray[np.uint64]) -> None:
        if not len(ids) and not len(ends):
            return
        if self._writer is None:
            self._writer = ShardWriter(self._folder, self._number, self._job.options.format, self._job.dtype)
            self._unfinished.append(self._writer)
        self._tokens += len(ids)
        self._documents += len(ends)
        self._behind += len(ends)
        while self._finishing and self._finishing[0].done():
            self._finishing.popleft().result()
        self._wait(self._writing, _WAITING)
        self._writing.append(self._writer_thread.submit(self._unless_failed, self._writer.write, ids, ends))

    def _end_shard(self, position: Position) -> None:
        """Complete the shard and put it into the journal, in another thread while the next one begins."""
        writer, inputs = self._writer, range(self._noted, len(self._reached.inputs))
        assert writer is not None  # a shard is full only after a document was written
        self._wait(self._finishing, _FINISHERS - 1)
        written, before = self._writing[-1], list(self._finishing)

        def complete() -> bool:
            written.result()
            if self._failed:
                return False
            shard = writer.complete()
            if not all(finished.exception() is None and finished.result() for finished in before):
                return False  # An earlier shard failed: its error is raised.
            writer.publish()
            self._unfinished.remove(writer)
            self._journal.step(shard, self._reached.inputs, inputs, position)
            self._reached.shards.append(shard)
            return True

        self._finishing.append(self._finishers.submit(self._unless_failed, complete))
        self._writer = None
        self._number += 1
        self._tokens = self._documents = 0
        self._noted = inputs.stop

    def _unless_failed(self, work: Callable[..., T], *arguments: Any) -> T | None:
        """Do a piece of work, in a thread of its own, unless something failed before."""
        return None if self._failed else self._noting_failure(work, *arguments)

    def _noting_failure(self, work: Callable[..., T], *arguments: Any) -> T:
        try:
            return work(*arguments)
        except BaseException:
            self._failed = True
            raise

    def _wait(self, waiting: deque[Future[Any]], most: int) -> None:
        """Wait until at most `most` results are left; raise the error of one that failed."""
        while len(waiting) > most:
            waiting.popleft().result()


def _files(inputs: Iterable[Input | Documents]) -> Iterator[Input]:
    """Yield the inputs that are files, not documents in memory."""
    return (found for found in inputs if isinstance(found, Input))


class _Passed:
    """Which documents of an input are done."""

    def __init__(self, name: str, number: int, *, hashed: bool) -> None:
        self.name = name
        self._number = number
        self._hash = Xxh3128() if hashed else None
        self.documents = 0

    def go_past(self, texts: Sequence[str | bytes], *, goes_on: bool = False) -> None:
        """Count documents as done; all but the last if that one goes on."""
        self.documents += len(texts) - goes_on
        if self._hash is not None:
            for place, text in enumerate(texts):
                # A text that is not UTF-8 was never encoded; its hash must only differ from all others.
                self._hash.update(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
                if place < len(texts) - goes_on:
                    self._hash.update(b"\xff")  # a byte that no UTF-8 contains

    def skip(self, batch: Batch, begin: Position) -> Batch:
        """Return the documents of a batch that an earlier run has not done, those from `begin` on."""
        missing = begin.documents - self.documents
        if missing <= 0:
            return batch
        whole = len(batch.texts) - batch.goes_on
        if whole < missing:
            self.go_past(batch.texts, goes_on=batch.goes_on)
            return replace(batch, texts=[])
        self.go_past(batch.texts[:missing])
        if self.position() != begin:
            raise ValueError(f"{self.name}: changed since the run began")
        return replace(batch, texts=batch.texts[missing:], first=batch.first + missing, begun=0)

    def check_reached(self, begin: Position) -> None:
        """Refuse an input that has fewer documents than an earlier run has done."""
        if self.documents < begin.documents:
            raise ValueError(f"{self.name}: changed since the run began: it has fewer documents")

    def position(self) -> Position:
        """Return where the next document is."""
        return Position(self._number, self.documents, self.digest())

    def digest(self) -> str:
        """Return the hash of the documents that are done, if they are hashed."""
        return "" if self._hash is None else self._hash.hexdigest()


class _PassedBundle:
    """Which small files of a bundle, and which documents of the next one, are done."""

    def __init__(self, bundle: Bundle, number: int, note: Callable[[ReadInput], None]) -> None:
        self._bundle = bundle
        self._number = number
        self._note = note
        self._place = self._documents = 0

    def go_past(self, texts: Sequence[str | bytes], *, goes_on: bool = False) -> None:
        """Count documents as done, and note the files that end with them."""
        self._documents += len(texts) - goes_on
        counts = self._bundle.counts
        while self._place < len(counts) and self._documents >= counts[self._place]:
            self._documents -= counts[self._place]
            source, read = self._bundle.sources[self._place], self._bundle.ended[self._place]
            self._note(ReadInput(source.name, read.size, read.digest, counts[self._place]))
            self._place += 1

    def end(self) -> None:
        """Note the last files, which have no documents."""
        self.go_past([])

    def position(self) -> Position:
        """Return where the next document is."""
        return Position(self._number + self._place, self._documents)
