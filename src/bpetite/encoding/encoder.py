"""A vocabulary in, the engine's encoder for it out; and what it makes of a text in parts."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from bpetite._constants import CLEANED
from bpetite._engine import Encoder
from bpetite.normalization import steps_in
from bpetite.vocabulary import Vocabulary, flagged_tokens, spelled_otherwise

Unit = Literal["characters", "bytes"]
"""The unit of offsets in a text."""

_SPACES: dict[object, Literal["", "one", "all"]] = {False: "", True: "one", "all": "all"}
"""How the engine calls the spaces that decoding leaves out."""


class EncodedParts(NamedTuple):
    """The ids of the joined text of parts."""

    ids: list[int]
    parts: list[int]
    """Of each id, the number of the part in which it begins."""


def encoder_of(vocabulary: Vocabulary) -> Encoder:
    """Return the encoder of a vocabulary.

    >>> encoder_of(Vocabulary({byte: bytes([byte]) for byte in range(256)}, [])).encode("ab")
    [97, 98]
    """
    return Encoder(
        pattern=vocabulary.pattern,
        **vars(vocabulary.arrays),
        added_tokens=flagged_tokens(vocabulary),
        normalization=steps_in(vocabulary.normalization),
        whole_pretoken_first=vocabulary.whole_pretoken_first,
        decode_only=[*vocabulary.decode_only.items(), *spelled_otherwise(vocabulary)],
        provisional=list(vocabulary.provisional),
        equal_ranks=vocabulary.equal_ranks,
        unknown=vocabulary.unknown,
        drops_unknown=vocabulary.drops_missing,
        left_out=vocabulary.left_out,
        spaces=_SPACES[vocabulary.drops_space],
        spaced=bool(vocabulary.spaced),
        word_end=vocabulary.word_end,
        word_start=vocabulary.word_start,
        glued=vocabulary.word_start if vocabulary.spaced in ("words", "cleaned") else None,
        cleaned=CLEANED if vocabulary.spaced == "cleaned" else (),
    )


class LaterEncoder:
    """Stands for an encoder that is made when it is first used: many trainings end with a file."""

    def __init__(self, make: Callable[[], Encoder]) -> None:
        self._make = make

    def __getattr__(self, name: str) -> Any:
        """Make the encoder, and ask it."""
        return getattr(self._make(), name)
