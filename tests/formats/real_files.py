"""Real tokenizer files, which the project does not contain: our ids against those of their own libraries.

Run by `make test-models` if there is a folder of such files; `BPETITE_MODELS` names it. Files may
be compressed with xz.
"""

import base64
import hashlib
import json
import lzma
import os
import unicodedata
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tiktoken
import tokenizers

from bpetite import Tokenizer
from bpetite._persistence import artifact_bytes, vocabulary_of
from bpetite.formats.shared.difficult import DIFFICULT_TEXTS
from bpetite.interfaces.tiktoken import get_encoding
from bpetite.patterns import PATTERNS
from known_characters import is_known
from standard_library import standard_library_files
from test_pairs_in_the_wild import KIMI

MODELS = Path(os.environ["BPETITE_MODELS"])
GPT_4 = PATTERNS["llama3"]
SOURCES = [
    "llama3/tokenizer.json",
    "llama3/tokenizer.model",
    "qwen2.5/tokenizer.json",
    "kimi-k2/tiktoken.model",
    "whisper/multilingual.tiktoken",
    "whisper/tokenizer.json",
    "gguf/starcoder.gguf",
    "gguf/deepseek-coder.gguf",
    "tekken/tekken.json",
    "cohere/tokenizer.json",
    "gpt-neox/tokenizer.json",
    "roberta/tokenizer.json",
    "tiktoken/cl100k_base.tiktoken",
    "tiktoken/o200k_base.tiktoken",
]
RECORDED = {
    "cl100k_base": "tiktoken/cl100k_base.tiktoken",
    "o200k_base": "tiktoken/o200k_base.tiktoken",
    "kimi_k2": "kimi-k2/tiktoken.model",
    "gpt_neox": "gpt-neox/tokenizer.json",
    "llama32": "llama3/tokenizer.json",
    "mistral2410": "tekken/tekken.json",
}
USERS = sorted(path.name.removesuffix(".xz") for path in (MODELS / "users").glob("*.json*"))
"""Tokenizers that people trained themselves."""

UNPACKED = Path(os.environ["BPETITE_UNPACKED"])
"""An empty folder."""


@cache
def unpacked(name: str) -> Path:
    """Return a file of the models, unpacked."""
    plain = MODELS / name
    if plain.exists():
        return plain
    path = UNPACKED / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.decompress((MODELS / f"{name}.xz").read_bytes()))
    return path


@cache
def loaded(name: str) -> Tokenizer:
    """Return the tokenizer of a file; that its template is left out is said now, and not again."""
    tok = Tokenizer.load(unpacked(name))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        tok.encode("")
    return tok


@cache
def texts() -> list[str]:
    """Difficult texts, all characters that every library knows, and real code.

    Combining marks are left out: libraries that normalize order the newer ones differently.
    """
    scalars = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    characters = [one for one in scalars if is_known(one) and not unicodedata.combining(one)]
    blocks = ["".join(characters[start : start + 997]) for start in range(0, len(characters), 997)]
    files = [path.read_text("utf-8") for path in standard_library_files()[::60]]
    return [*DIFFICULT_TEXTS, *blocks, *files]


def theirs(name: str) -> Callable[[str], Sequence[int]]:
    """The original library's encoder of a file."""
    path = unpacked(name)
    if name.endswith(".json") and not name.startswith("tekken"):
        peer = tokenizers.Tokenizer.from_file(str(path))
        return lambda text: list(peer.encode(text, add_special_tokens=False).ids)
    if name.startswith("tekken"):
        document = json.loads(path.read_bytes())
        tokens = [
            base64.b64decode(entry["token_bytes"]) for entry in document["vocab"][: 131072 - 1000]
        ]
        ranks = {token: 1000 + rank for rank, token in enumerate(tokens)}
        pattern = document["config"]["pattern"]
    else:
        lines = [line.split() for line in path.read_bytes().splitlines()]
        ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
        pattern = loaded(name).pattern
    encoding = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return encoding.encode_ordinary


