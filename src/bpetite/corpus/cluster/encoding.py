"""Inputs and a tokenizer → shards, on a cluster: some tasks encode groups of inputs, others write shards.

Ids wait in the cluster's memory until all ids of a shard are there; they are written once. All else is as on
one machine: who divides documents into shards, and the journal.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bpetite._internal.types import Path as AnyPath
from bpetite._internal.types import Progress
from bpetite.corpus.cluster.tasks import Cluster, connected, fetched
from bpetite.corpus.job import Job, Options
from bpetite.corpus.manifest import Manifest, Reached
from bpetite.corpus.run import Part, ShardBuilder, Stretch, run, stretches_of
from bpetite.corpus.shards import Ids, Shard, ShardFormat, ShardWriter, remove_parts
from bpetite.reading.parallel import read_all
from bpetite.reading.sources import Input, size_of
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
    if not all(source.is_local for source in job.inputs):
        raise ValueError("a cluster cannot encode URLs, only files that all machines see under the same name")
    work = functools.partial(_by_tasks, job, Path(output), address, task_bytes)
    return run(job, Path(output), work, resume, progress)


@contextlib.contextmanager
def _by_tasks(
    job: Job, folder: Path, address: str, task_bytes: int | None, reached: Reached
) -> Iterator[tuple[Iterable[Part], ShardBuilder]]:
    """Read and encode documents, and write shards, in tasks."""
    with connected(address) as cluster:
        yield _parts(cluster, job, len(reached.inputs), task_bytes), _ShardTasks(cluster, folder, job)
        remove_parts(folder)  # of workers that died


def _parts(cluster: Cluster, job: Job, first: int, task_bytes: int | None) -> Iterator[Part]:
    """Yield what tasks encode, each a group of parts of inputs from the first one on."""
    inputs = [found for found in job.inputs[first:] if isinstance(found, Input)]
    sent_job = cluster.put(replace(job, inputs=[]))
    encode_group = cluster.task(_encode_group, results=2)
    groups = cluster.groups(inputs, job.options.reading, task_bytes)
    begun = ((encode_group([sent_job], cluster.put(group)), size_of(group)) for group in groups)
    for (ids, described), read in cluster.ahead(begun):
        tokens, ends, stretches = cluster.get(described)
        yield Part(ids, tokens, ends, stretches, read)


Begun = tuple[int, list[Any], list[tuple[int, int, NDArray[np.uint64]]]]
"""The number of a shard, references to ids, and which of them belong to it, with the ends of documents."""


class _ShardTasks:
    """Lets tasks write shards."""

    def __init__(self, cluster: Cluster, folder: Path, job: Job) -> None:
        self.at_once = cluster.cores
        self._folder = str(folder)
        self._kind = (job.options.format, job.dtype)
        self._build = cluster.task(_build_shard)

    def begin(self, number: int) -> Begun:
        """Begin a shard."""
        return number, [], []

    def write(self, shard: Begun, ids: Any, start: int, stop: int, ends: NDArray[np.uint64]) -> None:
        """Append ids to a shard."""
        _, references, places = shard
        references.append(ids)
        places.append((start, stop, ends))

    def end(self, shard: Begun) -> Future[Shard]:
        """Start the task that writes the shard."""
        number, references, places = shard
        made: Future[Shard] = self._build(self._kind, self._folder, number, places, *references).future()
        return made


@functools.lru_cache(maxsize=1)
def _job_of(reference: Any) -> Job:
    """Return the job that this worker does; its tokenizer knows the pretokens of earlier tasks."""
    job: Job = fetched(reference)
    return job


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
