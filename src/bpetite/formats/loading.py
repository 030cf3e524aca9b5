"""A path or an object of another library in, a vocabulary out, for every supported format.

A file is recognised by its content, not by its name. Of several files in a folder, the most
specific one is read, and the assumptions say which. Other known formats are refused by name.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, NamedTuple

from bpetite import _persistence
from bpetite._constants import Pattern
from bpetite._engine import read_pattern, same_pattern
from bpetite._internal.arguments import check_word
from bpetite._internal.files import contents, read_whole
from bpetite._internal.json import (
    decoded,
    naming,
    parse_object,
    parse_with_lists,
    refuse,
    refuse_mark,
)
from bpetite._internal.types import AnyPath, SpecialTokens
from bpetite.formats.shared import configuration
from bpetite.formats.shared.configuration import Configuration
from bpetite.formats.shared.imported import Imported, Missing, Original, read_files, some
from bpetite.patterns import checked_pattern, named_pattern
from bpetite.vocabulary import MARK, Arrays, Vocabulary

_TWO_FILES = (
    ("vocab.json", "merges.txt"),
    ("encoder.json", "vocab.bpe"),
    ("vocabulary.json", "merges.txt"),
    ("vocab.json", "merges.json"),
)
"""The names of GPT-2's two files, of KerasHub's, and of courses'."""

FOLDER_FILES: tuple[tuple[str, ...], ...] = (
    ("bpetite.json",),
    ("tokenizer.json",),
    ("tekken.json",),
    *_TWO_FILES,
    ("tiktoken.model",),
    ("tokenizer.model",),
    ("spiece.model",),
    ("sentencepiece.model",),
    ("sentencepiece.bpe.model",),
    ("source.spm",),
    ("vocab.txt",),
)
"""The files that are searched in a folder, the most specific first."""

ANY_FORMAT = (
    "an artifact, tokenizer.json, files of tiktoken, GPT-2 or SentencePiece, tekken.json, GGUF, "
    "or a folder"
)
"""The models that can be read, in words."""

_MORE_TEMPLATES = "additional_chat_templates"
_OF_TOKENIZERS = (
    r"tokenizer.*\.(?:json|model|txt)|tokenization_.*\.py|tekken\.json|[^/]*\.tiktoken|tiktoken\.model"
    r"|(?:vocab|vocabulary|merges|encoder|added_tokens|special_tokens_map|normalizer)\.json|(?:merges|vocab)\.txt|vocab\.bpe"
    rf"|(?:spiece|sentencepiece.*)\.model|chat_template.*|{_MORE_TEMPLATES}/.*"
)
"""The names of files that belong to a tokenizer, not to its model."""

_LISTED = rb"\{\s*\"[0-9]+\"\s*:\s*[\[\"]"
"""How a vocabulary begins that lists tokens by their ids."""

_RANKS = rb"[A-Za-z0-9+/]+={0,2} [0-9]+\r?(?:\n|\Z)"
_NO_BPE = "vocabulary cannot be read; only byte-level BPE can"
_OTHER_FORMATS = (
    (rb"\[(?:PAD|UNK|unused0)\]\r?\n", f"a WordPiece {_NO_BPE}"),
    (rb"""[0-9]+ b?['"].*['"] [0-9]+\r?\n""", f"an RWKV {_NO_BPE}"),
    (rb'"(?:bpe_simple_vocab|#version)', f"a CLIP {_NO_BPE}"),
    (
        rb'"?\{\s*\\?"class_name\\?":\s*\\?"(?:Tokenizer|TextVectorization)',
        f"it is a Tokenizer of Keras, whose tokens are words: its {_NO_BPE}",
    ),
    (
        rb"(?s:....)(?s:....)\x05\0\0\0<unk>",
        "it is a tokenizer.bin of llama2.c, which lacks merges; give the tokenizer.model that it was made of",
    ),
    (
        rb"\x80[\x02-\x05]",
        "a pickle, as nanochat and rustbpe use it, is not read, as it could run any code; if you trust it, "
        "unpickle it yourself and load the object",
    ),
    (
        rb"(?s:......\0\0\{)",
        "safetensors are the weights of a model; give its folder, or its tokenizer.json",
    ),
    (rb"\x1f\x8b", "it is compressed by gzip, perhaps a corpus; uncompress it if it is a model"),
    (
        rb"PAR1|ARROW1",
        f"it is a table of Parquet or Arrow, such as a corpus or counts; a model is {ANY_FORMAT}",
    ),
    (
        rb"\x28\xb5\x2f\xfd",
        "it is compressed by zstd, perhaps a corpus; uncompress it if it is a model",
    ),
    (rb"bpetite counts\n", "it is a file of counts; train a tokenizer on it"),
    (rb"\x93NUMPY", f"it is an array of NumPy, such as ids; a model is {ANY_FORMAT}"),
    (rb"\{[^\n]*\}\r?\n\s*\{", f"it looks like JSON lines, a corpus; a model is {ANY_FORMAT}"),
    (
        rb"PK\x03\x04",
        "an archive (zip), such as the weights of PyTorch; give the file of the tokenizer",
    ),
    (
        rb"version https://git-lfs",
        "it is a Git LFS pointer, not the file itself; git lfs pull downloads the file",
    ),
    (
        rb"\s*<(?i:!doctype html|html)",
        "it is a web page, perhaps saved in place of a tokenizer's file",
    ),
)
"""How files of other formats begin, and what they are."""

