"""What holds for every test.

Hypothesis tries the same examples every time; `--hypothesis-profile=slow` tries many new ones.
"""

import signal

from hypothesis import settings

pytest_plugins = ["viewing"]

settings.register_profile("fast", derandomize=True, deadline=None)
settings.register_profile("slow", max_examples=5000, deadline=None)
settings.load_profile("fast")

# A shell starts background jobs with SIGINT ignored, and their children inherit it; Ctrl-C is tested here.
signal.signal(signal.SIGINT, signal.default_int_handler)
