"""`tokenizer.json` of byte-level BPE tokenizers: JSON in, a vocabulary out, and back.

What can be reproduced exactly is read, anything else refused with its reason. The ids are those
that the file's tokenizer gives with `add_special_tokens=False`; the template that puts tokens
around a text is read beside them.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from bpetite._constants import END_OF_TEXT_TOKEN
from bpetite._internal.arguments import special_id
from bpetite._internal.json import Json, flag, naming, parse_with_lists, typed
from bpetite._internal.types import AnyPath
from bpetite.dialect import Dialect
from bpetite.encoding.template import AnyTemplate, Template
from bpetite.formats import huggingface_steps as steps
from bpetite.formats.huggingface_steps import steps_of, types_of
from bpetite.formats.shared import pairs
from bpetite.formats.shared.configuration import CONFIGURATION, FLAGS, SPECIAL_TOKENS, roles_in
from bpetite.formats.shared.imported import IN_TEXTS, Imported, Original, check_merges_bytes, has_id
from bpetite.formats.shared.printable import (
    printable_or_text,
    printed_ids,
    printed_merges,
    to_printable,
)
from bpetite.normalization import Step, normalizing, steps_in
from bpetite.patterns import PATTERNS
from bpetite.vocabulary import MARK, Spaced, Vocabulary

_SINGLE = {chr(byte) for byte in range(0x21, 0x7F)}
"""The characters that stand for the byte that they are; as added tokens, they may still be met by merges."""

_PLACE = "model.merges[{}]".format
"""Where a merge stands in a file."""

TEMPLATE = "chat_template.jinja"

_ENDS_OF_TURNS = (
    "<|im_end|>",
    "<|eot_id|>",
    "<|end|>",
    "<end_of_turn>",
    "<turn|>",
    "<|eot|>",
    "<|end_of_turn|>",
)
"""Special tokens that end a message of a chat."""

_ENDS = ("<|eos|>", "<eos>", "</s>", "[EOS]", "<|end_of_text|>", END_OF_TEXT_TOKEN)
_BEGINNINGS = ("<|bos|>", "<bos>", "<s>", "[BOS]", "<|begin_of_text|>", "<|startoftext|>")
"""Special tokens that end or begin a text, the most telling names first."""

_OF_USERS = ("chat_template", "model_max_length", "padding_side")
"""What a configuration says beside tokens that holds for every kind of tokenizer."""

_BESIDE_IDS = {
    "truncation": "how texts are truncated",
    "padding": "how texts are padded",
}
"""The parts of a file that neither a vocabulary nor its template holds."""


def parse(path: AnyPath, content: bytes) -> Imported:
    """Read the content of a `tokenizer.json`; errors name `path` and the place in it."""
    with naming(path):
        return parse_document(parse_with_lists(path, content, "a tokenizer.json"))


def parse_document(document: Json) -> Imported:
    """Read the object of a `tokenizer.json`, whose merges may be packed already."""
    return _Reader(document).imported()


class _Reader:
    """Reads one file; each method reads one part of it."""

    def __init__(self, document: Json) -> None:
        version = document.get("version", "1.0")
        if version != "1.0":
            raise ValueError(f"version is {version!r:.80}; only '1.0' can be read")
        self._document = document
        self._model = _model(document.get("model"))
        self._unknown_text: str | None = self._model.get("unk_token")
        self._ids: dict[str, int] = typed(self._model.get("vocab"), dict, "model.vocab")
        if not isinstance(
            self._model.get("merges"), bytes
        ):  # otherwise the engine has checked the ids, too
            pairs.check_ids(self._ids, "model.vocab: ")
        self._added = typed(document.get("added_tokens") or [], list, "added_tokens")
        self._specials, self._not_special = _special_ids(self._added, self._ids)
        self._decoder = steps_of(document.get("decoder"), "decoders")
        self._pre_tokenizer = steps_of(document.get("pre_tokenizer"), "pretokenizers")
        spells_bytes = "ByteLevel" in types_of(self._pre_tokenizer)
        self._suffix: str = self._model.get("end_of_word_suffix") or ""
        """What the names of tokens at the end of a word end with."""
        self._prefix: str = self._model.get("continuing_subword_prefix") or ""
        """What the names of tokens within words begin with."""
        of_bytes = [to_printable(bytes([byte])) for byte in IN_TEXTS]
        needed = {*of_bytes, *(text + self._suffix for text in of_bytes)}
        self._has_bytes = spells_bytes and self._ids.keys() >= needed
        """Whether texts are spelled as bytes, and each is a token, so that nothing is ever unknown."""

    def imported(self) -> Imported:
        falls_back = flag(self._model, "model", "byte_fallback") and not self._has_bytes
        has_characters = steps.is_of_characters(self._document)
        has_rule = self._unknown_text is None or self._unknown_text in self._ids
        if falls_back or (has_rule and has_characters):
            return self._of_characters(falls_back=falls_back)
        if has_characters:
            raise ValueError(
                "pre_tokenizer: there is no step ByteLevel, so the tokens are made of characters, not bytes, "
                f"and model.unk_token is {self._unknown_text!r:.80}, which is not a token: a character "
                "without a token would have no id"
            )
        return self._of_bytes()

    def _of_bytes(self) -> Imported:
        """Read a model whose tokens are bytes in printable form."""
        if self._prefix:
            raise ValueError(
                f"model.continuing_subword_prefix is {self._prefix!r:.80}, which is not supported where "
                "tokens are made of bytes"
            )
        normalization = steps.normalization_of(self._document.get("normalizer"), of_bytes=True)
        token_flags = self._token_flags(normalization)
        cuts = steps.cuts_of(self._document.get("pre_tokenizer"))
        drops_space = steps.decoding_of(self._decoder, self._texts(), spells_bytes=True)
        word_end = None
        if self._suffix:
            word_end = self._suffix if self._decoder else ""
        if word_end is not None and drops_space:
            raise ValueError(
                "decoder: it removes spaces, which is not supported where words have ends"
            )
        merges = self._merges()
        # Text with a byte that is a special token is refused: its id would not be that of other
        # bytes.
        apart = self._specials.keys() - _SINGLE
        bytes_apart = not apart.isdisjoint(to_printable(bytes([byte])) for byte in IN_TEXTS)
        # Most added tokens are cut out of a text wherever they stand, so that no merge ever meets
        # them.
        cuts_out = not normalization and not any(
            "single_word" in names for names in token_flags.values()
        )
        cut_out = apart & self._ids.keys() if cuts_out else set()
        never_met = {text for text in cut_out if text.isascii() and " " not in text}
        # Others may be what a text becomes once it is normalized.
        spelled_alike = {text for text in apart if _SINGLE.issuperset(text)}
        apart -= self._met(spelled_alike - cut_out, merges)
        vocabulary = pairs.vocabulary_of_pairs(
            self._ids_without(apart),
            merges,
            special_tokens=self._specials,
            pattern=cuts.pattern,
            left_out=cuts.left_out,
            dialect=Dialect.named("huggingface"),
            whole_pretoken_first=flag(self._model, "model", "ignore_merges"),
            normalization=normalization,
            token_flags=token_flags,
            added_tokens=self._not_special,
            unknown=None if self._has_bytes or bytes_apart else self._unknown(merges),
            place=_PLACE,
            cut_out=never_met - {self._unknown_text},
            suffix=self._suffix,
            word_end=word_end,
            drops_space=drops_space,
        )
        return self._read(vocabulary, drops_missing=self._unknown_text is None and not bytes_apart)

    def _of_characters(self, *, falls_back: bool) -> Imported:
        """Read a model whose merges begin with characters, as SentencePiece's do."""
        if flag(self._model, "model", "ignore_merges"):
            raise ValueError(
                "model.ignore_merges is on: whole texts would be looked up, as nothing cuts them"
            )
        word_end, decoder, spaced = None, self._decoder, self._spaced_words()
        if spaced:
            decoder = []
        elif self._suffix:
            word_end, decoder = self._word_end_of_characters(), []
        before = steps.before_of_characters(
            self._document, decoder, self._texts(), falls_back=falls_back
        )
        spaced = spaced or (before.left_out is not None and not self._decoder)
        if self._suffix and spaced:
            word_end = self._suffix  # Tokens are written as they are named, with spaces between.
        self._check_marks_of_words(falls_back=falls_back, has_marks=before.has_marks)
        has_marks = before.has_marks
        flags = self._token_flags(before.normalization)
        self._check_spaces(flags, has_marks)
        flags_of_specials = {text: flags.get(text, ()) for text in self._specials}
        marks, never_met = steps.special_pieces(flags_of_specials, before.normalization, has_marks)
        byte_names = pairs.BYTE_NAMES if falls_back else {}
        byte_ids = {}
        for name, byte in byte_names.items():
            if name in self._ids and name not in self._specials:
                byte_ids[byte] = self._ids[name]
        apart = {text for text in self._specials.keys() - marks if len(text) > 1}
        merges = self._merges()
        spelled_alike = {text for text in apart - never_met if {" ", MARK}.isdisjoint(text)}
        apart -= self._met(spelled_alike, merges)
        apart |= byte_names.keys()
        vocabulary = pairs.vocabulary_of_pieces(
            pairs.Pieces(
                self._ids_without(apart),
                byte_ids,
                has_marks,
                self._specials,
                frozenset(never_met),
                self._suffix,
                self._prefix,
            ),
            merges,
            token_flags=flags,
            added_tokens=self._not_special,
            unknown=None if byte_ids else self._unknown(merges),
            place=_PLACE,
            normalization=before.normalization,
            puts_space=before.puts_space,
            pattern=before.pattern,
            drops_space=before.drops_space,
            left_out=before.left_out,
            spaced=spaced,
            word_end=word_end,
            word_start=self._prefix or None,
            may_lack=self._unknown_text is None,
        )
        return self._read(vocabulary, drops_missing=self._unknown_text is None)

    def _check_marks_of_words(self, *, falls_back: bool, has_marks: bool) -> None:
        """Refuse what would have to be tried together with tokens for the ends or beginnings of words."""
        marks = {"end_of_word_suffix": self._suffix, "continuing_subword_prefix": self._prefix}
        for field, mark in marks.items():
            if mark and (falls_back or has_marks):
                raise ValueError(
                    f"model.{field} is {mark!r:.80}, which is not supported where bytes spell characters, "
                    "or U+2581 spaces"
                )
            if mark and self._unknown_text is None:
                raise ValueError(
                    f"model.{field} is {mark!r:.80}, and model.unk_token is not given: "
                    "a character without a token would have no id"
                )

    def _spaced_words(self) -> Spaced:
        """Return how a decoder for words writes spaces: none before a token within a word."""
        match self._decoder:
            case _ if not self._prefix:
                return False
            case []:
                return False
            case [{"type": "WordPiece", "prefix": self._prefix, "cleanup": bool(cleans)}]:
                return "cleaned" if cleans else "words"
        raise ValueError(
            f"decoder: {self._decoder[0]!r:.80} is not supported where tokens within words begin with "
            f"{self._prefix!r:.80}; a WordPiece with this prefix is"
        )

    def _word_end_of_characters(self) -> str:
        """Return what the decoder writes for the end of a word; another decoder is refused."""
        match self._decoder:
            case []:
                return ""
            case [{"type": "BPEDecoder", "suffix": self._suffix}]:
                # It writes a space wherever the suffix stands in a token.
                for name in (*self._ids, *self._specials):
                    inside = name if name in self._specials else name.removesuffix(self._suffix)
                    if self._suffix in inside or name == self._suffix:
                        raise ValueError(
                            f"token {name!r:.80} has {self._suffix!r:.80} within it, which the decoder "
                            "would replace by a space"
                        )
                return " "
        raise ValueError(
            f"decoder: {self._decoder[0]!r:.80} is not supported where words end in {self._suffix!r:.80}; "
            "a BPEDecoder with this suffix is"
        )

    def _texts(self) -> list[str]:
        """Return the texts of all tokens."""
        return [*self._ids, *self._specials]

    def _met(self, texts: Collection[str], merges: bytes) -> set[str]:
        """Return the tokens that a part of a text may become."""
        in_model = self._ids.keys() & texts
        if not in_model or flag(self._model, "model", "ignore_merges"):
            return in_model
        met: set[str] = set()
        for parts in pairs.parts_of(merges):
            met.update(in_model.intersection([*parts, "".join(parts)]))
        return met

    def _ids_without(self, apart: Collection[str]) -> dict[str, int]:
        ids = self._ids.copy()  # far faster than a loop
        for text in apart:
            ids.pop(text, None)
        return ids

    def _merges(self) -> bytes:
        """Return the merges, packed."""
        merges = self._model.get("merges")
        if isinstance(merges, bytes):
            return merges
        return pairs.packed_merges(typed(merges, list, "model.merges"), "model.merges")

    def _unknown(self, merges: bytes) -> tuple[int, bool] | None:
        """Return the id of what has no token, and whether it stands once for successive ones."""
        text = self._unknown_text
        if text is None or text not in self._ids:
            return None
        if pairs.has_part(merges, text):
            raise ValueError(
                f"model.unk_token is {text!r:.80}, which is a part of merges: it would be merged"
            )
        return self._ids[text], flag(self._model, "model", "fuse_unk")

    def _token_flags(self, normalization: Sequence[Step]) -> dict[str, list[str]]:
        """Return the flags of added tokens. `normalized` only matters if normalizing changes a token, or if
        one token is searched first that may overlap with another, or whose flags may concern it."""
        flags: dict[str, list[str]] = {}
        second: list[str] = []
        for index, token in enumerate(self._added):
            place, content = f"added_tokens[{index}]", token["content"]
            flags[content] = [name for name in FLAGS if flag(token, place, name)]
            if flag(token, place, "normalized", default=not token.get("special", False)):
                second.append(content)
        first = set(self._specials) - set(second)
        may_be_flagged = first and any(flags.values())
        if second and (normalization or may_be_flagged or _may_overlap(first, second)):
            for content in second:
                flags[content].append("normalized")
            _check_normalized_apart(second, normalization)
        return {content: names for content, names in flags.items() if names}

    def _check_spaces(self, flags: Mapping[str, Collection[str]], has_marks: bool) -> None:
        """Refuse added tokens that are searched where the file's spaces are not ours."""
        if not has_marks:
            return
        has_metaspace = "Metaspace" in types_of(self._pre_tokenizer)
        for text, names in flags.items():
            strips = {"lstrip", "rstrip"} & set(names)
            has_spaces = has_metaspace and {" ", MARK} & set(text)
            if "normalized" in names and (strips or has_spaces):
                raise ValueError(
                    f"added token {text!r:.80} is normalized, and has spaces or takes white space, which is "
                    "not supported where spaces become U+2581"
                )

    def _read(self, vocabulary: Vocabulary, *, drops_missing: bool = False) -> Imported:
        """Return the result, with the other settings of the file, which do not change the ids of texts."""
        assumptions = []
        if vocabulary.left_out is not None:
            assumptions.append(
                f"the file's pre_tokenizer removes '{vocabulary.left_out}' from texts: no token has it, "
                "and decoding does not restore it"
            )
        if not self._decoder and not vocabulary.spaced:
            assumptions.append("the file has no decoder: in bpetite, decoding restores the text")
        left_out = [key for key in ("truncation", "padding") if self._document.get(key)]
        assumptions += [f"the file's {key} of texts is not applied" for key in left_out]
        template = steps.template_in(
            self._document.get("post_processor"), partial(has_id, vocabulary)
        )
        extras = tuple(_BESIDE_IDS[key] for key in left_out)
        return Imported(vocabulary, assumptions, extras, drops_missing, template=template)


