"""Train on Python's own standard library and show the result. Nothing is saved.

examples:
  bpetite demo
  bpetite demo --vocab-size 8192
"""

from __future__ import annotations

import argparse
import time

from bpetite._internal.standard_library import standard_library_files
from bpetite.cli.output import Result, painted
from bpetite.tokenizer import Tokenizer

_SAMPLE = '''def tokenize(text: str) -> list[int]:
    """Return the ids of a text, e.g. "naïve café, 42 times"."""
    return [token.id for token in split(text) if not token.is_space]
'''


def declare(command: argparse.ArgumentParser) -> None:
    """Declare the options."""
    command.add_argument(
        "--vocab-size", type=int, default=4096, metavar="N", help="tokens to train (default: %(default)s)"
    )


def run(options: argparse.Namespace) -> Result:
    """Train, and return the result."""
    files = standard_library_files()
    started = time.perf_counter()
    tokenizer = Tokenizer.train_from_files(files, options.vocab_size, dialect="tiktoken")
    trained = time.perf_counter()
    size = sum(path.stat().st_size for path in files)
    tokens = sum(tokenizer.count(path.read_text("utf-8")) for path in files)
    encoded = time.perf_counter()
    return [
        f"corpus     {size / 1e6:.1f} MB of Python source, {len(files):,} files of the standard library",
        f"trained    {tokenizer.vocab_size:,} tokens in {trained - started:.2f} s",
        f"before     {size:,} tokens, one for each byte",
        f"after      {tokens:,} tokens, {size / tokens:.2f} bytes each, in {encoded - trained:.2f} s",
        "",
        painted(tokenizer.show(_SAMPLE).tokens),
    ]
