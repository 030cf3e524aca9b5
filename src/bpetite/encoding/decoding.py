"""Ids as they arrive in, their text out."""

from __future__ import annotations

import codecs
from collections.abc import Set
from operator import index
from typing import Any, final

from bpetite._engine import Encoder
from bpetite._internal.arguments import UnknownTokenError, check_type, several
from bpetite._internal.types import Ids
from bpetite.vocabulary import DropsSpace, Vocabulary

_MOST_RANGES = 4
"""The maximum number of ranges of ids that an error names."""


@final
class DecodeStream:
    """Takes ids and returns their text; the bytes of an incomplete character wait for the next ids."""

    def __init__(
        self,
        encoder: Encoder,
        errors: str = "strict",
        skipped: Set[int] = frozenset(),
        drops_space: DropsSpace = False,
        spaced: bool = False,
    ) -> None:
        """Begin a text without the `skipped` ids; `drops_space` and `spaced` are those of the vocabulary."""
        check_type("errors", errors, str)
        if "\0" in errors:
            raise ValueError(f"errors: {errors!r} names no handler")
        codecs.lookup_error(errors)
        self._encoder, self._skipped, self._drops_space = encoder, skipped, drops_space
        self._spaced = spaced
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)
        self._is_first = True
        self._held = b""

    def push(self, ids: int | Ids) -> str:
        """Add one id or several, and return the text that is now complete."""
        try:
            return self._decoder.decode(self._bytes_of(ids))
        except KeyError as unknown:
            raise UnknownTokenError(
                f"unknown id {unknown.args[0]}: the vocabulary has no such token"
            ) from None

    def _bytes_of(self, ids: int | Ids) -> bytes:
        given: list[Any] = [ids] if _is_one(ids) else list(several("ids", "integers", ids))
        if self._skipped:
            given = [
                own
                for own in given
                if not hasattr(own, "__index__") or index(own) not in self._skipped
            ]
        if not given:
            return b""
        held = self._held
        self._held = b" " if self._is_spaced(given[-1]) else b""
        if not self._is_first:
            content = self._encoder.decode_bytes(given, behind=True)
            return held + content
        content = self._encoder.decode_bytes(given)
        # The spaces of the first token are left out, or the first space; or none is put before it.
        of_token = self._spaced or self._drops_space == "all"
        self._is_first = not (given if of_token else any(map(self._encoder.token_bytes, given)))
        return content

    def _is_spaced(self, token_id: Any) -> bool:
        """Whether a token ends with a space that is only written if another token follows."""
        token = self._encoder.token_bytes(token_id)
        may_be = token.endswith(b" ") and not self._drops_space
        return may_be and self._encoder.decode_bytes([token_id]) != token

    def finish(self) -> str:
        """Return the rest; an incomplete character is handled as `errors` says. A new text may then begin."""
        self._is_first = True
        self._held = b""
        try:
            return self._decoder.decode(b"", final=True)
        finally:
            self._decoder.reset()

    def __copy__(self) -> DecodeStream:
        errors = self._decoder.errors
        copied = DecodeStream(self._encoder, errors, self._skipped, self._drops_space, self._spaced)
        copied._is_first, copied._held = self._is_first, self._held
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


def unknown_id(unknown: KeyError, vocabulary: Vocabulary) -> UnknownTokenError:
    """Return the engine's error about an id as a sentence that says which ids there are.

    >>> print(unknown_id(KeyError(9), Vocabulary({0: b"a", 1: b"b", 5: b"c", 6: b"d"}, [], irregular=True)))
    unknown id 9: the ids of this vocabulary are 0 to 1 and 5 to 6
    """
    listed = {*vocabulary.tokens, *vocabulary.decode_only, *vocabulary.special_tokens.values()}
    ranges: list[list[int]] = []
    for token_id in sorted(listed - set(vocabulary.provisional)):
        if ranges and token_id == ranges[-1][1] + 1:
            ranges[-1][1] = token_id
        else:
            ranges.append([token_id, token_id])
    named = [str(first) if first == last else f"{first} to {last}" for first, last in ranges]
    if len(named) > _MOST_RANGES:
        named[_MOST_RANGES - 1 : -1] = [f"{len(named) - _MOST_RANGES} more ranges"]
    which = " and ".join(filter(None, [", ".join(named[:-1]), named[-1]]))
    return UnknownTokenError(
        f"unknown id {unknown.args[0]}: the ids of this vocabulary are {which}"
    )


def unknown_token(token: bytes, vocabulary: Vocabulary) -> UnknownTokenError:
    """Return an error about bytes that are no token.

    >>> ones = {byte: bytes([byte]) for byte in range(256)}
    >>> print(unknown_token(b"<s>", Vocabulary(ones, [], {"<s>": 256})))
    b'<s>' is a special token: its id, 256, is in special_tokens
    """
    text = token.decode("utf-8", "replace")
    if text in vocabulary.special_tokens:
        token_id = vocabulary.special_tokens[text]
        return UnknownTokenError(
            f"{token!r:.80} is a special token: its id, {token_id}, is in special_tokens"
        )
    advice = "only the bytes of one token have an id, and encode gives those of any text"
    return UnknownTokenError(f"{token!r:.80} is not a token of this vocabulary: {advice}")