def _model(value: object) -> Json:
    model: Json = typed(value, dict, "model")
    kind = model.get("type", "BPE" if "merges" in model else None)
    if kind != "BPE":
        reason = (
            "model has neither a type nor merges" if kind is None else f"model.type is {kind!r:.80}"
        )
        raise ValueError(f"{reason}; only BPE can be read")
    if model.get("dropout") not in (None, 0):
        raise ValueError(f"model.dropout is {model['dropout']!r:.80}: ids would be random")
    marks = [_mark_of_words(model, field) for field in _MARKS_OF_WORDS]
    if all(marks):
        raise ValueError(f"model has both {' and '.join(_MARKS_OF_WORDS)}, which is not supported")
    if model.get("unk_token") is not None:
        typed(model["unk_token"], str, "model.unk_token")
    return model


_MARKS_OF_WORDS = ("continuing_subword_prefix", "end_of_word_suffix")
"""What begins the names of tokens within words, or ends those of tokens at their ends."""


def _mark_of_words(model: Json, field: str) -> str:
    mark: str = typed(model.get(field) or "", str, f"model.{field}")
    if not all("!" <= character <= "~" for character in mark):
        raise ValueError(f"model.{field} is {mark!r:.80}, not of printable ASCII")
    if mark and flag(model, "model", "ignore_merges"):
        raise ValueError(f"model.ignore_merges is on, which is not supported with model.{field}")
    return mark


