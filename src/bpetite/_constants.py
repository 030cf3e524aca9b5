"""Constants that several modules share."""

from collections.abc import Sequence

PRETOKENIZER_PATTERN: str = (
    r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
)
"""The GPT-2 pattern, for the `regex` module: each match is a pretoken."""

SUPERWORDS_PATTERN: str = r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]{2,}[\r\n/]*| +(?!\S)"
"""The pattern for tokens of several words: what it leaves between its matches is always counted."""

Pattern = str | Sequence[str]
"""A regular expression, or a list of steps: each cuts the pieces of the one before."""

SPACE, BYTES = "(?space)", "(?bytes)"
"""The two steps that are not expressions (see docs/artifact.md)."""

SCHEMA_VERSION: int = 1
"""The version of the artifact's schema for vocabularies of the default dialect and pattern."""

GENERAL_SCHEMA_VERSION: int = 2
"""The version of the artifact's schema for all other vocabularies."""

END_OF_TEXT_TOKEN: str = "<|endoftext|>"
"""The special token of the default dialect."""

BASE_VOCAB_SIZE: int = 256
"""One base token for every byte value."""

LARGEST_COUNT: int = 2**64 - 1
"""The largest count: counts and other numbers in the engine are unsigned 64-bit integers."""

UNICODE_VERSION: str = "18.0.0"
"""The Unicode version of the pattern's classes (letters, numbers, white space); artifacts record it."""

Pair = tuple[int, int]
"""The ids of two neighbouring tokens, left and right, that are counted or merged."""

CLEANED = (
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" do not", " don't"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
)
"""What the decoder `WordPiece` of tokenizers replaces in each token, one after the other."""
