"""`bpetite verify`: checks shards of ids."""

from __future__ import annotations

import argparse

from bpetite import corpus
from bpetite.cli.options import Commands, add_command, add_quiet, json_line
from bpetite.show.progress import BytesProgress

_EXAMPLES = """
bpetite verify ids/
bpetite verify ids/ --samples 100 --inputs
"""


def add_to(commands: Commands[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    verify = add_command(
        commands,
        "verify",
        "Check a folder of token files. Every file is hashed, and samples of the documents are decoded.",
        _EXAMPLES,
    )
    verify.add_argument("folder", metavar="DIR", help="a folder that encode-corpus wrote")
    verify.add_argument(
        "--samples",
        type=int,
        default=16,
        metavar="N",
        help="documents of each shard to decode (default: %(default)s)",
    )
    verify.add_argument("--inputs", action="store_true", help="also check that the inputs have not changed")
    add_quiet(verify)
    verify.set_defaults(run=run)


def run(options: argparse.Namespace) -> bytes:
    """Check, and return a line of JSON."""
    with BytesProgress("verifying", quiet=options.quiet) as progress:
        manifest = corpus.verify(
            options.folder, samples=options.samples, inputs=options.inputs, progress=progress
        )
        size = sum(file.bytes for shard in manifest.shards for file in shard.files)
        progress.complete("all files are unchanged", size)
    summary = {"shards": len(manifest.shards), "documents": manifest.documents, "tokens": manifest.tokens}
    return json_line(summary)
