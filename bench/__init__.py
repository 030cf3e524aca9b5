"""Benchmarks: programs that check the results, then time us and the peers in the same run."""
