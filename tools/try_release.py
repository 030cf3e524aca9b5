"""A wheel or a source distribution → installed where nothing else is, and README's first minute run there.

    python tools/try_release.py dist/bpetite-0.1.0-cp311-abi3-*.whl [PYTHON ...]

Of a source distribution, pip builds the wheel, in a folder of its own. Each PYTHON (by default the
one that runs this) gets an empty environment and an empty folder. The README is the one in the
wheel.
"""

from __future__ import annotations

import argparse
import email
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PROJECT = Path(__file__).parent.parent
NEEDED = (
    "licenses/LICENSE",
    "bpetite/py.typed",
    "bpetite/_engine.pyi",
    "bpetite/show/viewer/page/index.html",
)
KEPT = ("LD_LIBRARY_PATH", "SYSTEMROOT", "TEMP", "TMP")
"""What a program may need of the environment to start at all."""


def main() -> int:
    """Try one file with every given Python."""
    parser = argparse.ArgumentParser(prog="python tools/try_release.py", description=__doc__)
    parser.add_argument(
        "file", type=Path, metavar="FILE", help="the wheel, or the source distribution"
    )
    parser.add_argument("pythons", nargs="*", metavar="PYTHON", default=[sys.executable])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wheel = options.file.resolve()
        if wheel.suffix != ".whl":
            wheel = built(wheel, Path(folder))
        blocks = minute(readme_of(wheel))
        for place, python in enumerate(options.pythons):
            print(
                f"{wheel.name}: {use(wheel, python, blocks, Path(folder, str(place)))}: works",
                flush=True,
            )
    return 0


def built(source: Path, folder: Path) -> Path:
    """Let pip build the wheel, far from any repository."""
    pip = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
    ]
    subprocess.run([*pip, "--wheel-dir", folder, source], cwd=folder, check=True)
    [wheel] = folder.glob("*.whl")
    return wheel


def readme_of(wheel: Path) -> str:
    """Look at what is packed, and return the README in it."""
    if "-cp311-abi3-" not in wheel.name:
        raise SystemExit(f"{wheel.name}: not for every Python from 3.11 on")
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        for needed in NEEDED:
            if not any(name.endswith(needed) for name in names):
                raise SystemExit(f"{wheel.name}: without {needed}")
        [metadata] = [name for name in names if name.endswith(".dist-info/METADATA")]
        return str(
            email.message_from_bytes(packed.read(metadata)).get_payload(decode=True), "utf-8"
        )


def minute(readme: str) -> dict[str, str]:
    """Return the two blocks of the section "A minute", by their languages.

    >>> minute("## A minute\\n```python\\n1\\n```\\nand\\n```sh\\nls\\n```\\n## Later\\n```sh\\nrm\\n```")
    {'python': '1\\n', 'sh': 'ls\\n'}
    """
    section = readme.partition("## A minute\n")[2].partition("\n## ")[0]
    blocks = dict(re.findall(r"^```(python|sh)\n(.*?)^```", section, re.MULTILINE | re.DOTALL))
    if set(blocks) != {"python", "sh"}:
        raise SystemExit('README.md: "## A minute" needs a block of Python and one of commands')
    return blocks


def use(wheel: Path, python: str, blocks: dict[str, str], folder: Path) -> str:
    """Install the wheel, run the blocks, and return the name of the Python."""
    environment = folder / "environment"
    subprocess.run([python, "-m", "venv", environment], check=True)
    programs = environment / ("Scripts" if os.name == "nt" else "bin")
    own = str(programs / "python")
    pip = [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, wheel], check=True)
    shutil.copytree(PROJECT / "docs", folder / "docs")
    bare = {name: os.environ[name] for name in KEPT if name in os.environ}
    bare |= {"HOME": str(folder), "PATH": os.pathsep.join([str(programs), os.environ["PATH"]])}
    shell = shutil.which("sh")
    if shell is None:
        raise SystemExit("there is no sh to run the commands")
    for command in ([own, "-c", blocks["python"]], [shell, "-euc", blocks["sh"]]):
        subprocess.run(command, cwd=folder, env=bare, check=True, stdin=subprocess.DEVNULL)
    asked = [
        own,
        "-c",
        "import sys, bpetite; print('Python', sys.version.split()[0], bpetite.__file__)",
    ]
    name, _, place = (
        subprocess.check_output(asked, cwd=folder, env=bare, text=True).strip().rpartition(" ")
    )
    if not Path(place).resolve().is_relative_to(environment.resolve()):
        raise SystemExit(f"{place}: not what was installed")
    return name


if __name__ == "__main__":
    raise SystemExit(main())
