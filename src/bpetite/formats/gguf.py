"""The metadata of a GGUF file in, a vocabulary out, where `tokenizer.ggml.model` is `gpt2`.

Only the metadata is read, however large the model behind it is. The pattern is not in the file: it has a name
for it, `tokenizer.ggml.pre`, whose meaning stands here.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Mapping
from typing import Any

from bpetite._internal.json import refuse
from bpetite._internal.types import Path
from bpetite.dialect import Dialect
from bpetite.formats.shared.imported import UNICODE_ASSUMPTION, Imported
from bpetite.formats.shared.pairs import lacking_bytes, merge_lines, vocabulary_of_pairs
from bpetite.patterns import PATTERNS, named_pattern

MAGIC = b"GGUF"

_MOST_ITEMS = 1 << 24
"""How many keys, and how many items in an array, a file may tell of: a vocabulary has far fewer."""

_LONGEST_KEY = 1 << 16
_STRING, _ARRAY = 8, 9
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}

_GPT2 = PATTERNS["gpt2"]
_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN2 = _WORDS.replace("{1,3}", "")
_CHINESE = "一-龥ࠀ-一가-퟿"
_STEPS = "(?then)".join
_TEKKEN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

_PATTERNS: dict[str, str] = {
    **dict.fromkeys(("gpt-2", "gpt2", "mpt", "olmo", "jais", "phi-2", "roberta-bpe", "jina-v2-de"), _GPT2),
    **dict.fromkeys(("jina-v2-es", "jina-v2-code", "jina-v1-en", "trillion"), _GPT2),
    **dict.fromkeys(
        ("starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b"),
        _STEPS([r"\p{N}", _GPT2]),
    ),
    **dict.fromkeys(
        ("llama3", "llama-v3", "llama-bpe", "falcon3", "pixtral", "dbrx", "smaug-bpe", "glm4", "chatglm-bpe"),
        _WORDS,
    ),
    **dict.fromkeys(("qwen2", "stablelm2", "deepseek-r1-qwen", "hunyuan"), _QWEN2),
    **dict.fromkeys(("gpt-4o", "llama4"), PATTERNS["o200k"]),
    "tekken": _TEKKEN,
    "deepseek-coder": _STEPS([r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", f"[{_CHINESE}]+", r"\p{N}"]),
    "deepseek-v3": _STEPS(
        [
            r"\p{N}{1,3}",
            "[一-龥぀-ゟ゠-ヿ]+",
            r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"""
            r"|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ]
    ),
}
"""The patterns by the names that GGUF files have for them."""

_WHOLE_FIRST = frozenset(
    {"llama3", "llama-v3", "llama-bpe", "falcon3", "pixtral", "tekken", "gpt-4o", "llama4"}
)
"""Where a pretoken that is a token gets its id before any merge is tried."""

_OTHER_MODELS = {
    "llama": "SentencePiece's BPE",
    "bert": "WordPiece",
    "t5": "SentencePiece's Unigram",
    "rwkv": "RWKV's tokenizer",
    "plamo2": "PLaMo's tokenizer",
    "none": "no tokenizer at all",
}
_CONTROL, _USER_DEFINED, _UNUSED = 3, 4, 5