_ENDINGS = (".json", ".model", ".gguf", ".tiktoken", ".txt", ".bpe", ".spm")
"""The endings of files, not of models' names."""


class _Given(NamedTuple):
    """What is known beside a file."""

    pattern: Pattern | None
    special_tokens: SpecialTokens | None


def load(
    source: object,
    pattern: Pattern | None = None,
    special_tokens: SpecialTokens | None = None,
    missing: Missing = "refuse",
    *,
    must_agree: bool = True,
) -> Imported:
    """Load a tokenizer.

    A given pattern and special tokens are used if the source lacks them; otherwise they must be the
    same, or with `must_agree=False` are ignored. With `missing="drop"`, bytes without a token are
    left out, if the tokenizer's own library does that.
    """
    check_word("missing", missing, ("refuse", "drop"))
    if isinstance(source, str | os.PathLike):
        name = os.fspath(source)
        read = _of_path if _is_path(name) else _of_name
        imported = read(name, _Given(pattern, special_tokens))
    else:
        name = type(source).__name__
        imported = _of_object(source)
    with naming(name):
        if missing == "drop":
            imported = imported.dropping()
        if must_agree:
            check_given(imported.vocabulary, pattern, special_tokens)
    return imported


def _is_path(name: str) -> bool:
    """Whether a word is a path: there is something, or it has the ending of a file."""
    return os.path.lexists(name) or name.endswith(_ENDINGS)


def _of_path(path: str, given: _Given) -> Imported:
    read = _of_folder if os.path.isdir(path) else _of_file
    return read(path, given)


def _of_name(name: str, given: _Given) -> Imported:
    """Read what the name of an encoding or of a model means from the caches of tiktoken and the Hub.

    If it is not there, the error says what to do; a word that is no such name is a missing file.
    """
    from bpetite.formats.shared import caches
    from bpetite.formats.shared.published import encoding_called

    encoding = encoding_called(name)
    if encoding is not None:
        from bpetite.formats.tiktoken import published_encoding

        published = published_encoding(encoding, caches.tiktoken_cache())
        if published is not None:
            return published
    folder = caches.snapshot(name)
    if folder is not None:
        with suppress(FileNotFoundError):  # Only other files of the model were fetched.
            imported = _of_folder(folder, given)
            cached = f"it is read from the cache of the Hugging Face Hub, {folder}"
            return imported._replace(assumed=[cached, *imported.assumed])
    advice = caches.advice(name)
    if advice:
        raise FileNotFoundError(f"{name}: no such file or folder; {advice}")
    return _of_file(name, given)


def check_given(
    vocabulary: Vocabulary, pattern: Pattern | None, specials: SpecialTokens | None
) -> None:
    """Refuse a given pattern or special token that a vocabulary contradicts."""
    if pattern is not None and not _is_called(vocabulary.pattern, pattern):
        raise ValueError(f"its pattern is {vocabulary.pattern}, not {checked_pattern(pattern)}")
    for text in specials or ():
        actual = vocabulary.special_tokens.get(text)
        wanted = specials[text] if isinstance(specials, Mapping) else actual
        if actual is None:
            raise ValueError(f"{text!r} is not a special token there")
        if wanted != actual:
            raise ValueError(f"special token {text!r} has id {actual} there, not {wanted}")


