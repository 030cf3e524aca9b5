"""A memory limit is one of the whole process: peaks stay within it, and one that cannot be met is refused."""

import random
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from bpetite import Counts
from bpetite.reading import memory_limit

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the peaks of other systems differ")

WORDS = 1_500_000
"""The number of distinct pretokens, whose table takes 150 MB and more."""

MARGIN = 1.2
"""How far a peak may be above its limit: systems differ in the size of their pages."""


RUN = """
import sys
from pathlib import Path
from bpetite.cli import run
run(sys.argv[1:])
print(Path("/proc/self/status").read_text("ascii").partition("VmHWM:")[2].split()[0])
"""
"""Runs a command and prints the largest memory of its process, in kilobytes."""


def peak(*arguments: object) -> tuple[int, str]:
    """Run a command; return its largest memory in bytes and its messages."""
    command = [sys.executable, "-c", RUN, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout.splitlines()[-1]) << 10, done.stderr


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of three formats with many distinct words; an unlimited count of them."""
    folder = tmp_path_factory.mktemp("limit")
    draw = random.Random(1)
    texts = [
        " ".join(f"{draw.getrandbits(60):x}".translate(LETTERS) for _ in range(1000))
        for _ in range(WORDS // 1000)
    ]
    third = len(texts) // 3
    (folder / "in").mkdir()
    (folder / "in" / "a.txt").write_text(SEPARATOR.join(texts[:third]))
    lines = "".join(f'{{"text": "{text}"}}\n' for text in texts[third : 2 * third])
    (folder / "in" / "b.jsonl.zst").write_bytes(
        pyarrow.compress(lines.encode(), "zstd", asbytes=True)
    )
    rows = pyarrow.table({"text": texts[2 * third :]})
    pyarrow.parquet.write_table(rows, folder / "in" / "c.parquet", row_group_size=100)
    return folder


SEPARATOR = "<|end|>"
LETTERS = str.maketrans("0123456789", "ghijklmnop")
COUNT = ("--separator", SEPARATOR, "--quiet", "--force")


@pytest.fixture(scope="module")
def smallest(corpus: Path) -> int:
    """The smallest limit that works here, in bytes, and 4 MB more: no two processes are quite alike."""
    _, said = peak(
        "count", "--input", corpus / "in", "--output", corpus / "no", "--memory-limit", "1MB"
    )
    found = re.search(r"the smallest limit that works is ([0-9]+)MB", said)
    assert found, said
    assert not (corpus / "no").exists()
    return (int(found[1]) + 4) * 10**6


def test_counting_stays_within_its_limit(corpus: Path, smallest: int) -> None:
    limit = smallest + 20_000_000
    whole, said = peak("count", "--input", corpus / "in", "--output", corpus / "whole", *COUNT)
    assert not said
    assert whole > 1.5 * limit
    limited = ("--memory-limit", limit, "--output", corpus / "limited", *COUNT)
    most, said = peak("count", "--input", corpus / "in", *limited)
    assert not said
    assert most < MARGIN * limit
    assert (corpus / "limited").read_bytes() == (corpus / "whole").read_bytes()


def test_weights_and_sums_stay_within_their_limit(corpus: Path, smallest: int) -> None:
    limit = smallest + 20_000_000
    for name in ("a.txt", "b.jsonl.zst", "c.parquet"):
        peak(
            "count", "--input", corpus / "in" / name, "--output", corpus / f"{name}.counts", *COUNT
        )
    weighted = [f"{corpus}/in/a.txt:1.5", f"{corpus}/in/b.jsonl.zst:2", f"{corpus}/in/c.parquet"]
    counted = [
        f"{corpus}/a.txt.counts:1.5",
        f"{corpus}/b.jsonl.zst.counts:2",
        f"{corpus}/c.parquet.counts",
    ]
    whole = corpus / "sum"
    peak("count", "--input", *weighted, "--output", whole, *COUNT)
    limited = ("--memory-limit", limit, "--output", corpus / "limited", "--force")
    most, said = peak("count", "--input", *weighted, *limited, *COUNT)
    assert not said
    assert most < MARGIN * limit
    assert (corpus / "limited").read_bytes() == whole.read_bytes()
    most, said = peak("merge-counts", "--quiet", "--counts", *counted, *limited)
    assert not said
    assert most < MARGIN * limit
    assert Counts.load(corpus / "limited").total == Counts.load(whole).total


@pytest.mark.parametrize("codec", ["brotli", "snappy"])
def test_a_page_that_must_be_whole_is_refused_beyond_the_limit(
    tmp_path: Path, smallest: int, codec: str
) -> None:
    """A codec that comes in no blocks, and a long text that is repeated."""
    row = "the cat sat on the mat " * (smallest // 23)
    rows = pyarrow.table({"text": [row] if codec == "brotli" else [row, "a", row]})
    pyarrow.parquet.write_table(rows, tmp_path / "c.parquet", compression=codec)
    command = ("count", "--input", tmp_path / "c.parquet", "--output", tmp_path / "c")
    most, said = peak(*command, "--memory-limit", smallest)
    found = re.search(
        r"c\.parquet: .* takes [0-9]+MB of memory; .* must be ([0-9]+)MB or more", said
    )
    assert found, said
    assert most < MARGIN * smallest
    _, said = peak(*command, "--memory-limit", int(found[1]) * 10**6 + 30_000_000)
    assert "error" not in said


@pytest.mark.parametrize("form", ["txt", "jsonl", "parquet"])
@pytest.mark.parametrize(
    "reading", [("--invalid", "skip"), ("--hold-out", "1%"), ("--pattern", r"[^\x00]+|\x00")]
)
def test_a_document_that_must_be_whole_is_refused_beyond_the_limit(
    tmp_path: Path, smallest: int, form: str, reading: tuple[str, ...]
) -> None:
    text = "the cat sat on the mat " * (smallest // 23)
    path = tmp_path / f"c.{form}"
    if form == "txt":
        path.write_text(f"first{SEPARATOR}{text}")
    elif form == "jsonl":
        path.write_text(f'{{"text": "first"}}\n{{"text": "{text}"}}\n')
    else:
        pyarrow.parquet.write_table(
            pyarrow.table({"text": ["first", text]}), path, compression="none"
        )
    command = ("count", "--input", path, "--output", tmp_path / "c", *COUNT, *reading)
    most, said = peak(*command, "--memory-limit", smallest)
    assert re.search(
        rf"c\.{form}: .* takes [0-9]+MB of memory; .* must be [0-9]+MB or more", said
    ), said
    assert most < MARGIN * smallest
    assert not (tmp_path / "c").exists()


def test_encoding_stays_within_its_limit(corpus: Path) -> None:
    model, ids = corpus / "tok.json", corpus / "ids"
    trained = ("--vocab-size", 1000, "--output", model, "--separator", SEPARATOR, "--quiet")
    peak("train", "--input", corpus / "in" / "c.parquet", *trained)
    encoding = ("encode-corpus", "--model", model, "--input", corpus / "in", *COUNT[:3], "--output")
    _, said = peak(*encoding, ids, "--memory-limit", "1MB")
    found = re.search(
        r"before anything is encoded, .* the smallest limit that works is ([0-9]+)MB", said
    )
    assert found, said
    assert not ids.exists()
    most, said = peak(*encoding, ids, "--memory-limit", f"{found[1]}MB")
    assert not said
    assert most < MARGIN * int(found[1]) * 10**6
    peak(*encoding, corpus / "free")
    files = sorted(path.name for path in ids.iterdir())
    assert files == sorted(path.name for path in (corpus / "free").iterdir())
    assert all((ids / name).read_bytes() == (corpus / "free" / name).read_bytes() for name in files)
    _, said = peak(*encoding, corpus / "no", "--memory-limit", "1GB", "--cluster", "local")
    assert "--memory-limit is for one process" in said


def test_as_many_threads_encode_as_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert memory_limit.threads_within(None, 7) == 7
    monkeypatch.setattr(memory_limit, "memory_in_use", lambda: 70_000_000)
    allowed = [memory_limit.threads_within(10**6 * limit, 64) for limit in (300, 500, 1000, 10_000)]
    assert allowed == sorted(allowed, key=lambda threads: threads or 0)
    assert (allowed[0], allowed[-1]) == (1, 64)
    with pytest.raises(
        ValueError, match=r"this process takes 70MB; the smallest limit that works is 2[0-9]{2}MB"
    ):
        memory_limit.threads_within(200_000_000, 64)


def test_a_limit_leaves_room_for_as_many_threads_as_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert memory_limit.room_within(None, 7) == {"memory_limit": None, "num_threads": 7}
    monkeypatch.setattr(memory_limit, "memory_in_use", lambda: 70_000_000)
    tables = []
    for limit in (130_000_000, 200_000_000, 2 * 10**9, 2 * 10**10):
        room = memory_limit.room_within(limit, 64)
        table, threads = room["memory_limit"], room["num_threads"]
        assert table is not None
        assert threads is not None
        tables.append((table // 10**6, threads))
    assert [threads for _, threads in tables] == sorted(threads for _, threads in tables)
    assert tables[0][1] == 1
    assert tables[-1][1] == 64
    assert all(left > right for (right, _), (left, _) in pairwise(tables))
    with pytest.raises(
        ValueError, match=r"this process takes 70MB; the smallest limit that works is 11[0-9]MB"
    ):
        memory_limit.room_within(100_000_000, 64)
