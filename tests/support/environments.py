"""The environment of the tests and of every process that they start: made from nothing, not the person's own.

`conftest.py` puts it in place of the person's, so that no test can forget it. A test that wants
another variable names it: `env={**os.environ, "NO_COLOR": "1"}`.
"""

from collections.abc import Mapping

KEPT = {
    "PATH",  # where programs are: bash, zsh, chromium
    "TMPDIR",  # where temporary files go
    "LD_LIBRARY_PATH",  # without which some installations of Python do not start
    *("COMSPEC", "PATHEXT", "SYSTEMROOT", "TEMP", "TMP"),  # Windows
}
"""The variables that are kept."""

KEPT_PREFIXES = ("BPETITE_", "PYTEST_", "PLAYWRIGHT_")
"""The variables by which a person chooses what is tested begin so."""

CHOSEN = {"LANG": "C.UTF-8", "SOURCE_DATE_EPOCH": "1900000000"}  # a report names the day
"""The variables that are set."""

STRANGE: dict[str, dict[str, str]] = {
    "nothing set": {"LANG": ""},
    "unbuffered": {"PYTHONUNBUFFERED": "1"},
    "ASCII": {"LANG": "", "LC_ALL": "C", "PYTHONUTF8": "0"},
    "development mode": {"PYTHONDEVMODE": "1"},
}
"""Environments in which a command must do the same."""


def chosen(given: Mapping[str, str], home: str) -> dict[str, str]:
    """Return the environment of the tests, out of that of a person; libraries keep their caches in `home`."""
    kept = {
        name: value
        for name, value in given.items()
        if name.upper() in KEPT or name.startswith(KEPT_PREFIXES)
    }
    return {**kept, **CHOSEN, "HOME": home, "USERPROFILE": home}
