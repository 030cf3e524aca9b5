"""Callbacks, iterables and forks in the middle of a call: nobody waits for ever, and what comes out is right.

Each case runs in a process of its own with a limit of time, so that a deadlock fails and does not
hang. Timings differ from run to run; what is asserted does not.
"""

import subprocess
import sys

import pytest

LIMIT = 120
"""Seconds; the work takes one or two."""

SETUP = """
import os, pickle, random, sys, threading, time, warnings
import numpy as np
from bpetite import Counts, Tokenizer
from bpetite.training import extend_vocabulary, train_vocabulary

warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of forks beside threads
WORDS = [f"word{number}" for number in range(3000)]
TEXTS = [" ".join(WORDS[start:] + WORDS[:start]) + " naïve 東京 it's\\n" for start in range(60)]
EXPECTED = dict(Counts.from_iterator(TEXTS, num_threads=1).items())
TOKENIZER = Tokenizer.train_from_iterator(TEXTS, 400, num_threads=1)
IDS = [TOKENIZER.encode(text) for text in TEXTS]

def word(number):
    return "".join(chr(97 + number // 26**place % 26) for place in range(5))

def words(start, end, prefix=""):
    return " ".join(prefix + word(number) for number in range(start, end))

def check():
    "Use every stage, on two threads."
    counts = Counts.from_iterator(TEXTS, num_threads=2)
    assert dict(counts.items()) == EXPECTED
    assert train_vocabulary(counts, 400, num_threads=2) == TOKENIZER.vocabulary
    assert TOKENIZER.encode_batch(TEXTS, num_threads=2) == IDS

def in_child(work):
    "Fork, do the work in the other process, and return what waits for it and checks that all went well."
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:
            sys.stderr.write(f"in the child: {error!r}\\n")
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)
    def wait():
        assert os.waitpid(child, 0)[1] == 0
    return wait
"""


