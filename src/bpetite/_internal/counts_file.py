"""Writes and reads files of counts, with all checks of such a file.

    bpetite counts\n              the mark
    {"pattern": ..., ...}\n       the rules of counting and the totals, as JSON
    block block ... end           rows in the order of their pretokens

A block has a head of four numbers, the lengths of its pretokens, their counts, and the pretokens themselves:

    rows, bytes of pretokens, bytes of a length, bytes of a count | 2 3 | 7 1 | a b x y z

The end is a head of zeros, and the XXH3 of 128 bits of all before. Equal counts give equal bytes, and the
largest part that is in memory is a block. `docs/files.md` is normative.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeAlias

from bpetite._constants import UNICODE_VERSION
from bpetite._engine import Xxh3128
from bpetite._internal.files import write_whole
from bpetite._internal.json import fields_of, refuse
from bpetite._internal.lazy import numpy as np
from bpetite._internal.types import Path

if TYPE_CHECKING:
    from numpy.typing import NDArray

Rows: TypeAlias = "tuple[bytes, NDArray[np.uint64], NDArray[np.uint64]]"
"""Joined pretokens, the end of each, and the count of each."""

FORMAT_VERSION = 2
MARK = b"bpetite counts\n"

ROWS = 1 << 17
"""The number of rows of a block, unless their pretokens reach `BLOCK_BYTES` before."""

BLOCK_BYTES = 1 << 26

_HEAD = struct.Struct("<IQBB")
_WIDTHS = (1, 2, 4, 8)


@dataclass(frozen=True)
class Rules:
    """The rules of counting, and the totals."""

    pattern: str
    boundaries: list[str]
    unmatched_text: str
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
    with write_whole(path, overwrite=overwrite) as file:
        writer = CountsWriter(file)
        # Bytes of a source's name that are not UTF-8 become escapes of JSON.
        stored = json.dumps(asdict(rules), ensure_ascii=False, sort_keys=True)
        writer.put(MARK + stored.encode("utf-8", "backslashreplace") + b"\n")
        yield writer
        writer.finish()


class CountsWriter:
    """Writes sorted rows, in blocks that do not depend on how the rows arrive."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = Xxh3128()
        self._joined = b""
        self._bounds = np.zeros(1, np.uint64)
        """Where pretokens begin and end."""
        self._counts = np.zeros(0, np.uint64)

    def put(self, content: bytes) -> None:
        """Write the next bytes."""
        self._digest.update(content)
        self._file.write(content)

    def add(self, joined: bytes, ends: NDArray[np.uint64], counts: NDArray[np.uint64]) -> None:
        """Add the next rows."""
        self._bounds = np.concatenate((self._bounds, ends + self._bounds[-1]))
        self._counts = np.concatenate((self._counts, counts))
        self._joined += joined
        first = 0
        while (after := self._block_end(first)) < len(self._bounds):
            self._write(first, after)
            first = after
        start = self._bounds[first]
        self._joined = self._joined[int(start) :]
        self._bounds, self._counts = self._bounds[first:] - start, self._counts[first:]

    def finish(self) -> None:
        """Write the rows that are left, and the end."""
        if len(self._counts):
            self._write(0, len(self._counts))
        self.put(_HEAD.pack(0, 0, 0, 0))
        self._file.write(bytes.fromhex(self._digest.hexdigest()))

    def _block_end(self, first: int) -> int:
        """Return the row after the block that begins with row `first`, if so many rows have come."""
        full = self._bounds[first] + np.uint64(BLOCK_BYTES)
        return first + min(ROWS, int(np.searchsorted(self._bounds[first + 1 : first + 1 + ROWS], full)) + 1)

    def _write(self, first: int, after: int) -> None:
        start, stop = int(self._bounds[first]), int(self._bounds[after])
        lengths = _narrow(np.diff(self._bounds[first : after + 1]))
        counts = _narrow(self._counts[first:after])
        self.put(_HEAD.pack(after - first, stop - start, lengths.itemsize, counts.itemsize))
        self.put(lengths.tobytes())
        self.put(counts.tobytes())
        self.put(self._joined[start:stop])


def _narrow(numbers: NDArray[np.uint64]) -> NDArray[Any]:
    """Return numbers in as few bytes each as the largest needs."""
    return numbers.astype(np.min_scalar_type(numbers.max()).newbyteorder("<"))


