"""Sizes that files claim: every number in every binary format, set to its extremes and their neighbours.

Each file is read in bounded memory and time, with a result or an error: `--read KIND` is a process
that reads the files of one kind, and stops if one of them takes too much.
"""

import contextlib
import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import cast

import pyarrow
import pyarrow.parquet
import pytest
import zstandard

import thrift_trees as thrift
from bpetite import Counts, Tokenizer, corpus
from bpetite.corpus.manifest import _dumped
from bpetite.corpus.shards import ShardFormat, names_of, read_ids, read_offsets
from bpetite.reading.documents import read_batches
from bpetite.reading.options import Reading
from bpetite.reading.sources import Input

TEXTS = ["the cat sat on the mat", "", "naïve 東京", "the cat", "a" * 300] * 3

MEMORY = 160
"""How many more megabytes a file may take than the files before it: zstd may ask for a window of 128."""

SECONDS = 500
"""The maximum time for all files of a kind; they take a few seconds."""


def extremes(value: int, bits: int) -> list[int]:
    """The values that a number is set to; `bits` is negative if it has a sign."""
    largest = (1 << abs(bits) - (bits < 0)) - 1
    smallest = -largest - 1 if bits < 0 else 0
    wanted = {
        0,
        1,
        value - 1,
        value + 1,
        largest,
        largest - 1,
        smallest,
        2**31 - 1,
        1_500_000_000,
        -1,
    }
    return sorted(number for number in wanted if smallest <= number <= largest and number != value)


def write_anew(path: Path, content: bytes) -> None:
    """Write a new file: if an old one is changed, some file systems write it to the disk at once."""
    path.unlink(missing_ok=True)
    path.write_bytes(content)


def with_each_number(content: bytes, start: int = 0, end: int | None = None) -> Iterator[bytes]:
    """Take all 1, 2, 4 and 8 bytes in a row as a number, and set it to its extremes."""
    for width in (1, 2, 4, 8):
        for place in range(start, (len(content) if end is None else end) - width + 1):
            value = int.from_bytes(content[place : place + width], "little")
            for number in extremes(value, 8 * width):
                yield content[:place] + number.to_bytes(width, "little") + content[place + width :]


# The formats
# -------------------------------------------------------------------------------------------


def with_each_parquet_number(content: bytes) -> Iterator[bytes]:
    """Set each number in the metadata and before the pages, alone and where both claim the same size."""
    size = int.from_bytes(content[-8:-4], "little")
    tree = thrift.Reader(content[-8 - size : -8]).tree()
    pages = content[: -8 - size]
    for value, change in thrift.integers(tree):
        for number in extremes(value, -64):
            yield _parquet_of(pages, change(number))
    place = 4
    headers = []
    while place < len(pages):
        reader = thrift.Reader(pages[place:])
        try:
            header = reader.tree()
        except IndexError:
            break
        if not header or header[0][:2] != (1, 5):
            break
        headers.append((place, reader.place, header))
        place += reader.place + next(value for number, _, value in header if number == 3)
    assert headers
    for place, length, header in headers:
        for value, change in thrift.integers(header):
            for number in extremes(value, -32):
                written = thrift.written(change(number))
                moved = pages[:place] + written + pages[place + length :]
                yield _parquet_of(moved, _claiming(tree, number))
                yield _parquet_of(moved, tree)


def _claiming(tree: thrift.Tree, number: int) -> thrift.Tree:
    """Let the column claim these sizes, uncompressed and compressed, too."""
    claimed = [change for value, change in thrift.integers(tree)]
    values = [value for value, _ in thrift.integers(tree)]
    total = max(value for value in values if value < 2**31)
    for place in [place for place, value in enumerate(values) if value == total]:
        return claimed[place](max(number, 0))
    return tree


def _parquet_of(pages: bytes, tree: thrift.Tree) -> bytes:
    metadata = thrift.written(tree)
    return pages + metadata + len(metadata).to_bytes(4, "little") + b"PAR1"


def with_each_parquet_number_of(**options: object) -> Iterator[bytes]:
    """Set each number in a file of texts."""
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"text": TEXTS}), file, **options)
    return with_each_parquet_number(file.getvalue())


def counts_file() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        Counts.from_iterator(TEXTS).save(Path(folder, "c.counts"))
        return Path(folder, "c.counts").read_bytes()


