"""The interface of `tokenizers.Tokenizer` on our engine: one of theirs in, a faster one out.

It holds the real one, which keeps every setting. Texts, alone or in batches, are encoded here, with
templates, truncation and padding, and ids are decoded here; what is rare (pairs of texts, texts that are cut
into words already, training) the real one does.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from bpetite._engine import Encoder, pretokenize
from bpetite._internal.normalizers import WHITE_SPACE, Normalizer
from bpetite._internal.preparation import Preparation, Segment, token_places
from bpetite.formats import huggingface
from bpetite.formats.shared.printable import from_printable, to_printable
from bpetite.interfaces.huggingface_encoding import Around, Encoding, Inner, Pads, Span, Special
from bpetite.vocabulary import Vocabulary, normalization_steps

_SPACE_FIRST = "(?space)(?then)"
_SPACES = "Ġ" + "".join(
    character for character in map(chr, range(0x3001)) if re.match(f"[{WHITE_SPACE}]", character)
)
"""White space, and how byte-level tokenizers print a space."""


class _Model:
    """A vocabulary without special tokens, ready to encode: what no setting changes."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        pattern = vocabulary.pattern
        # A space that is put before all else is put here, so that the engine's places are those of the text.
        self.puts_space = pattern == "(?space)" or pattern.startswith(_SPACE_FIRST)
        self.pattern = pattern.removeprefix(_SPACE_FIRST) if pattern != "(?space)" else r"[\s\S]+"
        arrays = vocabulary.arrays
        self.encoder = Encoder(
            pattern=self.pattern,
            tokens=arrays.tokens,
            ends=arrays.ends,
            ids=arrays.ids,
            merges=arrays.merges,
            special_tokens=[],
            whole_pretoken_first=vocabulary.whole_pretoken_first,
            decode_only=list(vocabulary.decode_only.items()),
        )
        self.normalizer = Normalizer(normalization_steps(vocabulary.normalization))

    @cached_property
    def bytes_of(self) -> dict[int, bytes]:
        """The bytes of every token but the added ones."""
        return {**self.vocabulary.tokens, **self.vocabulary.decode_only}


