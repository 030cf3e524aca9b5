"""Progress of long work on stderr: live bars on a terminal or in a notebook, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, Self

from bpetite._internal.types import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

EVERY = 100
"""A plain line is written at every hundredth merge ..."""

FIRST = 1000
"""... up to this one. After it, and where bytes are counted, ..."""

EVERY_SECONDS = 10
"""... a line is written so many seconds after the last one."""


def _are_shown() -> bool:
    """Whether stderr is where bars can be drawn: a terminal or a notebook."""
    if sys.stderr.isatty():
        return True
    if "IPython" not in sys.modules:
        return False
    from rich.console import Console

    return Console(stderr=True).is_jupyter


def _bars(measure: Literal["steps", "bytes"]) -> Bars:
    """Return bars for steps of several stages, or for the bytes of documents."""
    from rich import progress  # It takes longer than everything else.
    from rich.console import Console

    columns = (
        (progress.DownloadColumn(), "{task.fields[documents]:,} documents", progress.TransferSpeedColumn())
        if measure == "bytes"
        else ("{task.percentage:3.0f}%", "{task.fields[rate]}", progress.TimeElapsedColumn())
    )
    return progress.Progress(
        "{task.description:>9}",
        progress.BarColumn(),
        *columns,
        progress.TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )


class _Shown:
    """Bars on a terminal, one for each stage, while a `with` block runs; elsewhere lines, if wanted."""

    def __init__(
        self, measure: Literal["steps", "bytes"], *first_lines: str | None, quiet: bool = False
    ) -> None:
        self._quiet = quiet
        self._first_lines = [line for line in first_lines if line is not None]
        self._bars = _bars(measure) if not quiet and _are_shown() else None
        self._tasks: dict[str, int] = {}

    def __enter__(self) -> Self:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._stop()

    def _stop(self) -> None:
        if self._bars is not None:
            self._bars.stop()

    def _draw(self, bars: Bars, stage: str, done: int, total: int, documents: int = 0) -> None:
        """Show the progress of a stage; its rate is in bytes of text when counting, otherwise in steps."""
        if stage not in self._tasks:
            self._tasks[stage] = bars.add_task(stage, documents=0, rate="")
        task = bars.tasks[self._tasks[stage]]
        speed = task.speed or 0
        rate = f"{speed / 1e6:.1f} MB/s" if stage == "counting" else f"{speed:,.0f}/s"
        bars.update(task.id, completed=done, total=total or None, documents=documents, rate=rate)

    def _say(self, line: str) -> None:
        if not self._quiet:
            try:
                print(line, file=sys.stderr, flush=True)
            except OSError:  # Nobody can read it; the work goes on.
                self._quiet = True

    def _say_first_lines(self) -> None:
        """Say them once: at the first progress, when the inputs were found and nothing was refused."""
        while self._first_lines:
            self._say(self._first_lines.pop(0))


class TrainingProgress(_Shown):
    """Called with `(stage, done, total)` while training runs; used as a context manager around it."""

    def __init__(self, planned: int, note: str | None = None, *, quiet: bool = False) -> None:
        """`note` is a line that comes first."""
        super().__init__("steps", note, f"Training started: planned={planned}", quiet=quiet)
        self._planned = planned
        self._merges_told = 0
        self._merges_counted = 0
        self._told_at = time.monotonic()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how far a stage has come."""
        self._say_first_lines()
        if self._bars is not None:
            if stage != "documents":
                self._draw(self._bars, stage, done, total)
        elif stage == "merging":
            self._tell_merges(done)

    def complete(self, merges: int, elapsed_ms: float) -> None:
        """Say that training is finished."""
        self._say_first_lines()
        if self._bars is None:
            self._tell_merges(merges)
            if self._merges_told < self._merges_counted:
                self._tell_merges_counted()
        self._stop()
        early = f" (of {self._planned} planned; no pair is left)" if merges < self._planned else ""
        self._say(f"Training complete: merges={merges}{early} elapsed_ms={elapsed_ms:.0f}")

    def _tell_merges(self, done: int) -> None:
        """Write a line for each hundred merges; later ones at intervals."""
        while self._merges_counted + EVERY <= done:
            self._merges_counted += EVERY
            if self._merges_counted <= FIRST or time.monotonic() - self._told_at >= EVERY_SECONDS:
                self._tell_merges_counted()

    def _tell_merges_counted(self) -> None:
        self._merges_told, self._told_at = self._merges_counted, time.monotonic()
        self._say(f"Training merges: completed={self._merges_told} planned={self._planned}")


class BytesProgress(_Shown):
    """Called with `(stage, done, total)` while a corpus is read; a context manager around it.

    The stage `documents` counts documents, any other one bytes. A terminal gets a bar with bytes,
    documents, speed and time left; a file gets a line every ten seconds.
    """

    def __init__(self, verb: str, note: str | None = None, *, quiet: bool = False) -> None:
        """`note` is a line that comes first."""
        super().__init__("bytes", note, quiet=quiet)
        self._verb = verb
        self._documents = 0
        self._started = self._told = time.monotonic()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how far the reading has come."""
        self._say_first_lines()
        if stage == "documents":
            self._documents = done
        elif self._bars is not None:
            self._draw(self._bars, self._verb, done, total, self._documents)
        elif not self._quiet and time.monotonic() - self._told >= EVERY_SECONDS:
            self._told = time.monotonic()
            speed = done / (self._told - self._started)
            left = f", {(total - done) / speed:.0f} s left" if total > done and speed else ""
            of = f" of {total / 1e6:,.0f}" if total else ""
            size = f"{done / 1e6:,.0f}{of} MB, {self._documents:,} documents"
            self._say(f"{self._verb}: {size}, {speed / 1e6:,.0f} MB/s{left}")

    def complete(self, what: str, size: int) -> None:
        """Say what was read."""
        self._stop()
        elapsed = time.monotonic() - self._started
        self._say(
            f"{self._verb} complete: {what}, {size / 1e6:,.1f} MB in {elapsed:.1f} s"
            f" ({size / 1e6 / max(elapsed, 1e-9):,.0f} MB/s)"
        )


class StageProgress(_Shown):
    """Called with `(stage, done, total)`: one bar for each stage, and no lines where there is no terminal."""

    def __init__(self, *, quiet: bool = False) -> None:
        super().__init__("steps", quiet=quiet)

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how far a stage has come."""
        if self._bars is not None and stage != "documents":
            self._draw(self._bars, stage, done, total)


@contextlib.contextmanager
def shown(progress: Progress | bool | None) -> Iterator[Progress | None]:
    """Yield what is called with the progress of some work; `True` means bars on a terminal or in a notebook.

    >>> with shown(True) as report:
    ...     callable(report)
    True
    """
    if progress is True:
        with StageProgress() as bars:
            yield bars
    elif progress is None or progress is False:
        yield None
    elif callable(progress):
        yield progress
    else:
        raise TypeError(f"progress must be a function, True or None, not {progress!r:.100}")
