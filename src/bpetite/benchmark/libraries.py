"""The libraries that are timed: how each loads a model, encodes many texts or one, and decodes.

Each function here is one interface of a library for a list of documents, and says which in its
docstring. It runs in a process of its own and imports what it needs there. Special tokens in the
text are found, but by interfaces that say otherwise, and with models of SentencePiece, whose own
library does not find them.

All public interfaces that give ids were timed in new processes, with 6 MB in documents of 4,000
characters, English and of many languages, Llama 3 and cl100k: batches and loops, lists and arrays,
texts and UTF-8. Where none is always the fastest, a library has several here: all are timed, and
the fastest counts in each figure. Left out, with the rate of the first pass in English and that of
the one taken, in MB/s: gigatoken's lists, which are made of its arrays (48, 76), and its UTF-8 in a
list (78, 78); snaptokens' `encode_batch` (31, 59); splintr's lists (21, 27) and, on one thread, its
`encode_batch_flat` (23, 25); tiktoken's batches on one thread (8, 9); quicktok's loop (26, 43);
kitoken's loop (7, 10); tokie's objects (23, 32) and loop (28, 32).
"""

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from operator import itemgetter
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy

SEPARATOR = "\x1e<|document|>\x1e"
"""What stands between documents for an interface that takes them joined."""

OPENAI = {"gpt2": "r50k_base", "cl100k": "cl100k_base", "o200k": "o200k_base"}
"""By our name of the pattern: the names of vocabularies with it, of libraries that know OpenAI's only."""
QUICKTOK = {"cl100k": "cl100k_base", "o200k": "o200k_base", "llama3": "llama3", "qwen2": "qwen3"}
GIGATOKEN = {
    "gpt2": "gpt2",
    "cl100k": "gpt4",
    "llama3": "gpt4",
    "o200k": "o200k",
    "qwen2": "qwen2",
    "qwen3.5": "qwen35",
    "deepseek-v3": "deepseek_v3",
    "kimi-k2": "kimi",
}


class Model(SimpleNamespace):
    """A tokenizer in a folder, in every format in which it can be written, and the facts of `prepared`."""

    def file(self, name: str) -> str:
        """Return the path of a file, if the model can be written so."""
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            raise SystemExit(f"the model cannot be written as {name}")
        return path

    def name_for(self, names: dict[str, str]) -> str:
        """Return another library's name of its pattern or vocabulary."""
        if self.name not in names:
            raise SystemExit("it has no such vocabulary")
        return names[self.name]


class Encoder(NamedTuple):
    """One model in a library."""

    encode: Callable[[Any], Any]
    """Encodes what `given` returns."""
    to_list: Callable[[str], list[int]]
    decode: Callable[[Any], object]
    """From ids, as `decodes` makes them, to bytes or text, whichever is faster."""
    ids: Callable[[Any], Any] = itemgetter(0)
    """All ids of a result, as a buffer of numbers of four bytes."""
    decodes: Callable[[Any], Any] = numpy.ndarray.tolist
    given: Callable[[list[str]], Any] = list


def bpetite_texts(model: Model) -> Encoder:
    """`encode_batch_to_numpy` of texts."""
    from bpetite.tokenizer import Tokenizer

    ours = Tokenizer.load(model.path, **model.lacking)
    special = "text" if model.kind == "sentencepiece" else "parse"
    settings: dict[str, Any] = {"special": special, "add_special_tokens": False}
    return Encoder(
        partial(ours.encode_batch_to_numpy, num_threads=model.threads, **settings),
        partial(ours.encode, **settings),
        ours.decode_bytes,
        decodes=numpy.asarray,
    )


def bpetite_bytes(model: Model) -> Encoder:
    """`encode_batch_to_numpy` of UTF-8."""
    return bpetite_texts(model)._replace(given=lambda texts: [text.encode() for text in texts])


