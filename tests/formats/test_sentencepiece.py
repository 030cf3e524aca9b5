"""SentencePiece's BPE, as `.model` and as `tokenizer.json`: held to sentencepiece, to tokenizers, and to the
specification of merges that begin with characters."""

import contextlib
import copy
import io
import json
import pickle
import random
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import sentencepiece
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer, accelerate
from bpetite._encoder import encode as byte_specified
from bpetite._persistence import artifact_bytes, vocabulary_of
from bpetite.encoding.explain import Explainer
from bpetite.formats.sentencepiece import parse
from bpetite.formats.shared import peers
from bpetite.formats.shared.character_map import replaced_texts
from bpetite.formats.shared.difficult import DIFFICULT_TEXTS
from bpetite.formats.shared.pairs import Pieces, vocabulary_of_pieces
from bpetite.show.viewer.report import lengths, unused
from bpetite.specification.character_encoder import encode as specified
from known_characters import is_known
from test_loading import gguf_file, numbers_field, string_field, strings_field, text_value

MARK = "\u2581"
TYPES = "tokenizer.ggml.token_type"
CORPUS = [
    *DIFFICULT_TEXTS[3:],
    "the cat and the other cat",
    "the hat  of the\tother",
    "東京都に住む 東京",
] * 3
TRAININGS: dict[str, dict[str, Any]] = {
    "llama": {"split_digits": True},
    "gemma": {
        "add_dummy_prefix": False,
        "user_defined_symbols": ["\n", "\n\n", MARK * 2, MARK * 4, "<x>"],
    },
    "across spaces": {"split_by_whitespace": False},
}
TEXTS = [
    *(
        text for text in DIFFICULT_TEXTS if "<s>" not in text
    ),  # sentencepiece never finds this in a text
    MARK,
    f"a{MARK} {MARK}b",
    "<0x41>",
    "the\n\n\nhat <x><x> of\n <x>",
    " " * 7 + "x" + " " * 5,
]


@cache
def trained(name: str, **options: Any) -> bytes:
    """A model that sentencepiece trained."""
    model = io.BytesIO()
    given_options = {
        "model_type": "bpe",
        "byte_fallback": True,
        "normalization_rule_name": "identity",
        "remove_extra_whitespaces": False,
        "vocab_size": 700,
        "hard_vocab_limit": False,
        "minloglevel": 2,
        **TRAININGS.get(name, {}),
        **options,
    }
    lines = [line for text in CORPUS for line in text.split("\n")]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, **given_options
    )
    return model.getvalue()


def loaded(content: bytes, tmp_path: Path) -> Tokenizer:
    path = tmp_path / "tokenizer.model"
    path.write_bytes(content)
    return Tokenizer.load(path)


def characters() -> Iterator[str]:
    """Texts that contain all characters."""
    scalars = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    return ("".join(scalars[start : start + 997]) for start in range(0, len(scalars), 997))


@pytest.mark.parametrize("name", TRAININGS)
def test_a_model_gives_the_ids_of_sentencepiece_and_its_texts_back(
    name: str, tmp_path: Path
) -> None:
    model = trained(name)
    theirs, tok = (sentencepiece.SentencePieceProcessor(model_proto=model), loaded(model, tmp_path))
    for text in [*TEXTS, *characters()]:
        ids = tok.encode(text)
        assert ids == theirs.encode(text), text[:80]
        assert tok.decode(ids) == text.replace(MARK, " ")
    assert tok.vocab_size == theirs.get_piece_size() == tok.largest_id + 1
    batch: list[str | bytes] = [*TEXTS, "a<s>b</s>", "<s>", b"bytes", ""]
    expected = [tok.encode(text if isinstance(text, str) else text.decode()) for text in batch]
    assert tok.encode_batch(batch) == expected
    assert tok.count_batch(batch) == list(map(len, expected))
    joined, offsets = tok.encode_batch_to_numpy(batch, append=2)
    cuts: Any = [joined[start:end].tolist() for start, end in pairwise(offsets.tolist())]
    assert cuts == [[*row, 2] for row in expected]
    assert (tok.encode_batch([]), tok.count_batch([])) == ([], [])
    stream = tok.decode_stream()
    given = " the  é😀"
    row = tok.encode(given)
    assert (
        "".join(map(stream.push, row)) + stream.finish() == given == tok.decode_bytes(row).decode()
    )


@pytest.mark.parametrize("name", TRAININGS)
def test_a_model_is_kept_in_an_artifact_and_a_pickle(name: str, tmp_path: Path) -> None:
    tok = loaded(trained(name), tmp_path)
    assert vocabulary_of(artifact_bytes(tok.vocabulary), "again.json") == tok.vocabulary
    again = pickle.loads(pickle.dumps(tok))
    assert (again, again.encode(TEXTS[12])) == (tok, tok.encode(TEXTS[12]))
    to_gpt2 = partial(tok.to_gpt2, merges_path=tmp_path / "merges.txt")
    for write in (tok.to_tiktoken, tok.to_huggingface, to_gpt2):
        with pytest.raises(ValueError, match="its artifact can hold it"):
            write(tmp_path / "out")
    shorter = tok.truncate(tok.vocabulary.sizes[-1] - 10)
    longer = tok.extend(["xyz xyz xyz"], 1)
    for other in (shorter, longer):
        assert [other.decode(other.encode(text)) for text in TEXTS] == [
            tok.decode(tok.encode(text)) for text in TEXTS
        ]


