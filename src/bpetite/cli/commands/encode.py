"""Turn text into ids. Each document is a JSON array; --show prints tokens.

examples:
  bpetite encode --model tok.json --text "hello world"
  bpetite encode --model tok.json --text "hello world" --show
  bpetite encode --model llama/ --text "hello world" --add-special-tokens
  bpetite encode --model tok.json --input book.txt
  bpetite encode --model tok.json --input chapters/ questions.jsonl
  echo hello | bpetite encode --model tok.json
"""

import json

from bpetite.cli import shared
from bpetite.cli.formats import add_models, read_model
from bpetite.cli.output import as_line, painted
from bpetite.reading.options import Reading


def declare(command: shared.Parser) -> None:
    """Declare the options."""
    add_models(command)
    source = command.add_mutually_exclusive_group()
    source.add_argument("--text", metavar="T", help="the text itself")
    shared.add_inputs(source, f"{shared.INPUT_HELP} (default: stdin)", required=False)
    shared.add_shared(command, "--special", "--add-special-tokens")
    command.add_argument(
        "--show", action="store_true", help="print the tokens themselves, coloured"
    )
    shared.add_reading(command)


def run(options: shared.Options) -> shared.Result:
    """Return the ids as compact JSON arrays, or the tokens for display."""
    tokenizer = read_model(options)
    is_divided = options.input or (options.text is None and shared.reading_of(options) != Reading())
    texts = shared.documents_of(options) if is_divided else [shared.text_of(options)]
    settings = shared.chosen(options, "special", "add_special_tokens")
    lines: list[str] = []
    for text in texts:
        if not options.show:
            ids = tokenizer.encode(text, **settings)
            lines.append(json.dumps(ids, separators=(",", ":")))
            continue
        shown = tokenizer.show(text, **settings)
        if options.json:
            tokens = [token._asdict() for token in shown.tokens]
            lines.append(as_line(tokens))
        else:
            lines.append(f"{painted(shown.tokens)}\n{shown.summary}")
    return lines
