"""`tokenizer.json` against tokenizers and transformers: the same ids both ways, or a refusal."""

import copy
import functools
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import tokenizers
import transformers
from hypothesis import given, settings
from tokenizers import models, normalizers, pre_tokenizers, trainers
from tokenizers.pre_tokenizers import ByteLevel, Split

from bpetite import Tokenizer, Vocabulary, _persistence, accelerate
from bpetite._encoder import encode
from bpetite._engine import covers_all_text
from bpetite._internal.json import parse_object, parse_with_lists
from bpetite.dialect import DIALECTS
from bpetite.formats import huggingface
from bpetite.formats.huggingface_steps import from_oniguruma
from bpetite.formats.shared.difficult import DIFFICULT_TEXTS
from bpetite.formats.shared.printable import to_printable
from bpetite.patterns import _DEEPSEEK, LLAMA3, PATTERNS
from known_characters import known_text
from standard_library import standard_library_files

Json = dict[str, Any]

CORPUS = "the cat sat on the mat, the bat sat on the hat; naïve cafés, 東京都 12345\n" * 3
TEXTS = [*DIFFICULT_TEXTS, *(path.read_text("utf-8") for path in standard_library_files()[::150])]

QWEN_2 = LLAMA3.replace("{1,3}", "")


def theirs(content: bytes) -> Callable[[str], list[int]]:
    peer = tokenizers.Tokenizer.from_str(content.decode())

    def encode(text: str) -> list[int]:
        ids: list[int] = peer.encode(text, add_special_tokens=False).ids
        return ids

    return encode


def ours(content: bytes) -> Tokenizer:
    return Tokenizer(huggingface.parse("tokenizer.json", content).vocabulary)


def trained_there(
    pre_tokenizer: Any,
    *,
    vocab_size: int = 700,
    normalizer: Any = None,
    added: Sequence[Any] = (),
    special_tokens: Sequence[str] = ("<|endoftext|>", "<s>"),
    **model: Any,
) -> bytes:
    peer = tokenizers.Tokenizer(models.BPE(**model))
    peer.pre_tokenizer = pre_tokenizer
    peer.decoder = tokenizers.decoders.ByteLevel()
    if normalizer is not None:
        peer.normalizer = normalizer
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=list(special_tokens),
        initial_alphabet=ByteLevel.alphabet(),
        show_progress=False,
    )
    peer.train_from_iterator(TEXTS, trainer)
    peer.add_tokens(list(added))
    return str(peer.to_str()).encode()


def split(*patterns: str, behavior: str = "isolated", invert: bool = False) -> Any:
    steps = [Split(tokenizers.Regex(pattern), behavior, invert) for pattern in patterns]
    return pre_tokenizers.Sequence([*steps, ByteLevel(add_prefix_space=False, use_regex=False)])


THEIR_KINDS: dict[str, Callable[[], bytes]] = {
    "gpt2": lambda: trained_there(ByteLevel(add_prefix_space=False)),
    "no regex": lambda: trained_there(ByteLevel(add_prefix_space=False, use_regex=False)),
    "llama 3": lambda: trained_there(split(LLAMA3), ignore_merges=True),
    "gpt-4": lambda: trained_there(split(LLAMA3, behavior="removed", invert=True)),
    "qwen 2": lambda: trained_there(split(QWEN_2), normalizer=normalizers.NFC()),
    "deepseek": lambda: trained_there(split(*_DEEPSEEK), normalizer=normalizers.Sequence([])),
    "with gaps": lambda: trained_there(split(r"[a-z]+|[0-9]")),
    "added": lambda: trained_there(
        ByteLevel(add_prefix_space=False),
        added=["<think>", "    ", tokenizers.AddedToken("zz@", normalized=False)],
        special_tokens=["<pad>"],
    ),
}


@pytest.fixture(scope="module", params=list(THEIR_KINDS))
def their_file(request: pytest.FixtureRequest) -> bytes:
    return trained_kind(request.param)


@functools.cache
def trained_kind(kind: str) -> bytes:
    return THEIR_KINDS[kind]()


@functools.cache
def pair(kind: str) -> tuple[Tokenizer, Callable[[str], list[int]]]:
    return ours(trained_kind(kind)), theirs(trained_kind(kind))


def test_what_tokenizers_trained_is_read_with_the_same_ids(their_file: bytes) -> None:
    encode, tok = theirs(their_file), ours(their_file)
    for text in [
        *TEXTS,
        "x<s>y<|endoftext|><think>  zz@     <s",
        "e\u0301<s>\u0301 <|endoftext|>\u0338",
    ]:
        assert tok.encode(text) == encode(text), text[:80]
    assert tok.vocab_size == tokenizers.Tokenizer.from_str(their_file.decode()).get_vocab_size()


def test_what_was_read_is_written_and_read_again_to_the_byte(
    their_file: bytes, tmp_path: Path
) -> None:
    tok = ours(their_file)
    tok.to_huggingface(tmp_path / "a.json")
    again = Tokenizer.from_huggingface(tmp_path / "a.json")
    assert again.vocabulary == tok.vocabulary
    again.to_huggingface(tmp_path / "b.json")
    written = (tmp_path / "a.json").read_bytes()
    assert (tmp_path / "b.json").read_bytes() == written
    encode = theirs(written)
    for text in TEXTS:
        assert encode(text) == tok.encode(text)
    tok.save(tmp_path / "tok.json")
    assert Tokenizer.load(tmp_path / "tok.json").vocabulary == tok.vocabulary


@settings(max_examples=60)
@given(known_text())
@pytest.mark.parametrize("kind", ["llama 3", "qwen 2", "deepseek", "with gaps", "added"])
def test_any_text_gets_their_ids(kind: str, text: str) -> None:
    tok, encode = pair(kind)
    assert tok.encode(text) == encode(text)