def gigatoken_each(model: Model) -> Encoder:
    """`encode` of each text."""
    _check_one_thread(model)
    theirs = _gigatoken(model)
    return Encoder(
        _each(theirs.encode),
        lambda text: theirs.backend.encode(text).tolist(),
        theirs.decode,
        numpy.concatenate,
        decodes=numpy.asarray,
    )


def gigatoken_texts(model: Model) -> Encoder:
    """`encode_batch` of texts."""
    import awkward  # imported by the first call otherwise

    theirs = _gigatoken(model)
    return Encoder(
        lambda texts: theirs.encode_batch(texts, parallel=model.threads > 1),
        lambda text: theirs.backend.encode(text).tolist(),
        theirs.decode,
        lambda result: awkward.to_numpy(awkward.flatten(result)),
        decodes=numpy.asarray,
    )


def gigatoken_bytes(model: Model) -> Encoder:
    """`encode_batch` of a `BytesSource` with a separator."""
    from gigatoken import BytesSource

    joined = SEPARATOR.join
    return gigatoken_texts(model)._replace(
        given=lambda texts: BytesSource(joined(texts).encode(), SEPARATOR)
    )


def _gigatoken(model: Model) -> Any:
    import gigatoken

    if model.kind == "sentencepiece":
        return gigatoken.Tokenizer.from_sentencepiece(model.file("tokenizer.model"))
    if model.kind == "tiktoken" and model.name in GIGATOKEN:
        ranks = model.file("ranks.tiktoken")
        return gigatoken.Tokenizer.from_tiktoken(ranks, GIGATOKEN[model.name], model.special_tokens)
    return gigatoken.Tokenizer(model.file("tokenizer.json"))


def fastokens_flat(model: Model) -> Encoder:
    """`encode_batch_flat`."""
    return _flat(_fastokens(model))


def fastokens_batch(model: Model) -> Encoder:
    """`encode_batch`."""
    theirs = _fastokens(model)
    return _flat(theirs)._replace(encode=theirs.encode_batch, ids=_ids_of_all)


def fastokens_each(model: Model) -> Encoder:
    """`encode` of each text."""
    _check_one_thread(model)
    theirs = _fastokens(model)
    return _flat(theirs)._replace(encode=_each(theirs.encode), ids=_ids_of_all)


def _fastokens(model: Model) -> Any:
    import fastokens

    if model.kind != "tiktoken" or model.name not in ("cl100k", "o200k"):
        return fastokens.Tokenizer.from_file(model.file("tokenizer.json"))
    preset = {"special_tokens": model.special_tokens, "encoding": OPENAI[model.name]}
    return fastokens.Tokenizer.from_tiktoken(model.file("ranks.tiktoken"), **preset)


def snaptokens(model: Model) -> Encoder:
    """`encode_batch_flat`."""
    import snaptokens

    return _flat(snaptokens.Tokenizer.from_file(model.file("tokenizer.json")))


def _flat(theirs: Any) -> Encoder:
    return Encoder(theirs.encode_batch_flat, lambda text: theirs.encode(text).ids, theirs.decode)


def tokenizers(model: Model) -> Encoder:
    """`encode_batch_fast`, or `encode_batch` of 1.0."""
    theirs = _tokenizers(model)
    batch = getattr(theirs, "encode_batch_fast", theirs.encode_batch)
    return _of_tokenizers(theirs, partial(batch, add_special_tokens=False))


def tokenizers_each(model: Model) -> Encoder:
    """`encode` of each text."""
    _check_one_thread(model)
    theirs = _tokenizers(model)
    return _of_tokenizers(theirs, _each(partial(theirs.encode, add_special_tokens=False)))


def _tokenizers(model: Model) -> Any:
    import tokenizers

    return tokenizers.Tokenizer.from_file(model.file("tokenizer.json"))


def _of_tokenizers(theirs: Any, encode: Callable[[Any], Any]) -> Encoder:
    return Encoder(
        encode,
        lambda text: theirs.encode(text, add_special_tokens=False).ids,
        lambda ids: theirs.decode(ids, skip_special_tokens=False),
        _ids_of_all,
    )


