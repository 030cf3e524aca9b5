"""Folders of models whose tokens stand in files of their own: what transformers finds in a text is found."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import tokenizers
import transformers
from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES

from bpetite import Tokenizer, accelerate
from bpetite.formats.shared.configuration import SHIFTED
from bpetite.formats.shared.difficult import DIFFICULT_TEXTS
from test_sentencepiece import trained

CORPUS = "the cat sat on the mat, the cat ate <s> </s> it's 1234 naïve é 東京\n" * 3
TEXTS = [
    "the cat",
    " the </s> cat<pad>the",
    "the <mask> cat <mask>\n mask",
    "<s>it's</s>  <x> the <y>, <|endoftext|>",
    "[CLS] the [MASK] cat[SEP]",
    "",
]


def two_files(folder: Path, names: list[str]) -> int:
    """Write GPT-2's two files, whose first ids are those of `names`; return the number of ids."""
    plain = Tokenizer.train_from_iterator([CORPUS], 300, dialect="huggingface", special_tokens=[])
    plain.to_gpt2(folder / "plain.json", folder / "merges.txt")
    ids = json.loads((folder / "plain.json").read_text())
    (folder / "plain.json").unlink()
    vocab = {text: number for number, text in enumerate([*names, *ids])}
    (folder / "vocab.json").write_text(json.dumps(vocab), encoding="utf-8")
    return len(vocab)


def token(content: str, **flags: bool) -> dict[str, Any]:
    return {
        "__type": "AddedToken",
        "content": content,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "single_word": False,
        **flags,
    }


ROBERTA = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
FOLDERS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "OPT": (
        ["<s>", "<pad>", "</s>"],
        {
            "config.json": {"model_type": "opt"},
            "tokenizer_config.json": {
                "tokenizer_class": "GPT2Tokenizer",
                "bos_token": token("</s>"),
                "eos_token": token("</s>"),
                "unk_token": token("</s>"),
                "pad_token": token("<pad>"),
            },
        },
    ),
    "BART": (
        ROBERTA,
        {
            "config.json": {"model_type": "bart"},
            "tokenizer_config.json": {"model_max_length": 1024},
        },
    ),
    "RoBERTa": (
        ROBERTA,
        {
            "config.json": {"model_type": "roberta"},
            "tokenizer_config.json": {
                "tokenizer_class": "RobertaTokenizer",
                "add_prefix_space": True,
            },
            "special_tokens_map.json": {"mask_token": token("<mask>", lstrip=True)},
        },
    ),
    "DeBERTa": (
        ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"],
        {
            "config.json": {"model_type": "deberta"},
            "tokenizer_config.json": {"do_lower_case": False},
        },
    ),
    "DialoGPT": (
        ["<|endoftext|>"],
        {
            "config.json": {"model_type": "gpt2"},
            "tokenizer_config.json": {"model_max_length": 1024},
        },
    ),
    "added": (
        ["<|endoftext|>"],
        {
            "tokenizer_config.json": {"tokenizer_class": "GPT2Tokenizer"},
            "added_tokens.json": {"<x>": -2, "<y>": -1},
            "special_tokens_map.json": {"additional_special_tokens": ["<x>"]},
        },
    ),
    "added_tokens_decoder": (
        ["<|endoftext|>"],
        {
            "tokenizer_config.json": {
                "tokenizer_class": "GPT2TokenizerFast",
                "added_tokens_decoder": {
                    "0": {**token("<|endoftext|>"), "special": True},
                    "-1": {**token("<y>", rstrip=True), "special": False},
                },
            },
            "added_tokens.json": {"<x>": 3},
        },
    ),
    "without an id": (
        ["<|endoftext|>"],
        {"tokenizer_config.json": {"tokenizer_class": "GPT2Tokenizer", "pad_token": "<pad>"}},
    ),
}


