"""Models and corpora → the section on encoding in `docs/benchmarks.md`, and `docs/benchmarks.json`.

    python -m bench.encode [--models FOLDER] [--corpora FOLDER] [--only NAME ...] [--threads N ...]
                           [--megabytes N] [--rounds N] [--large] [--print]

Each measurement is a process of its own (see `bench.encoders`); libraries take turns, and medians count. A
single thread is pinned and measured in processor time; several are measured on the wall. A library whose ids
are not those of the model's own library is named, and its figures are not shown.

MODELS holds tokenizer files, in folders of any depth, perhaps packed by xz. Beside these models, vocabularies
are timed that are trained here, on the corpora. CORPORA holds .txt and .txt.xz files; by default, the source
of the standard library is the corpus. With --large, corpora of 500 MB and more are timed as a whole, too.
Figures without those of a single thread get a section of their own.
"""

from __future__ import annotations

import argparse
import json
import lzma
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from bench.encoders import LIBRARIES, PROMPTS, SAMPLE, SEPARATOR, WAYS
from bench.section import PROJECT, machine, raise_priority, table, touch_memory, versions, write_section
from bpetite import Tokenizer
from bpetite.patterns import pattern_name

OURS = "bpetite"
SLOW = ("splintr", "tiktoken", "tokenizers")
"""These are timed once, with the sample that is compared."""
FAST = tuple(name for name in LIBRARIES if name not in SLOW)
NEEDED = {"tiktoken": "ranks.tiktoken"}
"""The file that a library reads, if it is not `tokenizer.json`."""
PACKAGES = ("gigatoken", "fastokens", "snaptokens", "splintr-rs", "tiktoken", "tokenizers")
TRAINED = ("gpt2", "llama3", "o200k")
VOCAB_SIZE = 32_000
ALIKE = ("llama3", "qwen2.5")
"""The models whose prompts and large corpora are timed."""
LARGE = 500
LATER_PASSES = 5
TRIED = (
    "Tried once with Llama 3 or cl100k_base, and slower than half of the fastest in every pass: "
    "basetenkenizer, budtiktok, iree-tokenizer, kitoken, morpheme, quicktok, tokie, tuetoken, wordchipper."
)


@dataclass(frozen=True)
class Model:
    """A model that was prepared in a folder (`bench.encoders.Model`)."""

    name: str
    folder: Path
    trained_here: bool = False

    @property
    def own_library(self) -> str:
        """The library that says which ids are right."""
        return (self.folder / "library").read_text("utf-8")


def run(library: str, measure: str, model: Model, corpus: Path, **task: Any) -> dict[str, Any] | None:
    """Return the figures of one process; none if the library cannot do this."""
    if library != OURS and not (model.folder / NEEDED.get(library, "tokenizer.json")).exists():
        return None
    task |= {"library": library, "measure": measure, "model": str(model.folder), "corpus": str(corpus)}
    command = [sys.executable, "-m", "bench.encoders", json.dumps({"way": "texts", "threads": 1} | task)]
    process = subprocess.run(command, capture_output=True, text=True, check=False, cwd=PROJECT)
    if process.returncode:
        reason = process.stderr.strip().rpartition("\n")[2][-200:]
        print(f"{model.name}, {library}: {reason}", file=sys.stderr)
        return None
    figures: dict[str, Any] = json.loads(process.stdout)
    return figures


@cache
def run_once(library: str, model: Model, corpus: Path) -> dict[str, Any] | None:
    """Return the figures of a slow library, and the hash of its ids."""
    return run(library, "passes", model, corpus, bytes=SAMPLE, later=1)


