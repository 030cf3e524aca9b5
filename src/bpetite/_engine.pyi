"""The interface of the Rust engine (`rust/src/`), in the order in which data flows. Private to `bpetite`."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set, Sized
from os import PathLike
from typing import Any, Literal, final, overload

import numpy as np
from numpy.typing import NDArray

from bpetite._constants import Pattern
from bpetite._internal.types import Column, DType, Ids, MergeOptions, Progress, Special, Texts

__all__ = [
    "UNICODE_VERSION",
    "CountTable",
    "DecodeStream",
    "DecodeStreams",
    "DecodedChunks",
    "EncodeStream",
    "Encoder",
    "FileTexts",
    "FramedEncoder",
    "FramedEncoding",
    "GrowingEncoding",
    "Gunzip",
    "Normalizer",
    "TextColumn",
    "Xxh3128",
    "avoids",
    "base64_lines",
    "complete_tokens",
    "covers_all_text",
    "cut_json",
    "extend_merges",
    "is_utf8",
    "listed_merges",
    "merges_that_happen",
    "numbers_json",
    "pairs_json",
    "pattern_way",
    "pretokenize",
    "read_pattern",
    "read_pieces",
    "read_printed",
    "recover_merges",
    "safe_cut",
    "same_pattern",
    "thread_count",
    "tokens_json",
    "train_merges",
    "train_symbol_merges",
    "trim_memory",
]

UNICODE_VERSION: str

# Patterns: text → pretokens ---------------------------------------------------------------------------

def pretokenize(text: str, pattern: Pattern) -> list[bytes]:
    """Return the pretokens of a text, in order."""

def read_pattern(
    pattern: str, syntax: Literal["bpetite", "rust", "oniguruma", "oniguruma cuts"]
) -> str:
    """Translate a pattern from another engine's syntax, or refuse what has no equivalent.

    With `"oniguruma cuts"`, empty matches cut a text, too.
    """

def same_pattern(one: str, other: str) -> bool:
    """Whether two patterns mean the same, though they may be written differently."""

def avoids(pattern: str, characters: str) -> bool:
    """Whether no match of a pattern has any of the characters of a set such as `\\s`. What a pattern
    only looks at does not count."""

def covers_all_text(pattern: str) -> bool:
    """Whether a pattern certainly matches all of every text."""

def safe_cut(text: bytes, pattern: Pattern) -> int | None:
    """Return the first place where a text can be cut without changing its pretokens, if there is one."""

def pattern_way(pattern: Pattern) -> str:
    """Return the name of the way in which a pattern is scanned."""

# Normalization: text → text ---------------------------------------------------------------------------

@final
class Normalizer:
    """Normalizes texts by steps, each a list of its name and its arguments.

    Those of `Map` and `Map clusters` are texts, each followed by what replaces it.
    """

    def __new__(cls, steps: Sequence[Sequence[str]]) -> Normalizer: ...
    def __call__(self, text: str, at: Literal["text", "segment", "within"] = ...) -> str:
        """Normalize a text; the same object is returned if nothing changes.

        `at` says where it begins: as the whole text does, behind a token, or in the middle of a segment.
        """

    def aligned(
        self, text: str, at: Literal["text", "segment", "within"] = ...
    ) -> tuple[str, list[tuple[int, int]]]:
        """Normalize a text, and return also the place of each character in it."""

    def starts(self, character: str) -> bool:
        """Whether a text may be cut before a character, whatever stands before it and follows."""

    def keeps(self, character: str) -> bool:
        """Whether a character starts, and becomes itself when what follows starts."""

# Inputs: bytes → texts --------------------------------------------------------------------------------

@final
class Gunzip:
    """Decompresses gzip that arrives in blocks and may have several members."""

    def __new__(cls) -> Gunzip: ...
    def take_block(self, block: bytes) -> None:
        """Take the next block; an empty one is the end."""

    def read(self, size: int) -> bytes | None:
        """Return `size` bytes, or fewer at the end; `None` if the next block must be given first."""

@final
class FileTexts(Sized):
    """Gathers the texts of a file that end with a separator; or those of one field of JSON lines.

    Of lines, it takes those that are certainly well-formed. `len` is the number of complete texts.
    """

    def __new__(cls, by: bytes) -> FileTexts:
        """By the separator (with an empty one, everything is one text), or the name of the field."""

    def take_block(self, block: bytes) -> None:
        """Add the next block of a file with separators."""

    def take_lines(self, block: bytes, start: int) -> tuple[int, int, bytes | None]:
        """Add the whole lines of a block from `start` on.

        Returns where it stopped, the number of lines up to there, and the last of them if it is not certainly
        well-formed; without such a line, what is behind is an incomplete line.
        """

    def append(self, text: str) -> None:
        """Add a text behind the others."""

    def __len__(self) -> int: ...
    @property
    def size(self) -> int:
        """The memory that the gathered bytes and their places take."""

    def take(self) -> TextColumn:
        """Return the complete texts and start anew."""

    def take_rest(self) -> bytes:
        """Return the beginning of the incomplete text."""

def is_utf8(content: bytes) -> bool:
    """Return whether bytes are UTF-8, without a `str`, which may be four times as large."""

@final
class TextColumn(Sequence[bytes]):
    """Texts where they are in memory, without a Python object for each; any text is `bytes`.

    Of another library, a column of strings or bytes: what has `__arrow_c_stream__` or `__arrow_c_array__`.
    """

    def __new__(
        cls, column: Column, *, nulls: Literal["error", "skip", "empty"] | None = None
    ) -> TextColumn:
        """A row that is null is an error (by default), is left out, or is an empty text."""

    def are_text(self) -> bool:
        """Return whether all texts are UTF-8."""

    @property
    def size(self) -> int:
        """The number of bytes of all texts."""

    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: int, /) -> bytes: ...
    @overload
    def __getitem__(self, index: slice, /) -> TextColumn: ...

@final
class Xxh3128:
    """The hash XXH3 of 128 bits: finds changed files at the speed of reading, but does not resist forgery."""

    def __new__(cls) -> Xxh3128: ...
    def update(self, data: bytes) -> None:
        """Add the next bytes."""

    def hexdigest(self) -> str:
        """Return the hash of all bytes so far, as `xxh128sum` writes it."""

# Counting: documents → counts -------------------------------------------------------------------------

@final
class CountTable:
    """Pretokens and how often each occurs."""

    def __new__(
        cls,
        pattern: Pattern,
        boundaries: Sequence[str] = (),
        count_unmatched: bool = True,
        normalization: Sequence[Sequence[str]] = (),
        added_tokens: Sequence[tuple[str, int, Sequence[str]]] = (),
    ) -> CountTable: ...
    def add_files(
        self,
        paths: Sequence[str | PathLike[str]],
        *,
        num_threads: int | None = ...,
        memory_limit: int | None = None,
        progress: Progress | None = None,
        on_documents: Callable[[int], object] | None = None,
    ) -> None:
        """Count files of text, each a document."""

    def add_documents(
        self,
        documents: Iterable[str | bytes | TextColumn],
        *,
        num_threads: int | None = ...,
        memory_limit: int | None = None,
        progress: Progress | None = None,
        on_documents: Callable[[int], object] | None = None,
    ) -> None:
        """Count documents, of which several may come as a column."""

    def add_counts(
        self, pretokens: bytes, ends: NDArray[np.uint64], counts: NDArray[np.uint64]
    ) -> None:
        """Add pretokens (joined bytes and the end of each) and their counts."""

    def merge(self, other: CountTable, times: int = 1) -> None:
        """Add the counts of another table so many times, but its documents and bytes once."""

    def uses(
        self, encoder: Encoder, *, num_threads: int | None = ..., progress: Progress | None = None
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
        """Return the ids that the pretokens become, in ascending order, and how often each is used."""

    def settle(self) -> None:
        """Prepare for several readings: if anything is in temporary files, move the rest there, too."""

    def spill(self, most: int) -> None:
        """Move all counts to temporary files if there is a limit and they take more than `most` bytes."""

    def sorted(
        self, *, num_threads: int | None = ...
    ) -> tuple[bytes, NDArray[np.uint64], NDArray[np.uint64]]:
        """Return the joined pretokens in the order of bytes, the end of each, and the counts."""

    def visit_sorted(
        self,
        visitor: Callable[[bytes, NDArray[np.uint64], NDArray[np.uint64]], object],
        *,
        num_threads: int | None = ...,
    ) -> None:
        """Call `visitor` with what `sorted` returns, some pretokens at a time. The threads sort."""

    def __len__(self) -> int: ...
    @property
    def memory_limit(self) -> int | None:
        """The maximum size of the table in bytes."""

    @property
    def total(self) -> int:
        """How many pretokens were counted."""

    @property
    def documents(self) -> int:
        """How many documents were read."""

    @property
    def bytes(self) -> int:
        """How many bytes of text were read."""

# Merging: counts → merges -----------------------------------------------------------------------------

def train_merges(
    counts: CountTable,
    options: MergeOptions,
    *,
    base: bytes,
    shared_tokens: bool,
    num_threads: int | None = ...,
    progress: Progress | None = None,
    expect: Callable[[int], object] | None = None,
    keep_counts: bool = True,
) -> bytes:
    """Learn merges from counts; return rows of left, right and result symbol as bytes.

    Without `keep_counts`, the table is emptied while it is read, to free its memory for the merging.
    """

def extend_merges(
    encoder: Encoder,
    counts: CountTable,
    options: MergeOptions,
    *,
    ids: bytes,
    tokens: bytes,
    ends: bytes,
    apart: Sequence[int],
    num_threads: int | None = ...,
    progress: Progress | None = None,
    expect: Callable[[int], object] | None = None,
) -> bytes:
    """Learn merges behind those of an encoder; return rows of left, right and result symbol as bytes.

    A word is what the encoder makes of a pretoken; it ends where an id is `apart`, or none of `ids`. The
    symbol of a token is its place in `ids`, which are ascending; new ones follow. None has the bytes of
    `tokens`, nor those that are `taken`.
    """

def train_symbol_merges(
    symbols: Sequence[bytes],
    words: Sequence[bytes],
    counts: Sequence[int],
    *,
    tie_break: str,
    shared_tokens: bool,
    max_merges: int | None,
) -> bytes:
    """Learn merges from words of symbol numbers, each the bytes of an array (32 bits).

    Returns rows of left, right and result symbol as bytes.
    """

# Vocabularies: merges ↔ tokens ------------------------------------------------------------------------

def base64_lines(content: bytes, largest: int) -> tuple[tuple[bytes, bytes, bytes], list[int]]:
    """Read lines of a token in base64, a space and a number; `=` is an empty token.

    Returns the numbers in ascending order, the joined bytes of the tokens, and the end of each (numbers as
    the bytes of arrays); and the numbers of empty tokens. An error names the line.
    """

def complete_tokens(
    ids: bytes, tokens: bytes, ends: bytes, merges: bytes, irregular: bool
) -> tuple[tuple[bytes, bytes, bytes] | None, bool, list[tuple[int, int]]]:
    """Add the tokens that merges (rows of left, right and result id) make, and check all of them.

    Unless they may be `irregular`, each byte has a token, and parents are bytes or made by earlier merges.

    Returns the ids in ascending order, the joined bytes, and the end of each token (numbers as the bytes of
    arrays), or `None` if all were given; whether all parents are bytes or made by earlier merges; and single
    bytes with their ids.
    """

def recover_merges(
    ids: bytes, tokens: bytes, ends: bytes, equal_ranks: Sequence[tuple[int, int]] = ...
) -> tuple[bytes, list[int]]:
    """Find the parents of tokens in the order of rank (ids, joined bytes and their ends).

    `equal_ranks` are the places where tokens of the same rank begin and end.

    Returns the merges as rows of left, right and resulting id, and the ids of tokens that no merge makes.
    """

def numbers_json(numbers: bytes) -> bytes:
    """Write numbers (the bytes of an array) as a list in JSON."""

def pairs_json(numbers: bytes) -> bytes:
    """Write numbers (the bytes of an array) as a list of pairs in JSON."""

def tokens_json(
    ids: bytes,
    tokens: bytes,
    ends: bytes,
    form: Literal["lists", "hexadecimal", "rows"],
    merges: bytes = ...,
) -> bytes:
    """Write tokens (ids, joined bytes and their ends) in JSON, without those that merges (rows) make.

    As `lists`, an object of lists of bytes by id, and as `hexadecimal` one of strings, both sorted by the
    texts of the ids; as `rows`, a list of ids with strings in hexadecimal, in the order that is given.
    """

def cut_json(json: bytes) -> tuple[bytes, dict[str, Any]] | None:
    """Replace the long lists of a tokenizer in a JSON text by `null`, and return them by their places.

    They are `model.vocab`, a dict of distinct ids; `model.merges`, texts `left right` or lists of texts, with
    the byte FE between their parts and FF between them; `merges` and `merge_ids`, numbers as the bytes of
    an array, and pairs of numbers as a tuple with these bytes; `vocab`, lists of bytes by ids, as ids, joined
    bytes and ends. `None` if anything in the text is unusual.
    """

def read_printed(ids: dict[str, int]) -> tuple[tuple[bytes, bytes, bytes], list[int]]:
    """Read the ids of tokens in printable form, one character for each byte.

    Returns in the order of ids: the ids, the joined bytes of the tokens and their ends; and the ids of those
    that are empty or have a character that stands for no byte, which are left out.
    """

def read_pieces(
    ids: dict[str, int],
    byte_ids: Sequence[tuple[int, int]],
    first_free: int,
    has_marks: bool,
    word_mark: int | None,
) -> tuple[tuple[bytes, bytes, bytes], bytes, list[int]]:
    """Read the ids of tokens that are made of characters, in which a mark U+2581 may stand for a space.

    `byte_ids` are bytes with the ids of their tokens; the parts of characters get provisional tokens, with
    ids from `first_free` on. A `word_mark`, 0xFF or 0xFE, stands behind or before words: its place in a
    token is marked by U+10FFFF, twice.

    Returns in the order of ids: the ids, the joined bytes of the tokens and their ends; the merges that put
    characters together, as rows of left, right and resulting id; and the ids of what no text becomes.
    """

def listed_merges(
    ids: dict[str, int],
    pairs: bytes,
    keeps_last: bool,
    only_decoded: Collection[int],
    cut_out: Sequence[str],
) -> tuple[bytes, int | None, tuple[int, list[bool]] | None, int | None]:
    """Find the merges of pairs of texts as rows of left, right and resulting id, among distinct tokens.

    The byte FE stands between the parts of each pair, and FF between pairs. One that is listed again has the
    rank of its last place, or of its first. Pairs with tokens that are `only_decoded` are left out; those
    with one that is `cut_out` of texts do not count.

    Also returns the number of the first pair that does not have two parts, of the first one with an unknown
    token (and which of left, right and result are unknown), and of the first one that repeats another.
    """

def merges_that_happen(ids: bytes, tokens: bytes, ends: bytes, merges: bytes) -> bytes:
    """Leave out the merges (rows of left, right and resulting id, by rank) that no text needs.

    If the parents of all come before them, all are returned. Ids are in ascending order.
    """

# Encoding and decoding: text ↔ ids --------------------------------------------------------------------

@final
class Encoder:
    """Turns text into ids and ids into text.

    `special` is how the text of a special token is treated: as its id ("parse"), as ordinary text ("text"),
    or as a `ValueError` ("error"); by default "parse". `dtype` is by default "uint32", and `num_threads` the
    number of cores.
    """

    def __new__(
        cls,
        *,
        pattern: Pattern,
        tokens: bytes,
        ends: bytes,
        ids: bytes,
        merges: bytes,
        added_tokens: Sequence[tuple[str, int, Sequence[str]]] = ...,
        normalization: Sequence[Sequence[str]] = ...,
        equal_ranks: Sequence[tuple[int, int]] = ...,
        whole_pretoken_first: bool = False,
        decode_only: Sequence[tuple[int, bytes]] = ...,
        provisional: Sequence[int] = ...,
        unknown: tuple[int, bool] | None = None,
        drops_unknown: bool = False,
        left_out: str | None = None,
        spaces: Literal["", "one", "all"] = ...,
        spaced: bool = False,
        word_end: str | None = None,
        word_start: str | None = None,
        glued: str | None = None,
        cleaned: Sequence[tuple[str, str]] = ...,
    ) -> Encoder:
        """Create an encoder from all tokens but added ones (joined bytes, ends, ids) and merges by rank.

        A row of `merges` is left id, right id, result id; a parent may be the result of a later merge.
        `added_tokens` are texts, ids and flags: `special`, `normalized`, `single_word`, `lstrip`, `rstrip`.
        `normalization` are steps, each a name and its arguments. With
        `whole_pretoken_first`, a pretoken that is a token gets its id without merging. `decode_only` are
        further tokens that encoding never gives; an added token that is one of them is decoded as it stands
        there. With `spaces`, decoding leaves out one space at the beginning of a text, or all those of
        the first token; `spaced` puts one between any two tokens, unless the second begins with `glued`,
        which is left out then; and `cleaned` are texts to be replaced in each token. With `word_end` or
        `word_start`, a mark is put behind or before each pretoken; the names of tokens for the end of one
        end in the first, those of tokens within begin with the second. A pretoken of characters of the set
        `left_out` has no ids. `provisional` are the ids, behind all others, of tokens that
        exist only to be merged further: one that is left is replaced by the ids of its bytes. A text with a
        byte that is no token is refused, unless `unknown` says the id that stands for such bytes, and
        whether it stands once for successive ones, or `drops_unknown`: pretokens are merged without them.
        """

    def encode(self, text: str, special: Special = ..., num_threads: int | None = ...) -> list[int]:
        """Encode a text."""

    def encode_parts(self, parts: Iterable[tuple[str, Special]]) -> tuple[list[int], list[int]]:
        """Encode the joined text of parts; return the ids and the number of the part in which each begins."""

    def encode_parts_batch(
        self, batch: Iterable[Iterable[tuple[str, Special]]], num_threads: int | None = ...
    ) -> list[tuple[list[int], list[int]]]:
        """Encode several texts in parts."""

    def encode_to_numpy(
        self, text: str, special: Special = ..., dtype: DType = ..., num_threads: int | None = ...
    ) -> NDArray[Any]:
        """Encode a text into an array."""

    def encode_batch(
        self,
        texts: Texts,
        special: Special = ...,
        num_threads: int | None = ...,
        prepend: int | list[int] | None = None,
        append: int | list[int] | None = None,
    ) -> list[list[int]]:
        """Encode texts; `prepend` and `append` are put around the ids of each."""

    def encode_batch_to_numpy(
        self,
        texts: Texts,
        special: Special = ...,
        dtype: DType = ...,
        num_threads: int | None = ...,
        append: int | list[int] | None = None,
        progress: Progress | None = None,
        prepend: int | list[int] | None = None,
    ) -> tuple[NDArray[Any], NDArray[np.uint64]]:
        """Encode texts into one array; the ids of text `i` are those from `offsets[i]` to `offsets[i + 1]`.

        `prepend` and `append` are put around the ids of each text.
        """

    def decode_batch(
        self, batch: Iterable[Ids], errors: str = "strict", num_threads: int | None = ...
    ) -> list[str]:
        """Decode rows of ids."""

    def decode_lists(
        self, ids: NDArray[np.uint32], ends: NDArray[np.uint64]
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint64]]:
        """Decode joined lists of ids to joined bytes; the ends of both are behind a zero."""

    def encode_with_offsets(
        self, text: str, special: Special = ..., unit: Literal["characters", "bytes"] = ...
    ) -> tuple[list[int], list[tuple[int, int]]]:
        """Encode a text; also return the start and end of each token in the text.

        In bytes (of UTF-8), each token starts where the one before it ends. In characters, a token that
        contains part of a character spans the whole character, so tokens that share one overlap.
        """

    def with_added_tokens(self, added_tokens: Sequence[tuple[str, int, Sequence[str]]]) -> Encoder:
        """Return an encoder with other added tokens, which shares everything else with this one."""

    def with_dropout(
        self, probability: float, seed: int, document: int = 0, begun: int = 0
    ) -> Encoder:
        """Return an encoder with BPE dropout, for `encode`, `encode_batch`, their arrays, and offsets alone.

        The first text of a call has the number `document`, and so many bytes of it have `begun` before.
        """

    @property
    def memory(self) -> int:
        """The bytes that the cache takes at most."""

    @property
    def chosen_memory(self) -> int | None:
        """The same, if `with_memory` chose them: by default they depend on the machine."""

    def with_memory(self, memory: int) -> Encoder:
        """Return an encoder with a cache of its own, which takes this much at most, and shares the rest."""

    def places(
        self,
        text: str,
        ids: Ids,
        special: Special = ...,
        trim: Literal["no", "yes", "keep first"] = ...,
    ) -> list[tuple[int, int]]:
        """Return the start and end of each token in a text, in characters, as `tokenizers` reports them.

        A space that was put in has the place of the next character. `trim` leaves out the white space of
        tokens, or all of it but a single space before the first token.
        """

    def pretokens(self, text: str) -> list[bytes]:
        """Return the pretokens of a text, once it is normalized, and its added tokens."""

    def count(self, text: str, special: Special = ..., num_threads: int | None = ...) -> int:
        """Return the number of ids of a text."""

    def count_batch(
        self, texts: Texts, special: Special = ..., num_threads: int | None = ...
    ) -> list[int]:
        """Return the number of ids of each text."""

    def encode_stream(self, special: Special = ...) -> EncodeStream:
        """Begin a text that arrives in pieces."""

    def growing(
        self, special: Special = ..., at: Literal["text", "segment", "within"] = ...
    ) -> GrowingEncoding:
        """Begin an empty text that grows at its end; nothing is put before it if it begins within another."""

    def decode(self, ids: Ids, errors: str = "strict") -> str:
        """Decode ids; `errors` is the name of one of Python's handlers for bytes that are not UTF-8."""

    def decode_bytes(self, ids: Ids, behind: bool = False) -> bytes:
        """Return the joined bytes of ids; `behind` says that they follow others."""

    def decode_stream(
        self,
        errors: str = "strict",
        skipped: Set[int] = ...,
        unknown: Callable[[KeyError], Exception] | None = ...,
    ) -> DecodeStream:
        """Begin a text without the `skipped` ids; `unknown` makes an exception of one about an unknown id."""

    def decode_streams(
        self,
        errors: str = "strict",
        skipped: Set[int] = ...,
        unknown: Callable[[KeyError], Exception] | None = ...,
    ) -> DecodeStreams:
        """Return room for many such texts."""

    def decoded_chunks(self, ids: Sequence[int], skipped: Set[int] = ...) -> DecodedChunks:
        """Begin a text behind these ids, without the `skipped` ones."""

    def token_bytes(self, id: int) -> bytes:
        """Return the bytes of a token, which may be a special token."""