def run(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", SETUP + code],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr


forks = pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")

USES = {
    "len": "len(counts)",
    "print": "print(counts)",
    "equality": "assert counts == counts",
    "items": "next(counts.items())",
    "pickle": "assert pickle.loads(pickle.dumps(counts)) == counts",
    "merge": "assert len(Counts.merge([counts, counts])) == len(counts)",
    "save": "counts.save(f'{folder}/again.parquet', overwrite=True)",
    "train": "train_vocabulary(counts, 260)",
}
"""What a callback may do with the counts that are in use."""


@pytest.mark.parametrize("limit", [None, 1])
@pytest.mark.parametrize("use", USES)
def test_counts_may_be_used_by_whom_they_are_shown_to(use: str, limit: int | None) -> None:
    run(f"""
import tempfile
folder = tempfile.mkdtemp()
counts = Counts.from_iterator([words(0, 200_000)], memory_limit={limit})
seen = []
def visitor(*rows):
    seen.append(len(rows[1]))
    {USES[use]}
counts._table.visit_sorted(visitor)
assert sum(seen) == len(counts) > 190_000
""")


def test_a_progress_callback_may_use_the_counts_that_are_trained_on() -> None:
    run("""
n = 2_500_000
letters = np.random.default_rng(1).integers(97, 123, 9 * n).astype(np.uint8).tobytes()
counts = Counts()
counts._table.add_counts(letters, np.arange(9, 9 * n + 1, 9, dtype=np.uint64), np.ones(n, np.uint64))
distinct, stages = len(counts), []
def progress(stage, done, total):
    stages.append(stage)
    assert len(counts) == distinct and "distinct" in repr(counts)
train_vocabulary(counts, 300, num_threads=2, progress=progress)
assert len(stages) >= 2  # before the first merge and after the last, however fast the machine is
""")


CALLS = {
    "count": "Counts.from_iterator(source(), num_threads=2, progress=callback)",
    "train": "Tokenizer.train_from_iterator(source(), 400, num_threads=2, progress=callback)",
    "merge": "train_vocabulary(COUNTS, 400, num_threads=2, progress=callback)",
    "extend": "extend_vocabulary(TOKENIZER.vocabulary, COUNTS, 40, num_threads=2, progress=callback)",
    "encode": "TOKENIZER.encode_batch(source(), num_threads=2)",
    "count ids": "TOKENIZER.count_batch(source(), num_threads=2)",
    "stream": "list(TOKENIZER.encode_iterable(source()))",
    "decode": "TOKENIZER.decode_batch((TOKENIZER.encode(text) for text in source()))",
}
"""Public calls that take foreign code."""

SOURCES = """
COUNTS = Counts.from_iterator(TEXTS * 3)
def source(texts=TEXTS * 3):
    for number, text in enumerate(texts):
        if number % 40 == 3:
            act()
        yield text
def callback(stage, done, total):
    act()
"""


@pytest.mark.parametrize("call", CALLS)
def test_foreign_code_may_use_the_engine(call: str) -> None:
    run(f"""{SOURCES}
def act():
    check()
class Text(str):
    def __del__(self):
        TOKENIZER.encode("it is gone")
TEXTS = [Text(text) for text in TEXTS]
{CALLS[call]}
""")


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("when", [1, 2])
def test_an_exception_of_foreign_code_is_passed_on(call: str, when: int) -> None:
    run(f"""{SOURCES}
class Mine(Exception): pass
calls = []
def act():
    calls.append(1)
    if len(calls) == {when}:
        raise Mine
try:
    {CALLS[call]}
    assert len(calls) < {when}
except Mine:
    pass
check()
""")


@pytest.mark.parametrize("call", CALLS)
def test_an_iterable_that_is_used_by_its_own_call_is_an_error(call: str) -> None:
    run(f"""{SOURCES}
def act():
    try:
        running.close()
    except (ValueError, NameError):  # a generator that runs cannot be closed, and a callback has none
        pass
once = source
def source():
    global running
    running = once()
    return running
{CALLS[call]}
check()
""")


@forks
@pytest.mark.parametrize("call", CALLS)
def test_foreign_code_that_forks_leaves_both_processes_whole(call: str) -> None:
    run(f"""{SOURCES}
parent, children = os.getpid(), []
def act():
    if os.getpid() == parent and len(children) < 3:
        children.append(os.fork())
        if children[-1] == 0:
            children.clear()
try:
    {CALLS[call]}
except RuntimeError as error:
    assert os.getpid() != parent and "forked" in str(error), error
except BaseException as error:
    sys.stderr.write(repr(error))
    os._exit(1)
if os.getpid() != parent:
    try:
        check()
    finally:
        sys.stderr.flush()
        os._exit(0 if sys.exc_info()[0] is None else 1)
check()
for child in children:
    assert os.waitpid(child, 0)[1] == 0
""")


@forks
@pytest.mark.parametrize(
    "busy",
    [
        "Counts.from_iterator(TEXTS * 5, num_threads=2)",
        "Counts.from_iterator(TEXTS * 5, num_threads=2, memory_limit=1)",
        "Tokenizer.train_from_iterator(TEXTS * 5, 2000, num_threads=2)",
        "TOKENIZER.encode_batch(TEXTS * 5, num_threads=2)",
        "TOKENIZER.count_batch(['naïve cafés ' * 400] * 400, num_threads=8)",
        "TOKENIZER.encode_to_numpy(TEXTS[0] * 100)",
        "len(SPILLED), sum(1 for _ in SPILLED.items())",
    ],
)
def test_a_fork_at_any_moment_leaves_both_processes_whole(busy: str) -> None:
    run(f"""
SPILLED = Counts.from_iterator([words(0, 200_000)], memory_limit=1)
ending = threading.Event()
def work():
    while not ending.is_set():
        {busy}
thread = threading.Thread(target=work)
thread.start()
moments = random.Random(1)
for _ in range(12):
    time.sleep(moments.random() / 20)
    wait = in_child(lambda: (check(), len(SPILLED) == 200_000 or 1 / 0))
    check()
    wait()
ending.set()
thread.join()
""")


@forks
def test_spilled_counts_are_read_and_added_to_on_both_sides_of_a_fork() -> None:
    run("""
counts = Counts.from_iterator([words(0, 200_000)], memory_limit=1)
more = Counts.from_iterator([words(150_000, 300_000)])
expected = dict(counts.items())
def work():
    for _ in range(3):
        assert dict(counts.items()) == expected
        assert len(counts) == len(expected)
    table = counts._table  # what is spilled from now on goes to a file of each process's own
    own = f"X{word(os.getpid())}"
    for _ in range(2):
        table.add_documents([words(0, 50_000, own)], memory_limit=1)
        table.merge(more._table)
    found = dict(counts.items())
    mine = {pretoken: count for pretoken, count in found.items() if pretoken.lstrip().startswith(b"X")}
    assert len(mine) == 50_000 and set(mine.values()) == {2}
    assert all(pretoken.lstrip().startswith(own.encode()) for pretoken in mine)
    added = dict(more.items())
    others = {*expected, *added}
    assert len(found) == len(others) + len(mine)
    assert all(found[other] == expected.get(other, 0) + 2 * added.get(other, 0) for other in others)
waits = [in_child(work), in_child(work)]
work()
for wait in waits:
    wait()
""")


ENCODED = """
import tempfile
from pathlib import Path
from bpetite import corpus
folder = Path(tempfile.mkdtemp())
for number in range(6):
    (folder / f"{number}.txt").write_text("".join(TEXTS[number * 10 :][:10]))
inputs = sorted(folder.glob("*.txt"))
def encoded(output, documents=inputs):
    options = corpus.Options(shard_size=5_000)
    corpus.encode(TOKENIZER, documents, folder / output, options=options, num_threads=2)
    return {path.name: path.read_bytes() for path in sorted((folder / output).iterdir())}
"""
"""A small corpus, and what `encoded` finds in its folder of shards."""


@forks
def test_a_fork_at_any_moment_of_encoding_a_corpus_leaves_both_processes_whole() -> None:
    run(f"""{ENCODED}
expected, parent, ending, failed = encoded("expected"), os.getpid(), threading.Event(), []
assert len(expected) > 5
def work():
    for number in range(1000):
        if ending.is_set():
            return
        if encoded(f"busy-{{number}}") != expected:
            failed.append(number)
thread = threading.Thread(target=work)
thread.start()
moments = random.Random(2)
for number in range(12):
    time.sleep(moments.random() / 20)
    wait = in_child(lambda: (check(), encoded(f"child-{{number}}") == expected or 1 / 0))
    assert encoded(f"parent-{{number}}") == expected
    wait()
ending.set()
thread.join()
assert not failed
""")


@forks
def test_documents_that_fork_while_they_are_encoded_leave_the_parents_shards_whole() -> None:
    run(f"""{ENCODED}
parent, children = os.getpid(), []
def source():
    for number, text in enumerate(TEXTS * 5):
        if number % 100 == 50 and os.getpid() == parent:
            children.append(os.fork())
        yield text
expected = encoded("expected", corpus.Documents(TEXTS * 5))
try:
    found = encoded("disturbed", corpus.Documents(source()))
except BaseException as error:
    sys.stderr.write(repr(error))
    sys.stderr.flush()
    if os.getpid() == parent:
        raise
    os._exit(0 if isinstance(error, RuntimeError) and "fork" in str(error) else 1)
if os.getpid() != parent:
    os._exit(2)
assert found == expected
for child in children:
    assert os.waitpid(child, 0)[1] == 0
""")
