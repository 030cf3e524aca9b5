"""A corpus into shards: the same bytes however often it was stopped, or a refusal that says why."""

import contextlib
import copy
import gzip
import hashlib
import io
import itertools
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import fsspec
import numpy as np
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Counts, Tokenizer, Vocabulary, corpus
from bpetite.corpus import Documents, Options, Reading
from bpetite.corpus.job import Job
from bpetite.corpus.manifest import Journal, Manifest
from bpetite.corpus.shards import (
    ShardFormat,
    ShardWriter,
    choose_dtype,
    offsets_file,
    read_ids,
    read_offsets,
)
from bpetite.reading import batches
from disks import mount, read_only, small_disk

END = "<|endoftext|>"
TEXTS = [
    f"document {n}: the cat sat on the mat, naïve 東京 {'x' * (n % 7)}\n" * (n % 5)
    for n in range(60)
]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train("".join(TEXTS), 400)


@pytest.fixture
def lines(tmp_path: Path) -> list[Path]:
    """The texts as JSON lines, in three files."""
    paths = []
    for number in range(3):
        path = tmp_path / f"part-{number}.jsonl"
        part = TEXTS[number * 20 : number * 20 + 20]
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in part))
        paths.append(path)
    return paths


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def documents_in(folder: Path) -> list[list[int]]:
    """The ids of each document, read without bpetite."""
    manifest = json.loads((folder / "manifest.json").read_bytes())
    options = manifest["options"]
    found = []
    for number, shard in enumerate(manifest["shards"]):
        stem = folder / f"shard-{number:06d}"
        if options["format"] == "npy":
            ids = np.load(f"{stem}.npy", mmap_mode="r")
        else:
            ids = np.memmap(f"{stem}.bin", options["dtype"], "r")
        if options["format"] == "megatron":
            offsets = megatron_offsets(Path(f"{stem}.idx"), ids.itemsize)
        else:
            offsets = np.load(f"{stem}.offsets")
        assert ids.dtype == options["dtype"]
        assert len(offsets) == shard["documents"] + 1
        assert len(ids) == shard["tokens"] == offsets[-1]
        found += [
            ids[a:b].tolist()
            for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        ]
    return found


def megatron_offsets(path: Path, itemsize: int) -> np.ndarray:
    """Read an index as Megatron-LM's `_IndexReader` does."""
    with open(path, "rb") as file:
        assert file.read(9) == b"MMIDIDX\x00\x00"
        assert struct.unpack("<Q", file.read(8)) == (1,)
        (code,) = struct.unpack("<B", file.read(1))
        assert {4: 4, 8: 2}[code] == itemsize
        (sequences,) = struct.unpack("<Q", file.read(8))
        (documents,) = struct.unpack("<Q", file.read(8))
        head = file.tell()
    content = path.read_bytes()
    lengths = np.frombuffer(content, np.int32, sequences, head)
    pointers = np.frombuffer(content, np.int64, sequences, head + lengths.nbytes)
    indices = np.frombuffer(content, np.int64, documents, head + lengths.nbytes + pointers.nbytes)
    assert len(content) == head + lengths.nbytes + pointers.nbytes + indices.nbytes
    assert indices.tolist() == list(range(sequences + 1))
    offsets = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    assert (pointers == offsets[:-1] * itemsize).all()
    return offsets


@pytest.mark.parametrize("shard_format", ["npy", "bin", "megatron"])
@pytest.mark.parametrize("shard_size", [1, 333, 10**9])
def test_shards_hold_every_document_in_order(
    tokenizer: Tokenizer,
    lines: list[Path],
    tmp_path: Path,
    shard_format: ShardFormat,
    shard_size: int,
) -> None:
    options = Options(format=shard_format, shard_size=shard_size, append_special=END)
    manifest = corpus.encode(tokenizer, lines, tmp_path / "out", options=options)
    expected = [[*tokenizer.encode(text), tokenizer.special_tokens[END]] for text in TEXTS]
    assert documents_in(tmp_path / "out") == expected
    assert manifest.documents == len(TEXTS)
    assert manifest.tokens == sum(map(len, expected))
    assert [shard.tokens for shard in manifest.shards[:-1]] == [
        tokens
        for tokens in (shard.tokens for shard in manifest.shards[:-1])
        if tokens >= shard_size
    ]
    assert corpus.verify(tmp_path / "out") == manifest
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "manifest.json",
        "bpetite.json",
        *(file.name for shard in manifest.shards for file in shard.files),
    }
    assert [(read.name, read.documents) for read in manifest.inputs] == [
        (str(path), 20) for path in lines
    ]


def test_the_manifest_says_what_was_made_from_what(
    tokenizer: Tokenizer, lines: list[Path], tmp_path: Path
) -> None:
    corpus.encode(tokenizer, lines, tmp_path / "out", options=Options(shard_size=500))
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_bytes())
    assert manifest["tokenizer"] == {
        "fingerprint": tokenizer.fingerprint,
        "vocab_size": tokenizer.vocab_size,
        "file": "bpetite.json",
        "sha256": hashlib.sha256((tmp_path / "out" / "bpetite.json").read_bytes()).hexdigest(),
    }
    assert Tokenizer.load(tmp_path / "out" / "bpetite.json") == tokenizer
    assert manifest["options"]["dtype"] == "uint16"
    for file in (file for shard in manifest["shards"] for file in shard["files"]):
        path = tmp_path / "out" / file["name"]
        told = subprocess.run(
            ["sha256sum", path], capture_output=True, check=True, text=True
        ).stdout
        assert (file["bytes"], file["sha256"]) == (path.stat().st_size, told.split()[0])
    for read in manifest["inputs"]:
        content = Path(read["name"]).read_bytes()
        assert (read["bytes"], read["xxh3_128"]) == (
            len(content),
            xxhash.xxh3_128_hexdigest(content),
        )


def test_a_file_is_hashed_as_it_is_read(
    tokenizer: Tokenizer, lines: list[Path], tmp_path: Path
) -> None:
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(lines[0].read_bytes()))
    with mock.patch("bpetite.reading.documents.hash_input", side_effect=AssertionError):
        manifest = corpus.encode(tokenizer, [packed, *lines], tmp_path / "out")
    assert [read.xxh3_128 for read in manifest.inputs] == [
        xxhash.xxh3_128_hexdigest(path.read_bytes()) for path in [packed, *lines]
    ]