def _special_ids(added: list[Any], ids: Mapping[str, int]) -> tuple[dict[str, int], set[str]]:
    """Return the ids of all added tokens, and those that are not special."""
    specials: dict[str, int] = {}
    token_of: dict[str, Json] = {}
    next_id = len(ids)
    for index, value in enumerate(added):
        place = f"added_tokens[{index}]"
        token = typed(value, dict, place)
        content = typed(token.get("content"), str, f"{place}.content")
        if token == token_of.get(content):
            continue  # Listed again, it is added once.
        if not content:
            raise ValueError(f"{place}: {content!r:.80} is empty")
        if content in specials:
            raise ValueError(f"{place}: {content!r:.80} appears twice")
        expected = ids.get(
            content, next_id
        )  # the id in the model, or else the first after all others
        token_id = token.get("id")
        if type(token_id) is not int or token_id != expected:
            raise ValueError(
                f"{place} ({content!r:.80}) has id {token_id!r:.80}, but tokenizers gives it {expected}; "
                "an added token gets another id only if model.vocab has it, too"
            )
        specials[content] = expected
        token_of[content] = token
        if content not in ids:
            next_id = expected + 1
    not_special = {
        text for text, token in token_of.items() if not flag(token, "added_tokens", "special")
    }
    return specials, not_special


