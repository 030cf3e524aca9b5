"""The one door: a tokenizer is recognised by what it holds; what cannot be read is refused by its name."""

import base64
import contextlib
import gzip
import hashlib
import importlib
import inspect
import json
import os
import pickle
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import tiktoken
import tokenizers
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer, _engine, _persistence
from bpetite.formats import gguf, huggingface
from bpetite.formats import tiktoken as ranks_files
from bpetite.formats.shared import peers
from bpetite.formats.shared.difficult import DIFFICULT_TEXTS
from bpetite.formats.shared.printable import to_printable
from bpetite.formats.shared.published import PUBLISHED, Published
from bpetite.patterns import PATTERNS

CORPUS = "\n".join(DIFFICULT_TEXTS) * 2
END = "<|endoftext|>"


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return Tokenizer.train_from_iterator([CORPUS], 400, dialect="tiktoken", pattern="o200k")


@pytest.fixture(scope="module")
def gpt2_like() -> Tokenizer:
    return Tokenizer.train_from_iterator([CORPUS], 400, dialect="tiktoken")


def lines_of(tok: Tokenizer) -> bytes:
    return ranks_files.to_bytes(tok.vocabulary)


def check_same(loaded: Tokenizer, tok: Tokenizer) -> None:
    assert loaded.fingerprint == tok.fingerprint
    for text in [*DIFFICULT_TEXTS, f"a{END}b"]:
        assert loaded.encode(text) == tok.encode(text)


def test_a_pattern_may_be_given_as_the_engine_of_the_file_reads_it(tmp_path: Path) -> None:
    pattern = r"(?:(?!b)[a-z])+|(?s:.)"
    tok = Tokenizer.train_from_iterator(["cab abc " * 9], 262, pattern=pattern, special_tokens=[])
    tok.to_tiktoken(tmp_path / "ranks.tiktoken")
    for written in (r"[a-z&&[^b]]+|(?s:.)", r"[a-z--b]+|(?s:.)", tok.pattern):
        loaded = Tokenizer.load(tmp_path / "ranks.tiktoken", pattern=written)
        assert loaded.encode("cab abc bb-") == tok.encode("cab abc bb-")
        again = Tokenizer.load(tmp_path / "ranks.tiktoken", pattern=loaded.pattern)
        assert _engine.same_pattern(str(again.pattern), str(loaded.pattern))
    tok.save(tmp_path / "artifact.json")
    assert Tokenizer.load(tmp_path / "artifact.json", pattern=r"[a-z&&[^b]]+|(?s:.)") == tok
    with pytest.raises(ValueError, match="its pattern is"):
        Tokenizer.load(tmp_path / "artifact.json", pattern="[a-z]+")


# Files of every kind
# ---------------------------------------------------------------------------------------


def test_an_artifact_and_a_tokenizer_json_are_told_by_their_keys(
    tok: Tokenizer, tmp_path: Path
) -> None:
    tok.save(tmp_path / "a")
    tok.to_huggingface(tmp_path / "b")
    assert (tmp_path / "b").is_file()
    check_same(Tokenizer.load(tmp_path / "a"), tok)
    check_same(Tokenizer.load(tmp_path / "b"), tok)
    check_same(Tokenizer.load(str(tmp_path / "b"), pattern="o200k", special_tokens=[END]), tok)
    assert Tokenizer.load(tmp_path / "a").assumptions == ()
    with pytest.raises(ValueError, match=r"b: its pattern is .*, not cl100k"):
        Tokenizer.load(tmp_path / "b", pattern="cl100k")
    with pytest.raises(ValueError, match="'<x>' is not a special token there"):
        Tokenizer.load(tmp_path / "b", special_tokens=["<x>"])
    with pytest.raises(ValueError, match="has id 399 there, not 7"):
        Tokenizer.load(tmp_path / "b", special_tokens={END: 7})


def test_ranks_need_what_they_do_not_hold(tok: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "ranks").write_bytes(lines_of(tok))
    with pytest.raises(ValueError, match=r"does not hold its pattern; give it as pattern$"):
        Tokenizer.load(tmp_path / "ranks")
    loaded = Tokenizer.load(tmp_path / "ranks", pattern="o200k", special_tokens=tok.special_tokens)
    check_same(loaded, tok)


