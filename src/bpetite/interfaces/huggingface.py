"""A `tokenizers.Tokenizer` in, a faster one with the same interface and our engine out.

It contains the real one, which keeps all settings. Texts, pairs and lists of words are encoded by the engine,
with templates, truncation and padding, and ids are decoded by it. For everything else the real one is called.
"""

from __future__ import annotations

import asyncio
import copy
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from bpetite._engine import FramedEncoding
from bpetite.formats.shared.peers import tokenizers_library
from bpetite.interfaces.huggingface_encoding import BareTokens, Encoding, TextTokens, WordsTokens
from bpetite.interfaces.huggingface_settings import NOBODY, Alone, ReadModel, Settings, state_of

_SWITCHED_OFF = {"", "off", "false", "f", "no", "n", "0"}
"""The values of `TOKENIZERS_PARALLELISM` that mean a single thread."""

_PARTS = {"model", "normalizer", "pre_tokenizer", "post_processor", "decoder"}
"""The parts of a tokenizer: objects that can be changed separately."""


class HuggingFaceTokenizer:
    """A `tokenizers.Tokenizer` that encodes and decodes by bpetite's engine.

    It has all methods and properties of the real one, and returns the same.
    """

    def __init__(self, real: Any) -> None:
        """Take a `tokenizers.Tokenizer`, and keep a copy; one that is not byte-level BPE is refused."""
        library = tokenizers_library()
        if not hasattr(real, "to_str"):
            raise TypeError(
                "a tokenizer of tokenizers, or one of transformers that holds such a tokenizer, can be "
                f"accelerated, not {type(real).__name__}"
            )
        content = real.to_str()
        copied = library.Tokenizer.from_str(content)
        copied.encode_special_tokens = real.encode_special_tokens  # the only setting that no file holds
        self._hold(copied, content)

    def _hold(self, real: Any, content: str) -> None:
        self._real = real
        self._model: ReadModel | None = ReadModel.of(real, content)
        self._settings: Settings | None = None
        self._alone: Alone | None = None
        self._lent: list[tuple[str, Any, object]] = []
        self._remembers_more = False

    @property  # type: ignore[misc]  # read-only
    def __class__(self) -> Any:
        """The class of `tokenizers`, for `isinstance`."""
        import tokenizers

        return tokenizers.Tokenizer

    @classmethod
    def from_str(cls, json: str) -> HuggingFaceTokenizer:
        """Make a tokenizer from the text of a `tokenizer.json`."""
        made = object.__new__(cls)
        real = tokenizers_library().Tokenizer.from_str(json)
        try:
            made._hold(real, json)
        except (KeyError, TypeError, ValueError):
            made._hold(real, real.to_str())  # as tokenizers understood it
        return made

    @classmethod
    def _copied(cls, json: str) -> HuggingFaceTokenizer:
        """Make a copy of a tokenizer; what was added to it may be what only the real one can follow."""
        made = object.__new__(cls)
        made._real = tokenizers_library().Tokenizer.from_str(json)
        made._lent, made._remembers_more = [], False
        made._read_again()
        return made

    @classmethod
    def from_file(cls, path: str) -> HuggingFaceTokenizer:
        """Read a `tokenizer.json`."""
        with open(path, encoding="utf-8") as file:
            return cls.from_str(file.read())

    @classmethod
    def from_buffer(cls, buffer: bytes) -> HuggingFaceTokenizer:
        """Make a tokenizer from the bytes of a `tokenizer.json`."""
        return cls.from_str(bytes(buffer).decode("utf-8"))

    @classmethod
    def from_pretrained(cls, identifier: str, *args: Any, **kwargs: Any) -> HuggingFaceTokenizer:
        """Load a tokenizer from the Hugging Face Hub."""
        return cls(tokenizers_library().Tokenizer.from_pretrained(identifier, *args, **kwargs))

    # Encoding ----------------------------------------------------------------------------------------

    def encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Any:
        """Encode a text, or a pair of texts."""
        if pair is None and not is_pretokenized:
            # One attribute: each is looked up slowly, as this class has a `__getattr__`.
            alone = (self._alone or self._find_alone())[1 if add_special_tokens else 0]
            if alone is not None:
                try:
                    return alone.encode(sequence)
                except (TypeError, ValueError):
                    pass  # The real one raises the error.
        given = (sequence,) if pair is None else (sequence, pair)
        encodings = self._encode((given,), is_pretokenized, add_special_tokens)
        if encodings is not None:
            return encodings[0]
        return self._real.encode(sequence, pair, is_pretokenized, add_special_tokens)

    def encode_batch(
        self, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Any]:
        """Encode texts, or pairs of them."""
        encodings = self._encode_several(input, is_pretokenized, add_special_tokens)
        if encodings is not None:
            return encodings
        return list(self._real.encode_batch(input, is_pretokenized, add_special_tokens))

    def encode_batch_fast(
        self, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Any]:
        """Encode texts, or pairs of them, without the places of tokens."""
        encodings = self._encode_several(input, is_pretokenized, add_special_tokens, bare=True)
        if encodings is not None:
            return encodings
        return list(self._real.encode_batch_fast(input, is_pretokenized, add_special_tokens))

    def _encode_several(
        self, input: Any, is_pretokenized: bool, add_special_tokens: bool, *, bare: bool = False
    ) -> list[Any] | None:
        """Encode texts or pairs, or return None if only the real tokenizer can."""
        if not is_pretokenized and isinstance(input, list | tuple):
            encodings = self._encode_alone(input, add_special_tokens, bare)
            if encodings is not None:
                return encodings
        return self._encode(
            _sequences(input, is_pretokenized), is_pretokenized, add_special_tokens, bare=bare
        )

    def _encode_alone(self, texts: Sequence[Any], add_special_tokens: bool, bare: bool) -> list[Any] | None:
        """Encode texts by the shortest way, or return None if it takes a longer one."""
        alone = (self._alone or self._find_alone())[2 * bare + bool(add_special_tokens)]
        if alone is None:
            return None
        try:
            return alone.encode_batch(texts, _thread_number())
        except (TypeError, ValueError):
            return None  # Not all are texts, or the real one raises the error.

    def _encode(
        self,
        given: Sequence[tuple[Any, ...]] | None,
        is_pretokenized: bool,
        add_special_tokens: bool,
        *,
        bare: bool = False,
    ) -> list[Encoding] | None:
        """Encode texts or pairs, or return None if only the real tokenizer can."""
        settings = self._now()
        if not given or settings is None or settings.processing is None:
            return None
        try:
            made = self._tokens(given, is_pretokenized, settings)
            if made is None:
                return None
            if bare:
                made = [[BareTokens(tokens.ids) for tokens in sequences] for sequences in made]
            encodings = [
                settings.processing.encoding_of(sequences, settings.truncation, add_special_tokens, bare)
                for sequences in made
            ]
        except ValueError:
            return None  # The real one raises the error, or ignores unknown ids.
        if settings.padding is not None:
            settings.padding.fill_up(encodings)
        return encodings

    def _tokens(
        self,
        given: Sequence[tuple[Any, ...]],
        is_pretokenized: bool,
        settings: Settings,
    ) -> Sequence[Sequence[TextTokens]] | None:
        """Return the tokens of each text of each pair, or None if an item is not text."""
        if not is_pretokenized and len(given) == len(given[0]) == 1:
            text = given[0][0]
            return [settings.tokens_of([text])] if isinstance(text, str) else None
        sequences = [sequence for pair in given for sequence in pair]
        texts = sequences
        if is_pretokenized:
            if settings.trim == "keep first" or not all(
                isinstance(words, list | tuple) for words in sequences
            ):
                return None
            texts = [word for words in sequences for word in words]
        if not all(isinstance(text, str) for text in texts):
            return None
        made = settings.tokens_of(texts, _thread_number())
        if is_pretokenized:
            rest = iter(made)
            made = [WordsTokens([next(rest) for _ in words]) for words in sequences]
        if len(made) == len(given):
            return [(tokens,) for tokens in made]
        rest = iter(made)
        return [[next(rest) for _ in pair] for pair in given]

    def post_process(self, encoding: Any, pair: Any = None, add_special_tokens: bool = True) -> Any:
        """Truncate, add special tokens and pad, as encoding does."""
        given = [
            part.__reduce_ex__(2) if issubclass(type(part), Encoding | FramedEncoding) else part
            for part in (encoding, pair)
        ]
        real = [part[0](*part[1]) if isinstance(part, tuple) else part for part in given]
        return self._real.post_process(*real, add_special_tokens)

    async def async_encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Any:
        """Encode a text, or a pair of texts, in another thread."""
        return await asyncio.to_thread(self.encode, sequence, pair, is_pretokenized, add_special_tokens)

    async def async_encode_batch(
        self, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Any]:
        """Encode texts, or pairs of them, in other threads."""
        return await asyncio.to_thread(self.encode_batch, input, is_pretokenized, add_special_tokens)

    async def async_encode_batch_fast(
        self, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Any]:
        """Encode texts, or pairs of them, without the places of tokens, in other threads."""
        return await asyncio.to_thread(self.encode_batch_fast, input, is_pretokenized, add_special_tokens)

    # Decoding ----------------------------------------------------------------------------------------

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Decode ids."""
        settings = self._now()
        text = None if settings is None else settings.decode(ids, skip_special_tokens)
        return str(self._real.decode(ids, skip_special_tokens)) if text is None else text

    def decode_batch(self, sequences: Iterable[Sequence[int]], skip_special_tokens: bool = True) -> list[str]:
        """Decode several rows of ids."""
        return [self.decode(ids, skip_special_tokens) for ids in sequences]

    async def async_decode_batch(
        self, sequences: Iterable[Sequence[int]], skip_special_tokens: bool = True
    ) -> list[str]:
        """Decode several rows of ids in another thread."""
        return await asyncio.to_thread(self.decode_batch, sequences, skip_special_tokens)

    # Settings ----------------------------------------------------------------------------------------

    def _now(self) -> Settings | None:
        """Return the current settings, or None if only the real tokenizer can follow them."""
        if self._lent:
            self._look_after_lent()
        if self._settings is None and self._model is not None:
            self._settings = Settings.of(self._real, self._model)
        return self._settings

    def _find_alone(self) -> Alone:
        """Return what encodes single texts, and keep it until a setting may have changed."""
        settings = self._now()
        alone = NOBODY if settings is None else settings.alone
        self._alone = None if self._lent else alone
        return alone

    def _forget_settings(self) -> None:
        self._settings = self._alone = None

    def _lend(self, name: str) -> Any:
        """Return a part of the tokenizer, which the caller may change as long as it has a reference."""
        part = getattr(self._real, name)
        if part is not None:
            self._alone = None
            self._lent.append((name, part, state_of(part)))
        return part

    def _look_after_lent(self) -> None:
        """Check whether parts in the hands of callers were changed, and forget those without references."""
        for name, part, before in self._lent:
            if state_of(part) != before:
                self._changed(name)
        part = None
        held = [count > _OURS for count in _references(self._lent)]
        self._lent = [
            (name, part, state_of(part))
            for (name, part, _), is_held in zip(self._lent, held, strict=True)
            if is_held
        ]

    def _changed(self, name: str) -> None:
        """Recompute what depends on a part or setting."""
        self._forget_settings()
        if name in ("normalizer", "pre_tokenizer", "model", "decoder"):
            self._read_again()

    def _read_again(self) -> None:
        self._forget_settings()
        if self._remembers_more:
            return
        try:
            self._model = ReadModel.of(self._real, self._real.to_str())
        except Exception:  # Both reading and writing refuse unsupported settings with a ValueError.
            self._model = None  # From here on, the real one does everything.

    def add_tokens(self, tokens: Sequence[Any]) -> int:
        """Add tokens that are searched in texts; return the number of new ones."""
        return self._add(self._real.add_tokens, tokens)

    def add_special_tokens(self, tokens: Sequence[Any]) -> int:
        """Add special tokens; return the number of new ones."""
        return self._add(self._real.add_special_tokens, tokens)

    def _add(self, add: Callable[[Sequence[Any]], int], tokens: Sequence[Any]) -> int:
        self._forget_settings()
        before = self._real.get_added_tokens_decoder()
        count = int(add(tokens))
        after = self._real.get_added_tokens_decoder()
        normalizes = self._real.normalizer is not None
        for token_id, old in before.items():
            new = after[token_id]
            # A token that is added again with other flags is still searched as before, and still special.
            is_other = normalizes and old.normalized != new.normalized
            if is_other or (old.special and not new.special):
                self._model, self._remembers_more = None, True
        return count

    def _read_lengths(self) -> None:
        self._alone = None
        if self._settings is not None:
            self._settings.read_lengths()

    def enable_truncation(self, max_length: int, *args: Any, **kwargs: Any) -> None:
        """Truncate encodings to this length."""
        self._real.enable_truncation(max_length, *args, **kwargs)
        self._read_lengths()

    def no_truncation(self) -> None:
        """Do not truncate."""
        self._real.no_truncation()
        self._read_lengths()

    def enable_padding(self, *args: Any, **kwargs: Any) -> None:
        """Pad to the longest encoding of a batch, or to a length."""
        self._real.enable_padding(*args, **kwargs)
        self._read_lengths()

    def no_padding(self) -> None:
        """Do not pad."""
        self._real.no_padding()
        self._read_lengths()

    def train(self, *args: Any, **kwargs: Any) -> None:
        """Train the model anew, as the real tokenizer does."""
        self._real.train(*args, **kwargs)
        self._read_again()

    def train_from_iterator(self, *args: Any, **kwargs: Any) -> None:
        """Train the model anew, as the real tokenizer does."""
        self._real.train_from_iterator(*args, **kwargs)
        self._read_again()

    def __getattr__(self, name: str) -> Any:
        """Leave everything else to the real tokenizer."""
        if name.startswith("__") or name == "_real":
            raise AttributeError(name)
        return self._lend(name) if name in _PARTS else getattr(self._real, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
            return
        setattr(self._real, name, value)
        self._lent = [entry for entry in self._lent if entry[0] != name]
        self._changed(name)

    def __deepcopy__(self, memo: object) -> HuggingFaceTokenizer:
        self._now()
        copied = object.__new__(type(self))
        copied._real = copy.deepcopy(self._real)
        copied._settings, copied._alone, copied._lent = None, None, []
        copied._model, copied._remembers_more = self._model, False
        if self._remembers_more:  # which the copy of the real one does not
            copied._read_again()
        return copied

    def __copy__(self) -> HuggingFaceTokenizer:
        return self.__deepcopy__(None)

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        return type(self)._copied, (self._real.to_str(),)

    def __repr__(self) -> str:
        return repr(self._real)

    def __str__(self) -> str:
        return str(self._real)


def _references(lent: Iterable[tuple[str, Any, object]]) -> list[int]:
    return [sys.getrefcount(part) for _, part, _ in lent]


_OURS = _references([("", object(), None)])[0]
"""The reference count of a part that no caller has."""


def _sequences(given: Any, is_pretokenized: bool) -> list[tuple[Any, ...]] | None:
    """Return the texts or pairs of a batch, or None if it is neither."""
    if not isinstance(given, list | tuple):
        return None
    if not is_pretokenized:
        return [
            (item,) if isinstance(item, str) else tuple(item) if _is_pair(item) else (None,) for item in given
        ]
    return [
        tuple(item) if _is_pair(item) and not any(isinstance(part, str) for part in item) else (item,)
        for item in given
    ]


def _is_pair(item: object) -> bool:
    return isinstance(item, list | tuple) and len(item) == 2


def _thread_number() -> int | None:
    """Return the number of threads for a batch; None means all."""
    return 1 if os.environ.get("TOKENIZERS_PARALLELISM", "true").lower() in _SWITCHED_OFF else None


def accelerate(tokenizer: Any) -> Any:
    """Return a tokenizer of transformers or tokenizers that does the same with bpetite's engine.

    A tokenizer of transformers keeps its class and methods; the given object is not changed.

    >>> from tokenizers import Tokenizer, models, pre_tokenizers
    >>> alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    >>> real = Tokenizer(models.BPE({character: place for place, character in enumerate(alphabet)}, []))
    >>> real.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    >>> accelerate(real).encode("hi").ids == real.encode("hi").ids
    True
    """
    if type(tokenizer) is HuggingFaceTokenizer:
        return tokenizer
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return HuggingFaceTokenizer(tokenizer)
    if type(backend) is HuggingFaceTokenizer:
        return tokenizer
    fast = HuggingFaceTokenizer(backend)
    accelerated = copy.copy(tokenizer)
    for name, value in vars(tokenizer).items():
        if isinstance(value, dict | list | set):  # such as the names of special tokens, which change in place
            setattr(accelerated, name, copy.copy(value))
    accelerated._tokenizer = fast
    return accelerated
