"""`bpetite demo`: trains on Python's own standard library and shows what came of it."""

from __future__ import annotations

import argparse
import time

from bpetite.standard_library import standard_library_files
from bpetite.tokenizer import Tokenizer

_SAMPLE = '''def tokenize(text: str) -> list[int]:
    """Return the ids of a text, e.g. "naïve café, 42 times"."""
    return [token.id for token in split(text) if not token.is_space]
'''


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    command = commands.add_parser(
        "demo",
        help="train on Python's standard library and show the result",
        description="Train on the source of the running Python's standard library and show the result.",
        epilog="example:\n  bpetite demo --vocab-size 8192",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument(
        "--vocab-size", type=int, default=4096, metavar="N", help="tokens to train (default: %(default)s)"
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> bytes:
    """Train, and return what a person sees."""
    from bpetite.cli.colours import coloured_tokens

    files = standard_library_files()
    started = time.perf_counter()
    tokenizer = Tokenizer.train_from_files(files, options.vocab_size, dialect="tiktoken")
    trained = time.perf_counter()
    size = sum(path.stat().st_size for path in files)
    ids = sum(len(tokenizer.encode(path.read_text("utf-8"))) for path in files)
    encoded = time.perf_counter()
    lines = [
        f"corpus     {size / 1e6:.1f} MB of Python source, {len(files):,} files of the standard library",
        f"trained    {tokenizer.vocab_size:,} tokens in {trained - started:.2f} s",
        f"before     {size:,} tokens, one for each byte",
        f"after      {ids:,} tokens, {size / ids:.2f} bytes each, encoded in {encoded - trained:.2f} s",
        "",
        coloured_tokens(tokenizer, _SAMPLE),
    ]
    return "\n".join(lines).encode("utf-8") + b"\n"
