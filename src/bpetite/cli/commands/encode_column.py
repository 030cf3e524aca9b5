"""Add a column of ids to a Parquet file. All other columns stay as they are.

examples:
  bpetite encode-column tok.json --input a.pq --column text --output b.pq
  bpetite encode-column t.json --input a.pq --output b --append-special '</s>'
"""

from functools import partial

from bpetite.cli import shared
from bpetite.cli.formats import add_models, read_model


def declare(command: shared.Parser) -> None:
    """Declare the options."""
    add_models(command)
    add = command.add_argument
    add("--input", required=True, metavar="FILE", help="the Parquet file to read, or its URL")
    shared.add_output(command, "the Parquet file to write")
    text = partial(add, type=shared.text_argument)
    text("--column", default="text", metavar="C", help="the column of texts (default: %(default)s)")
    text("--ids-column", default="ids", metavar="C", help="the new column (default: %(default)s)")
    shared.add_choice(
        command, "--dtype", ("uint32", "uint16"), "type of the ids (default: %(default)s)"
    )
    text("--append-special", metavar="TEXT", help="a special token that ends every row")
    nulls = (
        "a row without a text: an error (the default), a row without ids, or an empty list of ids"
    )
    shared.add_choice(command, "--nulls", ("error", "keep", "empty"), nulls)
    shared.add_special_as_text(command)
    shared.add_shared(command, "--num-threads")


def run(options: shared.Options) -> shared.Result:
    """Write the file, and return the numbers of rows and tokens."""
    from bpetite.corpus import encode_column  # slow to import

    tokenizer = read_model(options)
    names = (
        "column",
        "ids_column",
        "special",
        "dtype",
        "append_special",
        "nulls",
        "num_threads",
        "progress",
    )
    settings = shared.chosen(options, *names)
    written = encode_column(
        tokenizer, options.input, options.output, overwrite=options.force, **settings
    )
    shared.tell_of_special_texts("encode-column", options, written.special_texts)
    return written._asdict()
