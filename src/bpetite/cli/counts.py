"""Inputs, or files of counts, and a memory limit → counts; counts → the summary that is printed."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace

from bpetite._internal.arguments import on_command_line, shortened
from bpetite._internal.integers import counted
from bpetite._internal.types import Limits
from bpetite.cli import shared
from bpetite.cli.output import way_note
from bpetite.counts import Counts, memory_bytes
from bpetite.patterns import PATTERNS
from bpetite.reading.batches import Batch, decoded
from bpetite.reading.counting import ProgressOfAll
from bpetite.reading.cuts import cutter
from bpetite.reading.documents import read_batches
from bpetite.reading.memory_limit import room_within
from bpetite.reading.options import Reading
from bpetite.reading.sources import Input, find_inputs, size_of
from bpetite.training import Training


def room_of(options: shared.Options) -> Limits:
    """Return what the memory limit leaves for counting, as options of `Counts.from_files`."""
    return room_within(memory_bytes(options.memory_limit), options.num_threads)


def count_inputs(options: shared.Options, training: Training) -> Counts:
    """Count the documents of `--input`."""
    counts, reading, room = Counts(**training.counting), shared.reading_of(options), room_of(options)
    inputs = find_inputs(options.input)
    if not options.quiet:
        notes = way_note(training.pattern_way), _special_note(inputs, reading, training)
        options.progress.note = "\n".join(filter(None, notes)) or None
    try:
        return counts._with_inputs(inputs, reading, room, options.progress)
    except MemoryError as error:
        raise _proposing_limit(error) from None


_LOOKED_INTO = 16
"""The number of inputs that are looked into for special tokens: into the first megabytes of each."""


def _special_note(inputs: Sequence[Input], reading: Reading, training: Training) -> str | None:
    """Return a line about special tokens at the beginning of inputs, if they are counted as text."""
    tokens = sorted(training.special_tokens, key=len, reverse=True)
    if not tokens or training.dialect.specials_in_corpus == "boundary":
        return None
    cut = cutter([PATTERNS["gpt2"]], tokens)  # short pieces; what is wrong in them is for counting to say
    reading = replace(reading, hold_out=None, split="train", invalid="replace", cut=cut)
    files = [found for found in inputs if found.found_size]
    some = re.compile("|".join(map(re.escape, tokens)))
    found: Counter[str] = Counter()
    size = 0
    for file in files[:: len(files) // _LOOKED_INTO + 1]:
        refused = suppress(OSError, ValueError, MemoryError, ImportError)
        with refused, closing(read_batches(file, reading)) as read:
            for text in decoded(file.name, next(read, Batch([]))):
                found.update(some.findall(text))
                size += len(text.encode())
    often = ", ".join(f"{shortened(token)} {counted(times, 'time')}" for token, times in found.most_common(3))
    return often and (
        f"special tokens are in the corpus ({often} in the {size:,} bytes looked into) and are counted "
        "as text; with --dialect tiktoken they end documents"
    )


def tell_of_default(options: shared.Options) -> None:
    """Tell someone who chose no dialect which one to choose."""
    if options.dialect is None:
        what = "the dialect was bpetite, the default; for a new model, --dialect tiktoken is recommended"
        options.progress.say(f"{what}: it keeps documents apart, and its ids are ranks")


def load_counts(options: shared.Options, min_count: int = 1) -> Counts:
    """Load the files of `--counts`, each with its weight, and add them up.

    Pretokens rarer than `min_count` are left out while a single file is loaded.
    """
    limit = room_of(options)["memory_limit"]
    inputs = find_inputs(options.counts)
    least = min_count if len(inputs) == 1 and inputs[0].weight == 1 else 1
    loading = ProgressOfAll(options.progress, size_of(inputs))

    def parts() -> Iterator[Counts]:
        for found in inputs:
            counts = Counts.load(found.name, min_count=least, memory_limit=limit, progress=loading.tell)
            loading.next()
            yield counts if found.weight == 1 else counts.weighted(found.weight, found.name)

    try:
        return next(parts()) if len(inputs) == 1 else Counts.merge(parts(), memory_limit=limit)
    except MemoryError as error:
        raise _proposing_limit(error) from None


def _proposing_limit(error: MemoryError) -> MemoryError:
    """Let the error of too little memory for counts say what needs less."""
    what = on_command_line(error.args[0]) if error.args else "not enough memory"
    return MemoryError(f"{what}; a (smaller) --memory-limit keeps more of the counts in temporary files")


def summary_of(counts: Counts) -> shared.Result:
    """Summarize counts."""
    read = counts._read()
    return {
        "distinct_pretokens": len(counts),
        "total": counts.total,
        "documents": read.documents,
        "bytes": read.bytes,
        "replaced_documents": read.replaced,
        "skipped_documents": read.skipped,
        "scale": counts.scale,
    }
