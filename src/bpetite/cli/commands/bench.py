"""Time bpetite and other libraries on your model and text.

examples:
  bpetite bench tokenizer.json book.txt
  bpetite bench Qwen2.5-7B/ questions.jsonl --text-field question
  bpetite bench cl100k_base.tiktoken code.txt --num-threads 4 --json

Every installed library that bpetite knows is timed, except a library whose ids
differ from the model's own: for it, the first difference is shown instead.
All libraries get the same list of documents: the files of a folder,
JSON lines, or the parts of a text between <|endoftext|>. A single document is
cut at line ends, into pieces of about 4,000 characters. Each interface of a
library runs in its own process, and the fastest one counts.

The table shows MB/s for the first pass over the documents, which depends on
how many pretokens are new, and for the best later pass. A prompt has 400
characters. Loading includes the import (without numpy's). Memory is the peak
of the whole process.
"""

import dataclasses

from bpetite._constants import END_OF_TEXT_TOKEN
from bpetite._internal.integers import counted, integer
from bpetite.benchmark.comparison import Benchmark, Row, benchmark, chosen
from bpetite.benchmark.documents import first_documents
from bpetite.cli import shared
from bpetite.cli.formats import add_models, lacking, read_model
from bpetite.cli.output import described, table

PROMPT = 400


def declare(command: shared.Parser) -> None:
    """Declare the options."""
    add_models(command)
    shared.add_inputs(
        command, shared.INPUT_HELP, required=False
    )  # words behind MODEL are inputs, too
    libraries = "time only these libraries (default: all that are installed)"
    command.add_argument("--libraries", nargs="+", action="extend", metavar="NAME", help=libraries)
    numbers = {
        "--num-threads": (1, "the threads of each library"),
        "--megabytes": (8, "the megabytes of text to use"),
        "--rounds": (1, "the number of processes whose medians are shown"),
    }
    for flag, (default, meaning) in numbers.items():
        text = f"{meaning} (default: {default})"
        command.add_argument(flag, type=shared.number, default=default, metavar="N", help=text)
    shared.add_reading(command, separator=END_OF_TEXT_TOKEN)


def run(options: shared.Options) -> shared.Result:
    """Time the libraries, and return the table."""
    libraries = chosen(options.libraries)
    tokenizer = read_model(options)
    size = integer("megabytes", options.megabytes, least=1) * 1_000_000
    result = benchmark(
        tokenizer,
        options.models[0],
        first_documents(shared.documents_of(options), size),
        lacking=lacking(options),
        threads=integer("num_threads", options.num_threads, least=1),
        rounds=integer("rounds", options.rounds, least=1),
        libraries=libraries,
        progress=options.progress,
    )
    return dataclasses.asdict(result) if options.json else lines(result)


def lines(result: Benchmark) -> list[str]:
    """Return what was measured, what could not be, and the table."""
    threads = counted(result.threads, "thread")
    timed: list[Row] = []
    refused: dict[str, list[str]] = {}
    for row in result.rows:
        if row.reason:
            refused.setdefault(row.reason, []).append(f"{row.library} {row.version}")
        else:
            timed.append(row)
    documents = counted(result.documents, "piece" if result.are_pieces else "document")
    mean = f"{1e6 * result.megabytes / result.documents:,.0f} bytes on average"
    new = f"{result.new_pretokens:,} of {counted(result.pretokens, 'pretoken')} ({result.share_of_new:.1%})"
    facts = [("text", f"{result.megabytes:,.1f} MB in {documents}, {mean}; {threads}")]
    if result.are_pieces:
        facts.append(("", "the text is one document, which was cut at line ends"))
    facts.append(("new", f"{new} occur for the first time"))
    facts.append(("ids", f"as from {result.own_library}"))
    for reason, names in refused.items():
        facts.append(("no time", f"{', '.join(names)}: {reason}"))
    if result.missing:
        facts.append(("missing", ", ".join(result.missing)))
    heads = [
        ["", "first", "later", "prompt", "decoding", "loading", "memory"],
        ["library", "MB/s", "MB/s", "µs", "MB/s", "ms", "MB"],
    ]
    return [*described(facts), "", *table([*heads, *map(_cells, timed)])]


def _cells(row: Row) -> list[str]:
    def shown(value: float | None, digits: int = 0) -> str:
        return "–" if value is None else f"{value:,.{digits}f}"

    prompt = row.prompts.get(PROMPT)
    return [
        f"{row.library} {row.version}",
        shown(row.first),
        shown(row.later),
        shown(prompt and prompt * 1e6, 1),
        shown(row.decoding and 1 / row.decoding),
        shown(row.loading and row.loading * 1e3),
        shown(row.peak and row.peak / 1e6),
    ]
