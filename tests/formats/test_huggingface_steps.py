"""Whatever byte-level file is built of the parts of `tokenizers`: the same ids and places, or a refusal."""

import functools
import json
import random
import re
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import models, pre_tokenizers

from bpetite import Counts, Tokenizer
from bpetite._engine import pretokenize, same_pattern
from bpetite.formats import huggingface
from bpetite.formats.huggingface_steps import cuts_of, normalization_of, pre_tokenizer_of
from bpetite.formats.shared.difficult import DIFFICULT_TEXTS
from bpetite.patterns import PATTERNS

Json = dict[str, Any]

PRETOKENIZERS: list[Json] = [
    {"type": "Digits", "individual_digits": True},
    {"type": "Digits", "individual_digits": False},
    *(
        {"type": "Punctuation", "behavior": behavior}
        for behavior in ("Isolated", "Contiguous", "MergedWithPrevious", "MergedWithNext")
    ),
    *(
        {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}
        for pattern, behavior, invert in product(
            [{"Regex": r"[ab]|é+"}, {"String": " "}, {"Regex": r"(?i:'s)| ?\p{L}+"}],
            ["Isolated", "Contiguous", "MergedWithPrevious", "MergedWithNext"],
            [False, True],
        )
    ),
    {
        "type": "Split",
        "pattern": {"Regex": r"\s+(?!\S)|\s+|\S+"},
        "behavior": "Removed",
        "invert": True,
    },
    {"type": "FixedLength", "length": 3},
]
AFTER_BYTES: list[Json] = [
    {"type": "Digits", "individual_digits": True},
    {"type": "Punctuation", "behavior": "Contiguous"},
    {
        "type": "Split",
        "pattern": {"Regex": "[0-9][0-9][0-9]"},
        "behavior": "Isolated",
        "invert": False,
    },
]
NORMALIZERS: list[Json] = [
    *({"type": name} for name in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents")),
    {"type": "Strip", "strip_left": True, "strip_right": True},
    {"type": "Strip", "strip_left": False, "strip_right": True},
    {"type": "Replace", "pattern": {"String": "a."}, "content": "é~"},
    {"type": "Replace", "pattern": {"Regex": r" {2,}"}, "content": " "},
    {"type": "Replace", "pattern": {"Regex": r"[´`]"}, "content": ""},
    {"type": "Prepend", "prepend": "x "},
]
ADDED = ["<s>", "<mask>", "ab", " b", "É", "<a> ", "\u0301x", "s>a", "\n"]

PIECES = [
    *(
        "a",
        "b",
        "ab",
        "a.",
        "é",
        "É",
        "e\u0301",
        "A\u0323\u0301",
        "ﬁ",
        "½",
        "²",
        "12",
        "345",
        "'s",
        "'S",
        "!",
        "«",
        "?!",
    ),
    *(
        " ",
        "  ",
        "\n",
        "\t",
        "\u00a0",
        "\u3000",
        "\x1c",
        "東",
        "한",
        "\u1112\u1161\u11ab",
        "🎉",
        "`",
        "_",
        "x",
        "\u0301",
    ),
    *(
        "\U0001fbf1",
        "\u1abf\u0301",
        "İ",
        "Σ",
        "\u2e43",
        "\u166d",
        "\U00011935\U00011930",
        "<",
        ">",
        *ADDED,
    ),
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


@functools.cache
def trained() -> Json:
    peer = tokenizers.Tokenizer(models.BPE())
    peer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=500, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    rng = random.Random(0)
    corpus = ["".join(rng.choices(PIECES, k=20)) for _ in range(400)]
    peer.train_from_iterator([*corpus, *DIFFICULT_TEXTS], trainer)
    document = json.loads(peer.to_str())
    assert isinstance(document, dict)
    return document


def random_file(rng: random.Random) -> Json:
    document = {**trained()}
    steps = rng.sample(PRETOKENIZERS, rng.choice([0, 1, 1, 2]))
    flags = {
        "add_prefix_space": rng.random() < 0.4,
        "use_regex": rng.random() < 0.5,
        "trim_offsets": True,
    }
    behind = rng.sample(AFTER_BYTES, rng.choice([0, 0, 0, 1, 2]))
    steps = [*steps, {"type": "ByteLevel", **flags}, *behind]
    document["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps}
    names = rng.sample(NORMALIZERS, rng.choice([0, 0, 1, 1, 2, 3]))
    document["normalizer"] = {"type": "Sequence", "normalizers": names} if names else None
    vocab = document["model"]["vocab"]
    added: list[Json] = []
    for content in rng.sample(ADDED, rng.randint(0, 4)):
        number = vocab.get(content, 500 + len([token for token in added if token["id"] >= 500]))
        flags = {
            name: rng.random() < 0.3
            for name in ("lstrip", "rstrip", "single_word", "normalized", "special")
        }
        if number >= 500:
            added.append({"id": number, "content": content, **flags})
    document["added_tokens"] = added
    return document


def encoding_of(peer: Any, text: str) -> Any:
    """The result of tokenizers; None if it panics, as for two tokens that include the same space."""
    try:
        return peer.encode(text, add_special_tokens=False)
    except BaseException as panic:
        if "bad split" not in str(panic):
            raise
        return None


@pytest.mark.parametrize("seed", range(60))
def test_any_file_made_of_the_parts_there_are_gives_their_ids_and_places(
    seed: int, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    content = json.dumps(random_file(rng)).encode()
    peer = tokenizers.Tokenizer.from_str(content.decode())
    try:
        tok = Tokenizer(huggingface.parse("t.json", content).vocabulary)
    except ValueError as refusal:
        assert "once normalized" in str(refusal)  # noqa: PT017  # the only reason there may be here
        return
    texts = ["".join(rng.choices(PIECES, k=rng.randint(0, 14))) for _ in range(150)]
    texts = [text for text in [*DIFFICULT_TEXTS, *texts] if encoding_of(peer, text) is not None]
    for text in texts:
        encoding = encoding_of(peer, text)
        assert tok.encode(text) == encoding.ids, text
        assert tok.encode_with_offsets(text) == (encoding.ids, encoding.offsets), text
        assert tok.count(text) == len(encoding.ids)
    assert tok.encode_batch(texts) == [
        row.ids for row in peer.encode_batch(texts, add_special_tokens=False)
    ]
    ids, ends = tok.encode_batch_to_numpy(texts)
    assert ids.tolist() == [number for row in tok.encode_batch(texts) for number in row]
    assert ends[-1] == len(ids)

    tok.save(tmp_path / "saved.json")
    again = Tokenizer.load(tmp_path / "saved.json")
    assert again.vocabulary == tok.vocabulary
    assert again.fingerprint == tok.fingerprint
    try:
        tok.to_huggingface(tmp_path / "written.json")
    except ValueError as refusal:
        assert "cannot" in str(refusal)  # noqa: PT017  # what a file cannot say is refused
        return
    written = tokenizers.Tokenizer.from_file(str(tmp_path / "written.json"))
    for text in texts:
        encoding = encoding_of(written, text)
        assert encoding is None or encoding.ids == tok.encode(text)


@functools.cache
def pair(seed: int) -> tuple[Tokenizer, Any]:
    content = json.dumps(random_file(random.Random(seed))).encode()
    vocabulary = huggingface.parse("t.json", content).vocabulary
    return Tokenizer(vocabulary), tokenizers.Tokenizer.from_str(content.decode())


@settings(max_examples=40)
@given(text=TEXTS)
@pytest.mark.parametrize("seed", range(6))
def test_any_text_gets_their_ids_and_places(seed: int, text: str) -> None:
    tok, peer = pair(seed)
    encoding = encoding_of(peer, text)
    assert encoding is None or tok.encode_with_offsets(text) == (encoding.ids, encoding.offsets)


CHARACTERS = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]


def test_every_character_is_punctuation_there_or_is_not() -> None:
    pattern = cuts_of(
        {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Punctuation", "behavior": "Isolated"},
                {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
            ],
        }
    ).pattern
    step = pre_tokenizers.Punctuation("isolated")
    tok = Tokenizer(Tokenizer.train("a", 257).vocabulary).vocabulary
    assert tok.pattern == PATTERNS["gpt2"]
    from bpetite._engine import pretokenize

    text = "a".join(CHARACTERS)
    theirs = [piece.encode() for piece, _ in step.pre_tokenize_str(text)]
    assert pretokenize(text, pattern) == theirs


REFUSED: list[tuple[str, Json, str]] = [
    ("pre_tokenizer", {"type": "UnicodeScripts"}, "'UnicodeScripts' is not supported"),
    ("pre_tokenizer", {"type": "Metaspace"}, "'Metaspace' is not supported"),
    ("pre_tokenizer", {"type": "Punctuation", "behavior": "Removed"}, "'Removed' is not known"),
    (
        "pre_tokenizer",
        {"type": "Split", "pattern": {"String": ""}, "behavior": "Isolated"},
        "is empty",
    ),
    (
        "pre_tokenizer",
        {"type": "Split", "pattern": {"Regex": "a*"}, "behavior": "Contiguous"},
        "may match nothing",
    ),
    (
        "pre_tokenizer",
        {"type": "Split", "pattern": {"Regex": "(?=a)"}, "behavior": "MergedWithNext"},
        "match nothing",
    ),
    (
        "pre_tokenizer",
        {"type": "Split", "pattern": {"Regex": "a"}, "behavior": "Split"},
        "is not known",
    ),
    ("pre_tokenizer", {"type": "ByteLevel", "use_regex": 5}, "must be a boolean"),
    ("normalizer", {"type": "Nmt"}, "'Nmt' changes text"),
    (
        "normalizer",
        {"type": "Precompiled", "precompiled_charsmap": ""},
        "its map of characters is broken",
    ),
    ("normalizer", {"type": "Prepend", "prepend": 5}, "must be a string"),
    (
        "normalizer",
        {"type": "Replace", "pattern": {"Regex": "a*"}, "content": ""},
        "may match nothing",
    ),
    ("normalizer", {"type": "Replace", "pattern": "a", "content": ""}, "must be an object"),
]


@pytest.mark.parametrize(("key", "step", "message"), REFUSED)
def test_what_loses_text_or_cannot_be_repeated_is_refused(
    key: str, step: Json, message: str
) -> None:
    sequence = {"type": "Sequence", "pretokenizers": [step, {"type": "ByteLevel"}]}
    read: Any = normalization_of if key == "normalizer" else cuts_of
    with pytest.raises(ValueError, match=message) as raised:
        read(step if key == "normalizer" else sequence)
    assert key in str(raised.value)


def pieces_by_split(expression: str, behavior: str, text: str) -> tuple[list[str], list[str]]:
    """Cut a text by a `Split`: here, and by `tokenizers`."""
    split = {
        "type": "Split",
        "pattern": {"Regex": expression},
        "behavior": behavior,
        "invert": False,
    }
    level = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}
    pattern = cuts_of({"type": "Sequence", "pretokenizers": [split, level]}).pattern
    assert same_pattern(str(cuts_of(pre_tokenizer_of(pattern)).pattern), str(pattern))
    snake = re.sub("(?<=[a-z])(?=[A-Z])", "_", behavior).lower()
    theirs = pre_tokenizers.Split(tokenizers.Regex(expression), snake).pre_tokenize_str(text)
    return [piece.decode() for piece in pretokenize(text, pattern)], [piece for piece, _ in theirs]


@pytest.mark.parametrize(
    "expression",
    [
        r"(?=(\d{3})+(?!\d))",
        r"(?<=[a-z])(?=[A-Z])",
        r"a*",
        r"a??|b",
        r"(?=b)|ab|\s*",
        r"x?(?!b)",
        "^",
        "$",
        r"\b",
        r"\B|a",
        r"\d{1,3}(?=(?:\d{3})*\b)",
    ],
)
def test_empty_matches_cut_a_text_that_isolates_matches(expression: str) -> None:
    texts = [
        "",
        "a",
        "1234567 x12",
        "aab\nbaB aBaab",
        "²1½ _a-b\u200db\u0301",
        "\n\n",
        "Übung éa 1a",
        *DIFFICULT_TEXTS,
    ]
    for text in texts:
        ours, theirs = pieces_by_split(expression, "Isolated", text)
        assert ours == theirs


@pytest.mark.parametrize("behavior", ["Contiguous", "MergedWithPrevious", "MergedWithNext"])
def test_empty_matches_are_refused_where_they_are_joined(behavior: str) -> None:
    with pytest.raises(ValueError, match="may match nothing"):
        pieces_by_split("a*", behavior, "a")


def test_two_steps_bytelevel_and_none_are_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        cuts_of(
            {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"}, {"type": "ByteLevel"}]}
        )
    with pytest.raises(ValueError, match="no step ByteLevel"):
        cuts_of({"type": "Digits", "individual_digits": True})


@pytest.mark.parametrize("word", ["none", "gpt2", "abcd", "ab"])
@pytest.mark.parametrize("kind", ["String", "Regex"])
@pytest.mark.parametrize("others", [[], [r"\s"]])
def test_a_word_that_text_is_split_at_is_not_the_name_of_a_pattern(
    word: str, kind: str, others: list[str]
) -> None:
    splits = [{kind: word}, *({"Regex": other} for other in others)]
    steps = [
        {"type": "Split", "pattern": split, "behavior": "Isolated", "invert": False}
        for split in splits
    ]
    level = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}
    pattern = cuts_of({"type": "Sequence", "pretokenizers": [*steps, level]}).pattern
    text = f"{word}x {word}{word} y"
    counts = Counts.from_iterator([text], pattern=pattern)
    assert dict(counts.items()) == Counter(pretokenize(text, [word, *others]))
    assert counts.pattern == pattern
