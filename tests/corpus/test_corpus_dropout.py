"""A corpus with dropout: each document has its number, however the run is divided or stopped."""

import itertools
import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bpetite import Tokenizer, corpus
from bpetite.cli import run
from bpetite.corpus import Documents, Options, Reading, cluster
from bpetite.corpus.job import Job
from bpetite.corpus.shards import ShardWriter, read_ids, read_offsets
from bpetite.corpus.verification import _Samples
from bpetite.reading import batches
from bpetite.reading.documents import read_batches
from bpetite.reading.sources import Input

TEXTS = [f"document {number}: the cat sat on the mat, naïve 東京\n" * 3 for number in range(40)]
TEXTS[17] *= 1000
END = "<|endoftext|>"


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train("".join(TEXTS), 400)


@pytest.fixture
def inputs(tmp_path: Path) -> list[Path]:
    """The texts in three inputs, the longest of which is read in pieces."""
    paths = [tmp_path / "a.jsonl", tmp_path / "b.txt", tmp_path / "c.jsonl"]
    parts = [TEXTS[:9], TEXTS[9:30], TEXTS[30:]]
    for path, part in zip(paths, parts, strict=True):
        lines = "".join(json.dumps({"text": text}) + "\n" for text in part)
        path.write_text(lines if path.suffix == ".jsonl" else "\x1e".join(part), "utf-8")
    return paths


def documents_in(folder: Path) -> list[list[int]]:
    found: list[list[int]] = []
    manifest = json.loads((folder / "manifest.json").read_bytes())
    for number in range(len(manifest["shards"])):
        ids = read_ids(folder / f"shard-{number:06d}.npy", "npy", "uint16")
        offsets = read_offsets(folder / f"shard-{number:06d}.offsets", "npy", "uint16")
        found += [ids[a:b].tolist() for a, b in itertools.pairwise(offsets.tolist())]
    return found


def options(**changes: Any) -> Options:
    chosen: dict[str, Any] = {"dropout": 0.3, "seed": 5, "append_special": END, "shard_size": 400}
    return Options(**{**chosen, **changes}, reading=Reading(separator="\x1e"))


def test_ids_are_those_of_the_texts_as_one_batch(
    tokenizer: Tokenizer, inputs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = tokenizer.encode_batch(TEXTS, append=END, dropout=0.3, seed=5)
    assert expected != tokenizer.encode_batch(TEXTS, append=END)
    manifest = corpus.encode(tokenizer, inputs, tmp_path / "whole", options=options())
    assert documents_in(tmp_path / "whole") == expected
    assert (manifest.options["dropout"], manifest.options["seed"]) == (0.3, 5)
    monkeypatch.setattr(batches, "BLOCK", 1 << 13)
    reading = Job.make(tokenizer, inputs, options(), tmp_path / "none").options.reading
    pieces = [batch for batch in read_batches(Input(str(inputs[1])), reading) if batch.goes_on]
    assert len(pieces) > 5
    for threads in (1, 3):
        folder = tmp_path / f"by {threads}"
        corpus.encode(tokenizer, inputs, folder, options=options(), num_threads=threads)
        assert documents_in(folder) == expected
        corpus.verify(folder, samples=100, inputs=True)
    corpus.encode(tokenizer, Documents(TEXTS), tmp_path / "given", options=options())
    assert documents_in(tmp_path / "given") == expected
    corpus.verify(tmp_path / "given", samples=100)


class Stop(Exception):
    pass


@pytest.mark.parametrize("stop", [0, 1, 3, 4, 5])
def test_a_stopped_run_goes_on_to_the_same_ids(
    tokenizer: Tokenizer,
    inputs: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stop: int,
) -> None:
    monkeypatch.setattr(batches, "BLOCK", 1 << 13)
    finish, calls = ShardWriter.finish, itertools.count()

    def stopping_finish(writer: ShardWriter) -> Any:
        if next(calls) == stop:
            raise Stop
        return finish(writer)

    output = tmp_path / "out"
    with monkeypatch.context() as patched:
        patched.setattr(ShardWriter, "finish", stopping_finish)
        with pytest.raises(Stop):
            corpus.encode(tokenizer, inputs, output, options=options())
    refused: list[tuple[dict[str, Any], str]] = [
        ({"seed": 6}, "option seed changed: begun with 5, now 6"),
        ({"dropout": 0.2}, r"option dropout changed: begun with 0\.3, now 0\.2"),
        ({"dropout": None, "seed": None}, r"option dropout changed: begun with 0\.3, now None"),
    ]
    for changes, reason in refused:
        if stop:
            with pytest.raises(ValueError, match=reason):
                corpus.encode(tokenizer, inputs, output, options=options(**changes), resume=True)
    corpus.encode(tokenizer, inputs, output, options=options(), resume=True)
    expected = tokenizer.encode_batch(TEXTS, append=END, dropout=0.3, seed=5)
    assert documents_in(output) == expected


def test_without_dropout_the_manifest_is_as_ever(tokenizer: Tokenizer, tmp_path: Path) -> None:
    without: list[dict[str, Any]] = [{"dropout": 0, "seed": 3}, {"dropout": None, "seed": None}]
    for number, off in enumerate(without):
        folder = tmp_path / str(number)
        corpus.encode(tokenizer, Documents(TEXTS), folder, options=options(**off))
        assert documents_in(folder) == tokenizer.encode_batch(TEXTS, append=END)
        assert "dropout" not in json.loads((folder / "manifest.json").read_bytes())["options"]


def test_ids_of_another_seed_are_found(tokenizer: Tokenizer, tmp_path: Path) -> None:
    corpus.encode(tokenizer, Documents(TEXTS), tmp_path / "ids", options=options())
    recorded = json.loads((tmp_path / "ids" / "manifest.json").read_bytes())["options"]
    for seed in (5, 6):
        samples = _Samples(tokenizer, {**recorded, "seed": seed})
        [first, *_] = documents_in(tmp_path / "ids")
        with (
            pytest.raises(ValueError, match="encodes to other ids") if seed == 6 else nullcontext()
        ):
            samples.check("document 0", 0, np.array(first))


def test_the_command_encodes_with_dropout(
    tokenizer: Tokenizer,
    inputs: list[Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    tokenizer.save(tmp_path / "tok.json")
    command = ["encode-corpus", str(tmp_path / "tok.json"), *map(str, inputs), "--quiet"]
    command += ["--append-special", END, "--separator", "\x1e", "--output"]
    assert run([*command, str(tmp_path / "ids"), "--dropout", "0.3", "--seed", "5"]) == 0
    expected = tokenizer.encode_batch(TEXTS, append=END, dropout=0.3, seed=5)
    assert documents_in(tmp_path / "ids") == expected
    capsys.readouterr()
    for arguments, reason in (
        (["--dropout", "1.5"], "--dropout must be a number from 0 to 1, not 1.5"),
        (["--dropout", "nan"], "--dropout must be a number from 0 to 1, not nan"),
        (["--seed", "5"], "--seed needs --dropout, which was not given"),
        (["--dropout", "0.1", "--seed", "-1"], "--seed must be an integer from 0 to"),
        (["--dropout", "0.1", "--cluster", "local"], "--dropout depends on the numbers of doc"),
    ):
        assert run([*command, str(tmp_path / "not"), *arguments]) == 1
        assert reason in capsys.readouterr().err
        assert not (tmp_path / "not").exists()


def test_a_cluster_refuses_dropout(
    tokenizer: Tokenizer, inputs: list[Path], tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="dropout depends on the numbers of documents"):
        cluster.encode(tokenizer, inputs, tmp_path / "out", options=options())
