"""One tokenizer in many threads, processes and event loops: the same results, and nobody waits for ever.

`test_engine_encode.py` has threads, and a fork while they work; here a tokenizer is used in every
other way.
"""

import asyncio
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from alone import alone
from bpetite import Tokenizer

CORPUS = (
    "the cat sat on the mat, the bat sat on the hat; naïve cafés 東京 <|endoftext|> 123 it's\n" * 3
)
TEXTS = [CORPUS * number for number in range(1, 40)]
TOKENIZER = Tokenizer.train(CORPUS, 400)
EXPECTED = [TOKENIZER.encode(text) for text in TEXTS]


def encode(text: str) -> list[int]:
    return TOKENIZER.encode(text)


def encode_with(tokenizer: Tokenizer, text: str) -> list[int]:
    return tokenizer.encode(text)


def train_and_encode(text: str) -> list[int]:
    """Use every stage of the engine, on several threads."""
    trained = Tokenizer.train_from_iterator([CORPUS] * 4, 400, num_threads=3)
    return trained.encode_batch([text], num_threads=3)[0]


def test_threads_encode_while_others_load_save_pickle_and_train(tmp_path: Path) -> None:
    TOKENIZER.save(tmp_path / "tok.json")

    def work(number: int) -> bool:
        text, expected = TEXTS[number % len(TEXTS)], EXPECTED[number % len(TEXTS)]
        match number % 5:
            case 0:
                return Tokenizer.load(tmp_path / "tok.json").encode(text) == expected
            case 1:
                copy: Tokenizer = pickle.loads(pickle.dumps(TOKENIZER))
                return copy == TOKENIZER and copy.encode(text) == expected
            case 2:
                TOKENIZER.save(tmp_path / f"{number}.json")
                return (tmp_path / f"{number}.json").read_bytes() == (
                    tmp_path / "tok.json"
                ).read_bytes()
            case 3:
                return Tokenizer.train(CORPUS, 400) == TOKENIZER
            case _:
                return TOKENIZER.decode(TOKENIZER.encode_batch([text])[0]) == text

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(200)))


def test_threads_feed_streams_of_their_own() -> None:
    def work(number: int) -> bool:
        ids = list(TOKENIZER.encode_iterable(iter(TEXTS[number])))
        stream = TOKENIZER.decode_stream()
        return (
            ids == EXPECTED[number]
            and "".join(map(stream.push, ids)) + stream.finish() == TEXTS[number]
        )

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(20)))


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
@alone
def test_a_pool_of_processes_gets_and_gives_tokenizers(method: str) -> None:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        assert list(pool.map(encode_with, [TOKENIZER] * 8, TEXTS[:8])) == EXPECTED[:8]
        assert list(pool.map(train_and_encode, TEXTS[:2])) == EXPECTED[:2]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
@alone
def test_a_fork_after_every_stage_was_used_leaves_both_processes_whole() -> None:
    assert train_and_encode(TEXTS[5]) == EXPECTED[5]
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as children:
        assert children.map(train_and_encode, TEXTS[:4]) == EXPECTED[:4]
        assert children.map(encode, TEXTS[:4]) == EXPECTED[:4]
    assert train_and_encode(TEXTS[6]) == EXPECTED[6]


NUMBERS = " ".join(map(str, range(100_000)))
"""So many pretokens that training takes memory that is kept for the next tokenizer."""
VOCABULARIES = [Tokenizer.train(text, 300).vocabulary for text in (CORPUS, NUMBERS[:5000])]


def encode_in_turn(turns: int) -> list[list[int]]:
    """Encode with tokenizers of two vocabularies, each deleted before the next one is made."""
    return [Tokenizer(VOCABULARIES[turn % 2]).encode(NUMBERS) for turn in range(turns)]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
@alone
def test_tokenizers_see_nothing_of_what_those_before_them_learned() -> None:
    ids = encode_in_turn(6)
    assert [
        Tokenizer(vocabulary).decode(ids[turn]) for turn, vocabulary in enumerate(VOCABULARIES)
    ] == [
        NUMBERS,
        NUMBERS,
    ]
    assert ids[0] != ids[1]
    assert ids == ids[:2] * 3
    with multiprocessing.get_context("fork").Pool(2) as children:
        assert children.map(encode_in_turn, [4, 4]) == [ids[:4]] * 2
    assert encode_in_turn(2) == ids[:2]


