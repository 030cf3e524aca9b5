"""The interface of tiktoken: `from bpetite.interfaces import tiktoken` replaces `import tiktoken`.

`get_encoding` and `encoding_for_model` read the published files, and download nothing. An
`Encoding` is any of our tokenizers with the arguments, defaults and exceptions of
`tiktoken.Encoding`; `encode_with_unstable` and private methods are left out. The private attributes
are there from which encodings are extended, as tiktoken's documentation shows. Of overlapping
special tokens, the longest wins; tiktoken does not say which.
"""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from itertools import cycle
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

from bpetite._engine import Encoder
from bpetite._internal.lazy import numpy as np
from bpetite._internal.once import once
from bpetite._internal.types import AnyPath, Special
from bpetite.encoding.encoder import encoder_of
from bpetite.encoding.fitting import any_of
from bpetite.formats.shared.caches import tiktoken_cache
from bpetite.formats.shared.published import ENCODINGS, encoding_of_model, url_of
from bpetite.formats.tiktoken import check_expressible, covering_pattern, published_encoding
from bpetite.vocabulary import LARGEST_ID, Vocabulary

if TYPE_CHECKING:
    from numpy.typing import NDArray

_Specials = Literal["all"] | AbstractSet[str]
_Disallowed = Literal["all"] | Collection[str]
_END_OF_TEXT = "<|endoftext|>"


def list_encoding_names() -> list[str]:
    """Return the names of all encodings.

    >>> "cl100k_base" in list_encoding_names()
    True
    """
    return list(ENCODINGS)


def encoding_name_for_model(model_name: str) -> str:
    """Return the name of a model's encoding; a model that is not known is a `KeyError`.

    >>> encoding_name_for_model("gpt-4o")
    'o200k_base'
    """
    encoding = encoding_of_model(model_name)
    if encoding is None:
        raise KeyError(
            f"the encoding of {model_name!r:.80} is not known; name it with get_encoding"
        )
    return encoding


def encoding_for_model(model_name: str, folder: AnyPath | None = None) -> Encoding:
    """Return the encoding of a model, as `get_encoding` does.

    >>> encoding_for_model("gpt-9")
    Traceback (most recent call last):
    KeyError: "the encoding of 'gpt-9' is not known; name it with get_encoding"
    """
    return get_encoding(encoding_name_for_model(model_name), folder)


def get_encoding(encoding_name: str, folder: AnyPath | None = None) -> Encoding:
    """Return an encoding, of its published file in a folder, or else in tiktoken's cache.

    The file has its own name, or that of tiktoken's cache. For `gpt2` and `r50k_base`, GPT-2's two
    files are as good. Nothing is downloaded: a `FileNotFoundError` says what to put where.

    >>> get_encoding("p50k_base", "/no/folder")
    Traceback (most recent call last):
    FileNotFoundError: /no/folder: p50k_base.tiktoken is not there; get it from \
https://openaipublic.blob.core.windows.net/encodings/p50k_base.tiktoken, or name its folder
    """
    if encoding_name not in ENCODINGS:
        raise ValueError(
            f"unknown encoding {encoding_name!r:.80}; the known ones are {', '.join(ENCODINGS)}"
        )
    return _read(encoding_name, tiktoken_cache() if folder is None else os.fspath(folder))


@cache
def _read(name: str, folder: str) -> Encoding:
    published = published_encoding(name, folder)
    if published is None:
        file = f"{ENCODINGS[name]}.tiktoken"
        url = url_of(f"encodings/{file}")
        raise FileNotFoundError(
            f"{folder}: {file} is not there; get it from {url}, or name its folder"
        )
    return Encoding(name, published.vocabulary)