def test_a_model_is_checked_with_sentencepiece_without_its_control_symbols(tmp_path: Path) -> None:
    tok = loaded(trained("gemma"), tmp_path)
    peer = peers.peer_of(tok._original, tok.vocabulary) if tok._original else None
    assert peer is not None
    assert ("<s>" in peer.tokens_as_text, "<x>" in peer.tokens_as_text) == (True, False)
    found = peers.compared_with(tok._original, tok.vocabulary, tok.encode, "m", TEXTS)
    assert found is not None
    assert (found.library, found.texts > len(TEXTS)) == ("sentencepiece", True)
    with pytest.raises(
        ValueError, match="m, as sentencepiece reads it, would not be the same tokenizer"
    ):
        peers.compared_with(tok._original, tok.vocabulary, lambda text: tok.encode(text)[:4], "m")


@pytest.fixture(scope="module", autouse=True)
def maps_of_characters_are_read_once() -> Iterator[None]:
    """Each takes a second, and most models here have one of four."""
    with mock.patch("bpetite.formats.sentencepiece.replaced_texts", cache(replaced_texts)):
        yield


RULES = ["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"]
DIFFICULT_PARTS = [
    *" \u2581\u3000\t\n\u00adａｂ①㌀ﬁABcİſ가\u1100\u1161\u11a8cat東京😀\u0345\ufeff\u200b\u030a\u0301",
    *("e\u0301", "A\u030a", "<x>", "the", "  ", "> "),
]


@cache
def normalizing(rule: str, removes: bool, variant: str) -> tuple[Tokenizer, Any]:
    """A model that normalizes texts, and sentencepiece with it."""
    options: dict[str, dict[str, Any]] = {
        "as trained": {},
        "no space": {"add_dummy_prefix": False},
        "user-defined": {"user_defined_symbols": "<x>,é,a,ﬁ,t h"},
    }
    rules: dict[str, Any] = {"normalization_rule_name": rule, "remove_extra_whitespaces": removes}
    model = trained("plain", **rules, **options[variant])
    theirs = sentencepiece.SentencePieceProcessor(model_proto=model)
    read = parse(model)
    return Tokenizer(read.vocabulary, read.assumptions), theirs


@pytest.mark.parametrize("variant", ["as trained", "no space", "user-defined"])
@pytest.mark.parametrize("removes", [True, False])
@pytest.mark.parametrize("rule", RULES)
def test_a_model_that_normalizes_gives_the_ids_of_sentencepiece(
    rule: str, removes: bool, variant: str
) -> None:
    tok, theirs = normalizing(rule, removes, variant)
    every = list(characters()) if removes and variant == "as trained" else []
    for text in [*TEXTS, *every[:: 1 if rule == "nmt_nfkc" else 4]]:
        assert tok.encode(text) == theirs.encode(text), text[:80]
        if not text.startswith(MARK) and variant != "user-defined":
            assert tok.decode(tok.encode(text)) == theirs.decode(theirs.encode(text)).replace(
                MARK, " "
            )
    assert vocabulary_of(artifact_bytes(tok.vocabulary), "again.json") == tok.vocabulary
    told = " ".join(tok.assumptions)
    assert (f"normalized ('{rule}')" in told, "remove_extra_whitespaces" in told) == (
        rule != "identity",
        removes,
    )


@settings(deadline=None, max_examples=200)
@given(st.lists(st.sampled_from(DIFFICULT_PARTS), max_size=10), st.booleans())
def test_any_text_is_normalized_as_sentencepiece_does(parts: list[str], removes: bool) -> None:
    text = "".join(parts)
    for rule, variant in (
        ("nmt_nfkc", "user-defined"),
        ("nfkc_cf", "no space"),
        ("identity", "as trained"),
    ):
        tok, theirs = normalizing(rule, removes, variant)
        ids, spans = tok.encode_with_offsets(text)
        assert ids == theirs.encode(text)
        assert all(0 <= start <= end <= len(text) for start, end in spans)


def test_a_replaced_text_has_the_place_of_all_that_it_replaces() -> None:
    tok, _ = normalizing("nmt_nfkc", True, "no space")
    ids, spans = tok.encode_with_offsets("  e\u0301①  ")
    assert (tok.decode(ids), spans[0][0], spans[-1]) == ("é1", 2, (4, 5))


def test_runs_of_spaces_of_one_score_grow_from_the_left(tmp_path: Path) -> None:
    """As in Llama's models, where sentencepiece merges the leftmost of equal pairs."""
    runs = [MARK * length for length in (2, 4, 8, 5, 16, 6, 12, 13, 10, 14, 3, 9, 7, 11, 15)]
    content = made(
        [(MARK + "a", -1.0, 1), *((run, -1e9, 1) for run in runs), (MARK, -2e9, 1), ("a", -2e9, 1)]
    )
    theirs, tok = (
        sentencepiece.SentencePieceProcessor(model_proto=content),
        loaded(content, tmp_path),
    )
    for count in range(70):
        for text in (" " * count, " " * count + "a" + " " * count + "a"):
            assert tok.encode(text) == theirs.encode(text)


