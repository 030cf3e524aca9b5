"""A message → a line on stderr, if anybody can read it."""

from __future__ import annotations

import contextlib
import sys


def tell(message: object) -> None:
    """Write a line; a message that cannot be written changes nothing."""
    with contextlib.suppress(OSError):
        print(message, file=sys.stderr, flush=True)
