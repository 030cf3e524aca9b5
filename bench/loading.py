"""GPT-2's two files and text files → a comparison with tiktoken, and the time of loading.

    python -m bench.loading vocab.json merges.txt corpus.txt ... [--files FILE ...]

Also times two files of 200,000 tokens, made here: a tiktoken file, whose merges must be recovered,
and a tokenizer.json that lists every way to cut each token in two, as those of gpt-oss do.

Every document (text between two `<|endoftext|>`) must get the ids that tiktoken gives with the same
vocabulary.

Each `tokenizer.json` is loaded by bpetite and by tokenizers, in new processes that alternate; the
least processor time of each counts. FILE is a `tokenizer.json`, or a tiktoken file, of whose tokens
such a file with every way to cut them is made. Files may be compressed with xz.
"""

from __future__ import annotations

import argparse
import base64
import json
import lzma
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice, product
from pathlib import Path
from typing import Any

import tiktoken

from bpetite import END_OF_TEXT_TOKEN, Tokenizer
from bpetite.formats.shared.printable import to_printable
from bpetite.patterns import PATTERNS

RUNS = 5
LARGE = 200_000
LIBRARIES = {
    "bpetite": "from bpetite import Tokenizer; load = Tokenizer.load",
    "tokenizers": "from tokenizers import Tokenizer; load = Tokenizer.from_file",
}
TIMED = (
    "import sys, time; started = time.process_time(); load(sys.argv[1]); "
    "print(time.process_time() - started)"
)


def main(arguments: Sequence[str]) -> int:
    """Compare, print the result, and return the exit code."""
    parser = argparse.ArgumentParser("bench.loading")
    parser.add_argument("vocab")
    parser.add_argument("merges")
    parser.add_argument("corpora", nargs="*")
    parser.add_argument("--files", nargs="+", default=[], type=Path)
    given = parser.parse_args(arguments)
    tokenizer = timed(partial(Tokenizer.from_gpt2, given.vocab, given.merges))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "large.tiktoken")
        path.write_bytes(large_ranks())
        timed(partial(Tokenizer.from_tiktoken, path, pattern="gpt2"))
        for file in [path, *given.files]:
            compare_loading(file, Path(folder, "tokenizer.json"))
    encoding = peer(tokenizer)
    different = 0
    for corpus in given.corpora:
        documents = Path(corpus).read_text("utf-8").split(END_OF_TEXT_TOKEN)
        others = [
            text for text in documents if tokenizer.encode(text) != encoding.encode_ordinary(text)
        ]
        print(
            f"{corpus}: {len(documents):,} documents, {len(others):,} with other ids than tiktoken's"
        )
        different += len(others)
    return 1 if different else 0


def compare_loading(file: Path, path: Path) -> None:
    """Print the times in which both libraries load a file, which is written to `path` for them."""
    content = file.read_bytes()
    if file.suffix == ".xz":
        content = lzma.decompress(content)
    if not content.lstrip().startswith(b"{"):
        content = json.dumps(with_every_split(content), ensure_ascii=False).encode("utf-8")
    path.write_bytes(content)
    best = dict.fromkeys(LIBRARIES, float("inf"))
    for _ in range(RUNS):
        for library, load in LIBRARIES.items():
            command = [sys.executable, "-c", f"{load}; {TIMED}", str(path)]
            found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            best[library] = min(best[library], float(found))
    count = len(json.loads(content)["model"]["merges"])
    ratio = best["bpetite"] / best["tokenizers"]
    times = ", ".join(f"{library} {seconds:.3f} s" for library, seconds in best.items())
    print(
        f"{file} as a tokenizer.json of {count:,} merges: {times} ({ratio:.2f} of its time; best of {RUNS})"
    )


def with_every_split(content: bytes) -> dict[str, Any]:
    """Return the `tokenizer.json` of a tiktoken file, with every merge that results in one of its tokens."""
    lines = (line.split() for line in content.splitlines() if line)
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    printable = {token: to_printable(token) for token in ranks}
    split = {
        "type": "Split",
        "pattern": {"Regex": PATTERNS["gpt2"]},
        "behavior": "Isolated",
        "invert": False,
    }
    spelled = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": False,
    }
    return {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, spelled]},
        "post_processor": None,
        "decoder": spelled,
        "model": {
            "type": "BPE",
            "vocab": {printable[token]: rank for token, rank in ranks.items()},
            "merges": [[printable[left], printable[right]] for left, right in every_split(ranks)],
        },
    }


def every_split(ranks: Mapping[bytes, int]) -> Iterator[tuple[bytes, bytes]]:
    """Yield every pair of tokens that is a token, in the order of its rank and of theirs."""
    for token in sorted(ranks, key=ranks.__getitem__):
        pairs = ((token[:place], token[place:]) for place in range(1, len(token)))
        known = [pair for pair in pairs if pair[0] in ranks and pair[1] in ranks]
        yield from sorted(known, key=lambda pair: (ranks[pair[0]], ranks[pair[1]]))


def timed(load: Callable[[], Tokenizer]) -> Tokenizer:
    """Load a few times, print the median processor time, and return the tokenizer."""
    times = []
    for _ in range(RUNS):
        started = time.process_time()
        tokenizer = load()
        times.append(time.process_time() - started)
    print(
        f"{tokenizer}: loaded in {sorted(times)[RUNS // 2]:.3f} s of processor time (median of {RUNS})"
    )
    return tokenizer


def large_ranks() -> bytes:
    """Return a tiktoken file: all strings of one and two bytes, and as many of three as fit."""
    strings = chain.from_iterable(product(range(256), repeat=length) for length in (1, 2, 3))
    tokens = map(bytes, islice(strings, LARGE))
    return b"".join(
        b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens)
    )


def peer(tokenizer: Tokenizer) -> tiktoken.Encoding:
    """Give the vocabulary to tiktoken itself."""
    return tiktoken.Encoding(
        "gpt2",
        pat_str=str(tokenizer.pattern),
        mergeable_ranks={
            token: token_id for token_id, token in tokenizer.vocabulary.tokens.items()
        },
        special_tokens=dict(tokenizer.special_tokens),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