def test_published_ranks_bring_their_pattern_and_special_tokens(
    tok: Tokenizer, tmp_path: Path
) -> None:
    content = lines_of(tok)
    known = {
        hashlib.sha256(content).hexdigest(): Published(
            "ours", PATTERNS["o200k"], tok.special_tokens
        )
    }
    (tmp_path / "ranks").write_bytes(content)
    with mock.patch.object(ranks_files, "PUBLISHED", known):
        loaded = Tokenizer.load(tmp_path / "ranks")
    check_same(loaded, tok)
    assert loaded.assumptions[0].startswith(
        "this is the file of ours, which is known to have the pattern o200k"
    )
    (tmp_path / "lines").write_bytes(content.replace(b"\n", b"\r\n"))
    ours = Published("ours", PATTERNS["o200k"], tok.special_tokens, "NFC")
    with mock.patch.object(ranks_files, "PUBLISHED", dict.fromkeys(known, ours)):
        loaded = Tokenizer.load(tmp_path / "lines")
    assert loaded.assumptions[0].endswith(" and the normalization NFC")
    assert loaded.encode("e\u0301 cat") == tok.encode("\u00e9 cat") != tok.encode("e\u0301 cat")
    assert loaded.encode("the cat") == tok.encode("the cat")
    assert loaded._original is not None
    found = peers.peer_of(loaded._original, loaded.vocabulary)
    assert found is not None
    peer = found.encode
    assert [peer(text) for text in DIFFICULT_TEXTS] == [
        loaded.encode(text) for text in DIFFICULT_TEXTS
    ]
    loaded.save_original(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "lines").read_bytes()


def test_hashes_are_those_that_tiktoken_expects() -> None:
    theirs = importlib.import_module("tiktoken_ext.openai_public")

    source = inspect.getsource(theirs)
    for name in ("r50k_base", "p50k_base", "cl100k_base", "o200k_base"):
        (sha256,) = [key for key, value in PUBLISHED.items() if value.name == name]
        assert sha256 in source
        published = PUBLISHED[sha256]
        with mock.patch.object(theirs, "load_tiktoken_bpe", return_value={}):
            encoding = getattr(theirs, name)()
        assert published.special_tokens == encoding["special_tokens"]
        whole, part = (
            tiktoken.Encoding(
                "e",
                pat_str=pattern,
                mergeable_ranks={bytes([byte]): byte for byte in range(256)},
                special_tokens={},
            )._encode_only_native_bpe
            for pattern in (encoding["pat_str"], published.pattern)
        )
        assert [whole(text) for text in DIFFICULT_TEXTS] == [part(text) for text in DIFFICULT_TEXTS]


def tekken_json(tok: Tokenizer, **changes: Any) -> dict[str, Any]:
    tokens = [*tok.vocabulary.tokens.values(), b"past the size"]
    vocab = [
        {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
        for rank, token in enumerate(tokens)
    ]
    config = {
        "pattern": PATTERNS["o200k"],
        "num_vocab_tokens": len(vocab),
        "default_vocab_size": len(tokens) - 1 + 30,
        "default_num_special_tokens": 30,
        "version": "v3",
    }
    return {"config": config, "vocab": vocab, **changes}


def test_tekken_json_is_read_with_its_ids(tok: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps(tekken_json(tok)))
    loaded = Tokenizer.load(path)
    assert loaded.vocab_size == tok.mergeable_vocab_size + 30
    for text in DIFFICULT_TEXTS:
        assert loaded.encode_ordinary(text) == [
            token_id + 30 for token_id in tok.encode_ordinary(text)
        ]
    assert loaded.special_tokens["<s>"] == 1
    assert loaded.special_tokens["<SPECIAL_29>"] == 29
    encode = partial(loaded.encode, add_special_tokens=False)
    found = peers.compared_with(loaded._original, loaded.vocabulary, encode, "the file")
    assert (found and found.library, found and found.texts > 33) == ("tiktoken", True)
    listed = [{"rank": 2, "token_str": "<new>", "is_control": True}]
    path.write_text(json.dumps(tekken_json(tok, special_tokens=listed)))
    named = Tokenizer.load(path).special_tokens
    assert (named["<new>"], named["<SPECIAL_3>"]) == (2, 3)


TEKKEN_BROKEN: list[tuple[str, Callable[[dict[str, Any]], object]]] = [
    ("config must be an object", lambda d: d.update(config=[])),
    (
        "default_num_special_tokens must be a number",
        lambda d: d["config"].update(default_num_special_tokens=-1),
    ),
    (
        "default_vocab_size must be a number",
        lambda d: d["config"].update(default_vocab_size=10**40),
    ),
    ("asks for .* but vocab has", lambda d: d["config"].update(default_vocab_size=10**6)),
    ("config.pattern must be a string", lambda d: d["config"].update(pattern=None)),
    ("vocab must be a list", lambda d: d.update(vocab={})),
    (r"vocab\[3\] must be an object with rank 3", lambda d: d["vocab"][3].update(rank=4)),
    (r"vocab\[3\] must be an object with rank 3", lambda d: d["vocab"][3].update(rank=True)),
    (r"vocab\[3\].token_bytes: 'A' is not", lambda d: d["vocab"][3].update(token_bytes="A")),
    (r"vocab\[3\].token_bytes: '' is not", lambda d: d["vocab"][3].update(token_bytes="")),
    (r"vocab\[3\].token_bytes: 5 is not", lambda d: d["vocab"][3].update(token_bytes=5)),
    (r"vocab\[3\].token_bytes: 'é' is not", lambda d: d["vocab"][3].update(token_bytes="é")),
    ("appears twice", lambda d: d["vocab"][3].update(token_bytes="AA==")),
    ("special_tokens must be a list", lambda d: d.update(special_tokens={})),
    (r"special_tokens\[0\] must have a rank", lambda d: d.update(special_tokens=[5])),
    (
        r"special_tokens\[0\] must have",
        lambda d: d.update(special_tokens=[{"rank": 30, "token_str": "a"}]),
    ),
    (
        "a text appears twice",
        lambda d: d.update(special_tokens=[{"rank": 1, "token_str": "<SPECIAL_2>"}]),
    ),
]


@pytest.mark.parametrize(("message", "change"), TEKKEN_BROKEN)
def test_a_broken_tekken_json_is_refused(
    tok: Tokenizer, tmp_path: Path, message: str, change: Callable[[dict[str, Any]], object]
) -> None:
    document = json.loads(json.dumps(tekken_json(tok)))
    change(document)
    (tmp_path / "tekken.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match=message) as refused:
        Tokenizer.load(tmp_path / "tekken.json")
    assert str(refused.value).startswith(str(tmp_path))
    assert len(str(refused.value)) < 500


# GGUF
# ------------------------------------------------------------------------------------------------------


def text_value(text: str | bytes) -> bytes:
    encoded = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(encoded)) + encoded


def string_field(key: str, text: str) -> bytes:
    return text_value(key) + struct.pack("<I", 8) + text_value(text)


def strings_field(key: str, texts: list[str]) -> bytes:
    return (
        text_value(key) + struct.pack("<IIQ", 9, 8, len(texts)) + b"".join(map(text_value, texts))
    )


def numbers_field(key: str, numbers: list[int]) -> bytes:
    return text_value(key) + struct.pack(f"<IIQ{len(numbers)}i", 9, 5, len(numbers), *numbers)


def gguf_file(fields: list[bytes], version: int = 3, tensors: int = 0) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, len(fields)) + b"".join(fields)