def taking_space(mask: str) -> dict[str, Any]:
    """The mask token as transformers 4 has it where only the kind of tokenizer names it."""
    return {"mask_token": tokenizers.AddedToken(mask, lstrip=True, normalized=False, special=True)}


QWEN2: dict[str, dict[str, Any]] = {
    "by its class": {"tokenizer_config.json": {"tokenizer_class": "Qwen2TokenizerFast"}},
    "by its model": {"config.json": {"model_type": "qwen2"}},
    "added tokens": {
        "tokenizer_config.json": {
            "tokenizer_class": "Qwen2Tokenizer",
            "add_prefix_space": False,
            "eos_token": "<x>",
            "pad_token": None,
            "added_tokens_decoder": {
                "-2": {**token("<x>"), "special": True},
                "-1": {**token("<y>", normalized=True), "special": False},
            },
        },
    },
}


@pytest.mark.parametrize("name", QWEN2)
def test_two_files_of_qwen2_give_the_ids_that_transformers_gives(name: str, tmp_path: Path) -> None:
    write_folder(tmp_path, two_files(tmp_path, []), QWEN2[name])
    theirs: Any = transformers.AutoTokenizer.from_pretrained(tmp_path)
    backend = theirs.backend_tokenizer
    ours = Tokenizer.load(tmp_path)
    for text in [
        *TEXTS,
        *DIFFICULT_TEXTS,
        "cafe\u0301 <y>\u0338 <x>\u0338 12345 IT'S \r\n\r\n \u212b",
    ]:
        expected = backend.encode(text, add_special_tokens=False)
        assert ours.encode_with_offsets(text) == (expected.ids, expected.offsets), text
        assert ours.encode(text, add_special_tokens=True) == theirs.encode(text), text
        decoded = backend.decode(expected.ids, skip_special_tokens=False)
        assert ours.decode(expected.ids, errors="replace") == decoded
    assert any("as Qwen2Tokenizer of transformers does" in said for said in ours.assumptions)
    assert Tokenizer.load(tmp_path, pattern="qwen2") == ours
    with pytest.raises(ValueError, match=r"its pattern is .*, not "):
        Tokenizer.load(tmp_path, pattern="cl100k")
    ours.save_original(tmp_path / "copy/")
    assert Tokenizer.load(tmp_path / "copy") == ours


def test_qwen2_is_known_by_the_types_of_its_models(tmp_path: Path) -> None:
    two_files(tmp_path, [])
    names = {"Qwen2Tokenizer", "Qwen2TokenizerFast"}
    types = [name for name, kind in TOKENIZER_MAPPING_NAMES.items() if kind in names]
    types = [name for name in types if name.startswith("qwen")]
    assert {"qwen2", "qwen2_5_vl", "qwen3_moe"} <= {*types}
    for name in types:
        (tmp_path / "config.json").write_text(json.dumps({"model_type": name}))
        assert Tokenizer.load(tmp_path).vocabulary.normalization == "NFC", name


def test_two_files_of_qwen2_that_put_a_space_before_a_text_are_refused(tmp_path: Path) -> None:
    two_files(tmp_path, [])
    configuration = {"tokenizer_class": "Qwen2Tokenizer", "add_prefix_space": True}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(configuration))
    with pytest.raises(ValueError, match=r"vocab\.json: add_prefix_space is on"):
        Tokenizer.load(tmp_path)


SHIFTING = {f"{kind}Tokenizer{ending}" for kind in SHIFTED for ending in ("", "Fast")}
AS_TRAINED = {"BART": taking_space("<mask>"), "DeBERTa": taking_space("[MASK]")}


def folder_of(name: str, folder: Path) -> None:
    """Write a folder. Ids below zero are those behind the vocabulary, in the order of their places there."""
    names, files = FOLDERS[name]
    write_folder(folder, two_files(folder, names), files)


