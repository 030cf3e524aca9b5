"""The commands for whole corpora, as a user meets them."""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from bpetite import Counts, Tokenizer, cli, corpus
from bpetite.corpus import Documents

TEXTS = ["the cat sat on the mat", "naïve cafés, 東京", "the <|endoftext|> end"] * 4


def bpetite(*arguments: object, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "bpetite", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        check=False,
    )


def done(*arguments: object, stdin: bytes = b"") -> bytes:
    """Run a command that must succeed; return its stdout."""
    ran = bpetite(*arguments, stdin=stdin)
    assert ran.returncode == 0, ran.stderr.decode()
    return ran.stdout


def failed(*arguments: object) -> str:
    """Run a command that must fail; return its message."""
    ran = bpetite(*arguments)
    assert ran.returncode == 1
    assert ran.stdout == b""
    assert b"Traceback" not in ran.stderr
    return ran.stderr.decode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.jsonl").write_text(
        "".join(json.dumps({"text": text}) + "\n" for text in TEXTS[:5])
    )
    (tmp_path / "b.txt").write_text("\x1e".join(TEXTS[5:]))
    return tmp_path


def test_counts_of_parts_train_the_vocabulary_of_the_whole(folder: Path) -> None:
    reading = ("--separator", "\x1e", "--dialect", "tiktoken", "--quiet")
    summary = json.loads(
        done("count", "--input", folder / "a.jsonl", "--output", folder / "a.parquet", *reading)
    )
    assert summary["documents"] == Counts.load(folder / "a.parquet").documents
    done("count", "--input", folder / "b.txt", "--output", folder / "b.parquet", *reading)
    done(
        "merge-counts",
        "--counts",
        folder / "a.parquet",
        folder / "b.parquet",
        "--output",
        folder / "m.parquet",
    )
    size = ("--vocab-size", 300, "--dialect", "tiktoken", "--quiet", "--output")
    done("train", "--counts", folder / "m.parquet", *size, folder / "1.json")
    done("train", "--counts", folder / "b.parquet", folder / "a.parquet", *size, folder / "2.json")
    whole = ("train", "--input", folder / "a.jsonl", folder / "b.txt", "--separator", "\x1e", *size)
    summary = json.loads(done(*whole, folder / "3.json"))
    assert summary["corpus_bytes"] == sum(len(text.encode()) for text in TEXTS)
    artifact = (folder / "1.json").read_bytes()
    assert (folder / "2.json").read_bytes() == (folder / "3.json").read_bytes() == artifact
    expected = Tokenizer.train_from_iterator(TEXTS, 300, dialect="tiktoken")
    assert Tokenizer.load(folder / "1.json") == expected
    assert "exists already" in failed(
        "count", "--input", folder / "b.txt", "--output", folder / "a.parquet"
    )
    message = failed(
        "train",
        "--counts",
        folder / "m.parquet",
        *size[:2],
        *size[4:],
        folder / "4",
        "--dialect=bpetite",
    )
    assert "boundaries" in message
    message = failed(
        "train", "--counts", folder / "m.parquet", "--pattern", "o200k", *size, folder / "4"
    )
    assert "pattern" in message


def test_an_option_that_is_given_again_adds_to_what_was_given(folder: Path) -> None:
    texts = [folder / "one.txt", folder / "two.txt"]
    for text, words in zip(texts, ("aab aab", "abb"), strict=True):
        text.write_text(words)
    inputs = [word for text in texts for word in ("--input", text)]
    counted = json.loads(done("count", *inputs, "--output", folder / "again.parquet"))
    assert counted["documents"] == 2
    twice = ["--counts", folder / "again.parquet"] * 2
    assert (
        json.loads(done("merge-counts", *twice, "--output", folder / "sum.parquet"))["documents"]
        == 4
    )


