"""Text in, the ids of its normalized form out: an encoder for vocabularies that came with a normalization.

Special tokens are looked for in the text as it is; what stands between them is normalized. Which characters
compose is Python's `unicodedata`; it agrees with every other version on the characters that both know.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from bpetite._engine import DecodeStream, Encoder
from bpetite._internal.types import DType, Progress, Special, Unit
from bpetite.vocabulary import Normalization


def split_at_specials(text: str, special_tokens: Iterable[str]) -> list[tuple[str, bool]]:
    """Cut a text into segments and special tokens (marked True): the leftmost, and there the longest.

    >>> split_at_specials("a<x>b", ["<x>"])
    [('a', False), ('<x>', True), ('b', False)]
    """
    pattern = _any_of(special_tokens)
    segments = [text] if pattern is None else pattern.split(text)
    return [(segment, place % 2 == 1) for place, segment in enumerate(segments) if segment]


def _any_of(special_tokens: Iterable[str]) -> re.Pattern[str] | None:
    """What matches any special token, as a group, so that splitting keeps it."""
    longest_first = sorted(special_tokens, key=len, reverse=True)
    return re.compile(f"({'|'.join(map(re.escape, longest_first))})") if longest_first else None


def normalized_parts(
    text: str, special_tokens: Collection[str], normalization: Normalization
) -> Iterator[tuple[str, str]]:
    """Yield small parts of a text, each with what it becomes; nothing crosses from one into another.

    >>> list(normalized_parts("oe\u0301<x>", ["<x>"], "NFC"))
    [('o', 'o'), ('e\u0301', 'é'), ('<x>', '<x>')]
    """
    for segment, is_special in split_at_specials(text, special_tokens):
        if is_special:
            yield segment, segment
        else:
            for part in _character_that_may_grow().findall(segment):
                yield part, unicodedata.normalize(normalization, part)


@lru_cache(maxsize=1)
def _character_that_may_grow() -> re.Pattern[str]:
    """What matches a character with all that may compose with it or change places behind it."""
    characters = list(map(chr, range(sys.maxunicode + 1)))
    pairs = (unicodedata.decomposition(character).split() for character in characters)
    seconds = {chr(int(pair[1], 16)) for pair in pairs if len(pair) == 2 and pair[0][0] != "<"}
    seconds.update(map(chr, [*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)]))  # the later parts of Hangul
    joining = [
        character
        for character in characters
        if unicodedata.combining(first := unicodedata.normalize("NFD", character)[0]) or first in seconds
    ]
    return re.compile(f"(?s:.)[{''.join(map(re.escape, joining))}]*")


class NormalizingEncoder:
    """The engine's encoder, with text normalized before it gets there."""

    def __init__(self, encoder: Encoder, special_tokens: Iterable[str], normalization: Normalization) -> None:
        self._encoder = encoder
        self._normalization = normalization
        self._specials = _any_of(special_tokens)
        self.decode = encoder.decode
        self.decode_bytes = encoder.decode_bytes
        self.decode_batch = encoder.decode_batch
        self.token_bytes = encoder.token_bytes

    def encode(self, text: str, special: Special = "parse", num_threads: int | None = None) -> list[int]:
        """Encode a text."""
        ids: list[int] = []
        for segment, how in self._segments(text, special):
            ids += self._encoder.encode(segment, how, num_threads)
        return ids

    def encode_ordinary(self, text: str) -> list[int]:
        """Encode a text in which special tokens are text like any other."""
        return self.encode(text, "text")

    def encode_batch(
        self, texts: Iterable[str | bytes], special: Special = "parse", num_threads: int | None = None
    ) -> list[list[int]]:
        """Encode texts."""
        decoded = _decoded(texts)
        if all(map(self._is_normalized, decoded)):
            return self._encoder.encode_batch(decoded, special, num_threads)
        return [self.encode(text, special, num_threads) for text in decoded]

    def encode_to_numpy(
        self, text: str, special: Special = "parse", dtype: DType = "uint32", num_threads: int | None = None
    ) -> NDArray[Any]:
        """Encode a text into an array."""
        segments = self._segments(text, special)
        return np.concatenate(
            [self._encoder.encode_to_numpy(segment, how, dtype, num_threads) for segment, how in segments]
        )

    def encode_batch_to_numpy(
        self,
        texts: Iterable[str | bytes],
        special: Special = "parse",
        dtype: DType = "uint32",
        num_threads: int | None = None,
        append: int | None = None,
    ) -> tuple[NDArray[Any], NDArray[np.uint64]]:
        """Encode texts into one array of ids and the places where they begin and end in it."""
        rows = [self.encode_to_numpy(text, special, dtype, num_threads) for text in _decoded(texts)]
        if append is not None:
            self._encoder.token_bytes(append)
            rows = [np.append(row, np.array([append], dtype)) for row in rows]
        offsets = np.cumsum([0, *map(len, rows)], dtype=np.uint64)
        return np.concatenate([np.empty(0, dtype), *rows]), offsets

    def encode_into(
        self,
        texts: Iterable[str | bytes],
        row: NDArray[Any] | None = None,
        special: Special = "parse",
        dtype: DType = "uint32",
        append: int | None = None,
        progress: Progress | None = None,
    ) -> tuple[NDArray[Any], NDArray[np.uint64]]:
        """Encode texts on one thread, into another array than the given one."""
        return self.encode_batch_to_numpy(texts, special, dtype, 1, append)

    def encode_with_offsets(
        self, text: str, special: Special = "parse", unit: Unit = "characters"
    ) -> tuple[list[int], list[tuple[int, int]]]:
        """Encode a text that is normalized already, with the place of each token."""
        if not self._is_normalized(text):
            self._refuse("the places of tokens in a text that is not normalized")
        return self._encoder.encode_with_offsets(text, special, unit)

    def encode_stream(self, special: Special = "parse") -> NoReturn:
        """Refuse: what comes next may compose with what was there."""
        self._refuse("the ids of a text that arrives in pieces")

    def count(self, text: str, special: Special = "parse", num_threads: int | None = None) -> int:
        """Return how many ids encoding a text gives."""
        return sum(
            self._encoder.count(segment, how, num_threads) for segment, how in self._segments(text, special)
        )

    def count_batch(
        self, texts: Iterable[str | bytes], special: Special = "parse", num_threads: int | None = None
    ) -> list[int]:
        """Return how many ids encoding each text gives."""
        return [self.count(text, special, num_threads) for text in _decoded(texts)]

    def decode_stream(self, errors: str = "strict") -> DecodeStream:
        """Begin a text whose ids arrive one by one."""
        return self._encoder.decode_stream(errors)

    def _segments(self, text: str, special: Special) -> list[tuple[str, Special]]:
        """Cut a text into special tokens, to be parsed, and the normalized rest."""
        if not isinstance(text, str) or self._is_normalized(text):
            return [(text, special)]
        text.encode("utf-8")  # A lone surrogate is told by its place in the whole text.
        self._encoder.count(text if special == "error" else "", special)
        if special != "parse" or self._specials is None:
            return [(unicodedata.normalize(self._normalization, text), "text")]
        # Splitting by a group keeps what matched, in every second place.
        return [
            (part, "parse") if place % 2 else (unicodedata.normalize(self._normalization, part), "text")
            for place, part in enumerate(self._specials.split(text))
        ]

    def _is_normalized(self, text: str) -> bool:
        return isinstance(text, str) and unicodedata.is_normalized(self._normalization, text)

    def _refuse(self, what: str) -> NoReturn:
        raise ValueError(f"this vocabulary normalizes text ({self._normalization}), so it cannot tell {what}")


def _decoded(texts: Iterable[str | bytes]) -> list[str]:
    """Return the texts of a batch; what is no text is refused as the engine refuses it."""
    if isinstance(texts, str | bytes):
        raise TypeError(f"texts: one {type(texts).__name__} was given where several are expected")
    return [_text(place, text) for place, text in enumerate(texts)]


def _text(place: int, text: object) -> str:
    if isinstance(text, str):
        return text
    if not isinstance(text, bytes):
        raise TypeError(f"texts: item {place} must be str or bytes, not {type(text).__name__}")
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"text {place}: not valid UTF-8 at byte {error.start}") from None
