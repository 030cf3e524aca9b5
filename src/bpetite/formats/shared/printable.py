"""Bytes spelled by printable characters, as in GPT-2's files and those made after them: bytes in, text out,
and back.

`!` to `~`, `¡` to `¬` and `®` to `ÿ` stand for themselves, `Ā` (U+0100) and what follows for the other 68.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bpetite.dialect import Dialect

_IN_ORDER = Dialect(base_ids="gpt2_printable").base_bytes()
_STAND_IN = {
    byte: chr(byte) if place < 188 else chr(256 + place - 188) for place, byte in enumerate(_IN_ORDER)
}
_BYTE = {stand_in: byte for byte, stand_in in _STAND_IN.items()}
_BYTES = np.full(max(map(ord, _BYTE)) + 2, -1, np.int16)
_BYTES[[*map(ord, _BYTE)]] = [*_BYTE.values()]


def to_printable(token: bytes) -> str:
    """Spell bytes by their stand-ins.

    >>> to_printable(b" the")
    'Ġthe'
    """
    return "".join([_STAND_IN[byte] for byte in token])


def from_printable(spelled: str) -> bytes:
    """Return the bytes that stand-ins spell; a character that is none is a `KeyError`.

    >>> from_printable("Ġthe")
    b' the'
    """
    return bytes([_BYTE[character] for character in spelled])


def bytes_of_codes(codes: NDArray[np.uint32]) -> NDArray[np.int16]:
    """Return the byte that each character, given by its code point, stands for; -1 where it stands for none.

    >>> bytes_of_codes(np.array([ord("Ġ"), ord("t"), 0x4E00], np.uint32)).tolist()
    [32, 116, -1]
    """
    return np.asarray(_BYTES[np.minimum(codes, len(_BYTES) - 1)])
