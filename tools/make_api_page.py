"""Docstrings → `docs/api.md`: every public name with its signature, what it does, and an example.

Run as `make docs`; `tests/project/test_documents.py` fails if the page is not current.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bpetite
import bpetite.corpus
import bpetite.cs336
import bpetite.serving
import bpetite.symbols

PAGE = Path(__file__).parent.parent / "docs" / "api.md"

HEAD = """\
# Reference

Every public name of the package, generated from its docstrings by `make docs`. The examples run in the tests.
For the command line, see `bpetite --help` and `bpetite COMMAND --help`.

These errors are the same everywhere; the entry of a function lists any others.

| error | when |
|---|---|
| `TypeError`, `ValueError` | an argument is wrong; the message says which and why |
| `FileNotFoundError`, `FileExistsError` | a file is missing, or exists already |
| other `OSError` | a file cannot be read or written |
| `ValueError` | a file is broken or not supported; the message names the file and the place |
| `KeyError` | an id is unknown, or a key of an artifact is missing |
| `UnicodeEncodeError`, `UnicodeDecodeError` | a text has a lone surrogate; the bytes of ids are not UTF-8 |
| `OverflowError` | a count or a size does not fit 64 bits |
| `MemoryError` | there is not enough memory, or a limit does not leave enough |
| `ImportError` | a required package is not installed; the message names it |
"""

PLACES: list[tuple[str, str, Any]] = [
    ("The package", "bpetite", bpetite),
    ("Whole corpora", "bpetite.corpus", bpetite.corpus),
    ("Servers", "bpetite.serving", bpetite.serving),
    ("The interface of CS336", "bpetite.cs336", bpetite.cs336),
    ("BPE over symbols", "bpetite.symbols", bpetite.symbols),
]
"""The headings of the page: the title, the import path, and the module."""

PACKAGE = PAGE.parent.parent / "src" / "bpetite"
CLASSES = ("DecodeStream", "DecodeStreams", "GrowingEncoding", "Transcript")
RETURNED = {
    node.name: node
    for place in ("encoding/transcripts.py", "_engine.pyi")
    for node in ast.parse((PACKAGE / place).read_text("utf-8")).body
    if isinstance(node, ast.ClassDef) and node.name in CLASSES
}
"""Classes that methods return."""

KINDS = (property, staticmethod, classmethod)
WITHOUT_METHODS = {"Documents"}
"""Classes whose methods only the code that reads inputs calls."""


def page() -> str:
    """Return the page."""
    parts = [HEAD]
    for title, path, module in PLACES:
        parts.append(f"## {title}: `{path}`\n")
        for name in public_names(module):
            parts += entries(name, getattr(module, name))
    return "\n".join(parts)


def public_names(module: Any) -> list[str]:
    """Return the public names of a module: its `__all__`, or its own functions and classes."""
    if hasattr(module, "__all__"):
        return [name for name in module.__all__ if callable(getattr(module, name))]
    own = [
        name
        for name, value in vars(module).items()
        if inspect.isfunction(value) or inspect.isclass(value)
        if value.__module__ == module.__name__ and not name.startswith("_")
    ]
    return sorted(own, key=lambda name: inspect.getsourcelines(getattr(module, name))[1])


def entries(name: str, value: Any) -> Iterator[str]:
    """Yield the entry of a function, or those of a class and its methods."""
    if not inspect.isclass(value):
        yield entry("###", signature(name, value), value)
        return
    made_by = value if hasattr(value, "__signature__") else vars(value).get("__init__")
    shown = (
        f"class {name}" if made_by is None else signature(name, made_by, bound=made_by is not value)
    )
    yield entry("###", shown.removesuffix(" -> None"), value)
    if name in WITHOUT_METHODS:
        return
    group_of = groups(value)
    group = ""
    for member, made in members(value):
        if group_of.get(member, "") != group:
            group = group_of[member]
            yield f"#### {name}: {group[:1].lower()}{group[1:]}\n"
        level = "#####" if group else "####"
        if isinstance(made, property):
            kind = signature("", made.fget) if made.fget else ""
            returned = kind.partition(" -> ")[2]
            yield entry(level, f"{name}.{member}{f': {returned}' if returned else ''}", made)
        else:
            function = made.__func__ if isinstance(made, KINDS[1:]) else made
            shown = signature(
                f"{name}.{member}", function, bound=not isinstance(made, staticmethod)
            )
            yield entry(level, shown, function)


def groups(kind: type) -> dict[str, str]:
    """Return the group of each method: the last comment of the form `# Title ----` before it, or nothing."""
    group_of: dict[str, str] = {}
    group = ""
    try:
        source = inspect.getsource(kind)
    except OSError:  # a class without source: of the engine, or made by a function
        source = ""
    for line in source.split("\n"):
        if title := re.fullmatch(r"    # (.+?) -{9,}", line):
            group = title[1]
        elif method := re.match(r"    def (\w+)", line):
            group_of[method[1]] = group
    return group_of


def members(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties that a class defines, in their order."""
    for name, made in vars(kind).items():
        if not name.startswith("_") and (inspect.isfunction(made) or isinstance(made, KINDS)):
            yield name, made


def signature(name: str, function: Callable[..., object], *, bound: bool = False) -> str:
    """Return a call as in the source: on one line, or with a line for each parameter."""
    written = inspect.signature(function)
    parameters = [
        one.replace(annotation=_bare(one.annotation)) for one in written.parameters.values()
    ]
    returned = _bare(written.return_annotation)
    shown = str(written.replace(parameters=parameters[bound:], return_annotation=returned))
    if len(name) + len(shown) > 100:
        shown = re.sub(r", (?=\w+: |\*)", ",\n    ", shown).replace("(", "(\n    ", 1)
        end = shown.rindex(")") if " -> " not in shown else shown.rindex(") -> ")
        shown = f"{shown[:end]},\n{shown[end:]}"
    return name + shown


class Bare(str):
    """An annotation that is shown without quotes."""

    def __repr__(self) -> str:
        return str(self)


def _bare(annotation: object) -> object:
    return Bare(annotation) if isinstance(annotation, str) else annotation


def entry(level: str, shown: str, value: Any) -> str:
    """Return a heading, the call, and the docstring with its example in a block."""
    lines = inspect.cleandoc(value.__doc__ or "").split("\n")
    first = next((place for place, line in enumerate(lines) if line.startswith(">>>")), len(lines))
    text = "\n".join(lines[:first]).rstrip()
    example = textwrap.dedent("\n".join(lines[first:])).rstrip()
    parts = [f"{level} `{shown.removeprefix('class ').partition('(')[0]}`", ""]
    if "(" in shown:
        parts += ["```text", shown, "```", ""]
    parts += [text, ""]
    if example:
        parts += ["```pycon", example, "```", ""]
    returned = RETURNED.get(shown.rpartition(" -> ")[2])
    if returned is not None:
        parts += [f"The result, a `{returned.name}`, has:", "", *map(line, of_stub(returned)), ""]
    return "\n".join(parts)


def of_stub(kind: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    """Yield the public methods and properties of a class in the stub."""
    for node in kind.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node


def line(function: ast.FunctionDef) -> str:
    """Return a method or property of a class in the stub as an item of a list."""
    arguments = (
        ast.unparse(function.args).removeprefix("self").removeprefix(", ").replace("=", " = ")
    )
    called = ":" if function.decorator_list else f"({arguments}) ->"
    returned = "" if function.returns is None else ast.unparse(function.returns)
    text = " ".join((ast.get_docstring(function) or "").split())
    return f"- `{function.name}{called} {returned}`: {text}"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
