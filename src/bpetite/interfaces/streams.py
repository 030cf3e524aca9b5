"""Ids as they arrive, and their text in the chunks of `tokenizers.decoders.DecodeStream`."""

from __future__ import annotations

import copy
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from bpetite._engine import DecodedChunks
from bpetite.formats.shared.peers import tokenizers_library


class DecodeStream:
    """A `tokenizers.decoders.DecodeStream` that also takes accelerated tokenizers.

    With one of these, it decodes by bpetite's engine. All that only the real class can do is left to it:
    real tokenizers, decoders other than `ByteLevel`, unknown ids, settings that change in the middle.

    >>> from tokenizers import Tokenizer, models, pre_tokenizers
    >>> stream = DecodeStream(skip_special_tokens=True)
    >>> stream.step(Tokenizer(models.BPE({"a": 0}, [])), 0)
    'a'
    """

    __slots__ = ("_chunks", "_has_begun", "_prompt", "_real", "_settings", "_skips", "_tokenizer")

    def __init__(self, ids: Any = None, skip_special_tokens: Any = False) -> None:
        """Begin a text behind the ids of a prompt."""
        self._real = _real_class()(ids, skip_special_tokens)
        self._prompt = [] if ids is None else list(ids)
        self._skips = bool(skip_special_tokens)
        self._has_begun = False
        self._tokenizer: Any = None
        self._settings: Any = None
        self._chunks: DecodedChunks | None = None
        """What is asked instead of the real stream, as long as there is something."""

    def step(self, tokenizer: Any, id: Any) -> str | None:
        """Add one id or several, and return the text that is now complete, or None."""
        if not self._has_begun:
            self._begin(tokenizer)
        chunks = self._chunks
        if chunks is None:
            with _lent(tokenizer) as real:
                return self._real.step(real, id)  # type: ignore[no-any-return]
        if tokenizer is self._tokenizer and tokenizer._now() is self._settings:
            try:
                return chunks.step(id)
            except (KeyError, TypeError, ValueError):
                pass  # The real one can, or raises the error.
        self._leave(chunks, tokenizer)
        return self.step(tokenizer, id)

    def _begin(self, tokenizer: Any) -> None:
        self._has_begun = True
        if _is_ours(tokenizer):
            self._tokenizer, self._settings = tokenizer, tokenizer._now()
            if self._settings is not None:
                self._chunks = self._settings.chunks(self._prompt, self._skips)
        self._prompt = []

    def _leave(self, chunks: DecodedChunks, tokenizer: Any) -> None:
        """Go on with the real stream, behind the latest chunk."""
        read, waiting = chunks.ids
        self._chunks = None
        self._real = _real_class()(read, self._skips)
        if waiting:
            self.step(tokenizer, waiting)

    def __copy__(self) -> DecodeStream:
        copied = object.__new__(DecodeStream)
        for name in self.__slots__:
            setattr(copied, name, getattr(self, name))
        copied._real, copied._chunks = copy.copy(self._real), copy.copy(self._chunks)
        return copied

    def __deepcopy__(self, memo: object, /) -> DecodeStream:
        return self.__copy__()


def take_decode_stream() -> None:
    """Let `tokenizers.decoders.DecodeStream` be the class above, for all that import it from now on."""
    tokenizers_library().decoders.DecodeStream = DecodeStream


def give_back_decode_stream() -> None:
    """Let `tokenizers.decoders.DecodeStream` be the real class again."""
    tokenizers_library().decoders.DecodeStream = _real_class()


def _real_class() -> Any:
    """Return the class itself, which has its name in the compiled module, too."""
    return tokenizers_library().decoders.decoders.DecodeStream


def _is_ours(tokenizer: Any) -> bool:
    return hasattr(type(tokenizer), "_now")


def _lent(tokenizer: Any) -> AbstractContextManager[Any]:
    """Return the real tokenizer, which calls with other settings wait for."""
    lent: AbstractContextManager[Any] = (
        tokenizer._lender.lent(None) if _is_ours(tokenizer) else nullcontext(tokenizer)
    )
    return lent
