"""A `tokenizers.Tokenizer` in, a faster one with the same interface and our engine out.

It contains the real one. Single texts are encoded by the engine, with templates, truncation and
padding, and ids are decoded by it. For everything else the real one is called: for pairs and words,
and for what transformers does not ask of an encoding itself, such as word ids.
"""

from __future__ import annotations

import copy
import json
import os
import sys
import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from threading import RLock
from typing import Any, Literal, NamedTuple

from bpetite._engine import DecodedChunks, FramedEncoder, FramedEncoding
from bpetite._internal.memory import available_memory
from bpetite._internal.once import once
from bpetite.encoding.encoder import encoder_of
from bpetite.formats import huggingface
from bpetite.formats.huggingface_steps import Outside, steps_of, template_parts
from bpetite.formats.shared.peers import tokenizers_library
from bpetite.formats.shared.printable import printable_or_text
from bpetite.interfaces.call_settings import CallSettings, SettingsOfThreads
from bpetite.interfaces.streams import DecodeStream as DecodeStream

Trim = Literal["no", "yes", "keep first"]

_SWITCHED_OFF = {"", "off", "false", "f", "no", "n", "0"}
"""The values of `TOKENIZERS_PARALLELISM` that mean a single thread."""

_PARTS = {"model", "normalizer", "pre_tokenizer", "post_processor", "decoder"}
"""The parts of a tokenizer: objects that can be changed separately."""

