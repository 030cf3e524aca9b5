"""A tokenizer.json and texts → the speed of `tokenizers`, of transformers, and of our replacement in them.

Each library runs in processes of its own, which alternate. The best of several rounds counts, and the
results must be equal. With one thread, processor time is measured, with several the time on the wall.

    python -m bench.dropin --tokenizer FILE --corpus FILE [--megabytes N] [--rounds N] [--threads N]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench.section import machine, table, versions
from bpetite._constants import END_OF_TEXT_TOKEN

PROMPTS, PROMPT_LENGTHS = 200, (25, 500)
LIBRARIES = ("bpetite", "tokenizers")


def read(path: Path) -> str:
    """Return the text of a file, which may be compressed with xz."""
    content = path.read_bytes()
    return (lzma.decompress(content) if path.suffix == ".xz" else content).decode("utf-8")


def ways(library: str, tokenizer: str) -> dict[str, Callable[[Sequence[str]], list[Any]]]:
    """What is timed: calls whose results must be equal in both libraries."""
    import tokenizers
    import transformers

    from bpetite import accelerate

    load: Any = transformers.PreTrainedTokenizerFast  # its annotations are incomplete
    real = tokenizers.Tokenizer.from_str(tokenizer)
    used: Any = accelerate(real) if library == "bpetite" else real
    wrapped = load(tokenizer_object=used, model_max_length=1 << 40)

    def prompts(length: int, texts: Sequence[str]) -> list[Any]:
        encodings = (used.encode(text[:length]) for text in texts[:PROMPTS])
        return [(encoding.ids, encoding.offsets) for encoding in encodings]

    return {
        "encode_batch": lambda texts: used.encode_batch(list(texts)),
        "encode_batch, ids": lambda texts: [one.ids for one in used.encode_batch(list(texts))],
        "encode_batch, ids and offsets": lambda texts: [
            (one.ids, one.offsets) for one in used.encode_batch(list(texts))
        ],
        "encode_batch_fast, ids": lambda texts: [one.ids for one in used.encode_batch_fast(list(texts))],
        "transformers": lambda texts: wrapped(list(texts))["input_ids"],
        "transformers, offsets": lambda texts: wrapped(list(texts), return_offsets_mapping=True)[
            "offset_mapping"
        ],
        **{
            f"{PROMPTS} prompts of {length} characters one by one, ids and offsets": partial(prompts, length)
            for length in PROMPT_LENGTHS
        },
    }


def measure(library: str, tokenizer: str, texts: Sequence[str], threads: int) -> dict[str, Any]:
    """Return the seconds and a hash of the results of each call."""
    clock = time.process_time if threads == 1 else time.perf_counter
    told: dict[str, Any] = {}
    for name, encode in ways(library, tokenizer).items():
        rows = encode(texts)
        shown = [row.ids if name == "encode_batch" else row for row in rows]
        given = hashlib.sha256(json.dumps(shown).encode()).hexdigest()
        del rows, shown
        start = clock()
        kept = encode(texts)
        told[name] = clock() - start, given
        del kept
    return told


def started(library: str, options: argparse.Namespace) -> dict[str, Any]:
    """Measure in a process of its own."""
    parallel = "true" if options.threads > 1 else "false"
    command = [sys.executable, "-m", "bench.dropin", *sys.argv[1:], "--library", library]
    environment = {
        **os.environ,
        "TOKENIZERS_PARALLELISM": parallel,
        "RAYON_NUM_THREADS": str(options.threads),
    }
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def report(rounds: Sequence[dict[str, dict[str, Any]]], megabytes: float) -> str:
    """Return a table of the best rounds; results that differ are an error."""
    rows = []
    for name in rounds[0][LIBRARIES[0]]:
        given = {told[library][name][1] for told in rounds for library in LIBRARIES}
        if len(given) > 1:
            raise SystemExit(f"{name}: the libraries do not give the same")
        ours, theirs = (min(told[library][name][0] for told in rounds) for library in LIBRARIES)
        rows.append((name, f"{1000 * ours:.1f}", f"{1000 * theirs:.1f}", f"{theirs / ours:.1f}"))
    head = (f"{megabytes:.1f} MB, milliseconds", *LIBRARIES, "times as fast")
    return table(head, rows)


def main() -> None:
    """Measure both libraries and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tokenizer", type=Path, required=True, help="a tokenizer.json, or one packed by xz")
    parser.add_argument("--corpus", type=Path, required=True, help="text, documents ended by <|endoftext|>")
    parser.add_argument("--megabytes", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--library", choices=LIBRARIES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    with options.corpus.open(encoding="utf-8") as file:
        texts = file.read(int(options.megabytes * 1_000_000)).split(END_OF_TEXT_TOKEN)
    if options.library:
        if options.threads == 1 and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        print(json.dumps(measure(options.library, read(options.tokenizer), texts, options.threads)))
        return
    rounds = [{library: started(library, options) for library in LIBRARIES} for _ in range(options.rounds)]
    print(report(rounds, sum(len(text.encode()) for text in texts) / 1e6))
    print(
        f"\n{machine()}; {versions(('bpetite', 'tokenizers', 'transformers'))}; {options.threads} thread(s)"
    )


if __name__ == "__main__":
    main()
