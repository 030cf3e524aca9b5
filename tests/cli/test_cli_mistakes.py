"""Every command with every kind of mistake: a message that says what is wrong, and never a traceback."""

import argparse
import ast
import io
import re
import shutil
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from bpetite import Counts, Tokenizer, cli, corpus
from bpetite.corpus import Documents

TEXT = "the cat sat on the mat, the cat sat on the hat\n" * 20
HUGE = "9" * 30

GOOD: dict[str, list[str]] = {
    "train": ["--input", "c.txt", "--vocab-size", "270", "--output", "out.json", "--force"],
    "count": ["--input", "c.txt", "--output", "out.parquet", "--force"],
    "merge-counts": ["--counts", "c.counts", "--output", "out.counts", "--force"],
    "extend": [
        *("tok.json", "--input", "c.txt", "--add", "2"),
        *("--output", "out.json", "--map", "out.map.json", "--force"),
    ],
    "prune": [
        *("tok.json", "--input", "c.txt", "--vocab-size", "260"),
        *("--output", "out.json", "--map", "out.map.json", "--force"),
    ],
    "replace": [
        *("tok.json", "--input", "c.txt", "--number", "2"),
        *("--output", "out.json", "--map", "out.map.json", "--force"),
    ],
    "demo": [],
    "encode": ["--model", "tok.json", "--text", "the cat"],
    "decode": ["--model", "tok.json", "--ids", "97"],
    "fit": ["tok.json", "--tokens", "3", "--text", "the cat"],
    "chunks": ["tok.json", "--tokens", "3", "--overlap", "1", "--text", "the cat"],
    "encode-corpus": ["--model", "tok.json", "--input", "c.txt", "--output", "out.ids", "--resume"],
    "encode-column": [
        *("--model", "tok.json", "--input", "rows.parquet"),
        *("--output", "out.parquet", "--force"),
    ],
    "count-tokens": ["--model", "tok.json", "--input", "c.txt"],
    "verify": ["ids"],
    "convert": ["tok.json", "out.tokenizer.json", "--force"],
    "check": ["tok.json", "--input", "c.txt"],
    "bench": ["tok.json", "--input", "c.txt", "--libraries", "bpetite"],
    "inspect": ["tok.json"],
    "compare": ["tok.json", "tok.json", "--text", "the cat"],
    "explain": ["--input", "c.txt", "--merges", "m.txt"],
    "view": ["tok.json", "--no-browser"],
    "stats": ["--model", "tok.json", "--input", "c.txt"],
    "report": ["tok.json", "--input", "c.txt", "--output", "out.html", "--force"],
}
"""What each command does without a mistake."""

LEFT_OUT = {"demo", "view"}
"""Commands that are not run where nothing refuses the mistake: one takes long, one never ends."""

