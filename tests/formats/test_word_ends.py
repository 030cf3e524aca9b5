"""Tokens that end a word have a suffix in their names (`end_of_word_suffix`), as in CLIP and GPT-1."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers

from bpetite import Tokenizer
from bpetite._encoder import encode as specified
from bpetite._pretokenizer import pretokenize
from bpetite.formats.shared.difficult import DIFFICULT_TEXTS
from bpetite.formats.shared.peers import compared_with
from bpetite.interfaces.huggingface import accelerate
from bpetite.normalization import normalizing, steps_in
from bpetite.specification.character_encoder import encode as of_characters_specified
from bpetite.vocabulary import WORD_END, Vocabulary
from text_checks import check_fitting, check_growing, check_stream_of_ids

pytestmark = pytest.mark.peers

SUFFIX = "</w>"
WORDS = "hello world, the lowest of the lower lows! naïve 日本 日本語 👍🏽 1234 12 don't a\u0301 a"
CUTS = r"\p{N}|[^\s\p{N}]+|\s+"
TEXTS = [
    *DIFFICULT_TEXTS,
    WORDS,
    "",
    "<s>",
    " <s> hello<s>lower</w> </w>",
    "hello</w>world</w>\U0010ffff ÿ\x00\r\n  low",
    "lower lowest" * 40,
    "שלום עולם مرحبا",
]


def trained(pre_tokenizer: Any, decoder: Any, *, unknown: str | None, **options: Any) -> Any:
    real = tokenizers.Tokenizer(models.BPE(end_of_word_suffix=SUFFIX, unk_token=unknown))
    real.pre_tokenizer = pre_tokenizer
    if decoder is not None:
        real.decoder = decoder
    trainer = trainers.BpeTrainer(
        end_of_word_suffix=SUFFIX,
        vocab_size=600,
        special_tokens=["<unk>", "<s>"],
        show_progress=False,
        **options,
    )
    texts = [text for text in TEXTS[:40] if SUFFIX not in text]
    real.train_from_iterator([WORDS, *texts] * 3, trainer)
    return real


def byte_level(unknown: str | None = "<unk>") -> Any:
    cuts = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    return trained(cuts, decoders.ByteLevel(), unknown=unknown, initial_alphabet=alphabet)


def of_characters(*, fuses: bool = False, cuts: Any = None) -> Any:
    split = cuts or pre_tokenizers.Split(Regex(CUTS), "isolated")
    real = trained(split, decoders.BPEDecoder(suffix=SUFFIX), unknown="<unk>")
    document = json.loads(real.to_str())
    document["model"]["fuse_unk"] = fuses
    return tokenizers.Tokenizer.from_str(json.dumps(document))


def complete() -> Any:
    """With a token for each byte, and one for it at the end of a word, as CLIP has."""
    document = json.loads(byte_level().to_str())
    ids = document["model"]["vocab"]
    for letter in sorted(pre_tokenizers.ByteLevel.alphabet()):
        for name in (letter, letter + SUFFIX):
            ids.setdefault(name, len(ids))
    return tokenizers.Tokenizer.from_str(json.dumps(document))


REAL = {
    "bytes": byte_level,
    "complete": complete,
    "dropped": lambda: byte_level(None),
    "characters": of_characters,
    "characters, joined": lambda: of_characters(fuses=True),
    "pieces": lambda: of_characters(cuts=pre_tokenizers.FixedLength(length=7)),
    "lines": lambda: of_characters(cuts=pre_tokenizers.Split("\n", "isolated")),
}


@pytest.fixture(scope="module", params=REAL)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    real: Any = REAL[request.param]()  # type: ignore[no-untyped-call]
    path = tmp_path_factory.mktemp("words") / "tokenizer.json"
    real.save(str(path))
    if request.param == "dropped":
        return real, Tokenizer.load(path, missing="drop"), path
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
        decoded = real.decode(ids, skip_special_tokens=False)
        assert tokenizer.decode(ids, errors="replace") == decoded, text
        assert tokenizer.decode_batch([ids, ids[:1]], errors="replace")[0] == decoded


def test_parts_of_texts_fit_as_they_do_when_every_length_is_tried(both: Any) -> None:
    _, tokenizer, _ = both
    for text in [WORDS, "lower  lowest?", TEXTS[-1], TEXTS[-2]]:
        check_fitting(tokenizer, text)
        assert "".join(chunk.text for chunk in tokenizer.chunks(text, 30)) == text


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
    assert loaded.vocabulary != replace(tokenizer.vocabulary, word_end="-")
    assert loaded.get_vocab() == tokenizer.get_vocab()
    for text in TEXTS[-8:]:
        ids = tokenizer.encode(text)
        assert loaded.encode(text) == ids
        assert loaded.decode(ids, errors="replace") == tokenizer.decode(ids, errors="replace")
    tokenizer.to_huggingface(tmp_path / "tokenizer.json")
    assert (tmp_path / "tokenizer.json").read_bytes() == path.read_bytes()
    with pytest.raises(ValueError, match="ends of words"):
        loaded.to_huggingface(tmp_path / "other.json")
    with pytest.raises(ValueError, match="ends of words"):
        loaded.to_tiktoken(tmp_path / "other.tiktoken")
    with pytest.raises(ValueError, match="ends of words"):
        loaded.to_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt")


def test_the_specification_gives_the_same_ids(both: Any) -> None:
    _, tokenizer, _ = both
    vocabulary = tokenizer.vocabulary
    if vocabulary.id_of[b"\xc3"] in vocabulary.provisional:
        pytest.skip("its merges begin with characters")
    specials = vocabulary.special_tokens
    for text in TEXTS:
        ids = specified(
            text,
            vocabulary.tokens,
            vocabulary.merges,
            specials,
            vocabulary.pattern,
            provisional=vocabulary.provisional,
            unknown=vocabulary.unknown,
            drops_missing=vocabulary.drops_missing,
            ends_words=True,
        )
        assert ids == tokenizer.encode(text)


def test_the_specification_of_characters_gives_the_same_ids(both: Any) -> None:
    real, tokenizer, _ = both
    vocabulary = tokenizer.vocabulary
    if vocabulary.id_of[b"\xc3"] not in vocabulary.provisional:
        pytest.skip("its merges begin with bytes")
    model = json.loads(real.to_str())["model"]
    rank_of = {tuple(merge): rank for rank, merge in enumerate(model["merges"])}
    for text in TEXTS:
        ids: list[int] = []
        for pretoken in pretokenize(text, vocabulary.pattern):
            ids += of_characters_specified(
                pretoken.decode(),
                model["vocab"],
                {},
                lambda left, right: rank_of.get((left, right)),
                vocabulary.unknown,
                SUFFIX,
            )
        assert ids == tokenizer.encode(text, special="text"), text


def random_vocabulary(chance: random.Random) -> Vocabulary:
    """Letters and marked letters, and merges of what there is, in any order."""
    tokens = {place: letter.encode() for place, letter in enumerate("abc ")}
    mark = 90
    tokens[mark] = WORD_END
    rows = []
    for place in range(4):
        # Some letters have no token at the end of a word: theirs is provisional.
        at_end = 10 + place if chance.random() < 0.8 else mark + 1 + place
        tokens[at_end] = tokens[place] + WORD_END
        rows.append((place, mark, at_end))
    merges = [(left, right, token_id) for left, right, token_id in rows]
    for token_id in range(20, 20 + chance.randrange(1, 25)):
        left = chance.choice([own for own in tokens if WORD_END not in tokens[own]])
        right = chance.choice([own for own in tokens if own < mark])
        pairs = [(left, right) for left, right, _ in merges]
        if tokens[left] + tokens[right] not in tokens.values() and (left, right) not in pairs:
            tokens[token_id] = tokens[left] + tokens[right]
            merges.append((left, right, token_id))
    later = merges[4:]
    chance.shuffle(later)
    merges[4:] = later
    unknown = chance.choice([(80, True), (80, False), None])
    return Vocabulary(
        tokens,
        [(left, right) for left, right, _ in merges],
        {"<unk>": 80},
        merge_ids=[token_id for *_, token_id in merges],
        pattern=chance.choice([r" *[^ ]+| +", r"[^c]+|c"]),
        provisional=[own for own in tokens if own >= mark],
        irregular=True,
        unknown=unknown,
        drops_missing=unknown is None,
        word_end="</w>",
    )


def test_random_vocabularies_give_the_ids_of_the_specification() -> None:
    chance = random.Random(5)
    for _ in range(300):
        vocabulary = random_vocabulary(chance)
        tokenizer = Tokenizer(vocabulary)

        def ids_of(text: str, vocabulary: Vocabulary = vocabulary) -> list[int]:
            return specified(
                text,
                vocabulary.tokens,
                vocabulary.merges,
                {},
                vocabulary.pattern,
                provisional=vocabulary.provisional,
                unknown=vocabulary.unknown,
                drops_missing=vocabulary.drops_missing,
                ends_words=True,
            )

        growing = tokenizer.growing()
        for length in (1, 2, 3, 5, 60, 3, 1, 90):
            growing.append("".join(chance.choices("abbcd  ", k=length)))
            text = growing.text
            ids = ids_of(text)
            assert tokenizer.encode(text) == ids
            assert list(growing.ids) == ids
            _, spans = tokenizer.encode_with_offsets(text)
            words = [vocabulary.tokens[own].removesuffix(WORD_END) for own in ids if own != 80]
            known = [span for own, span in zip(ids, spans, strict=True) if own != 80]
            assert [text[start:end].encode() for start, end in known] == words or not (
                vocabulary.unknown
            )
        kept = chance.randrange(len(text))
        growing.truncate(kept)
        assert list(growing.ids) == ids_of(text[:kept])


# CLIP
# -----------------------------------------------------------------------------------------------


def clip() -> Any:
    """transformers' own tokenizer, with a small vocabulary."""
    from transformers import CLIPTokenizer

    model = json.loads(byte_level().to_str())["model"]
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    names = [*letters, *(letter + SUFFIX for letter in letters), *model["vocab"]]
    names = [name for name in names if name not in ("<unk>", "<s>")]
    names += ["<|startoftext|>", "<|endoftext|>"]
    vocab = {name: place for place, name in enumerate(dict.fromkeys(names))}
    merges: list[Any] = [tuple(pair) for pair in model["merges"]]
    return CLIPTokenizer(vocab=vocab, merges=merges)


