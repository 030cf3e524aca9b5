"""Constants that several modules share."""

PRETOKENIZER_PATTERN: str = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
"""The GPT-2 pattern, for the `regex` module: each match is a pretoken."""

THEN, SPACE, BYTES = "(?then)", "(?space)", "(?bytes)"
"""The separator of a pattern's steps, and the two steps that are not expressions (see docs/artifact.md)."""

SCHEMA_VERSION: int = 1
"""The version of the artifact's schema."""

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
