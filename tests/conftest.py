"""What holds for every test.

Hypothesis tries the same examples every time; `--hypothesis-profile=slow` tries many new ones.
"""

import os
import shutil
import signal
import tempfile

from hypothesis import settings

from environments import chosen

pytest_plugins = ["viewing", "kinds"]

settings.register_profile("fast", derandomize=True, deadline=None)
settings.register_profile("slow", max_examples=5000, deadline=None)
settings.load_profile("fast")

# Every process that a test starts inherits this, and so do the workers of pytest.
_home = tempfile.mkdtemp(prefix="bpetite-home-")
_environment = chosen(os.environ, _home)
os.environ.clear()
os.environ.update(_environment)


def pytest_unconfigure() -> None:
    shutil.rmtree(_home, ignore_errors=True)


# A shell starts background jobs with SIGINT ignored, and their children inherit it; Ctrl-C is
# tested here.
signal.signal(signal.SIGINT, signal.default_int_handler)
