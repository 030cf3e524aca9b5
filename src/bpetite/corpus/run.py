"""Inputs and a tokenizer → a folder of shards; a stopped run can be resumed.

    inputs → batches of documents → ids, in order → shards of `shard_size` tokens → lines of the journal

`num_threads` threads read documents, as many others encode one batch each, this one writes, and one
more completes a shard while the next one begins. On a cluster, tasks read and encode. Memory does
not depend on the size of the corpus: only a few batches are in work at a time.
"""

from __future__ import annotations

import os
import re
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import closing
from functools import partial
from itertools import zip_longest
from pathlib import Path

import numpy as np

from bpetite._internal.arguments import Name, check_path, worded
from bpetite._internal.files import PART, write_whole
from bpetite._internal.json import Json
from bpetite._internal.names import recorded
from bpetite._internal.progress import shown
from bpetite._internal.threads import Threads
from bpetite._internal.types import AnyPath, Progress
from bpetite.corpus.job import Corpus, DocumentsHash, EncodedPart, Job, Options, Place
from bpetite.corpus.manifest import JOURNAL, MANIFEST, TOKENIZER, Journal, Manifest
from bpetite.corpus.shards import ShardWriter, remove_parts
from bpetite.reading.batches import ReadInput
from bpetite.reading.documents import Item, read_all, read_batches
from bpetite.reading.options import Reading
from bpetite.reading.raw import hash_input
from bpetite.reading.sources import Input, size_of
from bpetite.reading.threads import Steps, check_process, in_threads, threads_of
from bpetite.tokenizer import Tokenizer


