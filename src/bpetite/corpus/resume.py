"""A folder and a job → how far an earlier run of this job came, or an error that says what differs."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from bpetite._internal.arguments import worded
from bpetite.corpus.job import Documents, Job, named_stamp
from bpetite.corpus.manifest import (
    JOURNAL,
    MANIFEST,
    TOKENIZER,
    Journal,
    Json,
    Manifest,
    ReadInput,
    RunState,
)
from bpetite.corpus.shards import remove_parts
from bpetite.reading.raw import hash_input
from bpetite.reading.sources import Input

_NAMED = 5
"""An error names at most this many missing or new inputs."""

_FULL = (errno.ENOSPC, errno.EDQUOT)
"""The errors of a full disk and of a used up quota."""

_BEFORE_SHARDS = (JOURNAL, TOKENIZER)
"""The files that may be in a folder before the first shard is begun."""


def finished(folder: Path, job: Job, resume: bool) -> Manifest | None:
    """Return the manifest of a finished folder, None for an unfinished one; refuse any other folder.

    What a run leaves that is killed after it wrote the manifest is removed.
    """
    folder.mkdir(exist_ok=True)
    if not resume and any(folder.iterdir()):
        raise FileExistsError(
            worded(lambda name: f"{folder} is not empty; {name('resume', True)} continues a stopped run")
        )
    if not (folder / MANIFEST).exists():
        return None
    manifest = Manifest.load(folder)
    _check_same(folder, "model", manifest.tokenizer["fingerprint"], job.tokenizer.fingerprint)
    _check_same_options(folder, dict(manifest.options), job.options.to_dict(job.dtype))
    _check_same_inputs(folder, (read.name for read in manifest.inputs), job)
    for read, source in zip(manifest.inputs, job.inputs, strict=True):
        _check_unchanged(read, source)
    remove_parts(folder)
    if (folder / JOURNAL).exists():  # A read-only file system refuses to remove even what is not there.
        (folder / JOURNAL).unlink(missing_ok=True)
    return manifest


@contextlib.contextmanager
def proposing_resume(folder: Path) -> Iterator[None]:
    """Let the error of a full disk name a file and say how to go on."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        full = error.strerror
        why = worded(lambda name: f"{full}; {name('resume', True)} continues after the last whole shard")
        raise OSError(error.errno, why, error.filename or str(folder)) from error


def begin_run(folder: Path, journal: Journal, job: Job, resume: bool) -> RunState:
    """Return how far a stopped run of the same job came; for a new run, begin the journal."""
    remove_parts(folder)
    was, reached = journal.read()
    if was is None:
        if resume and any(path.name not in _BEFORE_SHARDS for path in folder.iterdir()):
            raise FileExistsError(f"{folder} is not empty and has no journal of a run to continue")
        job.save_tokenizer(folder)
        journal.begin(job.identity())
        return reached
    _check_same_job(folder, was, job, reached)
    if not (folder / TOKENIZER).exists():
        job.save_tokenizer(folder)
    for shard in reached.shards:
        for file in shard.files:
            path = folder / file.name
            if not path.is_file() or path.stat().st_size != file.bytes:
                raise ValueError(
                    f"{path}: missing or changed since it was written; remove the folder and start again"
                )
    return reached


def _check_same_job(folder: Path, was: Json, job: Job, reached: RunState) -> None:
    """Refuse a job that differs from the one that was begun.

    Inputs that were read must not have changed since; the others may have.
    """
    _check_same(folder, "model", was["fingerprint"], job.tokenizer.fingerprint)
    _check_same_options(folder, was["options"], job.options.to_dict(job.dtype))
    _check_same_inputs(folder, (name for name, *_ in was["inputs"]), job)
    begun = reached.position.input + (reached.position.documents > 0)
    read: list[ReadInput | None] = [*reached.inputs, None]
    for source, then, known in islice(zip(job.inputs, was["inputs"], read, strict=False), begun):
        now = named_stamp(source)
        if then == now:
            continue
        touched = f"{source.name}: changed since the run read a part of it"
        if known is not None:
            _check_unchanged(known, source)
        elif then[1] != now[1]:
            raise ValueError(f"{touched}: {then[1]} bytes then, {now[1]} now")
        elif then[2] and then[2][0] != now[2][0]:
            raise ValueError(
                f"{touched}: it was written to again; a copy with the same content and the same time of "
                "change is accepted (cp -p)"
            )


def _check_same(folder: Path, what: str, was: Any, now: Any) -> None:
    if was != now:
        raise ValueError(f"{folder}: the {what} changed: begun with {was!r:.300}, now {now!r:.300}")


def _check_same_inputs(folder: Path, names: Iterable[str], job: Job) -> None:
    """Refuse other inputs than those that a run was begun with, and name what is missing and what is new."""
    was, now = list(names), [source.name for source in job.inputs]
    if was == now:
        return
    kept, given = set(was), set(now)
    missing, new = [name for name in was if name not in given], [name for name in now if name not in kept]
    changes = [_named(names, what) for names, what in ((missing, "missing"), (new, "new")) if names]
    if not changes:
        pairs = enumerate(zip(was, now, strict=False))
        place = next((place for place, names in pairs if names[0] != names[1]), -1)
        changes = [f"they come in another order, or another number of times, from {now[place]} on"]
    raise ValueError(f"{folder}: the inputs changed since the run began: {'; '.join(changes)}")


def _named(names: Sequence[str], what: str) -> str:
    """Say how many names are missing or new, and the first few of them."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{len(names)} {'is' if len(names) == 1 else 'are'} {what} ({', '.join(names[:_NAMED])}{more})"


def _check_same_options(folder: Path, was: Json, now: Json) -> None:
    for name in sorted({*was, *now}):
        _check_same(folder, f"option {name}", was.get(name), now.get(name))


def _check_unchanged(read: ReadInput, source: Input | Documents) -> None:
    if isinstance(source, Input) and source.is_local:
        if hash_input(source.name) != (read.bytes, read.xxh3_128):
            raise ValueError(f"{source.name}: changed since it was encoded ({read.bytes} bytes then)")
    elif source.size() not in (None, read.bytes):
        raise ValueError(f"{source.name}: changed since it was encoded ({read.bytes} bytes then)")
