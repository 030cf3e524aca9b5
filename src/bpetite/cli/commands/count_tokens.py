"""Count the tokens of texts. `bpetite count` counts pretokens for training.

examples:
  bpetite count-tokens tok.json book.txt questions.jsonl
  bpetite count-tokens tok.json --text "hello world"
  cat prompt.txt | bpetite count-tokens tok.json
  bpetite count-tokens tok.json 'web/*.parquet' --text-column body --json
"""

from dataclasses import asdict, fields

from bpetite.cli import shared
from bpetite.cli.formats import add_models, read_model
from bpetite.cli.output import numbers
from bpetite.reading.sources import STDIN

_SHOWN = {"documents": ",", "bytes": ",", "tokens": ",", "tokens_per_document": ",.1f"}
"""The numbers that the table shows, and how."""


def declare(command: shared.Parser) -> None:
    """Declare the options."""
    add_models(command)
    source = command.add_mutually_exclusive_group()
    source.add_argument("--text", metavar="T", help="the text itself")
    inputs = f"{shared.INPUT_HELP}; each argument is a source (default: stdin)"
    shared.add_inputs(source, inputs, required=False)  # words behind MODEL are inputs, too
    shared.add_measuring(command)
    shared.add_shared(command, "--add-special-tokens")


def run(options: shared.Options) -> shared.Result:
    """Return the table, or the JSON."""
    from bpetite import corpus  # slow to import
    from bpetite.corpus import TokenCount

    tokenizer = read_model(options)
    settings = shared.measuring(options) | shared.chosen(options, "add_special_tokens")
    texts = options.input or STDIN
    if options.text is not None:
        texts = corpus.Documents([shared.text_of(options)], "--text")
    counts = corpus.count_tokens(tokenizer, texts, **settings)
    sources = {name: asdict(count) for name, count in counts.items()}
    total = {}
    for field in fields(TokenCount):
        total[field.name] = sum(row[field.name] for row in sources.values())
    shared.tell_of_special_texts("count-tokens", options, total["special_texts"])
    if options.json:
        return {"sources": sources, "total": total}
    rows = list(sources.items())
    if len(sources) > 1:
        rows.append(("total", total))
    for _, row in rows:
        row["tokens_per_document"] = row["tokens"] / (row["documents"] or 1)
    return numbers(rows, _SHOWN)
