"""The command line as a user meets it: in a process of its own, with pipes."""

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bpetite import Tokenizer

CORPUS = "the cat sat on the mat <|endoftext|> naïve cafés, 東京\n" * 4


def bpetite(*arguments: object, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "bpetite", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli")
    (folder / "corpus.txt").write_bytes(CORPUS.encode())
    Tokenizer.train(CORPUS, 280).save(folder / "tok.json")
    return folder


def check_failed(done: subprocess.CompletedProcess[bytes], *words: str) -> None:
    assert done.returncode == 1
    assert done.stdout == b""
    message = done.stderr.decode()
    assert "Traceback" not in message
    for word in words:
        assert word in message


def test_train_prints_one_line_of_json_and_saves_what_the_library_saves(
    folder: Path, tmp_path: Path
) -> None:
    output = tmp_path / "tok.json"
    done = bpetite(
        "train", "--input", folder / "corpus.txt", "--vocab-size", 280, "--output", output
    )
    assert done.returncode == 0
    assert done.stdout.count(b"\n") == 1
    summary = json.loads(done.stdout)
    assert list(summary) == [
        "corpus_bytes",
        "requested_vocab_size",
        "actual_mergeable_vocab_size",
        "special_token_count",
        "elapsed_ms",
    ]
    assert summary["corpus_bytes"] == len(CORPUS.encode())
    assert summary["requested_vocab_size"] == summary["actual_mergeable_vocab_size"] == 280
    assert summary["special_token_count"] == 1
    assert isinstance(summary["elapsed_ms"], float)
    assert output.read_bytes() == (folder / "tok.json").read_bytes()


def test_train_takes_conditions_on_new_tokens(folder: Path, tmp_path: Path) -> None:
    conditions = ["--max-words", "2", "--without", "a", "--without", "t", "--whole-characters"]
    output = tmp_path / "tok.json"
    corpus = folder / "corpus.txt"
    bpetite("train", "--input", corpus, "--vocab-size", 300, "--output", output, *conditions)
    expected = Tokenizer.train_from_files(
        corpus, 300, max_words=2, without=["a", "t"], whole_characters=True
    )
    assert Tokenizer.load(output) == expected
    assert Tokenizer.load(output).vocabulary.trained_with == expected.vocabulary.trained_with


def test_train_says_how_far_it_came_and_how_long_it_took(folder: Path, tmp_path: Path) -> None:
    corpus, output = folder / "corpus.txt", tmp_path / "tok.json"
    how = ("--input", corpus, "--output", output, "--dialect", "tiktoken")
    done = bpetite("train", "--vocab-size", 281, *how)
    counting, merging, complete, took = done.stderr.decode().splitlines()
    assert re.fullmatch(r"Counting: 0\.0 of 0\.0 MB, \d+ documents", counting)
    assert merging == "Training merges: 24 of 24"
    assert re.fullmatch(r"Training complete: merges=24 elapsed_ms=\d+", complete)
    size = re.escape("281 tokens: 280 and '<|endoftext|>'")
    assert re.fullmatch(rf"trained in (\d+ ms|\d+\.\d s); {size}", took)
    done = bpetite("train", "--input", corpus, "--vocab-size", 9000, "--output", output, "--force")
    assert re.search(
        r"merges=\d+ \(of 8744 planned; no pair is left\) elapsed", done.stderr.decode()
    )


def test_train_is_silent_when_told_to_be(folder: Path, tmp_path: Path) -> None:
    done = bpetite(
        "train",
        "--quiet",
        "--input",
        folder / "corpus.txt",
        "--vocab-size",
        280,
        "--output",
        tmp_path / "t",
    )
    assert done.returncode == 0
    assert done.stderr == b""


def test_who_chose_no_dialect_is_told_which_one_to_choose(folder: Path, tmp_path: Path) -> None:
    source, counts = ("--input", folder / "corpus.txt"), tmp_path / "corpus.counts"
    to_train = ("--vocab-size", 280, "--force", "--output", tmp_path / "tok.json")
    advice = (
        b"the dialect was bpetite, the default; for a new model, --dialect tiktoken is recommended"
    )
    assert advice in bpetite("train", *source, *to_train).stderr
    assert advice in bpetite("count", *source, "--output", counts).stderr
    for given in ((*source, "--dialect", "bpetite"), ("--counts", counts), (*source, "--quiet")):
        assert advice not in bpetite("train", *given, *to_train).stderr


@pytest.mark.parametrize("name", ["c.txt", "c.jsonl", "c.jsonl.gz"])
def test_special_tokens_that_are_counted_as_text_are_told_once(name: str, tmp_path: Path) -> None:
    text = "one</s>two<|endoftext|>three<|endoftext|>"
    content = text.encode() if name == "c.txt" else json.dumps({"text": text}).encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    specials = ("--special-token", "</s>", "<|endoftext|>", "<unk>")
    for command in (("train", "--vocab-size", 270), ("count",)):
        how = (*command, "--input", tmp_path / name, "--output", tmp_path / "out", "--force")
        told = bpetite(*how, *specials, "--dialect", "huggingface").stderr.decode()
        found = f"('<|endoftext|>' 2 times, '</s>' 1 time in the {len(text)} bytes looked into)"
        assert told.count(f"special tokens are in the corpus {found} and are counted as text") == 1
        assert "; with --dialect tiktoken they end documents\n" in told
        for silent in (("--dialect", "tiktoken"), ("--special-token", "<unk>"), ("--quiet",)):
            assert "special tokens" not in bpetite(*how, *silent).stderr.decode()


def test_special_tokens_at_the_separator_are_not_told(folder: Path, tmp_path: Path) -> None:
    how = (
        "--input",
        folder / "corpus.txt",
        "--output",
        tmp_path / "c",
        "--separator",
        "<|endoftext|>",
    )
    assert b"special" not in bpetite("count", *how).stderr


@pytest.mark.parametrize("source", ["--input", "--counts"])
def test_train_says_nothing_before_its_inputs_are_found(source: str, tmp_path: Path) -> None:
    arguments = ("--vocab-size", 280, "--output", tmp_path / "t", "--pattern", r"(?<=a)b|.")
    done = bpetite("train", source, tmp_path / "none.txt", *arguments)
    assert done.stderr.decode().splitlines() == [
        f"bpetite train: {tmp_path}/none.txt: No such file or directory"
    ]


def test_train_stops_early_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("ab")
    done = bpetite(
        "train", "--input", tmp_path / "c.txt", "--vocab-size", 999, "--output", tmp_path / "t"
    )
    assert json.loads(done.stdout)["actual_mergeable_vocab_size"] == 257
    assert b"merges=1 (of 743 planned; no pair is left)" in done.stderr


def test_encode_prints_a_compact_array_and_nothing_else(folder: Path) -> None:
    text = "the naïve cat<|endoftext|>"
    expected = json.dumps(Tokenizer.load(folder / "tok.json").encode(text), separators=(",", ":"))
    done = bpetite("encode", "--model", folder / "tok.json", "--text", text)
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, expected + "\n", b"")
    piped = bpetite("encode", "--model", folder / "tok.json", stdin=text.encode())
    assert piped.stdout == done.stdout
    (folder / "text.txt").write_bytes(text.encode())
    assert (
        bpetite("encode", "--model", folder / "tok.json", "--input", folder / "text.txt").stdout
        == done.stdout
    )