def _is_called(pattern: Pattern, given: Pattern) -> bool:
    """Whether a pattern is the given one: by its name, or in the syntax of any engine."""
    given = named_pattern(given)
    if not isinstance(given, str) or not isinstance(pattern, str) or given == pattern:
        return bool(given == pattern)
    for syntax in ("bpetite", "rust", "oniguruma"):
        with suppress(ValueError):
            if same_pattern(read_pattern(given, syntax), pattern):
                return True
    return False


# Folders
# -----------------------------------------------------------------------------------------------


def _of_folder(folder: str, given: _Given) -> Imported:
    names = []
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        # Opening a pipe would wait for a writer.
        if os.path.isfile(path) or os.path.isdir(path):
            names.append(name)
    files, other_files = _chosen_files(folder, names)
    first, *second = [os.path.join(folder, name) for name in files]
    assumptions = []
    if other_files:
        are = "are" if second else "is"
        chosen = f"of the folder, {' and '.join(files)} {are} read"
        assumptions.append(f"{chosen}, not {', '.join(other_files)}")
    if second:
        imported = _of_two_files(first, second[0], given)
    else:
        beside = configuration.read_configuration(folder)
        imported = _of_file(first, given)
        assumptions += _not_looked_for(imported.vocabulary, beside)
    imported = imported._replace(assumed=[*assumptions, *imported.assumed])
    original = imported.original
    if original is not None and original.files:
        imported = imported._replace(original=_with_folder(original, folder, names))
    return imported


