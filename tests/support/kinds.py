"""Marks tests by what they need, so that some of them can be run alone: a plugin, loaded by `conftest.py`.

`make test` leaves out what is `slow` or `exhaustive`; `make quick` also leaves out `peers` and `processes`.
"""

import ast
from functools import cache
from pathlib import Path

import pytest

SLOW = {
    "test_attacks": "each malicious file is read in a process of its own",
    "test_concurrency": "threads, forks and processes that end while others work",
    "test_corpus_cluster": "starts a Ray cluster",
    "test_faults": "disks that fill up, signals, limits of the system",
    "test_growth": "counts the work for texts of growing size",
    "test_memory": "processes with little memory",
    "test_panics": "processes in which the engine panics on purpose",
    "test_real_encodings": "counts what each release of transformers asks for",
    "test_sizes": "thousands of files with extreme numbers",
    "test_small_stacks": "threads with the smallest stacks",
    "test_startup": "starts many interpreters",
    "test_stdout": "every command, with stdout closed, full or broken",
}
"""Modules that are slow by design, and why. Single tests elsewhere have the mark `slow`."""

PEERS = {
    *("tiktoken", "tokenizers", "transformers", "sentencepiece", "rustbpe"),
    *("pyarrow", "polars", "pandas", "duckdb", "datasets", "ray", "fsspec", "zstandard", "IPython"),
}
"""Libraries that the core installation lacks."""

PROCESSES = {"subprocess", "multiprocessing", "alone", "interrupts", "disks"}
"""Modules that start processes: Python's, and those of the tests."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        module = item.path
        if module.stem in SLOW or "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("slow")
        if PEERS & imports(module):
            item.add_marker("peers")
        if PROCESSES & imports(module):
            item.add_marker("processes")


@cache
def imports(module: Path) -> set[str]:
    """Return the names of the modules that a module imports, in functions, too."""
    names = set()
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names
