"""Corpora and a vocabulary → the section on encoding in `docs/benchmarks.md`.

Each measurement is a process of its own (see `bench.encoders`); the median counts, and the contenders
alternate. Of each contender, the faster way of calling counts: one call for each document, or one for all.
A single thread is pinned and measured in processor time; two threads are measured on the wall. First, it is
checked which contenders give the ids of tiktoken.

    python -m bench.encode [--corpora FOLDER] [--gpt2 FOLDER] [--megabytes N] [--rounds N] [--print]

CORPORA holds .txt and .txt.xz files; by default, the source of the standard library is the corpus. GPT2 holds
vocab.json and merges.txt; by default, this vocabulary is trained on the corpora, as those of the other
patterns are. With --print, the section is printed, not written.
"""

from __future__ import annotations

import argparse
import json
import lzma
import math
import random
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from bench.encoders import ENCODERS, PRERELEASE, SEPARATOR, SHORT_LENGTHS, WAYS
from bench.section import machine, raise_priority, table, touch_memory, versions, write_section
from bpetite import Tokenizer

PEERS = ("gigatoken", "splintr-rs", "tokenizers", "tokie", "tiktoken")
PATTERNS = ("gpt2", "llama3", "o200k")
VOCAB_SIZE = 32_000
ROUNDS = 5
LATER_PASSES = 12
"""Of so many, the best counts: on shared machines, every other pass is disturbed."""
SLOW_SAMPLE = 4_000_000
"""How many characters of each corpus the slow contenders encode, and how many are checked."""
SLOW_LATER_PASSES = 4
"""How many later passes the slow contenders make."""
FIRST_CALLS = {"10 KB": 10_000, "1 MB": 1_000_000}
OURS, RIVAL = "bpetite", "gigatoken"
NAMES = tuple(name for name in ENCODERS if name != "tokenizers 1.0 rc" or PRERELEASE.exists())


@dataclass(frozen=True)
class Bench:
    """The settings of all measurements."""

    corpora: Mapping[str, Path]
    vocabularies: Mapping[str, Path]
    characters: int
    rounds: int

    def measure(self, measure: str, encoder: str, pattern: str, corpus: str, **task: Any) -> Any:
        """Return the figures of one process; none if the encoder cannot do this."""
        task = {
            "measure": measure,
            "encoder": encoder,
            "vocabulary": str(self.vocabularies[pattern]),
            "corpus": str(self.corpora[corpus]),
            "characters": self.characters,
            "threads": 1,
        } | task
        command = [sys.executable, "-m", "bench.encoders", json.dumps(task)]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        if process.returncode:
            print(f"{encoder}, {measure}: {process.stderr.strip()[-300:]}", file=sys.stderr)
            return None
        return json.loads(process.stdout)

    def sizes(self, characters: int) -> dict[str, float]:
        """The megabytes of text of each corpus that are encoded, without separators."""
        sizes = {}
        for corpus, path in self.corpora.items():
            with path.open(encoding="utf-8") as file:
                texts = file.read(characters).split(SEPARATOR)
            sizes[corpus] = sum(len(text.encode()) for text in texts) / 1e6
        return sizes


Rates = dict[str, dict[str, tuple[float, float]]]
"""By encoder and interface: the seconds of the first pass, and of the best later one."""


def rates(
    bench: Bench,
    names: Sequence[str],
    pattern: str,
    corpus: str,
    threads: int,
    characters: int,
    later: int = LATER_PASSES,
) -> Rates:
    """Time passes over a corpus with all interfaces of these encoders; medians of all rounds."""
    taken: dict[tuple[str, str], list[list[float]]] = {}
    for _ in range(bench.rounds):
        for name in names:
            for way in WAYS[name]:
                figures = bench.measure(
                    "passes",
                    name,
                    pattern,
                    corpus,
                    threads=threads,
                    interface=way,
                    later=later,
                    characters=characters,
                )
                if figures:
                    taken.setdefault((name, way), []).append(figures)
    result: Rates = {name: {} for name in names}
    for (name, way), figures in taken.items():
        first, later = (median(column) for column in zip(*figures, strict=True))
        result[name][way] = (first, later)
    return result


