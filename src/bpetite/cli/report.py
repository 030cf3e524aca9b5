"""`bpetite report`: an artifact and text files in, one HTML file out, its main numbers on stdout."""

from __future__ import annotations

import argparse
import os

from bpetite._files import write_whole
from bpetite.cli.options import Commands, add_command, add_json, add_output, json_line, refuse_existing
from bpetite.tokenizer import Tokenizer

_EXAMPLES = """
bpetite report tok.json --input english.txt code.txt --output report.html
"""


def add_to(commands: Commands[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    command = add_command(
        commands,
        "report",
        "Measure a tokenizer on texts and write one HTML file with plots and tables.",
        _EXAMPLES,
    )
    command.add_argument("model", metavar="MODEL", help="an artifact")
    command.add_argument(
        "--input", nargs="+", required=True, metavar="PATH", help="UTF-8 text files, each a source of its own"
    )
    add_output(command, "where the HTML file goes")
    add_json(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> bytes:
    """Measure, write the file, and return the numbers of each source."""
    from bpetite.report.measures import measure
    from bpetite.report.page import report_html

    refuse_existing(options)
    tokenizer = Tokenizer.load(options.model)
    measures = measure(tokenizer, [(path, [_read(path)]) for path in options.input])
    page = report_html(os.path.basename(options.model), measures)
    with write_whole(options.output, overwrite=options.force) as file:
        file.write(page.encode("utf-8"))
    sources = [*measures.sources, measures.total]
    if options.json:
        rows = [{**vars(source), "bytes_per_token": source.bytes_per_token} for source in sources]
        return json_line({"sources": rows, "unused_tokens": len(measures.unused)})
    width = max(len(source.name) for source in sources)
    lines = [
        f"{source.name:<{width}}  {source.tokens:>14,} tokens  {source.bytes_per_token:6.3f} bytes per token"
        for source in sources
    ]
    return "\n".join([*lines, f"{len(measures.unused):,} tokens were not used", ""]).encode("utf-8")


def _read(path: str) -> str:
    with open(path, "rb") as file:
        content = file.read()
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not valid UTF-8 at byte {error.start}") from None
