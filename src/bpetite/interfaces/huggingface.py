"""A `tokenizers.Tokenizer` in, a faster one with the same interface and our engine out.

Single texts are encoded by the engine, with templates, truncation and padding, and ids are decoded
by it. For everything else a real tokenizer is made and called: for pairs and words, and for what
transformers does not ask of an encoding itself, such as word ids. Copies share it until one of them
is changed.
"""

from __future__ import annotations

import copy
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from threading import RLock
from typing import Any

from bpetite._engine import FramedEncoder, FramedEncoding
from bpetite._internal.memory import available_memory
from bpetite.formats.shared.peers import tokenizers_library
from bpetite.interfaces.call_settings import CallSettings, Lender, SettingsOfThreads
from bpetite.interfaces.huggingface_model import (
    BPE,
    OF_MODEL,
    Original,
    ReadModel,
    Settings,
    flags_of,
)
from bpetite.interfaces.streams import DecodeStream as DecodeStream

_LISTS = (list, tuple)
"""What a batch of texts may be."""

_PARTS = {"model", "normalizer", "pre_tokenizer", "post_processor", "decoder"}
"""The parts of a tokenizer: objects that can be changed separately."""

_ADDS = {"add_tokens", "add_special_tokens"}
_CHANGES = {*_ADDS, "train", "train_from_iterator"}

_WRITES = {"to_str", "save"}
"""What a tokenizer writes of itself, with truncation and padding."""

_MOST_CODERS = 64
"""How many encoders with different settings are kept."""

_BYTES_PER_PAD = 128
"""The memory of a token of padding in a real encoding."""

_UNCHECKED_BYTES = 64 << 20
"""The memory of padding that is not checked."""


class _Latest:
    """The settings of calls that were set last, and what encodes with them.

    Whoever changes settings begins another one: what a thread still puts into the old one is not
    used.
    """

    __slots__ = ("coders", "settings")

    def __init__(self, settings: CallSettings) -> None:
        self.settings = settings
        self.coders: list[FramedEncoder | None] = [None, None]
        """Without special tokens around a text, and with them."""