def texts_in(path: Path) -> None:
    for batch in read_batches(Input(str(path)), Reading(invalid="skip")):
        for text in batch.texts:
            assert len(text) < 1 << 20


FILES: dict[str, tuple[str, Callable[[], Iterator[bytes]], Callable[[Path], object]]] = {
    "gzip": (
        "c.txt.gz",
        lambda: with_each_number(gzip.compress("".join(TEXTS).encode())),
        texts_in,
    ),
    "zstd": (
        "c.txt.zst",
        lambda: with_each_number(zstandard.ZstdCompressor().compress("".join(TEXTS).encode())),
        texts_in,
    ),
    "counts": ("c.counts", lambda: with_each_number(counts_file()), Counts.load),
}
FILES |= {
    f"Parquet, {codec}{', dictionary' * dictionary}": (
        "c.parquet",
        partial(with_each_parquet_number_of, compression=codec, use_dictionary=dictionary),
        texts_in,
    )
    for codec in ("none", "snappy", "gzip", "zstd", "brotli", "lz4")
    for dictionary in (True, False)
}


def peak() -> int:
    """The largest memory of this process so far, in megabytes."""
    status = Path("/proc/self/status").read_text("ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) >> 10


def read_all(kind: str, folder: Path) -> None:
    """Read all files of a kind; stop if one takes too much memory."""
    name, contents, read = FILES[kind]
    path = folder / name
    outcomes = {"answer": 0, "error": 0}
    before = 0
    for number, content in enumerate(contents()):
        write_anew(path, content)
        try:
            read(path)
            outcomes["answer"] += 1
        except ValueError as error:
            if str(path) not in str(error):
                raise
            outcomes["error"] += 1
        before = before or peak()
        if peak() - before > MEMORY:
            raise MemoryError(f"file {number} took {peak() - before} MB")
    print(json.dumps(outcomes))


@pytest.mark.skipif(
    not os.path.exists("/proc/self/status"), reason="peaks of memory are read there"
)
@pytest.mark.parametrize("kind", FILES)
def test_what_a_file_claims_takes_neither_memory_nor_time(kind: str, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, __file__, kind, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},  # where the helpers are
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    outcomes = json.loads(ran.stdout)
    assert outcomes["error"] > 20


# Shards
# ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["npy", "bin", "megatron"])
def shards(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("shards") / request.param
    tokenizer = Tokenizer.train("the cat sat on the mat", 260)
    options = corpus.Options(format=request.param)
    corpus.encode(tokenizer, corpus.Documents(TEXTS[:3]), folder, options=options)
    return folder


def test_what_the_files_of_a_shard_claim_is_held_to_their_size(shards: Path) -> None:
    shard_format = cast(ShardFormat, shards.name)
    ids_name, documents_name = names_of(0, shard_format)
    ids = read_ids(shards / ids_name, shard_format, "uint16").tolist()
    for name, read in ((ids_name, read_ids), (documents_name, read_offsets)):
        path = shards / name
        whole = path.read_bytes()
        for content in with_each_number(whole, 0, 160):
            write_anew(path, content)
            with contextlib.suppress(ValueError):
                found = read(path, shard_format, "uint16")
                assert len(found) * 2 <= len(content)
        path.write_bytes(whole)
    assert read_ids(shards / ids_name, shard_format, "uint16").tolist() == ids


def test_a_manifest_with_any_number_is_refused_by_name_or_read(shards: Path) -> None:
    path = shards / "manifest.json"
    whole = path.read_bytes()
    text = whole.decode()
    refused = 0
    for found in re.finditer(r"(?<=: )[0-9]+(?=[,\n])", text):
        for number in extremes(int(found[0]), 64):
            content = json.loads(text[: found.start()] + str(number) + text[found.end() :])
            del content["sha256"]
            content["sha256"] = hashlib.sha256(_dumped(content)).hexdigest()
            write_anew(path, _dumped(content))
            try:
                corpus.verify(shards)
            except ValueError as error:
                if str(shards) not in str(error):
                    raise
                refused += 1
    assert refused > 50
    path.write_bytes(whole)
    corpus.verify(shards)


if __name__ == "__main__":
    read_all(sys.argv[1], Path(sys.argv[2]))
