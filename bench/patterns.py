"""Corpora → the section on the speed of every named pattern in `docs/benchmarks.md`.

Counts the beginning of each corpus with each pattern, and encodes it with a vocabulary trained with
that pattern, without the first pass. Besides the named patterns, these are Falcon's four steps, the
last two of which see bytes, and patterns that group digits from the right; what they cut is
compared with `tokenizers`. Everything runs on one thread and is measured in processor time; the
patterns alternate, so that other work on the machine affects all of them. Each rate is the best
one, beside that of GPT-2's pattern.

With `--unseen`, print instead how fast random patterns of the same family are counted, as parts of
the rate of GPT-2's pattern.

With `--hostile`, print instead, for each pattern, how many times as long eight megabytes of one
kind of character take as one megabyte, to count and to encode.

    python -m bench.patterns [--corpora FOLDER] [--megabytes N] [--rounds N] [--unseen N | --hostile]

CORPORA holds .txt and .txt.xz files; by default, the source of the standard library is the corpus.
"""

from __future__ import annotations

import argparse
import base64
import json
import lzma
import os
import statistics
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from tempfile import NamedTemporaryFile

import gigatoken
import tokenizers
from fuzz.patterns import family
from tokenizers.pre_tokenizers import ByteLevel, Digits, PreTokenizer, Punctuation, Split

from bench.section import machine, table, write_section
from bpetite import Counts, Tokenizer
from bpetite._constants import END_OF_TEXT_TOKEN, Pattern
from bpetite._engine import pattern_way, pretokenize
from bpetite.benchmark.libraries import GIGATOKEN
from bpetite.formats.huggingface_steps import cuts_of
from bpetite.formats.shared.printable import to_printable
from bpetite.patterns import PATTERNS
from bpetite.vocabulary import Vocabulary

VOCAB_SIZE = 32_000
THREES = r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))"
"""Digits in threes, counted from the right."""


def in_one_split(pattern: str) -> PreTokenizer:
    """The pre-tokenizer of a file with one pattern."""
    split = Split(tokenizers.Regex(pattern), "isolated")
    return tokenizers.pre_tokenizers.Sequence(
        [split, ByteLevel(add_prefix_space=False, use_regex=False)]
    )


THEIRS = {
    "falcon": tokenizers.pre_tokenizers.Sequence(
        [
            Punctuation("contiguous"),
            ByteLevel(add_prefix_space=False, use_regex=True),
            Digits(individual_digits=False),
            Split(tokenizers.Regex("[0-9][0-9][0-9]"), "isolated"),
        ]
    ),
    "llama3, digits from the right": in_one_split(
        PATTERNS["llama3"].replace(r"\p{N}{1,3}", THREES)
    ),
    "qwen2, digits from the right": in_one_split(
        PATTERNS["qwen2"].replace(r"|\p{N}|", f"|{THREES}|")
    ),
}
"""Patterns of files, as `tokenizers` runs them."""

OURS: dict[str, Pattern] = {
    **{name: pattern for name, pattern in PATTERNS.items() if name != "none"},
    **{name: cuts_of(json.loads(theirs.__getstate__())).pattern for name, theirs in THEIRS.items()},
}
"""All patterns but the one that does not cut."""

NAMES = list(OURS)
COMPARED = 1_000_000
"""As many characters of each corpus are cut by `tokenizers`, too."""


BY_BATCH, BY_TEXT = "gigatoken, a batch", "gigatoken, one by one"


def seconds(call: Callable[[], object]) -> float:
    """The processor seconds of one call."""
    start = time.process_time()
    result = call()
    taken = time.process_time() - start
    del result
    return taken


@contextmanager
def pinned(threads: int) -> Iterator[None]:
    """Keep one thread on one processor, if the system can."""
    if threads > 1 or not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def rank_file(vocabulary: Vocabulary) -> bytes:
    """The file of ranks for tiktoken."""
    lines = (
        b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in vocabulary.tokens.items()
    )
    return b"".join(lines)


