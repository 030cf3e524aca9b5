"""Bars on stderr, one for each stage of long work, drawn by rich."""

from __future__ import annotations

from typing import Literal

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.text import Text

Measure = Literal["steps", "bytes"]
"""The unit of the work: steps of several stages, or the bytes of documents."""


class _RateColumn(ProgressColumn):
    """The speed of a stage: bytes of text a second when counting, otherwise steps."""

    def render(self, task: Task) -> Text:
        """Return the rate, once there is one."""
        if not task.speed:
            return Text("")
        rate = f"{task.speed / 1e6:.1f} MB/s" if task.description == "counting" else f"{task.speed:,.0f}/s"
        return Text(rate, style="progress.data.speed")


class _DocumentsColumn(ProgressColumn):
    """The number of finished documents."""

    def render(self, task: Task) -> Text:
        """Return the number."""
        return Text(f"{task.fields['documents']:,} documents")


class Bars:
    """Bars that are visible while a `with` block runs."""

    def __init__(self, measure: Measure) -> None:
        columns: tuple[ProgressColumn, ...] = (
            (DownloadColumn(), _DocumentsColumn(), TransferSpeedColumn())
            if measure == "bytes"
            else (TextColumn("{task.percentage:3.0f}%"), _RateColumn(), TimeElapsedColumn())
        )
        self._progress = Progress(
            TextColumn("{task.description:>9}"),
            BarColumn(),
            *columns,
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._tasks: dict[str, TaskID] = {}

    def start(self) -> None:
        """Show the bars."""
        self._progress.start()

    def stop(self) -> None:
        """Remove the bars."""
        self._progress.stop()

    def draw(self, stage: str, done: int, total: int, documents: int = 0) -> None:
        """Show the progress of a stage."""
        if stage not in self._tasks:
            self._tasks[stage] = self._progress.add_task(stage, total=total or None, documents=documents)
        self._progress.update(self._tasks[stage], completed=done, total=total or None, documents=documents)