def write_folder(folder: Path, size: int, files: dict[str, Any]) -> None:
    for file, content in files.items():
        written = json.dumps(content)
        for place, number in enumerate(
            sorted({n for n in (-2, -1) if f'"{n}"' in written or f" {n}" in written})
        ):
            written = written.replace(f'"{number}"', f'"{size + place}"').replace(
                f" {number}", f" {size + place}"
            )
        (folder / file).write_text(written, encoding="utf-8")


@pytest.mark.parametrize("name", FOLDERS)
def test_two_files_give_the_ids_that_transformers_gives_with_the_folder(
    name: str, tmp_path: Path
) -> None:
    folder_of(name, tmp_path)
    theirs: Any = transformers.AutoTokenizer.from_pretrained(tmp_path, **AS_TRAINED.get(name, {}))
    ours = Tokenizer.load(tmp_path)
    for text in TEXTS:
        for adds in (False, True):
            ids = theirs.encode(text, add_special_tokens=adds)
            assert ours.encode(text, add_special_tokens=adds) == ids, text
    assert any(
        "the special tokens are named by the files next to it" in sentence
        for sentence in ours.assumptions
    )
    ours.save_original(tmp_path / "copy/")
    assert Tokenizer.load(tmp_path / "copy") == ours


@pytest.mark.parametrize("kind", ["Roberta", "Bart", "Longformer", "LED", "Blenderbot", "Deberta"])
@pytest.mark.parametrize("settings", ["", "null", "string", "object", "object that takes it"])
def test_a_mask_token_that_no_object_describes_takes_the_space_before_it(
    kind: str, settings: str, tmp_path: Path
) -> None:
    names = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"] if kind == "Deberta" else ROBERTA
    mask = names[-1]
    two_files(tmp_path, names)
    beside: dict[str, dict[str, Any]] = {
        "": {},
        "null": {"mask_token": None},
        "string": {"mask_token": mask},
        "object": {"mask_token": token(mask)},
        "object that takes it": {"mask_token": token(mask, lstrip=True)},
    }
    config = {"tokenizer_class": f"{kind}Tokenizer", **beside[settings]}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    by_kind = settings in ("", "string")
    # transformers 5 has forgotten it of all kinds but this one.
    has_forgotten = not transformers.__version__.startswith("4.") and kind != "Blenderbot"
    told = taking_space(mask) if by_kind and has_forgotten else {}
    theirs: Any = transformers.AutoTokenizer.from_pretrained(tmp_path, **told)
    ours = Tokenizer.load(tmp_path)
    for text in (
        f"the {mask} cat",
        f" {mask}",
        f"a  \n {mask}{mask} {mask}",
        f"{mask} the",
        f"\u3000{mask}",
    ):
        assert ours.encode(text, add_special_tokens=True) == theirs.encode(text), text
    if settings != "null":
        assert (ours.encode(f" {mask}", add_special_tokens=False) == [4]) == (settings != "object")
    assert accelerate(theirs).encode(f"the {mask}") == theirs.encode(f"the {mask}")
    is_assumed = any(
        said.startswith(f"'{mask}' takes the white space") for said in ours.assumptions
    )
    assert is_assumed == (by_kind and kind != "Blenderbot")


@pytest.mark.parametrize(
    "first", ["", "#version: 0.2\n", "#version: 0.2 - Trained by `huggingface/tokenizers`\n"]
)
def test_merges_without_a_version_say_what_becomes_of_their_first_line(
    first: str, tmp_path: Path
) -> None:
    size = two_files(tmp_path, ["<|endoftext|>"])
    merges = (tmp_path / "merges.txt").read_text().removeprefix("#version: 0.2\n")
    (tmp_path / "merges.txt").write_text(first + merges)
    theirs: Any = transformers.GPT2Tokenizer.from_pretrained(tmp_path)
    ours = Tokenizer.load(tmp_path)
    assert ours.encode(CORPUS, special="text") == theirs.backend_tokenizer.encode(CORPUS).ids
    assert (len(ours.merges), ours.vocab_size) == (merges.count("\n"), size)
    warning = (
        "merges.txt does not begin with #version, and its first line is read as a merge, as tokenizers and "
        "transformers 5 do; transformers 4 leaves it out"
    )
    assert (warning in ours.assumptions) == (first == "")


