"""The fingerprint: a SHA-256 hash of everything that decides ids, written as JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from bpetite._internal.json import write_object


def fingerprint(content: Mapping[str, object]) -> str:
    """Hash the JSON of an object, with sorted keys and without spaces; a function writes its own.

    >>> content = {"b": lambda write: write(b"[1,2]"), "a": [3]}
    >>> fingerprint(content) == hashlib.sha256(b'{"a":[3],"b":[1,2]}').hexdigest()
    True
    """
    digest = hashlib.sha256()
    write_object(content, digest.update)
    return digest.hexdigest()