def test_every_option_of_several_values_adds_to_them() -> None:
    options = [
        (name, action)
        for name in cli.COMMANDS
        for action in cli.parser_of(name)._actions
        if action.nargs in ("+", "*") and action.option_strings
    ]
    assert len(options) > 10
    for name, action in options:
        assert isinstance(action, argparse._ExtendAction), (name, action.option_strings)


def test_stdin_is_an_input(folder: Path) -> None:
    for name in ("a.jsonl", "b.txt"):
        reading = (
            "--separator",
            "\x1e",
            "--quiet",
            "--force",
            "--input-format",
            "jsonl" if name[0] == "a" else "text",
        )
        content = (folder / name).read_bytes()
        done("count", "--input", "-", "--output", folder / "piped", *reading, stdin=content)
        done("count", "--input", folder / name, "--output", folder / "read", *reading)
        assert (folder / "piped").read_bytes() == (folder / "read").read_bytes()


def test_a_corpus_is_encoded_and_verified(folder: Path) -> None:
    Tokenizer.train_from_iterator(TEXTS, 300, dialect="tiktoken").save(folder / "tok.json")
    encode = (
        "encode-corpus",
        "--model",
        folder / "tok.json",
        "--output",
        folder / "out",
        "--separator",
        "\x1e",
    )
    inputs = ("--input", folder / "a.jsonl", folder / "b.txt", "--append-special", "<|endoftext|>")
    summary = json.loads(done(*encode, *inputs))
    ids = np.load(folder / "out" / "shard-000000.npy", mmap_mode="r")
    assert summary == {
        "documents": len(TEXTS),
        "tokens": len(ids),
        "bytes": sum(len(text.encode()) for text in TEXTS),
        "input_bytes": sum((folder / name).stat().st_size for name in ("a.jsonl", "b.txt")),
        "dtype": "uint16",
        "shards": 1,
        "invalid_documents": 0,
        "special_texts": 4,
    }
    tokenizer = Tokenizer.load(folder / "tok.json")
    assert tokenizer.decode(ids) == "".join(text + "<|endoftext|>" for text in TEXTS)
    assert json.loads(done("verify", folder / "out", "--inputs", "--quiet"))["tokens"] == len(ids)
    assert "is finished" in failed(*encode, *inputs)
    again = bpetite(*encode, *inputs, "--resume")
    assert json.loads(again.stdout) == summary
    assert b"nothing was left to encode: 12 documents, " in again.stderr
    assert b" MB" not in again.stderr
    anew = bpetite(*encode, *inputs, "--force")
    assert json.loads(anew.stdout) == summary
    assert b" MB of text in " in anew.stderr
    assert b"that became ordinary text: 4; --special parse gives them their ids" in anew.stderr
    (folder / "out" / "shard-000000.npy").write_bytes(b"")
    assert "shard-000000.npy: 0 bytes" in failed("verify", folder / "out")


def test_stats_tell_how_a_vocabulary_fits_each_source(folder: Path) -> None:
    tokenizer = Tokenizer.train_from_iterator(TEXTS, 300)
    tokenizer.save(folder / "tok.json")
    stats = ("stats", "--model", folder / "tok.json", "--quiet", "--separator", "\x1e", "--input")
    fits = json.loads(done(*stats, folder / "a.jsonl", folder / "b.txt", "--json"))
    assert list(fits["sources"]) == [str(folder / "a.jsonl"), str(folder / "b.txt")]
    ids = [token_id for text in TEXTS for token_id in tokenizer.encode(text, special="text")]
    size = sum(len(text.encode()) for text in TEXTS)
    characters = sum(map(len, TEXTS))
    words = sum(len(text.split()) for text in TEXTS)
    assert fits["total"] == {
        "documents": len(TEXTS),
        "bytes": size,
        "characters": characters,
        "words": words,
        "tokens": len(ids),
        "bytes_per_token": size / len(ids),
        "characters_per_token": characters / len(ids),
        "tokens_per_word": len(ids) / words,
        "distinct_tokens": len(set(ids)),
        "vocabulary_used": len(set(ids)) / tokenizer.vocab_size,
        "special_texts": 4,
    }
    table = done(*stats, folder / "b.txt").decode().splitlines()
    assert table[0].split() == [
        "source",
        "docs",
        "bytes",
        "tokens",
        "bytes/token",
        "chars/token",
        "tokens/word",
        "used",
    ]
    assert table[1].split()[1] == "7"
    assert len(table) == 2


