"""Inputs and a tokenizer → shards, on a cluster: some tasks encode groups of inputs, others write shards.

Ids wait in the cluster's memory until all ids of a shard are there; they are written once. The journal is
that of a run on one machine, except that its positions count groups instead of inputs.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bpetite._internal.types import Path as AnyPath
from bpetite._internal.types import Progress
from bpetite.corpus.cluster.tasks import Cluster, connected, fetched, grouped, locating_errors, work_in
from bpetite.corpus.job import Job, Options, named_stamp
from bpetite.corpus.manifest import Journal, Manifest, Position, ReadInput, RunState
from bpetite.corpus.resume import begin_run, finished, proposing_resume
from bpetite.corpus.shards import Ids, Shard, ShardFormat, ShardWriter, remove_parts
from bpetite.reading.batches import Batch
from bpetite.reading.division import divide
from bpetite.reading.options import Reading
from bpetite.reading.parallel import Bundle, Ended, read_all
from bpetite.reading.raw import hash_input
from bpetite.reading.sources import Input, size_of
from bpetite.show.progress import shown
from bpetite.tokenizer import Tokenizer

T = TypeVar("T")


def encode(
    tokenizer: Tokenizer,
    paths: AnyPath | Iterable[AnyPath],
    output: AnyPath,
    *,
    address: str = "local",
    options: Options | None = None,
    resume: bool = False,
    task_bytes: int | None = None,
    progress: Progress | bool | None = None,
) -> Manifest:
    """Encode as `bpetite.corpus.encode` does, on the cluster at this address (`local` starts one here).

    `resume` continues after the last whole shard of a stopped run, with tasks of the same size.
    """
    job = Job.make(tokenizer, paths, options or Options(), output)
    folder = Path(output)
    done = finished(folder, job, resume)
    if done is not None:
        return done
    if any(not source.is_local for source in job.inputs):
        raise ValueError("a cluster cannot encode URLs, only files that all machines see under the same name")
    with (
        contextlib.closing(Journal(folder)) as journal,
        proposing_resume(folder),
        connected(address) as cluster,
        shown(progress) as report,
    ):
        size = task_bytes or cluster.task_bytes(work_in(_inputs(job), job.options.reading))
        reached, begin = begin_run(folder, journal, job, resume, size, partial(_begun_inputs, job))
        size = reached.task_bytes or size
        if task_bytes not in (None, size):
            raise ValueError(f"{folder}: begun with tasks of {size} bytes, not {task_bytes}")
        begin()
        manifest = _ClusterRun(cluster, folder, job, journal, reached, size, report).finish()
        remove_parts(folder)  # of workers that died
        manifest.save(folder)
        journal.remove()
    return manifest


def _inputs(job: Job) -> Iterator[Input]:
    return (found for found in job.inputs if isinstance(found, Input))


def _begun_inputs(job: Job, reached: RunState) -> int:
    """Return how many inputs were begun by the tasks whose documents are in whole shards."""
    position, reading = reached.position, job.options.reading
    numbers: deque[int] = deque()

    def parts() -> Iterator[Input]:
        for number, found in enumerate(_inputs(job)):
            for part in divide(found, reading, reached.task_bytes):
                numbers.append(number)
                yield part

    begun = 0
    groups = grouped(parts(), reading, reached.task_bytes or 0)
    for group in islice(groups, position.input + (position.documents > 0)):
        for _ in group:
            begun = numbers.popleft() + 1
    return begun


@dataclass(frozen=True)
class _Slice:
    """Some of the documents that a task encoded, with references to its ids and the ends of its documents."""

    ids: Any
    ends: Any
    first: int
    after: int


@dataclass
class _Divided:
    """An input that several tasks read, and one more hashes."""

    source: Input
    stamp: list[Any]
    """Its name, size and times before anything of it was read in this run."""
    parts: range
    """The numbers of its parts, among those of all inputs."""
    hashed: Any
    """The reference to its size and hash."""
    is_noted: bool = False
    """Whether the journal has the hash."""

    def check(self) -> None:
        """Refuse it if it was written to since: its parts and its hash may not be of the same content."""
        if named_stamp(self.source) != self.stamp:
            raise ValueError(f"{self.source.name}: changed while it was read")

    def read(self, size: int, digest: str, parts: Sequence[ReadInput] = ()) -> ReadInput:
        """Return what was read of it."""
        documents, affected = sum(part.documents for part in parts), sum(part.affected for part in parts)
        return ReadInput(self.source.name, size, digest, documents, affected)


class _ClusterRun:
    """One run, from where it starts to the manifest."""

    def __init__(
        self,
        cluster: Cluster,
        folder: Path,
        job: Job,
        journal: Journal,
        reached: RunState,
        task_bytes: int,
        progress: Progress | None,
    ) -> None:
        self._cluster = cluster
        self._folder = folder
        self._job = job
        self._journal = journal
        self._reached = reached
        self._begin = reached.position
        self._task_bytes = task_bytes
        self._progress = progress
        self._sent_job = cluster.put(replace(job, inputs=[]))
        self._total = size_of(_inputs(job))
        self._done = 0
        self._divided: dict[int, _Divided] = {}
        """The divided inputs, by their numbers."""
        self._open: list[_Divided] = []
        """Those whose last part, or whose hash, is not in the journal."""
        self._slices: list[_Slice] = []
        self._tokens = 0
        self._number = len(reached.shards)
        self._noted = len(reached.inputs)
        """How many parts of inputs are in the journal, or belong to a shard that is being written."""
        self._begun = self._noted
        """How many parts of inputs have documents in shards that are written or being written."""
        self._building: deque[tuple[Any, range, int, Position]] = deque()
        self._build_shard = cluster.task(_build_shard)

    def finish(self) -> Manifest:
        """Encode what is left, and return the manifest."""
        number = self._begin.input - 1
        try:
            for number, size, ids, ends, read in self._cluster.ahead(self._groups()):
                parts = self._cluster.get(read)
                self._begun = len(self._reached.inputs) + len(parts)
                self._take(number, ids, ends)
                self._report(size)
                self._reached.inputs.extend(parts)
                self._settle(self._cluster.cores)
        except Exception:
            with contextlib.suppress(Exception):
                self._settle(0)  # Complete shards are put into the journal.
            raise
        if self._slices:
            self._end_shard(Position(number + 1))
        self._settle(0)
        return self._job.manifest(RunState(self._reached.shards, self._read_inputs()))

    def _groups(self) -> Iterator[tuple[int, int, Any, Any, Any]]:
        """Start the encoding of groups; yield the number, the size and the results of each."""
        encode_group = self._cluster.task(_encode_group, results=3)
        for number, group in enumerate(grouped(self._parts(), self._job.options.reading, self._task_bytes)):
            if number < self._begin.input:
                self._report(size_of(group))
            else:
                yield number, size_of(group), *encode_group([self._sent_job], self._cluster.put(group))

    def _parts(self) -> Iterator[Input]:
        """Yield inputs and parts of inputs; a divided input is hashed by a task of its own."""
        hash_whole = self._cluster.task(hash_input)
        known = {read.name: (read.bytes, read.xxh3_128) for read in self._reached.divided}
        first = 0
        for number, found in enumerate(_inputs(self._job)):
            stamp = named_stamp(found)
            parts = divide(found, self._job.options.reading, self._task_bytes)
            if len(parts) > 1:
                of_earlier_run = known.get(found.name)
                hashed = self._cluster.put(of_earlier_run) if of_earlier_run else hash_whole(found.name)
                numbers = range(first, first + len(parts))
                self._divided[number] = _Divided(found, stamp, numbers, hashed, bool(of_earlier_run))
                self._open.append(self._divided[number])
            first += len(parts)
            yield from parts

    def _take(self, number: int, ids: Any, ends: Any) -> None:
        """Assign the documents of a group to shards; each shard ends with the document that fills it."""
        ended = self._cluster.get(ends)
        first = self._begin.documents if number == self._begin.input else 0
        start = int(ended[first - 1]) if first else 0
        while first < len(ended):
            missing = self._job.options.shard_size - self._tokens + start
            last = first + int(np.searchsorted(ended[first:], np.uint64(missing)))
            after = min(last + 1, len(ended))
            self._slices.append(_Slice(ids, ends, first, after))
            stop = int(ended[after - 1])
            self._tokens += stop - start
            first, start = after, stop
            if last < len(ended):
                self._end_shard(Position(number, after))

    def _report(self, more: int) -> None:
        self._done += more
        if self._progress is not None:
            self._progress("encoding", self._done, self._total)

    def _end_shard(self, position: Position) -> None:
        """Start the writing of a shard, which ends at this position."""
        bounds = [(part.first, part.after) for part in self._slices]
        results = [result for part in self._slices for result in (part.ids, part.ends)]
        kind = (self._job.options.format, self._job.dtype)
        made = self._build_shard(kind, str(self._folder), self._number, bounds, *results)
        ended = range(self._noted, len(self._reached.inputs))
        self._building.append((made, ended, self._begun, position))
        self._noted = ended.stop
        self._number += 1
        self._slices, self._tokens = [], 0

    def _settle(self, most: int) -> None:
        """Put complete shards into the journal, in order, until at most `most` are left."""
        while self._building and (len(self._building) > most or self._cluster.is_ready(self._building[0][0])):
            made, ended, begun, position = self._building.popleft()
            shard = self._cluster.get(made)
            divided = list(self._newly_hashed(begun, ended.stop))
            self._journal.step(shard, self._reached.inputs, ended, position, divided)
            self._reached.shards.append(shard)

    def _newly_hashed(self, begun: int, ended: int) -> Iterator[ReadInput]:
        """Check the divided inputs among the `begun` parts, and yield hashes that are new to the journal."""
        checked = [divided for divided in self._open if divided.parts.start < begun]
        for divided in checked:
            if not divided.is_noted and self._cluster.is_ready(divided.hashed):
                divided.is_noted = True
                yield divided.read(*self._cluster.get(divided.hashed))
            divided.check()  # After the hash: both are of the same content.
        done = (divided for divided in checked if divided.is_noted and divided.parts.stop <= ended)
        for divided in done:
            self._open.remove(divided)

    def _read_inputs(self) -> list[ReadInput]:
        """Return what was read of each input, as the sum of its parts."""
        parts = iter(self._reached.inputs)
        read: list[ReadInput] = []
        for number, _ in enumerate(_inputs(self._job)):
            if number not in self._divided:
                read.append(next(parts))
                continue
            divided = self._divided[number]
            size, digest = self._cluster.get(divided.hashed)
            if not divided.is_noted:
                divided.check()
            read.append(divided.read(size, digest, list(islice(parts, len(divided.parts)))))
        return read


_jobs: dict[Any, Job] = {}
"""The job that this worker does, by its reference; its tokenizer knows the pretokens of earlier tasks."""


def _job_of(reference: Any) -> Job:
    if reference not in _jobs:
        _jobs.clear()
        _jobs[reference] = fetched(reference)
    return _jobs[reference]


def _encode_group(sent_job: list[Any], group: list[Input]) -> tuple[Ids, NDArray[np.uint64], list[ReadInput]]:
    """Encode a group: its ids, where documents end in them, and what was read of each input.

    The reference to the job is in a list, so that Ray does not replace it by a new copy for each task.
    """
    job = _job_of(sent_job[0])
    dtype = np.dtype(job.dtype).newbyteorder("<")
    ids, tokens = bytearray(), 0
    ends = [np.zeros(0, np.uint64)]
    read: list[ReadInput] = []
    documents = affected = 0
    with locating_errors(group, job.options.reading):
        for source, made in _read(group, job.options.reading):
            if isinstance(made, Ended):
                read.append(ReadInput(source.name, made.size, made.digest, documents, affected))
                documents = affected = 0
                continue
            batch = Batch(made.texts) if isinstance(made, Bundle) else made
            part, ended = job.ids_of(source.name, batch)
            ids += np.ascontiguousarray(part, dtype).data.cast("B")
            ends.append(ended + np.uint64(tokens))
            tokens += len(part)
            if isinstance(made, Bundle):
                files = zip(made.sources, made.ended, made.counts, strict=True)
                read.extend(ReadInput(file.name, end.size, end.digest, count) for file, end, count in files)
            else:
                documents, affected = documents + len(ended), affected + batch.affected
    return np.frombuffer(ids, dtype), np.concatenate(ends), read


def _read(group: Iterable[Input], reading: Reading) -> Iterator[tuple[Input, Batch | Bundle | Ended]]:
    """Read a group in order, and hash the inputs that are whole."""
    for is_part, members in groupby(group, key=attrgetter("is_part")):
        for source, made, _ in read_all(members, reading, threads=1, hashed=not is_part):
            yield source, made


def _build_shard(
    kind: tuple[ShardFormat, str],
    folder: str,
    number: int,
    bounds: list[tuple[int, int]],
    *results: NDArray[Any],
) -> Shard:
    """Write a shard: from the results of each group, the documents between two bounds."""
    writer = ShardWriter(Path(folder), number, *kind)
    try:
        for (first, after), ids, ends in zip(bounds, results[::2], results[1::2], strict=True):
            start = ends[first - 1] if first else np.uint64(0)
            writer.write(ids[int(start) : int(ends[after - 1])], ends[first:after] - start)
        return writer.finish()
    except BaseException:
        writer.discard()
        raise
