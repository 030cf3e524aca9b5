"""Each argument of each public function in turn of a wrong type: the error names it."""

import inspect
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

import bpetite
from bpetite import (
    Comparison,
    Counts,
    Dialect,
    Superwords,
    TextColumn,
    Tokenizer,
    TokenMap,
    Vocabulary,
    corpus,
)
from bpetite._internal.arguments import UnknownTokenError

TEXT = "the cat sat on the mat, the cat sat on the hat"
TRAINED = Tokenizer.train(TEXT, 270)
RANKS = Tokenizer.train(TEXT, 270, dialect="tiktoken")
COUNTS = Counts.from_iterator([TEXT])
TOKENS = {byte: bytes([byte]) for byte in range(256)}
COLUMN = pyarrow.array(["ab", "cd"])
DIALECT = Dialect.named("cs336")
WRITTEN = "written"
"""A path for which a new one is put in each call."""

WRONG = [object(), {}, 3.5, b"x", None, "\0wrong", 5, ["x"], [5], {"a": 1}, True]

THREADS = {"num_threads": 1}
SPECIAL = {"special": "parse"}
AROUND: dict[str, Any] = {"add_special_tokens": False}
PUT: dict[str, Any] = {"prepend": [97], "append": [97]}
COUNTING: dict[str, Any] = {
    "pattern": "gpt2",
    "dialect": "bpetite",
    "special_tokens": ["<s>"],
    "normalization": "NFC",
}
LIMITS: dict[str, Any] = {"num_threads": 1, "memory_limit": "1GB", "progress": None}
READING: dict[str, Any] = {
    "separator": None,
    "text_field": "text",
    "text_column": "text",
    "invalid": "error",
    "input_format": "auto",
    "hold_out": None,
    "split": "train",
    "max_document": 1000,
}
MERGING: dict[str, Any] = {
    "dialect": "bpetite",
    "special_tokens": ["<s>"],
    "min_count": 1,
    "max_token_length": 10,
    "max_words": 3,
    "without": [": "],
    "whole_characters": True,
    "superwords": None,
    **LIMITS,
}
MEASURING: dict[str, Any] = {"special": "text", "num_threads": 1, "reading": corpus.Reading()}
VOCABULARY: dict[str, Any] = {
    "tokens": TOKENS,
    "merges": [],
    "special_tokens": {"<x>": 256},
    "pattern": "gpt2",
    "dialect": Dialect(),
    "whole_pretoken_first": False,
    "normalization": "NFC",
    "added_tokens": ["<x>"],
    "token_flags": {"<x>": ["lstrip"]},
    "trained_with": {},
    "merge_ids": (),
    "irregular": False,
    "decode_only": {300: b"x"},
    "provisional": [],
    "drops_space": False,
    "unknown": None,
    "equal_ranks": (),
    "drops_missing": False,
    "left_out": None,
    "spaced": False,
}


def save_original(**how: Any) -> None:
    Tokenizer.load("hf.json").save_original(**how)


Valid = tuple[Callable[..., Any], dict[str, Any]]