@settings(max_examples=30)
@given(
    texts=st.lists(st.text(max_size=40), max_size=12),
    cuts=st.lists(st.integers(0, 12), max_size=3),
    shard_size=st.integers(1, 60),
)
def test_how_a_corpus_is_divided_into_files_makes_no_difference(
    tokenizer: Tokenizer,
    tmp_path_factory: pytest.TempPathFactory,
    texts: list[str],
    cuts: list[int],
    shard_size: int,
) -> None:
    folder = tmp_path_factory.mktemp("divided")
    bounds = [0, *sorted(min(cut, len(texts)) for cut in cuts), len(texts)]
    for number, (start, end) in enumerate(pairwise(bounds)):
        part = "".join(json.dumps(text) + "\n" for text in texts[start:end]).replace("\n", "}\n")
        part = "".join('{"text": ' + line for line in part.splitlines(keepends=True))
        (folder / f"{number}.jsonl").write_text(part)
    paths = [folder / f"{number}.jsonl" for number in range(len(bounds) - 1)]
    corpus.encode(tokenizer, paths, folder / "out", options=Options(shard_size=shard_size))
    corpus.encode(
        tokenizer, Documents(texts), folder / "whole", options=Options(shard_size=shard_size)
    )
    ours, whole = contents(folder / "out"), contents(folder / "whole")
    del ours["manifest.json"], whole["manifest.json"]
    assert ours == whole
    shutil.rmtree(folder)


def test_ids_are_as_wide_as_the_largest_needs_and_never_wrapped() -> None:
    assert [choose_dtype("auto", largest, "npy") for largest in (0, 65535, 65536)] == [
        "uint16",
        "uint16",
        "uint32",
    ]
    assert choose_dtype("auto", 65536, "megatron") == "int32"
    for asked, largest, shard_format in (
        ("uint16", 65536, "npy"),
        ("int32", 2**31, "megatron"),
        ("int32", 5, "npy"),
        ("uint32", 5, "megatron"),
    ):
        with pytest.raises(ValueError, match="dtype"):
            choose_dtype(asked, largest, shard_format)  # type: ignore[arg-type] # of a tuple


@pytest.mark.parametrize("shard_format", ["npy", "bin", "megatron"])
def test_ids_beyond_16_bits_survive(tmp_path: Path, shard_format: ShardFormat) -> None:
    tokens = {byte: bytes([byte]) for byte in range(256)} | {70000: b"ab"}
    tokenizer = Tokenizer(Vocabulary(tokens, [(97, 98)], {END: 65536}))
    options = Options(format=shard_format, append_special=END)
    corpus.encode(tokenizer, Documents(["abab", "c"]), tmp_path / "out", options=options)
    assert documents_in(tmp_path / "out") == [[70000, 70000, 65536], [99, 65536]]
    corpus.verify(tmp_path / "out")
    with pytest.raises(ValueError, match=r"uint16 cannot hold every id .* 70000"):
        corpus.encode(tokenizer, Documents([]), tmp_path / "no", options=Options(dtype="uint16"))
    assert not (tmp_path / "no").exists()


def test_progress_tells_bytes_and_documents(
    tokenizer: Tokenizer, lines: list[Path], tmp_path: Path
) -> None:
    size = sum(path.stat().st_size for path in lines)
    told: list[tuple[str, int, int]] = []

    def tell(stage: str, done: int, total: int) -> None:
        told.append((stage, done, total))

    works: dict[str, Callable[[], Manifest | Counts]] = {
        "encoding": lambda: corpus.encode(tokenizer, lines, tmp_path / "out", progress=tell),
        "counting": lambda: Counts.from_files(lines, progress=tell),
    }
    for stage, work in works.items():
        told.clear()
        made = work()
        assert [last for last in told if last[0] != "documents"][-1] == (stage, size, size)
        numbers = [done for stage, done, _ in told if stage == "documents"]
        assert numbers == sorted(numbers)
        assert numbers[-1] == made.documents
    told.clear()
    corpus.stats(tokenizer, lines, progress=tell)
    corpus.verify(tmp_path / "out", progress=tell)
    assert told.count(("documents", len(TEXTS), 0)) == 2


