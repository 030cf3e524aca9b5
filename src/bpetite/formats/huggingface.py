"""`tokenizer.json` of byte-level BPE tokenizers: JSON in, a vocabulary out, and back.

What can be reproduced exactly is read, anything else refused with its reason. The ids are those that the
file's tokenizer gives with `add_special_tokens=False`: templates that put tokens around a text are left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from bpetite._constants import END_OF_TEXT_TOKEN
from bpetite._internal.json import Json, refuse, type_name
from bpetite._internal.types import Path
from bpetite.dialect import Dialect
from bpetite.formats.huggingface_characters import (
    before_of_characters,
    is_of_characters,
    special_pieces,
)
from bpetite.formats.huggingface_steps import (
    normalization_of,
    normalizer_of,
    pattern_of,
    pre_tokenizer_of,
    steps_of,
    types_of,
)
from bpetite.formats.shared.cut_model import parse_without_merges
from bpetite.formats.shared.imported import UNICODE_ASSUMPTION, Imported, assumed_pattern
from bpetite.formats.shared.merges import has_part, packed_merges
from bpetite.formats.shared.overlap import overlap
from bpetite.formats.shared.pairs import IN_TEXTS, check_merges_bytes, lacking_bytes, vocabulary_of_pairs
from bpetite.formats.shared.pieces import (
    BYTE_NAMES,
    Pieces,
    unknown_characters,
    vocabulary_of_pieces,
)
from bpetite.formats.shared.printable import from_printable, to_printable
from bpetite.normalization import Step, normalizing, steps_in
from bpetite.patterns import PATTERNS
from bpetite.vocabulary import LARGEST_ID, MARK, Vocabulary

T = TypeVar("T")

_SINGLE = {chr(byte) for byte in range(0x21, 0x7F)}
"""The characters that stand for the byte that they are; as added tokens, they may still be met by merges."""

_BESIDE_IDS = {
    "post_processor": "the template that puts tokens around a text",
    "truncation": "how texts are truncated",
    "padding": "how texts are padded",
}
"""The parts of a file that a vocabulary cannot hold."""


def read(path: Path) -> Imported:
    """Read a `tokenizer.json`."""
    with open(path, "rb") as file:
        content = file.read()
    return parse(path, content).read_from("huggingface", {path: content})


def parse(path: Path, content: bytes) -> Imported:
    """Read the content of a `tokenizer.json`; errors name `path` and the place in it."""
    return parse_document(path, *parse_without_merges(path, content, "a tokenizer.json"))


def parse_document(path: Path, document: Json, merges: bytes | None = None) -> Imported:
    """Read the object of a `tokenizer.json`; `merges` are those that were cut out, packed."""
    try:
        extras = tuple(_BESIDE_IDS[key] for key in left_out(document))
        return replace(_Reader(path, document, merges).imported(), extras=extras)
    except RecursionError:  # from Python 3.12 on, JSON may be nested more deeply than functions
        refuse(path, "nested too deeply to be a tokenizer.json")


class _Reader:
    """Reads one file; each method reads one part of it."""

    def __init__(self, path: Path, document: Json, merges: bytes | None) -> None:
        self._path = path
        self._document = document
        self._cut_merges = merges
        self._assumptions: list[str] = []

    def imported(self) -> Imported:
        version = self._document.get("version", "1.0")
        if version != "1.0":
            self._refuse(f"version is {version!r:.80}; only '1.0' can be read")
        model = self._model()
        ids = self._ids(model)
        specials, added_tokens = self._added_tokens(ids)
        falls_back = self._flag(model, "model.byte_fallback", False) and not self._has_bytes(ids)
        has_characters = is_of_characters(self._document)
        if falls_back or (model.get("unk_token") in ids and has_characters):
            return self._of_characters(model, ids, specials, added_tokens, falls_back=falls_back)
        if has_characters:
            unknown = model.get("unk_token")
            lacking = "is not given" if unknown is None else f"is {unknown!r:.80}, which is no token"
            self._refuse(
                "pre_tokenizer: there is no step ByteLevel, so the tokens are made of characters, not bytes, "
                f"and model.unk_token {lacking}: a character without a token would have no id"
            )
        normalization = self._read(normalization_of, "normalizer")
        token_flags = self._token_flags(specials, normalization)
        pattern = self._read(pattern_of, "pre_tokenizer")
        self._check_rest()
        merges = self._merges(model)
        # Text with a byte that is a special token is refused: its id would not be that of other bytes.
        apart = specials.keys() - _SINGLE
        bytes_apart = not apart.isdisjoint(to_printable(bytes([byte])) for byte in IN_TEXTS)
        never_met = self._never_met(ids, apart, token_flags, normalization) - {model.get("unk_token")}
        vocabulary = vocabulary_of_pairs(
            self._path,
            _without(ids, apart),
            merges,
            special_tokens=specials,
            pattern=pattern,
            dialect=Dialect.named("huggingface"),
            whole_pretoken_first=self._flag(model, "model.ignore_merges", False),
            normalization=normalization,
            token_flags=token_flags,
            added_tokens=added_tokens,
            unknown=None if self._has_bytes(ids) or bytes_apart else self._unknown(model, ids, merges),
            place=_place,
            cut_out=never_met,
        )
        said = [*self._assumptions, *lacking_bytes(vocabulary), UNICODE_ASSUMPTION]
        drops = model.get("unk_token") is None and not bytes_apart
        return Imported(vocabulary, [assumed_pattern(pattern, "from the file"), *said], drops_missing=drops)

    def _of_characters(
        self,
        model: Json,
        ids: Mapping[str, int],
        specials: Mapping[str, int],
        added_tokens: set[str],
        *,
        falls_back: bool,
    ) -> Imported:
        """Read a model whose merges begin with characters, as SentencePiece's do."""
        if self._flag(model, "model.ignore_merges", False):
            self._refuse("model.ignore_merges is on: whole texts would be looked up, as nothing cuts them")
        before = self._read(
            lambda document: before_of_characters(document, self._decoder(), falls_back=falls_back), ""
        )
        flags = self._token_flags(specials, before.normalization)
        self._check_spaces(flags, before.has_marks)
        marks, never_met = special_pieces(specials, flags, before)
        byte_ids = {
            byte: ids[name]
            for byte, name in enumerate(BYTE_NAMES)
            if falls_back and name in ids and name not in specials
        }
        pieces = Pieces(
            self._path,
            _without(
                ids,
                [
                    *(text for text in specials.keys() - marks if len(text) > 1),
                    *(BYTE_NAMES if falls_back else ()),
                ],
            ),
            byte_ids,
            before.has_marks,
            specials,
            frozenset(never_met),
        )
        merges = self._merges(model)
        vocabulary = vocabulary_of_pieces(
            pieces,
            merges,
            pattern=before.pattern,
            puts_space=before.puts_space,
            normalization=before.normalization,
            token_flags=flags,
            added_tokens=added_tokens,
            drops_space=before.drops_space,
            unknown=None if byte_ids else self._unknown(model, ids, merges),
            place=_place,
        )
        if not self._decoder():
            self._assumptions.append("decoding gives the text of tokens (the file has no decoder)")
        self._say_what_is_left_out()
        said = ["pretokens are cut where no token reaches across (the file has no pattern)"]
        if before.pattern:
            said = [assumed_pattern(before.pattern, "from the file")]
        said += unknown_characters(vocabulary)
        return Imported(vocabulary, [*said, *self._assumptions, UNICODE_ASSUMPTION])

    def _decoder(self) -> list[Any]:
        return steps_of(self._document.get("decoder"), "decoders")

    # Access to the JSON --------------------------------------------------------------------------------

    def _refuse(self, what: str) -> Any:
        refuse(self._path, what)

    def _object(self, value: object, place: str) -> Json:
        if not isinstance(value, dict):
            self._refuse(f"{place} must be an object, not {type_name(value)}")
        return cast(Json, value)

    def _list(self, value: object, place: str) -> list[Any]:
        if not isinstance(value, list):
            self._refuse(f"{place} must be a list, not {type_name(value)}")
        return cast(list[Any], value)

    def _string(self, value: object, place: str) -> str:
        if not isinstance(value, str):
            self._refuse(f"{place} must be a string, not {type_name(value)}")
        text = cast(str, value)
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as lone:
            self._refuse(f"{place}: {text!r:.80} is not text: {lone.reason}")
        return text

    def _flag(self, parent: Json, place: str, default: bool) -> bool:
        """A boolean whose key is the last word of `place`."""
        value = parent.get(place.rpartition(".")[2], default)
        if value is None:
            return default
        if not isinstance(value, bool):
            self._refuse(f"{place} must be a boolean, not {type_name(value)}")
        return cast(bool, value)

    def _id(self, value: object, place: str) -> int:
        if type(value) is not int or not 0 <= value <= LARGEST_ID:
            self._refuse(f"{place}: {value!r:.80} is not an id from 0 to {LARGEST_ID}")
        return cast(int, value)

    # The model -----------------------------------------------------------------------------------------

    def _merges(self, model: Json) -> bytes:
        """Return the merges, packed."""
        if self._cut_merges is not None:
            return self._cut_merges
        return packed_merges(self._path, self._list(model.get("merges"), "model.merges"), "model.merges")

    def _model(self) -> Json:
        model = self._object(self._document.get("model"), "model")
        kind = model.get("type", "BPE" if "merges" in model else None)
        if kind != "BPE":
            self._refuse(f"model.type is {kind!r:.80}; only BPE can be read")
        if model.get("dropout") not in (None, 0):
            self._refuse(f"model.dropout is {model['dropout']!r:.80}: ids would be left to chance")
        for key in ("continuing_subword_prefix", "end_of_word_suffix"):
            if model.get(key) not in (None, ""):
                self._refuse(f"model.{key} is {model[key]!r:.80}: such tokens are not byte-level")
        if model.get("unk_token") is not None:
            self._string(model["unk_token"], "model.unk_token")
        return model

    def _ids(self, model: Json) -> dict[str, int]:
        """Return the ids of the model's tokens by spelling."""
        ids = self._object(model.get("vocab"), "model.vocab")
        if self._cut_merges is not None or _are_distinct_ids(ids.values()):  # The engine has checked them.
            return cast(dict[str, int], ids)
        owner: dict[int, str] = {}
        for spelled, value in ids.items():
            token_id = self._id(value, f"model.vocab[{spelled!r:.80}]")
            if token_id in owner:
                self._refuse(
                    f"model.vocab: id {token_id} is given to {owner[token_id]!r:.80} and {spelled!r:.80}"
                )
            owner[token_id] = spelled
        return cast(dict[str, int], ids)

    def _never_met(
        self,
        ids: Collection[str],
        specials: Collection[str],
        flags: Mapping[str, Collection[str]],
        normalization: Sequence[Step],
    ) -> set[str]:
        """Return the added tokens that no merge can meet: each is cut out of a text wherever it stands."""
        if any("single_word" in names for names in flags.values()):
            return set()  # One that is left where it stands may hold another.
        normalizer = normalizing(normalization)
        return {
            text
            for text in specials
            if text in ids
            and text.isascii()
            and " " not in text
            and (not normalization or ("normalized" in flags.get(text, ()) and normalizer(text) == text))
        }

    def _has_bytes(self, ids: Collection[str]) -> bool:
        """Whether texts are spelled as bytes, and each is a token, so that nothing is ever unknown."""
        steps = steps_of(self._document.get("pre_tokenizer"), "pretokenizers")
        spells = any(isinstance(step, dict) and step.get("type") == "ByteLevel" for step in steps)
        return spells and all(to_printable(bytes([byte])) in ids for byte in IN_TEXTS)

    def _unknown(self, model: Json, ids: Mapping[str, int], merges: bytes) -> tuple[int, bool] | None:
        """Return the id of what has no token, and whether it stands once for successive ones."""
        text: str | None = model.get("unk_token")
        if text is None or text not in ids:
            return None
        if has_part(merges, text):
            self._refuse(f"model.unk_token is {text!r:.80}, which is a part of merges: it would be merged")
        return ids[text], self._flag(model, "model.fuse_unk", False)

    # Added tokens --------------------------------------------------------------------------------------

    def _added_tokens(self, ids: Mapping[str, int]) -> tuple[dict[str, int], set[str]]:
        """Return the ids of all added tokens, and those that are not special."""
        listed = self._list(self._document.get("added_tokens") or [], "added_tokens")
        specials: dict[str, int] = {}
        alike: dict[str, Json] = {}
        not_special: set[str] = set()
        next_id = len(ids)
        for index, value in enumerate(listed):
            place = f"added_tokens[{index}]"
            token = self._object(value, place)
            content = self._string(token.get("content"), f"{place}.content")
            if content in specials and token == alike[content]:
                continue  # Listed again, it is added once.
            if content in specials or not content:
                self._refuse(f"{place}: {content!r:.80} " + ("appears twice" if content else "is empty"))
            expected = ids.get(content, next_id)  # the id in the model, or else the first after all others
            token_id = self._id(token.get("id"), f"{place}.id")
            if token_id != expected:
                self._refuse(
                    f"{place} ({content!r:.80}) has id {token_id}, but tokenizers gives it {expected}; "
                    "an added token gets another id only by standing in model.vocab too"
                )
            specials[content], alike[content] = token_id, token
            next_id = max(next_id, token_id + 1)
            if not self._flag(token, f"{place}.special", False):
                not_special.add(content)
        return specials, not_special

    def _token_flags(
        self, specials: Mapping[str, int], normalization: Sequence[Step]
    ) -> dict[str, list[str]]:
        """Return the flags of added tokens. `normalized` only matters if normalizing changes a token, or if
        one token is searched first that may overlap with another, or whose flags may concern it."""
        flags: dict[str, list[str]] = {}
        second: list[str] = []
        for index, token in enumerate(self._document.get("added_tokens") or []):
            place, content = f"added_tokens[{index}]", token["content"]
            flags[content] = [
                flag
                for flag in ("single_word", "lstrip", "rstrip")
                if token.get(flag) is not False and self._flag(token, f"{place}.{flag}", False)
            ]
            if self._flag(token, f"{place}.normalized", not token.get("special", False)):
                second.append(content)
        first = set(specials) - set(second)
        if second and (normalization or (first and any(flags.values())) or overlap(first, second)):
            for content in second:
                flags[content].append("normalized")
            self._check_normalized_apart(second, normalization)
        return {content: names for content, names in flags.items() if names}

    def _check_normalized_apart(self, second: Sequence[str], normalization: Sequence[Step]) -> None:
        normalizer = normalizing(normalization)
        first: dict[str, str] = {}
        for content in second:
            normalized = normalizer(content)
            if not normalized:
                self._refuse(f"added token {content!r:.80} is nothing once normalized")
            other = first.setdefault(normalized, content)
            if other != content:
                self._refuse(f"added tokens {other!r:.80} and {content!r:.80} are the same once normalized")

    def _check_spaces(self, flags: Mapping[str, Collection[str]], has_marks: bool) -> None:
        """Refuse added tokens that are searched where the file's spaces are not ours."""
        steps = steps_of(self._document.get("pre_tokenizer"), "pretokenizers")
        later = "Metaspace" in types_of(steps)
        for text, names in flags.items():
            strips = {"lstrip", "rstrip"} & set(names)
            if has_marks and "normalized" in names and (strips or (later and {" ", MARK} & set(text))):
                self._refuse(
                    f"added token {text!r:.80} is normalized, and has spaces or takes white space, which is "
                    "not supported where spaces become U+2581"
                )

    # What happens before the model ---------------------------------------------------------------------

    def _read(self, read: Callable[[object], T], key: str) -> T:
        try:
            return read(self._document.get(key) if key else self._document)
        except ValueError as reason:
            refuse(self._path, str(reason))

    # What happens after the model ----------------------------------------------------------------------

    def _check_rest(self) -> None:
        decoders = steps_of(self._document.get("decoder"), "decoders")
        kinds = [self._object(step, "decoder").get("type") for step in decoders]
        if kinds and kinds != ["ByteLevel"]:
            self._refuse(f"decoder: {kinds[0]!r:.80} does not simply join the bytes of tokens")
        if not kinds:
            self._assumptions.append("decoding joins the bytes of tokens (the file has no decoder)")
        self._say_what_is_left_out()

    def _say_what_is_left_out(self) -> None:
        around = "no special tokens are put around a text (add_special_tokens=False)"
        for key in left_out(self._document):
            self._assumptions.append(around if key == "post_processor" else f"{key} is left out")


