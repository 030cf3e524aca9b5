"""A size → a table of what one document of that size costs in every format.

    python -m bench.large_documents 500MB FOLDER

FOLDER holds .txt files, of which the document is made; it is written there too, and removed at the
end. Each row is a command in a process of its own, which counts or encodes that document and,
before it, a short one.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

from bench.large import cost
from bench.section import machine, table
from bpetite._internal.integers import BYTES, number_with_unit

BLOCK = 1 << 18
NAMES = ("text.txt", "line.jsonl")


def blocks(size: int, folder: Path) -> Iterator[str]:
    """Yield the pieces of a document of about this size."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.txt"))]
    places = cycle((text, start) for text in texts for start in range(0, len(text), BLOCK))
    made = 0
    while made < size:
        text, start = next(places)
        block = text[start : start + BLOCK]
        made += len(block.encode())
        yield block


def make(size: int, folder: Path, made: Path) -> None:
    """Write the document in every format."""
    with (made / NAMES[0]).open("w", encoding="utf-8") as text, (made / NAMES[1]).open("w") as line:
        line.write('{"id": 1, "text": "')
        for block in blocks(size, folder):
            text.write(block)
            line.write(json.dumps(block)[1:-1])
        line.write('"}\n')


def rows(made: Path) -> Iterator[list[str]]:
    """Count and encode each file, and yield a row of the cost."""
    model = made / "tok.json"
    small = made / "small.jsonl"
    small.write_text('{"text": "the cat sat on the mat"}\n')
    cost("train", "--input", small, "--vocab-size", 270, "--output", model, "--quiet")
    for path in (small, *(made / name for name in NAMES)):
        counting = ("count", "--input", path, "--output", made / f"{path.name}.counts", "--quiet")
        encoding = (
            "encode-corpus",
            "--model",
            model,
            "--input",
            path,
            "--output",
            made / f"{path.name}.ids",
            "--quiet",
        )
        for command in (counting, encoding):
            wall, processor, peak, _ = cost(*command)
            yield [f"{command[0]} {path.name}", f"{wall:.1f}", f"{processor:.1f}", f"{peak:.0f}"]


def main(size: int, folder: Path) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory(dir=folder) as made:
        # In a process of its own: one that is started later would have this one's peak.
        command = [sys.executable, "-m", "bench.large_documents", str(size), str(folder), made]
        subprocess.run(command, check=True)
        print(f"a document of {size / 1e6:g} MB on {machine()}\n")
        print(table(["step", "seconds", "processor seconds", "peak MB"], list(rows(Path(made)))))


if __name__ == "__main__":
    asked, texts_in, *made_in = sys.argv[1:]
    if made_in:
        make(int(asked), Path(texts_in), Path(made_in[0]))
    else:
        main(number_with_unit("size", asked, BYTES) or 0, Path(texts_in))
