"""Check a folder of token files. It hashes all files and re-encodes a sample.

examples:
  bpetite verify ids/
  bpetite verify ids/ --samples 100 --inputs
"""

from bpetite.cli import shared

_INPUTS = "also check that the inputs have not changed, and encode those documents from them"


def declare(command: shared.Parser) -> None:
    """Declare the options."""
    add = command.add_argument
    add("folder", metavar="DIR", help="a folder that encode-corpus wrote")
    samples = "documents of each shard to decode and re-encode (default: %(default)s)"
    add("--samples", type=shared.number, default=16, metavar="N", help=samples)
    add("--inputs", action="store_true", help=_INPUTS)


def run(options: shared.Options) -> shared.Result:
    """Check, and return what there is."""
    from bpetite import corpus  # slow to import

    settings = shared.chosen(options, "samples", "inputs", "progress")
    manifest = corpus.verify(options.folder, **settings)
    size = sum(shard.bytes for shard in manifest.shards)
    options.progress.complete("verifying complete: all files are unchanged", size)
    return {
        "shards": len(manifest.shards),
        "documents": manifest.documents,
        "tokens": manifest.tokens,
    }
