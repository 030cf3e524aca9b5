"""Hypothesis tries the same examples every time; `--hypothesis-profile=slow` tries many new ones."""

from hypothesis import settings

pytest_plugins = ["viewing"]

settings.register_profile("fast", derandomize=True, deadline=None)
settings.register_profile("slow", max_examples=5000, deadline=None)
settings.load_profile("fast")
