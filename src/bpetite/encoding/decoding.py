"""Ids as they arrive in, their text out."""

from __future__ import annotations

import codecs
from collections.abc import Set
from operator import index
from typing import Any, final

from bpetite._engine import Encoder
from bpetite._internal.arguments import several
from bpetite._internal.types import Ids
from bpetite.vocabulary import DropsSpace


@final
class DecodeStream:
    """Takes ids and returns their text; the bytes of an incomplete character wait for the next ids."""

    def __init__(
        self,
        encoder: Encoder,
        errors: str = "strict",
        skipped: Set[int] = frozenset(),
        drops_space: DropsSpace = False,
    ) -> None:
        """Begin a text without the `skipped` ids; `drops_space` is that of the vocabulary."""
        codecs.lookup_error(errors)
        self._encoder, self._skipped, self._drops_space = encoder, skipped, drops_space
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)
        self._is_first = True

    def push(self, ids: int | Ids) -> str:
        """Add one id or several, and return the text that is now complete."""
        given: list[Any] = [ids] if _is_one(ids) else list(several("ids", "integers", ids))
        if self._skipped:
            given = [own for own in given if not hasattr(own, "__index__") or index(own) not in self._skipped]
        if not self._is_first:
            return self._decoder.decode(b"".join(map(self._encoder.token_bytes, given)))
        content = self._encoder.decode_bytes(given)
        # The spaces of the first token are left out, or the first space.
        self._is_first = not (
            given if self._drops_space == "all" else any(map(self._encoder.token_bytes, given))
        )
        return self._decoder.decode(content)

    def finish(self) -> str:
        """Return the rest; an incomplete character is handled as `errors` says. A new text may then begin."""
        self._is_first = True
        try:
            return self._decoder.decode(b"", final=True)
        finally:
            self._decoder.reset()

    def __copy__(self) -> DecodeStream:
        errors = self._decoder.errors
        copied = DecodeStream(self._encoder, errors, self._skipped, self._drops_space)
        copied._is_first = self._is_first
        copied._decoder.setstate(self._decoder.getstate())
        return copied

    def __deepcopy__(self, memo: object, /) -> DecodeStream:
        return self.__copy__()


def _is_one(ids: object) -> bool:
    """Whether this is one id; a scalar of an array library may have a length that cannot be asked for."""
    try:
        has_length = len(ids) >= 0  # type: ignore[arg-type]
    except TypeError:
        has_length = False
    return not has_length and hasattr(ids, "__index__")
