"""A time → a table: the memory of a process must not grow over hours of mixed work.

Some threads share one tokenizer; others train, load, pickle and stream. Each round is checked. The
memory in use is measured between rounds; the run fails if it is larger in the last tenth of the
time than in the second by more than `GROWTH`.
"""

from __future__ import annotations

import argparse
import gc
import pickle
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

from bpetite import Counts, Tokenizer
from fuzz import texts, vocabularies

GROWTH = 160 * 2**20
"""What the cache of the shared tokenizer (128 MiB) and the allocator may add after the beginning."""


def main() -> int:
    """Work until the time is over; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    shared = Tokenizer.train_from_iterator(
        ["".join(texts.text(Random(number), 2000) for number in range(300))],
        2000,
        dialect="tiktoken",
    ).with_memory("128 MiB")
    began, rounds, measured = time.monotonic(), 0, []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(4) as pool:
        shared.save(Path(folder, "tok.json"))
        while time.monotonic() - began < options.seconds:
            seeds = range(rounds * 16, rounds * 16 + 16)
            for done in [pool.submit(_work, Random(seed), shared, Path(folder)) for seed in seeds]:
                done.result()
            rounds += 1
            gc.collect()
            measured.append((time.monotonic() - began, _resident()))
    worked = time.process_time()
    print(
        f"{rounds:,} rounds of 16 pieces in {measured[-1][0]:,.0f} s ({worked:,.0f} s of processor time)"
    )
    tenths = [_mean(measured, tenth / 10, (tenth + 1) / 10) for tenth in range(10)]
    print("MB resident in each tenth of the time:", *(f"{memory / 2**20:.0f}" for memory in tenths))
    del shared
    gc.collect()
    print(f"MB resident without the tokenizer: {_resident() / 2**20:.0f}")
    return 0 if tenths[-1] - tenths[1] < GROWTH else 1


def _work(rng: Random, shared: Tokenizer, folder: Path) -> None:
    """Do one piece of work of a random kind, and check its result."""
    text = "".join(texts.text(rng, 2000) for _ in range(20))
    ids = shared.encode(text)
    assert shared.decode(ids) == text
    match rng.randrange(5):
        case 0:
            assert Tokenizer.load(folder / "tok.json").encode(text) == ids
        case 1:
            copy: Tokenizer = pickle.loads(pickle.dumps(shared))
            assert copy.encode_batch([text] * 3)[2] == ids
        case 2:
            assert list(shared.encode_iterable(texts.cut(rng, text))) == ids
        case 3:
            counts = Counts.from_iterator(
                [text, text], dialect=vocabularies.dialect(rng), num_threads=2
            )
            assert counts.bytes == 2 * len(text.encode())
        case _:
            trained = Tokenizer.train_from_iterator([text], 600, dialect=vocabularies.dialect(rng))
            assert trained.decode(trained.encode(text)) == text


def _resident() -> int:
    """Return the memory in use, in bytes (Linux)."""
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * 4096


def _mean(measured: list[tuple[float, int]], start: float, end: float) -> float:
    """Return the mean of the measurements between two parts of the time."""
    whole = measured[-1][0]
    within = [memory for when, memory in measured if start * whole <= when <= end * whole]
    return sum(within) / max(1, len(within))


if __name__ == "__main__":
    sys.exit(main())
