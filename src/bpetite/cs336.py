"""The interface of Stanford's CS336 assignment: `train_bpe`, and a `Tokenizer` made from `bytes` tokens.

Ids are given to special tokens first, then to the bytes, then to the merges. Special tokens are
boundaries in the corpus. Ties go to the lexicographically greater pair of bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from bpetite._constants import Pattern
from bpetite._internal.files import write_all
from bpetite._internal.json import naming
from bpetite._internal.types import AnyPath, BytesPair
from bpetite.counts import Counts
from bpetite.dialect import Dialect
from bpetite.formats import gpt2
from bpetite.patterns import named_pattern
from bpetite.tokenizer import Tokenizer as _Tokenizer
from bpetite.training import Training, train_vocabulary
from bpetite.vocabulary import Vocabulary

_DIALECT = Dialect.named("cs336")


def train_bpe(
    input_path: AnyPath,
    vocab_size: int,
    special_tokens: Sequence[str],
    *,
    pattern: Pattern = "gpt2",
    num_threads: int | None = None,
) -> tuple[dict[int, bytes], list[BytesPair]]:
    """Train on a UTF-8 file and return `(vocab, merges)`; `vocab_size` counts everything.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "corpus.txt")
    ...     _ = path.write_text("low lower lowest")
    ...     vocab, merges = train_bpe(path, 259, ["<|endoftext|>"])
    >>> vocab[0], merges
    (b'<|endoftext|>', [(b'o', b'w'), (b'l', b'ow')])
    """
    training = Training(_DIALECT, pattern, special_tokens)
    training.planned_tokens(vocab_size)  # checks the size before the file is read
    counts = Counts.from_files(input_path, **training.counting, num_threads=num_threads)
    trained = train_vocabulary(
        counts, vocab_size, training, num_threads=num_threads, keep_counts=False
    )
    vocab = {token_id: text.encode("utf-8") for text, token_id in trained.special_tokens.items()}
    vocab.update(trained.tokens)
    return vocab, [(vocab[left], vocab[right]) for left, right in trained.merges]


def save(
    vocab: Mapping[int, bytes],
    merges: Iterable[BytesPair],
    vocab_path: AnyPath,
    merges_path: AnyPath,
    *,
    overwrite: bool = False,
) -> None:
    """Save the result of `train_bpe` in the format of GPT-2's files, for `Tokenizer.from_files`.

    >>> import tempfile
    >>> vocab = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(vocab, [(b"a", b"b")], f"{folder}/vocab.json", f"{folder}/merges.txt")
    ...     Tokenizer.from_files(f"{folder}/vocab.json", f"{folder}/merges.txt").encode("abc")
    [256, 99]
    """
    vocab_json, merges_txt = gpt2.tokens_and_merges(vocab, merges, {})
    write_all({vocab_path: vocab_json, merges_path: merges_txt}, overwrite=overwrite)


class Tokenizer:
    """Encodes and decodes with a vocabulary and merges of `bytes`.

    >>> vocab = {byte: bytes([byte]) for byte in range(256)} | {256: b"th", 257: b"the"}
    >>> Tokenizer(vocab, [(b"t", b"h"), (b"th", b"e")], ["<|endoftext|>"]).encode("the<|endoftext|>")
    [257, 258]
    """

    def __init__(
        self,
        vocab: Mapping[int, bytes],
        merges: Iterable[BytesPair],
        special_tokens: Sequence[str] | None = None,
        *,
        pattern: Pattern = "gpt2",
    ) -> None:
        """Create a tokenizer; special tokens that the vocabulary lacks get new ids at its end."""
        self.vocab = dict(vocab)
        self.merges = list(merges)
        if isinstance(special_tokens, str):
            raise TypeError("special_tokens must be a list of strings, not one string")
        self.special_tokens = list(dict.fromkeys(special_tokens or ()))
        specials = self._special_ids()
        tokens = {own: token for own, token in self.vocab.items() if own not in specials.values()}
        pairs = _pairs_of_ids(tokens, self.merges)
        self._tokenizer = _Tokenizer(
            Vocabulary(tokens, pairs, specials, named_pattern(pattern), _DIALECT, irregular=True)
        )

    def _special_ids(self) -> dict[str, int]:
        """Find the special tokens' ids, and add missing special tokens to the vocabulary."""
        id_of = {token: token_id for token_id, token in sorted(self.vocab.items(), reverse=True)}
        specials: dict[str, int] = {}
        for text in self.special_tokens:
            spelled = text.encode("utf-8")
            token_id = id_of.get(spelled, max(self.vocab, default=-1) + 1)
            self.vocab[token_id] = spelled
            specials[text] = token_id
        return specials

    @classmethod
    def from_files(
        cls,
        vocab_filepath: AnyPath,
        merges_filepath: AnyPath,
        special_tokens: Sequence[str] | None = None,
    ) -> Tokenizer:
        """Load a `vocab.json` and a `merges.txt` in GPT-2's format (as `save` writes them).

        >>> import tempfile
        >>> vocab = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab"}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save(vocab, [(b"a", b"b")], f"{folder}/vocab.json", f"{folder}/merges.txt")
        ...     Tokenizer.from_files(f"{folder}/vocab.json", f"{folder}/merges.txt").encode("abc")
        [256, 99]
        """
        vocab, merges = gpt2.read_tokens_and_merges(vocab_filepath, merges_filepath)
        with naming(f"{os.fspath(vocab_filepath)} and {os.fspath(merges_filepath)}"):
            return cls(vocab, merges, special_tokens)

    def encode(self, text: str) -> list[int]:
        """Encode text; where special tokens overlap, the longest wins. A byte without a token is an error.

        >>> tokenizer = Tokenizer({byte: bytes([byte]) for byte in range(256)}, [], ["<|endoftext|>"])
        >>> tokenizer.encode("a<|endoftext|>")
        [97, 256]
        """
        return self._tokenizer.encode(text)

    def encode_iterable(self, iterable: Iterable[str]) -> Iterator[int]:
        """Yield the ids of the joined text in constant memory, regardless of how it was divided.

        >>> tokenizer = Tokenizer({byte: bytes([byte]) for byte in range(256)}, [], ["<|endoftext|>"])
        >>> list(tokenizer.encode_iterable(["a<|endof", "text|>"]))
        [97, 256]
        """
        return self._tokenizer.encode_iterable(iterable)

    def decode(self, ids: Iterable[int]) -> str:
        """Decode ids; bytes that are not UTF-8 become U+FFFD.

        >>> tokenizer = Tokenizer({byte: bytes([byte]) for byte in range(256)}, [], ["<|endoftext|>"])
        >>> tokenizer.decode([97, 256, 0xC3])
        'a<|endoftext|>�'
        """
        return self._tokenizer.decode(ids, errors="replace")


def _pairs_of_ids(
    tokens: Mapping[int, bytes], merges: Iterable[BytesPair]
) -> list[tuple[int, int]]:
    id_of = {token: token_id for token_id, token in sorted(tokens.items(), reverse=True)}
    pairs = []
    for rank, (left, right) in enumerate(merges):
        for part in (left, right):
            if part not in id_of:
                raise ValueError(f"merge {rank} is made of {part!r}, which is not a token")
        pairs.append((id_of[left], id_of[right]))
    return pairs