@pytest.mark.parametrize("seed", range(6))
def test_texts_made_of_what_patterns_look_at_get_their_ids(seed: int) -> None:
    rng = random.Random(seed)
    alphabet = [
        "a",
        "B",
        "é",
        "1",
        "²",
        " ",
        "\n",
        "\r",
        "\t",
        ".",
        "'",
        "'s",
        "東",
        "ー",
        "・",
        "゛",
        "\u3099",
    ]
    alphabet += ["\u0301", "\x00", "\u200d", "+", "/", "\u3000", "\u00a0", "゠", "한", "٣"]
    for kind in ("gpt-4", "deepseek"):
        tok, encode = pair(kind)
        for _ in range(400):
            text = "".join(rng.choices(alphabet, k=rng.randint(1, 12)))
            assert tok.encode(text) == encode(text), text


@pytest.mark.parametrize("dialect", list(DIALECTS))
@pytest.mark.parametrize("pattern", [*PATTERNS, r"\p{L}+|\p{N}"])
def test_what_we_write_gives_the_same_ids_there(dialect: str, pattern: str, tmp_path: Path) -> None:
    specials = ["<|endoftext|>", "<|x|>", "<|x|>y"]
    tok = Tokenizer.train_from_iterator(
        [CORPUS], 420, dialect=dialect, pattern=pattern, special_tokens=specials
    )
    path = tmp_path / "tokenizer.json"
    tok.to_huggingface(path)
    peer = tokenizers.Tokenizer.from_file(str(path))
    for text in [*TEXTS, "a<|x|>yb<|endoftext|><|x|"]:
        ids = tok.encode(text)
        assert peer.encode(text).ids == ids
        assert peer.decode(ids, skip_special_tokens=False) == text
    assert Tokenizer.from_huggingface(path).fingerprint == tok.fingerprint


def test_what_was_read_is_written_with_everything_in_it(small: Json, tmp_path: Path) -> None:
    document = {
        **small,
        "truncation": {"max_length": 5},
        "padding": {"pad_id": 3},
        "unknown": [1.0, {"é": None}],
    }
    for written in (
        json.dumps(document),
        json.dumps(document, indent=2, ensure_ascii=False) + "\n",
    ):
        (tmp_path / "a.json").write_text(written, "utf-8")
        tok = Tokenizer.from_huggingface(tmp_path / "a.json")
        tok.to_huggingface(tmp_path / "b.json", overwrite=True)
        assert (tmp_path / "b.json").read_bytes() == (tmp_path / "a.json").read_bytes()
        tok.truncate(290).to_huggingface(tmp_path / "c.json", overwrite=True)
        smaller = json.loads((tmp_path / "c.json").read_bytes())
        assert [smaller[key] for key in ("truncation", "padding")] == [
            {"max_length": 5},
            {"pad_id": 3},
        ]


@pytest.mark.parametrize("specials", [["<|endoftext|>", "<|user|>"], ["<|user|>"], []])
def test_the_config_tells_transformers_the_special_tokens(
    tmp_path: Path, specials: list[str]
) -> None:
    tok = Tokenizer.train_from_iterator(
        ["low lower"], 300, special_tokens=specials, dialect="tiktoken"
    )
    tok.save_folder(tmp_path)
    load: Any = transformers.AutoTokenizer  # its annotations are incomplete
    theirs = load.from_pretrained(str(tmp_path))
    assert sorted(theirs.all_special_tokens) == sorted(specials)
    assert theirs.eos_token == ("<|endoftext|>" if "<|endoftext|>" in specials else None)
    for text in ("low<|user|>er", "a <|endoftext|> b"):
        assert theirs.encode(text, add_special_tokens=False) == tok.encode(text)
        assert theirs.decode(theirs.encode(text)) == text
    assert Tokenizer.load(tmp_path).fingerprint == tok.fingerprint


