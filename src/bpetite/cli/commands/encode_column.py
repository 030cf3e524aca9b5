"""`bpetite encode-column`: adds a column of ids to a Parquet file."""

from __future__ import annotations

import argparse
from functools import partial

from bpetite._internal.progress import Shown
from bpetite.cli.formats import add_model, read_model
from bpetite.cli.options import add_output, add_shared, check_output, chosen, text_argument
from bpetite.cli.output import json_line, way_note

EXAMPLES = """
bpetite encode-column --model tok.json --input in.parquet --column text --output out.parquet
bpetite encode-column --model tok.json --input in.parquet --output out.parquet --append-special '</s>'
"""


def declare(command: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_model(command)
    add = command.add_argument
    add("--input", required=True, metavar="FILE", help="the Parquet file to read; perhaps a URL")
    add_output(command, "the Parquet file to write")
    text = partial(add, type=text_argument)
    text("--column", default="text", metavar="C", help="the column of texts (default: %(default)s)")
    text("--ids-column", default="ids", metavar="C", help="the new column (default: %(default)s)")
    add("--dtype", choices=("uint32", "uint16"), default="uint32", help="type of the ids (default: uint32)")
    text("--append-special", metavar="TEXT", help="a special token that ends every row")
    add(
        "--nulls",
        choices=("error", "keep", "empty"),
        default="error",
        help="a row without a text: an error (the default), a row without ids, or an empty list of ids",
    )
    add_shared(command, "--special", "--num-threads", "--quiet", "--no-color")


def run(options: argparse.Namespace) -> bytes:
    """Write the file, and return a line of JSON."""
    check_output(options.output, force=options.force)
    tokenizer = read_model(options)
    from bpetite.corpus.columns import encode_column  # slow to import

    with Shown(way_note(tokenizer.pattern_way), quiet=options.quiet) as progress:
        rows, ids = encode_column(
            tokenizer,
            options.input,
            options.output,
            **chosen(options, "column", "ids_column", "special", "dtype", "append_special", "nulls"),
            num_threads=options.num_threads,
            overwrite=options.force,
            progress=progress,
        )
    return json_line({"rows": rows, "tokens": ids})