@dataclass
class Row:
    """A model with a corpus: the MB/s of each library in the first pass and in later ones."""

    model: Model
    corpus: str
    threads: int
    megabytes: float = 0
    rates: dict[str, tuple[float, float]] = field(default_factory=dict)
    different: list[str] = field(default_factory=list)
    """The libraries that give other ids."""

    @property
    def ratios(self) -> tuple[float, float] | None:
        """Our rates as multiples of the best of the others."""
        others = [rates for name, rates in self.rates.items() if name != OURS]
        if OURS not in self.rates or not others:
            return None
        first, later = self.rates[OURS]
        return first / max(one[0] for one in others), later / max(one[1] for one in others)

    def cells(self, names: Sequence[str]) -> list[str]:
        """What stands in the table."""
        shown = {name: f"{first:.0f} / {later:.0f}" for name, (first, later) in self.rates.items()}
        shown |= dict.fromkeys(self.different, "other ids")
        shown.setdefault(OURS, "refused")
        ratios = " / ".join(f"**{ratio:.2f}**" for ratio in self.ratios or ())
        return [self.model.name, self.corpus, *(shown.get(name, "–") for name in names), ratios or "–"]

    def as_json(self) -> dict[str, Any]:
        """What other programs read."""
        told = {"model": self.model.name, "trained_here": self.model.trained_here, "corpus": self.corpus}
        told |= {"threads": self.threads, "megabytes": self.megabytes, "ratios": self.ratios}
        return told | {"first_and_later_mb_per_s": self.rates, "other_ids": self.different}


Taken = dict[tuple[str, str], list[dict[str, Any]]]
"""By library and way: the figures of its processes."""
WHEN = ("first", "later")


def measured(model: Model, corpus: str, path: Path, threads: int, size: int, rounds: int) -> Row:
    """Time all libraries with one model and one corpus."""
    taken: Taken = {}
    runs = [(name, way) for name in FAST for way in WAYS[name]]
    for _ in range(rounds):
        for name, way in runs:
            task = {"bytes": size, "later": LATER_PASSES, "threads": threads, "way": way}
            if found := run(name, "passes", model, path, **task):
                taken.setdefault((name, way), []).append(found)
        runs = worth_repeating(taken)
    different = other_ids(taken, model, path, size)
    if threads == 1:
        slow: Taken = {(name, "texts"): [found] for name in SLOW if (found := run_once(name, model, path))}
        different |= other_ids(slow, model, path, SAMPLE)
        taken |= slow
    row = Row(model, corpus, threads, size / 1e6, different=sorted(different))
    for name in LIBRARIES:
        ways = [found for (one, _), found in taken.items() if one == name and name not in different]
        if ways:
            first, later = (min(median(one[when] for one in found) for found in ways) for when in WHEN)
            row.rates[name] = (ways[0][0]["megabytes"] / first, ways[0][0]["megabytes"] / later)
        if name == OURS and ways:
            row.megabytes = ways[0][0]["megabytes"]
    return row


def worth_repeating(taken: Taken) -> list[tuple[str, str]]:
    """Return each library's faster way in each pass, where it took at most twice the least time."""
    kept = set()
    for when in WHEN:
        seconds = {key: found[0][when] for key, found in taken.items()}
        for name in {name for name, _ in taken}:
            key = min((key for key in taken if key[0] == name), key=seconds.__getitem__)
            if seconds[key] <= 2 * min(seconds.values()):
                kept.add(key)
    return [key for key in taken if key in kept]


def other_ids(taken: Taken, model: Model, path: Path, size: int) -> set[str]:
    """Return the libraries whose ids are not those of the model's own library.

    That one is slow: all of the text is given to it only if the others disagree on what it has not seen.
    """
    right = run_once(model.own_library, model, path)
    found = [(name, one) for (name, _), ones in taken.items() for one in ones]
    different = {name for name, one in found if right is None or one["sample"] != right["sample"]}
    answers = {one["all"] for name, one in found if name not in different}
    if len(answers) > 1:
        whole = run(model.own_library, "passes", model, path, bytes=size, later=0)
        different |= {name for name, one in found if whole is None or one["all"] != whole["all"]}
    return different


