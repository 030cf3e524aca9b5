"""The cluster gives the bytes that one machine gives, whichever worker dies."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import ray
from hypothesis import given
from hypothesis import strategies as st
from ray.cluster_utils import Cluster

from bpetite import Counts, Tokenizer, corpus
from bpetite._internal.types import Progress
from bpetite.corpus import Options, Reading, cluster
from bpetite.corpus.cluster import connected, grouped
from bpetite.corpus.shards import Shard, ShardWriter
from bpetite.reading import batches
from bpetite.reading.cuts import Cut, cutter
from bpetite.reading.division import divide
from bpetite.reading.documents import read_batches
from bpetite.reading.sources import Input, find_inputs

TEXTS = [
    f"document {n}: the cat sat on the mat, naïve 東京 {'x' * (n % 7)}\n" * (n % 5)
    for n in range(300)
]


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
        parts = list(divide(Input(str(path)), reading, size))
        apart = [
            text for part in parts for batch in read_batches(part, reading) for text in batch.texts
        ]
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

    (folder / "in" / "c.jsonl.gz").write_bytes(
        gzip.compress(lines[:-30000].rpartition("\n")[0].encode())
    )
    Tokenizer.train("".join(TEXTS), 400).save(folder / "tok.json")
    return folder


@pytest.fixture(scope="module")
def nodes() -> Iterator[Cluster]:
    """Two nodes on one machine, and this process connected to them."""
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
    """A list of percentages, and a progress callback that fills it."""
    told: list[int] = []
    return told, lambda stage, done, total: told.append(done * 100 // total)


@pytest.mark.parametrize("task_bytes", [5000, 1 << 28])
def test_counts_are_those_of_one_machine(
    nodes: Cluster, folder: Path, tmp_path: Path, task_bytes: int
) -> None:
    for paths in ([f"{folder}/in"], [f"{folder}/in/a.jsonl:1.5", f"{folder}/in/b.txt"]):
        local = Counts.from_files(paths, separator="\x00", dialect="tiktoken")
        told, progress = percentages()
        local.save(tmp_path / "local", overwrite=True)
        made = cluster.count(
            paths,
            reading=READING,
            rules=Counts(dialect="tiktoken"),
            task_bytes=task_bytes,
            progress=progress,
        )
        made.save(tmp_path / "spread", overwrite=True)
        assert (tmp_path / "spread").read_bytes() == (tmp_path / "local").read_bytes()
        assert told == sorted(told)
        assert told[-1] == 100
        assert made == local


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


def test_an_error_in_a_task_is_the_error_of_the_call(
    nodes: Cluster, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "bad.jsonl").write_text('{"text": "a"}\n' * 999 + '{"text": 1}\n')
    with pytest.raises(ValueError, match=r"bad\.jsonl: line 1000: field 'text' is not a string"):
        cluster.count(
            [folder / "in" / "a.jsonl", tmp_path / "bad.jsonl"], reading=READING, task_bytes=5000
        )
    tokenizer = Tokenizer.load(folder / "tok.json")
    with pytest.raises(ValueError, match=r"bad\.jsonl: line 1000"):
        cluster.encode(tokenizer, tmp_path / "bad.jsonl", tmp_path / "out", task_bytes=5000)
    (tmp_path / "bad.jsonl").write_text('{"text": "a"}\n{"text": "mended"}\n')
    with pytest.raises(ValueError, match="option shard_size changed"):
        cluster.encode(
            tokenizer,
            tmp_path / "bad.jsonl",
            tmp_path / "out",
            resume=True,
            options=Options(shard_size=5),
        )
    cluster.encode(tokenizer, tmp_path / "bad.jsonl", tmp_path / "out", resume=True)
    corpus.encode(tokenizer, tmp_path / "bad.jsonl", tmp_path / "local")
    assert contents(tmp_path / "out") == contents(tmp_path / "local")


def dying(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the first worker that looks for a cut die in the middle of its part; a file records that."""

    def deadly(patterns: Sequence[str], special_tokens: Iterable[str]) -> Cut:
        cut = cutter(patterns, special_tokens)
        mark, here = folder / "killed", os.getpid()

        def cut_or_die(text: bytes) -> int | None:
            if os.getpid() != here and not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return cut(text)

        return cut_or_die

    monkeypatch.setattr("bpetite.counts.counts.cutter", deadly)
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