def _chosen_files(folder: str, names: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """Choose the file or the two files to read; return them, and those that might also have been read."""
    other: list[tuple[str, ...]] = []
    for name in names:
        if name.endswith((".tiktoken", ".gguf")):
            other.append((name,))
        pairs = [(name, merges) for merges in _names_of_other(name, "merges") if merges in names]
        other += [pair for pair in pairs if pair not in FOLDER_FILES]
    by_name = [files for files in FOLDER_FILES if set(files) <= set(names)]
    if not by_name and len(other) != 1:
        problem = f"none of {_in_words(FOLDER_FILES)} is in this folder"
        if other:
            problem += f"; there are several others, give one of them: {_in_words(other)}"
        raise FileNotFoundError(f"{folder}: {problem}")
    chosen, *others = by_name + other
    return chosen, list(chain.from_iterable(others))


def _in_words(candidates: Sequence[tuple[str, ...]]) -> str:
    return ", ".join(" and ".join(files) for files in candidates)


def _not_looked_for(vocabulary: Vocabulary, beside: Configuration) -> list[str]:
    """Say which tokens of a configuration the tokenizer's own file lacks, or gives another id."""
    specials = vocabulary.special_tokens
    lacking = [text for text, token_id in beside.ids.items() if specials.get(text) != token_id]
    if not lacking:
        return []
    differ = "the files next to it name tokens that the file itself lacks or gives other ids"
    return [f"{differ}: {some(lacking)}; transformers may use them, bpetite does not"]


def _with_folder(original: Original, folder: str, names: Sequence[str]) -> Original:
    """Keep all files of the tokenizer in a folder."""
    names = list(names)
    templates = os.path.join(folder, _MORE_TEMPLATES)
    if _MORE_TEMPLATES in names and os.path.isdir(templates):
        names += [f"{_MORE_TEMPLATES}/{name}" for name in sorted(os.listdir(templates))]
    files = dict(original.files)
    left_behind = []
    for name in names:
        path = os.path.join(folder, name)
        if name in files or not os.path.isfile(path):
            continue
        if re.fullmatch(_OF_TOKENIZERS, name) and os.path.getsize(path) <= configuration.LARGEST:
            files[name] = contents(path)
        else:
            left_behind.append(name)
    return original._replace(files=files, is_folder=True, left_behind=tuple(left_behind))


def _of_two_files(vocab: str, merges: str, given: _Given) -> Imported:
    """Read GPT-2's two files; files of the same names of another model are refused, if that is known."""
    from bpetite.formats import gpt2

    folder = os.path.dirname(vocab) or "."
    beside = configuration.read_configuration(folder)
    if given.pattern is None and beside.kind not in (None, "CLIP", *configuration.DEFAULTS):
        refuse(
            folder,
            f"it is of a {beside.kind}Tokenizer, whose pattern vocab.json and merges.txt do not hold; "
            "give the pattern, or the model's tokenizer.json",
        )
    texts = None if given.special_tokens is None else list(given.special_tokens)
    listed = _of_listed_pair(vocab, merges, given)
    if listed is not None:
        return listed
    is_completed = beside.kind in gpt2.COMPLETED
    if beside.kind is None:
        is_completed = given.pattern is None and MARK.encode("utf-8") in contents(merges)
    if is_completed:
        return _of_completed(vocab, merges, beside, texts)
    imported = read_files("gpt2", gpt2.parse, [vocab, merges], texts, given.pattern, beside)
    original = imported.original
    if beside.is_of_model and original is not None:
        name = configuration.MODEL_CONFIGURATION  # Without it, the files would not mean the same.
        files = {**original.files, name: contents(os.path.join(folder, name))}
        imported = imported._replace(original=original._replace(files=files))
    return imported


def load_pair(vocab: str, merges: str, special_tokens: Sequence[str] | None) -> Imported:
    """Read two files regardless of their names and of the files next to them."""
    from bpetite.formats import gpt2

    listed = _of_listed_pair(vocab, merges, _Given(None, special_tokens))
    return listed or read_files("gpt2", gpt2.parse, [vocab, merges], special_tokens)


def _of_listed_pair(vocab: str, merges: str, given: _Given) -> Imported | None:
    """Read two files of no library; None if they are GPT-2's."""
    content = contents(vocab)
    is_json = merges.endswith(".json")
    if not is_json and not re.match(_LISTED, content):
        return None
    pairs = contents(merges)
    if not is_json:
        import json

        pairs = json.dumps(decoded(merges, pairs)).encode("ascii")
    return _of_listed(vocab, b'{"vocab": %b, "merges": %b}' % (content, pairs), given)


# Files
# -------------------------------------------------------------------------------------------------


def _of_file(path: str, given: _Given) -> Imported:
    with open(path, "rb") as file:
        beginning = file.read(1024)
        if beginning.startswith(b"GGUF"):
            from bpetite.formats import gguf

            with naming(path):
                return gguf.read(path, given.pattern)
        refuse_mark(path, beginning)
        for pattern, what in _OTHER_FORMATS:
            if re.match(pattern, beginning):
                refuse(path, what)
        read = _reader(path, beginning)
        content = read_whole(file, path, beginning)
        return read(path, content, given)


def _reader(path: str, beginning: bytes) -> Callable[[str, bytes, _Given], Imported]:
    """Return what reads a file that begins so: JSON, ranks, merges, or a message of SentencePiece."""
    if re.match(_RANKS, beginning):
        return _of_ranks
    if beginning.startswith(b"minbpe v1"):
        from bpetite.formats import minbpe

        return lambda path, content, _: minbpe.parse(path, content)
    has_name_of_merges = path.endswith(("merges.txt", "vocab.bpe", "merges.json"))
    has_ids_next_to_it = _next_to(path, _names_of_other(os.path.basename(path), "ids"))
    if has_name_of_merges or has_ids_next_to_it or _are_merges(beginning):
        return lambda path, _, given: _of_one_of_two(path, "merges", "ids", given)
    if beginning.lstrip()[:1] in (b"{", b"[", b""):
        return _of_json
    from bpetite.formats import sentencepiece

    if not sentencepiece.may_begin(beginning):
        looks = "plain text, perhaps a corpus"
        if not _is_text(beginning):
            looks = "neither text in UTF-8 nor a known format"
        begins = f"it begins with {beginning[:24]!r}, unlike any file of a tokenizer"
        refuse(path, f"{begins}: it is {looks}; a model is {ANY_FORMAT}")
    return _of_pieces


def _is_text(beginning: bytes) -> bool:
    """Whether a file begins with text in UTF-8; the beginning may end within a character."""
    text = beginning.decode("utf-8", "replace").removesuffix("\ufffd")
    return "\ufffd" not in text and all(letter.isprintable() or letter.isspace() for letter in text)


def _are_merges(beginning: bytes) -> bool:
    """Whether a file begins as `merges.txt` does: with a version, or with pairs, of which the first is of two
    characters and later ones have parts that earlier ones make."""
    if beginning.startswith(b"#version"):
        return True
    *lines, _ = beginning.decode("utf-8", "replace").splitlines() or [""]
    pairs = [line.split(" ") for line in lines]
    if not pairs or any(len(pair) != 2 or not all(pair) for pair in pairs):
        return False
    if len(set(map(tuple, pairs))) < len(pairs):
        return False
    merged: set[str] = set()
    for left, right in pairs:
        longer_parts = {part for part in (left, right) if len(part) > 1}
        if not longer_parts <= merged:
            return False
        merged.add(left + right)
    return True


def _of_ranks(path: str, content: bytes, given: _Given) -> Imported:
    from bpetite.formats import tiktoken

    beside = configuration.read_configuration(os.path.dirname(path))
    ranks = tiktoken.parse_published(path, content, *given, beside.ids)
    template = beside.template(ranks.vocabulary.special_tokens)
    return ranks._replace(template=template).read_from("tiktoken", {path: content})


def _of_pieces(path: str, content: bytes, _: _Given) -> Imported:
    """Read a SentencePiece model; one whose pieces have other ids by the files beside it is refused."""
    from bpetite.formats import sentencepiece

    beside = configuration.read_configuration(os.path.dirname(path))
    if beside.kind in configuration.SHIFTED:
        kind = f"{beside.kind}Tokenizer, which numbers the pieces anew"
        refuse(path, f"the files next to it are of a {kind}; it cannot be read")
    with naming(path):
        return sentencepiece.parse(content, beside).read_from("sentencepiece", {path: content})


def _of_json(path: str, content: bytes, given: _Given) -> Imported:
    document = parse_with_lists(path, content, "a tokenizer's JSON")
    keys = document.keys()
    has_version = "schema_version" in keys
    if keys and all(re.fullmatch(r"\(?[0-9]+, ?[0-9]+\)?", key) for key in keys):
        return _of_listed(path, b'{"merges": %b}' % content, given)
    has_only_ids = set(map(type, document.values())) == {int}
    is_vocabulary = has_only_ids or re.match(_LISTED, content) is not None
    if is_vocabulary and (len(document) >= 100 or not has_version):
        return _of_one_of_two(path, "ids", "merges", given)
    if has_version or "mergeable_vocab_size" in keys:
        return Imported(_persistence.vocabulary_of_document(document, path), is_own=True)
    from bpetite.formats import huggingface, tekken

    with naming(path):
        if isinstance(document.get("model"), dict) or "pre_tokenizer" in keys:
            return huggingface.parse_document(document).read_from("huggingface", {path: content})
        if {"config", "vocab"} <= keys:
            return tekken.parse_document(document).read_from("tekken", {path: content})
        if "added_tokens_decoder" in keys or "tokenizer_class" in keys:
            raise ValueError("it only configures a tokenizer; give the folder that it is in")
        if "miditok_version" in keys or {"tokenization", "config"} <= keys:
            raise ValueError("it is a tokenizer of MidiTok, for music: its tokens are not text")
        if "merges" in keys and "dialect" not in keys:
            return _of_listed(path, content, given)
        if {"class_name", "config"} <= keys:
            raise ValueError(
                f"it only configures {document['class_name']!r:.80} of Keras; give the folder of its "
                "vocabulary.json and merges.txt, which is assets/tokenizer"
            )
        listed_keys = f"its keys are {some(keys)}" if keys else "it has no keys"
        raise ValueError(
            "schema_version is missing, and nothing else says what kind of tokenizer this is: "
            f"{listed_keys}; a model is {ANY_FORMAT}"
        )


def _of_completed(
    vocab: str, merges: str, beside: Configuration, special_tokens: list[str] | None
) -> Imported:
    """Read two files with what their class adds to them, as the `tokenizer.json` that it makes."""
    import json

    from bpetite.formats import gpt2, huggingface

    named = beside.tokens
    if special_tokens is not None:
        named = dict.fromkeys(special_tokens, configuration.NamedToken())
    library, parts = gpt2.COMPLETED[beside.kind]
    if beside.puts_space and beside.kind == "Qwen2":
        refuse(vocab, "add_prefix_space is on, which is read only from the model's tokenizer.json")
    files = (vocab, contents(vocab), merges, contents(merges))
    document = gpt2.completed_document(*files, named, beside.unknown or "<unk>", parts)
    with naming(vocab):
        imported = huggingface.parse_document(document)
    specials = imported.vocabulary.special_tokens
    how = (
        f"the files do not say how text is cut: it is done as {library} does; "
        f"special tokens: {some(specials) or 'none'}"
    )
    content = json.dumps(document, ensure_ascii=False).encode("utf-8")
    imported = imported._replace(
        assumed=[how, *imported.assumed], template=beside.template(specials)
    )
    return imported.read_from("huggingface", {"tokenizer.json": content})


def _of_listed(path: str, content: bytes, given: _Given) -> Imported:
    """Read a JSON of no library that has tokens and merges."""
    from bpetite.formats import gpt2, listed

    with naming(path):
        vocab, merges, specials, pattern = listed.read(parse_object(path, content, "a tokenizer"))
    texts = specials if given.special_tokens is None else list(given.special_tokens)
    imported = gpt2.parse(path, vocab, path, merges, texts, pattern or given.pattern)
    how = "the file is of no library: it is read as the tokens and merges of BPE over bytes"
    files: dict[AnyPath, bytes] = {"vocab.json": vocab, "merges.txt": merges}
    return imported._replace(assumed=[how, *imported.assumed]).read_from("gpt2", files)


def _of_one_of_two(path: str, held: str, lacking: str, given: _Given) -> Imported:
    """Read one of GPT-2's two files with the other one beside it."""
    names = _names_of_other(os.path.basename(path), lacking)
    names = names or ["merges.txt" if lacking == "merges" else "vocab.json"]
    others = _next_to(path, names)
    if not others:
        refuse(path, f"it holds {held}, but no {lacking}, and {names[0]} is not next to it")
    paths = {held: path, lacking: others[0]}
    return _of_two_files(paths["ids"], paths["merges"], given)


def _next_to(path: str, names: Iterable[str]) -> list[str]:
    """Return the paths of those files that exist next to a file."""
    paths = [os.path.join(os.path.dirname(path), name) for name in names]
    return list(filter(os.path.isfile, paths))


def _names_of_other(name: str, lacking: str) -> list[str]:
    """Return the names that GPT-2's other file may have; both may have the same words before and after.

    >>> _names_of_other("en-vocab.json", "merges"), _names_of_other("vocab.bpe", "ids")
    (['en-merges.txt', 'en-merges.json'], ['encoder.json'])
    >>> _names_of_other("merges_owt.txt", "ids")
    ['vocab_owt.json', 'vocabulary_owt.json']
    """
    names = []
    for of_ids, of_merges in _TWO_FILES:
        present, other = (of_ids, of_merges) if lacking == "merges" else (of_merges, of_ids)
        word, ending = os.path.splitext(present)
        match = re.fullmatch(rf"(.*){word}((?:[^A-Za-z].*)?){re.escape(ending)}", name)
        if match:
            other_word, other_ending = os.path.splitext(other)
            names.append(match[1] + other_word + match[2] + other_ending)
    return names


# Objects of other libraries
# ----------------------------------------------------------------------------


def _of_object(tokenizer: Any) -> Imported:
    """Read a `tiktoken.Encoding`, a `tokenizers.Tokenizer` or a tokenizer of transformers."""
    from bpetite.formats import huggingface

    vocabulary = getattr(tokenizer, "_vocabulary", None)
    if isinstance(vocabulary, Vocabulary):
        return Imported(vocabulary, is_own=True)  # what `as_tiktoken` gives
    if hasattr(tokenizer, "_mergeable_ranks"):
        return _of_tiktoken(tokenizer)
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if type(backend).__module__.partition(".")[0] == "tokenizers":
        from bpetite.formats.shared.peers import tokenizers_library

        tokenizers_library()
    elif not hasattr(backend, "to_str"):
        raise TypeError(
            f"a tokenizer is a path, or an object of tiktoken, tokenizers or transformers, not "
            f"{type(tokenizer).__name__}; save one of another library and load what it wrote"
        )
    content = backend.to_str().encode("utf-8")
    return huggingface.parse("the tokenizer", content).read_from(
        "huggingface", {"tokenizer.json": content}
    )


def _of_tiktoken(encoding: Any) -> Imported:
    from bpetite.formats import tiktoken

    with naming(f"tiktoken's {encoding.name}"):
        ranks = sorted((rank, token) for token, rank in encoding._mergeable_ranks.items())
        arrays = Arrays.of(dict(ranks))
        specials = encoding._special_tokens
        return Imported(tiktoken.vocabulary_of_ranks(arrays, encoding._pat_str, specials))
