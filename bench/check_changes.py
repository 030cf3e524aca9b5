"""A text and tokenizer files → an error unless changed vocabularies are those of the specification.

    python -m bench.check_changes TEXT MODEL ...
    python -m bench.check_changes --ids TEXT MODEL ...

Trains superwords on the beginning of the text, and extends and prunes each model. With --ids,
compares the ids of each model with those of the `tokenizers` package.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tokenizers

from bench.changes import SEPARATOR
from bpetite import Superwords, Tokenizer
from bpetite._constants import Pattern
from bpetite._encoder import encode_ordinary
from bpetite._extender import extend
from bpetite._pretokenizer import pieces
from bpetite._trainer import _count_of_words
from bpetite.dialect import DIALECTS
from bpetite.patterns import PATTERNS
from bpetite.specification import pruning
from bpetite.surgery.pruning import contents_of, staying_tokens
from bpetite.training import apart_in

CHARACTERS = 20_000
"""As much of the text is read by the specification."""
COMPARED = 1_000_000
"""As much is encoded by `tokenizers`."""
SIZES = (600, 700)
"""Of a first stage, and with superwords."""
TOKENS = 10
"""How many tokens are learned, and how many go."""


def check_superwords(text: str) -> str:
    """Compare both stages of training, and the ids of the text."""
    first_size, size = SIZES
    options: dict[str, Any] = {"dialect": "tiktoken", "pattern": "llama3", "special_tokens": []}
    trained = Tokenizer.train_from_iterator(
        [text], size, superwords=Superwords(at=first_size), **options
    )
    first = Tokenizer.train_from_iterator([text], first_size, **options).vocabulary
    words: Counter[tuple[int, ...]] = Counter()
    for pretoken, _ in pieces(text, PATTERNS["superwords"]):
        ids = encode_ordinary(pretoken.decode(), first.tokens, first.merges, {}, "(?s:.)+")
        words[tuple(ids)] += 1
    learned = extend(
        words,
        first.tokens,
        range(first_size, size),
        rules=DIALECTS["tiktoken"],
        allows=lambda token: _count_of_words(token) <= 4 and b": " not in token,
    )
    if trained.merges != (*first.merges, *(pair for pair, _ in learned)):
        raise SystemExit("superwords are not the specification's")
    check_ids(trained, text)
    return f"superwords: {len(learned)} merges of the specification, the ids of tokenizers"


def check_ids(tokenizer: Tokenizer, text: str) -> str:
    """Compare the ids of a text with those of `tokenizers`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tokenizer.json")
        tokenizer.to_huggingface(path)
        peer = tokenizers.Tokenizer.from_file(str(path))
    if tokenizer.encode(text) != peer.encode(text).ids:
        raise SystemExit(f"{tokenizer}: tokenizers gives other ids")
    return f"{tokenizer}: the ids of tokenizers"


def check_extend(tokenizer: Tokenizer, text: str) -> str:
    """Compare a few new merges, and those of longer pretokens."""
    vocabulary = tokenizer.vocabulary
    start = max(tokenizer.largest_id, *vocabulary.special_tokens.values()) + 1
    learned = extend(
        words_of(tokenizer, text),
        vocabulary.tokens,
        range(start, start + TOKENS),
        rules=DIALECTS["bpetite"] if vocabulary.irregular else vocabulary.dialect,
        apart=apart_in(vocabulary),
        taken=contents_of(vocabulary).values(),
    )
    extended = tokenizer.extend([text], TOKENS)
    if extended.merges != (*vocabulary.merges, *(pair for pair, _ in learned)):
        raise SystemExit(f"{tokenizer}: the new merges are not the specification's")
    return f"{tokenizer}: {len(learned)} new merges of the specification"


def check_prune(tokenizer: Tokenizer, text: str) -> str:
    """Compare the tokens that go first."""
    vocabulary = tokenizer.vocabulary
    uses: Mapping[int, int] = Counter(
        token_id for word, count in words_of(tokenizer, text).items() for token_id in word * count
    )
    removed = pruning.pruned_tokens(
        dict.fromkeys(vocabulary.tokens, 0) | dict(uses),
        vocabulary.merges,
        vocabulary.merge_ids,
        staying_tokens(vocabulary),
        TOKENS,
    )
    pruned, token_map = tokenizer.prune([text], vocabulary.sizes[-1] - TOKENS)
    if {old for old, new in token_map.ids.items() if new is None} != set(removed):
        raise SystemExit(f"{tokenizer}: the tokens that go are not the specification's")
    return f"{pruned}: without the {TOKENS} tokens of the specification"


def words_of(tokenizer: Tokenizer, text: str) -> Counter[tuple[int, ...]]:
    """Return how often each list of ids occurs among the pretokens of a text."""
    pattern: Pattern = tokenizer.pattern
    return Counter(
        tuple(tokenizer.encode_ordinary(pretoken.decode())) for pretoken, _ in pieces(text, pattern)
    )


def main(path: str, models: Sequence[str]) -> None:
    """Check all changes with the beginning of a text."""
    text = beginning_of(path, CHARACTERS)
    print(check_superwords(text))
    for model in models:
        tokenizer = Tokenizer.load(model)
        print(check_extend(tokenizer, text))
        print(check_prune(tokenizer, text))


def beginning_of(path: str, characters: int) -> str:
    """Return the beginning of a text, without its separators."""
    with Path(path).open(encoding="utf-8", newline="") as file:
        return file.read(characters).replace(SEPARATOR, "\n")


if __name__ == "__main__":
    if sys.argv[1] == "--ids":
        for compared in sys.argv[3:]:
            print(check_ids(Tokenizer.load(compared), beginning_of(sys.argv[2], COMPARED)))
    else:
        main(sys.argv[1], sys.argv[2:])