def splintr(model: Model) -> Encoder:
    """`encode_flat` of each text; with several threads, `encode_batch_flat`."""
    import splintr

    theirs = splintr.from_json(model.file("tokenizer.json"))
    if model.threads > 1:
        return Encoder(theirs.encode_batch_flat, theirs.encode_raw, theirs.decode_with_special)
    return Encoder(
        _each(theirs.encode_flat), theirs.encode_raw, theirs.decode_with_special, b"".join
    )


def tiktoken_special(model: Model) -> Encoder:
    """`encode_to_numpy` of each text; with several threads, `encode_batch`."""
    theirs = _tiktoken(model)
    special: dict[str, Any] = {"allowed_special": "all"}
    to_list = partial(theirs.encode, **special)
    if model.threads == 1:
        each = _each(partial(theirs.encode_to_numpy, **special))
        return Encoder(each, to_list, theirs.decode_bytes, numpy.concatenate)
    batch = partial(theirs.encode_batch, num_threads=model.threads, **special)
    return Encoder(batch, to_list, theirs.decode_bytes, _joined)


def tiktoken_ordinary(model: Model) -> Encoder:
    """`encode_ordinary` of each text, or its batch, without special tokens."""
    theirs = _tiktoken(model)
    batch = partial(theirs.encode_ordinary_batch, num_threads=model.threads)
    encode = batch if model.threads > 1 else _each(theirs.encode_ordinary)
    return Encoder(encode, theirs.encode_ordinary, theirs.decode_bytes, _joined)


def _tiktoken(model: Model) -> Any:
    from tiktoken import Encoding
    from tiktoken.load import load_tiktoken_bpe

    ranks = load_tiktoken_bpe(model.file("ranks.tiktoken"))
    return Encoding(
        "bench", pat_str=model.pattern, mergeable_ranks=ranks, special_tokens=model.special_tokens
    )


def quicktok_special(model: Model) -> Encoder:
    """`encode_batch` of a vocabulary that it has, or that `import_tokenizer` took."""
    theirs = _quicktok(model)
    return Encoder(
        lambda texts: theirs.encode_batch(texts, model.threads, True),
        theirs.encode_with_special,
        theirs.decode_bytes,
    )


def quicktok_ordinary(model: Model) -> Encoder:
    """`encode_batch` without special tokens."""
    theirs = _quicktok(model)
    return Encoder(
        lambda texts: theirs.encode_batch(texts, model.threads),
        theirs.encode_ordinary,
        theirs.decode_bytes,
    )


def _quicktok(model: Model) -> Any:
    import quicktok

    name = QUICKTOK.get(model.name)
    theirs = quicktok.get_encoding(name) if name else None
    if theirs is None or theirs.n_vocab != model.ids:
        os.environ["QUICKTOK_DATA"] = model.folder
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
    return Encoder(theirs.encode_batch, theirs.encode, theirs.decode_bytes, _joined)


def kitoken(model: Model) -> Encoder:
    """`encode_all`."""
    from kitoken import Kitoken

    if model.kind == "tiktoken":
        theirs = Kitoken.from_tiktoken_file(model.file("ranks.tiktoken"))
    elif model.kind == "sentencepiece":
        theirs = Kitoken.from_sentencepiece_file(model.file("tokenizer.model"))
    else:
        theirs = Kitoken.from_tokenizers_file(model.file("tokenizer.json"))
    special = model.kind != "sentencepiece"
    return Encoder(
        lambda texts: theirs.encode_all(texts, special),
        lambda text: theirs.encode(text, special),
        lambda ids: theirs.decode(ids, True),
        _joined,
    )


def iree(model: Model) -> Encoder:
    """`encode_batch_to_array`."""
    from iree.tokenizer import Tokenizer

    if model.kind == "tiktoken":
        theirs = Tokenizer.from_tiktoken(model.file("ranks.tiktoken"), model.name_for(OPENAI))
    else:
        theirs = Tokenizer.from_file(model.file("tokenizer.json"))
    return Encoder(theirs.encode_batch_to_array, theirs.encode, theirs.decode)


