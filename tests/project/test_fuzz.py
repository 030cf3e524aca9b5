"""A short slice of the fuzzers with a fixed seed; `make fuzz` runs them for as long as one likes."""

import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[2]


def test_a_fixed_slice_of_every_fuzzer_finds_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fuzz", "--executions", "40", "--seed", "1"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(" 40 executions") == len(done.stdout.splitlines())
