"""A Parquet file with a column of texts in, the same file with their ids in a column of its own out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack, closing
from functools import partial
from itertools import takewhile
from typing import Any, NamedTuple

from bpetite._engine import TextColumn
from bpetite._internal import columns
from bpetite._internal.arguments import check_path, check_type, check_word, special_id, worded
from bpetite._internal.files import write_whole
from bpetite._internal.lazy import needed
from bpetite._internal.progress import shown
from bpetite._internal.types import AnyPath, DType, Nulls, Progress, Special
from bpetite.corpus.shards import check_largest
from bpetite.corpus.specials import Encoded, check_special, check_tokenizer, encoded
from bpetite.reading.parquet import opened
from bpetite.reading.raw import Raw
from bpetite.reading.sources import Input
from bpetite.tokenizer import Tokenizer


class EncodedColumn(NamedTuple):
    """What `encode_column` wrote.

    >>> EncodedColumn(rows=2, tokens=4, special_texts=0).tokens
    4
    """

    rows: int
    tokens: int
    special_texts: int
    """The number of special tokens in the texts that became ordinary text."""


def encode_column(
    tokenizer: Tokenizer,
    source: AnyPath,
    output: AnyPath,
    *,
    column: str = "text",
    ids_column: str = "ids",
    special: Special = "text",
    dtype: DType = "uint32",
    append_special: str | None = None,
    nulls: Nulls = "error",
    num_threads: int | None = None,
    overwrite: bool = False,
    progress: Progress | bool | None = None,
) -> EncodedColumn:
    """Add a column of ids to a Parquet file, and return the numbers of its rows and of the ids.

    The rest of the file is unchanged: columns, row groups, the compression of each column (the ids
    are compressed like the texts), and the sort order. One row group is in memory at a time. A
    special token in a text is ordinary text, as in `encode`, unless `special` is `"parse"` or
    `"error"`.

    >>> import os, pyarrow.parquet, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source, output = os.path.join(folder, "in.parquet"), os.path.join(folder, "out.parquet")
    ...     pyarrow.parquet.write_table(pyarrow.table({"text": ["ab ab", "abc"]}), source)
    ...     encoded = encode_column(Tokenizer.train("ab ab ab", 258), source, output)
    ...     encoded.rows, encoded.tokens, pyarrow.parquet.read_table(output)["ids"].to_pylist()
    (2, 4, [[256, 257], [256, 99]])
    """
    check_tokenizer(tokenizer)
    check_path("source", source)
    check_path("output", output)
    check_type("ids_column", ids_column, str)
    check_special(special)
    check_word("dtype", dtype, ("uint32", "uint16"))
    check_word("nulls", nulls, ("error", "keep", "empty"))
    check_largest(dtype, tokenizer.largest_id)
    append_id = special_id("append_special", append_special, tokenizer.special_tokens)
    append = [] if append_id is None else [append_id]
    arrow = needed("pyarrow", "reading and writing Parquet")
    import pyarrow.parquet

    encode = partial(
        encoded, tokenizer, special=special, dtype=dtype, append=append, num_threads=num_threads
    )
    kind = arrow.list_(arrow.uint16() if dtype == "uint16" else arrow.uint32())
    rows = tokens = special_texts = 0
    with (
        shown(progress) as report,
        closing(Raw(Input(os.fspath(source)))) as raw,
        opened(raw, column) as file,
        write_whole(output, overwrite=overwrite) as written,
        ExitStack() as stack,
    ):
        if ids_column in file.schema_arrow.names:
            exists = f"{raw.name} has a column {ids_column!r} already"
            raise ValueError(worded(lambda name: f"{exists}; {name('ids_column')} names another"))
        schema = file.schema_arrow.append(arrow.field(ids_column, kind))
        writer = None
        for group in range(file.num_row_groups):
            table = file.read_row_group(group)
            if writer is None:
                layout = _layout(file, column, ids_column)
                writer = stack.enter_context(
                    pyarrow.parquet.ParquetWriter(written, schema, **layout)
                )
            if nulls == "error":
                _refuse_null(raw.name, table, column, rows)
            texts, missing = columns.texts_and_nulls(table[column], nulls)
            result = _encoded(encode, texts, raw.name, rows)
            array = columns.lists_of(result.ids, result.offsets, missing).cast(kind)
            with_ids = table.append_column(schema.field(ids_column), array)
            writer.write_table(with_ids, row_group_size=max(len(table), 1))
            rows += len(table)
            tokens += len(array.flatten())
            special_texts += result.special_count
            if report is not None:
                report("encoding", raw.expected * (group + 1) // file.num_row_groups, raw.expected)
                report("documents", rows, 0)
        if writer is None:
            stack.enter_context(pyarrow.parquet.ParquetWriter(written, schema))
    return EncodedColumn(rows, tokens, special_texts)


def _encoded(encode: Any, texts: TextColumn, path: str, first: int) -> Encoded:
    """Encode the texts of a row group; an error names the row, of which `first` are before the group."""
    try:
        result: Encoded = encode(texts)
    except ValueError:
        for place in range(len(texts)):
            try:
                encode([texts[place].decode("utf-8")])
            except UnicodeDecodeError as error:
                wrong = f"not valid UTF-8 at byte {error.start}"
                raise ValueError(f"{path}: row {first + place}: {wrong}") from None
            except ValueError as error:
                raise ValueError(f"{path}: row {first + place}: {error}") from None
        raise
    return result


def _layout(file: Any, column: str, ids_column: str) -> Mapping[str, Any]:
    """Return the compression of each column, and by what the rows are sorted, as the writer takes them.

    The first row group was read: pyarrow ends the process where it looks at metadata that are
    damaged.
    """
    groups = [file.metadata.row_group(group) for group in range(file.num_row_groups)]
    chunks = [groups[0].column(number) for number in range(file.metadata.num_columns)]
    codecs = {chunk.path_in_schema: _codec(chunk) for chunk in chunks}
    codecs[f"{ids_column}.list.element"] = codecs[column]
    return {"compression": codecs, "sorting_columns": _sorting(groups) or None}


def _codec(chunk: Any) -> str:
    return "NONE" if chunk.compression == "UNCOMPRESSED" else str(chunk.compression)


def _sorting(groups: list[Any]) -> list[Any]:
    """Return the columns by which the rows of every group are sorted."""
    of_groups = [group.sorting_columns for group in groups]
    agreeing = takewhile(lambda at: len(set(at)) == 1, zip(*of_groups, strict=False))
    return [first for first, *_ in agreeing]


def _refuse_null(path: str, table: Any, column: str, rows: int) -> None:
    """Refuse a row without a text, of a table that so many rows are before."""
    if table[column].null_count:
        row = rows + table[column].is_null().index(True).as_py()
        message = f"{path}: row {row}: column {column!r} is null"
        raise ValueError(worded(lambda name: f"{message}; {name('nulls', 'keep')} gives it no ids"))
