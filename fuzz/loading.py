"""Broken files → a loader must load them completely or refuse them by name, in bounded time and memory."""

from __future__ import annotations

import functools
import json
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

from bpetite import Counts, Dialect, Tokenizer, corpus, cs336
from bpetite.corpus import Reading
from bpetite.reading import batches
from bpetite.reading.batches import decoded
from bpetite.reading.documents import read_batches
from bpetite.reading.sources import Input
from fuzz import texts

MEMORY_PER_BYTE, MEMORY_AT_LEAST = 200, 64 * 2**20
"""The memory that loading may take: for each byte of the file, and a fixed amount."""

SECONDS = 5.0
"""The maximum seconds for loading one of these small files."""


@dataclass(frozen=True)
class Loader:
    """A format: valid files by name, and the loader of a folder of them."""

    files: Mapping[str, bytes]
    load: Callable[[Path], object]


def _corpus() -> str:
    return "the cat sat on the mat, the bat sat on the hat; naïve cafés 123 'll\n" * 3


@functools.cache
def _artifact(is_plain: bool) -> Loader:
    if is_plain:
        tok = Tokenizer.train(_corpus(), 280)
    else:
        tok = Tokenizer.train_from_iterator(
            [_corpus()],
            320,
            dialect=Dialect.named("huggingface"),
            pattern=r"\w+|\W",
            special_tokens=["<a>", "<b>"],
            min_count=2,
        )
    with tempfile.TemporaryDirectory() as folder:
        tok.save(Path(folder, "tok.json"))
        content = Path(folder, "tok.json").read_bytes()
    return Loader({"tok.json": content}, _load_artifact)


def _load_artifact(folder: Path) -> None:
    tok = Tokenizer.load(folder / "tok.json")
    tok.save(folder / "again.json")
    assert Tokenizer.load(folder / "again.json") == tok
    for text in (_corpus(), "<a><|endoftext|>"):
        assert tok.decode(tok.encode(text)) == text


@functools.cache
def _gpt2_files() -> Loader:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "corpus.txt").write_text(_corpus(), "utf-8")
        vocab, merges = cs336.train_bpe(folder / "corpus.txt", 300, ["<|endoftext|>"])
        cs336.save(vocab, merges, folder / "vocab.json", folder / "merges.txt")
        files = {path: (folder / path).read_bytes() for path in ("vocab.json", "merges.txt")}
    return Loader(files, _load_gpt2_files)


def _load_gpt2_files(folder: Path) -> None:
    tok = cs336.Tokenizer.from_files(
        folder / "vocab.json", folder / "merges.txt", ["<|endoftext|>"]
    )
    tok.encode("the<|endoftext|>")


def _trained() -> Tokenizer:
    return Tokenizer.train_from_iterator([_corpus()], 320, dialect="tiktoken")


def _saved(save: Callable[[Path], object]) -> dict[str, bytes]:
    """Return the files that a save leaves in a folder, by name."""
    with tempfile.TemporaryDirectory() as folder:
        save(Path(folder))
        return {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in Path(folder).rglob("*")
            if path.is_file()
        }


@functools.cache
def _tiktoken_file() -> Loader:
    def load(folder: Path) -> None:
        tok = Tokenizer.from_tiktoken(folder / "ranks", pattern="gpt2", special_tokens=["<s>"])
        assert tok.decode(tok.encode(_corpus())) == _corpus()

    return Loader(_saved(lambda folder: _trained().to_tiktoken(folder / "ranks")), load)


@functools.cache
def _huggingface_file() -> Loader:
    def load(folder: Path) -> None:
        tok = Tokenizer.from_huggingface(folder / "tokenizer.json")
        try:
            ids = tok.encode(_corpus())
        except ValueError as refused:
            assert "has a byte for which this vocabulary has no token" in str(refused), refused
        else:
            tok.decode(ids)

    return Loader(_saved(lambda folder: _trained().to_huggingface(folder / "tokenizer.json")), load)


@functools.cache
def _counts_file() -> Loader:
    def load(folder: Path) -> None:
        counts = Counts.load(folder / "corpus.counts")
        assert sum(count for _, count in counts.items()) == counts.total

    return Loader(
        _saved(lambda folder: Counts.from_iterator([_corpus()]).save(folder / "corpus.counts")),
        load,
    )


@functools.cache
def _shards() -> Loader:
    def save(folder: Path) -> None:
        (folder / "corpus.txt").write_text(_corpus() * 20, "utf-8")
        corpus.encode(_trained(), folder / "corpus.txt", folder / "ids")

    def load(folder: Path) -> None:
        corpus.verify(folder / "ids")

    return Loader(_saved(save), load)


def a_broken_artifact_is_refused(rng: Random) -> None:
    """Artifacts of the default rules, and of others."""
    _check(rng, _artifact(rng.random() < 0.5))


def a_broken_gpt2_file_is_refused(rng: Random) -> None:
    """`vocab.json` and `merges.txt`."""
    _check(rng, _gpt2_files())


def a_broken_tiktoken_file_is_refused(rng: Random) -> None:
    """Lines of base64 and rank."""
    _check(rng, _tiktoken_file())


def a_broken_huggingface_file_is_refused(rng: Random) -> None:
    """`tokenizer.json`."""
    _check(rng, _huggingface_file())


def broken_counts_are_refused(rng: Random) -> None:
    """Files of counts."""
    _check(rng, _counts_file())


def broken_shards_are_refused(rng: Random) -> None:
    """A folder of shards with its manifest, as `bpetite verify` reads it."""
    _check(rng, _shards())