def read_corpora(folder: Path | None, megabytes: int) -> dict[str, list[str]]:
    """The documents of each corpus, at most so many characters of it."""
    if folder is None:
        folder = Path(sysconfig.get_path("stdlib"))
        source = "".join(path.read_text("utf-8", "ignore") for path in sorted(folder.glob("*.py")))
        return {"standard library": source[: megabytes * 1_000_000].split("\n\n\n")}
    corpora = {}
    for path in sorted([*folder.glob("*.txt"), *folder.glob("*.txt.xz")]):
        compressed = path.suffix == ".xz"
        with (
            lzma.open(path, "rt", encoding="utf-8")
            if compressed
            else path.open(encoding="utf-8") as file
        ):
            corpora[path.name.split(".")[0]] = file.read(megabytes * 1_000_000).split(
                END_OF_TEXT_TOKEN
            )
    return corpora


def ways(name: str, texts: Sequence[str]) -> dict[str, Callable[[], object]]:
    """What is timed for a pattern: counting, and encoding texts that were encoded once before."""
    pattern = OURS[name]
    tokenizer = Tokenizer.train_from_iterator(texts, VOCAB_SIZE, pattern=pattern)
    encode = partial(tokenizer.encode_batch_to_numpy, texts, num_threads=1)
    encode()
    calls: dict[str, Callable[[], object]] = {
        "counting": partial(Counts.from_iterator, texts, pattern=pattern, num_threads=1),
        "encoding": encode,
    }
    if name in GIGATOKEN:
        with NamedTemporaryFile(suffix=".tiktoken") as file:
            file.write(rank_file(tokenizer.vocabulary))
            file.flush()
            theirs = gigatoken.gigatoken_rs.BPETokenizer.from_tiktoken(
                file.name, GIGATOKEN[name], {}
            )
        calls[BY_BATCH] = partial(theirs.encode_batch, list(texts), parallel=False)
        calls[BY_TEXT] = lambda: [theirs.encode(text) for text in texts]
    return calls


def compare(name: str, texts: Sequence[str]) -> None:
    """Compare the pretokens of a pattern with those of `tokenizers`."""
    left = COMPARED
    for text in texts:
        expected = [piece for piece, _ in THEIRS[name].pre_tokenize_str(text[:left])]
        if list(map(to_printable, pretokenize(text[:left], OURS[name]))) != expected:
            raise SystemExit(f"{name}: tokenizers cuts otherwise: {text[:left]!r:.200}")
        left -= len(text[:left])


def rates(texts: Sequence[str], rounds: int) -> dict[str, dict[str, float]]:
    """The megabytes per second of everything that is timed, for each pattern."""
    size = sum(len(text.encode()) for text in texts) / 1e6
    for name in THEIRS:
        compare(name, texts)
    timed = {name: ways(name, texts) for name in NAMES}
    best: dict[str, dict[str, float]] = {name: {} for name in NAMES}
    with pinned(1):
        for _ in range(rounds):
            for name, calls in timed.items():
                for what, call in calls.items():
                    best[name][what] = max(best[name].get(what, 0), size / seconds(call))
    return best


