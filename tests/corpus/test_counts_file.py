"""Counts as files: what is saved is loaded, parts add up to the whole, and what is wrong is refused."""

import copy
import itertools
import json
import pickle
import re
import struct
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Counts, Dialect, Tokenizer, corpus
from bpetite._engine import Xxh3128
from bpetite.corpus import Reading
from bpetite.counts import file as counts_file
from bpetite.counts import memory_bytes
from bpetite.reading import batches

CORPUS = ["the cat sat on the mat", "naïve café 東京 東京", "the <|endoftext|> cat's 123"] * 3


@pytest.fixture
def counts() -> Counts:
    return Counts.from_iterator(CORPUS, dialect="tiktoken")


def test_a_file_has_the_layout_that_is_documented(counts: Counts, tmp_path: Path) -> None:
    counts.save(tmp_path / "c")
    content = (tmp_path / "c").read_bytes()
    mark, rules, blocks = content.split(b"\n", 2)
    assert mark == b"bpetite counts"
    rows, size, length, count = struct.unpack("<IQBB", blocks[:14])
    assert (rows, length, count) == (len(counts), 1, 1)
    lengths, numbers = blocks[14 : 14 + rows], blocks[14 + rows : 14 + 2 * rows]
    pretokens, ends = blocks[14 + 2 * rows :], [0, *itertools.accumulate(lengths)]
    read = [
        (pretokens[start:end], n) for (start, end), n in zip(pairwise(ends), numbers, strict=True)
    ]
    assert read == sorted(read) == list(counts.items())
    assert pretokens[size : size + 14] == bytes(14)
    digest = Xxh3128()
    digest.update(content[:-16])
    assert pretokens[size + 14 :].hex() == digest.hexdigest()
    assert json.loads(rules) == {
        "format_version": 2,
        "pattern": counts.pattern,
        "boundaries": ["<|endoftext|>"],
        "unmatched_text": "skipped",
        "unicode_version": bpetite_unicode_version(),
        "documents": counts.documents,
        "bytes": counts.bytes,
        "replaced": 0,
        "skipped": 0,
        "total": counts.total,
        "scale": 1,
        "weights": {},
        "dialect": {**vars(Dialect.named("tiktoken"))},
        "special_tokens": ["<|endoftext|>"],
    }


def bpetite_unicode_version() -> str:
    from bpetite._engine import UNICODE_VERSION

    return UNICODE_VERSION


def test_what_is_saved_is_loaded(counts: Counts, tmp_path: Path) -> None:
    for number, made in enumerate([counts, Counts(), counts.weighted(Fraction(3, 2), "a")]):
        path = tmp_path / f"{number}.parquet"
        made.save(path)
        loaded = Counts.load(path)
        assert list(loaded.items()) == list(made.items())
        for name in ("documents", "bytes", "total", "scale", "weights", "pattern", "boundaries"):
            assert getattr(loaded, name) == getattr(made, name)
        loaded.save(tmp_path / "again.parquet", overwrite=True)
        assert (tmp_path / "again.parquet").read_bytes() == path.read_bytes()
    with pytest.raises(FileExistsError):
        counts.save(tmp_path / "0.parquet")


def test_counts_are_equal_where_the_same_was_counted(counts: Counts, tmp_path: Path) -> None:
    counts.save(tmp_path / "c.parquet")
    parts = [Counts.from_iterator([text], dialect="tiktoken") for text in reversed(CORPUS)]
    for same in (
        Counts.load(tmp_path / "c.parquet"),
        Counts.merge(parts),
        pickle.loads(pickle.dumps(counts)),
        copy.deepcopy(counts),
        Counts.from_iterator(CORPUS, dialect="cs336"),  # a dialect that counts in the same way
    ):
        assert same == counts
    for other in (
        Counts.from_iterator(CORPUS[1:], dialect="tiktoken"),
        Counts.from_iterator([*CORPUS, " "], dialect="tiktoken"),
        Counts.from_iterator(CORPUS, dialect="bpetite"),
        Counts.from_iterator(CORPUS, dialect="tiktoken", pattern="o200k"),
        counts.weighted(2),
        counts.weighted(Fraction(1, 2)),
        list(counts.items()),
    ):
        assert other != counts
    assert Counts.from_iterator(["a"]) != Counts.from_iterator(["a\0"])


