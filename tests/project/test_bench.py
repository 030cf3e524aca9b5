"""What the benchmarks write: a page of their own, and its main tables in the README."""

import lzma
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

PROJECT = Path(__file__).parents[2]
sys.path.insert(0, str(PROJECT))

from bench import (  # noqa: E402  # a folder that is not installed
    builders,
    encode,
    large,
    large_documents,
    large_folders,
    large_threads,
    others,
    serving,
)
from bench.chart import THEMES  # noqa: E402  # a folder that is not installed
from bench.results import read_results, write_results  # noqa: E402  # a folder that is not installed
from bench.section import table, write_section, write_summary  # noqa: E402  # a folder that is not installed
from bench.section import title as title_of  # noqa: E402
from bench.train import measure  # noqa: E402

from bpetite import Tokenizer  # noqa: E402

TRAINING = table(
    ["32,000 tokens", "english, 1 MB"],
    [["bpetite", "0.10 / 0.20 / 30"], ["other", "0.25 / 0.40 / 60 (**2.5x**)"]],
)


CHARTS = [f"docs/speed-{theme}.svg" for theme in THEMES]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the two pages, and of what they are made from."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "bench").mkdir()
    for page in ("README.md", "docs/benchmarks.md", "bench/encoding.jsonl", *CHARTS):
        shutil.copy(PROJECT / page, tmp_path / page)
    return tmp_path


def tables_of(page: Path) -> list[str]:
    return re.findall(r"(?:^\|.*\n)+", page.read_text("utf-8"), re.MULTILINE)


def test_the_readme_gets_the_figures_that_the_page_gets(project: Path) -> None:
    page, readme = project / "docs" / "benchmarks.md", project / "README.md"
    before = readme.read_text("utf-8")
    write_section(
        "Training", f"How.\n\n{TRAINING}\n\n{table(['more', 'x'], [['a', '1']])}", project
    )
    assert tables_of(page)[0].strip() == TRAINING
    shown = {row[0].split()[0]: row[1] for row in map(cells, tables_of(readme)[0].splitlines())}
    assert (shown["bpetite"], shown["other"]) == ("0.10", "0.25")
    marked = re.compile("<!-- Benchmarks: begin -->.*<!-- Benchmarks: end -->", re.DOTALL)
    assert marked.sub("", readme.read_text("utf-8")) == marked.sub("", before)


def test_the_readme_holds_what_the_page_holds_now(project: Path) -> None:
    """If this fails, `python -m bench.section` writes the README's tables anew."""
    pages = [project / name for name in ("README.md", *CHARTS)]
    before = [page.read_bytes() for page in pages]
    write_summary(project)
    assert [page.read_bytes() for page in pages] == before


def test_the_figures_are_written_as_they_are_read(project: Path) -> None:
    path = project / "bench" / "encoding.jsonl"
    before = path.read_bytes()
    write_results(project, read_results(project))
    assert path.read_bytes() == before
    assert before.count(b"\n") < 100


@pytest.mark.parametrize("chart", CHARTS)
def test_the_chart_shows_the_figures_of_the_table(project: Path, chart: str) -> None:
    drawing = ElementTree.parse(project / chart).getroot()
    texts = [element.text or "" for element in drawing.iter("{http://www.w3.org/2000/svg}text")]
    shown: dict[str, list[str]] = {}
    library = ""
    for text in texts[2:]:  # The title and the explanation come first.
        if re.fullmatch(r"\d+", text):
            shown[library].append(text)
        else:
            library = text
            shown[library] = []
    table_rows = [cells(line) for line in tables_of(project / "README.md")[0].splitlines()[2:]]
    timed = [row for row in table_rows if row[2] != "–"]
    assert len(shown) == len(timed) > 5
    for row in timed:
        name, version = row[0].rsplit(" ", 1)
        rates = [cell for cell in (row[2], row[4]) if cell != "–"]
        assert shown[row[0] if name == "tokenizers" else name] == rates, version


