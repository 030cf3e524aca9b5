"""A `tokenizers.Tokenizer` in, a faster one with the same interface and our engine out.

It contains the real one, which keeps all settings. Single texts are encoded by the engine, with templates,
truncation and padding, and ids are decoded by it. For everything else the real one is called: for pairs and
words, and for what an encoding is asked beside ids, types, masks and offsets.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import cached_property, partial
from itertools import chain
from threading import Lock
from typing import Any, Literal, NamedTuple

from bpetite._engine import FramedEncoder, FramedEncoding
from bpetite._internal.types import Special
from bpetite.encoding.encoder import encoder_of
from bpetite.formats import huggingface
from bpetite.formats.huggingface_steps import Outside, steps_of, template_parts
from bpetite.formats.shared.peers import tokenizers_library
from bpetite.formats.shared.printable import printable_or_text

Trim = Literal["no", "yes", "keep first"]

Lengths = tuple[dict[str, Any] | None, dict[str, Any] | None]
"""Truncation and padding, as tokenizers tells them."""

_SWITCHED_OFF = {"", "off", "false", "f", "no", "n", "0"}
"""The values of `TOKENIZERS_PARALLELISM` that mean a single thread."""

_PARTS = {"model", "normalizer", "pre_tokenizer", "post_processor", "decoder"}
"""The parts of a tokenizer: objects that can be changed separately."""

_OF_MODEL = (
    *("dropout", "unk_token", "fuse_unk", "byte_fallback", "ignore_merges"),
    *("continuing_subword_prefix", "end_of_word_suffix"),
)
"""The settings of a model that whoever has it may change."""

_LENGTHS = {"enable_truncation", "no_truncation", "enable_padding", "no_padding"}
_ADDS = {"add_tokens", "add_special_tokens"}
_CHANGES = {*_LENGTHS, *_ADDS, "train", "train_from_iterator"}


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
        copied = library.Tokenizer.from_str(real.to_str())
        copied.encode_special_tokens = real.encode_special_tokens  # the only setting that no file holds
        self._hold(copied, _ReadModel(copied))

    def _hold(self, real: Any, model: _ReadModel | None) -> HuggingFaceTokenizer:
        self._real = real
        self._model = model
        self._settings: _Settings | None = None
        self._coders: list[FramedEncoder | None] = [None, None]
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

    # Encoding ----------------------------------------------------------------------------------------

    def encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Any:
        """Encode a text, or a pair of texts."""
        if pair is None and not is_pretokenized:
            try:
                # One attribute: each is looked up slowly, as this class has a `__getattr__`.
                coder = self._coders[1 if add_special_tokens else 0] or self._coder(add_special_tokens)
                return coder.encode(sequence)
            except (TypeError, ValueError):
                pass  # The real one can, or raises the error.
        return self._real.encode(sequence, pair, is_pretokenized, add_special_tokens)

    def encode_batch(self, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True) -> Any:
        """Encode texts, or pairs of them."""
        return self._encode_several("encode_batch", input, is_pretokenized, add_special_tokens)

    def encode_batch_fast(
        self, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Any:
        """Encode texts, or pairs of them, without the places of tokens."""
        return self._encode_several("encode_batch_fast", input, is_pretokenized, add_special_tokens)

    def _encode_several(self, name: str, input: Any, is_pretokenized: bool, add: bool) -> Any:
        if not is_pretokenized and isinstance(input, list | tuple):
            is_parallel = os.environ.get("TOKENIZERS_PARALLELISM", "true").lower() not in _SWITCHED_OFF
            try:
                coder = self._coder(add, bare=name == "encode_batch_fast")
                return coder.encode_batch(input, None if is_parallel else 1)
            except (TypeError, ValueError):
                pass  # Not all are texts, or the real one raises the error.
        return getattr(self._real, name)(input, is_pretokenized, add)

    def post_process(self, encoding: Any, pair: Any = None, add_special_tokens: bool = True) -> Any:
        """Truncate, add special tokens and pad, as encoding does."""
        real = (one.real if type(one) is FramedEncoding else one for one in (encoding, pair))
        return self._real.post_process(*real, add_special_tokens)

    # Decoding ----------------------------------------------------------------------------------------

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Decode ids."""
        try:
            return self._now().decode(ids, skip_special_tokens)
        except (KeyError, TypeError, ValueError):
            return str(self._real.decode(ids, skip_special_tokens))

    def decode_batch(self, sequences: Iterable[Sequence[int]], skip_special_tokens: bool = True) -> list[str]:
        """Decode several rows of ids."""
        return [self.decode(ids, skip_special_tokens) for ids in sequences]

    # Settings ----------------------------------------------------------------------------------------

    def _now(self) -> _Settings:
        """Return the current settings; that only the real tokenizer can follow them is a `ValueError`."""
        for name, before in list(self._handed_out.items()):
            if (state := _state_of(getattr(self._real, name))) != before:
                self._handed_out[name] = state
                self._changed(name)
        if self._settings is None:
            if self._model is None:
                raise ValueError("the real tokenizer does everything")
            self._settings = _Settings(self._real, self._model)
        return self._settings

    def _coder(self, add_special_tokens: bool, bare: bool = False) -> FramedEncoder:
        """Return what encodes texts; if only the real tokenizer can, it is a `ValueError`."""
        settings, kind = self._now(), (bool(add_special_tokens), bare)
        coder = settings.coders.get(kind)
        if coder is None:
            lengths = self._real.truncation, self._real.padding
            make = partial(self._real_encoding, settings, lengths, *kind)
            coder = settings.coders[kind] = settings.coder(*kind, lengths, make)
        if not self._handed_out and not bare:  # otherwise a part may be changed until the next call
            self._coders[1 if add_special_tokens else 0] = coder
        return coder

    def _real_encoding(
        self, settings: _Settings, lengths: Lengths, adds: bool, bare: bool, text: str, length: int
    ) -> Any:
        """Return the real encoding of a text, with the settings with which the engine encoded it."""
        with suppress(ValueError):
            self._now()
        if settings is not self._settings:
            raise RuntimeError(
                "the tokenizer was changed after this text was encoded: ask for more than ids, types, masks "
                "and offsets before"
            )
        is_as_before = lengths == (self._real.truncation, self._real.padding)
        with nullcontext(self._real) if is_as_before else settings.with_lengths(lengths) as real:
            if bare:
                encoding = real.encode_batch_fast([text], add_special_tokens=adds)[0]
            else:
                encoding = real.encode(text, add_special_tokens=adds)
        if padding := lengths[1]:
            names = ("direction", "pad_id", "pad_type_id", "pad_token")
            encoding.pad(length, **{name: padding[name] for name in names})
        return encoding

    def _changed(self, name: str) -> None:
        """Read again what depends on a part or setting: all but the post-processor is read with the model."""
        self._settings, self._coders = None, [None, None]
        if name in _PARTS - {"post_processor"}:
            self._model = None
            # What is unsupported is refused with a ValueError; the real one does everything then.
            with suppress(Exception):
                self._model = None if self._remembers_more else _ReadModel(self._real)

    def _changing(self, change: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Return a method of the real tokenizer that changes it, after which settings are read again."""

        def changed(*args: Any, **kwargs: Any) -> Any:
            if name in _LENGTHS:
                result = change(*args, **kwargs)
                self._coders = [None, None]
                if self._settings is not None:
                    self._settings.coders.clear()
                return result
            before = self._real.get_added_tokens_decoder() if name in _ADDS else {}
            result = change(*args, **kwargs)
            self._changed(name if name in _ADDS else "model")
            after = self._real.get_added_tokens_decoder() if before else {}
            # A token that is added again with other flags is still searched as before, and still special.
            if any(_flags_of(after[token_id]) != _flags_of(old) for token_id, old in before.items()):
                self._model, self._remembers_more = None, True
            return result

        return changed

    def __getattr__(self, name: str) -> Any:
        """Leave everything else to the real tokenizer."""
        if name.startswith("__") or name == "_real":
            raise AttributeError(name)
        found = getattr(self._real, name)
        if name in _PARTS and found is not None and name not in self._handed_out:
            self._hand_out(name)
        return self._changing(found, name) if name in _CHANGES else found

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
            return
        setattr(self._real, name, value)
        self._changed(name)
        if name in _PARTS:
            self._hand_out(name)

    def _hand_out(self, name: str) -> None:
        """From now on, somebody may change a part, so that each call looks at it."""
        self._handed_out[name] = _state_of(getattr(self._real, name))
        self._coders = [None, None]

    # Copies and pickles are made of the text of a file, as those of the real one.

    def __getstate__(self) -> str:
        return str(self._real.to_str())

    def __setstate__(self, json: str) -> None:
        self._hold(tokenizers_library().Tokenizer.from_str(json), None)
        self._changed("model")  # What was added may be what only the real one can follow.

    def __repr__(self) -> str:
        return repr(self._real)

    def __str__(self) -> str:
        return str(self._real)


def _state_of(part: Any) -> object:
    """Return a value that differs after a part of a tokenizer was changed."""
    if hasattr(part, "tokenize"):
        return [getattr(part, name, None) for name in _OF_MODEL]
    try:
        return part.__getstate__()
    except Exception:  # The state of one written in Python is not known.
        return None


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
    backend = getattr(tokenizer, "backend_tokenizer", None) or tokenizer
    if type(backend) is HuggingFaceTokenizer:
        return tokenizer
    fast = HuggingFaceTokenizer(backend)
    return fast if backend is tokenizer else copy.deepcopy(tokenizer, {id(backend): fast})


# The state of the real tokenizer in, encoding and decoding by the engine out --------------------------------


class _ReadModel:
    """A vocabulary without added tokens, ready to encode; few settings affect it."""

    def __init__(self, real: Any) -> None:
        """Read the model of a tokenizer; an unsupported one is refused with the reason."""
        document = json.loads(real.to_str())
        # Added tokens are looked for before the model comes in: one that stands in merges is theirs there.
        model, tokens = document["model"], document["added_tokens"]
        added = {token["content"] for token in tokens}.intersection(model.get("vocab", ()))
        merges = [merge.split(" ") if isinstance(merge, str) else merge for merge in model.get("merges", ())]
        merged = {*chain.from_iterable(merges), *map("".join, merges)} if added else set()
        document["added_tokens"] = [token for token in tokens if token["content"] not in added & merged]
        self.vocabulary = vocabulary = huggingface.parse_document(document).vocabulary
        cutters = _steps(real.pre_tokenizer, "pretokenizers")
        spells_bytes = any(step.get("type") == "ByteLevel" for step in cutters)
        self.encoder = encoder_of(vocabulary)
        self.unplaced = vocabulary.unknown and vocabulary.unknown[0]
        """The id of unknown bytes: only the real tokenizer knows where it says that such tokens stand."""
        self.is_of_pieces = not spells_bytes and bool(real.model.byte_fallback or vocabulary.provisional)
        decoders = [step.get("type") for step in _steps(real.decoder, "decoders")]
        self.decodes = decoders == ["ByteLevel"] and not self.is_of_pieces


class _Settings:
    """The settings of a tokenizer for encoding and decoding."""

    def __init__(self, real: Any, model: _ReadModel) -> None:
        self._real, self._model = real, model
        self._added: dict[int, Any] = real.get_added_tokens_decoder()
        self._special: Special = "text" if real.encode_special_tokens else "parse"
        listed = [(token.content, token_id, _flags_of(token)) for token_id, token in self._added.items()]
        self._encoder = model.encoder.with_added_tokens(listed)
        # Decoding that leaves out special tokens recognises them by their normalized text.
        special = {token.content for token in self._added.values() if token.special}
        self._skipped = {token_id for token_id in self._added if real.id_to_token(token_id) in special}
        # None if only the real tokenizer encodes.
        self._template = _Template.of(real.post_processor)
        searched_later = [{*names} for _, _, names in listed if "normalized" in names]
        strips = any(names - {"normalized", "special"} for names in searched_later)
        is_trimmed = self._template is not None and self._template.trim != "no"
        in_model = real.encode_special_tokens and any(map(real.model.token_to_id, special))
        is_unknown = model.is_of_pieces and (strips or is_trimmed)
        if is_unknown or (in_model and model.vocabulary.whole_pretoken_first):
            self._template = None
        self.coders: dict[tuple[bool, bool], FramedEncoder] = {}
        self._copy: Any = None
        self._lock = Lock()

    @contextmanager
    def with_lengths(self, lengths: Lengths) -> Iterator[Any]:
        """Lend a copy of the real tokenizer that truncates and pads so, to one thread at a time."""
        truncation, padding = lengths
        with self._lock:
            if self._copy is None:
                self._copy = tokenizers_library().Tokenizer.from_str(self._real.to_str())
                self._copy.encode_special_tokens = self._special == "text"
            self._copy.enable_truncation(**truncation) if truncation else self._copy.no_truncation()
            self._copy.enable_padding(**padding) if padding else self._copy.no_padding()
            yield self._copy

    def coder(
        self, adds_special: bool, bare: bool, lengths: Lengths, make: Callable[[str, int], Any]
    ) -> FramedEncoder:
        """Return what encodes texts; if it is `bare`, tokens have no places.

        That only the real one can is a `ValueError`. `make` makes the real encoding of a text that is padded
        to a length.
        """
        template, (truncation, padding) = self._template, lengths
        if template is None or (template.trim == "keep first" and truncation is not None):
            raise ValueError("the real tokenizer encodes")
        before, after = (template.before, template.after) if adds_special else ((), ())
        cut = filled = None
        if truncation is not None:
            room = truncation["max_length"] - len(before) - len(after)
            if room < 0 or truncation["strategy"] == "only_second" or truncation["stride"] >= max(room, 1):
                raise ValueError("the real tokenizer refuses longer texts")
            cut = room, truncation["direction"] == "left"
        if padding is not None:
            pad = padding["pad_id"], padding["pad_type_id"]
            filled = (pad, padding["direction"] == "left", padding["length"], padding["pad_to_multiple_of"])
        how = {"special": self._special, "trim": None if bare else template.trim}
        around = {"before": before, "after": after, "type_id": template.type_id}
        rest = {"truncation": cut, "padding": filled, "refused": self._model.unplaced}
        return FramedEncoder(self._encoder, {**how, **around, **rest}, make)

    def decode(self, ids: Sequence[int], skip_special_tokens: bool) -> str:
        """Decode ids; what only the real tokenizer can is a `ValueError`, a `KeyError` or a `TypeError`."""
        is_ours = self._model.decodes and isinstance(ids, list)
        if not is_ours or not self._spelled_otherwise.isdisjoint(ids):
            raise ValueError("the real tokenizer decodes")
        if skip_special_tokens and not self._skipped.isdisjoint(ids):
            ids = [token_id for token_id in ids if token_id not in self._skipped]
        return self._encoder.decode(ids, "replace")

    @cached_property
    def _spelled_otherwise(self) -> set[int]:
        """The tokens that the real tokenizer decodes to something else than the engine."""
        decoded = {token_id: printable_or_text(self._real.id_to_token(token_id)) for token_id in self._added}
        spelled = self._encoder.token_bytes
        others = {token_id for token_id, shown in decoded.items() if shown != spelled(token_id)}
        return others | (self._model.vocabulary.provisional - self._added.keys())


class _Template(NamedTuple):
    """What a post-processor puts around a single text."""

    before: Sequence[Outside] = ()
    after: Sequence[Outside] = ()
    type_id: int = 0
    trim: Trim = "no"
    """Whether offsets exclude the white space of tokens, or all of it except a first space."""

    @classmethod
    def of(cls, post_processor: Any) -> _Template | None:
        """Read a post-processor; None if only the real one can apply it."""
        steps = _steps(post_processor, "processors")
        trimming = [step for step in steps if step.get("trim_offsets")]
        if len(trimming) > 1 or {step["type"] for step in steps[:-1]} - {"ByteLevel"}:
            return None
        parts: list[Any] = template_parts(steps[-1]) if steps else [0]
        own = [place for place, part in enumerate(parts) if isinstance(part, int)]
        if len(own) != 1:
            return None
        before, after = parts[: own[0]], parts[own[0] + 1 :]
        trim: Trim = "no" if not trimming else "keep first" if trimming[0]["add_prefix_space"] else "yes"
        return cls(before, after, parts[own[0]], trim)


def _steps(part: Any, key: str) -> list[dict[str, Any]]:
    return steps_of(json.loads(part.__getstate__()) if part is not None else None, key)


def _flags_of(token: Any) -> list[str]:
    """Return the flags of an added token."""
    names = ("lstrip", "normalized", "rstrip", "single_word", "special")
    return [name for name in names if getattr(token, name)]