def _check_normalized_apart(second: Sequence[str], normalization: Sequence[Step]) -> None:
    normalizer = normalizing(normalization)
    first: dict[str, str] = {}
    for content in second:
        normalized = normalizer(content)
        if not normalized:
            raise ValueError(f"added token {content!r:.80} is empty once normalized")
        other = first.setdefault(normalized, content)
        if other != content:
            raise ValueError(
                f"added tokens {other!r:.80} and {content!r:.80} are the same once normalized"
            )


def _may_overlap(first: Collection[str], second: Collection[str]) -> bool:
    """Whether a text of one list may overlap with a text of the other: one then begins within the other.

    >>> _may_overlap(["<a>"], ["  "]), _may_overlap(["<a>"], [">x"])
    (False, True)
    """
    return any(
        {text[0] for text in begun} & set("".join(others))
        for begun, others in ((first, second), (second, first))
    )


# Writing
# -----------------------------------------------------------------------------------------------


def to_bytes(vocabulary: Vocabulary, template: AnyTemplate = None) -> bytes:
    """Return the `tokenizer.json` of a vocabulary and a template; what it cannot express is refused.

    A template that is not simply tokens around a text is only known from the `tokenizer.json` that
    has it.
    """
    check_merges_bytes(vocabulary)
    ids, tokens = _written_ids(vocabulary), vocabulary.tokens
    unknown, fuses = vocabulary.unknown or (None, False)
    document = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": written_added_tokens(vocabulary),
        "normalizer": steps.normalizer_of(steps_in(vocabulary.normalization)),
        "pre_tokenizer": steps.pre_tokenizer_of(vocabulary.pattern, vocabulary.left_out),
        "post_processor": _post_processor(template, ids),
        "decoder": steps.pre_tokenizer_of(PATTERNS["gpt2"]),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": next(
                (text for text, token_id in ids.items() if token_id == unknown), None
            ),
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": fuses,
            "byte_fallback": False,
            "ignore_merges": vocabulary.whole_pretoken_first,
            "vocab": ids,
            "merges": printed_merges(
                (tokens[left], tokens[right]) for left, right in vocabulary.merges
            ),
        },
    }
    return _json(document)


