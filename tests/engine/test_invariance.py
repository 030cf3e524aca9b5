"""The same corpus and settings give the same bytes, whatever the threads, order, partition or hash seed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite import Counts, Tokenizer, _persistence
from bpetite.dialect import DIALECTS
from standard_library import standard_library_files

DOCUMENTS = st.lists(st.text(alphabet="ab é<|x|>\n'1", max_size=30), max_size=12)


def artifact(tokenizer: Tokenizer) -> bytes:
    return _persistence.artifact_bytes(tokenizer.vocabulary)


@given(documents=DOCUMENTS, data=st.data())
def test_the_order_of_documents_makes_no_difference(
    documents: list[str], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(documents))
    for name in DIALECTS:
        train = [
            Tokenizer.train_from_iterator(order, 300, dialect=name, special_tokens=["<|x|>"])
            for order in (documents, shuffled)
        ]
        assert artifact(train[0]) == artifact(train[1])


@given(documents=DOCUMENTS, cut=st.integers(0, 12))
def test_counts_of_parts_add_up_to_counts_of_the_whole(documents: list[str], cut: int) -> None:
    whole = Counts.from_iterator(documents)
    parts = Counts.merge(
        [Counts.from_iterator(documents[:cut]), Counts.from_iterator(documents[cut:])]
    )
    assert list(whole.items()) == list(parts.items())
    assert (whole.total, whole.documents, whole.bytes) == (
        parts.total,
        parts.documents,
        parts.bytes,
    )


@pytest.mark.parametrize("name", list(DIALECTS))
def test_threads_and_ways_of_reading_make_no_difference(name: str) -> None:
    files = standard_library_files()[::20]
    texts = [path.read_bytes() for path in files]
    artifacts = {
        artifact(Tokenizer.train_from_files(files, 1000, dialect=name, num_threads=threads))
        for threads in (None, 1, 2, 3, 7)
    }
    artifacts.add(artifact(Tokenizer.train_from_iterator(texts, 1000, dialect=name)))
    artifacts.add(
        artifact(
            Tokenizer.train_from_iterator([text.decode() for text in texts], 1000, dialect=name)
        )
    )
    artifacts.add(artifact(Tokenizer.train_from_files(reversed(files), 1000, dialect=name)))
    assert len(artifacts) == 1


def test_hash_seeds_make_no_difference(tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text("the cat sat on the mat, the bat sat on the hat\n" * 3)
    for seed in ("0", "1", "4242"):
        subprocess.run(
            [sys.executable, "-m", "bpetite", "train", "--quiet", "--vocab-size", "290", "--dialect", "cs336",
             "--input", str(tmp_path / "corpus.txt"), "--output", str(tmp_path / f"{seed}.json")],
            env={**os.environ, "PYTHONHASHSEED": seed}, check=True, capture_output=True,
        )  # fmt: skip
    assert len({path.read_bytes() for path in tmp_path.glob("*.json")}) == 1
