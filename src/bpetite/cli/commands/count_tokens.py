"""Count the tokens of files. `bpetite count` counts pretokens, to train on them.

examples:
  bpetite count-tokens tok.json book.txt questions.jsonl
  bpetite count-tokens tok.json 'web/*.parquet' --text-column body --json
"""

from typing import Any

from bpetite.cli import shared
from bpetite.cli.formats import add_models, read_model
from bpetite.cli.output import numbers


def declare(command: shared.Parser) -> None:
    """Declare the options."""
    add_models(command)
    shared.add_sources(command, required=False)  # words behind MODEL are inputs, too


def run(options: shared.Options) -> shared.Result:
    """Return the table, or the JSON."""
    from bpetite import corpus  # slow to import

    tokenizer = read_model(options)
    counted = corpus.count_tokens(tokenizer, options.input, **shared.measuring(options))
    rows: dict[str, dict[str, Any]] = {name: {**vars(one)} for name, one in counted.items()}
    if options.json:
        return rows
    if len(rows) > 1:
        rows["total"] = {
            name: sum(row[name] for row in rows.values()) for name in ("documents", "bytes", "tokens")
        }
    for row in rows.values():
        row["tokens_per_document"] = row["tokens"] / (row["documents"] or 1)
    return numbers(rows, {"documents": ",", "bytes": ",", "tokens": ",", "tokens_per_document": ",.1f"})
