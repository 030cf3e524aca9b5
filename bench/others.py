"""What libraries do with difficult inputs: a table with a row for each input and a column for each library.

    python -m bench.others

Each call runs in a process of its own, since some libraries end the process. All have the same
small vocabulary, but for SentencePiece, which trains one of its own on the same text.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.section import table, versions

CORPUS = "the cat sat on the mat; the bat sat on the hat\n" * 20
LIBRARIES = ("bpetite", "tiktoken", "tokenizers", "sentencepiece", "gigatoken")


class Loaded(NamedTuple):
    """A tokenizer of one library, as functions."""

    encode: Callable[[Any], Any]
    decode: Callable[[list[int]], Any]


def load(library: str, folder: Path) -> Loaded:
    """Return the tokenizer of a library from the files in a folder."""
    if library == "bpetite":
        import bpetite

        ours = bpetite.Tokenizer.load(folder / "tokenizer.json")
        return Loaded(lambda text: ours.encode_batch([text])[0], ours.decode)
    if library == "tiktoken":
        import bpetite

        theirs = bpetite.Tokenizer.load(folder / "tokenizer.json").to_tiktoken_encoding()
        return Loaded(lambda text: theirs.encode(text, disallowed_special=()), theirs.decode)
    if library == "tokenizers":
        import tokenizers

        real = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        return Loaded(lambda text: real.encode(text).ids, real.decode)
    if library == "sentencepiece":
        import sentencepiece

        model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "spm.model"))
        return Loaded(model.encode, model.decode)
    import gigatoken

    giga = gigatoken.Tokenizer(str(folder / "tokenizer.json"))
    return Loaded(giga.encode, giga.decode)


def half_a_file(library: str, folder: Path) -> object:
    """Load a file that ends in the middle."""
    for name in ("tokenizer.json", "spm.model"):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: len(content) // 2])
    if library == "tiktoken":
        from tiktoken.load import load_tiktoken_bpe

        return load_tiktoken_bpe(str(_half_of_ranks(folder)))
    return load(library, folder)


def _half_of_ranks(folder: Path) -> Path:
    path = folder / "half.tiktoken"
    path.write_bytes(b"YQ== 0\nYg== 1\nYw=")
    return path


INPUTS: dict[str, Callable[[str, Path], object]] = {
    "a megabyte of spaces": lambda library, folder: load(library, folder).encode(" " * 1_000_000),
    "an unknown id to decode": lambda library, folder: load(library, folder).decode([116, 999_999]),
    "a lone surrogate to encode": lambda library, folder: load(library, folder).encode("a\ud800b"),
    "bytes that are not UTF-8 to encode": lambda library, folder: load(library, folder).encode(
        b"a\xffb"
    ),
    "ids that are not text": lambda library, folder: load(library, folder).decode(
        _ids_of_half(library)
    ),
    "half of a vocabulary's file": half_a_file,
}


def _ids_of_half(library: str) -> list[int]:
    """The id of one byte of a character; SentencePiece puts three pieces before its bytes."""
    return [0xC3 + 3] if library == "sentencepiece" else [0xC3]


def prepare(folder: Path) -> None:
    """Write the vocabulary as `tokenizer.json`, and train SentencePiece's."""
    import sentencepiece

    from bpetite import Tokenizer

    Tokenizer.train_from_iterator([CORPUS], 280, dialect="tiktoken").to_huggingface(
        folder / "tokenizer.json"
    )
    (folder / "corpus.txt").write_text(CORPUS, "utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "corpus.txt"),
        model_prefix=str(folder / "spm"),
        model_type="bpe",
        vocab_size=300,
        hard_vocab_limit=False,
        byte_fallback=True,
        minloglevel=2,
    )


def answer(library: str, title: str, folder: Path) -> str:
    """Return in a few words what a library does with an input."""
    try:
        result = INPUTS[title](library, folder)
    except ImportError:
        return "not installed"
    except BaseException as error:  # PanicException is no Exception
        return f"`{type(error).__name__}`: {' '.join(str(error).split())[:60]}".replace("|", "/")
    if isinstance(result, str | bytes) or not isinstance(result, Iterable):
        return f"{result!r:.60}"
    ids = list(result)
    return f"{len(ids):,} ids" if len(ids) > 6 else f"{ids!r:.60}"


def answer_apart(library: str, title: str) -> str:
    """Return the answer of a process of its own; one that dies says so."""
    command = [sys.executable, "-m", "bench.others", library, title]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    lines = done.stdout.splitlines()
    return (
        lines[-1] if done.returncode == 0 and lines else f"the process ends with {done.returncode}"
    )


def main(arguments: Sequence[str]) -> None:
    """Print the table, or one answer."""
    if arguments:
        library, title = arguments
        with tempfile.TemporaryDirectory() as folder:
            prepare(Path(folder))
            print(answer(library, title, Path(folder)))
        return
    rows = [[title, *(answer_apart(library, title) for library in LIBRARIES)] for title in INPUTS]
    print(f"{versions(LIBRARIES)}\n\n{table(['input', *LIBRARIES], rows)}")


if __name__ == "__main__":
    main(sys.argv[1:])
