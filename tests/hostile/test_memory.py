"""Too little memory: every call that takes much of it works, or raises `MemoryError`; no process is aborted.

Each attempt is a process of its own, forked from one that has prepared everything, with a limit on
its address space: from no more than it has to plenty.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bpetite import Tokenizer

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux holds a process to its address space"
)

LIMITS = (0, 16, 32, 36, 40, 48, 60, 75, 90, 105, 120, 150, 190, 250, 2000)
"""Megabytes of address space that the process may add."""

READY = """
import gc, warnings
from random import Random
import numpy, pyarrow.parquet, regex
import bpetite.counts.file, bpetite.formats.loading
from bpetite import Counts, Tokenizer, Vocabulary, symbols
from bpetite._engine import FileTexts
from bpetite._constants import SPACE

rng = Random(1)
letters = "abcdefghijklmnopqrstuvwxyz"
words = ["".join(rng.choices(letters, k=rng.randint(2, 24))) for _ in range(100_000)]
text = " ".join(words)
small = Tokenizer.train(text[:50_000], 600)
ids = small.encode(text)
array = numpy.tile(numpy.array(ids, numpy.uint32), 10)
many = ids * 10
symbol_words = [list(word) for word in words[:40_000]]
numbers = ' '.join(map(str, range(10**6, 10**6 + 500_000)))
buffer = text.encode() * 10
lines = b'{"text": "%s"}' % text.encode() * 2 + b"\\n"
with open("text", "w") as file:
    file.write(numbers)
Tokenizer.train(text, 20_000).save("large.json")
small.to_tiktoken("small.tiktoken")
of_large_ids = Tokenizer.from_tiktoken("small.tiktoken", pattern="gpt2", special_tokens={"<x>": 2**21})
of_letters = {token_id: bytes([token_id]) for token_id in range(256)}
of_letters |= {256 + power: b"a" * 2 ** (power + 1) for power in range(8)}
doubling = [(97, 97), *((token_id, token_id) for token_id in range(256, 263))]
spaced = Tokenizer(Vocabulary(of_letters, doubling, {}, (SPACE, "a{4096}")))
unspaced = Tokenizer(Vocabulary(of_letters, doubling, {}, drops_space="all"))
letters = "a" * 12_000_000
letter_ids = [263] * 200_000
warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
gc.freeze()  # or collections in the forked processes would copy every object
"""
"""The data of each attempt: 1.4 MB of text with 100,000 different words, its ids, half a million numbers."""

SWEEP = """
import ctypes, json, os, resource, signal, sys, traceback

malloc = ctypes.CDLL(None).malloc  # which, unlike Python, leaves what it gives as it is
malloc.restype, malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]

def used():
    return int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE")

def take_what_is_free():
    for size in (10**6, 10**5, 10**4):
        while malloc(size):
            pass

def attempt(work, megabytes):
    sys.stdout.flush()
    compiled = compile(work, "work", "exec")  # Without memory, Python 3.12 fails at it without an exception.
    child = os.fork()
    if not child:
        code = 1
        signal.alarm(300)  # It ends a process that waits forever.
        try:
            most = used() + int(megabytes * 2**20)
            resource.setrlimit(resource.RLIMIT_AS, (used(), most))
            take_what_is_free()
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
            exec(compiled)
            code = 0
        except MemoryError:
            code = 3
        except BaseException:
            traceback.print_exc()
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

