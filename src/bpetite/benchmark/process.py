"""A library, a model and texts → figures: the process that is started for each.

    python -P -m bpetite.benchmark.process FOLDER INTERFACE [FOLDER_OF_THE_LIBRARY]

The texts are in memory and numpy, which most libraries need, is imported before the clock starts.
Nothing else is imported that the library does not need, and the first pass is that of a new
process. A single thread is pinned to a processor and measured in processor time; several are
measured on the wall.
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


def figures(
    encoder: Encoder, texts: list[str], clock: Callable[[], float], ids: Path
) -> dict[str, float]:
    """Return what encoding and decoding takes, in seconds and bytes; write the ids into a file."""
    prepared = encoder.given(texts)
    encode = partial(encoder.encode, prepared)
    measured = {}
    measured["first"], result = timed(clock, encode)
    peak = peak_memory()
    if peak is not None:
        measured["peak"] = peak
    later: list[float] = []
    while len(later) < LATER_PASSES and measured["first"] + sum(later) < LATER_SECONDS:
        del result
        seconds, result = timed(clock, encode)
        later.append(seconds)
    if later:
        measured["later"] = min(later)
    content = memoryview(encoder.ids(result)).cast("B")
    numbers = numpy.frombuffer(content, numpy.uint32)
    numbers.tofile(ids)
    to_decode = encoder.decodes(numbers[:DECODED].copy())
    del result, prepared, encode, content, numbers
    turns = [timed(clock, partial(encoder.decode, to_decode)) for _ in range(TURNS)]
    seconds, text = min(turns, key=itemgetter(0))
    size = len(text if isinstance(text, bytes) else text.encode())
    measured["decoding"] = 1e6 * seconds / max(size, 1)
    for length in PROMPTS:
        prompts = prompts_of(texts, length)
        if prompts:
            measured[f"prompt of {length}"] = _each(encoder.to_list, prompts, clock)
    return measured


def prompts_of(texts: list[str], length: int) -> list[str]:
    """Return the beginning of the texts in prompts of so many characters."""
    beginning = ""
    for text in texts:
        beginning += text[: PROMPT_CHARACTERS - len(beginning)]
    starts = range(0, len(beginning) - length + 1, length)
    return [beginning[start : start + length] for start in starts[:MOST_PROMPTS]]


def _each(
    encode: Callable[[str], list[int]], prompts: list[str], clock: Callable[[], float]
) -> float:
    """Return the seconds that a prompt takes: the least of some turns."""
    turns: list[float] = []
    while len(turns) < TURNS and sum(turns) < PROMPT_SECONDS:
        seconds, _ = timed(clock, lambda: [encode(prompt) for prompt in prompts])
        turns.append(seconds)
    return min(turns) / len(prompts)


def timed(clock: Callable[[], float], call: Callable[[], Any]) -> tuple[float, Any]:
    """Return what a call takes, and its result."""
    start = clock()
    result = call()
    return clock() - start, result


def main() -> None:
    """Load one model in one library, measure, and print the figures."""
    folder, interface, *places = sys.argv[1:]
    sys.path[:0] = places
    facts = json.loads(Path(folder, "facts.json").read_bytes())
    model = Model(**facts)
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
        measured = figures(encoder, texts, clock, Path(folder, "ids"))
    except SystemExit:
        raise
    except BaseException as error:  # also a panic, which is no Exception
        words = f"{type(error).__name__}: {error}".split()
        sys.exit(" ".join(words)[:200])
    print(json.dumps({"loading": loading} | measured))


if __name__ == "__main__":
    main()