@final
class DecodeStream:
    """Takes ids and returns their text; the bytes of an incomplete character wait for the next ids."""

    def push(self, ids: int | Ids) -> str:
        """Add one id or several, and return the text that is now complete. An error changes nothing."""

    def finish(self) -> str:
        """Return the rest; an incomplete character is handled as `errors` says. A new text may then begin."""

    def __copy__(self) -> DecodeStream: ...
    def __deepcopy__(self, memo: object, /) -> DecodeStream: ...

@final
class DecodeStreams:
    """Many texts whose ids arrive in turns.

    Made by `Tokenizer.decode_streams`. A call that fails changes no text, and a call during another one of
    another thread is a `RuntimeError`.
    """

    def open(self, prompt: int | Ids = ()) -> int:
        """Begin a text behind the ids of a prompt, and return the number of its slot.

        The text of the prompt is not returned. The numbers of closed slots are not used again before four
        billion texts have been opened.
        """

    def step(self, slots: Ids, ids: Ids) -> list[str]:
        """Add one id to the text of each slot, in order, and return for each the text that is now complete.

        A slot may occur several times. The number of a slot that is not open is a `ValueError`.
        """

    def finish(self, slot: int) -> str:
        """Close a slot, and return the rest of its text; an incomplete character is handled as `errors` says.

        The slot is closed even if that is an error.
        """

