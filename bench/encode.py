"""Models and texts → `bench/encoding.jsonl`, and the section on encoding in `docs/benchmarks.md`.

    python -m bench.encode MODELS TEXTS [--only NAME ...] [--threads N] [--megabytes N] [--large] [--rounds N]
    python -m bench.encode                # write the section again from what was measured

MODELS holds tokenizer files, in folders of any depth, perhaps packed by xz; TEXTS holds .txt files,
as `python -m bench.texts` makes them, or others, perhaps packed, too. Each model with each text is
what `bpetite bench MODEL TEXT` measures, and a line of the file. What is measured again replaces
the old figures; the rest stays. With --large, the fast libraries are timed with all of a text.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import lzma
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from bench.results import Measured, read_results, write_results
from bench.section import (
    PROJECT,
    machine,
    raise_priority,
    table,
    title,
    touch_memory,
    write_section,
)
from bench.texts import TABLE
from bpetite import Tokenizer
from bpetite._constants import END_OF_TEXT_TOKEN as SEPARATOR
from bpetite.benchmark import libraries
from bpetite.benchmark.comparison import OURS, TOOK_TOO_LONG, benchmark
from bpetite.benchmark.documents import first_documents
from bpetite.benchmark.libraries import LIBRARIES, Library
from bpetite.benchmark.process import PROMPTS

PRERELEASE = Library(
    "tokenizers",
    (libraries.tokenizers_each, libraries.tokenizers),
    str(PROJECT / ".venv" / "prerelease"),
)
"""The pre-release of tokenizers, which `make bench-encode` installs beside the release."""
TIMED = (*LIBRARIES, PRERELEASE)
FAST = ("bpetite", "gigatoken", "fastokens", "snaptokens")
"""The libraries that are timed with large texts, beside the pre-release of tokenizers."""
SMALL = 8
LARGE = 500


def measure(models: Path, texts: Path, options: argparse.Namespace) -> Iterator[Measured]:
    """Yield the figures of each model with each text."""
    conditions = f"{touch_memory()}, {raise_priority()}"
    timed = [one for one in TIMED if not options.large or one.name in FAST or one is PRERELEASE]
    with tempfile.TemporaryDirectory() as name:
        for model, path in unpacked(models, Path(name), options.only):
            tokenizer = Tokenizer.load(path)
            for text in sorted(texts.glob("*.txt*")):
                size = 1_000_000 * (2 * LARGE if options.large else options.megabytes)
                found = benchmark(
                    tokenizer,
                    str(path),
                    first_documents(documents(text), size),
                    lacking={},
                    threads=options.threads,
                    rounds=options.rounds,
                    libraries=timed,
                )
                slow = {row.library for row in found.rows if row.reason.startswith(TOOK_TOO_LONG)}
                timed = [one for one in timed if one.name not in slow]  # once is enough
                told = {"model": model, "text": text.name.partition(".")[0], "large": options.large}
                told |= {"file": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
                told |= {"machine": machine(), "conditions": conditions}
                yield json.loads(json.dumps(told | dataclasses.asdict(found)))


def unpacked(models: Path, folder: Path, only: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """Yield the names and the files of the models in a folder, unpacked into another one."""
    for place in sorted({models, *(path for path in models.rglob("*") if path.is_dir())}):
        files = {
            path.name.removesuffix(".xz"): path
            for path in sorted(place.iterdir())
            if path.is_file()
        }
        base = place.relative_to(models).as_posix()
        if "tokenizer.json" in files:
            files = {"tokenizer.json": files["tokenizer.json"]}
        for file, path in files.items():
            name = base if len(files) == 1 else f"{base}/{Path(file).stem}"
            if file.endswith((".json", ".tiktoken", ".model")) and (not only or name in only):
                (folder / name).mkdir(parents=True)
                content = path.read_bytes()
                (folder / name / file).write_bytes(
                    lzma.decompress(content) if path.suffix == ".xz" else content
                )
                yield name, folder / name / file


def documents(path: Path) -> Iterator[str]:
    """Yield the documents of a text, which may be packed."""
    rest = ""
    with lzma.open(path) if path.suffix == ".xz" else open(path, "rb") as file:
        while block := file.read(1 << 24):
            while block[-1] >= 0x80 and (more := file.read(1)):
                block += more
            *whole, rest = (rest + block.decode()).split(SEPARATOR)
            yield from filter(None, whole)
    if rest:
        yield rest


# The page.

HOW = """
Each table is what `bpetite bench MODEL TEXT` measures. Every library gets the same list of documents; their
number and mean size are above each table. Every interface of a library (listed at the end) runs in a process
of its own, on one thread, pinned, in processor time; in each cell and figure, the fastest counts. The first
pass is that of a new process, the later one the best of up to five that begin within four seconds. How fast
the first pass is depends on how many pretokens are new, which no library can remember: the share of them that
occur for the first time, by the model's pattern, is above each table, too.

