"""`bpetite bench`: each library in processes of its own, and no time for other ids."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from bpetite import Tokenizer
from bpetite.benchmark import comparison, libraries
from bpetite.benchmark.comparison import benchmark
from bpetite.benchmark.documents import PIECE, Documents, beginning, first_documents, pieces
from bpetite.benchmark.libraries import LIBRARIES, Library
from bpetite.cli.commands.bench import lines
from test_cli import bpetite

pytestmark = pytest.mark.peers

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


def measured(model: Path, chosen: Sequence[Library], *texts: str) -> comparison.Benchmark:
    documents = Documents([*texts], are_pieces=False)
    return benchmark(Tokenizer.load(model), str(model), documents, lacking={}, libraries=chosen)


def timed(model: Path, *chosen: Library) -> list[tuple[str, str]]:
    return [(row.library, row.reason) for row in measured(model, chosen, CORPUS, "a", "").rows]


def test_a_model_and_a_text_are_timed_and_the_table_has_a_row_for_each_library(model: Path) -> None:
    given = [
        str(model),
        str(model.parent / "c.txt"),
        "--libraries",
        "bpetite",
        "tiktoken",
        "tokenizers",
    ]
    found = json.loads(bpetite("bench", *given, "--json").stdout)
    assert found["own_library"] == "tokenizers"
    assert {row["library"] for row in found["rows"]} == {"bpetite", "tiktoken", "tokenizers"}
    for row in found["rows"]:
        assert (row["reason"], row["refused"]) == ("", {})
        assert all(row[figure] > 0 for figure in ("first", "later", "decoding", "loading", "peak"))
        assert row["prompts"].keys() == {"80", "400"}
    out = bpetite("bench", *given, "--rounds", "2").stdout.decode().splitlines()
    assert out[0] == "text  0.0 MB in 1 document, 3,950 bytes on average; 1 thread"
    assert out[2] == "ids   as from tokenizers"
    assert {line.split()[0] for line in out[-3:]} == {"bpetite", "tiktoken", "tokenizers"}
    assert all(len(line) < 80 for line in out)


def test_a_library_with_other_ids_gets_no_time_but_the_first_place(
    model: Path, tmp_path: Path
) -> None:
    place = tmp_path / "fake"
    for name, text in {
        "tiktoken/__init__.py": FAKE,
        "tiktoken/load.py": "def load_tiktoken_bpe(path): return {}",
        "tiktoken-9.9.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiktoken\nVersion: 9.9\n",
    }.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    fake = Library("tiktoken", (libraries.tiktoken_special,), str(place))
    ours = Library("bpetite", (libraries.bpetite_texts, libraries.bpetite_bytes))
    right = Tokenizer.load(model).encode(CORPUS)[:4]
    assert timed(model, fake, ours) == [
        ("bpetite", ""),
        ("tiktoken", f"other ids: from number 0 on, after '', [1, 2, 1, 2], not {right}"),
    ]
    found = measured(model, [fake, ours], CORPUS)
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


def test_all_interfaces_of_the_installed_libraries_give_the_same_ids(model: Path) -> None:
    installed = [library for library in LIBRARIES if comparison.version_of(library)]
    for row in measured(model, installed, *CORPUS.splitlines(keepends=True), "", "a").rows:
        assert row.reason or not row.refused, row.library
        assert row.reason or row.interface, row.library


def test_a_loop_is_not_timed_with_several_threads() -> None:
    several = libraries.Model(threads=2)
    for loop in (libraries.gigatoken_each, libraries.fastokens_each):
        with pytest.raises(SystemExit, match="one thread only"):
            loop(several)


def test_the_interfaces_say_what_they_are() -> None:
    names = [call.__name__ for library in LIBRARIES for call in library.interfaces]
    assert len(names) == len({*names})
    assert all(call.__doc__ for library in LIBRARIES for call in library.interfaces)


def test_an_interface_without_figures_says_why_beside_one_that_has_some(model: Path) -> None:
    ours = Library("bpetite", (libraries.bpetite_texts, libraries.sentencepiece))
    [row] = measured(model, [ours], CORPUS).rows
    assert (row.reason, row.interface) == ("", "bpetite_texts")
    assert row.refused == {"sentencepiece": "the model cannot be written as tokenizer.model"}


def test_a_figure_that_not_all_processes_have_is_left_out(tmp_path: Path) -> None:
    taken = comparison._Figures(tmp_path, Tokenizer.train(CORPUS, 300), 1)
    ours = Library("bpetite", (libraries.bpetite_texts,))
    figures = {"first": 2.0, "decoding": 1.0, "loading": 1.0}
    taken.figures[ours] = {
        "one": [figures | {"later": 1.0}, figures | {"first": 4.0}],
        "two": [figures],
    }
    assert (taken.row(ours, 6).first, taken.row(ours, 6).later) == (3, None)


RECORDING = """
class Encoding:
    def __init__(self, name, **_):
        from bpetite import Tokenizer
        self.ours = Tokenizer.load(MODEL)
    def encode_to_numpy(self, text, allowed_special):
        with open(FED, "a") as file:
            file.write(repr(text) + "\\n")
        return self.ours.encode_to_numpy(text)
    def encode(self, text, **_):
        return self.ours.encode(text)
    def decode_bytes(self, ids):
        return self.ours.decode_bytes(ids)
