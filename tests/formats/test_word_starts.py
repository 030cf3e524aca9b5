"""Tokens within a word have a prefix in their names (`continuing_subword_prefix`), as in BERT's files."""

import json
import random
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import Regex, decoders, models, pre_tokenizers, trainers

from bpetite import Tokenizer
from bpetite._decoder import decode as decoded
from bpetite._encoder import consists_of
from bpetite._pretokenizer import pretokenize
from bpetite.encoding.explain import Explainer
from bpetite.formats.shared.difficult import DIFFICULT_TEXTS
from bpetite.formats.shared.peers import compared_with
from bpetite.interfaces.huggingface import accelerate
from bpetite.specification.character_encoder import encode as specified
from text_checks import check_fitting, check_growing, check_stream_of_ids

pytestmark = pytest.mark.peers

PREFIX = "##"
WORDS = "hello world, the lowest of the lower lows! naïve 日本 日本語 👍🏽 1234 12 don't a\u0301 a we 've"
CUTS = r"\p{N}|[^\s\p{N}]+|\s+"
TEXTS = [
    *DIFFICULT_TEXTS,
    WORDS,
    "",
    "<s>",
    " <s> hello<s>lower##</w> ##",
    "hello##world##\U0010ffff ÿ\x00\r\n  low #",
    "lower lowest" * 40,
    "שלום עולם مرحبا",
    "it 's . , ? ! n't ' 've do not",
]


def trained(cuts: Any, decoder: Any, *, fuses: bool = False, texts: Any = TEXTS[:40]) -> Any:
    real = tokenizers.Tokenizer(
        models.BPE(continuing_subword_prefix=PREFIX, unk_token="<unk>", fuse_unk=fuses)
    )
    real.pre_tokenizer = cuts
    if decoder is not None:
        real.decoder = decoder
    trainer = trainers.BpeTrainer(
        continuing_subword_prefix=PREFIX,
        vocab_size=600,
        special_tokens=["<unk>", "<s>"],
        show_progress=False,
    )
    real.train_from_iterator([WORDS, *(text for text in texts if "#" not in text)] * 3, trainer)
    return real


REAL = {
    "whitespace": lambda: trained(pre_tokenizers.Whitespace(), decoders.WordPiece()),
    "as they are": lambda: trained(pre_tokenizers.Whitespace(), decoders.WordPiece(cleanup=False)),
    "BERT": lambda: trained(pre_tokenizers.BertPreTokenizer(), decoders.WordPiece(), fuses=True),
    "no decoder": lambda: trained(pre_tokenizers.WhitespaceSplit(), None),
    "isolated": lambda: trained(
        pre_tokenizers.Split(Regex(CUTS), "isolated"), decoders.WordPiece()
    ),
    "fixed": lambda: trained(
        pre_tokenizers.FixedLength(length=7), decoders.WordPiece(), fuses=True
    ),
    "few": lambda: trained(pre_tokenizers.Whitespace(), decoders.WordPiece(), texts=["low"]),
}


@pytest.fixture(scope="module", params=REAL)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    real = REAL[request.param]()
    path = tmp_path_factory.mktemp("words") / "tokenizer.json"
    real.save(str(path))
    return real, Tokenizer.load(path), path


def test_ids_offsets_and_texts_are_those_of_tokenizers(both: Any) -> None:
    real, tokenizer, _ = both
    for text in TEXTS:
        expected = real.encode(text, add_special_tokens=False)
        ids, offsets = tokenizer.encode_with_offsets(text)
        assert ids == expected.ids, text
        assert offsets == expected.offsets, text
        assert tokenizer.encode(text) == ids
        assert tokenizer.count(text) == len(ids)
        for part in (ids, ids[1:], ids[2:3], ids[::-1]):
            text_of_part = real.decode(part, skip_special_tokens=False)
            assert tokenizer.decode(part, errors="replace") == text_of_part, text
        assert tokenizer.decode_batch([ids, ids[:1]], errors="replace")[0] == real.decode(
            ids, skip_special_tokens=False
        )


def test_random_texts_have_the_ids_of_tokenizers(both: Any) -> None:
    real, tokenizer, _ = both
    chance = random.Random(8)
    letters = [*"lowerst# ,.!'\n", "日", "本", "é", "\u0301", "ß", "<s>", "low", "lowest"]
    for _ in range(300):
        text = "".join(chance.choices(letters, k=chance.randrange(40)))
        expected = real.encode(text, add_special_tokens=False)
        assert tokenizer.encode_with_offsets(text) == (expected.ids, expected.offsets), text
        assert tokenizer.decode(expected.ids) == real.decode(
            expected.ids, skip_special_tokens=False
        )


def test_parts_of_texts_fit_as_they_do_when_every_length_is_tried(both: Any) -> None:
    _, tokenizer, _ = both
    for text in [WORDS, "lower  lowest?", TEXTS[-2], TEXTS[-3]]:
        check_fitting(tokenizer, text)


def test_growing_texts_and_streams_have_the_ids_of_the_whole(both: Any) -> None:
    _, tokenizer, _ = both
    for text in TEXTS:
        check_growing(tokenizer, text)


def test_a_stream_of_ids_has_the_text_of_all(both: Any) -> None:
    _, tokenizer, _ = both
    for text in TEXTS:
        check_stream_of_ids(tokenizer, text)


