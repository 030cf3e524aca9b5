"""Every kind of file in one table: the ends of its names, how its content begins, and what reads it.

A new input format is a row here and the module that the row names. The module has two functions:

    documents(read, raw, reading)      yields the documents in batches; `read(size)` returns the next bytes of
                                       the unpacked content, and `raw` is the file, for what must seek in it
    parts(source, raw, reading, size)  yields parts of the file that threads can read independently, each of
                                       about that size; none where the file cannot be divided

A kind without a module is refused, by its name and by how its content begins. What is text but not
the text of documents (a table in CSV) is read as text where that is asked for. A beginning is one
that no text has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

if TYPE_CHECKING:
    from bpetite.reading.batches import Batch
    from bpetite.reading.options import Reading
    from bpetite.reading.raw import Raw
    from bpetite.reading.sources import Input


class Kind(NamedTuple):
    """A kind of files."""

    title: str
    """Its name in messages."""

    endings: str
    """How names end, with spaces between them."""

    begin: bytes = b""
    """A regular expression for the beginning of the content, if that tells the kind."""

    end: bytes = b""
    """The last bytes, if the beginning alone does not tell it."""

    form: str = ""
    """The name of a format that is read, as `input_format` has it."""

    module: str = ""
    """The module of this folder that reads it."""

    is_stream: bool = True
    """Whether it is read from the first byte to the last, and so may be compressed."""

    compresses: bool = False
    """Whether it is a compression of a file of another kind."""

    is_text: bool = False
    """Whether a kind that is refused is read as text if `input_format` asks for that."""

    advice: str = ""
    """What to do with a kind that is refused."""


_UNPACK = "unpack it, or compress it with gzip or zstd"
_CONVERT = "make Parquet or JSON lines of it"
_EXTRACT = "extract its text first"

TEXT = Kind("text", ".txt", form="text", module="text")

LINES = Kind("JSON lines", ".jsonl .ndjson", form="jsonl", module="json_lines")

JSON = Kind("JSON", ".json", advice=f"{_CONVERT} (jq -c '.[]' writes lines)", is_text=True)
"""JSON lines by another name, an array of records, which is refused, or else a text: its content tells."""

KINDS = (
    TEXT,
    LINES,
    JSON,
    Kind(
        "Parquet",
        ".parquet .pq",
        rb"PAR1[\x00-\x1f]",
        b"PAR1",
        "parquet",
        "parquet",
        is_stream=False,
    ),
    Kind("gzip", ".gz .gzip", rb"\x1f\x8b\x08", compresses=True),
    Kind("zstd", ".zst .zstd", rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18", compresses=True),
    Kind("bzip2", ".bz2", rb"BZh[1-9]1AY&SY", advice=_UNPACK),
    Kind("xz", ".xz", rb"\xfd7zXZ\x00", advice=_UNPACK),
    Kind("lz4", ".lz4", rb"\x04\x22\x4d\x18", advice=_UNPACK),
    Kind("brotli", ".br", advice=_UNPACK),
    Kind("zip", ".zip", rb"PK(\x03\x04|\x05\x06)", advice=_UNPACK),
    Kind("tar", ".tar .tgz .tbz2 .txz", rb".{257}ustar[\x00 ]", advice=_UNPACK),
    Kind("7-Zip", ".7z", rb"7z\xbc\xaf\x27\x1c", advice=_UNPACK),
    Kind("RAR", ".rar", rb"Rar!\x1a\x07", advice=_UNPACK),
    Kind("CSV", ".csv", is_text=True, advice=_CONVERT),
    Kind("TSV", ".tsv", is_text=True, advice=_CONVERT),
    Kind("Excel", ".xlsx .xlsm .xlsb .ods", advice=_CONVERT),
    Kind(
        "Arrow or Feather", ".arrow .feather .ipc", rb"ARROW1\x00|FEA1[\x00-\x08]", advice=_CONVERT
    ),
    Kind("ORC", ".orc", rb"ORC[\x00-\x08]", advice=_CONVERT),
    Kind("Avro", ".avro", rb"Obj\x01", advice=_CONVERT),
    Kind("SQLite", ".sqlite .sqlite3", rb"SQLite format 3\x00", advice=_CONVERT),
    Kind("HDF5", ".h5 .hdf5", rb"\x89HDF\r\n\x1a\n", advice=_CONVERT),
    Kind("NumPy", ".npy .npz", rb"\x93NUMPY", advice=_CONVERT),
    Kind("pickle", ".pkl .pickle", rb"\x80[\x02-\x05][\x00-\xff]", advice=_CONVERT),
    Kind("Word", ".docx .doc .odt .rtf", rb"\{\\rtf1", advice=_EXTRACT),
    Kind("PowerPoint", ".pptx .ppt .odp", advice=_EXTRACT),
    Kind("Microsoft Office", ".xls", rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", advice=_EXTRACT),
    Kind("EPUB", ".epub", advice=_EXTRACT),
    Kind("PDF", ".pdf", rb"%PDF-\d", advice=_EXTRACT),
    Kind(
        "an image",
        ".png .jpg .jpeg .gif .webp .tif .tiff .bmp",
        rb"\x89PNG\r\n\x1a\n|\xff\xd8\xff|GIF8[79]a.[\x00-\x1f].[\x00-\x1f]|RIFF.{4}WEBP|II\*\x00|MM\x00\*",
        advice="it has no text",
    ),
    Kind(
        "sound or video",
        ".mp3 .mp4 .wav .flac .ogg .webm .mkv",
        rb"ID3[\x02-\x04]|\x00\x00..ftyp|RIFF.{4}(WAVE|AVI )|fLaC\x00|OggS\x00|\x1a\x45\xdf\xa3",
        advice="it has no text",
    ),
    Kind(
        "a program",
        ".exe .dll .so .dylib .o .class .wasm",
        rb"\x7fELF|\xca\xfe\xba\xbe|\x00asm",
        advice="it has no text",
    ),
    Kind(
        "weights of a model",
        ".safetensors .gguf .pt .pth",
        rb"GGUF[\x01-\x09]\x00",
        advice="it has no text",
    ),
    Kind(
        "UTF-16 or UTF-32",
        "",
        rb"\xff\xfe|\xfe\xff|\x00\x00\xfe\xff",
        advice="convert it to UTF-8, with iconv for example (it is not valid UTF-8 at byte 0)",
    ),
)
"""All kinds. A file whose name and content tell nothing is text."""

FORMS = tuple(kind.form for kind in KINDS if kind.form)
"""What `input_format` may ask for, besides `auto`."""

_BY_ENDING = {ending: kind for kind in KINDS for ending in kind.endings.split()}
_BY_FORM = {kind.form: kind for kind in KINDS if kind.form}
_BEGINNINGS = b"|".join(
    b"(?P<kind%d>%b)" % (place, kind.begin) for place, kind in enumerate(KINDS) if kind.begin
)


def kind_of_ending(ending: str) -> Kind | None:
    """Return the kind of a file by the end of its name.

    >>> kind_of_ending(".pq").title, kind_of_ending(".md")
    ('Parquet', None)
    """
    return _BY_ENDING.get(ending)


def kind_of_form(form: str) -> Kind:
    """Return the kind that `input_format` asks for."""
    return _BY_FORM[form]


def kind_of_content(beginning: bytes) -> Kind | None:
    """Return the kind of a content by its first bytes; what is text has none.

    >>> kind_of_content(b"%PDF-1.7").title, kind_of_content(b"text")
    ('PDF', None)
    """
    match = re.match(_BEGINNINGS, beginning, re.DOTALL)
    return None if match is None or match.lastgroup is None else KINDS[int(match.lastgroup[4:])]


class Reader(Protocol):
    """The module of a format."""

    def documents(
        self, read: Callable[[int], bytes], raw: Raw, reading: Reading
    ) -> Iterator[Batch]:
        """Yield the documents of a file."""

    def parts(self, source: Input, raw: Raw, reading: Reading, size: int) -> Iterator[Input]:
        """Yield parts of about that size."""


def reader_of(form: str) -> Reader:
    """Return the module that reads a format."""
    return cast(Reader, import_module(f"bpetite.reading.{_BY_FORM[form].module}"))
