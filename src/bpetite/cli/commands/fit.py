"""Shorten a text to at most N tokens. The text is printed without a newline.

examples:
  bpetite fit tok.json --tokens 3 --side left --text "the cat sat on it"
  cat prompt.txt | bpetite fit tok.json --tokens 8000
"""

from bpetite.cli import shared
from bpetite.cli.formats import add_models, read_model


def declare(command: shared.Parser) -> None:
    """Declare the options."""
    add_models(command)
    command.add_argument("--text", metavar="T", help="the text itself (default: stdin)")
    most = "the maximum number of tokens"
    command.add_argument("--tokens", required=True, type=shared.number, metavar="N", help=most)
    side = "the side where the text is cut off (default: %(default)s)"
    shared.add_choice(command, "--side", ("right", "left"), side)
    shared.add_shared(command, "--special", "--add-special-tokens")


def run(options: shared.Options) -> shared.Result:
    """Return what fits."""
    tokenizer = read_model(options)
    text = shared.text_of(options)
    settings = shared.chosen(options, "side", "special", "add_special_tokens")
    fitting = tokenizer.fit(text, options.tokens, **settings)
    return fitting.encode("utf-8")
