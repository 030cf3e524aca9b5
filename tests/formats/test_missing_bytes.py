"""Vocabularies that lack tokens for some bytes: refused texts, or what tokenizers does with them."""

import contextlib
import json
import random
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers.pre_tokenizers import ByteLevel

from bpetite import Tokenizer, _persistence
from bpetite._constants import SPACE
from bpetite._encoder import encode as specified
from bpetite.formats.shared.difficult import DIFFICULT_TEXTS
from bpetite.formats.shared.printable import to_printable
from bpetite.patterns import pattern_steps
from test_format_huggingface import theirs, trained_there


def lacking(rng: random.Random, **model: Any) -> bytes:
    """A file as Falcon's, without tokens for some bytes and without an unknown token."""
    document = json.loads(
        trained_there(
            ByteLevel(add_prefix_space=rng.random() < 0.3), vocab_size=600, special_tokens=[]
        )
    )
    missing = {
        to_printable(bytes([byte]))
        for byte in [*range(9), 0x7F, *rng.choices(b"aeth \xc3\xa9", k=2)]
    }
    kept = [
        merge
        for merge in document["model"]["merges"]
        if missing.isdisjoint("".join(merge).replace(" ", ""))
    ]
    vocab = {
        text: token_id
        for text, token_id in document["model"]["vocab"].items()
        if missing.isdisjoint(text)
    }
    document["model"] |= {"vocab": vocab, "merges": kept, **model}
    if rng.random() < 0.4:
        document["normalizer"] = {"type": "NFC"}
    return json.dumps(document).encode()


