"""The cluster gives the bytes that one machine gives, whichever worker dies."""

import json
import os
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import ray
from hypothesis import given
from hypothesis import strategies as st
from ray.cluster_utils import Cluster

from bpetite import Counts, Tokenizer, corpus
from bpetite._internal.counts_file import are_apart
from bpetite._internal.types import Progress
from bpetite.cli.counts import load_counts
from bpetite.corpus import Options, Reading, cluster
from bpetite.reading import batches
from bpetite.reading.cuts import Cut, cutter
from bpetite.reading.division import divide
from bpetite.reading.documents import read_batches
from bpetite.reading.sources import Input

TEXTS = [f"document {n}: the cat sat on the mat, naïve 東京 {'x' * (n % 7)}\n" * (n % 5) for n in range(300)]


@given(
    content=st.text(st.sampled_from("ab|é\n"), max_size=60),
    separator=st.sampled_from(["|", "ab", "é\n", "aa", "\n"]),
    size=st.integers(1, 20),
)
def test_parts_of_an_input_hold_its_documents(
    tmp_path_factory: pytest.TempPathFactory, content: str, separator: str, size: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "divided.txt"
    path.write_text(content)
    reading = Reading(separator=separator)
    before = batches.BLOCK
    batches.BLOCK = 5
    try:
        whole = [text for batch in read_batches(Input(str(path)), reading) for text in batch.texts]
        parts = divide(Input(str(path)), reading, size)
        apart = [text for part in parts for batch in read_batches(part, reading) for text in batch.texts]
    finally:
        batches.BLOCK = before
    assert apart == whole
    if separator == "aa":
        assert len(parts) == 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus in three formats."""
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "in").mkdir()
    lines = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS[:200])
    (folder / "in" / "a.jsonl").write_text(lines)
    (folder / "in" / "b.txt").write_text("\x00".join(TEXTS[200:]))
    import gzip

    (folder / "in" / "c.jsonl.gz").write_bytes(gzip.compress(lines[:-30000].rpartition("\n")[0].encode()))
    Tokenizer.train("".join(TEXTS), 400).save(folder / "tok.json")
    return folder


@pytest.fixture(scope="module")
def nodes() -> Iterator[Cluster]:
    """Two nodes in one machine, with a process connected to them."""
    started = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    started.add_node(num_cpus=1)
    ray.init(address=started.address, log_to_driver=False)
    yield started
    ray.shutdown()
    started.shutdown()  # type: ignore[no-untyped-call] # of ray


READING = Reading(separator="\x00")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def percentages() -> tuple[list[int], Progress]:
    """A list, and what adds to it how far a call is."""
    told: list[int] = []
    return told, lambda stage, done, total: told.append(done * 100 // total)


@pytest.mark.parametrize("task_bytes", [5000, 1 << 28])
def test_counts_are_those_of_one_machine(
    nodes: Cluster, folder: Path, tmp_path: Path, task_bytes: int
) -> None:
    for paths in ([f"{folder}/in"], [f"{folder}/in/a.jsonl:1.5", f"{folder}/in/b.txt"]):
        local = Counts.from_files(paths, separator="\x00", dialect="tiktoken")
        told, progress = percentages()
        spread = cluster.count(
            paths,
            reading=READING,
            dialect="tiktoken",
            task_bytes=task_bytes,
            progress=progress,
        )
        local.save(tmp_path / "local", overwrite=True)
        spread.save(tmp_path / "spread", overwrite=True)
        assert (tmp_path / "spread").read_bytes() == (tmp_path / "local").read_bytes()
        assert told == sorted(told)
        assert told[-1] == 100


def test_a_folder_of_counts_adds_up_to_what_one_machine_counts(
    nodes: Cluster, folder: Path, tmp_path: Path
) -> None:
    local = Counts.from_files(folder / "in", separator="\x00", dialect="tiktoken")
    output = tmp_path / "counts"
    made = cluster.count_to_folder(
        folder / "in", output, reading=READING, dialect="tiktoken", task_bytes=5000
    )
    files = sorted(output.iterdir())
    assert len(files) > 1
    assert Counts.merge(map(Counts.load, files)) == local
    assert (made.distinct, made.total, made.read.documents) == (len(local), local.total, local.documents)
    assert are_apart(files)
    assert not are_apart([*files, files[0]])
    frequent = load_counts([str(output)], None, min_count=3)
    assert list(frequent.items()) == [row for row in local.items() if row[1] >= 3]
    with pytest.raises(FileExistsError):
        cluster.count_to_folder(folder / "in", output)
    (tmp_path / "bad.jsonl").write_text("{")
    with pytest.raises(ValueError, match=r"bad\.jsonl: line 1"):
        cluster.count_to_folder(tmp_path / "bad.jsonl", tmp_path / "none")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.jsonl", "counts"]


@pytest.mark.parametrize("shard_size", [700, 10**9])
def test_shards_are_those_of_one_machine(
    nodes: Cluster, folder: Path, tmp_path: Path, shard_size: int
) -> None:
    tokenizer = Tokenizer.load(folder / "tok.json")
    options = Options(shard_size=shard_size, append_special="<|endoftext|>", reading=READING)
    corpus.encode(tokenizer, folder / "in", tmp_path / "local", options=options)
    cluster.encode(tokenizer, folder / "in", tmp_path / "spread", options=options, task_bytes=5000)
    assert contents(tmp_path / "spread") == contents(tmp_path / "local")
    corpus.verify(tmp_path / "spread", inputs=True)


def test_an_error_in_a_task_is_the_error_of_the_call(nodes: Cluster, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"text": "a"}\n{"text": 1}\n')
    with pytest.raises(ValueError, match=r"bad\.jsonl: line 2: field 'text' is not a string"):
        cluster.count([folder / "in" / "a.jsonl", tmp_path / "bad.jsonl"], reading=READING)
    tokenizer = Tokenizer.load(folder / "tok.json")
    with pytest.raises(ValueError, match=r"bad\.jsonl: line 2"):
        cluster.encode(tokenizer, tmp_path / "bad.jsonl", tmp_path / "out")
    (tmp_path / "bad.jsonl").write_text('{"text": "a"}\n{"text": "mended"}\n')
    with pytest.raises(ValueError, match=r"bad\.jsonl: changed"):
        cluster.encode(tokenizer, tmp_path / "bad.jsonl", tmp_path / "out", resume=True)
    with pytest.raises(ValueError, match="option shard_size changed"):
        cluster.encode(
            tokenizer, tmp_path / "bad.jsonl", tmp_path / "out", resume=True, options=Options(shard_size=5)
        )


def dying(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the worker that first looks for a cut die, half-way through its part; a file remembers it."""

    def deadly(pattern: str, special_tokens: Iterable[str]) -> Cut:
        cut = cutter(pattern, special_tokens)
        mark, here = folder / "killed", os.getpid()

        def cut_or_die(text: bytes) -> int | None:
            if os.getpid() != here and not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return cut(text)

        return cut_or_die

    monkeypatch.setattr("bpetite.corpus.cluster.cutter", deadly)
    monkeypatch.setattr("bpetite.corpus.job.cutter", deadly)


def test_a_worker_that_dies_half_way_changes_nothing(
    nodes: Cluster, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import gzip

    source = tmp_path / "in"
    source.mkdir()
    for number in range(4):
        text = ("".join(TEXTS) + f" {number} ") * 400
        (source / f"{number}.gz").write_bytes(gzip.compress(text.encode(), 1))
    tokenizer = Tokenizer.load(folder / "tok.json")
    options = Options(shard_size=100_000)
    local = Counts.from_files(source)
    corpus.encode(tokenizer, source, tmp_path / "local", options=options)
    for work in ("count", "encode"):
        (tmp_path / work).mkdir()
        dying(tmp_path / work, monkeypatch)
        if work == "count":
            assert list(cluster.count(source, task_bytes=1).items()) == list(local.items())
        else:
            cluster.encode(tokenizer, source, tmp_path / "spread", options=options, task_bytes=1)
            assert contents(tmp_path / "spread") == contents(tmp_path / "local")
        assert (tmp_path / work / "killed").exists()
        monkeypatch.undo()


def test_a_stopped_run_goes_on_with_the_parts_that_are_there(
    nodes: Cluster, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = Tokenizer.load(folder / "tok.json")
    options = Options(shard_size=700, reading=READING)
    corpus.encode(tokenizer, folder / "in", tmp_path / "local", options=options)

    def broken(*_: object) -> None:
        raise ValueError("stopped")

    monkeypatch.setattr("bpetite.corpus.cluster._build_shard", broken)
    with pytest.raises(ValueError, match="stopped"):
        cluster.encode(tokenizer, folder / "in", tmp_path / "out", options=options, task_bytes=5000)
    monkeypatch.undo()
    parts = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / ".parts").glob("*.ids")}
    assert len(parts) > 5
    with pytest.raises(FileExistsError, match="--resume"):
        cluster.encode(tokenizer, folder / "in", tmp_path / "out", options=options, task_bytes=5000)
    with pytest.raises(ValueError, match="begun with tasks of 5000 bytes"):
        cluster.encode(tokenizer, folder / "in", tmp_path / "out", options=options, resume=True)
    with pytest.raises(FileExistsError, match="no journal"):
        corpus.encode(tokenizer, folder / "in", tmp_path / "out", options=options, resume=True)
    (tmp_path / "out" / ".journal.jsonl").unlink(missing_ok=True)
    cluster.encode(tokenizer, folder / "in", tmp_path / "out", options=options, task_bytes=5000, resume=True)
    assert contents(tmp_path / "out") == contents(tmp_path / "local")


def test_a_node_that_dies_changes_nothing(nodes: Cluster, folder: Path) -> None:
    node = nodes.add_node(num_cpus=1)
    local = Counts.from_files(folder / "in", separator="\x00")

    def kill_it(stage: str, done: int, total: int) -> None:
        if nodes.worker_nodes and node in nodes.worker_nodes:
            nodes.remove_node(node)
            time.sleep(0.1)

    spread = cluster.count(folder / "in", reading=READING, task_bytes=2000, progress=kill_it)
    assert node not in nodes.worker_nodes
    assert list(spread.items()) == list(local.items())