def speed_table(rows: Sequence[Row], label: str) -> str:
    """Return MB/s, first and later passes, of the libraries that read any of the models."""
    names = [name for name in LIBRARIES if any(name in (*row.rates, *row.different) for row in rows)]
    return table([label, "corpus", *names, "times as fast"], (row.cells(names) for row in rows))


def summary_table(rows: Sequence[Row], corpora: Sequence[str]) -> str:
    """Return the means and the least of the ratios, of given models if there are any."""
    fair = [row for row in rows if row.ratios and row.rates.keys() & {*FAST} - {OURS}]
    given = [row for row in fair if not row.model.trained_here]
    lines = []
    for threads in dict.fromkeys(row.threads for row in rows):
        for place, when in enumerate(("first pass", "later passes")):
            lines.append([f"{counted(threads)}, {when}"])
            for group in (*([corpus] for corpus in corpora), corpora):
                ratios = [
                    row.ratios[place]
                    for row in given or fair
                    if row.ratios and row.threads == threads and row.corpus in group
                ]
                lines[-1].append(f"{geometric_mean(ratios):.2f} ({min(ratios):.2f})" if ratios else "–")
    return table(["times as fast as the best other, mean (least)", *corpora, "all"], lines)


def counted(threads: int) -> str:
    """Return a number of threads in words."""
    return f"{threads} thread{'s' * (threads > 1)}"


def taken_of(rounds: int) -> str:
    """Return what a figure is made of, in words."""
    return "that of one process" if rounds == 1 else f"the median of {rounds} processes, which take turns"


def prompts_table(models: Sequence[Model], corpus: Path, rounds: int, results: list[dict[str, Any]]) -> str:
    """Return microseconds for a prompt of each length to a list of ids, and MB/s of decoding."""
    rows = []
    for model in models:
        taken: dict[str, list[dict[str, Any]]] = {}
        for turn in range(rounds):
            for name in FAST if turn else LIBRARIES:
                if found := run(name, "prompts", model, corpus):
                    taken.setdefault(name, []).append(found)
        right = {one["sample"] for one in taken.get(model.own_library, [])}
        for name, ones in taken.items():
            if {one["sample"] for one in ones} != right:
                continue
            micros = [1e6 * median(column) for column in zip(*(one["prompts"] for one in ones), strict=True)]
            rate = median(one["megabytes"] / one["decoding"] for one in ones)
            rows.append([f"{model.name}: {name}", *(f"{one:.2f}" for one in micros), f"{rate:.0f}"])
            told = {
                "model": model.name,
                "library": name,
                "microseconds": dict(zip(PROMPTS, micros, strict=True)),
            }
            results.append(told | {"decoding_mb_per_s": rate})
    heads = [f"{length:,} characters" for length in PROMPTS]
    return table(["µs for a prompt, to a list", *heads, "decoding, MB/s"], rows)


def prompts_of(
    models: Sequence[Model], corpora: Mapping[str, Path], rounds: int, results: list[dict[str, Any]]
) -> list[str]:
    """Return what is said of prompts and of decoding."""
    corpus = corpora.get("english", next(iter(corpora.values())))
    said = "Prompts one by one, after all were encoded once, and decoding of many ids:"
    return [said, prompts_table(models, corpus, rounds, results)]


# What is timed.


def model_files(source: Path) -> Iterator[tuple[str, list[Path]]]:
    """Yield the models of a folder: names, and the files of each."""
    for folder in sorted({source, *(path for path in source.rglob("*") if path.is_dir())}):
        files = {path.name.removesuffix(".xz"): path for path in sorted(folder.iterdir()) if path.is_file()}
        name = folder.relative_to(source).as_posix() if folder != source else source.name
        if "tokenizer.json" in files:
            yield name, [files["tokenizer.json"]]
        elif {"vocab.json", "merges.txt"} <= files.keys():
            yield name, [files["vocab.json"], files["merges.txt"]]
        else:
            alone = [one for one in files if one.endswith((".json", ".tiktoken", ".model"))]
            for one in alone:
                yield name if len(alone) == 1 else f"{name}/{Path(one).stem}", [files[one]]


