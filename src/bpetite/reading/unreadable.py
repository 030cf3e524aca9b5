"""Names in, the names of files that can be read out; the others are refused or left out, and named.

What stands in a folder or matches a glob must be a file. What is named itself may also be a stream below
`/dev`, such as the shell's `<(program)`, a terminal or stdin. A named pipe elsewhere is refused: opening it
may wait for ever.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from typing import Any

from bpetite._internal.arguments import worded
from bpetite._internal.names import recorded

_NAMED = 5
"""The maximum number of names in a message."""

_RECORDED = 1000
"""The maximum number of names that are kept."""

_STREAMS = ("/dev/", "/proc/")


Found = tuple[str, int | None]
"""The name of an input, and its size if it is an ordinary local file."""


class Unreadable:
    """What cannot be read of the inputs that arguments name."""

    def __init__(self) -> None:
        self.number = 0
        self._first: list[tuple[str, str]] = []

    def note(self, name: str, why: str) -> None:
        """Note a name that cannot be read."""
        self.number += 1
        if len(self._first) < _RECORDED:
            self._first.append((name, why))

    def without(self, names: Iterable[str], *, are_named: bool = False) -> Iterator[Found]:
        """Yield the names that can be read; those that the user named may be streams."""
        for name in names:
            try:
                status = os.stat(name)
            except OSError as error:
                self.note(name, "a link that leads nowhere" if os.path.islink(name) else str(error.strerror))
                continue
            is_file = stat.S_ISREG(status.st_mode)
            if not os.access(name, os.R_OK):
                self.note(name, "no permission to read it")
            elif is_file:
                yield name, status.st_size
            elif are_named and os.path.abspath(name).startswith(_STREAMS):
                yield name, None
            else:
                self.note(name, _kind(status.st_mode, are_named))

    def tell(self, readable: int, skip_unreadable: bool | None) -> None:
        """Warn of what is left out; it is an error if nothing may be, or if nothing else is there."""
        if not self.number:
            return
        named = ", ".join(f"{name} ({why})" for name, why in self._first[:_NAMED])
        more = f", and {self.number - _NAMED} more" if self.number > _NAMED else ""
        cannot = f"{self.number} of {readable + self.number} inputs cannot be read"
        if not readable or skip_unreadable is None:
            raise ValueError(f"{cannot}: {named}{more}")
        if not skip_unreadable:
            raise ValueError(
                worded(
                    lambda name: f"{cannot} ({name('skip_unreadable', True)} leaves them out): {named}{more}"
                )
            )
        import warnings

        warnings.warn(f"{cannot} and are left out: {named}{more}", RuntimeWarning, stacklevel=4)

    def to_dict(self) -> dict[str, Any]:
        """Return how many there are, and the first ones; nothing if there are none."""
        first = [[recorded(name), why] for name, why in self._first]
        return {"number": self.number, "first": first} if self.number else {}


def _kind(mode: int, is_named: bool) -> str:
    """Say what it is that is no file."""
    if stat.S_ISFIFO(mode):
        return "a named pipe; to read it, use - and redirect stdin" if is_named else "a named pipe"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"