@pytest.mark.parametrize("name", SOURCES)
def test_a_real_file_is_loaded_and_kept(name: str) -> None:
    tok = loaded(name)
    assert vocabulary_of(artifact_bytes(tok.vocabulary), "again.json") == tok.vocabulary
    for text in DIFFICULT_TEXTS:
        if tok.vocabulary.normalization is None:
            assert tok.decode(tok.encode(text)) == text


@pytest.mark.parametrize("name", [name for name in SOURCES if not name.endswith(".gguf")])
def test_ids_are_those_of_the_original_library(name: str) -> None:
    tok, encode = loaded(name), theirs(name)
    is_json = name.endswith("tokenizer.json")
    for text in texts():
        ours = tok.encode(text) if is_json else tok.encode_ordinary(text)
        assert ours == list(encode(text)), text[:80]


TEMPLATES = {
    "llama2/tokenizer.json": ((1,), ()),
    "llama3/tokenizer.json": None,
    "mistral0.3/tokenizer.json": ((1,), ()),
    "roberta/tokenizer.json": ((0,), (2,)),
    "whisper/tokenizer.json": ((50_258, 50_363), (50_257,)),
    "tekken/tekken.json": ((1,), ()),
    "cohere/tokenizer.json": ((5,), (7,)),
    "qwen2.5/tokenizer.json": None,
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_real_template_is_read(name: str) -> None:
    assert loaded(name).template == TEMPLATES[name]


@pytest.mark.parametrize(
    "name",
    [name for name in sorted({*SOURCES, *TEMPLATES}) if name.endswith("tokenizer.json")]
    + [f"users/{name}" for name in USERS],
)
def test_templates_are_added_as_tokenizers_adds_them(name: str) -> None:
    try:
        tok = loaded(name)
    except ValueError:
        return  # One that is refused is tested with the others of people.
    peer = tokenizers.Tokenizer.from_file(str(unpacked(name)))
    peer.no_truncation()
    peer.no_padding()
    for text in ("the cat", "", "a the b"):
        assert tok.encode(text, add_special_tokens=True) == peer.encode(text).ids, text


@pytest.mark.parametrize("kind", ["small", "mixed", "utf8"])
@pytest.mark.parametrize("name", RECORDED)
def test_ids_are_those_that_were_recorded(name: str, kind: str) -> None:
    tok = loaded(RECORDED[name])
    content = unpacked(f"expected/{kind}_input.txt").read_text("utf-8")
    lines = [content]
    if kind != "utf8":
        lines = [line.replace("\\n", "\n").replace("\\s", " ") for line in content.split("\n")]
    recorded = unpacked(f"expected/{name}.{kind}.txt").read_text("ascii").split("\n")
    checked = 0
    for text, line in zip(lines, recorded, strict=False):
        if line:
            # mistral_common does not recognize special tokens in a text.
            ids = tok.encode_ordinary(text) if name.startswith("mistral") else tok.encode(text)
            assert ids == json.loads(f"[{line}]"), text
            checked += 1
    assert checked >= 20 or kind == "utf8"


@pytest.mark.parametrize("name", ["starcoder", "deepseek-coder"])
def test_gguf_gives_the_ids_that_were_recorded(name: str) -> None:
    tok = loaded(f"gguf/{name}.gguf")
    given = unpacked(f"gguf/{name}.inp").read_text("utf-8").split("\n__ggml_vocab_test__\n")
    recorded = unpacked(f"gguf/{name}.out").read_text("ascii").split("\n")
    for text, line in zip(given, recorded, strict=False):
        assert tok.encode(text) == [int(word) for word in line.split()], text


@pytest.mark.parametrize(
    ("name", "model"), [("llama-bpe", "llama3/tokenizer.json"), ("qwen2", "qwen2.5")]
)
def test_the_same_texts_get_the_same_ids_from_other_files(name: str, model: str) -> None:
    tok: Any = loaded(model if model.endswith("json") else f"{model}/tokenizer.json")
    given = unpacked(f"gguf/{name}.inp").read_text("utf-8").split("\n__ggml_vocab_test__\n")
    recorded = unpacked(f"gguf/{name}.out").read_text("ascii").split("\n")
    for text, line in zip(given, recorded, strict=False):
        assert tok.encode(text) == [int(word) for word in line.split()], text


def test_both_files_of_llama_3_are_the_same_vocabulary() -> None:
    one, other = (loaded(f"llama3/tokenizer.{kind}").vocabulary for kind in ("json", "model"))
    assert (one.tokens, one.merges) == (other.tokens, other.merges)
    assert one.pattern == other.pattern == GPT_4


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base", "o200k_harmony"])
def test_an_encoding_in_tiktokens_cache_is_tiktokens_own(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = f"tiktoken/{'o200k_base' if name == 'o200k_harmony' else name}.tiktoken"
    url = f"https://openaipublic.blob.core.windows.net/encodings/{file.removeprefix('tiktoken/')}"
    (tmp_path / hashlib.sha1(url.encode()).hexdigest()).write_bytes(unpacked(file).read_bytes())
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    ours, original = get_encoding(name), tiktoken.get_encoding(name)
    assert ours.n_vocab == original.n_vocab
    allowed = original.special_tokens_set - {"<|reserved_200018|>"}
    for text in [
        *texts(),
        "<|endoftext|>a<|endofprompt|>",
        "<|start|>user<|message|>hi<|reserved_200999|>",
    ]:
        assert ours.encode_ordinary(text) == original.encode_ordinary(text), text[:40]
        special: Any = {"allowed_special": allowed, "disallowed_special": ()}
        assert ours.encode(text, **special) == original.encode(text, **special), text[:40]
    assert get_encoding(name, unpacked(file).parent).encode("the cat") == original.encode("the cat")


def test_the_more_specific_file_of_a_models_folder_is_read() -> None:
    for name in ("vocab.json", "merges.txt", "tokenizer.json"):
        unpacked(f"qwen2.5/{name}")
    folder = unpacked("qwen2.5/tokenizer.json").parent
    tok = Tokenizer.load(folder)
    assert tok.fingerprint == loaded("qwen2.5/tokenizer.json").fingerprint
    assert tok.assumptions[0] == "of the folder, tokenizer.json is read, not vocab.json, merges.txt"


@pytest.mark.parametrize("name", [name for name in SOURCES if not name.endswith(".gguf")])
def test_a_real_file_is_written_as_it_was_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / Path(name).name
    loaded(name).save_original(path)
    assert path.read_bytes() == unpacked(name).read_bytes()


@pytest.mark.parametrize("model", ["qwen2.5", "roberta"])
def test_a_real_folder_is_written_as_it_was_read(model: str, tmp_path: Path) -> None:
    names = [path.name.removesuffix(".xz") for path in (MODELS / model).iterdir()]
    for name in names:
        unpacked(f"{model}/{name}")
        (tmp_path / name).write_bytes(unpacked(f"{model}/{name}").read_bytes())
    Tokenizer.load(tmp_path).save_original(tmp_path / "copy")
    assert {path.name for path in (tmp_path / "copy").iterdir()} == set(names)
    for name in names:
        assert (tmp_path / "copy" / name).read_bytes() == (tmp_path / name).read_bytes()


@pytest.mark.parametrize("name", USERS)
def test_what_people_trained_gives_its_ids(name: str) -> None:
    tok = loaded(f"users/{name}")
    lacks_bytes = any("cannot be encoded" in assumption for assumption in tok.assumptions)
    peer = tokenizers.Tokenizer.from_file(str(unpacked(f"users/{name}")))
    for text in texts():
        try:
            ids = tok.encode(text)
        except ValueError:
            assert lacks_bytes
            continue
        assert ids == peer.encode(text, add_special_tokens=False).ids, text[:80]


def test_kimis_pattern_may_be_given_as_its_model_spells_it() -> None:
    tok = Tokenizer.load(unpacked("kimi-k2/tiktoken.model"), pattern=KIMI)
    assert tok.pattern == PATTERNS["kimi-k2"]
    assert tok == loaded("kimi-k2/tiktoken.model")