def given_models(source: Path, only: Sequence[str], folder: Path) -> Iterator[Model]:
    """Yield the models of a folder, unpacked and written in the formats of all libraries."""
    for name, packed in model_files(source):
        if only and name not in only:
            continue
        given = folder / name / "given"
        given.mkdir(parents=True)
        for path in packed:
            content = path.read_bytes()
            plain = given / path.name.removesuffix(".xz")
            plain.write_bytes(lzma.decompress(content) if path.suffix == ".xz" else content)
        document = json.loads(plain.read_bytes()) if plain.suffix == ".json" else {}
        if "added_tokens" in document:  # else it is no tokenizer.json, whatever its name
            content = json.dumps(document | {"post_processor": None}, ensure_ascii=False).encode()
            (folder / name / "tokenizer.json").write_bytes(content)
        yield prepared(Model(name, folder / name), given if len(packed) > 1 else plain)


def trained_models(corpora: Mapping[str, Path], only: Sequence[str], folder: Path) -> Iterator[Model]:
    """Yield vocabularies that are trained on the corpora."""
    for pattern in TRAINED:
        name = f"{VOCAB_SIZE:,} tokens, {pattern}"
        if only and name not in only:
            continue
        place = folder / pattern
        place.mkdir()
        options: dict[str, Any] = {"dialect": "tiktoken", "special_tokens": [SEPARATOR], "pattern": pattern}
        tokenizer = Tokenizer.train_from_files(list(corpora.values()), VOCAB_SIZE, **options)
        tokenizer.save(place / "bpetite.json")
        yield prepared(Model(name, place, True), place / "bpetite.json")


def prepared(model: Model, original: Path) -> Model:
    """Write what libraries need: our file, the library whose ids are right, and two formats."""
    place, written = model.folder, model.folder / "tokenizer.json"
    (place / "original").write_text(str(original), "utf-8")
    (place / "library").write_text("tokenizers" if written.exists() else "tiktoken", "utf-8")
    try:
        tokenizer = Tokenizer.load(original)
    except ValueError as refusal:
        print(f"{model.name}: {refusal}", file=sys.stderr)
        return model
    named = pattern_name(tokenizer.pattern)
    said = {"pattern": tokenizer.pattern, "special_tokens": dict(tokenizer.special_tokens), "name": named}
    (place / "said.json").write_text(json.dumps(said), "utf-8")
    for path, write in {
        written: tokenizer.to_huggingface,
        place / "ranks.tiktoken": tokenizer.to_tiktoken,
    }.items():
        try:
            if not path.exists():
                write(path)
        except ValueError as refusal:
            print(f"{model.name}, {path.name}: {refusal}", file=sys.stderr)
    return model


def unpacked_corpora(source: Path | None, size: int, folder: Path) -> dict[str, Path]:
    """Return plain files with at least so many bytes of each corpus, if it has them."""
    if source is None:
        library = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
        path = folder / "standard library.txt"
        path.write_text(SEPARATOR.join(one.read_text("utf-8", "ignore") for one in library), "utf-8")
        return {path.stem: path}
    corpora = {path.stem: path for path in sorted(source.glob("*.txt"))}
    for packed in sorted(source.glob("*.txt.xz")):
        path = folder / packed.stem
        with lzma.open(packed) as file:
            path.write_bytes(file.read(size))
        corpora[path.stem] = path
    return corpora


