"""Benchmarks: programs that check the answer, then time us and the peers in the same run."""