class _Block(NamedTuple):
    """The head of a block."""

    rows: int
    pretokens: int
    length_width: int
    count_width: int

    @property
    def size(self) -> int:
        """The number of bytes behind the head."""
        return self.rows * (self.length_width + self.count_width) + self.pretokens


def read_counts(path: Path) -> tuple[Rules, Iterator[Rows]]:
    """Read the rules of a file, and its rows lazily; anything wrong raises a `ValueError`."""
    with open(path, "rb") as file:
        rules = _read_rules(path, file)
        return rules, _checked_rows(path, rules, file.tell())


def _read_rules(path: Path, file: BinaryIO) -> Rules:
    """Read and check what is before the rows."""
    if file.read(len(MARK)) != MARK:
        refuse(path, "not a file of counts")
    line = file.readline()
    try:
        rules = fields_of(Rules, json.loads(line))
    except TypeError as error:
        refuse(path, f"rules: {error}")
    except (ValueError, RecursionError) as error:
        refuse(path, f"rules: not JSON: {error}")
    if rules.format_version != FORMAT_VERSION:
        refuse(path, f"rules: format_version {rules.format_version} is not {FORMAT_VERSION}")
    if rules.unicode_version != UNICODE_VERSION:
        refuse(
            path,
            f"counted by Unicode {rules.unicode_version}, but this is Unicode {UNICODE_VERSION}; "
            "count again, or use the version of bpetite that counted",
        )
    if rules.unmatched_text not in ("counted", "skipped"):
        refuse(path, f"rules: unmatched_text is {rules.unmatched_text!r:.80}")
    if not all(type(text) is str and text for text in rules.boundaries) or rules.scale < 1:
        refuse(path, "rules: boundaries must be strings, and scale above 0")
    return rules


def _checked_rows(path: Path, rules: Rules, start: int) -> Iterator[Rows]:
    """Yield the rows of a file, a block at a time; check their total, and the hash of all."""
    digest, total = Xxh3128(), 0
    with open(path, "rb") as file:
        digest.update(file.read(start))
        while True:
            head, block = _read_head(path, file)
            digest.update(head)
            if not block.rows:
                break
            content = file.read(block.size)
            digest.update(content)
            joined, ends, counts = _rows(path, block, content)
            total += _sum(counts)
            yield joined, ends, counts
        if file.read(17) != bytes.fromhex(digest.hexdigest()):
            refuse(path, "changed since it was written, or incomplete: its hash is another one")
    if total != rules.total:
        refuse(path, f"the counts add up to {total}, not to the total of {rules.total!r:.80} in the rules")


def _read_head(path: Path, file: BinaryIO) -> tuple[bytes, _Block]:
    """Read the head of a block, which must fit the rest of the file."""
    place = file.tell()
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        refuse(path, f"incomplete: it ends at byte {place + len(head)}")
    block = _Block(*_HEAD.unpack(head))
    if block.rows and (block.length_width not in _WIDTHS or block.count_width not in _WIDTHS):
        refuse(
            path,
            f"broken: the block at byte {place} has numbers of {block.length_width} and {block.count_width} "
            "bytes",
        )
    if block.size > os.fstat(file.fileno()).st_size - file.tell():
        refuse(path, f"incomplete: the block at byte {place} has {block.size} bytes")
    return head, block


def _rows(path: Path, block: _Block, content: bytes) -> Rows:
    """Return the rows of a block."""
    lengths = np.frombuffer(content, f"<u{block.length_width}", block.rows).astype(np.uint64)
    counts = np.frombuffer(content, f"<u{block.count_width}", block.rows, block.rows * block.length_width)
    if int(lengths.max()) > block.pretokens or int(lengths.sum()) != block.pretokens:
        refuse(path, f"broken: a block has {block.pretokens} bytes of pretokens, but other lengths")
    if not int(lengths.min()) or not int(counts.min()):
        refuse(path, "there is a pretoken without bytes, or a count below 1")
    return content[block.size - block.pretokens :], np.cumsum(lengths), counts.astype(np.uint64)


def _sum(counts: NDArray[np.uint64]) -> int:
    """Return the exact sum of the counts of a block, which may not fit 64 bits."""
    low = int((counts & np.uint64(2**32 - 1)).sum())
    return (int((counts >> np.uint64(32)).sum()) << 32) + low
