r"""Paths among the arguments, as POSIX and as Windows write them: `out/tok.json`, `out\tok.json`."""

import ast
import ntpath
import os
import posixpath
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import bpetite
from bpetite import Tokenizer
from bpetite._internal.names import is_folder, is_folder_name, last_part
from bpetite.cli.commands.convert import destination_of
from bpetite.cli.formats import name_of
from bpetite.reading.listing import has_wildcards
from bpetite.reading.recognition import named_format
from bpetite.reading.sources import Input, _parts_of

TOK = Tokenizer.train("a", 256)

TAKEN_APART: list[tuple[Callable[[str], Any], dict[str, Any]]] = [
    (last_part, {"a/b.json": "b.json", "a/b/": "b", "b": "b", "a.b/c": "c"}),
    (name_of, {"a/b.json": "b.json", "a/b/": "b", "a/b/../c": "c"}),
    (is_folder_name, {"a/": True, "a/b.json": False, "a": False}),
    (is_folder, {"none/": True, "none/b": False}),
    (
        lambda path: destination_of(TOK, path, None, has_settings=False)[0],
        {
            "out/tokenizer.json": "huggingface",
            "out.d/tokenizer.json": "huggingface",
            "out/t.tiktoken": "tiktoken",
            "out/": "gpt2",
            "out.d/": "gpt2",
            "out.d/gpt2": "gpt2",
            "out/tok.json": "bpetite",
        },
    ),
    (
        lambda path: destination_of(TOK, path, "huggingface", has_settings=False)[1],
        {"out/": True, "out.d/v1.5": True, "out.json/": True, "out.d/mine.json": False},
    ),
    (
        lambda path: destination_of(TOK, path, "tiktoken", has_settings=False)[1],
        {"out/": True, "out.d/out": False, "out.d/t.tiktoken": False},
    ),
    (lambda path: named_format(path, "auto"), {"a.jsonl/b.txt": "text", "a.txt/b.jsonl": "jsonl"}),
    (lambda path: int(_parts_of(path)[1]), {"none/b:3": 3, "none/b": 1, "none:4/b": 1}),
    (lambda path: Input(path).is_local, {"a/b.txt": True, "a/b:3": True}),
    (has_wildcards, {"a/*.txt": True, "a/b.txt": False}),
]
"""The functions that take a path apart, with examples as POSIX writes them."""


WRITTEN: list[tuple[ModuleType, Callable[[str], str]]] = [
    (posixpath, lambda path: path),
    (posixpath, lambda path: f"/here/{path}"),
    (ntpath, lambda path: path),
    (ntpath, lambda path: path.replace("/", "\\")),
    (ntpath, lambda path: "C:\\here.d\\" + path.replace("/", "\\")),
]
"""The ways to write them."""


@pytest.mark.parametrize(("flavour", "write"), WRITTEN)
def test_a_path_is_taken_apart_as_its_system_writes_it(
    flavour: ModuleType, write: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for function, examples in TAKEN_APART:
        for path, expected in examples.items():
            with monkeypatch.context() as patched:
                patched.setattr(os, "path", flavour)
                found = function(write(path))
            assert found == expected, write(path)


def test_a_backslash_on_posix_is_a_part_of_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "path", posixpath)
    assert last_part("out\\tokenizer.json") == "out\\tokenizer.json"
    assert not is_folder_name("out\\")


def test_no_path_is_cut_at_slashes() -> None:
    """`os.path` and `names.py` know what separates the parts of a path.

    URLs have slashes everywhere, and so have the names of models on the Hub.
    """
    cutting = re.compile("(ends|starts)with|r?(split|partition|strip|find)|count")
    found = {
        (path.name, ast.unparse(node))
        for path in Path(bpetite.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and cutting.fullmatch(node.func.attr)
        if any(isinstance(part, ast.Constant) and part.value == "/" for part in ast.walk(node))
    }
    assert found == {("sources.py", "path.count('/')"), ("caches.py", "name.partition('/')")}
