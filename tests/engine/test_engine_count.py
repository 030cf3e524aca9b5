"""The engine counts what the specification's pretokens, counted one by one, come to."""

import errno
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from bpetite import _engine
from bpetite._pretokenizer import pieces
from bpetite.patterns import PATTERNS
from interrupts import interrupts, stops_after_interrupt

GPT2 = PATTERNS["gpt2"]


def counted(table: _engine.CountTable, num_threads: int | None = None) -> dict[bytes, int]:
    pretokens, ends, counts = table.sorted(num_threads=num_threads)
    starts = [0, *ends.tolist()][:-1]
    listed = [pretokens[start:end] for start, end in zip(starts, ends.tolist(), strict=True)]
    assert listed == sorted(set(listed))
    return dict(zip(listed, counts.tolist(), strict=True))


def expected(
    documents: list[str],
    pattern: str = GPT2,
    boundaries: tuple[str, ...] = (),
    count_unmatched: bool = True,
) -> Counter[bytes]:
    longest_first = sorted(boundaries, key=len, reverse=True)
    boundary = regex.compile("|".join(map(regex.escape, longest_first)) or r"(?!)")
    return Counter(
        piece
        for document in documents
        for stretch in boundary.split(document)
        for piece, matched in pieces(stretch, pattern)
        if matched or count_unmatched
    )


def count(
    documents: list[str],
    pattern: str = GPT2,
    boundaries: Sequence[str] = (),
    count_unmatched: bool = True,
) -> _engine.CountTable:
    table = _engine.CountTable(pattern, boundaries, count_unmatched)
    table.add_documents(documents)
    return table


TEXT = st.text(" \na1'sé中|<>", max_size=60) | st.text(max_size=40)


@pytest.mark.parametrize("pattern", [*PATTERNS, r"\w+"])
@pytest.mark.parametrize("count_unmatched", [True, False])
@given(documents=st.lists(TEXT, max_size=6))
def test_counts_are_those_of_the_specification(
    pattern: str, count_unmatched: bool, documents: list[str]
) -> None:
    source = PATTERNS.get(pattern, pattern)
    table = count(documents, source, count_unmatched=count_unmatched)
    assert counted(table) == expected(documents, source, count_unmatched=count_unmatched)
    assert table.total == sum(counted(table).values())
    assert len(table) == len(counted(table))
    assert table.bytes == sum(len(document.encode()) for document in documents)


@given(documents=st.lists(TEXT, max_size=4))
def test_boundaries_are_never_counted_or_crossed(documents: list[str]) -> None:
    boundaries = ("<|", "<|a|>", "|>", "a1")
    table = count(documents, GPT2, boundaries=boundaries)
    assert counted(table) == expected(documents, GPT2, boundaries)


def test_of_overlapping_boundaries_the_longest_of_the_leftmost_cuts() -> None:
    assert counted(count(["x<|a|>y<|z"], boundaries=["<|", "<|a|>"])) == {b"x": 1, b"y": 1, b"z": 1}


def test_documents_are_the_stretches_between_boundaries_that_hold_text() -> None:
    assert count(["a<|>b<|><|>", "", "c"], boundaries=["<|>"]).documents == 3


def test_bytes_and_str_documents_count_alike() -> None:
    table = _engine.CountTable(GPT2)
    documents: list[str | bytes] = ["é a", "é a".encode()]
    table.add_documents(iter(documents))
    assert counted(table) == {"é".encode(): 2, b" a": 2}


def test_files_count_like_their_text(tmp_path: Path) -> None:
    texts = ["one two\n\n  three", "", "zwei zwei's"]
    paths = []
    for number, text in enumerate(texts):
        paths.append(tmp_path / f"{number}.txt")
        paths[-1].write_text(text)
    table = _engine.CountTable(GPT2)
    seen: list[tuple[str, int, int]] = []
    table.add_files(paths, progress=lambda *report: seen.append(report))
    assert counted(table) == expected(texts)
    size = sum(map(len, texts))
    assert seen[-1] == ("counting", size, size)


