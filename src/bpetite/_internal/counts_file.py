"""Writes and reads counts files (Parquet), with all checks of such a file.

A counts file has the columns `pretoken` (binary) and `count` (unsigned 64-bit), sorted by the bytes of the
pretokens, without duplicates. The metadata key `bpetite` holds a JSON object with the rules of counting and
the totals. `docs/scale.md` is normative. Files are written and read one row group at a time; equal counts
give equal bytes.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from importlib.util import find_spec
from itertools import chain, cycle, pairwise
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias

from bpetite._constants import UNICODE_VERSION
from bpetite._internal.files import write_whole
from bpetite._internal.lazy import numpy as np
from bpetite._internal.parquet_metadata import chunks_of, opened_parquet
from bpetite._internal.types import Path

if TYPE_CHECKING:
    from numpy.typing import NDArray

Rows: TypeAlias = "tuple[bytes, NDArray[np.uint64], NDArray[np.uint64]]"
"""Joined pretokens, the end of each, and the count of each."""

FORMAT_VERSION = 1
METADATA_KEY = b"bpetite"

NEEDS_PYARROW = "counts files need pyarrow: pip install 'bpetite[corpus]'"

ROOM_FOR_ARROW = 96 << 20
"""Bytes that are allocated and freed again before pyarrow runs: without memory it aborts the process."""

ROWS = 1 << 17
"""The number of rows of a row group, unless their pretokens reach `GROUP_BYTES` before."""

GROUP_BYTES = 1 << 26

MAX_GROUP_BYTES = 1 << 30
"""The maximum size of a column of a row group in memory: a small file may expand to any size."""

_ENCODINGS = {
    0: "PLAIN",
    2: "PLAIN_DICTIONARY",
    3: "RLE",
    4: "BIT_PACKED",
    5: "DELTA_BINARY_PACKED",
    6: "DELTA_LENGTH_BYTE_ARRAY",
    7: "DELTA_BYTE_ARRAY",
    8: "RLE_DICTIONARY",
    9: "BYTE_STREAM_SPLIT",
}
"""The names of Parquet's encodings, by number."""

