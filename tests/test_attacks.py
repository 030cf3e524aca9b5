"""Files that were made to do harm: each gets its refusal, which names it, within bounds of time and memory.

`attacks/refusals.tsv` tells for each file (or folder of files that belong together) the exception and what
its message must say. What is merely broken is in the tests of each format.
"""

import builtins
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bpetite import Tokenizer, cs336

ATTACKS = Path(__file__).parent / "attacks"
REFUSALS = [line.split("\t") for line in (ATTACKS / "refusals.tsv").read_text("utf-8").splitlines()]


def load_gpt2(folder: Path) -> object:
    return cs336.Tokenizer.from_files(folder / "vocab.json", folder / "merges.txt")


LOADERS: dict[str, Callable[[Path], object]] = {"artifact": Tokenizer.load, "gpt2": load_gpt2}


def test_every_attack_has_its_refusal() -> None:
    assert [name for name, _, _ in REFUSALS] == sorted(
        path.relative_to(ATTACKS).as_posix() for path in ATTACKS.glob("*/*")
    )


@pytest.mark.parametrize(("name", "exception", "says"), REFUSALS)
def test_an_attack_is_refused_by_name(name: str, exception: str, says: str) -> None:
    with pytest.raises(getattr(builtins, exception), match=re.escape(says)) as refused:
        LOADERS[name.partition("/")[0]](ATTACKS / name)
    assert str(ATTACKS / name) in str(refused.value)


BOUNDED = """
import resource, sys
sys.path.insert(0, sys.argv[1])
import test_attacks
resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
for name, _, _ in test_attacks.REFUSALS:
    try:
        test_attacks.LOADERS[name.partition("/")[0]](test_attacks.ATTACKS / name)
    except (ValueError, KeyError):
        pass
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds a process to its address space")
def test_all_attacks_together_fit_two_gigabytes_and_a_minute() -> None:
    done = subprocess.run(
        [sys.executable, "-c", BOUNDED, str(ATTACKS.parent)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
