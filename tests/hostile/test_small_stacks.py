"""Threads with the smallest stacks, and processes whose stack cannot grow: no call ends the process."""

import json
import subprocess
import sys

import pytest

READY = """
import json, sys, threading
import numpy
from bpetite import _engine, Counts, Tokenizer, symbols

text = "hello world, it's 2024 \\u4e2d\\u6587! " * 1000 + "x" * 5000
named = Tokenizer.train(text, 300)
custom = Tokenizer.train_from_iterator([text], 300, pattern="[a-z]+|[^a-z]")
ids = named.encode(text)
array = numpy.array(ids, numpy.uint32)

def read(pattern):
    try:
        _engine.read_pattern(pattern, "oniguruma")
    except ValueError:
        pass  # where a group is closed that was not opened
"""

IN_A_SMALL_THREAD = """
def attempt(work):
    failed = []
    def run():
        try:
            exec(work, globals())
        except BaseException as error:
            failed.append(repr(error))
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return failed

threading.stack_size(32 * 1024)
print(json.dumps(attempt(sys.argv[1])))
"""

WORK = {
    "encode": "assert named.encode(text) == ids",
    "encode a short text": "named.encode('hello world')",
    "encode with a custom pattern": "custom.encode(text)",
    "encode to an array": "named.encode_to_numpy(text)",
    "encode on threads": "named.encode_to_numpy(text * 40, num_threads=2)",
    "encode a batch": "named.encode_batch([text, 'a'] * 2)",
    "encode a batch to arrays": "named.encode_batch_to_numpy([text, 'a'] * 2, append=0)",
    "encode with offsets": "named.encode_with_offsets(text)",
    "encode a stream": "assert list(named.encode_iterable([text[:99], text[99:]])) == ids",
    "count": "assert named.count(text) == len(ids) and named.count('hello') == len(named.encode('hello'))",
    "count a batch": "named.count_batch([text, 'a'] * 2)",
    "pretokenize": "named.pretokens(text)",
    "decode": "assert named.decode(ids) == text",
    "decode an array": "assert named.decode_bytes(array) == text.encode()",
    "decode a stream": "stream = named.decode_stream(); stream.push(ids); stream.finish()",
    "decode many streams": "many = named.decode_streams(); many.step([many.open()] * len(ids), ids)",
    "count documents": "Counts.from_iterator([text] * 5, num_threads=2)",
    "train": "Tokenizer.train(text, 290)",
    "read deep patterns of others": "for part in ('(', '(?i)', '(?:a|'): read(part * 99 + ')' * 99)",
    "train on symbols": "symbols.train_bpe([['a', 'b', 'a', 'b']], 1)",
    "make a tokenizer": "Tokenizer(named.vocabulary).encode('hello')",
    "make a tokenizer with a custom pattern": "Tokenizer(custom.vocabulary).encode('hello')",
}
"""Every kind of call that reaches the engine's loops."""


@pytest.mark.parametrize("name", WORK)
def test_the_smallest_stack_is_large_enough(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", READY + IN_A_SMALL_THREAD, WORK[name]],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == []


@pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux holds a process to its address space"
)
@pytest.mark.parametrize("megabytes", [0, 1, 4])
def test_a_process_that_cannot_grow_raises_memory_error(megabytes: int) -> None:
    limited = f"""
import os, resource
long = text * 150
size = int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
resource.setrlimit(resource.RLIMIT_AS, (size + {megabytes} * 2**20, resource.RLIM_INFINITY))
try:
    ids = named.encode(long)
    print("done")
except MemoryError:
    print("MemoryError")
"""
    done = subprocess.run(
        [sys.executable, "-c", READY + limited], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "MemoryError\n"), done.stderr
