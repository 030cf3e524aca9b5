"""An input in, its format and compression out, by its name and its first bytes, which must agree."""

from __future__ import annotations

import os

from bpetite._internal.types import Format
from bpetite.reading.options import Reading
from bpetite.reading.raw import Raw
from bpetite.reading.sources import Input, chain_of

_COMPRESSED = {".gz": "gzip", ".gzip": "gzip", ".zst": "zstd", ".zstd": "zstd"}
_FORMATS = {
    ".json": "json",
    ".txt": "text",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_UNREADABLE = {
    ".bz2": "bzip2",
    ".xz": "xz",
    ".zip": "zip",
    ".tar": "tar",
    ".tgz": "tar",
    ".lz4": "lz4",
    ".7z": "7-Zip",
    ".br": "brotli",
}
_PARQUET = b"PAR1"

_LARGE = 1 << 18
"""The size from which a file of text is worth a call of the engine."""

_BEGINNINGS = {
    "gzip": (b"\x1f\x8b\x08",),
    "zstd": (b"\x28\xb5\x2f\xfd", *(bytes([first]) + b"\x2a\x4d\x18" for first in range(0x50, 0x60))),
    "bzip2": tuple(b"BZh%d1AY&SY" % level for level in range(1, 10)),
    "xz": (b"\xfd7zXZ\x00",),
    "zip": (b"PK\x03\x04",),
}
"""How formats begin that hold others."""

_TAR = (b"ustar\0", b"ustar ")
"""What a tar file has from its byte 257 on."""


def named_format(name: str, asked: Format) -> str | None:
    """Return a file's format by its name, None if compressed; its content may contradict (`is_marked`)."""
    suffix = os.path.splitext(name.lower())[1]
    if suffix in _COMPRESSED or suffix in _UNREADABLE:
        return None
    return _FORMATS.get(suffix, "text") if asked == "auto" else asked


def is_marked(content: bytes) -> bool:
    """Whether content begins like a format that is not text."""
    return content.startswith(_PARQUET) or _held_in(content) is not None


def _held_in(content: bytes) -> str | None:
    """Return the format that content begins like, if it is one that holds others."""
    for form, marks in _BEGINNINGS.items():
        if content.startswith(marks):
            return form
    return "tar" if content.startswith(_TAR, 257) else None


def recognise(name: str, raw: Raw, asked: Format) -> tuple[str, str | None]:
    """Return an input's format and compression; a name that contradicts the content is refused."""
    head = raw.head()
    stem, suffix = os.path.splitext(chain_of(name)[1].lower())
    named_compression = _COMPRESSED.get(suffix)
    if named_compression is not None:
        suffix = os.path.splitext(stem)[1]
    held = _held_in(head)
    unreadable = held if held in ("bzip2", "xz", "zip", "tar") else _UNREADABLE.get(suffix)
    if unreadable is not None:
        raise ValueError(
            f"{name}: {unreadable} is not supported; unpack it, or compress it with gzip or zstd"
        )
    named = _FORMATS.get(suffix)
    if named_compression != held and (named_compression or named):
        claim = named_compression or suffix
        raise ValueError(f"{name}: its name says {claim}, but it holds {held or f'no {named_compression}'}")
    if held is not None:
        if named == "parquet" or asked == "parquet":
            raise ValueError(f"{name}: Parquet inside {held} is not supported; unpack it")
        return (named or "text" if asked == "auto" else asked), held
    is_parquet = head.startswith(_PARQUET) and raw.ends_with(_PARQUET)
    form = named if asked == "auto" else asked
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
    whole = source.is_local and not source.is_part and os.path.isfile(source.name)
    return whole and format_of(source, reading) == ("text", None)


def format_of(source: Input, reading: Reading) -> tuple[str, str | None]:
    """Return an input's format (text, jsonl, parquet, or json, which may be either) and compression."""
    raw = Raw(source)
    try:
        return recognise(source.name, raw, reading.input_format)
    finally:
        raw.close()
