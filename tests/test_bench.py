"""What the benchmarks write: a page of their own, and its main tables in the README."""

import json
import lzma
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent
sys.path.insert(0, str(PROJECT))

from bench import (  # noqa: E402  # a folder that is not installed
    encode,
    encoders,
    large,
    large_documents,
    large_folders,
    large_threads,
)
from bench.section import table, write_section, write_summary  # noqa: E402  # a folder that is not installed
from bench.train import measure  # noqa: E402

from bpetite import Tokenizer  # noqa: E402

TRAINING = table(
    ["32,000 tokens", "tiny, 1 MB"],
    [["bpetite", "0.10 / 0.20 / 30"], ["other", "0.25 / 0.40 / 60 (**2.5x**)"]],
)
ENCODING = table(["1 thread, MB/s", "tiny"], [["bpetite", "100 / 400"], ["other", "– / 50"]])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the two pages."""
    (tmp_path / "docs").mkdir()
    for page in ("README.md", "docs/benchmarks.md"):
        shutil.copy(PROJECT / page, tmp_path / page)
    return tmp_path


def tables_of(page: Path) -> list[str]:
    return re.findall(r"(?:^\|.*\n)+", page.read_text("utf-8"), re.MULTILINE)


def test_the_readme_gets_the_figures_that_the_page_gets(project: Path) -> None:
    page, readme = project / "docs" / "benchmarks.md", project / "README.md"
    before = readme.read_text("utf-8")
    write_section("Training", f"How.\n\n{TRAINING}\n\n{table(['more', 'x'], [['a', '1']])}", project)
    write_section("Encoding", f"How.\n\n{ENCODING}\n\nAnd.", project)
    assert tables_of(page)[0].strip() == TRAINING
    short = table(["32,000 tokens", "tiny, 1 MB"], [["bpetite", "0.10 s"], ["other", "2.5x"]])
    shown = [found.strip() for found in tables_of(readme)]
    assert shown[:2] == [short, ENCODING]
    marked = re.compile("<!-- Benchmarks: begin -->.*<!-- Benchmarks: end -->", re.DOTALL)
    assert marked.sub("", readme.read_text("utf-8")) == marked.sub("", before)


def test_the_readme_holds_what_the_page_holds_now(project: Path) -> None:
    """If this fails, `python -m bench.section` writes the README's tables anew."""
    before = (project / "README.md").read_text("utf-8")
    write_summary(project)
    assert (project / "README.md").read_text("utf-8") == before


def test_a_section_is_written_in_its_place_again_and_again(project: Path) -> None:
    page = project / "docs" / "benchmarks.md"
    page.write_text("# Benchmarks\n\nBy hand.\n", "utf-8")
    for text in ("first", "second"):
        write_section("Training", text, project)
        write_section("Encoding", f"other\n\n{ENCODING}", project)
        assert page.read_text("utf-8") == (
            "# Benchmarks\n\nBy hand.\n\n"
            f"<!-- Training: begin -->\n## Training\n\n{text}\n<!-- Training: end -->\n\n"
            f"<!-- Encoding: begin -->\n## Encoding\n\nother\n\n{ENCODING}\n<!-- Encoding: end -->\n"
        )
    training, encoding = tables_of(project / "README.md")[:2]
    assert encoding.strip() == ENCODING
    assert training == tables_of(PROJECT / "README.md")[0], "a section without a table leaves the README's"


@pytest.mark.skipif(
    not hasattr(os, "wait4"), reason="the benchmark of training waits for processes with wait4"
)
def test_the_memory_of_a_contender_is_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    path = tmp_path / "corpus.txt"
    path.write_text("the cat sat on the mat<|endoftext|>" * 100)
    ours = bytearray(b"x") * (300 << 20)
    cost = measure("bpetite", path, 300)
    assert cost is not None
    assert 10 << 20 < cost.peak < len(ours)


