"""Split a text into chunks of at most N tokens. Each chunk is a line of JSON.

examples:
  bpetite chunks tok.json --tokens 3 --text "the cat sat on the mat"
  cat book.txt | bpetite chunks tok.json --tokens 512 --overlap 64

A line has the chunk's text, its ids, and its start and end in the whole text
(in characters).
"""

from bpetite.cli import shared
from bpetite.cli.formats import add_models, read_model
from bpetite.cli.output import as_line


def declare(command: shared.Parser) -> None:
    """Declare the options."""
    add_models(command)
    command.add_argument("--text", metavar="T", help="the text itself (default: stdin)")
    most = "the maximum number of tokens in a chunk"
    command.add_argument("--tokens", required=True, type=shared.number, metavar="N", help=most)
    overlap = "tokens that a chunk may share with the previous one (default: %(default)s)"
    command.add_argument("--overlap", default=0, type=shared.number, metavar="N", help=overlap)
    shared.add_shared(command, "--special", "--add-special-tokens")


def run(options: shared.Options) -> shared.Result:
    """Return a line for each chunk."""
    tokenizer = read_model(options)
    text = shared.text_of(options)
    settings = shared.chosen(options, "overlap", "special", "add_special_tokens")
    chunks = tokenizer.chunks(text, options.tokens, **settings)
    return [as_line(chunk._asdict()) for chunk in chunks]
