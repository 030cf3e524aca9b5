"""GPT-2's two files and text files → a comparison with tiktoken, and the time of loading.

    python -m bench.loading vocab.json merges.txt corpus.txt ...

Also times a tiktoken file of 200,000 tokens, made here, whose merges must be recovered.

Every document (text between two `<|endoftext|>`) must get the ids that tiktoken gives with the same
vocabulary.
"""

from __future__ import annotations

import base64
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, islice, product
from pathlib import Path

import tiktoken

from bpetite import END_OF_TEXT_TOKEN, Tokenizer
from bpetite.formats.shared.difficult import first_difference

RUNS = 5
LARGE = 200_000


def main(arguments: Sequence[str]) -> int:
    """Compare, print the result, and return the exit code."""
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    vocab, merges, *corpora = arguments
    tokenizer = timed(partial(Tokenizer.from_gpt2, vocab, merges))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "large.tiktoken")
        path.write_bytes(large_ranks())
        timed(partial(Tokenizer.from_tiktoken, path, pattern="gpt2"))
    encoding = peer(tokenizer)
    different = 0
    for corpus in corpora:
        documents = Path(corpus).read_text("utf-8").split(END_OF_TEXT_TOKEN)
        difference = first_difference(documents, tokenizer.encode, encoding.encode_ordinary)
        print(f"{corpus}: {len(documents):,} documents, {difference or 'the same ids as tiktoken'}")
        different += difference is not None
    return 1 if different else 0


def timed(load: Callable[[], Tokenizer]) -> Tokenizer:
    """Load a few times, print the median processor time, and return the tokenizer."""
    times = []
    for _ in range(RUNS):
        started = time.process_time()
        tokenizer = load()
        times.append(time.process_time() - started)
    print(f"{tokenizer}: loaded in {sorted(times)[RUNS // 2]:.3f} s of processor time (median of {RUNS})")
    return tokenizer


def large_ranks() -> bytes:
    """Return a tiktoken file: all strings of one and two bytes, and as many of three as fit."""
    strings = chain.from_iterable(product(range(256), repeat=length) for length in (1, 2, 3))
    tokens = map(bytes, islice(strings, LARGE))
    return b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens))


def peer(tokenizer: Tokenizer) -> tiktoken.Encoding:
    """Give the vocabulary to tiktoken itself."""
    return tiktoken.Encoding(
        "gpt2",
        pat_str=tokenizer.pattern,
        mergeable_ranks={token: token_id for token_id, token in tokenizer.vocabulary.tokens.items()},
        special_tokens=dict(tokenizer.special_tokens),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
