"""Bytes in, their printable form out, and back: one character for each byte, as in GPT-2's files.

`!` to `~`, `¡` to `¬` and `®` to `ÿ` stand for themselves; the characters from `Ā` (U+0100) on
stand for the other 68.
"""

from collections.abc import Iterable, Mapping

from bpetite._internal.types import BytesPair
from bpetite.dialect import Dialect

_IN_ORDER = Dialect(base_ids="gpt2_printable").base_bytes()
_STAND_IN = {
    byte: chr(byte) if place < 188 else chr(256 + place - 188)
    for place, byte in enumerate(_IN_ORDER)
}
_BYTE = {stand_in: byte for byte, stand_in in _STAND_IN.items()}


def to_printable(token: bytes) -> str:
    """Return the printable form of bytes.

    >>> to_printable(b" the")
    'Ġthe'
    """
    return "".join([_STAND_IN[byte] for byte in token])


def from_printable(spelled: str) -> bytes:
    """Return the bytes of a printable form; any other character is a `KeyError`.

    >>> from_printable("Ġthe")
    b' the'
    """
    return bytes([_BYTE[character] for character in spelled])


def printable_or_text(spelled: str) -> bytes:
    """Return the bytes of a printable form, or of any other text.

    >>> printable_or_text("Ġthe"), printable_or_text("<a b>")
    (b' the', b'<a b>')
    """
    try:
        return from_printable(spelled)
    except KeyError:
        return spelled.encode("utf-8")


def printed_ids(
    file: str, tokens: Mapping[int, bytes], special_tokens: Mapping[str, int]
) -> dict[str, int]:
    """Return the ids of tokens by their printable forms, and of special tokens by their texts, in order.

    >>> printed_ids("vocab.json", {1: b" the"}, {"<s>": 0})
    {'<s>': 0, 'Ġthe': 1}
    """
    ids = {to_printable(token): token_id for token_id, token in tokens.items()}
    if len(ids) < len(tokens):
        why = "cannot hold two tokens of the same bytes; train with equal_tokens='shared'"
        raise ValueError(f"{file} {why}")
    for text, token_id in special_tokens.items():
        if ids.setdefault(text, token_id) != token_id:
            raise ValueError(
                f"special token {text!r:.80} is spelled like token {ids[text]} in {file}"
            )
    return dict(sorted(ids.items(), key=lambda item: item[1]))


def printed_merges(pairs: Iterable[BytesPair]) -> list[str]:
    """Return merges as texts.

    >>> printed_merges([(b" t", b"he")])
    ['Ġt he']
    """
    return [f"{to_printable(left)} {to_printable(right)}" for left, right in pairs]
