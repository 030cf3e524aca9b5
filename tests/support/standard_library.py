"""Texts that every machine has: the source code of Python's standard library."""

from __future__ import annotations

import sysconfig
from pathlib import Path


def standard_library_files() -> list[Path]:
    """Return the UTF-8 source files of the standard library, in a fixed order.

    A few test files in other encodings, and installed packages, are not part of the corpus.
    """
    folder = Path(sysconfig.get_path("stdlib"))
    files = [
        path
        for path in sorted(folder.rglob("*.py"))
        if {"site-packages", "dist-packages"}.isdisjoint(path.relative_to(folder).parts)
        and _is_utf8(path)
    ]
    if not files:
        raise FileNotFoundError(
            f"the source of Python's standard library was not found in {folder}"
        )
    return files


def _is_utf8(path: Path) -> bool:
    try:
        path.read_text("utf-8")
    except UnicodeDecodeError:
        return False
    return True
