"""A tokenizer and texts → a row for each library: what it took, or why there is no figure.

A library gets no time if its ids are not those of the model's own library, or where that is not
installed, bpetite's. Each interface of a library runs in processes of its own, which take turns.
"""

import json
import math
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any

import numpy
from numpy.typing import NDArray

from bpetite._internal.arguments import check_word
from bpetite.benchmark.documents import Documents
from bpetite.benchmark.libraries import LIBRARIES, Library
from bpetite.benchmark.process import PROMPTS
from bpetite.patterns import pattern_name
from bpetite.tokenizer import Tokenizer

OURS = "bpetite"
OWN = {"huggingface": "tokenizers", "gpt2": "tokenizers"}
"""By the format of a model's files: the library whose ids are right, if it has another name."""
MOST_SECONDS = 60
"""A process that takes longer, and a second more for each megabyte, is ended."""
TOOK_TOO_LONG = "it took more than"


@dataclass(frozen=True)
class Row:
    """A library, and the best that any of its interfaces reached in each figure."""

    library: str
    version: str
    interface: str = ""
    """The function in `libraries` whose first pass was the fastest."""
    first: float | None = None
    """MB/s of the first pass."""
    later: float | None = None
    """MB/s of the best later pass, if there was time for one."""
    prompts: Mapping[int, float] = field(default_factory=dict)
    """By its number of characters: seconds that a prompt takes, to a list of ids."""
    decoding: float | None = None
    """Seconds to decode a megabyte of text."""
    loading: float | None = None
    """Seconds to import the library and load the model."""
    peak: float | None = None
    """The most bytes of memory that the process had until the end of the first pass, with the texts."""
    reason: str = ""
    """Why there are no figures."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """By the interfaces that have no figures: why."""


@dataclass(frozen=True)
class Benchmark:
    """What was measured, and on what."""

    own_library: str
    """The library whose ids are right."""
    megabytes: float
    documents: int
    are_pieces: bool
    """Whether the documents are pieces of a text that is a single one."""
    pretokens: int
    new_pretokens: int
    """How many pretokens are not the same as an earlier one: what the first pass cannot remember."""
    threads: int
    rows: Sequence[Row]
    missing: Sequence[str]
    """The libraries that are not installed."""

    @property
    def share_of_new(self) -> float:
        """The part of the pretokens that occur for the first time."""
        return self.new_pretokens / max(self.pretokens, 1)


def benchmark(
    tokenizer: Tokenizer,
    path: str,
    documents: Documents,
    *,
    lacking: Mapping[str, Any],
    threads: int = 1,
    rounds: int = 1,
    libraries: Sequence[Library] = LIBRARIES,
    progress: Callable[[str, int, int], object] = lambda *_: None,
) -> Benchmark:
    """Time the libraries that are installed; `lacking` is what the file at `path` was completed with."""
    installed = [library for library in libraries if version_of(library)]
    texts = documents.texts
    size = sum(len(text.encode()) for text in texts)
    megabytes = size / 1e6
    pretokens, new_pretokens = pretokens_of(tokenizer, texts)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "texts").write_bytes(pickle.dumps(texts))
        kind = prepared(tokenizer, path, lacking, folder, threads)
        own = OWN.get(kind, kind)
        order = sorted(installed, key=lambda library: (library.name != own, library.name != OURS))
        runs = [
            (library, interface) for library in order for interface in library.interfaces
        ] * rounds
        figures = _Figures(folder, tokenizer, MOST_SECONDS + megabytes)
        for done, (library, interface) in enumerate(runs, 1):
            figures.run(library, interface.__name__)
            progress("timing", done * size, len(runs) * size)
    rows = [figures.row(library, megabytes) for library in installed]
    rows.sort(key=lambda row: -(row.first or 0))
    missing = [library.name for library in libraries if library not in installed]
    return Benchmark(
        own_library=figures.own_library,
        megabytes=megabytes,
        documents=len(texts),
        are_pieces=documents.are_pieces,
        pretokens=pretokens,
        new_pretokens=new_pretokens,
        threads=threads,
        rows=rows,
        missing=missing,
    )


def pretokens_of(tokenizer: Tokenizer, texts: Sequence[str]) -> tuple[int, int]:
    """Return how many pretokens the texts have, and how many of them are different ones."""
    different: set[bytes] = set()
    total = 0
    for text in texts:
        pretokens = tokenizer.pretokens(text)
        total += len(pretokens)
        different.update(pretokens)
    return total, len(different)


def chosen(names: Sequence[str] | None) -> list[Library]:
    """Return the libraries of some names, or all."""
    for name in names or ():
        check_word("libraries", name, [library.name for library in LIBRARIES])
    return [library for library in LIBRARIES if names is None or library.name in names]


def version_of(library: Library) -> str | None:
    """Return the version of a library, if it is installed."""
    path = [library.path] if library.path else sys.path
    for distribution in metadata.distributions(name=library.name, path=path):
        return distribution.version
    return None


def prepared(
    tokenizer: Tokenizer, path: str, lacking: Mapping[str, Any], folder: Path, threads: int
) -> str:
    """Write a model for `libraries.Model`, in every format in which it can be written; return its own."""
    original = tokenizer._original
    kind = OURS if original is None else original.kind
    ids = [*tokenizer.vocabulary.tokens, *tokenizer.special_tokens.values()]
    facts = {
        "folder": str(folder),
        "threads": threads,
        "path": os.path.abspath(path),
        "kind": kind,
        "lacking": dict(lacking),
        "ids": 1 + max(ids),
        "name": pattern_name(tokenizer.pattern),
        "pattern": tokenizer.pattern,
        "special_tokens": dict(tokenizer.special_tokens),
    }
    (folder / "facts.json").write_text(json.dumps(facts), "utf-8")
    if original is not None and kind == "huggingface":
        # Some libraries add the special tokens around a text, whatever they are asked.
        document = json.loads(original.content) | {"post_processor": None}
        content = json.dumps(document, ensure_ascii=False)
        (folder / "tokenizer.json").write_text(content, "utf-8")
    if original is not None and kind == "sentencepiece":
        (folder / "tokenizer.model").write_bytes(original.content)
    writers = {"tokenizer.json": tokenizer.to_huggingface, "ranks.tiktoken": tokenizer.to_tiktoken}
    for name, write in writers.items():
        if not (folder / name).exists():
            with suppress(ValueError):  # a library that needs the file says that it is missing
                write(folder / name)
    return kind


class _Figures:
    """What the processes of one model took, by library and interface. The ids of the first are right."""

    def __init__(self, folder: Path, tokenizer: Tokenizer, most_seconds: float) -> None:
        self.folder = folder
        self.tokenizer = tokenizer
        self.most_seconds = most_seconds
        self.figures: dict[Library, dict[str, list[dict[str, Any]]]] = {}
        self.refused: dict[Library, dict[str, str]] = {}
        self.own_library = ""
        self.right = numpy.empty(0, numpy.uint32)

    def run(self, library: Library, interface: str) -> None:
        """Run an interface of a library, and compare its ids."""
        # -P: what lies in the current folder, such as a numpy.py that came with a model, is not
        # imported.
        command = [
            sys.executable,
            "-P",
            "-m",
            "bpetite.benchmark.process",
            str(self.folder),
            interface,
        ]
        if library.path:
            command.append(library.path)
        try:
            process = subprocess.run(
                command, capture_output=True, check=False, timeout=self.most_seconds
            )
        except subprocess.TimeoutExpired:
            self.refuse(library, interface, f"{TOOK_TOO_LONG} {self.most_seconds:.0f} s")
            return
        if process.returncode:
            message = process.stderr.decode("utf-8", "replace").strip()
            _, _, reason = message.rpartition("\n")
            self.refuse(
                library, interface, reason or f"it ended with exit code {process.returncode}"
            )
            return
        ids = numpy.fromfile(self.folder / "ids", numpy.uint32)
        if not self.own_library:
            self.own_library = library.name
            self.right = ids
        different = self.difference(ids)
        if different:
            self.refuse(library, interface, different)
            return
        *_, last_line = process.stdout.splitlines()  # A library may print, too.
        of_interfaces = self.figures.setdefault(library, {})
        of_interfaces.setdefault(interface, []).append(json.loads(last_line))

    def refuse(self, library: Library, interface: str, reason: str) -> None:
        """Keep why an interface has no figure."""
        self.refused.setdefault(library, {})[interface] = reason

    def difference(self, ids: NDArray[numpy.uint32]) -> str:
        """Return where ids are not the right ones, in words, or nothing."""
        right = self.right
        if numpy.array_equal(ids, right):
            return ""
        size = min(len(right), len(ids))
        places = numpy.flatnonzero(right[:size] != ids[:size])
        place = int(places[0]) if len(places) else size
        ids_before = right[max(place - 8, 0) : place].tolist()
        before = self.tokenizer.decode(ids_before, errors="replace")
        theirs = ids[place : place + 4].tolist()
        ours = right[place : place + 4].tolist()
        return f"other ids: from number {place:,} on, after {before!r:.60}, {theirs}, not {ours}"

    def row(self, library: Library, megabytes: float) -> Row:
        """Return the row of a library: the best of its interfaces in each figure."""
        version = version_of(library) or ""
        of_interfaces = self.figures.get(library, {})
        refused = self.refused.get(library, {})
        if not of_interfaces:
            *_, reason = refused.values()
            return Row(library.name, version, reason=reason, refused=refused)
        best: dict[str, Any] = {}
        interface = ""
        for name, rounds in of_interfaces.items():
            for figure in set.intersection(*map(set, rounds)):  # Not all had time for a later pass.
                value = median(measured[figure] for measured in rounds)
                if value < best.get(figure, math.inf):
                    best[figure] = value
                    if figure == "first":
                        interface = name
        prompts = {}
        for length in PROMPTS:
            name = f"prompt of {length}"
            if name in best:
                prompts[length] = best.pop(name)
        for figure in ("first", "later"):
            if figure in best:
                best[figure] = megabytes / best[figure]
        return Row(library.name, version, interface, prompts=prompts, refused=refused, **best)
