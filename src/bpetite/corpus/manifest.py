"""What a folder of shards was made from and by, as one JSON file; and the journal while it is being made.

The manifest appears when everything is done. Until then the journal has a line for what is being made, and
one more for each whole shard: it is all that a stopped run needs to go on.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, get_origin, get_type_hints

from bpetite._internal.files import write_fully, write_whole
from bpetite._internal.long_list import LongList
from bpetite.corpus.shards import Shard, ShardFile, hash_file
from bpetite.reading.unpacking import needed_pyarrow

FORMAT_VERSION = 2
MANIFEST = "manifest.json"
JOURNAL = ".journal.jsonl"
INPUTS = "inputs.parquet"
MOST_IN_JSON = 10_000
"""With more inputs than this, the manifest names a file that lists them."""
TOKENIZER = "bpetite.json"
FORMER_TOKENIZER = "tokenizer.json"
"""As the artifact was called before; other libraries, and ours, take this name for Hugging Face's file."""

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
    """Documents that were not text and were replaced or skipped, as the options say."""


def new_read_inputs() -> LongList[ReadInput]:
    """Return a list for any number of inputs that were read."""
    return LongList(ReadInput, attrgetter(*ReadInput.__slots__))


def new_stamps(stamps: Iterable[list[Any]]) -> LongList[list[Any]]:
    """Return a list of any number of inputs: the name, the size, and what else changes with each."""
    return LongList(lambda *stamp: [*stamp], tuple, stamps)


@dataclass(frozen=True)
class Position:
    """A place between two documents of a corpus."""

    input: int = 0
    documents: int = 0
    """How many documents of the input lie before it."""
    prefix: str = ""
    """The hash of those documents, where the input is not a file that can be recognised."""


@dataclass
class Progress:
    """How far a run is: what the journal tells."""

    shards: list[Shard] = field(default_factory=list)
    inputs: LongList[ReadInput] = field(default_factory=new_read_inputs)
    position: Position = field(default_factory=Position)
    task_bytes: int | None = None
    """On a cluster, about how much a task reads. There, inputs are parts of them, and a position begins with
    the number of a task."""


_STEP = ("shard", "position")
"""What a line of the journal has when a shard is whole; lines before it list the inputs that ended."""


class Journal:
    """The journal of a folder; while it is open no other process can open it."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / JOURNAL
        self._file: BinaryIO = open(self._path, "a+b", 0)  # noqa: SIM115 - closed by close
        _lock(self._file, folder)

    def read(self) -> tuple[Json | None, Progress]:
        """Return what is being made and how far it is; a line that was cut off is removed."""
        try:
            run, progress, whole = self._read()
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            reason = f"{self._path}: broken ({error!r:.200}); remove the folder and start again"
            raise ValueError(reason) from None
        self._file.truncate(whole)
        self._file.seek(whole)
        return run, progress

    def _read(self) -> tuple[Json | None, Progress, int]:
        """Return also how many bytes that is: up to the last shard, or to the last of the first lines."""
        run: Json | None = None
        progress, read, place, whole, missing = Progress(), new_read_inputs(), 0, 0, 0
        with open(self._path, "rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break
                place += len(line)
                stored = json.loads(line)
                if run is None:
                    run = _checked_run(stored)
                    missing = stored.pop("more_inputs", 0)
                    progress.task_bytes = stored.get("task_bytes")
                elif missing > 0:
                    run["inputs"].extend(_checked_inputs(stored["inputs"]))
                    missing -= len(stored["inputs"])
                elif "shard" in stored and len(stored) == len(_STEP):
                    progress.shards.append(_shard(stored["shard"]))
                    progress.position = _stored(Position, stored["position"])
                    progress.inputs.extend(read)
                    read = new_read_inputs()
                else:
                    read.extend(_stored(ReadInput, ended) for ended in stored["inputs"])
                    continue
                whole = place
        return (None, progress, 0) if missing > 0 else (run, progress, whole)

    def begin(self, run: Json) -> None:
        """Write down what is being made; of millions of inputs, some in each line."""
        inputs = run["inputs"]
        line = {**run, "inputs": inputs[:_ROWS]}
        if len(inputs) > _ROWS:
            line["more_inputs"] = len(inputs) - _ROWS
        self._append(line)
        for first in range(_ROWS, len(inputs), _ROWS):
            self._append({"inputs": inputs[first : first + _ROWS]}, is_synced=first + _ROWS >= len(inputs))

    def step(self, shard: Shard, inputs: Sequence[ReadInput], ended: range, position: Position) -> None:
        """Write down that a shard is whole, and which inputs `ended` since the one before it."""
        for first in range(ended.start, ended.stop, _ROWS):
            read = inputs[first : min(first + _ROWS, ended.stop)]
            self._append({"inputs": list(map(asdict, read))}, is_synced=False)
        self._append(dict(zip(_STEP, (asdict(shard), asdict(position)), strict=True)))

    def _append(self, line: Json, *, is_synced: bool = True) -> None:
        write_fully(self._file, json.dumps(line, ensure_ascii=True).encode("ascii") + b"\n")
        if is_synced:
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Let go of the journal."""
        self._file.close()

    def remove(self) -> None:
        """Remove the journal: everything is done."""
        self._path.unlink()
        self._file.close()


