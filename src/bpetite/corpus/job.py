"""A tokenizer, inputs and options → a job: everything that decides the bytes of the shards."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bpetite._engine import TextColumn, Xxh3128
from bpetite._internal.arguments import check_type, check_word, special_id, worded
from bpetite._internal.integers import integer
from bpetite._internal.json import Json
from bpetite._internal.names import recorded
from bpetite._internal.once import once
from bpetite._internal.types import AnyPath, Column, DType, Progress, Special, Texts
from bpetite._persistence import artifact_bytes
from bpetite.corpus.manifest import TOKENIZER
from bpetite.corpus.shards import DTYPES, FORMATS, Ids, ShardFormat, choose_dtype
from bpetite.corpus.specials import Encoded, check_special, check_tokenizer, encoded
from bpetite.encoding.dropout import checked_dropout
from bpetite.encoding.template import Template
from bpetite.reading.batches import Batch, text_bytes
from bpetite.reading.cuts import Cut, cutter
from bpetite.reading.documents import naming_invalid
from bpetite.reading.options import Reading
from bpetite.reading.sources import Input, find_inputs, without_weights
from bpetite.tokenizer import Tokenizer


@dataclass(frozen=True)
class Options:
    """How ids are written: file format, type, size of a shard; and how the inputs are read.

    >>> Options(format="bin", append_special="<|endoftext|>").shard_size
    100000000
    """

    format: ShardFormat = "npy"
    dtype: str = "auto"
    shard_size: int = 100_000_000
    prepend_special: str | None = None
    append_special: str | None = None
    special: Special = "text"
    add_special_tokens: bool = False
    """Whether the tokens of the model's template are put around each document (`Tokenizer.template`)."""
    dropout: float | None = None
    """The probability with which merges are left out (`Tokenizer.encode`), ..."""
    seed: int | None = None
    """... and what decides which ones, with the number of the document: each epoch needs another one."""
    reading: Reading = field(default_factory=Reading)

    def __post_init__(self) -> None:
        check_word("format", self.format, FORMATS)
        check_word("dtype", self.dtype, ("auto", *DTYPES))
        check_special(self.special)
        check_type("add_special_tokens", self.add_special_tokens, bool, "a bool")
        check_type("reading", self.reading, Reading)
        dropout, seed = checked_dropout(self.dropout, self.seed) or (None, None)
        object.__setattr__(self, "dropout", dropout)
        object.__setattr__(self, "seed", seed)
        shard_size = integer("shard_size", self.shard_size, least=1, most=2**63 - 1)
        object.__setattr__(self, "shard_size", shard_size)

    def to_dict(self, dtype: str) -> Json:
        """Return the options as manifests record them.

        >>> Options(format="bin").to_dict("uint16")["dtype"]
        'uint16'
        """
        options = {field.name: getattr(self, field.name) for field in fields(self)}
        del options["reading"]
        if not self.add_special_tokens:
            del options["add_special_tokens"]
        if self.dropout is None:
            del options["dropout"], options["seed"]
        return options | {"dtype": dtype} | self.reading.to_dict()


class Documents:
    """Documents from any iterable of `str` or UTF-8 `bytes`, or an Arrow column, used in place of files.

    >>> from bpetite.corpus import stats
    >>> [fit] = stats(Tokenizer.train("ab ab ab", 258), Documents(["ab", "ab ab"], "mine"))
    >>> fit.name, fit.tokens
    ('mine', 3)
    """

    def __init__(self, documents: Texts, name: str = "documents") -> None:
        self.name = name
        self.documents = documents


Corpus: TypeAlias = AnyPath | Iterable[AnyPath] | Column | TextColumn | Documents
"""Files, folders, globs or URLs; or documents, perhaps as a column."""


def inputs_of(corpus: Any, output: AnyPath | None = None) -> list[Input]:
    """Return what is read: the documents that are given, perhaps as a column, or the files that are named.

    Weights are refused: encoding and measuring take each input once.
    """
    is_array = hasattr(corpus, "__arrow_c_stream__") or hasattr(corpus, "__arrow_c_array__")
    if is_array or isinstance(corpus, TextColumn):
        corpus = Documents(corpus)
    if isinstance(corpus, Documents):
        return [Input(corpus.name, source=corpus.name, documents=corpus.documents)]
    return without_weights(find_inputs(corpus, output=output))


