"""A trainer's name, a file and settings → its peak of memory: the process that `bench.train` measures.

    python -m bench.contenders NAME PATH VOCAB_SIZE THREADS PATTERN SEPARATOR

Modules are imported when they are needed, so that no contender pays for another one, nor for
`typing`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable


class Task:
    """The settings of every contender; documents lie between two separators."""

    def __init__(
        self, path: str, vocab_size: int, threads: int, pattern: str, separator: str
    ) -> None:
        self.path = path
        self.vocab_size = vocab_size
        self.threads = threads
        self.pattern = pattern
        self.separator = separator

    def documents(self) -> list[str]:
        """Return the documents, for trainers that do not read files."""
        with open(self.path, "rb") as file:
            return file.read().decode("utf-8").split(self.separator)


def train_bpetite(task: Task) -> None:
    """Train from the file, in the dialect made for new models."""
    from bpetite import Tokenizer

    Tokenizer.train_from_files(
        [task.path],
        task.vocab_size,
        dialect="tiktoken",
        pattern=task.pattern,
        special_tokens=[task.separator],
        num_threads=task.threads,
    )


def train_gigatoken(task: Task) -> None:
    """Train from the file; its pattern is always GPT-2's."""
    import gigatoken

    separator = task.separator.encode()
    gigatoken.train_bpe(task.path, task.vocab_size, [task.separator], "huggingface", separator)


def train_ffbpe(task: Task) -> None:
    """Train from the file, divided at the separators."""
    import ffbpe

    pretokenizer = ffbpe.PreTokenizer([task.separator], task.separator, task.pattern)
    trainer = ffbpe.BpeTrainer([task.separator])
    trainer.add_words(pretokenizer.get_words_from_file(task.path))
    trainer.train(task.vocab_size)


def train_rustbpe(task: Task) -> None:
    """Train from documents; it has no special tokens."""
    import rustbpe

    documents = iter(task.documents())
    rustbpe.Tokenizer().train_from_iterator(documents, task.vocab_size - 1, pattern=task.pattern)


def train_tokenizers(task: Task) -> None:
    """Train from documents, because its files are read line by line."""
    from bpetite._constants import PRETOKENIZER_PATTERN

    pattern = None if task.pattern == PRETOKENIZER_PATTERN else task.pattern
    tokenizers_merges(task.documents(), task.vocab_size, task.separator, pattern)


def tokenizers_merges(
    documents: list[str], vocab_size: int, separator: str, pattern: str | None = None
) -> list[tuple[str, str]]:
    """Train the `tokenizers` package on documents, with GPT-2's or another pattern; return its merges."""
    import json

    import tokenizers
    from tokenizers.pre_tokenizers import ByteLevel, Sequence, Split

    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    if pattern is None:
        tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    else:
        split = Split(tokenizers.Regex(pattern), "isolated")
        tokenizer.pre_tokenizer = Sequence(
            [split, ByteLevel(add_prefix_space=False, use_regex=False)]
        )
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[separator],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(documents, trainer)
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return [(left, right) for left, right in merges]


def train_sentencepiece(task: Task) -> None:
    """Train BPE over characters from all lines of the file; it has no pattern."""
    import io

    import sentencepiece

    sentencepiece.SentencePieceTrainer.train(
        input=task.path,
        model_writer=io.BytesIO(),
        model_type="bpe",
        vocab_size=task.vocab_size,
        character_coverage=1.0,
        max_sentence_length=1 << 30,
        user_defined_symbols=[task.separator],
        num_threads=task.threads,
        minloglevel=2,
    )


CONTENDERS: dict[str, Callable[[Task], None]] = {
    "bpetite": train_bpetite,
    "gigatoken": train_gigatoken,
    "ffbpe": train_ffbpe,
    "rustbpe": train_rustbpe,
    "tokenizers": train_tokenizers,
    "sentencepiece": train_sentencepiece,
}


def own_peak() -> int:
    """Return the peak of memory of this process, in bytes."""
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            return int(status.read().partition("VmHWM:")[2].split()[0]) << 10
    except FileNotFoundError:  # not Linux, where `ru_maxrss` begins with the parent's memory
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
            1 if sys.platform == "darwin" else 1024
        )


if __name__ == "__main__":
    name, path, vocab_size, threads, pattern, separator = sys.argv[1:]
    CONTENDERS[name](Task(path, int(vocab_size), int(threads), pattern, separator))
    print(own_peak())
