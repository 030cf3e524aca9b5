"""What the documents promise: every example in them runs, and gives what it shows."""

import doctest
import importlib
import importlib.util
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import bpetite

PROJECT = Path(__file__).parents[2]
MODULES = [
    "bpetite",
    *(
        module.name
        for module in pkgutil.walk_packages(bpetite.__path__, "bpetite.")
        if not module.name.endswith(("_engine", "__main__"))
    ),
]
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_in_pages(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks marked `python` run in one namespace, in order; lines with `>>>` must show the right result.

    In the recipes and for students, shell commands run, too.
    """
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    content = page.read_text("utf-8")
    for language, block in re.findall(
        r"^```(python|sh)\n(.*?)^```", content, re.MULTILINE | re.DOTALL
    ):
        if language == "sh":
            if page.name in ("recipes.md", "cs336.md"):
                shell(block, tmp_path)
        elif ">>>" in block:
            parsed = doctest.DocTestParser().get_doctest(block, namespace, page.name, str(page), 0)
            runner = doctest.DocTestRunner()
            runner.run(parsed, clear_globs=False)
            assert runner.failures == 0
            namespace.update(parsed.globs)
        else:
            exec(compile(block, str(page), "exec"), namespace)


def tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, PROJECT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_release_can_be_tried_with_the_first_minute_of_the_readme() -> None:
    blocks = tool("try_release").minute(PAGES[0].read_text("utf-8"))
    assert "import Tokenizer" in blocks["python"]
    assert "bpetite train" in blocks["sh"]


def test_the_reference_is_made_from_the_docstrings() -> None:
    reference = tool("make_api_page")
    assert reference.PAGE.read_text("utf-8") == reference.page(), "run `make docs`"
    for name in bpetite.__all__:
        assert f"### `{name}`" in reference.page() or not callable(getattr(bpetite, name))


def test_every_entry_of_the_reference_has_an_example() -> None:
    content = (PROJECT / "docs" / "api.md").read_text("utf-8")
    entries = re.split(r"^#{3,5} `", content, flags=re.MULTILINE)[1:]
    assert [entry.split("`")[0] for entry in entries if "```pycon" not in entry] == []


@pytest.mark.skipif(os.name != "posix", reason="the commands are for a POSIX shell")
def test_commands_of_the_readme_run_as_printed(tmp_path: Path) -> None:
    """All but the commands that build, install or wait for a browser, one after the other."""
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGES[0].read_text("utf-8"), re.MULTILINE | re.DOTALL)
    lines = [
        line
        for line in "".join(blocks).splitlines()
        if not re.match(r"make|\. |pip|bpetite view", line)
    ]
    assert len(lines) >= 8
    shutil.copytree(PROJECT / "docs", tmp_path / "docs")
    shell("\n".join(lines), tmp_path)


def shell(commands: str, folder: Path) -> None:
    """Run commands in a shell in which the environment is activated."""
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    ran = subprocess.run(
        ["sh", "-e"],
        input=commands,
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target