_OF_MODEL = (
    "dropout",
    "unk_token",
    "fuse_unk",
    "byte_fallback",
    "ignore_merges",
    "continuing_subword_prefix",
    "end_of_word_suffix",
)
"""The settings of a model that whoever has it may change."""

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
        library = tokenizers_library()
        if not hasattr(real, "to_str"):
            raise TypeError(
                "a tokenizer of tokenizers, or one of transformers that holds such a tokenizer, can be "
                f"accelerated, not {type(real).__name__}"
            )
        copied = library.Tokenizer.from_str(real.to_str())
        copied.encode_special_tokens = (
            real.encode_special_tokens
        )  # the only setting that no file holds
        self._hold(copied, _ReadModel(copied))

    def _hold(self, real: Any, model: _ReadModel | None) -> HuggingFaceTokenizer:
        self._real = real
        self._model = model
        self._calls = SettingsOfThreads(real)
        self._settings: _Settings | None = None
        self._is_read = False
        self._lock = RLock()
        """Held while settings are read again."""
        self._latest = _Latest(self._calls.last)
        self._remembers_more = False
        self._handed_out: dict[str, object] = {}
        return self

    @classmethod
    def from_str(cls, json: str) -> HuggingFaceTokenizer:
        """Make a tokenizer from the text of a `tokenizer.json`."""
        real = tokenizers_library().Tokenizer.from_str(json)
        return object.__new__(cls)._hold(real, _ReadModel(real))

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
        is_list = isinstance(input, list | tuple)
        if is_list and not is_pretokenized:
            coder = self._coder(settings, add, bare=name == "encode_batch_fast")
            is_parallel = (
                os.environ.get("TOKENIZERS_PARALLELISM", "true").lower() not in _SWITCHED_OFF
            )
            if coder is not None:
                with suppress(
                    TypeError, ValueError
                ):  # Not all are texts, or the real one raises the error.
                    return coder.encode_batch(input, None if is_parallel else 1)
        count = len(input) if is_list else 1
        return self._really(name, settings, count, input, is_pretokenized, add)

    def _really(self, name: str, settings: CallSettings, count: int, *arguments: Any) -> Any:
        """Let the real tokenizer encode a number of texts."""
        _ensure_memory(settings.padding, count)
        with self._calls.applied(settings) as real:
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
        with self._calls.applied(None) as real:
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
        return copy.copy(self._calls.read("truncation"))  # type: ignore[no-any-return]

    @property
    def padding(self) -> dict[str, Any] | None:
        """How encodings are padded."""
        return copy.copy(self._calls.read("padding"))  # type: ignore[no-any-return]

    @property
    def encode_special_tokens(self) -> bool:
        """Whether special tokens in a text are encoded as text."""
        return bool(self._calls.read("encode_special_tokens"))

    @encode_special_tokens.setter
    def encode_special_tokens(self, value: bool) -> None:
        self._set(
            "encode_special_tokens", partial(setattr, self._real, "encode_special_tokens", value)
        )

    def enable_truncation(self, *args: Any, **kwargs: Any) -> None:
        """Truncate texts from now on."""
        self._set("truncation", partial(self._real.enable_truncation, *args, **kwargs))

    def no_truncation(self) -> None:
        """Truncate no texts from now on."""
        self._set("truncation", self._real.no_truncation)

    def enable_padding(self, *args: Any, **kwargs: Any) -> None:
        """Pad encodings from now on."""
        self._set("padding", partial(self._real.enable_padding, *args, **kwargs))

    def no_padding(self) -> None:
        """Pad no encodings from now on."""
        self._set("padding", self._real.no_padding)

    def _set(self, name: str, change: Callable[[], object]) -> None:
        self._calls.change(name, change)
        self._latest = _Latest(self._calls.last)

    def _now(self) -> _Settings | None:
        """Return the settings that calls share; None if only the real tokenizer can follow them."""
        if self._is_read and not self._handed_out:
            return self._settings
        with self._lock:
            for name, before in list(self._handed_out.items()):
                state = _state_of(getattr(self._real, name))
                if state != before:
                    self._handed_out[name] = state
                    self._changed(name)
            if not self._is_read and self._model is not None:
                with suppress(ValueError):  # added tokens that the engine cannot tell apart
                    self._settings = _Settings(self._real, self._model)
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
        settings: _Settings,
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
            self._latest = _Latest(self._calls.last)
        if name in _PARTS - {"post_processor"}:
            self._model = None
            # What is unsupported is refused with a ValueError; the real one does everything then.
            with suppress(Exception):
                self._model = None if self._remembers_more else _ReadModel(self._real)

    def _changing(self, change: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Return a method of the real tokenizer that changes it, after which settings are read again."""

        def changed(*args: Any, **kwargs: Any) -> Any:
            before = self._real.get_added_tokens_decoder() if name in _ADDS else {}
            result = change(*args, **kwargs)
            self._changed(name if name in _ADDS else "model")
            after = self._real.get_added_tokens_decoder() if before else {}
            # A token that is added again with other flags is still searched as before, and still
            # special.
            if any(
                _flags_of(after[token_id]) != _flags_of(old) for token_id, old in before.items()
            ):
                self._model = None
                self._remembers_more = True
            return result

        return changed

    def __getattr__(self, name: str) -> Any:
        """Leave everything else to the real tokenizer."""
        if name.startswith("__") or name == "_real":
            raise AttributeError(name)
        value = getattr(self._real, name)
        if name in _PARTS and value is not None and name not in self._handed_out:
            self._hand_out(name)
        if name in _WRITES:
            return partial(self._really, name, self._calls.current(), 0)
        return self._changing(value, name) if name in _CHANGES else value

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_") or name == "encode_special_tokens":
            object.__setattr__(self, name, value)
            return
        setattr(self._real, name, value)
        self._changed(name)
        if name in _PARTS:
            self._hand_out(name)

    def _hand_out(self, name: str) -> None:
        """From now on, somebody may change a part, so that each call looks at it."""
        self._handed_out[name] = _state_of(getattr(self._real, name))
        self._latest = _Latest(self._calls.last)

    # Copies and pickles are made of the text of a file, as those of the real one.

    def __getstate__(self) -> str:
        return str(self.to_str())

    def __setstate__(self, json: str) -> None:
        self._hold(tokenizers_library().Tokenizer.from_str(json), None)
        self._changed("model")  # What was added may be what only the real one can follow.

    def __repr__(self) -> str:
        return str(self._really("__repr__", self._calls.current(), 0))

    def __str__(self) -> str:
        return str(self._really("__str__", self._calls.current(), 0))


def _state_of(part: Any) -> object:
    """Return a value that differs after a part of a tokenizer was changed."""
    if hasattr(part, "tokenize"):
        return [getattr(part, name, None) for name in _OF_MODEL]
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
        return fast if backend is tokenizer else copy.deepcopy(tokenizer, {id(backend): fast})
    except Exception as error:  # That of tokenizers, for a part in Python, has no class of its own.
        if not (hasattr(tokenizer, "encode") and hasattr(tokenizer, "decode")):
            raise
        reason = str(error) or type(error).__name__
        warnings.warn(f"not accelerated: {reason}", stacklevel=2)
        return tokenizer


# The state of the real tokenizer in, encoding and decoding by the engine out
# --------------------------------


class _ReadModel:
    """A vocabulary without added tokens, ready to encode; few settings affect it."""

    def __init__(self, real: Any) -> None:
        """Read the model of a tokenizer; an unsupported one is refused with the reason."""
        document = json.loads(real.to_str())
        # Added tokens are looked for before the model comes in: one that stands in merges is theirs
        # there.
        model = document["model"]
        tokens = document["added_tokens"]
        added = {token["content"] for token in tokens}.intersection(model.get("vocab", ()))
        of_merges = added & _texts_of_merges(model.get("merges", ())) if added else added
        document["added_tokens"] = [token for token in tokens if token["content"] not in of_merges]
        vocabulary = huggingface.parse_document(document).vocabulary
        self.vocabulary = vocabulary
        cutters = _steps(real.pre_tokenizer, "pretokenizers")
        spells_bytes = any(step.get("type") == "ByteLevel" for step in cutters)
        self.encoder = encoder_of(vocabulary)
        self.unplaced = vocabulary.unknown and vocabulary.unknown[0]
        """The id of unknown bytes: only the real tokenizer knows where it says that such tokens stand."""
        self.is_of_pieces = not spells_bytes and bool(
            real.model.byte_fallback or vocabulary.provisional
        )
        decoders = [step.get("type") for step in _steps(real.decoder, "decoders")]
        self.decodes = decoders == ["ByteLevel"] and not self.is_of_pieces


def _texts_of_merges(merges: Iterable[Any]) -> set[str]:
    """Return the parts of merges and what they make."""
    texts: set[str] = set()
    for merge in merges:
        parts = merge.split(" ") if isinstance(merge, str) else merge
        texts.update(parts)
        texts.add("".join(parts))
    return texts


class _Settings:
    """The settings of a tokenizer for encoding and decoding."""

    def __init__(self, real: Any, model: _ReadModel) -> None:
        self._real = real
        self._model = model
        self._added: dict[int, Any] = real.get_added_tokens_decoder()
        flags = {token_id: _flags_of(token) for token_id, token in self._added.items()}
        listed = [
            (token.content, token_id, flags[token_id]) for token_id, token in self._added.items()
        ]
        self._encoder = model.encoder.with_added_tokens(listed)
        # Decoding that leaves out special tokens recognises them by their normalized text.
        special = {token.content for token in self._added.values() if token.special}
        self._skipped = {
            token_id for token_id in self._added if real.id_to_token(token_id) in special
        }
        # None if only the real tokenizer encodes.
        self._template = _Template.of(real.post_processor)
        searched_later = [{*names} for names in flags.values() if "normalized" in names]
        strips = any(names - {"normalized", "special"} for names in searched_later)
        is_trimmed = self._template is not None and self._template.trim != "no"
        if model.is_of_pieces and (strips or is_trimmed):
            self._template = None
        in_model = any(map(real.model.token_to_id, special))
        self._reads_special = not (in_model and model.vocabulary.whole_pretoken_first)
        """Whether the engine also encodes where special tokens are read as text."""
        self._respelled = {
            token_id
            for token_id, token in self._added.items()
            if _is_respelled(token, real.normalizer)
        }
        self._text_of: Callable[[int], str] = real.id_to_token
        self.coders: dict[tuple[bool, bool, Hashable], FramedEncoder] = {}

    def coder(
        self, adds_special: bool, bare: bool, call: CallSettings, make: Callable[[str, int], Any]
    ) -> FramedEncoder | None:
        """Return what encodes texts; if it is `bare`, tokens have no places.

        None if only the real one can. `make` makes the real encoding of a text that is padded to a
        length.
        """
        template = self._template
        truncation, padding, reads_special = call
        if template is None or (reads_special and not self._reads_special):
            return None
        if template.trim == "keep first" and truncation is not None:
            return None
        before = template.before if adds_special else ()
        after = template.after if adds_special else ()
        cut = filled = None
        if truncation is not None:
            room = truncation["max_length"] - len(before) - len(after)
            stride = truncation["stride"]
            if room < 0 or truncation["strategy"] == "only_second" or stride >= max(room, 1):
                return None  # The real tokenizer refuses longer texts.
            cut = (room, stride, truncation["direction"] == "left")
        if padding is not None:
            pad = (padding["pad_id"], padding["pad_type_id"], padding["pad_token"])
            is_left = padding["direction"] == "left"
            filled = (pad, is_left, padding["length"], padding["pad_to_multiple_of"])
        frame = {
            "special": "text" if reads_special else "parse",
            "trim": None if bare else template.trim,
            "before": before,
            "after": after,
            "type_id": template.type_id,
            "is_apart": template.is_apart,
            "truncation": cut,
            "padding": filled,
            "refused": self._model.unplaced,
        }
        return FramedEncoder(self._encoder, frame, make, self._spell)

    def _spell(self, ids: list[int]) -> list[str] | None:
        """Return how the tokens of a text are spelled; None if only the real encoding knows."""
        if not self._respelled.isdisjoint(ids):
            return None
        return list(map(self._text_of, ids))

    def decode(self, ids: Sequence[int], skip_special_tokens: bool) -> str:
        """Decode ids; what only the real tokenizer can is a `ValueError`, a `KeyError` or a `TypeError`."""
        is_ours = self._model.decodes and isinstance(ids, list)
        if not is_ours or not self._spelled_otherwise.isdisjoint(ids):
            raise ValueError("the real tokenizer decodes")
        if skip_special_tokens and not self._skipped.isdisjoint(ids):
            ids = [token_id for token_id in ids if token_id not in self._skipped]
        return self._encoder.decode(ids, "replace")

    def chunks(self, prompt: list[int], skip_special_tokens: bool) -> DecodedChunks | None:
        """Return what decodes ids behind a prompt as they arrive; None if only the real tokenizer can."""
        try:
            is_incomplete = self.decode(prompt, skip_special_tokens).endswith("\ufffd")
            # With a character that the prompt begins, the real stream returns the whole prompt.
            if is_incomplete or self._spelled_otherwise:
                return None
        except (KeyError, TypeError, ValueError):
            return None
        skipped = self._skipped if skip_special_tokens else set()
        return self._encoder.decoded_chunks(prompt, skipped)

    @once
    def _spelled_otherwise(self) -> set[int]:
        """The tokens that the real tokenizer decodes to something else than the engine."""
        ids = set(self._model.vocabulary.provisional)
        for token_id in self._added:
            decoded = printable_or_text(self._real.id_to_token(token_id))
            if decoded == self._encoder.token_bytes(token_id):
                ids.discard(token_id)
            else:
                ids.add(token_id)
        return ids


class _Template(NamedTuple):
    """What a post-processor puts around a single text."""

    before: Sequence[Outside] = ()
    after: Sequence[Outside] = ()
    type_id: int = 0
    trim: Trim = "no"
    """Whether offsets exclude the white space of tokens, or all of it except a first space."""
    is_apart: bool = True
    """Whether the tokens of the text are distinguished from all others."""

    @classmethod
    def of(cls, post_processor: Any) -> _Template | None:
        """Read a post-processor; None if only the real one can apply it."""
        steps = _steps(post_processor, "processors")
        trimming = [step for step in steps if step.get("trim_offsets")]
        if len(trimming) > 1 or {step["type"] for step in steps[:-1]} - {"ByteLevel"}:
            return None
        if not steps:
            return cls(is_apart=post_processor is not None)
        parts: list[Any] = list(template_parts(steps[-1]))
        texts = [place for place, part in enumerate(parts) if isinstance(part, int)]
        if len(texts) != 1:
            return None
        [place] = texts
        trim: Trim = "no"
        for step in trimming:
            trim = "keep first" if step["add_prefix_space"] else "yes"
        return cls(parts[:place], parts[place + 1 :], parts[place], trim)


def _steps(part: Any, key: str) -> list[dict[str, Any]]:
    state = None if part is None else json.loads(part.__getstate__())
    return steps_of(state, key)


def _is_respelled(token: Any, normalizer: Any) -> bool:
    """Return whether an added token is spelled as it stands in a text, which may differ from its name."""
    if token.lstrip or token.rstrip:
        return True
    return (
        token.normalized
        and normalizer is not None
        and normalizer.normalize_str(token.content) != token.content
    )


def _flags_of(token: Any) -> list[str]:
    """Return the flags of an added token."""
    names = ("lstrip", "normalized", "rstrip", "single_word", "special")
    return [name for name in names if getattr(token, name)]
