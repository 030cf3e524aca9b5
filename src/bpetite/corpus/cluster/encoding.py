"""Inputs and a tokenizer → shards, on a cluster: some tasks encode groups of inputs, others write shards.

Ids wait in the cluster's memory until all ids of a shard are there; they are written once. All else is as on
one machine: who divides documents into shards, and the journal.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bpetite._internal.types import Path as AnyPath
from bpetite._internal.types import Progress
from bpetite.corpus.cluster.tasks import Cluster, connected, fetched, grouped, work_in
from bpetite.corpus.job import Job, Options
from bpetite.corpus.manifest import Journal, Manifest
from bpetite.corpus.resume import begin_run, finished, proposing_resume
from bpetite.corpus.run import Part, Run, Stretch, stretches_of
from bpetite.corpus.shards import Ids, Shard, ShardFormat, ShardWriter, remove_parts
from bpetite.reading.division import divide
from bpetite.reading.parallel import read_all
from bpetite.reading.sources import Input, size_of
from bpetite.reading.threads import ahead
from bpetite.show.progress import shown
from bpetite.tokenizer import Tokenizer


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

    `resume` continues after the last whole shard of a stopped run, wherever that ran.
    """
    job = Job.make(tokenizer, paths, options or Options(), output)
    folder = Path(output)
    done = finished(folder, job, resume)
    if done is not None:
        return done
    inputs = [found for found in job.inputs if isinstance(found, Input) and found.is_local]
    if len(inputs) < len(job.inputs):
        raise ValueError("a cluster cannot encode URLs, only files that all machines see under the same name")
    with (
        contextlib.closing(Journal(folder)) as journal,
        proposing_resume(folder),
        connected(address) as cluster,
        shown(progress) as report,
    ):
        reached = begin_run(folder, journal, job, resume)
        size = task_bytes or cluster.task_bytes(work_in(inputs, job.options.reading))
        run = Run(folder, journal, job, reached, _ShardTasks(cluster, folder, job), report)
        manifest = run.finish(_parts(cluster, job, islice(inputs, reached.position.input, None), size))
        remove_parts(folder)  # of workers that died
    return manifest


def _parts(cluster: Cluster, job: Job, inputs: Iterable[Input], size: int) -> Iterator[Part]:
    """Yield what tasks encode, each a group of parts of inputs."""
    reading = job.options.reading
    sent_job = cluster.put(replace(job, inputs=[]))
    encode_group = cluster.task(_encode_group, results=2)
    divided = (part for found in inputs for part in divide(found, reading, size))
    begun = (
        (encode_group([sent_job], cluster.put(group)), size_of(group))
        for group in grouped(divided, reading, size)
    )
    for (ids, described), read in ahead(begun, cluster.ahead):
        tokens, ends, stretches = cluster.get(described)
        yield Part(ids, tokens, ends, stretches, read)


class _ShardTasks:
    """Lets tasks write shards."""

    def __init__(self, cluster: Cluster, folder: Path, job: Job) -> None:
        self.at_once = cluster.cores
        self._folder = str(folder)
        self._kind = (job.options.format, job.dtype)
        self._build = cluster.task(_build_shard)
        self._number = 0
        self._ids: list[Any] = []
        self._places: list[tuple[int, int, NDArray[np.uint64]]] = []

    def write(self, number: int, ids: Any, start: int, stop: int, ends: NDArray[np.uint64]) -> None:
        """Append ids to a shard."""
        self._number = number
        self._ids.append(ids)
        self._places.append((start, stop, ends))

    def end(self) -> Future[Shard]:
        """Start the task that writes the shard."""
        ids, places = self._ids, self._places
        self._ids, self._places = [], []
        made: Future[Shard] = self._build(self._kind, self._folder, self._number, places, *ids).future()
        return made


_jobs: dict[Any, Job] = {}
"""The job that this worker does, by its reference; its tokenizer knows the pretokens of earlier tasks."""


def _job_of(reference: Any) -> Job:
    if reference not in _jobs:
        _jobs.clear()
        _jobs[reference] = fetched(reference)
    return _jobs[reference]


def _encode_group(
    sent_job: list[Any], group: list[Input]
) -> tuple[Ids, tuple[int, NDArray[np.uint64], list[Stretch]]]:
    """Encode a group: its ids; and how many, where documents end in them, and what was read of each input.

    The reference to the job is in a list, so that Ray does not replace it by a new copy for each task.
    """
    job = _job_of(sent_job[0])
    dtype = np.dtype(job.dtype).newbyteorder("<")
    ids, tokens = bytearray(), 0
    ends = [np.zeros(0, np.uint64)]
    stretches: list[Stretch] = []
    for source, batch, _ in read_all(group, job.options.reading, threads=1, hashed=True):
        if batch.texts:
            part, ended = job.ids_of(source, batch)
            ids += np.ascontiguousarray(part, dtype).data.cast("B")
            ends.append(ended + np.uint64(tokens))
            tokens += len(part)
        stretches += stretches_of(batch)
    return np.frombuffer(ids, dtype), (tokens, np.concatenate(ends), stretches)


def _build_shard(
    kind: tuple[ShardFormat, str],
    folder: str,
    number: int,
    places: list[tuple[int, int, NDArray[np.uint64]]],
    *results: Ids,
) -> Shard:
    """Write a shard: of each result the ids between two places."""
    writer = ShardWriter(Path(folder), number, *kind)
    try:
        for (start, stop, ends), ids in zip(places, results, strict=True):
            writer.write(ids[start:stop], ends - np.uint64(start))
        return writer.finish()
    except BaseException:
        writer.discard()
        raise
