"""A tokenizer.json and texts → how many calls of transformers in several threads give a wrong result.

    python -m bench.dropin_threads --tokenizer FILE --corpus FILE [--threads N] [--calls N]

All threads use one tokenizer of transformers, each with its own truncation and padding, as web
servers and data loaders do. Every result is compared with that of the same call in one thread.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

from bench.dropin import read, slices
from bench.section import machine, versions

LENGTH = 2_000


def call(tokenizer: Any, text: str, number: int) -> Any:
    """Encode with the settings of one thread."""
    padding = "max_length" if number % 2 else False
    try:
        return tokenizer(text, truncation=True, max_length=50 + 10 * number, padding=padding)[
            "input_ids"
        ]
    except RuntimeError:  # tokenizers 0.22 refuses what comes at the same time
        return None


def mistakes(
    tokenizer: Any, expected: Sequence[Sequence[Any]], texts: Sequence[str], calls: int
) -> int:
    """Return how many calls of all threads give another result than in one thread."""
    begin = Barrier(len(expected))

    def work(number: int) -> int:
        begin.wait()
        rows = [call(tokenizer, texts[place % len(texts)], number) for place in range(calls)]
        return sum(row != expected[number][place % len(texts)] for place, row in enumerate(rows))

    with ThreadPoolExecutor(len(expected)) as pool:
        return sum(pool.map(work, range(len(expected))))


def main() -> None:
    """Count with the plain tokenizer and with ours, and print both."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--tokenizer", type=Path, required=True, help="a tokenizer.json, or one packed by xz"
    )
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--calls", type=int, default=300, help="calls of each thread")
    options = parser.parse_args()

    import tokenizers
    import transformers

    from bpetite import accelerate

    warnings.filterwarnings("error", "not accelerated")
    load: Any = transformers.PreTrainedTokenizerFast  # its annotations are incomplete
    real = tokenizers.Tokenizer.from_str(read(options.tokenizer))
    token = min(real.get_added_tokens_decoder().values(), key=str).content
    plain = load(tokenizer_object=real, model_max_length=1 << 40, pad_token=token)
    texts = list(slices([read(options.corpus)[:1_000_000]], LENGTH))[:20]
    expected = [[call(plain, text, number) for text in texts] for number in range(options.threads)]
    for name, tokenizer in (("tokenizers", plain), ("bpetite", accelerate(plain))):
        wrong = mistakes(tokenizer, expected, texts, options.calls)
        print(f"{name}: {wrong} of {options.threads * options.calls} results are wrong")
    print(
        f"\n{machine()}; {versions(('bpetite', 'tokenizers', 'transformers'))}; {options.threads} threads"
    )


if __name__ == "__main__":
    main()