MEASURED = """
import resource, sys
from pathlib import Path
from bpetite import Tokenizer, corpus
path, out = sys.argv[1:]
options = corpus.Options(shard_size=4_000_000, reading=corpus.Reading(separator="|"))
corpus.encode(Tokenizer.train("the cat sat on the mat " * 9, 270), path, out, options=options, num_threads=2)
status = Path("/proc/self/status")
if status.exists():  # There, what is told of resources begins with the memory of whoever started the process.
    print(int(status.read_text().partition("VmHWM:")[2].split()[0]) << 10)
else:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_does_not_depend_on_the_size_of_the_corpus(tmp_path: Path) -> None:
    """A corpus that is 100 MB larger, with 58 MB more of ids, may take 24 MB more of memory.

    The smaller one is large enough that all buffers are in use: with 20 MB some are not, sometimes.
    """
    peaks = []
    for megabytes in (60, 160):
        path, out = tmp_path / f"{megabytes}.txt", tmp_path / f"{megabytes}"
        path.write_bytes((b"the cat sat on the mat, " * 40 + b"|") * (megabytes << 10))
        run = subprocess.run(
            [sys.executable, "-c", MEASURED, path, out], capture_output=True, check=True
        )
        peaks.append(int(run.stdout))
        ids = sum(file.stat().st_size for file in out.glob("shard-*"))
        shutil.rmtree(out)
    assert ids > 80 << 20
    assert peaks[1] - peaks[0] < 24 << 20


def test_an_empty_corpus_makes_no_shards(tokenizer: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    manifest = corpus.encode(tokenizer, [tmp_path / "empty.jsonl"], tmp_path / "out")
    assert (manifest.documents, manifest.tokens, manifest.shards) == (0, 0, [])
    assert corpus.verify(tmp_path / "out") == manifest
    corpus.encode(tokenizer, Documents([""]), tmp_path / "one")
    assert documents_in(tmp_path / "one") == [[]]
    corpus.verify(tmp_path / "one")


def test_special_tokens_in_the_text_are_what_was_asked_for(
    tokenizer: Tokenizer, tmp_path: Path
) -> None:
    text = f"a{END}b"
    for special in ("parse", "text"):
        corpus.encode(
            tokenizer, Documents([text]), tmp_path / special, options=Options(special=special)
        )
        assert documents_in(tmp_path / special) == [tokenizer.encode(text, special=special)]
        corpus.verify(tmp_path / special)
    with pytest.raises(
        ValueError, match=r": document 1: the text contains the special token .*endoftext"
    ):
        corpus.encode(
            tokenizer, Documents(["a", text]), tmp_path / "error", options=Options(special="error")
        )


@pytest.mark.parametrize("appended", [None, END])
def test_special_tokens_in_the_text_are_text_unless_asked_for_and_are_counted(
    tokenizer: Tokenizer, tmp_path: Path, appended: str | None
) -> None:
    texts = [f"a{END}b{END}", "", "plain", END]
    end = [] if appended is None else [tokenizer.special_tokens[END]]
    for name, some, found in (("with", texts, 3), ("without", texts[1:3], 0)):
        options = Options(append_special=appended)
        manifest = corpus.encode(tokenizer, Documents(some), tmp_path / name, options=options)
        assert manifest.special_texts == found
        assert documents_in(tmp_path / name) == [
            tokenizer.encode(text, special="text") + end for text in some
        ]
        corpus.verify(tmp_path / name)


@pytest.mark.parametrize("shard_size", [1, 1000])
def test_every_document_begins_with_the_token_that_is_prepended(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shard_size: int
) -> None:
    monkeypatch.setattr(batches, "BLOCK", 1 << 15)
    texts = ["", "a", f"It's 東京, naïve {END} cafés\n\n 12345 x" * 3000, "", ""]
    (tmp_path / "long.txt").write_text("\x1e".join(texts))
    begin = [tokenizer.special_tokens[END]]
    for appended, end in ((None, []), (END, begin)):
        out = tmp_path / f"out-{appended is None}"
        options = Options(
            shard_size=shard_size,
            prepend_special=END,
            append_special=appended,
            reading=Reading(separator="\x1e"),
        )
        corpus.encode(tokenizer, tmp_path / "long.txt", out, options=options)
        expected = [begin + tokenizer.encode(text, special="text") + end for text in texts]
        assert documents_in(out) == expected[: len(documents_in(out))]
        assert len(documents_in(out)) >= 4
        corpus.verify(out)
        ids = out / "shard-000000.npy"
        content = bytearray(ids.read_bytes())
        content[128:130] = b"\0\0"
        ids.write_bytes(content)
        with pytest.raises(ValueError, match="SHA-256"):
            corpus.verify(out)


def test_a_folder_is_written_anew_only_if_runs_have_written_all_of_it(
    tokenizer: Tokenizer, lines: list[Path], tmp_path: Path
) -> None:
    out, options = tmp_path / "out", Options(shard_size=50)
    corpus.encode(tokenizer, lines, tmp_path / "new")
    corpus.encode(tokenizer, lines, out, options=options)
    assert len(contents(out)) > len(contents(tmp_path / "new"))
    with pytest.raises(FileExistsError, match="out is finished; overwrite=True writes it anew"):
        corpus.encode(tokenizer, lines, out)
    with pytest.raises(ValueError, match="give one of them"):
        corpus.encode(tokenizer, lines, out, resume=True, overwrite=True)
    before = contents(out)
    (out / "notes.txt").write_text("mine")
    with pytest.raises(
        FileExistsError, match=r"notes.txt is not a file of an encoded corpus; nothing was"
    ):
        corpus.encode(tokenizer, lines, out, overwrite=True)
    (out / "notes.txt").unlink()
    assert contents(out) == before
    (out / "manifest.json").unlink()  # as if the run had been stopped
    (out / ".journal.jsonl").write_bytes(b"broken\n")
    (out / ".shard-000009.npy.0.part").write_bytes(b"")
    corpus.encode(tokenizer, lines, out, overwrite=True)
    assert contents(out) == contents(tmp_path / "new")
    corpus.encode(tokenizer, lines, tmp_path / "missing", overwrite=True)
    assert contents(tmp_path / "missing") == contents(out)


def test_the_field_of_an_input_is_recorded_and_may_not_change(
    tokenizer: Tokenizer, tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "a", "body": "the cat"}\n' * 9)
    corpus.encode(tokenizer, f"{tmp_path}/a.jsonl:text=body", tmp_path / "out")
    assert documents_in(tmp_path / "out") == [tokenizer.encode("the cat")] * 9
    with pytest.raises(ValueError, match="option fields changed"):
        corpus.encode(tokenizer, tmp_path / "a.jsonl", tmp_path / "out", resume=True)
    corpus.verify(tmp_path / "out", inputs=True)
    (tmp_path / "b.jsonl:text=body").write_text("a file with exactly this name")
    manifest = corpus.encode(tokenizer, f"{tmp_path}/b.jsonl:text=body", tmp_path / "named")
    assert manifest.documents == 1
    assert "fields" not in manifest.options


def test_a_lone_surrogate_is_refused_by_name_whatever_is_done_with_it(
    tokenizer: Tokenizer, tmp_path: Path
) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(b'{"text": "a"}\n\n{"text": "na\\u00efve \\udc00"}\n{"text": "b"}\n')
    works: list[Callable[[], object]] = [
        lambda: Counts.from_files(path),
        lambda: corpus.encode(tokenizer, path, tmp_path / "out"),
        lambda: corpus.stats(tokenizer, path),
    ]
    for work in works:
        with pytest.raises(
            ValueError, match=r"c.jsonl: document 1: lone surrogate '.udc00' at character 6"
        ):
            work()
    assert not list((tmp_path / "out").glob("shard-*"))


def test_a_long_document_is_encoded_in_pieces_to_the_same_ids(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    monkeypatch.setattr(batches, "BLOCK", 1 << 15)
    text = f"It's 東京, naïve {END} cafés\n\n 12345 x" * 9000
    (tmp_path / "long.txt").write_text(text)
    for appended in (None, END):
        out = tmp_path / f"out-{appended is None}"
        options = Options(shard_size=1000, append_special=appended, special="parse")
        corpus.encode(tokenizer, tmp_path / "long.txt", out, options=options)
        end = [] if appended is None else [tokenizer.special_tokens[END]]
        assert documents_in(out) == [tokenizer.encode(text) + end]
        corpus.verify(out)


REFUSED = [
    ({"append_special": "<|none|>"}, "append_special: '<|none|>' is not a special token"),
    ({"dtype": "int32"}, "dtype must be auto, uint16 or uint32"),
]


@pytest.mark.parametrize(("chosen", "message"), REFUSED)
def test_options_that_make_no_sense_are_refused_before_anything_is_made(
    tokenizer: Tokenizer, tmp_path: Path, chosen: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError) as raised:
        corpus.encode(tokenizer, Documents(["a"]), tmp_path / "out", options=Options(**chosen))
    assert message in str(raised.value)
    assert not (tmp_path / "out").exists()


# Stopped and gone on
# -------------------------------------------------------------------------------------


class Stop(Exception):
    """Raised by a document."""


def stopping(texts: Sequence[str], after: int) -> Documents:
    def generate() -> Iterator[str]:
        yield from texts[:after]
        raise Stop

    return Documents(generate())


@pytest.mark.parametrize("shard_size", [50, 333])
def test_a_stopped_run_goes_on_to_the_same_bytes(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shard_size: int
) -> None:

    monkeypatch.setattr(batches, "BLOCK", 100)
    options = Options(shard_size=shard_size)
    corpus.encode(tokenizer, Documents(TEXTS), tmp_path / "whole", options=options)
    for after in (0, 7, 8, 31, 60):
        with pytest.raises(Stop):
            corpus.encode(
                tokenizer, stopping(TEXTS, after), tmp_path / "out", options=options, resume=True
            )
        assert not (tmp_path / "out" / "manifest.json").exists()
        with pytest.raises(ValueError, match="not finished"):
            corpus.verify(tmp_path / "out")
    assert len(list((tmp_path / "out").glob("shard-*"))) > 4
    with pytest.raises(FileExistsError, match="resume=True continues"):
        corpus.encode(tokenizer, Documents(TEXTS), tmp_path / "out", options=options)
    corpus.encode(tokenizer, Documents(TEXTS), tmp_path / "out", options=options, resume=True)
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    corpus.encode(tokenizer, Documents(TEXTS), tmp_path / "out", options=options, resume=True)
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_going_on_with_other_documents_is_refused(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    monkeypatch.setattr(batches, "BLOCK", 100)
    options = Options(shard_size=50)
    with pytest.raises(Stop):
        corpus.encode(tokenizer, stopping(TEXTS, 40), tmp_path / "out", options=options)
    before = contents(tmp_path / "out")
    for others in (["other", *TEXTS[1:]], TEXTS[:3]):
        with pytest.raises(ValueError, match="documents: changed since the run began"):
            corpus.encode(
                tokenizer, Documents(others), tmp_path / "out", options=options, resume=True
            )
    assert contents(tmp_path / "out") == before


def stdin_of(texts: list[str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("|".join(texts).encode())))
    return "-"


def in_memory(texts: list[str]) -> str:
    fsspec.filesystem("memory").pipe("memory://resumed.txt", "|".join(texts).encode())
    return "memory://resumed.txt"


def pipe_of(texts: list[str]) -> str:
    """A pipe that has the same name each time."""
    reading, writing = os.pipe()
    os.dup2(reading, 200)
    os.write(writing, "|".join(texts).encode())
    os.close(writing)
    os.close(reading)
    return "/dev/fd/200"


@pytest.mark.parametrize("kind", ["stdin", "memory", "documents", "pipe"])
@pytest.mark.parametrize("is_finished", [True, False])
def test_an_input_that_no_times_identify_is_read_again_and_compared(
    tokenizer: Tokenizer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    is_finished: bool,
) -> None:
    """It was read to its end; then the run stopped, or went on to the end."""

    def put(texts: list[str]) -> Any:
        if kind == "stdin":
            return stdin_of(texts, monkeypatch)
        if kind == "memory":
            return in_memory(texts)
        return pipe_of(texts) if kind == "pipe" else Documents(texts)

    texts = [f"text {number}" for number in range(40)]
    other = [*texts[:-1], "text 41"]  # as long
    options = Options(reading=Reading(separator="|"))
    out = tmp_path / "out"
    whole = corpus.encode(tokenizer, Documents(texts), tmp_path / "whole", options=options)
    with monkeypatch.context() as patched:
        if not is_finished:
            patched.setattr(Manifest, "save", mock.Mock(side_effect=Stop))
        with contextlib.suppress(Stop):
            corpus.encode(tokenizer, put(texts), out, options=options)
    assert (out / "manifest.json").exists() == is_finished
    for changed in (other, texts[:-1], [*texts, "more"], []):
        source = put(changed)
        with pytest.raises(ValueError, match="changed since"):
            corpus.encode(tokenizer, source, out, options=options, resume=True)
    manifest = corpus.encode(tokenizer, put(texts), out, options=options, resume=True)
    assert manifest.shards == whole.shards
    assert documents_in(out) == [tokenizer.encode(text) for text in texts]
    if kind == "pipe":
        os.close(200)


def test_a_resumed_run_tells_of_all_special_tokens_and_texts_and_what_it_did(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "BLOCK", 100)
    texts = [f"{text}{END * (number % 3)} é" for number, text in enumerate(TEXTS)]
    (tmp_path / "a.txt").write_text("\x1e".join(texts))
    options = Options(shard_size=50, reading=Reading(separator="\x1e"))
    size = sum(len(text.encode()) for text in texts)
    whole = corpus.encode(tokenizer, tmp_path / "a.txt", tmp_path / "whole", options=options)
    assert (whole.special_texts, whole.text_bytes, whole.encoded_bytes) == (60, size, size)
    for shard, in_shard in zip(whole.shards, documents_in_shards(tmp_path / "whole"), strict=True):
        assert shard.special_texts == sum(tokenizer.decode(ids).count(END) for ids in in_shard)
    finish, calls = ShardWriter.finish, itertools.count()

    def stopping_finish(writer: ShardWriter) -> Any:
        if next(calls) == 5:
            raise Stop
        return finish(writer)

    with monkeypatch.context() as patched:
        patched.setattr(ShardWriter, "finish", stopping_finish)
        with pytest.raises(Stop):
            corpus.encode(tokenizer, tmp_path / "a.txt", tmp_path / "out", options=options)
    resumed = corpus.encode(
        tokenizer, tmp_path / "a.txt", tmp_path / "out", options=options, resume=True
    )
    assert resumed == whole
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    assert (resumed.special_texts, resumed.text_bytes) == (60, size)
    assert resumed.encoded_bytes is not None
    assert 0 < resumed.encoded_bytes < size
    again = corpus.encode(
        tokenizer, tmp_path / "a.txt", tmp_path / "out", options=options, resume=True
    )
    assert (again.special_texts, again.text_bytes, again.encoded_bytes) == (60, size, None)


def documents_in_shards(folder: Path) -> list[list[list[int]]]:
    """The ids of each document of each shard."""
    documents = iter(documents_in(folder))
    return [
        list(itertools.islice(documents, shard.documents)) for shard in Manifest.load(folder).shards
    ]


@pytest.fixture
def stopped(tokenizer: Tokenizer, lines: list[Path], tmp_path: Path) -> Path:
    """The folder of a run that was stopped in the third of three files."""
    out = tmp_path / "out"
    good = lines[2].read_bytes()
    lines[2].write_bytes(good[:-1] + b"!")
    with pytest.raises(ValueError, match="not JSON"):
        corpus.encode(tokenizer, lines, out, options=Options(shard_size=50))
    status = lines[2].stat()
    lines[2].write_bytes(good)
    os.utime(lines[2], ns=(status.st_atime_ns, status.st_mtime_ns))
    assert len(list(out.glob("shard-*.npy"))) > 4
    return out


def test_what_changed_refuses_to_go_on_and_is_named(
    tokenizer: Tokenizer, lines: list[Path], stopped: Path
) -> None:
    def refused(
        message: str, model: Tokenizer = tokenizer, paths: Sequence[Path] = lines, **chosen: object
    ) -> None:
        before = contents(stopped)
        options = Options(**{"shard_size": 50, **chosen})  # type: ignore[arg-type] # of a dict
        with pytest.raises(ValueError, match=message):
            corpus.encode(model, paths, stopped, options=options, resume=True)
        assert contents(stopped) == before

    refused("the model changed", model=Tokenizer.train("other", 300))
    refused("option shard_size changed: begun with 50, now 51", shard_size=51)
    refused("option append_special changed", append_special=END)
    refused("option format changed", format="bin")
    refused("option special changed", special="parse")
    refused("option prepend_special changed", prepend_special=END)
    refused("option separator changed", reading=Reading(separator="x"))
    refused("the inputs changed", paths=lines[:2])
    refused("the inputs changed", paths=lines[::-1])
    content, status = lines[0].read_bytes(), lines[0].stat()
    lines[0].write_bytes(content.replace(b"cat", b"dog"))
    refused("part-0.jsonl: changed since it was encoded")
    os.utime(lines[0], ns=(status.st_atime_ns, status.st_mtime_ns))
    refused("part-0.jsonl: changed since it was encoded")
    lines[0].write_bytes(content)
    shard = stopped / "shard-000001.npy"
    kept = shard.read_bytes()
    shard.write_bytes(kept[:-2])
    refused("shard-000001.npy: missing or changed")
    shard.write_bytes(kept)
    corpus.encode(tokenizer, lines, stopped, options=Options(shard_size=50), resume=True)
    corpus.encode(tokenizer, lines, stopped.parent / "whole", options=Options(shard_size=50))
    assert contents(stopped) == contents(stopped.parent / "whole")


def places(node: object) -> Iterator[tuple[Any, Any]]:
    """Every value in a JSON document: its container and its key."""
    items = (
        node.items()
        if isinstance(node, dict)
        else enumerate(node)
        if isinstance(node, list)
        else ()
    )
    for key, inner in items:
        yield node, key
        yield from places(inner)


def test_a_broken_journal_is_refused_by_name(
    tokenizer: Tokenizer, lines: list[Path], stopped: Path
) -> None:
    journal = stopped / ".journal.jsonl"
    whole = journal.read_bytes()
    steps = whole.splitlines(keepends=True)
    written = [json.loads(step[65:]) for step in steps]

    def refused(content: bytes) -> None:
        journal.write_bytes(content)
        with pytest.raises(ValueError, match=r"broken|changed") as refusal:
            corpus.encode(tokenizer, lines, stopped, options=Options(shard_size=50), resume=True)
        assert str(stopped) in str(refusal.value), content

    for content in (b"{", b"[]", b"null", b"[" * 100_000, b"\xff", whole + b"{}"):
        refused(content + b"\n")
        refused(hashed(content))
    for number, step in enumerate(written):
        for nth, (was_in, key) in enumerate(list(places(step))):
            for wrong in (1.5, {"": 1}, *([] if was_in[key] is None else [None])):
                document = copy.deepcopy(written)
                holder, _ = list(places(document[number]))[nth]
                if wrong is None and isinstance(holder, dict):
                    del holder[key]
                else:
                    holder[key] = wrong
                changed = json.dumps(document[number]).encode()
                refused(
                    b"".join(
                        [
                            *steps[:number],
                            steps[number][:65] + changed + b"\n",
                            *steps[number + 1 :],
                        ]
                    )
                )


def hashed(content: bytes) -> bytes:
    """A line of a journal."""
    return hashlib.sha256(content).hexdigest().encode() + b" " + content + b"\n"


def test_a_journal_line_that_was_cut_off_is_forgotten(
    tokenizer: Tokenizer, lines: list[Path], stopped: Path
) -> None:
    corpus.encode(tokenizer, lines, stopped.parent / "whole", options=Options(shard_size=50))
    journal = stopped / ".journal.jsonl"
    content = journal.read_bytes()
    for cut in (1, 2, 100, len(content.splitlines()[-1]) + 1, len(content) - 3):
        journal.write_bytes(content[:-cut])
        copy = stopped.parent / f"copy-{cut}"
        shutil.copytree(stopped, copy)
        if cut == len(content) - 3:  # stopped before anything was written
            for shard in copy.glob("shard-*"):
                shard.unlink()
        corpus.encode(tokenizer, lines, copy, options=Options(shard_size=50), resume=True)
        assert contents(copy) == contents(stopped.parent / "whole")


def test_two_runs_cannot_work_on_one_folder(
    tokenizer: Tokenizer, lines: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"

    def interfering() -> Iterator[str]:
        yield "a"
        with pytest.raises(ValueError, match="another process"):
            corpus.encode(tokenizer, Documents(["b"]), out, resume=True)
        yield "c"

    assert corpus.encode(tokenizer, Documents(interfering()), out).documents == 2


def test_a_folder_with_other_things_in_it_is_left_alone(
    tokenizer: Tokenizer, tmp_path: Path
) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    for resume in (False, True):
        with pytest.raises(FileExistsError, match="not empty"):
            corpus.encode(tokenizer, Documents(["a"]), tmp_path, resume=resume)
    assert {path.name for path in tmp_path.iterdir()} <= {"mine.txt", ".journal.jsonl"}


# Killed, out of room, not allowed
# --------------------------------------------------------------------------


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "bpetite", *map(str, arguments)]


@pytest.fixture
def large(tmp_path: Path, tokenizer: Tokenizer) -> tuple[list[str], Path]:
    """The arguments of a run that takes about a second, and the folder of a run that was not disturbed."""
    tokenizer.save(tmp_path / "tok.json")
    source = tmp_path / "in"
    source.mkdir()
    for number in range(6):
        text = "".join(json.dumps({"text": text * 20 + str(number)}) + "\n" for text in TEXTS * 12)
        (source / f"{number}.jsonl").write_text(text)
    arguments = ["--model", tmp_path / "tok.json", "--input", source, "--shard-size", 60_000]
    arguments += ["--append-special", END]
    whole = command("encode-corpus", *arguments, "--output", tmp_path / "whole")
    subprocess.run(whole, check=True, capture_output=True)
    return [*map(str, arguments)], tmp_path / "whole"


ENDED = """
import itertools, os, sys, threading, time
folder, ended_by, nth, delay = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
changes = itertools.count(1)

