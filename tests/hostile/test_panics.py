"""A panic in a callback or an iterator ends the call with that exception: no thread waits for another.

`pyo3_runtime.PanicException` is what a panic of the engine is for Python. Raised by code of the
caller, it unwinds the engine as a panic of its own does. Another extension has an exception of the
same name, which is only a `BaseException`.
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import bpetite
import bpetite.corpus
import bpetite.cs336
import bpetite.interfaces.huggingface
import bpetite.symbols

LIMIT = 240
"""Seconds for all calls, which take a few; one that takes a quarter of it is ended with its stack."""

FOREIGN = re.compile(r"\b(Corpus|Iterable|Iterator|Callable|Progress|Ids|Texts|Column|Write)\b")
"""The types of what belongs to the caller and is called or iterated by us."""

# `source(items)` yields the items, and panics once; `callback` panics once. `n` is the number of
# threads.
CALLS = {
    "bpetite.Counts.from_files paths": "Counts.from_files(source([FILE] * 9), num_threads=n)",
    "bpetite.Counts.from_files progress": "Counts.from_files([FILE] * 9, num_threads=n, progress=callback)",
    "bpetite.Counts.from_iterator documents": "Counts.from_iterator(source(TEXTS), num_threads=n)",
    "bpetite.Counts.from_iterator progress": "Counts.from_iterator(TEXTS, num_threads=n, progress=callback)",
    "bpetite.Counts.merge parts": "Counts.merge(source([COUNTS] * 9))",
    "bpetite.Counts.load progress": "Counts.load(COUNTED, progress=callback)",
    "bpetite.Tokenizer.__init__ assumptions": "Tokenizer(TOKENIZER.vocabulary, source(['a'] * 9))",
    "bpetite.Tokenizer.train_from_files paths": (
        "Tokenizer.train_from_files(source([FILE] * 9), 300, num_threads=n)"
    ),
    "bpetite.Tokenizer.train_from_files progress": (
        "Tokenizer.train_from_files([FILE] * 9, 300, num_threads=n, progress=callback)"
    ),
    "bpetite.Tokenizer.train_from_iterator documents": (
        "Tokenizer.train_from_iterator(source(TEXTS), 300, num_threads=n)"
    ),
    "bpetite.Tokenizer.train_from_iterator progress": (
        "Tokenizer.train_from_iterator(TEXTS, 300, num_threads=n, progress=callback)"
    ),
    "bpetite.Tokenizer.train progress": "Tokenizer.train(TEXTS[0], 300, num_threads=n, progress=callback)",
    "bpetite.Tokenizer.train_from_counts progress": (
        "Tokenizer.train_from_counts(COUNTS, 300, num_threads=n, progress=callback)"
    ),
    "bpetite.Tokenizer.extend documents_or_counts": "TOKENIZER.extend(source(TEXTS), 9, num_threads=n)",
    "bpetite.Tokenizer.extend progress": "TOKENIZER.extend(COUNTS, 9, num_threads=n, progress=callback)",
    "bpetite.Tokenizer.prune documents_or_counts": "TOKENIZER.prune(source(TEXTS), 290, num_threads=n)",
    "bpetite.Tokenizer.prune tokens": (
        "TOKENIZER.prune(tokens=source(TOKENIZER.vocabulary.merge_ids[-9:]))"
    ),
    "bpetite.Tokenizer.prune progress": "TOKENIZER.prune(TEXTS, 290, num_threads=n, progress=callback)",
    "bpetite.Tokenizer.replace documents_or_counts": (
        "TOKENIZER.replace(source(TEXTS), 9, num_threads=n)"
    ),
    "bpetite.Tokenizer.replace progress": "TOKENIZER.replace(TEXTS, 9, num_threads=n, progress=callback)",
    "bpetite.Tokenizer.add_tokens tokens": "TOKENIZER.add_tokens(source(['<x>', '<y>'] * 9))",
    "bpetite.Tokenizer.curve sizes": "TOKENIZER.curve('ab', source([256] * 9))",
    "bpetite.Tokenizer.encode_parts parts": "TOKENIZER.encode_parts(source([('ab', 'text')] * 9))",
    "bpetite.Tokenizer.encode_parts_batch batch": (
        "TOKENIZER.encode_parts_batch(source([[('ab', 'text')]] * 9), num_threads=n)"
    ),
    "bpetite.Tokenizer.encode_batch texts": "TOKENIZER.encode_batch(source(TEXTS), num_threads=n)",
    "bpetite.Tokenizer.encode_batch_to_numpy texts": (
        "TOKENIZER.encode_batch_to_numpy(source(TEXTS), num_threads=n)"
    ),
    "bpetite.Tokenizer.encode_column column": "TOKENIZER.encode_column(column(TEXTS), num_threads=n)",
    "bpetite.Tokenizer.count_column column": "TOKENIZER.count_column(column(TEXTS), num_threads=n)",
    "bpetite.Tokenizer.decode_column column": "TOKENIZER.decode_column(column([[97]]))",
    "bpetite.Tokenizer.encode_iterable iterable": "list(TOKENIZER.encode_iterable(source(TEXTS)))",
    "bpetite.Tokenizer.count_batch texts": "TOKENIZER.count_batch(source(TEXTS), num_threads=n)",
    "bpetite.Tokenizer.decode ids": "TOKENIZER.decode(source(range(99)))",
    "bpetite.Tokenizer.decode_bytes ids": "TOKENIZER.decode_bytes(source(range(99)))",
    "bpetite.Tokenizer.decode_batch batch": "TOKENIZER.decode_batch(source([range(99)] * 9))",
    "bpetite.Tokenizer.decode_stream prompt": "TOKENIZER.decode_stream(prompt=source(range(99)))",
    "bpetite.Tokenizer.is_canonical ids": "TOKENIZER.is_canonical(source(range(99)))",
    "bpetite.Tokenizer.first_difference ids": "TOKENIZER.first_difference(source(range(99)))",
    "bpetite.Tokenizer.repair ids": "TOKENIZER.repair(source(range(99)))",
    "bpetite.Tokenizer.join ids": "TOKENIZER.join(source(range(99)), 'ab')",
    "bpetite.Vocabulary.from_merges merges": (
        "Vocabulary.from_merges(source([(97 + i, 98 + i, 256 + i) for i in range(9)]), Dialect(), [])"
    ),
    "bpetite.Vocabulary.extended rows": (
        "BYTES.vocabulary.extended(list(range(256)), source([(97 + i, 98 + i, 256 + i) for i in range(9)]))"
    ),
    "bpetite.explain_difference corpus": "explain_difference(source(TEXTS), MERGES)",
    "bpetite.explain_difference merges": "explain_difference(COUNTS, source(MERGES))",
    "bpetite.corpus.Documents.__init__ documents": (
        "corpus.encode(TOKENIZER, corpus.Documents(source(TEXTS)), folder(), num_threads=n)"
    ),
    "bpetite.corpus.compare texts": "corpus.compare({'a': TOKENIZER}, source([FILE] * 9), num_threads=n)",
    "bpetite.corpus.compare progress": (
        "corpus.compare({'a': TOKENIZER}, [FILE] * 9, num_threads=n, progress=callback)"
    ),
    "bpetite.corpus.count_tokens texts": (
        "corpus.count_tokens(TOKENIZER, source([FILE] * 9), num_threads=n)"
    ),
    "bpetite.corpus.count_tokens progress": (
        "corpus.count_tokens(TOKENIZER, [FILE] * 9, num_threads=n, progress=callback)"
    ),
    "bpetite.corpus.encode_column progress": (
        "corpus.encode_column(TOKENIZER, COLUMN, folder() + '/ids', progress=callback)"
    ),
    "bpetite.corpus.encode corpus": (
        "corpus.encode(TOKENIZER, source([FILE] * 9), folder(), num_threads=n)"
    ),
    "bpetite.corpus.encode progress": (
        "corpus.encode(TOKENIZER, [FILE] * 9, folder(), num_threads=n, progress=callback)"
    ),
    "bpetite.corpus.stats texts": "corpus.stats(TOKENIZER, source([FILE] * 9), num_threads=n)",
    "bpetite.corpus.stats progress": (
        "corpus.stats(TOKENIZER, [FILE] * 9, num_threads=n, progress=callback)"
    ),
    "bpetite.corpus.verify progress": "corpus.verify(ENCODED, progress=callback)",
    "bpetite.cs336.save merges": "cs336.save(VOCAB, source(MERGES), folder() + '/v', folder() + '/m')",
    "bpetite.cs336.Tokenizer.__init__ merges": "cs336.Tokenizer(VOCAB, source(MERGES))",
    "bpetite.cs336.Tokenizer.encode_iterable iterable": (
        "list(cs336.Tokenizer(VOCAB, MERGES).encode_iterable(source(TEXTS)))"
    ),
    "bpetite.cs336.Tokenizer.decode ids": "cs336.Tokenizer(VOCAB, MERGES).decode(source(range(99)))",
    "bpetite.symbols.apply_merges merges": "symbols.apply_merges(['a', 'b'], source([('a', 'b')] * 9))",
    "bpetite.interfaces.huggingface.HuggingFaceTokenizer.decode_batch sequences": (
        "TOKENIZER.as_huggingface().decode_batch(source([range(99)] * 9))"
    ),
}

SETUP = """
import faulthandler, pathlib, sys, tempfile
import pyarrow.parquet
from bpetite import Counts, Dialect, Tokenizer, Vocabulary, corpus, cs336, explain_difference, symbols