Prompts are encoded one by one to a list, after the passes; loading includes the import, but for numpy's;
memory is that of the whole process with the text, until the end of the first pass, the most in any of the
texts. Prompts, decoding and loading are those of one text, the one whose column is in the middle. The ids of
the whole text are those of the model's own library (tiktoken for files of ranks, sentencepiece for its own,
else tokenizers), or there is no figure. With models of SentencePiece, which does not find special tokens in a
text, bpetite and kitoken are asked not to find them either. With large texts, for which the slow libraries
would take an hour, ids are compared with bpetite's. Later passes through hundreds of megabytes are slower
than the first ones where bpetite's memory of earlier results is full: by default, it takes 1/32 of the
machine's, and at most 1 GiB (`Tokenizer.with_memory`). A dash: the library does not read the model, or
took too long.
""".strip()
OLDER = """
Where no share of new pretokens is given, the figures are older: the documents were as the line says, but
fewer interfaces were timed (of gigatoken the batches, of fastokens and splintr-rs `encode_batch_flat`, of
tokie `encode_batch`). gigatoken's first pass is up to half as fast again by the one that was missing, a loop.
""".strip()

FIGURES = {
    "first": "the first pass",
    "later": "later passes",
    "prompt": "prompts of 400 characters",
    "decoding": "decoding",
}
RATES = ("first", "later")


def rate(row: Mapping[str, Any], figure: str) -> float | None:
    """Return a figure of which more is better."""
    if figure == "prompt":
        return 1 / row["prompts"]["400"] if row["prompts"] else None
    value: float | None = row[figure]
    return 1 / value if value and figure == "decoding" else value


def ratio(one: Measured, figure: str) -> float | None:
    """Return how many times as fast bpetite is as the best other library."""
    rates = {title(row): found for row in one["rows"] if (found := rate(row, figure))}
    ours = rates.pop(OURS, None)
    return ours / max(rates.values()) if ours and rates else None


def summary(measured: Sequence[Measured]) -> str:
    """Return a table of the means and the least of the ratios."""
    texts = sorted({one["text"] for one in measured})
    rows = []
    for (large, threads), group in groupby(measured, lambda one: (one["large"], one["threads"])):
        of_size = list(group)
        size = max(one["megabytes"] for one in of_size)
        for figure, said in FIGURES.items():
            if figure not in RATES and (large or threads > 1):
                continue
            said += f", up to {size:.0f} MB" * (figure in RATES) + f", {threads} threads" * (
                threads > 1
            )
            ratios = [
                [found for one in of_size if one["text"] in group and (found := ratio(one, figure))]
                for group in (*([text] for text in texts), texts)
            ]
            cells = (
                f"{geometric_mean(some):.2f} ({min(some):.2f})" if some else "–" for some in ratios
            )
            rows.append([said, *cells])
    return table(["times as fast as the best other: mean (least)", *texts, "all"], rows)


def peers(measured: Sequence[Measured]) -> str:
    """Return a table of how bpetite compares with each library, over the cells where both have figures."""
    ratios: dict[str, dict[str, list[float]]] = {}
    for one in measured:
        rows = {title(row): row for row in one["rows"] if not row["reason"]}
        ours = rows.pop(OURS, None)
        for name, row in rows.items() if ours else ():
            found = ratios.setdefault(name, {figure: [] for figure in (*RATES, "peak")})
            for figure in RATES:
                if ours[figure] and row[figure]:
                    found[figure].append(ours[figure] / row[figure])
            if ours["peak"] and row["peak"]:
                found["peak"].append(row["peak"] / ours["peak"])
    heads = [
        "bpetite beside",
        "cells",
        "first pass: times as fast",
        "later passes",
        "memory: times ours",
    ]
    order = sorted(ratios.items(), key=lambda item: geometric_mean(item[1]["first"]))
    return table(
        [f"{head}, mean (least)" if place > 1 else head for place, head in enumerate(heads)],
        (
            [name, str(len(found["first"])), *map(_mean_and_least, found.values())]
            for name, found in order
        ),
    )


def _mean_and_least(ratios: Sequence[float]) -> str:
    return f"{geometric_mean(ratios):.2f} ({min(ratios):.2f})" if ratios else "–"


def model_table(of_model: Sequence[Measured]) -> str:
    """Return what libraries take with one model: a row for each, the fastest first."""
    rows: dict[str, list[str]] = {}
    texts = [one["text"] for one in of_model]
    middle = of_model[len(of_model) // 2]
    for row in sorted(middle["rows"], key=lambda row: -(row["first"] or 0)):
        cells = [_rates(row, one) for one in of_model]
        if any(cell != "–" for cell in cells):
            rows[title(row)] = [*cells, *_others(row), _memory(row, of_model)]
    heads = ["MB/s of the first pass / later ones", *texts]
    if not middle["large"] and middle["threads"] == 1:
        lengths = " / ".join(f"{length:,}" for length in PROMPTS)
        heads += [f"µs for {lengths} characters", "decoding, MB/s", "loading, ms"]
    heads.append("memory, MB")
    return table(
        heads, ([name, *cells[: len(heads) - 2], cells[-1]] for name, cells in rows.items())
    )


def _row_of(row: Mapping[str, Any], one: Measured) -> Mapping[str, Any] | None:
    return next((other for other in one["rows"] if title(other) == title(row)), None)


def _rates(row: Mapping[str, Any], one: Measured) -> str:
    found = _row_of(row, one)
    if found is None or found["reason"]:
        return "other ids" if found and found["reason"].startswith("other ids") else "–"
    return " / ".join("–" if found[name] is None else f"{found[name]:.0f}" for name in RATES)


def _others(row: Mapping[str, Any]) -> list[str]:
    if row["reason"]:
        return ["–"] * 3
    prompts = " / ".join(f"{1e6 * seconds:.3g}" for seconds in row["prompts"].values())
    return [prompts, f"{1 / row['decoding']:.0f}", f"{1e3 * row['loading']:.0f}"]


def _memory(row: Mapping[str, Any], of_model: Sequence[Measured]) -> str:
    rows = [found for one in of_model if (found := _row_of(row, one))]
    peaks = [found["peak"] for found in rows if found["peak"] and not found["reason"]]
    return f"{max(peaks) / 1e6:.0f}" if peaks else "–"


def fed(one: Measured) -> str:
    """Return which documents of a text all libraries got, and how many of their pretokens were new."""
    size, documents = one["megabytes"], one["documents"]
    said = f"{one['text']}: {size:.0f} MB in {documents:,} documents of {1e3 * size / documents:.1f} KB"
    if "pretokens" not in one:
        return said
    share_of_new = one["new_pretokens"] / max(one["pretokens"], 1)
    return f"{said}, {share_of_new:.1%} of {one['pretokens']:,} pretokens new"


def refusals(of_model: Sequence[Measured]) -> str:
    """Return which libraries gave other ids, and where first."""
    found = {
        row["library"]: f"{row['library']} {row['version']} in {one['text']}: {row['reason']}."
        for one in of_model
        for row in one["rows"]
        if row["reason"].startswith("other ids")
    }
    return " ".join(f"`{reason.replace('`', chr(39))}`" for reason in found.values())


def section(measured: Sequence[Measured]) -> str:
    """Return the section."""
    versions = {title(row).split()[0]: row["version"] for one in measured for row in one["rows"]}
    newest = max(measured, key=lambda one: len(one["rows"]))
    parts = [
        f"`make bench-encode MODELS=folder` (large texts: `OPTIONS=--large`) on "
        f"{newest['machine']}, {newest['conditions']}; "
        f"{', '.join(f'{name} {version}' for name, version in versions.items())}.\n\n" + HOW,
        *([OLDER] if any("pretokens" not in one for one in measured) else []),
        *(
            [f"Not timed yet: {', '.join(untimed)}."]
            if (untimed := texts_without(measured))
            else []
        ),
        summary(measured),
        peers([one for one in measured if not one["large"] and one["threads"] == 1]),
    ]
    for (_, threads, model), group in groupby(measured, lambda one: _key(one)[:3]):
        of_model = list(group)
        file = f"`{of_model[0]['file']}`, SHA-256 {of_model[0]['sha256'][:16]}..."
        parts += [
            f"**{model}** ({file}){f', {threads} threads' * (threads > 1)}. {'; '.join(map(fed, of_model))}.",
            model_table(of_model),
        ]
        if different := refusals(of_model):
            parts.append(f"Other ids, and where first: {different}")
    return "\n\n".join([*parts, f"The interfaces: {interfaces(measured)}."])


def texts_without(measured: Sequence[Measured]) -> list[str]:
    """Return the texts that `bench.texts` makes and that have no figures."""
    made = tomllib.loads(TABLE.read_text("utf-8"))["texts"]
    return sorted(made.keys() - {one["text"] for one in measured})


def interfaces(measured: Sequence[Measured]) -> str:
    """Return the interfaces of the libraries, and of several, in how many cells each was the fastest."""
    fastest = Counter(row.get("interface") for one in measured for row in one["rows"])
    said = []
    for library in LIBRARIES:
        calls = [(call.__doc__ or "").rstrip(".") for call in library.interfaces]
        if len(calls) > 1:
            numbers = [fastest[call.__name__] for call in library.interfaces]
            calls = [
                f"{call} ({number})" if number else call
                for call, number in zip(calls, numbers, strict=True)
            ]
        said.append(f"{library.name}: {', or '.join(calls)}")
    note = " (in brackets: in how many cells its first pass was the fastest)"
    return "; ".join(said) + note * any(fastest.keys() - {None, ""})


def main(arguments: Sequence[str], project: Path = PROJECT) -> None:
    """Measure if models and texts are given, and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", type=Path, nargs="?")
    parser.add_argument("texts", type=Path, nargs="?")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="the names of models")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--megabytes", type=int, default=SMALL)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--large", action="store_true", help=f"up to {2 * LARGE} MB of each text")
    options = parser.parse_args(arguments)
    measured = {_key(result): result for result in read_results(project)}
    if options.texts:
        for one in measure(options.models, options.texts, options):
            print(f"{one['model']}, {one['text']}, by {one['machine']}", file=sys.stderr)
            measured[_key(one)] = one
            write_results(project, [measured[key] for key in sorted(measured)])
    write_section("Encoding", section([measured[key] for key in sorted(measured)]), project)


def _key(one: Measured) -> tuple[Any, ...]:
    return one["large"], one["threads"], one["model"], one["text"]


if __name__ == "__main__":
    main(sys.argv[1:])
