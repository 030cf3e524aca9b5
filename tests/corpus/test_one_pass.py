"""Inputs are read once, whatever for: a pipe gives what a file gives, to several tokenizers, too."""

import contextlib
import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bpetite import Counts, Tokenizer, Vocabulary, corpus
from bpetite._internal.types import Special
from bpetite.corpus import Documents
from bpetite.corpus.statistics import sources_of, tally
from bpetite.reading import batches
from bpetite.vocabulary import MARK

TEXT = "the cat sat on the mat.\nNow, the cat is 12345678 years old; don't ask.\n" * 30
PATTERNS = ["gpt2", "cl100k", "o200k", r"\s+|\S+", r"[a-z]+|[^a-z]+"]


def trained(pattern: str = "gpt2", vocab_size: int = 290) -> Tokenizer:
    return Tokenizer.train_from_iterator([TEXT], vocab_size, pattern=pattern)


def prepared(**changes: Any) -> Tokenizer:
    vocabulary = trained().vocabulary
    return Tokenizer(Vocabulary(vocabulary.tokens, vocabulary.merges, {"<|x|>": 400}, **changes))


KINDS: dict[str, Callable[[], Tokenizer]] = {
    **{pattern: (lambda pattern=pattern: trained(pattern)) for pattern in PATTERNS},  # type: ignore[misc]
    "a space is put first": lambda: prepared(
        normalization=[("Prepend", " "), ("Replace", MARK, " ")], drops_space=True
    ),
    "composed": lambda: prepared(normalization="NFC"),
    "joined": lambda: prepared(normalization=[("Replace", "e\u0301 t", "Q")]),
    "with flags": lambda: prepared(token_flags={"<|x|>": ["lstrip", "rstrip"]}),
}


@contextlib.contextmanager
def pipe(content: bytes) -> Iterator[str]:
    """The path of a pipe that holds the content once, as `<(command)` of a shell gives it."""
    reading, writing = os.pipe()

    def write() -> None:
        with open(writing, "wb") as file:
            file.write(content)

    writer = threading.Thread(target=write)
    writer.start()
    yield f"/dev/fd/{reading}"
    os.close(reading)
    writer.join()


MODELS: dict[str, Tokenizer] = {
    "a": trained(),
    "b": trained("o200k", 270),
    "c": trained(vocab_size=280),
}

