"""A random generator → vocabularies and dialects: trained vocabularies, and ones that no training makes."""

from __future__ import annotations

from random import Random

from bpetite import Dialect, Tokenizer, Vocabulary
from bpetite.dialect import AXES, DIALECTS
from fuzz import texts


def dialect(rng: Random) -> Dialect:
    """Return a named dialect, or one with a random choice on every axis."""
    if rng.random() < 0.4:
        return rng.choice(list(DIALECTS.values()))
    return Dialect().replace(**{axis: rng.choice(choices) for axis, choices in AXES.items()})


def specials(rng: Random) -> list[str]:
    """Return some special tokens, often overlapping ones."""
    return rng.sample(texts.SPECIALS, rng.choice((0, 1, 1, 2, 5)))


def vocabulary(rng: Random) -> Vocabulary:
    """Return a vocabulary to encode with."""
    return _trained(rng) if rng.random() < 0.4 else _made_up(rng)


def _trained(rng: Random) -> Vocabulary:
    corpus = "".join(texts.text(rng) for _ in range(5))
    return Tokenizer.train_from_iterator(
        [corpus],
        300 + rng.randrange(200),
        dialect=dialect(rng),
        pattern=rng.choice(("gpt2", "cl100k", "o200k", "whitespace", "none")),
        special_tokens=specials(rng),
    ).vocabulary


def _made_up(rng: Random) -> Vocabulary:
    """Merge random pairs of tokens; base ids in any order, ids with gaps."""
    tie = rng.random() < 0.5
    ids = iter(range(10_000) if tie else rng.sample(range(10**6), 10_000))
    base = {byte: next(ids) for byte in range(256)}
    tokens = {token_id: bytes([byte]) for byte, token_id in base.items()}
    letters = texts.text(rng, 12).encode() + rng.choice((b"a", b"ab", b" a\n", "é中".encode()))
    parents = [base[byte] for byte in letters]
    spelled = set(tokens.values())
    merges: dict[tuple[int, int], None] = {}
    for _ in range(rng.choice((0, 3, 30, 200))):
        pair = (rng.choice(parents), rng.choice(parents))
        token = tokens[pair[0]] + tokens[pair[1]]
        if pair in merges or token in spelled or len(token) > 60:
            continue
        merges[pair] = None
        parents.append(next(ids))
        tokens[parents[-1]] = token
        spelled.add(token)
    return Vocabulary(
        tokens,
        list(merges),
        {text: next(ids) for text in specials(rng)},
        texts.pattern(rng),
        whole_pretoken_first=rng.random() < 0.2,
    )