def test_decode_prints_the_raw_text_without_a_newline(folder: Path) -> None:
    text = "the naïve\r\ncat<|endoftext|>"
    ids = Tokenizer.load(folder / "tok.json").encode(text)
    done = bpetite("decode", "--model", folder / "tok.json", "--ids", *ids)
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, text, b"")
    piped = bpetite("decode", "--model", folder / "tok.json", stdin=json.dumps(ids).encode())
    assert piped.stdout == done.stdout


def test_ids_are_numbers_as_people_write_them(folder: Path) -> None:
    for word in ("9_7", "٩٧", "+97", "0x61", " 97", "97.0", ""):
        done = bpetite("decode", "--model", folder / "tok.json", "--ids", word)
        assert (done.returncode, done.stdout) == (2, b"")
        assert f"{word!r} is not an id" in done.stderr.decode()


def test_encode_reads_texts_as_every_command_does(folder: Path, tmp_path: Path) -> None:
    model = folder / "tok.json"
    tok = Tokenizer.load(model)
    (tmp_path / "a.jsonl").write_text('{"body": "the cat"}\n{"body": "caf\\u00e9"}\n')
    (tmp_path / "b.txt").write_text("one|two")
    inputs = (
        "--input",
        tmp_path / "a.jsonl",
        tmp_path / "b.txt",
        "--text-field",
        "body",
        "--separator",
        "|",
    )
    lines = bpetite("encode", "--model", model, *inputs).stdout.splitlines()
    assert list(map(json.loads, lines)) == tok.encode_batch(["the cat", "café", "one", "two"])
    shown = bpetite("encode", "--model", model, *inputs, "--show").stdout.decode()
    assert shown.count("bytes per token") == 4