def ids_of_kinds(folder: Path, texts: list[str]) -> dict[str, list[list[int]]]:
    """Return the ids of texts by each class of transformers that reads a SentencePiece model as BPE."""
    ids: dict[str, list[list[int]]] = {}
    for name in (name for name in dir(transformers) if name.endswith("Tokenizer")):
        kind = getattr(transformers, name)
        files = vars(kind).get("vocab_files_names") or {}
        file = files.get("vocab_file", "")
        if not file.endswith(".model"):
            continue
        (folder / name).mkdir()
        (folder / name / file).write_bytes(trained("numbered", byte_fallback=False))
        (folder / name / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name}))
        try:
            theirs = kind.from_pretrained(folder / name)
            is_unigram = theirs.is_fast and isinstance(
                theirs.backend_tokenizer.model, tokenizers.models.Unigram
            )
            if not is_unigram:  # which takes scores for probabilities
                ids[name] = [theirs.encode(text, add_special_tokens=False) for text in texts]
        except Exception:  # it needs another package, or pieces of Unigram
            continue
    return ids


def test_kinds_that_number_the_pieces_anew_are_refused_and_others_give_their_ids(
    tmp_path: Path,
) -> None:
    texts = ["the cat", "the other hat of the cat"]
    expected = ids_of_kinds(tmp_path, texts)
    refused = set()
    for name, ids in expected.items():
        [path] = (tmp_path / name).glob("*.model")
        if name.removesuffix("Tokenizer") in SHIFTED:
            refused.add(name)
            with pytest.raises(ValueError, match="numbers the pieces anew"):
                Tokenizer.load(path)
        else:
            ours = Tokenizer.load(path)
            assert [ours.encode(text) for text in texts] == ids, name
    assert refused >= {"NllbTokenizer", "PLBartTokenizer", "SeamlessM4TTokenizer"}
    assert expected.keys() - refused >= {"LlamaTokenizer", "ReformerTokenizer", "SpeechT5Tokenizer"}


def test_a_model_whose_kind_numbers_the_pieces_anew_is_known_by_its_type(tmp_path: Path) -> None:
    (tmp_path / "sentencepiece.bpe.model").write_bytes(trained("numbered", byte_fallback=False))
    types = {name: kind for name, kind in TOKENIZER_MAPPING_NAMES.items() if kind in SHIFTING}
    assert {
        "plbart",
        "seamless_m4t",
        "seamless_m4t_v2",
        "xlm-roberta",
        "nllb-moe",
        "m2m_100",
    } <= types.keys()
    for name, kind in types.items():
        (tmp_path / "config.json").write_text(json.dumps({"model_type": name}))
        with pytest.raises(
            ValueError, match=f"of a {kind.removesuffix('Fast')}, which numbers the pieces anew"
        ):
            Tokenizer.load(tmp_path)