def test_the_config_is_written_with_the_file_or_neither_is(tmp_path: Path) -> None:
    tok = Tokenizer.train("low lower", 300)
    (tmp_path / "tokenizer_config.json").write_text("theirs")
    with pytest.raises(FileExistsError, match=r"tokenizer_config\.json exists already"):
        tok.save_folder(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer_config.json"]
    tok.save_folder(tmp_path, overwrite=True)
    assert "eos_token" in json.loads((tmp_path / "tokenizer_config.json").read_text())


def test_what_we_write_loads_in_transformers(tmp_path: Path) -> None:
    specials = ["<s>", "</s>"]
    for dialect in ("bpetite", "huggingface"):
        tok = Tokenizer.train_from_iterator(TEXTS, 900, dialect=dialect, special_tokens=specials)
        path = tmp_path / f"{dialect}.json"
        tok.to_huggingface(path)
        load: Any = transformers.PreTrainedTokenizerFast  # its annotations are incomplete
        fast = load(
            tokenizer_file=str(path),
            bos_token="<s>",
            eos_token="</s>",
            clean_up_tokenization_spaces=False,
        )
        assert (fast.bos_token_id, fast.eos_token_id) == (
            tok.special_tokens["<s>"],
            tok.special_tokens["</s>"],
        )
        assert len(fast) == tok.vocab_size
        for text in [*TEXTS, "a<s>b</s>"]:
            assert fast(text)["input_ids"] == tok.encode(text)
            assert fast.decode(tok.encode(text)) == text
        fast.save_pretrained(tmp_path / dialect)
        again = Tokenizer.from_huggingface(tmp_path / dialect / "tokenizer.json")
        assert again.fingerprint == tok.fingerprint


def test_ids_may_have_gaps_and_any_order(tmp_path: Path) -> None:
    tokens = {5000 - 7 * byte: bytes([byte]) for byte in range(256)} | {9: b"ab", 7: b"abc"}
    merges = [(5000 - 7 * 97, 5000 - 7 * 98), (9, 5000 - 7 * 99)]
    specials = {"<a>": 1_000_000_000, "<b>": 1}
    tok = Tokenizer(Vocabulary(tokens, merges, specials, added_tokens={"<b>"}))
    tok.to_huggingface(tmp_path / "t.json")
    encode = theirs((tmp_path / "t.json").read_bytes())
    for text in [*DIFFICULT_TEXTS, "abc<a>ab<b>"]:
        assert encode(text) == tok.encode(text)
    assert Tokenizer.from_huggingface(tmp_path / "t.json").vocabulary.added_tokens == {"<b>"}


@pytest.mark.parametrize("seed", range(40))
def test_added_tokens_get_the_ids_that_tokenizers_gives_them_or_are_refused(seed: int) -> None:
    rng = random.Random(seed)
    document = json.loads(base_file())
    vocab, names = document["model"]["vocab"], ["<a>", "<b>", "<c>"]
    for name in names:
        if rng.random() < 0.4:
            vocab[name] = rng.choice([256, 257, 258, 300, 1000]) + 10_000 * names.index(name)
    listed = [
        {"id": rng.choice([256, 257, 258, vocab.get(n, 259)]), "content": n, "special": True}
        for n in names
    ]
    document["added_tokens"] = [token | FLAGS for token in listed]
    content = json.dumps(document).encode()
    try:
        tok = ours(content)
    except ValueError as refusal:
        assert "tokenizers gives it" in str(refusal)  # noqa: PT017  # what is wanted is ids or this refusal
        return
    assert tok.encode("a<a>b<b><c>") == theirs(content)("a<a>b<b><c>")


def test_an_added_token_that_is_listed_twice_alike_is_added_once() -> None:
    """As in files of Yi."""
    document = json.loads(base_file())
    first, second = (
        {"id": 256 + place, "content": text, "special": True} | FLAGS
        for place, text in enumerate(["<a>", "<b>"])
    )
    first["normalized"] = True
    for listed in ([first, first, second], [first, second, dict(first)], [first, second, second]):
        document["added_tokens"] = listed
        content = json.dumps(document).encode()
        assert ours(content).encode("<a>x<b>") == theirs(content)("<a>x<b>") == [256, 120, 257]


def test_characters_are_refused_if_their_unknown_token_is_missing() -> None:
    document = json.loads(base_file())
    document["model"] |= {"vocab": {"a": 0, "\u2581": 1}, "merges": [], "unk_token": "<unk>"}
    document["pre_tokenizer"] = {
        "type": "Metaspace",
        "replacement": "\u2581",
        "prepend_scheme": "always",
    }
    with pytest.raises(
        ValueError, match=r"model.unk_token is '<unk>', which is not a token: a character"
    ):
        ours(json.dumps(document).encode())


FLAGS = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}


def base_file() -> bytes:
    tok = Tokenizer(Vocabulary({byte: bytes([byte]) for byte in range(256)}, []))
    return huggingface.to_bytes(tok.vocabulary)


def test_a_merge_that_is_listed_again_has_its_last_rank() -> None:
    document = json.loads(trained_there(ByteLevel(add_prefix_space=False), vocab_size=400))
    merges = document["model"]["merges"]
    merges += [*merges[:9:2], *merges[1:4]]
    content = json.dumps(document).encode()
    encode, tok = theirs(content), ours(content)
    for text in TEXTS:
        assert tok.encode(text) == encode(text)


@pytest.fixture(scope="module")
def small() -> Json:
    tok = Tokenizer.train_from_iterator([CORPUS], 300, special_tokens=["<|x|>"], pattern=LLAMA3)
    document = json.loads(huggingface.to_bytes(tok.vocabulary))
    assert isinstance(document, dict)
    return document


def put(*places_and_value: Any) -> Callable[[Json], None]:
    *places, last, value = places_and_value

    def change(document: Any) -> None:
        for place in places:
            document = document[place]
        document[last] = value

    return change


def split_of(**changes: Any) -> Callable[[Json], None]:
    return lambda document: document["pre_tokenizer"]["pretokenizers"][0].update(changes)


