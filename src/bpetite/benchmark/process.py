"""A library, a model and texts → figures: the process that is started for each.

    python -P -m bpetite.benchmark.process FOLDER INTERFACE [FOLDER_OF_THE_LIBRARY]

The texts are in memory and numpy, which most libraries need, is imported before the clock starts. Nothing
else is imported that the library does not need, and the first pass is that of a new process. A single
thread is pinned to a processor and measured in processor time; several are measured on the wall.
"""

import json
import os
import pickle
import sys
import time
from collections.abc import Callable
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy

from bpetite._internal.memory import peak_memory
from bpetite.benchmark import libraries
from bpetite.benchmark.libraries import Encoder, Model

PROMPTS = (80, 400, 4_000, 40_000)
"""The lengths of prompts, in characters."""
LATER_PASSES = 5
LATER_SECONDS = 4.0
PROMPT_CHARACTERS = 400_000
PROMPT_SECONDS = 0.3
MOST_PROMPTS = 1_000
DECODED = 500_000
TURNS = 7


def figures(encoder: Encoder, texts: list[str], clock: Callable[[], float], ids: Path) -> dict[str, float]:
    """Return what encoding and decoding takes, in seconds and bytes; write the ids into a file."""
    given = encoder.given(texts)
    found = {}
    found["first"], result = timed(clock, partial(encoder.encode, given))
    if (peak := peak_memory()) is not None:
        found["peak"] = peak
    later: list[float] = []
    while len(later) < LATER_PASSES and found["first"] + sum(later) < LATER_SECONDS:
        del result
        seconds, result = timed(clock, partial(encoder.encode, given))
        later.append(seconds)
    if later:
        found["later"] = min(later)
    numbers = numpy.frombuffer(memoryview(encoder.ids(result)).cast("B"), numpy.uint32)
    numbers.tofile(ids)
    some = encoder.decodes(numbers[:DECODED].copy())
    del result, given, numbers
    turns = [timed(clock, partial(encoder.decode, some)) for _ in range(TURNS)]
    seconds, text = min(turns, key=itemgetter(0))
    size = len(text if isinstance(text, bytes) else text.encode())
    found["decoding"] = 1e6 * seconds / max(size, 1)
    for length in PROMPTS:
        if prompts := prompts_of(texts, length):
            found[f"prompt of {length}"] = _each(encoder.to_list, prompts, clock)
    return found


def prompts_of(texts: list[str], length: int) -> list[str]:
    """Return the beginning of the texts in prompts of so many characters."""
    text = ""
    for one in texts:
        text += one[: PROMPT_CHARACTERS - len(text)]
    return [text[start : start + length] for start in range(0, len(text) - length + 1, length)][:MOST_PROMPTS]


def _each(encode: Callable[[str], list[int]], prompts: list[str], clock: Callable[[], float]) -> float:
    """Return the seconds that a prompt takes: the least of some turns."""
    taken: list[float] = []
    while len(taken) < TURNS and sum(taken) < PROMPT_SECONDS:
        taken.append(timed(clock, lambda: [encode(prompt) for prompt in prompts])[0])
    return min(taken) / len(prompts)


def timed(clock: Callable[[], float], call: Callable[[], Any]) -> tuple[float, Any]:
    """Return what a call takes, and its result."""
    start = clock()
    result = call()
    return clock() - start, result


def main() -> None:
    """Load one model in one library, measure, and print the figures."""
    folder, interface, *places = sys.argv[1:]
    sys.path[:0] = places
    model = Model(**json.loads(Path(folder, "facts.json").read_bytes()))
    threads = model.threads
    if threads == 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"
    with open(Path(folder, "texts"), "rb") as file:
        texts = pickle.load(file)
    load = partial(getattr(libraries, interface), model)
    clock = time.process_time if threads == 1 else time.perf_counter
    try:
        loading, encoder = timed(time.perf_counter, load)
        found = figures(encoder, texts, clock, Path(folder, "ids"))
    except SystemExit:
        raise
    except BaseException as error:  # also a panic, which is no Exception
        sys.exit(" ".join(f"{type(error).__name__}: {error}".split())[:200])
    print(json.dumps({"loading": loading} | found))


if __name__ == "__main__":
    main()
