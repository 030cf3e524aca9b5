"""The content of a `tokenizer.json` in; what encodes and decodes like it by the engine out.

Nothing here changes after it was made, so that copies of a tokenizer share it.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, SupportsIndex

from bpetite._engine import DecodedChunks, FramedEncoder
from bpetite._internal.json import parse_with_lists
from bpetite._internal.once import once
from bpetite.encoding.encoder import encoder_of
from bpetite.formats import huggingface
from bpetite.formats.huggingface_steps import Outside, steps_of, template_parts
from bpetite.formats.shared.pairs import packed_merges, parts_of
from bpetite.formats.shared.peers import tokenizers_library
from bpetite.formats.shared.printable import printable_or_text
from bpetite.interfaces.call_settings import CallSettings, Lender

Trim = Literal["no", "yes", "keep first"]

_SWITCHED_OFF = {"", "off", "false", "f", "no", "n", "0"}
"""The values of `TOKENIZERS_PARALLELISM` that mean a single thread."""

OF_MODEL = (
    "dropout",
    "unk_token",
    "fuse_unk",
    "byte_fallback",
    "ignore_merges",
    "continuing_subword_prefix",
    "end_of_word_suffix",
)
"""The settings of a model that whoever has it may change."""


class ReadModel:
    """A vocabulary without added tokens, ready to encode; few settings affect it."""

    def __init__(self, content: bytes) -> None:
        """Read the content of a `tokenizer.json`; an unsupported one is refused with the reason."""
        document = parse_with_lists("tokenizer.json", content, "a tokenizer.json")
        model = document["model"]
        self.ids: dict[str, int] = model["vocab"] if isinstance(model.get("vocab"), dict) else {}
        """The ids of the tokens of the model."""
        self.added: list[dict[str, Any]] = document["added_tokens"]
        # Added tokens are looked for before the model comes in: one that stands in merges is theirs
        # there.
        added = {token["content"] for token in self.added} & self.ids.keys()
        of_merges = added & _texts_of_merges(model.get("merges", b"")) if added else added
        parsed = [token for token in self.added if token["content"] not in of_merges]
        vocabulary = huggingface.parse_document({**document, "added_tokens": parsed}).vocabulary
        self.vocabulary = vocabulary
        self.encoder = encoder_of(vocabulary)
        self.unplaced = vocabulary.unknown and vocabulary.unknown[0]
        """The id of unknown bytes: only the real tokenizer knows where it says that such tokens stand."""
        cutters = steps_of(document["pre_tokenizer"], "pretokenizers")
        spells_bytes = any(step.get("type") == "ByteLevel" for step in cutters)
        falls_back = bool(model.get("byte_fallback"))
        self.is_of_pieces = not spells_bytes and (falls_back or bool(vocabulary.provisional))
        decoders = [step.get("type") for step in steps_of(document["decoder"], "decoders")]
        self.decodes = decoders == ["ByteLevel"] and not self.is_of_pieces
        without_tokens = {**model, "vocab": {}, "merges": []}
        self.rest = {**document, "added_tokens": [], "model": without_tokens}
        """The file without its tokens."""


def _texts_of_merges(merges: Any) -> set[str]:
    """Return the parts of merges and what they make."""
    if not isinstance(merges, bytes):
        merges = packed_merges(merges, "model.merges")
    texts: set[str] = set()
    for parts in parts_of(merges):
        texts.update(parts)
        texts.add("".join(parts))
    return texts


class Original:
    """What equal tokenizers have in common: the content of their file, and what was read from it.

    It has some of the methods of a real tokenizer, which is only made for what else is asked.
    """

    ANSWERS = frozenset(
        {
            "get_added_tokens_decoder",
            "get_vocab",
            "get_vocab_size",
            "id_to_token",
            "num_special_tokens_to_add",
            "token_to_id",
        }
    )
    """The methods that it has."""

    def __init__(self, content: bytes, model: ReadModel | None) -> None:
        """Take what was read from a file; without it, the real tokenizer is asked everything."""
        self.content = content
        self.model = model
        self.settings: Settings | None = None
        if model is None:
            self.frame = self.lender
            return
        self.frame = Lender(tokenizers_library().Tokenizer.from_str(json.dumps(model.rest)))
        """A real tokenizer without tokens, for all that does not concern them."""
        self._added = {token["id"]: token for token in model.added}
        self._added_ids = {token["content"]: token["id"] for token in model.added}
        self.num_special_tokens_to_add = self.frame.real.num_special_tokens_to_add
        added = self.get_added_tokens_decoder()
        with suppress(ValueError):  # added tokens that the engine cannot tell apart
            self.settings = Settings(model, self.frame.real, added, self.id_to_token)

    @classmethod
    def of(cls, content: bytes) -> Original:
        """Read a file; if it is unsupported, the real tokenizer does everything."""
        model = None
        with suppress(Exception):
            model = ReadModel(content)
        return cls(content, model)

    def made(self) -> Any:
        """Return a new real tokenizer."""
        return tokenizers_library().Tokenizer.from_buffer(self.content)

    @once
    def lender(self) -> Lender:
        """The real tokenizer, of which only settings of calls are changed."""
        return Lender(self.made())

    def answers(self, name: str) -> bool:
        """Whether it has a method of the real tokenizer."""
        return self.model is not None and name in self.ANSWERS

    # What is not found is asked of the real tokenizer, which may raise an error.

    def get_added_tokens_decoder(self) -> dict[int, Any]:
        """Return the added tokens, which a caller may change."""
        added_token = tokenizers_library().AddedToken
        added = {}
        for token_id, token in self._added.items():
            fields = {name: value for name, value in token.items() if name != "id"}
            added[token_id] = added_token(**fields)
        return added

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Return the ids of all tokens, or of those of the model."""
        ids = self._model_ids.copy()
        if with_added_tokens:
            ids.update(self._added_ids)
        return ids

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """Return the number of all tokens, or of those of the model."""
        if not with_added_tokens:
            return len(self._model_ids)
        return len(self._model_ids.keys() | self._added_ids.keys())

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token."""
        if type(token) is str:
            for ids in (self._added_ids, self._model_ids):
                if token in ids:
                    return ids[token]
        return self.lender.real.token_to_id(token)  # type: ignore[no-any-return]

    def id_to_token(self, id: int) -> str | None:
        """Return the token of an id."""
        if type(id) is int:
            if id in self._added:
                return str(self._added[id]["content"])
            if id in self._texts:
                return self._texts[id]
        return self.lender.real.id_to_token(id)  # type: ignore[no-any-return]

    @property
    def _model_ids(self) -> dict[str, int]:
        return self.model.ids if self.model is not None else {}

    @once
    def _texts(self) -> dict[int, str]:
        """The tokens of the model by their ids."""
        return {token_id: text for text, token_id in self._model_ids.items()}


class BPE:
    """The model of a tokenizer for which no real one was made yet.

    Transformers asks of it whether it is BPE whenever it decodes, which its name answers. Its
    settings are those of a model without tokens. For anything else the real model is made, which
    code compiled for `tokenizers.models.BPE` needs: `real`.
    """

    def __init__(self, without_tokens: Any, make: Callable[[], Any]) -> None:
        """Take a model with the same settings, and what makes the real one."""
        vars(self).update(_without_tokens=without_tokens, _make=make)

    @property
    def real(self) -> Any:
        """The model of a real tokenizer, whose changes the accelerated one follows."""
        if "_made" not in vars(self):
            vars(self)["_made"] = self._make()
        return vars(self)["_made"]

    if not TYPE_CHECKING:  # where a class cannot be asked for its own

        @property
        def __class__(self) -> type:
            """The class of the real one, for `isinstance`."""
            return type(self._without_tokens)

    def __getattr__(self, name: str) -> Any:
        if name in OF_MODEL and "_made" not in vars(self):
            return getattr(self._without_tokens, name)
        return getattr(self.real, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.real, name, value)

    def __repr__(self) -> str:
        return repr(self.real)

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return self.real.__reduce_ex__(protocol)


class Settings:
    """The settings of a tokenizer for encoding and decoding."""

    def __init__(
        self, model: ReadModel, parts: Any, added: dict[int, Any], text_of: Callable[[int], Any]
    ) -> None:
        """Take a model, a tokenizer that has the other parts, and the added tokens."""
        self._model = model
        self._added = added
        self._text_of = text_of
        flags = {token_id: flags_of(token) for token_id, token in self._added.items()}
        listed = [
            (token.content, token_id, flags[token_id]) for token_id, token in self._added.items()
        ]
        self._encoder = model.encoder.with_added_tokens(listed)
        # Decoding that leaves out special tokens recognises them by their normalized text.
        special = {token.content for token in self._added.values() if token.special}
        self._skipped = {token_id for token_id in self._added if text_of(token_id) in special}
        # None if only the real tokenizer encodes.
        self._template = Template.of(parts.post_processor)
        searched_later = [{*names} for names in flags.values() if "normalized" in names]
        strips = any(names - {"normalized", "special"} for names in searched_later)
        is_trimmed = self._template is not None and self._template.trim != "no"
        if model.is_of_pieces and (strips or is_trimmed):
            self._template = None
        in_model = not special.isdisjoint(model.ids)
        self._reads_special = not (in_model and model.vocabulary.whole_pretoken_first)
        """Whether the engine also encodes where special tokens are read as text."""
        self._respelled = {
            token_id
            for token_id, token in self._added.items()
            if _is_respelled(token, parts.normalizer)
        }
        self.coders: dict[tuple[bool, bool, Hashable], FramedEncoder] = {}

    def apart(self) -> Settings:
        """Return the same settings for another tokenizer, which has encoders of its own."""
        copied = copy.copy(self)
        copied.coders = {}
        return copied

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
        return FramedEncoder(self._encoder, frame, make, self._spell, _threads)

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
            decoded = printable_or_text(self._text_of(token_id))
            if decoded == self._encoder.token_bytes(token_id):
                ids.discard(token_id)
            else:
                ids.add(token_id)
        return ids


class Template(NamedTuple):
    """What a post-processor puts around a single text."""

    before: Sequence[Outside] = ()
    after: Sequence[Outside] = ()
    type_id: int = 0
    trim: Trim = "no"
    """Whether offsets exclude the white space of tokens, or all of it except a first space."""
    is_apart: bool = True
    """Whether the tokens of the text are distinguished from all others."""

    @classmethod
    def of(cls, post_processor: Any) -> Template | None:
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


def flags_of(token: Any) -> list[str]:
    """Return the flags of an added token."""
    names = ("lstrip", "normalized", "rstrip", "single_word", "special")
    return [name for name in names if getattr(token, name)]


def _threads() -> int | None:
    """Return how many threads the environment allows, in the words of tokenizers; None for any number."""
    parallelism = os.environ.get("TOKENIZERS_PARALLELISM", "true")
    return 1 if parallelism.lower() in _SWITCHED_OFF else None
