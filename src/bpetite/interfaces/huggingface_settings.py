"""The state of a `tokenizers.Tokenizer` in, encoding and decoding by our engine out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice
from typing import Any, cast

from bpetite._engine import Encoder, FramedEncoder, pretokenize
from bpetite._internal.normalizers import WHITE_SPACE, Runs
from bpetite.encoding.preparation import Preparation, Run, Segment, overlap
from bpetite.formats import huggingface
from bpetite.formats.huggingface_steps import steps_of
from bpetite.formats.shared.pairs import IN_TEXTS
from bpetite.formats.shared.pieces import byte_of_name
from bpetite.formats.shared.printable import from_printable, to_printable
from bpetite.interfaces.huggingface_encoding import BareTokens, Span, TextTokens
from bpetite.interfaces.huggingface_processing import Padding, Processing, Trim, Truncation
from bpetite.vocabulary import MARK, Vocabulary

_SPACES = "Ġ" + "".join(
    character for character in map(chr, range(0x3001)) if re.match(f"[{WHITE_SPACE}]", character)
)
"""White space, and how byte-level tokenizers print a space."""

_KNOBS = (
    *("dropout", "unk_token", "fuse_unk", "byte_fallback", "ignore_merges"),
    *("continuing_subword_prefix", "end_of_word_suffix"),
)
"""The settings of a model that a caller with a reference may change."""


def state_of(part: Any) -> object:
    """Return a value that differs after a part of a tokenizer was changed."""
    if hasattr(part, "tokenize"):
        return [getattr(part, name, None) for name in _KNOBS]
    try:
        return part.__getstate__()
    except Exception:  # The state of one written in Python is not known.
        return None


def _drops(model: Any, lacking: Iterable[int]) -> bool:
    """Whether a model drops bytes without a token, which really have none there."""
    printed = (to_printable(bytes([byte])) for byte in lacking)
    return model.unk_token is None and all(model.token_to_id(character) is None for character in printed)


def _steps(part: Any, key: str) -> list[dict[str, Any]]:
    return steps_of(json.loads(part.__getstate__()) if part is not None else None, key)


class _Names(dict[int, str]):
    """The texts of tokens: added ones, and those of the model, each of which is queried once."""

    def __init__(self, added: Mapping[int, str], model: Any) -> None:
        super().__init__(added)
        self._model = model

    def __missing__(self, token_id: int) -> str:
        self[token_id] = name = self._model.id_to_token(token_id) or ""
        return name


Alone = tuple[FramedEncoder | None, ...]
"""What encodes single texts, without and with special tokens, and the same for encodings without places; None
if the engine cannot do all of it."""

NOBODY: Alone = (None,) * 4


class ReadModel:
    """A vocabulary without added tokens, ready to encode; few settings affect it."""

    def __init__(self, vocabulary: Vocabulary, real: Any) -> None:
        self.vocabulary = vocabulary
        arrays = vocabulary.arrays
        cutters = _steps(real.pre_tokenizer, "pretokenizers")
        spells_bytes = any(step.get("type") == "ByteLevel" for step in cutters)
        lacking = set(IN_TEXTS) - set(vocabulary.id_of_byte)
        unknown = vocabulary.unknown
        is_plain = spells_bytes and not vocabulary.whole_pretoken_first
        self.drops_unknown = is_plain and bool(lacking) and unknown is None and _drops(real.model, lacking)
        self.encoder = Encoder(
            pattern=vocabulary.pattern,
            tokens=arrays.tokens,
            **arrays.packed._asdict(),
            special_tokens=[],
            whole_pretoken_first=vocabulary.whole_pretoken_first,
            decode_only=list(vocabulary.decode_only.items()),
            provisional=list(vocabulary.provisional),
            unknown=unknown,
            drops_unknown=self.drops_unknown,
        )
        self.places_unknown = self.drops_unknown or (
            is_plain and unknown is not None and not arrays.has_id(unknown[0])
        )
        """Whether the engine knows where tokens stand in a text with bytes that no token has."""

        self.is_of_pieces = not spells_bytes and bool(real.model.byte_fallback or vocabulary.provisional)
        self.cuts_words = not self.is_of_pieces or any(
            step.get("type") == "Metaspace" and step["split"] for step in cutters
        )
        """Whether pretokens are those of the file; if it has none, ours only serve speed."""

        self.tells_words = not self.is_of_pieces or all(
            step.get("type") == "Metaspace" or step.get("pattern") == {"String": " "} for step in cutters
        )
        """Whether the pretokens of the file are known."""

        self.has_marks = any(step.get("content") == MARK for step in _steps(real.normalizer, "normalizers"))
        """Whether normalized text has U+2581 for spaces."""

        decoders = [step.get("type") for step in _steps(real.decoder, "decoders")]
        self.decodes = bool(self.is_of_pieces and decoders) or decoders == ["ByteLevel"]
        self.writes_spaces = "Metaspace" in decoders or "Replace" in decoders
        self.drops_first = "Metaspace" in decoders
        """Whether a dropped space is removed from the first token, not from the text."""

    @classmethod
    def of(cls, real: Any, content: str) -> ReadModel:
        """Read the model of a tokenizer from its file; an unsupported one is refused with the reason."""
        document = json.loads(content)
        # Added tokens are looked for before the model comes in: one that stands in merges is theirs there.
        added = {token["content"] for token in document["added_tokens"]} & set(
            document["model"].get("vocab", ())
        )
        merged: set[str] = set()
        for merge in document["model"].get("merges", ()) if added else ():
            left, right = merge.split(" ") if isinstance(merge, str) else merge
            merged.update((left, right, left + right))
        document["added_tokens"] = [
            token for token in document["added_tokens"] if token["content"] not in added & merged
        ]
        imported = huggingface.parse_document("tokenizer", document)
        return cls(imported.vocabulary, real)


class _Plain:
    """Gives details of texts that the engine takes unchanged, including added tokens."""

    def __init__(
        self,
        encoder: Encoder,
        names: _Names,
        stripping: set[int],
        trim: Trim,
        uncut: _Prepared | None,
    ) -> None:
        """`uncut` tells of words if pretokens are none, as they only serve speed."""
        self._encoder = encoder
        self._places = encoder.places
        self._uncut = uncut
        self._names = names
        self._stripping = stripping
        self._trim = trim

    def offsets(self, text: str, ids: list[int]) -> list[Span]:
        return self._places(text, ids, "parse", self._trim)

    def first_offsets(self, tokens: TextTokens, place: int) -> Span:
        if self._trim != "keep first":
            return tokens.offsets[place]
        whole = self._encoder.places(tokens.text, tokens.ids, "parse", "no")[place]
        return trimmed(tokens.tokens[place], whole, keeps_first=True)

    def words(self, text: str, ids: list[int]) -> Sequence[int]:
        if self._uncut is not None:
            return self._uncut.words(text, ids)
        return self._encoder.words(text, ids, "parse")

    def tokens(self, text: str, ids: list[int]) -> list[str]:
        names = list(map(self._names.__getitem__, ids))
        if not self._stripping.isdisjoint(ids):
            # The text of an added token includes the white space that it took.
            for place, (start, end) in enumerate(self._encoder.places(text, ids, "parse", "no")):
                if ids[place] in self._stripping:
                    names[place] = text[start:end]
        return names


class _Prepared:
    """Gives details of texts that are prepared for the engine."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._encoder = settings.model.encoder

    def _segments(self, text: str, ids: list[int]) -> Iterable[tuple[Segment, list[int]]]:
        segments = list(self._settings.preparation.segments(text))
        if len(segments) == 1:
            yield segments[0], ids
            return
        rest = iter(ids)
        for segment in segments:
            count = 1 if segment.token_id is not None else self._encoder.count(segment.text, "text")
            yield segment, [*islice(rest, count)]

    def offsets(self, text: str, ids: list[int]) -> list[Span]:
        return self._places(text, ids, self._settings.trim)

    def _places(self, text: str, ids: list[int], trim: Trim) -> list[Span]:
        spans: list[Span] = []
        behind: Trim = "yes" if trim == "keep first" else trim
        for segment, own in self._segments(text, ids):
            spans += self._places_in(segment, own, behind if spans else trim)
        return spans

    def _places_in(self, segment: Segment, ids: list[int], trim: Trim) -> list[Span]:
        places = segment.places
        if segment.token_id is not None:
            span = places[0][0], places[-1][1]
            if trim == "no":
                return [span]
            return [trimmed(self._settings.spelled_in(segment), span, keeps_first=trim == "keep first")]
        if isinstance(places, Run):
            spans = self._encoder.places(segment.text, ids, "text", trim, places.put)
            start = places.start
            return [(start + first, start + end) for first, end in spans] if start else spans
        rows = places.rows if isinstance(places, Runs) else [(1, start, end) for start, end in places]
        return self._encoder.places(segment.text, ids, "text", trim, 0, rows)

    def first_offsets(self, tokens: TextTokens, place: int) -> Span:
        if self._settings.trim != "keep first":
            return tokens.offsets[place]
        whole = self._places(tokens.text, tokens.ids, "no")[place]
        return trimmed(tokens.tokens[place], whole, keeps_first=True)

    def words(self, text: str, ids: list[int]) -> Sequence[int]:
        words: list[int] = []
        word = 0
        model = self._settings.model
        for segment, own in self._segments(text, ids):
            if segment.token_id is None and model.cuts_words:
                words += [word + inner for inner in self._encoder.words(segment.text, own, "text")]
            else:
                words += [word] * len(own)
            if model.drops_unknown and segment.token_id is None:
                word += len(pretokenize(segment.text, model.vocabulary.pattern))  # some have no token
            else:
                word = words[-1] + 1 if words else 0
        return words

    def tokens(self, text: str, ids: list[int]) -> list[str]:
        tokens: list[str] = []
        for segment, own in self._segments(text, ids):
            if segment.token_id is None:
                tokens += map(self._settings.names.__getitem__, own)
            else:
                tokens.append(self._settings.spelled_in(segment))
        return tokens


