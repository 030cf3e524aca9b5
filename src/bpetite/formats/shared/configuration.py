"""The files of a model's folder that configure its tokenizer in, the tokens and settings that they name out.

`tokenizer_config.json`, and in older folders `special_tokens_map.json` and `added_tokens.json`, say
which texts are tokens of their own, as transformers reads them.
"""

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from operator import itemgetter
from typing import Any, NamedTuple, cast

from bpetite._internal.json import Json, naming, parse_object, refuse, type_name
from bpetite._internal.types import AnyPath
from bpetite.encoding.template import Template, template_of
from bpetite.vocabulary import LARGEST_ID

CONFIGURATION = "tokenizer_config.json"

LARGEST = 1 << 26
"""The maximum size of a file beside a tokenizer, in bytes."""

MODEL_CONFIGURATION = "config.json"

SPECIAL_TOKENS, _ADDED = "special_tokens_map.json", "added_tokens.json"

NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_LISTED = ("extra_special_tokens", "additional_special_tokens")
FLAGS = ("single_word", "lstrip", "rstrip")
"""How tokens may be matched, beside `normalized`."""

_GPT2 = dict.fromkeys(("bos_token", "eos_token", "unk_token"), "<|endoftext|>")
_ROBERTA = dict(zip(NAMED, ("<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"), strict=True))
_DEBERTA = dict(
    zip(NAMED, ("[CLS]", "[SEP]", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"), strict=True)
)
DEFAULTS: Mapping[str, Mapping[str, str]] = {
    **dict.fromkeys(("GPT2", "GPTNeo", "CodeGen"), _GPT2),
    **dict.fromkeys(("Roberta", "Bart", "Longformer", "LED", "Blenderbot"), _ROBERTA),
    "Deberta": _DEBERTA,
    "OpenAIGPT": {"unk_token": "<unk>"},
    "Qwen2": dict.fromkeys(("eos_token", "unk_token", "pad_token"), "<|endoftext|>"),
}
"""The special tokens of the kinds of tokenizer whose two files can be read."""

_MASK = "mask_token"
_MASK_TAKES_SPACE = {"Roberta", "Bart", "Longformer", "LED", "Blenderbot", "Deberta"}
"""Kinds whose mask token takes the white space before it, unless an object says otherwise: their models were
trained so, and their published tokenizer.json files say it."""

TAKES_SPACE_EVERYWHERE = {"Blenderbot"}
"""Those of which transformers 5 still says so; for the others, only transformers 4 does."""

_ALWAYS_AROUND = {"Roberta", "Bart", "Longformer", "LED", "Deberta"}
"""Kinds that put the tokens of classification around every text."""

SHIFTED = {
    *(
        "Barthez",
        "Bartpho",
        "Camembert",
        "LayoutXLM",
        "M2M100",
        "MBart",
        "MBart50",
        "MLuke",
        "Nllb",
    ),
    *("PLBart", "Pegasus", "SeamlessM4T", "XGLM", "XLMRoberta"),
}
"""Kinds that number the pieces of a SentencePiece model anew: as fairseq does (`<s>`, `<pad>`, `</s>` and
`<unk>` first, the pieces one place later), behind more tokens (Pegasus), or by a list of their own."""

_KINDS = {kind.lower(): kind for kind in (*DEFAULTS, *SHIFTED, "CLIP", "Whisper")}
_KINDS |= dict.fromkeys(("gptj", "opt"), "GPT2")
_QWEN2_TYPES = "2moe 2vl 2audio 25vl 25omni 3 3asr 3moe 3next 3omnimoe 3vl 3vlmoe"
_KINDS |= {f"qwen{ending}": "Qwen2" for ending in _QWEN2_TYPES.split()}
_KINDS |= dict.fromkeys(("pegasusx", "bigbirdpegasus"), "Pegasus")
_KINDS |= dict.fromkeys(("robertaprelayernorm", "data2vectext", "ibert"), "Roberta")
_KINDS |= {"nllbmoe": "Nllb", "seamlessm4tv2": "SeamlessM4T"}
_KINDS |= dict.fromkeys(
    ("xlmrobertaxl", "xmod", "gte", "jinaembeddingsv3", "metaclip2", "trocr"), "XLMRoberta"
)
"""The kinds of tokenizer of models whose folders do not always name them, by the letters and digits of the
models' types."""


class NamedToken(NamedTuple):
    """What a configuration says of a token."""

    token_id: int | None = None
    flags: tuple[str, ...] = ()
    is_special: bool = True
    is_normalized: bool = False
    """Whether it is searched in normalized text."""


class Configuration(NamedTuple):
    """What the files beside a tokenizer say."""

    kind: str | None = None
    """The class of transformers, without `Tokenizer` and `Fast`."""

    tokens: Mapping[str, NamedToken] = {}
    """The tokens, in the order in which those without an id get theirs."""

    puts_space: bool = False
    """Whether a space is put before a text."""

    is_of_model: bool = False
    """Whether the kind is known from the model's `config.json`."""

    mask_taking_space: str | None = None
    """The mask token, if its kind alone says that it takes the white space before it."""

    prefix: tuple[str, ...] = ()
    """The tokens that transformers puts before a text."""

    suffix: tuple[str, ...] = ()
    """The tokens that transformers puts after a text."""

    unknown: str | None = None
    """The token for what has none."""

    @property
    def ids(self) -> dict[str, int]:
        """The tokens whose ids the files specify."""
        return {
            text: token.token_id
            for text, token in self.tokens.items()
            if token.token_id is not None
        }

    def template(self, special_tokens: Mapping[str, int]) -> Template | None:
        """Return what is put around a text; a token that is not special puts nothing there.

        >>> Configuration(prefix=("<s>",), suffix=("</s>",)).template({"<s>": 1})
        Template(prefix=(1,), suffix=())
        """
        prefix = [special_tokens[text] for text in self.prefix if text in special_tokens]
        suffix = [special_tokens[text] for text in self.suffix if text in special_tokens]
        return template_of(prefix, suffix)


def read_configuration(folder: AnyPath) -> Configuration:
    """Read the configuration of a folder; one without any gives an empty one."""
    settings = _document(folder, CONFIGURATION)
    named = settings.get("tokenizer_class")
    is_of_model = not isinstance(named, str)
    kind = _kind_of_model(folder) if is_of_model else re.sub(r"Tokenizer(?:Fast)?$", "", str(named))
    decoder = settings.get("added_tokens_decoder")
    if not isinstance(decoder, dict):
        settings |= _document(folder, SPECIAL_TOKENS)
    with naming(os.path.join(folder, CONFIGURATION)):
        settings = {**DEFAULTS.get(kind or "", {}), **settings}
        mask = settings.get(_MASK)
        by_kind = mask if kind in _MASK_TAKES_SPACE and isinstance(mask, str) else None
        if by_kind is not None:
            settings[_MASK] = {"content": mask, "lstrip": True}
        special = _special(settings)
        if isinstance(decoder, dict):
            tokens = _tokens(
                (text_of(token), _number(key), token) for key, token in decoder.items()
            )
    if not isinstance(decoder, dict):
        added = _document(folder, _ADDED)
        with naming(os.path.join(folder, _ADDED)):
            tokens = _tokens(
                (text, own, {"special": text in special}) for text, own in added.items()
            )
    if by_kind in tokens or not special.get(by_kind or "", NamedToken()).flags:
        by_kind = None  # The file of ids describes it, or another role that it has.
    for text, token in special.items():
        tokens.setdefault(text, token)
    puts_space = settings.get("add_prefix_space", kind == "Blenderbot")
    is_of_model = kind is not None and is_of_model
    around = _around(settings, kind)
    unknown = cast(str | None, text_of(settings.get("unk_token")))
    return Configuration(kind, tokens, puts_space is True, is_of_model, by_kind, *around, unknown)


def _around(settings: Json, kind: str | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the tokens that transformers puts before and after a text."""
    if kind in _ALWAYS_AROUND:
        before, after = settings.get("cls_token"), settings.get("sep_token")
    else:
        adds_first = settings.get("add_bos_token", kind == "CodeLlama") is True
        adds_last = settings.get("add_eos_token") is True
        before = settings.get("bos_token") if adds_first else None
        after = settings.get("eos_token") if adds_last else None
    first, last = text_of(before), text_of(after)
    return (first,) if isinstance(first, str) else (), (last,) if isinstance(last, str) else ()


def roles_in(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return what special tokens are for, such as `eos_token`, as the files of a folder say it.

    >>> roles_in({"special_tokens_map.json": b'{"pad_token": "<pad>"}'})
    {'pad_token': '<pad>'}
    """
    settings = parse_object(CONFIGURATION, files.get(CONFIGURATION, b"{}"), f"a {CONFIGURATION}")
    if not isinstance(
        settings.get("added_tokens_decoder"), dict
    ):  # Beside these, the map is not read.
        settings |= parse_object(
            SPECIAL_TOKENS, files.get(SPECIAL_TOKENS, b"{}"), f"a {SPECIAL_TOKENS}"
        )
    texts = {key: text_of(settings.get(key)) for key in NAMED}
    return {key: text for key, text in texts.items() if isinstance(text, str)}


def _kind_of_model(folder: AnyPath) -> str | None:
    """Return the kind of tokenizer of a model by its `config.json`, which may hold anything."""
    named = None
    with suppress(OSError, ValueError):
        named = _document(folder, MODEL_CONFIGURATION).get("model_type")
    return _KINDS.get(re.sub(r"[-_]", "", named).lower()) if isinstance(named, str) else None


def _document(folder: AnyPath, name: str) -> Json:
    path = os.path.join(folder, name)
    if os.path.isdir(path):
        refuse(path, "it is a folder")
    if not os.path.isfile(path):
        return {}
    if os.path.getsize(path) > LARGEST:
        refuse(path, f"it has more than {LARGEST} bytes, which no {name} needs")
    with open(path, "rb") as file:
        return parse_object(path, file.read(), f"a {name}")


def text_of(token: object) -> object:
    """Return the text of a token, which may be an object."""
    return token.get("content") if isinstance(token, dict) else token


def _number(key: str) -> int | None:
    return int(key) if key.isascii() and key.isdecimal() and len(key) < 11 else None


def _tokens(listed: Iterable[tuple[object, object, Any]]) -> dict[str, NamedToken]:
    """Return the tokens of a file, of texts, ids and flags, in the order of their ids."""
    ids: dict[int, tuple[str, Any]] = {}
    for text, token_id, token in listed:
        is_id = type(token_id) is int and 0 <= token_id <= LARGEST_ID and token_id not in ids
        if not is_id or not text or not isinstance(text, str) or not isinstance(token, dict):
            raise ValueError(
                f"{text!r:.40} with the id {token_id!r:.40} is not a token with an id of its own"
            )
        text.encode("utf-8")
        ids[cast(int, token_id)] = text, token
    return {
        text: _token(token, token_id, is_special=token.get("special") is True)
        for token_id, (text, token) in sorted(ids.items(), key=itemgetter(0))
    }


def _special(settings: Json) -> dict[str, NamedToken]:
    """Return the special tokens that settings name."""
    named = [(name, settings.get(name)) for name in NAMED]
    for name in _LISTED:
        several = [] if settings.get(name) is None else settings[name]
        if not isinstance(several, dict | list):
            raise ValueError(f"{name} must be a list of tokens, not {type_name(several)}")
        named += [
            (name, one) for one in (several.values() if isinstance(several, dict) else several)
        ]
    found: dict[str, NamedToken] = {}
    for name, one in named:
        text = text_of(one)
        if one is None or text == "":
            continue
        if not isinstance(text, str):
            raise ValueError(f"{name}: {text!r:.40} is not the text of a token")
        text.encode("utf-8")
        found.setdefault(text, _token(one if isinstance(one, dict) else {}))
    return found


def _token(token: Json, token_id: int | None = None, *, is_special: bool = True) -> NamedToken:
    flags = tuple(flag for flag in FLAGS if token.get(flag) is True)
    is_normalized = token.get("normalized", not is_special) is True
    return NamedToken(token_id, flags, is_special, is_normalized)
