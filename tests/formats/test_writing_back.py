"""What was read from a file or a folder is written again byte for byte; what is left behind is told."""

import contextlib
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bpetite import Tokenizer
from test_broken_files import PATTERN, WHOLE, as_json, small
from test_loading import gguf_fields, gguf_file

CONFIG = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "chat_template": "{{ messages }}",
    "é": [1.0, None],
}
COMPANIONS = {
    "tokenizer_config.json": json.dumps(CONFIG, indent=2).encode("utf-8"),
    "special_tokens_map.json": b'{"eos_token":  "<|x|>"}\n',
    "added_tokens.json": b"{}",
    "chat_template.jinja": b"{{ messages }}\r\n",
    "tokenization_mine.py": b"raise SystemExit\n",
    "additional_chat_templates/tools.jinja": b"{{ tools }}",
}
OF_THE_MODEL = {"config.json": b"{}", "model.safetensors": b"\0" * 9, "sub/tokenizer.json": b"{}"}
FORMATS = {
    "tokenizer.json": ("huggingface", ["tokenizer.json"]),
    "tekken.json": ("tekken", ["tekken.json"]),
    "ranks": ("tiktoken", ["tokenizer.model"]),
    "SentencePiece": ("sentencepiece", ["tokenizer.model"]),
    "GGUF": ("gguf", ["vocabulary.gguf"]),
    "vocab.json": ("gpt2", ["vocab.json", "merges.txt"]),
    "vocab.bpe": ("gpt2", ["encoder.json", "vocab.bpe"]),
}


def bpetite(*arguments: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "bpetite", *map(str, arguments)], capture_output=True, check=False
    )