REFUSED: list[tuple[str, Callable[[Json], object]]] = [
    ("version is '2.0'; only '1.0' can be read", put("version", "2.0")),
    ("model must be an object, not a list", put("model", [])),
    ("model must be an object, not null", lambda d: d.pop("model")),
    ("model.type is 'WordPiece'", put("model", "type", "WordPiece")),
    ("model.type is 'Unigram'", put("model", "type", "Unigram")),
    ("model.dropout is 0.1", put("model", "dropout", 0.1)),
    ("model.continuing_subword_prefix", put("model", "continuing_subword_prefix", "##")),
    ("model.end_of_word_suffix", put("model", "end_of_word_suffix", " ")),
    (
        "'ByteLevel' is not supported where model.byte_fallback is on",
        lambda d: [put("model", "byte_fallback", True)(d), d["model"]["vocab"].pop("z")],
    ),
    ("model.byte_fallback must be a boolean", put("model", "byte_fallback", "no")),
    ("model.ignore_merges must be a boolean", put("model", "ignore_merges", 1)),
    ("model.vocab must be an object", put("model", "vocab", [])),
    (r"normalizer: \[\] changes text", put("normalizer", {"type": []})),
    ("model.unk_token must be a string, not an object", put("model", "unk_token", {})),
    (r"model.vocab: the id of 'a' is -1, not a number", put("model", "vocab", "a", -1)),
    (r"model.vocab: the id of 'a' is True, not a number", put("model", "vocab", "a", True)),
    (r"model.vocab: the id of 'a' is 5.0, not a number", put("model", "vocab", "a", 5.0)),
    (r"model.vocab: the id of 'a' is 1000000", put("model", "vocab", "a", 10**4000)),
    (r"model.vocab: the id of 'a' is '5', not a number", put("model", "vocab", "a", "5")),
    ("model.vocab: id 98 is given to", put("model", "vocab", "a", 98)),
    ("model.merges must be a list", put("model", "merges", {})),
    (r"model.merges\[0\]: 'ab' is not a pair", put("model", "merges", 0, "ab")),
    (r"model.merges\[0\]: 'a b c' is not a pair", put("model", "merges", 0, "a b c")),
    (r"model.merges\[0\]: 'a' is not a pair", put("model", "merges", 0, ["a"])),
    (r"model.merges\[0\]: \['a', 5\] is not a pair", put("model", "merges", 0, ["a", 5])),
    (r"model.merges\[0\]: 5 is not a pair", put("model", "merges", 0, 5)),
    (r"model\.merges\[0\] is made of '▁', which is not a token", put("model", "merges", 0, "▁ a")),
    (
        r"model\.merges\[1\] is made of 'zqz', which is not a token",
        put("model", "merges", 1, "zqz a"),
    ),
    (r"model\.merges\[1\] makes 'zq', which is not a token", put("model", "merges", 1, "z q")),
    ("added_tokens must be a list", put("added_tokens", {"a": 1})),
    (r"added_tokens\[0\] must be an object", put("added_tokens", [5])),
    (r"added_tokens\[0\].content must be a string", put("added_tokens", 0, "content", 5)),
    (r"added_tokens\[0\]: '' is empty", put("added_tokens", 0, "content", "")),
    (
        r"added_tokens\[1\]: '<\|x\|>' appears twice",
        lambda d: d["added_tokens"].append({**d["added_tokens"][0], "lstrip": True}),
    ),
    (r"added_tokens\[0\] .* has id", put("added_tokens", 0, "id", "x")),
    (r"tokenizers gives it \d+", put("added_tokens", 0, "id", 12345)),
    (r"added_tokens\[0\].lstrip must be a boolean", put("added_tokens", 0, "lstrip", 5)),
    (
        "makes 'Ġthe', which is not a token",
        lambda d: d["added_tokens"].append(
            {"id": d["model"]["vocab"]["Ġthe"], "content": "Ġthe"} | FLAGS
        ),
    ),
    ("normalizer: 'Nmt'", put("normalizer", {"type": "Nmt"})),
    (
        "normalizer: BertNormalizer puts spaces around Han characters",
        put("normalizer", {"type": "Sequence", "normalizers": [{"type": "BertNormalizer"}]}),
    ),
    ("normalizer must be an object", put("normalizer", "NFC")),
    ("decoder: .ByteLevel. does not simply join", put("pre_tokenizer", None)),
    ("decoder: .ByteLevel. does not simply join", put("pre_tokenizer", {"type": "Whitespace"})),
    ("pre_tokenizer must be an object", put("pre_tokenizer", 5)),
    ("'Metaspace' is not supported", split_of(type="Metaspace")),
    ("behavior 'Merged'", split_of(behavior="Merged")),
    ("Removed drops its matches", split_of(pattern={"String": "ab"}, behavior="Removed")),
    ("pattern must be a Regex", split_of(pattern={"Text": "a"})),
    ("pattern must be an object", split_of(pattern="a")),
    (
        "Removed drops all between",
        split_of(pattern={"Regex": r"\p{L}+"}, behavior="Removed", invert=True),
    ),
    (r"the flag s of \(\?s is not", split_of(pattern={"Regex": "(?s:a)"})),
    (r"\\K is not", split_of(pattern={"Regex": r"\w+\K"})),
    ("text of another length", split_of(pattern={"Regex": "(?i:ss)"})),
    ("may match nothing", split_of(pattern={"Regex": "a*"}, behavior="Contiguous")),
    ("decoder: 'Metaspace'", put("decoder", {"type": "Metaspace"})),
    (
        "decoder: 'ByteFallback'",
        put("decoder", {"type": "Sequence", "decoders": [{"type": "ByteFallback"}]}),
    ),
]


@pytest.mark.parametrize(("message", "change"), REFUSED)
def test_what_cannot_be_reproduced_is_refused_with_its_place(
    small: Json, message: str, change: Callable[[Json], object], tmp_path: Path
) -> None:
    document = copy.deepcopy(small)
    change(document)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=message) as caught:
        Tokenizer.from_huggingface(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b"[]", "one JSON object, not a list"),
        (b"\xff", "not valid UTF-8 at byte 0"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"model":' * 100_000, "nested too deeply"),
        (b'{"model": 1, "model": 2}', "'model' appears twice"),
        (b'{"model": NaN}', "NaN"),
        (b'{"model": ' + b"9" * 10_000 + b"}", "not valid JSON"),
    ],
)
def test_what_is_no_json_object_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        Tokenizer.from_huggingface(path)


def test_merges_before_their_parents_are_dropped_if_they_never_happen() -> None:
    """A converter from ranks lists every split of a token, even if the parts have higher ranks."""
    document = json.loads(base_file())
    document["model"]["vocab"] |= {"bc": 256, "abc": 257, "ab": 258, "abcd": 259, "cd": 260}
    document["model"]["merges"] = ["b c", "a bc", "ab c", "a b", "abc d", "ab cd", "c d"]
    content = json.dumps(document).encode()
    tok, encode = ours(content), theirs(content)
    assert len(tok.merges) == 5
    rng = random.Random(0)
    for _ in range(500):
        text = "".join(rng.choices("abcd", k=rng.randint(1, 14)))
        assert tok.encode(text) == encode(text)