@final
class DecodedChunks:
    """Takes ids and returns their text in the chunks of `tokenizers.decoders.DecodeStream`."""

    def step(self, ids: int | Ids) -> str | None:
        """Add ids, and return the text, if it ends with a complete character that is not U+FFFD."""

    @property
    def ids(self) -> tuple[list[int], list[int]]:
        """The ids of the latest chunk, and those after it."""

    def __copy__(self) -> DecodedChunks: ...

@final
class EncodeStream:
    """Takes a text in pieces and returns its ids as soon as no later text can change them."""

    def feed(self, piece: str) -> list[int]:
        """Add the next piece, and return the ids that are now final."""

    def finish(self) -> list[int]:
        """Return the ids that are left; a new text may then begin."""

@final
class FramedEncoder:
    """Encodes texts, each with the same special tokens around it, to encodings like those of `tokenizers`."""

    def __new__(
        cls,
        encoder: Encoder,
        frame: Mapping[str, object],
        make: Callable[[str, int], object],
        spell: Callable[[list[int]], list[str] | None],
        threads: Callable[[], int | None],
    ) -> FramedEncoder:
        """`make` makes the real encoding of a text, padded to a length; `spell` returns the texts of tokens,
        or None if only the real encoding has them; `threads` returns how many threads batches may use that
        are worth more than one. The frame has these items:

        - `special`, as for all encoding; `trim`, that of `Encoder.places`, or None if tokens have no places;
        - `before` and `after`: ids with types and texts, and `type_id`: the type of all tokens of a text;
        - `is_apart`: whether the tokens of a text have another sequence id than those around it;
        - `truncation`: how many of a text's own tokens are kept, how many of them are in the next part as
          well, and whether the last ones are kept, or None;
        - `padding`: the token with its type and text, whether it is put before the others, the length (None
          for the longest of a batch) and of what the length is a multiple, or None;
        - `refused`: an id; a text that has it is a `ValueError`.
        """

    def encode(self, text: str) -> FramedEncoding:
        """Encode a text."""

    def encode_batch(self, texts: Sequence[str]) -> list[FramedEncoding]:
        """Encode texts."""