class _Names(dict[int, str]):
    """How the model spells tokens, each asked for once; added tokens are spelled as they stand in a text."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def __missing__(self, token_id: int) -> str:
        try:
            name = to_printable(self._encoder.token_bytes(token_id))
        except KeyError:
            name = ""
        self[token_id] = name
        return name


class _WhiteSpace(dict[str, Span]):
    """How many characters of white space tokens begin and end with."""

    def __missing__(self, token: str) -> Span:
        self[token] = counts = (
            len(token) - len(token.lstrip(_SPACES)),
            len(token) - len(token.rstrip(_SPACES)),
        )
        return counts


class _Settings:
    """All that encoding and decoding need of a tokenizer's settings, as they are at one moment."""

    def __init__(self, real: Any, model: _Model) -> None:
        self._real = real
        self._model = model
        added = real.get_added_tokens_decoder()
        self._added = {token_id: token.content for token_id, token in added.items()}
        flags = {
            token.content: [
                flag for flag in ("lstrip", "normalized", "rstrip", "single_word") if getattr(token, flag)
            ]
            for token in added.values()
        }
        self._preparation = Preparation(
            {content: token_id for token_id, content in self._added.items()},
            {content: names for content, names in flags.items() if names},
            model.normalizer,
            model.pattern,
        )
        # Where decoding leaves out special tokens, they are told by their spelling once normalized.
        special = {token.content for token in added.values() if token.special}
        self._skipped = {token_id for token_id in added if real.id_to_token(token_id) in special}
        self.around, self.trims, self._first_space = _around(real.post_processor)
        self._names = _Names(model.encoder)
        self._white_space = _WhiteSpace()
        self.decodes_bytes = _state(real.decoder).get("type") == "ByteLevel"

    # Encoding ----------------------------------------------------------------------------------------

    def plan(self, text: str) -> list[str | int]:
        """Cut a text into ids of added tokens and what the engine is to encode."""
        parts = self._preparation.parts(text)
        return [self._with_space(part) if token_id is None else token_id for part, token_id in parts]

    def _with_space(self, part: str) -> str:
        return " " + part if self._model.puts_space and part and part[0] != " " else part

    def offsets(self, text: str) -> list[Span]:
        """Where each token stands in a text."""
        spans: list[Span] = []
        for segment in self._segments(text):
            spans += self._places(segment)
        return spans

    def _segments(self, text: str) -> Iterable[Segment | tuple[int, str]]:
        """Yield the segments of a text; of one that is as it was, where it begins."""
        parts = list(self._preparation.parts(text))
        if parts == [(text, None)]:
            yield 0, text
        else:
            yield from self._preparation.segments(text)

    def _places(self, segment: Segment | tuple[int, str]) -> list[Span]:
        encoder = self._model.encoder
        if isinstance(segment, tuple):
            start, text = segment
            spaced = self._with_space(text)
            if "(?space)" in self._model.pattern:
                places = [(place, place + 1) for place in range(start, start + len(text))]
                return self._places(Segment(text, places))
            _, spans = encoder.encode_with_offsets(spaced, "text")
            if len(spaced) == len(text):
                return spans if not start else [(start + first, start + last) for first, last in spans]
            # The space stands where the first character stands.
            return [(start + max(first - 1, 0), start + max(last - 1, 1)) for first, last in spans]
        if segment.token_id is not None:
            return [(segment.places[0][0], segment.places[-1][1])]
        spaced = self._with_space(segment.text)
        if len(spaced) > len(segment.text):
            segment = Segment(spaced, [segment.places[0], *segment.places])
        ids = encoder.encode(segment.text, "text")
        lengths = [len(encoder.token_bytes(token_id)) for token_id in ids]
        return token_places(self._preparation.with_spaces(segment), lengths)

    def words(self, text: str) -> list[int]:
        """Which pretoken each token of a text is of."""
        words: list[int] = []
        word = 0
        for part in self.plan(text):
            if isinstance(part, int):
                words.append(word)
                word += 1
                continue
            encoder = self._model.encoder
            lengths = iter([len(encoder.token_bytes(token_id)) for token_id in encoder.encode(part, "text")])
            for pretoken in pretokenize(part, self._model.pattern):
                taken = 0
                while taken < len(pretoken):
                    taken += next(lengths)
                    words.append(word)
                word += 1
        return words

    def tokens(self, text: str, ids: Sequence[int]) -> list[str]:
        """How each token of a text is spelled; an added one with the white space that it took."""
        names = list(map(self._names.__getitem__, ids))
        parts = list(self._preparation.parts(text))
        place = 0
        for part, token_id in parts if any(token_id is not None for _, token_id in parts) else ():
            if token_id is not None:
                names[place] = part
                place += 1
            else:
                place += self._model.encoder.count(self._with_space(part), "text")
        return names

    def trimmed(self, tokens: Sequence[str], offsets: Sequence[Span]) -> list[Span]:
        """Offsets without the white space of their tokens."""
        trimmed = list(offsets)
        for place, (leading, trailing) in enumerate(map(self._white_space.__getitem__, tokens)):
            if leading or trailing:
                start, end = trimmed[place]
                if leading == 1 and self._first_space and (place == 0 or start == 0):
                    leading = 0
                if leading:
                    start = min(start + leading, end)
                if trailing and end >= trailing:
                    end = max(end - trailing, start)
                trimmed[place] = start, end
        return trimmed

    # Decoding ----------------------------------------------------------------------------------------

    @cached_property
    def _spelled(self) -> dict[int, bytes]:
        """What each token becomes when it is decoded."""
        spelled = dict(self._model.bytes_of)
        for token_id in self._added:
            # A token that is spelled like bytes stands for them.
            name = self._real.id_to_token(token_id)
            try:
                spelled[token_id] = from_printable(name)
            except KeyError:
                spelled[token_id] = name.encode("utf-8")
        return spelled

    @cached_property
    def _spelled_without_special(self) -> dict[int, bytes]:
        return {token_id: token for token_id, token in self._spelled.items() if token_id not in self._skipped}

    def decode(self, ids: Sequence[int], skip_special_tokens: bool) -> str:
        """Decode ids; those that are unknown are left out."""
        spelled = self._spelled_without_special if skip_special_tokens else self._spelled
        return b"".join([spelled.get(token_id, b"") for token_id in ids]).decode("utf-8", "replace")


def _state(part: Any) -> dict[str, Any]:
    """What a part of a tokenizer is, as its file would say."""
    state: dict[str, Any] = json.loads(part.__getstate__()) if part is not None else {}
    return state


def _around(post_processor: Any) -> tuple[Around | None, bool, bool]:
    """What a post-processor puts around a single text (None if that is not known), and how it trims offsets:
    whether, and whether the first space is one that was put there."""
    state = _state(post_processor)
    if not state:
        return Around(), False, False
    steps = state["processors"] if state.get("type") == "Sequence" else [state]
    around, trim, first_space = Around(is_ranged=True), False, False
    for step in steps:
        kind = step.get("type")
        if kind in ("ByteLevel", "RobertaProcessing") and step["trim_offsets"]:
            if trim:
                return None, False, False
            trim, first_space = True, step["add_prefix_space"]
        if kind in ("RobertaProcessing", "BertProcessing"):
            first, last = (Special(step[key][1], 0, step[key][0]) for key in ("cls", "sep"))
            made: Around | None = Around((first,), (last,), 0, True)
        elif kind == "TemplateProcessing":
            made = _template(step)
        elif kind == "ByteLevel":
            continue
        else:
            return None, False, False
        if made is None or around.count or (len(steps) > 1 and kind != "TemplateProcessing"):
            return None, False, False
        around = made
    return around, trim, first_space


