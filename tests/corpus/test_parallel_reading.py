"""Several threads read what one reads: the same documents, and the same error."""

import gzip
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from bpetite import Counts, Tokenizer, corpus
from bpetite.corpus import manifest
from bpetite.corpus.shards import ShardWriter
from bpetite.reading import batches, division
from bpetite.reading import documents as reader
from bpetite.reading.batches import Batch
from bpetite.reading.division import divide
from bpetite.reading.documents import Item, read_all, read_batches
from bpetite.reading.options import Reading
from bpetite.reading.raw import hash_input
from bpetite.reading.sources import Input, find_inputs

SEPARATOR = "<|end|>"
READING = Reading(separator=SEPARATOR)
TEXTS = [f"{number}: naïve 東京 {'the cat ' * (number * 7 % 40)}" for number in range(400)]
LINES = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS).encode()
TEXT = SEPARATOR.join(TEXTS).encode()


def stretches(content: bytes, size: int) -> list[bytes]:
    return [content[start : start + size] for start in range(0, len(content), size)]


def gzip_members(content: bytes) -> bytes:
    return b"".join(gzip.compress(stretch) for stretch in stretches(content, 3000))


def zstd_frames(content: bytes) -> bytes:
    skipped = b"\x5a\x2a\x4d\x18\x03\x00\x00\x00abc"
    packed = [
        pyarrow.compress(stretch, "zstd", asbytes=True) for stretch in stretches(content, 3000)
    ]
    return skipped.join(packed)


def parquet(path: Path, texts: list[str | None]) -> None:
    table = pyarrow.table({"other": list(range(len(texts))), "text": texts})
    pyarrow.parquet.write_table(table, path, row_group_size=17)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same documents in all formats."""
    folder = tmp_path_factory.mktemp("formats")
    for name, content in (("jsonl", LINES), ("txt", TEXT)):
        (folder / f"a.{name}").write_bytes(content)
        (folder / f"b.{name}.gz").write_bytes(gzip_members(content))
        (folder / f"c.{name}.zst").write_bytes(zstd_frames(content))
        (folder / f"d.{name}.gz").write_bytes(gzip.compress(content))
    parquet(folder / "e.parquet", [*TEXTS])
    return folder


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make parts and batches of a few documents."""
    monkeypatch.setattr(division, "PART_BYTES", 4000)
    monkeypatch.setattr(batches, "BLOCK", 1500)


def documents(items: Iterator[Item]) -> list[str]:
    """Return whole documents; pieces of a document are in consecutive batches."""
    found, open_text = [], b""
    for _, made, _ in items:
        for place, text in enumerate(made.texts):
            open_text += text if isinstance(text, bytes) else text.encode()
            if place < len(made.texts) - made.goes_on:
                found.append(open_text.decode())
                open_text = b""
    return found


DIVIDED = ["a.jsonl", "a.txt", "e.parquet"]


@pytest.mark.parametrize("name", DIVIDED)
@pytest.mark.parametrize("size", [200, 4000, 1 << 20])
def test_parts_of_every_format_hold_the_documents_of_the_whole(
    folder: Path, name: str, size: int
) -> None:
    parts = list(divide(Input(str(folder / name)), READING, size))
    assert (len(parts) > 3) == (size < 1 << 20)
    apart = [(part, batch, 0) for part in parts for batch in read_batches(part, READING)]
    assert documents(iter(apart)) == TEXTS


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_read_in_order_what_one_reads(folder: Path, threads: int) -> None:
    inputs = find_inputs(str(folder))
    assert documents(read_all(inputs, READING, threads)) == TEXTS * len(inputs)
    items = list(read_all(inputs, READING, threads, hashed=True))
    ended = [ended for _, made, _ in items for ended in made.ended]
    alone = read_all(inputs, READING, 1, hashed=True)
    assert ended == [ended for _, made, _ in alone for ended in made.ended]
    assert sum(more for *_, more in items) == sum(found.size() or 0 for found in inputs)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", DIVIDED)