CLIP_TEXTS = [
    *TEXTS,
    "A  photo\tof\r\na CAT.",
    "<|startoftext|>Hello <|endoftext|> world<|endoftext|>",
    "I'll don't 12 34 İ ǅ ﬁ",
]


def check_as_clip(tokenizer: Tokenizer, real: Any) -> None:
    backend = tokenizers.Tokenizer.from_str(real.backend_tokenizer.to_str())
    for text in CLIP_TEXTS:
        expected = backend.encode(text, add_special_tokens=False)
        assert tokenizer.encode_with_offsets(text) == (expected.ids, expected.offsets), text
        decoded = backend.decode(expected.ids, skip_special_tokens=False)
        assert tokenizer.decode(expected.ids, errors="replace") == decoded, text
        assert tokenizer.encode(text, add_special_tokens=True) == backend.encode(text).ids


def test_clip_is_read_where_its_pattern_keeps_all_text(tmp_path: Path) -> None:
    real = clip()
    written = real.backend_tokenizer.to_str().replace('"Removed"', '"Isolated"')
    real.backend_tokenizer.pre_tokenizer = tokenizers.Tokenizer.from_str(written).pre_tokenizer
    (tmp_path / "tokenizer.json").write_text(written, "utf-8")
    check_as_clip(Tokenizer.load(tmp_path / "tokenizer.json"), real)
    fast = accelerate(real)
    for text in CLIP_TEXTS:
        expected = real(text, return_offsets_mapping=True)
        encoded = fast(text, return_offsets_mapping=True)
        assert encoded.input_ids == expected.input_ids
        assert encoded.offset_mapping == expected.offset_mapping
        assert fast.decode(encoded.input_ids) == real.decode(expected.input_ids)
        assert fast.tokenize(text) == real.tokenize(text)