READ_ENCODINGS = {"PLAIN", "RLE", "BIT_PACKED", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BINARY_PACKED"}
DICTIONARY_ENCODINGS = {"PLAIN_DICTIONARY", "RLE_DICTIONARY"}
"""The encodings that are accepted. With others, rows can share bytes, so that a few bytes expand to any
size."""


@dataclass(frozen=True)
class Rules:
    """The rules of counting, and the totals."""

    pattern: str
    boundaries: tuple[str, ...]
    unmatched_text: Literal["counted", "skipped"]
    documents: int
    bytes: int
    replaced: int
    skipped: int
    total: int
    scale: int = 1
    weights: dict[str, str] = field(default_factory=dict)
    unicode_version: str = UNICODE_VERSION
    format_version: int = FORMAT_VERSION


@contextlib.contextmanager
def write_counts(path: Path, rules: Rules, overwrite: bool = False) -> Iterator[CountsWriter]:
    """Open a file for sorted rows, which gets its name when the block ends without an error."""
    arrow, parquet = _arrow()
    metadata = {METADATA_KEY: _dumped(rules)}
    schema = arrow.schema(
        [
            arrow.field("pretoken", arrow.binary(), nullable=False),
            arrow.field("count", arrow.uint64(), nullable=False),
        ],
        metadata=metadata,
    )
    with (
        _memory_errors(),
        write_whole(path, overwrite=overwrite) as file,
        parquet.ParquetWriter(
            file,
            schema,
            compression="zstd",
            use_dictionary=False,
            sorting_columns=[parquet.SortingColumn(0)],
        ) as parquet_writer,
        CountsWriter(arrow, parquet_writer, schema) as writer,
    ):
        yield writer
        writer.finish()


def _dumped(rules: Rules) -> bytes:
    """Return the rules as JSON; bytes of a source's name that are not UTF-8 become JSON escapes."""
    content = json.dumps(asdict(rules), ensure_ascii=False, sort_keys=True)
    return content.encode("utf-8", "backslashreplace")


@contextlib.contextmanager
def _memory_errors() -> Iterator[None]:
    """Raise MemoryError where pyarrow or its libraries report a lack of memory by another error."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        if getattr(error, "errno", None) == errno.ENOMEM or "std::bad_alloc" in str(error):
            raise MemoryError(f"not enough memory to write Parquet: {error}") from None
        raise


class _Writing(threading.Thread):
    """Writes a row group."""

    def __init__(self, write: Callable[[], None]) -> None:
        super().__init__(name="bpetite-write-counts", daemon=True)
        self._write = write
        self.error: BaseException | None = None

    def run(self) -> None:
        """Write, and keep an error for the caller."""
        try:
            self._write()
        except BaseException as error:
            self.error = error


class CountsWriter:
    """Writes sorted rows, in row groups that do not depend on how the rows arrive.

    A thread compresses and writes one row group while the next one is made.
    """

    def __init__(self, arrow: Any, writer: Any, schema: Any) -> None:
        self._arrow = arrow
        self._writer = writer
        self._schema = schema
        self._writing: _Writing | None = None
        self._joined = b""
        self._ends = np.zeros(0, np.uint64)
        self._counts = np.zeros(0, np.uint64)

    def __enter__(self) -> CountsWriter:
        return self

    def __exit__(self, *_: object) -> None:
        if self._writing is not None and self._writing.is_alive():
            self._writing.join()

    def add(self, joined: bytes, ends: NDArray[np.uint64], counts: NDArray[np.uint64]) -> None:
        """Add the next rows."""
        self._ends = np.concatenate((self._ends, ends + np.uint64(len(self._joined))))
        self._counts = np.concatenate((self._counts, counts))
        self._joined += joined
        first = 0
        while (after := _group_end(self._ends, first)) is not None:
            self._write(first, after)
            first = after
        start = _start(self._ends, first)
        self._joined = self._joined[start:]
        self._ends, self._counts = self._ends[first:] - np.uint64(start), self._counts[first:]

    def finish(self) -> None:
        """Write the rows that are left."""
        if len(self._ends):
            self._write(0, len(self._ends))
        self._wait()

    def _wait(self) -> None:
        """Wait for the row group that is being written; its error is raised here."""
        if self._writing is None:
            return
        if self._writing.is_alive():
            self._writing.join()
        error, self._writing = self._writing.error, None
        if error is not None:
            raise error

    def _write(self, first: int, after: int) -> None:
        start, stop = _start(self._ends, first), _start(self._ends, after)
        offsets = np.zeros(after - first + 1, np.int32)
        offsets[1:] = self._ends[first:after] - np.uint64(start)
        content = self._arrow.py_buffer(self._joined[start:stop])
        pretokens = self._arrow.Array.from_buffers(
            self._arrow.binary(), after - first, [None, self._arrow.py_buffer(offsets), content]
        )
        counts = self._arrow.Array.from_buffers(
            self._arrow.uint64(), after - first, [None, self._arrow.py_buffer(self._counts[first:after])]
        )
        # Where pandas is installed, pyarrow would import it for other ways to make these: 50 MB and 0.3 s.
        rows = self._arrow.Table.from_arrays([pretokens, counts], schema=self._schema)
        self._wait()
        self._writing = _Writing(partial(self._writer.write_table, rows, after - first))
        try:
            self._writing.start()
        except RuntimeError:  # The system starts no thread.
            self._writing.run()


def _start(ends: NDArray[np.uint64], row: int) -> int:
    return int(ends[row - 1]) if row else 0


def _group_end(ends: NDArray[np.uint64], first: int) -> int | None:
    """Return the row after the group that begins with row `first`, if the group is complete."""
    full = np.uint64(_start(ends, first) + GROUP_BYTES)
    after = first + min(ROWS, int(np.searchsorted(ends[first : first + ROWS], full)) + 1)
    return after if after <= len(ends) else None


def are_apart(paths: Iterable[Path]) -> bool:
    """Whether the files have disjoint ranges of pretokens, as those that a cluster writes."""
    bounds = sorted(found for path in paths if (found := _bounds(path)) is not None)
    return all(last < first for (_, last), (first, _) in pairwise(bounds))


def _bounds(path: Path) -> tuple[bytes, bytes] | None:
    """Return the first and the last pretoken of a file."""
    file = _open(path)
    _rules(path, file)
    file = _bounded(path, file)
    found = []
    arrow, _ = _arrow()
    try:
        for number, row in ((0, 0), (file.num_row_groups - 1, -1)):
            column = file.read_row_group(number, columns=["pretoken"]).column(0) if number >= 0 else ()
            if len(column):
                found.append(column[row].as_py())
    except (arrow.ArrowException, OSError) as error:
        _refuse(path, f"broken Parquet: {error}")
    return (found[0], found[-1]) if found else None


def read_counts(path: Path) -> tuple[Rules, Iterator[Rows]]:
    """Read the rules of a file, and its rows lazily; anything wrong raises a `ValueError`."""
    file = _open(path)
    rules = _rules(path, file)
    return rules, _checked_rows(path, file, rules)


def _open(path: Path) -> Any:
    arrow, _ = _arrow()
    with open(path, "rb"):  # raises the usual errors if the file is missing or not readable
        pass
    try:
        return opened_parquet(path)
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
        _refuse(path, f"not a complete Parquet file: {error}")


def _rules(path: Path, file: Any) -> Rules:
    """Read and check the metadata and the columns."""
    arrow, _ = _arrow()
    schema = file.schema_arrow
    stored = (file.metadata.metadata or {}).get(METADATA_KEY)
    if stored is None:
        _refuse(path, "not a counts file: the metadata key 'bpetite' is missing")
    if schema.names != ["pretoken", "count"]:
        _refuse(path, f"the columns must be pretoken and count, not {', '.join(schema.names)}")
    if schema.field("pretoken").type not in (arrow.binary(), arrow.large_binary()):
        _refuse(path, f"column pretoken must be binary, not {schema.field('pretoken').type}")
    if schema.field("count").type not in (arrow.uint64(), arrow.int64()):
        _refuse(path, f"column count must be uint64 or int64, not {schema.field('count').type}")
    try:
        document = json.loads(stored)
    except (ValueError, RecursionError) as error:
        _refuse(path, f"metadata: not JSON: {error}")
    return _rules_of(path, document)


def _rules_of(path: Path, document: Any) -> Rules:
    expected = {
        "pattern": str,
        "boundaries": list,
        "unmatched_text": str,
        "documents": int,
        "bytes": int,
        "replaced": int,
        "skipped": int,
        "total": int,
        "scale": int,
        "weights": dict,
        "unicode_version": str,
        "format_version": int,
    }
    if type(document) is not dict or sorted(document) != sorted(expected):
        _refuse(path, f"metadata: must hold exactly {', '.join(sorted(expected))}")
    for name, kind in expected.items():
        if type(document[name]) is not kind or (kind is int and document[name] < 0):
            _refuse(path, f"metadata: {name} is {document[name]!r:.80}")
    if document["format_version"] != FORMAT_VERSION:
        _refuse(path, f"metadata: format_version {document['format_version']} is not {FORMAT_VERSION}")
    if document["unicode_version"] != UNICODE_VERSION:
        _refuse(
            path,
            f"counted by Unicode {document['unicode_version']}, but this is Unicode {UNICODE_VERSION}; "
            "count again, or use the version of bpetite that counted",
        )
    if document["unmatched_text"] not in ("counted", "skipped"):
        _refuse(path, f"metadata: unmatched_text is {document['unmatched_text']!r:.80}")
    if not all(type(text) is str and text for text in document["boundaries"]) or document["scale"] < 1:
        _refuse(path, "metadata: boundaries must be strings, and scale above 0")
    document["boundaries"] = tuple(document["boundaries"])
    return Rules(**{rule.name: document[rule.name] for rule in fields(Rules)})


def _checked_rows(path: Path, file: Any, rules: Rules) -> Iterator[Rows]:
    """Yield the rows of a file; check their order, that counts are positive, and their total."""
    arrow, _ = _arrow()
    import pyarrow.compute

    last: bytes | None = None
    total = 0
    try:
        for batch in _bounded(path, file).iter_batches(ROWS):
            pretokens, counts = _plain(path, batch.column(0)).cast(arrow.large_binary()), batch.column(1)
            if not len(batch):
                continue
            if pretokens.null_count or counts.null_count:
                _refuse(path, "a row has no value")
            ascending = pyarrow.compute.all(pyarrow.compute.less(pretokens[:-1], pretokens[1:])).as_py()
            first = pretokens[0].as_py()
            if ascending is False or (last is not None and first <= last):
                _refuse(path, "the pretokens are not in strictly ascending order of bytes")
            last = pretokens[-1].as_py()
            # Not by `to_numpy`, for which pyarrow imports pandas where it is installed.
            end = counts.offset + len(counts)
            numbers = np.frombuffer(counts.buffers()[1], str(counts.type), end)[counts.offset :]
            if int(numbers.min()) < 1:
                _refuse(path, "there is a count below 1")
            numbers = numbers.astype(np.uint64)
            total += _sum(numbers)
            yield (*_joined(pretokens), numbers)
    except (arrow.ArrowException, OSError) as error:
        _refuse(path, f"broken Parquet: {error}")
    if total != rules.total:
        _refuse(
            path, f"the counts add up to {total}, not to the total of {rules.total!r:.80} in the metadata"
        )


def _sum(counts: NDArray[np.uint64]) -> int:
    """Return the exact sum of the counts of a row group, which may not fit 64 bits."""
    low = int((counts & np.uint64(2**32 - 1)).sum())
    return (int((counts >> np.uint64(32)).sum()) << 32) + low


def _bounded(path: Path, file: Any) -> Any:
    """Reopen the file so that the memory for reading it is bounded by the sizes in its metadata."""
    dictionary = False
    with open(path, "rb") as content:
        groups = chunks_of(content)
    names = file.schema_arrow.names
    if groups is None or [len(group) for group in groups] != [len(names)] * file.num_row_groups:
        _refuse(path, "broken Parquet: the metadata of the columns are incomplete")
    for name, (numbers, unpacked) in zip(cycle(names), chain.from_iterable(groups), strict=False):
        if unpacked > MAX_GROUP_BYTES:
            _refuse(path, f"a row group takes {unpacked} bytes, more than the limit of {MAX_GROUP_BYTES}")
        encodings = {_ENCODINGS.get(number, str(number)) for number in numbers} - READ_ENCODINGS
        if not encodings <= DICTIONARY_ENCODINGS:
            _refuse(
                path,
                f"column {name} has the encoding {', '.join(sorted(encodings))}, which is not accepted",
            )
        dictionary |= bool(encodings) and name == "pretoken"
    if not dictionary:
        return file
    return opened_parquet(path, read_dictionary=["pretoken"])


def _plain(path: Path, pretokens: Any) -> Any:
    """Decode a dictionary column; each entry may occur once, so the result is no larger than it."""
    arrow, _ = _arrow()
    if not arrow.types.is_dictionary(pretokens.type):
        return pretokens
    if len(pretokens.indices.unique()) < len(pretokens):
        _refuse(path, "the pretokens are not in strictly ascending order of bytes")
    return pretokens.dictionary_decode()


def _joined(pretokens: Any) -> tuple[bytes, NDArray[np.uint64]]:
    _, offsets, content = pretokens.buffers()
    bounds = np.frombuffer(offsets, np.int64)[pretokens.offset : pretokens.offset + len(pretokens) + 1]
    joined = (
        b"" if content is None else content.slice(int(bounds[0]), int(bounds[-1] - bounds[0])).to_pybytes()
    )
    return joined, (bounds[1:] - bounds[0]).astype(np.uint64)


def _refuse(path: Path, what: str) -> NoReturn:
    raise ValueError(f"{os.fspath(path)}: {what}")


def check_available() -> None:
    """Raise an error before a long call if counts files cannot be written at its end."""
    if find_spec("pyarrow") is None:
        raise ImportError(NEEDS_PYARROW)


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise ImportError(NEEDS_PYARROW) from error
    try:
        np.empty(ROOM_FOR_ARROW, np.uint8)
    except MemoryError:
        raise MemoryError(
            f"not enough memory for files of counts: {ROOM_FOR_ARROW >> 20} MiB more are needed"
        ) from None
    return pyarrow, pyarrow.parquet
