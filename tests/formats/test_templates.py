"""Tokens that a model's library puts around a text: read from every kind of file, added as it adds them."""

import json
import pickle
import struct
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow
import pytest
import tokenizers
import transformers
from tokenizers import processors

from bpetite import Tokenizer
from bpetite._internal.arguments import on_command_line
from bpetite.cli import main
from bpetite.encoding.template import Template
from bpetite.formats import huggingface
from bpetite.vocabulary import Vocabulary
from test_cli import bpetite
from test_folders import ROBERTA, two_files
from test_loading import gguf_fields, gguf_file, tekken_json, text_value
from test_sentencepiece import trained

CORPUS = "the cat sat on the mat, the cat sat on the hat\n" * 3
SPECIALS = ["<s>", "</s>"]
FIRST, LAST = ("<s>", 0), ("</s>", 1)
PROCESSORS = {
    "a first token": processors.TemplateProcessing("<s> $A", "<s> $A $B", [FIRST]),
    "a last token": processors.TemplateProcessing("$A </s>", "$A $B", [LAST]),
    "several": processors.TemplateProcessing("<s> </s> <s> $A </s> </s>", "$A $B", [FIRST, LAST]),
    "RoBERTa's": processors.RobertaProcessing(LAST, FIRST),
    "BERT's": processors.BertProcessing(LAST, FIRST),
    "in a sequence": processors.Sequence(
        [processors.ByteLevel(), processors.TemplateProcessing("<s> $A", "<s> $A $B", [FIRST])]
    ),
    "before another step": processors.Sequence(
        [processors.TemplateProcessing("<s> $A", "<s> $A $B", [FIRST]), processors.ByteLevel()]
    ),
}


def write(folder: Path, processor: Any = None) -> Path:
    """Write a `tokenizer.json` with a post-processor: one of tokenizers, or its JSON."""
    path = folder / "tokenizer.json"
    tok = Tokenizer.train_from_iterator(
        [CORPUS], 290, dialect="huggingface", special_tokens=SPECIALS
    )
    tok.to_huggingface(path, overwrite=True)
    if isinstance(processor, dict):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"post_processor": processor}))
    elif processor is not None:
        real = tokenizers.Tokenizer.from_file(str(path))
        real.post_processor = processor
        real.save(str(path))
    return path


@pytest.fixture
def tok(tmp_path: Path) -> Tokenizer:
    return Tokenizer.load(write(tmp_path, PROCESSORS["RoBERTa's"]))


@pytest.mark.parametrize("name", PROCESSORS)
def test_a_template_is_added_by_every_way_of_encoding_as_tokenizers_adds_it(
    name: str, tmp_path: Path
) -> None:
    path = write(tmp_path, PROCESSORS[name])
    tok, theirs = Tokenizer.load(path), tokenizers.Tokenizer.from_file(str(path))
    texts = ["the cat", "", " <s>the</s> mat", "東京 " * 3000]
    expected = [theirs.encode(text).ids for text in texts]
    counts = list(map(len, expected))
    adds: dict[str, Any] = {"add_special_tokens": True}
    assert [tok.encode(text, **adds) for text in texts] == expected
    assert tok.encode_batch(texts, **adds) == expected
    assert [tok.encode_to_numpy(text, **adds).tolist() for text in texts] == expected
    assert tok.encode_to_numpy("the cat", dtype="uint16", **adds).dtype == np.uint16
    ids, offsets = tok.encode_batch_to_numpy(texts, **adds)
    assert [part.tolist() for part in np.split(ids, offsets[1:-1].astype(int))] == expected
    assert pyarrow.array(tok.encode_column(pyarrow.array(texts), **adds)).to_pylist() == expected
    assert [tok.count(text, **adds) for text in texts] == counts
    assert tok.count_batch(texts, **adds) == counts
    assert [[*token.ids] for text in texts for token in tok.chunks(text, 100_000, **adds)] == [
        row for row, text in zip(expected, texts, strict=True) if text
    ]
    template = tok.template
    assert template is not None
    assert [
        *template.prefix,
        *tok.encode("the cat", add_special_tokens=False),
        *template.suffix,
    ] == (expected[0])
    around = tok.encode("the cat", prepend=1, append="<s>", **adds)
    assert around == [1, *expected[0], 0]
    assert tok.encode_batch(["the cat"], prepend=1, append="<s>", **adds) == [around]
    ids, _ = tok.encode_batch_to_numpy(["the cat"], prepend=1, append="<s>", **adds)
    assert ids.tolist() == around


