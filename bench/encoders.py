"""A library, a model and texts → figures: the process that `bench.encode` starts.

    python -m bench.encoders '{"library": "bpetite", "way": "texts", "measure": "passes", ...}'

Everything is loaded before the clock starts, and nothing is imported that the library does not need: no
library pays for another one, and the first pass is that of a new process.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

SEPARATOR = "<|endoftext|>"
PRERELEASE = Path(__file__).parent.parent / ".venv" / "prerelease"
"""The folder in which `make bench-encode` installs the pre-release of tokenizers, beside the release."""
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
"""gigatoken's names of the patterns that it knows."""


@dataclass(frozen=True)
class Encoder:
    """One model in a library: how it encodes many texts, and one to a list."""

    encode: Callable[[Any], Any]
    ids: Callable[[Any], Any]
    """All ids of a result, as a buffer of uint32."""
    to_list: Callable[[str], list[int]]
    decode: Callable[[Any], object]
    """From what `ids` returns, to bytes or text, whichever is faster."""
    to_bytes: Callable[[list[str]], Any] | None = None
    """What `encode` takes instead of the texts, in UTF-8, if the library takes that."""


@dataclass(frozen=True)
class Model:
    """A folder with `tokenizer.json` and `ranks.tiktoken`, as far as the model can be written so."""

    folder: Path
    threads: int

    @property
    def tokenizer_json(self) -> str:
        """The file that most libraries read."""
        return str(self.folder / "tokenizer.json")

    @property
    def ranks(self) -> str:
        """The file that tiktoken reads."""
        return str(self.folder / "ranks.tiktoken")

    @property
    def said(self) -> dict[str, Any]:
        """What such a file does not say: `pattern` and `special_tokens`; also our name of the pattern."""
        said: dict[str, Any] = json.loads((self.folder / "said.json").read_bytes())
        return said

    @property
    def is_ranks(self) -> bool:
        """Whether a file of ranks is the model's own form."""
        return (self.folder / "library").read_text("utf-8") == "tiktoken"


def bpetite(model: Model) -> Encoder:
    """`encode_batch_to_numpy`."""
    import numpy

    from bpetite import Tokenizer

    ours = Tokenizer.load((model.folder / "original").read_text("utf-8"))
    return Encoder(
        lambda texts: ours.encode_batch_to_numpy(texts, num_threads=model.threads),
        lambda result: result[0],
        ours.encode,
        lambda ids: ours.decode_bytes(numpy.asarray(ids)),
        lambda texts: [text.encode() for text in texts],
    )


def gigatoken(model: Model) -> Encoder:
    """`encode_batch`, of texts or of a `BytesSource` with a separator."""
    import awkward  # imported by the first call otherwise
    import gigatoken

    named = GIGATOKEN.get(model.said["name"]) if model.is_ranks else None
    if named:
        theirs = gigatoken.Tokenizer.from_tiktoken(model.ranks, named, model.said["special_tokens"])
    else:
        theirs = gigatoken.Tokenizer(model.tokenizer_json)
    return Encoder(
        lambda texts: theirs.encode_batch(texts, parallel=model.threads > 1),
        lambda result: awkward.to_numpy(awkward.flatten(result)),
        lambda text: theirs.backend.encode(text).tolist(),
        theirs.decode,
        lambda texts: gigatoken.BytesSource(SEPARATOR.join(texts).encode(), SEPARATOR),
    )


def fastokens(model: Model) -> Encoder:
    """`encode_batch_flat`."""
    import fastokens

    if not model.is_ranks or model.said["name"] not in ("cl100k", "o200k"):
        return _flat(fastokens.Tokenizer.from_file(model.tokenizer_json))
    preset = {"special_tokens": model.said["special_tokens"], "encoding": f"{model.said['name']}_base"}
    return _flat(fastokens.Tokenizer.from_tiktoken(model.ranks, **preset))


def snaptokens(model: Model) -> Encoder:
    """`encode_batch_flat`."""
    import snaptokens

    return _flat(snaptokens.Tokenizer.from_file(model.tokenizer_json))


def _flat(theirs: Any) -> Encoder:
    return Encoder(
        theirs.encode_batch_flat,
        lambda result: result[0],
        lambda text: theirs.encode(text).ids,
        lambda ids: theirs.decode(memoryview(ids).cast("I").tolist()),
    )


def tokenizers_prerelease(model: Model) -> Encoder:
    """`encode` of each text; with two threads, `encode_batch`."""
    sys.path.insert(0, str(PRERELEASE))
    import tokenizers

    if not tokenizers.__version__.startswith("1."):
        raise ImportError(f"{PRERELEASE} has no pre-release")
    theirs = tokenizers.Tokenizer.from_file(model.tokenizer_json)
    if model.threads > 1:
        return _objects(theirs, lambda texts: theirs.encode_batch(texts, add_special_tokens=False))
    return _objects(theirs, lambda texts: [theirs.encode(text, add_special_tokens=False) for text in texts])


def tokenizers(model: Model) -> Encoder:
    """`encode_batch_fast`."""
    import tokenizers

    theirs = tokenizers.Tokenizer.from_file(model.tokenizer_json)
    return _objects(theirs, lambda texts: theirs.encode_batch_fast(texts, add_special_tokens=False))


def _objects(theirs: Any, encode: Callable[[list[str]], Any]) -> Encoder:
    return Encoder(
        encode,
        lambda result: _buffer(one.ids for one in result),
        lambda text: theirs.encode(text, add_special_tokens=False).ids,
        lambda ids: theirs.decode(ids.tolist(), skip_special_tokens=False),
    )