@pytest.mark.parametrize("whole", [0, 1, 7])
def test_a_stopped_run_goes_on_behind_the_last_whole_shard(
    nodes: Cluster, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: int
) -> None:
    tokenizer = Tokenizer.load(folder / "tok.json")
    options = Options(shard_size=700, reading=READING)
    out = tmp_path / "out"
    corpus.encode(tokenizer, folder / "in", tmp_path / "local", options=options)
    with monkeypatch.context() as patched:
        patched.setattr(ShardWriter, "finish", finishing_up_to(whole))
        with pytest.raises(ValueError, match="stopped"):
            cluster.encode(tokenizer, folder / "in", out, options=options, task_bytes=5000)
    shards = {path.name: path.stat().st_ino for path in out.glob("shard-*")}
    assert len(shards) == 2 * whole
    with pytest.raises(FileExistsError, match="resume=True continues"):
        cluster.encode(tokenizer, folder / "in", out, options=options, task_bytes=5000)
    go_on: Any = {0: cluster.encode, 1: partial(cluster.encode, task_bytes=6000), 7: corpus.encode}[
        whole
    ]
    go_on(tokenizer, folder / "in", out, options=options, resume=True)
    assert contents(out) == contents(tmp_path / "local")
    assert shards.items() <= {path.name: path.stat().st_ino for path in out.iterdir()}.items()