def test_models_are_timed_and_their_ids_compared(
    tmp_path: Path, project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = {name: encoders.LIBRARIES[name] for name in ("bpetite", "tiktoken", "tokenizers")}
    monkeypatch.setattr(encode, "LIBRARIES", chosen)
    monkeypatch.setattr(encode, "FAST", ("bpetite",))
    monkeypatch.setattr(encode, "SLOW", ("tiktoken", "tokenizers"))
    monkeypatch.setattr(encode, "touch_memory", lambda: "memory as it is")
    monkeypatch.setattr(encode, "raise_priority", lambda: "normal priority")
    models, corpora = tmp_path / "models", tmp_path / "corpora"
    for folder in (models / "read", models / "refused", corpora):
        folder.mkdir(parents=True)
    (corpora / "tiny.txt").write_text("the cat sat on the mat<|endoftext|>" * 1000)
    tok = Tokenizer.train("the cat sat on the mat", 260)
    tok.to_huggingface(tmp_path / "tokenizer.json")
    document = json.loads((tmp_path / "tokenizer.json").read_bytes())
    (models / "read" / "tokenizer.json.xz").write_bytes(lzma.compress(json.dumps(document).encode()))
    document["pre_tokenizer"] = {"type": "Whitespace"}
    (models / "refused" / "tokenizer.json").write_text(json.dumps(document))
    options = ["--models", str(models), "--corpora", str(corpora), "--rounds", "1"]
    encode.main([*options, "--only", "read", "refused", "--threads", "1"], project)
    capsys.readouterr()
    rows = {
        row[0]: row[1:] for row in map(cells, (project / "docs" / "benchmarks.md").read_text().splitlines())
    }
    assert rows["1 thread, MB/s"] == ["corpus", "bpetite", "tiktoken", "tokenizers", "times as fast"]
    assert all(" / " in cell for cell in rows["read"][1:])
    assert [cell if " / " not in cell else "" for cell in rows["refused"]] == [
        "tiny",
        "refused",
        "–",
        "",
        "–",
    ]
    assert {"read: bpetite", "read: tiktoken", "read: tokenizers"} <= rows.keys()
    told = json.loads((project / "docs" / "benchmarks.json").read_text("utf-8"))["speeds"]
    assert [(row["model"], row["corpus"], row["other_ids"]) for row in told] == [
        ("read", "tiny", []),
        ("refused", "tiny", []),
    ]
    assert told[0]["ratios"] is not None
    assert told[1]["ratios"] is None


def test_a_library_with_other_ids_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "library").write_text("right")
    model = encode.Model("any", tmp_path)
    asked = []

    def run(library: str, measure: str, *_: object, **task: object) -> dict[str, str]:
        asked.append((library, task["bytes"]))
        return {"sample": "same", "all": "same"}

    def others(*answers: tuple[str, str]) -> set[str]:
        encode.run_once.cache_clear()
        taken = {
            (f"library {place}", "texts"): [{"sample": sample, "all": whole}]
            for place, (sample, whole) in enumerate(answers)
        }
        return encode.other_ids(taken, model, tmp_path, 10_000_000)

    monkeypatch.setattr(encode, "run", run)
    assert others(("same", "same"), ("same", "same")) == set()
    assert others(("same", "same"), ("other", "other")) == {"library 1"}
    assert asked == [("right", encoders.SAMPLE)] * 2
    assert others(("same", "other"), ("same", "same")) == {"library 0"}
    assert asked[-1] == ("right", 10_000_000)
    encode.run_once.cache_clear()


def test_the_large_case_is_made_and_measured_at_any_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(PROJECT)
    words = " ".join(f"{'the cat sat on the mat '[number % 20 :]}{number}" for number in range(20_000))
    (tmp_path / "a.txt").write_text(words)
    large.main(2_000_000, tmp_path)
    steps = [row[0] for row in map(cells, capsys.readouterr().out.splitlines()) if len(row) == 5]
    assert [f"count {form}" for form in large.FORMATS] == steps[2:7]
    assert len(steps) == 15
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_large_document_is_made_and_measured_in_every_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(PROJECT)
    (tmp_path / "a.txt").write_text("the cat sat on the mat " * 1000)
    large_documents.main(6_000_000, tmp_path)
    steps = [row[0] for row in map(cells, capsys.readouterr().out.splitlines()) if len(row) == 4]
    assert [f"count {name}" for name in large_documents.NAMES] == steps[4::2]
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_what_a_small_file_costs_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(PROJECT)
    (tmp_path / "a.txt").write_text("the cat sat on the mat " * 1000)
    large_folders.main(300, tmp_path)
    steps = [row[0] for row in map(cells, capsys.readouterr().out.splitlines()) if len(row) == 5]
    assert [f"count {form}" for form in large_folders.FORMS] == steps[2::2]
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_how_files_of_each_kind_divide_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(PROJECT)
    monkeypatch.setattr(large_threads, "ROUNDS", 1)
    (tmp_path / "a.txt").write_text("the cat sat on the mat " * 1000)
    large_threads.main(300_000, tmp_path)
    kinds = [row[0] for row in map(cells, capsys.readouterr().out.splitlines()) if len(row) == 6]
    assert kinds[2:] == list(large_threads.KINDS)
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.skipif(sys.platform != "linux", reason="processes that others left behind are not found")
def test_what_a_cluster_costs_is_measured(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    (tmp_path / "a.txt").write_text("the cat sat on the mat " * 1000)
    code = f"from bench import large_cluster as l; l.ROUNDS = 1; l.main(300_000, l.Path({str(tmp_path)!r}))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    rows = [row for row in map(cells, done.stdout.splitlines()) if len(row) == 5]
    assert [row[0] for row in rows[2:]] == ["count", "encode-corpus"]
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]
