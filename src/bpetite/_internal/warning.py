"""Warnings that point at the line of the user's code, however deep in this package their cause is found."""

import os
import sys
import warnings

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep


def warn(message: str, kind: type[Warning] = UserWarning) -> None:
    """Warn on behalf of the first caller that is not in this package."""
    frame = sys._getframe(1)
    level = 2
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        frame = frame.f_back
        level += 1
    warnings.warn(message, kind, stacklevel=level)