def lines_are_read_as_json_loads_reads_them(rng: Random) -> None:
    """Lines of JSON as a corpus, in blocks of random size: the right texts, or an error if there is none."""
    content = b"".join(_json_line(rng) for _ in range(rng.randint(1, 5)))
    for _ in range(rng.choice((0, 0, 1, 2))):
        content = _broken_bytes(rng, content)
    found: list[str] | None
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.object(batches, "BLOCK", rng.choice((1, 7, 64, batches.BLOCK))),
    ):
        path = Path(folder, "in.jsonl")
        path.write_bytes(content)
        try:
            read = read_batches(Input(str(path)), Reading())
            found = [text for batch in read for text in decoded(str(path), batch)]
        except ValueError as refused:
            assert str(path) in str(refused), f"the refusal names no file: {refused!r}"
            found = None
    assert found == _texts_of_lines(content), content


def _json_line(rng: Random) -> bytes:
    record = {rng.choice(("id", "tëxt", "n")): rng.choice(_VALUES), "text": texts.text(rng, 200)}
    if rng.random() < 0.3:
        record["text "] = [{"text": "inner"}]
    line = json.dumps(
        record, ensure_ascii=rng.random() < 0.5, separators=rng.choice(((",", ":"), None))
    )
    return line.encode("utf-8", "surrogatepass") + rng.choice(
        (b"\n", b"\n", b"\r\n", b" \n", b"\n\n", b"")
    )


def _texts_of_lines(content: bytes) -> list[str] | None:
    """Return the texts, or None if a line has none."""
    found = []
    for line in filter(bytes.strip, content.split(b"\n")):
        try:
            text = json.loads(line.decode())["text"]
            text.encode()
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return None
        found.append(text)
    return found


def _check(rng: Random, loader: Loader) -> None:
    """Break one of the files and load them all."""
    broken = rng.choice(list(loader.files))
    files = dict(loader.files) | {broken: _broken(rng, loader.files[broken])}
    size = sum(map(len, files.values()))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, content in files.items():
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_bytes(content)
        before, started = _reset_peak(), time.process_time()
        try:
            loader.load(folder)
        except (ValueError, KeyError) as refused:
            assert str(folder) in str(refused), f"the refusal names no file: {refused!r}"
        took, peak = time.process_time() - started, _peak() - before
        assert took < SECONDS, f"{took:.1f} s for {size} bytes"
        assert peak < MEMORY_AT_LEAST + MEMORY_PER_BYTE * size, (
            f"{peak} bytes of memory for {size} bytes"
        )


def _broken(rng: Random, content: bytes) -> bytes:
    for _ in range(rng.choice((1, 1, 2, 4))):
        content = _broken_json(rng, content) if rng.random() < 0.6 else _broken_bytes(rng, content)
    return content


_BYTES = (
    b"\xff",
    b"\xc3",
    b"\x00",
    b"\xef\xbb\xbf",
    b'"',
    b"{",
    b"]",
    b",",
    b" ",
    b"\n",
    b"-",
    b"1e9",
    b"NaN",
    b"\\ud800",
)


def _broken_bytes(rng: Random, content: bytes) -> bytes:
    start, end = sorted(rng.randint(0, len(content)) for _ in range(2))
    if rng.random() < 0.7:
        end = min(end, start + rng.randint(0, 8))
    kept = content[start:end]
    return (
        content[:start]
        + rng.choice((b"", kept + kept, rng.choice(_BYTES), rng.randbytes(3)))
        + content[end:]
    )


_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 255, 256, 2**31, 2**32 - 2, 2**32 - 1, 2**32, 2**63, 2**64, 10**400),
    *(0.0, 97.0, 1e308, -0.5, "", "a", "97", "\ud800", "\x00", "<|endoftext|>", "Ġ", "é", "a" * 100_000),
    *([], {}, [[]], [97, 98], [256], [97] * 20_000, {"97": [97]}, {"": 0}),
    *("(" * 300, "(a+)+$", "[", "(?=a)*", r"\p{Nope}", json.loads("[" * 300 + "]" * 300)),
)  # fmt: skip


def _broken_json(rng: Random, content: bytes) -> bytes:
    """Replace, remove, copy or rename something in a JSON document."""
    try:
        document = json.loads(content)
    except ValueError:
        return _broken_bytes(rng, content)
    if not document or not isinstance(document, dict | list):
        return json.dumps(rng.choice(_VALUES)).encode()
    holder, key = _place(rng, document)
    other_holder, other_key = _place(rng, document)
    how = rng.randrange(5)
    if how == 0:
        del holder[key]
    elif how == 1:
        holder[key] = json.loads(json.dumps(other_holder[other_key]))
    elif how == 2 and isinstance(holder, dict):
        holder[
            rng.choice(("", "0", "00", "-1", "99999999999", "\ud800", "extra", str(other_key)))
        ] = holder.pop(key)
    elif how == 3 and isinstance(holder, list):
        holder[key:key] = holder[: rng.randint(0, 50)]
    else:
        holder[key] = json.loads(json.dumps(rng.choice(_VALUES)))
    return json.dumps(document, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")


def _place(rng: Random, node: Any) -> tuple[Any, Any]:
    """Return a random (holder, key) of a document, deep ones as often as shallow ones."""
    while True:
        key = rng.choice(list(node)) if isinstance(node, dict) else rng.randrange(len(node))
        inner = node[key]
        if not inner or not isinstance(inner, dict | list) or rng.random() < 0.4:
            return node, key
        node = inner


def _reset_peak() -> int:
    """Start measuring the peak of memory and return the present use (0 if not on Linux)."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return 0
    return _peak()


def _peak() -> int:
    """Return the peak of memory in bytes (0 if not on Linux)."""
    try:
        status = Path("/proc/self/status").read_text("ascii")
    except OSError:
        return 0
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024
