"""Tokenizer files and a text → what servers wait for: calls, copies, streams of replies, turns of a chat.

Each library runs in processes of its own, in turns, on one core; the least processor time of several
rounds counts, and the results must be equal. Servers call transformers (`plain`) in which a library
takes the place of tokenizers, and decode replies as vLLM does, by a `DecodeStream` of tokenizers, or
as SGLang does, by two `batch_decode` for all replies.

    python -m bench.serving --tokenizer FILE ... --corpus FILE [--rounds N] [--only PART ...]
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from bench.dropin import read
from bench.section import machine, table, versions
from bpetite import Tokenizer
from bpetite._constants import END_OF_TEXT_TOKEN

CALLED = {400: 300, 4_000: 100, 490_000: 5}
"""The number of texts of each length, in characters, that transformers is called with."""
WARMED = 2_000_000
"""The characters that it is called with before."""
STREAMS = 2_000
STEPS = 20
"""How many tokens each of many streams takes."""
STREAMED = 20_000
"""How many tokens a single stream takes."""
TURNS = 10
TURN_CHARACTERS = 40_000
"""The turns of a chat, and the length of each."""

Timed = dict[str, tuple[float, str]]
"""The seconds of each measurement, and a hash of its result."""


def digest(result: object) -> str:
    """Return a hash of what JSON can hold."""
    return hashlib.sha256(json.dumps(result).encode()).hexdigest()


def seconds_of(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor time of a call, and its result."""
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def loaded(library: str, folder: Path) -> Any:
    """Return the tokenizer of transformers, with a library in it."""
    if library == "fastokens":
        import fastokens

        fastokens.patch_transformers()
    from transformers import AutoTokenizer

    from bpetite import accelerate

    plain = AutoTokenizer.from_pretrained(folder)
    return accelerate(plain) if library == "bpetite" else plain


# What is measured: each part yields a name, seconds and a result.
Part = Callable[[str, Path, str], Iterator[tuple[str, float, object]]]