@pytest.mark.parametrize("seed", range(60))
def test_any_order_of_merges_gives_their_ids_or_is_refused(seed: int) -> None:
    rng = random.Random(seed)
    document = json.loads(base_file())
    vocab, merges, parts = document["model"]["vocab"], [], ["a", "b", "c"][: 2 + seed % 2]
    for _ in range(rng.randint(2, 14)):
        left, right = rng.choice(parts), rng.choice(parts)
        if [left, right] not in merges and len(left + right) < 9:
            merges.append([left, right])
            vocab.setdefault(left + right, len(vocab))
            parts.append(left + right)
    if seed % 3 == 0:
        rng.shuffle(merges)
    document["model"] |= {"merges": merges, "ignore_merges": bool(seed % 2)}
    content = json.dumps(document).encode()
    try:
        tok = ours(content)
    except ValueError as refusal:
        assert "no earlier merge makes" in str(refusal)  # noqa: PT017  # what is wanted is ids or this refusal
        return
    encode = theirs(content)
    for _ in range(200):
        text = "".join(rng.choices("abc", k=rng.randint(1, 20)))
        assert tok.encode(text) == encode(text)


def test_added_tokens_of_which_some_are_normalized_are_looked_for_in_two_goes() -> None:
    document = json.loads(base_file())
    first = {"id": 256, "content": "<ab>", "special": True} | FLAGS
    second = {"id": 257, "content": "b>c", "special": False} | FLAGS | {"normalized": True}
    third = {"id": 258, "content": "xq", "special": False} | FLAGS | {"normalized": True}
    document["added_tokens"] = [first, second, third]
    for normalizer in (None, {"type": "NFC"}, {"type": "Lowercase"}):
        document["normalizer"] = normalizer
        content = json.dumps(document).encode()
        tok, encode = ours(content), theirs(content)
        for text in ("<ab>c", "ab>c<ab>", "<abb>c<ab>", "e\u0301 B>c<ab> <AB>", "XQ<ab>xq"):
            assert tok.encode(text) == encode(text)
    document["added_tokens"] = [first, third, {**third, "id": 258, "content": "xQ"}]
    document["added_tokens"][1] = {**third, "id": 257}
    with pytest.raises(ValueError, match="'xq' and 'xQ' are the same once normalized"):
        ours(json.dumps(document).encode())


@pytest.mark.parametrize(
    "normalizer",
    [
        {"type": "Lowercase"},
        {"type": "NFKC"},
        {"type": "Prepend", "prepend": " "},
        {"type": "Replace", "pattern": {"String": "A"}, "content": " a"},
    ],
)
def test_an_added_token_that_is_normalized_is_decoded_as_that(normalizer: Json) -> None:
    document = json.loads(base_file())
    document["normalizer"] = normalizer
    document["added_tokens"] = [
        {"id": 256, "content": "<A\u2460>", "special": True} | FLAGS | {"normalized": True},
        {"id": 257, "content": "<B>", "special": True} | FLAGS,
    ]
    content = json.dumps(document).encode()
    tok, real = ours(content), tokenizers.Tokenizer.from_str(content.decode())
    for ids in ([256], [97, 256, 98], [257, 256, 97, 256]):
        expected = real.decode(ids, skip_special_tokens=False)
        assert tok.decode(ids) == tok.decode_bytes(ids).decode() == expected
        stream = tok.decode_stream()
        assert "".join(map(stream.push, ids)) + stream.finish() == expected
    for text in ("<A\u2460>", "x <A\u2460>", "<a1>", " <A\u2460><B>", "A<A\u2460>"):
        ids = real.encode(text, add_special_tokens=False).ids
        assert tok.encode(text) == ids
        assert tok.decode(ids) == real.decode(ids, skip_special_tokens=False)


def test_what_a_tokenizer_json_cannot_hold_is_refused(tmp_path: Path) -> None:
    base = {byte: bytes([byte]) for byte in range(256)}
    unfit = [
        (Vocabulary(base | {256: b"ab", 257: b"ab"}, [(97, 98)]), "two tokens of the same bytes"),
        (Vocabulary(base, [], {"a": 256}), "spelled like token 97"),
        (Vocabulary(base, [], {"Ġ": 256}), "spelled like token 32"),
        (Vocabulary(base, [], {"Ġa": 256}, whole_pretoken_first=True), "stand for other bytes"),
        (Vocabulary(base, [], pattern=r"\w+|\W+"), "differently"),
    ]
    for vocabulary, message in unfit:
        with pytest.raises(ValueError, match=message):
            Tokenizer(vocabulary).to_huggingface(tmp_path / "t.json")
    assert list(tmp_path.iterdir()) == []


def test_an_import_says_what_it_assumed(small: Json, tmp_path: Path) -> None:
    document = copy.deepcopy(small)
    document["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [],
        "pair": [],
        "special_tokens": {},
    }
    document["truncation"] = {"max_length": 5}
    document["decoder"] = None
    (tmp_path / "t.json").write_bytes(json.dumps(document).encode())
    said = " ".join(Tokenizer.from_huggingface(tmp_path / "t.json").assumptions)
    for word in ("add_special_tokens=False", "truncation", "decoder", "Unicode"):
        assert word in said


