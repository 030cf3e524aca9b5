"""Measure a tokenizer and write an HTML file. Others are compared with it.

examples:
  bpetite report tok.json --input english.txt code.txt --output report.html
  bpetite report tok.json --input wiki/ web.jsonl.zst --output report.html
  bpetite report tok.json gpt2/ --input german/ python/ --output report.html

The page shows the date and the command that created it. SOURCE_DATE_EPOCH (in
seconds) sets the date.
"""

import os
import shlex
import time
from datetime import UTC, datetime

from bpetite._internal.files import write_whole
from bpetite._internal.integers import counted
from bpetite._internal.names import recorded
from bpetite.cli import shared
from bpetite.cli.formats import add_models, read_models
from bpetite.cli.output import TOKEN_SIZES, numbers, source_name


def declare(command: shared.Parser) -> None:
    """Declare the options."""
    add_models(command, "; the report is about the first, the others are compared with it")
    shared.add_sources(command)
    shared.add_output(command, "the HTML file to write")


def run(options: shared.Options) -> shared.Result:
    """Measure, write the file, and return the numbers of each source."""
    from bpetite.corpus.statistics import sources_of, tally  # slow to import
    from bpetite.show.viewer.page import document
    from bpetite.show.viewer.report import report

    made = _made(options)
    models, how = read_models(options), shared.measuring(options)
    tallied = tally([*models.values()], sources_of(options.input), **how)
    shared.tell_of_special_texts("report", options, max(fit.special_texts for fit in tallied.fits[-1]))
    found = report(models, tallied, made)
    with write_whole(options.output, overwrite=options.force) as file:
        file.write(document(found))
    of_first = [row for row in found["rows"] if row["tokenizer"] == found["name"]]
    if options.json:
        of_source = ("bytes", "characters", "tokens", *TOKEN_SIZES)
        return {
            "sources": [{"name": row["source"], **{of: row[of] for of in of_source}} for row in of_first],
            "unused_tokens": found["unused"],
            "compared": found["rows"] if len(models) > 1 else [],
            "sizes": found["curves"][0][1],
        }
    measured = numbers(
        [(source_name(row["source"]), row) for row in of_first], {"tokens": ",", **TOKEN_SIZES}
    )
    return [*measured, f"{counted(found['unused'], 'token')} not used"]


def _made(options: shared.Options) -> dict[str, str]:
    """Return the date, the version, and the command without the name of the output, which changes nothing."""
    from importlib.metadata import version  # slow to import

    given = os.environ.get("SOURCE_DATE_EPOCH") or time.time()
    try:
        day = datetime.fromtimestamp(int(given), UTC)
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"SOURCE_DATE_EPOCH must be a time in seconds, not {given!r:.100}") from None
    output = options.output
    words = [
        word.removesuffix(output) + "FILE" if word in (output, f"--output={output}") else word
        for word in options.arguments
    ]
    return {
        "date": f"{day.day} {day:%B %Y}",
        "version": version("bpetite"),
        "command": recorded(shlex.join(["bpetite", "report", *words])),
    }
