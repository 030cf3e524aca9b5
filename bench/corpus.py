"""Corpora → the section on whole corpora in `docs/benchmarks.md`.

Measures counting files through Python against the engine's own reading of them, writing shards
against encoding the same documents in memory, and the memory for both. The results are compared
first. Each measurement is a process of its own; the two sides of a comparison alternate.

    python -m bench.corpus FOLDER

FOLDER holds .txt files whose documents end in `<|endoftext|>`.
"""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow
import pyarrow.parquet

from bench.section import machine, table, write_section
from bpetite import Counts, Tokenizer, corpus
from bpetite._constants import END_OF_TEXT_TOKEN as SEPARATOR
from bpetite.reading.options import Reading

ROUNDS = 7
VOCAB_SIZE = 32_000
THREADS = (1, 2)
COPIES = (1, 5)
"""How often a corpus is encoded: from the second time on, its words are in the cache."""
MEMORY_COPIES = (1, 10)
READING = Reading(separator=SEPARATOR)


# One measurement: the work of a process
# --------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """What to measure: the work, the files, the number of threads."""

    kind: str
    path: str
    model: str
    copies: int
    threads: int

    def cost(self) -> dict[str, float]:
        """Run it in a process of its own; return processor seconds, seconds on the wall, and peak MB."""
        command = [sys.executable, "-m", "bench.corpus", "--task", json.dumps(asdict(self))]
        ran = subprocess.run(command, check=True, stdout=subprocess.PIPE)
        cost: dict[str, float] = json.loads(ran.stdout)
        return cost

    @property
    def output(self) -> Path:
        """The folder of the shards."""
        return Path(self.model).parent / "ids"


def count_file(task: Task) -> Callable[[], Counts]:
    """Count files that the engine reads."""
    return lambda: Counts.from_files(
        [task.path], dialect="tiktoken", special_tokens=[SEPARATOR], num_threads=task.threads
    )


def count_source(task: Task) -> Callable[[], Counts]:
    """Count documents that Python reads."""
    return lambda: Counts.from_files(
        [task.path],
        dialect="tiktoken",
        special_tokens=[SEPARATOR],
        separator=SEPARATOR,
        num_threads=task.threads,
    )


def encode_in_memory(task: Task) -> Callable[[], object]:
    """Encode documents that are in memory."""
    tokenizer = Tokenizer.load(task.model)
    documents = documents_of(task.path) * task.copies
    return lambda: tokenizer.encode_batch_to_numpy(
        documents, dtype="uint16", num_threads=task.threads
    )


def encode_corpus(task: Task) -> Callable[[], object]:
    """Encode files into shards."""
    tokenizer = Tokenizer.load(task.model)
    options = corpus.Options(reading=READING)
    shutil.rmtree(task.output, ignore_errors=True)
    paths = [task.path] * task.copies
    return lambda: corpus.encode(
        tokenizer, paths, task.output, options=options, num_threads=task.threads
    )


KINDS: dict[str, Callable[[Task], Callable[[], object]]] = {
    work.__name__: work for work in (count_file, count_source, encode_in_memory, encode_corpus)
}


def documents_of(path: str) -> list[str]:
    """Return the texts between separators, as from files."""
    documents = Path(path).read_bytes().decode("utf-8").split(SEPARATOR)
    return documents if documents[-1] else documents[:-1]


def measure(task: Task) -> None:
    """Do the work, and print its cost."""
    work = KINDS[task.kind](task)
    wall, processor = time.perf_counter(), time.process_time()
    kept = work()
    cost = {"processor": time.process_time() - processor, "wall": time.perf_counter() - wall}
    del kept
    status = Path("/proc/self/status").read_text(encoding="ascii")
    print(json.dumps({**cost, "peak": int(status.partition("VmHWM:")[2].split()[0]) * 1.024e-3}))


# Comparisons
# -----------------------------------------------------------------------------------------------


def medians(tasks: Sequence[Task]) -> list[dict[str, float]]:
    """Return the medians of the costs of tasks that alternate."""
    rounds = [[task.cost() for task in tasks] for _ in range(ROUNDS)]
    return [
        {name: median(cost[name] for cost in costs) for name in costs[0]}
        for costs in zip(*rounds, strict=True)
    ]


def shares(whole: Task, parts: Sequence[Task]) -> list[str]:
    """Return the speed of parts in percent of the whole: by processor time, and on the wall."""
    first, *others = medians([whole, *parts])
    return [
        f"{first['processor'] / other['processor']:.0%} ({first['wall'] / other['wall']:.0%})"
        for other in others
    ]