def _lock(file: BinaryIO, folder: Path) -> None:
    try:
        import fcntl
    except ImportError:  # Windows: there, nothing guards against two runs at once
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise ValueError(f"{folder}: another process is at work on it") from None


def _checked_run(run: Json) -> Json:
    """Return what is being made if everything that will be looked at is there."""
    for name, kind in (("fingerprint", str), ("options", dict), ("inputs", list)):
        if type(run[name]) is not kind:
            raise TypeError(f"{name} is {run[name]!r:.80}")
    run["inputs"] = new_stamps(_checked_inputs(run["inputs"]))
    return run


def _checked_inputs(inputs: list[Any]) -> Iterator[list[Any]]:
    for name, size, stamp in inputs:
        if not (type(name) is str and type(size) in (int, type(None)) and type(stamp) in (list, type(None))):
            raise TypeError(f"an input is {[name, size, stamp]!r:.80}")
        yield [name, size, stamp]


def _shard(stored: Json) -> Shard:
    return _stored(Shard, stored | {"files": tuple(_stored(ShardFile, file) for file in stored["files"])})


def _stored(kind: type[T], stored: Json) -> T:
    """Return a value of ours with the fields that a file tells, each of its own type."""
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
    """What a folder of shards holds and where it came from."""

    tokenizer: Mapping[str, Any]
    """Fingerprint, size, and the file beside the shards."""
    options: Mapping[str, Any]
    inputs: Sequence[ReadInput]
    shards: tuple[Shard, ...]

    @property
    def tokens(self) -> int:
        """How many ids there are in all."""
        return sum(shard.tokens for shard in self.shards)

    @property
    def documents(self) -> int:
        """How many documents there are in all, empty ones among them."""
        return sum(shard.documents for shard in self.shards)

    def to_json(self, listed: Json | None = None) -> bytes:
        """Return the file's content, with its own hash at the end: the same manifest is the same bytes.

        `listed` is what it tells of the file that lists the inputs, if there is one.
        """
        content: Json = {
            "format_version": FORMAT_VERSION,
            "tokenizer": dict(self.tokenizer),
            "options": dict(self.options),
            "documents": self.documents,
            "tokens": self.tokens,
            "inputs": [asdict(read) for read in self.inputs] if listed is None else listed,
            "shards": [asdict(shard) for shard in self.shards],
        }
        content["sha256"] = hashlib.sha256(_dumped(content)).hexdigest()
        return _dumped(content)

    def save(self, folder: Path) -> None:
        """Write the file, and before it the one that lists many inputs."""
        listed = None
        if len(self.inputs) > MOST_IN_JSON:
            listed = _write_inputs(folder / INPUTS, self.inputs)
        with write_whole(folder / MANIFEST, overwrite=True) as file:
            file.write(self.to_json(listed))

    @staticmethod
    def load(folder: Path) -> Manifest:
        """Read the file; whatever is wrong with it is a `ValueError`."""
        path = folder / MANIFEST
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            if (folder / JOURNAL).exists():
                raise ValueError(f"{folder}: not finished; encode-corpus --resume finishes it") from None
            raise FileNotFoundError(f"{folder}: there is no {MANIFEST}") from None
        try:
            stored = json.loads(content)
            if stored["format_version"] != FORMAT_VERSION:
                raise ValueError(f"format_version {stored['format_version']!r} is not {FORMAT_VERSION}")
            listed = stored["inputs"] if type(stored["inputs"]) is dict else None
            manifest = Manifest(
                tokenizer=dict(stored["tokenizer"]),
                options=dict(stored["options"]),
                inputs=() if listed else tuple(_stored(ReadInput, read) for read in stored["inputs"]),
                shards=tuple(_shard(shard) for shard in stored["shards"]),
            )
            as_written = manifest.to_json(listed) == content
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise ValueError(f"{path}: broken: {error!r:.200}") from None
        if not as_written:
            raise ValueError(f"{path}: not as it was written")
        return manifest if listed is None else replace(manifest, inputs=_read_inputs(folder / INPUTS, listed))