def test_failures_are_a_message_and_exit_code_1(folder: Path, tmp_path: Path) -> None:
    model, output = folder / "tok.json", tmp_path / "out.json"
    train = ("train", "--vocab-size", 300, "--output", output)
    check_failed(
        bpetite(*train, "--input", tmp_path / "missing.txt"), "missing.txt", "No such file"
    )
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9 au lait")
    check_failed(bpetite(*train, "--input", tmp_path / "latin.txt"), "latin.txt", "UTF-8", "byte 3")
    check_failed(
        bpetite("train", "--vocab-size", 10, "--output", output, "--input", folder / "corpus.txt"),
        "at least 256",
    )
    check_failed(bpetite("decode", "--model", model, "--ids", 97, 999_999), "999999")
    check_failed(bpetite("decode", "--model", model, "--ids", 0x80), "utf-8")
    check_failed(bpetite("decode", "--model", model, stdin=b"[97, x]"), "'x' is not an id")
    check_failed(
        bpetite("decode", "--model", model, stdin=b"[97, 1"), "stdin: the array of ids has no ]"
    )
    check_failed(
        bpetite("decode", "--model", model, stdin=b"97]"), "stdin: the array of ids has no ["
    )
    check_failed(bpetite("encode", "--model", model, stdin=b"\xff"), "stdin", "byte 0")
    check_failed(
        bpetite("encode", "--model", model, "--text", "a\udcff"),
        "--text: not valid UTF-8 at byte 1",
    )
    check_failed(bpetite("encode", "--model", tmp_path / "none.json", "--text", "a"), "none.json")
    (tmp_path / "bad.json").write_text("{}")
    check_failed(
        bpetite("encode", "--model", tmp_path / "bad.json", "--text", "a"),
        "schema_version is missing",
    )
    assert not output.exists()


