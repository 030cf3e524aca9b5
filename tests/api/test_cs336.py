"""The CS336 interface: specials first, greater bytes win ties, and a tokenizer of bytes."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite import cs336

HANDOUT = (
    "low low low low low\n"
    "lower lower widest widest widest\n"
    "newest newest newest newest newest newest\n"
)  # fmt: skip


@pytest.fixture(scope="module")
def handout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cs336") / "handout.txt"
    path.write_text(HANDOUT)
    return path


def test_handout_example_gives_its_printed_merges_and_vocabulary(handout: Path) -> None:
    vocab, merges = cs336.train_bpe(handout, 257 + 12, ["<|endoftext|>"], pattern=r"\S+")
    assert [b" ".join(pair).decode() for pair in merges] == [
        *(
            "s t",
            "e st",
            "o w",
            "l ow",
            "w est",
            "n e",
            "ne west",
            "w i",
            "wi d",
            "wid est",
            "low e",
        ),
        "lowe r",
    ]
    vocab, merges = cs336.train_bpe(handout, 257 + 6, ["<|endoftext|>"], pattern=r"\S+")
    assert list(vocab) == list(range(263))
    assert list(vocab.values()) == [
        b"<|endoftext|>",
        *(bytes([byte]) for byte in range(256)),
        *(b"st", b"est", b"ow", b"low", b"west", b"ne"),
    ]
    newest = cs336.Tokenizer(vocab, merges).encode("newest")
    assert [vocab[token_id] for token_id in newest] == [b"ne", b"west"]


def test_special_tokens_are_hard_boundaries(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("ab<|x|>ab<|x|>ab cd")
    vocab, _ = cs336.train_bpe(path, 300, ["<|x|>"])
    assert not any(
        b"|" in token or b"x" in token for token in vocab.values() if 1 < len(token) != 5
    )
    assert vocab[0] == b"<|x|>"


def test_vocab_size_counts_everything(handout: Path) -> None:
    vocab, merges = cs336.train_bpe(handout, 500, ["<a>", "<b>"])
    assert len(vocab) == 258 + len(merges) <= 500
    with pytest.raises(ValueError, match="at least 258"):
        cs336.train_bpe(handout, 257, ["<a>", "<b>"])


def test_of_overlapping_special_tokens_the_longest_wins(handout: Path) -> None:
    vocab, merges = cs336.train_bpe(handout, 300, ["<s>"])
    tok = cs336.Tokenizer(vocab, merges, ["<s>", "<s><s>"])
    double = len(vocab)
    assert tok.encode("<s><s><s>low") == [double, 0, *tok.encode("low")]
    assert tok.decode([double, 0]) == "<s><s><s>"


def test_decode_replaces_malformed_bytes(handout: Path) -> None:
    vocab, merges = cs336.train_bpe(handout, 300, [])
    assert cs336.Tokenizer(vocab, merges).decode([0x80, 97]) == "\ufffda"


def test_files_give_the_same_tokenizer(handout: Path, tmp_path: Path) -> None:
    vocab, merges = cs336.train_bpe(handout, 300, ["<|endoftext|>", "<|ü ber|>"])
    cs336.save(vocab, merges, tmp_path / "vocab.json", tmp_path / "merges.txt")
    loaded = cs336.Tokenizer.from_files(
        tmp_path / "vocab.json", tmp_path / "merges.txt", ["<|endoftext|>", "<|ü ber|>"]
    )
    assert loaded.vocab == vocab
    assert loaded.merges == merges
    assert loaded.encode("<|ü ber|>") == [1]


def test_a_vocabulary_that_lacks_bytes_encodes_what_it_can() -> None:
    vocab = dict(
        enumerate([b" ", b"a", b"c", b"e", b"h", b"t", b"th", b" c", b" a", b"the", b" at"])
    )
    merges = [(b"t", b"h"), (b" ", b"c"), (b" ", b"a"), (b"th", b"e"), (b" a", b"t")]
    tok = cs336.Tokenizer(vocab, merges)
    assert tok.encode("the cat ate") == [9, 7, 1, 5, 10, 3]
    with pytest.raises(ValueError, match='" x" has a byte for which this vocabulary has no token'):
        tok.encode("the x")
    with pytest.raises(ValueError, match="no token"):
        list(tok.encode_iterable(["the", " x"]))
    assert tok.decode([9, 7, 1, 5, 10, 3]) == "the cat ate"
    for unknown in (len(vocab), len(vocab) + 200, 999):
        with pytest.raises(KeyError, match=str(unknown)):
            tok.decode([1, unknown])


def test_one_string_is_no_list_of_special_tokens() -> None:
    with pytest.raises(TypeError, match="not one string"):
        cs336.Tokenizer({byte: bytes([byte]) for byte in range(256)}, [], "<s>")


@given(pieces=st.lists(st.text(alphabet="lowe <s>\n\u00e9", max_size=6), max_size=8))
def test_encode_iterable_equals_encode_of_the_joined_text(pieces: list[str]) -> None:
    vocab = {byte: bytes([byte]) for byte in range(256)} | {256: b"lo", 257: b"low"}
    tok = cs336.Tokenizer(vocab, [(b"l", b"o"), (b"lo", b"w")], ["<s>", "<s><s>"])
    assert list(tok.encode_iterable(pieces)) == tok.encode("".join(pieces))
