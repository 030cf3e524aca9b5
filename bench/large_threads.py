"""A size → a table of how reading and counting one file of each kind divides among threads.

    python -m bench.large_threads 1GB FOLDER

FOLDER holds .txt files, of which each file is made; it is written there too, and removed after its
row. Each row has the quickest of several commands in turn, each in a process of its own, start and
saving included. A thread that counts has another beside it that reads, so one thread may keep more
than one core busy.
"""

from __future__ import annotations

import gzip
import itertools
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.large import SEPARATOR, cost, documents, write
from bench.section import machine, table
from bpetite._internal.integers import BYTES, number_with_unit

ROUNDS = 3
KINDS = {
    "text with separators": "txt",
    "text without separators": "one.txt",
    "JSON lines": "jsonl",
    "gzip": "one.gz",
    "zstd": "one.zst",
    "Parquet in row groups": "parquet",
    "Parquet, one row group": "one.parquet",
}
BLOCK = 1 << 20


def make(kind: str, size: int, folder: Path, made: Path) -> None:
    """Write a file of about this size of text."""
    import pyarrow  # In a process of its own: a process that is started later would have this one's peak.
    import pyarrow.parquet

    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.txt"))]
    form = KINDS[kind]
    written = documents(texts, size, 0)
    if not form.startswith("one"):
        write(made / f"file.{form}", written)
    elif form == "one.txt":
        with (made / "file.txt").open("w", encoding="utf-8") as file:
            file.writelines(written)
    elif form == "one.parquet":
        rows = pyarrow.table({"text": list(written)})
        pyarrow.parquet.write_table(rows, made / "file.parquet", row_group_size=len(rows))
    else:
        write(made / "lines.jsonl", written)
        packed = made / f"file.jsonl.{form[4:]}"
        with (made / "lines.jsonl").open("rb") as lines, _packing(packed, pyarrow) as file:
            while block := lines.read(BLOCK):
                file.write(block)
        (made / "lines.jsonl").unlink()


def _packing(path: Path, pyarrow: Any) -> Any:
    """Open a file that is written as one stream of gzip or zstd."""
    if path.suffix == ".gz":
        return gzip.open(path, "wb", compresslevel=1)
    return pyarrow.CompressedOutputStream(str(path), "zstd")


def row(kind: str, made: Path) -> list[str]:
    """Count the file with one thread and with two, in turn."""
    [path] = made.glob("file.*")
    reading = () if KINDS[kind] == "one.txt" else ("--separator", SEPARATOR)
    spent: dict[int, list[tuple[float, float]]] = {1: [], 2: []}
    for number, threads in itertools.product(range(ROUNDS), spent):
        output = ("--output", made / f"{number}-{threads}", "--num-threads", threads, "--quiet")
        wall, processor, *_ = cost("count", "--input", path, *output, *reading)
        spent[threads].append((wall, processor))
    cells = []
    for taken in spent.values():
        wall, processor = min(taken)
        cells += [f"{wall:.1f}", f"{processor / wall:.2f}"]
    return [kind, f"{path.stat().st_size / 1e6:,.0f}", *cells]


def rows(size: int, folder: Path) -> Iterator[list[str]]:
    """Yield a row for each kind of file."""
    for kind in KINDS:
        with tempfile.TemporaryDirectory(dir=folder) as made:
            command = [
                sys.executable,
                "-m",
                "bench.large_threads",
                str(size),
                str(folder),
                kind,
                made,
            ]
            subprocess.run(command, check=True)
            yield row(kind, Path(made))


def main(size: int, folder: Path) -> None:
    """Print the table."""
    print(f"one file of {size / 1e6:,g} MB of text on {machine()}\n")
    head = ["count", "MB", "s, 1 thread", "cores kept busy", "s, 2 threads", "cores kept busy"]
    print(table(head, list(rows(size, folder))))


if __name__ == "__main__":
    asked, texts_in, *rest = sys.argv[1:]
    if rest:
        make(rest[0], int(asked), Path(texts_in), Path(rest[1]))
    else:
        main(number_with_unit("size", asked, BYTES) or 0, Path(texts_in))