VALID: dict[str, Valid] = {
    "Tokenizer": (Tokenizer, {"vocabulary": TRAINED.vocabulary, "assumptions": ["x"]}),
    "Tokenizer.add_tokens": (TRAINED.add_tokens, {"tokens": ["<x>"], "special": True}),
    "Tokenizer.as_tiktoken": (TRAINED.as_tiktoken, {"name": "x"}),
    "Tokenizer.chunks": (
        TRAINED.chunks,
        {"text": "ab", "size": 3, "overlap": 0, **SPECIAL, **AROUND},
    ),
    "Tokenizer.count": (TRAINED.count, {"text": "ab", **SPECIAL, **THREADS, **AROUND}),
    "Tokenizer.count_batch": (
        TRAINED.count_batch,
        {"texts": ["ab"], **SPECIAL, **THREADS, **AROUND},
    ),
    "Tokenizer.count_column": (
        TRAINED.count_column,
        {"column": COLUMN, "nulls": "error", **SPECIAL, **THREADS},
    ),
    "Tokenizer.curve": (TRAINED.curve, {"text": "ab", "sizes": [260], **SPECIAL}),
    "Tokenizer.decode": (TRAINED.decode, {"ids": [97], "skip_special": False, "errors": "strict"}),
    "Tokenizer.decode_batch": (
        TRAINED.decode_batch,
        {"batch": [[97]], "skip_special": False, "errors": "strict", **THREADS},
    ),
    "Tokenizer.decode_bytes": (TRAINED.decode_bytes, {"ids": [97]}),
    "Tokenizer.decode_column": (
        TRAINED.decode_column,
        {"column": pyarrow.array([[97, 98]]), "errors": "strict", "nulls": "error"},
    ),
    "Tokenizer.decode_stream": (
        TRAINED.decode_stream,
        {"prompt": [97], "skip_special": False, "errors": "strict"},
    ),
    "Tokenizer.decode_streams": (
        TRAINED.decode_streams,
        {"skip_special": False, "errors": "strict"},
    ),
    "Tokenizer.encode": (TRAINED.encode, {"text": "ab", **SPECIAL, **PUT, **AROUND}),
    "Tokenizer.encode_batch": (
        TRAINED.encode_batch,
        {"texts": ["ab"], **SPECIAL, **PUT, **AROUND, **THREADS},
    ),
    "Tokenizer.encode_batch_to_numpy": (
        TRAINED.encode_batch_to_numpy,
        {"texts": ["ab"], "dtype": "uint16", **SPECIAL, **PUT, **AROUND, **THREADS},
    ),
    "Tokenizer.encode_column": (
        TRAINED.encode_column,
        {
            "column": COLUMN,
            "dtype": "uint16",
            "nulls": "error",
            **SPECIAL,
            **PUT,
            **AROUND,
            **THREADS,
        },
    ),
    "Tokenizer.encode_iterable": (TRAINED.encode_iterable, {"iterable": ["ab"], **SPECIAL}),
    "Tokenizer.encode_ordinary": (TRAINED.encode_ordinary, {"text": "ab"}),
    "Tokenizer.encode_parts": (TRAINED.encode_parts, {"parts": [("ab", "parse")]}),
    "Tokenizer.encode_parts_batch": (
        TRAINED.encode_parts_batch,
        {"batch": [[("ab", "parse")]], **THREADS},
    ),
    "Tokenizer.encode_to_numpy": (
        TRAINED.encode_to_numpy,
        {"text": "ab", "dtype": "uint16", **SPECIAL, **THREADS, **AROUND},
    ),
    "Tokenizer.encode_with_offsets": (
        TRAINED.encode_with_offsets,
        {"text": "ab", "unit": "bytes", **SPECIAL},
    ),
    "Tokenizer.extend": (
        TRAINED.extend,
        {
            "documents_or_counts": ["abab"],
            "add": 1,
            "min_count": 1,
            "max_token_length": 3,
            "max_words": 3,
            "without": [": "],
            "whole_characters": True,
            "progress": None,
            **THREADS,
        },
    ),
    "Tokenizer.fit": (
        TRAINED.fit,
        {"text": "ab", "max_tokens": 1, "side": "right", **SPECIAL, **AROUND},
    ),
    "Tokenizer.from_gpt2": (
        Tokenizer.from_gpt2,
        {"vocab_path": "vocab.json", "merges_path": "merges.txt", "special_tokens": None},
    ),
    "Tokenizer.from_huggingface": (Tokenizer.from_huggingface, {"path": "hf.json"}),
    "Tokenizer.from_tiktoken": (
        Tokenizer.from_tiktoken,
        {
            "path": "ranks.tiktoken",
            "pattern": "gpt2",
            "special_tokens": {"<x>": 400},
            "whole_pretoken_first": True,
        },
    ),
    "Tokenizer.first_difference": (TRAINED.first_difference, {"ids": [97]}),
    "Tokenizer.growing": (TRAINED.growing, {"text": "ab", **SPECIAL}),
    "Tokenizer.is_canonical": (TRAINED.is_canonical, {"ids": [97]}),
    "Tokenizer.join": (TRAINED.join, {"ids": [97], "text": "ab", **SPECIAL}),
    "Tokenizer.load": (
        Tokenizer.load,
        {
            "path_or_object": "ranks.tiktoken",
            "pattern": "gpt2",
            "special_tokens": {"<x>": 400},
            "missing": "refuse",
        },
    ),
    "Tokenizer.pretokens": (TRAINED.pretokens, {"text": "ab"}),
    "Tokenizer.repair": (TRAINED.repair, {"ids": [97]}),
    "Tokenizer.save": (TRAINED.save, {"path": WRITTEN, "overwrite": False}),
    "Tokenizer.save_folder": (
        TRAINED.save_folder,
        {
            "path": WRITTEN,
            "overwrite": False,
            "bos_token": None,
            "eos_token": None,
            "pad_token": None,
            "chat_template": None,
        },
    ),
    "Tokenizer.save_original": (save_original, {"path": WRITTEN, "overwrite": False}),
    "Tokenizer.show": (TRAINED.show, {"text": "ab", **SPECIAL, **AROUND}),
    "Tokenizer.to_gpt2": (
        TRAINED.to_gpt2,
        {"vocab_path": WRITTEN, "merges_path": WRITTEN, "overwrite": False},
    ),
    "Tokenizer.to_huggingface": (TRAINED.to_huggingface, {"path": WRITTEN, "overwrite": False}),
    "Tokenizer.to_tiktoken": (RANKS.to_tiktoken, {"path": WRITTEN, "overwrite": False}),
    "Tokenizer.to_tiktoken_encoding": (RANKS.to_tiktoken_encoding, {"name": "x"}),
    "Tokenizer.token_bytes": (TRAINED.token_bytes, {"token_id": 97}),
    "Tokenizer.token_id": (TRAINED.token_id, {"token": "a"}),
    "Tokenizer.token_to_id": (TRAINED.token_to_id, {"token": "a"}),
    "Tokenizer.tokens_with_prefix": (TRAINED.tokens_with_prefix, {"prefix": "a"}),
    "Tokenizer.transcript": (TRAINED.transcript, SPECIAL),
    "Tokenizer.train": (
        Tokenizer.train,
        {"corpus": TEXT, "vocab_size": 260, "pattern": "gpt2", "normalization": "NFC", **MERGING},
    ),
    "Tokenizer.train_from_counts": (
        Tokenizer.train_from_counts,
        {"counts": COUNTS, "vocab_size": 260, **MERGING},
    ),
    "Tokenizer.train_from_files": (
        Tokenizer.train_from_files,
        {"paths": "a.txt", "total_size": 260, **COUNTING, **MERGING, **READING},
    ),
    "Tokenizer.train_from_iterator": (
        Tokenizer.train_from_iterator,
        {"documents": [TEXT], "vocab_size": 260, **COUNTING, **MERGING},
    ),
    "Tokenizer.prune": (
        TRAINED.prune,
        {
            "documents_or_counts": ["abab"],
            "vocab_size": 258,
            "tokens": None,
            "ids": "keep",
            "progress": None,
            **THREADS,
        },
    ),
    "Tokenizer.replace": (
        TRAINED.replace,
        {
            "documents_or_counts": ["abab"],
            "number": 1,
            "min_count": 1,
            "max_token_length": 3,
            "progress": None,
            **THREADS,
        },
    ),
    "Tokenizer.truncate": (TRAINED.truncate, {"vocab_size": 260}),
    "Tokenizer.with_memory": (TRAINED.with_memory, {"memory": "1MiB"}),
    "Counts": (Counts, COUNTING),
    "Counts.from_files": (Counts.from_files, {"paths": "a.txt", **COUNTING, **LIMITS, **READING}),
    "Counts.from_iterator": (Counts.from_iterator, {"documents": ["ab"], **COUNTING, **LIMITS}),
    "Counts.limit_memory": (COUNTS.empty().limit_memory, {"size": "1GB"}),
    "Counts.load": (
        Counts.load,
        {"path": "a.counts", "min_count": 1, "memory_limit": "1GB", "progress": None},
    ),
    "Counts.merge": (Counts.merge, {"parts": [COUNTS], "memory_limit": "1GB"}),
    "Counts.save": (COUNTS.save, {"path": WRITTEN, "overwrite": False, **THREADS}),
    "Counts.weighted": (COUNTS.weighted, {"weight": 2, "source": "x"}),
    "Superwords": (
        Superwords,
        {"at": 300, "pattern": "superwords", "max_words": 4, "without": [": "], "counts": None},
    ),
    "Vocabulary": (Vocabulary, VOCABULARY),
    "Vocabulary.extended": (TRAINED.vocabulary.extended, {"ids": range(256), "rows": []}),
    "Vocabulary.from_merges": (
        Vocabulary.from_merges,
        {
            "merges": [(97, 98, 256)],
            "dialect": DIALECT,
            "special_tokens": ["<x>"],
            "pattern": "gpt2",
            "trained_with": None,
            "normalization": None,
        },
    ),
    "Vocabulary.of_arrays": (Vocabulary.of_arrays, {"arrays": TRAINED.vocabulary.arrays}),
    "Vocabulary.truncate": (TRAINED.vocabulary.truncate, {"vocab_size": 260}),
    "Vocabulary.with_tokens": (
        TRAINED.vocabulary.with_tokens,
        {"texts": ["<x>"], "special": True, "ids": None},
    ),
    "Dialect": (Dialect, DIALECT.to_dict()),
    "Dialect.base_vocabulary": (DIALECT.base_vocabulary, {"special_count": 1}),
    "Dialect.boundaries": (DIALECT.boundaries, {"special_tokens": ["<x>"]}),
    "Dialect.first_merge_id": (DIALECT.first_merge_id, {"special_count": 1}),
    "Dialect.named": (Dialect.named, {"name": "cs336"}),
    "Dialect.planned_tokens": (DIALECT.planned_tokens, {"vocab_size": 500, "special_count": 1}),
    "Dialect.replace": (DIALECT.replace, DIALECT.to_dict()),
    "Dialect.special_token_ids": (
        DIALECT.special_token_ids,
        {"special_tokens": ["<x>"], "mergeable_vocab_size": 300},
    ),
    "accelerate": (bpetite.accelerate, {"tokenizer": TRAINED.as_huggingface()}),
    "shared": (bpetite.shared, {"a": TRAINED, "b": TRAINED}),
    "compare": (bpetite.compare, {"tokenizer": TRAINED, "text": "ab", **SPECIAL}),
    "explain_difference": (
        bpetite.explain_difference,
        {
            "corpus": TEXT,
            "merges": [(b"a", b"t")],
            "dialect": "cs336",
            "pattern": "gpt2",
            "special_tokens": ["<s>"],
            "texts": ["ab"],
        },
    ),
    "Comparison": (Comparison, {"text": "ab", "shown": {"a": TRAINED.show("ab")}}),
    "TokenMap": (TokenMap, {"ids": {0: 0}, "parts": {1: [0]}}),
    "TextColumn": (TextColumn, {"column": COLUMN, "nulls": None}),
    "corpus.Documents": (corpus.Documents, {"documents": ["ab"], "name": "documents"}),
    "corpus.Options": (
        corpus.Options,
        {
            "format": "npy",
            "dtype": "auto",
            "shard_size": 100,
            "special": "text",
            "reading": corpus.Reading(),
        },
    ),
    "corpus.Reading": (corpus.Reading, READING),
    "corpus.compare": (
        corpus.compare,
        {"tokenizers": {"a": TRAINED}, "texts": "a.txt", "progress": None, **MEASURING},
    ),
    "corpus.count_tokens": (
        corpus.count_tokens,
        {"tokenizer": TRAINED, "texts": "a.txt", **AROUND, **MEASURING},
    ),
    "corpus.encode": (
        corpus.encode,
        {
            "tokenizer": TRAINED,
            "corpus": "a.txt",
            "output": WRITTEN,
            "options": None,
            "resume": False,
            "overwrite": False,
            "progress": None,
            **THREADS,
        },
    ),
    "corpus.encode_column": (
        corpus.encode_column,
        {
            "tokenizer": TRAINED,
            "source": "a.parquet",
            "output": WRITTEN,
            "column": "text",
            "ids_column": "ids",
            "special": "text",
            "dtype": "uint32",
            "append_special": None,
            "nulls": "error",
            "overwrite": False,
            "progress": None,
            **THREADS,
        },
    ),
    "corpus.is_held_out": (corpus.is_held_out, {"document": "x", "share": 0.5}),
    "corpus.stats": (
        corpus.stats,
        {"tokenizer": TRAINED, "texts": "a.txt", "progress": None, **MEASURING},
    ),
    "corpus.verify": (
        corpus.verify,
        {"folder": "shards", "samples": 1, "inputs": False, "progress": None},
    ),
}
"""A valid call of every public function that takes arguments."""

