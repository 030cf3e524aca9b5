"""Every unsafe block of the engine is listed with its proof and its tests."""

import runpy
from pathlib import Path

PROJECT = Path(__file__).parents[2]


def test_the_page_lists_every_unsafe_block() -> None:
    tool = runpy.run_path(str(PROJECT / "tools" / "list_unsafe.py"))
    written = (PROJECT / "docs" / "unsafe.md").read_text("utf-8")
    assert written == tool["page"](), "run python tools/list_unsafe.py"
