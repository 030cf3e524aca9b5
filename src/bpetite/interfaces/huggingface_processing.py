"""Tokens of one text or two in, an encoding out: truncated, with special tokens, padded.

A post-processor becomes two templates: the tokens around one text, and around a pair.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bpetite.interfaces.huggingface_encoding import (
    Encoding,
    Span,
    Stretch,
    Surrounding,
    TextTokens,
    spans,
)

Trim = Literal["no", "yes", "keep first"]


@dataclass(frozen=True)
class Own:
    """The place of a text's own tokens in a template, and the type that they get there."""

    sequence: int
    type_id: int


Template = tuple[Own | Surrounding, ...]

Frame = tuple[list[tuple[int, int]], list[tuple[int, int]], int]
"""The ids and types of the tokens before and after a text, and the type of its own."""


@dataclass(frozen=True)
class Truncation:
    """The maximum length of an encoding, and how a longer one is truncated."""

    max_length: int
    stride: int
    strategy: str
    direction: str

    @classmethod
    def of(cls, real: Any) -> Truncation | None:
        """Return the truncation of a tokenizer, if it has one."""
        given = real.truncation
        return None if given is None else cls(**{name: given[name] for name in cls.__dataclass_fields__})

    def lengths(self, counts: Sequence[int], added: int) -> list[int]:
        """Return the number of tokens that remain of each text; an impossible one is a `ValueError`."""
        room = self.max_length - added
        total = sum(counts)
        if room < 0:
            raise ValueError("there is no room for special tokens")
        if room == 0:
            return [0] * len(counts)
        if total <= room:
            return list(counts)
        if self.strategy != "longest_first":
            place = 0 if self.strategy == "only_first" else 1
            left = counts[place] - (total - room) if place < len(counts) else 0
            if left <= 0:
                raise ValueError("the text that should be truncated is too short")
            return [left if number == place else count for number, count in enumerate(counts)]
        if len(counts) == 1:
            return [room]
        shorter = min(counts)
        longer = max(shorter, room - shorter) if shorter <= room else shorter
        if shorter + longer > room:
            shorter = room // 2
            longer = room - shorter
        return [shorter, longer] if counts[0] <= counts[1] else [longer, shorter]

    def ranges(self, count: int, length: int) -> list[Span]:
        """Return the range that remains of `count` tokens, and then the ranges of the overflow."""
        if count <= length:
            return [(0, count)]
        if length == 0:
            return [(0, 0), (0, count)]
        if self.stride >= length:
            raise ValueError("the stride must be smaller than the number of tokens that are kept")
        return spans(count, length, self.stride, self.direction)


@dataclass(frozen=True)
class Padding:
    """The length to which encodings are padded, and the padding."""

    length: int | None
    pad_to_multiple_of: int | None
    direction: str
    pad_id: int
    pad_type_id: int
    pad_token: str

    @classmethod
    def of(cls, real: Any) -> Padding | None:
        """Return the padding of a tokenizer, if it has one."""
        given = real.padding
        return None if given is None else cls(**{name: given[name] for name in cls.__dataclass_fields__})

    def fill_up(self, encodings: Sequence[Encoding]) -> None:
        """Pad encodings, to the longest of them if no length is given."""
        length = self.length
        if length is None:
            length = max(map(len, encodings), default=0)
        if (multiple := self.pad_to_multiple_of) and length % multiple:
            length += multiple - length % multiple
        for encoding in encodings:
            encoding.pad(length, self.direction, self.pad_id, self.pad_type_id, self.pad_token)


