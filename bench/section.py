"""Replaces a section of `docs/benchmarks.md`, and draws the README's table and chart from what was measured.

Also describes the machine. `python -m bench.section` writes the table and the chart again.
"""

from __future__ import annotations

import mmap
import os
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from bench.chart import THEMES, Bar, chart
from bench.results import Measured, read_results
from bpetite._internal.memory import available_memory

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

    A virtual machine gets memory from its host when it first touches it, and waits milliseconds for
    a large page. What a process takes would depend on whether the memory that it gets was in use
    before.
    """
    size = (available_memory() or 0) // 2 // mmap.PAGESIZE * mmap.PAGESIZE
    if size == 0:
        return "memory as it is"
    with mmap.mmap(-1, size) as memory:
        memory[:: mmap.PAGESIZE] = b"x" * (size // mmap.PAGESIZE)
    return f"{size / 1e9:.0f} GB of memory touched before"


def write_section(title: str, text: str, project: Path = PROJECT) -> None:
    """Write a section into `docs/benchmarks.md`, and the table and the chart of the README."""
    _put_between(project / "docs" / "benchmarks.md", title, f"## {title}\n\n{text.strip()}")
    write_summary(project)


SHOWN = ("llama3", "english")
"""The model and the text whose figures the README shows."""


def write_summary(project: Path = PROJECT) -> None:
    """Write the README's table in place of the old one; the words around it stay."""
    readme = project / "README.md"
    before, begin, rest = readme.read_text("utf-8").partition("<!-- Benchmarks: begin -->\n")
    old, end, after = rest.partition("<!-- Benchmarks: end -->\n")
    new = _TABLE.sub(lambda _: summary(project) + "\n", old, count=1)
    readme.write_text(f"{before}{begin}{new}{end}{after}", "utf-8")
    write_charts(project)


def write_charts(project: Path) -> None:
    """Draw the rates that the README's table has, once for light and once for dark pages."""
    bars = []
    for measured in _measured(project):
        if measured["large"]:
            continue
        timed = [row for row in measured["rows"] if row["first"]]
        bars += [Bar(title(row), row["first"], row["later"] or 0) for row in timed]
    bars.sort(key=lambda bar: -bar.first)
    heading = "Encoding English with Llama 3's tokenizer"
    for name, colors in THEMES.items():
        (project / "docs" / f"speed-{name}.svg").write_text(chart(heading, bars, colors), "utf-8")


def _measured(project: Path) -> list[Measured]:
    """Return the measurements of one thread that the README shows."""
    shown = (*SHOWN, 1)
    results = read_results(project)
    return [
        result
        for result in results
        if (result["model"], result["text"], result["threads"]) == shown
    ]


def summary(project: Path) -> str:
    """Return a row for each library: seconds of training, and what it takes with one model and one text."""
    page = (project / "docs" / "benchmarks.md").read_text("utf-8")
    rows = [line.strip("|").split("|") for line in _first_table(page, "Training").splitlines()]
    place = next(
        place for place, head in enumerate(rows[0]) if head.split(",")[0].strip() == SHOWN[1]
    )
    training = {row[0].strip(): row[place].split("/")[0].strip() for row in rows[2:]}
    cells: dict[str, list[str]] = {}
    where = ""
    for measured in _measured(project):
        where = measured["machine"].partition(", load average")[0]
        for row in measured["rows"]:
            if not row["first"]:
                continue
            shown = cells.setdefault(f"{row['library']} {row['version']}", ["–"] * 8)
            if measured["large"]:
                shown[2] = f"{row['first']:.0f}"
            else:
                shown[1] = f"{row['first']:.0f}"
                shown[3:] = figures_of(row)
    for name, seconds in training.items():
        version = re.search(rf"\b{name} ([0-9][0-9a-z.]*[0-9a-z])", page)
        title = next((title for title in cells if title.startswith(f"{name} 0.")), None)
        cells.setdefault(title or f"{name} {version[1] if version else ''}", ["–"] * 8)[0] = seconds
    heads = ["training, s", "first pass, MB/s", "500 MB, MB/s", "later, MB/s"]
    heads += ["prompt, µs", "decoding, MB/s", "loading, ms", "memory, MB"]
    order = sorted(
        cells, key=lambda name: (not name.startswith("bpetite"), -_number(cells[name][1]))
    )
    return table([where, *heads], [[name, *cells[name]] for name in order])


def figures_of(row: Mapping[str, Any]) -> list[str]:
    """Return a library's later passes, prompts of 400 characters, decoding, loading and memory."""
    return [
        f"{row['later']:.0f}" if row["later"] else "–",
        f"{1e6 * row['prompts']['400']:.3g}",
        f"{1 / row['decoding']:.0f}",
        f"{1e3 * row['loading']:.0f}",
        f"{row['peak'] / 1e6:.0f}" if row["peak"] else "–",
    ]


def title(row: Mapping[str, Any]) -> str:
    """Return the name of a library; of tokenizers, with its version."""
    version = row["version"]
    return f"{row['library']} {version}" if row["library"] == "tokenizers" else row["library"]


def _number(cell: str) -> float:
    return float(cell) if cell != "–" else 0


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
    # If the load exceeds the cores, others worked here too: then trust processor time more than the
    # wall.
    load = f", load average {os.getloadavg()[1]:.1f}" if hasattr(os, "getloadavg") else ""
    system = f"{platform.system()} {platform.machine()}"
    return f"{model}, {cores} cores, {system}, Python {platform.python_version()}{load}"


def versions(packages: Iterable[str]) -> str:
    """Return the installed versions of packages."""
    found = {one.metadata["Name"]: one.version for one in metadata.distributions()}
    return ", ".join(f"{package} {found.get(package, '(not installed)')}" for package in packages)


if __name__ == "__main__":
    write_summary()
