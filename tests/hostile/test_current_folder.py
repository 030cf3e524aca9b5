"""The current folder may have come from strangers, with a model in it: nothing there is executed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import bpetite
from bpetite import Tokenizer
from encoders import CORPUS

PACKAGE = Path(bpetite.__file__).parent

SCRIPT = "import sys\nfrom {module} import {function}\nsys.exit({function}())\n"
"""What pip writes for an entry of `project.scripts`."""

MODULES = (
    "numpy",
    "regex",
    "rich",
    "tokenizers",
    "tiktoken",
    "pyarrow",
    "fsspec",
    "ray",
    "bpetite",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a model, a text, and modules that leave a trace when they are imported."""
    folder = tmp_path / "downloaded"
    folder.mkdir()
    Tokenizer.train(CORPUS, 300).save(folder / "tok.json")
    (folder / "c.txt").write_text(CORPUS, "utf-8")
    for name in MODULES[:-1]:
        trace = f"open({str(folder / 'executed')!r}, 'a').write({name!r})\n"
        (folder / f"{name}.py").write_text(trace + "raise SystemExit('executed')\n")
    return folder


def entry() -> tuple[str, str]:
    """The module and the function of the command."""
    lines = (PACKAGE.parent.parent / "pyproject.toml").read_text("utf-8")
    match = re.search(r'^bpetite = "([\w.]+):(\w+)"$', lines, re.MULTILINE)
    assert match
    return match[1], match[2]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    module, function = entry()
    path = tmp_path / "bin" / "bpetite"
    path.parent.mkdir()
    path.write_text(SCRIPT.format(module=module, function=function))
    return path


def check(folder: Path, *command: str, **environment: str) -> None:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not (folder / "executed").exists(), (folder / "executed").read_text()
    assert done.returncode == 0, done.stderr


COMMANDS = {
    "train": ("train", "--input", "c.txt", "--vocab-size", "280", "--output", "t.json"),
    "encode": ("encode", "tok.json", "--text", "the cat", "--show"),
    "bench": ("bench", "tok.json", "c.txt", "--libraries", "bpetite", "tokenizers"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_imports_nothing_from_the_current_folder(
    command: str, folder: Path, script: Path
) -> None:
    check(folder, str(script), *COMMANDS[command])


@pytest.mark.parametrize("command", COMMANDS)
def test_nor_does_the_module_that_is_the_command(command: str, folder: Path) -> None:
    check(folder, "-m", "bpetite", *COMMANDS[command])


def test_nor_do_the_workers_of_a_cluster(folder: Path, script: Path) -> None:
    count = ("count", "--input", "c.txt", "--cluster", "local", "--output", "c.counts")
    check(folder, str(script), *count)


def test_every_process_of_python_starts_without_the_current_folder() -> None:
    starts = []
    for path in PACKAGE.rglob("*.py"):
        source = path.read_text("utf-8")
        assert not re.search(r"\bmultiprocessing\b|\bos\.(system|popen|spawn|exec)", source), path
        starts += re.findall(r"\[\s*sys\.executable,\s*\"(-\w)\"", source)
        assert source.count("sys.executable") == len(
            re.findall(r"\[\s*sys\.executable,\s*\"-P\"", source)
        ), path
    assert starts == ["-P"]


# Ctrl-C
# --------------------------------------------------------------------------------------------------

INTERRUPTED = """
import atexit, os, signal, sys

class Interrupts:
    "Sends Ctrl-C when the module of a number is looked for, after the command has begun."
    looked_for = 0

    def find_spec(self, name, path=None, target=None):
        if name not in {first!r}:
            Interrupts.looked_for += 1
            if Interrupts.looked_for == {number}:
                os.kill(os.getpid(), signal.SIGINT)

sys.argv = ["bpetite", *{arguments!r}]
sys.meta_path.insert(0, Interrupts())
atexit.register(lambda: print("imports:", Interrupts.looked_for, file=sys.stderr))
from {module} import {function}
{function}()
"""


def interrupted(number: int, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command that receives Ctrl-C at the import of a number."""
    module, function = entry()
    first = ("bpetite", module)
    arguments = [
        "train",
        "--input",
        "c.txt",
        "--vocab-size",
        "280",
        "--output",
        "t.json",
        "--force",
    ]
    code = INTERRUPTED.format(
        first=first, number=number, arguments=arguments, module=module, function=function
    )
    return subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot send itself Ctrl-C there")
def test_ctrl_c_is_answered_quietly_from_the_first_import_to_the_last(folder: Path) -> None:
    whole = interrupted(0, folder)
    assert whole.returncode == 0, whole.stderr
    imports = int(whole.stderr.rpartition("imports: ")[2])
    assert imports > 50
    for number in [1, 2, 3, *range(4, imports, imports // 16), imports]:
        done = interrupted(number, folder)
        assert (done.returncode, done.stdout) == (130, ""), (number, done.stderr)
        told = [line for line in done.stderr.splitlines() if not line.startswith("imports: ")]
        assert told[-1] == "bpetite: interrupted", (number, done.stderr)
        assert "Traceback" not in done.stderr
        assert "Exception ignored" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX's signals")
def test_ctrl_c_that_was_ignored_stays_ignored(folder: Path) -> None:
    """A shell starts what runs in its background so."""
    module, function = entry()
    code = f"""
import atexit, signal, sys
from {module} import {function}
sys.argv = ["bpetite", "train", "--input", "c.txt", "--vocab-size", "280", "--output", "t.json"]
atexit.register(lambda: print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN))
{function}()
"""
    command = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", sys.executable, "-P", "-c", code]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("\nTrue\n")
