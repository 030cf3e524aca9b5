"""What each trainer learns if a pair occurs more than 2^31 times: a line for each.

    python -m bench.overflow

The corpus of 4.3 GB is the same megabyte again and again; the best merge is `ab`, with
2,150,000,000 occurrences. This takes two minutes of processor time, and 4.3 GB of disk while
gigatoken reads.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

COPIES = 4_300
WORDS = " ".join(["ab" * 5_000] * 100) + "\n"
MERGES = 3


def bpetite() -> list[str]:
    """Trains from an iterator."""
    from bpetite import Tokenizer

    tokenizer = Tokenizer.train_from_iterator(_documents(), 256 + MERGES, special_tokens=[])
    return [tokenizer.token_bytes(256 + rank).decode() for rank in range(len(tokenizer.merges))]


def rustbpe() -> list[str]:
    """Trains from an iterator, too."""
    import rustbpe

    tokenizer = rustbpe.Tokenizer()
    tokenizer.train_from_iterator(_documents(), 256 + MERGES, pattern=r"[ab]+|\s")
    return [token.decode() for token, _ in tokenizer.get_mergeable_ranks()[256:]]


def tokenizers() -> list[str]:
    """Counts words first, and pairs in them afterwards."""
    import tokenizers

    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=2 + MERGES, show_progress=False)
    tokenizer.train_from_iterator(_documents(), trainer)
    return ["".join(pair) for pair in json.loads(tokenizer.to_str())["model"]["merges"]]


def gigatoken() -> list[str]:
    """Trains from a file only."""
    import gigatoken

    with tempfile.NamedTemporaryFile("w") as file:
        file.writelines(_documents())
        file.flush()
        _, merges = gigatoken.train_bpe(file.name, 257 + MERGES, ["<|e|>"], "huggingface", b"<|e|>")
    return [(left + right).decode() for left, right in merges]


def sentencepiece() -> list[str]:
    """Takes words with their counts."""
    import sentencepiece

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "words.tsv").write_text(f"{'ab' * 500}\t{1000 * COPIES}\n", "utf-8")
        sentencepiece.SentencePieceTrainer.train(
            input=f"{folder}/words.tsv",
            input_format="tsv",
            model_prefix=f"{folder}/out",
            model_type="bpe",
            vocab_size=6 + MERGES,
            hard_vocab_limit=False,
            add_dummy_prefix=False,
            minloglevel=2,
        )
        lines = Path(folder, "out.vocab").read_text("utf-8").splitlines()
    return [line.split("\t")[0] for line in lines[3 : 3 + MERGES]]


TRAINERS: tuple[Callable[[], list[str]], ...] = (
    bpetite,
    tokenizers,
    rustbpe,
    gigatoken,
    sentencepiece,
)


def _documents() -> Iterator[str]:
    return (WORDS for _ in range(COPIES))


if __name__ == "__main__":
    for trainer in TRAINERS:
        try:
            print(f"{trainer.__name__:14} {trainer()}", flush=True)
        except ImportError as missing:
            print(f"{trainer.__name__:14} not installed: {missing}", flush=True)