FILES: dict[str, bytes] = {
    "empty": b"",
    "bytes": bytes(range(256)),
    "latin.txt": b"caf\xe9 au lait",
    "null.json": b"null",
    "list.json": b"[]",
    "object.json": b"{}",
    "deep.json": b"[" * 5000,
    "surrogate.json": b'{"model": {"type": "BPE", "vocab": {"\\ud800": 0}, "merges": []}}',
    "cut.json": b'{"model": {"type": "BPE", "vocab": {"a": 0',
    "unigram.json": b'{"model": {"type": "Unigram", "vocab": []}}',
    "bad.jsonl": b'{"text": "a"}\n{"text": 1}\n',
    "cut.jsonl": b'{"text": "a',
    "bad.gz": b"\x1f\x8b\x08\x00" + b"x" * 40,
    "bad.zst": b"\x28\xb5\x2f\xfd" + b"x" * 40,
    "bad.parquet": b"PAR1" + b"x" * 40 + b"PAR1",
    "bad.gguf": b"GGUF" + b"\xff" * 40,
    "bad.model": b"\x0a\xff\xff\xff\xff\x0f",
    "bad.tiktoken": b"YQ== 0\nYQ== x\n",
    "bad.zip": b"PK\x03\x04" + b"x" * 40,
    "nul\n.txt": b"a\0b",
    "foreign.txt": "日 本\n".encode(),
    "three.txt": b"a b c\n",
    "one.txt": b"a\n",
    "ids.json": b"[[1, 2], [999, 3]]",
    "numbers.json": b"[1, 2]",
    "pairs.json": b'[["a"], ["a", "b", "c"]]',
    "mixed.json": b'[["a", 1], ["a", "b"]]',
    "surrogates.json": b'[["\\ud800", "a"]]',
    "python.txt": b"[(b'a', " + b"(" * 500,
    "huge.json": b"[[" + HUGE.encode() + b", 1]]",
}
PATHS = [
    *FILES,
    "missing",
    "missing/",
    "",
    ".",
    "folder",
    "*.nothing",
    "[",
    "c.txt/below",
    "/dev/fd/999",
    "a\udcff",
    "x" * 5000,
]
SOURCES = [
    *PATHS,
    "c.txt:0",
    "c.txt:1/00",
    "c.txt:0/0",
    "x.txt:1/00",
    "c.txt:" + HUGE,
    "c.txt:1/" + HUGE * 3,
    ":2",
    "http://127.0.0.1:1/a.txt",
    "http://[",
    "nothing://a",
    "memory://missing",
    "zip://a.txt::bad.zip",
    "zip://::missing.zip",
    "file:///missing",
    "://",
    "::",
]
SIZES = ["", "x", "0", "-1", "1XB", "1e999GB", "nan", "1", HUGE, HUGE * 200 + "GB", "٣GB"]
NUMBERS = ["", "x", "0", "-1", "1.5", "1e9", HUGE, "9" * 5000, "٣", "²"]
PATTERNS = [
    "",
    "(",
    "[",
    "gpt3",
    "a{999999999}",
    "(?<x",
    r"\K",
    r"(a)\2",
    "a\udcff",
    "(?P<n>a)(?P<n>b)",
    "x" * 20_000,
]
TEXTS = ["", "a\udcff", "\ud800", "\0", "<|x|>=1", "<|x|>=" + HUGE, "x" * 5000]
SHARES = ["", "x", "0", "1", "2", "-1%", "101%", "nan", "inf", "1/0", "1e999%", HUGE + "%"]

BAD: dict[str, list[str]] = {
    "MODEL": PATHS,
    "IN": PATHS,
    "PATH": SOURCES,
    "DIR": PATHS,
    "FILE": PATHS,
    "OUT": [
        "",
        "missing/out.json",
        "folder",
        "/dev/null",
        "/proc/out.json",
        "a\udcff/b",
        "x" * 5000,
    ],
    "SIZE": SIZES,
    "TOKENS": SIZES,
    "N": NUMBERS,
    "TOKEN": [*NUMBERS, *TEXTS],
    "P": ["", "x", "-1", "1.5", "nan", "inf", "1e999", HUGE, "٣", "0,5"],
    "PATTERN": PATTERNS,
    "TEXT": TEXTS,
    "TEXT[=ID]": TEXTS,
    "T": TEXTS,
    "S": TEXTS,
    "F": TEXTS,
    "C": TEXTS,
    "SHARE": SHARES,
    "ADDRESS": ["", "127.0.0.1:1", "nothing://a", "x"],
    "choice": ["", "x", "a\udcff"],
    "NAME": ["", "x", "a\udcff"],
}
"""Mistakes, by the name that help gives the argument."""

SLOW = {"ADDRESS"}
"""Arguments whose mistakes are found by Ray after many seconds; `test_corpus_cluster.py` has them."""


def arguments_of(command: str) -> Iterator[tuple[argparse.Action, str]]:
    """Every argument of a command, with the name of its kind."""
    for action in cli.parser_of(command)._actions:
        if isinstance(action.nargs, int) and action.nargs == 0:
            continue
        metavar = str(action.metavar or action.dest.upper())
        is_written = action.dest in ("output", "map")
        yield action, "choice" if action.choices else "OUT" if is_written else metavar