@pytest.mark.parametrize(
    "files",
    [
        {
            "added_tokens.json": {"<x>": 0, "<y>": 1},
            "special_tokens_map.json": {"pad_token": "<x>"},
        },
        {
            "tokenizer_config.json": {
                "added_tokens_decoder": {
                    "0": {**token("<x>"), "special": True},
                    "1": {**token("<y>", rstrip=True), "special": False},
                }
            }
        },
    ],
)
def test_tokens_beside_a_sentencepiece_model_are_found(
    files: dict[str, Any], tmp_path: Path
) -> None:
    model = trained("llama")
    theirs = sentencepiece.SentencePieceProcessor(model_proto=model)
    x, y = theirs.get_piece_size(), theirs.get_piece_size() + 1
    (tmp_path / "tokenizer.model").write_bytes(model)
    for name, content in files.items():
        written = json.dumps(content).replace('"0"', f'"{x}"').replace('"1"', f'"{y}"')
        (tmp_path / name).write_text(written.replace(": 0", f": {x}").replace(": 1", f": {y}"))
    ours = Tokenizer.load(tmp_path)
    assert Tokenizer.load(tmp_path / "tokenizer.model") == ours
    strips = " " if "special_tokens_map.json" not in files else ""
    assert ours.encode(f"the<x>cat<y>{strips}a") == [
        *(*theirs.encode("the"), x),
        *(*_without_prefix(theirs, "cat"), y, *_without_prefix(theirs, "a")),
    ]
    assert ours.encode("the cat") == theirs.encode("the cat")
    assert ours.token_bytes(x) == b"<x>"
    assert any("'<x>'" in sentence for sentence in ours.assumptions)


def _without_prefix(theirs: Any, text: str) -> list[int]:
    """The ids of a text that is not the first: sentencepiece puts no space there."""
    whole: list[int] = theirs.encode("\n" + text)
    begun: list[int] = theirs.encode("\n")
    return whole[len(begun) :]


