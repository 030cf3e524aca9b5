"""The ids of a text in, an encoding in the interface of `tokenizers` out: truncated, framed, padded."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from bpetite._engine import Encoder, FramedEncoding
from bpetite._internal.types import Special

Span = tuple[int, int]

Trim = Literal["no", "yes", "keep first"]

Outside = tuple[int, int, str]
"""A token that is not of a text: its id, its type and how it is spelled."""

Options = dict[str, Any] | None
"""Truncation or padding, as tokenizers tells it."""

Describe = Callable[[str, list[int]], Sequence[Any]]
"""A text and its ids in, something about each token out."""


@dataclass(frozen=True)
class Template:
    """What a post-processor puts around a single text."""

    before: Sequence[Outside] = ()
    after: Sequence[Outside] = ()
    type_id: int = 0
    trim: Trim = "no"
    """Whether offsets exclude the white space of tokens, or all of it except a first space."""
    is_told: bool = True
    """Whether the text is told from what stands around it."""

    @classmethod
    def of(cls, post_processor: Any) -> Template | None:
        """Read a post-processor; None if only the real one can apply it."""
        if post_processor is None:
            return cls(is_told=False)
        state = json.loads(post_processor.__getstate__())
        steps = state["processors"] if state["type"] == "Sequence" else [state]
        trimming = [step for step in steps if step.get("trim_offsets")]
        if not steps or len(trimming) > 1 or {step["type"] for step in steps[:-1]} - {"ByteLevel"}:
            return None
        parts = _parts(steps[-1])
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
        first, last = ((step[key][1], 0, step[key][0]) for key in ("cls", "sep"))
        return [first, 0, last]
    parts: list[Any] = []
    for part in step["single"] if step["type"] == "TemplateProcessing" else ():
        if "Sequence" in part:
            parts += [part["Sequence"]["type_id"]] if part["Sequence"]["id"] == "A" else [0, 0]
            continue
        named = step["special_tokens"][part["SpecialToken"]["id"]]
        types = [part["SpecialToken"]["type_id"]] * len(named["ids"])
        parts += zip(named["ids"], types, named["tokens"], strict=True)
    return parts


class Frame:
    """What stands around the tokens of a text, and what describes these."""

    def __init__(
        self, template: Template, adds_special: bool, described: dict[str, Describe], padding: Options
    ) -> None:
        self.is_told = template.is_told
        self.pads_left = padding is not None and padding["direction"] == "left"
        pad = [(padding["pad_id"], padding["pad_type_id"], padding["pad_token"])] if padding else []
        around = (template.before, template.after) if adds_special else ((), ())
        self.before, self.after, self.pad = map(self._columns, (*around, pad))
        self.pad["attention_mask"] = [0]
        self.size = sum(map(len, around))
        same: dict[str, Any] = {"tokens": "", "offsets": (0, 0), "word_ids": None, "sequence_ids": 0}
        same |= {"type_ids": template.type_id, "attention_mask": 1, "special_tokens_mask": 0}
        constant = {name: partial(_repeated, value) for name, value in same.items()}
        self.own: dict[str, Describe] = {"ids": lambda _, ids: ids, **constant, **described}

    def _columns(self, tokens: Sequence[Outside]) -> dict[str, list[Any]]:
        """Return each attribute of an encoding for tokens that are not of a text."""
        told = {"ids": 0, "type_ids": 1, "tokens": 2}
        same: dict[str, Any] = {"offsets": (0, 0), "word_ids": None, "attention_mask": 1}
        same |= {"special_tokens_mask": 1, "sequence_ids": None if self.is_told else 0}
        columns = {name: [token[place] for token in tokens] for name, place in told.items()}
        return columns | {name: [value] * len(tokens) for name, value in same.items()}


def _repeated(value: Any, text: str, ids: list[int]) -> list[Any]:
    return [value] * len(ids)


def _attribute(name: str, doc: str) -> property:
    def value(encoding: Encoding) -> Any:
        real = encoding._real
        return encoding._values(name) if real is None else getattr(real, name)

    return property(value, doc=doc)


class Encoding:
    """Tokens of a text, with those around it and padding. A real encoding does what is not named here."""

    __slots__ = ("_frame", "_overflows", "_own", "_real", "_rest", "_span", "_text", "_wanted")

    def __init__(
        self, frame: Frame, text: str, own: list[int], spans: Sequence[Span] | None = None, wanted: int = 0
    ) -> None:
        """`own` are all ids of the text, the first of `spans` those in here, the others the overflow.

        `wanted` is the length that padding gives it, if it is shorter.
        """
        self._frame, self._text, self._own, self._wanted = frame, text, own, wanted
        self._span, *self._rest = spans or [(0, len(own))]
        self._overflows = False
        self._real: Any = None  # from when something else is asked for: it may be changed then

    ids = _attribute("ids", "The ids of all tokens.")
    type_ids = _attribute("type_ids", "The type of each token.")
    tokens = _attribute("tokens", "How each token is spelled.")
    offsets = _attribute("offsets", "Where each token stands in its text, in characters.")
    word_ids = _attribute("word_ids", "The pretoken of each token; None for tokens outside of texts.")
    words = _attribute("word_ids", "An older name of `word_ids`.")
    sequence_ids = _attribute("sequence_ids", "0 for the tokens of the text, None for all others.")
    attention_mask = _attribute("attention_mask", "1 for each token, 0 for padding.")
    special_tokens_mask = _attribute("special_tokens_mask", "0 for tokens of texts, 1 for all others.")

    def _values(self, name: str) -> list[Any]:
        frame, (start, stop) = self._frame, self._span
        own = frame.own[name](self._text, self._own)[start:stop]
        if self._overflows and name == "type_ids":
            own = [0] * len(own)
        values = [*frame.before[name], *own, *frame.after[name]]
        pads = frame.pad[name] * (self._wanted - len(values))
        return pads + values if frame.pads_left else values + pads

    @property
    def n_sequences(self) -> int:
        """The number of texts."""
        return 1 if self._real is None else int(self._real.n_sequences)

    @property
    def overflowing(self) -> list[Any]:
        """What truncation left out, in parts."""
        return self._parts() if self._real is None else list(self._real.overflowing)

    def _parts(self) -> list[Encoding]:
        parts = [Encoding(self._frame, self._text, self._own, [span], self._wanted) for span in self._rest]
        for part in parts:
            part._overflows = True
        return parts

    def __len__(self) -> int:
        if self._real is not None:
            return len(self._real)
        return max(self._span[1] - self._span[0] + self._frame.size, self._wanted)

    # What a real encoding does ---------------------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        names = ("ids", "type_ids", "tokens", "offsets", "special_tokens_mask", "attention_mask")
        start = len(self._frame.before["ids"])
        if self._frame.pads_left:
            start += len(self) - self._frame.size - (self._span[1] - self._span[0])
        told = {"0": {"start": start, "end": start + self._span[1] - self._span[0]}}
        return {
            **{name: self._values(name) for name in names},
            "words": self._values("word_ids"),
            "overflowing": [part._state() for part in self._parts()],
            "sequence_ranges": told if self._frame.is_told else {},
        }

    def _made(self) -> Any:
        """Return the real encoding, which from now on takes the place of this one."""
        if self._real is None:
            self._real = _real_encoding(json.dumps(self._state()).encode("utf-8"))
        return self._real

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._made(), name)

    def __repr__(self) -> str:
        return repr(self._made())

    def __reduce__(self) -> tuple[Any, ...]:
        return _real_encoding, (self._made().__getstate__(),)

    @staticmethod
    def merge(encodings: Iterable[Any], growing_offsets: bool = True) -> Any:
        """Concatenate encodings; offsets may continue where the previous ones end."""
        import tokenizers

        return tokenizers.Encoding.merge([real_of(encoding) for encoding in encodings], growing_offsets)


def real_of(encoding: Any) -> Any:
    """Return the encoding of `tokenizers` for one of ours; anything else as it is."""
    is_ours = type(encoding) in (Encoding, FramedEncoding)
    return encoding._made() if is_ours else encoding


def _real_encoding(state: bytes) -> Any:
    """Return the encoding of `tokenizers` with this state."""
    import tokenizers

    encoding = tokenizers.Encoding()
    encoding.__setstate__(state)
    return encoding


@dataclass(frozen=True)
class Fitted:
    """Encodes texts to encodings that are truncated and padded; what only the real one can is an error."""

    encoder: Encoder
    special: Special
    frame: Frame
    unknown: int | None
    """The id of unknown bytes, which does not tell where tokens stand."""
    truncation: Options
    padding: Options

    def encode(self, text: str) -> Encoding:
        """Encode a text."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str], num_threads: int | None = None) -> list[Encoding]:
        """Encode texts."""
        if not all(isinstance(text, str) for text in texts):
            raise TypeError("only single texts are encoded here")
        rows = self.encoder.encode_batch(texts, self.special, num_threads)
        if self.unknown is not None and any(self.unknown in ids for ids in rows):
            raise ValueError("a token stands for unknown bytes")
        encodings = [
            Encoding(self.frame, text, ids, self._spans(len(ids)))
            for text, ids in zip(texts, rows, strict=True)
        ]
        if self.padding is not None:
            length = self.padding["length"]
            if length is None:
                length = max(map(len, encodings), default=0)
            if multiple := self.padding["pad_to_multiple_of"]:
                length += -length % multiple
            for encoding in encodings:
                encoding._wanted = length
        return encodings

    def _spans(self, count: int) -> list[Span] | None:
        """Return which of a text's tokens remain, and then those of each part of the overflow."""
        if self.truncation is None:
            return None
        room = self.truncation["max_length"] - self.frame.size
        if count <= room:
            return None
        if room == 0:
            return [(0, 0), (0, count)] if count else None
        stride = self.truncation["stride"]
        if room < 0 or stride >= room or self.truncation["strategy"] == "only_second":
            raise ValueError("the text cannot be truncated like this")
        return spans(count, room, stride, self.truncation["direction"])


def spans(count: int, length: int, stride: int, direction: str) -> list[Span]:
    """Return the parts of at most `length` tokens, of which neighbours share `stride`.

    >>> spans(5, 3, 1, "right"), spans(5, 3, 0, "left")
    ([(0, 3), (2, 5)], [(2, 5), (0, 2)])
    """
    # The last part is the first one that reaches the end.
    starts = range(0, max(count - stride, 1), length - stride)
    found = [(start, min(start + length, count)) for start in starts]
    return found if direction == "right" else [(count - stop, count - start) for start, stop in found]
