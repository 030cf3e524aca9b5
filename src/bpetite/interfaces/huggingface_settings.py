"""The state of a `tokenizers.Tokenizer` in, encoding and decoding by our engine out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache, partial
from itertools import chain
from typing import Any

from bpetite._engine import Encoder, FramedEncoder
from bpetite._internal.types import Special
from bpetite.formats import huggingface
from bpetite.formats.huggingface_steps import steps_of
from bpetite.formats.shared.pairs import IN_TEXTS
from bpetite.formats.shared.pieces import byte_of_name
from bpetite.formats.shared.printable import from_printable, to_printable
from bpetite.interfaces.huggingface_encoding import Describe, Encoding, Fitted, Frame, Template
from bpetite.normalization import for_engine, steps_in
from bpetite.vocabulary import MARK, Vocabulary


def _steps(part: Any, key: str) -> list[dict[str, Any]]:
    return steps_of(json.loads(part.__getstate__()) if part is not None else None, key)


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
        # For some bytes it has tokens that we do not read.
        id_of, drops_unknown = real.model.token_to_id, False
        if is_plain and lacking and real.model.unk_token is None:
            drops_unknown = all(id_of(to_printable(bytes([byte]))) is None for byte in lacking)
        self.encoder = Encoder(
            pattern=vocabulary.pattern,
            tokens=arrays.tokens,
            **vars(arrays.packed),
            normalization=for_engine(steps_in(vocabulary.normalization)),
            whole_pretoken_first=vocabulary.whole_pretoken_first,
            decode_only=list(vocabulary.decode_only.items()),
            provisional=list(vocabulary.provisional),
            unknown=unknown,
            drops_unknown=drops_unknown,
        )
        is_placed = unknown is None or (is_plain and not arrays.has_id(unknown[0]))
        self.unplaced = None if unknown is None or is_placed else unknown[0]
        """The id of unknown bytes, if the engine does not know where tokens stand in a text that has some."""
        self.is_of_pieces = not spells_bytes and bool(real.model.byte_fallback or vocabulary.provisional)
        marks = [step for step in cutters if step.get("type") == "Metaspace"]
        self.cuts_words = not self.is_of_pieces or any(step["split"] for step in marks)
        """Whether pretokens are those of the file; if it has none, ours only serve speed."""

        self.tells_words = not self.is_of_pieces or all(
            step in marks or step.get("pattern") == {"String": " "} for step in cutters
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
    def of(cls, real: Any) -> ReadModel:
        """Read the model of a tokenizer; an unsupported one is refused with the reason."""
        document = json.loads(real.to_str())
        # Added tokens are looked for before the model comes in: one that stands in merges is theirs there.
        model, tokens = document["model"], document["added_tokens"]
        added = {token["content"] for token in tokens}.intersection(model.get("vocab", ()))
        merges = [merge.split(" ") if isinstance(merge, str) else merge for merge in model.get("merges", ())]
        merged = {*chain.from_iterable(merges), *map("".join, merges)} if added else set()
        document["added_tokens"] = [token for token in tokens if token["content"] not in added & merged]
        return cls(huggingface.parse_document("tokenizer", document).vocabulary, real)


class Settings:
    """The settings of a tokenizer for encoding and decoding."""

    def __init__(self, real: Any, model: ReadModel) -> None:
        self._real, self._model = real, model
        added = real.get_added_tokens_decoder()
        self._added = {token_id: token.content for token_id, token in added.items()}
        flags = {token_id: flags_of(token) for token_id, token in added.items()}
        self._special: Special = "text" if real.encode_special_tokens else "parse"
        listed = [(text, token_id, flags[token_id]) for token_id, text in self._added.items()]
        self._encoder = model.encoder.with_added_tokens(listed)
        self._normalized = {token_id for token_id, names in flags.items() if "normalized" in names}
        stripping = {token_id for token_id, names in flags.items() if {"lstrip", "rstrip"} & {*names}}
        self._spelled = self._normalized | stripping
        """Added tokens whose text may differ from their name."""
        # Decoding that leaves out special tokens recognises them by their normalized text.
        special = {token.content for token in added.values() if token.special}
        self._skipped = {token_id for token_id in added if real.id_to_token(token_id) in special}
        template = Template.of(real.post_processor)
        strips = any({*flags[token_id]} - {"normalized", "special"} for token_id in self._normalized)
        is_trimmed = template is not None and template.trim != "no"
        in_model = real.encode_special_tokens and any(map(real.model.token_to_id, special))
        unknown_words = model.is_of_pieces and (strips or is_trimmed or not model.tells_words)
        if unknown_words or (in_model and model.vocabulary.whole_pretoken_first):
            template = None
        self._template = template
        of_model, self._bytes_of = real.model, cache(self._decoded)
        self._name = cache(lambda token_id: self._added.get(token_id) or of_model.id_to_token(token_id) or "")
        self._provisional = model.vocabulary.provisional - self._added.keys()
        self.read_lengths()

    # Encoding ----------------------------------------------------------------------------------------

    def read_lengths(self) -> None:
        """Read truncation and padding, which callers change often."""
        self._truncation, self._padding = self._real.truncation, self._real.padding
        self.coder = cache(self._made_coder)

    def _made_coder(self, add_special_tokens: bool, bare: bool) -> FramedEncoder | Fitted:
        """Return what encodes texts; that only the real tokenizer can is a `ValueError`."""
        template, unplaced = self._template, self._model.unplaced
        if template is None or (template.trim == "keep first" and self._truncation is not None):
            raise ValueError("the real tokenizer encodes")
        encoder, special, cuts_words = self._encoder, self._special, self._model.cuts_words
        described: dict[str, Describe] = {
            "tokens": self._tokens,
            "offsets": lambda text, ids: encoder.places(text, ids, special, template.trim),
            "word_ids": lambda text, ids: encoder.words(text, ids, special, cuts_words),
        }
        frame = Frame(template, add_special_tokens, {} if bare else described, self._padding)
        if (unplaced, self._truncation, self._padding) != (None, None, None):
            return Fitted(encoder, special, frame, unplaced, self._truncation, self._padding)
        types = {template.type_id, *frame.before["type_ids"], *frame.after["type_ids"]}
        around = frame.before["ids"], frame.after["ids"], types.pop() if len(types) == 1 else None
        trim = None if bare else template.trim
        return FramedEncoder(encoder, partial(Encoding, frame), *around, special, trim)

    def _tokens(self, text: str, ids: list[int]) -> list[str]:
        """Return how each token of a text is spelled."""
        names = list(map(self._name, ids))
        if not self._spelled.isdisjoint(ids):
            # The text of an added token includes the white space that it took.
            for place, found in self._encoder.added_in(text, ids, self._special):
                has_marks = self._model.has_marks and ids[place] in self._normalized
                names[place] = found.replace(" ", MARK) if has_marks else found
        return names

    # Decoding ----------------------------------------------------------------------------------------

    def decode(self, ids: Sequence[int], skip_special_tokens: bool) -> str:
        """Decode ids; what only the real tokenizer can is a `ValueError`, a `KeyError` or a `TypeError`."""
        model = self._model
        if not model.decodes or not isinstance(ids, list):
            raise ValueError("the real tokenizer decodes")
        if self._provisional and not self._provisional.isdisjoint(ids):
            raise ValueError("the real tokenizer decodes")
        errors = "strict" if model.is_of_pieces else "replace"
        has_added = not self._added.keys().isdisjoint(ids)
        if has_added and skip_special_tokens:
            ids = [token_id for token_id in ids if token_id not in self._skipped]
        if has_added:
            text = b"".join(map(self._bytes_of, ids)).decode("utf-8", errors)
        else:
            text = model.encoder.decode(ids, errors)
        starts_added = bool(ids) and ids[0] in self._added
        first = self._bytes_of(ids[0]) if model.drops_first and ids and not starts_added else b""
        drops = model.vocabulary.drops_space and text.startswith(" ")
        # It would leave out all spaces of the first token.
        if first.count(b" ") > first.startswith(b" ") or (drops and model.drops_first and starts_added):
            raise ValueError("the real tokenizer decodes")
        return text[1:] if drops else text

    def _decoded(self, token_id: int) -> bytes:
        """Return the decoded text of a token."""
        if token_id not in self._added:
            return self._model.encoder.token_bytes(token_id)
        name = self._real.id_to_token(token_id)
        if self._model.is_of_pieces:
            byte = byte_of_name(name)
            shown = name.replace(MARK, " ") if self._model.writes_spaces else name
            return shown.encode("utf-8") if byte is None else bytes([byte])
        try:
            return from_printable(name)  # its text is the printable form of bytes, and stands for them
        except KeyError:
            return bytes(name, "utf-8")


def flags_of(token: Any) -> list[str]:
    """Return the flags of an added token."""
    names = ("lstrip", "normalized", "rstrip", "single_word", "special")
    return [name for name in names if getattr(token, name)]
