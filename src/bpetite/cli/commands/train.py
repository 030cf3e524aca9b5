"""`bpetite train`: trains on a corpus or on counts, saves an artifact, and prints a line of JSON."""

from __future__ import annotations

import argparse
import time

from bpetite._internal.progress import Shown
from bpetite._persistence import save_vocabulary
from bpetite.cli.counts import count_inputs, load_counts, room_of
from bpetite.cli.options import add_inputs, add_memory_limit, add_output, add_rules, add_shared, check_output
from bpetite.cli.output import json_line, way_note
from bpetite.cli.reading import INPUT_HELP, add_reading
from bpetite.counts import memory_bytes
from bpetite.training import Training, train_vocabulary

EXAMPLES = """
bpetite train --input corpus.txt --vocab-size 32000 --output tok.json
bpetite train --input a.txt b.txt --vocab-size 50257 --output tok.json --dialect tiktoken --pattern o200k
bpetite train --counts monday.counts tuesday.counts --vocab-size 32000 --output tok.json
"""


def declare(command: argparse.ArgumentParser) -> None:
    """Declare the options."""
    source = command.add_mutually_exclusive_group(required=True)
    add_inputs(source, f"{INPUT_HELP}; PATH:2.5 counts it 2.5 times", required=False)
    add_inputs(source, "files that `bpetite count` made", "--counts", required=False)
    add = command.add_argument
    add("--vocab-size", type=int, required=True, metavar="N", help="the maximum size of the vocabulary")
    add_output(command, "the file to write the artifact to")
    add_rules(command)
    add("--min-count", type=int, default=1, metavar="N", help="drop pretokens rarer than this")
    add("--max-token-length", type=int, metavar="N", help="the maximum length of a token in bytes")
    add_shared(command, "--num-threads")
    add_memory_limit(command, "counting")
    add(
        "--training-memory",
        metavar="SIZE",
        help="stop if merging is expected to need more memory than this, such as 8GB, "
        "and propose a --min-count that fits (default: only warn if the machine has less)",
    )
    add_shared(command, "--quiet", "--no-color")
    add_reading(command)


def run(options: argparse.Namespace) -> bytes:
    """Train, save, and return the line of JSON."""
    started = time.perf_counter()
    check_output(options.output, force=options.force)
    training = Training(
        options.dialect, options.pattern, options.special_token, options.min_count, options.max_token_length
    )
    planned = training.planned_tokens(options.vocab_size)
    training_memory = memory_bytes(options.training_memory, "training_memory")
    note = way_note(training.pattern_way) if options.counts is None else None
    with Shown(note, quiet=options.quiet) as progress:
        if options.counts is None:
            counts = count_inputs(options, training, progress)
        else:
            room = room_of(options)["memory_limit"]
            counts = load_counts(options.counts, room, options.min_count, progress)
        vocabulary = train_vocabulary(
            counts,
            options.vocab_size,
            training,
            num_threads=options.num_threads,
            memory_limit=training_memory,
            progress=progress,
            keep_counts=False,
        )
        save_vocabulary(options.output, vocabulary, overwrite=options.force)
        elapsed_ms = (time.perf_counter() - started) * 1000
        merges = vocabulary.arrays.merge_count
        early = f" (of {planned} planned; no pair is left)" if merges < planned else ""
        progress.complete(f"Training complete: merges={merges}{early} elapsed_ms={elapsed_ms:.0f}")
    summary = {
        "corpus_bytes": counts.bytes,
        "requested_vocab_size": options.vocab_size,
        "actual_mergeable_vocab_size": vocabulary.mergeable_vocab_size,
        "special_token_count": len(vocabulary.special_tokens),
        "elapsed_ms": elapsed_ms,
    }
    return json_line(summary)