def test_blocks_do_not_depend_on_how_the_rows_were_counted(tmp_path: Path) -> None:
    words = [f" {number:06d}" for number in range(140_000)]
    Counts.from_iterator(words).save(tmp_path / "whole", num_threads=1)
    Counts.from_iterator(words[::-1], memory_limit="1MB").save(tmp_path / "parts", num_threads=3)
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()
    assert [len(ends) for _, ends, _ in counts_file.read_counts(tmp_path / "whole")[1]][:2] == [
        65_536
    ] * 2


@settings(max_examples=25)
@given(cuts=st.lists(st.integers(0, len(CORPUS)), max_size=4), vocab_size=st.integers(257, 300))
def test_training_on_merged_parts_gives_the_same_artifact(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], vocab_size: int
) -> None:
    folder = tmp_path_factory.mktemp("parts")
    bounds = [0, *sorted(cuts), len(CORPUS)]
    for number, (start, end) in enumerate(pairwise(bounds)):
        Counts.from_iterator(CORPUS[start:end], dialect="tiktoken").save(
            folder / f"{number}.parquet"
        )
    merged = Counts.merge(Counts.load(path) for path in sorted(folder.glob("*.parquet")))
    merged.save(folder / "merged")
    Counts.from_iterator(CORPUS, dialect="tiktoken").save(folder / "whole")
    assert (folder / "merged").read_bytes() == (folder / "whole").read_bytes()
    for name, made in (("a", merged), ("b", Counts.from_iterator(CORPUS, dialect="tiktoken"))):
        Tokenizer.train_from_counts(made, vocab_size, dialect="tiktoken").save(folder / name)
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()