def test_tables_add_up() -> None:
    one, other = count(["a b"]), count(["b b", "c"])
    one.merge(other)
    assert counted(one) == expected(["a b", "b b", "c"])
    assert (one.total, one.documents, one.bytes) == (5, 3, 7)
    one.merge(other, 2)
    assert counted(one) == expected(["a b", *["b b", "c"] * 3])
    assert (one.total, one.documents, one.bytes) == (11, 5, 11)
    for times in (2**63, 2**64, 2**100):
        with pytest.raises(OverflowError, match="does not fit 64 bits"):
            count(["b"]).merge(one, times)


def test_counts_made_elsewhere_can_be_added() -> None:
    table = count(["a b"])
    pretokens, ends, counts = count(["b b", "c"]).sorted()
    table.add_counts(pretokens, ends, counts)
    assert counted(table) == expected(["a b", "b b", "c"])


@pytest.mark.parametrize(
    ("pretokens", "ends", "counts"),
    [
        (b"ab", [1], [1]),
        (b"ab", [1, 2], [1]),
        (b"ab", [2, 1, 2], [1, 1, 1]),
        (b"ab", [0, 2], [1, 1]),
        (b"ab", [3, 2], [1, 1]),
    ],
)
def test_counts_that_do_not_fit_their_pretokens_are_refused(
    pretokens: bytes, ends: list[int], counts: list[int]
) -> None:
    with pytest.raises(ValueError):
        count([]).add_counts(pretokens, np.array(ends, np.uint64), np.array(counts, np.uint64))


def test_a_count_past_64_bits_is_an_error_and_no_wrap() -> None:
    table = count(["a"])
    table.add_counts(b"a", np.array([1], np.uint64), np.array([2**64 - 2], np.uint64))
    assert counted(table) == {b"a": 2**64 - 1}
    with pytest.raises(OverflowError, match="64 bits"):
        table.add_counts(b"a", np.array([1], np.uint64), np.array([1], np.uint64))


def test_a_file_that_is_not_utf8_is_an_error_with_its_name_and_offset(tmp_path: Path) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes(b"caf\xe9 noir")
    with pytest.raises(ValueError, match=r"latin\.txt: not valid UTF-8 at byte 3"):
        _engine.CountTable(GPT2).add_files([path])


def test_a_document_that_is_not_utf8_is_an_error_with_its_number_and_offset() -> None:
    with pytest.raises(ValueError, match="document 1: not valid UTF-8 at byte 2"):
        _engine.CountTable(GPT2).add_documents([b"fine", b"ab\xff"])


def test_a_missing_file_is_file_not_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        _engine.CountTable(GPT2).add_files([tmp_path / "missing"])
    assert raised.value.args == (errno.ENOENT, os.strerror(errno.ENOENT))
    assert raised.value.filename == str(tmp_path / "missing")


def test_an_exception_of_the_iterable_is_passed_on_unchanged() -> None:
    raised = LookupError("the source is gone")

    def documents() -> Iterator[str]:
        yield "one"
        raise raised

    with pytest.raises(LookupError) as caught:
        _engine.CountTable(GPT2).add_documents(documents())
    assert caught.value is raised


def test_an_exception_of_the_progress_callback_is_passed_on_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a")
    raised = LookupError("stop")

    def progress(*_: object) -> None:
        raise raised

    with pytest.raises(LookupError) as caught:
        _engine.CountTable(GPT2).add_files([path], progress=progress)
    assert caught.value is raised


@pytest.mark.parametrize("documents", ["one", b"one", [1], [None], 5])
def test_documents_of_another_kind_are_a_type_error(documents: object) -> None:
    with pytest.raises(TypeError):
        _engine.CountTable(GPT2).add_documents(documents)  # type: ignore[arg-type]


@pytest.mark.parametrize("num_threads", [0, -1, -(10**30)])
def test_fewer_than_one_thread_is_an_error(num_threads: int) -> None:
    with pytest.raises(ValueError, match="num_threads"):
        _engine.CountTable(GPT2).add_documents(["a"], num_threads=num_threads)


def test_documents_that_come_slowly_are_counted_while_more_of_them_come() -> None:
    told = [0]

    def documents() -> Iterator[str]:
        until = time.monotonic() + 60
        while told[-1] == 0 and time.monotonic() < until:
            time.sleep(0.001)
            yield "a b"
        yield "a b"

    table = _engine.CountTable(GPT2)
    table.add_documents(documents(), progress=lambda stage, done, total: told.append(done))
    before_the_end = [done for done in told if 0 < done < table.bytes]
    assert before_the_end
    assert told[-1] == table.bytes == 3 * table.documents
    assert counted(table) == {b"a": table.documents, b" b": table.documents}


