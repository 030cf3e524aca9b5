"""The values that every module must agree on, each in this one place."""

PRETOKENIZER_PATTERN: str = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
"""The GPT-2 pattern, for the `regex` module: what matches is a pretoken."""

SCHEMA_VERSION: int = 1
"""The artifact schema of the default dialect and pattern; anything richer is saved as schema 2."""

END_OF_TEXT_TOKEN: str = "<|endoftext|>"
"""The special token of the default dialect."""

BASE_VOCAB_SIZE: int = 256
"""One base token for every byte value."""

LARGEST_COUNT: int = 2**64 - 1
"""Counts, and whatever else the engine takes a number of, are unsigned and have 64 bits."""

UNICODE_VERSION: str = "18.0.0"
"""The Unicode version of the pattern's classes (letters, numbers, white space); artifacts record it."""

Pair = tuple[int, int]
"""Two neighbours that are counted, or merged, together: the ids of the left and of the right one."""
