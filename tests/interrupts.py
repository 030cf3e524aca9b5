"""A call in, how long it goes on after Ctrl-C out."""

import subprocess
import sys

import pytest

interrupts = pytest.mark.skipif(sys.platform == "win32", reason="a process cannot send itself Ctrl-C there")

_SCRIPT = """
import os, signal, threading, time
{ready}

def interrupt():
    global sent
    sent = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)

threading.Timer(0.3, interrupt).start()
try:
    {work}
except KeyboardInterrupt:
    print(time.monotonic() - sent)
"""


def seconds_after_interrupt(ready: str, work: str) -> float:
    """Run a long call in a process of its own, and send Ctrl-C soon after it began."""
    command = [sys.executable, "-c", _SCRIPT.format(ready=ready, work=work)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout)