def check(path: str, model: str) -> None:
    """Stop if counts or ids differ."""
    task = Task("", path, model, 1, 2)
    from_file, from_source = count_file(task)(), count_source(task)()
    if list(from_file.items()) != list(from_source.items()):
        raise SystemExit(f"{path}: the counts differ")
    encode_corpus(task)()
    ids, offsets = Tokenizer.load(model).encode_batch_to_numpy(documents_of(path), dtype="uint16")
    made = [np.load(shard) for shard in sorted(task.output.glob("shard-*[0-9].npy"))]
    ends = np.load(task.output / "shard-000000.offsets")
    if not np.array_equal(np.concatenate(made), ids) or not np.array_equal(
        ends, offsets[: len(ends)]
    ):
        raise SystemExit(f"{path}: the ids differ")


def packed(path: Path, folder: Path) -> dict[str, Path]:
    """Write the documents of a file in other formats; return the paths."""
    documents = documents_of(str(path))
    lines = "".join(
        json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in documents
    ).encode()
    paths = {
        "text": path,
        "Parquet": folder / "c.parquet",
        "JSON lines": folder / "c.jsonl",
        "text, gzip": folder / "c.txt.gz",
        "text, zstd": folder / "c.txt.zst",
    }
    pyarrow.parquet.write_table(pyarrow.table({"text": documents}), paths["Parquet"])
    paths["JSON lines"].write_bytes(lines)
    paths["text, gzip"].write_bytes(gzip.compress(path.read_bytes(), 6))
    with pyarrow.CompressedOutputStream(str(paths["text, zstd"]), "zstd") as stream:
        stream.write(path.read_bytes())
    return paths


def main(folder: Path) -> None:
    """Compare everything and write the section."""
    paths = sorted(folder.glob("*.txt"))
    with tempfile.TemporaryDirectory() as made:
        models = {path: _trained(path, Path(made, path.stem)) for path in paths}
        for path in paths:
            check(str(path), models[path])
        counting = _counting(paths, models)
        encoding = _encoding(paths, models)
        memory = _memory(paths, models)
    write_section("Whole corpora", "\n\n".join([_how(), encoding, counting, memory]))


def _trained(path: Path, folder: Path) -> str:
    folder.mkdir()
    tokenizer = Tokenizer.train_from_files(
        path, VOCAB_SIZE, dialect="tiktoken", special_tokens=[SEPARATOR]
    )
    tokenizer.save(folder / "tok.json")
    return str(folder / "tok.json")


def _counting(paths: Sequence[Path], models: dict[Path, str]) -> str:
    formats = {path: packed(path, Path(models[path]).parent) for path in paths}
    rows = []
    for threads in THREADS:
        names = list(next(iter(formats.values())))[: None if threads == 1 else 1]
        columns = [
            shares(
                Task("count_file", str(path), models[path], 1, threads),
                [
                    Task("count_source", str(formats[path][name]), models[path], 1, threads)
                    for name in names
                ],
            )
            for path in paths
        ]
        cells = zip(*columns, strict=True)
        rows += [
            [f"{name}, {_threads(threads)}", *row] for name, row in zip(names, cells, strict=True)
        ]
    return table(["counting through Python, of the engine's reading", *_names(paths)], rows)


def _encoding(paths: Sequence[Path], models: dict[Path, str]) -> str:
    rows = []
    for threads in THREADS:
        for copies in COPIES:
            kinds = ("encode_in_memory", "encode_corpus")
            tasks = [
                [Task(kind, str(path), models[path], copies, threads) for kind in kinds]
                for path in paths
            ]
            title = f"{'once' if copies == 1 else f'{copies} times over'}, {_threads(threads)}"
            rows.append(
                [title, *(share for whole, *parts in tasks for share in shares(whole, parts))]
            )
    return table(["files to `.npy`, of encoding in memory", *_names(paths)], rows)


def _memory(paths: Sequence[Path], models: dict[Path, str]) -> str:
    rows = []
    for copies in MEMORY_COPIES:
        peaks = (
            Task("encode_corpus", str(path), models[path], copies, 2).cost()["peak"]
            for path in paths
        )
        title = "once" if copies == 1 else f"{copies} times over"
        rows.append([title, *(f"{peak:.0f}" for peak in peaks)])
    return table(["peak MB of files to `.npy`, 2 threads", *_names(paths)], rows)


def _names(paths: Iterable[Path]) -> list[str]:
    return [f"{path.stem}, {path.stat().st_size / 1e6:.0f} MB" for path in paths]


def _threads(number: int) -> str:
    return f"{number} thread" + "s" * (number > 1)


def _how() -> str:
    return (
        f"`make bench-corpus CORPORA=folder` on {machine()}. Vocabularies of {VOCAB_SIZE:,} tokens, "
        "trained on each corpus. Speed by processor time (in brackets: on the wall) in percent of what it is "
        f"compared with, which takes turns with it; medians of {ROUNDS} rounds, each a process of its own. "
        "The tokenizer is loaded before the clock starts; for encoding in memory, so are the documents."
    )


if __name__ == "__main__":
    if sys.argv[1] == "--task":
        measure(Task(**json.loads(sys.argv[2])))
    else:
        main(Path(sys.argv[1]))
