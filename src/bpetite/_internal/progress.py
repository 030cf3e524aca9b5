"""Progress of long work: live bars on a terminal or in a notebook, elsewhere a line now and then."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, BinaryIO, Protocol, TextIO

from bpetite._internal.integers import counted
from bpetite._internal.types import Progress


def read_stdin() -> BinaryIO:
    """Return stdin; a person at a terminal is told that it is read."""
    if sys.stdin is None:
        raise OSError("stdin is closed, and there is nothing to read")
    if sys.stdin.isatty():
        tell("reading from the terminal; Ctrl-D (on Windows, Ctrl-Z and Enter) ends it")
    return sys.stdin.buffer


def tell(message: object) -> None:
    """Write a message to stderr; if nobody can read it, work goes on."""
    with contextlib.suppress(OSError):
        print(folded(str(message), sys.stderr), file=sys.stderr, flush=True)


def folded(text: str, stream: TextIO) -> str:
    """Return a text with its lines folded between words, if it is written to a terminal."""
    if not stream.isatty():
        return text
    import textwrap  # slow to import

    fold = partial(textwrap.fill, break_long_words=False, break_on_hyphens=False)
    return "\n".join(fold(line, columns()) for line in text.splitlines())


def columns() -> int:
    """Return the width of the terminal, as `shutil.get_terminal_size` does; importing that takes 2 ms."""
    with contextlib.suppress(KeyError, ValueError):
        wanted = int(os.environ["COLUMNS"])
        if wanted > 0:
            return wanted
    with contextlib.suppress(
        AttributeError, ValueError, OSError
    ):  # stdout is closed, or no terminal
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or _COLUMNS  # type: ignore[union-attr]
    return _COLUMNS


_COLUMNS = 80
"""The width of what is no terminal, or does not say its width."""


def duration(seconds: float) -> str:
    """Return a duration for people.

    >>> duration(0.031), duration(5.353), duration(754), duration(9_000)
    ('31 ms', '5.4 s', '12 min 34 s', '2 h 30 min')
    """
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 99.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


class Shown(contextlib.AbstractContextManager["Shown"]):
    """Called with `(stage, done, total)` while a `with` block runs, to show how far each stage has come.

    Merging is counted in merges, all other stages in bytes; the number of `documents` is shown with
    them.
    """

    note: str | None = None
    """What is said at the first progress, when the inputs are found and not refused."""

    def __init__(self, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._quiet = quiet
        self._clock = clock
        self._started = clock()
        self._documents = ""
        self._newest: tuple[str, int, int] | None = None
        self._display = None if quiet else _display(clock)

    def __exit__(self, kind: type[BaseException] | None = None, *raised: object) -> None:
        if self._display is not None:
            self._display.end(is_complete=kind is None)

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how far a stage has come."""
        self._say_note()
        if stage == "documents":
            self._documents = f", {counted(done, 'document')}" if done else ""
        else:
            self._newest = stage, done, total
        if self._display is not None and self._newest is not None:
            self._display.show(*self._newest, self._documents)

    def complete(self, what: str, size: int | None = None, of: str = "") -> None:
        """Say that the work is finished; also the size in bytes, and of what they are, and the speed."""
        self._say_note()
        self.__exit__()
        if size is not None:
            elapsed = self._clock() - self._started
            speed = size / 1e6 / max(elapsed, 1e-9)
            what += f", {size / 1e6:,.1f} MB{of} in {duration(elapsed)} ({speed:,.0f} MB/s)"
        self.say(what)

    def _say_note(self) -> None:
        if self.note is not None:
            self.say(self.note)
            self.note = None

    def say(self, line: str) -> None:
        """Write a message to stderr, unless it shall be quiet."""
        if not self._quiet:
            tell(line)


class _Display(Protocol):
    """A way to show progress."""

    def show(self, stage: str, done: int, total: int, documents: str) -> None:
        """Show how far a stage has come, and the words for the number of documents so far."""

    def end(self, *, is_complete: bool) -> None:
        """Finish; what was shown is all, if the work is complete."""


def _display(clock: Callable[[], float]) -> _Display | None:
    """Return how progress is shown here; None means nowhere."""
    if "ipykernel" in sys.modules:
        return _Bars(_Cell())
    if sys.stderr is None:
        return None
    return _Bars(None) if sys.stderr.isatty() else _Lines(clock)


