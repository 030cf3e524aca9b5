"""A test in a process of its own.

Other tests leave things in theirs: Ray, which waits for threads that a fork does not copy, or an event loop.
"""

import functools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path


def alone(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test in a new process, with the same arguments: numbers and strings."""

    @functools.wraps(test)
    def run(**arguments: object) -> None:
        call = f"from {test.__module__} import {test.__name__} as test; test.__wrapped__(**{arguments!r})"
        command = [sys.executable, "-c", call]
        done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, timeout=300)
        assert not done.returncode, done.stderr

    return run