def test_of_characters_is_accelerated(tmp_path: Path) -> None:
    for real in (of_characters(), of_characters(fuses=True), byte_level(), byte_level(None)):
        fast = accelerate(real)
        for text in TEXTS:
            expected, encoded = real.encode(text), fast.encode(text)
            assert (encoded.ids, encoded.tokens) == (expected.ids, expected.tokens)
            assert encoded.offsets == expected.offsets
            assert fast.decode(encoded.ids) == real.decode(expected.ids)


def test_is_canonical_and_tokens_of_words(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    complete().save(str(path))
    tokenizer = Tokenizer.load(path)
    ids = tokenizer.encode("lower lowest")
    assert tokenizer.is_canonical(ids)
    assert not tokenizer.is_canonical([*ids[:-1], *tokenizer.encode("t")])
    assert tokenizer.token_bytes(ids[0]) == b"lower</w>"
    assert tokenizer.token_id(b"lower</w>") == ids[0]
    vocabulary = tokenizer.vocabulary
    assert tokenizer.token_id("a") == vocabulary.id_of[b"a"] != vocabulary.id_of[b"a\xff"]


# GPT-1
# ----------------------------------------------------------------------------------------------

HARD_TEXTS = [
    *TEXTS,
    "Crème BRÛLÉE İstanbul ẞ Å \u1734\ufffd\u200d\u00ad\u0890 a\u0b55 \x85\x0b\u2028x\u3000y\ue000",
    "日本語 \uf900\U0002f800한국어 ｶﾞ e\u0301\u20dd\u0903",
]


@pytest.mark.parametrize("clean_text", [False, True])
@pytest.mark.parametrize("strip_accents", [None, False, True])
@pytest.mark.parametrize("lowercase", [False, True])
def test_the_normalizer_of_bert_is_read(
    clean_text: bool, strip_accents: bool | None, lowercase: bool, tmp_path: Path
) -> None:
    real = byte_level()
    real.normalizer = normalizers.BertNormalizer(
        clean_text=clean_text,
        handle_chinese_chars=False,
        strip_accents=strip_accents,
        lowercase=lowercase,
    )
    real.save(str(tmp_path / "tokenizer.json"))
    tokenizer = Tokenizer.load(tmp_path / "tokenizer.json")
    for text in HARD_TEXTS:
        expected = real.encode(text, add_special_tokens=False)
        assert tokenizer.encode_with_offsets(text) == (expected.ids, expected.offsets), text


def test_every_character_is_normalized_as_by_bert(tmp_path: Path) -> None:
    real = byte_level()
    real.normalizer = normalizers.BertNormalizer(handle_chinese_chars=False)
    real.save(str(tmp_path / "tokenizer.json"))
    normalize = normalizing(
        steps_in(Tokenizer.load(tmp_path / "tokenizer.json").vocabulary.normalization)
    )
    for code in (*range(0xD800), *range(0xE000, 0x110000)):
        text = f"x{chr(code)}x"
        assert normalize(text) == real.normalizer.normalize_str(text), hex(code)


def test_clips_tokenizer_json_is_read(tmp_path: Path) -> None:
    real = clip()
    real.save_pretrained(tmp_path)
    tokenizer = Tokenizer.load(tmp_path)
    check_as_clip(tokenizer, real)
    for text in CLIP_TEXTS:
        assert tokenizer.encode(text, add_special_tokens=True) == real(text).input_ids


def test_clips_two_files_are_read(tmp_path: Path) -> None:
    real = clip()
    model = json.loads(real.backend_tokenizer.to_str())["model"]
    (tmp_path / "vocab.json").write_text(json.dumps(model["vocab"]), "utf-8")
    lines = ["#version: 0.2", *map(" ".join, model["merges"]), ""]
    (tmp_path / "merges.txt").write_text("\n".join(lines), "utf-8")
    check_as_clip(Tokenizer.load(tmp_path), real)
    loaded = Tokenizer.load(tmp_path)
    encode = partial(loaded.encode, add_special_tokens=False)
    compared = compared_with(loaded._original, loaded.vocabulary, encode, "the files")
    assert compared is not None
    assert compared.library == "tokenizers"
    (tmp_path / "config.json").write_text('{"model_type": "clip"}', "utf-8")
    check_as_clip(Tokenizer.load(tmp_path), real)


def test_gpt_1_is_read(tmp_path: Path) -> None:
    from transformers import OpenAIGPTTokenizer

    model = json.loads(of_characters().to_str())["model"]
    merges: list[Any] = [tuple(pair) for pair in model["merges"]]
    real = OpenAIGPTTokenizer(vocab=model["vocab"], merges=merges)
    backend = tokenizers.Tokenizer.from_str(real.backend_tokenizer.to_str())
    backend.save(str(tmp_path / "tokenizer.json"))
    tokenizer = Tokenizer.load(tmp_path / "tokenizer.json")
    for text in HARD_TEXTS:
        expected = backend.encode(text, add_special_tokens=False)
        assert tokenizer.encode_with_offsets(text) == (expected.ids, expected.offsets), text
        decoded = backend.decode(expected.ids, skip_special_tokens=False)
        assert tokenizer.decode(expected.ids) == decoded


def written(text: str, **flags: bool) -> dict[str, Any]:
    """A token as transformers writes it."""
    return {
        "__type": "AddedToken",
        "content": text,
        "lstrip": False,
        "rstrip": False,
        "single_word": False,
        **flags,
    }


def gpt_1_files(folder: Path) -> int:
    """Write the two files of a small GPT-1, and return the number of ids."""
    model = json.loads(of_characters(cuts=pre_tokenizers.BertPreTokenizer()).to_str())["model"]
    (folder / "vocab.json").write_text(json.dumps(model["vocab"]), "utf-8")
    lines = ["#version: 0.2", *map(" ".join, model["merges"]), ""]
    (folder / "merges.txt").write_text("\n".join(lines), "utf-8")
    return len(model["vocab"])


GPT_1: dict[str, Callable[[int], dict[str, Any]]] = {
    "by its class": lambda size: {"tokenizer_config.json": {"tokenizer_class": GPT_1_CLASS}},
    "by its fast class": lambda size: {
        "tokenizer_config.json": {"tokenizer_class": f"{GPT_1_CLASS}Fast"}
    },
    "by its model": lambda size: {"config.json": {"model_type": "openai-gpt"}},
    "another unknown token": lambda size: {
        "tokenizer_config.json": {"tokenizer_class": GPT_1_CLASS, "unk_token": "<s>"}
    },
    "special tokens": lambda size: {
        "config.json": {"model_type": "openai-gpt"},
        "added_tokens.json": {"<BOS>": size, "[PAD]": size + 1},
        "special_tokens_map.json": {"bos_token": "<BOS>", "pad_token": "[PAD]"},
    },
    "special tokens without ids": lambda size: {
        "tokenizer_config.json": {
            "tokenizer_class": GPT_1_CLASS,
            "bos_token": "<BOS>",
            "add_bos_token": True,
            "pad_token": written("[PAD]", lstrip=True, normalized=False),
        },
    },
    "added tokens": lambda size: {
        "tokenizer_config.json": {
            "tokenizer_class": GPT_1_CLASS,
            "added_tokens_decoder": {
                "0": written("<unk>", normalized=False, special=True),
                f"{size}": written("Plain", normalized=False, special=False),
                f"{size + 1}": written("É", normalized=True, special=False),
                f"{size + 2}": written("<BOS>", normalized=True, special=True, rstrip=True),
            },
        },
    },
}
GPT_1_CLASS = "OpenAIGPTTokenizer"
GPT_1_TEXTS = [
    *HARD_TEXTS,
    "a <BOS> b<BOS>c [PAD] d[PAD] <bos>[pad] Hello</w>, Plain plain éa É e <unk>",
    "日Plain本<BOS>",
]


@pytest.mark.parametrize("name", GPT_1)
def test_gpt_1s_two_files_are_read(name: str, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    files = GPT_1[name](gpt_1_files(tmp_path))
    for file, content in files.items():
        (tmp_path / file).write_text(json.dumps(content), "utf-8")
    theirs: Any = AutoTokenizer.from_pretrained(tmp_path)
    assert type(theirs).__name__ == GPT_1_CLASS
    backend = tokenizers.Tokenizer.from_str(theirs.backend_tokenizer.to_str())
    ours = Tokenizer.load(tmp_path)
    for text in GPT_1_TEXTS:
        expected = backend.encode(text, add_special_tokens=False)
        assert ours.encode_with_offsets(text) == (expected.ids, expected.offsets), text
        assert ours.encode(text, add_special_tokens=True) == theirs(text).input_ids
        decoded = backend.decode(expected.ids, skip_special_tokens=False)
        assert ours.decode(expected.ids) == decoded
    encode = partial(ours.encode, add_special_tokens=False)
    assert compared_with(ours._original, ours.vocabulary, encode, "the files") is not None
    assert any("as OpenAIGPTTokenizer of transformers does" in said for said in ours.assumptions)
    ours.save_original(tmp_path / "copy/")
    assert Tokenizer.load(tmp_path / "copy") == ours


def test_gpt_1s_two_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    size = gpt_1_files(tmp_path)
    configuration = {
        "tokenizer_class": GPT_1_CLASS,
        "added_tokens_decoder": {f"{size + 7}": written("<BOS>", special=True)},
    }
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(configuration), "utf-8")
    with pytest.raises(ValueError, match=f"'<BOS>' has id {size}, but .* say {size + 7}"):
        Tokenizer.load(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text(f'{{"tokenizer_class": "{GPT_1_CLASS}"}}')
    with pytest.raises(ValueError, match=r"its pattern is .*, not "):
        Tokenizer.load(tmp_path, pattern="gpt2")


def test_what_is_not_exact_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    for change, words in (
        ({"ignore_merges": True}, "model.ignore_merges is on"),
        ({"end_of_word_suffix": " é"}, "model.end_of_word_suffix is ' é'"),
        ({"byte_fallback": True}, "not supported where bytes spell characters"),
    ):
        document = json.loads(of_characters().to_str())
        document["model"] |= change
        path.write_text(json.dumps(document), "utf-8")
        with pytest.raises(ValueError, match=words):
            Tokenizer.load(path)
    document = json.loads(byte_level().to_str())
    document["model"]["merges"].append(["l", "</w>"])
    document["model"]["vocab"]["</w>"] = 5000
    path.write_text(json.dumps(document), "utf-8")
    with pytest.raises(ValueError, match="a merge has '</w>'"):
        Tokenizer.load(path)
    document = json.loads(of_characters().to_str())
    document["model"]["vocab"]["<</w>>"] = 5000
    path.write_text(json.dumps(document), "utf-8")
    with pytest.raises(ValueError, match="'<</w>>' has '</w>' within it"):
        Tokenizer.load(path)
    document = json.loads(of_characters().to_str())
    document["decoder"] = {"type": "BPEDecoder", "suffix": "##"}
    path.write_text(json.dumps(document), "utf-8")
    with pytest.raises(ValueError, match=r"decoder: .* is not supported where words end in '</w>'"):
        Tokenizer.load(path)