VALUES = {"Difference", "corpus.EncodedColumn", "corpus.TokenCount"}
"""What functions return: nobody makes them."""

OTHER_WORDS = {
    "added_tokens": "added token",
    "batch": r"\bids|\bpart",
    "corpus": "paths",
    "documents_or_counts": "documents",
    "iterable": "text",
    "memory_limit": "the limit is",
    "merge_ids": "merges",
    "name": "dialect",
    "parts": "part |counts to merge",
    "path_or_object": "a tokenizer is a path",
    "prompt": r"\bids",
    "special_tokens": "added token|is given twice|the base tokens lack",
    "decode_only": "ids must be",
    "tokens": "ids must be",
    "texts": "paths",
    "token_id": r"\bids",
    "tokenizers": "tokenizer must be",
    "merges": r"\bmerge \d",
}
"""What an error says in place of an argument's name, such as the name of what is in it."""


def public_functions() -> Iterator[str]:
    """Yield the name of each public function and method that takes arguments."""
    for prefix, module in (("", bpetite), ("corpus.", corpus)):
        for name in module.__all__:
            value = getattr(module, name)
            if callable(value) and inspect.signature(value).parameters:
                yield prefix + name
    for kind in (Tokenizer, Counts, Vocabulary, Dialect):
        for name, method in inspect.getmembers(kind, callable):
            parameters = (
                {*inspect.signature(method).parameters} - {"self"} if name[0] != "_" else set()
            )
            if parameters:
                yield f"{kind.__name__}.{name}"


