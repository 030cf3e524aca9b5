"""A path or an object of another library in, a vocabulary out, for every supported format.

A file is recognised by its content, not by its name. Of several files in a folder, the most specific one is
read, and the assumptions say which. Other known formats are refused by name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, NoReturn

from bpetite import _persistence
from bpetite._engine import read_pattern, same_pattern
from bpetite._internal.json import Json, parse_object, refuse, refuse_mark
from bpetite._internal.types import Missing, Path, SpecialTokens
from bpetite.formats import gguf, gpt2, huggingface, js_tiktoken, live, sentencepiece, tekken, tiktoken
from bpetite.formats.shared import configuration
from bpetite.formats.shared.configuration import Configuration
from bpetite.formats.shared.cut_model import parse_without_merges
from bpetite.formats.shared.imported import Imported
from bpetite.patterns import named_pattern
from bpetite.vocabulary import Vocabulary

FOLDER_FILES = (
    ("bpetite.json",),
    ("tokenizer.json",),
    ("tekken.json",),
    ("vocab.json", "merges.txt"),
    ("encoder.json", "vocab.bpe"),
    ("tiktoken.model",),
    ("tokenizer.model",),
    ("spiece.model",),
    ("sentencepiece.model",),
    ("sentencepiece.bpe.model",),
    ("source.spm",),
    ("vocab.txt",),
)
"""The files that are searched in a folder, the most specific first."""

_MORE_TEMPLATES = "additional_chat_templates"
_OF_TOKENIZERS = (
    r"tokenizer.*\.(?:json|model|txt)|tokenization_.*\.py|tekken\.json|[^/]*\.tiktoken|tiktoken\.model"
    r"|(?:vocab|encoder|added_tokens|special_tokens_map|normalizer)\.json|(?:merges|vocab)\.txt|vocab\.bpe"
    rf"|(?:spiece|sentencepiece.*)\.model|chat_template.*|{_MORE_TEMPLATES}/.*"
)
"""The names of files that belong to a tokenizer, not to its model."""

_MOST_UNPACKED, _MOST_UNPACKED_PER_BYTE = 1 << 24, 32
"""The maximum size of an unpacked file: a number of bytes, and a number for each compressed byte."""

_MOST_READ = 1 << 30
"""The maximum size of a file in bytes: tokenizers take tens of megabytes, weights and corpora gigabytes."""

_GGUF, _GZIP = b"GGUF", b"\x1f\x8b"
_RANKS = rb"[A-Za-z0-9+/]+={0,2} [0-9]+\r?(?:\n|\Z)"
_OTHER_FORMATS = (
    (rb"\[(?:PAD|UNK|unused0)\]\r?\n", "a WordPiece vocabulary cannot be read; only byte-level BPE can"),
    (rb"""[0-9]+ b?['"].*['"] [0-9]+\r?\n""", "an RWKV vocabulary cannot be read; only byte-level BPE can"),
    (rb'"(?:bpe_simple_vocab|#version)', "a CLIP vocabulary cannot be read; only byte-level BPE can"),
    (rb"minbpe v[0-9]", "a model of minbpe cannot be read; give its tokens as ranks of tiktoken"),
    (
        rb"\x80[\x02-\x05]",
        "a pickle, as nanochat and rustbpe use it, is not read, as it could run any code; if you trust it, "
        "unpickle it yourself and load the object",
    ),
    (
        rb"(?s:..\0\0....\x05\0\0\0<unk>)",
        "a tokenizer.bin of llama2.c cannot be read; give the tokenizer.model that it was made from",
    ),
    (rb"PK\x03\x04", "an archive (zip), such as the weights of PyTorch; give the file of the tokenizer"),
    (
        rb"version https://git-lfs",
        "it is only the pointer of Git LFS to a file; git lfs pull brings the file itself",
    ),
    (
        rb"\s*<(?i:!doctype html|html)",
        "it is a web page, not a file of a tokenizer; it may have been saved in its place",
    ),
)
"""How files of other formats begin, and what they are."""


@dataclass(frozen=True)
class Found:
    """The tokenizer of a path or an object."""

    imported: Imported
    kind: str
    """The format: one of `bpetite`, `huggingface`, `tiktoken`, `gpt2`, `tekken`, `gguf`, `js-tiktoken`,
    `sentencepiece`; or `object`."""
    files: tuple[str, ...] = ()
    """The files that were read."""


def load(
    source: object,
    pattern: str | None = None,
    special_tokens: SpecialTokens | None = None,
    missing: Missing = "refuse",
) -> Found:
    """Load a tokenizer.

    A given pattern and special tokens are used if the source lacks them; otherwise they must be the same.
    """
    found = find(source, pattern, special_tokens, missing)
    check_given(source, found.imported.vocabulary, pattern, special_tokens)
    return found


