"""Corpora and a vocabulary in; the encoding section of `docs/benchmarks.md` out.

First checks which contenders give tiktoken's ids, then times all of them in the same run, rounds
interleaved: the first pass of a fresh encoder, later passes, short and hostile strings, decoding, memory.
Rates on one thread are of the processor time of the process, pinned to one processor; all are medians.
The two fast contenders encode the whole corpora, all of them the first few megabytes.

    python -m bench.encode [--corpora FOLDER] [--gpt2 FOLDER] [--megabytes N]

CORPORA holds .txt and .txt.xz files; without it, the standard library's source is the corpus. GPT2 holds
vocab.json and merges.txt; without it, a vocabulary is trained on the corpora.
"""

from __future__ import annotations

import argparse
import base64
import importlib
import json
import lzma
import os
import random
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from types import ModuleType

import gigatoken
import numpy as np
import splintr
import tiktoken
import tokenizers
import tokie
from numpy.typing import NDArray

from bench.section import machine, table, versions, write_section
from bpetite import Tokenizer
from bpetite._constants import END_OF_TEXT_TOKEN, PRETOKENIZER_PATTERN
from bpetite.dialect import Dialect
from bpetite.formats import gpt2
from bpetite.formats.shared import printable
from bpetite.vocabulary import Vocabulary

PEERS = ("gigatoken", "splintr-rs", "tokenizers", "tokie", "tiktoken")
CHECKED = 2_000_000
"""How many characters of each corpus are compared with tiktoken's ids."""
ROUNDS = 3
FAST_ROUNDS = 15
"""The fast contenders take turns more often: whole corpora are where a noisy machine shows most."""
LATER_PASSES = 2
SAMPLE = 4_000_000
"""How many characters of each corpus the slow contenders encode as well."""
PRERELEASE = Path(__file__).parent.parent / ".venv" / "prerelease"
"""Where `make bench-encode` puts the pre-release of tokenizers, apart from the release."""


@dataclass(frozen=True)
class Contender:
    """One way to encode: a row of texts into whatever the package makes of them, and one text into ids."""

    encode_all: Callable[[Sequence[str]], object]
    encode: Callable[[str], Iterable[int]]
    decode: Callable[..., object]


# The contenders, each made afresh from the same vocabulary.


def bpetite_contender(vocabulary: Vocabulary, threads: int) -> Contender:
    """Arrays out, as the issue of speed is put for large texts; lists for single ones."""
    ours = Tokenizer(vocabulary)
    return Contender(partial(ours.encode_batch_to_numpy, num_threads=threads), ours.encode, ours.decode)


def gigatoken_contender(vocabulary: Vocabulary, threads: int) -> Contender:
    """Its batches come as arrays of another package."""
    with tempfile.NamedTemporaryFile(suffix=".tiktoken") as file:
        file.write(rank_file(vocabulary))
        file.flush()
        theirs = gigatoken.gigatoken_rs.BPETokenizer.from_tiktoken(
            file.name, "gpt2", dict(vocabulary.special_tokens)
        )
    return Contender(partial(theirs.encode_batch, parallel=threads > 1), theirs.encode, theirs.decode)


def splintr_contender(vocabulary: Vocabulary, threads: int) -> Contender:
    """One by one on one thread; its batches take all."""
    theirs = splintr.Tokenizer.from_bytes(
        rank_file(vocabulary), PRETOKENIZER_PATTERN, dict(vocabulary.special_tokens)
    )
    return Contender(partial(_each, theirs.encode_with_special), theirs.encode_with_special, theirs.decode)


def tokenizers_contender(vocabulary: Vocabulary, threads: int) -> Contender:
    """Its batches on as many threads as its environment variable allows: one, here."""
    theirs = tokenizers.Tokenizer.from_str(_tokenizer_json(vocabulary))
    return Contender(
        partial(theirs.encode_batch_fast, add_special_tokens=False),
        lambda text: theirs.encode(text, add_special_tokens=False).ids,
        partial(theirs.decode, skip_special_tokens=False),
    )


