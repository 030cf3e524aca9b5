"""Learn a vocabulary from a corpus, or from counts. It is saved as an artifact.

examples:
  bpetite train --input corpus.txt --vocab-size 32000 --output tok.json
  bpetite train --input a.txt --vocab-size 32k --dialect tiktoken --output t
  bpetite train --input a.txt --vocab-size 128k --superwords-at 100k --output t
  bpetite train --counts a.counts b.counts --vocab-size 32k --output tok.json
"""

import time
from typing import Any

from bpetite._internal.progress import duration
from bpetite._persistence import save_vocabulary
from bpetite.cli import shared
from bpetite.cli.counts import count_from_options, load_counts, tell_of_default
from bpetite.counts import Counts, memory_bytes
from bpetite.training import Superwords, Training, train_vocabulary


def declare(command: shared.Parser) -> None:
    """Declare the options."""
    source = command.add_mutually_exclusive_group(required=True)
    shared.add_inputs(
        source, f"{shared.INPUT_HELP}; PATH:2.5 counts the text 2.5 times", required=False
    )
    shared.add_inputs(source, "files written by `bpetite count`", "--counts", required=False)
    shared.add_output(command, "the file to write the artifact to")
    learned = command.add_argument_group("the vocabulary")
    size = "the maximum number of tokens, such as 32000 or 32k; the dialect bpetite adds special tokens to it"
    sizes = learned.add_mutually_exclusive_group(required=True)
    sizes.add_argument("--vocab-size", type=shared.number, metavar="N", help=size)
    all_tokens = "the same, always including special tokens"
    sizes.add_argument("--total-size", type=shared.number, metavar="N", help=all_tokens)
    shared.add_rules(learned, "as in --counts, else ")
    shared.add_normalization(learned, "as in --counts, else ")
    shared.add_conditions(learned)
    joined = "from this size on, learn tokens that join up to 4 words; the texts are read twice"
    learned.add_argument("--superwords-at", type=shared.number, metavar="N", help=joined)
    machine = command.add_argument_group("threads and memory")
    shared.add_shared(machine, "--num-threads", "--memory-limit")
    stop = "stop if merging is expected to need more memory than this, such as 8GB, and propose a --min-count"
    default = "(default: only warn if the machine has less)"
    machine.add_argument("--training-memory", metavar="SIZE", help=f"{stop} that fits {default}")
    shared.add_reading(command)


def run(options: shared.Options) -> shared.Result:
    """Train, save, and return a summary."""
    started = time.perf_counter()
    superwords = None if options.superwords_at is None else Superwords(options.superwords_at)
    if superwords is not None and options.counts is not None:
        raise ValueError(
            "--superwords-at needs --input, as superwords are counted by another pattern; with counts of "
            "both, train to that size, and use `bpetite extend --new-pattern superwords`"
        )
    counts = None if options.counts is None else load_counts(options, options.min_count)
    training = Training(
        dialect=options.dialect,
        pattern=options.pattern,
        special_tokens=options.special_token,
        counts=counts,
        normalization=options.normalization,
        superwords=superwords,
        **shared.conditions_of(options),
    )
    vocab_size = training.vocab_size_of(options.vocab_size, options.total_size)
    planned = training.planned_tokens(vocab_size)
    training.tokens_of_first_stage(vocab_size)  # checks the size before anything is counted
    training_memory = memory_bytes(options.training_memory, "training_memory")

    def counted(rules: dict[str, Any]) -> Counts:
        return count_from_options(options, Counts(**rules))

    if counts is None:
        counts = counted(training.counting)
    vocabulary = train_vocabulary(
        counts,
        vocab_size,
        training,
        count_again=counted,
        num_threads=options.num_threads,
        memory_limit=training_memory,
        progress=options.progress,
        keep_counts=False,
    )
    save_vocabulary(options.output, vocabulary, overwrite=options.force)
    elapsed = time.perf_counter() - started
    elapsed_ms = elapsed * 1000
    merges = vocabulary.arrays.merge_count
    early = f" (of {planned} planned; no pair is left)" if merges < planned else ""
    options.progress.complete(
        f"Training complete: merges={merges}{early} elapsed_ms={elapsed_ms:.0f}"
    )
    options.progress.say(f"trained in {duration(elapsed)}; {vocabulary.size_in_words}")
    if options.counts is None:
        tell_of_default(options)
    return {
        "corpus_bytes": counts.bytes,
        "requested_vocab_size": vocab_size,
        "actual_mergeable_vocab_size": vocabulary.mergeable_vocab_size,
        "special_token_count": len(vocabulary.special_tokens),
        "elapsed_ms": elapsed_ms,
    }
