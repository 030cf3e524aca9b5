"""A text → the documents that every library gets: its own, or pieces of a text that is one document."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

PIECE = 4_000
"""About how many characters a piece has."""


class Documents(NamedTuple):
    """The documents, and whether they are pieces of a single one."""

    texts: list[str]
    are_pieces: bool


def first_documents(texts: Iterable[str], size: int) -> Documents:
    """Return the first documents, of `size` bytes of UTF-8 together; one that is alone is cut into pieces."""
    kept = beginning(texts, size)
    with_words = [text for text in kept if text]
    if len(with_words) > 1:
        return Documents(kept, are_pieces=False)
    cut = list(pieces(with_words[0]))
    return Documents(cut, are_pieces=len(cut) > 1)


def beginning(texts: Iterable[str], size: int) -> list[str]:
    """Return the first texts of so many bytes of UTF-8; the last is cut."""
    kept: list[str] = []
    for text in texts:
        encoded = text.encode()
        kept.append(encoded[:size].decode("utf-8", "ignore"))
        size -= len(encoded)
        if size <= 0:
            break
    if not any(kept):
        raise ValueError("there is no text")
    return kept


def pieces(text: str) -> Iterator[str]:
    """Yield a text in pieces of at most `PIECE` characters, which end where a line does, or else a word.

    >>> [len(piece) for piece in pieces("a line of 20 letters\\n" * 400)]
    [3990, 3990, 420]
    """
    start = 0
    while len(text) - start > PIECE:
        end = text.rfind("\n", start, start + PIECE) + 1
        if end <= start:
            end = text.rfind(" ", start + 1, start + PIECE)
        if end <= start:
            end = start + PIECE
        yield text[start:end]
        start = end
    yield text[start:]