def best(ways: Mapping[str, tuple[float, float]]) -> tuple[float, float]:
    """Return the seconds of the fastest interface, for the first pass and for later ones."""
    firsts, laters = zip(*ways.values(), strict=True)
    return min(firsts), min(laters)


def rate_tables(bench: Bench, threads: int) -> list[str]:
    """MB/s of us and of the peer for every pattern and corpus, and their ratio."""
    rows, all_ratios = [], []
    sizes = bench.sizes(bench.characters)
    for pattern in PATTERNS:
        columns = {
            corpus: rates(bench, (OURS, RIVAL), pattern, corpus, threads, bench.characters)
            for corpus in bench.corpora
        }
        for name in (OURS, RIVAL):
            cells = [_speeds(sizes[corpus], best(column[name])) for corpus, column in columns.items()]
            rows.append([f"{pattern}: {name}", *cells])
        pairs = [
            [their / our for our, their in zip(best(column[OURS]), best(column[RIVAL]), strict=True)]
            for column in columns.values()
        ]
        rows.append(["times as fast", *(" / ".join(f"**{ratio:.2f}x**" for ratio in pair) for pair in pairs)])
        all_ratios += [ratio for pair in pairs for ratio in pair]
    mean = math.exp(sum(map(math.log, all_ratios)) / len(all_ratios))
    return [
        table([f"{threads} thread{'s' * (threads > 1)}, MB/s", *bench.corpora], rows),
        f"Of these ratios the least is {min(all_ratios):.2f} and the geometric mean {mean:.2f}.",
    ]


def _speeds(size: float, seconds: tuple[float, float]) -> str:
    return " / ".join(f"{size / second:.0f}" for second in seconds)


def all_table(bench: Bench) -> str:
    """MB/s of all contenders on the beginnings of the corpora."""
    sizes = bench.sizes(SLOW_SAMPLE)
    columns = {
        corpus: rates(bench, NAMES, PATTERNS[0], corpus, 1, SLOW_SAMPLE, SLOW_LATER_PASSES)
        for corpus in bench.corpora
    }
    rows = [
        [
            name,
            *(
                _speeds(sizes[corpus], best(column[name])) if column[name] else "–"
                for corpus, column in columns.items()
            ),
        ]
        for name in NAMES
    ]
    return table(["1 thread, MB/s", *bench.corpora], rows)


def first_call_table(bench: Bench) -> str:
    """Milliseconds of the first call of a process, after the tokenizer was loaded."""
    rows = []
    for pattern in PATTERNS:
        for label, size in FIRST_CALLS.items():
            for corpus in bench.corpora:
                cells = [f"{pattern}, {label}, {corpus}"]
                for threads in (1, 2):
                    ours, theirs = first_calls(bench, pattern, corpus, size, threads)
                    cells += [f"{ours:.2f}", f"{theirs:.2f}", f"**{theirs / ours:.2f}x**"]
                rows.append(cells)
    heads = [
        head for threads in ("pinned", "all cores") for head in (f"{OURS}, {threads}", RIVAL, "times as fast")
    ]
    return table(["first call, ms", *heads], rows)


def first_calls(bench: Bench, pattern: str, corpus: str, size: int, threads: int) -> tuple[float, float]:
    """Return the milliseconds of the first call of both, each by the faster of its interfaces for a text."""
    taken: dict[tuple[str, str], list[float]] = {}
    for _ in range(bench.rounds):
        for name in (OURS, RIVAL):
            for way in ("each", "batch"):
                task = {"bytes": size, "threads": threads, "interface": way}
                figures = bench.measure("first call", name, pattern, corpus, **task)
                taken.setdefault((name, way), []).extend(figures or [])
    best = {
        name: min(median(seconds) for (one, _), seconds in taken.items() if one == name and seconds)
        for name in (OURS, RIVAL)
    }
    return 1000 * best[OURS], 1000 * best[RIVAL]


