"""BPE of characters without an unknown token, `Precompiled`, and decoders of several steps."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import models, normalizers, pre_tokenizers, trainers

from bpetite import Tokenizer, _persistence
from bpetite._encoder import encode as specified
from bpetite.formats.shared.difficult import DIFFICULT_TEXTS

pytestmark = pytest.mark.peers

Json = dict[str, Any]

CORPUS = [
    "the cat sat on the mat, the cats' mats",
    "naïve café 北京 北京市 x² ½ 12 123",
    "a  b   c\n\nd",
]
PARTS = [
    "the",
    " c",
    "a",
    "t",
    "at",
    "\0",
    "é",
    " ",
    "  ",
    "\n",
    "北",
    "京",
    "語",
    "👍🏽",
    "ZZ",
    "\u2581",
    "²",
]
PARTS += ["e\u0301", "ش", "ab", "m", "<s>", " <s> ", "1"]


def trained(
    pre_tokenizer: Any = None, normalizer: Any = None, special_tokens: Any = (), **model: Any
) -> Json:
    """A small file that tokenizers trained, as an object."""
    tokenizer = tokenizers.Tokenizer(models.BPE())
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    trainer = trainers.BpeTrainer(
        vocab_size=120, show_progress=False, special_tokens=list(special_tokens)
    )
    tokenizer.train_from_iterator(CORPUS * 3, trainer)
    document: Json = json.loads(tokenizer.to_str())
    document["model"] |= model
    return document


def without(document: Json, *characters: str) -> Json:
    """The file without the tokens of some characters."""
    model = document["model"]
    kept = [text for text in model["vocab"] if not any(text.count(one) for one in characters)]
    model["vocab"] = {text: token_id for token_id, text in enumerate(kept)}
    model["merges"] = [
        merge for merge in model["merges"] if not any(one in "".join(merge) for one in characters)
    ]
    return document


def both(document: Json, tmp_path: Path, **how: Any) -> tuple[Tokenizer, tokenizers.Tokenizer]:
    """Our tokenizer of a file, and theirs."""
    content = json.dumps(document)
    path = tmp_path / "tokenizer.json"
    path.write_text(content)
    return Tokenizer.load(path, **how), tokenizers.Tokenizer.from_str(content)


def random_texts(seed: int) -> list[str]:
    rng = random.Random(seed)
    texts = ["".join(rng.choices(PARTS, k=rng.choice([3, 30, 300]))) for _ in range(60)]
    return ["", "\0", "語", *DIFFICULT_TEXTS, *texts]


METASPACE = pre_tokenizers.Metaspace()
NO_SPLIT = pre_tokenizers.Metaspace(split=False, prepend_scheme="never")
WITHOUT = {"type": "Split", "pattern": {"Regex": r"\s+"}, "behavior": "Isolated", "invert": False}
OF_CHARACTERS = {
    "no steps": (lambda: trained(), {}),
    "no steps, and no space": (lambda: without(trained(), " "), {}),
    "words": (lambda: trained(METASPACE), {"decoder": "Metaspace"}),
    "words, and no space": (
        lambda: without(trained(METASPACE), "\u2581"),
        {"decoder": "Metaspace"},
    ),
    "metaspace without cuts": (lambda: trained(NO_SPLIT), {"decoder": "Metaspace"}),
    "digits": (lambda: trained(pre_tokenizers.Digits(individual_digits=True)), {}),
    "lower case": (lambda: trained(normalizer=normalizers.Lowercase()), {}),
    "runs of spaces": (lambda: trained() | {"pre_tokenizer": WITHOUT}, {}),
    "byte_fallback without bytes": (
        lambda: trained(byte_fallback=True),
        {"decoder": "ByteFallback"},
    ),
    "an added token": (lambda: trained(special_tokens=["<s>"]), {}),
}


@pytest.mark.parametrize("kind", OF_CHARACTERS)
def test_characters_without_a_token_are_left_out(kind: str, tmp_path: Path) -> None:
    make, more = OF_CHARACTERS[kind]
    document = make()
    if more.get("decoder") == "Metaspace":
        document["decoder"] = document["pre_tokenizer"]
    elif more:
        document["decoder"] = {"type": more["decoder"]}
    tok, real = both(document, tmp_path, missing="drop")
    assert any("left out of a text" in said for said in tok.assumptions)
    refusing = Tokenizer.load(tmp_path)
    texts = random_texts(0)
    encoded = [real.encode(text, add_special_tokens=False) for text in texts]
    expected = [one.ids for one in encoded]
    assert [tok.encode(text) for text in texts] == expected
    assert tok.encode_batch(texts) == expected
    rng = random.Random(1)
    refused = 0
    for text, ids in zip(texts, expected, strict=True):
        growing = tok.growing()
        pieces = []
        while sum(map(len, pieces)) < len(text):
            start = sum(map(len, pieces))
            pieces.append(text[start : start + rng.choice([1, 2, 7, 500])])
            growing.append(pieces[-1])
        assert list(tok.encode_iterable(pieces)) == list(growing.ids) == ids, text[:200]
        own_ids, spans = tok.encode_with_offsets(text)
        assert own_ids == ids
        assert all(0 <= start < end <= len(text) for start, end in spans)
        try:
            assert refusing.encode(text) == ids
        except ValueError:
            refused += 1
        else:  # Nothing was left out.
            one = real.encode(text, add_special_tokens=False)
            if document["normalizer"] is None:
                assert refusing.encode_with_offsets(text)[1] == one.offsets
        if document["decoder"] is not None:
            assert tok.decode(ids) == real.decode(ids, skip_special_tokens=False)
    assert refused > 20
    with pytest.raises(ValueError, match="has a byte for which this vocabulary has no token"):
        refusing.encode("語")
    artifact = _persistence.artifact_bytes(tok.vocabulary)
    assert _persistence.vocabulary_of(artifact, "a") == tok.vocabulary
    vocabulary = tok.vocabulary
    if vocabulary.normalization is None and kind != "an added token":
        for text in texts[:30]:
            assert tok.encode(text) == specified(
                text,
                vocabulary.tokens,
                vocabulary.merges,
                {},
                vocabulary.pattern,
                provisional=vocabulary.provisional,
                drops_missing=True,
            )
