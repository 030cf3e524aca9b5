"""`bpetite bench`: each library in processes of its own, and no time for other ids."""

import json
from pathlib import Path

import pytest

from bpetite import Tokenizer
from bpetite.benchmark import comparison, libraries
from bpetite.benchmark.comparison import benchmark
from bpetite.benchmark.libraries import Library
from bpetite.cli.commands.bench import beginning, lines
from test_cli import bpetite

CORPUS = "the cat sat on the mat, the bat sat on the hat; naïve cafés, 東京都 12345\n" * 50
FAKE = """
class Encoding:
    def __init__(self, name, **_):
        pass
    def encode_to_numpy(self, text, allowed_special):
        import numpy
        return numpy.array([1, 2], numpy.uint32)
    def encode(self, text, **_):
        return [1, 2]
    def decode_bytes(self, ids):
        return b"x"
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    Tokenizer.train(CORPUS, 300).to_huggingface(tmp_path / "tokenizer.json")
    (tmp_path / "c.txt").write_text(CORPUS, "utf-8")
    return tmp_path / "tokenizer.json"


def timed(model: Path, *chosen: Library) -> list[tuple[str, str]]:
    found = benchmark(Tokenizer.load(model), str(model), [CORPUS, "a", ""], lacking={}, libraries=chosen)
    return [(row.library, row.reason) for row in found.rows]


def test_a_model_and_a_text_are_timed_and_the_table_has_a_row_for_each_library(model: Path) -> None:
    given = [str(model), str(model.parent / "c.txt"), "--libraries", "bpetite", "tiktoken", "tokenizers"]
    found = json.loads(bpetite("bench", *given, "--json").stdout)
    assert found["own_library"] == "tokenizers"
    assert {row["library"] for row in found["rows"]} == {"bpetite", "tiktoken", "tokenizers"}
    for row in found["rows"]:
        assert row["reason"] == ""
        assert all(row[figure] > 0 for figure in ("first", "later", "decoding", "loading", "peak"))
        assert row["prompts"].keys() == {"80", "400"}
    out = bpetite("bench", *given, "--rounds", "2").stdout.decode().splitlines()
    assert out[1] == "ids   those of tokenizers"
    assert {line.split()[0] for line in out[-3:]} == {"bpetite", "tiktoken", "tokenizers"}
    assert all(len(line) < 80 for line in out)


def test_a_library_with_other_ids_gets_no_time_but_the_first_place(model: Path, tmp_path: Path) -> None:
    place = tmp_path / "fake"
    for name, text in {
        "tiktoken/__init__.py": FAKE,
        "tiktoken/load.py": "def load_tiktoken_bpe(path): return {}",
        "tiktoken-9.9.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiktoken\nVersion: 9.9\n",
    }.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    fake = Library("tiktoken", (libraries.tiktoken,), str(place))
    ours = Library("bpetite", (libraries.bpetite_texts, libraries.bpetite_bytes))
    right = Tokenizer.load(model).encode(CORPUS)[:4]
    assert timed(model, fake, ours) == [
        ("bpetite", ""),
        ("tiktoken", f"other ids: from number 0 on, after '', [1, 2, 1, 2], not {right}"),
    ]
    found = benchmark(Tokenizer.load(model), str(model), [CORPUS], lacking={}, libraries=[fake, ours])
    assert "no time  tiktoken 9.9: other ids" in "\n".join(lines(found))
    assert found.own_library == "bpetite", "the model's own library is not among them"


def test_a_library_that_cannot_read_the_model_says_why(tmp_path: Path) -> None:
    Tokenizer.train(CORPUS, 300).save(tmp_path / "tok.json")
    ours = Library("bpetite", (libraries.bpetite_texts,))
    others = Library("sentencepiece", (libraries.sentencepiece,))
    assert timed(tmp_path / "tok.json", ours, others) == [
        ("bpetite", ""),
        ("sentencepiece", "the model cannot be written as tokenizer.model"),
    ]


def test_a_figure_that_not_all_processes_have_is_left_out(tmp_path: Path) -> None:
    taken = comparison._Taken(tmp_path, Tokenizer.train(CORPUS, 300), 1)
    ours = Library("bpetite", (libraries.bpetite_texts,))
    figures = {"first": 2.0, "decoding": 1.0, "loading": 1.0}
    taken.figures[ours] = {"one": [figures | {"later": 1.0}, figures | {"first": 4.0}], "two": [figures]}
    assert (taken.row(ours, 6).first, taken.row(ours, 6).later) == (3, None)


def test_the_text_is_cut_at_a_character() -> None:
    assert beginning(["aé", "bé", "c"], 5) == ["aé", "b"]
    assert beginning(["aé", "bé"], 100) == ["aé", "bé"]
    with pytest.raises(ValueError, match="there is no text"):
        beginning(["", ""], 10)


def test_wrong_numbers_and_names_are_refused(model: Path) -> None:
    text = str(model.parent / "c.txt")
    for wrong in (["--megabytes", "0"], ["--num-threads", "0"], ["--rounds", "0"], ["--libraries", "none"]):
        done = bpetite("bench", str(model), text, *wrong)
        assert (done.returncode, done.stdout) == (1, b"")
        assert wrong[0].strip("-") in done.stderr.decode()
