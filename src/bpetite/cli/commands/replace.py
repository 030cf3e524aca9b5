"""Put new tokens in the place of the least used ones. Matrices keep their shape.

examples:
  bpetite replace tok.json --input a.txt --number 2k --output other.json
  bpetite replace model/ --counts c.counts --number 2k --output other/
"""

from bpetite.cli import shared
from bpetite.cli.surgery import counts_of, declare_change, model_of, write_changed


def declare(command: shared.Parser) -> None:
    """Declare the options."""
    declare_change(command)
    add = command.add_argument
    what = "the number of tokens to replace, such as 2000 or 2k"
    add("--number", type=shared.number, required=True, metavar="N", help=what)
    shared.add_conditions(command)


def run(options: shared.Options) -> shared.Result:
    """Replace, write, and return a summary."""
    tokenizer = model_of(options)
    tokenizer._pruning().check_number(options.number)
    replaced, token_map = tokenizer.replace(
        counts_of(options, tokenizer),
        options.number,
        **shared.conditions_of(options),
        num_threads=options.num_threads,
        progress=options.progress,
    )
    return write_changed(options, replaced, token_map)
