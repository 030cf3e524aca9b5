"""Writes and reads files of counts, with all checks of such a file.

    bpetite counts\n              the mark
    {"pattern": ..., ...}\n       the rules of counting and the totals, as JSON
    block block ... end           rows in the order of their pretokens

A block has a head of four numbers, the lengths of its pretokens, their counts, and the pretokens
themselves:

    rows, bytes of pretokens, bytes of a length, bytes of a count | 2 3 | 7 1 | a b x y z

The end is a head of zeros, and the XXH3 of 128 bits of all before. Equal counts give equal bytes,
and the largest part that is in memory is a block. `docs/files.md` is normative.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Callable, Iterator
from types import NoneType
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeAlias

from bpetite._constants import UNICODE_VERSION
from bpetite._engine import Xxh3128
from bpetite._internal.files import write_whole
from bpetite._internal.json import fields_of, refuse
from bpetite._internal.lazy import numpy as np
from bpetite._internal.types import AnyPath
from bpetite.vocabulary import TOKEN_FLAGS

if TYPE_CHECKING:
    from numpy.typing import NDArray

Rows: TypeAlias = "tuple[bytes, NDArray[np.uint64], NDArray[np.uint64]]"
"""Joined pretokens, the end of each, and the count of each."""

FORMAT_VERSION = 2
MARK = b"bpetite counts\n"

_HEAD = struct.Struct("<IQBB")


class Rules(NamedTuple):
    """The rules of counting, and the totals."""

    pattern: Any
    """Checked where it is used."""
    boundaries: list[str]
    unmatched_text: str
    documents: int
    bytes: int
    replaced: int
    skipped: int
    total: int
    scale: int
    weights: dict[str, str]
    dialect: dict[str, Any]
    """The dialect that was given for counting, unless parts had different ones."""
    special_tokens: list[str]
    """The special tokens that were given with it."""
    normalization: Any = None
    """Checked where it is used; counts without one are written as before there were any."""
    added_tokens: Any = None
    """Of counts like a tokenizer: an object of its special and added tokens, each with a list of flags."""
    unicode_version: str = UNICODE_VERSION
    format_version: int = FORMAT_VERSION


Add: TypeAlias = "Callable[[bytes, NDArray[np.uint64], NDArray[np.uint64]], None]"


@contextlib.contextmanager
def write_counts(path: AnyPath, rules: Rules, overwrite: bool = False) -> Iterator[Add]:
    """Yield a function that writes sorted rows as a block of a file.

    The file gets its name when the `with` block ends without an error.
    """
    import json

    digest = Xxh3128()
    with write_whole(path, overwrite=overwrite) as file:

        def put(content: bytes) -> None:
            digest.update(content)
            file.write(content)

        def add(joined: bytes, ends: NDArray[np.uint64], counts: NDArray[np.uint64]) -> None:
            if len(counts):
                lengths, counts = _narrow(np.diff(ends, prepend=np.uint64(0))), _narrow(counts)
                put(_HEAD.pack(len(counts), len(joined), lengths.itemsize, counts.itemsize))
                put(lengths.tobytes())
                put(counts.tobytes())
                put(joined)

        # Bytes of a source's name that are not UTF-8 become escapes of JSON.
        stored = json.dumps(_stored(rules), ensure_ascii=False, sort_keys=True)
        put(MARK + stored.encode("utf-8", "backslashreplace") + b"\n")
        yield add
        put(_HEAD.pack(0, 0, 0, 0))
        file.write(bytes.fromhex(digest.hexdigest()))


def _stored(rules: Rules) -> dict[str, Any]:
    """Return the rules as they are written."""
    stored = rules._asdict()
    for later in ("normalization", "added_tokens"):
        if stored[later] is None:
            del stored[later]
    return stored


def _narrow(numbers: NDArray[np.uint64]) -> NDArray[Any]:
    """Return numbers in as few bytes each as the largest needs."""
    return numbers.astype(np.min_scalar_type(numbers.max()).newbyteorder("<"))


def read_counts(path: AnyPath) -> tuple[Rules, Iterator[Rows]]:
    """Read the rules of a file, and its rows lazily; anything wrong raises a `ValueError`."""
    with open(path, "rb") as file:
        rules = _read_rules(path, file)
        return rules, _checked_rows(path, rules, file.tell())


def _read_rules(path: AnyPath, file: BinaryIO) -> Rules:
    """Read and check what is before the rows."""
    if file.read(len(MARK)) != MARK:
        refuse(path, "not a file of counts")
    import json

    line = file.readline()
    try:
        stored = json.loads(line)
        if type(stored) is dict:  # files that say nothing of the dialect are read, too
            stored = {
                "dialect": {},
                "special_tokens": [],
                "normalization": None,
                "added_tokens": None,
                **stored,
            }
        rules = fields_of(Rules, stored)
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
    if type(rules.added_tokens) not in (dict, NoneType):
        refuse(path, f"rules: added_tokens is {rules.added_tokens!r:.80}")
    for text, flags in (rules.added_tokens or {}).items():
        if not text or type(flags) is not list or any(flag not in TOKEN_FLAGS for flag in flags):
            refuse(path, f"rules: added_tokens: {text!r:.80} has the flags {flags!r:.80}")
    texts = [*rules.boundaries, *rules.special_tokens]
    if not all(type(text) is str and text for text in texts) or rules.scale < 1:
        refuse(path, "rules: boundaries and special tokens must be strings, and scale above 0")
    return rules


def _checked_rows(path: AnyPath, rules: Rules, start: int) -> Iterator[Rows]:
    """Yield the rows of a file, a block at a time; check their total, and the hash of all."""
    digest, total = Xxh3128(), 0
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        digest.update(file.read(start))
        while True:
            place = file.tell()
            head = file.read(_HEAD.size)
            if len(head) < _HEAD.size:
                refuse(path, f"incomplete: it ends at byte {place + len(head)}")
            digest.update(head)
            numbers = rows, pretokens, *widths = _HEAD.unpack(head)
            if not rows:
                break
            if not {*widths} <= {1, 2, 4, 8}:
                refuse(
                    path,
                    f"broken: the block at byte {place} has numbers of {widths[0]} and {widths[1]} bytes",
                )
            length = rows * sum(widths) + pretokens
            if length > size - file.tell():
                refuse(path, f"incomplete: the block at byte {place} has {length} bytes")
            content = file.read(length)
            digest.update(content)
            joined, ends, counts = _rows(path, content, *numbers)
            total += _sum(counts)
            yield joined, ends, counts
        if file.read(17) != bytes.fromhex(digest.hexdigest()):
            refuse(path, "changed since it was written, or incomplete: its hash differs")
    if total != rules.total:
        refuse(
            path,
            f"the counts add up to {total}, not to the total of {rules.total!r:.80} in the rules",
        )


def _rows(
    path: AnyPath, content: bytes, rows: int, pretokens: int, length_width: int, count_width: int
) -> Rows:
    """Return the rows of a block."""
    lengths = np.frombuffer(content, f"<u{length_width}", rows).astype(np.uint64)
    counts = np.frombuffer(content, f"<u{count_width}", rows, rows * length_width)
    if int(lengths.max()) > pretokens or int(lengths.sum()) != pretokens:
        refuse(path, f"broken: a block has {pretokens} bytes of pretokens, but other lengths")
    if not int(lengths.min()) or not int(counts.min()):
        refuse(path, "there is a pretoken without bytes, or a count below 1")
    return content[len(content) - pretokens :], np.cumsum(lengths), counts.astype(np.uint64)


def _sum(counts: NDArray[np.uint64]) -> int:
    """Return the exact sum of the counts of a block, which may not fit 64 bits."""
    low = int((counts & np.uint64(2**32 - 1)).sum())
    return (int((counts >> np.uint64(32)).sum()) << 32) + low
