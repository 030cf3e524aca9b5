"""A test in a process of its own.

Other tests leave things in theirs: Ray, which waits for threads that a fork does not copy, or an
event loop.
"""

import functools
import os
import subprocess
import sys
from collections.abc import Callable


def alone(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test in a new process, with the same arguments: numbers and strings."""

    @functools.wraps(test)
    def run(**arguments: object) -> None:
        call = f"from {test.__module__} import {test.__name__} as test; test.__wrapped__(**{arguments!r})"
        command = [sys.executable, "-c", call]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(sys.path)
        }  # where the test's module is
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        assert not done.returncode, done.stderr

    return run