def rows(found: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[list[str]]:
    """A row for each pattern: for each corpus the rates, and their ratio to those of others."""
    made = []
    for name in NAMES:
        cells = [f"`{name}`"]
        for of_corpus in found.values():
            ours, beside = of_corpus[name], of_corpus["gpt2"]
            cells += [
                f"{ours[what]:.0f} ({ours[what] / beside[what]:.2f})"
                for what in ("counting", "encoding")
            ]
            theirs = max(ours.get(BY_BATCH, 0), ours.get(BY_TEXT, 0))
            cells.append(f"{ours['encoding'] / theirs:.2f}" if theirs else "–")
        made.append(cells)
    return made


HOSTILE = {
    "`a`": "a",
    "spaces": " ",
    "line feeds": "\n",
    "letters with marks": "e\u0301",
    "alternating case": "aB",
    "digits": "7",
    "Han": "漢",
}
"""Texts of one kind: endless pieces, texts without a place to cut, the shortest pieces."""
TIMES = 8


def growth(work: Callable[[bytes], object], unit: bytes, rounds: int) -> float:
    """How many times as long eight megabytes take as one: the median of several rounds.

    The texts are UTF-8, so that Python's own conversion, into fresh memory, is no part of it.
    """
    length = 1_000_000 // len(unit)

    def taken(times: int) -> float:
        return seconds(partial(work, unit * (times * length)))

    taken(TIMES)
    ratios = []
    for _ in range(rounds):
        before = [taken(1) for _ in range(TIMES // 2)]
        large = taken(TIMES)
        after = [taken(1) for _ in range(TIMES // 2)]
        ratios.append(large / statistics.mean(before + after))
    return statistics.median(ratios)


def hostile_rows(rounds: int) -> Iterator[list[str]]:
    """A row for each pattern: for each kind of text, the growth of the time of counting and encoding."""
    for name in PATTERNS:
        tokenizer = Tokenizer.train_from_iterator(["ab ab"], 257, pattern=name)

        def count(text: bytes, name: str = name) -> object:
            return Counts.from_iterator([text], pattern=name, num_threads=1)

        def encode(text: bytes, tokenizer: Tokenizer = tokenizer) -> object:
            return tokenizer.count_batch([text], num_threads=1)

        both = [
            [growth(work, unit.encode(), rounds) for work in (count, encode)]
            for unit in HOSTILE.values()
        ]
        yield [f"`{name}`", *(" / ".join(f"{ratio:.1f}" for ratio in ratios) for ratios in both)]


def unseen_rows(
    corpora: Mapping[str, Sequence[str]], number: int, rounds: int
) -> Iterator[list[str]]:
    """A row for each corpus and way to cut: what part of GPT-2's rate random patterns have, by counting."""
    rng = Random(0)
    made = [family(rng) for _ in range(number)]
    for corpus, texts in corpora.items():
        best = dict.fromkeys([PATTERNS["gpt2"], *made], float("inf"))
        for _ in range(rounds):
            for pattern in best:
                count = partial(Counts.from_iterator, texts, pattern=pattern, num_threads=1)
                best[pattern] = min(best[pattern], seconds(count))
        parts: dict[str, dict[str, float]] = {}
        for pattern in made:
            parts.setdefault(pattern_way(pattern), {})[pattern] = (
                best[PATTERNS["gpt2"]] / best[pattern]
            )
        for way, found in parts.items():
            slowest = min(found, key=found.__getitem__)
            print(f"{corpus}, {way}, the slowest: {slowest}", file=sys.stderr)
            ordered = sorted(found.values())
            shown = (ordered[len(ordered) * tenth // 10] for tenth in (0, 1, 5, 9))
            yield [corpus, way, str(len(ordered)), *(f"{part:.2f}" for part in shown)]


HEAD = ("counting", "encoding", "of gigatoken's")


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpora", type=Path)
    parser.add_argument("--megabytes", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--unseen", type=int, metavar="N")
    parser.add_argument("--hostile", action="store_true")
    arguments = parser.parse_args()
    if arguments.hostile:
        with pinned(1):
            print(table(["pattern", *HOSTILE], list(hostile_rows(arguments.rounds))))
        return
    corpora = read_corpora(arguments.corpora, arguments.megabytes)
    if arguments.unseen:
        with pinned(1):
            made = list(unseen_rows(corpora, arguments.unseen, arguments.rounds))
            print(
                table(
                    [
                        "corpus",
                        "way",
                        "patterns",
                        "least",
                        "a tenth below",
                        "half below",
                        "nine tenths below",
                    ],
                    made,
                )
            )
        return
    found = {corpus: rates(texts, arguments.rounds) for corpus, texts in corpora.items()}
    head = ["pattern", *(f"{corpus}, {what}" for corpus in found for what in HEAD)]
    text = (
        f"`make bench-patterns`, on {machine()}: MB/s on one thread for the first "
        f"{arguments.megabytes} million characters of each corpus, counting, and later passes of encoding "
        "with 32,000 tokens; in brackets, what part of GPT-2's rate that is. The third column of each corpus "
        "is our rate of encoding as a multiple of gigatoken's by its faster interface, where it knows the "
        "pattern.\n\n" + table(head, rows(found))
    )
    write_section("Patterns", text)
    print(text)


if __name__ == "__main__":
    main()