def find(
    source: object,
    pattern: str | None = None,
    special_tokens: SpecialTokens | None = None,
    missing: Missing = "refuse",
) -> Found:
    """Load a tokenizer; a given pattern and special tokens are only used if the source lacks them.

    With `missing="drop"`, bytes without a token are left out, if the tokenizer's own library does that.
    """
    if missing not in ("refuse", "drop"):
        raise ValueError(f'missing must be "refuse" or "drop", not {missing!r:.40}')
    if not isinstance(source, str | os.PathLike):
        found = Found(live.read(source), "object")
    elif os.path.isdir(source):
        found = _of_folder(source, pattern, special_tokens)
    else:
        found = _of_file(os.fspath(source), pattern, special_tokens)
    return (
        found if missing == "refuse" else replace(found, imported=found.imported.dropping(_name_of(source)))
    )


def _name_of(source: object) -> str:
    return os.fspath(source) if isinstance(source, str | os.PathLike) else type(source).__name__


def check_given(
    source: object, vocabulary: Vocabulary, pattern: str | None, special_tokens: SpecialTokens | None
) -> None:
    """Refuse a given pattern or special token that the source contradicts."""
    name = _name_of(source)
    if pattern is not None and not is_called(vocabulary.pattern, pattern):
        refuse(name, f"its pattern is {vocabulary.pattern}, not {pattern}")
    for text in special_tokens or ():
        actual = vocabulary.special_tokens.get(text)
        wanted = special_tokens[text] if isinstance(special_tokens, Mapping) else actual
        if actual is None:
            refuse(name, f"{text!r} is not a special token there")
        if wanted != actual:
            refuse(name, f"special token {text!r} has id {actual} there, not {wanted}")


def is_called(pattern: str, given: str) -> bool:
    """Whether a pattern is the given one: by its name, or in the syntax of any engine."""
    given = named_pattern(given)
    if given == pattern:
        return True
    for syntax in _SYNTAXES:
        with suppress(ValueError):
            if same_pattern(read_pattern(given, syntax), pattern):
                return True
    return False


_SYNTAXES: Final = ("bpetite", "rust", "oniguruma")


# Folders -------------------------------------------------------------------------------------------------


def _of_folder(folder: Path, pattern: str | None, special_tokens: SpecialTokens | None) -> Found:
    names = {name for name in os.listdir(folder) if _is_file_or_folder(os.path.join(folder, name))}
    named = [(name,) for name in sorted(names) if name.endswith((".tiktoken", ".gguf"))]
    there = [files for files in FOLDER_FILES if names.issuperset(files)]
    if not there and len(named) != 1:
        for files in [files for files in FOLDER_FILES if not names.isdisjoint(files)]:
            [one, other] = sorted(files, key=names.__contains__, reverse=True)
            raise FileNotFoundError(f"{os.fspath(folder)}: {one} is in this folder, but {other} is not")
        listed = ", ".join(" and ".join(files) for files in FOLDER_FILES)
        several = f"; there are {len(named)} of .tiktoken or .gguf, give one of them" if named else ""
        raise FileNotFoundError(f"{os.fspath(folder)}: none of {listed} is in this folder{several}")
    there += named
    files, others = there[0], [name for several in there[1:] for name in several]
    paths = [os.path.join(folder, name) for name in files]
    others_said: list[str] = []
    if len(paths) == 2:
        found = _of_two_files(folder, paths[0], paths[1], pattern, special_tokens)
    else:
        beside = configuration.read_configuration(folder)
        if special_tokens is None and files[0].endswith((".model", ".tiktoken")):
            special_tokens = beside.ids or None
        if beside.has_shifted_ids and files[0].endswith(".model"):
            refuse(
                folder,
                f"a {beside.kind}Tokenizer numbers the pieces of {files[0]} anew, which cannot be read",
            )
        found = _of_file(paths[0], pattern, special_tokens, beside)
        others_said += _not_looked_for(found.imported.vocabulary, beside)
    if found.imported.original is not None and found.imported.original.files:
        found = replace(found, imported=_with_folder(found.imported, folder, names))
    said = f"of the folder, {' and '.join(files)} {'is' if len(files) == 1 else 'are'} read"
    if others:
        said += f", not {', '.join(others)}"
    imported = replace(found.imported, assumptions=[said, *others_said, *found.imported.assumptions])
    return replace(found, imported=imported)