class Encoding:
    """A tokenizer with the interface of `tiktoken.Encoding`."""

    def __init__(self, name: str, vocabulary: Vocabulary, encoder: Encoder | None = None) -> None:
        self.name = name
        self._vocabulary = vocabulary
        self._encoder = encoder or encoder_of(vocabulary)
        self._special_tokens = dict(vocabulary.special_tokens)
        self.max_token_value = max([*vocabulary.tokens, *self._special_tokens.values()])

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    def __reduce__(self) -> tuple[object, ...]:
        return Encoding, (self.name, self._vocabulary)

    # Encoding
    # ----------------------------------------------------------------------------------------

    def encode_ordinary(self, text: str) -> list[int]:
        """Encode text; special tokens are ordinary text."""
        return self._encoder.encode(_checked(text), "text")

    def encode(
        self,
        text: str,
        *,
        allowed_special: _Specials = frozenset(),
        disallowed_special: _Disallowed = "all",
    ) -> list[int]:
        """Encode text; of the special tokens, the allowed become ids and the disallowed are an error."""
        allowed = self._allowed([text], allowed_special, disallowed_special)
        return self._encode(_checked(text), allowed)

    def encode_to_numpy(
        self,
        text: str,
        *,
        allowed_special: _Specials = frozenset(),
        disallowed_special: _Disallowed = "all",
    ) -> NDArray[np.uint32]:
        """Encode text into an array."""
        allowed = self._allowed([text], allowed_special, disallowed_special)
        if whole := self._whole(allowed):
            return self._encoder.encode_to_numpy(text, whole)
        return np.array(self._encode(text, allowed), np.uint32)

    def encode_ordinary_batch(self, text: list[str], *, num_threads: int = 8) -> list[list[int]]:
        """Encode texts; special tokens are ordinary text."""
        return self.encode_batch(text, num_threads=num_threads, disallowed_special=())

    def encode_batch(
        self,
        text: list[str],
        *,
        num_threads: int = 8,
        allowed_special: _Specials = frozenset(),
        disallowed_special: _Disallowed = "all",
    ) -> list[list[int]]:
        """Encode texts."""
        texts = list(text)
        allowed = self._allowed(texts, allowed_special, disallowed_special)
        _check_workers(num_threads)
        checked = [_checked(one) for one in texts]
        if whole := self._whole(allowed):
            return self._encoder.encode_batch(checked, whole, num_threads)
        return [self._encode(one, allowed) for one in checked]

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """Return the id of a token, special ones included."""
        token = text_or_bytes.encode("utf-8") if isinstance(text_or_bytes, str) else text_or_bytes
        if not isinstance(token, bytes):
            raise TypeError(f"{type(token).__name__!r} object is not an instance of 'bytes'")
        return self._ids[token]

    def _encode(self, text: str, allowed: AbstractSet[str]) -> list[int]:
        if whole := self._whole(allowed):
            return self._encoder.encode(text, whole)
        # Splitting by a group keeps the matches, as every second item.
        segments = re.split(f"({any_of(frozenset(allowed)).pattern})", text)
        kinds: cycle[Special] = cycle(("text", "parse"))
        return self._encoder.encode_parts(zip(segments, kinds, strict=False))[0]

    def _allowed(
        self, texts: list[str], allowed_special: _Specials, disallowed_special: _Disallowed
    ) -> AbstractSet[str]:
        """Return the allowed special tokens; the first disallowed one in the texts is an error."""
        if allowed_special == "all":
            allowed: AbstractSet[str] = self.special_tokens_set
        elif isinstance(allowed_special, AbstractSet):
            allowed = allowed_special & self.special_tokens_set if allowed_special else frozenset()
        else:
            raise TypeError(
                f"allowed_special must be 'all' or a set, not {type(allowed_special).__name__}"
            )
        if disallowed_special == "all":
            disallowed_special = self.special_tokens_set - allowed
        disallowed = frozenset(disallowed_special)
        for text in texts:
            if not isinstance(text, str):
                raise TypeError(f"text must be a string, not {type(text).__name__}")
            match = any_of(disallowed).search(text) if disallowed else None
            if match:
                special = match.group()
                raise ValueError(
                    f"Encountered text corresponding to disallowed special token {special!r}.\n"
                    f"To get its id, pass `allowed_special={{{special!r}, ...}}`; to have it encoded as "
                    "ordinary text, pass `disallowed_special=(enc.special_tokens_set - "
                    f"{{{special!r}}})`, or `disallowed_special=()` for all.\n"
                )
        return allowed

    def _whole(self, allowed: AbstractSet[str]) -> Special | None:
        """Return how the tokenizer treats special tokens, if it treats all of them alike."""
        if not allowed:
            return "text"
        return "parse" if len(allowed) == len(self.special_tokens_set) else None

    # Decoding
    # ----------------------------------------------------------------------------------------

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """Return the joined bytes of ids."""
        ids = _checked_ids(tokens)
        try:
            return self._encoder.decode_bytes(ids)
        except KeyError as unknown:
            raise KeyError(f"Invalid token for decoding: {unknown.args[0]}") from None

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """Decode ids; by default bytes that are not UTF-8 become U+FFFD."""
        return self.decode_bytes(tokens).decode("utf-8", errors=errors)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """Return the bytes of an id."""
        token_id = _checked_id(token)
        try:
            return self._encoder.token_bytes(token_id)
        except KeyError:
            raise KeyError(str(token_id)) from None

    def decode_tokens_bytes(self, tokens: Sequence[int]) -> list[bytes]:
        """Return the bytes of every id."""
        return [self.decode_single_token_bytes(token) for token in tokens]

    def decode_with_offsets(self, tokens: Sequence[int]) -> tuple[str, list[int]]:
        """Decode ids strictly; return the text and the offset of each token in it (in characters).

        A token that begins within a character gets the offset of the character.
        """
        spelled = self.decode_tokens_bytes(tokens)
        offsets = []
        characters = 0
        for token in spelled:
            begins_inside = token[:1] != b"" and 0x80 <= token[0] < 0xC0
            offsets.append(max(0, characters - begins_inside))
            characters += sum(not 0x80 <= byte < 0xC0 for byte in token)
        return b"".join(spelled).decode("utf-8"), offsets

    def decode_batch(
        self, batch: Sequence[Sequence[int]], *, errors: str = "replace", num_threads: int = 8
    ) -> list[str]:
        """Decode rows of ids."""
        _check_workers(num_threads)
        return [self.decode(tokens, errors) for tokens in batch]

    def decode_bytes_batch(
        self, batch: Sequence[Sequence[int]], *, num_threads: int = 8
    ) -> list[bytes]:
        """Return the joined bytes of rows of ids."""
        _check_workers(num_threads)
        return [self.decode_bytes(tokens) for tokens in batch]

    # Properties
    # --------------------------------------------------------------------------------------

    def token_byte_values(self) -> list[bytes]:
        """Return the bytes of every token except special ones, sorted."""
        return sorted(self._vocabulary.tokens.values())

    @property
    def eot_token(self) -> int:
        """The id of `<|endoftext|>`."""
        return self._special_tokens[_END_OF_TEXT]

    @once
    def special_tokens_set(self) -> set[str]:
        """The special tokens, without those that every text may contain (`Vocabulary.added_tokens`)."""
        return set(self._special_tokens).difference(self._vocabulary.added_tokens)

    def is_special_token(self, token: int) -> bool:
        """Whether an id is that of a special token."""
        if not isinstance(token, int):
            raise AssertionError(f"a token is an integer, not {token!r}")
        return token in map(self._special_tokens.get, self.special_tokens_set)

    @property
    def n_vocab(self) -> int:
        """The largest id plus one."""
        return self.max_token_value + 1

    # `_special_tokens` and these two are what a `tiktoken.Encoding` is made of.

    @once
    def _pat_str(self) -> str:
        """The pattern, as tiktoken reads it."""
        return covering_pattern(self._vocabulary.pattern)

    @once
    def _mergeable_ranks(self) -> dict[bytes, int]:
        """The id of every token except special ones; refused if tiktoken would merge in another order."""
        vocabulary = self._vocabulary
        check_expressible(vocabulary)
        return {token: token_id for token_id, token in vocabulary.tokens.items()}

    @once
    def _ids(self) -> Mapping[bytes, int]:
        specials = {
            text.encode("utf-8"): token_id for text, token_id in self._special_tokens.items()
        }
        return {**specials, **self._vocabulary.id_of}


def _checked(text: str) -> str:
    """Return the text with pairs of surrogates joined and lone ones replaced."""
    if not isinstance(text, str):
        raise TypeError(f"{type(text).__name__!r} object is not an instance of 'str'")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _checked_ids(tokens: Any) -> list[int]:
    if isinstance(tokens, np.ndarray):
        tokens = tokens.tolist()
    if isinstance(tokens, str) or not isinstance(tokens, Sequence):
        raise TypeError(f"{type(tokens).__name__!r} object is not a sequence of ids")
    return [_checked_id(token) for token in tokens]


def _checked_id(token: SupportsIndex) -> int:
    token_id = operator.index(token)
    if not 0 <= token_id <= LARGEST_ID + 1:
        raise OverflowError("out of range integral type conversion attempted")
    return token_id


def _check_workers(num_threads: int) -> None:
    if num_threads <= 0:
        raise ValueError("num_threads must be greater than 0")
