"""Small whole files of every kind, cut off or changed anywhere: each is read, or refused by name."""

import json
import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

from bpetite import Tokenizer
from bpetite.formats import gpt2, huggingface
from bpetite.formats import tiktoken as ranks_files
from test_loading import gguf_fields, gguf_file, tekken_json
from test_sentencepiece import made

NEAR, STEP = 500, 17
CHANGES = 300

PATTERN = " ?[a-z]+|(?s:.)"


@cache
def small() -> Tokenizer:
    return Tokenizer.train_from_iterator(
        ["the cat the hat "], 262, dialect="tiktoken", pattern=PATTERN, special_tokens=["<|x|>"]
    )


def of_gpt2() -> tuple[bytes, bytes]:
    vocabulary = Tokenizer.train_from_iterator(
        ["the cat the hat "], 262, dialect="tiktoken"
    ).vocabulary
    return gpt2.to_bytes(vocabulary)


def of_characters() -> bytes:
    words = [("\u2581the", -0.5, 1), ("th", -0.25, 1), ("the", -0.375, 1)]
    return made([*words, *((one, -1.0, 1) for one in "\u2581the")])


def artifact() -> bytes:
    from bpetite._persistence import artifact_bytes

    return artifact_bytes(small().vocabulary)


def as_json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8")


WHOLE: dict[str, tuple[str, Callable[[], dict[str, bytes]]]] = {
    "artifact": ("a.json", lambda: {"a.json": artifact()}),
    "tokenizer.json": ("a.json", lambda: {"a.json": huggingface.to_bytes(small().vocabulary)}),
    "tekken.json": ("a.json", lambda: {"a.json": as_json(tekken_json(small()))}),
    "ranks": ("a", lambda: {"a": ranks_files.to_bytes(small().vocabulary)}),
    "GGUF": ("a", lambda: {"a": gguf_file(list(gguf_fields(small()).values()))}),
    "SentencePiece": ("a", lambda: {"a": of_characters()}),
    "vocab.json": (
        "vocab.json",
        lambda: dict(zip(("vocab.json", "merges.txt"), of_gpt2(), strict=True)),
    ),
    "merges.txt": (
        "merges.txt",
        lambda: dict(zip(("vocab.json", "merges.txt"), of_gpt2(), strict=True)),
    ),
    "vocab.bpe": (
        "vocab.bpe",
        lambda: dict(zip(("encoder.json", "vocab.bpe"), of_gpt2(), strict=True)),
    ),
    "folder": (
        "tokenizer_config.json",
        lambda: {
            "a.tiktoken": ranks_files.to_bytes(small().vocabulary),
            "tokenizer_config.json": huggingface.config_bytes(small().vocabulary, {}),
        },
    ),
}


def given_pattern(kind: str) -> str | None:
    """The pattern, where files do not hold it."""
    return PATTERN if kind in ("ranks", "folder") else None


def load(path: Path, kind: str) -> bool:
    """Load a file, or its folder; return whether it was read. An error must be short and name the file."""
    named = path.parent if kind == "folder" else path
    try:
        Tokenizer.load(named, pattern=given_pattern(kind))
    except (ValueError, KeyError) as error:
        refusal = error
    else:
        return True
    assert not isinstance(refusal, UnicodeError)
    assert str(path.parent) in str(refusal)
    assert len(str(refusal)) < 1000 + 2 * len(str(path))
    return False


def cut_off(content: bytes) -> Iterator[bytes]:
    """A file that is cut off: at every byte near its beginning and end, and at many places between."""
    often = (
        range(len(content))
        if len(content) < 2 * NEAR
        else chain(
            range(NEAR),
            range(NEAR, len(content) - NEAR, STEP),
            range(len(content) - NEAR, len(content)),
        )
    )
    return (content[:end] for end in often)


def changed(content: bytes) -> Iterator[bytes]:
    """A file with one byte, or a few, replaced, left out or doubled."""
    chance = random.Random(content)
    for _ in range(CHANGES):
        broken = bytearray(content)
        for _ in range(chance.choice([1, 1, 1, 2, 5])):
            start = chance.randrange(len(broken))
            end = min(start + chance.choice([0, 1, 1, 1, 2, 8]), len(broken))
            broken[start:end] = chance.choice(
                [
                    chance.randbytes(1),
                    b"",
                    b"\0",
                    b"\xff" * 4,
                    b'"',
                    b"-1",
                    b"1e9",
                    b"{",
                    b"]",
                    broken[start:end] * 2,
                ]
            )
        yield bytes(broken)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", WHOLE)
def test_a_file_that_is_cut_off_anywhere_or_changed_is_read_or_refused_by_name(
    kind: str, tmp_path: Path
) -> None:
    name, make = WHOLE[kind]
    files = make()
    for other, content in files.items():
        (tmp_path / other).write_bytes(content)
    assert load(tmp_path / name, kind)
    path, content = tmp_path / name, files[name]
    outcomes = set()
    for broken in (*cut_off(content), *changed(content)):
        path.write_bytes(broken)
        outcomes.add(load(path, kind))
    assert False in outcomes


SPOILED: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "a byte-order mark": lambda content: b"\xef\xbb\xbf" + content,
    "UTF-16": lambda content: content.decode("latin-1").encode("utf-16"),
    "other line breaks": lambda content: content.replace(b"\n", b"\r\n"),
    "cut in half": lambda content: content[: len(content) // 2],
}


@pytest.mark.parametrize("how", [*SPOILED, "a folder"])
@pytest.mark.parametrize("kind", WHOLE)
def test_a_file_that_an_editor_or_a_download_spoiled_is_refused_in_one_sentence(
    kind: str, how: str, tmp_path: Path
) -> None:
    name, make = WHOLE[kind]
    files, path = make(), tmp_path / name
    for other, content in files.items():
        (tmp_path / other).write_bytes(content)
    expected = Tokenizer.load(tmp_path if kind == "folder" else path, pattern=given_pattern(kind))
    path.unlink()
    if how == "a folder":
        path.mkdir()
    else:
        path.write_bytes(SPOILED[how](files[name]))
    if how == "other line breaks" and kind not in ("GGUF", "SentencePiece"):
        assert (
            Tokenizer.load(path.parent if kind == "folder" else path, pattern=given_pattern(kind))
            == expected
        )
        return
    if how == "other line breaks" and kind == "GGUF":
        return  # has no line breaks
    with pytest.raises((OSError, ValueError), match=re.escape(str(path))) as refused:
        Tokenizer.load(path.parent if kind == "folder" else path, pattern=given_pattern(kind))
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400 + len(str(path))
