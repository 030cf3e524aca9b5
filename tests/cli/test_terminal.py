"""The command line as a person meets it: in a terminal, with help, colours and progress."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from bpetite import Tokenizer
from bpetite.cli import COMMANDS as NAMES
from bpetite.cli import GROUPS, help_text, parser_of
from encoders import CORPUS

pty = pytest.importorskip("pty", reason="terminals as POSIX has them", exc_type=ImportError)

COMMANDS = {name: parser_of(name) for name in NAMES}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("terminal")
    (folder / "corpus.txt").write_text(CORPUS * 50, "utf-8")
    Tokenizer.train(CORPUS, 400).save(folder / "tok.json")
    return folder


def bpetite(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bpetite", *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False
    )


def in_terminal(folder: Path, *arguments: str, **environment: str) -> tuple[int, str]:
    """Run the command with stdin, stdout and stderr on a terminal; return its exit code and what it wrote."""
    master, slave = pty.openpty()
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("NO_COLOR", "TERM", "COLUMNS")
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "bpetite", *arguments],
        cwd=folder,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**kept, "TERM": "xterm-256color", **environment},
    )
    os.close(slave)
    written = b""
    with contextlib.suppress(OSError):  # which Linux raises when the other side is closed
        while piece := os.read(master, 65536):
            written += piece
    os.close(master)
    return process.wait(), written.decode("utf-8", "replace").replace("\r\n", "\n")


# Help
# ----------------------------------------------------------------------------------------------------


def test_help_lists_every_command_in_a_group_by_its_first_sentence() -> None:
    shown = help_text()
    for title, commands in GROUPS.items():
        assert f"\n{title}\n" in shown
        for name in commands:
            about = COMMANDS[name].description
            assert about
            first_sentence = re.escape(about.partition("\n")[0].split(". ")[0].rstrip("."))
            assert re.search(rf"^  {name} +{first_sentence}$", shown, re.MULTILINE), name
    assert set(COMMANDS) >= {"train", "demo", "encode", "decode", "inspect", "view", "report"}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_example_in_the_help_is_a_command_that_exists(name: str) -> None:
    shown = COMMANDS[name].format_help()
    examples = re.findall(
        r"^  (?:.*\| )?(bpetite [a-z].*)",
        shown.split("examples:\n")[1].split("\n\n")[0],
        re.MULTILINE,
    )
    assert examples, name
    for example in examples:
        words = shlex.split(example.split(" | ")[0].split(')"')[0], comments=True)
        assert COMMANDS[words[1]].parse_args(words[2:])


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_a_terminal_of_80_columns(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for line in [*parser_of(name).format_help().splitlines(), *help_text().splitlines()]:
        assert len(line) < 80, line


def test_the_same_option_has_the_same_words_everywhere() -> None:
    helps: dict[str, set[str | None]] = {}
    for command in COMMANDS.values():
        for action in command._actions:
            for flag in action.option_strings:
                helps.setdefault(flag, set()).add(action.help)
    for flag in ("--quiet", "--json", "--no-color", "--force", "--help"):
        assert len(helps[flag]) == 1, flag


def test_nothing_given_is_answered_with_help(folder: Path) -> None:
    done = bpetite(folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, help_text(), "")


def test_what_was_probably_meant_is_told(folder: Path) -> None:
    done = bpetite(folder, "trian")
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no command 'trian'; did you mean train?" in done.stderr


def test_the_version_is_told(folder: Path) -> None:
    assert re.fullmatch(r"bpetite \d+\.\d+\.\d+\S*\n", bpetite(folder, "--version").stdout)


# In a terminal
# -------------------------------------------------------------------------------------------


def test_tokens_are_coloured_in_a_terminal_only(folder: Path) -> None:
    show = ("encode", "--model", "tok.json", "--text", "the fox<|endoftext|>", "--show")
    code, shown = in_terminal(folder, *show)
    assert code == 0
    assert "\x1b[38;5;16;48;5;153m" in shown
    plain = bpetite(folder, *show).stdout
    assert "\x1b" not in plain
    assert plain.startswith("t|he| f|ox|<|endoftext|>\n")
    for no_colours in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert in_terminal(folder, *show, **no_colours) == (0, plain)
    assert in_terminal(folder, *show, "--no-color") == (0, plain)


def test_a_terminal_sees_a_live_bar_with_rate_and_time_left(folder: Path, tmp_path: Path) -> None:
    train = (
        "train",
        "--input",
        "corpus.txt",
        "--vocab-size",
        "600",
        "--output",
        str(tmp_path / "t.json"),
    )
    code, shown = in_terminal(folder, *train)
    assert code == 0
    assert "merging" in shown
    assert "Training complete: merges=" in shown
    assert re.search(r"^requested vocab size +600\r?$", shown, re.MULTILINE)
    code, shown = in_terminal(folder, *train, "--force", "--quiet", "--json")
    assert code == 0
    assert json.loads(shown)["requested_vocab_size"] == 600
    assert len(shown.strip().splitlines()) == 1


def test_what_is_shown_and_told_fits_a_terminal_of_80_columns(folder: Path, tmp_path: Path) -> None:
    many = [f"<|reserved_{number}|>" for number in range(99)]
    learned = (
        "--vocab-size",
        "600",
        "--output",
        str(tmp_path / "t.json"),
        "--special-token",
        *many,
    )
    (folder / "specials.txt").write_text(" ".join(many))
    ids = ("--output", str(tmp_path / "ids"))
    commands: list[tuple[str, ...]] = [
        ("train", "--input", "corpus.txt", *learned),
        ("inspect", str(tmp_path / "t.json")),
        ("convert", str(tmp_path / "t.json"), str(tmp_path / "tokenizer.json")),
        ("encode-corpus", str(tmp_path / "t.json"), "--input", "specials.txt", *ids),
        ("stats", "tok.json", "--input", "corpus-of-long-name.txt"),
    ]
    (folder / "corpus-of-long-name.txt").write_text(CORPUS)
    for command in commands:
        code, shown = in_terminal(folder, *command, COLUMNS="80")
        assert code == 0
        for line in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown).splitlines():
            assert len(line.split("\r")[-1]) <= 80 or str(tmp_path) in line, line


def test_a_person_is_told_that_stdin_is_read_and_what_is_wrong_within_80_columns(
    folder: Path,
) -> None:
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "bpetite", "encode", "tok.json"]
    process = subprocess.Popen(command, cwd=folder, stdin=slave, stdout=-1, stderr=-1)
    os.write(master, b"the\n\x04")  # Ctrl-D
    ids, told = process.communicate(timeout=60)
    assert (
        told.decode()
        == "reading from the terminal; Ctrl-D (on Windows, Ctrl-Z and Enter) ends it\n"
    )
    assert json.loads(ids) == Tokenizer.load(folder / "tok.json").encode("the\n")
    os.close(master)
    os.close(slave)
    code, shown = in_terminal(
        folder, "train", "--input", "corpus.txt", "--vocab-size", "lots", COLUMNS="80"
    )
    assert code == 2
    assert "usage: bpetite train" in shown
    assert all(len(line) <= 80 for line in shown.splitlines()), shown


def test_ctrl_c_ends_the_viewer_quietly(folder: Path) -> None:
    command = [sys.executable, "-m", "bpetite", "view", "tok.json", "--no-browser"]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    with urllib.request.urlopen(address, timeout=60) as page:
        assert b"<title>bpetite</title>" in page.read()
    process.send_signal(signal.SIGINT)
    rest, messages = process.communicate(timeout=60)
    assert (process.returncode, rest) == (0, "")
    assert messages == "Served to this machine only, at this secret address; Ctrl-C ends it.\n"


def test_the_viewer_waits_for_no_browser_and_gives_it_an_address_that_works_once(
    folder: Path, tmp_path: Path
) -> None:
    """A browser such as w3m does not return before it is closed, and its arguments are seen by all users."""
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(
        f'#!/bin/sh\necho "$1" > {opened}.part; mv {opened}.part {opened}; exec sleep 600\n'
    )
    browser.chmod(0o755)
    environment = {**os.environ, "BROWSER": f"{browser} %s"}
    command = [sys.executable, "-m", "bpetite", "view", "tok.json", "--quiet"]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=-1,
        stderr=-1,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    printed = process.stdout.readline().strip()
    with urllib.request.urlopen(printed, timeout=60) as page:
        assert b"<title>bpetite</title>" in page.read()
    while not opened.exists():
        time.sleep(0.01)
    once = opened.read_text().strip()
    assert once != printed
    with urllib.request.urlopen(once, timeout=60) as page:
        assert page.url == printed
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(once, timeout=60)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def test_a_viewer_that_cannot_start_says_why(folder: Path) -> None:
    for arguments, words in (
        (("nothing.json",), "nothing.json: No such file"),
        (("tok.json", "--port", "70000"), "between 0 and 65535"),
    ):
        done = bpetite(folder, "view", *arguments, "--no-browser")
        assert (done.returncode, done.stdout) == (1, "")
        assert words in done.stderr


# Inspect
# -------------------------------------------------------------------------------------------------


def test_inspect_shows_rules_sizes_and_merges(folder: Path) -> None:
    tok = Tokenizer.load(folder / "tok.json")
    shown = bpetite(folder, "inspect", "tok.json").stdout
    size = "size         401 tokens: 400 and '<|endoftext|>'"
    for words in (
        "dialect      bpetite",
        "pattern      gpt2",
        size,
        "144 merged, 1 special",
        tok.fingerprint,
    ):
        assert words in shown
    facts = json.loads(bpetite(folder, "inspect", "tok.json", "--json").stdout)
    assert facts["rules"] == tok.dialect.to_dict()
    assert facts["vocab_size"] == tok.vocab_size
    longest = [bytes.fromhex(token["bytes"]) for token in facts["longest_tokens"]]
    assert len(longest[0]) == max(map(len, tok.vocabulary.tokens.values()))
    ranks = [merge["rank"] for merge in facts["first_merges"] + facts["last_merges"]]
    assert ranks == [*range(5), *range(139, 144)]


def test_inspect_shows_how_a_token_is_built(folder: Path) -> None:
    tok = Tokenizer.load(folder / "tok.json")
    token_id = max(tok.vocabulary.tokens, key=lambda i: (len(tok.vocabulary.tokens[i]), i))
    shown = bpetite(folder, "inspect", "tok.json", "--token", str(token_id)).stdout
    facts = json.loads(
        bpetite(folder, "inspect", "tok.json", "--token", str(token_id), "--json").stdout
    )
    assert facts["steps"][-1]["ids"] == [token_id]
    assert f"made by merge {facts['rank']}" in shown
    assert len(shown.splitlines()) == 6 + len(facts["steps"])
    special = tok.special_tokens["<|endoftext|>"]
    assert (
        "a special token" in bpetite(folder, "inspect", "tok.json", "--token", str(special)).stdout
    )
    assert "no merge makes it" in bpetite(folder, "inspect", "tok.json", "--token", "97").stdout
    unknown = bpetite(folder, "inspect", "tok.json", "--token", "99999")
    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert "unknown id 99999" in unknown.stderr
