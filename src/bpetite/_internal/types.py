"""Types that many signatures share."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, Required, TypeAlias, TypedDict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

AnyPath = str | os.PathLike[str]
"""The path of a file."""

BytesPair = tuple[bytes, bytes]
"""A merge as the bytes of its two tokens."""

SpecialTokens = Mapping[str, int] | Sequence[str]
"""Special tokens, with or without ids."""

Ids: TypeAlias = "Iterable[int] | NDArray[np.integer[Any]]"
"""Ids to decode."""

Progress = Callable[[str, int, int], object]
"""Called with the stage (`counting`, `merging`), the amount done, and the total (0 if unknown)."""

Special = Literal["parse", "text", "error"]
"""How a special token in a text is treated: as its id, as ordinary text, or as an error."""

DType = Literal["uint32", "uint16"]
"""The width of ids in an array."""

Invalid = Literal["error", "replace", "skip"]
"""How text that is not valid is treated: as an error, with U+FFFD in its place, or as no document."""

Format = Literal["auto", "text", "jsonl", "parquet"]
"""The format of an input; `auto` finds it by name and content."""

Split = Literal["train", "held-out"]
"""A side of the split by `hold_out`."""

Nulls = Literal["error", "keep", "empty"]
"""How a row of a column without a value is treated: as an error, as such a row, or as an empty one."""


class ArrowArray(Protocol):
    """A column in one piece, of any library."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]: ...


class ArrowStream(Protocol):
    """A column in several pieces, of any library."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


Column: TypeAlias = ArrowArray | ArrowStream
"""A column of Arrow: of pyarrow, Polars, pandas, DuckDB, ..."""

Texts: TypeAlias = Iterable[str | bytes] | Column
"""Several texts."""


class ReadingOptions(TypedDict, total=False):
    """How documents are read; `Reading` explains each."""

    separator: str | None
    text_field: str
    text_column: str
    invalid: Invalid
    input_format: Format
    hold_out: float | str | None
    split: Split
    max_document: int | str


class MergeOptions(TypedDict, total=False):
    """The options of the engine's training: how much is learned, and the conditions on new tokens.

    The bytes of a new token hold at most `max_words` words and none of the texts of `without`, are
    of `whole_characters`, and are none of `taken` or, then, of earlier merges.
    """

    tie_break: Required[str]
    max_tokens: Required[int]
    min_count: int
    max_token_length: int | None
    max_words: int | None
    without: Sequence[bytes]
    whole_characters: bool
    taken: Sequence[bytes] | None


class Limits(TypedDict, total=False):
    """The threads and the bytes of memory that counting may use; the engine takes both as keywords."""

    num_threads: int | None
    memory_limit: int | None
