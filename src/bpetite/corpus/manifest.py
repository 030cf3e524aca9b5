"""What a folder of shards was made from: its manifest, and the journal from which a stopped run is resumed.

The manifest is written when everything is done. Until then there is the journal, lines of a hash
and of JSON:

    2d7e... {"fingerprint": ..., "options": ..., "inputs": [["a.txt", 5, time], ["b.txt", 7, time]]}
    c1b6... {"shard": ..., "inputs": [what was read of a.txt], "prefix": ""}     a.txt ends in the first shard

From the documents of shards and of inputs follows how many documents of the next input are in
shards.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from bpetite._internal.arguments import worded
from bpetite._internal.files import write_fully, write_whole
from bpetite._internal.json import Json, fields_of
from bpetite._internal.names import local, recorded
from bpetite._internal.warning import warn
from bpetite.corpus.shards import Shard, ShardFile
from bpetite.reading.batches import ReadInput

FORMAT_VERSION = 3

_NEW_OF_SHARD = "special_texts"
_NEW_OF_INPUT = "text_bytes"
"""What version 2 did not have."""

MANIFEST = "manifest.json"
JOURNAL = ".journal.jsonl"
TOKENIZER = "bpetite.json"


@contextlib.contextmanager
def _refusing(path: Path, advice: str = "") -> Iterator[None]:
    """Turn what may be wrong with the content of a file into an error that names it."""
    try:
        yield
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError) as error:
        raise ValueError(f"{path}: broken ({error!r:.200}){advice}") from None


class Journal:
    """The journal of a folder, locked against other processes while it is open."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / JOURNAL
        self._file: BinaryIO = open(self._path, "a+b", 0)  # noqa: SIM115 - closed by close
        _lock(self._file, folder)
        self.prefix = ""
        """The hash of what of the next input is in shards, if no times show that it changed."""

    def read(self, manifest: Manifest) -> Json | None:
        """Return the first line, and add complete shards to the manifest; a cut-off last line is removed."""
        self._file.seek(0)
        *lines, _ = self._file.read().split(b"\n")
        begun = None
        with _refusing(self._path, "; remove the folder and start again"):
            for number, line in enumerate(lines):
                digest, _, content = line.partition(b" ")
                if _digest(content) != digest:
                    raise ValueError(f"line {number + 1} changed since it was written")
                stored = json.loads(content)
                if number == 0:
                    begun = {name: stored[name] for name in ("fingerprint", "options", "inputs")}
                    continue
                manifest.shards.append(_shard(stored["shard"]))
                manifest.inputs += map(_read_input, stored["inputs"])
                self.prefix = stored["prefix"]
        self._file.truncate(sum(len(line) + 1 for line in lines))
        return begun

    def step(self, shard: Shard, ended: Sequence[ReadInput], prefix: str) -> None:
        """Write that a shard is complete, and the inputs that ended in it."""
        inputs = list(map(_row, ended))
        self.append({"shard": asdict(shard), "inputs": inputs, "prefix": prefix})

    def append(self, step: Json) -> None:
        """Write the next line, or the first one, which says what is being made."""
        content = json.dumps(step).encode("ascii")
        write_fully(self._file, b"%s %s\n" % (_digest(content), content))
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file, which unlocks it."""
        self._file.close()

    def clear(self) -> None:
        """Forget what was made."""
        self._file.truncate(0)

    def remove(self) -> None:
        """Remove the journal of a finished run, unless a run that found the manifest has done so."""
        self.close()  # Windows does not remove an open file.
        self._path.unlink(missing_ok=True)


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode("ascii")


_CANNOT_LOCK = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP)
"""The errors of file systems that have no locks, such as some of clusters."""


def _lock(file: BinaryIO, folder: Path) -> None:
    try:
        import fcntl
    except ImportError:  # Windows: two runs at once are not prevented there
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise ValueError(f"{folder}: another process is writing to it") from None
    except OSError as error:
        if error.errno not in _CANNOT_LOCK:
            file.close()
            raise OSError(error.errno, error.strerror, os.fspath(folder)) from None
        what = "this file system cannot lock files, so no two runs must write to it at once"
        warn(f"{folder}: {what} ({error.strerror})", RuntimeWarning)


def _row(read: ReadInput) -> Json:
    return read._asdict() | {"name": recorded(read.name)}


def _read_input(stored: Json) -> ReadInput:
    return fields_of(ReadInput, stored | {"name": local(stored["name"])})


def _shard(stored: Json) -> Shard:
    files = [fields_of(ShardFile, file) for file in stored["files"]]
    return fields_of(Shard, stored | {"files": files})


@dataclass
class Manifest:
    """What a folder of shards holds, or holds so far, and what it is made from."""

    tokenizer: Mapping[str, Any]
    """Fingerprint, size, and name and hash of its file in the folder."""
    options: Mapping[str, Any]
    inputs: list[ReadInput] = field(default_factory=list)
    """The inputs that end in the shards."""
    shards: list[Shard] = field(default_factory=list)
    format_version: int = FORMAT_VERSION
    encoded_bytes: int | None = field(default=None, compare=False)
    """The bytes of text that this run encoded, None if nothing was left; the file does not have it."""

    @property
    def tokens(self) -> int:
        """How many ids there are in all."""
        return sum(shard.tokens for shard in self.shards)

    @property
    def documents(self) -> int:
        """How many documents there are in all, empty ones among them."""
        return sum(shard.documents for shard in self.shards)

    @property
    def special_texts(self) -> int | None:
        """How many special tokens in the documents became ordinary text; None if the file does not say it."""
        if self.format_version == 2:
            return None
        return sum(shard.special_texts for shard in self.shards)

    @property
    def text_bytes(self) -> int | None:
        """How many bytes of text were encoded; None if the file does not say it."""
        if self.format_version == 2:
            return None
        return sum(read.text_bytes for read in self.inputs)

    @property
    def of_next_input(self) -> int:
        """How many documents in the shards are of an input that does not end there."""
        return self.documents - sum(read.documents for read in self.inputs)

    def to_json(self) -> bytes:
        """Return the content of the file, with its own hash at the end; equal manifests give equal bytes."""
        inputs = [_row(read) for read in self.inputs]
        shards = [asdict(shard) for shard in self.shards]
        if self.format_version == 2:
            for stored in inputs:
                del stored[_NEW_OF_INPUT]
            for stored in shards:
                del stored[_NEW_OF_SHARD]
        content: Json = {
            "format_version": self.format_version,
            "tokenizer": dict(self.tokenizer),
            "options": dict(self.options),
            "documents": self.documents,
            "tokens": self.tokens,
            "inputs": inputs,
            "shards": shards,
        }
        content["sha256"] = hashlib.sha256(_dumped(content)).hexdigest()
        return _dumped(content)

    def save(self, folder: Path) -> None:
        """Write the file."""
        with write_whole(folder / MANIFEST, overwrite=True) as file:
            file.write(self.to_json())

    @staticmethod
    def load(folder: Path) -> Manifest:
        """Read the file; anything wrong with it is a `ValueError`."""
        path = folder / MANIFEST
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            if (folder / JOURNAL).exists():
                raise ValueError(
                    worded(
                        lambda name: f"{folder}: not finished; {name('resume', True)} finishes it"
                    )
                ) from None
            raise FileNotFoundError(f"{folder}: there is no {MANIFEST}") from None
        with _refusing(path):
            stored = json.loads(content)
            version = stored["format_version"]
            if version not in (2, FORMAT_VERSION):
                raise ValueError(f"format_version {version!r} is not {FORMAT_VERSION}")
            of_input: Json = {}
            of_shard: Json = {}
            if version == 2:
                of_input = {_NEW_OF_INPUT: 0}
                of_shard = {_NEW_OF_SHARD: 0}
            manifest = Manifest(
                tokenizer=dict(stored["tokenizer"]),
                options=dict(stored["options"]),
                inputs=[_read_input(of_input | read) for read in stored["inputs"]],
                shards=[_shard(of_shard | shard) for shard in stored["shards"]],
                format_version=version,
            )
            as_written = manifest.to_json()
        if as_written != content:
            raise ValueError(f"{path}: changed since it was written")
        return manifest


def _dumped(content: Json) -> bytes:
    # A byte of a file's name that is not UTF-8 becomes an escape of JSON.
    return (
        json.dumps(content, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace")
        + b"\n"
    )
