"""What is not needed is not imported: each run loads what it uses, and starts in so little time."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
import typing
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import bpetite
from bpetite import Tokenizer, dialect

SLOW = {"numpy", "pyarrow", "regex", "rich"}
"""Modules whose import takes many milliseconds."""

REPORT = "\nimport sys\nprint(*sys.modules, file=sys.stderr)"

COMMAND = """
from bpetite.cli import main
try:
    main({arguments})
except SystemExit as end:
    assert not end.code, end.code
"""


def loaded(code: str, folder: Path) -> set[str]:
    """The modules that a process has loaded after it has run some code."""
    command = [sys.executable, "-c", code + REPORT]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=True
    )
    return set(done.stderr.splitlines()[-1].split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("startup")
    (folder / "corpus.txt").write_text("low lower lowest", "utf-8")
    (folder / "large.txt").write_text("low lower lowest " * (1 << 15), "utf-8")
    Tokenizer.train("low lower lowest", 260).save(folder / "tok.json")
    return folder


def test_importing_the_package_imports_nothing_that_takes_time(folder: Path) -> None:
    assert loaded("import bpetite", folder) & (SLOW | {"bpetite._engine", "argparse"}) == set()


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["train", "--help"]])
def test_help_needs_little(folder: Path, arguments: list[str]) -> None:
    there = loaded(COMMAND.format(arguments=arguments), folder)
    assert "argparse" in there
    assert there & SLOW == set()


@pytest.mark.parametrize("name", bpetite.__all__)
def test_every_public_name_is_there_when_it_is_asked_for(folder: Path, name: str) -> None:
    assert "bpetite" in loaded(f"import bpetite\nassert bpetite.{name} is bpetite.{name}", folder)
    assert loaded(f"from bpetite import {name}", folder)
    assert name in dir(bpetite)


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'bpetite' has no attribute 'Tokeniser'"):
        bpetite.Tokeniser  # noqa: B018


@pytest.mark.parametrize("dialect", ["bpetite", "cs336"])
def test_training_to_a_file_needs_neither_numpy_nor_formats(folder: Path, dialect: str) -> None:
    arguments = [
        "train",
        "--quiet",
        "--input",
        "large.txt",
        "--vocab-size",
        "270",
        "--dialect",
        dialect,
    ]
    arguments += ["--output", f"{dialect}.json"]
    there = loaded(COMMAND.format(arguments=arguments), folder)
    assert there & (SLOW | {"dataclasses", "inspect", "shutil", "pkgutil"}) == set()
    assert Tokenizer.load(folder / f"{dialect}.json").dialect.name == dialect


@pytest.mark.parametrize(
    "arguments",
    [
        ["encode", "--model", "tok.json", "--text", "low lower"],
        ["decode", "--model", "tok.json", "--ids", "108", "111"],
    ],
)
def test_an_artifact_is_used_without_numpy_or_the_formats_of_others(
    folder: Path, arguments: list[str]
) -> None:
    there = loaded(COMMAND.format(arguments=arguments), folder)
    assert there & SLOW == set()


def test_lists_of_ids_need_no_numpy_and_arrays_do(folder: Path) -> None:
    code = (
        "from bpetite import Tokenizer\ntok = Tokenizer.load('tok.json')\nids = tok.encode('low')\n"
    )
    there = loaded(
        code + "assert tok.decode(ids) == 'low' and tok.fingerprint and tok.largest_id", folder
    )
    assert "numpy" not in there
    assert "numpy" in loaded(code + "tok.encode_to_numpy('low')", folder)


ENDING = """
import atexit, sys, threading, time
from bpetite.__main__ import main

def late():
    time.sleep(0.2)
    print("late", flush=True)

atexit.register(print, "registered", flush=True)
threading.Thread(target=late).start()
sys.argv = ["bpetite", *{arguments}]
main()
"""


@pytest.mark.parametrize(
    ("arguments", "code"), [(["--version"], 0), (["decode"], 2), (["inspect", "none"], 1)]
)
def test_a_command_ends_at_once_but_not_before_threads_and_what_was_registered(
    folder: Path, arguments: list[str], code: int
) -> None:
    command = [sys.executable, "-c", ENDING.format(arguments=arguments)]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == code
    assert done.stdout.splitlines()[-2:] == ["late", "registered"]
    assert "Traceback" not in done.stderr


def public_functions() -> Iterator[Callable[..., object]]:
    for name in bpetite.__all__:
        value = getattr(bpetite, name)
        yield from [value] if callable(value) else []
        members = vars(value).values() if inspect.isclass(value) else []
        for member in members:
            function = getattr(member, "__func__", getattr(member, "fget", member))
            if inspect.isfunction(function) and not function.__name__.startswith("_"):
                yield function


def test_hints_of_public_functions_lack_no_name_of_typing() -> None:
    """They can be evaluated unless they name other optional modules: types have a value at run time, too."""
    unknown = set()
    evaluated = 0
    for function in public_functions():
        try:
            typing.get_type_hints(function)
            evaluated += 1
        except NameError as error:
            unknown.add(error.name)
        except TypeError:  # a type that is a string is part of a union
            unknown.add(None)
    assert evaluated > 70
    assert unknown & {*typing.__all__} == set()


def test_the_choices_of_dialects_are_those_of_their_types() -> None:
    source = Path(dialect.__file__).read_text("utf-8")
    literals = [
        ast.literal_eval(node.slice)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Literal"
    ]
    assert literals == list(dialect.AXES.values())