def _post_processor(template: AnyTemplate, ids: Mapping[str, int]) -> Json | None:
    """Return the step that puts a template around each text, and around each of a pair."""
    if not isinstance(template, Template):
        return None
    text_of = {token_id: text for text, token_id in ids.items()}
    outside = dict.fromkeys((*template.prefix, *template.suffix))
    for token_id in outside:
        if token_id not in text_of:
            raise ValueError(
                f"the template puts id {token_id} around a text, a token that is only decoded: "
                "a tokenizer.json cannot hold it, and an artifact holds all but the template"
            )

    def specials(token_ids: Sequence[int], type_id: int) -> list[Json]:
        return [
            {"SpecialToken": {"id": text_of[token_id], "type_id": type_id}}
            for token_id in token_ids
        ]

    def around(sequence: str, type_id: int) -> list[Json]:
        text = {"Sequence": {"id": sequence, "type_id": type_id}}
        return [*specials(template.prefix, type_id), text, *specials(template.suffix, type_id)]

    return {
        "type": "TemplateProcessing",
        "single": around("A", 0),
        "pair": [*around("A", 0), *around("B", 1)],
        "special_tokens": {
            text_of[token_id]: {
                "id": text_of[token_id],
                "ids": [token_id],
                "tokens": [text_of[token_id]],
            }
            for token_id in outside
        },
    }


