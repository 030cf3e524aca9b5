"""An encoder, one of its interfaces and a measure → figures: the process that `bench.encode` measures.

    python -m bench.encoders '{"encoder": "bpetite", "interface": "each", "measure": "passes", ...}'

Everything is loaded before the clock starts, and nothing is imported that the encoder does not need: no
encoder pays for another one, and the first pass is that of a new process.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SEPARATOR = "<|endoftext|>"
PRERELEASE = Path(__file__).parent.parent / ".venv" / "prerelease"
"""The folder in which `make bench-encode` installs the pre-release of tokenizers, beside the release."""

EncodeAll = Callable[[Sequence[str]], object]


@dataclass(frozen=True)
class Encoder:
    """One tokenizer of a package: its ways of encoding documents, and of encoding one text."""

    ways: dict[str, EncodeAll]
    to_list: Callable[[str], Iterable[int]]
    to_array: Callable[[str], object] | None = None
    decode: Callable[[Any], object] | None = None
    """To bytes, or to text."""


@dataclass(frozen=True)
class Vocabulary:
    """A vocabulary in a folder, in the format of each package."""

    folder: Path
    threads: int

    @property
    def pattern_name(self) -> str:
        """Our name of the pattern."""
        return (self.folder / "pattern").read_text()

    @property
    def special_tokens(self) -> dict[str, int]:
        """The id of the token that ends a document."""
        return {SEPARATOR: int((self.folder / "special").read_text())}


def bpetite_encoder(vocabulary: Vocabulary) -> Encoder:
    """Returns arrays, one for each document or one for all."""
    from bpetite import Tokenizer

    ours = Tokenizer.load(vocabulary.folder / "bpetite.json")
    threads = vocabulary.threads
    return Encoder(
        {
            "each": lambda texts: [ours.encode_to_numpy(text, num_threads=threads) for text in texts],
            "batch": lambda texts: ours.encode_batch_to_numpy(texts, num_threads=threads),
        },
        ours.encode,
        ours.encode_to_numpy,
        ours.decode_bytes,
    )


def gigatoken_encoder(vocabulary: Vocabulary) -> Encoder:
    """Returns arrays; a batch is one array of another package."""
    import gigatoken

    pattern = {"gpt2": "gpt2", "llama3": "gpt4", "o200k": "o200k"}[vocabulary.pattern_name]
    ranks = vocabulary.folder / "ranks.tiktoken"
    theirs = gigatoken.Tokenizer.from_tiktoken(ranks, pattern, vocabulary.special_tokens).backend
    parallel = vocabulary.threads > 1
    return Encoder(
        {
            "each": lambda texts: [theirs.encode(text) for text in texts],
            "batch": lambda texts: theirs.encode_batch(texts, parallel=parallel),
            "bytes": lambda texts: theirs.encode_batch(
                gigatoken.BytesSource(_joined(texts), SEPARATOR), parallel=parallel
            ),
        },
        lambda text: theirs.encode(text).tolist(),
        theirs.encode,
        theirs.decode,
    )


_JOINED: list[bytes] = []


def _joined(texts: Sequence[str]) -> bytes:
    """Return the texts as the content of a file, made before the clock starts."""
    if not _JOINED:
        _JOINED.append(SEPARATOR.join(texts).encode())
    return _JOINED[0]


def tiktoken_encoder(vocabulary: Vocabulary) -> Encoder:
    """One by one into arrays, or several at once into lists."""
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    from bpetite.patterns import PATTERNS

    theirs = tiktoken.Encoding(
        "bench",
        pat_str=PATTERNS[vocabulary.pattern_name],
        mergeable_ranks=load_tiktoken_bpe(str(vocabulary.folder / "ranks.tiktoken")),
        special_tokens=vocabulary.special_tokens,
    )
    return Encoder(
        {
            "each": lambda texts: [theirs.encode_to_numpy(text, allowed_special="all") for text in texts],
            "batch": lambda texts: theirs.encode_batch(
                list(texts), num_threads=vocabulary.threads, allowed_special="all"
            ),
        },
        lambda text: theirs.encode(text, allowed_special="all"),
        lambda text: theirs.encode_to_numpy(text, allowed_special="all"),
        lambda ids: theirs.decode_bytes(ids.tolist()),
    )


def tokenizers_encoder(vocabulary: Vocabulary) -> Encoder:
    """Returns objects, one by one or several at once."""
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if vocabulary.threads > 1 else "false"
    import tokenizers

    theirs = tokenizers.Tokenizer.from_file(str(vocabulary.folder / "tokenizer.json"))
    encode_batch = getattr(theirs, "encode_batch_fast", theirs.encode_batch)
    return Encoder(
        {
            "each": lambda texts: [theirs.encode(text, add_special_tokens=False) for text in texts],
            "batch": lambda texts: encode_batch(texts, add_special_tokens=False),
        },
        lambda text: theirs.encode(text, add_special_tokens=False).ids,
    )


def tokenizers_prerelease_encoder(vocabulary: Vocabulary) -> Encoder:
    """The next version, from a folder of its own."""
    sys.path.insert(0, str(PRERELEASE))
    return tokenizers_encoder(vocabulary)


def splintr_encoder(vocabulary: Vocabulary) -> Encoder:
    """Returns lists; batches use all threads."""
    import splintr

    from bpetite.patterns import PATTERNS

    theirs = splintr.Tokenizer.from_bytes(
        (vocabulary.folder / "ranks.tiktoken").read_bytes(),
        PATTERNS[vocabulary.pattern_name],
        vocabulary.special_tokens,
    )
    ways: dict[str, EncodeAll] = {"each": lambda texts: [theirs.encode_with_special(text) for text in texts]}
    if vocabulary.threads > 1:
        ways["batch"] = lambda texts: theirs.encode_batch(list(texts))
    return Encoder(ways, theirs.encode_with_special)


def tokie_encoder(vocabulary: Vocabulary) -> Encoder:
    """Returns objects, one by one or several at once."""
    import tokie

    theirs = tokie.Tokenizer.from_json(str(vocabulary.folder / "tokenizer.json"))

    def encode(text: str) -> Sequence[int]:
        ids: Sequence[int] = theirs.encode(text, add_special_tokens=False).ids
        return ids

    ways: dict[str, EncodeAll] = {"each": lambda texts: [encode(text) for text in texts]}
    if vocabulary.threads > 1:
        ways["batch"] = lambda texts: theirs.encode_batch(list(texts), add_special_tokens=False)
    return Encoder(ways, encode)


ENCODERS: dict[str, Callable[[Vocabulary], Encoder]] = {
    "bpetite": bpetite_encoder,
    "gigatoken": gigatoken_encoder,
    "splintr": splintr_encoder,
    "tokenizers": tokenizers_encoder,
    "tokie": tokie_encoder,
    "tiktoken": tiktoken_encoder,
    "tokenizers 1.0 rc": tokenizers_prerelease_encoder,
}
WAYS: dict[str, tuple[str, ...]] = {
    "bpetite": ("each", "batch"),
    "gigatoken": ("each", "batch", "bytes"),
    "splintr": ("each", "batch"),
    "tokenizers": ("each", "batch"),
    "tokie": ("each", "batch"),
    "tiktoken": ("each", "batch"),
    "tokenizers 1.0 rc": ("each", "batch"),
}
"""The public interfaces of each package that encode documents."""

# The measures.

SHORT_LENGTHS = (20, 80, 1000)
SHORT_CALLS = 2000
CALLS_EACH = 15


def passes(encoder: Encoder, task: dict[str, Any]) -> list[float]:
    """Seconds of the first pass, and of the best later one; nothing if there is no such interface."""
    texts = read_documents(task)
    encode = encoder.ways.get(task["interface"])
    if encode is None:
        return []
    if task["interface"] == "bytes":
        _joined(texts)
    clock = time.process_time if task["threads"] == 1 else time.perf_counter
    taken = []
    for _ in range(1 + task["later"]):
        start = clock()
        result = encode(texts)
        taken.append(clock() - start)
        del result
    return [taken[0], min(taken[1:], default=taken[0])]


def first_call(encoder: Encoder, task: dict[str, Any]) -> list[float]:
    """Seconds on the wall of the first call of a process, with so many characters of text.

    No more than these are read: the rest would drive the tokenizer out of the processor's caches.
    """
    with open(task["corpus"], encoding="utf-8") as file:
        texts = [file.read(task["bytes"])]
    encode = encoder.ways[task["interface"]]
    start = time.perf_counter()
    encode(texts)
    return [time.perf_counter() - start]


def short_texts(encoder: Encoder, task: dict[str, Any]) -> list[float | None]:
    """Seconds for a short text after many: lists for each length, then arrays."""
    text = SEPARATOR.join(read_documents(task))
    ways = (encoder.to_list, encoder.to_array)
    return [encode and _least(encode, text[:length]) for encode in ways for length in SHORT_LENGTHS]


def _least(encode: Callable[[str], object], text: str) -> float:
    taken = []
    for _ in range(CALLS_EACH):
        start = time.process_time()
        for _ in range(SHORT_CALLS):
            encode(text)
        taken.append((time.process_time() - start) / SHORT_CALLS)
    return min(taken)


def decoding(encoder: Encoder, task: dict[str, Any]) -> list[float]:
    """Seconds to decode the ids of a text to bytes, the best of several; nothing if there is no such call."""
    if encoder.to_array is None or encoder.decode is None:
        return []
    ids = encoder.to_array(SEPARATOR.join(read_documents(task)))
    taken = []
    for _ in range(1 + task["later"]):
        start = time.process_time()
        encoder.decode(ids)
        taken.append(time.process_time() - start)
    return [min(taken)]


def answer(encoder: Encoder, task: dict[str, Any]) -> list[str]:
    """Return a hash of the ids from every interface."""
    texts = read_documents(task)
    hashed = hashlib.sha256()
    for text in texts:
        hashed.update(b"".join(token_id.to_bytes(4, "little") for token_id in encoder.to_list(text)))
    return [hashed.hexdigest()]


def peak(encoder: Encoder, task: dict[str, Any]) -> list[int]:
    """The largest growth of the process in one pass, in bytes (on Linux only)."""
    texts = read_documents(task)
    before = _kilobytes("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    result = encoder.ways[task["interface"]](texts)
    grown = _kilobytes("VmHWM") - before
    del result
    return [1024 * grown]


def _kilobytes(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


MEASURES: dict[str, Callable[[Encoder, dict[str, Any]], Sequence[object]]] = {
    "passes": passes,
    "first call": first_call,
    "short": short_texts,
    "decoding": decoding,
    "answer": answer,
    "peak": peak,
}


def read_documents(task: dict[str, Any]) -> list[str]:
    """Return the first documents of the corpus, at most so many characters."""
    with open(task["corpus"], encoding="utf-8") as file:
        return file.read(task["characters"]).split(SEPARATOR)


IMPORTED = {"bpetite": ("numpy",), "gigatoken": ("numpy", "awkward"), "tiktoken": ("numpy",)}
"""The import that an encoder would do at its first call; users of arrays have done it already."""


def main() -> None:
    """Measure one encoder."""
    task = json.loads(sys.argv[1])
    if task["threads"] == 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    for package in IMPORTED.get(task["encoder"], ()):
        importlib.import_module(package)
    encoder = ENCODERS[task["encoder"]](Vocabulary(Path(task["vocabulary"]), task["threads"]))
    print(json.dumps(MEASURES[task["measure"]](encoder, task)))


if __name__ == "__main__":
    main()