class HuggingFaceTokenizer:
    """A `tokenizers.Tokenizer` that encodes and decodes by bpetite's engine.

    It has all methods and properties of the real one, and returns the same.
    """

    def __init__(self, real: Any) -> None:
        """Take a `tokenizers.Tokenizer`, and keep a copy; one that cannot be accelerated is refused."""
        tokenizers_library()  # which refuses a version with another interface
        if not hasattr(real, "to_str"):
            raise TypeError(
                "a tokenizer of tokenizers, or one of transformers that holds such a tokenizer, can be "
                f"accelerated, not {type(real).__name__}"
            )
        content = _content_of(real)
        self._hold(Original(content, ReadModel(content)), CallSettings.of(real))

    def _hold(self, original: Original, settings: CallSettings) -> HuggingFaceTokenizer:
        self._original = original
        self._is_original = True
        """Whether this tokenizer is still equal to it, but for the settings of calls."""
        self._own: Lender | None = None
        """The real tokenizer that only this one may change; None until it is needed."""
        self._own_frame: Any = None
        """One without tokens, whose parts are handed out until then."""
        self._model = original.model
        self._calls = SettingsOfThreads(settings)
        self._settings = original.settings and original.settings.apart()
        self._is_read = True
        self._lock = RLock()
        """Held while settings are read again."""
        self._latest = _Latest(settings)
        self._remembers_more = False
        self._handed_out: dict[str, object] = {}
        return self

    @property
    def _lender(self) -> Lender:
        """The real tokenizer for calls; copies may use it, too, so that it must not be changed."""
        return self._own or self._original.lender

    def _own_real(self) -> Any:
        """Return a real tokenizer that no other uses, to be changed."""
        with self._lock:
            if self._own is None:
                real = self._original.made()
                # Whoever has a part changes it here from now on.
                for name in self._handed_out:
                    setattr(real, name, getattr(self._own_frame, name))
                self._own = Lender(real)
            return self._own.real

    def _parts(self) -> Any:
        """Return a real tokenizer that no other uses, perhaps without tokens."""
        with self._lock:
            if self._own is not None:
                return self._own.real
            if self._own_frame is None:
                self._own_frame = copy.deepcopy(self._original.frame.real)
            return self._own_frame

    @classmethod
    def from_str(cls, json: str) -> HuggingFaceTokenizer:
        """Make a tokenizer from the text of a `tokenizer.json`."""
        return cls(tokenizers_library().Tokenizer.from_str(json))

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

    # Encoding
    # ----------------------------------------------------------------------------------------

    def encode(
        self,
        sequence: Any,
        pair: Any = None,
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> Any:
        """Encode a text, or a pair of texts."""
        is_single = pair is None and not is_pretokenized
        settings = coder = None
        if is_single and not self._calls.is_pinned:
            coder = self._latest.coders[1 if add_special_tokens else 0]
        if coder is None:
            settings = self._calls.take()
            coder = self._coder(settings, add_special_tokens) if is_single else None
        if coder is not None:
            with suppress(TypeError, ValueError):  # The real one can, or raises the error.
                return coder.encode(sequence)
        settings = settings or self._calls.last
        return self._really(
            "encode", settings, 1, sequence, pair, is_pretokenized, add_special_tokens
        )

    def encode_batch(
        self, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Any:
        """Encode texts, or pairs of them."""
        settings = self._calls.take()
        return self._encode_several(
            "encode_batch", settings, input, is_pretokenized, add_special_tokens
        )

    def encode_batch_fast(
        self, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Any:
        """Encode texts, or pairs of them, without the places of tokens."""
        settings = self._calls.take()
        return self._encode_several(
            "encode_batch_fast", settings, input, is_pretokenized, add_special_tokens
        )

    def async_encode(
        self,
        sequence: Any,
        pair: Any = None,
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> Any:
        """Encode a text, or a pair of texts, in a thread; the result is to be awaited."""
        settings = self._calls.take()
        item = sequence if pair is None else (sequence, pair)
        single = partial(self._encode_several, "encode_batch", settings, [item])
        return _in_thread(lambda: single(is_pretokenized, add_special_tokens)[0])

    def async_encode_batch(
        self, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Any:
        """Encode texts, or pairs of them, in a thread; the result is to be awaited."""
        arguments = (self._calls.take(), input, is_pretokenized, add_special_tokens)
        return _in_thread(partial(self._encode_several, "encode_batch", *arguments))

    def async_encode_batch_fast(
        self, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Any:
        """Encode texts, or pairs of them, in a thread, without the places of tokens."""
        arguments = (self._calls.take(), input, is_pretokenized, add_special_tokens)
        return _in_thread(partial(self._encode_several, "encode_batch_fast", *arguments))

    def _encode_several(
        self, name: str, settings: CallSettings, input: Any, is_pretokenized: bool, add: bool
    ) -> Any:
        is_list = isinstance(input, _LISTS)
        if is_list and not is_pretokenized:
            coder = self._coder(settings, add, bare=name == "encode_batch_fast")
            if coder is not None:
                try:
                    return coder.encode_batch(input)
                except (TypeError, ValueError):
                    pass  # Not all are texts, or the real one raises the error.
        count = len(input) if is_list else 1
        return self._really(name, settings, count, input, is_pretokenized, add)

    def _really(self, name: str, settings: CallSettings, count: int, *arguments: Any) -> Any:
        """Let the real tokenizer encode a number of texts."""
        _ensure_memory(settings.padding, count)
        self._now()  # which looks for changes of parts
        with self._lender.lent(settings) as real:
            return getattr(real, name)(*arguments)

    def post_process(self, encoding: Any, pair: Any = None, add_special_tokens: bool = True) -> Any:
        """Truncate, add special tokens and pad, as encoding does."""
        arguments = (_real_of(encoding), _real_of(pair), add_special_tokens)
        return self._really("post_process", self._calls.current(), 1, *arguments)

    # Decoding
    # ----------------------------------------------------------------------------------------

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Decode ids."""
        settings = self._now()
        if settings is not None:
            with suppress(KeyError, TypeError, ValueError):
                return settings.decode(ids, skip_special_tokens)
        with self._lender.lent(None) as real:
            return str(real.decode(ids, skip_special_tokens))

    def decode_batch(
        self, sequences: Iterable[Sequence[int]], skip_special_tokens: bool = True
    ) -> list[str]:
        """Decode several rows of ids."""
        return [self.decode(ids, skip_special_tokens) for ids in sequences]

    # Settings
    # ----------------------------------------------------------------------------------------

    # Those that are changed before each call are this thread's until it encodes.

    @property
    def truncation(self) -> dict[str, Any] | None:
        """How texts are truncated."""
        return _own(self._calls.read("truncation"))

    @property
    def padding(self) -> dict[str, Any] | None:
        """How encodings are padded."""
        return _own(self._calls.read("padding"))

    @property
    def encode_special_tokens(self) -> bool:
        """Whether special tokens in a text are encoded as text."""
        return bool(self._calls.read("encode_special_tokens"))

    @encode_special_tokens.setter
    def encode_special_tokens(self, value: bool) -> None:
        self._set(
            "encode_special_tokens", lambda real: setattr(real, "encode_special_tokens", value)
        )

    def enable_truncation(self, *args: Any, **kwargs: Any) -> None:
        """Truncate texts from now on."""
        self._set("truncation", lambda real: real.enable_truncation(*args, **kwargs))

    def no_truncation(self) -> None:
        """Truncate no texts from now on."""
        self._set("truncation", lambda real: real.no_truncation())

    def enable_padding(self, *args: Any, **kwargs: Any) -> None:
        """Pad encodings from now on."""
        self._set("padding", lambda real: real.enable_padding(*args, **kwargs))

    def no_padding(self) -> None:
        """Pad no encodings from now on."""
        self._set("padding", lambda real: real.no_padding())

    def _set(self, name: str, change: Callable[[Any], object]) -> None:
        lender = self._own or self._original.frame
        self._calls.set(name, lender.changed(name, change))
        self._latest = _Latest(self._calls.last)

    def _now(self) -> Settings | None:
        """Return the settings that calls share; None if only the real tokenizer can follow them."""
        if self._is_read and not self._handed_out:
            return self._settings
        with self._lock:
            for name, before in list(self._handed_out.items()):
                state = _state_of(getattr(self._parts(), name))
                if state != before:
                    self._handed_out[name] = state
                    self._own_real()
                    self._changed(name)
            if not self._is_read and self._model is not None:
                real = self._own_real()
                added = real.get_added_tokens_decoder()
                with suppress(ValueError):  # added tokens that the engine cannot tell apart
                    self._settings = Settings(self._model, real, added, real.id_to_token)
            self._is_read = True
            return self._settings

    def _coder(
        self, call: CallSettings, add_special_tokens: bool, bare: bool = False
    ) -> FramedEncoder | None:
        """Return what encodes texts; None if only the real tokenizer can."""
        latest = self._latest
        place = 1 if add_special_tokens else 0
        is_latest = call is latest.settings and not bare
        if is_latest and latest.coders[place] is not None:
            return latest.coders[place]
        settings = self._now()
        if settings is None:
            return None
        adds = bool(add_special_tokens)
        kind = (adds, bare, call.key())
        coder = settings.coders.get(kind)
        if coder is None:
            make = partial(self._real_encoding, settings, call, adds, bare)
            coder = settings.coder(adds, bare, call, make)
            if coder is None:
                return None
            if len(settings.coders) >= _MOST_CODERS:
                settings.coders.clear()
            settings.coders[kind] = coder
        if (
            is_latest and not self._handed_out
        ):  # otherwise a part may be changed until the next call
            latest.coders[place] = coder
        return coder

    def _real_encoding(
        self,
        settings: Settings,
        call: CallSettings,
        adds: bool,
        bare: bool,
        text: str,
        length: int,
    ) -> Any:
        """Return the real encoding of a text, with the settings with which the engine encoded it."""
        if settings is not self._now():
            raise RuntimeError(
                "the tokenizer was changed after this text was encoded: ask for word ids, and for all else "
                "that transformers does not ask itself, before"
            )
        name = "encode_batch_fast" if bare else "encode_batch"
        is_pretokenized = False
        [encoding] = self._really(name, call, 1, [text], is_pretokenized, adds)
        padding = call.padding
        if padding:
            _ensure_memory(padding | {"length": length}, 1)
            names = ("direction", "pad_id", "pad_type_id", "pad_token")
            encoding.pad(length, **{name: padding[name] for name in names})
        return encoding

    def _changed(self, name: str) -> None:
        """Read again what depends on a part or setting: all but the post-processor is read with the model."""
        with self._lock:
            self._is_read = False
            self._settings = None
            self._is_original = False
            self._latest = _Latest(self._calls.last)
        if name in _PARTS - {"post_processor"}:
            self._model = None
            # What is unsupported is refused with a ValueError; the real one does everything then.
            with suppress(Exception):
                self._model = (
                    None if self._remembers_more else ReadModel(_content_of(self._own_real()))
                )

    def _changing(self, name: str) -> Callable[..., Any]:
        """Return a method of the real tokenizer that changes it, after which settings are read again."""
        adds = name in _ADDS

        def changed(*args: Any, **kwargs: Any) -> Any:
            real = self._own_real()
            before = real.get_added_tokens_decoder() if adds else {}
            result = getattr(real, name)(*args, **kwargs)
            self._changed(name if adds else "model")
            after = real.get_added_tokens_decoder() if before else {}
            # A token that is added again with other flags is still searched as before, and still
            # special.
            if any(flags_of(after[token_id]) != flags_of(old) for token_id, old in before.items()):
                self._model = None
                self._remembers_more = True
            return result

        return changed

    def __getattr__(self, name: str) -> Any:
        """Leave everything else to the real tokenizer."""
        if not _is_of_real(name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if name in _PARTS:
            return self._part(name)
        if name in _WRITES:
            return partial(self._really, name, self._calls.current(), 0)
        if name in _CHANGES:
            return self._changing(name)
        self._now()  # which looks for changes of parts
        if self._own is None and self._original.answers(name):
            return getattr(self._original, name)
        return getattr(self._lender.real, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "encode_special_tokens" or not _is_of_real(name):
            object.__setattr__(self, name, value)
            return
        if type(value) is BPE:
            value = value.real
        setattr(self._own_real(), name, value)
        self._changed(name)
        if name in _PARTS:
            self._hand_out(name)

    def _part(self, name: str) -> Any:
        """Return a part of the real tokenizer, which its caller may change."""
        if name == "model" and self._own is None and self._model is not None:
            return BPE(self._original.frame.real.model, self._own_model)
        with self._lock:  # A real tokenizer takes over all parts that were handed out before it.
            part = getattr(self._parts(), name)
            if part is not None and name not in self._handed_out:
                self._hand_out(name)
        return part

    def _own_model(self) -> Any:
        """Return the model of a real tokenizer, which its caller may change."""
        self._own_real()
        return self._part("model")

    def _hand_out(self, name: str) -> None:
        """From now on, somebody may change a part, so that each call looks at it."""
        self._handed_out[name] = _state_of(getattr(self._parts(), name))
        self._latest = _Latest(self._calls.last)

    # A copy has what the text of a file holds, as that of the real one: all but
    # `encode_special_tokens`. It shares what cannot change until one of both is changed.

    def _unchanging(self) -> Original:
        """Return what this tokenizer is equal to, which later changes do not affect."""
        self._now()  # which looks for changes of parts
        with self._lock:
            latest, original = self._latest, self._original
            if self._is_original:
                return original
        with self._lender.lent(None) as real:
            original = Original.of(_content_of(real))
        with self._lock:
            if self._latest is latest:  # Otherwise it may have been changed meanwhile.
                self._original = original
                self._is_original = True
        return original

    def __copy__(self) -> HuggingFaceTokenizer:
        settings = self._calls.current()._replace(encode_special_tokens=False)
        return object.__new__(type(self))._hold(self._unchanging(), settings)

    def __deepcopy__(self, memo: object) -> HuggingFaceTokenizer:
        return self.__copy__()

    def __getstate__(self) -> dict[str, Any]:
        settings = self._calls.current()
        content = self._unchanging().content
        return {"content": content, "truncation": settings.truncation, "padding": settings.padding}

    def __setstate__(self, state: dict[str, Any]) -> None:
        settings = CallSettings(state["truncation"], state["padding"], False)
        self._hold(Original.of(state["content"]), settings)

    def __repr__(self) -> str:
        return str(self._really("__repr__", self._calls.current(), 0))

    def __str__(self) -> str:
        return str(self._really("__str__", self._calls.current(), 0))


def _own(setting: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a setting of calls as a value that whoever asked for it may change."""
    return None if setting is None else dict(setting)


def _is_of_real(name: str) -> bool:
    """Whether real tokenizers have an attribute; others are ours, or kept for whoever sets them."""
    return not name.startswith("_") and hasattr(tokenizers_library().Tokenizer, name)


def _content_of(real: Any) -> bytes:
    """Return the content of a `tokenizer.json`."""
    if isinstance(real, tokenizers_library().Tokenizer):
        # What a pickle holds: the same as the text, which takes a fifth longer.
        return bytes(real.__getstate__())
    return str(real.to_str()).encode("utf-8")


def _state_of(part: Any) -> object:
    """Return a value that differs after a part of a tokenizer was changed."""
    if hasattr(part, "tokenize"):
        return [getattr(part, name, None) for name in OF_MODEL]
    try:
        return part.__getstate__()
    except Exception:  # The state of one written in Python is not known.
        return None


def _real_of(encoding: Any) -> Any:
    """Return what the real tokenizer takes for an encoding."""
    return encoding.real if type(encoding) is FramedEncoding else encoding


def _in_thread(call: Callable[[], Any]) -> Any:
    """Call in a thread, and return what can be awaited."""
    import asyncio

    return asyncio.get_running_loop().run_in_executor(None, call)


def _ensure_memory(padding: dict[str, Any] | None, count: int) -> None:
    """Raise a `MemoryError` if padding of so many real encodings takes more memory than there is.

    Without memory, the real tokenizer aborts the process.
    """
    if padding is None or count == 0:
        return
    multiple = padding["pad_to_multiple_of"] or 1
    length = -(-(padding["length"] or 1) // multiple) * multiple
    needed = length * count * _BYTES_PER_PAD
    if needed < _UNCHECKED_BYTES:
        return
    available = available_memory()
    if needed > (sys.maxsize if available is None else available):
        raise MemoryError(
            f"padding to {length} tokens needs {needed} bytes, and {available} are available"
        )


def accelerate(tokenizer: Any) -> Any:
    """Return an equivalent tokenizer of transformers or tokenizers that uses bpetite's engine.

    A tokenizer of transformers keeps its class and methods. The original object is not changed, so
    that only what is returned is faster: `accelerate(tokenizer)` alone has no effect.

    A tokenizer that cannot be accelerated, such as one that is not BPE, is returned as it is, with
    a warning that says why. What is no tokenizer is a `TypeError`.

    >>> from tokenizers import Tokenizer, models, pre_tokenizers
    >>> alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    >>> real = Tokenizer(models.BPE({character: place for place, character in enumerate(alphabet)}, []))
    >>> real.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    >>> fast = accelerate(real)
    >>> fast is not real  # It is accelerated.
    True
    >>> fast.encode("hi").ids == real.encode("hi").ids
    True
    """
    backend = getattr(tokenizer, "backend_tokenizer", None) or tokenizer
    if type(backend) is HuggingFaceTokenizer:
        return tokenizer
    try:
        fast = HuggingFaceTokenizer(backend)
        if "decode" in getattr(backend, "__dict__", ()):
            vars(fast)["decode"] = backend.decode  # CLIP's class puts its own function there.
        if backend is tokenizer:
            return fast
        return copy.deepcopy(tokenizer, {id(backend): fast, **_flat_copies(tokenizer)})
    except Exception as error:  # That of tokenizers, for a part in Python, has no class of its own.
        if not (hasattr(tokenizer, "encode") and hasattr(tokenizer, "decode")):
            raise
        reason = str(error) or type(error).__name__
        warnings.warn(f"not accelerated: {reason}", stacklevel=2)
        return tokenizer


class _FlatDict(dict[str, Any]):
    """The vocabulary that some tokenizers of transformers keep, which is copied in one step."""

    def __deepcopy__(self, memo: object) -> _FlatDict:
        return _FlatDict(self)


class _FlatList(list[Any]):
    """The merges that some tokenizers of transformers keep, which are copied in one step."""

    def __deepcopy__(self, memo: object) -> _FlatList:
        return _FlatList(self)


def _flat_copies(tokenizer: Any) -> dict[int, Any]:
    """Return copies of what a tokenizer of transformers keeps of its file, by the ids of the objects.

    A deep copy of Qwen's takes 300 ms without them, and 10 with them.
    """
    copies: dict[int, Any] = {}
    vocabulary, merges = (vars(tokenizer).get(name) for name in ("_vocab", "_merges"))
    if type(vocabulary) is dict and _types_in(vocabulary.values()) <= {int}:
        copies[id(vocabulary)] = _FlatDict(vocabulary)
    if type(merges) is list and _types_in(merges) <= {tuple}:
        copies[id(merges)] = _FlatList(merges)
    return copies


def _types_in(values: Iterable[Any]) -> set[type]:
    return set(map(type, values))