@pytest.mark.parametrize("seed", range(24))
def test_bytes_without_a_token_are_left_out_as_tokenizers_does(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    content = lacking(rng, ignore_merges=seed % 3 == 0)
    (tmp_path / "tokenizer.json").write_bytes(content)
    encode, tok = theirs(content), Tokenizer.load(tmp_path, missing="drop")
    assert any("left out" in said for said in tok.assumptions)
    texts = ["\0", "", "a\x01b \x02 c", "the\x7f cat\0\0", *DIFFICULT_TEXTS]
    parts = ["the", " c", "a", "t", "\0", "\x01", "é", " ", "\n", "\x7f"]
    texts += ["".join(rng.choices(parts, k=rng.choice([3, 30, 300]))) for _ in range(40)]
    texts += ["".join(rng.choices("thecat\0\x01", k=5000))]
    expected = [encode(text) for text in texts]
    assert [tok.encode(text) for text in texts] == expected
    assert tok.encode_batch(texts) == expected
    assert tok.count_batch(texts) == [tok.count(text) for text in texts] == list(map(len, expected))
    assert [tok.encode_to_numpy(text).tolist() for text in texts] == expected
    joined, offsets = tok.encode_batch_to_numpy(texts)
    assert [joined[start:end].tolist() for start, end in pairwise(offsets.tolist())] == expected
    for text, ids in zip(texts, expected, strict=True):
        growing, at = tok.growing(), 0
        pieces: list[str] = []
        while at < len(text):
            piece = text[at : at + rng.choice([1, 2, 7, 500])]
            at += len(piece)
            pieces.append(piece)
            growing.append(piece)
        assert list(tok.encode_iterable(pieces)) == list(growing.ids) == ids, text[:200]
    refusing = Tokenizer.load(tmp_path)
    for text, ids in zip(texts, expected, strict=True):
        with contextlib.suppress(ValueError):
            assert refusing.encode(text) == ids
    with pytest.raises(ValueError, match="has a byte for which this vocabulary has no token"):
        refusing.encode("a\0b")
    assert tok.fingerprint != refusing.fingerprint
    assert tok.vocabulary.drops_missing
    assert (
        _persistence.vocabulary_of(_persistence.artifact_bytes(tok.vocabulary), "a")
        == tok.vocabulary
    )
    if tok.vocabulary.normalization is None and SPACE not in pattern_steps(tok.pattern):
        vocabulary = tok.vocabulary
        for text in texts[:30]:
            assert tok.encode(text) == specified(
                text,
                vocabulary.tokens,
                vocabulary.merges,
                vocabulary.special_tokens,
                vocabulary.pattern,
                whole_pretoken_first=vocabulary.whole_pretoken_first,
                drops_missing=True,
            )
    Tokenizer(tok.vocabulary).to_huggingface(tmp_path / "again.json")
    again = theirs((tmp_path / "again.json").read_bytes())
    assert [again(text) for text in texts] == expected


def test_only_what_its_library_leaves_out_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(trained_there(ByteLevel()))
    assert Tokenizer.load(path, missing="drop") == Tokenizer.load(path)  # nothing is missing
    with pytest.raises(ValueError, match='missing: must be refuse or drop, not "x"'):
        Tokenizer.load(path, missing="x")  # type: ignore[arg-type]
    path.write_bytes(lacking(random.Random(1), unk_token="<none>"))
    with pytest.raises(ValueError, match="cannot be left out, as its own library does not do that"):
        Tokenizer.load(path, missing="drop")
    path.write_bytes(lacking(random.Random(1)))
    command = [
        sys.executable,
        "-m",
        "bpetite",
        "encode",
        "--model",
        str(path),
        "--text",
        "a\x01 cat",
    ]
    for more, code, out in (
        (["--missing", "drop"], 0, str(theirs(path.read_bytes())("a\x01 cat")).replace(" ", "")),
        ([], 1, ""),
    ):
        done = subprocess.run([*command, *more], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout.strip()) == (code, out)


def with_unknown_token(rng: random.Random, *, fuses: bool) -> bytes:
    """A file that lacks some bytes, and has a token for them."""
    document = json.loads(lacking(rng))
    vocab = document["model"]["vocab"]
    vocab["<unk>"] = max(vocab.values()) + 1
    document["model"] |= {"unk_token": "<unk>", "fuse_unk": fuses}
    return json.dumps(document).encode()


@pytest.mark.parametrize("kind", ["dropped", "unknown", "unknown ones joined"])
@pytest.mark.parametrize("seed", range(8))
def test_tokens_have_the_offsets_that_tokenizers_gives_though_bytes_are_missing(
    kind: str, seed: int, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    content = (
        lacking(rng)
        if kind == "dropped"
        else with_unknown_token(rng, fuses=kind.endswith("joined"))
    )
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    real = tokenizers.Tokenizer.from_str(content.decode())
    tok = Tokenizer.load(path, missing="drop")
    parts = ["the", " c", "a", "t", "\0", "\x01", "é", " ", "\n", "\x7f", "👍🏽"]
    texts = ["", "abc", "a\x01b \x02 c", *DIFFICULT_TEXTS]
    texts += ["".join(rng.choices(parts, k=rng.choice([3, 30]))) for _ in range(40)]
    for text in texts:
        expected = real.encode(text, add_special_tokens=False)
        ids, spans = tok.encode_with_offsets(text)
        assert ids == expected.ids
        if kind == "dropped":  # tokenizers counts on as if the bytes were not in the text
            assert all(start < end <= len(text) for start, end in spans)
        else:
            assert spans == expected.offsets, text
    steps = pattern_steps(tok.pattern)
    if tok.vocabulary.normalization is None and SPACE not in steps:
        text = "a\x01é the\x7f👍🏽cat\0\0"
        encoded = text.encode()
        ids, spans = tok.encode_with_offsets(text, unit="bytes")
        ends = [0, *(end for _, end in spans)]
        assert all(before <= start < end for before, (start, end) in zip(ends, spans, strict=False))
        for token_id, (start, end) in zip(ids, spans, strict=True):
            if tok.vocabulary.unknown is None or token_id != tok.vocabulary.unknown[0]:
                kept = [
                    bytes([byte])
                    for byte in encoded[start:end]
                    if bytes([byte]) in tok.vocabulary.id_of
                ]
                assert b"".join(kept) == tok.token_bytes(token_id)
