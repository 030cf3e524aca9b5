"""Differential fuzzers: seeds in, disagreements out. `python -m fuzz --help`, or `make fuzz SECONDS=60`."""
