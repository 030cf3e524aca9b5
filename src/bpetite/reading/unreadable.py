"""Names in, the names of files that can be read out; the others are refused or left out, and named.

What stands in a folder or matches a glob must be a file. What is named itself may also be a stream below
`/dev`, such as the shell's `<(program)`, a terminal or stdin. A named pipe elsewhere is refused: opening it
may wait for ever.
"""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

_NAMED = 5
"""The maximum number of names in a message."""

_RECORDED = 1000
"""The maximum number of names that are kept."""

_STREAMS = ("/dev/", "/proc/")


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

    def without(self, names: Iterable[str], *, are_named: bool = False) -> Iterator[str]:
        """Yield the names that can be read; those that the user named may be streams."""
        for name in names:
            why = _why_not(name, may_be_stream=are_named)
            if why is None:
                yield name
            else:
                self.note(name, why)

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
            raise ValueError(f"{cannot} (--skip-unreadable leaves them out): {named}{more}")
        warnings.warn(f"{cannot} and are left out: {named}{more}", RuntimeWarning, stacklevel=4)

    def to_dict(self) -> dict[str, Any]:
        """Return how many there are, and the first ones; nothing if there are none."""
        return {"number": self.number, "first": [list(each) for each in self._first]} if self.number else {}


def _why_not(name: str, *, may_be_stream: bool) -> str | None:
    """Return why a name cannot be read; None if it can."""
    try:
        mode = os.stat(name).st_mode
    except OSError as error:
        return "a link that leads nowhere" if os.path.islink(name) else str(error.strerror)
    if not os.access(name, os.R_OK):
        return "no permission to read it"
    if stat.S_ISREG(mode) or (may_be_stream and os.path.abspath(name).startswith(_STREAMS)):
        return None
    if stat.S_ISFIFO(mode):
        return "a named pipe; to read it, use - and redirect stdin" if may_be_stream else "a named pipe"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"
