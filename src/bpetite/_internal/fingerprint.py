"""The fingerprint: a SHA-256 hash of everything that decides ids, written as JSON."""

import hashlib
from collections.abc import Mapping

from bpetite._internal.json import written


def fingerprint(content: Mapping[str, object]) -> str:
    """Hash the JSON of an object, with sorted keys and without spaces.

    >>> fingerprint({"b": [1, 2], "a": [3]}) == hashlib.sha256(b'{"a":[3],"b":[1,2]}').hexdigest()
    True
    """
    return hashlib.sha256(written(content, ascii_only=True).encode()).hexdigest()