class Place(NamedTuple):
    """Where a batch begins in a corpus."""

    document: int = 0
    """The number of the first document, ..."""
    begun: int = 0
    """... and the bytes of it that were in earlier batches."""

    def behind(self, batch: Batch) -> Place:
        """Return where the next batch begins.

        >>> Place(5).behind(Batch(["ab", "c"], goes_on=True)), Place(5, 2).behind(Batch([b"c"]))
        (Place(document=6, begun=1), Place(document=6, begun=0))
        """
        ended = len(batch.texts) - batch.goes_on
        if not batch.goes_on:
            return self if not ended else Place(self.document + ended)
        begun = text_bytes(batch.texts[-1:]) + (0 if ended else self.begun)
        return Place(self.document + ended, begun)


_BEGINNING = Place()


class EncodedPart(NamedTuple):
    """Some encoded documents of a corpus."""

    ids: Ids
    ends: NDArray[np.uint64]
    """Where each whole document ends in the ids."""
    batch: Batch
    """What was encoded; with its texts, if only they can show that the input has changed."""
    read: int
    """The number of bytes of the inputs."""
    text_bytes: int
    """The number of bytes of the texts, ..."""
    encoded_bytes: int
    """... and of those that are not in shards already."""
    special_texts: NDArray[np.int64]
    """The texts of special tokens in each document that became ordinary text; empty if there are none."""


@dataclass(frozen=True)
class Job:
    """Everything that decides the bytes of the shards."""

    tokenizer: Tokenizer
    inputs: Sequence[Input]
    options: Options
    dtype: str
    template: Template
    """The ids around each document that the model's own library puts there, if they are asked for."""
    before: Sequence[int]
    """All ids before each document, ..."""
    after: Sequence[int]
    """... and after it."""

    @staticmethod
    def make(tokenizer: Tokenizer, corpus: Any, options: Options, output: AnyPath) -> Job:
        """Return the job, or refuse inputs and options that do not fit the tokenizer."""
        check_tokenizer(tokenizer)
        check_type("options", options, Options)
        inputs = inputs_of(corpus, output)
        vocabulary = tokenizer.vocabulary
        largest = max([vocabulary.arrays.id_at(-1), *vocabulary.special_tokens.values()])
        dtype = choose_dtype(options.dtype, largest, options.format)
        template = tokenizer._added_template(options.add_special_tokens)
        prepended = _around("prepend_special", options, tokenizer, template.prefix)
        appended = _around("append_special", options, tokenizer, template.suffix)
        reading = replace(options.reading, cut=cutter_for([tokenizer]))
        return Job(
            tokenizer=tokenizer,
            inputs=inputs,
            options=replace(options, reading=reading),
            dtype=dtype,
            template=template,
            before=[*prepended, *template.prefix],
            after=[*template.suffix, *appended],
        )

    @once
    def recorded_options(self) -> Json:
        """The options, as manifests record them; if inputs have fields of their own, the field of each."""
        fields_of_inputs = [source.field for source in self.inputs]
        options = self.options.to_dict(self.dtype)
        if any(fields_of_inputs):
            options["fields"] = fields_of_inputs
        if self.options.add_special_tokens:
            options["template"] = [list(self.template.prefix), list(self.template.suffix)]
        return options

    @once
    def artifact(self) -> bytes:
        """The tokenizer, as it is written beside the shards."""
        return artifact_bytes(self.tokenizer.vocabulary)

    def identity(self) -> Json:
        """Return what must be the same when a stopped run is resumed; of an input, its name and stamp."""
        return {
            "fingerprint": self.tokenizer.fingerprint,
            "options": self.recorded_options,
            "inputs": list(map(named_stamp, self.inputs)),
        }

    @property
    def recorded_tokenizer(self) -> Json:
        """The tokenizer, as manifests record it."""
        return {
            "fingerprint": self.tokenizer.fingerprint,
            "vocab_size": self.tokenizer.vocab_size,
            "file": TOKENIZER,
            "sha256": hashlib.sha256(self.artifact).hexdigest(),
        }

    def encoded(
        self,
        source: Input,
        batch: Batch,
        progress: Progress | None = None,
        place: Place = _BEGINNING,
    ) -> Encoded:
        """Encode a batch on this thread, each document with what is before and after it.

        Nothing is put behind a document that goes on in the next batch, or before the rest of one.
        """
        width: DType = "uint16" if self.dtype == "uint16" else "uint32"
        again = partial(self.tokenizer._encoder.encode_batch, special=self.options.special)
        with naming_invalid(source, batch, self.options.reading, again):
            ids, offsets, special_texts = encoded(
                self.tokenizer,
                batch.texts,
                self.options.special,
                dtype=width,
                num_threads=1,
                prepend=self.before,
                append=self.after,
                progress=progress,
                encoder=self.tokenizer._dropping(self.options.dropout, self.options.seed, *place),
            )
        if batch.begun:
            ids = ids[len(self.before) :]
            offsets[1:] -= np.uint64(len(self.before))
        if batch.goes_on:
            ids = ids[: len(ids) - len(self.after)]
            offsets[-1] -= np.uint64(len(self.after))
        return Encoded(ids, offsets, special_texts)

    def part(
        self,
        source: Input,
        batch: Batch,
        read: int,
        done: int = 0,
        progress: Progress | None = None,
        place: Place = _BEGINNING,
    ) -> EncodedPart:
        """Encode what was read, but not the first `done` documents, which are in shards already."""
        rest = batch
        if done:
            rest = batch._replace(texts=batch.texts[done:], first=batch.first + done, begun=0)
            place = Place(place.document + done)
        ids, offsets, special_texts = self.encoded(source, rest, progress, place)
        ends = offsets[1:-1] if batch.goes_on else offsets[1:]
        if len(special_texts):
            special_texts = np.concatenate((np.zeros(done, np.int64), special_texts))
        encoded_bytes = text_bytes(rest.texts)
        done_bytes = text_bytes(batch.texts[:done]) if done else 0
        if source.status() is not None:
            batch = batch._replace(texts=())
        return EncodedPart(
            ids=ids,
            ends=np.concatenate((np.zeros(done, np.uint64), ends)),
            batch=batch,
            read=read,
            text_bytes=done_bytes + encoded_bytes,
            encoded_bytes=encoded_bytes,
            special_texts=special_texts,
        )


