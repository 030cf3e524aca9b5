"""Pre-tokenizers that remove what they split at: `Whitespace`, `Split` with `Removed`, and others."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import Regex, decoders, models, pre_tokenizers, trainers

from bpetite import Tokenizer, Vocabulary
from bpetite._decoder import decode
from bpetite._encoder import encode_ordinary
from bpetite.encoding.encoder import encoder_of
from bpetite.interfaces.huggingface import accelerate

pytestmark = pytest.mark.peers

CORPUS = [
    "the cat sat on the mat, don't you see? naïve cafés 東京 12 345\nx_y z-w   foo\tbar",
    "a-b--c<br>d e",
] * 20

CLIP = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"

REMOVING: dict[str, Any] = {
    "Whitespace": pre_tokenizers.Whitespace(),
    "WhitespaceSplit": pre_tokenizers.WhitespaceSplit(),
    "BertPreTokenizer": pre_tokenizers.BertPreTokenizer(),
    "CharDelimiterSplit": pre_tokenizers.CharDelimiterSplit("-"),
    "a space removed": pre_tokenizers.Split(" ", "removed"),
    "white space removed": pre_tokenizers.Split(Regex(r"\s+"), "removed"),
    "a class removed": pre_tokenizers.Split(Regex(r"[\s\-]"), "removed"),
    "all but matches removed": pre_tokenizers.Split(Regex(CLIP), "removed", invert=True),
    "then digits": pre_tokenizers.Sequence(
        [pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True)]
    ),
}

ATOMS = [
    *("the", " ", "  ", "\n", "\t", "é", "東", "1", "23", "-", "--", "<br>", ".", "_", "c", "a"),
    *(
        "\u3000",
        "<s>",
        " <s> ",
        "<tag>",
        "e\u0301",
        "👨\u200d👩",
        "\x00",
        "\r\n",
        "\x1c",
        "\x85",
        "שלום",
        "[UNK]",
    ),
]


def texts() -> Iterator[str]:
    yield from ("", " ", "\n\n", "  the cat  \n sat ", "don't -- stop...")
    chance = random.Random(0)
    for _ in range(400):
        yield "".join(chance.choices(ATOMS, k=chance.randint(1, 12)))


def made(name: str, kind: str) -> tokenizers.Tokenizer:
    """Train a tokenizer of characters or of bytes."""
    of_bytes = kind != "characters"
    unknown = {} if of_bytes else {"unk_token": "[UNK]"}
    tokenizer = tokenizers.Tokenizer(models.BPE(**unknown))
    tokenizer.pre_tokenizer = REMOVING[name]
    alphabet = []
    if of_bytes:
        level = pre_tokenizers.ByteLevel(
            add_prefix_space=kind == "bytes with a space", use_regex=kind != "bytes alone"
        )
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([REMOVING[name], level])
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        special_tokens=["[UNK]", "<s>"],
        initial_alphabet=alphabet,
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_tokens(["<tag>"])
    return tokenizer


def loaded(tokenizer: tokenizers.Tokenizer, folder: Path) -> Tokenizer:
    tokenizer.save(str(folder / "tokenizer.json"))
    return Tokenizer.load(folder / "tokenizer.json")


@pytest.mark.parametrize("kind", ["characters", "bytes", "bytes alone", "bytes with a space"])
@pytest.mark.parametrize("name", REMOVING)
def test_ids_offsets_and_texts_are_those_of_the_library(
    name: str, kind: str, tmp_path: Path
) -> None:
    theirs = made(name, kind)
    if kind == "bytes with a space" and name in ("CharDelimiterSplit", "a space removed"):
        with pytest.raises(ValueError, match="add_prefix_space is only supported after"):
            loaded(theirs, tmp_path)
        return
    ours = loaded(theirs, tmp_path)
    assert ours.assumptions[0].startswith("the file's pre_tokenizer removes '")
    for text in texts():
        expected = theirs.encode(text, add_special_tokens=False)
        ids, offsets = ours.encode_with_offsets(text)
        assert ids == ours.encode(text) == expected.ids, text
        assert [tuple(place) for place in offsets] == expected.offsets, text
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=False), text
        stream = ours.decode_stream()
        assert "".join([*map(stream.push, ids), stream.finish()]) == ours.decode(ids), text


@pytest.mark.parametrize("name", REMOVING)
def test_the_specification_gives_the_same(name: str, tmp_path: Path) -> None:
    vocabulary = loaded(made(name, "bytes alone"), tmp_path).vocabulary
    ours = Tokenizer(vocabulary)
    for text in texts():
        if "<tag>" in text:  # It is found wherever it is.
            continue
        ids = encode_ordinary(
            text,
            vocabulary.tokens,
            vocabulary.merges,
            {},
            vocabulary.pattern,
            left_out=vocabulary.left_out,
        )
        assert ours.encode_ordinary(text) == list(ids)
    assert decode([0, 1], {0: b"a", 1: b"b"}, spaced=True) == "a b"


def test_parts_of_a_text_are_parts_of_the_original(tmp_path: Path) -> None:
    ours = loaded(made("Whitespace", "characters"), tmp_path)
    text = "  the cat  \n sat on the   mat, naïve 東京  " * 50
    chunks = list(ours.chunks(text, 20))
    assert "".join(chunk.text for chunk in chunks) == text
    assert all(ours.count(chunk.text) <= 20 for chunk in chunks)
    fitting = ours.fit(text, 20)
    assert text.startswith(fitting)
    assert ours.count(fitting) <= 20
    assert list(ours.encode_iterable([text[:100], text[100:]])) == ours.encode(text)
    growing = ours.growing()
    for character in text[:300]:
        growing.append(character)
    assert list(growing.ids) == ours.encode(text[:300])


def test_it_is_kept_in_an_artifact_and_in_a_tokenizer_json(tmp_path: Path) -> None:
    ours = loaded(made("all but matches removed", "bytes alone"), tmp_path)
    ours.save(tmp_path / "kept.json")
    assert Tokenizer.load(tmp_path / "kept.json").vocabulary == ours.vocabulary
    Tokenizer(ours.vocabulary).to_huggingface(tmp_path / "new.json")
    again = Tokenizer.load(tmp_path / "new.json")
    for text in texts():
        assert again.encode(text) == ours.encode(text)
    tokens = {byte: bytes([byte]) for byte in range(256)}
    alone = Tokenizer(Vocabulary(tokens, [], pattern=r"\s+|\S+", left_out=r"\s"))
    with pytest.raises(ValueError, match="would not be the same tokenizer"):
        alone.to_tiktoken(tmp_path / "ranks.tiktoken")


def test_what_leaves_out_characters_is_extended_by_others(tmp_path: Path) -> None:
    ours = loaded(made("Whitespace", "bytes"), tmp_path)
    longer = ours.extend(["xylophone  xylophone\t zzyzx"] * 3, 5)
    learned = [token for own, token in longer.vocabulary.tokens.items() if own > ours.largest_id]
    assert len(learned) == 5
    assert not any(token.strip() != token for token in learned)
    longer.to_huggingface(tmp_path / "longer.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "longer.json"))
    for text in ("xylophone  zzyzx", "the\tcat "):
        assert longer.encode(text) == theirs.encode(text, add_special_tokens=False).ids


def test_only_a_set_of_characters_can_be_left_out(tmp_path: Path) -> None:
    tokens = {byte: bytes([byte]) for byte in range(256)}
    assert encoder_of(Vocabulary(tokens, [], left_out=r"\s")).encode("a b") == [97, 32, 98]
    with pytest.raises(ValueError, match="it is not a set of characters"):
        Vocabulary(tokens, [], left_out=r"\s+")
    two = made("Whitespace", "characters")
    two.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Whitespace(), pre_tokenizers.CharDelimiterSplit("-")]
    )
    with pytest.raises(ValueError, match="only one set of characters"):
        loaded(two, tmp_path)


@pytest.mark.parametrize("kind", ["characters", "bytes"])
@pytest.mark.parametrize("name", REMOVING)
def test_the_drop_in_does_the_same(name: str, kind: str) -> None:
    theirs = made(name, kind)
    ours = accelerate(theirs)
    for text in texts():
        expected, encoded = theirs.encode(text), ours.encode(text)
        assert (encoded.ids, encoded.tokens) == (expected.ids, expected.tokens), text
        assert encoded.offsets == expected.offsets, text
        assert ours.decode(expected.ids) == theirs.decode(expected.ids), text
