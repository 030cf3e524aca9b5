"""The change of a vocabulary → its cost: the processes that `bench.builders` measures.

    python -m bench.changes text SOURCE SIZE OUTPUT
    python -m bench.changes superwords TEXT AT SIZE PATTERN LOOSER
    python -m bench.changes published TEXT AT SIZE PATTERN LOOSER
    python -m bench.changes extend MODEL TEXT NUMBER
    python -m bench.changes prune MODEL COUNTS
    python -m bench.changes encode MODEL TEXT PASSES

Each prints JSON. Modules are imported when they are needed: the fork's interpreter has no bpetite,
and older builds lack some of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

SEPARATOR = "<|endoftext|>"
T = TypeVar("T")


def documents_of(path: str) -> list[str]:
    """Return the texts between separators."""
    texts = Path(path).read_bytes().decode("utf-8").split(SEPARATOR)
    return [text for text in texts if text]


def text(source: str, size: str, output: str) -> dict[str, Any]:
    """Write a text of this size, in whose documents the number of distinct words keeps growing."""
    from bench.large import documents, write

    content = Path(source).read_text(encoding="utf-8").replace(SEPARATOR, "\n")
    write(Path(output), documents([content], int(size), seed=0))
    return {}


def superwords(path: str, at: str, size: str, pattern: str, looser: str) -> dict[str, Any]:
    """Train in two stages by the rules of tokenizers."""
    from bpetite import Superwords, Tokenizer
    from bpetite.formats.shared.printable import to_printable

    trained = Tokenizer.train_from_iterator(
        documents_of(path),
        int(size),
        dialect="huggingface",
        pattern=pattern,
        special_tokens=[],
        superwords=Superwords(at=int(at), pattern=looser),
    )
    printable = {own: to_printable(token) for own, token in trained.vocabulary.tokens.items()}
    merges = [f"{printable[left]} {printable[right]}" for left, right in trained.merges]
    first = int(at) - 256
    return {"first": digest(merges[:first]), "late": digest(merges[first:])}


def published(path: str, at: str, size: str, pattern: str, looser: str) -> dict[str, Any]:
    """Train in two stages with the fork, which finds the first stage's merges in the current folder.

    It drops merges that no pretoken of the second stage has, and learns others instead: these are
    left out.
    """
    documents = documents_of(path)
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "wb") as nowhere:
        os.chdir(folder)
        printed = os.dup(1)
        os.dup2(nowhere.fileno(), 1)  # The fork prints every merge that it skips.
        first = _published_merges(documents, pattern, int(at))
        both = _published_merges(documents, looser, int(size))
        os.dup2(printed, 1)
        os.chdir("/")
    kept = len(set(first).intersection(both))
    late = both[kept : kept + int(size) - int(at)]
    return {"first": digest(first), "late": digest(late)}


def _published_merges(documents: Sequence[str], pattern: str, size: int) -> list[str]:
    """Train one stage with the fork; return the lines of the file of merges that it writes."""
    import tokenizers
    from tokenizers.pre_tokenizers import ByteLevel, Sequence, Split

    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    cut = Split(tokenizers.Regex(pattern), "isolated")
    tokenizer.pre_tokenizer = Sequence([cut, ByteLevel(add_prefix_space=False, use_regex=False)])
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(documents, trainer)
    tokenizer.model.save(".")
    return Path("merges.txt").read_text("utf-8").splitlines()[1:]


def extend(model: str, path: str, number: str) -> dict[str, Any]:
    """Count a text by the rules of a tokenizer, and learn further tokens; older builds refuse some models.

    A tokenizer that was loaded from a file also edits this file, so that it can be saved again.
    """
    from bpetite import Counts, Tokenizer

    with_file = Tokenizer.load(model)
    alone = Tokenizer(with_file.vocabulary)
    documents = documents_of(path)
    rules: dict[str, Any] = {
        "pattern": alone.pattern,
        "dialect": alone.dialect,
        "special_tokens": list(alone.special_tokens),
        "normalization": alone.vocabulary.normalization,
    }
    counting, counts = timed(partial(Counts.from_iterator, documents, **rules))
    try:
        learning, extended = timed(partial(alone.extend, counts, int(number)))
        editing, _ = timed(partial(with_file.extend, counts, int(number)))
    except ValueError as refusal:
        return {"refusal": str(refusal)}
    added = extended.vocabulary.tokens.keys() - alone.vocabulary.tokens.keys()
    spelled = [extended.vocabulary.tokens[own].hex() for own in sorted(added)]
    return {
        "counting": counting,
        "learning": learning,
        "editing": editing,
        "tokens": digest(spelled),
    }


def prune(model: str, counts: str) -> dict[str, Any]:
    """Remove the least used half of the tokens, without the file of the tokenizer and with it."""
    from bpetite import Counts, Tokenizer

    with_file = Tokenizer.load(model)
    alone = Tokenizer(with_file.vocabulary)
    used = Counts.load(counts)
    size = alone.vocab_size // 2
    pruning, _ = timed(partial(alone.prune, used, size))
    editing, (pruned, _) = timed(partial(with_file.prune, used, size))
    return {
        "pruning": pruning,
        "editing": editing,
        "before": alone.vocab_size,
        "after": pruned.vocab_size,
    }


def timed(call: Callable[[], T]) -> tuple[float, T]:
    """Return the seconds of processor time of a call, and its result."""
    started = time.process_time()
    result = call()
    return time.process_time() - started, result


def encode(model: str, path: str, passes: str) -> dict[str, Any]:
    """Encode a text; return the processor seconds of each pass."""
    from bpetite import Tokenizer

    tokenizer = Tokenizer.load(model)
    documents = documents_of(path)
    tokenizer.encode("")  # The encoder of a loaded tokenizer is made when it is needed.
    seconds = []
    for _ in range(int(passes)):
        taken, (ids, _) = timed(partial(tokenizer.encode_batch_to_numpy, documents, num_threads=1))
        seconds.append(taken)
    size = sum(len(document.encode("utf-8")) for document in documents)
    return {"seconds": seconds, "bytes": size, "ids": len(ids)}


def digest(lines: Sequence[str]) -> str:
    """Return a hash of lines."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    task.__name__: task for task in (text, superwords, published, extend, prune, encode)
}

if __name__ == "__main__":
    print(json.dumps(TASKS[sys.argv[1]](*sys.argv[2:])))