def _around(
    option: str, options: Options, tokenizer: Tokenizer, of_template: Sequence[int]
) -> list[int]:
    """Return the id of the special token that an option puts on one side of each document, if any.

    It is refused where the template has tokens on this side: nobody knows which of them is meant to
    be first.
    """
    token = getattr(options, option)
    token_id = special_id(option, token, tokenizer.special_tokens)
    if token_id is None:
        return []
    if of_template:
        already = "puts tokens there already; leave"
        raise ValueError(
            worded(lambda name: f"{name('add_special_tokens', True)} {already} {name(option)} out")
        )
    return [token_id]


def cutter_for(tokenizers: Sequence[Tokenizer]) -> Cut | None:
    """Return what cuts long documents where the ids of none of the tokenizers change, if there is any."""
    patterns = [tokenizer._dividing_pattern for tokenizer in tokenizers]
    if None in patterns:
        return None
    specials = chain.from_iterable(tok.special_tokens for tok in tokenizers)
    return cutter([pattern for pattern in patterns if pattern is not None], specials)


def named_stamp(source: Input) -> list[Any]:
    """Return an input's recorded name, its size and what changes with its content, if these are known."""
    return [recorded(source.name), *source.stamp()]


class DocumentsHash:
    """The hash of documents, however they are divided into batches; without any, it is empty."""

    def __init__(self) -> None:
        self._hash: Xxh3128 | None = None

    def add(self, texts: Sequence[str | bytes], *, goes_on: bool = False) -> None:
        """Add documents; if the last one `goes_on`, its rest comes next."""
        last = len(texts) - 1
        for place, text in enumerate(texts):
            self._hash = self._hash or Xxh3128()
            if isinstance(text, str):
                # A text that is not UTF-8 was never encoded; its hash must only differ from all
                # others.
                text = text.encode("utf-8", "surrogatepass")
            self._hash.update(text)
            is_cut = goes_on and place == last
            if not is_cut:
                self._hash.update(b"\xff")  # a byte that no UTF-8 contains

    def hexdigest(self) -> str:
        """Return the hash so far."""
        return self._hash.hexdigest() if self._hash else ""
