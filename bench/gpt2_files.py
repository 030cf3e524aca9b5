"""GPT-2's two files and text files in, a comparison with tiktoken and the time of loading out.

    python -m bench.gpt2_files vocab.json merges.txt corpus.txt ...

Every document (texts between `<|endoftext|>`) must get the ids that tiktoken gives with the same vocabulary.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import tiktoken

from bpetite import END_OF_TEXT_TOKEN, Tokenizer
from bpetite.formats.difficult import first_difference

RUNS = 5


def main(arguments: Sequence[str]) -> int:
    """Compare, print what was found, and return the exit code."""
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    vocab, merges, *corpora = arguments
    times = []
    for _ in range(RUNS):
        started = time.process_time()
        tokenizer = Tokenizer.from_gpt2(vocab, merges)
        times.append(time.process_time() - started)
    median = sorted(times)[RUNS // 2]
    print(f"{tokenizer}: loaded in {median:.3f} s of processor time (median of {RUNS})")
    encoding = peer(tokenizer)
    different = 0
    for corpus in corpora:
        documents = Path(corpus).read_text("utf-8").split(END_OF_TEXT_TOKEN)
        difference = first_difference(documents, tokenizer.encode, encoding.encode_ordinary)
        print(f"{corpus}: {len(documents):,} documents, {difference or 'the same ids as tiktoken'}")
        different += difference is not None
    return 1 if different else 0


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