def test_tokens_are_counted_by_source(folder: Path) -> None:
    tokenizer = Tokenizer.train_from_iterator(TEXTS, 300)
    tokenizer.save(folder / "tok.json")
    count = (
        "count-tokens",
        "--model",
        folder / "tok.json",
        "--quiet",
        "--separator",
        "\x1e",
        "--input",
    )
    inputs = [folder / "a.jsonl", folder / "b.txt"]
    counts = tokenizer.count_batch(TEXTS, special="text")
    sizes = [len("".join(texts).encode()) for texts in (TEXTS[:5], TEXTS[5:])]
    assert json.loads(done(*count, *inputs, "--json")) == {
        "sources": {
            str(folder / "a.jsonl"): {
                "documents": 5,
                "tokens": sum(counts[:5]),
                "bytes": sizes[0],
                "special_texts": 1,
            },
            str(folder / "b.txt"): {
                "documents": 7,
                "tokens": sum(counts[5:]),
                "bytes": sizes[1],
                "special_texts": 3,
            },
        },
        "total": {"documents": 12, "tokens": sum(counts), "bytes": sum(sizes), "special_texts": 4},
    }
    table = done(*count, *inputs).decode().splitlines()
    assert table[3].split() == [
        "total",
        "12",
        str(sum(sizes)),
        str(sum(counts)),
        f"{sum(counts) / 12:.1f}",
    ]


