"""The metadata of a GGUF file in, a vocabulary out, where `tokenizer.ggml.model` is `gpt2` or `llama`.

Only the metadata is read, not the weights. The file has no pattern, only a name for it,
`tokenizer.ggml.pre`; the patterns of these names are defined here.
"""

import mmap
import os
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from bpetite._constants import Pattern
from bpetite._internal.types import AnyPath
from bpetite.dialect import Dialect
from bpetite.encoding.template import Template, template_of
from bpetite.formats import sentencepiece
from bpetite.formats.shared.imported import Imported, has_id
from bpetite.formats.shared.pairs import packed_merges, vocabulary_of_pairs
from bpetite.patterns import PATTERNS, named_pattern
from bpetite.vocabulary import MARK

MAGIC = b"GGUF"

_MOST_ITEMS = 1 << 24
"""The maximum number of keys, and of items in an array: a vocabulary has far fewer."""

_LEAST_FIELD = 8 + 4 + 1
"""The bytes of the smallest key: the length of its name, the kind of its value, and a value of one byte."""

_STRING, _ARRAY = 8, 9
_NUMBERS = dict(zip((*range(8), 10, 11, 12), "BbHhIif?Qqd", strict=True))
"""The kinds of numbers, and how `struct` calls them."""

_GPT2, _QWEN2, _O200K = PATTERNS["gpt2"], PATTERNS["qwen2"], PATTERNS["o200k"]
_NO_STOPS = " ?[^(\\s|.,!?…。，、।۔،)]+"
_CHINESE = "[一-龥ࠀ-一가-퟿]+"
_NAMES: tuple[tuple[Pattern, str], ...] = (
    (
        _GPT2,
        "gpt-2 gpt2 mpt olmo jais phi-2 roberta-bpe jina-es jina-de jina-v1-en jina-v2-es jina-v2-de",
    ),
    (_GPT2, "jina-v2-code gigachat a.x-4.0 mellum modern-bert exaone4 trillion granite-docling"),
    (
        PATTERNS["starcoder"],
        "starcoder refact command-r smollm codeshell exaone minerva-7b mellum2",
    ),
    (
        PATTERNS["llama3"],
        "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
    ),
    (PATTERNS["llama3"], "dbrx smaug-bpe glm4 chatglm-bpe"),
    (_QWEN2, "qwen2 deepseek-r1-qwen kormo f2llmv2 megrez stablelm2 hunyuan solar-open grok-2"),
    (PATTERNS["qwen3.5"], "qwen35"),
    (_O200K, "gpt-4o llama4 kanana2 talkie minimax-m2 granite-embed-multi-97m"),
    (PATTERNS["tekken"], "tekken"),
    (PATTERNS["kimi-k2"], "kimi-k2"),
    (PATTERNS["deepseek-v3"], "deepseek-v3 hunyuan-dense joyai-llm hy_v4"),
    ((r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", _CHINESE, r"\p{N}"), "deepseek-coder"),
    ((r"[\p{P}$+<=>^~|`]+", _GPT2, "[0-9][0-9][0-9]"), "falcon"),
    ((r"[\p{P}$+<=>^~|]+", _GPT2, r"\p{N}+", "[0-9][0-9][0-9]"), "default"),
    (_NO_STOPS, "poro-chat bloom gpt3-finnish"),
    ((_NO_STOPS, r"\p{N}"), "viking"),
)
_PATTERNS = {name: pattern for pattern, names in _NAMES for name in names.split()}
"""The patterns by the names that GGUF files have for them, as llama.cpp publishes them."""

_FIRST_BY_DEFAULT = {
    "llama3",
    "llama-v3",
    "llama-bpe",
    "falcon3",
    "falcon-h1",
    "pixtral",
    "midm-2.0",
    "lfm2",
    "jina-v5-nano",
    "tekken",
}
"""The names for which a text begins with the first token unless the file says otherwise."""

_WHOLE_FIRST = _FIRST_BY_DEFAULT | {
    "gpt-4o",
    "llama4",
    "minicpm5",
    "youtu",
    "granite-embed-multi-97m",
}
"""The names whose pretokens are looked up as whole tokens before any merge."""

_CONTROL, _USER_DEFINED = 3, 4
_NAMES_OF = {str: "strings", int: "integers", float: "numbers"}


def read(path: AnyPath, pattern: Pattern | None = None) -> Imported:
    """Read a file; `pattern` is used if the file's name for its pattern is unknown."""
    if not os.path.isfile(path):
        raise ValueError("GGUF needs random access, which a pipe does not have: pass a file")
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        fields, has_weights = _Reader(content).fields()
        kept = {} if has_weights else {path: content[:]}
    model = fields.get("tokenizer.ggml.model")
    read_model = {"gpt2": _of_pairs, "llama": _of_pieces}.get(str(model))
    if not model:
        raise ValueError("it holds no tokenizer")
    if read_model is None:
        kind = f"of kind {model!r:.40}, which cannot be read; only BPE ('gpt2', 'llama') can"
        raise ValueError(f"its tokenizer is {kind}")
    imported = read_model(fields, pattern)
    template = _template(fields, is_known=partial(has_id, imported.vocabulary))
    imported = imported._replace(extras=list(_extras(fields)), template=template)
    return imported.read_from("gguf", kept)


def _extras(fields: Mapping[str, Any]) -> Iterator[str]:
    """Return sentences about what the file has and a vocabulary cannot hold."""
    if any(key.startswith("tokenizer.chat_template") for key in fields):
        yield "the chat template"
    if any(key.endswith("_token_id") for key in fields if key.startswith("tokenizer.ggml.")):
        yield "which special tokens begin, end and pad texts"


def _template(fields: Mapping[str, Any], is_known: Callable[[object], bool]) -> Template | None:
    """Return what llama.cpp puts around a text: what the file says, or else its default for this kind."""
    is_of_pieces = fields["tokenizer.ggml.model"] == "llama"
    name = str(fields.get("tokenizer.ggml.pre"))
    adds_first = fields.get(
        "tokenizer.ggml.add_bos_token", is_of_pieces or name in _FIRST_BY_DEFAULT
    )
    adds_last = fields.get("tokenizer.ggml.add_eos_token", False)
    # The default ids are those of llama.cpp.
    first = fields.get("tokenizer.ggml.bos_token_id", 1 if is_of_pieces else 11)
    last = fields.get("tokenizer.ggml.eos_token_id", 2 if is_of_pieces else 11)
    prefix = [first] if adds_first is True and is_known(first) else []
    suffix = [last] if adds_last is True and is_known(last) else []
    return template_of(prefix, suffix)


def _of_pairs(fields: Mapping[str, Any], pattern: Pattern | None) -> Imported:
    """Read byte-level BPE."""
    texts = _list_of(fields, "tokenizer.ggml.tokens", str)
    merges = _list_of(fields, "tokenizer.ggml.merges", str)
    kinds = _list_of(fields, "tokenizer.ggml.token_type", int)
    if len(kinds) != len(texts):
        raise ValueError(
            f"tokenizer.ggml.token_type has {len(kinds)} values for {len(texts)} tokens"
        )
    name = fields.get("tokenizer.ggml.pre")
    used_pattern = _PATTERNS.get(str(name))
    assumptions = []
    if used_pattern is not None:
        assumptions = [
            f"the file only names its pattern, {name!r}: llama.cpp's pattern of that name is used"
        ]
    elif pattern:
        used_pattern = named_pattern(pattern)
    elif name is None:
        missing = "is missing, so the file does not say its pattern"
        raise ValueError(f"tokenizer.ggml.pre {missing}; give the pattern")
    else:
        raise ValueError(
            f"tokenizer.ggml.pre: the pattern called {name!r:.60} is not known; give the pattern"
        )
    ids = dict(zip(texts, range(len(texts)), strict=True))
    if len(ids) < len(texts):
        [(repeated, _)] = Counter(texts).most_common(1)
        raise ValueError(f"tokenizer.ggml.tokens: {repeated!r:.80} appears twice")
    kind_of = dict(zip(texts, kinds, strict=True))
    specials = {text for text, kind in kind_of.items() if kind in (_CONTROL, _USER_DEFINED)}
    specials.discard("")
    vocabulary = vocabulary_of_pairs(
        {text: token_id for text, token_id in ids.items() if text not in specials},
        packed_merges(merges, "tokenizer.ggml.merges"),
        special_tokens={text: ids[text] for text in specials},
        pattern=used_pattern,
        dialect=Dialect.named("huggingface").replace(special_ids="last"),
        whole_pretoken_first=name in _WHOLE_FIRST,
        added_tokens={text for text in specials if kind_of[text] == _USER_DEFINED},
        place="tokenizer.ggml.merges[{}]".format,
        repeated="first",
    )
    return Imported(vocabulary, assumptions)


def _of_pieces(fields: Mapping[str, Any], pattern: Pattern | None) -> Imported:
    """Read SentencePiece's BPE, which has no pattern."""
    texts = _list_of(fields, "tokenizer.ggml.tokens", str)
    scores = _list_of(fields, "tokenizer.ggml.scores", float)
    kinds = _list_of(fields, "tokenizer.ggml.token_type", int)
    if not len(texts) == len(scores) == len(kinds):
        lengths = f"{len(texts)} tokens, {len(scores)} scores and {len(kinds)} types"
        raise ValueError(f"tokenizer.ggml has {lengths}")
    if fields.get("tokenizer.ggml.remove_extra_whitespaces"):
        raise ValueError("it removes white space, so decoding could not restore a text")
    pieces = []
    for text, score, kind in zip(texts, scores, kinds, strict=True):
        # Here, user-defined pieces are searched in the text as it is, so their spaces stand for
        # spaces.
        spelled = text.replace(" ", MARK) if kind == _USER_DEFINED else text
        pieces.append(sentencepiece.Piece(spelled, score, kind))
    puts_space = fields.get("tokenizer.ggml.add_space_prefix", True) is not False
    return sentencepiece.of_pieces(pieces, puts_space=puts_space)


def _list_of(fields: Mapping[str, Any], key: str, kind: type) -> list[Any]:
    values = fields.get(key)
    if not isinstance(values, list) or not set(map(type, values)) <= {kind}:
        raise ValueError(f"{key} must be an array of {_NAMES_OF[kind]}")
    return values


class _Reader:
    """Reads the metadata of one file from the beginning."""

    def __init__(self, content: mmap.mmap) -> None:
        self._content = content
        self._at = len(MAGIC)

    def fields(self) -> tuple[dict[str, Any], bool]:
        """Return all keys, those of the tokenizer with their values; and whether the file holds weights."""
        version = self._number("I")
        if version not in (2, 3):
            raise ValueError(f"GGUF of version {version & 0xFFFF} cannot be read; 2 and 3 can")
        has_weights = self._number("Q") > 0
        fields: dict[str, Any] = {}
        for _ in range(self._count(_LEAST_FIELD)):
            key = self._string()
            if key in fields:
                raise ValueError(f"key {key!r:.80} appears twice")
            value = self._value(self._number("I"), key)
            fields[key] = value if key.startswith("tokenizer.ggml.") else None
        return fields, has_weights

    def _value(self, kind: int, key: str) -> Any:
        is_array = kind == _ARRAY
        if is_array:
            kind = self._number("I")
        form = _NUMBERS.get(kind, "Q")  # A string begins with its length.
        if kind not in (_STRING, *_NUMBERS):
            what = "an array" if is_array else "a value"
            raise ValueError(f"{key!r:.80}: {what} of kind {kind} cannot be read")
        size = struct.calcsize(form)
        count = self._count(size) if is_array else 1
        if kind == _STRING:
            values = [self._string() for _ in range(count)]
        else:
            start = self._skip(count * size)
            values = list(struct.unpack_from(f"<{count}{form}", self._content, start))
        return values if is_array else values[0]

    def _count(self, size: int) -> int:
        """Return the number of items that follow, each of at least `size` bytes."""
        count: int = self._number("Q")
        room = (len(self._content) - self._at) // size
        if count > min(_MOST_ITEMS, room):
            raise ValueError(f"cut off, or broken, at byte {self._at}: {count} items cannot follow")
        return count

    def _number(self, kind: str) -> Any:
        form = f"<{kind}"
        start = self._skip(struct.calcsize(form))
        return struct.unpack_from(form, self._content, start)[0]

    def _string(self) -> str:
        length = self._number("Q")
        start = self._skip(length)
        try:
            return self._content[start : start + length].decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"not valid UTF-8 at byte {start + error.start}") from None

    def _skip(self, size: int) -> int:
        """Skip bytes, and return where they begin."""
        start = self._at
        if size > len(self._content) - start:
            raise ValueError(f"cut off, or broken, at byte {start}: {size} more bytes are needed")
        self._at += size
        return start