def test_only_what_a_stopped_run_has_read_must_be_as_it_was(
    nodes: Cluster, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = Tokenizer.load(folder / "tok.json")
    paths = [tmp_path / f"{number}.txt" for number in range(4)]
    for number, path in enumerate(paths):
        path.write_text(f"the cat {number}\x00sat on the mat")
    options = Options(shard_size=1, reading=READING)
    with monkeypatch.context() as patched:
        patched.setattr(ShardWriter, "finish", finishing_up_to(3))
        with pytest.raises(ValueError, match="stopped"):
            cluster.encode(tokenizer, paths, tmp_path / "out", options=options, task_bytes=1000)
    for path in paths[2:]:
        path.write_text(path.read_text() + "\x00which grew")  # nobody has read it
    content = paths[0].read_text()
    for number, says in (
        (0, "changed since it was encoded"),
        (1, "changed since the run read a part of it"),
    ):
        whole = paths[number].stat()
        was = paths[number].read_text()
        paths[number].write_text(was + "more")
        with pytest.raises(ValueError, match=rf"{number}\.txt: {says}"):
            cluster.encode(tokenizer, paths, tmp_path / "out", options=options, resume=True)
        paths[number].write_text(was)
        os.utime(paths[number], ns=(whole.st_atime_ns, whole.st_mtime_ns))
    paths[0].unlink()
    paths[0].write_text(content)  # restored
    cluster.encode(tokenizer, paths, tmp_path / "out", options=options, resume=True)
    corpus.encode(tokenizer, paths, tmp_path / "local", options=options)
    assert contents(tmp_path / "out") == contents(tmp_path / "local")


def test_a_divided_file_of_which_a_part_was_read_must_be_as_it_was(
    nodes: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = Tokenizer.train("the cat sat on the mat", 270)
    path, out = tmp_path / "large.txt", tmp_path / "out"
    path.write_text("\x00".join(TEXTS))
    options = Options(shard_size=700, reading=READING)
    with monkeypatch.context() as patched:
        patched.setattr(ShardWriter, "finish", finishing_up_to(3))
        with pytest.raises(ValueError, match="stopped"):
            cluster.encode(tokenizer, path, out, options=options, task_bytes=2000)
    content, status = path.read_text(), path.stat()
    for changed in (content.replace("cat", "dog"), content):
        path.unlink()
        path.write_text(changed)  # with another time
        with pytest.raises(
            ValueError, match=r"large\.txt: changed since the run read a part of it"
        ):
            cluster.encode(tokenizer, path, out, options=options, resume=True)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # restored
    cluster.encode(tokenizer, path, out, options=options, resume=True)
    corpus.encode(tokenizer, path, tmp_path / "local", options=options)
    assert contents(out) == contents(tmp_path / "local")


def test_a_divided_file_must_not_be_written_to_while_it_is_read(
    nodes: Cluster, tmp_path: Path
) -> None:
    tokenizer = Tokenizer.train("the cat sat on the mat", 270)
    path, out = tmp_path / "large.txt", tmp_path / "out"
    path.write_text("\x00".join(TEXTS))
    options = Options(shard_size=700, reading=READING)

    def touch(*_: object) -> None:
        os.utime(path, ns=(1, 1))

    with pytest.raises(ValueError, match=r"large\.txt: changed while it was read"):
        cluster.encode(tokenizer, path, out, options=options, task_bytes=2000, progress=touch)
    with pytest.raises(ValueError, match=r"large\.txt: changed"):
        cluster.encode(tokenizer, path, out, options=options, task_bytes=2000, resume=True)


def finishing_up_to(number: int) -> Callable[[ShardWriter], Shard]:
    """Finishes so many shards, then fails."""
    finish, calls = ShardWriter.finish, iter(range(1000))

    def finish_or_stop(writer: ShardWriter) -> Shard:
        if next(calls) >= number:
            raise ValueError("stopped")
        return finish(writer)

    return finish_or_stop


def test_a_run_that_began_without_a_cluster_goes_on_there(
    nodes: Cluster, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = Tokenizer.load(folder / "tok.json")

    options = Options(shard_size=700, reading=READING)
    with monkeypatch.context() as patched:
        patched.setattr(ShardWriter, "finish", finishing_up_to(5))
        with pytest.raises(ValueError, match="stopped"):
            corpus.encode(tokenizer, folder / "in", tmp_path / "out", options=options)
    assert len(list((tmp_path / "out").glob("shard-*.npy"))) == 5
    cluster.encode(tokenizer, folder / "in", tmp_path / "out", options=options, resume=True)
    corpus.encode(tokenizer, folder / "in", tmp_path / "local", options=options)
    assert contents(tmp_path / "out") == contents(tmp_path / "local")


def test_small_files_are_read_by_one_task(nodes: Cluster, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number, text in enumerate(TEXTS):
        (tmp_path / "in" / f"{number:03d}.txt").write_text(text)
        (tmp_path / "in" / f"{number:03d}.jsonl").write_text(json.dumps({"text": text}) + "\n")
    inputs = [*find_inputs(str(tmp_path / "in"))]
    assert len([*grouped(inputs, Reading(), 1 << 28)]) == 1
    assert len([*grouped(inputs, Reading(), 1 << 20)]) > 5
    tokenizer = Tokenizer.load(folder / "tok.json")
    corpus.encode(tokenizer, tmp_path / "in", tmp_path / "local")
    cluster.encode(tokenizer, tmp_path / "in", tmp_path / "spread")
    assert contents(tmp_path / "spread") == contents(tmp_path / "local")
    assert cluster.count(tmp_path / "in") == Counts.from_files(tmp_path / "in")


def test_a_node_that_dies_changes_nothing(nodes: Cluster, folder: Path, tmp_path: Path) -> None:
    node = nodes.add_node(num_cpus=1)
    local = Counts.from_files(folder / "in", separator="\x00")

    def kill_it(stage: str, done: int, total: int) -> None:
        if nodes.worker_nodes and node in nodes.worker_nodes:
            nodes.remove_node(node)
            time.sleep(0.1)

    spread = cluster.count(folder / "in", reading=READING, task_bytes=2000, progress=kill_it)
    assert node not in nodes.worker_nodes
    assert list(spread.items()) == list(local.items())


def test_an_error_leaves_few_tasks_that_nobody_waits_for(nodes: Cluster) -> None:
    def fails(number: int) -> int:
        if number == 3:
            raise ValueError("the third fails")
        return number

    numbers = iter(range(60))
    taken: list[int] = []

    def fail() -> None:
        with connected("auto"):
            taken.extend(map(ray.get, cluster.ahead(map(cluster.task(fails), numbers))))

    with pytest.raises(ValueError, match="the third fails") as raised:
        fail()
    assert "fails" in str(raised.value.__cause__), "the traceback of the worker"
    assert taken == [0, 1, 2]
    assert next(numbers) < 12


def test_an_error_of_counting_leaves_few_tasks(
    nodes: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xff" + b" some words" * 2000)
    numbers = iter(range(1000))

    def numbered(*arguments: Any) -> Iterator[list[Input]]:
        return (group for group, _ in zip(grouped(*arguments), numbers, strict=False))

    monkeypatch.setattr(cluster, "grouped", numbered)
    with pytest.raises(ValueError, match="not valid UTF-8"):
        cluster.count(tmp_path / "a.txt", task_bytes=100, reading=Reading(separator=" "))
    assert next(numbers) < 12


def test_a_worker_that_dies_again_and_again_is_an_error_of_the_run(
    nodes: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr("bpetite.corpus.cluster._RETRIES", 0)
    message = "the cluster could not finish: WorkerCrashedError"
    with pytest.raises(RuntimeError, match=message), connected("auto"):
        ray.get(cluster.task(dies)())