def test_a_source_may_have_any_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All sources together have no name, so that none can hide it."""
    monkeypatch.chdir(folder)
    tokenizer = Tokenizer.train_from_iterator(TEXTS, 300)
    tokenizer.save("tok.json")
    names = ["total", "None", "sources"]
    for name in names:
        Path(name).write_text(f"the cat {name}")
    tokens = [tokenizer.count(f"the cat {name}") for name in names]
    for command in ("stats", "count-tokens"):
        told = json.loads(done(command, "tok.json", *names, "--json"))
        assert {name: row["tokens"] for name, row in told["sources"].items()} == dict(
            zip(names, tokens, strict=True)
        )
        assert told["total"]["tokens"] == sum(tokens)
        table = [
            line.split()[0] for line in done(command, "tok.json", *names).decode().splitlines()
        ]
        assert table == ["source", *names, "total"]
    fits = corpus.stats(tokenizer, names)
    assert [(fit.name, fit.tokens) for fit in fits] == [
        *zip(names, tokens, strict=True),
        (None, sum(tokens)),
    ]
    rows = corpus.compare({"a": tokenizer}, names)
    assert [(row["source"], row["tokens"]) for row in rows] == [
        (fit.name, fit.tokens) for fit in fits
    ]
    assert corpus.count_tokens(tokenizer, names)["total"].tokens == tokens[0]


TAKES_NO_WEIGHTS = {
    "stats": [],
    "count-tokens": [],
    "encode": [],
    "compare": [],
    "report": ["--output", "r.html"],
    "encode-corpus": ["--output", "ids"],
}


@pytest.mark.parametrize("command", TAKES_NO_WEIGHTS)
def test_a_weight_is_refused_where_it_is_not_applied(
    folder: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    Tokenizer.train_from_iterator(TEXTS, 300).save("tok.json")
    options = ["--input", "a.jsonl", "b.txt:2", *TAKES_NO_WEIGHTS[command]]
    assert "b.txt: has the weight 2, but weights are for counting" in failed(
        command, "tok.json", *options
    )


def test_a_weight_is_applied_in_counting_and_training(folder: Path) -> None:
    (folder / "a.txt").write_text("ab ab")
    (folder / "b.txt").write_text("th")
    inputs = ["--input", folder / "a.txt", f"{folder}/b.txt:9", "--output", folder / "out"]
    assert json.loads(done("count", *inputs))["total"] == 2 + 9
    done("train", *inputs, "--force", "--vocab-size", "257")
    assert Tokenizer.load(folder / "out").token_bytes(256) == b"th"


def test_tokens_are_counted_of_stdin_and_of_a_text(folder: Path) -> None:
    tokenizer = Tokenizer.train_from_iterator(TEXTS, 300)
    tokenizer.save(folder / "tok.json")
    text = "naïve cafés, the cat"
    expected = {
        "documents": 1,
        "tokens": tokenizer.count(text),
        "bytes": len(text.encode()),
        "special_texts": 0,
    }
    count = ("count-tokens", folder / "tok.json", "--json")
    for name, options in (
        ("-", []),
        ("-", ["-"]),
        ("-", ["--input", "-"]),
        ("--text", ["--text", text]),
    ):
        told = json.loads(done(*count, *options, stdin=text.encode()))
        assert told == {"sources": {name: expected}, "total": expected}
    lines = (folder / "a.jsonl").read_bytes()
    told = json.loads(done(*count, "--input-format", "jsonl", stdin=lines))
    assert told["total"]["documents"] == 5
    assert json.loads(done(*count, "--text", ""))["total"]["tokens"] == 0
    assert bpetite(*count, "a.txt", "--text", "x").returncode == 2


def test_a_text_is_cut_to_a_number_of_tokens_and_divided(folder: Path) -> None:
    tokenizer = Tokenizer.train_from_iterator(TEXTS, 300)
    tokenizer.save(folder / "tok.json")
    text = "the cat sat, naïve 東京\n" * 5
    sides: list[tuple[list[str], Literal["right", "left"]]] = [
        ([], "right"),
        (["--side", "left"], "left"),
    ]
    for options, side in sides:
        expected = tokenizer.fit(text, 7, side=side)
        assert 0 < len(expected) < len(text)
        fit = ("fit", folder / "tok.json", "--tokens", "7", *options)
        assert (
            done(*fit, stdin=text.encode()).decode()
            == done(*fit, "--text", text).decode()
            == expected
        )
        assert json.loads(done(*fit, "--text", text, "--json")) == expected
    for overlap in (0, 3):
        chunks = ("chunks", folder / "tok.json", "--tokens", "7", "--overlap", overlap)
        expected_chunks = [chunk._asdict() for chunk in tokenizer.chunks(text, 7, overlap=overlap)]
        for ran in (done(*chunks, stdin=text.encode()), done(*chunks, "--text", text)):
            assert [json.loads(line) for line in ran.decode().splitlines()] == expected_chunks
    model = folder / "tok.json"
    assert "--tokens must be" in failed("fit", model, "--tokens=-1", "--text", "a")
    assert "--tokens must be" in failed("chunks", model, "--tokens=0", "--text", "a")
    wrong = failed("chunks", model, "--tokens", "3", "--overlap", "3", "--text", "a")
    assert "--overlap must be smaller than --tokens: 3 is not less than 3" in wrong


def parquet(path: Path, texts: list[str | None]) -> Path:
    columns = {"number": range(len(texts)), "body": pyarrow.array(texts, pyarrow.string())}
    pyarrow.parquet.write_table(pyarrow.table(columns), path, row_group_size=3)
    return path


def test_a_column_of_ids_is_added_to_parquet(folder: Path) -> None:
    tokenizer = Tokenizer.train_from_iterator(TEXTS, 300)
    tokenizer.save(folder / "tok.json")
    source = parquet(folder / "a.parquet", [*TEXTS, None])
    into = ("--output", folder / "b.parquet", "--column", "body", "--quiet")
    command = ("encode-column", "--model", folder / "tok.json", "--input", source, *into)
    assert "row 12: column 'body' is null; --nulls keep gives it no ids" in failed(*command)
    assert not (folder / "b.parquet").exists()
    end = ("--append-special", "<|endoftext|>", "--dtype", "uint16", "--ids-column", "numbers")
    told = json.loads(done(*command, *end, "--nulls", "keep"))
    table = pyarrow.parquet.read_table(folder / "b.parquet")
    assert table.drop_columns(["numbers"]) == pyarrow.parquet.read_table(source)
    assert table["numbers"].type == pyarrow.list_(pyarrow.uint16())
    end_id = tokenizer.special_tokens["<|endoftext|>"]
    ids = [[*tokenizer.encode(text, special="text"), end_id] for text in TEXTS]
    assert table["numbers"].to_pylist() == [*ids, None]
    assert told == {"rows": 13, "tokens": sum(map(len, ids)), "special_texts": 4}
    assert "exists already; --force replaces it" in failed(*command)
    done(*command, "--force", "--nulls", "empty")
    assert pyarrow.parquet.read_table(folder / "b.parquet")["ids"].to_pylist()[-1] == []


def test_what_is_wrong_with_a_column_is_said(folder: Path) -> None:
    tokenizer = Tokenizer.train_from_iterator(TEXTS, 300)
    tokenizer.save(folder / "tok.json")
    source = parquet(folder / "a.parquet", ["a"])
    command = (
        "encode-column",
        "--model",
        folder / "tok.json",
        "--output",
        folder / "b.parquet",
        "--input",
    )
    assert "no column 'text' (there is 'number', 'body')" in failed(*command, source)
    known = ("--column", "body", "--ids-column", "number")
    assert "has a column 'number' already; --ids-column names another" in failed(
        *command, source, *known
    )
    assert "'x' is not a special token" in failed(*command, source, "--append-special", "x")
    assert "broken Parquet" in failed(*command, folder / "a.jsonl")
    texts = pyarrow.array([b"a", b"\xff"])
    pyarrow.parquet.write_table(
        pyarrow.table({"text": texts}), folder / "c.parquet", row_group_size=1
    )
    assert "c.parquet: row 1: not valid UTF-8 at byte 0" in failed(*command, folder / "c.parquet")
    assert not (folder / "b.parquet").exists()


@pytest.mark.parametrize("special", ["text", "parse", "error"])
def test_commands_that_make_or_measure_data_take_special_tokens_alike(
    tmp_path: Path, special: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tokenizer = Tokenizer.train_from_iterator(TEXTS, 300)
    tokenizer.save("tok.json")
    texts = ["the cat<|endoftext|>", "", "sat <|endoftext|><|endoftext|>"]
    Path("in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    pyarrow.parquet.write_table(pyarrow.table({"text": texts}), "in.parquet", row_group_size=2)
    commands = {
        "encode-corpus": ["--input", "in.jsonl", "--output", "ids"],
        "encode-column": ["--input", "in.parquet", "--output", "out.parquet"],
        "count-tokens": ["--input", "in.jsonl"],
        "stats": ["--input", "in.jsonl"],
        "compare": ["tok.json", "--input", "in.jsonl"],
        "report": ["--input", "in.jsonl", "--output", "r.html"],
    }
    asked = [] if special == "text" else ["--special", special]
    told = (
        "special tokens in the documents that became ordinary text: 3; "
        "--special parse gives them their ids"
    )
    for name, options in commands.items():
        ran = bpetite(name, "tok.json", *options, "--json", *asked)
        if special == "error":
            assert (ran.returncode, ran.stdout) == (1, b"")
            assert re.search(rb"(document|row) 0: the text contains the special token", ran.stderr)
            continue
        assert ran.returncode == 0, ran.stderr
        expected = sum(
            tokenizer.count_batch(texts, special="text" if special == "text" else "parse")
        )
        tokens = re.findall(rb'"tokens": (\d+)', ran.stdout)
        assert int(tokens[0]) == expected, name
        assert (f"bpetite {name}: {told}" in ran.stderr.decode()) == (special == "text")
    shown = bpetite("compare", "tok.json", "tok.json", "--text", texts[2], *asked)
    assert (b"became ordinary text: 2;" in shown.stderr) == (special == "text")


def test_documents_that_run_together_in_the_shards_are_warned_of(folder: Path) -> None:
    Tokenizer.train_from_iterator(TEXTS, 300).save(folder / "tok.json")
    Tokenizer.train_from_iterator(TEXTS, 300, special_tokens=[]).save(folder / "bare.json")
    number = 0

    def told(model: str, *options: str) -> str:
        nonlocal number
        number += 1
        command = ("encode-corpus", "--model", folder / model, "--input", folder / "a.jsonl")
        ran = bpetite(*command, "--output", folder / f"ids{number}", *options)
        assert ran.returncode == 0
        return ran.stderr.decode()

    warning = (
        "no token separates documents in the shards; --append-special '<|endoftext|>' ends each"
    )
    assert warning in told("tok.json")
    assert warning not in told("tok.json", "--append-special", "<|endoftext|>")
    assert told("tok.json", "--quiet") == ""
    assert warning not in told("tok.json", "--special", "parse")  # the documents have them
    assert warning not in told("bare.json")  # the vocabulary has no such token
    specials = ["<|begin_of_text|>", "<|reserved|>", "<|end_of_text|>"]
    Tokenizer.train_from_iterator(TEXTS, 300, special_tokens=specials).save(folder / "llama.json")
    assert "--append-special '<|end_of_text|>' ends each" in told("llama.json")
    Tokenizer.train_from_iterator(TEXTS, 300, special_tokens=specials[:2]).save(
        folder / "begin.json"
    )
    assert "append-special" not in told("begin.json")


def test_a_folder_of_shards_is_a_model(folder: Path) -> None:
    tokenizer = Tokenizer.train_from_iterator(TEXTS, 300)
    corpus.encode(tokenizer, Documents(TEXTS), folder / "model-and-ids")
    assert Tokenizer.load(folder / "model-and-ids") == tokenizer
    shown = json.loads(done("inspect", folder / "model-and-ids", "--json"))
    assert shown["fingerprint"] == tokenizer.fingerprint


def test_special_tokens_are_text_or_parsed_as_asked_for(tmp_path: Path) -> None:
    tokenizer = Tokenizer.train_from_iterator(TEXTS, 300)
    text = "one<|endoftext|>two"
    (tmp_path / "a.txt").write_text(text)
    tokenizer.save(tmp_path / "tok.json")
    for choice in ("parse", "text"):
        expected = tokenizer.count(text, special=choice)
        stats = ("stats", "--model", tmp_path / "tok.json", "--input", tmp_path / "a.txt")
        (told,) = json.loads(done(*stats, "--special", choice, "--json"))["sources"].values()
        assert told["tokens"] == expected
        for documents in ([text, text], iter([text, text])):
            (fit,) = corpus.stats(tokenizer, Documents(documents), special=choice)
            assert (fit.documents, fit.tokens) == (2, 2 * expected)
        both = {"a": tokenizer, "b": tokenizer.truncate(256)}
        rows = corpus.compare(both, Documents(iter([text])), special=choice)
        assert [row["tokens"] for row in rows] == [
            tok.count(text, special=choice) for tok in both.values()
        ]
    refused = failed(*stats, "--special", "error")
    assert re.search(r"\w+: document \d+: the text contains the special token", refused)
    assert "--special parse gives its id" in refused


def test_progress_is_told_on_stderr_and_only_there(folder: Path) -> None:
    ran = bpetite("count", "--input", folder / "b.txt", "--output", folder / "c.parquet")
    assert "counting complete: 1 document, 0.0 MB in " in ran.stderr.decode()
    assert json.loads(ran.stdout)["documents"] == 1


def test_invalid_documents_are_reported(folder: Path) -> None:
    (folder / "bad.txt").write_bytes(b"a\x1e\xff\x1eb")
    count = (
        "count",
        "--input",
        folder / "bad.txt",
        "--separator",
        "\x1e",
        "--output",
        folder / "c.parquet",
    )
    assert "bad.txt: document 1: not valid UTF-8 at byte 0" in failed(*count)
    assert json.loads(done(*count, "--invalid", "skip"))["skipped_documents"] == 1
    assert json.loads(done(*count, "--invalid", "replace", "--force"))["replaced_documents"] == 1


@pytest.mark.slow
def test_the_cluster_is_a_flag(folder: Path) -> None:
    Tokenizer.train_from_iterator(TEXTS, 300).save(folder / "tok.json")
    inputs = ("--input", folder / "a.jsonl", folder / "b.txt", "--separator", "\x1e", "--quiet")
    model = ("encode-corpus", "--model", folder / "tok.json")
    local = done("count", *inputs, "--output", folder / "l.parquet")
    assert done("count", *inputs, "--output", folder / "c.parquet", "--cluster", "local") == local
    assert (folder / "c.parquet").read_bytes() == (folder / "l.parquet").read_bytes()
    local = done(*model, *inputs, "--output", folder / "l")
    assert done(*model, *inputs, "--output", folder / "c", "--cluster", "local") == local
    for path in (folder / "l").iterdir():
        assert (folder / "c" / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("library", "target"), [("tokenizers", "tokenizer.json"), ("tiktoken", "t.tiktoken")]
)
def test_a_check_without_the_library_says_what_to_install(
    folder: Path, library: str, target: str
) -> None:
    Tokenizer.train_from_iterator(TEXTS, 300).save(folder / "tok.json")
    code = f"import sys; sys.modules[{library!r}] = None\nfrom bpetite.cli import main\nmain(sys.argv[1:])"
    command = ["convert", folder / "tok.json", folder / "unchecked" / target, "--check"]
    (folder / "unchecked").mkdir(exist_ok=True)
    ran = subprocess.run(
        [sys.executable, "-c", code, *map(str, command)],
        capture_output=True,
        check=False,
        text=True,
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    assert f"this needs the package {library}: pip install {library}" in ran.stderr
    assert not (folder / "unchecked" / target).exists()


def test_without_an_extra_the_message_names_it(folder: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"text": ["a"]}), folder / "rows.parquet")
    hide = "import sys; sys.modules[{!r}] = None\nfrom bpetite.cli import main\nmain(sys.argv[1:])"
    for module, extra, arguments in (
        ("ray", "bpetite[ray]", ("--input", folder / "b.txt", "--cluster", "local")),
        ("pyarrow", "bpetite[corpus]", ("--input", folder / "rows.parquet")),
        ("fsspec", "bpetite[corpus]", ("--input", "memory://x")),
    ):
        command = ["count", *map(str, arguments), "--output", str(folder / "x.parquet")]
        ran = subprocess.run(
            [sys.executable, "-c", hide.format(module), *command],
            capture_output=True,
            check=False,
            text=True,
        )
        assert ran.returncode == 1
        assert extra in ran.stderr
        assert "Traceback" not in ran.stderr


def test_too_little_memory_for_counts_names_the_option_that_needs_less(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def short(*_: object, **__: object) -> None:
        raise MemoryError("not enough memory: 5 bytes could not be allocated")

    counts, output = str(folder / "c.parquet"), str(folder / "out")
    done("count", "--input", folder / "b.txt", "--output", counts, "--quiet")
    monkeypatch.setattr(Counts, "_with_inputs", short)
    monkeypatch.setattr(Counts, "load", short)
    training = ["--vocab-size", "300", "--output", output]
    for command in (
        ["count", "--input", counts, "--output", output],
        ["merge-counts", "--counts", counts, "--output", output],
        ["train", "--counts", counts, *training],
        ["train", "--input", counts, *training],
    ):
        assert cli.run(command) == 1
        assert (
            "5 bytes could not be allocated; a (smaller) --memory-limit keeps"
            in capsys.readouterr().err
        )
