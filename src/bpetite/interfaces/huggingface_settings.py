"""The state of a `tokenizers.Tokenizer` in, encoding and decoding by our engine out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, cast

from bpetite._engine import Encoder, FramedEncoder
from bpetite._internal.types import Special
from bpetite.formats import huggingface
from bpetite.formats.huggingface_steps import steps_of
from bpetite.formats.shared.pairs import IN_TEXTS
from bpetite.formats.shared.pieces import byte_of_name
from bpetite.formats.shared.printable import from_printable, to_printable
from bpetite.interfaces.huggingface_encoding import BareTokens, Span, TextTokens
from bpetite.interfaces.huggingface_processing import Padding, Processing, Trim, Truncation
from bpetite.normalization import for_engine, steps_in
from bpetite.vocabulary import MARK, Vocabulary

_SPACES = (
    "Ġ\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
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
if the engine cannot do it."""

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
            normalization=for_engine(steps_in(vocabulary.normalization)),
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


class _Details:
    """Gives details of the tokens of texts."""

    def __init__(self, settings: Settings, stripping: set[int]) -> None:
        self._settings = settings
        self._encoder = settings.encoder
        self._spelled = stripping | settings.normalized
        """Added tokens whose text may differ from their name."""

    def offsets(self, text: str, ids: list[int]) -> list[Span]:
        return self._encoder.places(text, ids, self._settings.special, self._settings.trim)

    def first_offsets(self, tokens: TextTokens, place: int) -> Span:
        if self._settings.trim != "keep first":
            return tokens.offsets[place]
        whole = self._encoder.places(tokens.text, tokens.ids, self._settings.special)[place]
        return trimmed(tokens.tokens[place], whole, keeps_first=True)

    def words(self, text: str, ids: list[int]) -> Sequence[int]:
        return self._encoder.words(text, ids, self._settings.special, self._settings.model.cuts_words)

    def tokens(self, text: str, ids: list[int]) -> list[str]:
        names = list(map(self._settings.names.__getitem__, ids))
        if not self._spelled.isdisjoint(ids):
            # The text of an added token includes the white space that it took.
            for place, found in self._encoder.added_in(text, ids, self._settings.special):
                has_marks = self._settings.model.has_marks and ids[place] in self._settings.normalized
                names[place] = found.replace(" ", MARK) if has_marks else found
        return names


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
        self.special: Special = "text" if real.encode_special_tokens else "parse"
        flags = {token.content: _flags(token) for token in added.values()}
        ids = {token.content: token_id for token_id, token in added.items()}
        self.normalized = {ids[content] for content, names in flags.items() if "normalized" in names}
        self.encoder = model.encoder.with_added_tokens([(text, ids[text], flags[text]) for text in ids])
        stripping = {content for content, names in flags.items() if {"lstrip", "rstrip"} & set(names)}
        self.names = _Names(self._added, real.model)
        self._details = _Details(self, {ids[content] for content in stripping})
        self._provisional = model.vocabulary.provisional - self._added.keys()
        # Decoding that leaves out special tokens recognises them by their normalized text.
        special = {token.content for token in added.values() if token.special}
        self._skipped = {token_id for token_id in added if real.id_to_token(token_id) in special}
        self._unknown = None if model.places_unknown else model.vocabulary.unknown
        ways = [(add, bare) for bare in (False, True) for add in (False, True)]
        self._around = NOBODY if processing is None else tuple(self._framed(*way) for way in ways)
        self.read_lengths()

    @classmethod
    def of(cls, real: Any, model: ReadModel) -> Settings:
        """Read the settings of a tokenizer. Without `processing`, only the real one can encode."""
        processing = Processing.of(real)
        added = real.get_added_tokens_decoder().values()
        if real.encode_special_tokens and model.vocabulary.whole_pretoken_first:
            special = [token.content for token in added if token.special]
            if any(map(real.model.token_to_id, special)):
                processing = None
        if model.is_of_pieces and processing is not None:
            strip = any(
                token.normalized and set(_flags(token)) - {"normalized", "special"} for token in added
            )
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

    def _framed(self, add_special_tokens: bool, bare: bool) -> FramedEncoder | None:
        """Return the engine's encoder for texts with what stands around them."""
        import tokenizers

        processing = cast("Processing", self.processing)
        frame = processing.frame(add_special_tokens)
        if frame is None:
            return None
        before, after, type_id = frame
        details = self._details
        tokens_of: Callable[[str, list[int]], TextTokens] = (
            (lambda _, ids: BareTokens(ids)) if bare else (lambda text, ids: TextTokens(text, ids, details))
        )
        return FramedEncoder(
            self.encoder,
            lambda text, ids: processing.encoding_of((tokens_of(text, ids),), None, add_special_tokens, bare),
            tokenizers.Encoding,
            before=before,
            after=after,
            type_id=0 if bare and not processing.tells_sequences else type_id,
            special=self.special,
            trim=self.trim,
            unknown=self._unknown[0] if self._unknown else None,
            bare=bare,
        )

    def tokens_of(self, texts: Sequence[str], num_threads: int | None = None) -> list[TextTokens]:
        """Encode texts; ids of unknown bytes, which do not tell where tokens stand, are refused."""
        rows = self.encoder.encode_batch(texts, self.special, num_threads)
        if self._unknown is not None and any(self._unknown[0] in ids for ids in rows):
            raise ValueError("a token stands for unknown bytes")
        return [TextTokens(text, ids, self._details) for text, ids in zip(texts, rows, strict=True)]

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
    names = ("lstrip", "normalized", "rstrip", "single_word", "special")
    return [name for name in names if getattr(token, name)]