def calls(library: str, folder: Path, text: str) -> Iterator[tuple[str, float, object]]:
    """Call transformers with lists of one text, each of which is new."""
    tokenizer = loaded(library, folder)
    # A server has run for a while: it knows the words of another text.
    tokenizer([text[-min(WARMED, len(text) // 2) :]])
    start = 0
    for length, count in CALLED.items():
        times = []
        rows = []
        for _ in range(count):
            piece = text[start : start + length]
            start = (start + length) % (len(text) // 2 - length)
            taken, encoded = seconds_of(partial(tokenizer, [piece]))
            times.append(taken)
            rows.append(encoded["input_ids"])
        yield f"a text of {length:,} characters", median(times), rows


def copies(library: str, folder: Path, text: str) -> Iterator[tuple[str, float, object]]:
    """Load, copy and pickle a tokenizer of transformers, as servers do for their threads and processes."""
    from transformers import AutoTokenizer

    from bpetite import accelerate

    AutoTokenizer.from_pretrained(folder)
    taken, plain = seconds_of(lambda: AutoTokenizer.from_pretrained(folder))
    tokenizer = plain
    if library == "bpetite":
        taken, tokenizer = seconds_of(lambda: accelerate(plain))
    # That of bpetite is what `accelerate` takes on top.
    yield "from_pretrained", taken, None
    tokenizer([text[:1000]])
    taken, copied = seconds_of(lambda: copy.deepcopy(tokenizer))
    yield "deep copy", taken, copied([text[:1000]])["input_ids"]
    taken, copied = seconds_of(lambda: pickle.loads(pickle.dumps(tokenizer)))
    yield "pickle, there and back", taken, copied([text[:1000]])["input_ids"]


def stream(library: str, folder: Path, text: str) -> Iterator[tuple[str, float, object]]:
    """Decode a reply, token by token."""
    tokenizer = Tokenizer.load(folder / "tokenizer.json")
    ids = tokenizer.encode(text, special="text")[:STREAMED]
    if library == "bpetite":
        ours = tokenizer.decode_stream(skip_special=True, errors="replace")
        push = ours.push
        taken, pieces = seconds_of(lambda: [push(own) for own in ids])
        yield "a token of a stream", taken / len(ids), "".join(pieces)
        return
    import tokenizers

    real = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    step = tokenizers.decoders.DecodeStream(skip_special_tokens=True).step
    taken, parts = seconds_of(lambda: [step(real, own) for own in ids])
    yield "a token of a stream", taken / len(ids), "".join(filter(None, parts))


def streams(library: str, folder: Path, text: str) -> Iterator[tuple[str, float, object]]:
    """Decode many replies, a token of each at a time."""
    tokenizer = Tokenizer.load(folder / "tokenizer.json")
    ids = tokenizer.encode(text, special="text")
    starts = range(0, len(ids) - STEPS, (len(ids) - STEPS) // STREAMS)[:STREAMS]
    rows = [[ids[start + step] for start in starts] for step in range(STEPS)]
    name = f"a step of {STREAMS:,} streams"
    if library == "bpetite":
        many = tokenizer.decode_streams(skip_special=True, errors="replace")
        slots = [many.open() for _ in starts]
        taken, steps = seconds_of(lambda: [many.step(slots, row) for row in rows])
        rest = [many.finish(slot) for slot in slots]
        texts = ["".join(pieces) for pieces in zip(*steps, rest, strict=True)]
    else:
        replies = Replies(loaded("plain", folder), len(starts))
        taken, _ = seconds_of(lambda: replies.steps(rows))
        texts = replies.finish()
    yield name, taken / STEPS, texts


class Replies:
    """Decodes replies by two `batch_decode`: of the last tokens shown, and of these with all new ones."""

    def __init__(self, tokenizer: Any, count: int) -> None:
        self._texts = [""] * count
        self._decode = partial(tokenizer.batch_decode, skip_special_tokens=True)
        self._ids: list[list[int]] = [[] for _ in range(count)]
        self._surrounding = [0] * count
        self._read = [0] * count

    def steps(self, rows: Sequence[Sequence[int]]) -> None:
        """Add tokens to each reply, one at a time."""
        for row in rows:
            self.step(row)

    def step(self, row: Sequence[int]) -> None:
        """Add a token to each reply."""
        for ids, own in zip(self._ids, row, strict=True):
            ids.append(own)
        before, now = self._windows()
        for place, (old, new) in enumerate(zip(before, now, strict=True)):
            if len(new) > len(old) and not new.endswith("\N{REPLACEMENT CHARACTER}"):
                self._texts[place] += new[len(old) :]
                self._surrounding[place] = self._read[place]
                self._read[place] = len(self._ids[place])

    def finish(self) -> list[str]:
        """Return the texts, with characters that are not complete."""
        before, now = self._windows()
        rest = [new[len(old) :] for old, new in zip(before, now, strict=True)]
        return [text + more for text, more in zip(self._texts, rest, strict=True)]

    def _windows(self) -> tuple[list[str], list[str]]:
        """Return the texts of the last tokens shown, and of these with all new ones."""
        starts = self._surrounding
        shown = [ids[a:b] for ids, a, b in zip(self._ids, starts, self._read, strict=True)]
        all_new = [ids[a:] for ids, a in zip(self._ids, starts, strict=True)]
        return self._decode(shown), self._decode(all_new)


def turns(library: str, folder: Path, text: str) -> Iterator[tuple[str, float, object]]:
    """Encode the last turn of a long chat, with all turns before it."""
    size = TURNS * TURN_CHARACTERS
    before, last = text[: size - TURN_CHARACTERS], text[size - TURN_CHARACTERS : size]
    name = f"the last of {TURNS} turns"
    if library == "tokenizers":
        import tokenizers

        real = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        real.encode(before, add_special_tokens=False)
        taken, encoding = seconds_of(lambda: real.encode(before + last, add_special_tokens=False))
        yield name, taken, encoding.ids
    elif library == "fastokens":
        import fastokens

        other = fastokens.Tokenizer.from_file(str(folder / "tokenizer.json"))
        other.encode(before, add_special_tokens=False)
        taken, encoded = seconds_of(lambda: other.encode(before + last, add_special_tokens=False))
        yield name, taken, list(encoded.ids)
    else:
        yield name, *_turns_of(library, Tokenizer.load(folder / "tokenizer.json"), before, last)


def _turns_of(
    library: str, tokenizer: Tokenizer, before: str, last: str
) -> tuple[float, list[int]]:
    """Return the seconds of the last turn, and all ids."""
    if library == "bpetite":
        tokenizer.encode(before, special="text")
        return seconds_of(lambda: tokenizer.encode(before + last, special="text"))
    if library == "bpetite, growing":
        growing = tokenizer.growing(before, special="text")
        taken, _ = seconds_of(lambda: growing.append(last))
        return taken, growing.ids
    transcript = tokenizer.transcript(special="text")
    transcript.append(before)
    taken, _ = seconds_of(lambda: transcript.append(last))
    return taken, transcript.ids


PARTS: Mapping[str, tuple[Part, Sequence[str]]] = {
    "calls": (calls, ("plain", "bpetite", "fastokens")),
    "copies": (copies, ("plain", "bpetite")),
    "stream": (stream, ("tokenizers", "bpetite")),
    "streams": (streams, ("batch_decode", "bpetite")),
    "turns": (
        turns,
        ("tokenizers", "fastokens", "bpetite", "bpetite, growing", "bpetite, transcript"),
    ),
}
"""What is measured, and in which libraries; the first one is compared with."""


def measured(library: str, part: str, folder: Path, corpus: Path) -> Timed | None:
    """Measure in a process of its own; None if the library is missing."""
    command = [sys.executable, "-m", "bench.serving", "--measure", library, part]
    command += ["--tokenizer", str(folder), "--corpus", str(corpus)]
    environment = {**os.environ, "TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    # A library may print something, too.
    timed: Timed | None = json.loads(done.stdout.splitlines()[-1])
    return timed


def measure(library: str, part: str, folder: Path, text: str) -> Timed | None:
    """Measure in this process."""
    of_part, _ = PARTS[part]
    timed: Timed = {}
    try:
        for name, taken, result in of_part(library, folder, text):
            timed[name] = taken, digest(result)
    except ModuleNotFoundError as missing:
        if missing.name not in ("fastokens", "gigatoken"):
            raise
        return None
    return timed


def rows_of(part: str, rounds: Sequence[Mapping[str, Timed | None]]) -> Iterator[list[str]]:
    """Yield a row for each measurement of a part; results that differ are an error."""
    first, *others = PARTS[part][1]
    names = rounds[0][first] or {}
    for name in names:
        times = {}
        digests = set()
        for library in (first, *others):
            of_library = [timed[name] for one in rounds if (timed := one[library]) is not None]
            if of_library:
                times[library] = min(taken for taken, _ in of_library)
                digests |= {result for _, result in of_library}
        digests.discard(digest(None))
        if len(digests) > 1:
            raise SystemExit(f"{name}: the libraries do not give the same")
        for library, taken in times.items():
            shown = f"{1e6 * taken:,.1f}" if taken < 1e-3 else f"{1e6 * taken:,.0f}"
            yield [name, library, shown, f"{taken / times[first]:.3f}"]


def main() -> None:
    """Measure all libraries, and print a table for each tokenizer."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tokenizer", type=Path, nargs="+", required=True)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        text = read(options.corpus).replace(END_OF_TEXT_TOKEN, "\n")
        library, part = options.measure
        warnings.filterwarnings("error", "not accelerated")
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        print(json.dumps(measure(library, part, options.tokenizer[0], text)))
        return
    for tokenizer in options.tokenizer:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name, "model")
            Path(name, "tokenizer.json").write_text(read(tokenizer), encoding="utf-8")
            Tokenizer.load(Path(name, "tokenizer.json")).save_folder(folder)
            rows = []
            for part in options.only:
                libraries = PARTS[part][1]
                rounds = [
                    {one: measured(one, part, folder, options.corpus) for one in libraries}
                    for _ in range(options.rounds)
                ]
                rows += list(rows_of(part, rounds))
        print(f"{tokenizer.parent.name}/{tokenizer.name}\n")
        head = ("processor time", "library", "microseconds", "to the first")
        print(table(head, rows), end="\n\n")
    shown = versions(("bpetite", "tokenizers", "transformers", "fastokens"))
    print(f"{machine()}; {shown}; the least of {options.rounds} rounds")


if __name__ == "__main__":
    main()