_BETWEEN_LINES = 10.0
"""The least seconds between two lines of a stage."""


class _Lines:
    """Lines for a log: one when a stage ends, and before that at most one in ten seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._last_written = clock()
        self._stage = ""
        self._unwritten = ""
        """The newest line, unless it was written."""

    def show(self, stage: str, done: int, total: int, documents: str) -> None:
        if stage != self._stage:
            self._write()
            self._stage = stage
        self._unwritten = _line(stage, done, total, documents)
        if self._clock() - self._last_written >= _BETWEEN_LINES:
            self._write()

    def end(self, *, is_complete: bool) -> None:
        """Write the last line; where work failed, its error says where."""
        if is_complete:
            self._write()
        self._unwritten = ""

    def _write(self) -> None:
        if self._unwritten:
            tell(self._unwritten)
            self._unwritten = ""
            self._last_written = self._clock()


def _line(stage: str, done: int, total: int, documents: str) -> str:
    """Return a line of a log.

    >>> _line("merging", 100, 224, "")
    'Training merges: 100 of 224'
    >>> _line("counting", 1_500_000, 0, ", 20 documents")
    'Counting: 1.5 MB, 20 documents'
    """
    if stage == "merging":
        return f"Training merges: {done} of {total}"  # plain digits: programs read them, too
    amount = f"{done / 1e6:,.1f} MB"
    if total:
        amount = f"{done / 1e6:,.1f} of {total / 1e6:,.1f} MB"
    return f"{stage.capitalize()}: {amount}{documents}"


class _Bars:
    """Live bars, on a terminal or in the cell of a notebook."""

    def __init__(self, cell: _Cell | None) -> None:
        self._cell = cell
        self._bars: Any = None
        self._bar_of: dict[str, int] = {}

    def show(self, stage: str, done: int, total: int, documents: str) -> None:
        if self._bars is None:
            self._bars = _bars()
            if self._cell is None:
                self._bars.start()
        if stage not in self._bar_of:
            self._bar_of[stage] = self._bars.add_task(stage, amount="")
        task = self._bars.tasks[self._bar_of[stage]]
        amount, speed = f"{done / 1e6:,.1f} MB{documents}", f", {(task.speed or 0) / 1e6:,.0f} MB/s"
        if stage == "merging":
            amount, speed = f"{done:,}", f", {task.speed or 0:,.0f}/s"
        amount += speed if task.speed else ""
        self._bars.update(task.id, completed=done, total=total or None, amount=amount)
        if self._cell is not None:
            with self._bars.console.capture() as drawn:
                self._bars.console.print(self._bars.get_renderable())
            self._cell.show(drawn.get())

    def end(self, *, is_complete: bool) -> None:
        """Take the bars away."""
        if self._cell is not None:
            self._cell.show("")
        elif self._bars is not None:
            self._bars.stop()


class _Cell:
    """The output of a notebook's cell: a text that is drawn anew, as live bars need more packages there."""

    def __init__(self) -> None:
        from IPython.display import display  # a notebook has it

        self._shown: Any = display({"text/plain": ""}, raw=True, display_id=True)  # type: ignore[no-untyped-call]

    def show(self, text: str) -> None:
        self._shown.update({"text/plain": text}, raw=True)


def _bars() -> Any:
    from rich import progress  # It takes longer than everything else.
    from rich.console import Console

    return progress.Progress(
        "{task.description:>9}",
        progress.BarColumn(),
        "{task.percentage:3.0f}%",
        "{task.fields[amount]}",
        progress.TimeRemainingColumn(elapsed_when_finished=True),
        console=Console(stderr=True, force_jupyter=False),
        redirect_stdout=False,  # else a terminal behind it is seen by rich 15 alone
        transient=True,
    )


def shown(progress: Progress | bool | None) -> contextlib.AbstractContextManager[Progress | None]:
    """Return a context with what is called with progress; `True` shows it on stderr or in a notebook.

    >>> with shown(True) as report:
    ...     callable(report)
    True
    """
    if progress is True:
        return Shown()
    if progress is None or progress is False:
        return contextlib.nullcontext()
    if callable(progress):
        return contextlib.nullcontext(progress)
    raise TypeError(f"progress must be a function, True or None, not {progress!r:.100}")