def short_table(bench: Bench) -> str:
    """Microseconds for a short text."""
    corpus = next(iter(bench.corpora))
    rows = []
    for name in NAMES:
        taken = [bench.measure("short", name, PATTERNS[0], corpus) for _ in range(bench.rounds)]
        columns = list(zip(*(figures for figures in taken if figures), strict=True))
        if columns:
            cells = ["–" if None in column else f"{1e6 * median(column):.2f}" for column in columns]
            rows.append([name, *cells])
    heads = [f"{kind}, {length:,}" for kind in ("list", "array") for length in SHORT_LENGTHS]
    return table(["µs for a text of so many characters", *heads], rows)


def memory_table(bench: Bench) -> str:
    """The peak of one pass in MB, with its ids, through the interface for all documents."""
    rows = []
    for name in (OURS, RIVAL):
        peaks = [
            bench.measure("peak", name, PATTERNS[0], corpus, interface="batch") for corpus in bench.corpora
        ]
        rows.append([name, *("–" if peak is None else f"{peak[0] / 1e6:.0f}" for peak in peaks)])
    return table(["peak MB, first pass", *bench.corpora], rows)


def decoding_table(bench: Bench) -> str:
    """MB/s of decoding an array of ids to bytes."""
    rows = []
    sizes = bench.sizes(SLOW_SAMPLE)
    for name in (OURS, RIVAL, "tiktoken"):
        cells = []
        for corpus, size in sizes.items():
            task = {"later": SLOW_LATER_PASSES, "characters": SLOW_SAMPLE}
            taken = [
                bench.measure("decoding", name, PATTERNS[0], corpus, **task) for _ in range(bench.rounds)
            ]
            cells.append(f"{size / median(figures[0] for figures in taken if figures):.0f}")
        rows.append([name, *cells])
    return table(["decoding to bytes, MB/s", *bench.corpora], rows)


def hostile_table(bench: Bench, folder: Path) -> str:
    """Seconds of our first call with one and with eight megabytes, and of the peer's with one."""
    rows = []
    for name, text in hostile_texts(8).items():
        path = folder / "hostile.txt"
        path.write_text(text, encoding="utf-8")
        hostile = replace(bench, corpora={"hostile": path})
        cells = []
        for encoder, part in ((OURS, 8), (OURS, 1), (RIVAL, 8)):
            figures = [
                hostile.measure(
                    "first call", encoder, PATTERNS[0], "hostile", bytes=len(text) // part, interface="each"
                )
                for _ in range(3)
            ]
            cells.append(f"{median(figure[0] for figure in figures if figure):.3f}")
        rows.append([name, *cells])
    return table(["seconds", "bpetite, 1 MB", "bpetite, 8 MB", "gigatoken, 1 MB"], rows)