@pytest.mark.parametrize("seed", range(40))
def test_of_pieces_with_equal_scores_the_leftmost_pair_is_merged_first(
    seed: int, tmp_path: Path
) -> None:
    """As in all vocabularies that extend Llama's, whose new pieces have the score 0."""
    rng = random.Random(seed)
    letters, scores = (
        ["ab", "abc", f"ab{MARK}", "aé東"][seed % 4],
        rng.choice([[0.0], [0.0, -1.0], range(9)]),
    )
    words = {
        "".join(rng.choices(letters, k=rng.randint(2, rng.choice([3, 6, 12])))) for _ in range(60)
    }
    pieces = [(word, float(rng.choice(scores)), 1) for word in sorted(words)]
    rng.shuffle(pieces)
    content = made([*pieces, *((one, -10.0, 1) for one in {*letters, MARK})])
    theirs, tok = (
        sentencepiece.SentencePieceProcessor(model_proto=content),
        loaded(content, tmp_path),
    )
    assert tok.vocabulary.equal_ranks
    for length in [*range(40), 63, 64, 65, 100, 300, 6000]:
        text = "".join(rng.choices([*letters.replace(MARK, " "), "b"], k=length))
        ids = theirs.encode(text)
        assert tok.encode(text) == ids, text[:300]
        if length < 40 and " " not in text:
            steps = Explainer(tok.vocabulary).steps(f" {text}".encode())
            left = steps[-1].ids if steps else Explainer(tok.vocabulary).start(f" {text}".encode())
            assert b"".join(tok.vocabulary.tokens[one] for one in left) == f" {text}".encode()
            assert tok.vocabulary.provisional or list(left) == ids or not text
    assert vocabulary_of(artifact_bytes(tok.vocabulary), "again.json") == tok.vocabulary
    assert pickle.loads(pickle.dumps(tok.vocabulary)) == tok.vocabulary
    for write in (tok.to_tiktoken, tok.to_huggingface):
        with pytest.raises(ValueError, match="its artifact can hold it"):
            write(tmp_path / "out")


def test_a_vocabulary_that_extends_a_trained_one_gives_the_ids_of_sentencepiece(
    tmp_path: Path,
) -> None:
    model = trained("llama")
    new = [
        b"the cat",
        b"hat of",
        "東京都に住む".encode(),
        "住む".encode(),
        b"other cat",
        b"cath",
        b"er h",
    ]
    spelled = [text.replace(b" ", MARK.encode()) for text in new]
    content = model + b"".join(field(1, field(1, text) + b"\x15\0\0\0\0") for text in spelled)
    theirs, tok = (
        sentencepiece.SentencePieceProcessor(model_proto=content),
        loaded(content, tmp_path),
    )
    assert tok.vocabulary.equal_ranks
    for text in [*TEXTS, *CORPUS[-3:], "cathere hat of the cather hat of"]:
        assert tok.encode(text) == theirs.encode(text)


# As tokenizer.json
# ---------------------------------------------------------------------------------------

TO_MARKS = {"type": "Replace", "pattern": {"String": " "}, "content": MARK}
PREPEND = {"type": "Prepend", "prepend": MARK}
SETTINGS: dict[str, tuple[Any, Any, bool, bool]] = {
    "Llama 2": ({"type": "Sequence", "normalizers": [PREPEND, TO_MARKS]}, None, True, False),
    "Llama 2, tokens normalized": (
        {"type": "Sequence", "normalizers": [PREPEND, TO_MARKS]},
        None,
        True,
        True,
    ),
    "replaced before": (
        {"type": "Sequence", "normalizers": [TO_MARKS, PREPEND]},
        None,
        True,
        False,
    ),
    "NFKC": ({"type": "Sequence", "normalizers": [{"type": "NFKC"}, TO_MARKS]}, None, False, False),
    "Gemma": (
        TO_MARKS,
        {
            "type": "Split",
            "pattern": {"String": " "},
            "behavior": "MergedWithPrevious",
            "invert": False,
        },
        False,
        False,
    ),
    "no spaces are spelled": (None, None, False, False),
    "no spaces are spelled, cut by a pattern": (
        None,
        {
            "type": "Split",
            "pattern": {"Regex": r" ?\w+|\s+|[^\w\s]+"},
            "behavior": "Isolated",
            "invert": False,
        },
        False,
        False,
    ),
    "digits": (TO_MARKS, {"type": "Digits", "individual_digits": True}, False, False),
    "words, then punctuation, then lengths": (
        None,
        {
            "type": "Sequence",
            "pretokenizers": [
                {
                    "type": "Metaspace",
                    "replacement": MARK,
                    "prepend_scheme": "always",
                    "split": True,
                },
                {"type": "Punctuation", "behavior": "Isolated"},
                {"type": "FixedLength", "length": 4},
            ],
        },
        True,
        False,
    ),
    **{
        f"Metaspace, {scheme}, {split}, {normalized}": (
            None,
            {"type": "Metaspace", "replacement": MARK, "prepend_scheme": scheme, "split": split},
            scheme != "never",
            normalized,
        )
        for scheme in ("first", "always", "never")
        for split in (False, True)
        for normalized in (False, True)
    },
}