def encode(
    tokenizer: Tokenizer,
    corpus: Corpus,
    output: AnyPath,
    *,
    options: Options | None = None,
    resume: bool = False,
    overwrite: bool = False,
    num_threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Manifest:
    """Encode files (or an Arrow column, or `Documents`) into a folder of shards.

    `resume` continues a stopped run, and ends with the same bytes as a run that was not stopped; it
    is refused if the tokenizer, an option or an input has changed. `overwrite` removes what a run,
    finished or not, has written to the folder, and refuses a folder with other files. `progress` is
    called with `("encoding", bytes so far, bytes in all)` and `("documents", documents so far, 0)`.

    >>> import tempfile
    >>> from bpetite.corpus import Documents
    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     manifest = encode(tok, Documents(["ab", "ab ab"]), f"{folder}/ids")
    >>> manifest.documents, manifest.tokens
    (2, 3)
    """
    check_path("output", output)
    job = Job.make(tokenizer, corpus, Options() if options is None else options, output)
    threads = threads_of(num_threads)
    work = partial(_by_threads, job, threads)
    return run(job, Path(output), work, progress, resume=resume, overwrite=overwrite)


Work = Callable[[Manifest], Generator[EncodedPart, None, None]]
"""Encodes what is not in shards yet; the documents of the input in which a run stopped come again."""


def run(
    job: Job,
    folder: Path,
    work: Work,
    progress: Progress | bool | None,
    *,
    resume: bool,
    overwrite: bool,
) -> Manifest:
    """Encode a corpus, or what is left of it, and return its manifest."""
    if resume and overwrite:
        raise ValueError("resume continues a run, and overwrite removes it: give one of them")
    folder.mkdir(exist_ok=True)
    old = _written(folder) if overwrite else []
    if not overwrite and any(folder.iterdir()):
        done = _finished(folder, job, resume)
        if done is not None:
            return done
    with closing(Journal(folder)) as journal, shown(progress) as report:
        if overwrite:
            journal.clear()
        for path in old:
            path.unlink(missing_ok=True)
        manifest, begin = _begin_run(folder, journal, job, resume)
        with (
            closing(work(manifest)) as parts,
            closing(_Run(folder, journal, job, manifest, begin, report)) as shards,
        ):
            shards.write(parts)
        manifest.save(folder)
        journal.remove()
    return manifest


class _Run:
    """Divides encoded documents into shards; a shard ends with the document that fills it."""

    def __init__(
        self,
        folder: Path,
        journal: Journal,
        job: Job,
        manifest: Manifest,
        begin: Callable[[], None],
        progress: Progress | None,
    ) -> None:
        self._process = os.getpid()
        self._folder = folder
        self._journal = journal
        self._job = job
        self._manifest = manifest
        self._number = len(manifest.shards)
        self._documents_at_begin = manifest.documents
        """The number of documents in shards when the run began."""
        self._documents_in_shards = manifest.documents
        """The number of documents in the shards before the current one."""
        self._writer = self._new_writer()
        self._thread = Threads(1, "bpetite-finish")
        self._completing: Future[None] = self._thread.submit(begin)
        """The completion of the previous shard; first, the beginning of the run."""
        self._documents_to_skip = manifest.of_next_input
        """The number of documents that come again, and are in shards already."""
        self._documents_noted = self._documents_at_begin - self._documents_to_skip
        """The number of documents up to the end of the current part."""
        self._ended_inputs: deque[tuple[int, ReadInput]] = deque()
        """Inputs that have ended, but not in a complete shard, and the number of documents up to there."""
        self._text_bytes = 0
        """The bytes of text that were read of this input and all before it."""
        self._begin_input()
        self._progress = progress
        self._total = 0 if progress is None else size_of(job.inputs)
        self._read = sum(read.bytes for read in manifest.inputs)

    def _new_writer(self) -> ShardWriter:
        return ShardWriter(self._folder, self._number, self._job.options.format, self._job.dtype)

    def _begin_input(self) -> None:
        self._documents_before_input = self._documents_noted
        self._text_bytes_before = self._text_bytes
        self._affected_documents = 0
        self._hash = DocumentsHash()

    def write(self, parts: Iterable[EncodedPart]) -> None:
        """Write all parts."""
        for part in parts:
            if self._completing.done():
                self._completing.result()  # an error ends the run at once
            self._manifest.encoded_bytes = (self._manifest.encoded_bytes or 0) + part.encoded_bytes
            self._note_ended_inputs(part)
            self._write_documents(part)
            self._read += part.read
            if self._progress is not None:
                self._progress("encoding", self._read, self._total)
                self._progress("documents", self._documents_in_shards + self._writer.documents, 0)
                check_process(self._process)
        if self._writer.documents:
            self._end_shard()
        self._wait()
        self._manifest.inputs += [read for _, read in self._ended_inputs]

    def _note_ended_inputs(self, part: EncodedPart) -> None:
        """Note the inputs that end in a part."""
        ended = part.batch.ended
        self._documents_noted += len(part.ends) - sum(end.documents for end in ended)
        self._text_bytes += part.text_bytes - sum(end.text_bytes for end in ended)
        self._affected_documents += part.batch.affected
        for end in ended:
            self._documents_noted += end.documents
            self._text_bytes += end.text_bytes
            if self._documents_noted < self._documents_at_begin:
                self._refuse_changed()
            digest = end.xxh3_128 or self._prefix()
            read = end._replace(
                xxh3_128=digest,
                documents=self._documents_noted - self._documents_before_input,
                affected=self._affected_documents,
                text_bytes=self._text_bytes - self._text_bytes_before,
            )
            self._ended_inputs.append((self._documents_noted, read))
            self._begin_input()

    def _write_documents(self, part: EncodedPart) -> None:
        """Write the documents that are not in shards yet, and end a shard after each one that fills it."""
        first = self._documents_to_skip
        self._documents_to_skip = max(0, first - len(part.ends))
        self._hash_documents(part, 0, None if self._documents_to_skip else first)
        if self._documents_to_skip:
            return
        if first and self._prefix() != self._journal.prefix:
            self._refuse_changed()
        start = int(part.ends[first - 1]) if first else 0
        fills_shard = True
        while fills_shard:
            room = max(0, self._job.options.shard_size - self._writer.tokens)
            smaller = np.searchsorted(part.ends[first:], np.uint64(start + room))
            after = first + int(smaller) + 1
            fills_shard = after <= len(part.ends)
            stop = int(part.ends[after - 1]) if fills_shard else len(part.ids)
            ends = part.ends[first:after] - np.uint64(start)
            special_texts = int(part.special_texts[first:after].sum())
            self._writer.write(part.ids[start:stop], ends, special_texts)
            self._hash_documents(part, first, after)
            if fills_shard:
                self._end_shard()
            first = after
            start = stop

    def _refuse_changed(self) -> None:
        """Refuse an input that has other documents than those that are in shards, or fewer."""
        source = self._job.inputs[len(self._manifest.inputs)]
        raise ValueError(f"{source.name}: changed since the run began")

    def _hash_documents(self, part: EncodedPart, first: int, after: int | None) -> None:
        """Hash the documents that are in shards now, if the part has their texts."""
        texts = part.batch.texts[first:after]
        is_cut = len(texts) > 0 and first + len(texts) > len(part.ends)
        self._hash.add(texts, goes_on=is_cut)

    def _prefix(self) -> str:
        return self._hash.hexdigest()

    def _end_shard(self) -> None:
        """Complete a shard in another thread while the next one begins."""
        self._wait()
        self._documents_in_shards += self._writer.documents
        ended = []
        while self._ended_inputs:
            last_document, read = self._ended_inputs[0]
            if last_document > self._documents_in_shards:
                break
            ended.append(read)
            self._ended_inputs.popleft()
        self._completing = self._thread.submit(self._complete, self._writer, ended, self._prefix())
        self._number += 1
        self._writer = self._new_writer()

    def _complete(self, writer: ShardWriter, ended: list[ReadInput], prefix: str) -> None:
        """Complete a shard, and put it into the journal."""
        try:
            shard = writer.finish()
        finally:
            writer.discard()
        self._journal.step(shard, ended, prefix)
        self._manifest.shards.append(shard)
        self._manifest.inputs += ended

    def _wait(self) -> None:
        """Wait until the shard before is complete."""
        self._completing.result()

    def close(self) -> None:
        """Wait for the thread, and remove what is not finished."""
        if os.getpid() == self._process:
            self._thread.shutdown()
            self._writer.discard()


class _Stopped(Exception):
    """The encoding of a batch was given up because something failed."""


def _by_threads(job: Job, threads: int, manifest: Manifest) -> Generator[EncodedPart, None, None]:
    """Read and encode documents in threads of this process."""
    has_left = threading.Event()

    def stop_if_left(*_: object) -> None:
        if has_left.is_set():
            raise _Stopped

    def encoded(item: tuple[Item, int, Place]) -> Steps[EncodedPart]:
        (source, batch, read), done, place = item
        yield [job.part(source, batch, read, done, stop_if_left, place)], True

    inputs = job.inputs[len(manifest.inputs) :]
    with (
        closing(read_all(inputs, job.options.reading, threads, hashed=True)) as items,
        closing(
            in_threads(_with_done(items, manifest), encoded, threads, has_left=has_left)
        ) as parts,
    ):
        yield from parts


def _with_done(items: Iterable[Item], manifest: Manifest) -> Iterator[tuple[Item, int, Place]]:
    """Yield what was read, how many documents of it are in shards already, and where it begins."""
    to_skip = manifest.of_next_input
    place = Place(sum(read.documents for read in manifest.inputs))
    for item in items:
        _, batch, _ = item
        done = min(to_skip, len(batch.texts) - batch.goes_on)
        to_skip -= done
        yield item, done, place
        place = place.behind(batch)


# Resuming
# ------------------------------------------------------------------------------------------------

_OF_RUNS = (
    rf"{re.escape(MANIFEST)}|{re.escape(JOURNAL)}|{re.escape(TOKENIZER)}|shard-[0-9]{{6,}}\.[a-z.]+"
)
"""The names of the files that runs write."""


def _written(folder: Path) -> list[Path]:
    """Return the files that runs have written beside the journal, the manifest first; refuse others."""
    paths = sorted(folder.iterdir(), key=lambda path: (path.name != MANIFEST, path.name))
    for path in paths:
        if not re.fullmatch(_OF_RUNS, path.name) and not path.match(f".*{PART}"):
            raise FileExistsError(
                f"{path} is not a file of an encoded corpus; nothing was overwritten"
            )
    return [path for path in paths if path.name != JOURNAL]


def _finished(folder: Path, job: Job, resume: bool) -> Manifest | None:
    """Return the manifest of a finished folder, None for an unfinished one; refuse any other folder.

    What a run leaves that is killed after it wrote the manifest is removed.
    """
    is_finished = (folder / MANIFEST).exists()
    if not resume:
        raise FileExistsError(worded(partial(_in_use, folder, is_finished)))
    if not is_finished:
        return None
    manifest = Manifest.load(folder)
    inputs = [[recorded(read.name), None, None] for read in manifest.inputs]
    fingerprint = manifest.tokenizer["fingerprint"]
    begun = {"fingerprint": fingerprint, "options": manifest.options, "inputs": inputs}
    _check_same(folder, job, begun, manifest)
    remove_parts(folder)
    if (
        folder / JOURNAL
    ).exists():  # A read-only file system refuses to remove even what is not there.
        (folder / JOURNAL).unlink(missing_ok=True)
    return manifest


def _in_use(folder: Path, is_finished: bool, name: Name) -> str:
    if is_finished:
        return f"{folder} is finished; {name('overwrite', True)} writes it anew"
    continues = f"{name('resume', True)} continues a stopped run"
    return f"{folder} is not empty; {continues}, {name('overwrite', True)} begins anew"


def _begin_run(
    folder: Path, journal: Journal, job: Job, resume: bool
) -> tuple[Manifest, Callable[[], None]]:
    """Return the manifest of a stopped run of the same job, and what writes the tokenizer and the journal.

    The latter takes a while for a large vocabulary. It is done while the first documents are
    encoded.
    """
    remove_parts(folder)
    manifest = Manifest({}, job.recorded_options)
    begun = journal.read(manifest)
    if begun is not None:
        _check_same(folder, job, begun, manifest)
    elif resume and any(path.name not in (JOURNAL, TOKENIZER) for path in folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty and has no journal of a run to continue")
    for shard in manifest.shards:
        for file in shard.files:
            path = folder / file.name
            if not path.is_file() or path.stat().st_size != file.bytes:
                raise ValueError(f"{path}: missing or changed; remove the folder and start again")

    def begin() -> None:
        manifest.tokenizer = job.recorded_tokenizer
        if not (folder / TOKENIZER).exists():
            with write_whole(folder / TOKENIZER, overwrite=True) as written:
                written.write(job.artifact)
        if begun is None:
            journal.append(job.identity())

    return manifest, begin


def _check_same(folder: Path, job: Job, begun: Json, manifest: Manifest) -> None:
    """Refuse another model, another option, or other inputs than those that a run was begun with.

    Inputs that it has read must not have changed since; the others may have.
    """
    current = job.identity()
    old_settings = _settings_of(begun)
    new_settings = _settings_of(current)
    for setting in old_settings | new_settings:
        old = old_settings.get(setting)
        new = new_settings.get(setting)
        if old != new:
            raise ValueError(
                f"{folder}: the {setting} changed: begun with {old!r:.300}, now {new!r:.300}"
            )
    no_input = [None] * 3
    stamps = list(zip_longest(begun["inputs"], current["inputs"], fillvalue=no_input))
    for number, ((old_name, *_), (new_name, *_)) in enumerate(stamps, 1):
        if old_name != new_name:
            raise ValueError(
                f"{folder}: the inputs changed: number {number} was {old_name}, now {new_name}"
            )
    for source, (old_stamp, new_stamp), read in zip(
        job.inputs, stamps, manifest.inputs, strict=False
    ):
        has_same_stamp = old_stamp == new_stamp and new_stamp[2] is not None
        if not has_same_stamp and not _is_unchanged(source, read, job.options.reading):
            raise ValueError(
                f"{source.name}: changed since it was encoded ({read.bytes} bytes then)"
            )
    if manifest.of_next_input and len(manifest.inputs) < len(stamps):
        next_input = job.inputs[len(manifest.inputs)]
        (name, then_size, then_times), (_, size, times) = stamps[len(manifest.inputs)]
        has_other_time = then_times is not None and then_times[:1] != (times or [])[:1]
        # Of other inputs than ordinary files, what is in shards is read again and compared.
        if then_size != size or (has_other_time and next_input.status() is not None):
            raise ValueError(
                f"{name}: changed since the run read a part of it ({then_size} bytes then, {size} now); a "
                "copy with the same content and the same time of change is accepted (cp -p)"
            )


def _settings_of(identity: Json) -> Json:
    """Return the model and the options of a run, as messages name them."""
    settings = {"model": identity["fingerprint"]}
    for name, value in identity["options"].items():
        settings[f"option {name}"] = value
    return settings


def _is_unchanged(source: Input, read: ReadInput, reading: Reading) -> bool:
    """Whether an input has the content that was read; other inputs than ordinary files are read again."""
    if source.status() is not None:
        return hash_input(source.name) == (read.bytes, read.xxh3_128)
    documents = DocumentsHash()
    with closing(read_batches(source, reading)) as batches:
        for batch in batches:
            documents.add(batch.texts, goes_on=batch.goes_on)
    return documents.hexdigest() == read.xxh3_128
