"""Progress of long work on stderr: live bars on a terminal or in a notebook, nothing elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Self

from bpetite._internal.types import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as Bars


class Shown:
    """Called with `(stage, done, total)` while a `with` block runs, to draw a bar for each stage.

    Merging is told in merges, the number of `documents` beside the other bars, and all other stages in bytes.
    """

    def __init__(self, *first_lines: str | None, quiet: bool = False) -> None:
        """`first_lines` are said at the first progress, when the inputs are found and not refused."""
        self._quiet = quiet
        self._first_lines = [line for line in first_lines if line is not None]
        self._bars = _bars() if not quiet and _can_be_drawn() else None
        self._bar_of: dict[str, int] = {}
        self._documents = ""
        self._started = time.monotonic()

    def __enter__(self) -> Self:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(self, *raised: object) -> None:
        if self._bars is not None:
            self._bars.stop()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how far a stage has come."""
        self._say_first_lines()
        if stage == "documents":
            self._documents = f", {done:,} documents"
        elif self._bars is not None:
            self._draw(self._bars, stage, done, total)

    def complete(self, what: str, size: int | None = None) -> None:
        """Say that the work is finished; of what was read, also its size in bytes and the speed."""
        self._say_first_lines()
        self.__exit__()
        if size is not None:
            elapsed = time.monotonic() - self._started
            what += f", {size / 1e6:,.1f} MB in {elapsed:.1f} s ({size / 1e6 / max(elapsed, 1e-9):,.0f} MB/s)"
        self._say(what)

    def _draw(self, bars: Bars, stage: str, done: int, total: int) -> None:
        if stage not in self._bar_of:
            self._bar_of[stage] = bars.add_task(stage, amount="")
        task = bars.tasks[self._bar_of[stage]]
        speed = task.speed or 0
        if stage == "merging":
            amount = f"{done:,}, {speed:,.0f}/s"
        else:
            amount = f"{done / 1e6:,.0f} MB{self._documents}, {speed / 1e6:,.0f} MB/s"
        bars.update(task.id, completed=done, total=total or None, amount=amount)

    def _say_first_lines(self) -> None:
        while self._first_lines:
            self._say(self._first_lines.pop(0))

    def _say(self, line: str) -> None:
        if not self._quiet:
            with contextlib.suppress(OSError):  # Nobody can read it; the work goes on.
                print(line, file=sys.stderr, flush=True)


def _can_be_drawn() -> bool:
    """Whether stderr is where bars can be drawn: a terminal or a notebook."""
    if sys.stderr.isatty():
        return True
    if "IPython" not in sys.modules:
        return False
    from rich.console import Console

    return Console(stderr=True).is_jupyter


def _bars() -> Bars:
    from rich import progress  # It takes longer than everything else.
    from rich.console import Console

    return progress.Progress(
        "{task.description:>9}",
        progress.BarColumn(),
        "{task.percentage:3.0f}%",
        "{task.fields[amount]}",
        progress.TimeRemainingColumn(elapsed_when_finished=True),
        console=Console(stderr=True),
        transient=True,
    )


@contextlib.contextmanager
def shown(progress: Progress | bool | None) -> Iterator[Progress | None]:
    """Yield what is called with the progress of some work; `True` means bars on a terminal or in a notebook.

    >>> with shown(True) as report:
    ...     callable(report)
    True
    """
    if progress is True:
        with Shown() as bars:
            yield bars
    elif progress is None or progress is False:
        yield None
    elif callable(progress):
        yield progress
    else:
        raise TypeError(f"progress must be a function, True or None, not {progress!r:.100}")
