"""A share of the documents is held out by their hash: the same ones wherever documents are read."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from bpetite import Counts, Tokenizer, corpus
from bpetite._internal.json import Json
from bpetite.corpus import Documents, Options, Reading, is_held_out

CHANCE = random.Random(11)
TEXTS = [
    "".join(CHANCE.choices("ab é東\t", k=CHANCE.randint(1, 40))) + str(number % 150)
    for number in range(400)
]
HELD_OUT = [text for text in TEXTS if is_held_out(text, "20%")]
SIDES = {"train": [text for text in TEXTS if text not in HELD_OUT], "held-out": HELD_OUT}
TOKENIZER = Tokenizer.train("ab ab é東", 262)


def write(folder: Path, form: str) -> tuple[Path, Json]:
    """Write the texts in a format; return the path, and the options for reading it."""
    path = folder / f"corpus.{form}"
    lines = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS)
    if form == "txt":
        path.write_text("|".join(TEXTS), "utf-8")
        return path, {"separator": "|"}
    if form == "folder":
        path.mkdir()
        for number, text in enumerate(TEXTS):
            (path / f"{number:03}.txt").write_text(text, "utf-8")
    elif form == "parquet":
        pyarrow.parquet.write_table(pa.table({"text": TEXTS}), path, row_group_size=37)
    elif form == "jsonl.gz":
        path.write_bytes(gzip.compress(lines.encode()))
    else:
        path.write_text(lines, "utf-8")
    return path, {}


def encoded(folder: Path) -> Counter[tuple[int, ...]]:
    """The documents of a folder of shards, as ids."""
    manifest = corpus.verify(folder)
    ids = np.concatenate(
        [np.load(folder / shard.files[1].name) for shard in manifest.shards]
    ).tolist()
    end = TOKENIZER.special_tokens["<|endoftext|>"]
    documents: list[list[int]] = [[]]
    for token_id in ids:
        if token_id == end:
            documents.append([])
        else:
            documents[-1].append(token_id)
    return Counter(map(tuple, documents[:-1]))


@pytest.mark.parametrize("form", ["txt", "jsonl", "jsonl.gz", "parquet", "folder"])
def test_the_same_documents_are_held_out_in_every_format(tmp_path: Path, form: str) -> None:
    path, how = write(tmp_path, form)
    parts = []
    for side, texts in SIDES.items():
        counts = Counts.from_files(path, **how, hold_out="20%", split=side)  # type: ignore[arg-type]
        assert counts == Counts.from_iterator(texts)
        assert counts.documents == len(texts)
        parts.append(counts)
        options = Options(
            append_special="<|endoftext|>",
            shard_size=1000,
            reading=Reading(**how, hold_out=0.2, split=side),  # type: ignore[arg-type]
        )
        manifest = corpus.encode(TOKENIZER, path, tmp_path / side, options=options, num_threads=2)
        assert manifest.documents == len(texts)
        assert encoded(tmp_path / side) == Counter(map(tuple, TOKENIZER.encode_batch(texts)))
        (fit,) = corpus.stats(TOKENIZER, path, reading=options.reading)
        assert (fit.documents, fit.tokens) == (len(texts), sum(TOKENIZER.count_batch(texts)))
    assert Counts.merge(parts) == Counts.from_files(path, **how)


def test_the_share_that_is_asked_for_is_held_out_and_smaller_shares_are_part_of_larger_ones() -> (
    None
):
    texts = [f"text {number}" for number in range(20_000)]
    held_out = {
        share: {text for text in texts if is_held_out(text, share)}
        for share in (0.01, "2%", "1/4", 0.5)
    }
    for share, expected in ((0.01, 200), ("2%", 400), ("1/4", 5000), (0.5, 10_000)):
        assert abs(len(held_out[share]) - expected) < 5 * expected**0.5
    assert held_out[0.01] < held_out["2%"] < held_out["1/4"] < held_out[0.5]
    assert all(is_held_out(text.encode(), 0.01) for text in held_out[0.01])


def test_training_leaves_out_what_is_held_out(tmp_path: Path) -> None:
    path, _ = write(tmp_path, "jsonl")
    expected = Tokenizer.train_from_iterator(SIDES["train"], 270)
    assert Tokenizer.train_from_files(path, 270, hold_out="20%") == expected


def test_a_long_document_is_held_out_whole(tmp_path: Path) -> None:
    texts = [f"{number} " + "some words " * 600_000 for number in range(8)]
    (tmp_path / "corpus.txt").write_text("|".join(texts))
    held_out = [text for text in texts if is_held_out(text, "50%")]
    assert 0 < len(held_out) < len(texts)
    counts = Counts.from_files(
        tmp_path / "corpus.txt", separator="|", hold_out="50%", split="held-out"
    )
    assert counts == Counts.from_iterator(held_out)


def test_documents_of_an_iterable_are_split_too(tmp_path: Path) -> None:
    for side, texts in SIDES.items():
        options = Options(
            append_special="<|endoftext|>",
            reading=Reading(hold_out="20%", split=side),  # type: ignore[arg-type]
        )
        corpus.encode(TOKENIZER, Documents(TEXTS), tmp_path / side, options=options)
        assert encoded(tmp_path / side) == Counter(map(tuple, TOKENIZER.encode_batch(texts)))


@pytest.mark.parametrize("side", ["train", "held-out"])
def test_a_document_that_is_not_text_is_refused_by_its_number_among_all(
    tmp_path: Path, side: str
) -> None:
    lines = [*TEXTS[:100], "broken"]
    content = "|".join(lines).encode().replace(b"broken", b"br\xffken")
    (tmp_path / "corpus.txt").write_bytes(content)
    with pytest.raises(ValueError, match=r"corpus\.txt: document 100: not valid UTF-8 at byte 2"):
        Counts.from_files(
            tmp_path / "corpus.txt",
            separator="|",
            hold_out="20%",
            split=side,  # type: ignore[arg-type]
        )


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"hold_out": share}, "hold_out must be a share above 0 and below 1")
        for share in (0, 1, -0.1, "100%", "1.5", "one", "", "%", "nan", "1/0", True)
    ]
    + [
        ({"split": "held-out"}, "needs hold_out"),
        ({"hold_out": 0.1, "split": "test"}, "train or held-out"),
    ],
)
def test_a_wrong_share_or_side_is_refused(choice: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Reading(**choice)


def test_a_stopped_run_is_not_continued_with_another_share(tmp_path: Path) -> None:
    path, _ = write(tmp_path, "jsonl")
    options = Options(reading=Reading(hold_out="20%"))
    corpus.encode(TOKENIZER, path, tmp_path / "ids", options=options)
    same = Options(reading=Reading(hold_out=0.2))
    corpus.encode(TOKENIZER, path, tmp_path / "ids", options=same, resume=True)
    for reading in (Reading(), Reading(hold_out="10%"), Reading(hold_out="20%", split="held-out")):
        with pytest.raises(ValueError, match=r"option (hold_out|split) changed"):
            corpus.encode(
                TOKENIZER, path, tmp_path / "ids", options=Options(reading=reading), resume=True
            )


def test_the_commands_hold_out_the_same_documents(tmp_path: Path) -> None:
    path, _ = write(tmp_path, "jsonl")
    TOKENIZER.save(tmp_path / "tok.json")

    def told(*arguments: str) -> Json:
        command = [sys.executable, "-m", "bpetite", *arguments, "--quiet", "--input", str(path)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        read: Json = json.loads(done.stdout)
        return read

    for side, texts in SIDES.items():
        share = ("--hold-out", "20%", "--split", side)
        model = ("--model", "tok.json")
        assert told("count", "--output", f"{side}.parquet", *share)["documents"] == len(texts)
        assert told("encode-corpus", *model, "--output", side, *share)["documents"] == len(texts)
        [measured] = told("stats", *model, "--json", *share)["sources"].values()
        assert measured["documents"] == len(texts)
    told("train", "--vocab-size", "270", "--output", "new.json", "--hold-out", "20%")
    expected = Tokenizer.train_from_iterator(SIDES["train"], 270)
    assert Tokenizer.load(tmp_path / "new.json").fingerprint == expected.fingerprint
