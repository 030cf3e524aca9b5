"""An input in, its format and compression out, by its name and its first bytes, which must agree.

Nothing is read as text because its name hides its format: the name of a URL is that of its path,
and content that begins like another format than its name says is read as that format or refused.
"""

import json
import os
import re
from collections.abc import Callable
from contextlib import closing
from functools import partial

from bpetite._internal.arguments import worded
from bpetite._internal.types import Format
from bpetite.reading.formats import (
    JSON,
    LINES,
    TEXT,
    Kind,
    kind_of_content,
    kind_of_ending,
    kind_of_form,
)
from bpetite.reading.options import Reading
from bpetite.reading.raw import Raw
from bpetite.reading.sources import Input, chain_of

_LARGE = 1 << 18
"""The size from which a file of text is worth a call of the engine."""

_LEAST, _BEGINNING = 1 << 9, 1 << 16
"""The number of bytes that tell most formats, and of those that are looked into for a line of JSON."""

_LINES = rb'(\xef\xbb\xbf)?\s*\{[ \t]*["}]'
_RECORDS = rb"(\xef\xbb\xbf)?\s*\[\s*\{"
"""How JSON lines begin, and an array of records."""


def name_in(name: str) -> str:
    """Return the file name in a path or URL, in lower case: what `?` and `#` add to a URL is none of it.

    >>> name_in("https://host/a.jsonl.gz?download=true"), name_in("zip://B.txt::s3://bucket/c.zip")
    ('/a.jsonl.gz', 'b.txt')
    """
    own = chain_of(name)[1]
    scheme, separator, path = own.partition("://")
    if not separator:
        return own.lower()
    if scheme.lower() in ("http", "https"):
        from urllib.parse import unquote, urlsplit  # slow to import

        return unquote(urlsplit(own).path).lower()
    # Elsewhere, these signs may be part of a name.
    plain = re.split("[?#]", path)[0]
    is_known = kind_of_ending(os.path.splitext(path.lower())[1]) is not None
    return (path if is_known else plain).lower()


def _kinds_named(name: str) -> tuple[Kind | None, Kind | None, str]:
    """Return the kind that a name says, the compression around it, and the ending that says the kind."""
    stem, ending = os.path.splitext(name_in(name))
    kind = kind_of_ending(ending)
    if kind is None or not kind.compresses:
        return kind, None, ending
    inner = os.path.splitext(stem)[1]
    return kind_of_ending(inner), kind, inner


def named_format(name: str, asked: Format) -> str | None:
    """Return a file's format by its name, if that alone says it; its content may contradict."""
    kind, compression, _ = _kinds_named(name)
    if compression is not None or (kind is not None and not kind.form):
        return None  # JSON, too, which must be looked into
    if asked != "auto":
        return asked
    return TEXT.form if kind is None else kind.form


def is_only_text(content: bytes, source: Input, reading: Reading) -> bool:
    """Whether the content of a file without another format in its name does not begin like another one."""
    return kind_of_content(content) is None and not _are_lines(content, source, reading)


def recognise(source: Input, raw: Raw, reading: Reading) -> tuple[str, str | None]:
    """Return an input's format and compression; a name that contradicts the content is refused.

    The format of a compressed input is only that of its name: `recognise_packed` looks at its
    content.
    """
    name = source.name
    asked = reading.input_format
    named, compression, ending = _kinds_named(name)
    held = _kind_held(raw)
    for kind in (held, named):
        if kind is not None:
            _check_supported(name, kind, asked)
    packed_in = held if held is not None and held.compresses else None
    if compression is not packed_in and (compression is not None or named is not None):
        claim = ending if compression is None else compression.title
        holds = f"no {claim}" if packed_in is None else packed_in.title
        raise ValueError(f"{name}: its name says {claim}, but it holds {holds}")
    if packed_in is not None:
        kind = _expected(named, asked)
        if not kind.is_stream:
            raise _inside(name, kind, packed_in.title)
        return kind.form, packed_in.title
    if asked == "auto" and named is None and held is not None:
        return held.form, None
    _check_content(name, _expected(named, asked), held)
    return _told_by_content(source, named, raw.head, reading), None


