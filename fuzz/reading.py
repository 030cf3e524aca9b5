"""Patterns of other libraries: any pattern must cut any text as these libraries do."""

from __future__ import annotations

from collections import Counter
from random import Random

import tiktoken
from tokenizers import Regex, pre_tokenizers

from bpetite import Counts, Dialect, _engine
from bpetite.patterns import PATTERNS
from fuzz import patterns

EDGES = ["a\n", "\n\n", "a\r\n b\n", "ab'S ss ſt ﬁ ß", "²½ Ⅷ a1_"]

PUBLISHED = [
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
]
"""The published patterns of GPT-2, GPT-4, nanochat and Qwen 3.5."""

_MATCHES_ONLY = Dialect.named("bpetite").replace(unmatched_text="skipped")


def patterns_mean_what_tiktoken_reads(rng: Random) -> None:
    """A pattern of `fancy-regex` matches the same there (where gaps are dropped) and here."""
    texts = [*(patterns.text(rng) for _ in range(6)), *EDGES]
    pattern = _pattern(rng, "rust")
    matches, own = tiktoken_matches(pattern, texts), _read(pattern, "rust")
    for text, found in zip(texts, matches, strict=True) if matches and own else ():
        counts = Counts.from_iterator([text], pattern=own or "", dialect=_MATCHES_ONLY)
        assert Counter(dict(counts.items())) == Counter(found), (pattern, own, text, found)


def patterns_mean_what_tokenizers_reads(rng: Random) -> None:
    """A pattern of Oniguruma: a `Split` that isolates its matches gives the same pieces."""
    texts = [*(patterns.text(rng) for _ in range(6)), *EDGES]
    pattern = _pattern(rng, "oniguruma")
    cut, own = tokenizers_pieces(pattern, texts), _read(pattern, "oniguruma")
    for text, pieces in zip(texts, cut, strict=True) if cut and own else ():
        assert _engine.pretokenize(text, own or "") == pieces, (pattern, own, text, pieces)


def _pattern(rng: Random, syntax: patterns.Syntax) -> str:
    if rng.random() < 0.5:
        return patterns.variation(rng, rng.choice([*PATTERNS.values(), *PUBLISHED]))
    return patterns.Grammar(rng, syntax).choice()


def _read(pattern: str, syntax: patterns.Syntax) -> str | None:
    try:
        own = _engine.read_pattern(pattern, syntax)
        _engine.pattern_way(own)
    except ValueError:
        return None
    return own


def tiktoken_matches(pattern: str, texts: list[str]) -> list[list[bytes]] | None:
    """Return the matches of tiktoken's engine in each text, or None if it refuses the pattern or gives up.

    The vocabulary has all parts of the texts as tokens, so that every match is one token.
    """
    parts = {
        text[start:end].encode()
        for text in texts
        for start in range(len(text))
        for end in range(start + 1, len(text) + 1)
    }
    tokens = [bytes([byte]) for byte in range(256)] + sorted(
        part for part in parts if len(part) > 1
    )
    ranks = {token: rank for rank, token in enumerate(tokens)}
    try:
        encode = tiktoken.Encoding(
            "", pat_str=pattern, mergeable_ranks=ranks, special_tokens={}
        ).encode_ordinary
        return [[tokens[rank] for rank in encode(text)] for text in texts]
    except KeyboardInterrupt:
        raise
    except BaseException:  # A panic of Rust is not an Exception.
        return None


def tokenizers_pieces(pattern: str, texts: list[str]) -> list[list[bytes]] | None:
    """Return the pieces of each text by tokenizers, or None if it refuses the pattern or gives up."""
    try:
        split = pre_tokenizers.Split(Regex(pattern), "isolated")
        return [[piece.encode() for piece, _ in split.pre_tokenize_str(text)] for text in texts]
    except KeyboardInterrupt:
        raise
    except BaseException:  # A panic of Rust is not an Exception.
        return None