FORKS = """
import os, sys, threading, time
from bpetite._engine import pretokenize
from bpetite.patterns import PATTERNS

def first_use():
    for pattern in PATTERNS.values():
        pretokenize("d\u00e9j\u00e0 vu 12", pattern)

for attempt in range(40):
    child = os.fork()
    if not child:  # In which nothing has been made yet.
        thread = threading.Thread(target=first_use)
        thread.start()
        time.sleep(attempt / 40 * 0.002)
        grandchild = os.fork()
        if not grandchild:
            first_use()
            os._exit(0)
        deadline = time.monotonic() + 60
        while not (ended := os.waitpid(grandchild, os.WNOHANG))[0] and time.monotonic() < deadline:
            time.sleep(0.001)
        thread.join()
        if not ended[0]:
            os.kill(grandchild, 9)
        os._exit(0 if ended[0] else 1)
    if os.waitpid(child, 0)[1]:
        sys.exit(f"attempt {attempt}: the forked process did not end")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
def test_a_fork_during_the_first_use_of_anything_leaves_nobody_waiting() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKS],
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_slow_import_of_regex_is_left_to_the_specification() -> None:
    """This also enables the GIL of a free-threaded Python."""
    work = "import sys; from bpetite import Tokenizer; Tokenizer.train('a b', 257).encode('a b')"
    done = subprocess.run(
        [sys.executable, "-c", f"{work}; sys.exit('regex' in sys.modules)"], check=False
    )
    assert done.returncode == 0


def test_ids_may_be_written_while_they_are_decoded() -> None:
    ids = np.full(3_000_000, 97, np.uint32)
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            ids[:] = 98
            ids[:] = 97

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(20):
            assert set(TOKENIZER.decode(ids)) <= {"a", "b"}
            assert set(TOKENIZER.decode_bytes(ids)) <= set(b"ab")
    finally:
        stop.set()
        writer.join()


@alone
def test_an_event_loop_goes_on_while_its_executors_encode() -> None:
    async def main() -> int:
        beats = 0
        work = asyncio.gather(*(asyncio.to_thread(TOKENIZER.encode, text * 20) for text in TEXTS))
        while not work.done():
            await asyncio.sleep(0)
            beats += 1
        assert [len(ids) for ids in await work] == [
            len(TOKENIZER.encode(text * 20)) for text in TEXTS
        ]
        return beats

    assert asyncio.run(main()) > 1


def test_a_document_source_may_use_the_tokenizer_that_counts_are_for() -> None:
    """The engine calls back into Python while it works, and Python into the engine."""

    def documents() -> list[str]:
        return [TOKENIZER.decode(TOKENIZER.encode(text)) for text in TEXTS[:5]]

    trained = Tokenizer.train_from_iterator(
        (document for document in documents()),
        300,
        progress=lambda stage, done, total: TOKENIZER.encode("while counting"),
    )
    assert trained == Tokenizer.train_from_iterator(TEXTS[:5], 300)


SHUTDOWN = """
import sys, threading
from bpetite import Tokenizer
tok = Tokenizer.train("the cat sat on the mat " * 10, 300)
text = "the cat sat on the mat " * 20_000
busy = threading.Event()
def work():
    while True:
        tok.encode_to_numpy(text)
        # Python 3.11 itself crashes if it ends while a thread imports, so NumPy must be there
        # before.
        busy.set()
        Tokenizer.train_from_iterator([text], 300)
        tok.encode_batch([text] * 4)
        tok.count_batch(["naïve cafés " * 400] * 400, num_threads=8)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
busy.wait()
"""


@pytest.mark.parametrize("ending", ["", "sys.exit(3)", "raise SystemExit(3)"])
def test_an_interpreter_may_end_while_threads_are_at_work(ending: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SHUTDOWN + ending],
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (3 if ending else 0, b"")


SHUTDOWN_IN_A_CALL = """
import sys, threading, time
import bpetite.training
from bpetite import Tokenizer
class EndsSlowly:
    def __del__(self, sleep=time.sleep):
        sleep(0.5)
sys.modules["ends_slowly"] = EndsSlowly()
called = threading.Event()
def sleeps(*_, sleep=time.sleep):
    called.set()
    sleep(0.1)
def documents():
    yield "the cat"
    sleeps()
    yield "sat on the mat"
texts = ["the cat sat on the mat"]
{asleep}
threading.Thread(target=Tokenizer.train_from_iterator, args=[texts, 300], daemon=True).start()
called.wait()
"""


@pytest.mark.parametrize(
    "asleep", ["bpetite.training._check_memory = sleeps", "texts = documents()"]
)
def test_an_interpreter_may_end_while_the_engine_calls_python(asleep: str) -> None:
    """Python ends first, and ends the thread as soon as it wakes up."""
    command = [sys.executable, "-W", "error", "-c", SHUTDOWN_IN_A_CALL.format(asleep=asleep)]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


SHUTDOWN_OF_THE_PROCESS = """
import ctypes, threading, time
from bpetite import Tokenizer
tok = Tokenizer.train("the cat sat on the mat " * 10, 300)
text = "the cat sat on the mat " * 8_000_000
libc = ctypes.CDLL(None)
libc.__cxa_atexit(libc.usleep, ctypes.c_void_p(500_000), None)
called = threading.Event()
def count():
    called.set()
    tok.count(text, num_threads=1)
threading.Thread(target=count, daemon=True).start()
called.wait()
time.sleep(0.01)
"""
"""The process still ends for half a second when Python has ended."""


@pytest.mark.skipif(sys.platform != "linux", reason="calls functions of the C library by name")
def test_a_process_may_end_slowly_while_a_thread_is_at_work() -> None:
    command = [sys.executable, "-W", "error", "-c", SHUTDOWN_OF_THE_PROCESS]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


SHUTDOWN_OF_OBJECTS = """
from bpetite import Tokenizer
tok = Tokenizer.train("the cat sat on the mat " * 10, 300)
class CountsLate:
    def __del__(self, count=tok.count, train=tok.train, text="the cat sat on the mat " * 100_000):
        assert count(text) == count(text, num_threads=2)
        print(train(text, 260).vocab_size)
import sys
sys.modules["counts_late"] = CountsLate()
"""


def test_objects_may_encode_and_train_while_the_interpreter_ends() -> None:
    command = [sys.executable, "-W", "error", "-c", SHUTDOWN_OF_OBJECTS]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"261\n", b"")


def test_no_thread_outlives_its_call() -> None:
    if not Path("/proc/self/task").exists():
        assert threading.active_count() >= 1
        return
    train_and_encode(TEXTS[-1])
    before = threads_of_this_process()
    for _ in range(20):
        train_and_encode(TEXTS[-1])
    until = time.monotonic() + 60  # the system lists a thread for a moment after it has ended
    while threads_of_this_process() - before and time.monotonic() < until:
        time.sleep(0.001)
    assert threads_of_this_process() <= before


def threads_of_this_process() -> set[str]:
    return set(os.listdir("/proc/self/task"))