def test_columns_among_documents_count_like_their_texts() -> None:
    documents = ["a b", "", "c 東京", "a b c"]
    found = _engine.FileTexts(b"|")
    found.take_block("|".join([*documents, ""]).encode())
    column = found.take()
    cases: list[list[Any]] = [
        [column, *documents, column, column],
        [*documents, column, "x"],
        [column[:0], "a"],
    ]
    for mixed in cases:
        texts = [text for item in mixed for text in ([item] if isinstance(item, str) else item)]
        table = _engine.CountTable(GPT2)
        told: list[int] = []
        table.add_documents(iter(mixed), on_documents=told.append)
        assert counted(table) == expected(
            [text if isinstance(text, str) else text.decode() for text in texts]
        )
        assert told[-1] == table.documents
    with pytest.raises(ValueError, match=r"^document 5: not valid UTF-8 at byte 2$"):
        _engine.CountTable(GPT2).add_documents([*documents, column[:1], b"ab\xff"])


def test_any_number_of_threads_gives_the_same_counts() -> None:
    documents = [f"some words {number}" for number in range(100)]
    for num_threads in (1, 2, 7, 10**30):
        table = _engine.CountTable(GPT2)
        table.add_documents(documents, num_threads=num_threads)
        assert counted(table) == expected(documents)


def test_any_number_of_threads_sorts_the_same() -> None:
    number = 250_000
    texts = [b"%x" % i for i in range(number)]
    texts += [b"the same beginning %d" % i for i in range(0, number, 5)]
    texts += [b"\0" * length for length in range(1, 30)] + [b"3\0", b"3" + b"\0" * 20]
    texts = sorted(set(texts), key=lambda text: text[::-1])
    counts = [1 + i % 2 for i in range(len(texts))]
    table = _engine.CountTable(GPT2)
    ends = np.cumsum([len(text) for text in texts], dtype=np.uint64)
    table.add_counts(b"".join(texts), ends, np.array(counts, np.uint64))
    wanted = dict(zip(texts, counts, strict=True))
    for num_threads in (1, 2, 3, 7, 10**30):
        assert counted(table, num_threads) == wanted


def test_an_empty_boundary_is_an_error() -> None:
    with pytest.raises(ValueError, match="boundaries"):
        _engine.CountTable(GPT2, [""])


def test_a_file_of_several_chunks_counts_like_its_text(tmp_path: Path) -> None:
    path = tmp_path / "library.txt"
    text = "<|end|>".join(
        source.read_text("utf-8") for source in sorted(Path(os.__file__).parent.glob("*.py"))[:90]
    )
    path.write_text(text, "utf-8")
    assert path.stat().st_size > 2**21
    for num_threads in (1, 3):
        table = _engine.CountTable(GPT2, ["<|end|>"])
        table.add_files([path], num_threads=num_threads)
        assert counted(table) == expected([text], GPT2, ("<|end|>",))
        assert table.documents == 90


@pytest.mark.parametrize("limit", [1, 2**20, 2**22, 2**40])
def test_counts_over_the_memory_limit_are_the_same(limit: int) -> None:
    documents = [
        f"w{number % 70_001} {'y' * (number % 40)}{number % 999}" for number in range(200_000)
    ]
    table = _engine.CountTable(GPT2)
    table.add_documents(documents, memory_limit=limit)
    assert counted(table) == expected(documents)
    assert len(table) == len(counted(table))


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not say what was written")
def test_many_calls_write_no_more_than_one() -> None:
    words = [f"{'abcdefghij'[number % 10] * (number % 7)}w{number}" for number in range(150_000)]
    pieces = [" ".join(words[start::300] + words[: 20 * start : 20]) for start in range(300)]

    def written() -> int:
        return int(Path("/proc/self/io").read_text("ascii").partition("wchar: ")[2].split()[0])

    def of_calls(calls: list[list[str]]) -> tuple[int, dict[bytes, int]]:
        table, before = _engine.CountTable(r"[a-z0-9]+"), written()
        table.add_documents([" ".join(words)], memory_limit=1, num_threads=1)
        for documents in calls:
            table.add_documents(documents, num_threads=1)
        table.settle()
        return written() - before, counted(table)

    (once, counts), (often, same) = of_calls([pieces]), of_calls([[piece] for piece in pieces])
    assert counts == same
    assert 0 < often <= once * 1.1


