"""The libraries that are timed: how each loads a model, encodes many texts or one, and decodes.

Each function here is one interface of a library, the fastest that gives ids, and says which in its docstring.
It runs in a process of its own and imports what it needs there. Special tokens in the text are found, but by
interfaces that say otherwise, and with models of SentencePiece, whose own library does not find them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy

from bpetite._internal.types import Special

SEPARATOR = "\x1e<|document|>\x1e"
"""What stands between documents for an interface that takes them joined."""
NAMES = {
    "gigatoken": {
        "gpt2": "gpt2",
        "cl100k": "gpt4",
        "llama3": "gpt4",
        "o200k": "o200k",
        "qwen2": "qwen2",
        "qwen3.5": "qwen35",
        "deepseek-v3": "deepseek_v3",
        "kimi-k2": "kimi",
    },
    "quicktok-v1": {
        "cl100k": "cl100k_base",
        "o200k": "o200k_base",
        "llama3": "llama3",
        "qwen2": "qwen3",
    },
}
"""By our name of the pattern: the names by which libraries know it, or a vocabulary with it."""
OPENAI = {"gpt2": "r50k_base", "cl100k": "cl100k_base", "o200k": "o200k_base"}
"""The same, of libraries that know OpenAI's only."""


@dataclass(frozen=True)
class Model:
    """A tokenizer in a folder, in every format in which it can be written (`comparison.prepared`)."""

    folder: Path
    threads: int

    @cached_property
    def facts(self) -> dict[str, Any]:
        """`path`, `kind`, `name` of the pattern, and what files lack: `pattern` and `special_tokens`."""
        facts: dict[str, Any] = json.loads((self.folder / "facts.json").read_bytes())
        return facts

    @property
    def is_ranks(self) -> bool:
        """Whether a file of ranks is its own form."""
        return bool(self.facts["kind"] == "tiktoken")

    @property
    def finds_special(self) -> bool:
        """Whether its own library finds special tokens in a text."""
        return bool(self.facts["kind"] != "sentencepiece")

    def file(self, name: str) -> str:
        """Return the path of a file, if the model can be written so."""
        path = self.folder / name
        if not path.exists():
            raise SystemExit(f"the model cannot be written as {name}")
        return str(path)

    def name_for(self, names: dict[str, str]) -> str:
        """Return another library's name of its pattern or vocabulary."""
        if self.facts["name"] not in names:
            raise SystemExit("it has no such vocabulary")
        return names[self.facts["name"]]


@dataclass(frozen=True)
class Encoder:
    """One model in a library."""

    encode: Callable[[Any], Any]
    """Encodes what `given` returns."""
    ids: Callable[[Any], Any]
    """All ids of a result, as a buffer of numbers of four bytes."""
    to_list: Callable[[str], list[int]]
    decode: Callable[[Any], object]
    """From ids, as `decodes` makes them, to bytes or text, whichever is faster."""
    decodes: Callable[[Any], Any] = lambda ids: ids.tolist()
    given: Callable[[list[str]], Any] = list


def bpetite_texts(model: Model) -> Encoder:
    """`encode_batch_to_numpy` of texts."""
    from bpetite.tokenizer import Tokenizer

    ours = Tokenizer.load(model.facts["path"], **model.facts["lacking"])
    special: Special = "parse" if model.finds_special else "text"
    return Encoder(
        lambda texts: ours.encode_batch_to_numpy(texts, special=special, num_threads=model.threads),
        lambda result: result[0],
        lambda text: ours.encode(text, special=special),
        ours.decode_bytes,
        decodes=lambda ids: ids,
    )


def bpetite_bytes(model: Model) -> Encoder:
    """`encode_batch_to_numpy` of UTF-8."""
    return _given(bpetite_texts(model), lambda texts: [text.encode() for text in texts])


def gigatoken_texts(model: Model) -> Encoder:
    """`encode_batch` of texts."""
    import awkward  # imported by the first call otherwise
    import gigatoken

    named = NAMES["gigatoken"].get(model.facts["name"]) if model.is_ranks else None
    if model.facts["kind"] == "sentencepiece":
        theirs = gigatoken.Tokenizer.from_sentencepiece(model.file("tokenizer.model"))
    elif named:
        ranks, special = model.file("ranks.tiktoken"), model.facts["special_tokens"]
        theirs = gigatoken.Tokenizer.from_tiktoken(ranks, named, special)
    else:
        theirs = gigatoken.Tokenizer(model.file("tokenizer.json"))
    return Encoder(
        lambda texts: theirs.encode_batch(texts, parallel=model.threads > 1),
        lambda result: awkward.to_numpy(awkward.flatten(result)),
        lambda text: theirs.backend.encode(text).tolist(),
        theirs.decode,
        decodes=lambda ids: ids,
    )


def gigatoken_bytes(model: Model) -> Encoder:
    """`encode_batch` of a `BytesSource` with a separator."""
    import gigatoken

    return _given(
        gigatoken_texts(model),
        lambda texts: gigatoken.BytesSource(SEPARATOR.join(texts).encode(), SEPARATOR),
    )


