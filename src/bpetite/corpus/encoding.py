"""Inputs and a tokenizer in, a folder of shards out: a job that goes on from wherever it was stopped.

A shard ends with the document that brings it to `shard_size` tokens. Documents are read in the caller's
thread, each of as many others as were asked for encodes a batch at a time, one more writes ids, and two
complete shards. Memory does not depend on the size of the corpus: a few batches are on their way, and the
rows that ids are put in are used again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from bpetite._engine import Xxh3128
from bpetite._internal.files import write_whole
from bpetite._internal.integers import integer
from bpetite._internal.types import Path as AnyPath
from bpetite._internal.types import Progress as Told
from bpetite._internal.types import Special
from bpetite._persistence import artifact_bytes
from bpetite.corpus.content import Raw, hash_input
from bpetite.corpus.cuts import cutter
from bpetite.corpus.documents import Batch, Reading, batches_of, new_buffers, read_batches, refusing_invalid
from bpetite.corpus.manifest import (
    FORMER_TOKENIZER,
    JOURNAL,
    MANIFEST,
    TOKENIZER,
    Journal,
    Json,
    Manifest,
    Position,
    Progress,
    ReadInput,
)
from bpetite.corpus.shards import (
    FORMATS,
    Ids,
    ShardFormat,
    ShardWriter,
    choose_dtype,
    remove_parts,
)
from bpetite.corpus.sources import Input, find_inputs
from bpetite.tokenizer import Tokenizer

T = TypeVar("T")
Width = Literal["uint16", "uint32"]
Encoded = tuple[Ids, NDArray[np.uint64]]
"""Ids, and where each whole document ends in them."""

SHARD_SIZE = 100_000_000
_MOST_THREADS = 64
"""More are not used: one thread reads for all of them."""

_WAITING = 1
"""How many batches of ids may wait to be written."""

_FINISHERS = 2
"""How many shards are completed at a time: the last one need not wait for the one before it."""


@dataclass(frozen=True)
class Options:
    """How ids are to be laid out."""

    format: ShardFormat = "npy"
    dtype: str = "auto"
    shard_size: int = SHARD_SIZE
    append_special: str | None = None
    special: Special = "parse"
    reading: Reading = field(default_factory=Reading)

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise ValueError(f"format must be {', '.join(FORMATS)}, not {self.format!r}")
        shard_size = integer("shard_size", self.shard_size, least=1, most=2**63 - 1)
        object.__setattr__(self, "shard_size", shard_size)

    def to_dict(self, dtype: str) -> Json:
        """Return the choices, as manifests record them."""
        return {
            "format": self.format,
            "dtype": dtype,
            "shard_size": self.shard_size,
            "append_special": self.append_special,
            "special": self.special,
            **self.reading.to_dict(),
        }


def encode(
    tokenizer: Tokenizer,
    corpus: AnyPath | Iterable[AnyPath] | Documents,
    output: AnyPath,
    *,
    options: Options | None = None,
    resume: bool = False,
    num_threads: int | None = None,
    progress: Told | None = None,
) -> Manifest:
    """Encode files (or `Documents`, an iterable of them) into a folder of shards.

    `resume` goes on where a stopped run was, and ends with the same bytes as an undisturbed one; it refuses
    if the tokenizer, an option or an input is another than then. `progress` is called with
    `("encoding", bytes, of how many)` and `("documents", how many, 0)`.
    """
    job = Job.make(tokenizer, corpus, options or Options())
    folder = Path(output)
    done = finished(folder, job, resume)
    if done is not None:
        return done
    journal = Journal(folder)
    try:
        reached, begin = _begin(folder, journal, job, resume)
        with _Run(folder, journal, job, reached, begin, num_threads, progress) as run:
            return run.finish()
    finally:
        journal.close()


class Documents:
    """Documents from any iterable of `str` or UTF-8 `bytes`, where files are expected otherwise."""

    def __init__(self, documents: Iterable[str | bytes], name: str = "documents") -> None:
        self.name = name
        self._documents = documents

    weight = 1
    is_local = False

    def size(self) -> int | None:
        """Return None: nobody knows."""
        return None

    def batches(self, reading: Reading) -> Generator[Batch, None, None]:
        """Yield the documents."""
        return batches_of(self._documents, reading.invalid)


@dataclass(frozen=True)
class Job:
    """Everything that decides the bytes of the shards."""

    tokenizer: Tokenizer
    inputs: list[Input | Documents]
    options: Options
    dtype: str
    appended: int | None

    @staticmethod
    def make(tokenizer: Tokenizer, corpus: Any, options: Options) -> Job:
        """Check that everything fits together."""
        found: list[Input | Documents] = [corpus] if isinstance(corpus, Documents) else [*find_inputs(corpus)]
        for source in found:
            if source.weight != 1:
                raise ValueError(f"{source.name}: weights are for counting; encoding takes each input once")
        vocabulary = tokenizer.vocabulary
        largest = max([int(vocabulary.arrays.ids.max()), *vocabulary.special_tokens.values()])
        dtype = choose_dtype(options.dtype, largest, options.format)
        appended = None
        if options.append_special is not None:
            if options.append_special not in tokenizer.special_tokens:
                known = ", ".join(map(repr, tokenizer.special_tokens)) or "none"
                raise ValueError(f"append_special: {options.append_special!r} is no special token ({known})")
            appended = tokenizer.special_tokens[options.append_special]
        specials = tokenizer.special_tokens if options.special != "text" else ()
        reading = replace(options.reading, cut=cutter(tokenizer.pattern, specials))
        return Job(tokenizer, found, replace(options, reading=reading), dtype, appended)

    @cached_property
    def artifact(self) -> bytes:
        """The tokenizer, as it is written beside the shards."""
        return artifact_bytes(self.tokenizer.vocabulary)

    def save_tokenizer(self, folder: Path) -> None:
        """Write the tokenizer beside the shards."""
        with write_whole(folder / TOKENIZER, overwrite=True) as file:
            file.write(self.artifact)

    def stamps(self) -> list[list[Any]]:
        """Return what inputs are told from changed ones by before they are read."""
        return [[source.name, source.size(), stamp_of(source)] for source in self.inputs]

    def identity(self, stamps: list[list[Any]] | None = None) -> Json:
        """Return what a run that goes on must have in common with the one that was stopped."""
        return {
            "fingerprint": self.tokenizer.fingerprint,
            "options": self.options.to_dict(self.dtype),
            "inputs": self.stamps() if stamps is None else stamps,
        }

    def manifest(self, progress: Progress) -> Manifest:
        """Return the manifest of what was made."""
        return Manifest(
            tokenizer={
                "fingerprint": self.tokenizer.fingerprint,
                "vocab_size": self.tokenizer.vocab_size,
                "file": TOKENIZER,
                "sha256": hashlib.sha256(self.artifact).hexdigest(),
            },
            options=self.options.to_dict(self.dtype),
            inputs=tuple(progress.inputs),
            shards=tuple(progress.shards),
        )

    def ids_of(
        self, name: str, batch: Batch, row: Ids | None = None, progress: Told | None = None
    ) -> Encoded:
        """Encode a batch on this thread; the ids are the first of `row` if they have room there."""
        width: Width = "uint16" if self.dtype == "uint16" else "uint32"
        with refusing_invalid(name, batch):
            row, offsets = self.tokenizer._encoder.encode_into(
                batch.texts, row, self.options.special, width, self.appended, progress
            )
        ids = row[: int(offsets[-1])]
        if not batch.goes_on:
            return ids, offsets[1:]
        return ids[: len(ids) - (self.appended is not None)], offsets[1:-1]


def threads_of(num_threads: int | None) -> int:
    """Return how many threads are meant; None is one for each core."""
    if num_threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(integer("num_threads", num_threads, least=1), _MOST_THREADS)


def stamp_of(source: Input | Documents) -> list[int] | None:
    """Return what changes when a local file is written to; None for other inputs."""
    if not source.is_local or source.size() is None:
        return None
    status = os.stat(source.name)
    return [status.st_mtime_ns, status.st_ctime_ns]


_BEFORE_SHARDS = (JOURNAL, TOKENIZER, FORMER_TOKENIZER)
"""What may be in a folder in which no shard was begun."""


# Going on --------------------------------------------------------------------------------------------------


def finished(folder: Path, job: Job, resume: bool) -> Manifest | None:
    """Return the manifest of a folder in which everything is done; refuse one that may not be written to."""
    folder.mkdir(exist_ok=True)
    if not resume and any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty; --resume goes on with a stopped run")
    if not (folder / MANIFEST).exists():
        return None
    manifest = Manifest.load(folder)
    _check_same(folder, "model", manifest.tokenizer["fingerprint"], job.tokenizer.fingerprint)
    _check_same_options(folder, dict(manifest.options), job.options.to_dict(job.dtype))
    _check_same(
        folder, "inputs", [read.name for read in manifest.inputs], [source.name for source in job.inputs]
    )
    for read, source in zip(manifest.inputs, job.inputs, strict=True):
        _check_unchanged(read, source)
    return manifest


def _begin(folder: Path, journal: Journal, job: Job, resume: bool) -> tuple[Progress, Callable[[], bool]]:
    """Return how far a stopped run came, having made sure that this is the same one.

    What is called besides writes down what must be there before any shard is.
    """
    remove_parts(folder)
    was, reached = journal.read()
    if was is None:
        if resume and any(path.name not in _BEFORE_SHARDS for path in folder.iterdir()):
            raise FileExistsError(f"{folder} is not empty and has no journal to go on from")
        stamps = job.stamps()

        def begin() -> bool:
            job.save_tokenizer(folder)
            journal.begin(job.identity(stamps))
            return True

        return reached, begin
    check_same_job(folder, was, job, reached.inputs)
    if not (folder / TOKENIZER).exists():
        job.save_tokenizer(folder)
    for shard in reached.shards:
        for file in shard.files:
            path = folder / file.name
            if not path.is_file() or path.stat().st_size != file.bytes:
                raise ValueError(
                    f"{path}: gone or changed since it was written; remove the folder and start again"
                )
    return reached, lambda: True


def check_same_job(folder: Path, was: Json, job: Job, read: Sequence[ReadInput]) -> None:
    """Refuse a job that differs from the one that was begun; `read` are the first inputs, read by then."""
    now = job.identity()
    _check_same(folder, "model", was["fingerprint"], now["fingerprint"])
    _check_same_options(folder, was["options"], now["options"])
    names = [name for name, *_ in was["inputs"]]
    _check_same(folder, "inputs", names, [source.name for source in job.inputs])
    for number, source in enumerate(job.inputs):
        known = read[number] if number < len(read) else None
        _check_input(source, was["inputs"][number], now["inputs"][number], known)


def _check_same(folder: Path, what: str, was: Any, now: Any) -> None:
    if was != now:
        raise ValueError(f"{folder}: the {what} changed: begun with {was!r:.300}, now {now!r:.300}")


def _check_same_options(folder: Path, was: Json, now: Json) -> None:
    for name in sorted({*was, *now}):
        _check_same(folder, f"option {name}", was.get(name), now.get(name))


def _check_input(source: Input | Documents, then: list[Any], now: list[Any], read: ReadInput | None) -> None:
    """Refuse an input that is another than when the run began; where the hash is known, by the hash."""
    if then == now:
        return
    if read is not None:
        _check_unchanged(read, source)
    elif then[1] != now[1] or (then[2] and then[2][0] != now[2][0]):
        raise ValueError(f"{source.name}: changed since the run began ({then[1]} bytes then, {now[1]} now)")


def _check_unchanged(read: ReadInput, source: Input | Documents) -> None:
    if isinstance(source, Input) and source.is_local:
        if hash_input(source.name) != (read.bytes, read.xxh3_128):
            raise ValueError(f"{source.name}: changed since it was encoded ({read.bytes} bytes then)")
    elif source.size() not in (None, read.bytes):
        raise ValueError(f"{source.name}: changed since it was encoded ({read.bytes} bytes then)")


# The run ---------------------------------------------------------------------------------------------------


class _Stopped(Exception):
    """A batch was not encoded to its end, because something else had failed."""


class _Run:
    """One run, from where it begins to the manifest."""

    def __init__(
        self,
        folder: Path,
        journal: Journal,
        job: Job,
        reached: Progress,
        begin: Callable[[], bool],
        num_threads: int | None,
        progress: Told | None,
    ) -> None:
        self._folder = folder
        self._journal = journal
        self._job = job
        self._reached = reached
        self._told = progress
        self._total = sum(source.size() or 0 for source in job.inputs)
        self._before = sum(read.bytes for read in reached.inputs)
        self._behind = sum(shard.documents for shard in reached.shards)
        self._unnoted: list[ReadInput] = []
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
        self._rows: deque[Ids] = deque()
        self._buffers = new_buffers()
        self._unfinished: list[ShardWriter] = []
        self._failed = False
        # If this fails no shard is completed; meanwhile documents are read and encoded.
        self._finishing.append(self._finishers.submit(self._noting_failure, begin))

    def __enter__(self) -> _Run:
        return self

    def __exit__(self, *_: object) -> None:
        self._failed = True
        for threads in (self._encoders, self._writer_thread, self._finishers):
            threads.shutdown()
        for writer in self._unfinished:
            writer.discard()

    def finish(self) -> Manifest:
        """Encode what is left, and write the manifest."""
        begin = self._reached.position
        try:
            for number in range(len(self._reached.inputs), len(self._job.inputs)):
                self._encode_input(number, begin if number == begin.input else Position(number))
        except Exception:
            with contextlib.suppress(_Stopped):
                self._settle(0)  # What was read before is good, or its error comes first.
            raise
        self._settle(0)
        self._tell(self._before)
        if self._documents:
            self._end_shard(Position(len(self._job.inputs)))
        self._wait(self._writing, 0)
        self._wait(self._finishing, 0)
        manifest = self._job.manifest(self._reached)
        manifest.save(self._folder)
        self._journal.remove()
        return manifest

    def _encode_input(self, number: int, begin: Position) -> None:
        """Have the documents of an input encoded; what comes of it is dealt with in order."""
        source = self._job.inputs[number]
        reading = self._job.options.reading
        passed = _Passed(source.name, number, hashed=stamp_of(source) is None)
        raw = None if isinstance(source, Documents) else Raw(source, hashed=True)
        made = (
            read_batches(source, reading, raw, self._buffers)
            if isinstance(source, Input)
            else source.batches(reading)
        )
        read = affected = 0
        with contextlib.closing(made):
            for batch in made:
                self._begin_batch(source.name, passed.skip(batch, begin), passed)
                self._settle(self._threads + 1)
                read, affected = batch.read, affected + batch.affected
                self._tell(self._before + read)
        passed.check_reached(begin)
        self._before += read
        size, digest = (read, None) if raw is None else (raw.size, raw.digest)
        self._encoding.append(partial(self._end_input, passed, size, digest, affected))

    def _begin_batch(self, name: str, batch: Batch, passed: _Passed) -> None:
        """Have a batch encoded, if there is anything in it."""
        if batch.texts:
            row = self._rows.pop() if self._rows else None
            encoded = self._encoders.submit(self._job.ids_of, name, batch, row, self._stop_if_failed)
            self._encoding.append(partial(self._take, encoded, batch, passed))

    def _tell(self, read: int) -> None:
        """Tell how many bytes were read, and how many documents of them are encoded."""
        if self._told is not None:
            self._told("encoding", read, self._total)
            self._told("documents", self._behind, 0)

    def _settle(self, most: int) -> None:
        """Deal with what was begun first until at most so much is left."""
        while len(self._encoding) > most:
            self._encoding.popleft()()

    def _stop_if_failed(self, *_: object) -> None:
        if self._failed:
            raise _Stopped

    def _take(self, encoded: Future[Encoded], batch: Batch, passed: _Passed) -> None:
        """Have the ids of a batch written, and end a shard with each document that makes one full."""
        try:
            ids, ends = encoded.result()
        except _Stopped:
            self._wait(self._writing, 0)  # One of these has the error that stopped it.
            self._wait(self._finishing, 0)
            raise
        row, texts = [] if ids.base is None else [ids.base], batch.texts
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
        self._writing.append(self._writer_thread.submit(self._rows.extend, row))

    def _end_input(self, passed: _Passed, size: int, digest: str | None, affected: int) -> None:
        """Note an input that was read to its end."""
        finished = ReadInput(passed.name, size, digest or passed.digest(), passed.documents, affected)
        self._reached.inputs.append(finished)
        self._unnoted.append(finished)

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
        """Have the shard completed while the next one begins, and written down where that is."""
        writer, inputs = self._writer, self._unnoted
        assert writer is not None  # a document was written: only then can a shard be full
        self._wait(self._finishing, _FINISHERS - 1)
        written, before = self._writing[-1], list(self._finishing)

        def complete() -> bool:
            written.result()
            if self._failed:
                return False
            shard = writer.complete()
            if not all(finished.exception() is None and finished.result() for finished in before):
                return False  # The error of the one before is told.
            writer.publish()
            self._unfinished.remove(writer)
            self._journal.step(shard, inputs, position)
            self._reached.shards.append(shard)
            return True

        self._finishing.append(self._finishers.submit(self._unless_failed, complete))
        self._writer = None
        self._number += 1
        self._tokens = self._documents = 0
        self._unnoted = []

    def _unless_failed(self, work: Callable[..., T], *arguments: Any) -> T | None:
        """Do something in another thread; after a failure nothing."""
        return None if self._failed else self._noting_failure(work, *arguments)

    def _noting_failure(self, work: Callable[..., T], *arguments: Any) -> T:
        try:
            return work(*arguments)
        except BaseException:
            self._failed = True
            raise

    def _wait(self, waiting: deque[Future[Any]], most: int) -> None:
        """Wait until at most so many things are left to do, and raise the error of any that failed."""
        while len(waiting) > most:
            waiting.popleft().result()


class _Passed:
    """Which documents of an input lie behind."""

    def __init__(self, name: str, number: int, *, hashed: bool) -> None:
        self.name = name
        self._number = number
        self._hash = Xxh3128() if hashed else None
        self.documents = 0

    def go_past(self, texts: Sequence[str | bytes], *, goes_on: bool = False) -> None:
        """Leave documents behind; the last one not wholly, if it goes on."""
        self.documents += len(texts) - goes_on
        if self._hash is not None:
            for place, text in enumerate(texts):
                # What is no text was never encoded, and must only differ from what was.
                self._hash.update(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
                if place < len(texts) - goes_on:
                    self._hash.update(b"\xff")  # which no text has in it

    def skip(self, batch: Batch, begin: Position) -> Batch:
        """Leave behind what lies before the beginning, and return the rest of the batch."""
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
        """Refuse an input that ended before the beginning."""
        if self.documents < begin.documents:
            raise ValueError(f"{self.name}: changed since the run began: it has fewer documents")

    def position(self) -> Position:
        """Return where the next document is."""
        return Position(self._number, self.documents, self.digest())

    def digest(self) -> str:
        """Return the hash of the documents behind, if they are hashed."""
        return "" if self._hash is None else self._hash.hexdigest()