CASES = [
    pytest.param(
        command, action, kind, id=f"{command} {(action.option_strings or [action.dest])[0]}"
    )
    for command in GOOD
    for action, kind in arguments_of(command)
    if kind not in SLOW
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mistakes")
    (folder / "folder").mkdir()
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    (folder / "c.txt").write_text(TEXT)
    (folder / "m.txt").write_text("t h\n")
    tokenizer = Tokenizer.train(TEXT, 270)
    tokenizer.save(folder / "tok.json")
    Counts.from_iterator([TEXT]).save(folder / "c.counts")
    pyarrow.parquet.write_table(pyarrow.table({"text": [TEXT]}), folder / "rows.parquet")
    corpus.encode(tokenizer, Documents([TEXT]), folder / "ids")
    return folder


def ran(command: list[str], monkeypatch: pytest.MonkeyPatch) -> tuple[int, str, str]:
    """Run a command in this process; return its exit code, and what it printed on stdout and stderr."""
    printed, told = io.BytesIO(), io.BytesIO()
    with monkeypatch.context() as streams:
        streams.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"the cat")))
        streams.setattr(sys, "stdout", io.TextIOWrapper(printed, write_through=True))
        streams.setattr(
            sys, "stderr", io.TextIOWrapper(told, errors="backslashreplace", write_through=True)
        )
        try:
            code = cli.run(command)
        except SystemExit as left:
            code = int(left.code or 0)
        return code, printed.getvalue().decode(), told.getvalue().decode()


def with_mistake(command: str, action: argparse.Action, mistake: str) -> list[str]:
    """A command line in which one argument is wrong."""
    good = list(GOOD[command])
    if action.option_strings:
        name = action.option_strings[0]
        if name in good:
            place = good.index(name)
            del good[place : place + 2]
        elif name == "--model":
            del good[0]
        others = {"--text": "--input", "--input": "--text", "--counts": "--input"}
        if (other := others.get(name)) in good and command in ("encode", "compare", "train"):
            place = good.index(other)
            del good[place : place + 2]
        if name == "--split":
            good += ["--hold-out", "1%"]
        return [command, *good, f"{name}={mistake}"]
    good = good[good[0] == "--model" :]
    return [command, *(mistake if at == 0 else word for at, word in enumerate(good))]