def _is_file_or_folder(path: str) -> bool:
    """Whether there is something to read; opening a pipe would wait for a writer."""
    return os.path.isfile(path) or os.path.isdir(path)


def _not_looked_for(vocabulary: Vocabulary, beside: Configuration) -> list[str]:
    """Say which tokens of a configuration the tokenizer's own file lacks, or gives another id."""
    specials = vocabulary.special_tokens
    lacking = [text for text, token_id in beside.ids.items() if specials.get(text) != token_id]
    if not lacking:
        return []
    named = f"{lacking[0]!r:.80}" + (f" and {len(lacking) - 1} more" if len(lacking) > 1 else "")
    return [
        f"{named}: the files beside it say that this is a token with another id than in the file that is "
        "read, which is believed; a text with it may get other ids in transformers"
    ]


def _with_folder(imported: Imported, folder: Path, names: Iterable[str]) -> Imported:
    """Keep all files of the tokenizer in a folder."""
    original = imported.original
    assert original is not None  # as the caller saw
    files = dict(original.files)
    others = [name for name in sorted(names) if name not in files]
    if _MORE_TEMPLATES in others and os.path.isdir(os.path.join(folder, _MORE_TEMPLATES)):
        inner = sorted(os.listdir(os.path.join(folder, _MORE_TEMPLATES)))
        others += [f"{_MORE_TEMPLATES}/{name}" for name in inner]
    others = [name for name in others if os.path.isfile(os.path.join(folder, name))]
    small = [name for name in others if os.path.getsize(os.path.join(folder, name)) <= configuration.LARGEST]
    for name in [name for name in small if re.fullmatch(_OF_TOKENIZERS, name)]:
        with open(os.path.join(folder, name), "rb") as file:
            files[name] = file.read()
    left_behind = tuple(name for name in others if name not in files)
    kept = replace(original, files=files, is_folder=True, left_behind=left_behind)
    return replace(imported, original=kept)


def _of_two_files(
    folder: Path, vocab: str, merges: str, pattern: str | None, special_tokens: SpecialTokens | None
) -> Found:
    """Read GPT-2's two files; files of the same names of another model are refused, if that is known."""
    beside = configuration.read_configuration(folder)
    if beside.kind == "CLIP":
        refuse(folder, "a CLIP vocabulary, whose words end in </w>, cannot be read")
    if pattern is None and not beside.is_like_gpt2:
        refuse(
            folder,
            f"it is of a {beside.kind}Tokenizer, whose pattern vocab.json and merges.txt do not hold; "
            "give the pattern, or the model's tokenizer.json",
        )
    texts = None if special_tokens is None else list(special_tokens)
    imported = gpt2.read(vocab, merges, special_tokens=texts, pattern=pattern, configuration=beside)
    if beside.is_of_model and imported.original is not None:
        name = configuration.MODEL_CONFIGURATION  # Without it, the files would not mean the same.
        with open(os.path.join(folder, name), "rb") as file:
            files = {**imported.original.files, name: file.read()}
        imported = replace(imported, original=replace(imported.original, files=files))
    return Found(imported, "gpt2", (vocab, merges))


# Files ---------------------------------------------------------------------------------------------------


def _of_file(
    path: str,
    pattern: str | None,
    special_tokens: SpecialTokens | None,
    beside: Configuration | None = None,
) -> Found:
    with open(path, "rb") as file:
        beginning = file.read(1024)
        if beginning.startswith(_GGUF):
            return Found(gguf.read(path, pattern), "gguf", (path,))
        _refuse_early(path, beginning, os.fstat(file.fileno()).st_size)
        content = raw = beginning + file.read()
    if content.startswith(_GZIP):
        content = _unpacked(path, content)
    refuse_mark(path, content)
    if content[:1] != b"{" and re.match(_RANKS, content):
        imported = tiktoken.parse_published(path, content, pattern, special_tokens)
        return _kept(imported, "tiktoken", {path: raw})
    if content.startswith(b"#version") or os.path.basename(path) in ("merges.txt", "vocab.bpe"):
        return _of_merges(path, pattern, special_tokens)
    if content[:1] != b"{" and sentencepiece.is_model(content):
        return _kept(sentencepiece.parse(path, content, beside), "sentencepiece", {path: content})
    if content.lstrip()[:1] != b"{":
        _refuse_other(path, content)
    return _of_json(path, content, pattern, special_tokens)


def _kept(imported: Imported, kind: str, files: Mapping[Path, bytes]) -> Found:
    """Keep the files together with the vocabulary."""
    return Found(imported.read_from(kind, files), kind, tuple(os.fspath(path) for path in files))


