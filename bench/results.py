"""Reads and writes `bench/encoding.jsonl`: the figures of encoding, one line for each model with a text.

Each figure has eight digits, more than the page shows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Measured = dict[str, Any]
"""A model with a text: a `Benchmark` as JSON, with `model`, `text`, `machine` and `conditions`."""


def read_results(project: Path) -> list[Measured]:
    """Return the figures of each model with each text, as the file orders them."""
    lines = _path(project).read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def write_results(project: Path, results: Iterable[Measured]) -> None:
    """Write the figures in place of the old ones."""
    lines = [_line(result) for result in results]
    _path(project).write_text("".join(lines), "utf-8")


def _path(project: Path) -> Path:
    return project / "bench" / "encoding.jsonl"


def _line(result: Measured) -> str:
    rounded = json.loads(json.dumps(result), parse_float=_eight_digits)
    return json.dumps(rounded, separators=(",", ":")) + "\n"


def _eight_digits(number: str) -> float:
    return float(f"{float(number):.8g}")
