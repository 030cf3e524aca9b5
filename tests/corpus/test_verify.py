"""`corpus.verify`: shards that are right pass, whatever their tokenizer; others do not."""

import hashlib
import json
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bpetite import Tokenizer, Vocabulary, corpus
from bpetite._constants import SPACE
from bpetite.corpus import Options
from bpetite.corpus.manifest import Manifest
from test_missing_bytes import lacking
from test_sentencepiece import loaded, trained

DOCUMENTS = [
    "  two spaces before",
    " one",
    "a<s>b",
    "a <s> b<s>",
    "<s>",
    "<unk> and \U0001f600\u00e9\x00",
    "\u2581the \u2581\u2581cat",
    "the <mask> cat  <mask>",
    "e\u0301 na\u00efve caf\u00e9s",
    "",
    "   ",
    "the cat and the other hat",
]


def of_bytes(**more: Any) -> Tokenizer:
    """A vocabulary of bytes and a few merges."""
    base = {byte: bytes([byte]) for byte in range(256)}
    tokens = base | {256: b"th", 257: b"the", 258: b" c"}
    merges = [(116, 104), (256, 101), (32, 99)]
    specials = {"<s>": 300, "<mask>": 301}
    return Tokenizer(
        Vocabulary(tokens, merges, specials, merge_ids=[256, 257, 258], irregular=True, **more)
    )


def without_bytes(tmp_path: Path, **model: Any) -> Path:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(lacking(random.Random(3), **model))
    return path


def with_unknown_token(tmp_path: Path) -> Tokenizer:
    document = json.loads(without_bytes(tmp_path).read_bytes())
    document["model"]["vocab"]["<unk>"] = max(document["model"]["vocab"].values()) + 1
    document["model"]["unk_token"] = "<unk>"
    (tmp_path / "unknown.json").write_text(json.dumps(document))
    return Tokenizer.load(tmp_path / "unknown.json")


TOKENIZERS: dict[str, Callable[[Path], Tokenizer]] = {
    "plain": lambda _: of_bytes(),
    "with a space before": lambda _: of_bytes(pattern=(SPACE, r"\s?\S+|\s+")),
    "composed": lambda _: of_bytes(normalization="NFC"),
    "mask that takes spaces": lambda _: of_bytes(token_flags={"<mask>": ["lstrip", "rstrip"]}),
    "pieces of Llama": lambda folder: loaded(trained("llama"), folder),
    "pieces of Gemma": lambda folder: loaded(trained("gemma"), folder),
    "pieces with an unknown one": lambda folder: loaded(
        trained("llama", byte_fallback=False), folder
    ),
    "pieces without extra spaces": lambda folder: loaded(
        trained("llama", remove_extra_whitespaces=True), folder
    ),
    "dropped bytes": lambda folder: Tokenizer.load(without_bytes(folder), missing="drop"),
    "unknown bytes": with_unknown_token,
}


def encoded(tok: Tokenizer, folder: Path, special: Any) -> Path:
    """Encode the documents that the tokenizer can encode."""
    lines = []
    for text in DOCUMENTS:
        try:
            tok.encode(text, special=special)
        except ValueError:
            continue
        lines.append(json.dumps({"text": text}))
    (folder / "texts.jsonl").write_text("\n".join(lines))
    corpus.encode(tok, folder / "texts.jsonl", folder / "ids", options=Options(special=special))
    return folder / "ids"


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("special", ["text", "parse"])
def test_shards_that_are_right_are_called_right(name: str, special: Any, tmp_path: Path) -> None:
    tok = TOKENIZERS[name](tmp_path)
    folder = encoded(tok, tmp_path, special)
    assert corpus.verify(folder, samples=100).documents > len(DOCUMENTS) // 2
    corpus.verify(folder, samples=100, inputs=True)


def replaced(folder: Path, change: Callable[[list[int]], list[int]]) -> None:
    """Change the ids of the only shard, and the manifest, so that all hashes are right."""
    path = folder / "shard-000000.npy"
    ids = np.load(path)
    changed = np.array(change(ids.tolist()), dtype=ids.dtype)
    assert len(changed) == len(ids)
    assert not np.array_equal(ids, changed)
    np.save(path, changed)
    content = path.read_bytes()
    manifest = Manifest.load(folder)
    [shard] = manifest.shards
    digest = hashlib.sha256(content).hexdigest()
    shard.files[:] = [
        replace(file, bytes=len(content), sha256=digest) if file.name == path.name else file
        for file in shard.files
    ]
    manifest.save(folder)


def swapped(ids: list[int]) -> list[int]:
    """Exchange two ids of the last document, which is ordinary text."""
    return [*ids[:-2], ids[-1], ids[-2]]


@pytest.mark.parametrize("name", TOKENIZERS)
def test_other_ids_are_found_with_the_inputs(name: str, tmp_path: Path) -> None:
    folder = encoded(TOKENIZERS[name](tmp_path), tmp_path, "text")
    replaced(folder, swapped)
    with pytest.raises(ValueError, match=r"shard-000000\.npy: document \d+ "):
        corpus.verify(folder, samples=100, inputs=True)


@pytest.mark.parametrize("name", ["plain", "with a space before", "composed", "pieces of Llama"])
def test_ids_that_no_text_has_are_found_without_the_inputs(name: str, tmp_path: Path) -> None:
    tok = TOKENIZERS[name](tmp_path)
    text = "hat the hat"
    (tmp_path / "text.txt").write_text(text)
    folder = tmp_path / "ids"
    corpus.encode(tok, tmp_path / "text.txt", folder)
    ids = tok.encode(text)
    parts = [
        [tok.token_id(bytes([byte])) for byte in tok.token_bytes(token_id)] for token_id in ids
    ]
    longest = max(range(len(ids)), key=lambda place: len(parts[place]))
    apart = [*ids[:longest], *parts[longest], *ids[longest + 1 :]]
    assert tok.decode(apart) == tok.decode(ids)
    replaced(folder, lambda _: apart[: len(ids)])
    with pytest.raises(ValueError, match=r"document 0 has a text that encodes to other ids"):
        corpus.verify(folder)


def test_special_tokens_where_they_must_not_be_are_found(tmp_path: Path) -> None:
    folder = encoded(of_bytes(), tmp_path, "text")
    replaced(folder, lambda ids: [*ids[:-1], 300])
    with pytest.raises(ValueError, match="has the special token '<s>' within it"):
        corpus.verify(folder, samples=100)


@pytest.mark.parametrize("source", ["stdin", "a URL", "a file that is gone"])
def test_inputs_that_are_gone_are_refused_by_name(source: str, tmp_path: Path) -> None:
    tok = tmp_path / "tok.json"
    Tokenizer.train("the cat", 258).save(tok)
    text = tmp_path / "text.txt"
    text.write_text("the cat")
    path = {"stdin": "-", "a URL": text.as_uri(), "a file that is gone": str(text)}[source]
    command = [sys.executable, "-m", "bpetite"]
    encode = [
        *command,
        "encode-corpus",
        str(tok),
        "--input",
        path,
        "--output",
        str(tmp_path / "ids"),
    ]
    subprocess.run(encode, input=b"the cat", capture_output=True, check=True)
    if source == "a file that is gone":
        text.unlink()
    verify = [*command, "verify", str(tmp_path / "ids")]
    assert subprocess.run(verify, capture_output=True, check=False).returncode == 0
    refused = subprocess.run([*verify, "--inputs"], capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "it is not a file on this machine, and stdin, URLs and documents" in refused.stderr
    assert "without --inputs, the shards are checked alone" in refused.stderr
