"""`bpetite train`: text files in, an artifact out, one line of JSON on stdout."""

from __future__ import annotations

import argparse
import json
import os
import time
from typing import Any

from bpetite.cli.progress import TrainingProgress
from bpetite.dialect import DIALECTS, Dialect
from bpetite.patterns import PATTERNS
from bpetite.tokenizer import Tokenizer

_EXAMPLES = """examples:
  bpetite train --input corpus.txt --vocab-size 32000 --output tok.json
  bpetite train --input a.txt b.txt --vocab-size 50257 --output tok.json --dialect tiktoken --pattern o200k
"""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    command = commands.add_parser(
        "train",
        help="learn a vocabulary from text files",
        description="Learn a vocabulary from UTF-8 text files and save it as an artifact.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = command.add_argument
    add("--input", nargs="+", required=True, metavar="PATH", help="text files, each a document")
    add("--vocab-size", type=int, required=True, metavar="N", help="how large the vocabulary may get")
    add("--output", required=True, metavar="FILE", help="where the artifact goes")
    add("--force", action="store_true", help="overwrite the output if it exists")
    add("--dialect", choices=list(DIALECTS), default="bpetite", help="the rules (default: %(default)s)")
    add(
        "--pattern",
        default="gpt2",
        help=f"what a pretoken is: {', '.join(PATTERNS)}, or a regular expression (default: %(default)s)",
    )
    add(
        "--special-token",
        action="append",
        metavar="TEXT",
        help="a special token; repeat for more (default: <|endoftext|>)",
    )
    add("--min-count", type=int, default=1, metavar="N", help="drop pretokens rarer than this")
    add("--max-token-length", type=int, metavar="N", help="make no token longer than this many bytes")
    add("--num-threads", type=int, metavar="N", help="threads to use (default: all cores)")
    add("--quiet", action="store_true", help="no progress on stderr")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> bytes:
    """Train, save, and return the line of JSON."""
    started = time.perf_counter()
    if os.path.lexists(options.output) and not options.force:
        raise FileExistsError(f"{options.output} exists already; --force overwrites it")
    rules = Dialect.named(options.dialect)
    specials = 1 if options.special_token is None else len(options.special_token)
    planned = rules.planned_tokens(options.vocab_size, specials)
    with TrainingProgress(planned, quiet=options.quiet) as progress:
        tokenizer = Tokenizer.train_from_files(
            options.input,
            options.vocab_size,
            dialect=rules,
            pattern=options.pattern,
            special_tokens=options.special_token,
            min_count=options.min_count,
            max_token_length=options.max_token_length,
            num_threads=options.num_threads,
            progress=progress,
        )
        tokenizer.save(options.output, overwrite=options.force)
        elapsed_ms = (time.perf_counter() - started) * 1000
        progress.complete(len(tokenizer.merges), elapsed_ms)
    summary: dict[str, Any] = {
        "corpus_bytes": sum(os.path.getsize(path) for path in options.input),
        "requested_vocab_size": options.vocab_size,
        "actual_mergeable_vocab_size": tokenizer.mergeable_vocab_size,
        "special_token_count": len(tokenizer.special_tokens),
        "elapsed_ms": elapsed_ms,
    }
    return json.dumps(summary).encode("ascii") + b"\n"