class _Spaced(_Prepared):
    """Gives details of texts into which the engine puts spaces."""

    def offsets(self, text: str, ids: list[int]) -> list[Span]:
        return self._settings.places(text, ids)


def trimmed(token: str, span: Span, *, keeps_first: bool) -> Span:
    """Return the place of a token without its white space.

    >>> trimmed("ĠaĠ", (3, 6), keeps_first=False), trimmed("ĠaĠ", (3, 6), keeps_first=True)
    ((4, 5), (3, 5))
    """
    start, end = span
    leading = len(token) - len(token.lstrip(_SPACES))
    trailing = len(token) - len(token.rstrip(_SPACES))
    if leading and not (leading == 1 and keeps_first):
        start = min(start + leading, end)
    if trailing and end >= trailing:
        end = max(end - trailing, start)
    return start, end


class Settings:
    """The settings of a tokenizer for encoding and decoding."""

    def __init__(self, real: Any, model: ReadModel, processing: Processing | None) -> None:
        self.model = model
        self.processing = processing
        self.trim: Trim = "no" if processing is None else processing.trim
        self._real = real
        added = real.get_added_tokens_decoder()
        self._added = {token_id: token.content for token_id, token in added.items()}
        looked_for = {
            token_id: token
            for token_id, token in added.items()
            if not (token.special and real.encode_special_tokens)
        }
        flags = {token.content: _flags(token) for token in looked_for.values()}
        ids = {token.content: token_id for token_id, token in looked_for.items()}
        self._normalized = {ids[content] for content, names in flags.items() if "normalized" in names}
        self.preparation = Preparation.of(model.vocabulary, ids, flags)
        if not self.preparation.tells_apart:
            self.processing = processing = None
        stripping = {content for content, names in flags.items() if {"lstrip", "rstrip"} & set(names)}
        self._encoder = model.encoder.with_special_tokens(
            [
                (content, ids[content], "lstrip" in names, "rstrip" in names)
                for content, names in flags.items()
            ]
        )
        merged = model.vocabulary.tokens if stripping else ()
        is_simple = self.preparation.is_simple and self.preparation.are_of_one_search
        self._is_simple = is_simple and not any(
            "single_word" in names or (content in stripping and ids[content] in merged)
            for content, names in flags.items()
        )
        self.names = _Names(self._added, real.model)
        self._prepared = _Prepared(self)
        stripping_ids = {ids[content] for content in stripping}
        uncut = None if model.cuts_words else self._prepared
        self._plain = _Plain(self._encoder, self.names, stripping_ids, self.trim, uncut)
        self._provisional = model.vocabulary.provisional - self._added.keys()
        # Decoding that leaves out special tokens recognises them by their normalized text.
        special = {token.content for token in added.values() if token.special}
        self._skipped = {token_id for token_id in added if real.id_to_token(token_id) in special}
        is_plain = self._is_simple and self.preparation.leaves_some
        self._spaces = self.preparation.spaces if self.trim == "no" and not is_plain else None
        if self._spaces and model.places_unknown:
            self._spaces = None
        self._unknown = None if model.places_unknown else model.vocabulary.unknown
        self._taken = _Spaced(self) if self._spaces else self._plain
        is_taken = processing is not None and (is_plain or self._spaces is not None)
        self._texts = self._framed(None) if is_taken else None
        ways = [(add, bare) for bare in (False, True) for add in (False, True)]
        self._around = tuple(self._framed(*way) if is_taken else None for way in ways)
        self.read_lengths()

    @classmethod
    def of(cls, real: Any, model: ReadModel) -> Settings:
        """Read the settings of a tokenizer. Without `processing`, only the real one can encode."""
        processing = Processing.of(real)
        added = real.get_added_tokens_decoder().values()
        if real.encode_special_tokens:
            special = [token.content for token in added if token.special]
            others = [token.content for token in added if not token.special]
            changes = real.normalizer is not None and any(token.normalized for token in added)
            is_met = model.vocabulary.whole_pretoken_first and any(map(real.model.token_to_id, special))
            if changes or is_met or overlap(special, others):
                processing = None
        if model.is_of_pieces and processing is not None:
            strip = any(token.normalized and set(_flags(token)) - {"normalized"} for token in added)
            if strip or processing.trim != "no" or not model.tells_words:
                processing = None
        return cls(real, model, processing)

    # Encoding ----------------------------------------------------------------------------------------

    def read_lengths(self) -> None:
        """Read truncation and padding, which callers change often."""
        self.truncation = Truncation.of(self._real)
        self.padding = Padding.of(self._real)
        is_free = self.truncation is None and self.padding is None
        self.alone: Alone = self._around if is_free else NOBODY

    def _framed(self, add_special_tokens: bool | None, bare: bool = False) -> FramedEncoder | None:
        """Return the engine's encoder for texts with what stands around them; None stands for nothing."""
        import tokenizers

        processing = cast("Processing", self.processing)
        frame = ([], [], 0) if add_special_tokens is None else processing.frame(add_special_tokens)
        if frame is None:
            return None
        taken, add = self._taken, bool(add_special_tokens)
        before, after, type_id = frame
        tokens_of: Callable[[str, list[int]], TextTokens] = (
            (lambda _, ids: BareTokens(ids)) if bare else (lambda text, ids: TextTokens(text, ids, taken))
        )
        return FramedEncoder(
            self.model.encoder if self._spaces else self._encoder,
            lambda text, ids: processing.encoding_of((tokens_of(text, ids),), None, add, bare),
            tokenizers.Encoding,
            before=before,
            after=after,
            type_id=0 if bare and not processing.tells_sequences else type_id,
            trim=self.trim,
            leaves=None if self.preparation.leaves_all else self.preparation.leaves,
            leaves_ascii=self.preparation.leaves_ascii,
            spaces=self._spaces,
            unknown=self._unknown[0] if self._unknown else None,
            bare=bare,
        )

    def places(self, text: str, ids: list[int]) -> list[Span]:
        """Return where the tokens of a text stand that the engine has encoded."""
        return cast("FramedEncoder", self._texts).places(text, ids)

    def _check_known(self, rows: Iterable[list[int]]) -> None:
        """Refuse ids of unknown bytes, which do not tell where tokens stand."""
        if self._unknown is not None and any(self._unknown[0] in ids for ids in rows):
            raise ValueError("a token stands for unknown bytes")

    def tokens_of(
        self, texts: Sequence[str], num_threads: int | None = None, *, were_left: bool = False
    ) -> list[TextTokens]:
        """Encode texts; `were_left` says that the engine did not take them as they are."""
        made = self._tokens_of(texts, num_threads, were_left)
        self._check_known(tokens.ids for tokens in made)
        return made

    def _tokens_of(self, texts: Sequence[str], num_threads: int | None, were_left: bool) -> list[TextTokens]:
        made: list[TextTokens | None] = [None] * len(texts)
        left: Sequence[int] = range(len(texts))
        if self._texts is not None and not were_left:
            found, left = self._texts.encode_batch(texts, num_threads)
            made = [
                None if one is None else TextTokens(text, one.ids, self._taken)
                for text, one in zip(texts, found, strict=True)
            ]
        prepared = self._prepared_ids([texts[place] for place in left], num_threads)
        for place, ids in zip(left, prepared, strict=True):
            made[place] = TextTokens(texts[place], ids, self._prepared)
        return cast("list[TextTokens]", made)

    def _prepared_ids(self, texts: Sequence[str], num_threads: int | None) -> Iterator[list[int]]:
        """Yield the ids of each text."""
        plans = [list(self.preparation.parts(text)) for text in texts]
        parts = [part for plan in plans for part, token_id in plan if token_id is None]
        encoder = self.model.encoder
        if len(parts) == 1:
            rows = iter([encoder.encode(parts[0], "text")])
        else:
            rows = iter(encoder.encode_batch(parts, "text", num_threads))
        for plan in plans:
            found = [next(rows) if token_id is None else [token_id] for _, token_id in plan]
            yield found[0] if len(found) == 1 else [*chain.from_iterable(found)]

    def spelled_in(self, segment: Segment) -> str:
        """Return the text of an added token in a text."""
        if self.model.has_marks and segment.token_id in self._normalized:
            return segment.text.replace(" ", MARK)
        return segment.text

    # Decoding ----------------------------------------------------------------------------------------

    def decode(self, ids: Sequence[int], skip_special_tokens: bool) -> str | None:
        """Decode ids, or return None if only the real tokenizer can."""
        if not self.model.decodes or not isinstance(ids, list):
            return None
        errors = "strict" if self.model.is_of_pieces else "replace"
        if not self._provisional.isdisjoint(ids):
            return None
        try:
            if self._added.keys().isdisjoint(ids):
                text = self.model.encoder.decode(ids, errors)
            else:
                text = self._joined(ids, skip_special_tokens).decode("utf-8", errors)
        except (KeyError, ValueError, TypeError):
            return None
        if self.model.drops_first and ids and ids[0] not in self._added:
            first = self.model.encoder.token_bytes(ids[0])
            if first.count(b" ") > first.startswith(b" "):
                return None  # All of its spaces would be left out.
        if not self.model.vocabulary.drops_space or not text.startswith(" "):
            return text
        return None if self.model.drops_first and ids[0] in self._added else text[1:]

    def _joined(self, ids: Sequence[int], skip_special_tokens: bool) -> bytes:
        spelled, skipped = self._spelled, self._skipped if skip_special_tokens else ()
        token_bytes = self.model.encoder.token_bytes
        return b"".join(
            [
                spelled[token_id] if token_id in spelled else token_bytes(token_id)
                for token_id in ids
                if token_id not in skipped
            ]
        )

    @cached_property
    def _spelled(self) -> dict[int, bytes]:
        """The decoded text of each added token."""
        spelled: dict[int, bytes] = {}
        for token_id in self._added:
            name = self._real.id_to_token(token_id)
            if self.model.is_of_pieces:
                byte = byte_of_name(name)
                shown = name.replace(MARK, " ") if self.model.writes_spaces else name
                spelled[token_id] = shown.encode("utf-8") if byte is None else bytes([byte])
                continue
            # A token whose text is the printable form of bytes stands for them.
            try:
                spelled[token_id] = from_printable(name)
            except KeyError:
                spelled[token_id] = name.encode("utf-8")
        return spelled


def _flags(token: Any) -> list[str]:
    names = ("lstrip", "normalized", "rstrip", "single_word")
    return [name for name in names if getattr(token, name)]
