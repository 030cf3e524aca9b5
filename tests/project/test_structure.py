"""The shape of the project: imports point one way, and the engine names PyO3 in one folder only."""

import ast
import graphlib
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import bpetite
from bpetite import _constants, _engine, patterns

PROJECT = Path(__file__).parents[2]
PACKAGE = PROJECT / "src" / "bpetite"
ENGINE = PROJECT / "rust" / "src"

LAYERS = [
    {"__main__"},
    {"cli"},
    {"show", "benchmark"},
    {"__init__"},
    {"teaching"},
    {"corpus"},
    {"cs336", "serving"},
    {"tokenizer", "symbols", "surgery"},
    {"formats", "interfaces", "training", "encoding", "_persistence"},
    {"counts"},
    {"reading"},
    {"vocabulary"},
    {"normalization"},
    {"patterns"},
    {"_extender"},
    {"_trainer", "_encoder", "_decoder"},
    {"_pretokenizer"},
    {"specification"},
    {"dialect"},
    {"_engine", "_internal"},
    {"_constants"},
]
"""From the top down: a module imports from its own layer or from lower ones."""

SPECIFICATION = {
    *("_pretokenizer", "_trainer", "_extender", "_encoder", "_decoder"),
    "specification",
}
ENGINE_USERS = {
    "_persistence",
    "normalization",
    "patterns",
    "counts",
    "training",
    "vocabulary",
    "tokenizer",
    "symbols",
    "formats",
    "interfaces",
    "encoding",
    "reading",
    "corpus",
    "_internal",
}


def part(module: str) -> str:
    """The part of the package that a module belongs to: a file, or a folder."""
    names = module.split(".")[1:]
    return names[0] if names else "__init__"


def modules() -> dict[str, Path]:
    """The package's modules by their full names."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        names = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(names[:-1] if names[-1] == "__init__" else names)] = path
    return found


def imports() -> list[tuple[str, str]]:
    """Every (importing part, imported part) of the package."""
    found = []
    for module, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if (
                isinstance(node, ast.ImportFrom)
                and node.module
                and node.module.startswith("bpetite")
            ):
                for alias in node.names:
                    whole = node.module == "bpetite"
                    imported = f"{node.module}.{alias.name}" if whole else node.module
                    found.append((part(module), part(imported)))
    of_package = [module for module in engine_imports() if module in modules()]
    return found + [("_engine", part(module)) for module in of_package]


def engine_imports() -> list[str]:
    """The Python modules that the engine imports by name."""
    return re.findall(r'\bimport\((?:py, )?"([\w.]+)"', rust_code(ENGINE / "py"))


def rust_code(path: Path) -> str:
    """The lines of a module of the engine, which may be a folder, without comments."""
    files = sorted(path.rglob("*.rs")) if path.is_dir() else [path]
    lines = "\n".join(file.read_text("utf-8") for file in files).splitlines()
    return "\n".join(line.partition("//")[0] for line in lines)


def rust_imports(folder: Path, parent: str) -> dict[str, set[str]]:
    """The modules of a folder of the engine, each with those that it names after `parent::`."""
    paths = {path.stem: path for path in folder.iterdir() if path.stem not in {"lib", "mod"}}
    imported = {}
    for module, path in paths.items():
        uses = re.findall(rf"\b{parent}::(\w+|\{{[^}}]*\}})", rust_code(path))
        imported[module] = set(re.findall(r"\w+", " ".join(uses))) & (paths.keys() - {module})
    return imported


def layer(name: str) -> int:
    return next(depth for depth, names in enumerate(LAYERS) if name in names)


def test_every_part_of_the_package_has_a_layer() -> None:
    parts = {part(module) for module in modules()}
    assert parts | {"_engine"} == set().union(*LAYERS)


def test_imports_point_one_way() -> None:
    backwards = [(a, b) for a, b in imports() if a != "__init__" and layer(a) > layer(b)]
    assert backwards == []


def test_the_engine_imports_modules_that_are_there() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]
    dependencies = {re.split(r"\W", name)[0] for name in project["dependencies"]}
    assert len(engine_imports()) == rust_code(ENGINE / "py").count("import(")
    for module in engine_imports():
        package = module.split(".")[0]
        assert module in modules() or package in dependencies | sys.stdlib_module_names, module


@pytest.mark.parametrize(("folder", "parent"), [(ENGINE, "crate"), (ENGINE / "py", "super")])
def test_imports_of_the_engine_have_no_circles(folder: Path, parent: str) -> None:
    graphlib.TopologicalSorter(rust_imports(folder, parent)).prepare()


def test_the_product_never_runs_on_the_specification() -> None:
    assert [(a, b) for a, b in imports() if b in SPECIFICATION and a not in SPECIFICATION] == []


def test_the_specification_stands_on_constants_and_dialects_alone() -> None:
    used = {b for a, b in imports() if a in SPECIFICATION}
    assert used <= SPECIFICATION | {"_constants", "dialect"}


def test_only_the_stages_call_the_engine() -> None:
    assert {a for a, b in imports() if b == "_engine"} <= ENGINE_USERS


def test_only_the_bindings_name_pyo3() -> None:
    for path in ENGINE.rglob("*.rs"):
        if "py" not in path.relative_to(ENGINE).parts[0]:
            assert not re.search(r"\bpyo3\b|\bnumpy\b", path.read_text("utf-8")), path


def test_one_function_asks_for_the_number_of_cores() -> None:
    sources = [*ENGINE.rglob("*.rs"), *(PROJECT / "src").rglob("*.py")]
    asks = re.compile(r"available_parallelism\(|cpu_count\(|sched_getaffinity\(")
    found = [(path.name, len(asks.findall(path.read_text("utf-8")))) for path in sources]
    pins = ("process.py", 1)  # a benchmark of one thread keeps it on one processor
    assert [(name, asked) for name, asked in found if asked] == [("workers.rs", 1), pins]


def test_the_engine_asks_for_variables_of_the_environment_in_one_place() -> None:
    """A thread that reads the environment while another one changes `os.environ` may crash the process."""
    sources = ENGINE.rglob("*.rs")
    assert [path.name for path in sources if "env::var" in path.read_text("utf-8")] == [
        "portable.rs"
    ]


def test_the_two_sides_agree_on_unicode_and_patterns() -> None:
    assert _engine.UNICODE_VERSION == _constants.UNICODE_VERSION
    assert patterns.PATTERNS["gpt2"] == _constants.PRETOKENIZER_PATTERN


def test_public_names_are_documented() -> None:
    for name in bpetite.__all__:
        assert getattr(bpetite, name).__doc__


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
@pytest.mark.parametrize("target", ["test-rust", "lint"])
def test_cargo_knows_nothing_of_the_make_that_calls_it(target: str) -> None:
    """It would warn that it cannot reach the jobserver of `make -j`."""
    shown = ("CARGO=echo [$$MAKEFLAGS]", "BIN=: #", "--old-file=.venv/.test-ready")
    command = ["make", "--no-print-directory", "-j2", target, *shown]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True)
    told = [line for line in done.stdout.splitlines() if line.startswith("[")]
    assert len(told) > 1
    assert all(line.startswith("[] ") for line in told)
