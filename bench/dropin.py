"""A tokenizer.json and texts → the speed of `tokenizers`, of transformers, and of our replacement in them.

Each library runs in processes of its own, which alternate. The best of several rounds counts, and
the results must be equal. With one thread, processor time is measured, with several the time on the
wall.

    python -m bench.dropin --tokenizer FILE ... --corpus FILE [--megabytes N] [--rounds N] [--threads N]
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
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench.section import machine, table, versions
from bpetite._constants import END_OF_TEXT_TOKEN

PROMPTS, PROMPT_LENGTHS = 200, (25, 500)
CALLED_LENGTHS = (400, 4_000, 100_000, 490_000)
CALLED_CHARACTERS = 1_500_000
"""How many characters the texts of one length have, that transformers is called with."""

CHAT = (
    "{% for message in messages %}<|{{ message['role'] }}|>"
    "{% if message['role'] == 'assistant' %}{% generation %}{{ message['content'] }}{% endgeneration %}"
    "{% else %}{{ message['content'] }}{% endif %}{% endfor %}"
)
LIBRARIES = ("bpetite", "tokenizers")

Encode = Callable[[Sequence[str]], list[Any]]


def read(path: Path) -> str:
    """Return the text of a file, which may be compressed with xz."""
    content = path.read_bytes()
    return (lzma.decompress(content) if path.suffix == ".xz" else content).decode("utf-8")


def slices(texts: Sequence[str], length: int) -> Iterator[str]:
    """Cut the joined texts into slices of a length: at most 400, of 1.5 million characters or one."""
    joined = "\n".join(texts)
    count = max(1, min(400, CALLED_CHARACTERS // length))
    for place in range(count):
        if len(text := joined[place * length : (place + 1) * length]) == length:
            yield text


def ways(library: str, tokenizer: str) -> dict[str, Encode]:
    """What is timed: calls whose results must be equal in both libraries."""
    import tokenizers
    import transformers

    from bpetite import accelerate

    warnings.filterwarnings("error", "not accelerated")
    load: Any = transformers.PreTrainedTokenizerFast  # its annotations are incomplete
    real = tokenizers.Tokenizer.from_str(tokenizer)
    plain = load(tokenizer_object=real, model_max_length=1 << 40, chat_template=CHAT)
    wrapped = accelerate(plain) if library == "bpetite" else plain
    used = wrapped.backend_tokenizer

    def prompts(length: int, texts: Sequence[str]) -> list[Any]:
        encodings = (used.encode(text[:length]) for text in texts[:PROMPTS])
        return [(encoding.ids, encoding.offsets) for encoding in encodings]

    def call(length: int, texts: Sequence[str]) -> list[Any]:
        called = [wrapped(text) for text in slices(texts, length)]
        return [(encoded["input_ids"], encoded["attention_mask"]) for encoded in called]

    def chat(length: int, masks: bool, texts: Sequence[str]) -> list[Any]:
        rows = []
        for text in slices(texts, length):
            asked = {"role": "user", "content": text[: length // 2]}
            answered = {"role": "assistant", "content": text[length // 2 :]}
            encoded = wrapped.apply_chat_template(
                [asked, answered], return_dict=True, return_assistant_tokens_mask=masks
            )
            rows.append(dict(encoded))
        return rows

    def offsets(texts: Sequence[str]) -> list[Any]:
        return list(wrapped(list(texts), return_offsets_mapping=True)["offset_mapping"])

    return {
        "encode_batch": lambda texts: used.encode_batch(list(texts)),
        "encode_batch, ids": lambda texts: [one.ids for one in used.encode_batch(list(texts))],
        "encode_batch, ids and offsets": lambda texts: [
            (one.ids, one.offsets) for one in used.encode_batch(list(texts))
        ],
        "encode_batch_fast, ids": lambda texts: [
            one.ids for one in used.encode_batch_fast(list(texts))
        ],
        **{
            f"{PROMPTS} prompts of {length} characters one by one, ids and offsets": partial(
                prompts, length
            )
            for length in PROMPT_LENGTHS
        },
        "transformers, all texts": lambda texts: wrapped(list(texts))["input_ids"],
        "transformers, all texts, offsets": offsets,
        **{
            f"transformers, texts of {length:,} characters": partial(call, length)
            for length in CALLED_LENGTHS
        },
        **{
            f"apply_chat_template, {length:,} characters": partial(chat, length, False)
            for length in CALLED_LENGTHS
        },
        **{
            f"apply_chat_template with the assistant's mask, {length:,} characters": partial(
                chat, length, True
            )
            for length in CALLED_LENGTHS
        },
    }


def measure(library: str, tokenizer: str, texts: Sequence[str], threads: int) -> dict[str, Any]:
    """Return the seconds and a hash of the results of each call."""
    clock = time.process_time if threads == 1 else time.perf_counter
    measured: dict[str, Any] = {}
    for name, encode in ways(library, tokenizer).items():
        rows = encode(texts)
        shown = [row.ids if name == "encode_batch" else row for row in rows]
        digest = hashlib.sha256(json.dumps(shown).encode()).hexdigest()
        del rows, shown
        start = clock()
        kept = encode(texts)
        measured[name] = clock() - start, digest
        del kept
    return measured


def started(library: str, tokenizer: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Measure in a process of its own."""
    parallel = "true" if options.threads > 1 else "false"
    settings = (
        "--megabytes",
        options.megabytes,
        "--threads",
        options.threads,
        "--library",
        library,
    )
    files = ("--tokenizer", tokenizer, "--corpus", options.corpus)
    command = [sys.executable, "-m", "bench.dropin", *map(str, (*files, *settings))]
    environment = {
        **os.environ,
        "TOKENIZERS_PARALLELISM": parallel,
        "RAYON_NUM_THREADS": str(options.threads),
    }
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def report(rounds: Sequence[Mapping[str, Mapping[str, Any]]], megabytes: float) -> str:
    """Return a table of the best rounds; results that differ are an error."""
    rows = []
    for name in rounds[0][LIBRARIES[0]]:
        digests = {measured[library][name][1] for measured in rounds for library in LIBRARIES}
        if len(digests) > 1:
            raise SystemExit(f"{name}: the libraries do not give the same")
        ours, theirs = (
            min(measured[library][name][0] for measured in rounds) for library in LIBRARIES
        )
        rows.append((name, f"{1000 * ours:.1f}", f"{1000 * theirs:.1f}", f"{theirs / ours:.1f}"))
    head = (f"{megabytes:.1f} MB, milliseconds", *LIBRARIES, "times as fast")
    return table(head, rows)


def main() -> None:
    """Measure both libraries and print a table for each tokenizer."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--tokenizer",
        type=Path,
        nargs="+",
        required=True,
        help="a tokenizer.json, or one packed by xz",
    )
    parser.add_argument(
        "--corpus", type=Path, required=True, help="text, documents ended by <|endoftext|>"
    )
    parser.add_argument("--megabytes", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--library", choices=LIBRARIES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    texts = read(options.corpus)[: int(options.megabytes * 1_000_000)].split(END_OF_TEXT_TOKEN)
    if options.library:
        if options.threads == 1 and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        print(
            json.dumps(measure(options.library, read(options.tokenizer[0]), texts, options.threads))
        )
        return
    for tokenizer in options.tokenizer:
        rounds = [
            {library: started(library, tokenizer, options) for library in LIBRARIES}
            for _ in range(options.rounds)
        ]
        print(f"{tokenizer.parent.name}/{tokenizer.name}\n")
        print(report(rounds, sum(len(text.encode()) for text in texts) / 1e6), end="\n\n")
    print(
        f"{machine()}; {versions(('bpetite', 'tokenizers', 'transformers'))}; {options.threads} thread(s)"
    )


if __name__ == "__main__":
    main()