def tokenizers_prerelease_contender(vocabulary: Vocabulary, threads: int) -> Contender:
    """The version to come, which has an interface of its own."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        file.write(_tokenizer_json(vocabulary))
        file.flush()
        theirs = _prerelease().Tokenizer.from_file(file.name)
    return Contender(
        partial(theirs.encode_batch, add_special_tokens=False),
        lambda text: theirs.encode(text, add_special_tokens=False).ids,
        theirs.decode,
    )


def _prerelease() -> ModuleType:
    """Import the pre-release of tokenizers beside the release."""
    of_release = {name: sys.modules.pop(name) for name in list(sys.modules) if _is_tokenizers(name)}
    sys.path.insert(0, str(PRERELEASE))
    try:
        return importlib.import_module("tokenizers")
    finally:
        sys.path.pop(0)
        for name in list(sys.modules):
            if _is_tokenizers(name):
                del sys.modules[name]
        sys.modules.update(of_release)


def _is_tokenizers(module: str) -> bool:
    return module.partition(".")[0] == "tokenizers"


def tokie_contender(vocabulary: Vocabulary, threads: int) -> Contender:
    """One by one."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        file.write(_tokenizer_json(vocabulary))
        file.flush()
        theirs = tokie.Tokenizer.from_json(file.name)

    def encode(text: str) -> Sequence[int]:
        ids: Sequence[int] = theirs.encode(text, add_special_tokens=False).ids
        return ids

    return Contender(partial(_each, encode), encode, theirs.decode)


def tiktoken_contender(vocabulary: Vocabulary, threads: int) -> Contender:
    """One by one, into arrays."""
    ranks = {token: token_id for token_id, token in vocabulary.tokens.items()}
    theirs = tiktoken.Encoding(
        "bench",
        pat_str=PRETOKENIZER_PATTERN,
        mergeable_ranks=ranks,
        special_tokens=dict(vocabulary.special_tokens),
    )
    return Contender(
        partial(_each, partial(theirs.encode_to_numpy, allowed_special="all")),
        partial(theirs.encode, allowed_special="all"),
        theirs.decode,
    )


MAKERS: Mapping[str, Callable[[Vocabulary, int], Contender]] = {
    "bpetite": bpetite_contender,
    "gigatoken": gigatoken_contender,
    "splintr": splintr_contender,
    "tokenizers": tokenizers_contender,
    "tokie": tokie_contender,
    "tiktoken": tiktoken_contender,
}
if PRERELEASE.exists():
    MAKERS = {**MAKERS, "tokenizers 1.0 rc": tokenizers_prerelease_contender}
FAST = ("bpetite", "gigatoken")


def _each(encode: Callable[[str], object], texts: Sequence[str]) -> list[object]:
    return [encode(text) for text in texts]


def rank_file(vocabulary: Vocabulary) -> bytes:
    """tiktoken's file of ranks."""
    lines = (b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in vocabulary.tokens.items())
    return b"".join(lines)


def _tokenizer_json(vocabulary: Vocabulary) -> str:
    spelled = {token_id: printable.to_printable(token) for token_id, token in vocabulary.tokens.items()}
    model = tokenizers.models.BPE(
        vocab={text: token_id for token_id, text in spelled.items()},
        merges=[(spelled[left], spelled[right]) for left, right in vocabulary.merges],
    )
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    described = json.loads(tokenizer.to_str())
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    described["added_tokens"] = [
        {"id": token_id, "content": text, "special": True, **flags}
        for text, token_id in vocabulary.special_tokens.items()
    ]
    return json.dumps(described)


# What is measured.


def seconds(call: Callable[[], object]) -> float:
    """Processor seconds of one call."""
    start = time.process_time()
    result = call()
    taken = time.process_time() - start
    del result
    return taken


