"""What a long command shows on stderr: a live bar on a terminal, plain lines elsewhere, nothing if quiet."""

from __future__ import annotations

import sys
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

EVERY = 100
"""A plain line is written at every hundredth merge."""


class TrainingProgress:
    """Called with `(stage, done, total)` while training runs; used as a context manager around it."""

    def __init__(self, planned: int, *, quiet: bool = False) -> None:
        self._planned = planned
        self._quiet = quiet
        self._merges_told = 0
        self._live = not quiet and sys.stderr.isatty()
        self._bars = Progress(
            TextColumn("{task.description:>9}"),
            BarColumn(),
            TextColumn("{task.percentage:3.0f}%"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=not self._live,
        )
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> TrainingProgress:
        self._bars.start()
        self._say(f"Training started: planned={self._planned}")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how far a stage has come."""
        if self._live:
            if stage not in self._tasks:
                self._tasks[stage] = self._bars.add_task(stage, total=total or None)
            self._bars.update(self._tasks[stage], completed=done, total=total or None)
        elif stage == "merging":
            self._tell_merges(done)

    def complete(self, merges: int, elapsed_ms: float) -> None:
        """Tell that training is over."""
        self._tell_merges(merges)
        self._bars.stop()
        early = f" (of {self._planned} planned; no pair is left)" if merges < self._planned else ""
        self._say(f"Training complete: merges={merges}{early} elapsed_ms={elapsed_ms:.0f}")

    def _tell_merges(self, done: int) -> None:
        while not self._live and self._merges_told + EVERY <= done:
            self._merges_told += EVERY
            self._say(f"Training merges: completed={self._merges_told} planned={self._planned}")

    def _say(self, line: str) -> None:
        if not self._quiet:
            print(line, file=sys.stderr, flush=True)