works, limits = json.loads(sys.argv[1])
print(json.dumps({name: [attempt(work, limit) for limit in limits] for name, work in works.items()}))
"""
"""Prints, for each limit, 0 if the work was done and 3 for a `MemoryError`."""

WORK = {
    "count documents": "Counts.from_iterator([numbers], pattern='whitespace', num_threads=2)",
    "count many documents": "Counts.from_iterator(iter(words * 4), pattern='none', num_threads=2)",
    "count a file": "Counts.from_files(['text'], pattern='whitespace', num_threads=2)",
    "count one huge pretoken": "Counts.from_iterator([buffer], pattern='none')",
    "count and spill": "Counts.from_iterator([text], memory_limit=2**21).save('spilled', overwrite=True)",
    "save counts": "Counts.from_iterator([text]).save('counts.parquet', overwrite=True)",
    "train": "Tokenizer.train_from_iterator([text, numbers], 600, num_threads=2)",
    "train on a custom pattern": "Tokenizer.train_from_iterator([text], 300, pattern=r'[a-z]{7}|[a-z]+|.')",
    "train on symbols": "symbols.train_bpe(symbol_words, 50)",
    "encode": "assert small.encode(text) == ids",
    "encode to an array": "assert (small.encode_to_numpy(buffer.decode()) >= 0).all()",
    "encode on threads": "small.encode_to_numpy(' '.join([text] * 6), num_threads=2)",
    "encode a batch": "small.encode_batch(words * 2)",
    "encode a batch to lists of new integers": "of_large_ids.encode_batch([text[:20_000]] * 300)",
    "encode a batch to arrays": "small.encode_batch_to_numpy(words * 4)",
    "encode one huge pretoken": "small.encode_to_numpy(text.replace(' ', 'x'))",
    "encode a stream": "assert list(small.encode_iterable([text])) == ids",
    "encode with offsets": "small.encode_with_offsets(text)",
    "encode with offsets among spaces that a pattern puts": "spaced.encode_with_offsets(letters)",
    "count tokens": "small.count_batch(words * 8)",
    "copy characters": "small.count_batch([text[:2000] + 'é'] * 2000, num_threads=8)",
    "decode": "assert small.decode(many) == text * 10",
    "decode an array": "assert small.decode(array) == text * 10",
    "decode and drop spaces": "assert len(unspaced.decode_bytes(letter_ids)) == 51_200_000",
    "decode a batch": "small.decode_batch([ids] * 20)",
    "load": "Tokenizer.load('large.json').encode('the')",
    "split texts": "FileTexts(b' ').take_block(buffer)",
    "take texts of lines": "FileTexts(b'text').take_lines(lines, 0)",
}
"""Calls whose memory depends on the size of their arguments."""


def test_with_too_little_memory_every_call_raises_memory_error(tmp_path: Path) -> None:
    """One test for all calls: making their data takes as long as all attempts."""
    done = subprocess.run(
        # Training announces how much memory it will need.
        [
            sys.executable,
            "-W",
            "ignore::RuntimeWarning",
            "-c",
            READY + SWEEP,
            json.dumps([WORK, LIMITS]),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    answered: dict[str, list[int]] = json.loads(done.stdout)
    assert answered.keys() == WORK.keys()
    unexpected = {
        name: dict(zip(LIMITS, codes, strict=True))
        for name, codes in answered.items()
        if (codes[0], codes[-1]) != (3, 0) or not {0, 3}.issuperset(codes)
    }
    assert not unexpected


ONE_THREAD = """
import threading
from bpetite._internal.threads import Threads

threading.stack_size(8 << 20)
"""


def test_a_thread_without_memory_for_its_first_call_is_an_error(tmp_path: Path) -> None:
    """Python alone waits forever where the stack fits, but not the 20 KB after it."""
    work = {"thread": "with Threads(1) as pool: assert pool.submit(len, 'abc').result() == 3"}
    limits = [kilobytes / 1024 for kilobytes in range(8000, 9600, 8)]
    done = subprocess.run(
        [sys.executable, "-c", ONE_THREAD + SWEEP, json.dumps([work, limits])],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    codes = json.loads(done.stdout)["thread"]
    begins = codes.index(0)
    assert codes == [3] * begins + [0] * (len(limits) - begins)
    assert begins > 0


GIVEN_BACK = """
import gc, os
import numpy  # which would be imported with the first array, and stays
import bpetite

os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])  # what the system keeps grows with the threads

def used():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

words = " ".join(f"{number:x}" for number in range(3_000_000))
vocabulary = bpetite.Tokenizer.train(words[:50_000], 300).vocabulary
before = used()
tok = bpetite.Tokenizer(vocabulary)
ids = tok.encode_to_numpy(words)
texts = [tok.decode(ids) for _ in range(3)]
lists = tok.encode(words)
del tok, ids, texts, lists
after = used()
bpetite.trim_memory()
print((after - before) >> 20, (used() - before) >> 20)
"""


def test_what_was_encoded_and_dropped_gives_its_memory_back() -> None:
    """At most 64 of some 700 MB may be kept for the next result; after `trim_memory` nothing.

    The least of three processes counts: on a busy machine, threads begin at other times, and the
    allocator keeps some megabytes more.
    """
    figures = []
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", GIVEN_BACK], capture_output=True, text=True, check=False
        )
        assert done.stderr == ""
        figures.append(tuple(map(int, done.stdout.split())))
    kept, trimmed = map(min, zip(*figures, strict=True))
    assert kept < 64 + 32
    assert trimmed < 16


def test_an_array_keeps_its_memory_as_long_as_anything_looks_into_it() -> None:
    """The memory of a large array is used for the next one only when nobody has a view of it."""
    bytes_alone = Tokenizer.train("", 256)
    text = "ab" * (9 << 19)
    for threads in (1, 2):
        view = bytes_alone.encode_to_numpy(text, num_threads=threads)[1:]
        assert 32 << 20 <= view.nbytes <= 64 << 20
        other = bytes_alone.encode_to_numpy(text.replace("a", "c"), num_threads=threads)
        assert (int(view[0]), int(view[1]), int(other[0])) == (ord("b"), ord("a"), ord("c"))
        address = other.__array_interface__["data"][0]
        del other
        again = bytes_alone.encode_to_numpy(text, num_threads=threads)
        assert again.__array_interface__["data"][0] == address
        assert (again[1:] == view).all()
        again[:] = 0
        assert view.max() == ord("b")
        del again, view