def gguf_fields(tok: Tokenizer, pre: str = "gpt-4o") -> dict[str, bytes]:
    vocabulary = tok.vocabulary
    texts = [to_printable(token) for token in vocabulary.tokens.values()]
    merges = [
        f"{to_printable(vocabulary.tokens[left])} {to_printable(vocabulary.tokens[right])}"
        for left, right in vocabulary.merges
    ]
    kinds = [1] * len(texts) + [3, 4, 5]
    return {
        "arch": string_field("general.architecture", "gpt"),
        "count": text_value("gpt.block_count") + struct.pack("<II", 4, 7),
        "model": string_field("tokenizer.ggml.model", "gpt2"),
        "pre": string_field("tokenizer.ggml.pre", pre),
        "tokens": strings_field("tokenizer.ggml.tokens", [*texts, END, "<word>", "[PAD1]"]),
        "kinds": numbers_field("tokenizer.ggml.token_type", kinds),
        "merges": strings_field("tokenizer.ggml.merges", merges),
        "scores": text_value("other") + struct.pack("<IIQ2f", 9, 6, 2, 1.0, 2.0),
    }


def test_gguf_is_read_with_the_pattern_that_it_names(tok: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf_file([*gguf_fields(tok).values()]) + b"\0" * 5000)
    loaded = Tokenizer.load(path)
    assert loaded.pattern == PATTERNS["o200k"]
    assert loaded.special_tokens == {END: 399, "<word>": 400}
    assert loaded.vocabulary.added_tokens == {"<word>"}
    assert loaded.decode([401]) == "[PAD1]"
    for text in [*DIFFICULT_TEXTS, f"a{END}b"]:
        assert loaded.encode(text) == tok.encode(text)
    assert "'gpt-4o'" in loaded.assumptions[0]
    path.write_bytes(gguf_file([*gguf_fields(tok, "of tomorrow").values()]))
    with pytest.raises(
        ValueError, match="the pattern called 'of tomorrow' is not known; give the pattern"
    ):
        Tokenizer.load(path)
    assert Tokenizer.load(path, pattern="o200k").encode(CORPUS) == tok.encode(CORPUS)


def test_every_pattern_of_gguf_can_be_scanned() -> None:
    for pattern in set(gguf._PATTERNS.values()):
        Tokenizer.train_from_iterator([CORPUS], 260, pattern=pattern)