def section(options: argparse.Namespace, folder: Path) -> tuple[str, dict[str, Any]]:
    """Measure everything; return the section, and what other programs read."""
    conditions = f"{touch_memory()}, {raise_priority()}"
    size = int(options.megabytes * 1_000_000)
    corpora = unpacked_corpora(options.corpora, 2 * LARGE * 1_000_000 if options.large else size, folder)
    for name in ("given", "trained"):
        (folder / name).mkdir()
    models = [*given_models(options.models, options.only, folder / "given")] if options.models else []
    models += trained_models(corpora, options.only, folder / "trained")
    if not models:
        raise SystemExit("no model has such a name")
    alike = [model for model in models if model.name in ALIKE] or models[:1]
    print("threads", "model", "corpus", *LIBRARIES, "times as fast", sep=" | ", file=sys.stderr)

    def rows(models: Sequence[Model], corpora: Mapping[str, Path], threads: int, size: int) -> list[Row]:
        made = []
        for model in models:
            for corpus, path in corpora.items():
                made.append(measured(model, corpus, path, threads, size, options.rounds))
                print(counted(threads), *made[-1].cells([*LIBRARIES]), sep=" | ", file=sys.stderr)
        return made

    found = {threads: rows(models, corpora, threads, size) for threads in options.threads}
    everything = [row for rows_of in found.values() for row in rows_of]
    big = {name: path for name, path in corpora.items() if path.stat().st_size >= LARGE * 1_000_000}
    large = rows(alike, big, 1, 2 * LARGE * 1_000_000) if options.large else []
    prompts: list[dict[str, Any]] = []
    sizes = ", ".join(f"{row.corpus} {row.megabytes:.0f}" for row in everything[: len(corpora)])
    parts = [
        f"`make bench-encode {'MODELS=folder ' * bool(options.models)}CORPORA=folder OPTIONS='--threads "
        f"{' '.join(map(str, options.threads))} --rounds {options.rounds}'` on {machine()}, "
        f"{conditions}; {versions(PACKAGES)}. Corpora, in MB: {sizes}; lists of documents. Each figure is "
        f"{taken_of(options.rounds)}: MB/s of the first pass / the best of "
        f"{LATER_PASSES} later ones, with the tokenizer loaded. One thread, pinned: processor time; "
        "more: time on the wall. Whoever takes over twice as long as the best in both is timed once; "
        f"{', '.join(SLOW)} are, with {SAMPLE // 1_000_000} MB. Ratios are to the best other in each. "
        "[benchmarks.json](benchmarks.json) has all figures.",
        *([] if options.models else ["No models were given: only vocabularies trained here were timed."]),
        summary_table(everything, list(corpora)),
        f"Geometric means{' without the vocabularies trained here' * bool(options.models)}; in brackets, the "
        "least. A dash: the library does not read the model. Other ids: not those of the model's own library "
        "(tokenizers; tiktoken for files of ranks, which others get as a tokenizer.json if they do not know "
        "the pattern by name). They were compared with it for "
        f"{SAMPLE // 1_000_000} MB of each corpus, and with each other for all of it.",
        *(speed_table(made, f"{counted(threads)}, MB/s") for threads, made in found.items()),
        *([speed_table(large, f"1 thread, MB/s, at least {LARGE} MB")] if large else []),
        *(prompts_of(alike, corpora, options.rounds, prompts) if 1 in options.threads else []),
        "The interface of each library, the fastest of those that give ids: "
        + " ".join(f"{name}: {load.__doc__}" for name, load in LIBRARIES.items()),
        TRIED,
    ]
    results = {"machine": machine(), "conditions": conditions, "versions": versions(PACKAGES)}
    speeds = {"speeds": [row.as_json() for row in everything], "large": [row.as_json() for row in large]}
    return "\n\n".join(parts), results | speeds | {"prompts": prompts}


def main(arguments: Sequence[str], project: Path = PROJECT) -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=Path)
    parser.add_argument("--corpora", type=Path)
    parser.add_argument("--only", nargs="+", default=[], help="the names of models")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--megabytes", type=float, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--large", action="store_true", help=f"also time corpora of at least {LARGE} MB")
    parser.add_argument("--print", action="store_true", help="print the section and write nothing")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        text, results = section(options, Path(folder))
    print(text)
    if options.print:
        return
    several = "" if 1 in options.threads else f", {' and '.join(map(counted, options.threads))}"
    write_section(f"Encoding{several}", text, project)
    if not several:
        (project / "docs" / "benchmarks.json").write_text(json.dumps(results, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