def test_a_processor_whose_type_is_no_string_is_left_out(small: Json, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(json.dumps({**small, "post_processor": {"type": []}}).encode())
    assert "add_special_tokens=False" in " ".join(Tokenizer.from_huggingface(path).assumptions)


def test_whether_a_pattern_covers_all_text() -> None:
    for pattern in (LLAMA3, QWEN_2):
        assert covers_all_text(pattern)
    for pattern in (r"\p{L}+|\p{N}", r"[\s\S](?!a)", r"[\s\S]*+a|b", r"[^\x07]"):
        assert not covers_all_text(pattern)
    for pattern in (LLAMA3, QWEN_2, *_DEEPSEEK):
        assert from_oniguruma(pattern) == pattern


# Normalization
# -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda tok: tok.encode("e\u0301<s>", special="eror"),
        lambda tok: tok.encode("e\u0301", special=None),
        lambda tok: tok.encode("e\u0301\ud800"),
        lambda tok: tok.encode(b"ab"),
        lambda tok: tok.encode_batch("ab"),
        lambda tok: tok.encode_batch(b"ab"),
        lambda tok: tok.encode_batch(["a", 5]),
        lambda tok: tok.encode_batch_to_numpy("ab"),
        lambda tok: tok.encode_batch_to_numpy([b"ok", b"a\xff"]),
        lambda tok: tok.count_batch([b"a", b"\xff"]),
        lambda tok: tok.token_bytes(True),
        lambda tok: tok.token_bytes(97.0),
        lambda tok: tok.token_bytes(10**9),
    ],
)
def test_what_is_no_text_is_refused_as_without_normalization(call: Callable[[Any], object]) -> None:
    plain = Tokenizer.train("ab<s>", 257)
    composing = Tokenizer(replace(plain.vocabulary, normalization="NFC"))
    with pytest.raises((TypeError, ValueError, KeyError)) as expected:
        call(plain)
    with pytest.raises(expected.type) as raised:
        call(composing)
    assert str(raised.value) == str(expected.value)


def test_every_way_to_encode_normalizes() -> None:
    tok, encode = pair("qwen 2")
    texts = ["cafe\u0301<s>\u0338 x", "plain", "e\u0301\u0323", "<|endoftext|>e\u0301"]
    ids = [encode(text) for text in texts]
    assert tok.encode_batch(texts) == ids
    assert tok.encode_batch([text.encode() for text in texts]) == ids
    assert tok.encode_batch(["a", "b"]) == [encode("a"), encode("b")]
    assert tok.count_batch(texts) == list(map(len, ids))
    joined, offsets = tok.encode_batch_to_numpy(texts)
    assert [joined[a:b].tolist() for a, b in pairwise(offsets)] == ids
    joined, offsets = tok.encode_batch_to_numpy(texts, append=97)
    assert [joined[a:b].tolist() for a, b in pairwise(offsets)] == [[*row, 97] for row in ids]
    with pytest.raises(KeyError):
        tok.encode_batch_to_numpy(texts, append=10**8)
    for text, expected in zip(texts, ids, strict=True):
        assert tok.encode_to_numpy(text, dtype="uint16").tolist() == expected
        assert tok.count(text) == len(expected)
    assert tok.encode_ordinary("e\u0301<s>") == tok.encode("é<s>", special="text")
    assert tok.encode_batch_to_numpy([])[0].tolist() == []
    with pytest.raises(ValueError, match="<s>"):
        tok.encode("e\u0301<s>", special="error")
    assert tok.encode_with_offsets("abc é")[0] == tok.encode("abc é")
    assert tok.encode_with_offsets("ae\u0301")[1] == [(0, 1), (1, 2), (1, 2)]
    assert list(tok.encode_iterable(["e", "\u0301"])) == encode("é")
    assert tok.decode(tok.encode("e\u0301")) == "é"


def test_what_a_vocabulary_holds_beside_bytes_and_merges_is_kept(small: Json) -> None:
    document = copy.deepcopy(small)
    vocab = document["model"]["vocab"]
    del vocab[to_printable(b"\xf5")]
    others = ["", "‼", "▁the", "a b"]
    vocab.update({text: 5000 + place for place, text in enumerate(others)})
    document["model"]["merges"].reverse()
    content = json.dumps(document).encode()
    tok, peer = ours(content), theirs(content)
    assert tok.vocabulary.irregular
    for text in [*TEXTS, "‼ ▁the a b"]:
        assert tok.encode(text) == peer(text)
    assert [tok.decode([5000 + place]) for place in range(len(others))] == others
    again = _persistence.vocabulary_of(_persistence.artifact_bytes(tok.vocabulary), "again.json")
    assert again == tok.vocabulary
    assert not any("no token" in said for said in huggingface.parse("t", content).assumptions)


def test_text_with_a_byte_that_no_token_is_cannot_be_encoded(small: Json) -> None:
    document = copy.deepcopy(small)
    document["model"]["merges"] = []
    del document["model"]["vocab"]["z"]
    read = huggingface.parse("t", json.dumps(document).encode())
    assert any("byte 0x7a has no token" in said for said in read.assumptions)
    assert len(Tokenizer(read.vocabulary).encode("abc")) == 3
    for _ in range(2):
        with pytest.raises(
            ValueError, match='"lazy" has a byte for which this vocabulary has no token'
        ):
            Tokenizer(read.vocabulary).encode("lazy")


def test_a_vocabulary_that_lacks_bytes_can_be_written_from_an_artifact(
    small: Json, tmp_path: Path
) -> None:
    document = copy.deepcopy(small)
    document["model"]["merges"] = []
    del document["model"]["vocab"]["z"]
    vocabulary = huggingface.parse("t", json.dumps(document).encode()).vocabulary
    Tokenizer(vocabulary).to_huggingface(tmp_path / "tokenizer.json")
    assert Tokenizer.load(tmp_path / "tokenizer.json").vocabulary == vocabulary