def left_out(document: Json) -> list[str]:
    """Return the keys of the parts that a vocabulary cannot hold; they do not change the ids of texts."""
    processors = steps_of(document.get("post_processor"), "processors")
    put_around = ["post_processor"] if types_of(filter(None, processors)) - {"ByteLevel"} else []
    return [*put_around, *(key for key in ("truncation", "padding") if document.get(key))]


def _are_distinct_ids(values: Collection[object]) -> bool:
    """Whether all values are distinct ids."""
    if not values or set(map(type, values)) != {int}:
        return False
    ids = cast("Collection[int]", values)
    return min(ids) >= 0 and max(ids) <= LARGEST_ID and len(set(ids)) == len(ids)


def _place(rank: int) -> str:
    """Where a merge stands in a file."""
    return f"model.merges[{rank}]"


def _without(ids: Mapping[str, int], left_out: Iterable[str]) -> dict[str, int]:
    rest = dict(ids)
    for spelled in left_out:
        rest.pop(spelled, None)
    return rest


# Writing -----------------------------------------------------------------------------------------------


def to_bytes(vocabulary: Vocabulary) -> bytes:
    """Return the `tokenizer.json` of a vocabulary; what the format cannot express is refused."""
    check_merges_bytes(vocabulary)
    ids = _written_ids(vocabulary)
    unknown, fuses = vocabulary.unknown or (None, False)
    document = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": _written_added_tokens(vocabulary),
        "normalizer": normalizer_of(steps_in(vocabulary.normalization)),
        "pre_tokenizer": pre_tokenizer_of(vocabulary.pattern),
        "post_processor": None,
        "decoder": pre_tokenizer_of(PATTERNS["gpt2"]),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": next((text for text, token_id in ids.items() if token_id == unknown), None),
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": fuses,
            "byte_fallback": False,
            "ignore_merges": vocabulary.whole_pretoken_first,
            "vocab": ids,
            "merges": [
                f"{to_printable(vocabulary.tokens[left])} {to_printable(vocabulary.tokens[right])}"
                for left, right in vocabulary.merges
            ],
        },
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def changed_bytes(vocabulary: Vocabulary, original: bytes) -> tuple[bytes, list[str]]:
    """Return the `tokenizer.json` of a vocabulary with all that a file of another one holds beside it: the
    template, truncation, padding and decoder. Special tokens in them get their ids here. Return also
    sentences about what could not be kept.
    """
    document, theirs = json.loads(to_bytes(vocabulary)), json.loads(original)
    for key in ("normalizer", "pre_tokenizer", "decoder"):
        document[key] = theirs.get(key)
    lost: list[str] = []
    for key, what in _BESIDE_IDS.items():
        try:
            document[key] = _renumbered(theirs.get(key), vocabulary.special_tokens)
        except KeyError as unknown:
            lost.append(f"{what}: left out, as {unknown.args[0]!r:.80} is not a special token")
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8"), lost