WORDS = [f"word{number}" for number in range(3000)]
# A megabyte: all threads are started.
TEXTS = [" ".join(WORDS[start:] + WORDS[:start]) for start in range(40)]
TOKENIZER = Tokenizer.train_from_iterator(TEXTS, 300, num_threads=1)
BYTES = Tokenizer.train("", 256)
COUNTS = Counts.from_iterator(TEXTS)
VOCAB = {**{byte: bytes([byte]) for byte in range(256)}, 256: b"wo", 257: b"wor"}
MERGES = [(b"w", b"o"), (b"wo", b"r")]

TEMPORARY = tempfile.TemporaryDirectory()
def folder():
    return tempfile.mkdtemp(dir=TEMPORARY.name)
FILE, COUNTED, ENCODED = folder() + "/a.txt", folder() + "/a.counts", folder() + "/encoded"
COLUMN = folder() + "/a.parquet"
pathlib.Path(FILE).write_text("".join(TEXTS), "utf-8")
COUNTS.save(COUNTED)
pyarrow.parquet.write_table(pyarrow.table({"text": TEXTS}), COLUMN)
corpus.encode(TOKENIZER, FILE, ENCODED)

class PanicException(BaseException):
    "What another extension calls so."

[OURS] = [kind for kind in BaseException.__subclasses__() if kind.__module__ == "pyo3_runtime"]
KINDS = {"ours": OURS, "another's": PanicException}
"""

RUN = """
n = int(sys.argv[1])
for name, call in CALLS.items():
    for kind, panic in KINDS.items():
        for when in (1, 2):
            calls = []
            def callback(*_):
                calls.append(1)
                if len(calls) == when:
                    raise panic("as it should")
            def source(items):
                for item in items:
                    callback()
                    yield item
            def column(items):
                class Column:
                    def __arrow_c_stream__(self, requested_schema=None):
                        callback()
                        return pyarrow.chunked_array([items]).__arrow_c_stream__()
                return Column()
            what = f"{name}, {kind}, {when}, {n} threads"
            faulthandler.dump_traceback_later(LIMIT / 4, exit=True)
            try:
                eval(call)
            except BaseException as error:
                assert type(error) is panic and "as it should" in str(error), (what, repr(error))
            else:
                assert when == 2 and len(calls) == 1, (what, calls)
            faulthandler.cancel_dump_traceback_later()
