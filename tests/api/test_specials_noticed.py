"""Who counts special tokens as text is told, in Python as on the command line, at their own line of code."""

import gzip
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bpetite import Counts, Tokenizer
from bpetite._engine import TextColumn

TEXT = "one<|endoftext|>two<|endoftext|>three"
TOLD = (
    r"special tokens are in the corpus \('<\|endoftext\|>' 2 times in the 37 bytes looked into\) "
    r"and are counted as text; with dialect='tiktoken' they end documents"
)


def files(folder: Path) -> Iterator[Path]:
    """Yield files with the text in all formats that hold a text."""
    (folder / "a.txt").write_text(TEXT)
    yield folder / "a.txt"
    (folder / "a.jsonl.gz").write_bytes(gzip.compress(json.dumps({"text": TEXT}).encode()))
    yield folder / "a.jsonl.gz"


def column() -> Any:
    import pyarrow as pa

    return pa.array([TEXT])


WAYS: dict[str, Callable[..., object]] = {
    "train": lambda **how: Tokenizer.train(TEXT, 260, **how),
    "a list": lambda **how: Tokenizer.train_from_iterator([TEXT], 260, **how),
    "bytes": lambda **how: Tokenizer.train_from_iterator([TEXT.encode()], 260, **how),
    "a generator": lambda **how: Tokenizer.train_from_iterator(
        (text for text in [TEXT]), 260, **how
    ),
    "Arrow": lambda **how: Tokenizer.train_from_iterator(column(), 260, **how),
    "a column": lambda **how: Counts.from_iterator(TextColumn(column()), **how),
    "counts": lambda **how: Counts.from_iterator([TEXT], **how),
}


@pytest.mark.parametrize("way", WAYS)
def test_texts(way: str) -> None:
    with pytest.warns(UserWarning, match=TOLD) as told:
        WAYS[way]()
    assert [warning.filename for warning in told] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        WAYS[way](dialect="tiktoken")
        WAYS[way](special_tokens=["<s>"])
        WAYS[way](special_tokens=[])


@pytest.mark.parametrize(
    "counted", [Counts.from_files, lambda path: Tokenizer.train_from_files(path, 260)]
)
def test_files(counted: Callable[[Path], object], tmp_path: Path) -> None:
    for path in files(tmp_path):
        with pytest.warns(UserWarning, match=TOLD) as told:
            counted(path)
        assert len(told) == 1


def test_further_tokens_are_learnt_of_what_encoding_merges() -> None:
    tokenizer = Tokenizer.train("ab ab", 258)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        longer = tokenizer.extend([TEXT], add=200)
    special = next(iter(tokenizer.special_tokens))
    learned = [token for own, token in longer.vocabulary.tokens.items() if own > 258]
    assert not any(token in special.encode() for token in learned if len(token) > 3)


@pytest.mark.parametrize(("documents", "characters"), [(1000, 1), (1, 1 << 20)])
def test_only_the_beginning_of_an_iterable_is_looked_into(documents: int, characters: int) -> None:
    texts = ["a" * characters] * documents
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        counts = Counts.from_iterator(iter([*texts, TEXT]))
    assert counts.documents == documents + 1
    with pytest.warns(UserWarning, match="special tokens are in the corpus"):
        Counts.from_iterator(iter([*texts[1:], TEXT]))


@pytest.mark.parametrize("wrong", [[TEXT, 5], [5], (None,)])
def test_what_is_no_text_is_refused_as_ever(wrong: Any) -> None:
    with pytest.raises(TypeError, match="document"):
        Counts.from_iterator(wrong)


def test_the_error_of_an_iterable_is_its_own() -> None:
    def documents() -> Iterator[str]:
        yield "a"
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        Counts.from_iterator(documents())
