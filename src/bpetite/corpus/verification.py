"""A folder of shards → its manifest if nothing in the folder has changed; otherwise a `ValueError`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from bpetite._constants import SPACE, Pattern
from bpetite._internal.arguments import Name, check_path, worded
from bpetite._internal.integers import integer
from bpetite._internal.json import naming
from bpetite._internal.progress import shown
from bpetite._internal.types import AnyPath, Progress
from bpetite.corpus.manifest import TOKENIZER, Manifest
from bpetite.corpus.shards import Ids, Shard, hash_file, names_in, read_ids, read_offsets
from bpetite.patterns import PATTERNS, pattern_steps
from bpetite.reading.batches import decoded
from bpetite.reading.documents import read_batches
from bpetite.reading.options import Reading
from bpetite.reading.raw import hash_input
from bpetite.reading.sources import Input
from bpetite.tokenizer import Tokenizer
from bpetite.vocabulary import WORD_END, WORD_START, Vocabulary


def verify(
    folder: AnyPath,
    *,
    samples: int = 16,
    inputs: bool = False,
    progress: Progress | bool | None = None,
) -> Manifest:
    """Hash every file again, and check that the ids of sampled documents encode their text.

    `samples` is how many documents of each shard are checked, evenly spread. Their ids are joined
    to the text that the tokenizer cut, and it is encoded again; information that ids do not carry
    (for example, which characters are unknown) is not compared. With `inputs`, the inputs are
    hashed, too, and the sampled documents are read from them and encoded; inputs that are not
    files, such as stdin, are refused, because they no longer exist.

    >>> import tempfile
    >>> from bpetite import corpus
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = corpus.encode(Tokenizer.train("ab", 257), corpus.Documents(["ab"]), f"{folder}/ids")
    ...     verify(f"{folder}/ids").tokens
    1
    """
    samples = integer("samples", samples, least=0)
    check_path("folder", folder)
    folder = Path(folder)
    manifest = Manifest.load(folder)
    artifact = folder / TOKENIZER
    tokenizer = Tokenizer.load(artifact)
    _, sha256 = hash_file(artifact)
    if (sha256, tokenizer.fingerprint) != (
        manifest.tokenizer["sha256"],
        manifest.tokenizer["fingerprint"],
    ):
        raise ValueError(f"{artifact}: not the tokenizer of the manifest")
    if inputs:
        _refuse_unreadable(manifest)
    checked = _Samples(tokenizer, manifest.options)
    total = sum(shard.bytes for shard in manifest.shards)
    size = documents = 0
    with shown(progress) as report:
        for number, shard in enumerate(manifest.shards):
            _check_shard(folder, number, shard, checked, samples, documents)
            size += shard.bytes
            documents += shard.documents
            if report is not None:
                report("verifying", size, total)
                report("documents", documents, 0)
    listed = {file.name for shard in manifest.shards for file in shard.files}
    foreign = sorted(path for path in folder.glob("shard-*") if path.name not in listed)
    if foreign:
        more = f" (and {len(foreign) - 1} more)" if len(foreign) > 1 else ""
        raise ValueError(f"{foreign[0]}: a shard that is not in the manifest{more}")
    if manifest.of_next_input:
        expected = manifest.documents - manifest.of_next_input
        raise ValueError(
            f"{folder}: the inputs have {expected} documents, the shards {manifest.documents}"
        )
    if inputs:
        for read in manifest.inputs:
            if hash_input(read.name) != (read.bytes, read.xxh3_128):
                raise ValueError(f"{read.name}: changed since it was encoded")
        checked.compare_with_inputs(manifest)
    return manifest


def _refuse_unreadable(manifest: Manifest) -> None:
    """Refuse inputs that cannot be read again: those that are no files of this machine."""
    for read in manifest.inputs:
        if not os.path.isfile(read.name):
            raise ValueError(worded(partial(_unreadable, read.name)))


def _unreadable(path: str, name: Name) -> str:
    why = "stdin, URLs and documents that a program gave cannot be compared with the shards"
    alone = f"without {name('inputs', True)}, the shards are checked alone"
    return f"{path}: it is not a file on this machine, and {why}; {alone}"


def _check_shard(
    folder: Path, number: int, shard: Shard, checked: _Samples, samples: int, before: int
) -> None:
    """Check the files of a shard, that ids and offsets fit together, and sampled documents; `before` is the
    number of documents in the shards before."""
    options = checked.options
    with naming(folder):
        ids_name, documents_name = names_in(shard, number, options["format"])
    for file in shard.files:
        path = folder / file.name
        size, sha256 = hash_file(path)
        if size != file.bytes:
            raise ValueError(f"{path}: {size} bytes, but the manifest says {file.bytes}")
        if sha256 != file.sha256:
            raise ValueError(f"{path}: its SHA-256 differs from the manifest")

    ids = read_ids(folder / ids_name, options["format"], options["dtype"])
    offsets = read_offsets(folder / documents_name, options["format"], options["dtype"])
    if len(ids) != shard.tokens or len(offsets) != shard.documents + 1:
        raise ValueError(f"{folder / ids_name}: {len(ids)} tokens in {len(offsets) - 1} documents")
    if offsets[0] != 0 or offsets[-1] != len(ids) or (offsets[1:] < offsets[:-1]).any():
        raise ValueError(
            f"{folder / documents_name}: its documents do not cover the shard without gaps"
        )
    samples = min(samples, shard.documents)
    evenly_spread = np.linspace(0, shard.documents - 1, samples).astype(int)
    for document in np.unique(evenly_spread).tolist():
        where = f"{folder / ids_name}: document {document}"
        start, end = offsets[document : document + 2].tolist()
        checked.check(where, before + document, ids[start:end])


class _Samples:
    """Checks sampled documents, and keeps them for a comparison with the inputs."""

    def __init__(self, tokenizer: Tokenizer, options: Mapping[str, Any]) -> None:
        self.options = options
        self._tokenizer = tokenizer
        self._special = options["special"]
        self._dropout = options.get("dropout"), options.get("seed")
        prefix, suffix = options.get("template", ([], []))
        self._before = _ids_of(options.get("prepend_special"), tokenizer) + prefix
        self._after = suffix + _ids_of(options["append_special"], tokenizer)
        vocabulary = tokenizer.vocabulary
        self._unknown = None if vocabulary.unknown is None else vocabulary.unknown[0]
        self._added = set(vocabulary.special_tokens.values()) - {self._unknown}
        self._model = Tokenizer(_without_changes(vocabulary))
        """Encodes text that is normalized already, and has the spaces that were put into it."""
        self._kept: dict[int, tuple[str, list[int]]] = {}
        """Of each sample, by the number of its document, the place and the ids."""

    def check(self, where: str, number: int, sample: Ids) -> None:
        """Refuse ids that no text has."""
        whole: list[int] = np.asarray(sample).tolist()
        begin = len(self._before)
        end = len(whole) - len(self._after)
        has_both = whole[:begin] == self._before and whole[end:] == self._after
        if end < begin or not has_both:
            raise ValueError(
                f"{where} does not have the special tokens around it that the manifest names"
            )
        self._kept[number] = where, whole
        ids = whole[begin:end]
        try:
            text = self._tokenizer.decode(ids, errors="replace")
            if self._encoded(text, number) != ids:
                self._check_sections(where, ids)
        except KeyError as error:
            raise ValueError(f"{where} does not decode: {error}") from None
        except UnicodeDecodeError as error:
            raise ValueError(f"{where} does not decode: {error!r}") from None

    def _encoded(self, text: str, number: int) -> list[int] | None:
        """Return the ids of the document of a number; None of one that cannot be encoded."""
        encoder = self._tokenizer._dropping(*self._dropout, number)
        try:
            return encoder.encode(text, self._special)
        except ValueError:  # a byte without a token, or a special token where it must not be
            return None

    def _check_sections(self, where: str, ids: list[int]) -> None:
        """Check what stands between added tokens.

        The bytes of ids are the normalized text, with the spaces that were put into it. It can only
        be encoded again where it is complete: unknown and dropped bytes are not in it, nor are
        characters that are left out.
        """
        vocabulary = self._tokenizer.vocabulary
        for is_added, section in groupby(ids, self._added.__contains__):
            section_ids = list(section)
            if is_added:
                self._check_added(where, section_ids)
                continue
            is_complete = not vocabulary.drops_missing and vocabulary.left_out is None
            if not is_complete or self._unknown in section_ids:
                continue
            tokens = [self._tokenizer.token_bytes(token_id) for token_id in section_ids]
            if vocabulary.word_end is not None or vocabulary.word_start is not None:
                words = map(vocabulary.tokens.__getitem__, section_ids)
                tokens = [word.removesuffix(WORD_END).removeprefix(WORD_START) for word in words]
            content = b"".join(tokens)
            text = content.decode("utf-8")
            # With dropout, a section of normalized text has other ids when it is alone.
            is_alone = self._tokenizer._dividing_pattern is None
            if self._dropout[0] and is_alone:
                continue
            if self._model.encode_ordinary(text) != section_ids:
                raise ValueError(f"{where} has a text that encodes to other ids: {text!r:.80}")

    def _check_added(self, where: str, ids: list[int]) -> None:
        """Refuse special tokens where they were to be ordinary text."""
        vocabulary = self._tokenizer.vocabulary
        if self._special == "parse":
            return
        texts = {token_id: text for text, token_id in vocabulary.special_tokens.items()}
        for token_id in ids:
            if texts[token_id] not in vocabulary.added_tokens:
                raise ValueError(f"{where} has the special token {texts[token_id]!r:.80} within it")

    def compare_with_inputs(self, manifest: Manifest) -> None:
        """Read the sampled documents from the inputs, and compare their ids with those in the shards."""
        first = 0
        reading = Reading(**{name: self.options[name] for name in Reading().to_dict()})
        fields = self.options.get("fields") or [None] * len(manifest.inputs)
        for read, field in zip(manifest.inputs, fields, strict=True):
            wanted = {number for number in self._kept if first <= number < first + read.documents}
            if wanted:
                self._compare(Input(read.name), reading.of_field(field), first, max(wanted))
            first += read.documents

    def _compare(self, source: Input, reading: Reading, first: int, last: int) -> None:
        """Compare the sampled documents of one input, the first of which has a number."""
        number = first
        for batch in read_batches(source, reading):
            for text in decoded(source.name, batch):
                if number in self._kept:
                    where, ids = self._kept[number]
                    again = self._encoded(text, number) or []
                    if [*self._before, *again, *self._after] != ids:
                        document = f"document {number - first} of {source.name}"
                        raise ValueError(f"{where} has other ids than {document}")
                number += 1
            if number > last:
                return


def _without_changes(vocabulary: Vocabulary) -> Vocabulary:
    """Return a vocabulary that encodes a text as it is: not normalized, and without spaces put into it."""
    steps = tuple(step for step in pattern_steps(vocabulary.pattern) if step != SPACE)
    pattern: Pattern = steps or PATTERNS["none"]
    return replace(vocabulary, normalization=None, pattern=pattern, drops_space=False)


def _ids_of(special_token: str | None, tokenizer: Tokenizer) -> list[int]:
    return [] if special_token is None else [tokenizer.special_tokens[special_token]]