assert TOKENIZER.encode_batch(TEXTS, num_threads=n) == [TOKENIZER.encode(text) for text in TEXTS]
TEMPORARY.cleanup()
"""


def parameters(function: Any) -> Iterator[tuple[str, str]]:
    """Yield the parameters of a function with their types, also those that a TypedDict lists."""
    for parameter in inspect.signature(function).parameters.values():
        listed = re.fullmatch(r"Unpack\[(\w+)\]", str(parameter.annotation))
        if listed:
            for name, kind in function.__globals__[listed[1]].__annotations__.items():
                yield name, str(getattr(kind, "__forward_arg__", kind))
        else:
            yield parameter.name, str(parameter.annotation)


def functions(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield the public functions and methods of a module, with their names."""
    for name in getattr(module, "__all__", dir(module)):
        found = getattr(module, name)
        if name.startswith("_") or not callable(found):
            continue
        if not hasattr(module, "__all__") and found.__module__ != module.__name__:
            continue
        if not inspect.isclass(found):
            yield f"{module.__name__}.{name}", found
            continue
        for method, value in vars(found).items():
            if method == "__init__" or not method.startswith("_"):
                yield f"{module.__name__}.{name}.{method}", getattr(value, "__func__", value)


def test_every_public_function_that_calls_foreign_code_is_among_the_calls() -> None:
    modules = [
        bpetite,
        bpetite.corpus,
        bpetite.cs336,
        bpetite.symbols,
        bpetite.interfaces.huggingface,
    ]
    found = [
        f"{name} {parameter}"
        for module in modules
        for name, function in functions(module)
        if inspect.isfunction(function)
        for parameter, annotation in parameters(function)
        if FOREIGN.search(annotation)
    ]
    assert sorted(set(found)) == sorted(CALLS)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_panic_of_foreign_code_ends_the_call(threads: int) -> None:
    code = f"{SETUP}\nCALLS, LIMIT = {CALLS!r}, {LIMIT}\n{RUN}"
    done = subprocess.run(
        [sys.executable, "-c", code, str(threads)],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