def document(model: bytes, setting: str) -> dict[str, Any]:
    """The `tokenizer.json` that the converters of transformers would make of a model."""
    theirs = sentencepiece.SentencePieceProcessor(model_proto=model)
    normalizer, pre_tokenizer, strips, normalized = copy.deepcopy(SETTINGS[setting])
    vocab = {theirs.id_to_piece(number): number for number in range(theirs.get_piece_size())}
    has_marks = not setting.startswith("no spaces are spelled")
    merges = [
        (-theirs.get_score(number), vocab[piece[:cut]], [piece[:cut], piece[cut:]])
        for piece, number in vocab.items()
        for cut in range(1, len(piece))
        if not theirs.is_byte(number) and piece[:cut] in vocab and piece[cut:] in vocab
    ]
    decoders: list[Any] = (
        [{"type": "Replace", "pattern": {"String": MARK}, "content": " "}] if has_marks else []
    )
    decoders += [{"type": "ByteFallback"}, {"type": "Fuse"}]
    if strips:
        decoders.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": number,
                "content": content,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": normalized,
                "special": True,
            }
            for number, content in enumerate(("<unk>", "<s>", "</s>"))
        ],
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": None,
        "decoder": {"type": "Sequence", "decoders": decoders},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": "<unk>",
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": True,
            "byte_fallback": True,
            "ignore_merges": False,
            "vocab": vocab,
            "merges": [pair for _, _, pair in sorted(merges, key=lambda merge: merge[:2])],
        },
    }


