"""Counts inputs or loads files of counts, within a memory limit; summarizes counts as they are printed."""

from collections.abc import Iterator

from bpetite._internal.arguments import on_command_line
from bpetite._internal.types import Limits
from bpetite.cli import shared
from bpetite.cli.output import way_note
from bpetite.counts import Counts, memory_bytes
from bpetite.counts.counting import ProgressOfAll
from bpetite.reading.memory_limit import room_within
from bpetite.reading.sources import find_inputs, size_of
from bpetite.reading.specials import noticed_in_files


def room_of(options: shared.Options) -> Limits:
    """Return what the memory limit leaves for counting, as options of `Counts.from_files`."""
    return room_within(memory_bytes(options.memory_limit), options.num_threads)


def count_from_options(options: shared.Options, counts: Counts) -> Counts:
    """Return counts, which are empty, with those of the documents of `--input`."""
    reading = shared.reading_of(options)
    limits = room_of(options)
    inputs = find_inputs(options.input)
    if not options.quiet:
        specials = counts._specials_as_text
        noticed = noticed_in_files(inputs, reading, specials) if specials else None
        notes = way_note(counts.pattern_way), noticed and on_command_line(noticed)
        options.progress.note = "\n".join(filter(None, notes)) or None
    try:
        return counts._with_inputs(inputs, reading, limits, options.progress)
    except MemoryError as error:
        raise _proposing_limit(error) from None


def tell_of_default(options: shared.Options) -> None:
    """Tell someone who chose no dialect which one to choose."""
    if options.dialect is None:
        advice = "the dialect was bpetite, the default; for a new model, --dialect tiktoken is recommended"
        options.progress.say(f"{advice}: it keeps documents apart, and its ids are ranks")


def load_counts(options: shared.Options, min_count: int = 1) -> Counts:
    """Load the files of `--counts`, each with its weight, and add them up.

    Pretokens rarer than `min_count` are left out while a single file is loaded.
    """
    limit = room_of(options)["memory_limit"]
    inputs = find_inputs(options.counts)
    if [source.weight for source in inputs] != [1]:
        min_count = 1  # What is rare in a part may be frequent in the sum.
    loading = ProgressOfAll(options.progress, size_of(inputs))

    def parts() -> Iterator[Counts]:
        for source in inputs:
            counts = Counts.load(
                source.name, min_count=min_count, memory_limit=limit, progress=loading.tell
            )
            loading.next()
            yield counts if source.weight == 1 else counts.weighted(source.weight, source.name)

    try:
        return next(parts()) if len(inputs) == 1 else Counts.merge(parts(), memory_limit=limit)
    except MemoryError as error:
        raise _proposing_limit(error) from None


def _proposing_limit(error: MemoryError) -> MemoryError:
    """Let the error of too little memory for counts say what needs less."""
    reason = on_command_line(error.args[0]) if error.args else "not enough memory"
    return MemoryError(
        f"{reason}; a (smaller) --memory-limit keeps more of the counts in temporary files"
    )


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
