"""A path of texts means the same at every door: in Python and on the command line, for every format."""

import gzip
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pyarrow
import pyarrow.parquet
import pytest
import zstandard

from bpetite import Counts, Tokenizer
from bpetite._internal.types import Format
from bpetite.cli import run
from bpetite.reading import formats

TEXTS = ["the cat sat on the mat", "", "naïve 東京 東京", "the mat\nthe cat", '"quoted" text'] * 7


def lines(texts: list[str], field: str = "text") -> bytes:
    return b"".join(json.dumps({"id": 1, field: text}).encode() + b"\n" for text in texts)


def rows(texts: list[str], column: str = "text") -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({column: texts}), file)
    return file.getvalue()


def zstd(content: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(content)


joined = "\x00".join(TEXTS).encode()

Case = tuple[dict[str, bytes], list[str], dict[str, Any]]

CASES: dict[str, Case] = {
    "text": ({"c.txt": joined}, ["c.txt"], {"separator": "\x00"}),
    "text, gzip": ({"c.txt.gz": gzip.compress(joined)}, ["c.txt.gz"], {"separator": "\x00"}),
    "text, zstd": ({"c.zst": zstd(joined)}, ["c.zst"], {"separator": "\x00"}),
    "JSON lines": ({"c.jsonl": lines(TEXTS)}, ["c.jsonl"], {}),
    "JSON lines by another name": ({"c": lines(TEXTS)}, ["c"], {"input_format": "jsonl"}),
    "JSON lines, another field": (
        {"c.json": lines(TEXTS, "body")},
        ["c.json"],
        {"text_field": "body"},
    ),
    "JSON lines, told by their beginning, which comes byte by byte": (
        {"c.json.gz": b"".join(map(gzip.compress, (b"{", b'"', lines(TEXTS)[2:])))},
        ["c.json.gz"],
        {},
    ),
    "JSON lines, gzip": ({"c.jsonl.gz": gzip.compress(lines(TEXTS))}, ["c.jsonl.gz"], {}),
    "JSON lines, zstd": ({"c.jsonl.zst": zstd(lines(TEXTS))}, ["c.jsonl.zst"], {}),
    "Parquet": ({"c.parquet": rows(TEXTS)}, ["c.parquet"], {}),
    "Parquet, another column": ({"c.pq": rows(TEXTS, "body")}, ["c.pq"], {"text_column": "body"}),
    "Parquet without a name": ({"c": rows(TEXTS)}, ["c"], {}),
    "a folder": (
        {
            "d/1.jsonl": lines(TEXTS[:9]),
            "d/2.parquet": rows(TEXTS[9:20]),
            "d/e/3.jsonl.gz": gzip.compress(lines(TEXTS[20:])),
        },
        ["d"],
        {},
    ),
    "a glob": ({"1.jsonl": lines(TEXTS[:9]), "2.jsonl": lines(TEXTS[9:])}, ["*.jsonl"], {}),
    "a weight": ({"c.jsonl": lines(TEXTS)}, ["c.jsonl:2"], {}),
    "fields of their own": (
        {
            "1.jsonl": lines(TEXTS[:9], "body"),
            "2.pq": rows(TEXTS[9:20], "a b"),
            "3.jsonl": lines(TEXTS[20:]),
        },
        ["1.jsonl:text=body", "2.pq:text=a b", "3.jsonl"],
        {},
    ),
    "a field of its own and a weight": ({"c.jsonl": lines(TEXTS, "b")}, ["c.jsonl:text=b:2"], {}),
    "a URL": ({"c.jsonl": lines(TEXTS)}, ["file://{folder}/c.jsonl"], {}),
    "what is not text": (
        {"c.jsonl": lines(TEXTS) + b'{"text": "\\ud800"}\n{"text": 3}\n'},
        ["c.jsonl"],
        {"invalid": "skip"},
    ),
}


def as_options(keywords: dict[str, Any]) -> list[str]:
    return [
        part for name, value in keywords.items() for part in (f"--{name.replace('_', '-')}", value)
    ]


def by_counting(paths: list[str], keywords: dict[str, Any], folder: Path) -> Tokenizer:
    return Tokenizer.train_from_counts(Counts.from_files(paths, **keywords), 290)


def by_training(paths: list[str], keywords: dict[str, Any], folder: Path) -> Tokenizer:
    return Tokenizer.train_from_files(paths, 290, num_threads=1, **keywords)


def by_command(paths: list[str], keywords: dict[str, Any], folder: Path) -> Tokenizer:
    arguments = ["--vocab-size", "290", "--output", f"{folder}/t.json", *as_options(keywords)]
    assert run(["train", "--input", *paths, *arguments, "--quiet"]) == 0
    return Tokenizer.load(folder / "t.json")


def by_two_commands(paths: list[str], keywords: dict[str, Any], folder: Path) -> Tokenizer:
    counts = f"{folder}/counts.parquet"
    arguments = ["--output", counts, "--force", *as_options(keywords)]
    assert run(["count", "--input", *paths, *arguments, "--quiet"]) == 0
    return Tokenizer.train_from_counts(Counts.load(counts), 290)


DOORS: list[Callable[[list[str], dict[str, Any], Path], Tokenizer]] = [
    by_counting,
    by_training,
    by_command,
    by_two_commands,
]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("door", DOORS)
def test_a_path_means_the_same_at_every_door(
    name: str,
    door: Callable[[list[str], dict[str, Any], Path], Tokenizer],
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    files, paths, keywords = CASES[name]
    for path, content in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    paths = [
        path.format(folder=tmp_path) if "://" in path else str(tmp_path / path) for path in paths
    ]
    expected = Tokenizer.train_from_iterator(TEXTS, 290)
    assert len(expected.merges) > 20
    assert door(paths, keywords, tmp_path_factory.mktemp("out")) == expected


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("c.txt", gzip.compress(b"text"), "its name says .txt, but it holds gzip"),
        ("c.jsonl", b"plain text\n", "line 1: not JSON"),
        ("c.jsonl", b'{"body": "text"}\n', "no field 'text'"),
        ("c.parquet", b"plain text", "not a complete Parquet file"),
        ("c.txt", "text".encode("utf-16"), "not valid UTF-8 at byte 0"),
        ("c.csv", b"text,n\na,1\n", "CSV is not supported; .* input_format='text'"),
        ("c.tsv.gz", gzip.compress(b"text\tn\na\t1\n"), "TSV is not supported"),
        (
            "c.json",
            b'[\n {"text": "a"},\n {"text": "b"}]',
            "a JSON array of records is not supported",
        ),
        (
            "c.json.gz",
            gzip.compress(b'[{"text": "a"}]'),
            "a JSON array of records is not supported",
        ),
        ("corpus.gz", gzip.compress(rows(TEXTS)), "Parquet inside gzip is not supported"),
        ("corpus.gz", gzip.compress(gzip.compress(b"text")), "gzip inside gzip is not supported"),
        (
            "corpus.zst",
            zstd(b"c.txt" + bytes(252) + b"ustar\x0000" + bytes(2000)),
            "tar inside zstd",
        ),
        ("c.tar", b"c.txt" + bytes(252) + b"ustar\x0000" + bytes(2000), "tar is not"),
        ("corpus", b"c.txt" + bytes(252) + b"ustar  \0" + bytes(2000), "tar is not"),
        (
            "c.tar.gz",
            gzip.compress(b"c.txt" + bytes(252) + b"ustar\x0000" + bytes(2000)),
            "tar is not",
        ),
        (
            "c.tgz",
            gzip.compress(b"c.txt" + bytes(252) + b"ustar\x0000" + bytes(2000)),
            "tar is not",
        ),
    ],
    ids=range(16),
)
def test_nothing_is_trained_on_as_text_that_is_no_text(
    name: str, content: bytes, says: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    for train in (
        lambda: Counts.from_files(tmp_path / name),
        lambda: Tokenizer.train_from_files([tmp_path], 300),
    ):
        with pytest.raises(ValueError, match=says) as refused:
            train()
        assert str(tmp_path / name) in str(refused.value)


BEGINNINGS = {
    "bzip2": [b"BZh91AY&SY"],
    "xz": [b"\xfd7zXZ\x00"],
    "lz4": [b"\x04\x22\x4d\x18"],
    "zip": [b"PK\x03\x04", b"PK\x05\x06"],
    "tar": [b"c.txt" + bytes(252) + b"ustar\x0000"],
    "7-Zip": [b"7z\xbc\xaf\x27\x1c"],
    "RAR": [b"Rar!\x1a\x07\x00"],
    "Arrow or Feather": [b"ARROW1\x00\x00", b"FEA1\x00"],
    "ORC": [b"ORC\x08\x03"],
    "Avro": [b"Obj\x01"],
    "SQLite": [b"SQLite format 3\x00"],
    "HDF5": [b"\x89HDF\r\n\x1a\n"],
    "NumPy": [b"\x93NUMPY\x01"],
    "pickle": [b"\x80\x04\x95"],
    "Word": [rb"{\rtf1\ansi"],
    "Microsoft Office": [b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"],
    "PDF": [b"%PDF-1.7\n"],
    "an image": [
        b"\x89PNG\r\n\x1a\n",
        b"\xff\xd8\xff\xe0",
        b"GIF89a\x01\x00\x01\x00",
        b"RIFF\x01\x00\x00\x00WEBP",
    ],
    "sound or video": [
        b"ID3\x04",
        b"\x00\x00\x00\x18ftypmp42",
        b"RIFF\x01\x00\x00\x00WAVE",
        b"\x1a\x45\xdf\xa3",
    ],
    "a program": [b"\x7fELF\x02", b"\xca\xfe\xba\xbe", b"\x00asm\x01"],
    "weights of a model": [b"GGUF\x03\x00\x00\x00"],
    "UTF-16 or UTF-32": ["text".encode("utf-16"), "text".encode("utf-32"), b"\xfe\xff\x00t"],
}
"""How contents begin that are refused."""

REFUSED = [
    kind
    for kind in formats.KINDS
    if not kind.form and not kind.compresses and kind is not formats.JSON
]


@pytest.mark.parametrize("kind", REFUSED, ids=lambda kind: kind.title)
def test_a_kind_that_is_not_text_is_refused_by_its_content_whatever_is_asked_for(
    kind: formats.Kind, tmp_path: Path
) -> None:
    assert (kind.title in BEGINNINGS) == bool(kind.begin)
    keywords: list[dict[str, Any]] = [
        *({}, {"input_format": "text"}, {"input_format": "jsonl"}),
        *({"invalid": "replace"}, {"invalid": "skip", "separator": "\n"}),
    ]
    for beginning in BEGINNINGS.get(kind.title, []):
        for name in ("corpus", "c.txt", "c.jsonl", "c.md"):
            (tmp_path / name).write_bytes(beginning + b" more\n" * 9)
            (tmp_path / f"{name}.gz").write_bytes(gzip.compress(beginning + b" more\n" * 9))
            for how in keywords:
                with pytest.raises(ValueError, match=f"{kind.title} is not supported"):
                    Counts.from_files(tmp_path / name, **how)
                with pytest.raises(ValueError, match=f"{kind.title} inside gzip is not supported"):
                    Counts.from_files(tmp_path / f"{name}.gz", **how)


@pytest.mark.parametrize("kind", REFUSED, ids=lambda kind: kind.title)
def test_a_kind_that_is_not_text_is_refused_by_its_name(kind: formats.Kind, tmp_path: Path) -> None:
    for ending in kind.endings.split():
        for name in (f"c{ending}", f"C{ending.upper()}", f"c{ending}.gz"):
            (tmp_path / name).write_bytes(
                gzip.compress(b"a text") if name.endswith("gz") else b"a text"
            )
            with pytest.raises(ValueError, match=f"{kind.title} is not supported; ") as refused:
                Counts.from_files(tmp_path)
            assert str(tmp_path / name) in str(refused.value)
            if kind.is_text:
                counts = Counts.from_files(tmp_path / name, input_format="text")
                assert dict(counts.items()) == {b"a": 1, b" text": 1}
            (tmp_path / name).unlink()


@pytest.mark.parametrize(
    "text",
    [
        *(
            "PAR1 is how Parquet begins",
            "PK is no zip",
            "GIF89a is a format",
            "ORC\nand",
            "The ftyp box",
        ),
        *(
            "ARROW1",
            "ID3 tags",
            "BZh9",
            "GGUF",
            "II*",
            "MM*",
            "a,b\n1,2\n",
            "<html></html>",
            "\x00asleep",
            "%PDF",
        ),
        *(
            '{"n": 1}',
            "[1, 2]",
            '{"text": "no line"',
            "\ufeffa text",
            "OggS",
            "RIFF is a file",
            "7z",
        ),
    ],
)
def test_text_that_begins_almost_like_another_kind_is_text(text: str, tmp_path: Path) -> None:
    (tmp_path / "c").write_text(text, "utf-8")
    (tmp_path / "c.gz").write_bytes(gzip.compress(text.encode()))
    expected = list(Counts.from_iterator([text]).items())
    for name in ("c", "c.gz"):
        assert list(Counts.from_files(tmp_path / name).items()) == expected


def test_the_type_of_the_option_names_every_format() -> None:
    assert get_args(Format) == ("auto", *formats.FORMS)
    for form in formats.FORMS:
        reader = formats.reader_of(form)
        assert callable(reader.documents)
        assert callable(reader.parts)


NEW_FORMAT = """
import importlib.util, re, sys, types
import bpetite.reading

# What ARCHITECTURE.md asks for: a row of the table, here in place of the one that refuses CSV, ...
spec = importlib.util.find_spec("bpetite.reading.formats")
source = open(spec.origin, encoding="utf-8").read()
row = 'Kind("CSV", ".csv", form="csv", module="csv_rows"),'
source, replaced = re.subn(r'Kind\\("CSV"[^\\n]*', row, source)
assert replaced == 1
table = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = table
exec(compile(source, spec.origin, "exec"), table.__dict__)

# ... and a module.
from bpetite.reading.batches import Batch

def documents(read, raw, reading):
    content = b"".join(iter(lambda: read(1 << 16), b""))
    _, *rows = content.decode("utf-8").splitlines()
    yield Batch([row.split(",")[0] for row in rows], read=raw.size)

module = types.ModuleType("bpetite.reading.csv_rows")
module.documents = documents
module.parts = lambda source, raw, reading, size: iter(())
sys.modules[module.__name__] = module

from bpetite.cli import run
sys.exit(run(sys.argv[1:]))
"""


def test_a_new_input_format_is_one_module_and_one_row_of_a_table(tmp_path: Path) -> None:
    rows_of_csv = b"text,n\nthe cat,1\nthe mat,2\n"
    for name, content in {
        "d/a.csv": rows_of_csv,
        "d/b.csv.gz": gzip.compress(rows_of_csv),
        "by-another-name": rows_of_csv,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)

    def bpetite(*arguments: str) -> dict[str, Any]:
        command = [sys.executable, "-c", NEW_FORMAT, *arguments, "--json"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        printed: dict[str, Any] = json.loads(done.stdout)
        return printed

    Tokenizer.train_from_iterator(["the cat", "the mat"] * 2, 262).save(tmp_path / "expected.json")
    found = bpetite("train", "--input", "d", "--vocab-size", "262", "--output", "tok.json")
    assert found["actual_mergeable_vocab_size"] == 262
    assert (tmp_path / "tok.json").read_bytes() == (tmp_path / "expected.json").read_bytes()
    counted = bpetite(
        "count", "--input", "by-another-name", "--input-format", "csv", "--output", "c.counts"
    )
    assert counted["documents"] == 2
    encoded = bpetite(
        "encode-corpus", "tok.json", "--input", "d", "--output", "ids", "--num-threads", "2"
    )
    assert encoded["documents"] == 4