def test_a_pattern_of_gguf_cuts_as_that_of_its_model() -> None:
    pieces = [b"It's", b" ", b"123", b"4", b" a"]
    assert _engine.pretokenize("It's 1234 a", gguf._PATTERNS["granite-embed-multi-97m"]) == pieces


@pytest.mark.parametrize("model", ["bert", "t5", "rwkv", "x"])
def test_other_tokenizers_in_gguf_are_refused_by_name(
    tok: Tokenizer, tmp_path: Path, model: str
) -> None:
    fields = gguf_fields(tok) | {"model": string_field("tokenizer.ggml.model", model)}
    (tmp_path / "model.gguf").write_bytes(gguf_file([*fields.values()]))
    with pytest.raises(ValueError, match=f"of kind '{model}', which cannot be read"):
        Tokenizer.load(tmp_path / "model.gguf")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"pre": b""}, "cut off"),
        (
            {"pre": string_field("tokenizer.ggml.other", "x")},
            r"tokenizer\.ggml\.pre is missing, so the file does not say its pattern; give the pattern",
        ),
        ({"kinds": numbers_field("tokenizer.ggml.token_type", [1])}, "token_type has 1 values for"),
        ({"kinds": b""}, "token_type must be an array of integers|cut off"),
        (
            {"tokens": numbers_field("tokenizer.ggml.tokens", [1])},
            "tokens must be an array of strings",
        ),
        (
            {"merges": strings_field("tokenizer.ggml.merges", ["a b c"])},
            r"merges\[0\]: 'a b c' is not a pair",
        ),
        ({"merges": strings_field("tokenizer.ggml.merges", ["a qqq"])}, "which is not a token"),
        ({"arch": string_field("tokenizer.ggml.pre", "x")}, "'tokenizer.ggml.pre' appears twice"),
        ({"arch": text_value(b"\xff\xfe") + struct.pack("<IB", 0, 1)}, "not valid UTF-8 at byte"),
        ({"arch": text_value("a") + struct.pack("<I", 77)}, "a value of kind 77 cannot be read"),
        (
            {"arch": text_value("a") + struct.pack("<IIQ", 9, 9, 2**60)},
            "an array of kind 9 cannot be read",
        ),
        (
            {"arch": text_value("a") + struct.pack("<IIQ", 9, 8, 2**60)},
            "1152921504606846976 items cannot follow",
        ),
        (
            {"arch": text_value("a") + struct.pack("<IIQ", 9, 10, 2**24)},
            "16777216 items cannot follow",
        ),
        (
            {"arch": text_value("a") + struct.pack("<IQ", 8, 2**63)},
            "9223372036854775808 more bytes are needed",
        ),
        ({"arch": struct.pack("<Q", 2**63)}, "9223372036854775808 more bytes are needed"),
    ],
)
def test_a_broken_gguf_is_refused(
    tok: Tokenizer, tmp_path: Path, changed: dict[str, bytes], message: str
) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf_file([*(gguf_fields(tok) | changed).values()]))
    with pytest.raises(ValueError, match=message) as refused:
        Tokenizer.load(path)
    assert str(refused.value).startswith(str(path))


def test_a_gguf_that_is_cut_off_anywhere_is_refused(tok: Tokenizer, tmp_path: Path) -> None:
    whole = gguf_file([*gguf_fields(tok).values()])
    path = tmp_path / "model.gguf"
    for length in [*range(4, 120), *range(120, len(whole), 997), len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="cut off"):
            Tokenizer.load(path)
    path.write_bytes(gguf_file([], version=1))
    with pytest.raises(ValueError, match="version 1 cannot be read"):
        Tokenizer.load(path)


SMALL_GGUF = gguf_file([*gguf_fields(Tokenizer.train("ab ab", 257)).values()])


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(4, len(SMALL_GGUF) - 1), st.integers(0, 255)), min_size=1, max_size=3
    )
)
def test_a_gguf_with_changed_bytes_is_read_or_refused(changes: list[tuple[int, int]]) -> None:
    content = bytearray(SMALL_GGUF)
    for place, value in changes:
        content[place] = value
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.gguf"
        path.write_bytes(content)
        try:
            Tokenizer.load(path)
        except (ValueError, KeyError) as refused:
            assert "model.gguf" in str(refused)  # noqa: PT017  # what is wanted is a tokenizer or this


# Folders
# ---------------------------------------------------------------------------------------------------


