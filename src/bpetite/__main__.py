"""The `bpetite` command; `python -m bpetite` is the same.

Importing takes most of the time of a short command. Until that is done, Ctrl-C ends the process
here: nothing was begun that must be cleaned up, and Python would print where it was interrupted. So
this module, and `bpetite/__init__.py` before it, import nothing that Python has not imported to
start.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> "NoReturn":
    """Run the command and exit."""
    try:
        import atexit  # noqa: F401  # for the end: there, Ctrl-C would be answered while it is imported
        import signal

        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not where it is ignored
            signal.signal(signal.SIGINT, _end)
        from bpetite.cli import main as run_command

        run_command()
    except SystemExit as ended:
        if ended.code != 0:  # What was begun may still have to be cleaned up.
            raise
        _leave()
    except KeyboardInterrupt:  # just before the handler is there, or after the result is written
        _end()


def _leave() -> "NoReturn":
    """End the process as Python does after success, but for taking all objects apart: that takes 9 ms."""
    import atexit
    from contextlib import suppress

    if "threading" in sys.modules:
        sys.modules["threading"]._shutdown()  # It waits for threads, and lets pools of them end.
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(
            AttributeError, OSError, ValueError
        ):  # It is closed; results were written before.
            stream.flush()
    os._exit(0)


def _end(*received: object) -> "NoReturn":
    """End the process at once, as an interrupted command does."""
    try:
        os.write(2, b"bpetite: interrupted\n")
    finally:
        os._exit(130)


def _forget_current_folder() -> None:
    """Import nothing from the current folder, which `python -m` looks into first."""
    if not sys.flags.safe_path:
        del sys.path[0]


if __name__ == "__main__":
    _forget_current_folder()
    main()