@pytest.mark.parametrize("in_order", [True, False])
def test_two_threads_read_one_file_at_the_same_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, in_order: bool
) -> None:
    met = threading.Barrier(2, timeout=60)
    threads: set[int] = set()

    def read_where_threads_meet(*arguments: Any) -> Iterator[Batch]:
        if threading.get_ident() not in threads:
            threads.add(threading.get_ident())
            met.wait()  # until another thread reads a part, too
        return read_batches(*arguments)

    monkeypatch.setattr(reader, "read_batches", read_where_threads_meet)
    read = documents(read_all(find_inputs(folder / name), READING, 2, in_order=in_order))
    assert sorted(read) == sorted(TEXTS)
    assert len(threads) == 2


@pytest.mark.usefixtures("small")
def test_threads_read_out_of_order_what_one_reads(folder: Path) -> None:
    inputs = find_inputs(str(folder))
    read = documents(read_all(inputs, READING, 3, in_order=False))
    assert sorted(read) == sorted(TEXTS * len(inputs))


@pytest.mark.usefixtures("small")
def test_counts_and_shards_do_not_depend_on_threads(folder: Path, tmp_path: Path) -> None:
    counted = [
        Counts.from_files(folder, separator=SEPARATOR, num_threads=threads) for threads in (1, 4)
    ]
    assert counted[0] == counted[1]
    tokenizer = Tokenizer.train_from_counts(counted[0], 400)
    for threads in (1, 4):
        options = corpus.Options(reading=READING, shard_size=3000)
        corpus.encode(
            tokenizer, folder, tmp_path / str(threads), options=options, num_threads=threads
        )
    made = [
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        for name in ("1", "4")
    ]
    assert made[0] == made[1]


def lines_with(number: int, line: bytes) -> bytes:
    lines = LINES.splitlines(keepends=True)
    lines[number] = line
    return b"".join(lines)


@pytest.mark.usefixtures("small")
def test_an_interrupt_while_threads_start_is_passed_on_and_ends_those_that_did(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[threading.Thread] = []

    start = threading.Thread.start

    def start_one(thread: threading.Thread) -> None:
        if started:
            raise KeyboardInterrupt
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_one)
    with pytest.raises(KeyboardInterrupt):
        list(read_all(find_inputs(folder), READING, 2))
    assert [thread.is_alive() for thread in started] == [False]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("work", ["count", "encode"])
def test_the_first_error_is_the_one_that_one_thread_tells(tmp_path: Path, work: str) -> None:
    (tmp_path / "in").mkdir()
    bad = {
        "b.jsonl": lines_with(313, b"{no JSON}\n"),
        "c.jsonl": lines_with(211, b'{"text": "\xff"}\n'),
        "d.txt": TEXT.replace("300: naïve".encode(), b"\xfe"),
        "e.jsonl.gz": gzip_members(lines_with(399, b'{"txt": ""}\n')),
        "f.jsonl.zst": zstd_frames(LINES)[:-100],
        "h.jsonl": b"{}",
    }
    parquet(tmp_path / "g.parquet", [*TEXTS[:123], None])
    while bad:
        for name, content in {"a.jsonl": LINES, **bad}.items():
            (tmp_path / "in" / name).write_bytes(content)
        told = [error_of(work, tmp_path, threads) for threads in (1, 2, 5, 5)]
        assert told[0].split("/in/")[1].startswith(next(iter(bad)))
        assert told == told[:1] * 4
        (tmp_path / "in" / next(iter(bad))).unlink()
        del bad[next(iter(bad))]


def error_of(work: str, folder: Path, threads: int) -> str:
    output = folder / f"ids{len(list(folder.iterdir()))}"
    tokenizer, options = Tokenizer.train("ab", 257), corpus.Options(reading=READING)
    do: Callable[[], object] = {
        "count": lambda: Counts.from_files(folder / "in", separator=SEPARATOR, num_threads=threads),
        "encode": lambda: corpus.encode(
            tokenizer, folder / "in", output, options=options, num_threads=threads
        ),
    }[work]
    with pytest.raises(ValueError) as refused:
        do()
    return str(refused.value)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("in_order", [True, False])
