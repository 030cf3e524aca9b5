"""The source of the engine → `docs/unsafe.md`: every unsafe block with its proof and the tests that run it.

`python tools/list_unsafe.py` writes the page; a test fails if the page differs from the source.
"""

from __future__ import annotations

import re
from pathlib import Path

PROJECT = Path(__file__).parent.parent
SOURCE = PROJECT / "rust" / "src"
PAGE = PROJECT / "docs" / "unsafe.md"

TESTS = {
    "encode/": "`cargo test encode`, `tests/engine/test_engine_encode.py`, `fuzz/encoding.py`",
    "py/columns.rs": "`tests/api/test_columns.py`",
    "merge/": "`cargo test merge`, `tests/engine/test_engine_training.py`, `fuzz/training.py`",
    "count/": "`cargo test count`, `tests/engine/test_engine_count.py`, `fuzz/scanning.py`",
    "read/": "`cargo test json_lines`, `tests/engine/test_json_lines.py`, `fuzz/loading.py`",
    "key/": "`cargo test key`, `tests/engine/test_engine_encode.py`, `tests/engine/test_engine_count.py`",
    "prefetch.rs": "`cargo test merge`, `tests/test_trainer.py`",
    "workers.rs": "`cargo test workers`, `tests/hostile/test_foreign_code.py`",
    "pretokenize/": "`cargo test pretokenize`, `tests/engine/test_engine_pretokenize.py`, `fuzz/scanning.py`",
    "vectors/": "`cargo test vectors`, `tests/engine/test_engine_pretokenize.py`, `fuzz/scanning.py`",
    "memory/": "`cargo test memory`, `tests/hostile/test_memory.py`, `tests/engine/test_engine_encode.py`",
    "tokens.rs": "`cargo test decode`, `tests/engine/test_engine_decode.py`, `fuzz/encoding.py`",
    "decode.rs": "`cargo test decode`, `tests/engine/test_engine_decode.py`, `fuzz/encoding.py`",
    "py/calls.rs": "`tests/hostile/test_concurrency.py`, `tests/hostile/test_foreign_code.py`",
    "py/texts.rs": "`tests/engine/test_engine_texts.py`, `tests/engine/test_engine_encode.py`",
    "py/": "`tests/engine/test_engine_decode.py`, `fuzz/encoding.py`",
}
"""The tests that run the unsafe code in each part of the source."""

HEAD = """# Unsafe code

Made by `python tools/list_unsafe.py`; a test fails when this page and the source differ. Unsafe code is
used only where a measurement showed that it is faster, or where Python's C interface requires it; clippy
refuses an unsafe block without a proof. `make sanitize` runs the engine's tests under AddressSanitizer.

"""


def blocks(path: Path) -> list[str]:
    """Return the proof of every unsafe block and trait implementation outside of tests."""
    lines = path.read_text("utf-8").split("#[cfg(test)]\nmod tests")[0].splitlines()
    return [
        _proof(lines, number)
        for number, line in enumerate(lines)
        if re.search(r"\bunsafe (\{|impl\b)", line.split("//")[0])
    ]


def _proof(lines: list[str], number: int) -> str:
    """Return the comment that begins with SAFETY above a line or at its end."""
    start = number
    while "SAFETY:" not in lines[start]:
        if start == 0 or number - start > 12:
            raise ValueError(f"no SAFETY comment above line {number + 1}: {lines[number]}")
        start -= 1
    comment = []
    for line in lines[start : number + 1]:
        before, slashes, words = line.partition("//")
        if not slashes or (comment and before.strip()):
            break
        comment.append(words.strip())
    return " ".join(comment).removeprefix("SAFETY:").strip()


def page() -> str:
    """Return the page."""
    rows, total = [], 0
    for path in sorted(SOURCE.rglob("*.rs")):
        name = path.relative_to(SOURCE).as_posix()
        if name.endswith("tests.rs"):
            continue
        proofs = blocks(path)
        total += len(proofs)
        for proof in dict.fromkeys(proofs):
            number = proofs.count(proof)
            times = f" ({number} times)" if number > 1 else ""
            rows.append(f"| `{name}` | {proof.replace('|', '/')}{times} | {_tests(name)} |")
    table = ["| file | proof | run by |", "|---|---|---|", *rows]
    return HEAD + f"{total} blocks.\n\n" + "\n".join(table) + "\n"


def _tests(name: str) -> str:
    for part, tests in TESTS.items():
        if name.startswith(part):
            return tests
    raise ValueError(f"{name} has unsafe code: say in tools/list_unsafe.py which tests run it")


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