def test_numbers_of_every_width_are_read_back(tmp_path: Path) -> None:
    for width in (1, 2, 4, 8):
        made = Counts(pattern=r"[^\n]+")
        lengths = [1, min(256 ** (width // 2), 70_000), 2]
        joined = b"".join(letter * n for letter, n in zip((b"a", b"b", b"c"), lengths, strict=True))
        numbers = np.array([1, 256**width - 9, 3], np.uint64)
        made._table.add_counts(joined, np.cumsum(lengths, dtype=np.uint64), numbers)
        made.save(tmp_path / str(width))
        assert Counts.load(tmp_path / str(width)) == made


def test_every_changed_byte_is_found(counts: Counts, tmp_path: Path) -> None:
    path = tmp_path / "c"
    counts.save(path)
    content = path.read_bytes()
    for place in range(len(content)):
        for changed in (content[place] ^ 1, content[place] ^ 128):
            path.write_bytes(content[:place] + bytes([changed]) + content[place + 1 :])
            with pytest.raises(ValueError, match=re.escape(str(path))):
                Counts.load(path)
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match=re.escape(str(path))):
            Counts.load(path)
    with pytest.raises(FileNotFoundError):
        Counts.load(tmp_path / "none")


def test_counts_by_other_rules_do_not_add_up(counts: Counts) -> None:
    for other, what in (
        (Counts(pattern="o200k", dialect="tiktoken"), "pattern"),
        (Counts(), "boundaries"),
        (Counts(dialect="tiktoken", special_tokens=["<x>"]), "boundaries"),
    ):
        with pytest.raises(ValueError, match=f"^counted with the {what} .* is needed; leave out"):
            Counts.merge([counts, other])
    with pytest.raises(ValueError, match="no counts"):
        Counts.merge([])


@given(
    a=st.lists(st.sampled_from(["ab", "abc", "b c"]), max_size=6),
    b=st.lists(st.sampled_from(["ab", "abd", "b c"]), max_size=6),
    weights=st.tuples(*[st.fractions(Fraction(1, 4), 4, max_denominator=4)] * 2),
)
def test_weights_are_exact(a: list[str], b: list[str], weights: tuple[Fraction, Fraction]) -> None:
    parts = [
        Counts.from_iterator(texts).weighted(weight)
        for texts, weight in zip((a, b), weights, strict=True)
    ]
    merged = Counts.merge(parts)
    expected: dict[bytes, Fraction] = {}
    for texts, weight in zip((a, b), weights, strict=True):
        for pretoken, count in Counts.from_iterator(texts).items():
            expected[pretoken] = expected.get(pretoken, Fraction(0)) + count * weight
    assert {
        pretoken: Fraction(count, merged.scale) for pretoken, count in merged.items()
    } == expected
    assert merged.documents == len(a) + len(b)
    repeated = Counts.from_iterator(a * int(weights[0] * 12) + b * int(weights[1] * 12))
    assert train(merged) == train(repeated)


def train(counts: Counts) -> Any:
    return Tokenizer.train_from_counts(counts, 300).merges


def test_a_weight_that_overflows_is_an_error(counts: Counts) -> None:
    with pytest.raises(OverflowError, match="does not fit 64 bits"):
        counts.weighted(2**63)
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="above 0"):
            counts.weighted(wrong)


def test_min_count_is_in_occurrences_whatever_the_scale() -> None:
    counts = Counts.from_iterator(["aa", "aa", "bb"])
    scaled = counts.weighted(Fraction(1, 3)).weighted(3)
    assert scaled.scale == 3
    for min_count in (1, 2, 3):
        plain = Tokenizer.train_from_counts(counts, 300, min_count=min_count)
        assert Tokenizer.train_from_counts(scaled, 300, min_count=min_count).merges == plain.merges


def test_sizes_are_written_as_people_write_them() -> None:
    for text, size in (
        ("4096", 4096),
        ("2GB", 2 * 10**9),
        ("1.5 GiB", 3 * 2**29),
        ("500mb", 5 * 10**8),
        ("64K", 64000),
    ):
        assert memory_bytes(text) == size
    assert memory_bytes(None) is None
    for wrong in ("", "GB", "2XB", "-1", "1e9", "0", 0, -5, "1ib"):
        with pytest.raises(ValueError, match="memory_limit"):
            memory_bytes(wrong)
    for no_size in (True, 1.5):
        with pytest.raises(TypeError, match="memory_limit"):
            memory_bytes(no_size)  # type: ignore[arg-type] # what is refused


# Counting through sources
# ----------------------------------------------------------------------------------


def test_every_source_gives_the_same_counts(tmp_path: Path) -> None:
    whole = Counts.from_iterator(CORPUS)
    (tmp_path / "c.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in CORPUS))
    pyarrow.parquet.write_table(pyarrow.table({"text": CORPUS}), tmp_path / "c.parquet")
    (tmp_path / "c.txt").write_text("\x00".join(CORPUS))
    (tmp_path / "c").mkdir()
    for number, text in enumerate(CORPUS):
        (tmp_path / "c" / f"{number}.txt").write_text(text)
    for name in ("c.jsonl", "c.parquet", "c.txt", "c"):
        counts = Counts.from_files(tmp_path / name, separator="\x00" if name == "c.txt" else None)
        assert list(counts.items()) == list(whole.items())
        assert (counts.documents, counts.bytes) == (whole.documents, whole.bytes)


def test_a_long_document_in_pieces_is_counted_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import gzip

    monkeypatch.setattr(batches, "BLOCK", 1 << 15)
    text = "It's 東京, naïve <|endoftext|> cafés\n\n 12345 x" * 9000
    (tmp_path / "long.gz").write_bytes(gzip.compress(text.encode()))
    for dialect in ("bpetite", "tiktoken"):
        counts = Counts.from_files(tmp_path / "long.gz", dialect=dialect)
        whole = Counts.from_iterator([text], dialect=dialect)
        assert list(counts.items()) == list(whole.items())
        assert (counts.documents, counts.bytes) == (whole.documents, whole.bytes)


def test_weights_of_sources_are_applied_and_recorded(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x y")
    (tmp_path / "b.txt").write_text("x")
    counts = Counts.from_files(
        [f"{tmp_path}/a.txt:2.0", f"{tmp_path}/b.txt:1.5", tmp_path / "b.txt"]
    )
    assert (dict(counts.items()), counts.scale) == ({b"x": 9, b" y": 4}, 2)
    assert counts.weights == {f"{tmp_path}/a.txt": "2", f"{tmp_path}/b.txt": "3/2"}


@pytest.mark.parametrize("bad", [0, 5, 6, 38, 39, 40, 77, 133, 199])
def test_a_bad_byte_is_named_by_its_place_in_the_document_however_often_that_was_cut(
    tmp_path: Path, bad: int
) -> None:
    document = (b"some words " * 20)[:bad] + b"\xff" + (b"some words " * 20)[bad:]
    (tmp_path / "c.txt").write_bytes(b"first|" + document + b"|last\xff")
    tokenizer = Tokenizer.train("some words and more", 260)
    reading = Reading(separator="|")
    options = corpus.Options(reading=reading)
    with mock.patch.object(batches, "BLOCK", 24):
        for read in (
            lambda: Counts.from_files(tmp_path / "c.txt", **reading.to_dict()),
            lambda: corpus.encode(tokenizer, tmp_path, tmp_path / "o", options=options),
        ):
            with pytest.raises(
                ValueError, match=rf"c\.txt: document 1: not valid UTF-8 at byte {bad}$"
            ):
                read()


def test_an_invalid_document_is_named_wherever_it_is(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"{number:02}.txt").write_bytes(
            b"good|good|" + (b"b\xff" if number == 23 else b"good")
        )
    with pytest.raises(ValueError, match=r"23\.txt: document 2: not valid UTF-8 at byte 1"):
        Counts.from_files(tmp_path, separator="|")
    replaced = Counts.from_files(tmp_path, separator="|", invalid="replace")
    assert replaced.beside.replaced == 1
    skipped = Counts.from_files(tmp_path, separator="|", invalid="skip")
    assert (skipped.beside.skipped, skipped.documents) == (1, replaced.documents - 1)
    skipped.save(tmp_path / "c.parquet")
    assert Counts.load(tmp_path / "c.parquet").beside.skipped == 1


def test_loading_tells_how_far_it_has_come(tmp_path: Path) -> None:
    path = tmp_path / "counts"
    table = Counts()
    words = b"".join(b"%06x" % number for number in range(300_000))
    ends = np.arange(6, len(words) + 6, 6, dtype=np.uint64)
    table._table.add_counts(words, ends, np.ones(len(ends), np.uint64))
    table.save(path)
    told: list[tuple[str, int, int]] = []
    assert Counts.load(path, progress=lambda *step: told.append(step)) == table
    size = path.stat().st_size
    assert len(told) == 5
    assert told == sorted(told)
    assert told[-1] == ("loading", size, size)


def test_progress_reaches_the_size_of_the_corpus(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a " * 50_000)
    (tmp_path / "b.jsonl").write_text('{"text": "b"}\n' * 5000)
    told: list[tuple[str, int, int]] = []
    Counts.from_files(
        [tmp_path / "a.txt", tmp_path / "b.jsonl"], progress=lambda *step: told.append(step)
    )
    assert {(stage, total) for stage, _, total in told} == {("counting", 170_000), ("documents", 0)}
    for counted, last in (("counting", 170_000), ("documents", 5001)):
        done = [done for stage, done, _ in told if stage == counted]
        assert done == sorted(done)
        assert done[-1] == last


def test_counting_within_a_memory_limit_gives_the_same_file(tmp_path: Path) -> None:
    for part in range(4):
        first = part * 9_000
        words = " ".join(f"w{number * 7919 % 60_013}x" for number in range(first, first + 30_000))
        (tmp_path / f"{part}.txt").write_text(words)
    paths = sorted(tmp_path.glob("*.txt"))
    Counts.from_files(paths).save(tmp_path / "whole.parquet")
    for separator in (None, " w1"):
        Counts.from_files(paths, separator=separator).save(tmp_path / "free", overwrite=True)
        Counts.from_files(paths, separator=separator, memory_limit="300KB").save(
            tmp_path / "limited", overwrite=True
        )
        assert (tmp_path / "limited").read_bytes() == (tmp_path / "free").read_bytes()
    for path in paths:
        Counts.from_files(path).save(path.with_suffix(".parquet"))
    parts = [Counts.load(path.with_suffix(".parquet"), memory_limit="300KB") for path in paths]
    Counts.merge(parts, memory_limit="300KB").save(tmp_path / "merged")
    assert (tmp_path / "merged").read_bytes() == (tmp_path / "whole.parquet").read_bytes()
