"""Progress of long work on stderr: live bars on a terminal or in a notebook, nothing elsewhere."""

import contextlib
import sys
import time
from functools import partial
from typing import Any, BinaryIO, TextIO

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
    import shutil  # slow to import
    import textwrap

    fold = partial(textwrap.fill, break_long_words=False, break_on_hyphens=False)
    return "\n".join(fold(line, shutil.get_terminal_size().columns) for line in text.splitlines())


class Shown(contextlib.AbstractContextManager["Shown"]):
    """Called with `(stage, done, total)` while a `with` block runs, to draw a bar for each stage.

    Merging is told in merges, the number of `documents` beside the other bars, and all other stages in bytes.
    """

    note: str | None = None
    """What is said at the first progress, when the inputs are found and not refused."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._cell = _Cell() if not quiet and "ipykernel" in sys.modules else None
        self._is_drawn = self._cell is not None or (not quiet and sys.stderr.isatty())
        self._bars: Any = None
        self._bar_of: dict[str, int] = {}
        self._documents = ""
        self._started = time.monotonic()

    def __exit__(self, *raised: object) -> None:
        if self._cell is not None:
            self._cell.show("")
        elif self._bars is not None:
            self._bars.stop()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how far a stage has come."""
        self._say_note()
        if stage == "documents":
            self._documents = f", {counted(done, 'document')}" if done else ""
        elif self._is_drawn:
            self._draw(stage, done, total)

    def complete(self, what: str, size: int | None = None, of: str = "") -> None:
        """Say that the work is finished; also the size in bytes, and of what they are, and the speed."""
        self._say_note()
        self.__exit__()
        if size is not None:
            elapsed = time.monotonic() - self._started
            what += (
                f", {size / 1e6:,.1f} MB{of} in {elapsed:.1f} s ({size / 1e6 / max(elapsed, 1e-9):,.0f} MB/s)"
            )
        self.say(what)

    def _draw(self, stage: str, done: int, total: int) -> None:
        if self._bars is None:
            self._bars = _bars()
            if self._cell is None:
                self._bars.start()
        if stage not in self._bar_of:
            self._bar_of[stage] = self._bars.add_task(stage, amount="")
        task = self._bars.tasks[self._bar_of[stage]]
        amount, speed = f"{done / 1e6:,.1f} MB{self._documents}", f", {(task.speed or 0) / 1e6:,.0f} MB/s"
        if stage == "merging":
            amount, speed = f"{done:,}", f", {task.speed or 0:,.0f}/s"
        amount += speed if task.speed else ""
        self._bars.update(task.id, completed=done, total=total or None, amount=amount)
        if self._cell is not None:
            with self._bars.console.capture() as drawn:
                self._bars.console.print(self._bars.get_renderable())
            self._cell.show(drawn.get())

    def _say_note(self) -> None:
        if self.note is not None:
            self.say(self.note)
            self.note = None

    def say(self, line: str) -> None:
        """Write a message to stderr, unless it shall be quiet."""
        if not self._quiet:
            tell(line)


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
    """Return a context with what is called with progress; `True` means bars on a terminal or in a notebook.

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
