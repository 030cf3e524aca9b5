"""Vocabularies in, engine encoders out, for the tests of encoding and decoding."""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from bpetite._constants import PRETOKENIZER_PATTERN
from bpetite._encoder import merge_ids
from bpetite._engine import Encoder
from bpetite._trainer import TrainerResult, train_bpe

CORPUS = (
    "The quick brown fox jumps over the lazy dog, and the dog's not amused. They'll say it's 2024 or 1999. "
    "def count(words): return {word: words.count(word) for word in set(words)}  # a comment\n\n\t"
    "Größe, naïve café, Übung macht den Meister. Съешь же ещё этих мягких французских булок. "
    "天地玄黃，宇宙洪荒。日月盈昃，辰宿列張。 いろはにほへと ちりぬるを। "
    "सभी मनुष्यों को 👩‍👩‍👧 🎉🎉 aaaa aaaaaaaa      \r\n"
) * 2


@cache
def trained(dialect: str = "bpetite", vocab_size: int = 600) -> TrainerResult:
    """A vocabulary with merges in several scripts."""
    return train_bpe(CORPUS, vocab_size, dialect=dialect)


def encoder_of(
    vocab: Mapping[int, bytes],
    merges: Sequence[tuple[int, int]],
    special_tokens: Mapping[str, int],
    pattern: str = PRETOKENIZER_PATTERN,
    whole_pretoken_first: bool = False,
    equal_ranks: Sequence[tuple[int, int]] = (),
) -> Encoder:
    """The engine's encoder for a vocabulary of the specification."""
    specials = set(special_tokens.values())
    tokens = {token_id: token for token_id, token in vocab.items() if token_id not in specials}
    rows = [
        (*pair, merged)
        for pair, merged in zip(merges, merge_ids(vocab, merges, special_tokens), strict=True)
    ]
    return Encoder(
        pattern=pattern,
        tokens=b"".join(tokens.values()),
        ends=np.cumsum([len(token) for token in tokens.values()], dtype=np.uint64).tobytes(),
        ids=np.array(list(tokens), dtype=np.uint32).tobytes(),
        merges=np.array(rows, dtype=np.uint32).tobytes(),
        added_tokens=[(text, token_id, ["special"]) for text, token_id in special_tokens.items()],
        whole_pretoken_first=whole_pretoken_first,
        equal_ranks=list(equal_ranks),
    )


@cache
def trained_encoder(dialect: str = "bpetite") -> Encoder:
    """The encoder of `trained(dialect)`."""
    result = trained(dialect)
    return encoder_of(result.vocab, result.merges, result.special_tokens)