def _given(encoder: Encoder, given: Callable[[list[str]], Any]) -> Encoder:
    return Encoder(encoder.encode, encoder.ids, encoder.to_list, encoder.decode, encoder.decodes, given)


def fastokens(model: Model) -> Encoder:
    """`encode_batch_flat`."""
    import fastokens

    if not model.is_ranks or model.facts["name"] not in ("cl100k", "o200k"):
        return _flat(fastokens.Tokenizer.from_file(model.file("tokenizer.json")))
    preset = {
        "special_tokens": model.facts["special_tokens"],
        "encoding": f"{model.facts['name']}_base",
    }
    return _flat(fastokens.Tokenizer.from_tiktoken(model.file("ranks.tiktoken"), **preset))


def snaptokens(model: Model) -> Encoder:
    """`encode_batch_flat`."""
    import snaptokens

    return _flat(snaptokens.Tokenizer.from_file(model.file("tokenizer.json")))


def _flat(theirs: Any) -> Encoder:
    return Encoder(
        theirs.encode_batch_flat,
        lambda result: result[0],
        lambda text: theirs.encode(text).ids,
        theirs.decode,
    )


def tokenizers(model: Model) -> Encoder:
    """`encode_batch_fast`; of 1.0, `encode` of each text, or `encode_batch` with several threads."""
    import tokenizers

    theirs = tokenizers.Tokenizer.from_file(model.file("tokenizer.json"))
    batch = getattr(theirs, "encode_batch_fast", theirs.encode_batch)

    def each(texts: list[str]) -> list[Any]:
        return [theirs.encode(text, add_special_tokens=False) for text in texts]

    one_by_one = model.threads == 1 and tokenizers.__version__.startswith("1.")
    return Encoder(
        each if one_by_one else lambda texts: batch(texts, add_special_tokens=False),
        lambda result: _joined(one.ids for one in result),
        lambda text: theirs.encode(text, add_special_tokens=False).ids,
        lambda ids: theirs.decode(ids, skip_special_tokens=False),
    )


def splintr(model: Model) -> Encoder:
    """`encode_batch_flat`."""
    import splintr

    theirs = splintr.from_json(model.file("tokenizer.json"))
    return Encoder(
        theirs.encode_batch_flat,
        lambda result: result[0],
        theirs.encode_raw,
        theirs.decode_with_special,
    )


def tiktoken_special(model: Model) -> Encoder:
    """`encode_to_numpy` of each text; with several threads, `encode_batch`."""
    return _tiktoken(model, {"allowed_special": "all"})


def tiktoken_ordinary(model: Model) -> Encoder:
    """The same without special tokens."""
    return _tiktoken(model, {"disallowed_special": ()})


def _tiktoken(model: Model, special: dict[str, Any]) -> Encoder:
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    theirs = tiktoken.Encoding(
        "bench",
        pat_str=model.facts["pattern"],
        mergeable_ranks=load_tiktoken_bpe(model.file("ranks.tiktoken")),
        special_tokens=model.facts["special_tokens"],
    )

    def batch(texts: list[str]) -> list[list[int]]:
        return theirs.encode_batch(texts, num_threads=model.threads, **special)

    def each(texts: list[str]) -> list[Any]:
        return [theirs.encode_to_numpy(text, **special) for text in texts]

    return Encoder(
        batch if model.threads > 1 else each,
        _joined if model.threads > 1 else numpy.concatenate,
        lambda text: theirs.encode(text, **special),
        theirs.decode_bytes,
    )


def quicktok_special(model: Model) -> Encoder:
    """`encode_batch` of a vocabulary that it has, or that `import_tokenizer` took."""
    theirs = _quicktok(model)
    return Encoder(
        lambda texts: theirs.encode_batch(texts, model.threads, True),
        lambda result: result[0],
        theirs.encode_with_special,
        theirs.decode_bytes,
    )


def quicktok_ordinary(model: Model) -> Encoder:
    """The same without special tokens."""
    theirs = _quicktok(model)
    return Encoder(
        lambda texts: theirs.encode_batch(texts, model.threads),
        lambda result: result[0],
        theirs.encode_ordinary,
        theirs.decode_bytes,
    )


def _quicktok(model: Model) -> Any:
    import quicktok

    name = NAMES["quicktok-v1"].get(model.facts["name"])
    theirs = quicktok.get_encoding(name) if name else None
    if theirs is None or theirs.n_vocab != model.facts["ids"]:
        os.environ["QUICKTOK_DATA"] = str(model.folder)
        quicktok.import_tokenizer(model.file("tokenizer.json"), "imported")
        theirs = quicktok.get_encoding("imported")
    return theirs


def wordchipper(model: Model) -> Encoder:
    """`encode_batch` of a vocabulary that it has."""
    import wordchipper

    options = wordchipper.TokenizerOptions.default()
    options.set_parallel(model.threads > 1)
    vocabulary = model.name_for(OPENAI)
    theirs = wordchipper.Tokenizer.from_pretrained(vocabulary, options)  # type: ignore[attr-defined, unused-ignore]
    return Encoder(theirs.encode_batch, _joined, theirs.encode, theirs.decode_bytes)


