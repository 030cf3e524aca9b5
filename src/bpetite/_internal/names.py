"""A file's name as this process has it ↔ as it stands in files and results: the same in every locale.

A name is bytes, which Python decodes by the locale. Files hold it decoded as UTF-8; a byte that is not UTF-8
becomes a lone surrogate, as in Python itself where the locale is UTF-8, and an escape such as `\\udcff` in
JSON.
"""

from __future__ import annotations

import os


def recorded(name: str) -> str:
    """Return a name as it stands in files."""
    try:
        encoded = os.fsencode(name)
    except UnicodeEncodeError:  # the name of no file here, such as a URL
        return name
    return encoded.decode("utf-8", "surrogateescape")


def local(name: str) -> str:
    """Return a recorded name as this process opens it."""
    return os.fsdecode(name.encode("utf-8", "surrogateescape"))