READERS: dict[str, Callable[[str], object]] = {
    "Counts.from_files": lambda path: list(Counts.from_files(path).items()),
    "train_from_files": lambda path: Tokenizer.train_from_files(path, 280).fingerprint,
    "stats": lambda path: [fit.to_dict() for fit in corpus.stats(MODELS["a"], path)],
    "compare": lambda path: [
        {**row, "source": ""} for row in corpus.compare(MODELS, path) if row["source"] is not None
    ],
}


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="the system names no pipes")
@pytest.mark.parametrize("name", READERS)
def test_a_pipe_gives_what_a_file_gives(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(TEXT)
    with pipe(TEXT.encode()) as piped:
        assert READERS[name](piped) == READERS[name](str(path))


def test_an_iterator_gives_what_a_list_gives_and_is_not_gathered() -> None:
    waiting, most = 0, 0

    def documents() -> Any:
        nonlocal waiting, most
        for number in range(400):
            waiting += 1
            most = max(most, waiting)
            yield f"{number} " * 40_000

    def tell(stage: str, done: int, total: int) -> None:
        nonlocal waiting
        if stage == "documents":
            waiting = 0

    rows = corpus.compare(MODELS, Documents(documents()), progress=tell)
    assert most < 100
    assert [row["documents"] for row in rows] == [400] * 3
    for row in rows:
        [fit] = corpus.stats(MODELS[str(row["tokenizer"])], Documents(documents()))
        assert row["tokens"] == fit.tokens


COMMANDS: dict[str, list[str]] = {
    "compare": ["compare", "a.json", "b.json", "c.json", "--json", "--input"],
    "compare the first": ["compare", "a.json", "a.json", "--json", "--input"],
    "stats": ["stats", "--model", "a.json", "--json", "--input"],
    "report": ["report", "a.json", "--json", "--output", "r.html", "--force", "--input"],
    "report of several": [
        "report",
        "a.json",
        "b.json",
        "--json",
        "--output",
        "r.html",
        "--force",
        "--input",
    ],
    "encode": ["encode", "--model", "a.json", "--input"],
    "count": ["count", "--output", "c.parquet", "--force", "--input"],
    "train": ["train", "--vocab-size", "280", "--output", "t.json", "--force", "--input"],
    "explain": ["explain", "--merges", "m.txt", "--input"],
    "encode-corpus": [
        "encode-corpus",
        "--model",
        "a.json",
        "--output",
        "ids",
        "--resume",
        "--input",
    ],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_stdin_gives_what_a_file_gives(name: str, tmp_path: Path) -> None:
    for model, tokenizer in MODELS.items():
        tokenizer.save(tmp_path / f"{model}.json")
    (tmp_path / "m.txt").write_text("t h\nth e\n")
    (tmp_path / "input").write_text(TEXT)
    results = []
    for source in ("input", "-"):
        ran = subprocess.run(
            [sys.executable, "-m", "bpetite", *COMMANDS[name], source],
            input=TEXT.encode(),
            capture_output=True,
            cwd=tmp_path,
        )
        assert ran.returncode == 0, ran.stderr.decode()
        results.append(numbers(ran.stdout, source))
        if name == "encode-corpus":
            (tmp_path / "ids").rename(tmp_path / f"ids of {source}")
    assert results[0] == results[1]


def numbers(printed: bytes, source: str) -> object:
    """What a command printed, without the name of the source and without times."""
    if not printed.startswith(b"{"):
        return printed
    found = json.loads(printed.replace(json.dumps(source).encode(), b'"source"'))
    found.pop("elapsed_ms", None)
    return found


def long_text(seed: int) -> str:
    """A text with places where parts of it depend on each other."""
    rng = random.Random(seed)
    parts = [
        "the ",
        "cat ",
        "sat\n",
        "12345",
        ", ",
        "e\u0301",
        " t",
        "don't ",
        "<|x|>",
        "   ",
        "Éa",
        "日本 ",
    ]
    return "".join(rng.choices(parts, k=40_000))


@pytest.mark.parametrize("name", KINDS)
def test_a_long_document_has_the_ids_of_its_text(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(batches, "BLOCK", 1 << 13)
    tokenizer, text = KINDS[name](), long_text(1)
    (tmp_path / "a.txt").write_text(text)
    choices: list[Special] = ["parse", "text"]
    for special in choices:
        [fit] = corpus.stats(tokenizer, tmp_path / "a.txt", special=special)
        expected = tokenizer.count(text, special=special)
        assert (fit.documents, fit.characters, fit.tokens) == (1, len(text), expected)
        options = corpus.Options(special=special)
        manifest = corpus.encode(tokenizer, tmp_path / "a.txt", tmp_path / special, options=options)
        assert manifest.tokens == expected


def test_documents_are_cut_where_no_tokenizer_changes_its_ids(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(batches, "BLOCK", 1 << 13)
    (tmp_path / "a.txt").write_text(text := long_text(2))
    tokenizers = [trained(pattern) for pattern in PATTERNS]
    reads: list[int] = []
    tallied = tally(
        tokenizers,
        sources_of(tmp_path / "a.txt"),
        progress=lambda stage, done, _: reads.append(done) if stage == "encoding" else None,
    )
    assert len(reads) > 5, "the document is cut"
    assert [fit.tokens for fit in tallied.fits[0]] == [
        tokenizer.count(text) for tokenizer in tokenizers
    ]
    with_one_that_is_prepared = tally(
        [*tokenizers, KINDS["composed"]()], sources_of(tmp_path / "a.txt")
    )
    assert [fit.tokens for fit in with_one_that_is_prepared.fits[0][:-1]] == [
        fit.tokens for fit in tallied.fits[0]
    ]
