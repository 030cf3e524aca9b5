"""The JSON of a `tokenizer.json` in; its content with the ids of tokens out, and apart from it the merges.

Ids and merges are most of such a file. The engine reads them; read as all else, they would take longer than
everything that follows.
"""

from __future__ import annotations

import json
from contextlib import suppress

from bpetite._engine import find_model
from bpetite._internal.json import Json, parse_object
from bpetite._internal.types import Path

_CUT_VOCAB, _CUT_MERGES = b'"\\u0000vocab"', b'"\\u0000merges"'
"""What stands in the place of what was cut out."""


def parse_without_merges(path: Path, content: bytes, what: str) -> tuple[Json, bytes | None]:
    """Read an object, and apart from it, if it is a `tokenizer.json`, its merges (see `shared/merges.py`).

    >>> content = b'{"model": {"vocab": {"a": 0}, "merges": ["a b", "ab c"]}}'
    >>> parse_without_merges("tokenizer.json", content, "a tokenizer.json")
    ({'model': {'vocab': {'a': 0}, 'merges': '\\x00merges'}}, b'a\\xfeb\\xffab\\xfec')
    """
    found = find_model(content) if not (_CUT_VOCAB in content or _CUT_MERGES in content) else None
    if found is not None:
        vocab, ids, merges, pairs = found
        first, second = sorted([(*vocab, _CUT_VOCAB), (*merges, _CUT_MERGES)])
        between = content[first[1] : second[0]]
        rest = content[: first[0]] + first[2] + between + second[2] + content[second[1] :]
        with suppress(ValueError):  # The error of the whole file names the right place.
            document = parse_object(path, rest, what)
            model = document.get("model")
            if isinstance(model, dict) and (model.get("vocab"), model.get("merges")) == _CUT:
                model["vocab"] = ids
                return document, pairs
    return parse_object(path, content, what), None


_CUT = (json.loads(_CUT_VOCAB), json.loads(_CUT_MERGES))
