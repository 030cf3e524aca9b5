"""A size → a corpus of that size in every format, and a table of what each step over it costs.

    python -m bench.large 10GB FOLDER

FOLDER holds .txt files; the corpus is written there too, and removed at the end.

The texts are repeated with new words in between, so that the number of distinct pretokens keeps
growing as in real text. Each step is a command in a process of its own: counting each format,
counting all of them with a memory limit, adding up counts, training, encoding, verifying, and
counting small files.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

from bench.section import machine, table
from bpetite._internal.integers import BYTES, number_with_unit

FORMATS = ("txt", "jsonl", "jsonl.gz", "jsonl.zst", "parquet")
SEPARATOR = "<|endoftext|>"
DOCUMENT = 4000
"""The number of characters of a document."""

WRITTEN = 2000
"""The number of documents of a member, a frame, or a row group."""

SMALL_FILES = 20_000
"""The number of small files for each GB; each is one document."""


def documents(texts: list[str], size: int, seed: int) -> Iterator[str]:
    """Yield documents of this total size: the texts, with a new word every few hundred bytes."""
    draw = random.Random(seed)
    written = 0
    places = cycle((text, start) for text in texts for start in range(0, len(text), DOCUMENT))
    while written < size:
        text, start = next(places)
        words = text[start : start + DOCUMENT].split(" ")
        for place in range(0, len(words), 50):
            words[place] += f"{draw.getrandbits(40):x}".translate(_LETTERS)
        document = " ".join(words)
        written += len(document.encode())
        yield document


_LETTERS = str.maketrans("0123456789", "ghijklmnop")


def write(path: Path, made: Iterator[str]) -> None:
    """Write documents in the format of this name, divided as by tools that write in parallel."""
    import pyarrow  # In a process of its own: a process that is started later would have this one's peak.
    import pyarrow.parquet

    with path.open("wb") as file:
        writer = None
        while batch := [document for document, _ in zip(made, range(WRITTEN), strict=False)]:
            lines = "".join(json.dumps({"text": document}) + "\n" for document in batch).encode()
            if path.suffix == ".parquet":
                rows = pyarrow.table({"text": batch})
                writer = writer or pyarrow.parquet.ParquetWriter(file, rows.schema)
                writer.write_table(rows)
            elif path.suffix == ".txt":
                file.write((SEPARATOR.join(batch) + SEPARATOR).encode())
            elif path.suffix == ".gz":
                file.write(gzip.compress(lines, 6))
            else:
                file.write(
                    pyarrow.compress(lines, "zstd", asbytes=True)
                    if path.suffix == ".zst"
                    else lines
                )
        if writer is not None:
            writer.close()


def cost(
    *arguments: object, python: str = sys.executable, module: str = "bpetite"
) -> tuple[float, float, float, dict[str, Any]]:
    """Run a command; return seconds on the wall and of the processor, the peak in MB, and its output."""
    command = [python, "-m", module, *map(str, arguments)]
    started = time.perf_counter()
    with tempfile.TemporaryFile() as printed:
        process = subprocess.Popen(command, stdout=printed)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if status:
            raise SystemExit(f"failed: {' '.join(command)}")
        printed.seek(0)
        told = json.loads(printed.read() or b"{}")
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1.024e-3, told


def make(size: int, folder: Path, made: Path) -> None:
    """Write the corpus, and the small files."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.txt"))]
    (made / "data").mkdir()
    for seed, form in enumerate(FORMATS):
        write(made / "data" / f"part.{form}", documents(texts, size // len(FORMATS), seed))
    for name, document in enumerate(documents(texts, small_files(size) * DOCUMENT, len(FORMATS))):
        path = made / "small" / f"{name // 1000:05d}" / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(document[:1000], encoding="utf-8")


def small_files(size: int) -> int:
    """Return the approximate number of small files."""
    return max(1, SMALL_FILES * size // 10**9)


def rows(size: int, made: Path) -> Iterator[list[str]]:
    """Do every step over the corpus, and yield a row for each."""
    data, model, counts = made / "data", made / "tok.json", []
    reading = ("--separator", SEPARATOR, "--quiet")
    for form in FORMATS:
        counts.append(made / f"{form}.counts")
        spent = cost("count", "--input", data / f"part.{form}", "--output", counts[-1], *reading)
        yield _row(f"count {form}", size / len(FORMATS), spent)
    limited = ("--memory-limit", "150MB", "--output", made / "limited")
    yield _row(
        "count all, `--memory-limit 150MB`",
        size,
        cost("count", "--input", data, *limited, *reading),
    )
    yield _row(
        "merge-counts", size, cost("merge-counts", "--counts", *counts, "--output", made / "all")
    )
    if (made / "all").read_bytes() != (made / "limited").read_bytes():
        raise SystemExit("counts that were added up differ from those that were counted at once")
    trained = ("--vocab-size", 128_000, "--output", model, "--quiet")
    yield _row("train 128,000", size, cost("train", "--counts", made / "all", *trained))
    encoding = ("encode-corpus", "--model", model, "--append-special", SEPARATOR, *reading)
    yield _row("encode-corpus", size, cost(*encoding, "--input", data, "--output", made / "ids"))
    tight = ("--memory-limit", "400MB", "--input", data, "--output", made / "tight")
    yield _row("encode-corpus, `--memory-limit 400MB`", size, cost(*encoding, *tight))
    yield _row("verify", size, cost("verify", made / "ids", "--quiet"))
    small = ("--input", made / "small")
    number = sum(len(files) for *_, files in os.walk(made / "small"))
    yield _row_of_files("count", number, cost("count", *small, "--output", made / "s", *reading))
    yield _row_of_files("encode-corpus", number, cost(*encoding, *small, "--output", made / "t"))


def _row_of_files(
    what: str, number: int, spent: tuple[float, float, float, dict[str, Any]]
) -> list[str]:
    wall, processor, peak, _ = spent
    each = f"{processor / number * 1e3:.3f} ms a file"
    return [f"{what}, {number:,} small files", f"{wall:.1f}", each, f"{peak:.0f}", ""]


def _row(what: str, size: float, spent: tuple[float, float, float, dict[str, Any]]) -> list[str]:
    wall, processor, peak, told = spent
    distinct = f"{told['distinct_pretokens']:,}" if "distinct_pretokens" in told else ""
    return [what, f"{wall:.1f}", f"{processor / size * 1e9:.1f} s/GB", f"{peak:.0f}", distinct]


def main(size: int, folder: Path) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory(dir=folder) as made:
        command = [sys.executable, "-m", "bench.large", str(size), str(folder), made]
        subprocess.run(command, check=True)
        head = ["step", "seconds", "processor time", "peak MB", "distinct pretokens"]
        print(f"{size / 1e9:g} GB on {machine()}\n")
        print(table(head, list(rows(size, Path(made)))))


if __name__ == "__main__":
    asked, texts_in, *made_in = sys.argv[1:]
    if made_in:
        make(int(asked), Path(texts_in), Path(made_in[0]))
    else:
        main(number_with_unit("size", asked, BYTES), Path(texts_in))