def wall(call: Callable[[], object]) -> float:
    """Seconds on the wall of one call."""
    start = time.perf_counter()
    result = call()
    taken = time.perf_counter() - start
    del result
    return taken


@contextmanager
def pinned(threads: int) -> Iterator[None]:
    """Keep one thread on one processor, where the system can."""
    if threads > 1 or not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def rates(
    vocabulary: Vocabulary, names: Sequence[str], texts: Sequence[str], threads: int
) -> dict[str, tuple[float, float]]:
    """Megabytes per second of the first pass and of later ones."""
    size = sum(len(text.encode()) for text in texts) / 1e6
    clock = seconds if threads == 1 else wall
    firsts: dict[str, list[float]] = {name: [] for name in names}
    laters: dict[str, list[float]] = {name: [] for name in names}
    with pinned(threads):
        for _ in range(FAST_ROUNDS if names == FAST else ROUNDS):
            for name in names:
                encode = partial(MAKERS[name](vocabulary, threads).encode_all, texts)
                firsts[name].append(clock(encode))
                laters[name] += [clock(encode) for _ in range(LATER_PASSES)]
    return {name: (size / median(firsts[name]), size / median(laters[name])) for name in names}


def peak_memory(vocabulary: Vocabulary, name: str, texts: Sequence[str]) -> int | None:
    """Bytes that an encoder and one pass over texts need at most, measured in a child (on Linux only)."""
    if not Path("/proc/self/clear_refs").exists():
        return None
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        before = _kilobytes("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")
        result = MAKERS[name](vocabulary, 1).encode_all(texts)
        os.write(writer, str(1024 * (_kilobytes("VmHWM") - before)).encode())
        del result
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:
        grown = int(pipe.read() or 0)
    os.waitpid(child, 0)
    return grown