def hostile_texts(megabytes: int) -> dict[str, str]:
    """Texts that made other tokenizers slow."""
    rng = random.Random(1)
    size = megabytes * 1_000_000
    letters = "abcdefghijklmnopqrstuvwxyz"
    return {
        "`a`": "a" * size,
        "spaces": " " * size,
        "newlines": "\n" * size,
        "`ab`": "ab" * (size // 2),
        "random letters": "".join(rng.choices(letters, k=size)),
        "random CJK": "".join(map(chr, rng.choices(range(0x4E00, 0x9FA5), k=size // 3))),
    }


def check(bench: Bench) -> list[str]:
    """Compare all ids with tiktoken's; return which contenders differ."""
    different = []
    for pattern in PATTERNS:
        for corpus in bench.corpora:
            answers = {
                name: bench.measure("answer", name, pattern, corpus, characters=SLOW_SAMPLE // 4)
                for name in NAMES
            }
            for name, answer in answers.items():
                if answer != answers["tiktoken"]:
                    different.append(f"{name} ({pattern}, {corpus})")
                    if name == OURS:
                        raise SystemExit(f"bpetite's ids are not tiktoken's: {pattern}, {corpus}")
    return different


def write_vocabulary(tokenizer: Tokenizer, pattern: str, folder: Path) -> Path:
    """Write a vocabulary in the formats of all packages."""
    folder.mkdir()
    tokenizer.save(folder / "bpetite.json")
    tokenizer.to_tiktoken(folder / "ranks.tiktoken")
    tokenizer.to_huggingface(folder / "tokenizer.json")
    (folder / "pattern").write_text(pattern)
    (folder / "special").write_text(str(tokenizer.special_tokens[SEPARATOR]))
    return folder


def make_vocabularies(gpt2: Path | None, corpora: Mapping[str, Path], folder: Path) -> dict[str, Path]:
    """Return GPT-2's vocabulary if it is given; others are trained on the corpora."""
    vocabularies = {}
    for pattern in PATTERNS:
        if pattern == "gpt2" and gpt2 is not None:
            tokenizer = Tokenizer.from_gpt2(gpt2 / "vocab.json", gpt2 / "merges.txt")
        else:
            tokenizer = Tokenizer.train_from_files(
                list(corpora.values()),
                VOCAB_SIZE,
                dialect="tiktoken",
                pattern=pattern,
                special_tokens=[SEPARATOR],
            )
        vocabularies[pattern] = write_vocabulary(tokenizer, pattern, folder / pattern)
    return vocabularies


def unpack_corpora(source: Path | None, characters: int, folder: Path) -> dict[str, Path]:
    """Write corpora as plain files of at most so many characters, with separators between documents."""
    texts = {}
    if source is None:
        library = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
        modules = [path.read_text("utf-8", "ignore") for path in library]
        texts["standard library"] = SEPARATOR.join(modules)[:characters]
    else:
        for path in sorted([*source.glob("*.txt"), *source.glob("*.txt.xz")]):
            reader = lzma.open if path.suffix == ".xz" else open
            with reader(path, "rt", encoding="utf-8") as file:
                texts[path.name.split(".")[0]] = file.read(characters)
    corpora = {}
    for name, text in texts.items():
        corpora[name] = folder / f"{name}.txt"
        corpora[name].write_text(text, encoding="utf-8")
    return corpora


def main() -> None:
    """Check, measure, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpora", type=Path)
    parser.add_argument("--gpt2", type=Path)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--print", action="store_true", help="print the section and leave the page as it is")
    arguments = parser.parse_args()
    conditions = f"{touch_memory()}, {raise_priority()}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        characters = arguments.megabytes * 1_000_000
        corpora = unpack_corpora(arguments.corpora, characters, folder)
        vocabularies = make_vocabularies(arguments.gpt2, corpora, folder)
        bench = Bench(corpora, vocabularies, characters, arguments.rounds)
        different = check(bench)
        sizes = ", ".join(f"{corpus} {size:.0f}" for corpus, size in bench.sizes(characters).items())
        parts = [
            f"`make bench-encode CORPORA=folder GPT2=folder` on {machine()}, {conditions}; "
            f"{versions(PEERS)}. Corpora, in MB: {sizes}; cut into their documents. "
            f"Each figure is the median of {bench.rounds} processes, which take turns: their first pass / "
            f"the best of {LATER_PASSES} later ones, by the faster of all interfaces (a call for each "
            "document, or one for all). One thread, pinned: processor time; two: time on the wall. "
            f"GPT-2's own vocabulary where it is given; others of {VOCAB_SIZE:,} tokens, trained on the "
            "text. Not measured: the larger vocabularies of today's models, and fastokens.",
            *rate_tables(bench, 1),
            *rate_tables(bench, 2),
            memory_table(bench),
            "The first call of a process after the tokenizer was loaded, on the wall: one text, as a "
            "document or a batch of one, whichever is faster; pinned to one core, or as each library uses "
            "them all.",
            first_call_table(bench),
            f"All contenders, GPT-2's pattern, the first {SLOW_SAMPLE // 1_000_000} million characters; "
            f"the best of {SLOW_LATER_PASSES} later passes:",
            all_table(bench),
            "Other ids than tiktoken's: " + (", ".join(different) or "nobody's") + ".",
            decoding_table(bench),
            short_table(bench),
            hostile_table(bench, folder),
        ]
    print("\n\n".join(parts))
    if not arguments.print:
        write_section("Encoding", "\n\n".join(parts))


if __name__ == "__main__":
    main()
