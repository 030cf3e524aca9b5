"""Integers as arguments: whatever Python takes for an index is one, and nothing else is."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bpetite import Counts, Dialect, Tokenizer, Vocabulary, corpus, cs336, symbols
from bpetite.reading.options import Reading

TEXT = "the cat sat on the mat, the cat sat on the hat"
TOKENIZER = Tokenizer.train(TEXT, 270)
COUNTS = Counts.from_iterator([TEXT])
BASE = {byte: bytes([byte]) for byte in range(256)}


class Index:
    """An integer of an unknown type."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __index__(self) -> int:
        return self._number


def encoded(folder: Path, **options: Any) -> list[list[int]]:
    """The ids of shards, and the number of tokens of each."""
    threads = options.pop("num_threads", None)
    (folder / "c.txt").write_text(TEXT)
    corpus.encode(
        TOKENIZER,
        folder / "c.txt",
        folder / "ids",
        options=corpus.Options(reading=Reading(separator=" "), **options),
        num_threads=threads,
    )
    paths = sorted([*(folder / "ids").glob("*.npy"), *(folder / "ids").glob("*.offsets")])
    return [np.load(path).tolist() for path in paths]


def verified(folder: Path, samples: Any) -> int:
    encoded(folder)
    return corpus.verify(folder / "ids", samples=samples).tokens


def special(token_id: Any) -> Any:
    return dict(Vocabulary(BASE, [], {"<|x|>": token_id}).special_tokens)


def trained_on_file(folder: Path, size: Any) -> list[Any]:
    (folder / "c.txt").write_text(TEXT)
    return list(cs336.train_bpe(folder / "c.txt", size, ["<|x|>"]))


TAKERS: dict[str, tuple[int, Callable[[Path, Any], object]]] = {
    "vocab_size": (262, lambda _, n: Tokenizer.train(TEXT, n).merges),
    "vocab_size of files": (262, trained_on_file),
    "vocab_size to truncate to": (262, lambda _, n: TOKENIZER.truncate(n).merges),
    "vocab_size of a plan": (262, lambda _, n: Dialect().planned_tokens(n, 1)),
    "min_count": (
        2,
        lambda _, n: Tokenizer.train_from_counts(COUNTS, 270, min_count=n).fingerprint,
    ),
    "max_words": (
        1,
        lambda _, n: Tokenizer.train_from_counts(COUNTS, 270, max_words=n).fingerprint,
    ),
    "max_token_length": (
        3,
        lambda _, n: Tokenizer.train_from_counts(COUNTS, 270, max_token_length=n).fingerprint,
    ),
    "add": (2, lambda _, n: TOKENIZER.extend([TEXT + "dog dog"], n).merges),
    "max_tokens": (3, lambda _, n: TOKENIZER.fit(TEXT, n)),
    "size": (3, lambda _, n: list(TOKENIZER.chunks(TEXT, n))),
    "overlap": (1, lambda _, n: list(TOKENIZER.chunks(TEXT, 3, overlap=n))),
    "num_merges": (2, lambda _, n: symbols.train_bpe([["a", "b", "a", "b"]], n)),
    "memory_limit": (9999, lambda _, n: list(Counts.from_iterator([TEXT], memory_limit=n).items())),
    "num_threads": (2, lambda _, n: TOKENIZER.encode_batch([TEXT, TEXT], num_threads=n)),
    "num_threads of training": (
        2,
        lambda _, n: Tokenizer.train_from_counts(COUNTS, 270, num_threads=n).merges,
    ),
    "num_threads of counting": (
        2,
        lambda _, n: list(Counts.from_iterator([TEXT], num_threads=n).items()),
    ),
    "num_threads of a corpus": (2, lambda folder, n: encoded(folder, num_threads=n)),
    "shard_size": (5, lambda folder, n: encoded(folder, shard_size=n)),
    "samples": (3, verified),
    "special_tokens": (300, lambda _, n: special(n)),
    "ids": (97, lambda _, n: (TOKENIZER.token_bytes(n), TOKENIZER.decode([n]))),
    "ids of a stream": (97, lambda _, n: TOKENIZER.decode_stream().push(n)),
}


@pytest.mark.parametrize("name", TAKERS)
def test_every_type_of_integer_is_taken(name: str, tmp_path: Path) -> None:
    number, take = TAKERS[name]
    answers: list[object] = []
    for kind in (int, np.int64, np.uint32, np.uint16, Index):
        folder = tmp_path / str(len(answers))
        folder.mkdir()
        answers.append(take(folder, kind(number)))
    assert all(answer == answers[0] for answer in answers)


@pytest.mark.parametrize("name", TAKERS)
def test_what_is_no_integer_is_refused(name: str, tmp_path: Path) -> None:
    number, take = TAKERS[name]
    for wrong in (float(number), np.float64(number), np.array([[number]]), True, "many"):
        with pytest.raises((ValueError, TypeError)) as refused:
            take(tmp_path, wrong)
        assert name.split()[0] in str(refused.value) or refused.type is TypeError
        if (tmp_path / "ids").exists():
            shutil.rmtree(tmp_path / "ids")