def _write_inputs(path: Path, inputs: Sequence[ReadInput]) -> Json:
    """List inputs in a Parquet file; return what the manifest tells of it."""
    arrow = needed_pyarrow(f"a manifest of more than {MOST_IN_JSON:,} inputs")
    import pyarrow.parquet

    with (
        write_whole(path, overwrite=True) as file,
        pyarrow.parquet.ParquetWriter(file, _schema(arrow), compression="zstd") as writer,
    ):
        for first in range(0, len(inputs), _ROWS):
            rows = inputs[first : first + _ROWS]
            columns = {name: [getattr(read, name) for read in rows] for name in _schema(arrow).names}
            columns["name"] = [os.fsencode(name) for name in columns["name"]]
            writer.write_table(arrow.table(columns, schema=_schema(arrow)))
    return _listed(path, len(inputs))


def _listed(path: Path, count: int) -> Json:
    size, sha256 = hash_file(path)
    return {"file": path.name, "count": count, "bytes": size, "sha256": sha256}


def _read_inputs(path: Path, listed: Json) -> Sequence[ReadInput]:
    """Read the list of inputs, which must be the file that the manifest tells of."""
    needed_pyarrow("a manifest of many inputs")
    import pyarrow.parquet

    if _listed(path, listed.get("count", 0)) != listed:
        raise ValueError(f"{path}: not as it was written")
    read = new_read_inputs()
    for batch in pyarrow.parquet.ParquetFile(path).iter_batches(_ROWS):
        columns = batch.to_pydict()
        names = map(os.fsdecode, columns.pop("name"))
        read.extend(ReadInput(*row) for row in zip(names, *columns.values(), strict=True))
    return read


_ROWS = 1 << 14
"""How many inputs are a line of the journal, or a row group."""


def _schema(arrow: Any) -> Any:
    kinds = {"name": arrow.binary(), "bytes": arrow.int64(), "xxh3_128": arrow.string()}
    kinds |= {"documents": arrow.int64(), "affected": arrow.int64()}
    return arrow.schema([arrow.field(name, kind, nullable=False) for name, kind in kinds.items()])


def _dumped(content: Json) -> bytes:
    # What no UTF-8 has in it, a byte of a file's name, becomes the escape that JSON knows it by.
    return json.dumps(content, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace") + b"\n"