def test_added_tokens_may_stand_among_the_merges_of_bytes(small: Json) -> None:
    document = copy.deepcopy(small)
    document["model"]["byte_fallback"] = True  # never needed, as all bytes are tokens
    vocab = document["model"]["vocab"]
    texts = [text for text in vocab if len(text) > 1 and text.isascii() and text.islower()][:4]
    for text in texts:
        flags = {"lstrip": text == texts[-1]}
        document["added_tokens"].append(
            {"id": vocab[text], "content": text, "special": False, **FLAGS, **flags}
        )
    content = json.dumps(document).encode()
    tok, peer = ours(content), theirs(content)
    assert len(texts) == 4
    joined = "".join(texts)
    hard = [CORPUS, joined, joined.upper(), f"  {joined[1:]} {' '.join(texts)} x{joined}x"]
    assert [tok.encode(text) for text in hard] == [peer(text) for text in hard]
    document["normalizer"] = {"type": "NFKC"}
    content = json.dumps(document).encode()
    tok, peer = ours(content), theirs(content)
    hard += ["".join(chr(ord(letter) + 0xFEE0) for letter in text) for text in texts]
    assert [tok.encode(text) for text in hard] == [peer(text) for text in hard]


def with_unknown(**settings: Any) -> Json:
    """A file whose vocabulary has only the bytes that a small corpus has."""
    peer = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", **settings))
    peer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    peer.decoder = tokenizers.decoders.ByteLevel()
    specials = ["<s>", "<unk>"]
    peer.train_from_iterator([CORPUS], trainers.BpeTrainer(vocab_size=120, special_tokens=specials))
    document: Json = json.loads(peer.to_str())
    return document


@pytest.mark.parametrize(
    "settings", [{}, {"fuse_unk": True}, {"fuse_unk": True, "ignore_merges": True}]
)
def test_bytes_without_a_token_become_the_unknown_token(settings: Json, tmp_path: Path) -> None:
    content = json.dumps(with_unknown(**settings)).encode()
    read = huggingface.parse("t", content)
    assert any(
        "they become id 1, and decoding cannot restore them" in said for said in read.assumptions
    )
    tok, peer = Tokenizer(read.vocabulary), theirs(content)
    vocabulary = tok.vocabulary
    specification = functools.partial(
        encode,
        vocab=vocabulary.tokens,
        merges=vocabulary.merges,
        special_tokens=vocabulary.special_tokens,
        pattern=vocabulary.pattern,
        whole_pretoken_first=vocabulary.whole_pretoken_first,
        unknown=vocabulary.unknown,
    )
    texts = [
        *TEXTS,
        "ZZcatZ satQQ",
        "ZcatZZ<unk>ZZ <s>Z",
        "Ω",
        "Z" * 3000 + "cat" + "Z" * 3000,
        "é" * 900,
    ]
    for text in texts:
        assert tok.encode(text) == peer(text)
        assert tok.encode(text[:500]) == specification(text[:500])
    assert tok.encode_batch(texts) == list(map(peer, texts))
    assert tok.count("ZZcat") == len(peer("ZZcat"))
    assert tok.decode(tok.encode("the cats")) == "the cats"
    assert (
        _persistence.vocabulary_of(_persistence.artifact_bytes(vocabulary), "again.json")
        == vocabulary
    )
    tok.to_huggingface(tmp_path / "tokenizer.json")
    assert Tokenizer.load(tmp_path / "tokenizer.json") == tok
    assert replace(vocabulary, unknown=None).fingerprint != vocabulary.fingerprint
    with pytest.raises(ValueError, match=r"unknown bytes|every whole pretoken"):
        tok.to_gpt2(tmp_path / "a", tmp_path / "b")
    with pytest.raises(ValueError, match=r"unknown bytes|every whole pretoken"):
        tok.to_tiktoken(tmp_path / "a")
    assert tok.encode_with_offsets("Z") == (tok.encode("Z"), [(0, 1)])
    real = tokenizers.Tokenizer.from_str(content.decode())
    fast = accelerate(real)
    for made, expected in zip(fast.encode_batch(texts), real.encode_batch(texts), strict=True):
        assert (made.ids, made.tokens, made.offsets) == (
            expected.ids,
            expected.tokens,
            expected.offsets,
        )
    for text in ("the cat", "the Zcat"):
        assert fast.encode(text).offsets == real.encode(text).offsets


def test_an_unknown_token_that_would_be_merged_is_refused() -> None:
    document = with_unknown()
    document["model"]["vocab"]["<unk>a"] = 9000
    document["model"]["merges"].append(["<unk>", "a"])
    with pytest.raises(ValueError, match=r"model\.unk_token is '<unk>', which is a part of merges"):
        huggingface.parse("t", json.dumps(document).encode())


def test_an_unknown_token_that_no_text_becomes_is_left_out() -> None:
    document = with_unknown()
    document["model"]["vocab"].update(
        {to_printable(bytes([byte])): 8000 + byte for byte in range(256)}
        | document["model"]["vocab"]
    )
    assert huggingface.parse("t", json.dumps(document).encode()).vocabulary.unknown is None


@pytest.mark.parametrize("seed", range(60))
def test_merges_in_any_order_give_the_ids_that_tokenizers_gives(seed: int) -> None:
    rng = random.Random(seed)
    letters = "ab" if seed % 2 else "abc"
    tokens = list(letters)
    for _ in range(rng.randint(3, 25)):
        token = rng.choice(tokens) + rng.choice(tokens)
        if token not in tokens and len(token) <= 12:
            tokens.append(token)
    pairs = [[token[:cut], token[cut:]] for token in tokens for cut in range(1, len(token))]
    merges = [pair for pair in pairs if all(part in tokens for part in pair)]
    rng.shuffle(merges)
    document = json.loads(base_file())
    document["model"]["merges"] = merges if seed % 3 else [" ".join(pair) for pair in merges]
    document["model"]["ignore_merges"] = seed % 5 == 0
    vocab = document["model"]["vocab"]
    vocab.update({token: 1000 + place for place, token in enumerate(tokens) if token not in vocab})
    content = json.dumps(document).encode()
    tok, peer = ours(content), theirs(content)
    specification = functools.partial(
        encode, whole_pretoken_first=tok.vocabulary.whole_pretoken_first, special_tokens={}
    )
    for length in (1, 2, 3, 5, 8, 13, 30, 70, 150):
        for _ in range(6):
            text = "".join(rng.choices(letters, k=length))
            ids = tok.encode(text)
            assert ids == peer(text)
            assert ids == specification(text, vocab=tok.vocabulary.tokens, merges=tok.merges)


