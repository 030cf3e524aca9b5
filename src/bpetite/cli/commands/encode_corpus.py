"""Encode a corpus into a folder of token files. --resume continues a stopped run.

examples:
  bpetite encode-corpus tok.json data/ --output ids --append-special '</s>'
  bpetite encode-corpus tok.json data/ --output ids --resume
  bpetite encode-corpus tok.json --input a.txt --separator '<|x|>' --output ids

a shard in Python:
  ids = numpy.load("ids/shard-000000.npy", mmap_mode="r")
"""

import re
import shlex
from functools import partial

from bpetite._internal.integers import counted
from bpetite.cli import shared
from bpetite.cli.formats import add_models, read_model
from bpetite.counts import memory_bytes
from bpetite.reading.memory_limit import CACHE, threads_within
from bpetite.tokenizer import Tokenizer

_ENDS = r"end_?of_?(text|sentence|document)|^</s>$|<\|?eo[sdt](_id)?\|?>|^\[eos\]$"
"""How special tokens look that end a document."""


def declare(command: shared.Parser) -> None:
    """Declare the options."""
    add_models(command)
    add = command.add_argument
    shared.add_inputs(command, shared.INPUT_HELP, required=False)
    add("--output", required=True, metavar="DIR", help="a folder that is empty or does not exist")
    again = command.add_mutually_exclusive_group()
    again.add_argument("--resume", action="store_true", help="continue a stopped run, or start one")
    again.add_argument("--force", dest="overwrite", **shared.SHARED["--force"])
    shards = "format of the shards: NumPy, raw ids, or Megatron-LM's .bin and .idx (default: %(default)s)"
    shared.add_choice(command, "--format", ("npy", "bin", "megatron"), shards)
    ids = "type of the ids (default: uint16 if every id fits, else uint32, or int32 for megatron)"
    shared.add_choice(command, "--dtype", ("auto", "uint16", "uint32", "int32"), ids)
    size = "start a new shard after the document that reaches this many tokens, such as 1.5B"
    add(
        "--shard-size",
        type=shared.number,
        default="100M",
        metavar="TOKENS",
        help=f"{size} (default: %(default)s)",
    )
    for flag, does in (("--prepend-special", "begins"), ("--append-special", "ends")):
        what = f"a special token that {does} every document"
        add(flag, type=shared.text_argument, metavar="TEXT", help=what)
    add(
        "--dropout",
        type=shared.probability,
        metavar="P",
        help="leave out each possible merge with this probability, from 0 to 1 (BPE dropout)",
    )
    seed = "the number that decides which merges are left out; use another one for each epoch"
    add("--seed", type=shared.number, metavar="N", help=f"{seed} (default: 0)")
    memory = (
        "the memory for this process, such as 1GB, at least about 300MB; fewer threads are used"
    )
    add("--memory-limit", metavar="SIZE", help=f"{memory} if it is tight (default: no limit)")
    shared.add_special_as_text(command)
    shared.add_shared(command, "--add-special-tokens", "--num-threads", "--cluster")
    shared.add_reading(command)


def run(options: shared.Options) -> shared.Result:
    """Encode, and return what was written."""
    from bpetite import corpus  # slow to import

    layout = corpus.Options(
        **shared.chosen(options, "format", "dtype", "shard_size", "special"),
        **shared.chosen(options, "prepend_special", "append_special", "add_special_tokens"),
        **shared.chosen(options, "dropout", "seed"),
        reading=shared.reading_of(options),
    )
    tokenizer = read_model(options)
    if options.memory_limit is not None:
        tokenizer = tokenizer.with_memory(CACHE)
    ends = [text for text in tokenizer.special_tokens if re.search(_ENDS, text, re.IGNORECASE)]
    if not _are_divided(options, tokenizer) and ends:
        end = f"--append-special {shlex.quote(ends[0])} ends each with one"
        options.progress.say(
            f"bpetite encode-corpus: no token separates documents in the shards; {end}"
        )
    limit = memory_bytes(options.memory_limit)
    if options.cluster is None:
        encode = partial(corpus.encode, num_threads=threads_within(limit, options.num_threads))
    else:
        if limit is not None:
            raise ValueError(
                "--memory-limit is for one process; with --cluster, a task reads up to 256 MiB"
            )
        from bpetite.corpus import cluster

        encode = partial(cluster.encode, address=options.cluster)
    how = shared.chosen(options, "resume", "overwrite", "progress")
    try:
        manifest = encode(tokenizer, options.input, options.output, options=layout, **how)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("; the same command with --resume continues") from None
    written = {
        "documents": manifest.documents,
        "tokens": manifest.tokens,
        "bytes": manifest.text_bytes,
        "input_bytes": sum(source.bytes for source in manifest.inputs),
        "dtype": manifest.options["dtype"],
        "shards": len(manifest.shards),
        "invalid_documents": sum(source.affected for source in manifest.inputs),
        "special_texts": manifest.special_texts,
    }
    done = f"{counted(manifest.documents, 'document')}, {counted(manifest.tokens, 'token')}"
    if manifest.encoded_bytes is None:
        options.progress.complete(f"nothing was left to encode: {done}")
    else:
        options.progress.complete(
            f"encoding complete: {done}", manifest.encoded_bytes, of=" of text"
        )
    shared.tell_of_special_texts("encode-corpus", options, manifest.special_texts)
    return written


def _are_divided(options: shared.Options, tokenizer: Tokenizer) -> bool:
    """Whether tokens divide the documents in the shards, or may do so."""
    if options.add_special_tokens and tokenizer.template is not None:
        return True
    if options.special == "parse":
        return True  # The texts may have such tokens.
    return bool(options.append_special or options.prepend_special)
