"""Decoding of ids as they arrive: the text is that of decoding all of them at once.

This is the specification: the engine's streams must return the same pieces, and the tests check that
they do.
"""

import codecs
from collections.abc import Callable, Collection, Sequence


class DecodeStream:
    """Takes ids and returns their text; an incomplete character waits for the next ids.

    >>> stream = DecodeStream(bytes)
    >>> stream.push([97]), stream.push([0xC3]), stream.push([0xA9, 98]), stream.finish()
    ('a', '', 'éb', '')
    """

    def __init__(
        self,
        decode_bytes: Callable[[Sequence[int]], bytes],
        errors: str = "strict",
        skipped: Collection[int] = (),
    ) -> None:
        """Begin a text without the `skipped` ids; `decode_bytes` returns the bytes of any others."""
        self._decode_bytes = decode_bytes
        self._errors = errors
        self._skipped = skipped
        self._begin()

    def _begin(self) -> None:
        self._ids: list[int] = []
        self._decoder = codecs.getincrementaldecoder("utf-8")(self._errors)

    def push(self, ids: Sequence[int]) -> str:
        """Add ids, and return the text that is now complete. An error changes nothing."""
        longer = [*self._ids, *(own for own in ids if own not in self._skipped)]
        before = self._decode_bytes(self._ids)
        # A space at the end may only be written if another token follows: it comes with that one.
        added = self._decode_bytes(longer).removeprefix(before)
        complete = self._decoder.decode(added)
        self._ids = longer
        return complete

    def finish(self) -> str:
        """Return the rest; an incomplete character is handled as `errors` says. A new text may then begin."""
        decoder = self._decoder
        self._begin()
        return decoder.decode(b"", final=True)
