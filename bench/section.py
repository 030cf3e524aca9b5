"""A section → `docs/benchmarks.md` with that section replaced, and its first table in the README.

Also describes the machine. `python -m bench.section` copies the tables from the page to the README again.
"""

from __future__ import annotations

import mmap
import os
import platform
import re
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path

from bpetite.training import available_memory

PROJECT = Path(__file__).parent.parent


def raise_priority() -> str:
    """Ask for real-time priority, which new processes inherit; return what to say of it.

    Without it, some systems let a new thread begin milliseconds late, on a processor that is busy.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except (AttributeError, OSError):
        return "normal priority"
    return "real-time priority"


def touch_memory() -> str:
    """Write to half of the free memory once, and give it back; return what to say of it.

    A virtual machine gets memory from its host when it first touches it, and waits milliseconds for a large
    page. What a process takes would depend on whether the memory that it gets was in use before.
    """
    size = (available_memory() or 0) // 2 // mmap.PAGESIZE * mmap.PAGESIZE
    if size == 0:
        return "memory as it is"
    with mmap.mmap(-1, size) as memory:
        memory[:: mmap.PAGESIZE] = b"x" * (size // mmap.PAGESIZE)
    return f"{size / 1e9:.0f} GB of memory touched before"


def write_section(title: str, text: str, project: Path = PROJECT) -> None:
    """Write a section into `docs/benchmarks.md`, and the first tables of that page into the README."""
    _put_between(project / "docs" / "benchmarks.md", title, f"## {title}\n\n{text.strip()}")
    write_summary(project)


def write_summary(project: Path = PROJECT) -> None:
    """Write the first tables of `docs/benchmarks.md` in place of the README's, whose words stay."""
    page, readme = project / "docs" / "benchmarks.md", project / "README.md"
    content = page.read_text(encoding="utf-8")
    tables = iter(
        [_NUMBERS.sub(_shortened, _first_table(content, "Training")), _first_table(content, "Encoding")]
    )
    before, begin, rest = readme.read_text(encoding="utf-8").partition("<!-- Benchmarks: begin -->\n")
    summary, end, after = rest.partition("<!-- Benchmarks: end -->\n")
    summary = _TABLE.sub(lambda old: next(tables, "") or old[0], summary)
    readme.write_text(f"{before}{begin}{summary}{end}{after}", encoding="utf-8")


def _put_between(page: Path, title: str, text: str) -> None:
    """Write a text between its markers, and leave everything outside of them as it is."""
    begin, end = f"<!-- {title}: begin -->\n", f"<!-- {title}: end -->\n"
    content = page.read_text(encoding="utf-8")
    if begin not in content:
        content = f"{content.rstrip()}\n\n{begin}{end}"
    before, _, rest = content.partition(begin)
    after = rest.partition(end)[2]
    page.write_text(f"{before}{begin}{text}\n{end}{after}", encoding="utf-8")


def _first_table(page: str, title: str) -> str:
    """Return the first table of a section, or nothing."""
    section = page.partition(f"<!-- {title}: begin -->\n")[2].partition(f"<!-- {title}: end -->")[0]
    found = _TABLE.search(section)
    return found[0] if found else ""


_TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
_NUMBERS = re.compile(r"([0-9.]+) / [0-9.]+ / [0-9.]+(?: \(\*\*([0-9.]+x)\*\*\))?")


def _shortened(numbers: re.Match[str]) -> str:
    """Of a training's seconds, processor time and memory, keep the seconds; of a peer's, the ratio."""
    return numbers[2] or f"{numbers[1]} s"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; the first column holds names, the others numbers."""
    lines = [head, ["---"] + ["--:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def machine() -> str:
    """Return a short description of the machine."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = re.findall(r"model name\s*: (.*)", info.read_text(encoding="utf-8"))
        model = names[0] if names else model
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    # If the load exceeds the cores, others worked here too: then trust processor time more than the wall.
    load = f", load average {os.getloadavg()[1]:.1f}" if hasattr(os, "getloadavg") else ""
    system = f"{platform.system()} {platform.machine()}"
    return f"{model}, {cores} cores, {system}, Python {platform.python_version()}{load}"


def versions(packages: Iterable[str]) -> str:
    """Return the installed versions of packages."""
    found = {one.metadata["Name"]: one.version for one in metadata.distributions()}
    return ", ".join(f"{package} {found.get(package, '(not installed)')}" for package in packages)


if __name__ == "__main__":
    write_summary()