def recognise_packed(
    source: Input, read: Callable[[int], bytes], compression: str, reading: Reading
) -> tuple[str, Callable[[int], bytes]]:
    """Return the format of a compressed input by its unpacked content, and a function that reads that."""
    blocks: list[bytes] = []
    size = 0

    def head(least: int = 512) -> bytes:
        nonlocal size
        while size < least and (block := read(least)):
            blocks.append(block)
            size += len(block)
        return b"".join(blocks)

    kind = kind_of_content(head())
    if kind is not None:
        raise _inside(source.name, kind, compression)
    form = _told_by_content(source, _kinds_named(source.name)[0], head, reading)
    beginning = iter([head()])
    return form, lambda most: next(beginning, b"") or read(most)


def is_plain_text(source: Input, reading: Reading) -> bool:
    """Whether an input is a large local file that is itself one document of plain text."""
    if reading.separator is not None or reading.invalid != "error" or reading.hold_out is not None:
        return False
    if source.found_size is not None and source.found_size < _LARGE:
        return False
    if not source.is_local or source.is_part or not os.path.isfile(source.name):
        return False
    with closing(Raw(source)) as raw:
        return recognise(source, raw, reading) == (TEXT.form, None)


def _kind_held(raw: Raw) -> Kind | None:
    """Return the kind of the content, if it is not text."""
    kind = kind_of_content(raw.head())
    if kind is not None and kind.end:
        raw.check_seekable()
        if not raw.ends_with(kind.end):
            return None
    return kind


def _expected(named: Kind | None, asked: Format) -> Kind:
    """Return the format that is asked for, or else that of the name, which is text if it says nothing."""
    if asked != "auto":
        return kind_of_form(asked)
    return TEXT if named is None or named is JSON else named


def _check_supported(name: str, kind: Kind, asked: Format) -> None:
    """Refuse a kind that is not read; whether JSON is, its content tells."""
    is_read = kind.form or kind.compresses or kind is JSON
    if not is_read and not (kind.is_text and asked == TEXT.form):
        raise _not_supported(name, kind)


def _not_supported(name: str, kind: Kind, what: str = "") -> ValueError:
    def words(option: Callable[..., str]) -> str:
        refused = f"{name}: {what or kind.title} is not supported; {kind.advice}"
        return (
            f"{refused}, or read it as it is with {option('input_format', TEXT.form)}"
            if kind.is_text
            else refused
        )

    return ValueError(worded(words))


def _inside(name: str, kind: Kind, compression: str) -> ValueError:
    return ValueError(f"{name}: {kind.title} inside {compression} is not supported; unpack it")


def _check_content(name: str, kind: Kind, held: Kind | None) -> None:
    """Refuse a content that is not of the expected kind."""
    if held is kind:
        return
    if held is not None:
        raise ValueError(f"{name}: read as {kind.form}, but it holds {held.title}")
    if kind.end:
        mark = kind.end.decode("ascii")
        raise ValueError(f"{name}: not a complete {kind.title} file (no {mark} at both ends)")
    if kind.begin:
        raise ValueError(f"{name}: not a {kind.title} file: it does not begin like one")


def _told_by_content(
    source: Input, named: Kind | None, head: Callable[[int], bytes], reading: Reading
) -> str:
    """Return the format of what is not compressed; JSON lines are not taken for text."""
    kind = _expected(named, reading.input_format)
    if kind is not TEXT or reading.input_format != "auto":
        return kind.form
    if named is JSON:
        beginning = head(_LEAST)
        if re.match(_RECORDS, beginning):
            raise _not_supported(source.name, JSON, "a JSON array of records")
        return LINES.form if re.match(_LINES, beginning) else TEXT.form
    if not (
        head(_LEAST).lstrip().startswith(b"{") and _are_lines(head(_BEGINNING), source, reading)
    ):
        return TEXT.form
    if named is not None:
        raise ValueError(worded(partial(_lines_named_text, source.name)))
    return LINES.form


def _lines_named_text(name: str, option: Callable[..., str]) -> str:
    lines, text = option("input_format", LINES.form), option("input_format", TEXT.form)
    return f"{name}: its name says text, but it holds JSON lines; {lines} or {text} says how to read it"


def _are_lines(content: bytes, source: Input, reading: Reading) -> bool:
    """Whether content begins with a line of JSON that has the text field; of a long line, a part must do."""
    if re.match(rb"\s*\{", content) is None:
        return False
    field = source.field or reading.text_field
    line, end, _ = content.lstrip().partition(b"\n")
    if not end and len(content) >= _BEGINNING:
        key = re.escape(json.dumps(field).encode())
        return re.search(key + rb'\s*:\s*"', line) is not None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and isinstance(record.get(field), str)