def _of_json(path: str, content: bytes, pattern: str | None, special_tokens: SpecialTokens | None) -> Found:
    if (vocabulary := _persistence.vocabulary_as_written(content, path)) is not None:
        return Found(Imported(vocabulary), "bpetite", (path,))
    document, merges = parse_without_merges(path, content, "an artifact")
    if set(map(type, document.values())) == {int} and (
        len(document) >= 100 or "schema_version" not in document
    ):
        return _of_vocab(path, pattern, special_tokens)
    if "schema_version" in document:
        return Found(Imported(_persistence.vocabulary_of_document(document, path)), "bpetite", (path,))
    if isinstance(document.get("model"), dict) or "pre_tokenizer" in document:
        return _kept(huggingface.parse_document(path, document, merges), "huggingface", {path: content})
    if {"config", "vocab"} <= document.keys():
        return _kept(tekken.parse_document(path, document), "tekken", {path: content})
    if not {"bpe_ranks", "pat_str"} <= document.keys():
        _refuse_document(path, document)
    return _kept(js_tiktoken.parse_document(path, document), "js-tiktoken", {path: content})


def _of_vocab(path: str, pattern: str | None, special_tokens: SpecialTokens | None) -> Found:
    """Read a `vocab.json` with the merges beside it."""
    folder, name = os.path.split(path)
    beside = os.path.join(folder, "vocab.bpe" if name == "encoder.json" else "merges.txt")
    if not os.path.isfile(beside):
        refuse(path, f"it holds ids, but no merges, and {os.path.basename(beside)} is not beside it")
    return _of_two_files(folder or ".", path, beside, pattern, special_tokens)


def _of_merges(path: str, pattern: str | None, special_tokens: SpecialTokens | None) -> Found:
    """Read a `merges.txt` with the ids beside it."""
    folder, name = os.path.split(path)
    beside = os.path.join(folder, "encoder.json" if name == "vocab.bpe" else "vocab.json")
    if not os.path.isfile(beside):
        refuse(path, f"it holds merges, but no ids, and {os.path.basename(beside)} is not beside it")
    return _of_two_files(folder or ".", beside, path, pattern, special_tokens)


def _unpacked(path: str, content: bytes) -> bytes:
    """Unpack gzip."""
    import gzip  # Imported here, because few files are packed.
    import io
    import zlib

    most = _MOST_UNPACKED + _MOST_UNPACKED_PER_BYTE * len(content)
    try:
        with gzip.open(io.BytesIO(content)) as file:
            unpacked = file.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        refuse(path, f"broken gzip: {error}")
    if len(unpacked) > most:
        refuse(path, f"unpacked, it is more than {most} bytes, for {len(content)} packed ones")
    return unpacked


# What cannot be read -------------------------------------------------------------------------------------


def _refuse_early(path: str, beginning: bytes, size: int) -> None:
    """Refuse what the first bytes and the size show to be no tokenizer, before the rest is read."""
    refuse_mark(path, beginning)
    header = int.from_bytes(beginning[:8], "little")
    if beginning[8:9] == b"{" and header + 8 <= size:
        refuse(path, "safetensors are the weights of a model; give the folder, or the tokenizer.json in it")
    if not beginning.startswith((b"{", _GZIP)):
        _refuse_known(path, beginning)
        if b"\0" in beginning and not sentencepiece.may_begin(beginning):
            _refuse_other(path, beginning)
    if size > _MOST_READ:
        refuse(path, f"it has {size} bytes, but the file of a tokenizer at most {_MOST_READ}")


def _refuse_known(path: str, content: bytes) -> None:
    """Refuse known formats by name."""
    for beginning, what in _OTHER_FORMATS:
        if re.match(beginning, content[:1024]):
            refuse(path, what)


def _refuse_document(path: str, document: Json) -> NoReturn:
    if "added_tokens_decoder" in document or "tokenizer_class" in document:
        refuse(path, "it only configures a tokenizer; give the folder that it is in")
    if "pieces" in document or "trainer_spec" in document or "trainerSpec" in document:
        refuse(path, "a SentencePiece model as JSON cannot be read; give its .model file")
    refuse(path, "schema_version is missing, and nothing else says what kind of tokenizer this is")


def _refuse_other(path: str, content: bytes) -> NoReturn:
    """Refuse a file that is not JSON."""
    _refuse_known(path, content)
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        refuse(
            path, f"no tokenizer in any supported format (and no text: not valid UTF-8 at byte {error.start})"
        )
    parse_object(path, content, "a tokenizer's JSON")  # says what is wrong
    refuse(path, "no tokenizer in any supported format")