def test_few_batches_wait_for_whoever_takes_none(
    folder: Path, monkeypatch: pytest.MonkeyPatch, in_order: bool
) -> None:
    made = 0

    def counted(*arguments: Any) -> Iterator[Batch]:
        nonlocal made
        for batch in read_batches(*arguments):
            made += 1
            yield batch

    monkeypatch.setattr(reader, "read_batches", counted)
    items = read_all(find_inputs(str(folder)), READING, 3, in_order=in_order)
    for taken in range(1, 40):
        next(items)
        time.sleep(0.002)
        assert made <= taken + 3 + 3 + 1
    items.close()


def test_a_file_that_changes_behind_a_part_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "grows.jsonl"
    path.write_bytes(LINES)
    *_, last = divide(Input(str(path)), READING, 1000)
    with path.open("ab") as file:
        file.write(b'{"text": "new"}\n')
    with pytest.raises(ValueError, match="changed while it was read"):
        list(read_batches(last, READING))


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Small files, some with no documents or several, and some that are not small text files."""
    folder = tmp_path / "in"
    folder.mkdir()
    for number, text in enumerate(TEXTS):
        (folder / f"{number:03d}.txt").write_text(SEPARATOR.join([text] * (number % 4)))
    (folder / "100.txt").write_text("a long one " * 5000)
    (folder / "200.jsonl").write_bytes(LINES)
    for number, text in enumerate(TEXTS[:50]):
        lines = "".join(json.dumps({"text": f"{text}{line}"}) + "\n" for line in range(number % 4))
        (folder / f"25{number:02d}.jsonl").write_text(lines)
        parquet(folder / f"26{number:02d}.parquet", [text] * (1 + number % 3))
    (folder / "300").write_bytes(gzip.compress(TEXT))  # the name does not tell its format
    return folder


@pytest.mark.parametrize("separator", [None, SEPARATOR])
@pytest.mark.parametrize("shard_size", [400, 10**6])
@pytest.mark.usefixtures("small")
def test_small_files_are_read_together_as_they_would_be_apart(
    many: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    separator: str | None,
    shard_size: int,
) -> None:
    tokenizer = Tokenizer.train("".join(TEXTS), 300)
    options = corpus.Options(reading=Reading(separator=separator), shard_size=shard_size)
    for threads in (1, 3):
        corpus.encode(
            tokenizer, many, tmp_path / str(threads), options=options, num_threads=threads
        )
    together = Counts.from_files(many, separator=separator)
    monkeypatch.setattr(reader, "_SMALL", -1)
    made = corpus.encode(tokenizer, many, tmp_path / "apart", options=options, num_threads=1)
    assert contents(tmp_path / "1") == contents(tmp_path / "3") == contents(tmp_path / "apart")
    assert together == Counts.from_files(many, separator=separator)
    assert [Path(read.name) for read in made.inputs] == sorted(many.iterdir())


@pytest.mark.usefixtures("small")
def test_a_run_that_stops_among_small_files_goes_on_there(
    many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = Tokenizer.train("".join(TEXTS), 300)
    options = corpus.Options(reading=READING, shard_size=2000)
    corpus.encode(tokenizer, many, tmp_path / "whole", options=options)
    for stop in range(1, 40, 13):
        left = stop
        output = tmp_path / f"stopped{stop}"
        finish = ShardWriter.finish

        def finish_some(writer: ShardWriter, finish: Any = finish) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise OSError("the disk is gone")
            return finish(writer)

        monkeypatch.setattr(ShardWriter, "finish", finish_some)
        with pytest.raises(OSError, match="the disk is gone"):
            corpus.encode(tokenizer, many, output, options=options)
        monkeypatch.setattr(ShardWriter, "finish", finish)
        journal = output / manifest.JOURNAL
        journal.write_bytes(journal.read_bytes()[:-stop])  # as if it had been killed while it wrote
        corpus.encode(tokenizer, many, output, options=options, resume=True)
        assert contents(output) == contents(tmp_path / "whole")


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("work", ["count", "encode"])
def test_a_small_file_that_is_no_text_is_named(many: Path, work: str) -> None:
    (many / "150.txt").write_bytes(b"abc\xff")
    (many / "151.txt").write_bytes(b"\xff")
    assert [error_of(work, many.parent, threads) for threads in (1, 3)] == [
        f"{many / '150.txt'}: document 0: not valid UTF-8 at byte 3"
    ] * 2


def test_the_manifest_lists_names_that_are_no_text(many: Path, tmp_path: Path) -> None:
    (many / os.fsdecode(b"\xff.txt")).write_text("a name that is no text")
    options = corpus.Options(reading=READING)
    tokenizer = Tokenizer.train("".join(TEXTS), 300)
    made = corpus.encode(tokenizer, many, tmp_path / "ids", options=options)
    assert made == corpus.verify(tmp_path / "ids", inputs=True)
    assert made == corpus.encode(tokenizer, many, tmp_path / "ids", options=options, resume=True)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_small_files_are_read_as_they_are_and_not_as_they_were_found(many: Path) -> None:
    inputs = find_inputs(many.parent)
    names = [found.name for found in inputs]
    (many / "150.txt").write_text("the cat sat " * reader._SMALL)
    (many / "151.txt").write_text("")
    for threads in (1, 2):
        read = {source.name: 0 for source in inputs}
        for _, made, _ in read_all(inputs, READING, threads, hashed=True):
            for ended in made.ended:
                assert (ended.bytes, ended.xxh3_128) == hash_input(ended.name)
                read[ended.name] += 1
        assert read == dict.fromkeys(names, 1)
    (many / "152.txt").unlink()
    with pytest.raises(FileNotFoundError) as missing:
        list(read_all(inputs, READING, 2))
    assert missing.value.filename == str(many / "152.txt")


WITHOUT_PANDAS = """
import sys
from bpetite import Counts, Tokenizer, corpus
folder, made = sys.argv[1:]
counts = Counts.from_files(folder)
counts.save(made + "/counts")
assert Counts.load(made + "/counts") == counts
tokenizer = Tokenizer.train_from_counts(counts, 260)
assert corpus.encode(tokenizer, folder, made + "/ids") == corpus.verify(made + "/ids")
"""


def test_pandas_is_not_imported_where_it_is_installed(many: Path, tmp_path: Path) -> None:
    (tmp_path / "pandas.py").write_text("raise RuntimeError('pandas was imported')")
    (tmp_path / "made").mkdir()
    command = [sys.executable, "-c", WITHOUT_PANDAS, str(many), str(tmp_path / "made")]
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, check=True)


class WatchedInput(Input):
    """An input that is noted when it is forgotten (a tuple cannot have weak references)."""

    forgotten: list[None] | None = None

    def __del__(self) -> None:
        if self.forgotten is not None:
            self.forgotten.append(None)


@pytest.mark.parametrize("in_order", [True, False])
def test_small_files_are_forgotten_when_they_were_read(tmp_path: Path, in_order: bool) -> None:
    path = tmp_path / "a.txt"
    path.write_text("text")
    made: list[None] = []
    forgotten: list[None] = []

    def inputs() -> Iterator[Input]:
        for _ in range(20_000):
            found = WatchedInput(str(path), found_size=4)
            found.forgotten = forgotten
            made.append(None)
            yield found

    most = read = 0
    for _, bundle, size in read_all(inputs(), READING, 2, in_order=in_order):
        assert len(bundle.ended) > 30
        read += size
        most = max(most, len(made) - len(forgotten))
    assert read == 4 * 20_000
    assert most < 5000
