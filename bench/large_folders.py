"""A number of files → a table of what each small file costs to count and to encode.

    python -m bench.large_folders 20000 FOLDER

FOLDER holds .txt files, of which small ones are made: the given number, and ten times as many
names, each a link to one of them, so that only the number of names grows and ten million fit any
disk. All are removed at the end. The cost of a file is the difference between the two commands
divided by the difference in files, so the cost of starting does not count. The table shows the
peaks of both.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from bench.large import cost, documents
from bench.section import machine, table

FORMS = ("txt", "jsonl")
SIZE = 200
"""The number of characters of a file; its bytes cost something, too."""

TIMES = 10
"""How many times as many files the second command reads."""


def make(number: int, folder: Path, made: Path) -> None:
    """Write the files, a thousand to a folder; the first ones are kept apart from the others."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.txt"))]
    for form in FORMS:
        made_of = [document[:SIZE] for document in islice(documents(texts, sys.maxsize, 0), number)]
        for place in range(TIMES * number):
            path = _path(made, form, place, number)
            path.parent.mkdir(parents=True, exist_ok=True)
            if place >= number:
                os.link(_path(made, form, place % number, number), path)
                continue
            document = made_of[place]
            content = document if form == "txt" else json.dumps({"text": document}) + "\n"
            path.write_text(content, encoding="utf-8")


def _path(made: Path, form: str, place: int, number: int) -> Path:
    part = "first" if place < number else "others"
    return made / form / part / f"{place // 1000:05d}" / f"{place:08d}.{form}"


def rows(number: int, made: Path) -> Iterator[list[str]]:
    """Count and encode both numbers of files, and yield the cost of a file."""
    model = made / "tok.json"
    first = made / "txt" / "first" / "00000"
    cost("train", "--input", first, "--vocab-size", 1000, "--output", model, "--quiet")
    for form in FORMS:
        for what in ("count", "encode-corpus"):
            spent = []
            for name, inputs in (("first", [made / form / "first"]), ("all", [made / form])):
                command = [
                    "--input",
                    *inputs,
                    "--quiet",
                    "--output",
                    made / f"{form}-{what}-{name}",
                ]
                chosen = (
                    ["--model", model]
                    if what == "encode-corpus"
                    else ["--separator", "<|endoftext|>"]
                )
                spent.append(cost(what, *command, *chosen))
            (wall, processor, peak, _), (wall_of_all, processor_of_all, peak_of_all, _) = spent
            more = (TIMES - 1) * number
            yield [
                f"{what} {form}",
                f"{(wall_of_all - wall) / more * 1e3:.3f}",
                f"{(processor_of_all - processor) / more * 1e3:.3f}",
                f"{peak:.0f}",
                f"{peak_of_all:.0f}",
            ]


def main(number: int, folder: Path) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory(dir=folder) as made:
        command = [sys.executable, "-m", "bench.large_folders", str(number), str(folder), made]
        subprocess.run(command, check=True)
        print(f"{number:,} and {TIMES * number:,} files on {machine()}\n")
        head = [
            "step",
            "ms a file",
            "processor ms a file",
            "peak MB",
            f"peak MB with {TIMES} times as many",
        ]
        print(table(head, list(rows(number, Path(made)))))


if __name__ == "__main__":
    asked, texts_in, *made_in = sys.argv[1:]
    if made_in:
        make(int(asked), Path(texts_in), Path(made_in[0]))
    else:
        main(int(asked), Path(texts_in))
