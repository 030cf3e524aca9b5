"""Training in the `huggingface` dialect against the trainer it is named after."""

import json
import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Peer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer

from bpetite import Tokenizer
from bpetite.formats.shared.printable import from_printable
from standard_library import standard_library_files


def peer_vocabulary(
    documents: Sequence[str], vocab_size: int, special_tokens: Sequence[str]
) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]]]:
    peer = Peer(BPE())
    peer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    trainer = BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=list(special_tokens),
        initial_alphabet=ByteLevel.alphabet(),
        show_progress=False,
    )
    peer.train_from_iterator(documents, trainer)
    tokens = {
        token_id: spelled.encode() if spelled in special_tokens else from_printable(spelled)
        for spelled, token_id in peer.get_vocab().items()
    }
    merges = json.loads(peer.to_str())["model"]["merges"]
    return tokens, [(from_printable(left), from_printable(right)) for left, right in merges]


def check_equal(
    documents: Sequence[str], vocab_size: int, special_tokens: Sequence[str] = ("<|x|>",)
) -> None:
    ours = Tokenizer.train_from_iterator(
        documents, vocab_size, dialect="huggingface", special_tokens=special_tokens
    )
    tokens, merges = peer_vocabulary(documents, vocab_size, special_tokens)
    spelled = [(ours.token_bytes(left), ours.token_bytes(right)) for left, right in ours.merges]
    assert spelled == merges
    assert {token_id: ours.token_bytes(token_id) for token_id in tokens} == tokens
    assert ours.vocab_size == len(tokens)


def test_the_standard_library() -> None:
    files = standard_library_files()[::7]
    check_equal([path.read_text("utf-8") for path in files], 3000)


@pytest.mark.parametrize(
    "document",
    [
        "",
        "a",
        "ab" * 50,
        "a" * 101,
        "aaaa aaa aa a " * 7,
        "aaaa\naaaa\naaaa\n" * 5,
        "abab baba abba baab " * 3,
        "one line\n" * 20 + "another line\n" * 20,
        "naïve café 東京都 привет שלום 👩‍👩‍👧 x" * 4,
        " ".join(f"{a}{b}" for a in "abcdefgh" for b in "abcdefgh"),
        "<|x|>text<|x|>",
        "\t\t  \n\n\r\n   x",
    ],
)
@pytest.mark.parametrize("special_tokens", [(), ("<|x|>", "<|y|>")])
def test_texts_full_of_ties_and_runs(document: str, special_tokens: Sequence[str]) -> None:
    check_equal([document], 400, special_tokens)


@pytest.mark.parametrize("seed", range(40))
def test_random_words_over_few_letters(seed: int) -> None:
    rng = random.Random(seed)
    letters = ["ab", "abc", "aab b", "é東a "][seed % 4]
    words = ["".join(rng.choices(letters, k=rng.randint(1, 12))) for _ in range(rng.randint(1, 60))]
    check_equal([" ".join(words)], 256 + rng.randint(1, 120))


@settings(max_examples=150)
@given(st.lists(st.text(st.characters(exclude_categories=["Cn", "Cs"]), max_size=40), max_size=5))
def test_any_documents(documents: list[str]) -> None:
    """Only assigned characters: the peer's Unicode version is older than ours."""
    check_equal(documents, 330)
