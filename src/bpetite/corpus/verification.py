"""A folder of shards → its manifest if nothing in the folder has changed; otherwise a `ValueError`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bpetite._internal.integers import integer
from bpetite._internal.json import naming
from bpetite._internal.progress import shown
from bpetite._internal.types import Path as AnyPath
from bpetite._internal.types import Progress
from bpetite.corpus.manifest import TOKENIZER, Manifest
from bpetite.corpus.shards import Ids, Shard, hash_file, names_in, read_ids, read_offsets
from bpetite.reading.raw import hash_input
from bpetite.tokenizer import Tokenizer


def verify(
    folder: AnyPath,
    *,
    samples: int = 16,
    inputs: bool = False,
    progress: Progress | bool | None = None,
) -> Manifest:
    """Hash every file again, and check that sampled documents decode to text that encodes to the same ids.

    `samples` is how many documents of each shard are decoded, evenly spread. With `inputs`, the inputs are
    hashed, too.

    >>> import tempfile
    >>> from bpetite import corpus
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = corpus.encode(Tokenizer.train("ab", 257), corpus.Documents(["ab"]), f"{folder}/ids")
    ...     verify(f"{folder}/ids").tokens
    1
    """
    samples = integer("samples", samples, least=0)
    folder = Path(folder)
    manifest = Manifest.load(folder)
    artifact = folder / TOKENIZER
    tokenizer = Tokenizer.load(artifact)
    _, sha256 = hash_file(artifact)
    if (sha256, tokenizer.fingerprint) != (manifest.tokenizer["sha256"], manifest.tokenizer["fingerprint"]):
        raise ValueError(f"{artifact}: not the tokenizer of the manifest")
    total, size, documents = sum(shard.bytes for shard in manifest.shards), 0, 0
    with shown(progress) as report:
        for number, shard in enumerate(manifest.shards):
            _check_shard(folder, number, shard, manifest.options, tokenizer, samples)
            size, documents = size + shard.bytes, documents + shard.documents
            if report is not None:
                report("verifying", size, total)
                report("documents", documents, 0)
    known = {file.name for shard in manifest.shards for file in shard.files}
    foreign = sorted(path.name for path in folder.glob("shard-*") if path.name not in known)
    if foreign:
        others = f" (and {len(foreign) - 1} more)" if len(foreign) > 1 else ""
        raise ValueError(f"{folder / foreign[0]}: a shard that is not in the manifest{others}")
    if manifest.of_next_input:
        expected = manifest.documents - manifest.of_next_input
        raise ValueError(f"{folder}: the inputs have {expected} documents, the shards {manifest.documents}")
    if inputs:
        for read in manifest.inputs:
            if hash_input(read.name) != (read.bytes, read.xxh3_128):
                raise ValueError(f"{read.name}: changed since it was encoded")
    return manifest


def _check_shard(
    folder: Path, number: int, shard: Shard, options: Mapping[str, Any], tokenizer: Tokenizer, samples: int
) -> None:
    """Check the files of a shard, that ids and offsets fit together, and what sampled documents encode to."""
    with naming(folder):
        ids_name, documents_name = names_in(shard, number, options["format"])
    for file in shard.files:
        size, sha256 = hash_file(folder / file.name)
        if size != file.bytes:
            raise ValueError(f"{folder / file.name}: {size} bytes, but the manifest says {file.bytes}")
        if sha256 != file.sha256:
            raise ValueError(f"{folder / file.name}: its SHA-256 differs from the manifest")

    ids = read_ids(folder / ids_name, options["format"], options["dtype"])
    offsets = read_offsets(folder / documents_name, options["format"], options["dtype"])
    if len(ids) != shard.tokens or len(offsets) != shard.documents + 1:
        raise ValueError(f"{folder / ids_name}: {len(ids)} tokens in {len(offsets) - 1} documents")
    if offsets[0] != 0 or offsets[-1] != len(ids) or (offsets[1:] < offsets[:-1]).any():
        raise ValueError(f"{folder / documents_name}: its documents do not cover the shard without gaps")
    samples = min(samples, shard.documents)
    for document in np.unique(np.linspace(0, shard.documents - 1, samples).astype(int)):
        where = f"{folder / ids_name}: document {document}"
        sample = ids[int(offsets[document]) : int(offsets[document + 1])]
        _check_sample(where, sample, tokenizer, options)


def _check_sample(where: str, ids: Ids, tokenizer: Tokenizer, options: Mapping[str, Any]) -> None:
    prefix, suffix = options.get("template", ([], []))
    prepended = _ids_of(options.get("prepend_special"), tokenizer)
    appended = _ids_of(options["append_special"], tokenizer)
    before = np.array([*prepended, *prefix], np.uint32)
    after = np.array([*suffix, *appended], np.uint32)
    try:
        text = tokenizer.decode(np.asarray(ids[len(before) : len(ids) - len(after)]).astype(np.uint32))
    except (KeyError, UnicodeDecodeError) as error:
        raise ValueError(f"{where} does not decode: {error!r}") from None
    again = tokenizer.encode_to_numpy(text, special=options["special"], add_special_tokens=False)
    if not np.array_equal(np.concatenate((before, again, after)), ids):
        raise ValueError(f"{where} decodes to a text that encodes to other ids")


def _ids_of(special_token: str | None, tokenizer: Tokenizer) -> list[int]:
    return [] if special_token is None else [tokenizer.special_tokens[special_token]]
