"""BPE of characters without an unknown token, `Precompiled`, and decoders of several steps."""

import base64
import io
import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import tokenizers
from tokenizers import models, normalizers, pre_tokenizers, trainers

from bpetite import Tokenizer, _persistence
from bpetite._encoder import encode as specified
from bpetite.formats.huggingface_steps import normalization_of
from bpetite.formats.sentencepiece import _fields
from bpetite.formats.shared.difficult import DIFFICULT_TEXTS
from bpetite.formats.shared.printable import to_printable
from bpetite.normalization import normalizing

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
OF_CHARACTERS: dict[str, tuple[Callable[[], Json], Json]] = {
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
        pieces: list[str] = []
        at = 0
        while at < len(text):
            piece = text[at : at + rng.choice([1, 2, 7, 500])]
            at += len(piece)
            pieces.append(piece)
            growing.append(piece)
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


# Precompiled
# -------------------------------------------------------------------------------------


@cache
def character_map(**rules: str) -> bytes:
    """The map of characters that SentencePiece makes of rules."""
    options: Json = {**rules}
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["the cat sat on the mat"] * 50),
        model_writer=model,
        vocab_size=20,
        model_type="bpe",
        hard_vocab_limit=False,
        minloglevel=2,
        **options,
    )
    normalizer = next(value for number, value in _fields(model.getvalue()) if number == 3)
    assert isinstance(normalizer, bytes)
    compiled = dict(_fields(normalizer))[2]
    assert isinstance(compiled, bytes)
    return compiled


def written_map(compiled: bytes) -> Json:
    """The step of a file."""
    written = base64.b64encode(compiled).decode("ascii")
    return {"type": "Precompiled", "precompiled_charsmap": written}