def with_tokens(
    original: Original, texts: Sequence[str], largest_id: int, *, special: bool
) -> Original:
    """Return the files of a `tokenizer.json` with further added tokens, as tokenizers writes them.

    A text that the file spells so keeps its id; others follow the largest one in use.
    """
    document = json.loads(original.content)
    ids = document["model"]["vocab"]
    added = [*(document.get("added_tokens") or ())]
    specials = {token["content"]: flag(token, "added_tokens", "special") for token in added}
    next_id = largest_id + 1
    for text in texts:
        if text in specials:
            if specials[text] != special:
                kind = "special" if specials[text] else "not special"
                raise ValueError(f"tokens: {text!r:.80} is a token already, which is {kind}")
            continue
        token_id = ids.get(text, next_id)
        next_id = max(next_id, token_id + 1)
        flags = dict.fromkeys(FLAGS, False) | {"normalized": not special, "special": special}
        added.append({"id": token_id, "content": text, **flags})
        specials[text] = special
    added.sort(key=lambda token: token["id"])
    pin(ids, added)
    return original.with_content(_json(document | {"added_tokens": added}))


def pin(ids: dict[str, int], added: Sequence[Json]) -> None:
    """Add added tokens to the ids of a model if tokenizers would otherwise give them other ids.

    It gives those that the model lacks the ids from its number of tokens on, in the order of the list.

    >>> ids = {"a": 0, "b": 5}
    >>> pin(ids, [{"content": "<x>", "id": 6}])
    >>> ids
    {'a': 0, 'b': 5, '<x>': 6}
    """
    lacking = [token["id"] for token in added if token["content"] not in ids]
    if lacking != list(range(len(ids), len(ids) + len(lacking))):
        ids.update((token["content"], token["id"]) for token in added)


def changed(
    vocabulary: Vocabulary,
    original: Original | None,
    template: AnyTemplate = None,
    chat_template: str | None = None,
) -> Original:
    """Return the files of a vocabulary and its template, with all else that the files of another one hold:
    truncation, padding, decoder and configuration. Special tokens have the same ids in both."""
    content = to_bytes(vocabulary, template)
    if original is not None and original.kind == "huggingface":
        theirs = json.loads(original.content)
        parts = ("normalizer", "pre_tokenizer", "post_processor", "decoder", *_BESIDE_IDS)
        kept = {key: theirs.get(key) for key in parts}
        return original.with_content(_json(json.loads(content) | kept))
    of_other = Original("", {}) if original is None else original.with_content(b"")
    settings = json.loads(of_other.files.get(CONFIGURATION, b"{}"))
    config = json.loads(config_bytes(vocabulary, of_other.files, chat_template))
    config |= {key: settings[key] for key in _OF_USERS if key in settings}
    templates = {name: text for name, text in of_other.files.items() if "chat_template" in name}
    return Original(
        "huggingface", {"tokenizer.json": content, CONFIGURATION: _json(config, 2), **templates}
    )


def configured(
    original: Original,
    vocabulary: Vocabulary,
    roles: Mapping[str, str | None],
    chat_template: str | None,
) -> Original:
    """Return the files with a `tokenizer_config.json` that has the given roles and template.

    A role, such as `pad_token`, names a special token.
    """
    for role, token in roles.items():
        special_id(role, token, vocabulary.special_tokens)
    named = {role: token for role, token in roles.items() if token is not None}
    settings = dict(named)
    if chat_template is not None:
        settings["chat_template"] = chat_template
    files = {**original.files}
    config = files.setdefault(CONFIGURATION, config_bytes(vocabulary, files, chat_template))
    if settings:
        files[CONFIGURATION] = _json(json.loads(config) | settings, 2)
    if named and SPECIAL_TOKENS in files:
        files[SPECIAL_TOKENS] = _json(json.loads(files[SPECIAL_TOKENS]) | named, 2)
    if chat_template is not None and TEMPLATE in files:
        files[TEMPLATE] = chat_template.encode("utf-8")
    return original._replace(files=files)


