"""Explain why your merges differ from a dialect's. The first difference is shown.
Common mistakes are tried, and the one that explains all your merges is named.

examples:
  bpetite explain --input corpus.txt --merges merges.txt --dialect cs336
  bpetite explain --input a.txt --merges merges.json --special-token '<|x|>'
"""

import sys
from dataclasses import asdict

from bpetite._internal.json import naming
from bpetite._internal.progress import folded
from bpetite.cli import shared
from bpetite.counts import Counts
from bpetite.reading.sources import find_inputs
from bpetite.teaching.difference import explain_difference, merges_in
from bpetite.teaching.mistakes import LARGEST_TRIED
from bpetite.training import Training


def declare(command: shared.Parser) -> None:
    """Declare the options."""
    shared.add_inputs(command, shared.INPUT_HELP)
    merges = "your merges: a merges.txt, or a list of pairs, as JSON or as Python prints it"
    command.add_argument("--merges", required=True, metavar="FILE", help=merges)
    shared.add_rules(command, dialect="cs336")
    shared.add_shared(command, "--num-threads")
    shared.add_reading(command)


def run(options: shared.Options) -> shared.Result:
    """Return the explanation, for people or as JSON."""
    with open(options.merges, "rb") as file:
        content = shared.utf8(options.merges, file.read())
    with naming(options.merges):
        merges = merges_in(content)
    rules = shared.chosen(options, "dialect", "pattern") | {"special_tokens": options.special_token}
    counts = Counts.from_files(
        options.input,
        **Training(**rules).counting,
        **shared.reading_of(options).to_dict(),
        **shared.chosen(options, "num_threads", "progress"),
    )
    texts = []
    inputs = find_inputs(options.input)
    are_plain = all(source.size() and source.weight == 1 for source in inputs)
    if counts.bytes <= LARGEST_TRIED and are_plain:
        texts = list(shared.documents_of(options))  # Mistakes are tried on them.
    rules |= {"pattern": counts.pattern, "texts": texts}
    with naming(options.merges):
        difference = explain_difference(counts, merges, **rules)
    if options.json:
        return None if difference is None else asdict(difference)
    answer = str(difference or f"all {len(merges):,} merges match the dialect {options.dialect}")
    return [folded(answer, sys.stdout)]
