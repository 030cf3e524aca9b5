"""What the commands that change a vocabulary share: their texts, and the two files that they write."""

from bpetite._constants import Pattern
from bpetite._internal.names import is_folder
from bpetite.cli import shared
from bpetite.cli.commands.convert import check_destination, destination_of, write_as
from bpetite.cli.counts import count_from_options, load_counts
from bpetite.cli.formats import add_models, format_of, read_model
from bpetite.counts import Counts
from bpetite.surgery.token_map import TokenMap
from bpetite.tokenizer import Tokenizer


def declare_change(command: shared.Parser) -> None:
    """Declare the tokenizer, the texts or counts, and the outputs."""
    add_models(command)
    source = command.add_mutually_exclusive_group()
    shared.add_inputs(source, shared.INPUT_HELP, required=False)
    counted = "files written by `bpetite count` with the rules of MODEL"
    shared.add_inputs(source, counted, "--counts", required=False)
    what = (
        "what to write: a file or a folder, whose name selects the format, as in `bpetite convert`"
    )
    command.add_argument("--output", dest="target", required=True, metavar="OUT", help=what)
    maps = "also write the map of old ids to new ones: JSON, or Parquet if it ends in .parquet"
    command.add_argument("--map", metavar="FILE", help=maps)
    shared.add_shared(command, "--force")
    shared.add_shared(
        command.add_argument_group("threads and memory"), "--num-threads", "--memory-limit"
    )
    shared.add_reading(command)


def model_of(options: shared.Options) -> Tokenizer:
    """Read the tokenizer, once the outputs are known to be writable."""
    if options.map is not None:
        shared.check_output(options.map, force=options.force)
    if not is_folder(options.target):
        shared.check_output(options.target, force=options.force)
    return read_model(options)


def counts_of(
    options: shared.Options, tokenizer: Tokenizer, pattern: Pattern | None = None
) -> Counts:
    """Count the inputs by the rules of a tokenizer, or by another pattern; or load counts."""
    if options.counts is not None:
        return load_counts(options)
    return count_from_options(options, tokenizer._counted_by(pattern))


def write_changed(
    options: shared.Options, tokenizer: Tokenizer, token_map: TokenMap
) -> shared.Result:
    """Write a changed tokenizer and its map, and summarize them."""
    has_settings = format_of(tokenizer) == "huggingface"
    kind, to_folder = destination_of(tokenizer, options.target, None, has_settings=has_settings)
    check_destination(tokenizer, options.target, kind, to_folder=to_folder)
    write_as(tokenizer, options.target, kind, to_folder=to_folder, overwrite=options.force)
    if options.map is not None:
        token_map.save(options.map, overwrite=options.force)
    removed = sum(new is None for new in token_map.ids.values())
    return {
        "to": kind,
        "vocab_size": tokenizer.vocab_size,
        "removed": removed,
        "new": len(token_map.parts),
        "rows": token_map.new_size,
        "fingerprint": tokenizer.fingerprint,
    }