@dataclass(frozen=True)
class Processing:
    """The templates of a post-processor."""

    single: Template
    pair: Template
    trim: Trim = "no"
    """Whether offsets exclude the white space of tokens, or all of it except a first space."""
    tells_sequences: bool = True
    """Whether a single text is distinguished from the tokens around it."""
    overflow_type: int | None = None
    """The type of tokens in overflow with special tokens."""
    added: tuple[int, int] = (0, 0)
    """The number of special tokens for one text, and for a pair."""

    @classmethod
    def of(cls, real: Any) -> Processing | None:
        """Read the post-processor of a tokenizer; None if only the real one can apply it."""
        steps = _steps(real.post_processor)
        if steps is None:
            return cls((Own(0, 0),), (Own(0, 0), Own(1, 1)), tells_sequences=False)
        if not steps:
            return None
        trims = [
            "keep first" if step["add_prefix_space"] else "yes" for step in steps if step.get("trim_offsets")
        ]
        last = steps[-1]
        kinds = [step["type"] for step in steps]
        if len(trims) > 1 or set(kinds[:-1]) - {"ByteLevel"} or last["type"] not in _TEMPLATES:
            return None
        single, pair = _TEMPLATES[last["type"]](last)
        if any(isinstance(part, Own) and part.sequence for part in single):
            return None
        return cls(
            single,
            pair,
            trims[0] if trims else "no",  # type: ignore[arg-type]  # one of these three
            overflow_type=0 if last["type"] == "RobertaProcessing" else None,
            added=(real.num_special_tokens_to_add(False), real.num_special_tokens_to_add(True)),
        )

    def frame(self, add_special_tokens: bool) -> Frame | None:
        """Return what stands around a single text, and the type of its own tokens.

        None if it is not simply put around the text.
        """
        parts = [part for part in self.single if add_special_tokens or isinstance(part, Own)]
        own = [place for place, part in enumerate(parts) if isinstance(part, Own)]
        if len(own) != 1:
            return None
        before, after = (
            [entry[:2] for part in side if isinstance(part, Surrounding) for entry in part.entries]
            for side in (parts[: own[0]], parts[own[0] :])
        )
        return before, after, next(part.type_id for part in parts if isinstance(part, Own))

    def encoding_of(
        self,
        sequences: Sequence[TextTokens],
        truncation: Truncation | None,
        add_special_tokens: bool,
        bare: bool = False,
    ) -> Encoding:
        """Truncate, and add special tokens."""
        template = self.pair if len(sequences) > 1 else self.single
        if truncation is not None:
            counts = [len(tokens.ids) for tokens in sequences]
            added = self.added[len(sequences) - 1] if add_special_tokens else 0
            lengths = truncation.lengths(counts, added)
            if lengths != counts or truncation.max_length == added:
                ranges = [truncation.ranges(*both) for both in zip(counts, lengths, strict=True)]
                return self._with_overflow(sequences, ranges, template, add_special_tokens, bare)
        pieces: list[Stretch | Surrounding] = []
        told: dict[int, Span] = {}
        length = 0
        for part in template:
            if isinstance(part, Own):
                source = sequences[part.sequence]
                count = len(source.ids)
                type_id = 0 if bare and not self.tells_sequences else part.type_id
                pieces.append(Stretch(source, 0, count, type_id))
                told[part.sequence] = length, length + count
                length += count
            elif add_special_tokens:
                pieces.append(part)
                length += len(part)
        return Encoding(pieces, told if self.tells_sequences or len(sequences) > 1 else None, length=length)

    def _with_overflow(
        self,
        sequences: Sequence[TextTokens],
        ranges: Sequence[Sequence[Span]],
        template: Template,
        add_special_tokens: bool,
        bare: bool,
    ) -> Encoding:
        """Combine the parts of texts, each with those of the other text and with special tokens."""
        parts: list[Encoding] = []
        for part in template:
            if isinstance(part, Own):
                parts.append(self._own(part, sequences, ranges[part.sequence], add_special_tokens, bare))
            elif add_special_tokens:
                parts.append(Encoding([part]))
        return parts[0] if len(parts) == 1 else Encoding.merge(parts, growing_offsets=False)

    def _own(
        self,
        part: Own,
        sequences: Sequence[TextTokens],
        ranges: Sequence[Span],
        with_special: bool,
        bare: bool,
    ) -> Encoding:
        number, source = part.sequence, sequences[part.sequence]
        kept_type = 0 if bare else number
        own_type = part.type_id if self.tells_sequences else kept_type
        if self.overflow_type is not None and with_special:
            kept_type = self.overflow_type
        (start, stop), *rest = ranges
        first = Encoding([Stretch(source, start, stop, own_type)])
        others = [Encoding([Stretch(source, *span, kept_type)]) for span in rest]
        first.overflowing = others
        if self.tells_sequences or len(sequences) > 1:
            first.set_sequence_id(number)
        if self.tells_sequences:
            for encoding in others:
                encoding.set_sequence_id(number)
        return first


def _steps(post_processor: Any) -> list[dict[str, Any]] | None:
    """Return the steps of a post-processor as in a file; None if there is none."""
    if post_processor is None:
        return None
    state = json.loads(post_processor.__getstate__())
    steps: list[dict[str, Any]] = state["processors"] if state["type"] == "Sequence" else [state]
    return steps


def _untouched(step: dict[str, Any]) -> tuple[Template, Template]:
    return (Own(0, 0),), (Own(0, 0), Own(1, 1))


def _of_bert(step: dict[str, Any]) -> tuple[Template, Template]:
    first, last = _ends(step)
    single = (first, Own(0, 0), last)
    return single, (*single, Own(1, 1), Surrounding([(entry[0], 1, entry[2]) for entry in last.entries]))


def _of_roberta(step: dict[str, Any]) -> tuple[Template, Template]:
    first, last = _ends(step)
    single = (first, Own(0, 0), last)
    return single, (*single, last, Own(1, 0), last)


def _ends(step: dict[str, Any]) -> tuple[Surrounding, Surrounding]:
    first, last = (Surrounding([(step[key][1], 0, step[key][0])]) for key in ("cls", "sep"))
    return first, last


def _of_template(step: dict[str, Any]) -> tuple[Template, Template]:
    single, pair = (tuple(_template_part(part, step) for part in step[key]) for key in ("single", "pair"))
    return single, pair


def _template_part(part: dict[str, Any], step: dict[str, Any]) -> Own | Surrounding:
    if "Sequence" in part:
        return Own(0 if part["Sequence"]["id"] == "A" else 1, part["Sequence"]["type_id"])
    special = part["SpecialToken"]
    named = step["special_tokens"][special["id"]]
    entries = [
        (token_id, special["type_id"], name)
        for token_id, name in zip(named["ids"], named["tokens"], strict=True)
    ]
    return Surrounding(entries)


_TEMPLATES = {
    "ByteLevel": _untouched,
    "BertProcessing": _of_bert,
    "RobertaProcessing": _of_roberta,
    "TemplateProcessing": _of_template,
}