def end():
    time.sleep(delay)
    os.kill(os.getpid(), ended_by)

def watch(event, values):
    if event in ("open", "os.rename", "os.remove") and str(values[0]).startswith(folder):
        if next(changes) == nth:
            threading.Thread(target=end, daemon=True).start() if delay else end()

sys.addaudithook(watch)
from bpetite.cli import main
main(sys.argv[5:])
"""
"""Sends its own process a signal when it opens or renames a file of a folder for the nth time, or later."""


def ended(
    folder: Path, ended_by: signal.Signals, nth: int, delay: float, *arguments: object
) -> subprocess.CompletedProcess[bytes]:
    """Run a command that writes to the folder and gets such a signal."""
    given = [folder, int(ended_by), nth, delay, *arguments, "--output", folder]
    return subprocess.run(
        [sys.executable, "-c", ENDED, *map(str, given)], capture_output=True, check=False
    )


def test_killed_at_random_moments_it_ends_with_the_same_bytes(
    large: tuple[list[str], Path], tmp_path: Path
) -> None:
    arguments, whole = large
    out, draw = tmp_path / "out", random.Random(6)
    kills = 0
    while not (out / "manifest.json").exists():
        delay = (
            draw.uniform(0, 0.02) if kills > 2 else 0
        )  # and a late one may find that all is done
        done = ended(
            out, signal.SIGKILL, draw.randint(1, 60), delay, "encode-corpus", *arguments, "--resume"
        )
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        kills += done.returncode != 0
    assert kills > 2
    subprocess.run(
        command("encode-corpus", *arguments, "--output", tmp_path / "out", "--resume"), check=True
    )
    assert contents(tmp_path / "out") == contents(whole)


def test_killed_before_it_removes_the_journal_it_ends_with_the_same_files(
    tokenizer: Tokenizer, lines: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus.encode(tokenizer, lines, tmp_path / "whole")
    out = tmp_path / "out"
    with monkeypatch.context() as patched:
        patched.setattr(Journal, "remove", mock.Mock(side_effect=Stop))
        with pytest.raises(Stop):
            corpus.encode(tokenizer, lines, out)
    (out / ".manifest.json.1-abcd.part").touch()
    assert {path.name for path in out.glob(".*")} == {
        ".journal.jsonl",
        ".manifest.json.1-abcd.part",
    }
    corpus.encode(tokenizer, lines, out, resume=True)
    assert contents(out) == contents(tmp_path / "whole")


def test_two_runs_may_both_remove_the_journal(
    tokenizer: Tokenizer, lines: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that begins between the manifest of another one and its end finds that all is done."""
    out, remove = tmp_path / "out", Journal.remove

    def resume_first(journal: Journal) -> None:
        corpus.encode(tokenizer, lines, out, resume=True)
        remove(journal)

    monkeypatch.setattr(Journal, "remove", resume_first)
    corpus.encode(tokenizer, lines, out)
    assert not list(out.glob(".*"))


