"""The JSON of a `tokenizer.json` in; its content without the merges, and these as lines, out.

The merges are most of such a file. As objects of Python they would take longer than all else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

from bpetite._engine import find_merges
from bpetite._internal.json import Json, parse_object
from bpetite._internal.types import Path

_CUT = b'"\\u0000merges"'
"""What stands in the place of merges that were cut out."""


def parse_without_merges(path: Path, content: bytes, what: str) -> tuple[Json, bytes | None]:
    """Read an object, and apart from it, if it is a `tokenizer.json`, its merges as lines `left right`.

    >>> content = b'{"model": {"merges": ["a b", "ab c"]}}'
    >>> parse_without_merges("tokenizer.json", content, "a tokenizer.json")[1]
    b'a b\\nab c'
    """
    found = find_merges(content) if _CUT not in content else None
    if found is not None:
        start, end, lines = found
        with suppress(ValueError):  # The error of the whole file names the right place.
            document = parse_object(path, content[:start] + _CUT + content[end:], what)
            model = document.get("model")
            if isinstance(model, dict) and model.get("merges") == json.loads(_CUT):
                return document, lines
    return parse_object(path, content, what), None


class CutMerges(Sequence[str]):
    """The merges of a file as texts `left right`, which are only made if they are needed."""

    def __init__(self, lines: bytes) -> None:
        self._lines = lines

    @cached_property
    def _texts(self) -> list[str]:
        return self._lines.decode("utf-8").split("\n") if self._lines else []

    def __len__(self) -> int:
        return self._lines.count(b"\n") + 1 if self._lines else 0

    def __getitem__(self, place: Any) -> Any:
        return self._texts[place]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)
