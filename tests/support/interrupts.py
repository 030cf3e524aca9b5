"""A call in, whether it stops soon after Ctrl-C out."""

import subprocess
import sys

import pytest

interrupts = pytest.mark.skipif(
    sys.platform == "win32", reason="a process cannot send itself Ctrl-C there"
)

_SCRIPT = """
import os, signal, threading, time
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
{ready}

def interrupt():
    global sent
    sent = time.monotonic(), time.process_time()
    os.kill(os.getpid(), signal.SIGINT)

try:
    threading.Timer(0.3, interrupt).start()
    {work}
except KeyboardInterrupt:
    print(time.monotonic() - sent[0], time.process_time() - sent[1])
"""


def stops_after_interrupt(ready: str, work: str) -> bool:
    """Run a long call on two processors in a process of its own; does it stop within a second of Ctrl-C?

    Where others keep the processors busy, that second is one of its own time on each.
    """
    command = [sys.executable, "-c", _SCRIPT.format(ready=ready, work=work)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    elapsed, worked = map(float, done.stdout.split())
    return elapsed < 1 or (worked < 2 and elapsed < 60)
