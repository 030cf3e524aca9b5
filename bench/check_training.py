"""A corpus → an error unless our merges are those of the specification and of the `tokenizers` package.

python -m bench.check_training PATH VOCAB_SIZE
"""

from __future__ import annotations

import sys
from pathlib import Path

from bench.contenders import tokenizers_merges
from bpetite import Tokenizer
from bpetite._constants import END_OF_TEXT_TOKEN
from bpetite._trainer import train_bpe
from bpetite.dialect import DIALECTS
from bpetite.patterns import PATTERNS


def check_specification(path: Path) -> str:
    """Compare the merges with the specification's, in every dialect."""
    text = path.read_bytes()[:60_000].decode("utf-8", errors="ignore")
    for dialect in DIALECTS:
        specified = train_bpe(text, 600, dialect=dialect)
        if Tokenizer.train_from_iterator([text], 600, dialect=dialect).merges != specified.merges:
            raise SystemExit(
                f"{path.name}: the merges in dialect {dialect} are not the specification's"
            )
    return f"{path.name}: the specification's merges in {', '.join(DIALECTS)}"


def check_tokenizers(path: Path, vocab_size: int, pattern: str) -> str:
    """Compare the merges in dialect huggingface with those of the `tokenizers` package."""
    documents = path.read_bytes().decode("utf-8").split(END_OF_TEXT_TOKEN)
    tokenizer = Tokenizer.train_from_iterator(
        documents, vocab_size, dialect="huggingface", pattern=pattern
    )
    written = None if pattern == "gpt2" else PATTERNS[pattern]
    expected = tokenizers_merges(documents, vocab_size, END_OF_TEXT_TOKEN, written)
    printable = tokenizers_alphabet()
    spelled = [
        tuple("".join(printable[byte] for byte in tokenizer.token_bytes(side)) for side in pair)
        for pair in tokenizer.merges
    ]
    if spelled != expected:
        raise SystemExit(
            f"{path.name}: the merges with pattern {pattern} are not those of tokenizers"
        )
    return f"{path.name}: the {len(expected):,} merges of tokenizers with pattern {pattern}"


def tokenizers_alphabet() -> dict[int, str]:
    """Return the printable character that stands for each byte in the `tokenizers` package."""
    kept = [
        *range(ord("!"), ord("~") + 1),
        *range(ord("¡"), ord("¬") + 1),
        *range(ord("®"), ord("ÿ") + 1),
    ]
    moved = [byte for byte in range(256) if byte not in kept]
    return {byte: chr(byte) for byte in kept} | {
        byte: chr(256 + nth) for nth, byte in enumerate(moved)
    }


if __name__ == "__main__":
    corpus = Path(sys.argv[1])
    print(check_specification(corpus))
    for name in ("gpt2", "llama3", "o200k"):
        print(check_tokenizers(corpus, int(sys.argv[2]), name))
