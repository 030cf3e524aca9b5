"""What the documents promise: every example in them runs, and gives what it shows."""

import doctest
import importlib
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bpetite

PROJECT = Path(__file__).parent.parent
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
    """Blocks marked `python` run from top to bottom in one namespace; `>>>` lines must show the truth."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
        if ">>>" in block:
            parsed = doctest.DocTestParser().get_doctest(block, namespace, page.name, str(page), 0)
            runner = doctest.DocTestRunner()
            runner.run(parsed, clear_globs=False)
            assert runner.failures == 0
            namespace.update(parsed.globs)
        else:
            exec(compile(block, str(page), "exec"), namespace)


@pytest.mark.skipif(os.name != "posix", reason="the commands are for a POSIX shell")
def test_commands_of_the_readme_run_as_printed(tmp_path: Path) -> None:
    """All but those that build, install or wait for a browser, one after the other."""
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGES[0].read_text("utf-8"), re.MULTILINE | re.DOTALL)
    lines = [
        line for line in "".join(blocks).splitlines() if not re.match(r"make|\. |pip|bpetite view", line)
    ]
    assert len(lines) >= 8
    shutil.copytree(PROJECT / "docs", tmp_path / "docs")
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    ran = subprocess.run(
        ["sh", "-e"],
        input="\n".join(lines),
        cwd=tmp_path,
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