def _template(step: dict[str, Any]) -> Around | None:
    """What a template puts around a single text, if that stands in it once."""
    sides: list[list[Special]] = [[]]
    type_id = 0
    for piece in step["single"]:
        if "Sequence" in piece:
            if piece["Sequence"]["id"] != "A" or len(sides) > 1:
                return None
            type_id = piece["Sequence"]["type_id"]
            sides.append([])
        else:
            special = piece["SpecialToken"]
            named = step["special_tokens"][special["id"]]
            sides[-1] += [
                Special(token_id, special["type_id"], name)
                for token_id, name in zip(named["ids"], named["tokens"], strict=True)
            ]
    if len(sides) != 2:
        return None
    before, behind = sides
    return Around(tuple(before), tuple(behind), type_id, True)


class HuggingFaceTokenizer:
    """A `tokenizers.Tokenizer` whose texts are encoded and ids decoded by bpetite's engine.

    It has every method and property of the real one, and gives what that gives.
    """

    def __init__(self, real: Any) -> None:
        """Take a `tokenizers.Tokenizer`, and keep a copy; one that is not byte-level BPE is refused."""
        self._real = copy.deepcopy(real)
        self._model: _Model | None = _read(self._real)
        self._settings: _Settings | None = None

    @classmethod
    def from_str(cls, content: str) -> HuggingFaceTokenizer:
        """Make the tokenizer of a `tokenizer.json`."""
        import tokenizers

        return cls(tokenizers.Tokenizer.from_str(content))

    # Encoding ----------------------------------------------------------------------------------------

    def encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Any:
        """Encode a text, or a pair of texts."""
        if pair is None and not is_pretokenized and isinstance(sequence, str):
            encodings = self._encode_texts([sequence], add_special_tokens)
            if encodings is not None:
                return encodings[0]
        return self._real.encode(sequence, pair, is_pretokenized, add_special_tokens)

    def encode_batch(
        self, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Any]:
        """Encode texts, or pairs of them."""
        texts = list(input)
        if not is_pretokenized and all(isinstance(text, str) for text in texts):
            encodings = self._encode_texts(texts, add_special_tokens)
            if encodings is not None:
                return list(encodings)
        return list(self._real.encode_batch(texts, is_pretokenized, add_special_tokens))

    encode_batch_fast = encode_batch

    def _encode_texts(self, texts: Sequence[str], add_special_tokens: bool) -> list[Encoding] | None:
        """Encode texts, unless the settings ask for what only the real tokenizer does."""
        settings = self._now()
        if settings is None or settings.around is None or self._real.encode_special_tokens:
            return None
        around = settings.around
        if not add_special_tokens:
            around = Around(type_id=around.type_id, is_ranged=around.is_ranged)
        rows = self._rows(texts, settings)
        encodings = [
            Encoding(Inner(text, row, settings), 0, len(row), around)
            for text, row in zip(texts, rows, strict=True)
        ]
        if (truncation := self._real.truncation) is not None:
            length = truncation["max_length"] - around.count
            longest = max(map(len, rows), default=0)
            if longest > length:
                stride = truncation["stride"]
                if length < 1 or stride >= length or truncation["strategy"] == "only_second":
                    return None
                encodings = [
                    encoding.truncated(length, stride, truncation["direction"])
                    if len(encoding.inner.ids) > length
                    else encoding
                    for encoding in encodings
                ]
        if (padding := self._real.padding) is not None:
            encodings = _filled_up(encodings, padding)
        return encodings

    def _rows(self, texts: Sequence[str], settings: _Settings) -> list[list[int]]:
        plans = list(map(settings.plan, texts))
        model = self._model
        assert model is not None
        if len(plans) == 1:
            encode = model.encoder.encode
            encoded = iter([encode(part, "text") for part in plans[0] if isinstance(part, str)])
        else:
            flat = [part for plan in plans for part in plan if isinstance(part, str)]
            encoded = iter(model.encoder.encode_batch(flat, "text"))
        rows: list[list[int]] = []
        for plan in plans:
            if len(plan) == 1 and isinstance(plan[0], str):
                rows.append(next(encoded))
                continue
            row: list[int] = []
            for part in plan:
                row += [part] if isinstance(part, int) else next(encoded)
            rows.append(row)
        return rows

    # Decoding ----------------------------------------------------------------------------------------

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Decode ids."""
        settings = self._now()
        if settings is None or not settings.decodes_bytes:
            return str(self._real.decode(list(ids), skip_special_tokens))
        return settings.decode(ids, skip_special_tokens)

    def decode_batch(self, sequences: Iterable[Sequence[int]], skip_special_tokens: bool = True) -> list[str]:
        """Decode several rows of ids."""
        return [self.decode(ids, skip_special_tokens) for ids in sequences]

    # Settings ----------------------------------------------------------------------------------------

    def _now(self) -> _Settings | None:
        """The settings as they are, or None where only the real tokenizer can do what they ask for."""
        if self._settings is None and self._model is not None:
            self._settings = _Settings(self._real, self._model)
        return self._settings

    def add_tokens(self, tokens: Sequence[Any]) -> int:
        """Add tokens that are looked for in texts; return how many are new."""
        self._settings = None
        return int(self._real.add_tokens(tokens))

    def add_special_tokens(self, tokens: Sequence[Any]) -> int:
        """Add special tokens; return how many are new."""
        self._settings = None
        return int(self._real.add_special_tokens(tokens))

    def train(self, *args: Any, **kwargs: Any) -> None:
        """Train the model anew, as the real tokenizer does."""
        self._real.train(*args, **kwargs)
        self._read_again()

    def train_from_iterator(self, *args: Any, **kwargs: Any) -> None:
        """Train the model anew, as the real tokenizer does."""
        self._real.train_from_iterator(*args, **kwargs)
        self._read_again()

    def _read_again(self) -> None:
        self._settings = None
        try:
            self._model = _read(self._real)
        except ValueError:
            self._model = None  # The real one does all from here on.

    def __getattr__(self, name: str) -> Any:
        """Leave everything else to the real tokenizer."""
        if name.startswith("__") or name == "_real":
            raise AttributeError(name)
        return getattr(self._real, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
            return
        setattr(self._real, name, value)
        if name in ("normalizer", "pre_tokenizer", "model"):
            self._read_again()
        else:
            self._settings = None

    def __deepcopy__(self, memo: object) -> HuggingFaceTokenizer:
        copied = object.__new__(type(self))
        copied._real = copy.deepcopy(self._real)
        copied._model = self._model
        copied._settings = None
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_str, (self._real.to_str(),)

    def __repr__(self) -> str:
        return f"HuggingFaceTokenizer({self._real.get_vocab_size():,} tokens)"


def _read(real: Any) -> _Model:
    """Read the model of a tokenizer; what is none of ours is refused with its reason."""
    document = json.loads(real.to_str())
    # Added tokens are looked for before the model comes in: one that merges make, too, is theirs there.
    added = {token["content"] for token in document["added_tokens"]} & set(document["model"].get("vocab", ()))
    made = {
        (merge if isinstance(merge, str) else " ".join(merge)).replace(" ", "")
        for merge in document["model"].get("merges", ())
    }
    document["added_tokens"] = [
        token for token in document["added_tokens"] if token["content"] not in added & made
    ]
    content = json.dumps(document, ensure_ascii=False).encode("utf-8")
    return _Model(huggingface.parse("tokenizer", content).vocabulary)


def _filled_up(encodings: list[Encoding], padding: dict[str, Any]) -> list[Encoding]:
    length = padding["length"]
    if length is None:
        length = max(map(len, encodings), default=0)
    if (multiple := padding["pad_to_multiple_of"]) and length % multiple:
        length += multiple - length % multiple
    pads = Pads(0, 0, padding["pad_id"], padding["pad_type_id"], padding["pad_token"])
    return [encoding.filled_up(length, pads, padding["direction"]) for encoding in encodings]


def accelerate(tokenizer: Any) -> Any:
    """Return a tokenizer of transformers or tokenizers that does the same with bpetite's engine.

    A tokenizer of transformers keeps its class and all its methods; the given one is left as it is.

    >>> from tokenizers import Tokenizer, models, pre_tokenizers
    >>> alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    >>> real = Tokenizer(models.BPE({character: place for place, character in enumerate(alphabet)}, []))
    >>> real.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    >>> accelerate(real).encode("hi").ids == real.encode("hi").ids
    True
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return HuggingFaceTokenizer(tokenizer)
    if isinstance(backend, HuggingFaceTokenizer):
        return tokenizer
    accelerated = copy.copy(tokenizer)
    accelerated._tokenizer = HuggingFaceTokenizer(backend)
    return accelerated
