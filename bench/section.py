"""A section in, `docs/benchmarks.md` with that section replaced out; and what its numbers were made on."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path

BENCHMARKS = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def write_section(title: str, text: str) -> None:
    """Put a section between its markers, which keep it apart from what other programs and people write."""
    begin, end = f"<!-- {title}: begin -->", f"<!-- {title}: end -->"
    section = f"{begin}\n## {title}\n\n{text.strip()}\n{end}\n"
    page = BENCHMARKS.read_text(encoding="utf-8") if BENCHMARKS.exists() else "# Benchmarks\n"
    old = re.compile(re.escape(begin) + ".*?" + re.escape(end) + "\n", re.DOTALL)
    if old.search(page):
        page = old.sub(lambda _: section, page)
    else:
        page = f"{page.rstrip()}\n\n{section}"
    BENCHMARKS.write_text(page, encoding="utf-8")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table whose first column holds names and whose others hold numbers."""
    lines = [head, ["---"] + ["--:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def machine() -> str:
    """Return what the numbers were made on, in a few words."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = re.findall(r"model name\s*: (.*)", info.read_text(encoding="utf-8"))
        model = names[0] if names else model
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    # More load than cores means that others worked here too: then processor time tells more than the wall.
    load = f", load average {os.getloadavg()[1]:.1f}" if hasattr(os, "getloadavg") else ""
    system = f"{platform.system()} {platform.machine()}"
    return f"{model}, {cores} cores, {system}, Python {platform.python_version()}{load}"


def versions(packages: Iterable[str]) -> str:
    """Return the installed versions of packages."""
    return ", ".join(f"{package} {metadata.version(package)}" for package in packages)
