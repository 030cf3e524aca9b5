"""Superwords and pruning against results of the published tools, which were recorded once.

Both are to be had as git repositories only, so `recorded/` has what they printed for the texts of
`written_texts`:

- `superbpe.json`: SuperBPE's fork of tokenizers (github.com/alisawuffles/tokenizers-superbpe, commit
  757f2a5, built from its source) trained to 756 tokens with an ordinary pattern, and to 1,056 with
  `superwords`, by its own procedure: the first stage's `merges.txt` lies in the current folder. All
  256 bytes were its initial alphabet. A merge is written as the fork writes it.
- `leaf_pruning.json`: the ids in the order of `LeafFrequencyPruner` in tokenizer-extension
  (github.com/taidopurason/tokenizer-extension, commit 15e9ed7; transformers 5.24.0, tokenizers 0.23.3),
  for those vocabularies and the first three documents of each text.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from bpetite import Superwords, Tokenizer
from bpetite.formats.shared.printable import to_printable
from written_texts import KINDS, written_documents

RECORDED = Path(__file__).parent / "recorded"
PUBLISHED: dict[str, Any] = json.loads((RECORDED / "superbpe.json").read_text("utf-8"))
ORDERS: dict[str, list[int]] = json.loads((RECORDED / "leaf_pruning.json").read_text("utf-8"))
PRUNING_DOCUMENTS = 3


def trained_like(kind: str) -> Tokenizer:
    """Train as the fork did, as many tokens in each stage."""
    recorded = PUBLISHED[kind]
    first_size = 256 + len(recorded["first"])
    return Tokenizer.train_from_iterator(
        written_documents(kind),
        first_size + len(recorded["late"]),
        dialect="huggingface",
        pattern=recorded["pattern"],
        special_tokens=[],
        superwords=Superwords(at=first_size),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_superwords_are_those_of_superbpe(kind: str) -> None:
    """The fork forgets first merges that no pretoken of the second stage has; ours keep their ids."""
    recorded = PUBLISHED[kind]
    tokenizer = trained_like(kind)
    printable = {own: to_printable(token) for own, token in tokenizer.vocabulary.tokens.items()}
    merges = [f"{printable[left]} {printable[right]}" for left, right in tokenizer.merges]
    assert merges == [*recorded["first"], *recorded["late"]]
    assert set(recorded["dropped"]) <= set(recorded["first"])


def test_the_texts_have_what_the_fork_treats_apart() -> None:
    """Merges that it drops, and superwords as long as it allows."""
    late = [merge.replace(" ", "") for kind in KINDS for merge in PUBLISHED[kind]["late"]]
    assert max(len(token.replace("Ġ", " ").split()) for token in late) == 4
    assert sum(len(PUBLISHED[kind]["dropped"]) for kind in KINDS) == 9


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_leave_in_the_order_of_leaf_pruning(kind: str) -> None:
    order = ORDERS[kind]
    tokenizer = trained_like(kind)
    documents = written_documents(kind)[:PRUNING_DOCUMENTS]
    for number in [*range(1, 40), *range(40, len(order), 40), len(order)]:
        _, token_map = tokenizer.prune(documents, tokenizer.vocab_size - number)
        removed = {old for old, new in token_map.ids.items() if new is None}
        assert removed == set(order[:number])