@final
class FramedEncoding(Sized):
    """The encoding of one text. For what is not named here there is the real one."""

    @property
    def ids(self) -> list[int]: ...
    @property
    def type_ids(self) -> list[int]: ...
    @property
    def attention_mask(self) -> list[int]: ...
    @property
    def special_tokens_mask(self) -> list[int]: ...
    @property
    def sequence_ids(self) -> list[int | None]: ...
    @property
    def n_sequences(self) -> int: ...
    @property
    def tokens(self) -> list[str]: ...
    @property
    def offsets(self) -> list[tuple[int, int]]: ...
    @property
    def overflowing(self) -> list[FramedEncoding]: ...
    def char_to_token(self, char_pos: int, sequence_index: int = ...) -> int | None: ...
    def token_to_chars(self, token_index: int) -> tuple[int, int] | None: ...
    def token_to_sequence(self, token_index: int) -> int | None: ...
    def pad(self, length: int, **options: Any) -> None: ...
    @property
    def real(self) -> Any:
        """The encoding of `tokenizers`."""

    def __len__(self) -> int: ...
    def __reduce__(self) -> Any: ...

@final
class GrowingEncoding:
    """A text that grows at its end, and its ids: always those of encoding all of it.

    Made by `Tokenizer.growing`. One thread at a time may use it.
    """

    def append(self, text: str, special: Special | None = None) -> int:
        """Append to the text, and return how many of the earlier ids are unchanged; all others are new.

        With `special`, it is a part of its own, as in `encode_parts`: no special token is found across its
        ends. Without it, the text continues, with the choice made for all of it. The cost depends on the
        length of the appended text, not of the whole text: a word or two before it are encoded again.
        docs/encoding.md says with which patterns and normalization it may be more.
        """

    def truncate(self, length: int | None = None, *, ids: int | None = None) -> int:
        """Keep the first `length` characters of the text, or the text of its first `ids` ids.

        Returns how many ids are unchanged. The ids are always the ids of the remaining text, so the last ones
        may differ from before. A character that is only partly in the first `ids` ids is not kept.
        """

    @property
    def ids(self) -> list[int]:
        """The ids of the text."""

    def ids_from(self, start: int) -> list[int]:
        """Return the ids from number `start` on, such as those that `append` has changed."""

    @property
    def parts(self) -> list[int]:
        """The number of the part in which each id begins."""

    @property
    def starts(self) -> list[int]:
        """The start of each id in the text, in characters."""

    @property
    def text(self) -> str:
        """The text so far."""

    @property
    def settled(self) -> int:
        """The number of ids, from the first on, that no later text can change."""

    def copy(self) -> GrowingEncoding:
        """Return an independent copy, as do `copy.copy` and `copy.deepcopy`."""

    def __copy__(self) -> GrowingEncoding: ...
    def __deepcopy__(self, memo: object, /) -> GrowingEncoding: ...
    def __len__(self) -> int:
        """Return how many ids there are."""

# Memory -----------------------------------------------------------------------------------------------

def thread_count(num_threads: int | None = ...) -> int:
    """Return the number of threads of a call: at most 256; by default one for each core that it may use.

    >>> thread_count(2)
    2
    """

def trim_memory() -> None:
    """Return the memory that is kept for later results to the system.

    The memory of large results (at most 64 MB in all) is kept for the next ones, because new memory is slow.
    A server that has encoded a corpus and continues with short texts may want it back.

    >>> trim_memory()
    """
