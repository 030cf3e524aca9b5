"""Count the pretokens of a corpus. `merge-counts` adds up files of counts, and
`train` trains on them. `count-tokens` counts the tokens of files by a model.

examples:
  bpetite count --input corpus.txt --output corpus.counts
  bpetite count --input wiki.zst:2 'web/*.parquet:1.5' --output corpus.counts
  bpetite count --input data/ --dialect tiktoken --output corpus.counts
  bpetite count --input data/ --like llama3/ --output corpus.counts
"""

from bpetite._internal.arguments import as_option
from bpetite._internal.integers import counted
from bpetite.cli import shared
from bpetite.cli.counts import count_from_options, room_of, summary_of, tell_of_default
from bpetite.cli.output import way_note
from bpetite.counts import Counts
from bpetite.training import Training


def declare(command: shared.Parser) -> None:
    """Declare the options."""
    shared.add_inputs(command, f"{shared.INPUT_HELP}; PATH:2.5 counts the text 2.5 times")
    shared.add_output(command, "the file to write the counts to")
    shared.add_rules(command)
    shared.add_normalization(command)
    like = "count as this tokenizer normalizes and cuts, leaving out special and added tokens"
    command.add_argument("--like", metavar="MODEL", help=like)
    shared.add_shared(command, "--num-threads", "--memory-limit", "--cluster")
    shared.add_reading(command)


def run(options: shared.Options) -> shared.Result:
    """Count, save, and return a summary."""
    rules = _rules_of(options)
    if options.cluster is None:
        counts = count_from_options(options, rules)
    else:
        counts = _count_on_cluster(options, rules)
    counts.save(options.output, overwrite=options.force, num_threads=options.num_threads)
    options.progress.complete(
        f"counting complete: {counted(counts.documents, 'document')}", counts.bytes
    )
    if options.like is None:
        tell_of_default(options)
    return summary_of(counts)


def _rules_of(options: shared.Options) -> Counts:
    """Return empty counts by the rules of the options, or like a tokenizer."""
    if options.like is None:
        training = Training(
            options.dialect,
            options.pattern,
            options.special_token,
            normalization=options.normalization,
        )
        return Counts(**training.counting)
    for name in ("dialect", "pattern", "special_token", "normalization"):
        if getattr(options, name) is not None:
            raise ValueError(f"--like decides this, too, so leave out {as_option(name)}")
    from bpetite.tokenizer import Tokenizer  # slow to import

    return Counts._begin_like(Tokenizer.load(options.like))


def _count_on_cluster(options: shared.Options, rules: Counts) -> Counts:
    from bpetite.corpus import cluster

    options.progress.note = way_note(rules.pattern_way)
    return cluster.count(
        options.input,
        address=options.cluster,
        rules=rules,
        reading=shared.reading_of(options),
        memory_limit=room_of(options)["memory_limit"],
        progress=options.progress,
    )
