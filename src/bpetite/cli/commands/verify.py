"""`bpetite verify`: checks shards of ids."""

from __future__ import annotations

import argparse

from bpetite import corpus
from bpetite._internal.progress import Shown
from bpetite.cli.options import add_shared
from bpetite.cli.output import json_line

EXAMPLES = """
bpetite verify ids/
bpetite verify ids/ --samples 100 --inputs
"""


def declare(command: argparse.ArgumentParser) -> None:
    """Declare the options."""
    command.add_argument("folder", metavar="DIR", help="a folder that encode-corpus wrote")
    command.add_argument(
        "--samples",
        type=int,
        default=16,
        metavar="N",
        help="documents of each shard to decode (default: %(default)s)",
    )
    command.add_argument("--inputs", action="store_true", help="also check that the inputs have not changed")
    add_shared(command, "--quiet", "--no-color")


def run(options: argparse.Namespace) -> bytes:
    """Check, and return a line of JSON."""
    with Shown(quiet=options.quiet) as progress:
        manifest = corpus.verify(
            options.folder, samples=options.samples, inputs=options.inputs, progress=progress
        )
        size = sum(shard.bytes for shard in manifest.shards)
        progress.complete("verifying complete: all files are unchanged", size)
    summary = {"shards": len(manifest.shards), "documents": manifest.documents, "tokens": manifest.tokens}
    return json_line(summary)
