"""The shape of the project: imports point one way, and the engine names PyO3 in one folder only."""

import ast
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import bpetite
from bpetite import _constants, _engine, patterns

PROJECT = Path(__file__).parent.parent
PACKAGE = PROJECT / "src" / "bpetite"

LAYERS = [
    {"__main__"},
    {"cli"},
    {"show", "benchmark"},
    {"__init__"},
    {"corpus"},
    {"cs336"},
    {"tokenizer", "symbols"},
    {"formats", "interfaces", "training", "encoding", "_persistence"},
    {"counts"},
    {"reading"},
    {"vocabulary"},
    {"normalization"},
    {"patterns"},
    {"_trainer", "_encoder", "_character_encoder", "_added_tokens", "_normalizer", "_decoder"},
    {"_pretokenizer"},
    {"dialect"},
    {"_engine", "_internal"},
    {"_constants"},
]
"""From the top down: a module imports from its own layer or from lower ones."""

SPECIFICATION = {
    *("_pretokenizer", "_trainer", "_encoder", "_character_encoder"),
    *("_added_tokens", "_normalizer", "_decoder"),
}
ENGINE_USERS = {
    "_persistence",
    "normalization",
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
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("bpetite"):
                for alias in node.names:
                    whole = node.module == "bpetite"
                    imported = f"{node.module}.{alias.name}" if whole else node.module
                    found.append((part(module), part(imported)))
    return found


def layer(name: str) -> int:
    return next(depth for depth, names in enumerate(LAYERS) if name in names)


def test_every_part_of_the_package_has_a_layer() -> None:
    parts = {part(module) for module in modules()}
    assert parts | {"_engine"} == set().union(*LAYERS)


def test_imports_point_one_way() -> None:
    backwards = [(a, b) for a, b in imports() if a != "__init__" and layer(a) > layer(b)]
    assert backwards == []


def test_the_product_never_runs_on_the_specification() -> None:
    assert [(a, b) for a, b in imports() if b in SPECIFICATION and a not in SPECIFICATION] == []


def test_the_specification_stands_on_constants_and_dialects_alone() -> None:
    used = {b for a, b in imports() if a in SPECIFICATION}
    assert used <= SPECIFICATION | {"_constants", "dialect"}


def test_only_the_stages_call_the_engine() -> None:
    assert {a for a, b in imports() if b == "_engine"} <= ENGINE_USERS


def test_only_the_bindings_name_pyo3() -> None:
    for path in (PROJECT / "rust" / "src").rglob("*.rs"):
        if "py" not in path.relative_to(PROJECT / "rust" / "src").parts[0]:
            assert not re.search(r"\bpyo3\b|\bnumpy\b", path.read_text("utf-8")), path


def test_one_function_asks_for_the_number_of_cores() -> None:
    sources = [*(PROJECT / "rust" / "src").rglob("*.rs"), *(PROJECT / "src").rglob("*.py")]
    asks = re.compile(r"available_parallelism\(|cpu_count\(|sched_getaffinity\(")
    found = [(path.name, len(asks.findall(path.read_text("utf-8")))) for path in sources]
    pins = ("process.py", 1)  # a benchmark of one thread keeps it on one processor
    assert [(name, asked) for name, asked in found if asked] == [("workers.rs", 1), pins]


def test_the_engine_asks_for_variables_of_the_environment_in_one_place() -> None:
    """A thread that reads the environment while another one changes `os.environ` may crash the process."""
    sources = (PROJECT / "rust" / "src").rglob("*.rs")
    assert [path.name for path in sources if "env::var" in path.read_text("utf-8")] == ["portable.rs"]


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
