"""How inputs become documents: the choices that go with a path of texts, wherever one is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from bpetite.reading.recognition import Format

Invalid = Literal["error", "replace", "skip"]


@dataclass(frozen=True)
class Reading:
    """How inputs become documents."""

    separator: str | None = None
    """What stands between the documents of a text file; without one, the file is a document."""

    text_field: str = "text"
    """The field of a JSON line that holds the text."""

    text_column: str = "text"
    """The column of a Parquet file that holds the text."""

    invalid: Invalid = "error"
    """What happens to a document that is not text: an error, U+FFFD for what is wrong, or no document."""

    input_format: Format = "auto"
    """What the inputs are; `auto` looks at the name and the content of each."""

    cut: Callable[[bytes], int | None] | None = field(default=None, compare=False)
    """Finds where a long document may be cut without a change to its pretokens; None is nowhere."""

    def __post_init__(self) -> None:
        if self.separator == "":
            raise ValueError("separator must not be empty")
        if self.invalid not in ("error", "replace", "skip"):
            raise ValueError(f"invalid must be error, replace or skip, not {self.invalid!r}")
        if self.input_format not in ("auto", "text", "jsonl", "parquet"):
            raise ValueError(f"input_format must be auto, text, jsonl or parquet, not {self.input_format!r}")

    def to_dict(self) -> dict[str, Any]:
        """Return the choices, as manifests record them and `Counts.from_files` takes them."""
        return {
            "separator": self.separator,
            "text_field": self.text_field,
            "text_column": self.text_column,
            "invalid": self.invalid,
            "input_format": self.input_format,
        }