def _buffer(rows: Iterable[Sequence[int]]) -> Any:
    import numpy

    return numpy.fromiter(chain.from_iterable(rows), numpy.uint32)


def splintr(model: Model) -> Encoder:
    """`encode_batch_flat`."""
    import splintr

    theirs = splintr.from_json(model.tokenizer_json)
    return Encoder(
        theirs.encode_batch_flat,
        lambda result: result[0],
        theirs.encode_raw,
        lambda ids: theirs.decode_with_special(memoryview(ids).cast("I").tolist()),
    )


def tiktoken(model: Model) -> Encoder:
    """`encode_to_numpy` of each text; with two threads, `encode_batch`."""
    import numpy
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    theirs = tiktoken.Encoding(
        "bench",
        pat_str=model.said["pattern"],
        mergeable_ranks=load_tiktoken_bpe(model.ranks),
        special_tokens=model.said["special_tokens"],
    )

    def batch(texts: list[str]) -> list[list[int]]:
        return theirs.encode_batch(texts, num_threads=model.threads, allowed_special="all")

    def each(texts: list[str]) -> list[Any]:
        return [theirs.encode_to_numpy(text, allowed_special="all") for text in texts]

    return Encoder(
        batch if model.threads > 1 else each,
        _buffer if model.threads > 1 else numpy.concatenate,
        lambda text: theirs.encode(text, allowed_special="all"),
        lambda ids: theirs.decode_bytes(ids.tolist()),
    )


LIBRARIES: dict[str, Callable[[Model], Encoder]] = {
    "bpetite": bpetite,
    "gigatoken": gigatoken,
    "fastokens": fastokens,
    "snaptokens": snaptokens,
    "tokenizers 1.0 rc": tokenizers_prerelease,
    "splintr": splintr,
    "tiktoken": tiktoken,
    "tokenizers": tokenizers,
}
WAYS = {name: ("texts", "bytes") if name in ("bpetite", "gigatoken") else ("texts",) for name in LIBRARIES}
"""What each library takes: texts alone, or also what `to_bytes` returns."""

# The measures.

SAMPLE = 2_000_000
"""Of so many bytes of each corpus, the ids are compared with the original library's."""
PROMPTS = (80, 400, 4_000, 40_000)
"""The lengths of prompts, in characters."""
PROMPTS_TEXT = 400_000
PROMPTS_MOST = 1_000
PROMPTS_TURNS = 7
DECODING_TURNS = 4


def passes(encoder: Encoder, task: dict[str, Any]) -> dict[str, Any]:
    """Seconds of the first pass and of the best later one; hashes of all ids, and of the sample's."""
    texts = read_documents(task["corpus"], task["bytes"])
    convert = encoder.to_bytes if task["way"] == "bytes" and encoder.to_bytes else list
    given = convert(texts)
    clock = time.process_time if task["threads"] == 1 else time.perf_counter
    taken = []
    for turn in range(1 + task["later"]):
        start = clock()
        result = encoder.encode(given)
        taken.append(clock() - start)
        if turn < task["later"]:
            del result
    whole = sample = _hash(encoder.ids(result))
    if task["bytes"] != SAMPLE:
        sample = _hash(encoder.ids(encoder.encode(convert(read_documents(task["corpus"], SAMPLE)))))
    return {
        "first": taken[0],
        "later": min(taken[1:], default=taken[0]),
        "megabytes": _megabytes(texts),
        "all": whole,
        "sample": sample,
    }


def prompts(encoder: Encoder, task: dict[str, Any]) -> dict[str, Any]:
    """Seconds for a prompt of each length after others, and for decoding the sample; a hash of all ids."""
    text = "".join(read_documents(task["corpus"], 2 * PROMPTS_TEXT))
    seconds, hashed = [], hashlib.sha256()
    for length in PROMPTS:
        texts = [text[start : start + length] for start in range(0, PROMPTS_TEXT, length)][:PROMPTS_MOST]
        hashed.update(json.dumps([encoder.to_list(one) for one in texts]).encode())
        seconds.append(_least(partial(_each, encoder.to_list, texts), PROMPTS_TURNS) / len(texts))
    sample = read_documents(task["corpus"], SAMPLE)
    ids = encoder.ids(encoder.encode(sample))
    return {
        "megabytes": _megabytes(sample),
        "prompts": seconds,
        "decoding": _least(partial(encoder.decode, ids), DECODING_TURNS),
        "sample": hashed.hexdigest(),
    }


def _each(encode: Callable[[str], list[int]], texts: list[str]) -> None:
    for text in texts:
        encode(text)


def _least(call: Callable[[], object], turns: int) -> float:
    taken = []
    for _ in range(turns):
        start = time.process_time()
        call()
        taken.append(time.process_time() - start)
    return min(taken)


def _megabytes(texts: list[str]) -> float:
    return sum(len(text.encode()) for text in texts) / 1e6


def _hash(ids: Any) -> str:
    return hashlib.sha256(ids).hexdigest()


MEASURES = {"passes": passes, "prompts": prompts}


def read_documents(path: str, size: int) -> list[str]:
    """Return the documents in the first bytes of a corpus."""
    with open(path, "rb") as file:
        text = file.read(size).decode("utf-8", "ignore")
    return [document for document in text.split(SEPARATOR) if document]


def main() -> None:
    """Load one model in one library, and measure."""
    task = json.loads(sys.argv[1])
    if task["threads"] == 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    os.environ["RAYON_NUM_THREADS"] = str(task["threads"])
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if task["threads"] > 1 else "false"
    encoder = LIBRARIES[task["library"]](Model(Path(task["model"]), task["threads"]))
    print(json.dumps(MEASURES[task["measure"]](encoder, task)))


if __name__ == "__main__":
    main()