def guessed_roles(
    vocabulary: Vocabulary, files: Mapping[str, bytes], chat_template: str | None = None
) -> dict[str, str]:
    """Return which special tokens begin and end texts by their names, where the files do not say it.

    In a chat, the model stops at the end of a message: with a template, that is the `eos_token`.

    >>> tokens = {byte: bytes([byte]) for byte in range(256)}
    >>> chat = Vocabulary(tokens, [], {"<|endoftext|>": 256, "<|im_end|>": 257})
    >>> guessed_roles(chat, {}), guessed_roles(chat, {}, "{{ messages }}<|im_end|>")
    ({'eos_token': '<|endoftext|>'}, {'eos_token': '<|im_end|>'})
    """
    template = _template_in(files) if chat_template is None else chat_template
    ends: Sequence[str] = _ENDS
    if template is not None:
        in_template = [token for token in (*_ENDS_OF_TURNS, *_ENDS) if token in template]
        ends = (*in_template, *_ENDS_OF_TURNS, *_ENDS)
    guesses: dict[str, str] = {}
    for role, names in (("bos_token", _BEGINNINGS), ("eos_token", ends)):
        there = [name for name in names if name in vocabulary.special_tokens]
        if there and role not in roles_in(files):
            guesses[role] = there[0]
    return guesses


def _template_in(files: Mapping[str, bytes]) -> str | None:
    """Return the chat template of a folder's files, if there is one."""
    if TEMPLATE in files:
        return files[TEMPLATE].decode("utf-8", "replace")
    template = json.loads(files.get(CONFIGURATION, b"{}")).get("chat_template")
    return template if isinstance(template, str) else None


def _json(document: Json, indent: int | None = None) -> bytes:
    separators = (",", ":") if indent is None else None
    return json.dumps(document, ensure_ascii=False, indent=indent, separators=separators).encode(
        "utf-8"
    )


def config_bytes(
    vocabulary: Vocabulary, files: Mapping[str, bytes], chat_template: str | None = None
) -> bytes:
    """Return the `tokenizer_config.json` that tells transformers which tokens are special, and what for.

    The files that a tokenizer was read from say this, or else the names of the tokens
    (`guessed_roles`).
    """
    added = written_added_tokens(vocabulary)
    specials = [token["content"] for token in added if token["special"]]
    roles = guessed_roles(vocabulary, files, chat_template) | roles_in(files)
    named = {key: token for key, token in roles.items() if token in vocabulary.special_tokens}
    document = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "added_tokens_decoder": {
            str(token["id"]): {key: value for key, value in token.items() if key != "id"}
            for token in added
        },
        **named,
        "additional_special_tokens": [text for text in specials if text not in named.values()],
        "clean_up_tokenization_spaces": False,
    }
    return _json(document, 2)


def _written_ids(vocabulary: Vocabulary) -> dict[str, int]:
    """Return the ids by spelling, including special tokens, which keep their ids only if they are listed."""
    ids = printed_ids("a tokenizer.json", vocabulary.tokens, vocabulary.special_tokens)
    for text in vocabulary.special_tokens if vocabulary.whole_pretoken_first else ():
        if printable_or_text(text) != text.encode("utf-8"):
            raise ValueError(
                f"special token {text!r:.80} cannot be written: "
                "its characters stand for other bytes in a tokenizer.json"
            )
    return ids


def written_added_tokens(vocabulary: Vocabulary) -> list[Json]:
    """Return the `added_tokens` of a vocabulary, as a `tokenizer.json` lists them."""
    return [
        {
            "id": token_id,
            "content": text,
            **{
                name: name in vocabulary.token_flags.get(text, ())
                for name in (*FLAGS, "normalized")
            },
            "special": text not in vocabulary.added_tokens,
        }
        for text, token_id in sorted(vocabulary.special_tokens.items(), key=lambda item: item[1])
    ]