"""


def test_every_library_is_fed_the_documents_and_nothing_else(model: Path, tmp_path: Path) -> None:
    place, fed = tmp_path / "fake", tmp_path / "fed"
    code = f"MODEL = {str(model)!r}\nFED = {str(fed)!r}\n{RECORDING}"
    for name, text in {
        "tiktoken/__init__.py": code,
        "tiktoken/load.py": "def load_tiktoken_bpe(path): return {}",
        "tiktoken-9.9.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiktoken\nVersion: 9.9\n",
    }.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    documents = ["the cat\n", "the hat", "", "cafés, 東京都"]
    found = measured(
        model, [Library("tiktoken", (libraries.tiktoken_special,), str(place))], *documents
    )
    assert found.rows[0].reason == ""
    calls = fed.read_text("utf-8").splitlines()
    assert len(calls) % len(documents) == 0
    assert calls == [*map(repr, documents)] * (len(calls) // len(documents))
    assert (found.documents, found.are_pieces) == (4, False)


def test_the_pretokens_that_are_new_are_counted(model: Path) -> None:
    found = measured(model, LIBRARIES[:1], "the cat the cat", " the hat", "a")
    assert (found.pretokens, found.new_pretokens) == (7, 5)
    assert lines(found)[1] == "new   5 of 7 pretokens (71.4%) occur for the first time"


LINES = "".join(f"line {number} of a text\n" for number in range(1000))
INPUTS = {
    "one.txt": ({"one.txt": LINES}, [*pieces(LINES)]),
    "three.txt": ({"three.txt": f"{LINES}<|endoftext|>b<|endoftext|>c"}, [LINES, "b", "c"]),
    "lines.jsonl": (
        {"lines.jsonl": f'{json.dumps({"text": LINES})}\n{{"text": "b"}}\n'},
        [LINES, "b"],
    ),
    "folder": ({"folder/a.txt": LINES, "folder/b.txt": "b"}, [LINES, "b"]),
}
"""Files, and the documents that a library gets of them."""


@pytest.mark.parametrize("name", INPUTS)
def test_the_documents_are_those_of_the_input_or_pieces_of_a_single_one(
    name: str, model: Path
) -> None:
    files, expected = INPUTS[name]
    for file, text in files.items():
        (model.parent / file).parent.mkdir(exist_ok=True)
        (model.parent / file).write_text(text)
    given = [str(model), str(model.parent / name), "--libraries", "bpetite", "--json"]
    found = json.loads(bpetite("bench", *given).stdout)
    assert found["documents"] == len(expected)
    assert found["are_pieces"] == (name == "one.txt")
    assert found["megabytes"] == sum(map(len, expected)) / 1e6
    assert found["rows"][0]["interface"] in ("bpetite_texts", "bpetite_bytes")


def test_a_text_in_pieces_says_so(model: Path) -> None:
    (model.parent / "one.txt").write_text(LINES)
    given = [str(model), str(model.parent / "one.txt"), "--libraries", "bpetite"]
    out = bpetite("bench", *given).stdout.decode().splitlines()
    number = len([*pieces(LINES)])
    assert (
        out[0]
        == f"text  0.0 MB in {number} pieces, {len(LINES) / number:,.0f} bytes on average; 1 thread"
    )
    assert out[1] == "      the text is one document, which was cut at line ends"


def test_another_separator_can_be_chosen(model: Path) -> None:
    given = [
        str(model),
        str(model.parent / "c.txt"),
        "--separator",
        ";",
        "--libraries",
        "bpetite",
        "--json",
    ]
    assert json.loads(bpetite("bench", *given).stdout)["documents"] == CORPUS.count(";") + 1


def test_pieces_end_at_lines_or_at_words_and_are_the_text() -> None:
    words, letters = "word " * 2000, "x" * 10_001
    for text in (LINES, words, letters, words + "\n" + letters, "\n" * 9000, "short", "\n"):
        found = list(pieces(text))
        assert "".join(found) == text
        assert all(0 < len(piece) <= PIECE for piece in found)
    assert all(piece.endswith("\n") for piece in pieces(LINES))
    assert all(piece.split() == ["word"] * len(piece.split()) for piece in pieces(words))
    assert first_documents(["short"], 100) == Documents(["short"], are_pieces=False)
    assert first_documents(["", LINES], 10_000_000) == Documents([*pieces(LINES)], are_pieces=True)


def test_the_text_is_cut_at_a_character() -> None:
    assert beginning(["aé", "bé", "c"], 5) == ["aé", "b"]
    assert beginning(["aé", "bé"], 100) == ["aé", "bé"]
    with pytest.raises(ValueError, match="there is no text"):
        beginning(["", ""], 10)


def test_wrong_numbers_and_names_are_refused(model: Path) -> None:
    text = str(model.parent / "c.txt")
    for wrong in (
        ["--megabytes", "0"],
        ["--num-threads", "0"],
        ["--rounds", "0"],
        ["--libraries", "none"],
    ):
        done = bpetite("bench", str(model), text, *wrong)
        assert (done.returncode, done.stdout) == (1, b"")
        assert wrong[0].strip("-") in done.stderr.decode()