def test_a_section_is_written_in_its_place_again_and_again(project: Path) -> None:
    page = project / "docs" / "benchmarks.md"
    page.write_text("# Benchmarks\n\nBy hand.\n", "utf-8")
    for text in ("first", "second"):
        write_section("Training", f"{text}\n\n{TRAINING}", project)
        write_section("Encoding", "other", project)
        assert page.read_text("utf-8") == (
            "# Benchmarks\n\nBy hand.\n\n"
            f"<!-- Training: begin -->\n## Training\n\n{text}\n\n{TRAINING}\n<!-- Training: end -->\n\n"
            "<!-- Encoding: begin -->\n## Encoding\n\nother\n<!-- Encoding: end -->\n"
        )


@pytest.mark.skipif(
    not hasattr(os, "wait4"), reason="the benchmark of training waits for processes with wait4"
)
def test_the_memory_of_a_contender_is_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(PROJECT)
    path = tmp_path / "corpus.txt"
    path.write_text("the cat sat on the mat<|endoftext|>" * 100)
    ours = bytearray(b"x") * (300 << 20)
    cost = measure("bpetite", path, 300)
    assert cost is not None
    assert 10 << 20 < cost.peak < len(ours)


def test_models_are_timed_with_texts_and_the_page_is_written(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = ("bpetite", "tiktoken", "tokenizers")
    monkeypatch.setattr(encode, "TIMED", [one for one in encode.TIMED if one.name in named])
    monkeypatch.setattr(encode, "touch_memory", lambda: "memory as it is")
    monkeypatch.setattr(encode, "raise_priority", lambda: "normal priority")
    (tmp_path / "models" / "llama3").mkdir(parents=True)
    (tmp_path / "texts").mkdir()
    text = "the cat sat on the mat<|endoftext|>東京都" * 1000
    (tmp_path / "texts" / "english.txt").write_text(text, "utf-8")
    Tokenizer.train("the cat sat on the mat", 260).to_huggingface(tmp_path / "tokenizer.json")
    packed = lzma.compress((tmp_path / "tokenizer.json").read_bytes())
    (tmp_path / "models" / "llama3" / "tokenizer.json.xz").write_bytes(packed)
    write_results(project, [])
    encode.main([str(tmp_path / "models"), str(tmp_path / "texts")], project)
    [one] = read_results(project)
    assert (one["model"], one["text"], one["own_library"]) == ("llama3", "english", "tokenizers")
    assert {row["library"] for row in one["rows"] if row["first"] and not row["reason"]} == set(
        named
    )
    page = (project / "docs" / "benchmarks.md").read_text("utf-8")
    rows = {row[0]: row[1:] for row in map(cells, page.splitlines())}
    assert re.fullmatch(r"\d+ / \d+", rows["bpetite"][0])
    assert len(rows["bpetite"]) == len(rows["MB/s of the first pass / later ones"]) == 5
    assert (one["documents"], one["are_pieces"]) == (1001, False)
    said = (
        f"english: 0 MB in 1,001 documents of 0.0 KB, 0.1% of {one['pretokens']:,} pretokens new."
    )
    assert said in page
    assert "Not timed yet: code, multi, prose, world.\n" in page
    assert "figures are older" not in page
    assert "(1)" in page.partition("The interfaces: ")[2].partition("tiktoken: ")[2]
    head = "| bpetite beside | cells | first pass: times as fast, mean (least) | later passes, mean (least) |"
    beside = page.partition(head)[2].partition("\n\n")[0].splitlines()[2:]
    ours = next(row for row in one["rows"] if row["library"] == "bpetite")
    for line in beside:
        name, number, first, *_ = cells(line)
        theirs = next(row for row in one["rows"] if title_of(row) == name)
        times = f"{ours['first'] / theirs['first']:.2f}"
        assert (number, first) == ("1", f"{times} ({times})")
    assert len(beside) == sum(not row["reason"] for row in one["rows"]) - 1
    encode.main([], project)
    assert (project / "docs" / "benchmarks.md").read_text("utf-8") == page
    shown = {
        row[0].split(" 0.")[0]: row[1:]
        for row in map(cells, tables_of(project / "README.md")[0].splitlines())
    }
    assert shown["bpetite"][1] == rows["bpetite"][0].split(" / ")[0]


def test_the_large_case_is_made_and_measured_at_any_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(PROJECT)
    words = " ".join(
        f"{'the cat sat on the mat '[number % 20 :]}{number}" for number in range(20_000)
    )
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


@pytest.fixture
def small_builders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What `bench.builders` takes for a small text, to which its numbers fit."""
    monkeypatch.chdir(PROJECT)
    sizes = {"AT": 300, "SIZE": 320, "FORK_AT": 300, "FORK_SIZE": 320, "ADDED": 5, "PASSES": 2}
    for name, number in sizes.items():
        monkeypatch.setattr(builders, name, number)
    (tmp_path / "texts").mkdir()
    (tmp_path / "llama3").mkdir()
    words = "".join(f"of the {number} cats that sat: on the mat\n" for number in range(2_000))
    (tmp_path / "texts" / "english.txt").write_text(words)
    Tokenizer.train(words, 600).to_huggingface(tmp_path / "tokenizer.json")
    packed = lzma.compress((tmp_path / "tokenizer.json").read_bytes())
    model = tmp_path / "llama3" / "tokenizer.json.xz"
    model.write_bytes(packed)
    options = ["--models", str(model), "--size", "100KB", "--rounds", "1"]
    return [str(tmp_path / "texts"), *options]


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="processes are waited for with wait4")
def test_changed_vocabularies_are_measured_and_the_page_is_written(
    project: Path, small_builders: list[str]
) -> None:
    builders.main([*small_builders, "--against", sys.executable], project)
    page = (project / "docs" / "benchmarks.md").read_text("utf-8")
    section = page.partition("<!-- Changed vocabularies: begin -->")[2]
    rows = {row[0]: row[1:] for row in map(cells, section.splitlines())}
    trained, joined = "300 tokens", "300 and 20 superwords"
    changed = {"llama3, english", "llama3, english, the other build", "llama3, 601 to 300 tokens"}
    assert {trained, joined, "bpetite's trainer", *changed} <= {*rows}
    assert {len(rows[name]) for name in changed} == {3, 4}
    assert int(rows[joined][2].replace(",", "")) < int(rows[trained][2].replace(",", ""))


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="processes are waited for with wait4")
def test_a_trainer_that_learns_other_superwords_is_no_peer(
    project: Path, small_builders: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = (project / "docs" / "benchmarks.md").read_bytes()
    builders.main([*small_builders, "--only", "published"], project)
    assert "as recorded" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="other merges"):
        builders.main([*small_builders, "--only", "published", "--fork", sys.executable], project)
    assert (project / "docs" / "benchmarks.md").read_bytes() == before


@pytest.mark.slow
@pytest.mark.skipif(
    sys.platform != "linux", reason="processes that others left behind are not found"
)
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


def test_what_servers_wait_for_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "The cat sat on the mat, and the hat was on the cat. " * 40
    Tokenizer.train(text, 300, dialect="tiktoken").save_folder(tmp_path / "model")
    monkeypatch.setattr(serving, "CALLED", {40: 3, 400: 2})
    for name, number in {"STREAMS": 5, "STEPS": 4, "STREAMED": 50, "TURN_CHARACTERS": 90}.items():
        monkeypatch.setattr(serving, name, number)
    names = []
    for part, (_, libraries) in serving.PARTS.items():
        timed = {
            one: None
            if one == "fastokens"
            else serving.measure(one, part, tmp_path / "model", text)
            for one in libraries
        }
        rows = [*serving.rows_of(part, [timed])]
        names += [row[0] for row in rows]
        assert {row[1] for row in rows} == {*libraries} - {"fastokens"}
        assert all(float(row[3]) > 0 for row in rows)
        different = {
            **timed,
            libraries[-1]: dict.fromkeys(timed[libraries[0]] or (), (1.0, "other")),
        }
        if part != "copies":
            with pytest.raises(SystemExit, match="do not give the same"):
                list(serving.rows_of(part, [different]))
    assert {"a text of 40 characters", "deep copy", "the last of 10 turns"} < {*names}


def test_difficult_inputs_have_the_answers_that_the_page_gives(tmp_path: Path) -> None:
    others.prepare(tmp_path)
    answers = {title: others.answer("bpetite", title, tmp_path) for title in others.INPUTS}
    assert answers.pop("a megabyte of spaces") == "1,000,000 ids"
    page = (PROJECT / "docs" / "reliability.md").read_text("utf-8")
    promised = {row[0]: row[1] for row in map(cells, page.splitlines()) if len(row) == 6}
    for title, answer in answers.items():
        assert answer.split(":")[0] == re.split(r"[ ,;]", promised[title])[0], title
        assert "bpetite" not in answer
