"""Training on normalized text: the engine counts what the specification counts, and every door says it."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from bpetite import Counts, Tokenizer, Vocabulary
from bpetite._trainer import train_bpe
from bpetite.normalization import steps_in
from test_cli import bpetite, check_failed

DECOMPOSED = (
    "cafe\u0301s na\u0131\u0308ve e\u0301te\u0301 <|endoftext|>\u0301e u\u0308ber \ufb01n " * 5
)
NORMALIZATIONS: list[Any] = [
    "NFC",
    "NFD",
    "NFKC",
    "NFKD",
    "Lowercase",
    (("NFD",), ("Replace", "e", "E")),
]


@pytest.mark.parametrize("dialect", ["bpetite", "cs336", "huggingface", "tiktoken"])
@pytest.mark.parametrize("normalization", NORMALIZATIONS, ids=str)
def test_training_learns_what_the_specification_learns_of_normalized_text(
    normalization: Any, dialect: str, tmp_path: Path
) -> None:
    how: dict[str, Any] = {"dialect": dialect, "normalization": normalization}
    expected = train_bpe(DECOMPOSED, 300, dialect=dialect, normalization=steps_in(normalization))
    tok = Tokenizer.train_from_iterator([DECOMPOSED], 300, **how)
    assert tuple(tok.merges) == expected.merges
    assert tok.vocabulary.normalization == normalization
    (tmp_path / "a.txt").write_text(DECOMPOSED, encoding="utf-8")
    assert Tokenizer.train_from_files(tmp_path / "a.txt", 300, num_threads=2, **how) == tok
    assert Tokenizer.train_from_counts(Counts.from_iterator([DECOMPOSED], **how), 300) == tok
    tok.save(tmp_path / "tok.json")
    assert Tokenizer.load(tmp_path / "tok.json") == pickle.loads(pickle.dumps(tok)) == tok


def test_a_long_document_is_normalized_as_a_whole(tmp_path: Path) -> None:
    text = "e\u0301t\u00e9 a\u0323\u0301 " * 300_000
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    how: dict[str, Any] = {"normalization": "NFC", "num_threads": 3}
    counts = Counts.from_files(tmp_path / "a.txt", **how)
    assert dict(counts.items()) == dict(Counts.from_iterator([text], **how).items())
    assert all("e\u0301" not in pretoken.decode() for pretoken, _ in counts.items())


def test_a_trained_normalization_reaches_tokenizers(tmp_path: Path) -> None:
    tok = Tokenizer.train_from_iterator(
        [DECOMPOSED], 300, dialect="huggingface", normalization="NFC", special_tokens=["<s>"]
    )
    tok.to_huggingface(tmp_path / "tokenizer.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in (DECOMPOSED, "e\u0301"):
        assert tok.encode(text) == theirs.encode(text).ids


def normalized() -> Tokenizer:
    """A vocabulary with a normalization, as Qwen's."""
    tok = Tokenizer.train_from_iterator(["the cat"], 259)
    vocabulary = tok.vocabulary
    return Tokenizer(
        Vocabulary(
            vocabulary.tokens, vocabulary.merges, vocabulary.special_tokens, normalization="NFC"
        )
    )


def test_extending_learns_only_tokens_that_normalized_text_gives() -> None:
    tok = normalized()
    text = "cafe\u0301 e\u0301te\u0301 " * 9
    extended = tok.extend([text], 6)
    assert extended == tok.extend(["caf\u00e9 \u00e9t\u00e9 " * 9], 6)
    new = set(extended.vocabulary.merge_ids) - set(tok.vocabulary.merge_ids)
    assert len(new) == 6
    assert new <= set(extended.encode(text)) | {
        part for pair in extended.merges for part in pair if part in new
    }
    counts = Counts.from_iterator([text], normalization="NFC")
    assert tok.extend(counts, 6) == extended
    with pytest.raises(
        ValueError, match="counted with the normalization none, but 'NFC' is needed"
    ):
        tok.extend(Counts.from_iterator([text]), 6)
    with pytest.raises(
        ValueError, match="counted with the normalization 'NFC', but none is needed"
    ):
        Tokenizer.train("ab", 257).extend(counts, 6)


def test_counts_of_different_normalizations_are_not_added(tmp_path: Path) -> None:
    plain, of_nfc = (
        Counts.from_iterator(["e\u0301"], normalization=form) for form in (None, "NFC")
    )
    with pytest.raises(
        ValueError, match="counted with the normalization 'NFC', but none is needed"
    ):
        Counts.merge([plain, of_nfc])
    assert plain != of_nfc
    of_nfc.save(tmp_path / "nfc.counts")
    plain.save(tmp_path / "plain.counts")
    assert b"normalization" not in (tmp_path / "plain.counts").read_bytes()
    loaded = Counts.load(tmp_path / "nfc.counts")
    assert (loaded, loaded.normalization) == (of_nfc, "NFC")
    assert pickle.loads(pickle.dumps(loaded)) == of_nfc
    assert Tokenizer.train_from_counts(loaded, 257).vocabulary.normalization == "NFC"


@pytest.mark.parametrize("wrong", ["NFX", 5, ["Space first"], [["Space first"]], [[]]])
def test_an_unknown_normalization_is_refused_before_anything_is_read(wrong: Any) -> None:
    for call in (
        lambda: Counts.from_files("missing.txt", normalization=wrong),
        lambda: Tokenizer.train_from_files("missing.txt", 300, normalization=wrong),
    ):
        with pytest.raises((ValueError, TypeError), match="normal"):
            call()


def test_the_command_line_trains_on_normalized_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(DECOMPOSED, encoding="utf-8")
    expected = Tokenizer.train_from_iterator([DECOMPOSED], 300, normalization="NFC")
    source, form = ["--input", tmp_path / "a.txt"], ["--normalization", "NFC"]
    done = bpetite("train", *source, "--vocab-size", 300, "--output", tmp_path / "t.json", *form)
    assert done.returncode == 0, done.stderr
    assert Tokenizer.load(tmp_path / "t.json") == expected
    assert bpetite("count", *source, "--output", tmp_path / "c", *form).returncode == 0
    how = ["--counts", tmp_path / "c", "--vocab-size", 300]
    assert bpetite("train", *how, "--output", tmp_path / "u.json").returncode == 0
    assert Tokenizer.load(tmp_path / "u.json") == expected
    refused = bpetite("train", *how, "--output", tmp_path / "v.json", "--normalization", "NFD")
    check_failed(
        refused, "counted with the normalization 'NFC', but 'NFD' is needed", "--normalization"
    )
    stored = json.loads((tmp_path / "t.json").read_text())
    assert stored["normalization"] == "NFC"
