"""An input in, its format and compression out, by its name and its first bytes, which must agree."""

import os
import re
from contextlib import closing

from bpetite._internal.types import Format
from bpetite.reading.options import Reading
from bpetite.reading.raw import Raw
from bpetite.reading.sources import Input, chain_of

_PARQUET = b"PAR1"
_BEGIN = b"PAR1\x15"
"""How Parquet begins: with the mark, and the first byte of a page's header or of the index."""

_KINDS: dict[str, tuple[str, bytes]] = {
    "text": (".txt", b""),
    "json": (".json", b""),
    "jsonl": (".jsonl .ndjson", b""),
    "parquet": (".parquet .pq", b""),
    "gzip": (".gz .gzip", rb"\x1f\x8b\x08"),
    "zstd": (".zst .zstd", rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"),
    "bzip2": (".bz2", rb"BZh[1-9]1AY&SY"),
    "xz": (".xz", rb"\xfd7zXZ\x00"),
    "zip": (".zip", rb"PK\x03\x04"),
    "tar": (".tar .tgz", rb"(?s).{257}ustar[\x00 ]"),
    "lz4": (".lz4", b""),
    "7-Zip": (".7z", b""),
    "brotli": (".br", b""),
}
"""Kinds of files: the ends of their names, and how those begin that hold others (`json` is text or lines)."""

_FORMATS = ("text", "json", "jsonl", "parquet")
_COMPRESSIONS = ("gzip", "zstd")
_NAMED = {suffix: kind for kind, (suffixes, _) in _KINDS.items() for suffix in suffixes.split()}

_LARGE = 1 << 18
"""The size from which a file of text is worth a call of the engine."""


def named_format(name: str, asked: Format) -> str | None:
    """Return a file's format by its name, None if compressed; its content may contradict (`is_marked`)."""
    kind = _NAMED.get(os.path.splitext(name.lower())[1], "text")
    if kind not in _FORMATS:
        return None
    return kind if asked == "auto" else asked


def is_marked(content: bytes) -> bool:
    """Whether content begins like a format that is not text."""
    return content.startswith(_PARQUET) or _held_in(content) is not None


def _held_in(content: bytes) -> str | None:
    """Return the kind that content begins like, if it is one that holds others."""
    begins = (kind for kind, (_, beginning) in _KINDS.items() if beginning and re.match(beginning, content))
    return next(begins, None)


def recognise(name: str, raw: Raw, asked: Format) -> tuple[str, str | None]:
    """Return an input's format and compression; a name that contradicts the content is refused."""
    head = raw.head()
    held = _held_in(head)
    stem, suffix = os.path.splitext(chain_of(name)[1].lower())
    named, compression = _NAMED.get(suffix), None
    if named in _COMPRESSIONS:
        suffix = os.path.splitext(stem)[1]
        named, compression = _NAMED.get(suffix), named
    for kind in (held, named):
        if kind is not None and kind not in _FORMATS + _COMPRESSIONS:
            raise ValueError(f"{name}: {kind} is not supported; unpack it, or compress it with gzip or zstd")
    if compression != held and (compression or named):
        claim = compression or suffix
        raise ValueError(f"{name}: its name says {claim}, but it holds {held or f'no {compression}'}")
    form = named if asked == "auto" else asked
    if held is not None:
        if "parquet" in (named, asked):
            raise ValueError(f"{name}: Parquet inside {held} is not supported; unpack it")
        return form or "text", held
    if head.startswith(_BEGIN):
        raw.check_seekable()
    is_parquet = head.startswith(_PARQUET) and raw.ends_with(_PARQUET)
    if form == "parquet" and not is_parquet:
        raise ValueError(f"{name}: not a complete Parquet file (no {_PARQUET.decode()} at both ends)")
    if form in ("text", "jsonl") and is_parquet:
        raise ValueError(f"{name}: read as {form}, but it holds Parquet")
    return form or ("parquet" if is_parquet else "text"), None


def is_plain_text(source: Input, reading: Reading) -> bool:
    """Whether an input is a large local file that is itself one document of plain text."""
    if reading.separator is not None or reading.invalid != "error" or reading.hold_out is not None:
        return False
    if source.found_size is not None and source.found_size < _LARGE:
        return False
    if not source.is_local or source.is_part or not os.path.isfile(source.name):
        return False
    with closing(Raw(source)) as raw:
        return recognise(source.name, raw, reading.input_format) == ("text", None)