def test_every_public_function_is_in_the_table() -> None:
    assert {*public_functions()} == VALID.keys() | VALUES


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(TEXT)
    COUNTS.save("a.counts")
    TRAINED.to_huggingface("hf.json")
    TRAINED.to_gpt2("vocab.json", "merges.txt")
    RANKS.to_tiktoken("ranks.tiktoken")
    pyarrow.parquet.write_table(pyarrow.table({"text": ["ab"]}), "a.parquet")
    corpus.encode(TRAINED, "a.txt", "shards")
    return tmp_path


class Calls:
    """Calls a function, each time with new names for what it writes."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._written = 0

    def __call__(self, arguments: dict[str, Any]) -> None:
        arguments = dict(arguments)
        for name, value in arguments.items():
            if value is WRITTEN:
                self._written += 1
                arguments[name] = f"{WRITTEN}-{self._written}"
        result = self._function(**arguments)
        if inspect.isgenerator(result):
            list(result)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", VALID)
def test_an_argument_of_a_wrong_type_is_refused_by_its_name(name: str, folder: Path) -> None:
    """Values that are of the right type by chance may be taken."""
    function, arguments = VALID[name]
    call = Calls(function)
    call(arguments)
    for argument in arguments:
        for wrong in WRONG:
            try:
                call(arguments | {argument: wrong})
            except (TypeError, ValueError, OSError, MemoryError, UnknownTokenError) as refused:
                _check_named(refused, argument, wrong)


def _check_named(refused: Exception, argument: str, wrong: object) -> None:
    message = str(refused)
    by_name = re.search(f"{argument}|{OTHER_WORDS.get(argument, argument)}", message)
    values = [wrong, *wrong] if isinstance(wrong, list | dict) else [wrong]
    if isinstance(wrong, bytes):  # as the name of a file
        values.append(os.fsdecode(wrong))
    by_value = any(repr(value) in message or str(value) in message for value in values)
    assert by_name or by_value, f"{argument}={wrong!r}: {message}"