def _kilobytes(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def microseconds(ways: Mapping[str, Callable[[str], object]], text: str) -> dict[str, float]:
    """Microseconds for one short text, warm; all take turns."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(FAST_ROUNDS):
        for name, encode in ways.items():
            start = time.process_time()
            for _ in range(2000):
                encode(text)
            times[name].append((time.process_time() - start) / 2000)
    return {name: 1e6 * min(taken) for name, taken in times.items()}


def hostile_texts(megabytes: int) -> dict[str, str]:
    """Texts that have made tokenizers slow."""
    rng = random.Random(1)
    size = megabytes * 1_000_000
    letters = "abcdefghijklmnopqrstuvwxyz"
    return {
        "`a`": "a" * size,
        "spaces": " " * size,
        "newlines": "\n" * size,
        "`ab`": "ab" * (size // 2),
        "random letters": "".join(rng.choices(letters, k=size)),
        "random CJK": "".join(map(chr, rng.choices(range(0x4E00, 0x9FA5), k=size // 3))),
    }


# What is written.


def check(vocabulary: Vocabulary, corpora: Mapping[str, Sequence[str]]) -> None:
    """Compare everybody's ids with tiktoken's."""
    reference = MAKERS["tiktoken"](vocabulary, 1)
    for corpus, texts in corpora.items():
        sample = END_OF_TEXT_TOKEN.join(texts)[:CHECKED]
        expected = list(reference.encode(sample))
        for name, maker in MAKERS.items():
            same = list(maker(vocabulary, 1).encode(sample)) == expected
            print(f"{corpus}: {name} {'gives the same ids' if same else 'DIFFERS'}", flush=True)
            if name == "bpetite" and not same:
                raise SystemExit("bpetite's ids are not tiktoken's")


def rate_table(
    vocabulary: Vocabulary, names: Sequence[str], corpora: Mapping[str, Sequence[str]], threads: int
) -> str:
    """MB/s, first pass / later ones; of the first one beside ours also how many times as fast we are."""
    columns = [rates(vocabulary, names, texts, threads) for texts in corpora.values()]
    rows = [
        [name, *(f"{column[name][0]:.0f} / {column[name][1]:.0f}" for column in columns)] for name in names
    ]
    ours, theirs = names[:2]
    ratios = [
        " / ".join(f"**{our / their:.2f}x**" for our, their in zip(column[ours], column[theirs], strict=True))
        for column in columns
    ]
    rows.insert(2, [f"{ours} : {theirs}", *ratios])
    return table([f"{threads} thread{'s' * (threads > 1)}, MB/s", *corpora], rows)


def memory_table(vocabulary: Vocabulary, corpora: Mapping[str, Sequence[str]]) -> str:
    """Peak MB of an encoder and its first pass, ids included."""
    rows = []
    for name in FAST:
        peaks = [peak_memory(vocabulary, name, texts) for texts in corpora.values()]
        rows.append([name, *("–" if peak is None else f"{peak / 1e6:.0f}" for peak in peaks)])
    return table(["peak MB, first pass", *corpora], rows)


def decoding_table(vocabulary: Vocabulary, corpora: Mapping[str, Sequence[str]]) -> str:
    """MB/s of decoding an array of ids, or a list where only that is taken; and of bytes to text."""
    ours = Tokenizer(vocabulary)
    gigatoken, tiktoken = (MAKERS[name](vocabulary, 1) for name in ("gigatoken", "tiktoken"))
    ways: dict[str, Callable[[NDArray[np.uint32]], object]] = {
        "bpetite, bytes": ours.decode_bytes,
        "bpetite, text": ours.decode,
        "gigatoken, bytes": gigatoken.decode,
        "gigatoken, text": lambda ids: gigatoken.decode(ids).decode(),  # type: ignore[attr-defined]
        "tiktoken, text": lambda ids: tiktoken.decode(ids.tolist()),
    }
    columns = []
    with pinned(1):
        for texts in corpora.values():
            text = END_OF_TEXT_TOKEN.join(texts)
            ids, content = ours.encode_to_numpy(text), text.encode()
            calls: dict[str, Callable[[], object]] = {name: partial(way, ids) for name, way in ways.items()}
            calls["Python, bytes to text"] = content.decode
            times: dict[str, list[float]] = {name: [] for name in calls}
            for _ in range(FAST_ROUNDS):
                for name, call in calls.items():
                    times[name].append(seconds(call))
            size = len(content) / 1e6
            columns.append({name: size / median(taken) for name, taken in times.items()})
    rows = [[name, *(f"{column[name]:.0f}" for column in columns)] for name in columns[0]]
    return table(["decoding, MB/s", *corpora], rows)


def latency_table(vocabulary: Vocabulary, text: str) -> str:
    """Microseconds for strings of 20, 80 and 1,000 characters. All give lists, gigatoken an array."""
    ways = {name: maker(vocabulary, 1).encode for name, maker in MAKERS.items()}
    array = ways["gigatoken"]
    ways["gigatoken, as a list"] = lambda text: array(text).tolist()  # type: ignore[attr-defined]
    with pinned(1):
        columns = [microseconds(ways, text[:length]) for length in (20, 80, 1000)]
    rows = [[name, *(f"{column[name]:.2f}" for column in columns)] for name in ways]
    return table(["`encode`, µs", "20 characters", "80", "1,000"], rows)


def hostile_table(vocabulary: Vocabulary) -> str:
    """Seconds for one and for eight megabytes, ours, and gigatoken's for one."""
    rows = []
    for name, text in hostile_texts(8).items():
        ways = [("bpetite", text[: len(text) // 8]), ("bpetite", text), ("gigatoken", text[: len(text) // 8])]
        # Every text is new to its contender: one that keeps what it has seen would only look it up.
        timed = [
            median(seconds(partial(MAKERS[contender](vocabulary, 1).encode_all, [text])) for _ in range(3))
            for contender, text in ways
        ]
        rows.append([name, *(f"{second:.3f}" for second in timed)])
    return table(["seconds", "bpetite, 1 MB", "bpetite, 8 MB", "gigatoken, 1 MB"], rows)


def beginnings(corpora: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """The first documents of each corpus, up to a size that slow contenders can encode."""
    parts: dict[str, Sequence[str]] = {}
    for corpus, texts in corpora.items():
        length = 0
        for count, text in enumerate(texts, 1):
            length += len(text)
            if length >= SAMPLE or count == len(texts):
                parts[corpus] = texts[:count]
                break
    return parts


def read_corpora(folder: Path | None, megabytes: int) -> dict[str, list[str]]:
    """Documents of each corpus, up to about so many characters of it."""
    if folder is None:
        folder = Path(sysconfig.get_path("stdlib"))
        source = "".join(path.read_text("utf-8", "ignore") for path in sorted(folder.glob("*.py")))
        return {"standard library": source[: megabytes * 1_000_000].split("\n\n\n")}
    corpora = {}
    for path in sorted([*folder.glob("*.txt"), *folder.glob("*.txt.xz")]):
        compressed = path.suffix == ".xz"
        with lzma.open(path, "rt", encoding="utf-8") if compressed else path.open(encoding="utf-8") as file:
            corpora[path.name.split(".")[0]] = file.read(megabytes * 1_000_000).split(END_OF_TEXT_TOKEN)
    return corpora


def read_vocabulary(folder: Path | None, corpora: Mapping[str, Sequence[str]]) -> Vocabulary:
    """GPT-2's vocabulary, or one trained on the spot."""
    if folder is not None:
        tokens, merges = gpt2.read_tokens_and_merges(folder / "vocab.json", folder / "merges.txt")
        id_of = {token: token_id for token_id, token in tokens.items()}
        special = id_of[END_OF_TEXT_TOKEN.encode()]
        del tokens[special]
        pairs = [(id_of[left], id_of[right]) for left, right in merges]
        return Vocabulary(tokens, pairs, {END_OF_TEXT_TOKEN: special}, dialect=Dialect.named("tiktoken"))
    texts = (text for corpus in corpora.values() for text in corpus)
    return Tokenizer.train_from_iterator(texts, 32_000, dialect="tiktoken").vocabulary


def main() -> None:
    """Check, measure, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpora", type=Path)
    parser.add_argument("--gpt2", type=Path)
    parser.add_argument("--megabytes", type=int, default=100)
    arguments = parser.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    corpora = read_corpora(arguments.corpora, arguments.megabytes)
    vocabulary = read_vocabulary(arguments.gpt2, corpora)
    check(vocabulary, corpora)
    # First, while there is no memory of an earlier pass to use again.
    memory = memory_table(vocabulary, corpora)
    sizes = ", ".join(f"{name} {sum(map(len, texts)) / 1e6:.0f}" for name, texts in corpora.items())
    parts = [
        f"`make bench-encode CORPORA=folder GPT2=folder` on {machine()}; {versions(PEERS)}. Corpora, in "
        f"millions of characters: {sizes}; cut into their documents. First pass of a fresh encoder in a "
        f"process that has encoded before / later passes, medians of {FAST_ROUNDS} interleaved rounds "
        f"({ROUNDS} where all take part). One thread, pinned: processor time; two: time on the wall.",
        rate_table(vocabulary, FAST, corpora, 1),
        rate_table(vocabulary, FAST, corpora, 2),
        memory,
        f"All contenders, on the first {SAMPLE // 1_000_000} million characters of each corpus:",
        rate_table(vocabulary, list(MAKERS), beginnings(corpora), 1),
        decoding_table(vocabulary, beginnings(corpora)),
        latency_table(vocabulary, END_OF_TEXT_TOKEN.join(next(iter(corpora.values())))[:1_000_000]),
        hostile_table(vocabulary),
    ]
    print("\n\n".join(parts))
    write_section("Encoding", "\n\n".join(parts))


if __name__ == "__main__":
    main()
