"""The default corpus that every machine has: the source of the running Python's standard library."""

from __future__ import annotations

import sysconfig
from pathlib import Path


def standard_library_files() -> list[Path]:
    """Return the UTF-8 source files of the standard library, in one fixed order.

    Its few test files in other encodings, and packages installed beside it, are not part of the corpus.
    """
    folder = Path(sysconfig.get_path("stdlib"))
    files = [path for path in sorted(folder.rglob("*.py")) if _belongs(path.relative_to(folder))]
    corpus = [path for path in files if _is_utf8(path)]
    if not corpus:
        raise FileNotFoundError(f"this Python keeps no source of its standard library in {folder}")
    return corpus


def _belongs(path: Path) -> bool:
    return not {"site-packages", "dist-packages", "__pycache__"} & set(path.parts)


def _is_utf8(path: Path) -> bool:
    try:
        path.read_text("utf-8")
    except UnicodeDecodeError:
        return False
    return True
