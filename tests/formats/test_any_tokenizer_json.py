"""Files that `tokenizers` itself makes, of parts put together at random: each gives the ids that it gives
there, or is refused in a sentence."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import AddedToken, Regex, models, trainers
from tokenizers import decoders as d
from tokenizers import normalizers as n
from tokenizers import pre_tokenizers as p

from bpetite import Tokenizer
from bpetite.formats.shared.difficult import DIFFICULT_TEXTS
from known_characters import is_known

CORPUS = [text for text in DIFFICULT_TEXTS if text.strip() and all(map(is_known, text))]
PARTS = [
    *"abcdehit ABX012.,!?'-_\n\t\u00e9\u0301\u00df\u4f60\ud55c\u00a0\u2581\u0120\u00a1\u00bd\x00\x7f",
    *(
        "  ",
        "\r\n",
        "\U0001f44d",
        " the",
        "the",
        " quick",
        "<s>",
        "</s>",
        "<x>",
        "[MASK]",
        "<0x41>",
        "##",
        "</w>",
    ),
]
PRE_TOKENIZERS: list[Callable[[], Any]] = [
    lambda: p.ByteLevel(add_prefix_space=True),
    p.Whitespace,
    p.WhitespaceSplit,
    p.BertPreTokenizer,
    lambda: p.CharDelimiterSplit("-"),
    p.UnicodeScripts,
    p.Metaspace,
    lambda: p.Metaspace(prepend_scheme="never"),
    lambda: p.Metaspace(prepend_scheme="first", split=False),
    lambda: p.Metaspace(replacement="_"),
    lambda: p.Digits(individual_digits=True),
    p.Digits,
    p.Punctuation,
    lambda: p.Punctuation("contiguous"),
    lambda: p.Punctuation("removed"),
    lambda: p.Split(Regex(r"\p{N}{1,3}| ?\p{L}+|\s+|[^\s\p{L}\p{N}]+"), "isolated"),
    lambda: p.Split(Regex(r"\p{N}*"), "isolated"),
    lambda: p.Split(" ", "removed"),
    lambda: p.Split(" ", "merged_with_next"),
    lambda: p.Split(" ", "merged_with_previous"),
    lambda: p.Split(Regex(r"\w+|[^\w\s]+"), "removed", invert=True),
    lambda: p.FixedLength(length=4),
]
NORMALIZERS: list[Callable[[], Any]] = [
    n.NFC,
    n.NFKC,
    n.NFD,
    n.Lowercase,
    n.BertNormalizer,
    n.Strip,
    n.StripAccents,
    n.Nmt,
    n.ByteLevel,
    lambda: n.Prepend("\u2581"),
    lambda: n.Replace(" ", "\u2581"),
    lambda: n.Replace(Regex(r"\s+"), " "),
]
DECODERS: list[Callable[[], Any]] = [d.ByteLevel, d.Metaspace, d.BPEDecoder, d.WordPiece, d.Fuse]


def of_pieces() -> Any:
    """The decoder of files in which U+2581 stands for spaces."""
    return d.Sequence([d.Replace("\u2581", " "), d.ByteFallback(), d.Fuse()])


def some(chance: random.Random, makers: list[Callable[[], Any]], most: int) -> list[Any]:
    return [chance.choice(makers)() for _ in range(chance.randrange(most + 1))]


def made(chance: random.Random, marks_words: float = 0.08) -> tokenizers.Tokenizer:
    """A tokenizer of random parts, chosen so that they fit together more often than by chance."""
    words: dict[str, Any] = {}
    if chance.random() < marks_words:
        words = chance.choice([{"continuing_subword_prefix": "##"}, {"end_of_word_suffix": "</w>"}])
    of_bytes = chance.random() < (0.2 if words else 0.6)
    byte_fallback = chance.random() < (0.05 if of_bytes or words else 0.8)
    unknown = {"unk_token": "<unk>"} if chance.random() < (0.9 if words else 0.4) else {}
    tokenizer = tokenizers.Tokenizer(
        models.BPE(
            byte_fallback=byte_fallback,
            fuse_unk=chance.random() < 0.5,
            ignore_merges=chance.random() < 0.15,
            **words,
            **unknown,
        )
    )
    before = some(chance, PRE_TOKENIZERS, 2)
    if of_bytes:
        before.append(p.ByteLevel(add_prefix_space=False, use_regex=chance.random() < 0.6))
    if before:
        tokenizer.pre_tokenizer = p.Sequence(before)
    if normalizers := some(chance, NORMALIZERS, chance.choice([0, 1, 2])):
        tokenizer.normalizer = n.Sequence(normalizers)
    usual: Callable[[], Any] = d.ByteLevel if of_bytes else of_pieces
    if words and not of_bytes:
        usual = d.WordPiece if "continuing_subword_prefix" in words else d.BPEDecoder
    if chance.random() < 0.9:
        tokenizer.decoder = (chance.choice(DECODERS) if chance.random() < 0.1 else usual)()
    specials = ["<unk>", "<s>", "</s>"][: chance.randrange(4)]
    trainer = trainers.BpeTrainer(
        vocab_size=chance.choice([300, 500, 800]),
        special_tokens=specials
        + [f"<0x{byte:02X}>" for byte in range(256 if byte_fallback else 0)],
        show_progress=False,
        initial_alphabet=p.ByteLevel.alphabet() if of_bytes and chance.random() < 0.8 else [],
        **words,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    return with_ordinary_bytes(tokenizer, chance)


def with_ordinary_bytes(
    tokenizer: tokenizers.Tokenizer, chance: random.Random
) -> tokenizers.Tokenizer:
    """Add tokens to a tokenizer, but none for single bytes, which its trainer adds."""
    document = json.loads(tokenizer.to_str())
    document["added_tokens"] = [
        token for token in document["added_tokens"] if not token["content"].startswith("<0x")
    ]
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps(document))
    for text in chance.sample(
        ["<x>", "[MASK]", "new token", "quick", "\u2581tok", " the"], chance.choice([0, 0, 1, 2])
    ):
        flags = {
            flag: chance.random() < 0.3
            for flag in ("lstrip", "rstrip", "single_word", "normalized")
        }
        tokenizer.add_tokens([AddedToken(text, **flags)])
    return tokenizer


def texts(chance: random.Random) -> list[str]:
    return [
        *CORPUS[:30:3],
        *("".join(chance.choices(PARTS, k=chance.randrange(14))) for _ in range(60)),
    ]


@pytest.mark.parametrize("seed", range(12))
def test_a_file_gives_the_ids_of_tokenizers_or_is_refused_in_a_sentence(
    seed: int, tmp_path: Path
) -> None:
    chance = random.Random(seed)
    path = tmp_path / "tokenizer.json"
    read = 0
    for _ in range(16):
        theirs = made(chance)
        path.write_text(theirs.to_str(), "utf-8")
        try:
            tok = Tokenizer.load(path)
        except ValueError as reason:
            refusal = str(reason)
        else:
            read += 1
            check_same(tok, theirs, texts(chance))
            continue
        assert refusal.startswith(str(path))
        assert "\n" not in refusal
        assert len(refusal) < 400 + len(str(path))
    assert read


def check_same(tok: Tokenizer, theirs: tokenizers.Tokenizer, texts: list[str]) -> None:
    lacks_bytes = any("cannot be encoded" in assumption for assumption in tok.assumptions)
    for text in texts:
        try:
            ids = tok.encode(text)
        except ValueError:
            assert lacks_bytes
            continue
        assert ids == theirs.encode(text, add_special_tokens=False).ids, (
            text,
            theirs.to_str()[:2000],
        )
