"""The command line as a person meets it: in a terminal, with help, colours, progress and completion."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from bpetite import Tokenizer
from bpetite.cli import _GROUPS, help_text, parser_of
from bpetite.cli.commands.completion import _SCRIPTS, words_after
from encoders import CORPUS

pty = pytest.importorskip("pty", reason="terminals as POSIX has them", exc_type=ImportError)

COMMANDS = {name: parser_of(name) for commands in _GROUPS.values() for name in commands}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("terminal")
    (folder / "corpus.txt").write_text(CORPUS * 50, "utf-8")
    Tokenizer.train(CORPUS, 400).save(folder / "tok.json")
    return folder


def bpetite(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bpetite", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False)


def in_terminal(folder: Path, *arguments: str, **environment: str) -> tuple[int, str]:
    """Run the command with stdin, stdout and stderr on a terminal; return its exit code and what it wrote."""
    master, slave = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM", "COLUMNS")}
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


# Help ----------------------------------------------------------------------------------------------------


def test_help_lists_every_command_in_a_group_by_its_first_sentence() -> None:
    shown = help_text()
    for title, commands in _GROUPS.items():
        assert f"\n{title}\n" in shown
        for name, about in commands.items():
            first_sentence = re.escape(about.split(". ")[0].rstrip("."))
            assert re.search(rf"^  {name} +{first_sentence}$", shown, re.MULTILINE), name
            assert COMMANDS[name].description == about
    assert set(COMMANDS) >= {"train", "demo", "encode", "decode", "inspect", "view", "report", "completion"}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_example_in_the_help_is_a_command_that_exists(name: str) -> None:
    shown = COMMANDS[name].format_help()
    examples = re.findall(r"bpetite [a-z].*", shown[shown.index("examples:") :])
    assert examples, name
    for example in examples:
        words = shlex.split(example.split(" | ")[0].split(')"')[0], comments=True)
        assert COMMANDS[words[1]].parse_args(words[2:])


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


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["trian"], "there is no command 'trian'; did you mean train?"),
        (["train", "--vocab-sise", "300"], "there is no --vocab-sise; did you mean --vocab-size?"),
        (["decode", "--model", "tok.json", "--idz", "5"], "there is no --idz; did you mean --ids?"),
        (["encode", "--model", "tok.json", "--txet=a"], "there is no --txet; did you mean --text?"),
    ],
)
def test_what_was_probably_meant_is_told(folder: Path, arguments: list[str], meant: str) -> None:
    done = bpetite(folder, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert meant in done.stderr


def test_the_version_is_told(folder: Path) -> None:
    assert re.fullmatch(r"bpetite \d+\.\d+\.\d+\S*\n", bpetite(folder, "--version").stdout)


# In a terminal -------------------------------------------------------------------------------------------


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
    train = ("train", "--input", "corpus.txt", "--vocab-size", "600", "--output", str(tmp_path / "t.json"))
    code, shown = in_terminal(folder, *train)
    assert code == 0
    assert "merging" in shown
    assert "Training complete: merges=" in shown
    assert json.loads(shown.strip().splitlines()[-1])["requested_vocab_size"] == 600
    code, shown = in_terminal(folder, *train, "--force", "--quiet")
    assert code == 0
    assert len(shown.strip().splitlines()) == 1


def test_ctrl_c_ends_the_viewer_quietly(folder: Path) -> None:
    command = [sys.executable, "-m", "bpetite", "view", "tok.json", "--no-browser"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    with urllib.request.urlopen(address, timeout=60) as page:
        assert b"<title>bpetite</title>" in page.read()
    process.send_signal(signal.SIGINT)
    rest, messages = process.communicate(timeout=60)
    assert (process.returncode, rest) == (0, "")
    assert messages == "Served to this machine only; Ctrl-C ends it.\n"


def test_a_viewer_that_cannot_start_says_why(folder: Path) -> None:
    for arguments, words in (
        (("nothing.json",), "nothing.json: No such file"),
        (("tok.json", "--port", "70000"), "between 0 and 65535"),
    ):
        done = bpetite(folder, "view", *arguments, "--no-browser")
        assert (done.returncode, done.stdout) == (1, "")
        assert words in done.stderr


# Inspect -------------------------------------------------------------------------------------------------


def test_inspect_shows_rules_sizes_and_merges(folder: Path) -> None:
    tok = Tokenizer.load(folder / "tok.json")
    shown = bpetite(folder, "inspect", "tok.json").stdout
    for words in ("dialect      bpetite", "pattern      gpt2", "144 merged, 1 special", tok.fingerprint):
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
    facts = json.loads(bpetite(folder, "inspect", "tok.json", "--token", str(token_id), "--json").stdout)
    assert facts["steps"][-1]["ids"] == [token_id]
    assert f"made by merge {facts['rank']}" in shown
    assert len(shown.splitlines()) == 5 + len(facts["steps"])
    special = tok.special_tokens["<|endoftext|>"]
    assert "a special token" in bpetite(folder, "inspect", "tok.json", "--token", str(special)).stdout
    assert "no merge makes it" in bpetite(folder, "inspect", "tok.json", "--token", "97").stdout
    unknown = bpetite(folder, "inspect", "tok.json", "--token", "99999")
    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert "unknown id 99999" in unknown.stderr


# Completion ----------------------------------------------------------------------------------------------


COMPLETED = [
    ("bpetite ins", "inspect"),
    ("bpetite --vers", "--version"),
    ("bpetite train --vo", "--vocab-size"),
    ("bpetite train --dialect cs", "cs336"),
    ("bpetite train --pattern dee", "deepseek-v3"),
    ("bpetite encode --model x --special er", "error"),
    ("bpetite completion f", "fish"),
    ("bpetite inspect corp", "corpus.txt"),
]
"""What is typed, and the word that a shell then completes it to."""


PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
"""Where the shells find the command."""


def completed(folder: Path, line: str) -> list[str]:
    """What bash offers to complete a line."""
    program = (
        f"{_SCRIPTS['bash']}\nCOMP_LINE={shlex.quote(line)}; COMP_POINT={len(line)}; "
        'set -e; _bpetite; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", program],
        cwd=folder,
        env={**os.environ, "PATH": PATH},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes_commands_options_and_values(folder: Path) -> None:
    for line, word in COMPLETED[:-1]:
        assert completed(folder, line) == [word]
    assert completed(folder, "bpetite encode --model x --special ") == ["parse", "text", "error"]
    assert completed(folder, "bpetite inspect corp") == []  # and then bash itself completes files
    assert completed(folder, "bpetite nothing --") == []
    assert _SCRIPTS["bash"].endswith("complete -o default -F _bpetite bpetite\n")


def typed_in_zsh(folder: Path, home: Path, lines: list[str]) -> list[str]:
    """The lines that zsh makes when the tab key is pressed, without any other set-up."""
    (home / "completion.zsh").write_text(_SCRIPTS["zsh"])
    master, slave = pty.openpty()
    environment = {**os.environ, "PATH": PATH, "TERM": "dumb", "HOME": str(home), "ZDOTDIR": str(home)}
    zsh = subprocess.Popen(
        ["zsh", "-f", "-i"], cwd=folder, stdin=slave, stdout=slave, stderr=slave, env=environment
    )
    os.close(slave)

    def until(end: bytes) -> bytes:
        written = b""
        while not written.endswith(end):
            assert select.select([master], [], [], 120)[0], written
            written += os.read(master, 1)
        return written

    found = []
    setup = (
        f"source {shlex.quote(str(home))}/completion.zsh; unsetopt zle_bracketed_paste; PS1=; "
        "told() { print -r - '<'$BUFFER'>'; BUFFER= }; zle -N told; bindkey '^X' told; print rea''dy\n"
    )
    try:
        os.write(master, setup.encode())
        until(b"ready\r\n")
        for line in lines:
            os.write(master, f"{line}\t\x18".encode())
            until(b"<")
            found.append(until(b">")[:-1].decode())
    finally:
        zsh.kill()
        zsh.wait()
        os.close(master)
    return found


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_completes_what_bash_does(folder: Path, tmp_path: Path) -> None:
    lines = typed_in_zsh(folder, tmp_path, [line for line, _ in COMPLETED])
    expected = [f"{line.rpartition(' ')[0]} {word}" for line, word in COMPLETED]
    assert [line.rstrip() for line in lines] == expected


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
def test_fish_completes_what_bash_does(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "completion.fish").write_text(_SCRIPTS["fish"])
    for line, word in COMPLETED:
        program = f"source {tmp_path}/completion.fish; complete -C {shlex.quote(line)}"
        done = subprocess.run(
            ["fish", "--no-config", "-c", program],
            cwd=folder,
            env={**os.environ, "PATH": PATH, "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == ""
        assert [offered.split("\t")[0] for offered in done.stdout.splitlines()] == [word]


def test_every_shell_gets_a_script(folder: Path) -> None:
    for shell in ("bash", "zsh", "fish"):
        assert bpetite(folder, "completion", shell).stdout == _SCRIPTS[shell]
    assert "bashcompinit" in _SCRIPTS["zsh"]


def test_every_option_of_every_command_is_completed() -> None:
    for name, command in COMMANDS.items():
        assert name in words_after("bpetite ")
        flags = {flag for action in command._actions for flag in action.option_strings}
        assert flags <= set(words_after(f"bpetite {name} "))
