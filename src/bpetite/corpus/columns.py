"""A Parquet file with a column of texts in, the same file with their ids in a column of its own out."""

from __future__ import annotations

import os
from contextlib import closing
from functools import partial
from typing import Any

from bpetite._internal.arguments import special_id, worded
from bpetite._internal.files import write_whole
from bpetite._internal.lazy import needed
from bpetite._internal.progress import shown
from bpetite._internal.types import DType, Nulls, Path, Progress, Special
from bpetite.reading.parquet import opened
from bpetite.reading.raw import Raw
from bpetite.reading.sources import Input
from bpetite.tokenizer import Tokenizer


def encode_column(
    tokenizer: Tokenizer,
    source: Path,
    output: Path,
    *,
    column: str = "text",
    ids_column: str = "ids",
    special: Special = "parse",
    dtype: DType = "uint32",
    append_special: str | None = None,
    nulls: Nulls = "error",
    num_threads: int | None = None,
    overwrite: bool = False,
    progress: Progress | bool | None = None,
) -> tuple[int, int]:
    """Add a column of ids to a Parquet file, and return the numbers of its rows and of the ids.

    Everything else of the file stays. A row group is in memory at a time.

    >>> import os, pyarrow.parquet, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source, output = os.path.join(folder, "in.parquet"), os.path.join(folder, "out.parquet")
    ...     pyarrow.parquet.write_table(pyarrow.table({"text": ["ab ab", "abc"]}), source)
    ...     told = encode_column(Tokenizer.train("ab ab ab", 258), source, output)
    ...     told, pyarrow.parquet.read_table(output)["ids"].to_pylist()
    ((2, 4), [[256, 257], [256, 99]])
    """
    arrow = needed("pyarrow", "reading and writing Parquet")
    import pyarrow.parquet

    encoded = partial(
        tokenizer.encode_column,
        add_special_tokens=False,
        special=special,
        dtype=dtype,
        append=special_id("append_special", append_special, tokenizer.special_tokens),
        nulls=nulls,
        num_threads=num_threads,
    )
    kind = arrow.list_(arrow.uint16() if dtype == "uint16" else arrow.uint32())
    rows = ids = 0
    with (
        shown(progress) as report,
        closing(Raw(Input(os.fspath(source)))) as raw,
        opened(raw, column) as file,
        write_whole(output, overwrite=overwrite) as written,
    ):
        if ids_column in file.schema_arrow.names:
            known = f"{raw.name} has a column {ids_column!r} already; "
            raise ValueError(worded(lambda name: f"{known}{name('ids_column')} names another"))
        schema = file.schema_arrow.append(arrow.field(ids_column, kind))
        with pyarrow.parquet.ParquetWriter(written, schema, compression="zstd") as writer:
            for group in range(file.num_row_groups):
                table = file.read_row_group(group)
                if nulls == "error":
                    _refuse_null(raw.name, table, column, rows)
                try:
                    array = arrow.array(encoded(table[column])).cast(kind)
                except ValueError as error:
                    raise ValueError(f"{raw.name}: row group {group}: {error}") from None
                writer.write_table(table.append_column(schema.field(ids_column), array))
                rows, ids = rows + len(table), ids + len(array.flatten())
                if report is not None:
                    report("encoding", raw.expected * (group + 1) // file.num_row_groups, raw.expected)
                    report("documents", rows, 0)
    return rows, ids


def _refuse_null(path: str, table: Any, column: str, rows: int) -> None:
    """Refuse a row without a text, of a table that so many rows are before."""
    if table[column].null_count:
        row = rows + table[column].is_null().index(True).as_py()
        message = f"{path}: row {row}: column {column!r} is null; "
        raise ValueError(worded(lambda name: f"{message}{name('nulls', 'keep')} gives it no ids"))
