"""The state of a `tokenizers.Tokenizer` in, encoding and decoding by our engine out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from threading import Lock
from typing import Any, Literal

from bpetite._engine import FramedEncoder
from bpetite._internal.types import Special
from bpetite.encoding.encoder import encoder_of
from bpetite.formats import huggingface
from bpetite.formats.huggingface_steps import steps_of
from bpetite.formats.shared.peers import tokenizers_library
from bpetite.formats.shared.printable import printable_or_text
from bpetite.vocabulary import Vocabulary

Trim = Literal["no", "yes", "keep first"]

Options = dict[str, Any] | None
"""Truncation or padding, as tokenizers tells it."""

Outside = tuple[int, int]
"""A token that is not of a text: its id and its type."""


class ReadModel:
    """A vocabulary without added tokens, ready to encode; few settings affect it."""

    def __init__(self, vocabulary: Vocabulary, real: Any) -> None:
        self.vocabulary = vocabulary
        cutters = _steps(real.pre_tokenizer, "pretokenizers")
        spells_bytes = any(step.get("type") == "ByteLevel" for step in cutters)
        self.encoder = encoder_of(vocabulary)
        self.unplaced = vocabulary.unknown and vocabulary.unknown[0]
        """The id of unknown bytes: only the real tokenizer knows where it says that such tokens stand."""
        self.is_of_pieces = not spells_bytes and bool(real.model.byte_fallback or vocabulary.provisional)
        decoders = [step.get("type") for step in _steps(real.decoder, "decoders")]
        self.decodes = decoders == ["ByteLevel"] and not self.is_of_pieces

    @classmethod
    def of(cls, real: Any) -> ReadModel:
        """Read the model of a tokenizer; an unsupported one is refused with the reason."""
        document = json.loads(real.to_str())
        # Added tokens are looked for before the model comes in: one that stands in merges is theirs there.
        model, tokens = document["model"], document["added_tokens"]
        added = {token["content"] for token in tokens}.intersection(model.get("vocab", ()))
        merges = [merge.split(" ") if isinstance(merge, str) else merge for merge in model.get("merges", ())]
        merged = {*chain.from_iterable(merges), *map("".join, merges)} if added else set()
        document["added_tokens"] = [token for token in tokens if token["content"] not in added & merged]
        return cls(huggingface.parse_document(document).vocabulary, real)


class Settings:
    """The settings of a tokenizer for encoding and decoding."""

    def __init__(self, real: Any, model: ReadModel) -> None:
        self._real, self._model = real, model
        added = real.get_added_tokens_decoder()
        self._added = {token_id: token.content for token_id, token in added.items()}
        self._special: Special = "text" if real.encode_special_tokens else "parse"
        flags = {token_id: flags_of(token) for token_id, token in added.items()}
        listed = [(text, token_id, flags[token_id]) for token_id, text in self._added.items()]
        self._encoder = model.encoder.with_added_tokens(listed)
        # Decoding that leaves out special tokens recognises them by their normalized text.
        special = {token.content for token in added.values() if token.special}
        self._skipped = {token_id for token_id in added if real.id_to_token(token_id) in special}
        # None if only the real tokenizer encodes.
        self._template = Template.of(real.post_processor)
        strips = any(
            "normalized" in names and {*names} - {"normalized", "special"} for names in flags.values()
        )
        is_trimmed = self._template is not None and self._template.trim != "no"
        in_model = real.encode_special_tokens and any(map(real.model.token_to_id, special))
        is_unknown = model.is_of_pieces and (strips or is_trimmed)
        if is_unknown or (in_model and model.vocabulary.whole_pretoken_first):
            self._template = None
        self.coders: dict[tuple[bool, bool], FramedEncoder] = {}
        self._copy: Any = None
        self._lock = Lock()

    @contextmanager
    def with_lengths(self, truncation: Options, padding: Options) -> Iterator[Any]:
        """Lend a copy of the real tokenizer that truncates and pads so, to one thread at a time."""
        with self._lock:
            if self._copy is None:
                self._copy = tokenizers_library().Tokenizer.from_str(self._real.to_str())
                self._copy.encode_special_tokens = self._special == "text"
            self._copy.enable_truncation(**truncation) if truncation else self._copy.no_truncation()
            self._copy.enable_padding(**padding) if padding else self._copy.no_padding()
            yield self._copy

    def coder(
        self,
        adds_special: bool,
        bare: bool,
        truncation: Options,
        padding: Options,
        make: Callable[[str, int], Any],
    ) -> FramedEncoder:
        """Return what encodes texts; if it is `bare`, tokens have no places.

        That only the real one can is a `ValueError`. `make` makes the real encoding of a text that is padded
        to a length.
        """
        template = self._template
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
        return FramedEncoder(
            self._encoder,
            self._special,
            None if bare else template.trim,
            before,
            after,
            template.type_id,
            cut,
            filled,
            self._model.unplaced,
            make,
        )

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


@dataclass(frozen=True)
class Template:
    """What a post-processor puts around a single text."""

    before: Sequence[Outside] = ()
    after: Sequence[Outside] = ()
    type_id: int = 0
    trim: Trim = "no"
    """Whether offsets exclude the white space of tokens, or all of it except a first space."""

    @classmethod
    def of(cls, post_processor: Any) -> Template | None:
        """Read a post-processor; None if only the real one can apply it."""
        steps = _steps(post_processor, "processors")
        trimming = [step for step in steps if step.get("trim_offsets")]
        if len(trimming) > 1 or {step["type"] for step in steps[:-1]} - {"ByteLevel"}:
            return None
        parts: list[Any] = _parts(steps[-1]) if steps else [0]
        own = [place for place, part in enumerate(parts) if isinstance(part, int)]
        if len(own) != 1:
            return None
        before, after = parts[: own[0]], parts[own[0] + 1 :]
        trim: Trim = "no" if not trimming else "keep first" if trimming[0]["add_prefix_space"] else "yes"
        return cls(before, after, parts[own[0]], trim)


def _parts(step: dict[str, Any]) -> list[Any]:
    """Return the tokens that a step puts around a text, and instead of the text the type that it gets."""
    if step["type"] == "ByteLevel":
        return [0]
    if step["type"] in ("BertProcessing", "RobertaProcessing"):
        return [(step["cls"][1], 0), 0, (step["sep"][1], 0)]
    parts: list[Any] = []
    for part in step["single"] if step["type"] == "TemplateProcessing" else ():
        if "Sequence" in part:
            parts += [part["Sequence"]["type_id"]] if part["Sequence"]["id"] == "A" else [0, 0]
        else:
            token = part["SpecialToken"]
            parts += [(token_id, token["type_id"]) for token_id in step["special_tokens"][token["id"]]["ids"]]
    return parts


def _steps(part: Any, key: str) -> list[dict[str, Any]]:
    return steps_of(json.loads(part.__getstate__()) if part is not None else None, key)


def flags_of(token: Any) -> list[str]:
    """Return the flags of an added token."""
    names = ("lstrip", "normalized", "rstrip", "single_word", "special")
    return [name for name in names if getattr(token, name)]
