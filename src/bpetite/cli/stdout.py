"""A result → all of it on stdout, or an error that names stdout."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from bpetite._internal.files import write_fully


def write(result: bytes) -> None:
    """Write to stdout at once; what could not be written is told here, and not again at the end of Python."""
    try:
        write_fully(sys.stdout.buffer, result)
        sys.stdout.buffer.flush()
    except OSError as error:
        discard(sys.stdout)
        error.filename = "stdout"
        raise


def discard(stream: TextIO) -> None:
    """Redirect a stream to the null device, because nobody can read what is left in its buffer."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
