"""Remove the least used tokens of a tokenizer. Texts without them keep their ids.

examples:
  bpetite prune tok.json --input a.txt --vocab-size 16k --output small.json
  bpetite prune model/ a.txt --vocab-size 64k --output small/ --map map.json
  bpetite prune tok.json --counts c.counts --vocab-size 16k --output small.json
  bpetite prune tok.json a.txt --vocab-size 16k --ids keep --output small.json
"""

from bpetite.cli import shared
from bpetite.cli.surgery import counts_of, declare_change, model_of, write_changed


def declare(command: shared.Parser) -> None:
    """Declare the options."""
    declare_change(command)
    size = "the number of tokens that are left, such as 16000 or 16k, counted as in training"
    command.add_argument("--vocab-size", type=shared.number, required=True, metavar="N", help=size)
    ids = "number the ids anew, without holes (default), or keep each, with holes"
    choices = ("close", "keep")
    command.add_argument("--ids", dest="numbering", choices=choices, default="close", help=ids)


def run(options: shared.Options) -> shared.Result:
    """Prune, write, and return a summary."""
    tokenizer = model_of(options)
    tokenizer._pruning().number_to_remove(options.vocab_size)
    pruned, token_map = tokenizer.prune(
        counts_of(options, tokenizer),
        options.vocab_size,
        ids=options.numbering,
        num_threads=options.num_threads,
        progress=options.progress,
    )
    return write_changed(options, pruned, token_map)