def test_an_existing_output_is_left_alone_unless_forced(folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "tok.json"
    output.write_text("precious")
    train = ("train", "--input", folder / "corpus.txt", "--vocab-size", 280, "--output", output)
    check_failed(bpetite(*train), "exists already")
    assert output.read_text() == "precious"
    assert bpetite(*train, "--force").returncode == 0
    assert output.read_bytes() == (folder / "tok.json").read_bytes()


def test_an_output_that_cannot_be_written_is_refused_before_any_work(
    folder: Path, tmp_path: Path
) -> None:
    train = (
        "train",
        "--input",
        tmp_path / "missing.txt",
        "--vocab-size",
        280,
        "--force",
        "--output",
    )
    check_failed(bpetite(*train, tmp_path / "no" / "tok.json"), "no/tok.json", "does not exist")
    check_failed(bpetite(*train, tmp_path), f"{tmp_path} is a folder")
    check_failed(bpetite(*train, ""), "the name of the output is empty")
    if sys.platform == "linux":
        check_failed(bpetite(*train, "/proc/tok.json"), "/proc/tok.json: ")
    (tmp_path / "tok.json").write_text("precious")
    convert = ("convert", folder / "missing.json", tmp_path / "tok.json")
    check_failed(bpetite(*convert), "tok.json exists already; --force replaces it")
    assert [path.name for path in tmp_path.iterdir()] == ["tok.json"]


@pytest.mark.parametrize(
    "arguments",
    [("train",), ("train", "--vocab-size", "many"), ("fly",), ("encode", "--text", "a")],
)
def test_misuse_of_options_is_exit_code_2(arguments: tuple[str, ...]) -> None:
    done = bpetite(*arguments)
    assert done.returncode == 2
    assert done.stdout == b""
    if arguments and arguments != ("fly",):
        assert done.stderr.startswith(f"usage: bpetite {arguments[0]} ".encode())
        assert f"\nbpetite {arguments[0]}: error: ".encode() in done.stderr


def test_a_reader_that_leaves_early_is_no_error(folder: Path) -> None:
    (folder / "long.txt").write_text("the cat " * 200_000)
    encode = f"{sys.executable} -m bpetite encode"
    command = f"{encode} --model {folder}/tok.json --input {folder}/long.txt | head -c 9"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    assert len(done.stdout) == 9
    assert done.stderr == b""


def test_demo_shows_what_training_brought() -> None:
    done = bpetite("demo", "--vocab-size", 600)
    assert done.returncode == 0
    shown = done.stdout.decode()
    assert re.search(r"corpus +\d+\.\d MB of Python source", shown)
    assert re.search(r"trained +600 tokens in", shown)
    assert "|" in shown
    assert "\x1b" not in shown


def test_special_tokens_are_given_together_or_one_by_one(folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "tok.json"
    command = (
        "train",
        "--input",
        folder / "corpus.txt",
        "--vocab-size",
        270,
        "--output",
        output,
        "--quiet",
    )
    assert (
        bpetite(*command, "--special-token", "<a>", "<b>", "--special-token", "<e>").returncode == 0
    )
    assert list(Tokenizer.load(output).special_tokens) == ["<a>", "<b>", "<e>"]


def test_every_command_prints_json_where_it_is_asked_for(folder: Path) -> None:
    model = ("--model", folder / "tok.json", "--json")
    assert json.loads(bpetite("decode", "--ids", 97, *model).stdout) == "a"
    shown = json.loads(bpetite("encode", *model, "--text", "é", "--show").stdout)
    assert [token["token"] for token in shown] == ["\\xc3", "\\xa9"]
    numbers = json.loads(bpetite("demo", "--vocab-size", "0.3k", "--json").stdout)
    assert numbers["vocab_size"] == 300


@pytest.mark.parametrize("written", ["300.5", "0.3001k", "nan"])
def test_numbers_are_whole(folder: Path, written: str) -> None:
    done = bpetite(
        "train", "--input", folder / "corpus.txt", "--output", "none", "--vocab-size", written
    )
    assert done.returncode == 2
    assert f"--vocab-size: {written!r} is not a whole number" in done.stderr.decode()


@pytest.mark.parametrize("command", ["encode", "count-tokens", "stats"])
def test_words_behind_the_model_are_inputs(folder: Path, command: str) -> None:
    model, corpus = folder / "tok.json", folder / "corpus.txt"
    named = bpetite(command, "--model", model, "--input", corpus, corpus)
    assert named.stdout
    assert bpetite(command, model, corpus, corpus).stdout == named.stdout
    assert bpetite(command, model, corpus, "--input", corpus).stdout == named.stdout


def test_words_behind_a_model_that_have_no_place_are_wrong(folder: Path) -> None:
    model, corpus = folder / "tok.json", folder / "corpus.txt"
    for line in [
        ("encode", model, corpus, "--text", "hi"),
        ("inspect", model, corpus),
        ("stats", model),
    ]:
        done = bpetite(*line)
        assert (done.returncode, done.stdout) == (2, b"")
