"""Differential fuzzers: seeds → disagreements. `python -m fuzz --help`, or `make fuzz SECONDS=60`."""
