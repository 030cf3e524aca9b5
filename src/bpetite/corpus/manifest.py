"""The manifest of a folder of shards, which says what it was made from; and the journal of an unfinished run.

The manifest is written when everything is done. Until then, the first line of the journal says what is being
made, and each complete shard adds a line. A stopped run is resumed from the journal alone.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, get_origin, get_type_hints

from bpetite._internal.arguments import worded
from bpetite._internal.files import write_fully, write_whole
from bpetite._internal.names import local, recorded
from bpetite.corpus.shards import Shard, ShardFile

FORMAT_VERSION = 2
MANIFEST = "manifest.json"
JOURNAL = ".journal.jsonl"
TOKENIZER = "bpetite.json"

Json = dict[str, Any]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReadInput:
    """An input that was read to its end."""

    name: str
    bytes: int
    xxh3_128: str
    documents: int
    affected: int = 0
    """How many documents were not UTF-8, and were repaired or skipped as the options say."""


@dataclass(frozen=True)
class Position:
    """A place between two documents of a corpus."""

    input: int = 0
    documents: int = 0
    """How many documents of the input lie before it."""
    prefix: str = ""
    """The hash of those documents, if the input is not a file whose times show a change."""


@dataclass
class RunState:
    """How far a run came, as the journal records it."""

    shards: list[Shard] = field(default_factory=list)
    inputs: list[ReadInput] = field(default_factory=list)
    position: Position = field(default_factory=Position)


_STEP = ("shard", "position")
"""The fields of a line for a complete shard; the lines before it list the inputs that ended in it."""


class Journal:
    """The journal of a folder, locked against other processes while it is open."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / JOURNAL
        self._file: BinaryIO = open(self._path, "a+b", 0)  # noqa: SIM115 - closed by close
        _lock(self._file, folder)

    def read(self) -> tuple[Json | None, RunState]:
        """Return what is being made and how far the run came; an incomplete last line is removed."""
        try:
            run, progress, whole = self._read()
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            reason = f"{self._path}: broken ({error!r:.200}); remove the folder and start again"
            raise ValueError(reason) from None
        self._file.truncate(whole)
        self._file.seek(whole)
        return run, progress

    def _read(self) -> tuple[Json | None, RunState, int]:
        """Return the same, and the size of the valid part: up to the last shard, or the end of the head."""
        run: Json | None = None
        progress, read, place, whole, missing = RunState(), list[ReadInput](), 0, 0, 0
        with open(self._file.fileno(), "rb", closefd=False) as file:
            file.seek(0)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                place += len(line)
                stored = json.loads(line)
                if run is None:
                    run = _checked_run(stored)
                    missing = stored.pop("more_inputs", 0)
                elif missing > 0:
                    run["inputs"].extend(_checked_inputs(stored["inputs"]))
                    missing -= len(stored["inputs"])
                elif "shard" in stored and len(stored) == len(_STEP):
                    progress.shards.append(_shard(stored["shard"]))
                    progress.position = _stored(Position, stored["position"])
                    progress.inputs.extend(read)
                    read = []
                else:
                    read.extend(map(_read_input, stored["inputs"]))
                    continue
                whole = place
        return (None, progress, 0) if missing > 0 else (run, progress, whole)

    def begin(self, run: Json) -> None:
        """Write what is being made; a long list of inputs takes several lines."""
        inputs = run["inputs"]
        line = {**run, "inputs": _stamps(inputs, 0)}
        if len(inputs) > _ROWS:
            line["more_inputs"] = len(inputs) - _ROWS
        self._append(line)
        for first in range(_ROWS, len(inputs), _ROWS):
            self._append({"inputs": _stamps(inputs, first)}, is_synced=first + _ROWS >= len(inputs))

    def step(self, shard: Shard, inputs: Sequence[ReadInput], ended: range, position: Position) -> None:
        """Write that a shard is complete, and the inputs of the range `ended`."""
        for first in range(ended.start, ended.stop, _ROWS):
            read = inputs[first : min(first + _ROWS, ended.stop)]
            self._append({"inputs": list(map(_row, read))}, is_synced=False)
        self._append(dict(zip(_STEP, (asdict(shard), asdict(position)), strict=True)))

    def _append(self, line: Json, *, is_synced: bool = True) -> None:
        write_fully(self._file, json.dumps(line, ensure_ascii=True).encode("ascii") + b"\n")
        if is_synced:
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file, which unlocks it."""
        self._file.close()

    def remove(self) -> None:
        """Remove the journal of a finished run, unless a run that found the manifest has done so."""
        self.close()  # Windows does not remove an open file.
        self._path.unlink(missing_ok=True)


def _lock(file: BinaryIO, folder: Path) -> None:
    try:
        import fcntl
    except ImportError:  # Windows: two runs at once are not prevented there
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise ValueError(f"{folder}: another process is writing to it") from None


def _checked_run(run: Json) -> Json:
    """Return the first line of the journal if it has all fields that are used."""
    for name, kind in (("fingerprint", str), ("options", dict), ("inputs", list)):
        if type(run[name]) is not kind:
            raise TypeError(f"{name} is {run[name]!r:.80}")
    run["inputs"] = list(_checked_inputs(run["inputs"]))
    return run


def _checked_inputs(inputs: list[Any]) -> Iterator[list[Any]]:
    for name, size, stamp in inputs:
        if not (type(name) is str and type(size) in (int, type(None)) and type(stamp) in (list, type(None))):
            raise TypeError(f"an input is {[name, size, stamp]!r:.80}")
        yield [local(name), size, stamp]


def _stamps(inputs: Sequence[list[Any]], first: int) -> list[list[Any]]:
    """Return the inputs of a line of the journal."""
    return [[recorded(name), *rest] for name, *rest in inputs[first : first + _ROWS]]


def _row(read: ReadInput) -> Json:
    return asdict(read) | {"name": recorded(read.name)}


def _read_input(stored: Json) -> ReadInput:
    return _stored(ReadInput, stored | {"name": local(stored["name"])})


def _shard(stored: Json) -> Shard:
    return _stored(Shard, stored | {"files": tuple(_stored(ShardFile, file) for file in stored["files"])})


def _stored(kind: type[T], stored: Json) -> T:
    """Return a value made from the fields in a file, each of which must have the right type."""
    hints = get_type_hints(kind)
    if sorted(stored) != sorted(hints):
        raise TypeError(f"{kind.__name__} has {sorted(stored)!s:.80}")
    value = kind(**stored)
    for name, hint in hints.items():
        if type(getattr(value, name)) is not (get_origin(hint) or hint):
            raise TypeError(f"{name} is {getattr(value, name)!r:.80}")
    return value


@dataclass(frozen=True)
class Manifest:
    """What a folder of shards holds and what it was made from."""

    tokenizer: Mapping[str, Any]
    """Fingerprint, size, and name and hash of its file in the folder."""
    options: Mapping[str, Any]
    inputs: Sequence[ReadInput]
    shards: tuple[Shard, ...]
    unreadable: Mapping[str, Any] = field(default_factory=dict)
    """What was left out because it could not be read: the `number`, and the `first` ones with reasons."""

    @property
    def tokens(self) -> int:
        """How many ids there are in all."""
        return sum(shard.tokens for shard in self.shards)

    @property
    def documents(self) -> int:
        """How many documents there are in all, empty ones among them."""
        return sum(shard.documents for shard in self.shards)

    def to_json(self) -> bytes:
        """Return the content of the file, with its own hash at the end; equal manifests give equal bytes."""
        content: Json = {
            "format_version": FORMAT_VERSION,
            "tokenizer": dict(self.tokenizer),
            "options": dict(self.options),
            "documents": self.documents,
            "tokens": self.tokens,
            "inputs": [_row(read) for read in self.inputs],
            "shards": [asdict(shard) for shard in self.shards],
        }
        if self.unreadable:
            content["unreadable"] = dict(self.unreadable)
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
                    worded(lambda name: f"{folder}: not finished; {name('resume', True)} finishes it")
                ) from None
            raise FileNotFoundError(f"{folder}: there is no {MANIFEST}") from None
        try:
            stored = json.loads(content)
            if stored["format_version"] != FORMAT_VERSION:
                raise ValueError(f"format_version {stored['format_version']!r} is not {FORMAT_VERSION}")
            manifest = Manifest(
                tokenizer=dict(stored["tokenizer"]),
                options=dict(stored["options"]),
                inputs=list(map(_read_input, stored["inputs"])),
                shards=tuple(_shard(shard) for shard in stored["shards"]),
                unreadable=dict(stored.get("unreadable", {})),
            )
            as_written = manifest.to_json() == content
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise ValueError(f"{path}: broken: {error!r:.200}") from None
        if not as_written:
            raise ValueError(f"{path}: changed since it was written")
        return manifest


_ROWS = 1 << 14
"""How many inputs are in a line of the journal."""


def _dumped(content: Json) -> bytes:
    # A byte of a file's name that is not UTF-8 becomes an escape of JSON.
    return json.dumps(content, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace") + b"\n"