def _renumbered(part: Any, ids: Mapping[str, int]) -> Any:
    """Return a part of a file with the ids of its special tokens replaced; an unknown one is a KeyError."""
    if not isinstance(part, dict):
        return part
    part = dict(part)
    if part.get("type") == "Sequence":
        part["processors"] = [_renumbered(step, ids) for step in part["processors"]]
    for name in ("sep", "cls"):
        if isinstance(part.get(name), list):
            part[name] = [part[name][0], ids[part[name][0]]]
    if part.get("type") == "TemplateProcessing":
        part["special_tokens"] = {
            name: {**named, "ids": [ids[text] for text in named["tokens"]]}
            for name, named in part["special_tokens"].items()
        }
    if "pad_token" in part:
        part["pad_id"] = ids[part["pad_token"]]
    return part


def config_bytes(vocabulary: Vocabulary) -> bytes:
    """Return the `tokenizer_config.json` that tells transformers which tokens are special.

    `<|endoftext|>`, if it is one, ends texts.
    """
    added = _written_added_tokens(vocabulary)
    specials = [token["content"] for token in added if token["special"]]
    ending = {"eos_token": END_OF_TEXT_TOKEN} if END_OF_TEXT_TOKEN in specials else {}
    document = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "added_tokens_decoder": {
            str(token["id"]): {key: value for key, value in token.items() if key != "id"} for token in added
        },
        **ending,
        "additional_special_tokens": [text for text in specials if text not in ending.values()],
        "clean_up_tokenization_spaces": False,
    }
    return json.dumps(document, ensure_ascii=False, indent=2).encode("utf-8")


