"""One stage of our training → its cost: the process that `bench.train` measures.

    python -m bench.stages counting PATH THREADS          seconds on the wall, the least of three
    python -m bench.stages merging VOCAB_SIZE < COUNTS    bytes of memory per pretoken, besides the counts

COUNTS are pickled, and were counted by another process: merging would reuse memory that counting
has freed.
"""

from __future__ import annotations

import ctypes
import pickle
import sys
import time

from bpetite import Counts, Tokenizer
from bpetite._constants import END_OF_TEXT_TOKEN


def count(path: str, threads: int) -> Counts:
    """Count a corpus as training does."""
    return Counts.from_files(
        [path], dialect="tiktoken", special_tokens=[END_OF_TEXT_TOKEN], num_threads=threads
    )


def counting(path: str, threads: int) -> float:
    """Return the time of counting when the file is in memory and the process has counted before."""
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        counts = count(path, threads)
        seconds.append(time.perf_counter() - start)
        del counts
    return min(seconds)


def merging(counts: Counts, vocab_size: int) -> float:
    """Return the largest growth of the process while it merges, per pretoken (Linux, with glibc)."""
    # What is loaded once does not depend on the size.
    Tokenizer.train_from_iterator(["ab ab"], 257, dialect="tiktoken")
    ctypes.CDLL(None).malloc_trim(0)
    before = _status("VmRSS")
    with open("/proc/self/clear_refs", "w", encoding="ascii") as peak:
        peak.write("5")
    Tokenizer.train_from_counts(
        counts, vocab_size, dialect="tiktoken", special_tokens=[END_OF_TEXT_TOKEN], num_threads=2
    )
    return (_status("VmHWM") - before) / len(counts)


def _status(name: str) -> int:
    """Return the memory of this process, as the system reports it."""
    with open("/proc/self/status", encoding="ascii") as status:
        return int(status.read().partition(f"{name}:")[2].split()[0]) << 10


if __name__ == "__main__":
    if sys.argv[1] == "counting":
        print(counting(sys.argv[2], int(sys.argv[3])))
    else:
        print(merging(pickle.load(sys.stdin.buffer), int(sys.argv[2])))
