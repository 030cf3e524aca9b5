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

    origin = _origin(options)
    models = read_models(options)
    tallied = tally([*models.values()], sources_of(options.input), **shared.measuring(options))
    special_texts = max(fit.special_texts for fit in tallied.fits[-1])
    shared.tell_of_special_texts("report", options, special_texts)
    content = report(models, tallied, origin)
    with write_whole(options.output, overwrite=options.force) as file:
        file.write(document(content))
    rows = [row for row in content["rows"] if row["tokenizer"] == content["name"]]
    if options.json:
        sources = []
        for row in rows:
            sizes = {name: row[name] for name in ("bytes", "characters", "tokens", *TOKEN_SIZES)}
            sources.append({"name": row["source"]} | sizes)
        return {
            "sources": sources,
            "unused_tokens": content["unused"],
            "compared": content["rows"] if len(models) > 1 else [],
            "sizes": content["curves"][0][1],
        }
    named_rows = [(source_name(row["source"]), row) for row in rows]
    measured = numbers(named_rows, {"tokens": ","} | TOKEN_SIZES)
    return [*measured, f"{counted(content['unused'], 'token')} not used"]


def _origin(options: shared.Options) -> dict[str, str]:
    """Return the date, the version, and the command without the name of the output, which changes nothing."""
    from importlib.metadata import version  # slow to import

    seconds = os.environ.get("SOURCE_DATE_EPOCH") or time.time()
    try:
        day = datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        raise ValueError(
            f"SOURCE_DATE_EPOCH must be a time in seconds, not {seconds!r:.100}"
        ) from None
    output = options.output
    words = []
    for word in options.arguments:
        if word in (output, f"--output={output}"):
            word = word.removesuffix(output) + "FILE"
        words.append(word)
    return {
        "date": f"{day.day} {day:%B %Y}",
        "version": version("bpetite"),
        "command": recorded(shlex.join(["bpetite", "report", *words])),
    }