def _written_ids(vocabulary: Vocabulary) -> dict[str, int]:
    """Return the ids by spelling, including special tokens, which keep their ids only if they are listed."""
    spelled = {to_printable(token): token_id for token_id, token in vocabulary.tokens.items()}
    if len(spelled) != len(vocabulary.tokens):
        raise ValueError(
            "a tokenizer.json cannot hold two tokens of the same bytes; train with equal_tokens='shared'"
        )
    for text, token_id in vocabulary.special_tokens.items():
        if spelled.get(text, token_id) != token_id:
            raise ValueError(
                f"special token {text!r:.80} is spelled like token {spelled[text]} in a tokenizer.json"
            )
        if vocabulary.whole_pretoken_first and _spells_other_text(text):
            raise ValueError(
                f"special token {text!r:.80} cannot be written: "
                "its characters stand for other bytes in a tokenizer.json"
            )
        spelled[text] = token_id
    return dict(sorted(spelled.items(), key=lambda item: item[1]))


def _spells_other_text(text: str) -> bool:
    try:
        return from_printable(text) != text.encode("utf-8")
    except KeyError:
        return False


def _written_added_tokens(vocabulary: Vocabulary) -> list[Json]:
    return [
        {
            "id": token_id,
            "content": text,
            **{
                flag: flag in vocabulary.token_flags.get(text, ())
                for flag in ("single_word", "lstrip", "rstrip", "normalized")
            },
            "special": text not in vocabulary.added_tokens,
        }
        for text, token_id in sorted(vocabulary.special_tokens.items(), key=lambda item: item[1])
    ]
