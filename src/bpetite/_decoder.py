"""Decoding: from ids to text. This is the specification."""

from collections.abc import Iterable, Mapping

from bpetite._constants import CLEANED


def decode(
    ids: Iterable[int],
    vocab: Mapping[int, bytes],
    *,
    spaced: bool = False,
    prefix: bytes = b"",
    cleaned: bool = False,
) -> str:
    """Look up the bytes of every id, join them, and decode them as strict UTF-8.

    With `spaced`, a space is put between any two tokens. Behind the first token, a `prefix` stands
    for no space, and `cleaned` replaces in each token what `CLEANED` says. An unknown id raises
    `KeyError`; bytes that are not UTF-8 raise `UnicodeDecodeError`.

    >>> decode([104, 105], {104: b"h", 105: b"i"})
    'hi'
    >>> decode([0, 1, 0], {0: b"to", 1: b"##p"}, spaced=True, prefix=b"##")
    'top to'
    """
    written: list[bytes] = []
    for token_id in ids:
        token = vocab[token_id]
        if written and prefix and token.startswith(prefix):
            token = token.removeprefix(prefix)
        elif written and spaced:
            token = b" " + token
        for replaced, written_instead in CLEANED if cleaned else ():
            token = token.replace(replaced.encode(), written_instead.encode())
        written.append(token)
    content = b"".join(written)
    return content.decode("utf-8", errors="strict")