def written(value: dict[str, Any], tmp_path: Path) -> Path:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(value), "utf-8")
    return path


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", ["llama", "across spaces"])
def test_a_tokenizer_json_gives_the_ids_and_offsets_of_tokenizers(
    name: str, setting: str, tmp_path: Path
) -> None:
    path = written(document(trained(name), setting), tmp_path)
    theirs, tok = tokenizers.Tokenizer.from_file(str(path)), Tokenizer.load(path)
    with_specials = ["<s>a</s> b<s>  </s>x", "<s>", "</s>ab <s>", " <s> <s>", "a <unk>  b"]
    texts = [*TEXTS, *with_specials]
    if setting != "NFKC":  # newer characters are normalized differently there
        texts += list(characters())[::7]
    for text in texts:
        if setting == "NFKC" and not all(map(is_known, text)):
            continue
        expected = theirs.encode(text, add_special_tokens=False)
        ids, offsets = tok.encode_with_offsets(text)
        assert ids == tok.encode(text) == expected.ids, text[:80]
        if MARK not in text and setting != "NFKC" and len(text) < 500:
            assert offsets == expected.offsets, text[:80]
        if (
            not set(with_specials) & {text}
            and setting != "NFKC"
            and not setting.startswith("no spaces")
        ):
            assert tok.decode(ids).lstrip(" ") == text.replace(MARK, " ").lstrip(" ")
    assert tok.encode_batch(texts) == [tok.encode(text) for text in texts]
    tok.to_huggingface(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


WRONG: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "a byte is missing": (lambda d: d["model"]["vocab"].pop("<0xF0>"), "there is no token <0xF0>"),
    "ignore_merges": (lambda d: d["model"].update(ignore_merges=True), "ignore_merges is on"),
    "no step for bytes": (lambda d: d["decoder"]["decoders"].pop(1), "does not restore the text"),
    "words behind digits": (
        lambda d: d.update(
            normalizer=None,
            pre_tokenizer={
                "type": "Sequence",
                "pretokenizers": [
                    {"type": "Digits", "individual_digits": True},
                    {
                        "type": "Metaspace",
                        "replacement": MARK,
                        "prepend_scheme": "always",
                        "split": False,
                    },
                ],
            },
        ),
        r"pre_tokenizer\[1\]: Metaspace after other steps would insert spaces within the text",
    ),
    "a pattern that sees marks": (
        lambda d: d.update(
            pre_tokenizer={
                "type": "Split",
                "pattern": {"Regex": r"\s"},
                "behavior": "Isolated",
                "invert": False,
            }
        ),
        r"pre_tokenizer\[0\]: a pattern is not supported where spaces are spelled U\+2581",
    ),
    "another decoder": (lambda d: d.update(decoder={"type": "BPEDecoder"}), "does not simply join"),
    "another pre-tokenizer": (
        lambda d: d.update(pre_tokenizer={"type": "UnicodeScripts"}),
        "'UnicodeScripts' is not supported where model.byte_fallback is on",
    ),
    "a step behind": (
        lambda d: d["normalizer"]["normalizers"].append({"type": "NFC"}),
        "after the one that replaces spaces",
    ),
    "a merge of nothing": (
        lambda d: d["model"]["merges"].append(["q", "zzz"]),
        "is made of 'zzz', which is not a token",
    ),
    "three parts": (
        lambda d: d["model"]["merges"].append(["a", "b", "c"]),
        "is not a pair of tokens",
    ),
    "no pair": (lambda d: d["model"].update(merges=["a b c"]), "is not a pair of tokens"),
    "half a surrogate pair": (
        lambda d: d["model"]["vocab"].update({"\ud801": 5000}),
        "is not text",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_tokenizer_json_that_cannot_be_repeated_is_refused(name: str, tmp_path: Path) -> None:
    change, says = WRONG[name]
    value = document(trained("llama"), "Llama 2")
    change(value)
    with pytest.raises(ValueError, match=says):
        Tokenizer.load(written(value, tmp_path))


def check_as_tokenizers(path: Path, texts: Iterable[str]) -> Tokenizer:
    theirs, tok = tokenizers.Tokenizer.from_file(str(path)), Tokenizer.load(path)
    for text in texts:
        expected = theirs.encode(text, add_special_tokens=False)
        ids, offsets = tok.encode_with_offsets(text)
        assert ids == tok.encode(text) == expected.ids, text[:80]
        if MARK not in text and len(text) < 500:
            assert offsets == expected.offsets, text[:80]
    return tok


def of_these(parts: Sequence[str], count: int) -> Iterator[str]:
    """Texts made of some of the parts."""
    chance = random.Random(count)
    return ("".join(chance.choices(parts, k=chance.randrange(12))) for _ in range(count))


def test_added_tokens_may_stand_among_the_merges(tmp_path: Path) -> None:
    value = document(trained("gemma"), "Gemma")
    value["added_tokens"] = [
        {
            **value["added_tokens"][0],
            "id": value["model"]["vocab"][text],
            "content": text,
            "special": False,
        }
        for text in ("<unk>", "<s>", "</s>", "\n", "\n\n", MARK * 2, MARK * 4, "<x>")
    ]
    merges = value["model"]["merges"]
    assert ["\n", "\n"] in merges
    assert [MARK, MARK] in merges
    path = written(value, tmp_path)
    parts = [
        *"the cat",
        " ",
        "  ",
        MARK,
        MARK * 2,
        MARK * 3,
        "\n",
        "\n\n",
        "<x>",
        "<s>",
        "東",
        "\t",
        "of the",
    ]
    tok = check_as_tokenizers(path, [*TEXTS, *of_these(parts, 3000)])
    assert tok.vocab_size == tok.largest_id + 1 == len(value["model"]["vocab"])
    assert tok.decode(tok.encode("a  b    c\n\n")) == "a  b    c\n\n"
    tok.save(tmp_path / "artifact")
    assert Tokenizer.load(tmp_path / "artifact") == tok == pickle.loads(pickle.dumps(tok))
    texts = list(of_these(parts, 200))
    assert tok.encode_batch(texts) == [tok.encode(text) for text in texts]


def test_a_merge_that_is_listed_again_has_its_last_rank(tmp_path: Path) -> None:
    value = document(trained("llama"), "Llama 2")
    merges = value["model"]["merges"]
    merges += [*merges[:40:3], *merges[5:9], *merges[5:9]]
    check_as_tokenizers(
        written(value, tmp_path), [*TEXTS, *of_these(["the", " ", *"thecatofr"], 500)]
    )


def test_bytes_that_no_text_needs_may_have_no_token(tmp_path: Path) -> None:
    value = document(trained("llama"), "Llama 2")
    vocab = value["model"]["vocab"]
    for byte in (0xC0, 0xC1, *range(0xF5, 0x100), ord("t")):
        del vocab[f"<0x{byte:02X}>"]
    check_as_tokenizers(written(value, tmp_path), TEXTS)
    value["decoder"] = None
    tok = check_as_tokenizers(written(value, tmp_path), TEXTS)
    assert "the file has no decoder: in bpetite, decoding restores the text" in tok.assumptions
    assert tok.decode(tok.encode("the cat")) == " the cat"


# The message
# ---------------------------------------------------------------------------------------------


def field(number: int, value: bytes | int) -> bytes:
    """A field of a message."""
    if isinstance(value, int):
        return (
            bytes([number << 3 | 0]) + varint(value)
            if number < 16
            else varint(number << 3) + varint(value)
        )
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value: int) -> bytes:
    found = b""
    while value > 0x7F:
        found += bytes([value & 0x7F | 0x80])
        value >>= 7
    return found + bytes([value])


def made(pieces: list[tuple[str, float, int]], kind: int = 2, normalizer: bytes = b"") -> bytes:
    """A model of all bytes and some pieces."""
    every = [("<unk>", 0.0, 2), *((f"<0x{byte:02X}>", 0.0, 6) for byte in range(256)), *pieces]
    message = b""
    for text, score, piece_kind in every:
        spelled = (
            field(1, text.encode()) + b"\x15" + struct.pack("<f", score) + field(3, piece_kind)
        )
        message += field(1, spelled)
    kept = field(1, b"identity") + field(4, 0) + normalizer
    return message + field(2, field(3, kind) + field(35, 1)) + field(3, kept)


def test_a_model_may_begin_with_special_pieces_of_any_names(tmp_path: Path) -> None:
    named = [(f"<|special {number:03} of a model|>", 0.0, 3) for number in range(200)]
    words = [("th", -0.25, 1), ("the", -0.375, 1), *((one, -1.0, 1) for one in "\u2581the")]
    message = made([*named, *words])
    unknown = field(1, field(1, b"<unk>") + b"\x15" + struct.pack("<f", 0.0) + field(3, 2))
    first = field(1, field(1, b"<|pad|>") + b"\x15" + struct.pack("<f", 0.0) + field(3, 3))
    assert message.startswith(unknown)
    bytes_first = message.removeprefix(unknown)
    (tmp_path / "a").write_bytes(first + bytes_first.replace(b"<|special", b"<|spec_al") + unknown)
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "a"))
    assert b"<unk>" not in (tmp_path / "a").read_bytes()[:4096]
    assert Tokenizer.load(tmp_path / "a").encode("the thé") == theirs.encode("the thé")


def fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a message: their numbers, and how they are written."""
    at = 0
    while at < len(message):
        start = at
        key, at = number_at(message, at)
        length, at = number_at(message, at) if key & 7 in (0, 2) else ({1: 8, 5: 4}[key & 7], at)
        at += length if key & 7 else 0
        yield key >> 3, message[start:at]


def number_at(message: bytes, at: int) -> tuple[int, int]:
    end = next(place for place in range(at, len(message)) if message[place] < 0x80) + 1
    return sum((byte & 0x7F) << 7 * place for place, byte in enumerate(message[at:end])), end


def content_of(part: bytes) -> bytes:
    """The content of a field of bytes."""
    length, at = number_at(part, 1)
    return part[at : at + length]


ORDERS: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "backwards": lambda parts: parts[::-1],
    "as they are written": sorted,
    "by chance": lambda parts: random.Random(len(parts)).sample(parts, len(parts)),
}


@pytest.mark.parametrize("order", ORDERS)
def test_the_fields_of_a_model_stand_in_any_order(order: str, tmp_path: Path) -> None:
    """As in Gemma 4's, and as protobuf allows; only pieces are numbered as they stand."""
    model = trained("llama", normalization_rule_name="nmt_nfkc")
    ordered = ORDERS[order]
    inside = [
        field(number, b"".join(ordered([inner for _, inner in fields(content_of(part))])))
        for number, part in fields(model)
    ]
    pieces = [part for part in inside if part[:1] == b"\x0a"]
    settings_first = sorted(inside, key=lambda part: part[:1] == b"\x0a")
    both = [part for part in inside if part[:1] != b"\x0a"]
    between = [*both[:1], *pieces[:5], *both[1:], *pieces[5:]]
    expected = loaded(model, tmp_path)
    for changed in map(b"".join, (inside, settings_first, between)):
        theirs, tok = (
            sentencepiece.SentencePieceProcessor(model_proto=changed),
            loaded(changed, tmp_path),
        )
        assert [tok.encode(text) for text in TEXTS] == [theirs.encode(text) for text in TEXTS]
        assert tok == expected


def trie(units: list[int]) -> bytes:
    return struct.pack("<I", 4 * len(units)) + struct.pack(f"<{len(units)}I", *units)


REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "Unigram": (lambda: made([], kind=1), "a SentencePiece model of Unigram"),
    "words": (lambda: made([], kind=3), "a SentencePiece model of words"),
    "a map without a trie": (
        lambda: made([], normalizer=field(2, b"map")),
        "size of its trie is wrong",
    ),
    "a map that is cut off": (
        lambda: made([], normalizer=field(2, struct.pack("<II", 1 << 30, 0))),
        "size of its trie is wrong",
    ),
    "a trie in a circle": (
        lambda: made([], normalizer=field(2, trie([0, *[0] * 0x40, 0x41 | 0x41 << 10]) + b"x\0")),
        "broken, or too large",
    ),
    "a key without a value": (
        lambda: made([], normalizer=field(2, trie([0, *[0] * 0x40, 0x141]) + b"x\0")),
        "key b'A' has no value",
    ),
    "a text that is cut off": (
        lambda: made(
            [], normalizer=field(2, trie([0, 0x80000007, *[0] * 0x3F, 0x141 | 0x40 << 10]) + b"x\0")
        ),
        "what replaces b'A' is cut off",
    ),
    "a key that is not UTF-8": (
        lambda: made(
            [], normalizer=field(2, trie([0, 0x80000000, *[0] * 0xFD, 0x1FF | 0xFE << 10]) + b"x\0")
        ),
        "is not UTF-8",
    ),
    "white space of a user": (
        lambda: made([(MARK * 2, 0.0, 4)], normalizer=field(4, 1)),
        "remove_extra_whitespaces is on",
    ),
    "no marks": (lambda: made([], normalizer=field(5, 0)), "escape_whitespaces is off"),
    "twice": (lambda: made([("a", 0.0, 1), ("a", 0.0, 1)]), "appears twice"),
    "empty": (lambda: made([("", 0.0, 1)]), "is empty"),
    "unused": (lambda: made([("a", 0.0, 5)]), "is marked as unused"),
    "no space": (lambda: made([("a", 0.0, 1)]), r"no token is U\+2581"),
    "no byte": (lambda: made([("<0xZZ>", 0.0, 6)]), "is not the name of a byte"),
    "not a number": (lambda: made([("ab", float("nan"), 1)]), "is not a number"),
    "not UTF-8": (lambda: made([]) + field(1, field(1, b"\xff")), "not valid UTF-8"),
    "a group": (lambda: made([]) + b"\x0b", "there is no kind of field 3"),
    "a long number": (lambda: made([]) + b"\x08" + b"\xff" * 20, "within a number"),
    "a long field": (lambda: made([]) + b"\x0a\xff\xff\xff\xff\x0f", "cut off, or broken"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_model_that_cannot_be_read_is_refused_by_name(name: str, tmp_path: Path) -> None:
    content, says = REFUSED[name]
    with pytest.raises(ValueError, match=says):
        loaded(content(), tmp_path)


def test_a_model_that_is_cut_off_or_changed_is_read_or_refused() -> None:
    model = made([("ab", -1.0, 1), ("a", -2.0, 1), ("b", -3.0, 1)])
    for place in [*range(0, len(model), 5), *range(len(model) - 60, len(model))]:
        for broken in (
            model[:place],
            model[:place] + bytes([model[place] ^ 0x55]) + model[place + 1 :],
        ):
            with contextlib.suppress(ValueError):
                parse(broken)


@pytest.mark.parametrize("name", TRAININGS)
def test_gguf_holds_the_same_model(name: str, tmp_path: Path) -> None:
    theirs = sentencepiece.SentencePieceProcessor(model_proto=trained(name))
    count = theirs.get_piece_size()
    user_defined = TRAININGS[name].get("user_defined_symbols", [])

    def kind(number: int) -> int:
        if theirs.is_unknown(number) or theirs.is_control(number):
            return 2 if theirs.is_unknown(number) else 3
        return (
            6 if theirs.is_byte(number) else 4 if theirs.id_to_piece(number) in user_defined else 1
        )

    def text(number: int) -> str:
        """A piece as llama.cpp writes it: the spaces of one that a user defined are plain."""
        piece = str(theirs.id_to_piece(number))
        return piece.replace(MARK, " ") if piece in user_defined else piece

    scores = [theirs.get_score(number) for number in range(count)]
    puts_space = TRAININGS[name].get("add_dummy_prefix", True)
    fields = [
        string_field("tokenizer.ggml.model", "llama"),
        strings_field("tokenizer.ggml.tokens", list(map(text, range(count)))),
        numbers_field("tokenizer.ggml.token_type", [kind(number) for number in range(count)]),
        text_value("tokenizer.ggml.scores") + struct.pack(f"<IIQ{count}f", 9, 6, count, *scores),
        text_value("tokenizer.ggml.add_space_prefix") + struct.pack("<I?", 7, puts_space),
    ]
    (tmp_path / "model.gguf").write_bytes(gguf_file(fields))
    tok = Tokenizer.load(tmp_path / "model.gguf")
    assert tok == loaded(trained(name), tmp_path)
    assert tok.get_vocab() == {text(number): number for number in range(count)}
    (tmp_path / "model.gguf").write_bytes(
        gguf_file([*fields[:2], numbers_field(TYPES, [1]), fields[3]])
    )
    with pytest.raises(ValueError, match=r"tokens, .* scores and 1 types"):
        Tokenizer.load(tmp_path / "model.gguf")


# The specification
# ---------------------------------------------------------------------------------------

ALPHABET = "aé東\U0001f600 "
SAME = st.sampled_from([1, 1, 2, 5, 12])
"""How many tokens have the same rank."""

TOKENS = st.lists(st.text(ALPHABET, min_size=2, max_size=4), max_size=12, unique=True)


@settings(max_examples=200, deadline=None)
@given(
    TOKENS, st.sets(st.sampled_from(ALPHABET)), st.text(ALPHABET + "b" + MARK, max_size=12), SAME
)
def test_merges_of_bytes_do_what_merges_of_characters_do(
    tokens: list[str], singles: set[str], text: str, same: int
) -> None:
    """Also if characters are parts of tokens, but no tokens themselves."""
    byte_ids = {byte: byte for byte in range(256)}
    ids = {token: 256 + place for place, token in enumerate([*sorted(singles), *tokens])}
    pieces = Pieces(ids, byte_ids, False, {})
    ranks = {token: place // same for place, token in enumerate(tokens)}
    vocabulary = vocabulary_of_pieces(
        pieces, None, [(rank, token) for token, rank in ranks.items()]
    )
    expected = specified(text, ids, byte_ids, lambda left, right: ranks.get(left + right))
    assert Tokenizer(vocabulary).encode(text) == expected
    found = byte_specified(
        text,
        vocabulary.tokens,
        vocabulary.merges,
        {},
        vocabulary.pattern,
        provisional=vocabulary.provisional,
        equal_ranks=vocabulary.equal_ranks,
    )
    assert found == expected


@settings(max_examples=200, deadline=None)
@given(
    TOKENS,
    st.sets(st.sampled_from(ALPHABET)),
    st.text(ALPHABET + "b\n" + MARK, max_size=12),
    st.booleans(),
    SAME,
)
def test_characters_without_a_token_are_unknown(
    tokens: list[str], singles: set[str], text: str, joined: bool, same: int
) -> None:
    ids = {token: 1 + place for place, token in enumerate([*sorted(singles), *tokens])}
    pieces = Pieces(ids, {}, False, {"<unk>": 0})
    ranks = {token: place // same for place, token in enumerate(tokens)}
    ranked = [(rank, token) for token, rank in ranks.items()]
    vocabulary = vocabulary_of_pieces(pieces, None, ranked, unknown=(0, joined))
    expected = specified(text, ids, {}, lambda left, right: ranks.get(left + right), (0, joined))
    assert Tokenizer(vocabulary).encode(text) == expected
    assert vocabulary_of(artifact_bytes(vocabulary), "again.json") == vocabulary


@pytest.mark.parametrize("rule", ["identity", "nmt_nfkc"])
def test_a_model_without_bytes_gives_the_unknown_ids_of_sentencepiece(
    rule: str, tmp_path: Path
) -> None:
    removes = rule != "identity"
    options: dict[str, Any] = {
        "byte_fallback": False,
        "character_coverage": 0.98,
        "vocab_size": 300,
    }
    model = trained("", normalization_rule_name=rule, remove_extra_whitespaces=removes, **options)
    theirs, tok = (sentencepiece.SentencePieceProcessor(model_proto=model), loaded(model, tmp_path))
    assert "a character without a token becomes id 0: decoding cannot restore it" in tok.assumptions
    known = [
        text
        for text in [*TEXTS, *list(characters())[::9]]
        if not removes or all(map(is_known, text))
    ]
    for text in [*known, "ÿ\nþ\n\nÿ ÿÿ ÿ", "the\ncat", "ÿ"]:
        assert tok.encode(text) == theirs.encode(text), text[:80]
    assert tok.encode_batch(["ÿþ the", "the"]) == [theirs.encode("ÿþ the"), theirs.encode("the")]
    assert tok.decode(tok.encode("the cat")) == "the cat"
    assert vocabulary_of(artifact_bytes(tok.vocabulary), "again.json") == tok.vocabulary
    ids, offsets = tok.encode_with_offsets("the")
    assert ids == theirs.encode("the")
    assert [end for _, end in offsets][-1] == len("the")
    tok.save_original(tmp_path / "again.model")
    assert (tmp_path / "again.model").read_bytes() == model


@pytest.mark.parametrize("fuse_unk", [False, True])
@pytest.mark.parametrize(
    "before",
    [None, tokenizers.pre_tokenizers.Metaspace(), tokenizers.pre_tokenizers.Metaspace(split=False)],
)
def test_characters_without_a_token_become_the_unknown_token(
    before: Any, fuse_unk: bool, tmp_path: Path
) -> None:
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>", fuse_unk=fuse_unk))
    if before is not None:
        theirs.pre_tokenizer, theirs.decoder = before, tokenizers.decoders.Metaspace()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=100, special_tokens=["<unk>", "<0x41>"], limit_alphabet=40, show_progress=False
    )
    theirs.train_from_iterator(CORPUS, trainer)
    theirs.save(str(tmp_path / "tokenizer.json"))
    tok = Tokenizer.load(tmp_path)
    assert "a character without a token becomes id 0: decoding cannot restore it" in tok.assumptions
    fast = accelerate(theirs)
    texts = [*TEXTS, *list(characters())[::9], "ÿ\nþ\n\nÿ ÿÿ ÿ<unk> ÿ", "the\ncat", "of theÿÿ hat"]
    for text in texts:
        expected = theirs.encode(text)
        assert tok.encode(text) == expected.ids, text[:80]
        found = fast.encode(text)
        assert (found.ids, found.offsets, found.tokens) == (
            expected.ids,
            expected.offsets,
            expected.tokens,
        )
        assert fast.decode(expected.ids) == theirs.decode(expected.ids)
    assert [found.ids for found in fast.encode_batch(texts)] == tok.encode_batch(texts)
    if before is not None:
        # The decoder leaves out all spaces of the first token.
        for ids in ([place, place, 5] for place in range(1, theirs.get_vocab_size())):
            text = theirs.decode(ids, skip_special_tokens=False)
            stream = tok.decode_stream()
            assert tok.decode(ids) == tok.decode_batch([ids])[0] == text
            assert stream.push(ids[0]) + stream.push(ids[1:]) + stream.finish() == text
        assert vocabulary_of(artifact_bytes(tok.vocabulary), "again.json") == tok.vocabulary
        assert tok.decode([]) == ""
    tok.to_huggingface(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "tokenizer.json").read_bytes()


def test_a_wrong_merge_is_told_by_its_place_in_the_file(tmp_path: Path) -> None:
    file = document(trained("llama"), next(iter(SETTINGS)))
    merges = file["model"]["merges"]
    file["added_tokens"] += [
        {"id": file["model"]["vocab"][text], "content": text, "special": True}
        for text in (
            "".join(merge) if isinstance(merge, list) else merge.replace(" ", "")
            for merge in merges[:1]
        )
    ]
    merges[40] = ["zqz", "a"] if isinstance(merges[40], list) else "zqz a"
    (tmp_path / "tokenizer.json").write_text(json.dumps(file), "utf-8")
    with pytest.raises(
        ValueError, match=r"model\.merges\[40\] is made of 'zqz', which is not a token"
    ):
        Tokenizer.load(tmp_path)


def test_a_report_counts_only_tokens_that_have_a_meaning(tmp_path: Path) -> None:
    tok = loaded(trained("llama"), tmp_path)
    assert tok.vocabulary.provisional
    assert unused(tok, {}) == [
        token_id for token_id in range(tok.vocab_size) if token_id in known_ids(tok)
    ]
    assert sum(count for _, count, *_ in lengths(tok, {})) == len(tok.vocabulary.tokens) - len(
        tok.vocabulary.provisional
    )


def known_ids(tok: Tokenizer) -> set[int]:
    """The ids that a text may get."""
    return {*tok.vocabulary.tokens, *tok.special_tokens.values()}.difference(
        tok.vocabulary.provisional
    )