def kitoken(model: Model) -> Encoder:
    """`encode_all`."""
    import kitoken

    if model.is_ranks:
        theirs = kitoken.Kitoken.from_tiktoken_file(model.file("ranks.tiktoken"))
    elif model.facts["kind"] == "sentencepiece":
        theirs = kitoken.Kitoken.from_sentencepiece_file(model.file("tokenizer.model"))
    else:
        theirs = kitoken.Kitoken.from_tokenizers_file(model.file("tokenizer.json"))
    return Encoder(
        lambda texts: theirs.encode_all(texts, model.finds_special),
        _joined,
        lambda text: theirs.encode(text, model.finds_special),
        lambda ids: theirs.decode(ids, True),
    )


def iree(model: Model) -> Encoder:
    """`encode_batch_to_array`."""
    from iree.tokenizer import Tokenizer

    if model.is_ranks:
        theirs = Tokenizer.from_tiktoken(model.file("ranks.tiktoken"), model.name_for(OPENAI))
    else:
        theirs = Tokenizer.from_file(model.file("tokenizer.json"))
    return Encoder(
        theirs.encode_batch_to_array,
        lambda result: result[0],
        theirs.encode,
        theirs.decode,
    )


def bpe_openai(model: Model) -> Encoder:
    """`encode_ordinary` of each text, with a vocabulary that it has; with several threads, its batch."""
    import bpe_openai

    theirs = bpe_openai.get_encoding(model.name_for(OPENAI))

    def batch(texts: list[str]) -> Any:
        return theirs.encode_ordinary_batch(texts, num_threads=model.threads)

    return Encoder(
        batch if model.threads > 1 else lambda texts: [theirs.encode_ordinary(text) for text in texts],
        _joined,
        theirs.encode_ordinary,
        theirs.decode_bytes,
    )


def rs_bpe(model: Model) -> Encoder:
    """`encode_batch`, or of several threads `encode_batch_parallel`, of a vocabulary that it has."""
    from rs_bpe.bpe import openai

    theirs = getattr(openai, model.name_for({"cl100k": "cl100k_base", "o200k": "o200k_base"}))()
    return Encoder(
        theirs.encode_batch_parallel if model.threads > 1 else theirs.encode_batch,
        lambda result: _joined(result[0]),
        theirs.encode,
        theirs.decode,
    )


def tokie_texts(model: Model) -> Encoder:
    """`encode_batch`."""
    import tokie

    theirs = tokie.Tokenizer.from_json(model.file("tokenizer.json"))
    return Encoder(
        lambda texts: theirs.encode_batch(texts, add_special_tokens=False),
        lambda result: _joined(one.ids for one in result),
        lambda text: theirs.encode(text, add_special_tokens=False).ids,
        theirs.decode_bytes,
    )


def tokie_files(model: Model) -> Encoder:
    """`encode_files` of one file."""
    import tokie

    theirs = tokie.Tokenizer.from_json(model.file("tokenizer.json"))
    path = model.folder / "documents"

    def given(texts: list[str]) -> list[str]:
        path.write_bytes(SEPARATOR.join(texts).encode())
        return [str(path)]

    return Encoder(
        lambda paths: theirs.encode_files(paths, separator=SEPARATOR.encode()),
        lambda result: result[0],
        lambda text: theirs.encode(text, add_special_tokens=False).ids,
        theirs.decode_bytes,
        given=given,
    )


def sentencepiece(model: Model) -> Encoder:
    """`encode` of a list."""
    import sentencepiece

    theirs = sentencepiece.SentencePieceProcessor(model_file=model.file("tokenizer.model"))
    return Encoder(
        lambda texts: theirs.encode(texts, num_threads=model.threads),
        _joined,
        theirs.encode,
        theirs.decode,
    )


def _joined(rows: Iterable[Sequence[int]]) -> Any:
    return numpy.fromiter(chain.from_iterable(rows), numpy.uint32)


@dataclass(frozen=True)
class Library:
    """A library by the name that pip installs."""

    name: str
    interfaces: tuple[Callable[[Model], Encoder], ...]
    path: str = ""
    """The folder that holds it, if it is not one of this Python's."""


LIBRARIES = tuple(
    Library(name, tuple(interfaces))
    for name, *interfaces in (
        ("bpetite", bpetite_texts, bpetite_bytes),
        ("gigatoken", gigatoken_texts, gigatoken_bytes),
        ("fastokens", fastokens),
        ("snaptokens", snaptokens),
        ("splintr-rs", splintr),
        ("quicktok-v1", quicktok_special, quicktok_ordinary),
        ("wordchipper", wordchipper),
        ("bpe-openai", bpe_openai),
        ("rs-bpe", rs_bpe),
        ("kitoken", kitoken),
        ("iree-tokenizer", iree),
        ("tokie", tokie_texts, tokie_files),
        ("tiktoken", tiktoken_special, tiktoken_ordinary),
        ("tokenizers", tokenizers),
        ("sentencepiece", sentencepiece),
    )
)
