"""Train on Python's own standard library and show the result. Nothing is saved.

examples:
  bpetite demo
  bpetite demo --vocab-size 8192
"""

import os
import sysconfig
import time

from bpetite.cli import shared
from bpetite.cli.output import painted
from bpetite.tokenizer import Tokenizer

_SAMPLE = '''def tokenize(text: str) -> list[int]:
    """Return the ids of a text, e.g. "naïve café, 42 times"."""
    return [token.id for token in split(text) if not token.is_space]
'''


def declare(command: shared.Parser) -> None:
    """Declare the options."""
    size = "tokens to train (default: %(default)s)"
    command.add_argument("--vocab-size", type=shared.number, default=4096, metavar="N", help=size)


def run(options: shared.Options) -> shared.Result:
    """Train, and return the result."""
    from bpetite import corpus  # slow to import

    files = os.path.join(sysconfig.get_path("stdlib"), "*.py")
    started = time.perf_counter()
    tokenizer = Tokenizer.train_from_files(files, options.vocab_size, dialect="tiktoken")
    trained = time.perf_counter()
    [fit] = corpus.stats(tokenizer, files)
    encoded = time.perf_counter()
    training_seconds = trained - started
    encoding_seconds = encoded - trained
    if options.json:
        return {
            **fit.to_dict(),
            "vocab_size": tokenizer.vocab_size,
            "training_seconds": training_seconds,
            "encoding_seconds": encoding_seconds,
        }
    in_training = f"in {training_seconds:.2f} s"
    in_encoding = f"in {encoding_seconds:.2f} s"
    return [
        f"corpus     {fit.bytes / 1e6:.1f} MB of Python source, {fit.documents:,} modules of the library",
        f"trained    {tokenizer.vocab_size:,} tokens {in_training}",
        f"before     {fit.bytes:,} tokens, one for each byte",
        f"after      {fit.tokens:,} tokens, {fit.bytes_per_token:.2f} bytes each, {in_encoding}",
        "",
        painted(tokenizer.show(_SAMPLE).tokens),
    ]