def test_the_more_specific_file_of_a_folder_is_read_and_it_is_said(
    tok: Tokenizer, tmp_path: Path
) -> None:
    other = Tokenizer.train_from_iterator(["zz zz zz"], 257)
    other.to_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt")
    (tmp_path / "tokenizer_config.json").write_text('{"model_max_length": 512}')
    assert Tokenizer.load(tmp_path).fingerprint == other.fingerprint
    tok.to_huggingface(tmp_path / "tokenizer.json")
    loaded = Tokenizer.load(tmp_path)
    check_same(loaded, tok)
    assert (
        loaded.assumptions[0] == "of the folder, tokenizer.json is read, not vocab.json, merges.txt"
    )


def test_a_folder_with_only_a_tokenizer_json_is_read(tok: Tokenizer, tmp_path: Path) -> None:
    tok.to_huggingface(tmp_path / "tokenizer.json")
    check_same(Tokenizer.load(str(tmp_path) + "/"), tok)


def test_convert_checks_the_files_that_it_read(tok: Tokenizer, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    Tokenizer.train_from_iterator(["zz zz"], 257).to_gpt2(
        folder / "vocab.json", folder / "merges.txt"
    )
    tok.to_huggingface(folder / "tokenizer.json")
    command = [
        sys.executable,
        "-m",
        "bpetite",
        "convert",
        str(folder),
        str(tmp_path / "t.json"),
        "--check",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    summary = json.loads(done.stdout)
    assert (summary["from"], summary["checked_with"]) == ("huggingface", ["tokenizers"])
    assert summary["fingerprint"] == tok.fingerprint
    assert "tokenizer.json is read, not vocab.json" in done.stderr


def test_convert_checks_ranks(tok: Tokenizer, tmp_path: Path) -> None:
    tok.to_tiktoken(tmp_path / "ranks")
    given = ["--pattern", "o200k", "--special-token", f"{END}={tok.special_tokens[END]}"]
    command = [
        sys.executable,
        "-m",
        "bpetite",
        "convert",
        str(tmp_path / "ranks"),
        str(tmp_path / "t.json"),
    ]
    done = subprocess.run([*command, *given, "--check"], capture_output=True, text=True, check=True)
    summary = json.loads(done.stdout)
    assert (summary["checked_with"], summary["fingerprint"]) == (["tiktoken"], tok.fingerprint)


def test_merges_need_no_line_of_a_version(gpt2_like: Tokenizer, tmp_path: Path) -> None:
    gpt2_like.to_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt")
    lines = (tmp_path / "merges.txt").read_text("utf-8").splitlines(keepends=True)
    assert lines[0].startswith("#version")
    (tmp_path / "merges.txt").write_text("".join(lines[1:]), encoding="utf-8")
    check_same(Tokenizer.load(tmp_path / "merges.txt"), gpt2_like)


def test_gpt2s_files_have_other_names_too(gpt2_like: Tokenizer, tmp_path: Path) -> None:
    gpt2_like.to_gpt2(tmp_path / "encoder.json", tmp_path / "vocab.bpe")
    for path in (tmp_path, tmp_path / "encoder.json", tmp_path / "vocab.bpe"):
        check_same(Tokenizer.load(path), gpt2_like)


def test_files_of_another_model_are_not_taken_for_gpt2s(
    gpt2_like: Tokenizer, tmp_path: Path
) -> None:
    gpt2_like.to_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt")
    config: dict[str, Any] = {"tokenizer_class": "NougatTokenizer"}
    config["added_tokens_decoder"] = {"399": {"content": END}, "400": {"content": "<|im_start|>"}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=r"of a NougatTokenizer, whose pattern vocab\.json"):
        Tokenizer.load(tmp_path)
    given = Tokenizer.load(tmp_path, pattern="cl100k")
    assert given.pattern == PATTERNS["cl100k"]
    assert given.special_tokens == {END: 399, "<|im_start|>": 400}
    config["tokenizer_class"] = "GPT2TokenizerFast"
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    assert Tokenizer.load(tmp_path).encode("<|im_start|>") == [400]
    config["added_tokens_decoder"]["500"] = {"content": "<far>"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    assert Tokenizer.load(tmp_path).encode("<far><|im_start|>") == [500, 400]


def test_ranks_in_a_folder_get_the_special_tokens_of_its_configuration(
    tok: Tokenizer, tmp_path: Path
) -> None:
    (tmp_path / "tiktoken.model").write_bytes(lines_of(tok))
    config = {"added_tokens_decoder": {"399": {"content": END}, "450": {"content": "<|im_end|>"}}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    loaded = Tokenizer.load(tmp_path, pattern="o200k")
    assert loaded.special_tokens == {END: 399, "<|im_end|>": 450}
    with pytest.raises(ValueError, match="give the folder"):
        Tokenizer.load(tmp_path / "tokenizer_config.json")


def test_a_folder_without_a_tokenizer_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"none of bpetite.json, tokenizer.json, .* is in this folder"
    ):
        Tokenizer.load(tmp_path)
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).write_bytes(b"GGUF")
    words = r"there are several others, give one of them: a\.gguf, b\.gguf"
    with pytest.raises(FileNotFoundError, match=words):
        Tokenizer.load(tmp_path)


# Live objects
# ----------------------------------------------------------------------------------------------


def test_our_objects_with_the_interfaces_of_other_libraries_are_read(tok: Tokenizer) -> None:
    assert Tokenizer.load(tok.as_tiktoken("mine")) == tok
    check_same(Tokenizer.load(tok.as_huggingface()), tok)


def test_objects_of_other_libraries_are_read(tok: Tokenizer) -> None:
    encoding = tok.to_tiktoken_encoding()
    check_same(Tokenizer.load(encoding), tok)
    peer = tokenizers.Tokenizer.from_str(huggingface.to_bytes(tok.vocabulary).decode())
    check_same(Tokenizer.load(peer), tok)
    fast: Any = transformers.PreTrainedTokenizerFast
    check_same(Tokenizer.load(fast(tokenizer_object=peer)), tok)
    assert Tokenizer.load(tok) is tok
    with pytest.raises(ValueError, match="its pattern is"):
        Tokenizer.load(peer, pattern="cl100k")
    with pytest.raises(TypeError, match="not int"):
        Tokenizer.load(5)


def test_a_model_of_minbpe_is_read(tmp_path: Path) -> None:
    """What minbpe's `save` writes, of its own tokenizers with a pattern and without."""
    for pattern, told in ((PATTERNS["llama3"], False), ("", False), ("[a-z]+", True)):
        lines = ["minbpe v1", pattern, "2", "<|endoftext|> 258", "<a> 300", "97 98", "256 99"]
        (tmp_path / "mine.model").write_text("\n".join(lines) + "\n")
        tok = Tokenizer.load(tmp_path / "mine.model")
        assert tok.encode("abcab abc<a><|endoftext|>") == [257, 256, 32, 257, 300, 258]
        assert tok.pattern == (pattern or PATTERNS["none"])
        assert any("minbpe drops" in assumption for assumption in tok.assumptions) == told
        tok.save(tmp_path / "tok.json", overwrite=True)
        assert Tokenizer.load(tmp_path / "tok.json") == tok


def test_merges_and_ids_are_read_under_other_names(gpt2_like: Tokenizer, tmp_path: Path) -> None:
    gpt2_like.to_gpt2(tmp_path / "en-vocab.json", tmp_path / "en-merges.txt")
    check_same(Tokenizer.load(tmp_path / "en-vocab.json"), gpt2_like)
    check_same(Tokenizer.load(tmp_path / "en-merges.txt"), gpt2_like)
    (tmp_path / "en-vocab.json").rename(tmp_path / "vocab.json")
    merges = (tmp_path / "en-merges.txt").read_bytes()
    for name, content in (("bpe", merges), ("pairs.txt", merges.partition(b"\n")[2])):
        (tmp_path / name).write_bytes(content)
        check_same(Tokenizer.load(tmp_path / name), gpt2_like)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_has_the_limit_of_a_file(
    tok: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tok.save(tmp_path / "tok.json")
    content = (tmp_path / "tok.json").read_bytes()

    def loaded(written: bytes, load: Callable[[Path], object] = Tokenizer.load) -> object:
        os.mkfifo(tmp_path / "pipe")
        writer = threading.Thread(target=write, args=(written,))
        writer.start()
        try:
            return load(tmp_path / "pipe")
        finally:
            writer.join()
            (tmp_path / "pipe").unlink()

    def write(written: bytes) -> None:
        with contextlib.suppress(BrokenPipeError), open(tmp_path / "pipe", "wb") as pipe:
            pipe.write(written)

    assert loaded(content) == tok
    monkeypatch.setattr("bpetite._internal.files.MOST_READ", len(content) - 1)
    for load in (Tokenizer.load, _persistence.load, Tokenizer.from_huggingface):
        with pytest.raises(
            ValueError, match="pipe: it has more bytes than the file of a tokenizer may have"
        ):
            loaded(content, load)
        with pytest.raises(
            ValueError, match=f"it has {len(content)} bytes, but the file of a tokenizer"
        ):
            load(tmp_path / "tok.json")
    with pytest.raises(ValueError, match="which a pipe does not have: pass a file"):
        loaded(b"GGUF" + bytes(2000))


# What cannot be read
# ---------------------------------------------------------------------------------------


KERAS = b'{"class_name": "Tokenizer", "config": {"num_words": null, "word_index": "{}"}}'
CLIP_MERGES = b'"bpe_simple_vocab_16e6.txt#version: 0.2\ni n</w>\n'


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02", "a SentencePiece model of Unigram"),
        (b"[PAD]\n[unused0]\n[UNK]\nthe\n", "a WordPiece vocabulary"),
        (b"1 '\\x00' 1\n2 '\\x01' 1\n", "an RWKV vocabulary"),
        (CLIP_MERGES, "a CLIP vocabulary"),
        (b'bpetite counts\n{"boundaries":[]}', "it is a file of counts; train a tokenizer on it"),
        (pickle.dumps({"merges": []}), "a pickle, as nanochat and rustbpe use it, is not read"),
        (b'{"a": 0, "b": 1}', r"it holds ids, but no merges, and merges\.txt is not next to it"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
            "a Git LFS pointer",
        ),
        (b"\n<!doctype html><html><head>", "a web page"),
        (b'{"model": {"type": "Unigram", "vocab": []}}', "'Unigram'"),
        (b'{"model": {"type": "WordPiece", "vocab": {}}}', "'WordPiece'"),
        (b"#version: 0.2\na b\n", "it holds merges, but no ids"),
        (
            json.dumps({f"t{number}": number for number in range(200)}).encode(),
            "it holds ids, but no merges",
        ),
        (
            gzip.compress(b"YQ== 0", mtime=0),
            "it is compressed by gzip, perhaps a corpus; uncompress it",
        ),
        (b"what is\tthis\r\n", "plain text, perhaps a corpus; a model is an artifact"),
        (b'{"text": "a"}\n{"text": "b"}\n', "it looks like JSON lines, a corpus; a model is"),
        (b"PAR1" + b"x" * 40, "it is a table of Parquet or Arrow"),
        (b"\x28\xb5\x2f\xfd", "it is compressed by zstd"),
        (b"\x93NUMPY\1\0", "it is an array of NumPy, such as ids; a model is"),
        (b"\xff\xff\0\0", "neither text in UTF-8 nor a known format"),
        (b"{what is this", "not valid JSON"),
        (b"{\xff\xff\0\0", "not valid UTF-8 at byte 1"),
        (b"", "it is empty"),
        (b"\xef\xbb\xbf{}", "it begins with a byte-order mark; save it as UTF-8 without one"),
        ("{}".encode("utf-16"), "it begins with a byte-order mark"),
        (b"[1, 2]", "is one JSON object, not a list"),
        (KERAS, "a Tokenizer of Keras, whose tokens are words"),
        (json.dumps(KERAS.decode()).encode(), "a Tokenizer of Keras, whose tokens are words"),
        (
            b"\x1b\0\0\0\0\0\0\0\x05\0\0\0<unk>\0\0\0\0",
            r"a tokenizer\.bin of llama2\.c, which lacks merges",
        ),
        (
            b'{"config": {}, "tokenization": "REMI", "miditok_version": "3.0.3"}',
            "of MidiTok, for music",
        ),
        (b'{"vocab": {"a": 0}, "merges": ["a b"]}', "save them as vocab.json and merges.txt"),
        (
            b'{"vocab": {"0": [97]}, "merges": [[97, 98]]}',
            "merge 0 is 97 and 98, of which one is not",
        ),
        (
            b'{"stoi": {"a": 0}, "itos": {"0": "a"}}',
            "nothing else says .*: its keys are 'itos', 'stoi'; a model",
        ),
        (b"{}", "nothing else says .*: it has no keys; a model"),
        (
            "\u0120 t\nh e\n\u0120t he\n".encode(),
            "it holds merges, but no ids, and vocab.json is not next to it",
        ),
        (b"minbpe v1\n\n", "line 3 must be the number of special tokens"),
        (b"minbpe v1\n\n2\n<a> 256\n", "line 5 must be a special token and its id"),
        (b"minbpe v1\n\n0\n97 98\n97\n", "line 5 must be the two ids of a merge"),
        (b"minbpe v1\n\n0\n97 257\n", "merge 0 uses id 257"),
        (b"minbpe v1\n\n0\n97 99999999999\n", "line 4 must be the two ids of a merge"),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_name(
    tmp_path: Path, content: bytes, words: str
) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ValueError, match=words) as refused:
        Tokenizer.load(tmp_path / "file")
    assert str(refused.value).startswith(str(tmp_path / "file"))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("beginning", "words"),
    [
        (
            struct.pack("<Q", 1 << 20) + b'{"__metadata__":{"format":"pt"},',
            "safetensors are the weights",
        ),
        (b"PK\x03\x04\0\0", r"an archive \(zip\), such as the weights of PyTorch"),
        (b"\x89HDF\r\n\x1a\n\0", "unlike any file of a tokenizer"),
        (b"\0\0\0\0", "unlike any file of a tokenizer"),
        (
            b'{"text": "a line of a corpus"}\n',
            "it has 1099511627776 bytes, but the file of a tokenizer at most",
        ),
        (b"a b\nc d\n" * 200, "unlike any file of a tokenizer"),
        (b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02", "it has 1099511627776 bytes"),
        (b"\x1f\x8b\x08\0", "it is compressed by gzip"),
        (b"IQ== 0\nIg== 1\n" * 200, "it has 1099511627776 bytes"),
    ],
)
def test_what_cannot_be_a_tokenizer_is_refused_before_it_is_read(
    tmp_path: Path, beginning: bytes, words: str
) -> None:
    with (tmp_path / "file").open("wb") as file:
        file.write(beginning)
        file.truncate(1 << 40)  # Nobody has the memory to read it.
    with pytest.raises(ValueError, match=words):
        Tokenizer.load(tmp_path / "file")


def test_a_pickle_is_never_opened(tmp_path: Path) -> None:
    class Harmful:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (tmp_path / "opened",)

    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        (tmp_path / "tokenizer.pkl").write_bytes(pickle.dumps(Harmful(), protocol))
        with pytest.raises(ValueError, match="unpickle it yourself and load the object"):
            Tokenizer.load(tmp_path / "tokenizer.pkl")
    assert not (tmp_path / "opened").exists()


@pytest.mark.parametrize(
    ("there", "lacking"),
    [
        ("vocab.json", "merges.txt"),
        ("merges.txt", "vocab.json"),
        ("encoder.json", "vocab.bpe"),
        ("vocab.bpe", "encoder.json"),
    ],
)
def test_one_of_two_files_is_refused_with_the_name_of_the_other(
    there: str, lacking: str, gpt2_like: Tokenizer, tmp_path: Path
) -> None:
    vocab, merges = (there, lacking) if there.endswith(".json") else (lacking, there)
    gpt2_like.to_gpt2(tmp_path / vocab, tmp_path / merges)
    (tmp_path / lacking).unlink()
    with pytest.raises(
        FileNotFoundError, match=f"none of .*{vocab} and {merges}, .* is in this folder"
    ):
        Tokenizer.load(tmp_path)
    with pytest.raises(ValueError, match=f"{lacking} is not next to it"):
        Tokenizer.load(tmp_path / there)


def test_two_files_of_gpt_1_are_refused_where_nothing_says_so(
    gpt2_like: Tokenizer, tmp_path: Path
) -> None:
    gpt2_like.to_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt")
    vocab = json.loads((tmp_path / "vocab.json").read_text("utf-8"))
    vocab.update({f"{letter}</w>": 500 + place for place, letter in enumerate("aei")})
    (tmp_path / "vocab.json").write_text(json.dumps(vocab))
    with pytest.raises(ValueError, match=r"a CLIP vocabulary.* or .* say OpenAIGPTTokenizer"):
        Tokenizer.load(tmp_path)


# Commands
# --------------------------------------------------------------------------------------------------


def test_commands_take_any_of_these(tok: Tokenizer, tmp_path: Path) -> None:
    tok.save(tmp_path / "o.json")
    (tmp_path / "ranks").write_bytes(lines_of(tok))
    tok.to_huggingface(tmp_path / "tokenizer.json")
    given = ("--pattern", "o200k", "--special-token", f"{END}=399")
    for model in [("o.json",), ("ranks", *given), ("tokenizer.json",), (".",)]:
        command = [
            sys.executable,
            "-m",
            "bpetite",
            "encode",
            "--model",
            *model,
            "--text",
            f"the cat{END}",
        ]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert json.loads(done.stdout) == tok.encode(f"the cat{END}")
        assert done.stderr == ""
    command = [sys.executable, "-m", "bpetite", "convert", "o.json", "out.tiktoken", "--check"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["from"] == "bpetite"
    assert (tmp_path / "out.tiktoken").read_bytes() == lines_of(tok)


def test_tokens_may_have_the_names_of_keys_of_other_formats(tmp_path: Path) -> None:
    tok = Tokenizer.train_from_iterator([CORPUS], 300, dialect="huggingface")
    tok.to_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt")
    vocab = json.loads((tmp_path / "vocab.json").read_bytes())
    names = ("config", "vocab", "schema_version", "pre_tokenizer", "bpe_ranks", "pat_str")
    vocab |= {name: 1000 + place for place, name in enumerate(names)}
    (tmp_path / "vocab.json").write_text(json.dumps(vocab), "utf-8")
    assert Tokenizer.load(tmp_path / "vocab.json").encode(CORPUS) == tok.encode(CORPUS)