def test_the_files_beside_ranks_name_their_special_tokens(tmp_path: Path) -> None:
    trained_here = Tokenizer.train_from_iterator(
        ["the cat"], 259, special_tokens=[], dialect="tiktoken"
    )
    trained_here.to_tiktoken(tmp_path / "tiktoken.model")
    for path in (tmp_path, tmp_path / "tiktoken.model"):
        lacking = Tokenizer.load(path, pattern="gpt2")
        assert lacking.special_tokens == {}
        assert lacking.assumptions[0].startswith(
            "there are no special tokens, as a file of ranks holds none"
        )
    config = {"added_tokens_decoder": {"259": token("[BOS]"), "270": token("<|im_end|>")}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    for path in (tmp_path, tmp_path / "tiktoken.model"):
        loaded = Tokenizer.load(path, pattern="gpt2")
        assert loaded.special_tokens == {"[BOS]": 259, "<|im_end|>": 270}
        assert loaded.encode("the<|im_end|>") == [*trained_here.encode("the"), 270]
        assert (
            "the special tokens are named by the files next to it: '<|im_end|>', '[BOS]'"
            in loaded.assumptions
        )
        assert Tokenizer.load(path, "gpt2", {"<x>": 300}).special_tokens == {"<x>": 300}
    config = {"added_tokens_decoder": {"97": token("<|im_end|>")}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=r"tiktoken\.model: .*97"):
        Tokenizer.load(tmp_path / "tiktoken.model", "gpt2")


def test_files_that_contradict_a_tokenizer_are_refused_or_told(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.model").write_bytes(trained("llama"))
    config = tmp_path / "tokenizer_config.json"
    config.write_text(json.dumps({"added_tokens_decoder": {"5": token("<x>")}}))
    with pytest.raises(
        ValueError, match="the files next to it say that 5 is '<x>', but it is piece"
    ):
        Tokenizer.load(tmp_path)
    (tmp_path / "tokenizer.model").unlink()
    size = two_files(tmp_path, ["<s>"])
    config.write_text(json.dumps({"added_tokens_decoder": {"7": token("<s>")}}))
    with pytest.raises(ValueError, match="'<s>' has id 0, but the files next to it say 7"):
        Tokenizer.load(tmp_path)
    Tokenizer.train("ab ab", 258).to_huggingface(tmp_path / "tokenizer.json", overwrite=True)
    config.write_text(json.dumps({"added_tokens_decoder": {str(size): token("<new>")}}))
    told = Tokenizer.load(tmp_path).assumptions
    assert any(
        "the files next to it name tokens that the file itself lacks" in said and "'<new>'" in said
        for said in told
    )


@pytest.mark.parametrize(
    "config",
    [
        '{"added_tokens_decoder": {"x": {"content": "a"}}}',
        '{"added_tokens_decoder": {"1": {"content": ""}}}',
        '{"added_tokens_decoder": {"1": {"content": "a"}, "01": {"content": "b"}}}',
        '{"added_tokens_decoder": {"99999999999": {"content": "a"}}}',
        '{"pad_token": 5}',
        '{"additional_special_tokens": [["a"]]}',
        '{"additional_special_tokens": 5}',
        '{"additional_special_tokens": "ab"}',
        '{"pad_token": "a", "pad_token": "b"}',
        '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}",
        "[]",
        "{",
        '{"pad_token": "\\ud800"}',
    ],
)
def test_a_broken_configuration_is_refused_by_name(config: str, tmp_path: Path) -> None:
    two_files(tmp_path, ["<s>"])
    (tmp_path / "tokenizer_config.json").write_text(config)
    with pytest.raises(ValueError, match=r"tokenizer_config\.json: |vocab\.json: |merges\.txt: "):
        Tokenizer.load(tmp_path)


def test_of_a_config_json_only_the_kind_of_model_counts(tmp_path: Path) -> None:
    two_files(tmp_path, ["<s>"])
    for content in ("{", '{"model_type": NaN}', '{"model_type": ["opt"]}', "[" * 100_000, "5"):
        (tmp_path / "config.json").write_text(content)
        said = "the files do not say which tokens are special; assumed: none"
        assert said in Tokenizer.load(tmp_path).assumptions
    for kind, says in (("clip", "CLIP vocabulary"), ("whisper", "it is of a WhisperTokenizer")):
        (tmp_path / "config.json").write_text(json.dumps({"model_type": kind}))
        with pytest.raises(ValueError, match=says):
            Tokenizer.load(tmp_path)


@pytest.mark.parametrize(
    ("kind", "name", "says"),
    [
        (
            "NllbTokenizer",
            "sentencepiece.bpe.model",
            "sentencepiece.bpe.model: .* numbers the pieces anew",
        ),
        ("T5Tokenizer", "spiece.model", "a SentencePiece model of Unigram"),
        ("BertTokenizer", "vocab.txt", "a WordPiece vocabulary cannot be read"),
    ],
)
def test_a_folder_of_another_kind_is_refused_by_its_name(
    kind: str, name: str, says: str, tmp_path: Path
) -> None:
    content = (
        b"[PAD]\n[UNK]\na\n" if name == "vocab.txt" else trained("unigram", model_type="unigram")
    )
    (tmp_path / name).write_bytes(content)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": kind}))
    with pytest.raises(ValueError, match=says):
        Tokenizer.load(tmp_path)


def test_what_is_no_file_or_too_large_is_not_read(tmp_path: Path) -> None:
    size = two_files(tmp_path, ["<s>"])
    for name in ("tokenizer.json", "tokenizer_config.json", "config.json", "chat_template.jinja"):
        (tmp_path / name).symlink_to(name)  # to itself
    (tmp_path / "tekken.json").symlink_to(tmp_path / "bpetite.json")  # to nothing
    (tmp_path / "additional_chat_templates").symlink_to(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "tokenizer.model")
    with (tmp_path / "tokenizer_large.json").open("wb") as file:
        file.truncate(1 << 40)  # Nothing is stored of it.
    loaded = Tokenizer.load(tmp_path)
    assert loaded.vocab_size == size
    loaded.save_original(tmp_path / "copy/")
    assert "tokenizer_large.json" not in {path.name for path in (tmp_path / "copy").iterdir()}
    (tmp_path / "tokenizer_config.json").unlink()
    with (tmp_path / "tokenizer_config.json").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(
        ValueError, match=r"tokenizer_config\.json: it has more than 67108864 bytes"
    ):
        Tokenizer.load(tmp_path)