def read(path: Path, pattern: str | None = None) -> Imported:
    """Read a file; a `pattern` that is given is used where the file has no known name for it."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        fields = _Reader(path, content).fields()
    model = fields.get("tokenizer.ggml.model")
    if model != "gpt2":
        what = _OTHER_MODELS.get(str(model), f"a tokenizer of kind {model!r:.40}")
        refuse(path, f"it holds {what}, which cannot be read; only byte-level BPE ('gpt2') can")
    texts = _list_of(path, fields, "tokenizer.ggml.tokens", str)
    merges = _list_of(path, fields, "tokenizer.ggml.merges", str)
    kinds = _list_of(path, fields, "tokenizer.ggml.token_type", int)
    if len(kinds) != len(texts):
        refuse(path, f"tokenizer.ggml.token_type has {len(kinds)} values for {len(texts)} tokens")
    name = fields.get("tokenizer.ggml.pre")
    used = _PATTERNS.get(str(name)) or (named_pattern(pattern) if pattern else None)
    if used is None:
        refuse(path, f"tokenizer.ggml.pre: the pattern called {name!r:.60} is not known; give the pattern")
    specials, added = _special_tokens(path, texts, kinds)
    special_ids = set(specials.values())
    ids = {text: token_id for token_id, text in enumerate(texts) if token_id not in special_ids}
    if len(ids) + len(specials) != len(texts):
        refuse(path, "tokenizer.ggml.tokens: a token appears twice")
    vocabulary = vocabulary_of_pairs(
        path,
        ids,
        merge_lines(path, merges, "tokenizer.ggml.merges"),
        special_tokens=specials,
        pattern=used,
        dialect=Dialect.named("huggingface").replace(special_ids="last"),
        whole_pretoken_first=name in _WHOLE_FIRST,
        added_tokens=added,
        place="tokenizer.ggml.merges[{}]".format,
    )
    source = f"which the file calls {name!r}" if str(name) in _PATTERNS else "given"
    said = [f"pretokens are cut by {used!r} ({source})", *lacking_bytes(vocabulary), UNICODE_ASSUMPTION]
    return Imported(vocabulary, said)


def _list_of(path: Path, fields: Mapping[str, Any], key: str, kind: type) -> list[Any]:
    found = fields.get(key)
    if not isinstance(found, list) or not set(map(type, found)) <= {kind}:
        refuse(path, f"{key} must be an array of {'strings' if kind is str else 'integers'}")
    return found


def _special_tokens(path: Path, texts: list[str], kinds: list[int]) -> tuple[dict[str, int], set[str]]:
    """The ids of special tokens, and which of them stand for text."""
    specials: dict[str, int] = {}
    added = set()
    for token_id, (text, kind) in enumerate(zip(texts, kinds, strict=True)):
        if kind in (_CONTROL, _USER_DEFINED) and text:
            if text in specials:
                refuse(path, f"tokenizer.ggml.tokens: special token {text!r:.80} appears twice")
            specials[text] = token_id
            if kind == _USER_DEFINED:
                added.add(text)
    return specials, added


class _Reader:
    """The metadata of one file, read from its beginning on."""

    def __init__(self, path: Path, content: mmap.mmap) -> None:
        self._path = path
        self._content = content
        self._at = len(MAGIC)

    def fields(self) -> dict[str, Any]:
        """All keys with their values."""
        version = self._number("I")
        if version not in (2, 3):
            refuse(self._path, f"GGUF of version {version & 0xFFFF} cannot be read; 2 and 3 can")
        self._number("Q")  # how many tensors follow
        found: dict[str, Any] = {}
        for _ in range(self._count(13)):
            key = self._string(_LONGEST_KEY)
            if key in found:
                refuse(self._path, f"key {key!r:.80} appears twice")
            wanted = key.startswith("tokenizer.ggml.")
            found[key] = self._value(self._number("I"), key, wanted=wanted)
        return found

    def _value(self, kind: int, key: str, *, wanted: bool) -> Any:
        if kind == _STRING:
            return self._string(len(self._content))
        if kind == _ARRAY:
            return self._array(key, wanted=wanted)
        if kind not in _NUMBERS:
            refuse(self._path, f"{key!r:.80}: there is no kind of value {kind}")
        return self._number(_NUMBERS[kind])

    def _array(self, key: str, *, wanted: bool) -> list[Any]:
        kind = self._number("I")
        if kind == _STRING:
            items = [self._string(len(self._content)) for _ in range(self._count(8))]
            return items if wanted else []
        if kind not in _NUMBERS:
            refuse(self._path, f"{key!r:.80}: an array of kind {kind} cannot be read")
        size = struct.calcsize(_NUMBERS[kind])
        count = self._count(size)
        start = self._skip(count * size)
        return list(struct.unpack_from(f"<{count}{_NUMBERS[kind]}", self._content, start)) if wanted else []

    def _count(self, size: int) -> int:
        """How many things of at least `size` bytes follow."""
        count = self._number("Q")
        if count > min(_MOST_ITEMS, (len(self._content) - self._at) // size):
            refuse(self._path, f"cut off, or broken, at byte {self._at}: there are no {count} items")
        return count

    def _number(self, kind: str) -> int:
        start = self._skip(struct.calcsize(f"<{kind}"))
        number: int = struct.unpack_from(f"<{kind}", self._content, start)[0]
        return number

    def _string(self, longest: int) -> str:
        length = self._number("Q")
        if length > longest:
            refuse(self._path, f"cut off, or broken, at byte {self._at}: a string of {length} bytes")
        start = self._skip(length)
        try:
            return self._content[start : start + length].decode("utf-8")
        except UnicodeDecodeError as error:
            refuse(self._path, f"not valid UTF-8 at byte {start + error.start}")

    def _skip(self, size: int) -> int:
        """Go on, and return where that began."""
        start = self._at
        if size > len(self._content) - start:
            refuse(self._path, f"cut off at byte {len(self._content)}")
        self._at += size
        return start