@pytest.mark.parametrize("kind", ["TemplateProcessing", "RobertaProcessing", "BertProcessing"])
def test_another_vocabulary_keeps_the_template_with_its_own_ids(kind: str, tmp_path: Path) -> None:
    corpus = ["the cat sat on the mat, the bat sat on the hat " * 3]
    names = ["<s>", "</s>", "<pad>"]
    trained = Tokenizer.train_from_iterator(corpus, 290, dialect="tiktoken", special_tokens=names)
    path = tmp_path / "tokenizer.json"
    trained.to_huggingface(path)
    real = tokenizers.Tokenizer.from_file(str(path))
    first, last = (("<s>", trained.special_tokens["<s>"]), ("</s>", trained.special_tokens["</s>"]))
    if kind == "TemplateProcessing":
        template = tokenizers.processors.TemplateProcessing(
            "<s> $A </s>", "<s> $A </s> $B", [first, last]
        )
        level = tokenizers.processors.ByteLevel(trim_offsets=False)
        real.post_processor = tokenizers.processors.Sequence([level, template])
    else:
        real.post_processor = getattr(tokenizers.processors, kind)(last, first)
    real.enable_padding(pad_id=trained.special_tokens["<pad>"], pad_token="<pad>", length=20)
    real.enable_truncation(16)
    real.save(str(path))
    loaded = Tokenizer.load(path)
    for changed in (
        loaded.truncate(275),
        loaded.extend(["a black cat"], 4),
        loaded.truncate(275).truncate(270),
    ):
        changed.to_huggingface(tmp_path / "changed.json", overwrite=True)
        theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "changed.json"))
        specials = changed.special_tokens
        body = [
            specials["<s>"],
            *changed.encode("the cat", add_special_tokens=False),
            specials["</s>"],
        ]
        expected = body + [specials["<pad>"]] * (20 - len(body))
        assert (
            theirs.encode("the cat").ids
            == changed.as_huggingface().encode("the cat").ids
            == expected
        )
        assert len(theirs.encode("the cat " * 9).overflowing) > 0
        assert changed.assumptions == loaded.assumptions


@pytest.mark.parametrize("is_list", [False, True])
@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize("indent", [None, 2])
def test_merges_that_are_cut_out_are_those_of_the_whole_file(
    is_list: bool, ascii_only: bool, indent: int | None, tmp_path: Path
) -> None:
    path = tmp_path / "tokenizer.json"
    Tokenizer.train_from_iterator(['é "the" \\cat\\ ' * 9], 280).to_huggingface(path)
    document = json.loads(path.read_bytes())
    texts = [
        merge if isinstance(merge, str) else " ".join(merge)
        for merge in document["model"]["merges"]
    ]
    document["model"]["merges"] = [text.split(" ") for text in texts] if is_list else texts
    content = json.dumps(document, ensure_ascii=ascii_only, indent=indent).encode()
    rest = parse_with_lists(path, content, "a tokenizer.json")
    assert rest["model"]["merges"] == "\n".join(texts).encode().replace(b" ", b"\xfe").replace(
        b"\n", b"\xff"
    )
    assert rest["model"]["vocab"] == document["model"]["vocab"]
    whole = huggingface.parse_document(document)
    assert huggingface.parse_document(rest).vocabulary == whole.vocabulary
    assert huggingface.parse(path, content).vocabulary == whole.vocabulary


@pytest.mark.parametrize(
    "content",
    [
        b'{"merges": ["a b"], "model": {"vocab": {}, "merges": ["a c"]}}',
        b'{"model": {"vocab": {}, "merges": ["a b"]}, "model": {"vocab": {}, "merges": []}}',
        b'{"model": {"vocab": {}, "merges": ["a b"], "merges": ["a b"]}}',
        b'{"model": {"vocab": {}, "merges": ["a b"], "vocab": {}}}',
        b'{"model": {"vocab": {"a": 1, "a": 2}, "merges": []}}',
        b'{"model": {"vocab": {"a": 1, "\\u0061": 2}, "merges": []}}',
        b'{"model": {"vocab": {"a": 1.0}, "merges": []}}',
        b'{"model": {"vocab": {"a": -1}, "merges": []}}',
        b'{"model": {"vocab": {"\\ud800": 1}, "merges": []}}',
        b'{"model": {"vocab": {}, "merges": ["a b"]}',
        b'{"model": {"vocab": {}, "merges": ["a \xff"]}}',
        b'{"model": {"vocab": {"\xe2": 0, "\x96\x81": 1}, "merges": []}}',
        b'{"model": {"vocab": {}, "merges": ["a b", 1]}}',
        b'{"model": {"vocab": {}, "merges": {"a": "b"}}}',
        b'{"merges": ["a b"]}',
        b'{"model": "merges"}',
    ],
)
def test_what_is_not_simply_a_vocabulary_with_merges_is_read_as_a_whole(content: bytes) -> None:
    assert outcome_of(parse_with_lists, content) == outcome_of(parse_object, content)


def outcome_of(read: Any, content: bytes) -> object:
    try:
        return read("tokenizer.json", content, "a tokenizer.json")
    except ValueError as refused:
        return str(refused)