AROUND = ["{}", "{}\u0301", "{}\u0301\u0301", "{}\u20dd", "a{}", "{}a", "\u0600{}", "e{}\u0301"]
AROUND += ["①{}", "\u0915\u094d{}\u0301", "❤\u200d{}\u0301", "{}🏽", "\u1112{}", "\U0001f1e6{}"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("rules", ["nmt_nfkc", "nfkc_cf"])
def test_every_character_alone_and_with_others_is_replaced_as_precompiled_does(rules: str) -> None:
    compiled = character_map(normalization_rule_name=rules)
    theirs = normalizers.Precompiled(compiled)
    ours = normalizing(normalization_of(written_map(compiled)))
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    for around in AROUND:
        text = "\n".join(map(around.format, characters))
        if theirs.normalize_str(text) != ours(text):
            for character in characters:
                one = around.format(character)
                assert ours(one) == theirs.normalize_str(one), ascii(one)


def test_rules_of_any_texts_are_applied_as_precompiled_does(tmp_path: Path) -> None:
    """Keys that begin with others, end within clusters, and are longer than those that are looked up."""
    rules = {
        "a": "b",
        "ab": "c",
        "b\u0301": "xyz",
        "c": "",
        "\u0301": "'",
        "\u0600a": "p",
        "d\u0301\u0323": "q",
        "e\u0301\u0323\u0301\u0323": "r",
        "\r": "R",
        "\n": "N",
        "한": "ab",
        "\u1112\u1161": "H",
    }
    path = tmp_path / "rules.tsv"
    lines = []
    for old, new in rules.items():
        old_codes, new_codes = (" ".join(f"{ord(one):X}" for one in text) for text in (old, new))
        lines.append(f"{old_codes}\t{new_codes}\n")
    path.write_text("".join(lines))
    compiled = character_map(normalization_rule_tsv=str(path))
    theirs = normalizers.Precompiled(compiled)
    steps = normalization_of(written_map(compiled))
    ours = normalizing(steps)
    parts = [
        *rules,
        *"abcde",
        "\u0301",
        "\u0323",
        "\u20dd",
        "\u200d",
        "\u0600",
        "é",
        "\r\n",
        "👍🏽",
    ]
    rng = random.Random(5)
    for _ in range(4000):
        text = "".join(rng.choices(parts, k=rng.randint(1, 8)))
        assert ours(text) == theirs.normalize_str(text), ascii(text)


CLUSTERS = [
    "①",
    "①\u0301",
    "①\u0301\u0301",
    "ﬃ",
    "½",
    "e\u0301\u0301",
    "e\u0301\u0301\u0301",
    "\r\n",
]
CLUSTERS += ["\u1112\u1161\u11ab", "ｶﾞ", "\u0344", "™\u0301", "\u3000", "\x07", "\u200b", "Å"]


@pytest.mark.parametrize("kind", ["bytes", "characters", "words", "runs of spaces"])
def test_a_file_with_a_map_of_characters_has_the_ids_and_places_of_its_library(
    kind: str, tmp_path: Path
) -> None:
    pre_tokenizer = {
        "bytes": pre_tokenizers.ByteLevel(add_prefix_space=False),
        "characters": None,
        "words": METASPACE,
        "runs of spaces": METASPACE,
    }[kind]
    document = trained(pre_tokenizer)
    normalizer = written_map(character_map(normalization_rule_name="nmt_nfkc"))
    if kind == "runs of spaces":
        spaces = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
        normalizer = {"type": "Sequence", "normalizers": [normalizer, spaces]}
    document["normalizer"] = normalizer
    if kind == "bytes":
        document["decoder"] = document["pre_tokenizer"]
        vocab = document["model"]["vocab"]
        for byte in range(256):
            vocab.setdefault(to_printable(bytes([byte])), len(vocab))
    elif kind != "characters":
        document["decoder"] = document["pre_tokenizer"]
    tok, real = both(document, tmp_path, missing="drop")
    rng = random.Random(3)
    texts = [*random_texts(2), *CLUSTERS]
    texts += ["".join(rng.choices([*PARTS, *CLUSTERS], k=20)) for _ in range(300)]
    for text in texts:
        expected = real.encode(text, add_special_tokens=False)
        ids, spans = tok.encode_with_offsets(text)
        assert ids == expected.ids, ascii(text)
        if kind == "bytes":
            assert spans == expected.offsets, ascii(text)
        if document["decoder"] is not None:
            assert tok.decode(ids) == real.decode(ids, skip_special_tokens=False)
    if kind == "bytes":
        with pytest.raises(ValueError, match="a map of characters is only written as the file"):
            Tokenizer(tok.vocabulary).to_huggingface(tmp_path / "again.json")


@pytest.mark.parametrize("written", ["AAAA", "!", "", None])
def test_a_broken_map_of_characters_is_refused(written: str | None, tmp_path: Path) -> None:
    document = trained() | {"normalizer": {"type": "Precompiled", "precompiled_charsmap": written}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match=r"normalizer\.precompiled_charsmap"):
        Tokenizer.load(tmp_path)


# Decoders
# -------------------------------------------------------------------------------------

BYTE_LEVEL = {
    "type": "ByteLevel",
    "add_prefix_space": True,
    "trim_offsets": True,
    "use_regex": True,
}
FUSE = {"type": "Fuse"}
FALLBACK = {"type": "ByteFallback"}
ONE_SPACE = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
BOTH_ENDS = {"type": "Strip", "content": " ", "start": 1, "stop": 1}
MARKS = {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}
STARS = {"type": "Replace", "pattern": {"String": "***"}, "content": "!"}
LETTERS = {"type": "Replace", "pattern": {"String": "a"}, "content": "b"}
REGEX = {"type": "Replace", "pattern": {"Regex": "Q"}, "content": "b"}
METASPACES = {
    "type": "Metaspace",
    "replacement": "\u2581",
    "prepend_scheme": "always",
    "split": True,
}

DECODERS: dict[str, tuple[list[Json], bool, bool, bool]] = {
    # Whether it is read of bytes, of characters, and of characters with U+2581 for spaces.
    "as usual": ([BYTE_LEVEL], True, False, False),
    "fused": ([BYTE_LEVEL, FUSE], True, False, False),
    "without the first space": ([BYTE_LEVEL, ONE_SPACE], True, False, False),
    "fused, and without it": ([BYTE_LEVEL, FUSE, ONE_SPACE], True, False, False),
    "what no token has": ([STARS, MARKS, FALLBACK, BYTE_LEVEL], True, False, False),
    "metaspace before bytes": ([METASPACES, BYTE_LEVEL], True, False, False),
    "no spaces at ends of spelled tokens": ([BOTH_ENDS, BYTE_LEVEL], True, False, False),
    "a letter": ([LETTERS, BYTE_LEVEL], False, False, False),
    "a letter behind": ([BYTE_LEVEL, LETTERS], False, False, False),
    "spaces at both ends": ([BYTE_LEVEL, BOTH_ENDS], False, False, False),
    "fused before bytes": ([FUSE, BYTE_LEVEL], False, False, False),
    "another expression": ([REGEX, FUSE], False, False, False),
    "only joined": ([FUSE], False, True, False),
    "metaspace": ([METASPACES], False, True, True),
    "marks": ([MARKS, FALLBACK, FUSE], False, True, True),
    "marks, and the first space": ([STARS, MARKS, FUSE, ONE_SPACE], False, True, True),
    "marks behind": ([FUSE, MARKS, ONE_SPACE], False, False, True),
    "the first space of each": ([MARKS, ONE_SPACE], False, False, False),
    "metaspace behind": ([FUSE, METASPACES], False, False, False),
    "stars behind": ([MARKS, FUSE, STARS], False, False, False),
}


@pytest.mark.parametrize("of", ["bytes", "characters", "marks"])
@pytest.mark.parametrize("kind", DECODERS)
def test_a_decoder_of_several_steps_is_applied_or_refused(
    kind: str, of: str, tmp_path: Path
) -> None:
    decoders, *reads = DECODERS[kind]
    makers = {
        "bytes": pre_tokenizers.ByteLevel(add_prefix_space=False),
        "characters": pre_tokenizers.Digits(),
        "marks": METASPACE,
    }
    document = trained(makers[of], special_tokens=["<s>"])
    document["decoder"] = {"type": "Sequence", "decoders": decoders}
    if not dict(zip(makers, reads, strict=True))[of]:
        with pytest.raises(ValueError, match="decoder: "):
            both(document, tmp_path)
        return
    tok, real = both(document, tmp_path, missing="drop")
    texts = [*random_texts(4), " ", "  a", " the", "the", "<s> a", "é"]
    for text in texts:
        ids = tok.encode(text)
        assert ids == real.encode(text, add_special_tokens=False).ids
        expected = real.decode(ids, skip_special_tokens=False)
        assert tok.decode(ids, errors="replace") == expected, ascii(text)
        if "\ufffd" not in expected:
            stream = tok.decode_stream()
            assert "".join([*map(stream.push, ids), stream.finish()]) == expected


# Added tokens that merges also make
# -------------------------------------------------------------------------------------

FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
NORMALIZERS: dict[str, Any] = {
    "none": None,
    "lower case": normalizers.Lowercase(),
    "NFKC": normalizers.NFKC(),
    "a replacement": normalizers.Replace("!", "s"),
}
FLAGGED = [(), ("special",), ("normalized",), ("special", "lstrip"), ("single_word", "normalized")]


@pytest.mark.parametrize("flags", FLAGGED)
@pytest.mark.parametrize("normalizer", NORMALIZERS)
@pytest.mark.parametrize("of", ["bytes", "bytes, whole", "characters", "marks"])
def test_an_added_token_that_merges_also_make_has_its_id(
    of: str, normalizer: str, flags: tuple[str, ...], tmp_path: Path
) -> None:
    makers = {
        "bytes": pre_tokenizers.ByteLevel(add_prefix_space=False),
        "bytes, whole": pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        "characters": pre_tokenizers.Digits(),
        "marks": METASPACE,
    }
    document = trained(makers[of])
    if NORMALIZERS[normalizer] is not None:
        peer = tokenizers.Tokenizer(models.BPE())
        peer.normalizer = NORMALIZERS[normalizer]
        document["normalizer"] = json.loads(peer.to_str())["normalizer"]
    model = document["model"]
    model["ignore_merges"] = of == "bytes, whole"
    for text in ["<", ">", "s", "<s", "<s>", "<s>s", "x>", "<x>"]:
        model["vocab"].setdefault(text, len(model["vocab"]))
    model["merges"] += [["<", "s"], ["<s", ">"], ["<s>", "s"]]
    document["added_tokens"] = [
        {"id": model["vocab"][text], "content": text, **{name: name in flags for name in FLAGS}}
        for text in ("<s>", "<x>")
    ]
    document["decoder"] = None if of == "characters" else document["pre_tokenizer"]
    tok, real = both(document, tmp_path, missing="drop")
    rng = random.Random(7)
    parts = [
        "<s>",
        " <s> ",
        "<S>",
        "<!>",
        "＜s＞",
        "<x>",
        "<X>",
        "s",
        "a",
        " ",
        "<",
        ">",
        "\n",
        "the",
        "é",
    ]
    texts = ["", *parts, *("".join(rng.choices(parts, k=rng.randint(2, 12))) for _ in range(200))]
    for text in [*texts, *DIFFICULT_TEXTS]:
        expected = real.encode(text, add_special_tokens=False)
        assert tok.encode(text) == expected.ids, (text, expected.tokens)
        for skip in (False, True) if document["decoder"] is not None else ():
            decoded = real.decode(expected.ids, skip_special_tokens=skip)
            assert tok.decode(expected.ids, skip_special=skip, errors="replace") == decoded
    artifact = _persistence.artifact_bytes(tok.vocabulary)
    assert _persistence.vocabulary_of(artifact, "a") == tok.vocabulary
