"""A folder and a job → how far an earlier run of this job came, or an error that says what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from bpetite._internal.arguments import worded
from bpetite._internal.names import recorded
from bpetite.corpus.job import Documents, Job, named_stamp
from bpetite.corpus.manifest import JOURNAL, MANIFEST, TOKENIZER, Journal, Manifest, Reached, ReadInput
from bpetite.corpus.shards import remove_parts
from bpetite.reading.raw import hash_input
from bpetite.reading.sources import Input


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
    names = [recorded(read.name) for read in manifest.inputs]
    _check_same(folder, job, manifest.tokenizer["fingerprint"], manifest.options, names)
    for read, source in zip(manifest.inputs, job.inputs, strict=True):
        _check_unchanged(read, source)
    remove_parts(folder)
    if (folder / JOURNAL).exists():  # A read-only file system refuses to remove even what is not there.
        (folder / JOURNAL).unlink(missing_ok=True)
    return manifest


def begin_run(folder: Path, journal: Journal, job: Job, resume: bool) -> Reached:
    """Return how far a stopped run of the same job came; for a new run, begin the journal."""
    remove_parts(folder)
    begun, reached = journal.read()
    if begun is None and resume and any(path.name not in (JOURNAL, TOKENIZER) for path in folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty and has no journal of a run to continue")
    if begun is not None:
        names = [name for name, *_ in begun["inputs"]]
        _check_same(folder, job, begun["fingerprint"], begun["options"], names)
        _check_inputs(job, begun["inputs"], reached)
    if not (folder / TOKENIZER).exists():
        job.save_tokenizer(folder)
    if begun is None:
        journal.append(job.identity())
    for file in (file for shard in reached.shards for file in shard.files):
        path = folder / file.name
        if not path.is_file() or path.stat().st_size != file.bytes:
            raise ValueError(
                f"{path}: missing or changed since it was written; remove the folder and start again"
            )
    return reached


def _check_same(
    folder: Path, job: Job, fingerprint: str, options: Mapping[str, Any], names: Sequence[str]
) -> None:
    """Refuse another model, another option, or other inputs than those that a run was begun with."""
    given = job.identity()
    was = {"model": fingerprint, **{f"option {name}": value for name, value in options.items()}}
    now = {"model": given["fingerprint"]}
    now |= {f"option {name}": value for name, value in given["options"].items()}
    for what in {**was, **now}:
        if was.get(what) != now.get(what):
            begun = f"begun with {was.get(what)!r:.300}, now {now.get(what)!r:.300}"
            raise ValueError(f"{folder}: the {what} changed: {begun}")
    inputs = zip_longest(names, (name for name, *_ in given["inputs"]))
    for number, (then, here) in enumerate(inputs, 1):
        if then != here:
            raise ValueError(f"{folder}: the inputs changed: number {number} was {then}, now {here}")


def _check_inputs(job: Job, begun: Sequence[list[Any]], reached: Reached) -> None:
    """Refuse inputs that were read and have changed since; the others may have."""
    for source, then, read in zip(job.inputs, begun, reached.inputs, strict=False):
        if then != named_stamp(source):
            _check_unchanged(read, source)
    number = len(reached.inputs)
    if not reached.documents or number >= len(begun):
        return
    (_, then_size, then_times), (name, size, times) = begun[number], named_stamp(job.inputs[number])
    if then_size != size or (then_times or [])[:1] != (times or [])[:1]:
        raise ValueError(
            f"{name}: changed since the run read a part of it ({then_size} bytes then, {size} now); a copy "
            "with the same content and the same time of change is accepted (cp -p)"
        )


def _check_unchanged(read: ReadInput, source: Input | Documents) -> None:
    if isinstance(source, Input) and source.is_local:
        is_same = hash_input(source.name) == (read.bytes, read.xxh3_128)
    else:
        is_same = source.size() in (None, read.bytes)
    if not is_same:
        raise ValueError(f"{source.name}: changed since it was encoded ({read.bytes} bytes then)")
