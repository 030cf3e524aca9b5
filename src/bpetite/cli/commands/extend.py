"""Learn further tokens for any vocabulary. Existing ids keep their meaning.

examples:
  bpetite extend tok.json --input german/ --add 2k --output longer.json
  bpetite extend model/ --counts c.counts --add 2k --output longer/
  bpetite extend tok.json --input a.txt --add 28k --output superwords.json
    --new-pattern superwords --max-words 4 --without ': '
"""

from bpetite.cli import shared
from bpetite.cli.surgery import counts_of, declare_change, model_of, write_changed
from bpetite.patterns import PATTERNS


def declare(command: shared.Parser) -> None:
    """Declare the options."""
    declare_change(command)
    add = command.add_argument
    what = "the number of tokens to learn, such as 2000 or 2k"
    add("--add", type=shared.number, required=True, metavar="N", help=what)
    named = ", ".join(PATTERNS)
    cuts = (
        f"cut text by this pattern from now on ({named}, or a regex), with which --counts were made"
    )
    add("--new-pattern", action="append", type=shared.text_argument, metavar="PATTERN", help=cuts)
    shared.add_conditions(command)


def run(options: shared.Options) -> shared.Result:
    """Extend, write, and return a summary."""
    tokenizer = model_of(options)
    pattern = options.new_pattern
    extended, token_map = tokenizer.extend(
        counts_of(options, tokenizer, pattern),
        options.add,
        pattern=pattern,
        with_map=True,
        num_threads=options.num_threads,
        progress=options.progress,
        **shared.conditions_of(options),
    )
    return write_changed(options, extended, token_map)