SPILLS = """
import os, signal, stat, sys
from bpetite import _engine
os.umask(0)
table = _engine.CountTable(r"[a-z0-9]+")
table.add_documents([" ".join(f"w{number}" for number in range(200_000))], memory_limit=1)
folder = os.environ["TMPDIR"]
opened = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
spilled = [os.stat(name) for name in opened if os.path.exists(name) and folder in os.readlink(name)]
assert spilled and not os.listdir(folder)
assert {(stat.S_IMODE(found.st_mode), found.st_nlink) for found in spilled} == {(0o600, 0)}
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not show what is open")
def test_temporary_files_are_for_this_user_alone_and_gone_after_a_kill(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", SPILLS], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("limit", [None, 2**40])
def test_what_is_moved_to_temporary_files_stays_part_of_the_counts(limit: int | None) -> None:
    documents = [f"w{number} {'y' * (number % 40)}" for number in range(20_000)]
    table = _engine.CountTable(GPT2)
    assert table.memory_limit is None
    for _ in range(2):
        table.add_documents(documents, memory_limit=limit)
        table.spill(2**40)
        table.spill(0)
    assert table.memory_limit == limit
    assert counted(table) == expected(documents * 2)


@pytest.mark.parametrize("limit", [-1, 2**64])
def test_a_memory_limit_that_is_no_number_of_bytes_is_an_error(limit: int) -> None:
    with pytest.raises((ValueError, OverflowError)):
        _engine.CountTable(GPT2).add_documents(["a"], memory_limit=limit)


LARGE: dict[str, tuple[str, dict[str, int]]] = {
    "nothing": ("", {}),
    "one byte": ("a", {"a": 1}),
    "one giant pretoken": ("a" * 10**7, {"a" * 10**7: 1}),
    "one giant pretoken of many bytes to a letter": ("中" * 3_300_000, {"中" * 3_300_000: 1}),
    "white space": ("\n" * 10**7, {"\n" * 10**7: 1}),
    "boundaries alone": ("<|end|>" * 10**6, {}),
    "one pretoken again and again": (" a" * 10**6, {" a": 10**6}),
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("source", ["file", "document"])
def test_texts_without_measure_are_counted(name: str, source: str, tmp_path: Path) -> None:
    text, counts = LARGE[name]
    table = _engine.CountTable(GPT2, ["<|end|>"])
    if source == "file":
        path = tmp_path / "large.txt"
        path.write_text(text, "utf-8")
        table.add_files([path], num_threads=2)
    else:
        table.add_documents([text], num_threads=2)
    assert counted(table) == {pretoken.encode(): count for pretoken, count in counts.items()}


def test_a_million_pretokens_that_occur_once_are_a_million_counts() -> None:
    table = _engine.CountTable(PATTERNS["whitespace"])
    table.add_documents(map(str, range(10**6)))
    pretokens, ends, counts = table.sorted()
    assert (len(table), table.total, len(ends), int(np.max(counts))) == (10**6, 10**6, 10**6, 1)
    assert pretokens == b"".join(sorted(b"%d" % number for number in range(10**6)))


def test_the_same_table_can_be_filled_in_many_calls() -> None:
    table = _engine.CountTable(GPT2)
    documents = [f"some words {number}" for number in range(50)]
    for document in documents:
        table.add_documents([document])
    assert counted(table) == expected(documents)


@interrupts
@pytest.mark.parametrize(
    "work",
    ["table.add_files(['words.txt'] * 100_000)", "table.add_documents(itertools.repeat(text))"],
)
def test_an_interrupt_stops_counting_within_a_second(
    work: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.txt").write_text("some words " * 100_000)
    ready = """
import itertools
from bpetite import _engine
table = _engine.CountTable(r"\\S+|\\s+")
text = "some words " * 1000
"""
    assert stops_after_interrupt(ready, work)