def put(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def content_of(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def files_of(kind: str) -> dict[str, bytes]:
    """The files of a tokenizer, formatted as none of our writers would."""
    files = dict(zip(FORMATS[kind][1], WHOLE[kind][1]().values(), strict=True))
    for name, content in files.items():
        if name.endswith(".json"):
            files[name] = json.dumps(json.loads(content), indent=1).encode("utf-8") + b"\r\n"
        elif kind in ("ranks", "merges.txt", "vocab.bpe"):
            files[name] = content.replace(b"\n", b"\r\n")
    return files


def pattern_of(kind: str) -> str | None:
    return PATTERN if FORMATS[kind][0] == "tiktoken" else None


@pytest.mark.parametrize("kind", FORMATS)
def test_a_file_is_written_as_it_was_read(kind: str, tmp_path: Path) -> None:
    files = files_of(kind)
    put(tmp_path, files)
    name, *others = files
    tok = Tokenizer.load(tmp_path / name, pattern=pattern_of(kind))
    target = tmp_path / "again" / name if not others else tmp_path / "again"
    (tmp_path / "again").mkdir()
    tok.save_original(target)
    assert content_of(tmp_path / "again") == files
    with pytest.raises(FileExistsError):
        tok.save_original(target)
    pickle.loads(pickle.dumps(tok)).save_original(target, overwrite=True)
    assert content_of(tmp_path / "again") == files


@pytest.mark.parametrize("kind", FORMATS)
def test_a_folder_is_written_with_all_that_is_its_tokenizers(kind: str, tmp_path: Path) -> None:
    files = {**files_of(kind), **COMPANIONS}
    if kind in ("vocab.json", "vocab.bpe"):
        files["tokenizer_config.json"] = b'{"tokenizer_class": "GPT2Tokenizer"}'
    put(tmp_path / "model", {**files, **OF_THE_MODEL})
    tok = Tokenizer.load(tmp_path / "model", pattern=pattern_of(kind))
    tok.save_original(tmp_path / "copy")
    assert content_of(tmp_path / "copy") == files
    given = [] if pattern_of(kind) is None else ["--pattern", PATTERN]
    done = bpetite(
        "convert", tmp_path / "model", f"{tmp_path}/v1.5/", "--to", FORMATS[kind][0], *given
    )
    assert done.returncode == 0, done.stderr.decode()
    assert content_of(tmp_path / "v1.5") == files
    told = done.stderr.decode().splitlines()[-1]
    assert told.endswith(
        "left behind, as they are not the tokenizer's: 'config.json', 'model.safetensors'"
    )
    done = bpetite("convert", tmp_path / "model", f"{tmp_path}/by-name/", *given)
    assert done.returncode == 0, done.stderr.decode()
    assert content_of(tmp_path / "by-name") == files
    assert bpetite("convert", tmp_path / "model", f"{tmp_path}/by-name/", *given).returncode == 1


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("is_folder", [True, False])
def test_a_format_of_one_file_is_written_to_a_file_wherever_a_tokenizer_comes_from(
    kind: str, is_folder: bool, tmp_path: Path
) -> None:
    files = files_of(kind)
    beside = COMPANIONS if is_folder else {}
    if is_folder and kind in ("vocab.json", "vocab.bpe"):
        beside = {**beside, "tokenizer_config.json": b'{"tokenizer_class": "GPT2Tokenizer"}'}
    put(tmp_path / "model", {**files, **beside})
    source = tmp_path / "model" if is_folder else tmp_path / "model" / next(iter(files))
    tok = Tokenizer.load(source, pattern=pattern_of(kind))
    own = {"tokenizer.json": tok.to_huggingface, "ranks": tok.to_tiktoken}.get(kind, tok.save)
    writers: list[Callable[[Path | str], None]] = [own]
    others: list[Callable[[Path | str], None]] = [tok.save, tok.to_huggingface, tok.to_tiktoken]
    for write in others:
        with contextlib.suppress(ValueError):  # No other format can hold some of them.
            write(tmp_path / f"can be written {len(writers)}")
            writers.append(write)
    (tmp_path / "there").mkdir()
    for number, write in enumerate(writers):
        for name in ("x.tiktoken", "x.json", "x.model", "x"):
            write(tmp_path / f"{number} {name}")
            assert (tmp_path / f"{number} {name}").is_file()
        for folder in (tmp_path / "there", f"{tmp_path}/new/"):
            with pytest.raises(IsADirectoryError, match="is a folder"):
                write(folder)
    assert not any((tmp_path / "there").iterdir())
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("kind", ["tokenizer.json", "tekken.json", "SentencePiece"])
def test_of_a_folder_one_file_is_written_where_it_is_named(kind: str, tmp_path: Path) -> None:
    files = files_of(kind)
    [(name, content)] = files.items()
    put(tmp_path / "model", {**files, **COMPANIONS})
    done = bpetite("convert", tmp_path / "model", tmp_path / name)
    assert done.returncode == 0, done.stderr.decode()
    assert (tmp_path / name).read_bytes() == content
    assert "left behind: the other files of the tokenizer's folder, 'added_tokens.json', " in str(
        done.stderr
    )


def test_a_tokenizer_json_brings_its_own_config(tmp_path: Path) -> None:
    put(tmp_path / "model", {**files_of("tokenizer.json"), **COMPANIONS})
    tok = Tokenizer.load(tmp_path / "model")
    (tmp_path / "there").mkdir()
    tok.save_folder(tmp_path / "there")
    assert content_of(tmp_path / "there") == content_of(tmp_path / "model")


def test_a_trained_tokenizer_is_written_to_a_folder_with_its_config(tmp_path: Path) -> None:
    tok = Tokenizer.train("ab ab", 257)
    tok.save_folder(tmp_path / "new")
    assert sorted(content_of(tmp_path / "new")) == ["tokenizer.json", "tokenizer_config.json"]
    with pytest.raises(
        ValueError, match=r"comes from no file of another library; it cannot be written back"
    ):
        tok.save_original(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_nothing_is_left_of_a_folder_that_could_not_be_written(tmp_path: Path) -> None:
    put(tmp_path / "model", {**files_of("tokenizer.json"), **COMPANIONS})
    put(tmp_path / "there", {"chat_template.jinja": b"theirs"})
    tok = Tokenizer.load(tmp_path / "model")
    with pytest.raises(FileExistsError, match=r"chat_template\.jinja exists already"):
        tok.save_original(tmp_path / "there")
    assert content_of(tmp_path / "there") == {"chat_template.jinja": b"theirs"}
    assert not (tmp_path / "there" / "additional_chat_templates").exists()


def test_what_other_formats_do_not_hold_is_told(tmp_path: Path) -> None:
    document = json.loads(files_of("tekken.json")["tekken.json"])
    unused = {"rank": len(document["vocab"]), "token_bytes": "enp6", "token_str": "zzz"}
    document["vocab"].append(unused)
    put(tmp_path, {"tekken.json": as_json({**document, "image": {"max_image_size": 1024}})})
    done = bpetite("convert", tmp_path / "tekken.json", tmp_path / "a.json", "--to", "bpetite")
    told = [line.partition(": ")[2] for line in done.stderr.decode().splitlines()]
    assert told[-2:] == [
        "lost: ranks beyond the size of the vocabulary: 2",
        "lost: the settings called 'image'",
    ]


def test_a_format_that_is_only_written_back_is_refused_for_others(tmp_path: Path) -> None:
    Tokenizer.train("ab ab", 257).save(tmp_path / "tok.json")
    for kind in ("tekken", "sentencepiece", "gguf"):
        done = bpetite("convert", tmp_path / "tok.json", tmp_path / "out", "--to", kind)
        assert (done.returncode, done.stdout) == (1, b"")
        assert (
            f"{kind} files can be read, but not written unless MODEL is one" in done.stderr.decode()
        )
        assert not (tmp_path / "out").exists()


def test_a_gguf_file_with_weights_is_not_written_back(tmp_path: Path) -> None:
    whole = gguf_file([*gguf_fields(small()).values()], tensors=1) + b"\0" * 1000
    put(tmp_path / "model", {"model.gguf": whole, **COMPANIONS})
    for source in ("model", "model/model.gguf"):
        tok = Tokenizer.load(tmp_path / source)
        with pytest.raises(
            ValueError, match="with a model's weights, which are not kept; it cannot"
        ):
            tok.save_original(tmp_path / "out.gguf")
        for target in (["out.gguf"], ["out", "--to", "gguf"]):
            done = bpetite("convert", tmp_path / source, tmp_path / target[0], *target[1:])
            assert (done.returncode, done.stdout) == (1, b"")
            assert b"weights" in done.stderr
    assert not any(path.name.startswith("out") for path in tmp_path.iterdir())


def test_a_vocabulary_in_gguf_is_written_by_its_name(tmp_path: Path) -> None:
    put(tmp_path, files_of("GGUF"))
    done = bpetite("convert", tmp_path / "vocabulary.gguf", tmp_path / "out.gguf", "--check")
    assert done.returncode == 0, done.stderr.decode()
    assert (tmp_path / "out.gguf").read_bytes() == files_of("GGUF")["vocabulary.gguf"]


@pytest.mark.parametrize("kind", FORMATS)
def test_a_pickle_is_small_whatever_a_tokenizer_was_read_from(kind: str, tmp_path: Path) -> None:
    files = {**files_of(kind), "chat_template.jinja": b"{{ messages }}\r\n" * 20_000}
    put(tmp_path / "model", files)
    tok = Tokenizer.load(tmp_path / "model", pattern=pattern_of(kind))
    pickled = pickle.dumps(tok)
    assert len(pickled) < sum(map(len, files.values())) // 4
    pickle.loads(pickled).save_original(tmp_path / "copy/")
    assert content_of(tmp_path / "copy") == files