def test_where_there_is_no_template_nothing_is_added_or_said(tmp_path: Path) -> None:
    for processor in (
        None,
        processors.ByteLevel(),
        processors.TemplateProcessing("$A", "$A $B", []),
    ):
        tok = Tokenizer.load(write(tmp_path, processor))
        assert tok.template is None
        assert tok.encode("the", add_special_tokens=True) == tok.encode("the")
    assert Tokenizer.train("ab", 257).template is None


CALLS = {
    "encode": lambda tok, **how: tok.encode("the", **how),
    "encode_batch": lambda tok, **how: tok.encode_batch(["the"], **how),
    "encode_to_numpy": lambda tok, **how: tok.encode_to_numpy("the", **how),
    "encode_batch_to_numpy": lambda tok, **how: tok.encode_batch_to_numpy(["the"], **how),
    "encode_column": lambda tok, **how: tok.encode_column(pyarrow.array(["the"]), **how),
    "count": lambda tok, **how: tok.count("the", **how),
    "count_batch": lambda tok, **how: tok.count_batch(["the"], **how),
    "fit": lambda tok, **how: tok.fit("the", 5, **how),
    "chunks": lambda tok, **how: list(tok.chunks("the", 5, **how)),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_first_call_that_leaves_a_template_out_says_so_and_no_other(
    name: str, tok: Tokenizer
) -> None:
    call: Any = CALLS[name]
    with warnings.catch_warnings(record=True) as silent:
        warnings.simplefilter("always")
        call(tok, add_special_tokens=False)
        call(tok, add_special_tokens=True)
        tok.encode_ordinary("the")
        tok.show("the")
        tok.is_canonical([100])
    assert not silent
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        call(tok)
        for again in CALLS.values():
            again(tok)  # type: ignore[no-untyped-call]
        pickle.loads(pickle.dumps(tok)).encode("the")
        tok.with_memory("2MiB").encode("the")
    assert len(told) == 1
    assert told[0].filename == __file__
    message = "ids are without the tokens that the model's own library puts around a text (<s> TEXT </s>): "
    assert str(told[0].message).startswith(f"{message}add_special_tokens=True adds them, ")
    assert on_command_line(told[0].message.args[0]) == f"{message}--add-special-tokens adds them"  # type: ignore[union-attr]
    wrong_types: list[Any] = [1, "yes", 0.0, []]
    for wrong in wrong_types:
        with pytest.raises(
            TypeError, match=f"^add_special_tokens must be a bool, not {type(wrong).__name__}$"
        ):
            call(tok, add_special_tokens=wrong)


def test_a_template_is_kept_by_copies_and_by_other_sizes(tok: Tokenizer) -> None:
    with_template = Template((0,), (1,))
    assert tok.template == with_template
    others = [pickle.loads(pickle.dumps(tok)), tok.with_memory("1MiB"), tok.truncate(265)]
    others.append(tok.extend(["the mat is flat"] * 3, 2))
    for other in others:
        assert other.template == with_template
        assert other.encode("the", add_special_tokens=True)[0] == 0


def test_a_template_follows_special_tokens_to_other_ids() -> None:
    tok = Tokenizer.train_from_iterator(
        [CORPUS], 280, dialect="tiktoken", special_tokens=["<a>", "<b>"]
    )
    last = tok.special_tokens["<b>"]
    moved = tok._with_template(Template((last,))).truncate(270)
    assert moved.template == Template((moved.special_tokens["<b>"],)) != Template((last,))


def test_fit_and_chunks_count_the_tokens_of_the_template(tok: Tokenizer) -> None:
    text = CORPUS
    for size in (3, 5, 8, 30):
        fitting = tok.fit(text, size, add_special_tokens=True)
        assert fitting == tok.fit(text, size - 2, add_special_tokens=False)
        assert tok.count(fitting, add_special_tokens=True) <= size
        chunks = list(tok.chunks(text, size, add_special_tokens=True))
        assert "".join(chunk.text for chunk in chunks) == text
        for chunk in chunks:
            assert chunk.ids == tok.encode(chunk.text, add_special_tokens=True)
            assert len(chunk.ids) <= size
    assert tok.fit(text, 2, add_special_tokens=True) == ""
    with pytest.raises(ValueError, match="max_tokens must be an integer of at least 2, not 1"):
        tok.fit(text, 1, add_special_tokens=True)
    with pytest.raises(ValueError, match="size must be an integer of at least 3, not 2"):
        tok.chunks(text, 2, add_special_tokens=True)
    with pytest.raises(
        ValueError, match=r"3 is not less than 3 \(5 without the 2 of the template\)"
    ):
        tok.chunks(text, 5, overlap=3, add_special_tokens=True)


OTHERS: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown kind": ({"type": "Later"}, "does not put tokens around one text"),
    "no kind": ({"type": []}, "does not put tokens around one text"),
    "a list that is none": (
        {"type": "TemplateProcessing", "single": 5},
        "not a template that is known",
    ),
    "no token": ({"type": "BertProcessing", "sep": 1, "cls": 2}, "not a template that is known"),
    "an unknown id": (
        {"type": "BertProcessing", "sep": ["</s>", 1], "cls": ["<s>", 70_000]},
        "puts id 70000 around a text, which no token has",
    ),
    "the text twice": (
        {
            "type": "TemplateProcessing",
            "single": [{"Sequence": {"id": "A", "type_id": 0}}] * 2,
            "special_tokens": {},
        },
        "does not put tokens around one text",
    ),
    "two templates": (
        {
            "type": "Sequence",
            "processors": [{"type": "BertProcessing", "sep": ["</s>", 1], "cls": ["<s>", 0]}] * 2,
        },
        "has several templates",
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_template_that_cannot_be_applied_is_refused_only_where_it_is_asked_for(
    name: str, tmp_path: Path
) -> None:
    processor, reason = OTHERS[name]
    tok = Tokenizer.load(write(tmp_path, processor))
    assert tok.encode("the", add_special_tokens=False) == tok.encode_ordinary("the")
    assert any("add_special_tokens=False" in sentence for sentence in tok.assumptions)
    with pytest.raises(ValueError, match=reason):
        _ = tok.template
    for call in CALLS.values():
        with pytest.raises(ValueError, match=reason):
            call(tok, add_special_tokens=True)  # type: ignore[no-untyped-call]


CLASSES = ["Roberta", "Bart", "Longformer", "LED", "Deberta", "GPT2", "CodeGen", "Blenderbot"]
KEYS: list[dict[str, bool]] = [
    {},
    {"add_bos_token": True},
    {"add_eos_token": True},
    {"add_bos_token": True, "add_eos_token": True},
    {"add_bos_token": False},
]


@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("kind", CLASSES)
def test_a_folder_of_two_files_gives_the_template_of_transformers(
    kind: str, keys: dict[str, bool], tmp_path: Path
) -> None:
    two_files(tmp_path, [*ROBERTA, "[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]", "<|endoftext|>"])
    settings = {"tokenizer_class": f"{kind}Tokenizer", "add_prefix_space": False, **keys}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": kind.lower()}))
    theirs: Any = transformers.AutoTokenizer.from_pretrained(tmp_path)
    tok = Tokenizer.load(tmp_path)
    for text in ("the cat", "", "the mat</s>"):
        assert tok.encode(text, add_special_tokens=True) == theirs.encode(text), text


@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("kind", ["Llama", "CodeLlama", "PreTrained"])
def test_a_folder_of_sentencepiece_gives_the_template_of_transformers(
    kind: str, keys: dict[str, bool], tmp_path: Path
) -> None:
    (tmp_path / "tokenizer.model").write_bytes(trained("llama"))
    named = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    settings = {"tokenizer_class": f"{kind}Tokenizer", **named, **keys}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    theirs: Any = transformers.AutoTokenizer.from_pretrained(tmp_path)
    template = Tokenizer.load(tmp_path).template or Template()
    plain = theirs.encode("the cat", add_special_tokens=False)
    assert theirs.encode("the cat") == template.around(plain)
    (tmp_path / "tokenizer_config.json").unlink()
    (tmp_path / "config.json").unlink()
    assert Tokenizer.load(tmp_path).template is None  # as sentencepiece itself


def test_a_tekken_json_begins_texts_with_its_first_token(tmp_path: Path) -> None:
    tok = Tokenizer.train_from_iterator(
        [CORPUS], 280, dialect="tiktoken", pattern="o200k", special_tokens=[]
    )
    (tmp_path / "tekken.json").write_text(json.dumps(tekken_json(tok)))
    assert Tokenizer.load(tmp_path / "tekken.json").template == Template((1,))


def number_field(key: str, value: int) -> bytes:
    return text_value(key) + struct.pack("<II", 4, value)


def bool_field(key: str, value: bool) -> bytes:
    return text_value(key) + struct.pack("<IB", 7, value)


@pytest.mark.parametrize(
    ("pre", "keys", "template"),
    [
        ("gpt-4o", {}, None),
        ("gpt-4o", {"add_bos_token": True, "add_eos_token": True}, Template((11,), (11,))),
        ("gpt-4o", {"add_bos_token": True, "bos_token_id": 5}, Template((5,))),
        ("gpt-4o", {"add_eos_token": True, "eos_token_id": 6}, Template((), (6,))),
        ("gpt-4o", {"add_bos_token": True, "bos_token_id": 10**6}, None),
        ("llama-bpe", {"bos_token_id": 5}, Template((5,))),
        ("llama-bpe", {"bos_token_id": 5, "add_bos_token": False}, None),
    ],
)
def test_gguf_says_what_llama_cpp_puts_around_a_text(
    pre: str, keys: dict[str, Any], template: Template | None, tmp_path: Path
) -> None:
    tok = Tokenizer.train_from_iterator(
        [CORPUS], 280, dialect="tiktoken", pattern="o200k", special_tokens=[]
    )
    fields = [*gguf_fields(tok, pre).values()]
    for key, value in keys.items():
        make: Any = bool_field if isinstance(value, bool) else number_field
        fields.append(make(f"tokenizer.ggml.{key}", value))
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf_file(fields))
    assert Tokenizer.load(path).template == template


def pair_of_files(folder: Path) -> Path:
    two_files(folder, [*ROBERTA, "[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]", "<|endoftext|>"])
    settings = {"tokenizer_class": "RobertaTokenizer", "add_prefix_space": False}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


def tekken_file(folder: Path) -> Path:
    tok = Tokenizer.train_from_iterator(
        [CORPUS], 280, dialect="tiktoken", pattern="o200k", special_tokens=[]
    )
    path = folder / "tekken.json"
    path.write_text(json.dumps(tekken_json(tok)))
    return path


def gguf_of_pairs(folder: Path) -> Path:
    tok = Tokenizer.train_from_iterator(
        [CORPUS], 280, dialect="tiktoken", pattern="o200k", special_tokens=[]
    )
    fields = [*gguf_fields(tok, "gpt-4o").values()]
    fields += [bool_field(f"tokenizer.ggml.add_{role}_token", True) for role in ("bos", "eos")]
    path = folder / "model.gguf"
    path.write_bytes(gguf_file([*fields, number_field("tokenizer.ggml.eos_token_id", 65)]))
    return path


TEMPLATED: list[Callable[[Path], Path]] = [pair_of_files, tekken_file, gguf_of_pairs]


@pytest.mark.parametrize("make", TEMPLATED)
def test_a_template_is_written_into_a_tokenizer_json(
    make: Callable[[Path], Path], tmp_path: Path
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    tok = Tokenizer.load(make(source))
    assert tok.template is not None
    tok.to_huggingface(tmp_path / "tokenizer.json")
    tok.save_folder(tmp_path / "folder")
    theirs: list[Any] = [
        tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json")),
        tokenizers.Tokenizer.from_file(str(tmp_path / "folder" / "tokenizer.json")),
        tok.as_huggingface(),
    ]
    auto: Any = transformers.AutoTokenizer
    folder = auto.from_pretrained(tmp_path / "folder")
    again = [Tokenizer.load(tmp_path / name) for name in ("tokenizer.json", "folder")]
    for text in ("the cat", "", "a hat \u00e9", "<s>"):
        ids = tok.encode(text, add_special_tokens=True)
        assert all(real.encode(text).ids == ids for real in theirs)
        assert all(same.encode(text, add_special_tokens=True) == ids for same in again)
        assert folder.encode(text) == ids
    plain = [tok.encode(text, add_special_tokens=False) for text in ("the cat", "a hat")]
    pair = theirs[0].encode("the cat", "a hat")
    first, second = (tok.template.around(ids) for ids in plain)
    assert (pair.ids, pair.type_ids) == ([*first, *second], [0] * len(first) + [1] * len(second))
    assert [same.template for same in again] == [tok.template] * 2


@pytest.mark.parametrize(
    ("make", "name", "is_lost"),
    [
        *((make, "tok.json", True) for make in TEMPLATED),
        *((make, "tokenizer.json", False) for make in TEMPLATED),
        *((make, "tok.tiktoken", True) for make in (tekken_file, gguf_of_pairs)),
        (tekken_file, "tekken.json", False),
    ],
)
def test_converting_says_where_a_template_is_lost(
    make: Callable[[Path], Path],
    name: str,
    is_lost: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    with pytest.raises(SystemExit, match="0"):
        main(["convert", str(make(source)), str(tmp_path / name)])
    told = capsys.readouterr().err
    assert ("lost: the template that puts tokens around a text" in told) is is_lost


def test_a_template_of_a_token_that_is_only_decoded_cannot_be_written(tmp_path: Path) -> None:
    vocabulary = Vocabulary(
        {byte: bytes([byte]) for byte in range(256)}, [], decode_only={300: b"x"}
    )
    with pytest.raises(
        ValueError, match="the template puts id 300 around a text, a token that is only dec"
    ):
        huggingface.to_bytes(vocabulary, Template((300,)))


def test_the_command_line_adds_a_template_and_says_where_it_is_left_out(tmp_path: Path) -> None:
    path = write(tmp_path, PROCESSORS["RoBERTa's"])
    ids = Tokenizer.load(path).encode("the cat", add_special_tokens=False)
    (tmp_path / "a.txt").write_text("the cat")
    plain = bpetite("encode", path, "--text", "the cat")
    assert json.loads(plain.stdout) == ids
    said = plain.stderr.decode().splitlines()
    assert [line for line in said if "--add-special-tokens" in line] == [
        f"{path}: note: ids are without the tokens that the model's own library puts around a text "
        "(<s> TEXT </s>): --add-special-tokens adds them"
    ]
    assert bpetite("encode", path, "--text", "the cat", "--quiet").stderr == b""
    added = bpetite("encode", path, "--text", "the cat", "--add-special-tokens")
    assert json.loads(added.stdout) == [0, *ids, 1]
    assert b"add" not in added.stderr
    shown = bpetite("encode", path, "--text", "the cat", "--add-special-tokens", "--show", "--json")
    assert [token["token_id"] for token in json.loads(shown.stdout)] == [0, *ids, 1]
    for more, number in ([], len(ids)), (["--add-special-tokens"], len(ids) + 2):
        counted = bpetite("count-tokens", path, tmp_path / "a.txt", "--json", *more)
        [row] = json.loads(counted.stdout)["sources"].values()
        assert row["tokens"] == number
        assert (b"--add-special-tokens" in counted.stderr) == (not more)


def test_corpora_are_measured_and_encoded_without_a_warning(tok: Tokenizer, tmp_path: Path) -> None:
    from bpetite import corpus

    documents = corpus.Documents(["the cat", "the mat"])
    expected = sum(tok.count_batch(["the cat", "the mat"], add_special_tokens=False))
    [fit] = corpus.stats(tok, documents)
    assert fit.tokens == expected
    assert corpus.compare({"a": tok}, documents)[0]["tokens"] == expected
    corpus.encode(tok, documents, tmp_path / "ids")
    corpus.verify(tmp_path / "ids")
    [counted] = corpus.count_tokens(tok, documents, add_special_tokens=True).values()
    assert counted.tokens == expected + 4
    with pytest.warns(UserWarning, match="add_special_tokens=True"):
        corpus.count_tokens(tok, documents)


def test_documents_of_a_corpus_get_the_template_where_asked(tok: Tokenizer, tmp_path: Path) -> None:
    from bpetite import corpus
    from bpetite.corpus import Options, Reading
    from bpetite.reading import batches

    assert tok.template is not None
    long = "the cat sat on the mat, " * 4000
    texts = ["the cat", "", long, "the mat <s>"]
    (tmp_path / "a.txt").write_text("\x1e".join(texts))
    options = Options(add_special_tokens=True, reading=Reading(separator="\x1e"))
    with mock.patch.object(batches, "BLOCK", 1 << 14):
        manifest = corpus.encode(tok, tmp_path / "a.txt", tmp_path / "ids", options=options)
    ids = np.load(tmp_path / "ids" / "shard-000000.npy")
    offsets = np.load(tmp_path / "ids" / "shard-000000.offsets").astype(int)
    encoded = [ids[start:end].tolist() for start, end in pairwise(offsets)]
    assert encoded == [tok.encode(text, special="text", add_special_tokens=True) for text in texts]
    assert manifest.special_texts == 1
    assert corpus.verify(tmp_path / "ids") == manifest
    assert (
        corpus.encode(tok, tmp_path / "a.txt", tmp_path / "ids", options=options, resume=True)
        == manifest
    )
    without = Options(reading=Reading(separator="\x1e"))
    with pytest.raises(ValueError, match="add_special_tokens changed"):
        corpus.encode(tok, tmp_path / "a.txt", tmp_path / "ids", options=without, resume=True)
    for option in ("prepend_special", "append_special"):
        both = Options(add_special_tokens=True, **{option: "<s>"})  # type: ignore[arg-type] # of a dict
        with pytest.raises(ValueError, match=f"puts tokens there already; leave {option} out"):
            corpus.encode(tok, tmp_path / "a.txt", tmp_path / "no", options=both)