def test_the_artifact_and_the_file_hold_all_of_it(both: Any, tmp_path: Path) -> None:
    _, tokenizer, path = both
    tokenizer.save(tmp_path / "token.json")
    loaded = Tokenizer.load(tmp_path / "token.json")
    assert loaded.vocabulary == tokenizer.vocabulary
    assert loaded.fingerprint == tokenizer.fingerprint
    if not tokenizer.vocabulary.spaced:
        assert loaded.vocabulary != replace(tokenizer.vocabulary, word_start="-")
    assert loaded.get_vocab() == tokenizer.get_vocab()
    for text in TEXTS[-9:]:
        ids = tokenizer.encode(text)
        assert loaded.encode(text) == ids
        assert loaded.decode(ids, errors="replace") == tokenizer.decode(ids, errors="replace")
    tokenizer.to_huggingface(tmp_path / "tokenizer.json")
    assert (tmp_path / "tokenizer.json").read_bytes() == path.read_bytes()
    for write in (loaded.to_huggingface, loaded.to_tiktoken):
        with pytest.raises(ValueError, match="beginnings of words"):
            write(tmp_path / "other")


def test_the_specification_gives_the_same_ids_and_texts(both: Any) -> None:
    real, tokenizer, _ = both
    vocabulary = tokenizer.vocabulary
    model = json.loads(real.to_str())["model"]
    rank_of = {tuple(merge): rank for rank, merge in enumerate(model["merges"])}
    names = {token_id: name.encode() for name, token_id in tokenizer.get_vocab().items()}
    for text in TEXTS:
        if "<s>" in text:
            continue  # An added token is cut out before.
        ids: list[int] = []
        for pretoken in pretokenize(text, vocabulary.pattern):
            left_out = vocabulary.left_out
            if left_out is None or not consists_of(pretoken, left_out):
                ids += specified(
                    pretoken.decode(),
                    model["vocab"],
                    {},
                    lambda left, right: rank_of.get((left, right)),
                    vocabulary.unknown,
                    prefix=PREFIX,
                )
        assert ids == tokenizer.encode(text), text
        if vocabulary.spaced:
            is_of_words = vocabulary.spaced in ("words", "cleaned")
            assert tokenizer.decode(ids) == decoded(
                ids,
                names,
                spaced=True,
                prefix=b"##" if is_of_words else b"",
                cleaned=vocabulary.spaced == "cleaned",
            )


def test_what_is_accelerated_gives_the_same(both: Any) -> None:
    real, _, _ = both
    fast = accelerate(real)
    for text in TEXTS:
        expected, encoded = real.encode(text), fast.encode(text)
        assert (encoded.ids, encoded.tokens) == (expected.ids, expected.tokens)
        assert encoded.offsets == expected.offsets
        assert fast.decode(encoded.ids) == real.decode(expected.ids)


def test_the_file_is_confirmed_by_its_library(both: Any) -> None:
    _, tokenizer, _ = both
    vocabulary = tokenizer.vocabulary
    encode = partial(tokenizer.encode)
    compared = compared_with(tokenizer._original, vocabulary, encode, "the file")
    assert compared is not None
    assert compared.library == "tokenizers"


def test_names_bytes_and_canonical_ids(both: Any) -> None:
    _, tokenizer, _ = both
    ids = tokenizer.encode("lower")
    assert tokenizer.is_canonical(ids)
    assert tokenizer.is_canonical(tokenizer.encode("lower low"))
    whole = tokenizer.encode("l")
    assert tokenizer.token_id("l") == whole[0]
    assert tokenizer.token_bytes(whole[0]) == b"l"
    assert tokenizer.token_id("##o") == tokenizer.get_vocab()["##o"]
    assert not tokenizer.is_canonical([tokenizer.token_id("##o")])


def test_merges_are_replayed(both: Any) -> None:
    _, tokenizer, _ = both
    explainer = Explainer(tokenizer.vocabulary)
    steps = explainer.steps(explainer.merged(b"lo"))
    assert list(steps[-1].ids) == tokenizer.encode("lo")


def document(**fields: Any) -> dict[str, Any]:
    model = {
        "type": "BPE",
        "unk_token": "<unk>",
        "continuing_subword_prefix": PREFIX,
        "vocab": {"<unk>": 0, "a": 1, "##a": 2, "#": 3, "###": 4, "##": 5},
        "merges": [],
    }
    model |= fields.pop("model", {})
    return {"version": "1.0", "pre_tokenizer": {"type": "Whitespace"}, "model": model, **fields}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model": {"merges": [["#", "###"]]}}, r"merges\[0\]: '# ###' makes '##'"),
        ({"model": {"merges": [["a", "a"]]}}, r"merges\[0\]: 'a a' is not a pair"),
        ({"model": {"merges": ["a ##"]}}, r"merges\[0\]: 'a ##' is not a pair"),
        ({"model": {"merges": [["a", "##a"]]}}, "makes 'aa', which is not a token|is not a token"),
        ({"model": {"unk_token": None}}, "unk_token is not given"),
        ({"model": {"end_of_word_suffix": "</w>"}}, "both"),
        ({"model": {"continuing_subword_prefix": "é"}}, "not of printable ASCII"),
        ({"model": {"continuing_subword_prefix": 7}}, "continuing_subword_prefix"),
        ({"model": {"ignore_merges": True}}, "ignore_merges is on"),
        ({"pre_tokenizer": {"type": "ByteLevel"}}, "made of bytes"),
        ({"decoder": {"type": "WordPiece", "prefix": "@", "cleanup": True}}, "WordPiece"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(
    changes: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document(**changes)), "utf-8")
    with pytest.raises(ValueError, match=reason):
        Tokenizer.load(path)