def test_interrupted_it_says_so_and_goes_on_later(
    large: tuple[list[str], Path], tmp_path: Path
) -> None:
    arguments, whole = large
    done = ended(tmp_path / "out", signal.SIGINT, 30, 0, "encode-corpus", *arguments)
    assert done.returncode == 130
    assert b"interrupted; the same command with --resume continues\n" in done.stderr
    assert b"Traceback" not in done.stderr
    assert list(tmp_path.glob("out/shard-*.npy"))
    assert not list((tmp_path / "out").glob(".shard-*"))
    (
        tmp_path / "out" / ".manifest.json.1-abcd.part"
    ).touch()  # a process that was killed while it wrote a manifest leaves this
    subprocess.run(
        command("encode-corpus", *arguments, "--output", tmp_path / "out", "--resume"), check=True
    )
    assert contents(tmp_path / "out") == contents(whole)


def test_an_interrupt_while_a_shard_is_begun_leaves_nothing_of_it(
    tokenizer: Tokenizer, lines: list[Path], tmp_path: Path
) -> None:
    begin = ShardWriter.__init__

    def interrupted(self: ShardWriter, *arguments: Any) -> None:
        begin(self, *arguments)
        raise KeyboardInterrupt

    with mock.patch.object(ShardWriter, "__init__", interrupted), pytest.raises(KeyboardInterrupt):
        corpus.encode(tokenizer, lines, tmp_path / "out")
    assert not list((tmp_path / "out").glob("*shard-*"))


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
from bpetite.cli import main
main(sys.argv[2:])
"""


def test_a_disk_without_room_is_an_error_and_later_goes_on(
    large: tuple[list[str], Path], tmp_path: Path
) -> None:
    arguments, whole = large
    run = ["encode-corpus", *arguments, "--output", str(tmp_path / "out"), "--resume"]
    smallest = min(path.stat().st_size for path in whole.glob("shard-*.npy"))
    largest = max(path.stat().st_size for path in whole.glob("shard-*.npy"))
    for limit in (1000, smallest - 1, (smallest + largest) // 2):
        done = subprocess.run(
            [sys.executable, "-c", LIMITED, str(limit), *run],
            capture_output=True,
            check=False,
            text=True,
        )
        assert done.returncode == 1
        assert "File too large" in done.stderr
        assert "Traceback" not in done.stderr
        assert not list((tmp_path / "out").glob(".shard-*"))
    subprocess.run(command(*run), check=True)
    assert contents(tmp_path / "out") == contents(whole)


def test_a_full_disk_is_an_error_and_with_more_room_goes_on(
    large: tuple[list[str], Path], tmp_path: Path
) -> None:
    arguments, whole = large
    disk = tmp_path / "disk"
    run = ["encode-corpus", *arguments, "--output", str(disk / "out"), "--resume"]
    sizes = [path.stat().st_size for path in whole.iterdir()]
    size = sum(sizes)
    with small_disk(disk, size // 2) as mounted:
        limited = (
            command(*run)
            if mounted
            else [sys.executable, "-c", LIMITED, str(max(sizes) // 2), *run]
        )
        done = subprocess.run(limited, capture_output=True, check=False, text=True)
        assert done.returncode == 1
        assert ("No space left on device" if mounted else "File too large") in done.stderr
        assert "Traceback" not in done.stderr
        assert not list((disk / "out").glob(".shard-*"))
        assert not (disk / "out" / "manifest.json").exists()
        assert not mounted or mount("-o", f"remount,size={4 * size}", disk)
        subprocess.run(command(*run), check=True)
        assert contents(disk / "out") == contents(whole)


@pytest.mark.parametrize("method", ["write", "finish"])
def test_whichever_write_fails_no_later_shard_is_called_whole(
    tokenizer: Tokenizer,
    lines: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
) -> None:
    """Shards are completed while the next ones are written: an error in any of them must stop the run."""
    options = Options(shard_size=100)
    corpus.encode(tokenizer, lines, tmp_path / "whole", options=options)
    work = getattr(ShardWriter, method)
    for failing in range(12):
        calls = iter(range(1000))

        def faulty(
            self: ShardWriter,
            *arguments: object,
            calls: Iterator[int] = calls,
            failing: int = failing,
        ) -> object:
            if next(calls) == failing:
                raise OSError(28, "No space left on device")
            return work(self, *arguments)

        out = tmp_path / f"out-{failing}"
        with monkeypatch.context() as patched:
            patched.setattr(ShardWriter, method, faulty)
            with pytest.raises(OSError, match="No space left"):
                corpus.encode(tokenizer, lines, out, options=options)
        whole = contents(tmp_path / "whole")
        assert all(whole[path.name] == path.read_bytes() for path in out.glob("[!.]*"))
        assert not list(out.glob(".shard-*"))
        assert len(list(out.glob("shard-*.npy"))) <= failing
        corpus.encode(tokenizer, lines, out, options=options, resume=True)
        assert contents(out) == whole


def test_a_failed_write_is_told_though_it_stops_encoders_first(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller waits for a batch that is given up because an earlier one could not be written."""

    encode = Job.encoded

    def endless(
        self: Job, source: Any, batch: Any, progress: Callable[..., object], *rest: Any
    ) -> object:
        while batch.first:
            progress("encoding", 0, 0)
        return encode(self, source, batch, progress, *rest)

    def faulty(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(batches, "BLOCK", 100)
    monkeypatch.setattr(Job, "encoded", endless)
    monkeypatch.setattr(ShardWriter, "write", faulty)
    with pytest.raises(OSError, match="No space left"):
        corpus.encode(tokenizer, Documents(TEXTS), tmp_path / "out")


def test_a_tokenizer_that_cannot_be_written_stops_the_run_soon(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first documents are encoded while the tokenizer is written."""

    def faulty(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    endless = itertools.repeat("the cat sat on the mat")
    monkeypatch.setattr(batches, "BLOCK", 100)
    with monkeypatch.context() as patched:
        patched.setattr("bpetite.corpus.run.write_whole", faulty)
        with pytest.raises(OSError, match="No space left"):
            corpus.encode(tokenizer, Documents(endless), tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {".journal.jsonl"}
    corpus.encode(tokenizer, Documents(TEXTS), tmp_path / "out", resume=True)
    corpus.encode(tokenizer, Documents(TEXTS), tmp_path / "whole")
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_a_folder_that_may_not_be_written_to_is_an_error(
    large: tuple[list[str], Path], tmp_path: Path
) -> None:
    arguments, _ = large
    with read_only(tmp_path / "mine") as mine:
        for folder in (f"{mine}/out", "/proc/out", "/dev/null/out"):
            done = subprocess.run(
                command("encode-corpus", *arguments, "--output", folder),
                capture_output=True,
                check=False,
                text=True,
            )
            assert done.returncode == 1
            assert folder in done.stderr
            assert "Traceback" not in done.stderr


def test_a_run_goes_on_in_a_folder_that_was_read_only_for_a_while(
    large: tuple[list[str], Path], tmp_path: Path
) -> None:
    arguments, whole = large
    with read_only(tmp_path / "out") as folder:
        refused = subprocess.run(
            command("encode-corpus", *arguments, "--output", folder),
            capture_output=True,
            check=False,
        )
        assert refused.returncode == 1
    (tmp_path / "out").chmod(0o755)
    subprocess.run(
        command("encode-corpus", *arguments, "--output", tmp_path / "out", "--resume"), check=True
    )
    assert contents(tmp_path / "out") == contents(whole)


# Verifying
# -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shard_format", ["npy", "bin", "megatron"])
def test_verify_finds_every_changed_byte(
    tokenizer: Tokenizer, lines: list[Path], tmp_path: Path, shard_format: ShardFormat
) -> None:
    out = tmp_path / "out"
    corpus.encode(tokenizer, lines, out, options=Options(format=shard_format, shard_size=500))
    draw = random.Random(1)
    for path in sorted(out.iterdir()):
        content = path.read_bytes()
        for place in [0, len(content) - 1, *(draw.randrange(len(content)) for _ in range(6))]:
            changed = bytearray(content)
            changed[place] ^= 1 << draw.randrange(8)
            path.write_bytes(changed)
            with pytest.raises((ValueError, KeyError)):
                corpus.verify(out)
        path.write_bytes(content[:-1])
        with pytest.raises((ValueError, KeyError)):
            corpus.verify(out)
        path.unlink()
        with pytest.raises((FileNotFoundError, ValueError)):
            corpus.verify(out)
        path.write_bytes(content)
    corpus.verify(out, inputs=True)
    lines[1].write_bytes(lines[1].read_bytes() + b"\n")
    corpus.verify(out)
    with pytest.raises(ValueError, match=r"part-1\.jsonl: changed"):
        corpus.verify(out, inputs=True)


def test_verify_finds_shards_of_another_run(
    tokenizer: Tokenizer, lines: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    corpus.encode(tokenizer, lines, out)
    (out / "notes.txt").write_text("kept beside the shards")
    corpus.verify(out)
    for number in (7, 8):
        (out / f"shard-00000{number}.npy").write_bytes(b"")
    with pytest.raises(
        ValueError, match=r"shard-000007\.npy: a shard that is not in the .* \(and 1 more\)"
    ):
        corpus.verify(out)


def test_only_files_of_ids_end_in_npy_and_numpy_loads_the_others(
    tokenizer: Tokenizer, lines: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    manifest = corpus.encode(tokenizer, lines, out, options=Options(shard_size=500))
    ids = [np.load(path) for path in sorted(out.glob("*.npy"))]
    assert [len(shard) for shard in ids] == [shard.tokens for shard in manifest.shards]
    offsets = [np.load(path, mmap_mode="r") for path in sorted(out.glob("*.offsets"))]
    assert [int(shard[-1]) for shard in offsets] == [shard.tokens for shard in manifest.shards]


def test_a_folder_whose_offsets_have_their_former_name_is_read(
    tokenizer: Tokenizer, lines: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    manifest = corpus.encode(tokenizer, lines, out, options=Options(shard_size=500))
    for path in out.glob("*.offsets"):
        path.rename(f"{path}.npy")
    former = copy.deepcopy(manifest)
    former.format_version = 2  # which did not say the bytes of text
    former.inputs = [read._replace(text_bytes=0) for read in manifest.inputs]
    for shard in former.shards:
        shard.files[0] = replace(shard.files[0], name=f"{shard.files[0].name}.npy")
    former.save(out)
    assert corpus.verify(out) == former
    assert (
        corpus.encode(tokenizer, lines, out, options=Options(shard_size=500), resume=True) == former
    )
    former.shards[0].files[0] = replace(former.shards[0].files[0], name="shard-000000.npy")
    former.save(out)
    with pytest.raises(
        ValueError, match=r"shard 0 must be shard-000000\.npy and shard-000000\.offsets"
    ):
        corpus.verify(out)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    offsets = np.array([0, 3, 3, 7], np.uint64)
    (tmp_path / "x.idx").write_bytes(offsets_file(offsets, "megatron", np.dtype("uint16")))
    assert read_offsets(tmp_path / "x.idx", "megatron", "uint16").tolist() == offsets.tolist()
    with pytest.raises(ValueError, match="not the index of int32"):
        read_offsets(tmp_path / "x.idx", "megatron", "int32")
    (tmp_path / "e.bin").write_bytes(b"")
    assert len(read_ids(tmp_path / "e.bin", "bin", "uint16")) == 0


@pytest.mark.parametrize("shard_format", ["npy", "bin", "megatron"])
def test_places_of_documents_are_written_as_they_come(
    tmp_path: Path, shard_format: ShardFormat
) -> None:
    lengths = [3, 0, 7, 1, 1, 0, 2, 9]
    writer = ShardWriter(tmp_path, 0, shard_format, "uint16")
    for first in range(0, len(lengths), 3):
        part = lengths[first : first + 3]
        writer.write(np.arange(sum(part), dtype=np.uint16), np.cumsum(part, dtype=np.uint64))
    shard = writer.finish()
    assert (shard.tokens, shard.documents) == (23, 8)
    places = tmp_path / shard.files[0].name
    assert read_offsets(places, shard_format, "uint16").tolist() == [
        0,
        *np.cumsum(lengths).tolist(),
    ]
    assert hashlib.sha256(places.read_bytes()).hexdigest() == shard.files[0].sha256
    assert len(list(tmp_path.iterdir())) == 2


def test_any_number_of_samples_is_verified_and_no_shard_is_larger_than_numbers_can_say(
    tokenizer: Tokenizer, lines: list[Path], tmp_path: Path
) -> None:
    largest = 2**63 - 1
    corpus.encode(tokenizer, lines, tmp_path / "out", options=Options(shard_size=largest))
    for samples in (0, 1, 2**70):
        assert len(corpus.verify(tmp_path / "out", samples=samples).shards) == 1
    for wrong in (-1, 1.5, True):
        with pytest.raises(
            (ValueError, TypeError), match="samples must be an integer of at least 0"
        ):
            corpus.verify(tmp_path / "out", samples=wrong)  # type: ignore[arg-type]
    for size in (0, largest + 1):
        with pytest.raises(ValueError, match="shard_size must be an integer from 1 to"):
            Options(shard_size=size)