@pytest.mark.parametrize(("command", "action", "kind"), CASES)
def test_a_mistake_gives_a_message(
    command: str,
    action: Any,
    kind: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    if command in LEFT_OUT:
        monkeypatch.setattr("bpetite.show.viewer.server.Viewer.serve_forever", lambda _: None)
        monkeypatch.setattr(
            "bpetite.cli.commands.demo.standard_library", lambda: [TEXT], raising=False
        )
    failed = 0
    for mistake in BAD[kind]:
        line = with_mistake(command, action, mistake)
        with warnings.catch_warnings():
            code, printed, told = ran(line, monkeypatch)
        shown = f"{line!r:.300}: {told[-2000:]}"
        assert code in (0, 1, 2), shown
        assert "Traceback" not in told, shown
        assert "defect" not in told, shown
        if code == 1:
            failed += 1
            _, _, message = f"\n{told}".rpartition(f"\nbpetite {command}: ")
            assert len(message.split()) >= 3, shown
            assert not printed, shown


def test_every_argument_has_a_kind_of_mistakes() -> None:
    assert set(GOOD) == set(cli.COMMANDS)
    assert {kind for command in GOOD for _, kind in arguments_of(command)} <= BAD.keys()


def test_the_commands_themselves_are_right(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    shutil.rmtree(
        "out.ids", ignore_errors=True
    )  # a mistake may have begun it, with another size of shards
    for command in GOOD.keys() - LEFT_OUT:
        code, _, told = ran([command, *GOOD[command]], monkeypatch)
        assert code == 0, told


class Panic(BaseException):
    """As PyO3's, it is no `Exception`."""


@pytest.mark.parametrize(
    "error", [AssertionError("what"), AttributeError("x"), KeyError("日"), Panic("index")]
)
def test_a_defect_says_that_it_is_one(
    error: BaseException, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise error

    monkeypatch.chdir(folder)
    monkeypatch.setattr("bpetite.cli.shared.text_of", broken)
    code, printed, told = ran(["encode", "--model", "tok.json"], monkeypatch)
    assert (code, printed) == (1, "")
    assert told.startswith(f"bpetite encode: {type(error).__name__}: ")
    assert "of test_cli_mistakes.py): a defect of bpetite, please report it" in told
    assert told.count("\n") == 1


NAMED: dict[str, tuple[list[str], str]] = {
    "min_count must be": (["train", *GOOD["train"], "--min-count=0"], "--min-count must be"),
    "max_words must be": (["train", *GOOD["train"], "--max-words=0"], "--max-words must be"),
    "without: ": (["train", *GOOD["train"], "--without="], "--without: an empty text"),
    "vocab_size must be": (["train", *GOOD["train"], "--vocab-size=9"], "--vocab-size must be"),
    "memory_limit: ": (["train", *GOOD["train"], "--training-memory=1XB"], "--training-memory: "),
    "shard_size must be": (
        ["encode-corpus", *GOOD["encode-corpus"], "--shard-size=0"],
        "--shard-size must be",
    ),
    "hold_out must be": (["stats", *GOOD["stats"], "--hold-out=2"], "--hold-out must be"),
    "split='held": (
        ["stats", *GOOD["stats"], "--split=held-out"],
        "--split held-out needs --hold-out",
    ),
    "separator must": (["stats", *GOOD["stats"], "--separator="], "--separator must not be empty"),
    "append_special: ": (
        ["encode-corpus", *GOOD["encode-corpus"], "--append-special=<|x|>"],
        "--append-special: '<|x|>'",
    ),
    "resume=True": (
        ["encode-corpus", "--model", "tok.json", "--input", "c.txt", "--output", "begun"],
        "--resume continues a stopped run",
    ),
    "samples must be": (["verify", "ids", "--samples=-1"], "--samples must be"),
    "pattern=": (["inspect", "bad.tiktoken"], "give it as --pattern"),
}


@pytest.mark.parametrize("in_python", NAMED)
def test_messages_name_options_where_those_of_python_name_arguments(
    in_python: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    (folder / "begun").mkdir(exist_ok=True)
    (folder / "begun" / "a").write_text("a")
    line, expected = NAMED[in_python]
    code, _, told = ran(line, monkeypatch)
    assert code == 1
    assert expected in told
    assert f" {in_python}" not in told


def test_only_the_command_line_names_options() -> None:
    package = Path(cli.__file__).parent.parent
    for path in package.rglob("*.py"):
        if "cli" in path.relative_to(package).parts:
            continue
        tree = ast.parse(path.read_text("utf-8"))
        documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        texts = [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
            if id(node) not in documentation
        ]
        assert not [text for text in texts if re.search(r"(^| |\()--[a-z]", text)], path


@pytest.mark.parametrize(
    ("mistake", "told_of"),
    [
        (
            "--special-token=<\udcff>",
            r"argument --special-token: not valid UTF-8 at byte 1: b'<\xff>'",
        ),
        ("--pattern=\udcff", r"argument --pattern: not valid UTF-8 at byte 0: b'\xff'"),
        ("--separator=ab\udcff", r"argument --separator: not valid UTF-8 at byte 2: b'ab\xff'"),
        ("--input=", "path 1 of 2 is empty"),
        (
            "--input=c.txt:" + HUGE,
            f"c.txt: weight {HUGE}: a count times {HUGE} does not fit 64 bits",
        ),
    ],
)
def test_a_message_has_the_place_and_the_value(
    mistake: str, told_of: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    code, _, told = ran(["count", *GOOD["count"], mistake], monkeypatch)
    assert code in (1, 2)
    assert told_of in told