def bpe_openai(model: Model) -> Encoder:
    """`encode_ordinary` of each text, with a vocabulary that it has; with several threads, its batch."""
    import bpe_openai

    theirs = bpe_openai.get_encoding(model.name_for(OPENAI))
    batch = partial(theirs.encode_ordinary_batch, num_threads=model.threads)
    encode = batch if model.threads > 1 else _each(theirs.encode_ordinary)
    return Encoder(encode, theirs.encode_ordinary, theirs.decode_bytes, _joined)


def rs_bpe(model: Model) -> Encoder:
    """`encode_batch`, or of several threads `encode_batch_parallel`, of a vocabulary that it has."""
    from rs_bpe.bpe import openai

    theirs = getattr(openai, model.name_for({"cl100k": "cl100k_base", "o200k": "o200k_base"}))()
    batch = theirs.encode_batch
    if model.threads > 1:
        options = openai.ParallelOptions(
            min_batch_size=20, chunk_size=100, max_threads=model.threads
        )
        batch = partial(theirs.encode_batch_parallel, options=options)
    return Encoder(batch, theirs.encode, theirs.decode, lambda result: _joined(result[0]))


def tokie(model: Model) -> Encoder:
    """`encode_batch_flat`."""
    import tokie

    theirs: Any = tokie.Tokenizer.from_json(model.file("tokenizer.json"))
    flat = partial(theirs.encode_batch_flat, add_special_tokens=False)
    one = partial(theirs.encode, add_special_tokens=False)
    return Encoder(flat, lambda text: one(text).ids, theirs.decode_bytes)


def sentencepiece(model: Model) -> Encoder:
    """`encode` of a list."""
    import sentencepiece

    theirs = sentencepiece.SentencePieceProcessor(model_file=model.file("tokenizer.model"))
    batch = partial(theirs.encode, num_threads=model.threads)
    return Encoder(batch, theirs.encode, theirs.decode, _joined)


def _check_one_thread(model: Model) -> None:
    """End the process of a loop, which has one thread, if several are timed."""
    if model.threads > 1:
        raise SystemExit("it is timed on one thread only")


def _each(encode: Callable[[str], Any]) -> Callable[[list[str]], list[Any]]:
    return lambda texts: [encode(text) for text in texts]


def _joined(rows: Iterable[Sequence[int]]) -> Any:
    return numpy.fromiter(chain.from_iterable(rows), numpy.uint32)


def _ids_of_all(encodings: Iterable[Any]) -> Any:
    return _joined(one.ids for one in encodings)


class Library(NamedTuple):
    """A library by the name that pip installs."""

    name: str
    interfaces: tuple[Callable[[Model], Encoder], ...]
    path: str = ""
    """The folder that holds it, if it is not one of this Python's."""


LIBRARIES = (
    Library("bpetite", (bpetite_texts, bpetite_bytes)),
    Library("gigatoken", (gigatoken_each, gigatoken_texts, gigatoken_bytes)),
    Library("fastokens", (fastokens_each, fastokens_batch, fastokens_flat)),
    Library("snaptokens", (snaptokens,)),
    Library("splintr-rs", (splintr,)),
    Library("quicktok-v1", (quicktok_special, quicktok_ordinary)),
    Library("wordchipper", (wordchipper,)),
    Library("bpe-openai", (bpe_openai,)),
    Library("rs-bpe", (rs_bpe,)),
    Library("kitoken", (kitoken,)),
    Library("iree-tokenizer", (iree,)),
    Library("tokie", (tokie,)),
    Library("tiktoken", (tiktoken_ordinary, tiktoken_special)),
    Library("tokenizers", (tokenizers,)),
    Library("sentencepiece", (sentencepiece,)),
)
