"""The `regex` module's character properties in, `rust/src/unicode/categories.rs` out.

    python tools/make_unicode_tables.py && make fmt

Run it with the `regex` release whose Unicode version the engine is to be pinned to; `pyproject.toml` asks for
the same one, so that the specification and the engine agree on every code point.
"""

from __future__ import annotations

import re
from importlib.metadata import distribution
from pathlib import Path

import regex

CATEGORIES = (
    *("Lu", "Ll", "Lt", "Lm", "Lo"),
    *("Mn", "Mc", "Me"),
    *("Nd", "Nl", "No"),
    *("Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po"),
    *("Sm", "Sc", "Sk", "So"),
    *("Zs", "Zl", "Zp"),
    *("Cc", "Cf", "Cs", "Co"),
)
EVERY_CODE_POINT = "".join(map(chr, range(0x110000)))
TARGET = Path(__file__).parent.parent / "rust" / "src" / "unicode" / "categories.rs"
WIDTH = 104

HEADER = """\
//! The general category of every code point, and white space. Written by `tools/make_unicode_tables.py`.
//!
//! A set is a list of `first-last` in hexadecimal; `first-last/2` is every second code point, as in alphabets
//! whose capital and small letters take turns. What is in no category is unassigned.

/// The version of the Unicode database that everything here was made from.
pub const UNICODE_VERSION: &str = "{version}";

"""


def code_points(expression: str) -> list[int]:
    """Return the code points that a regular expression for one character matches."""
    return [ord(character) for character in regex.findall(expression, EVERY_CODE_POINT)]


def run_length(members: list[int], start: int, step: int) -> int:
    """Return how many members, from the one at `start`, follow each other by `step`."""
    end = start + 1
    while end < len(members) and members[end] == members[end - 1] + step:
        end += 1
    return end - start


def ranges(members: list[int]) -> list[str]:
    """Write sorted code points as ranges.

    >>> ranges([65, 66, 67, 0x100, 0x102, 0x104, 0x200])
    ['41-43', '100-104/2', '200']
    """
    written = []
    position = 0
    while position < len(members):
        step = 1
        length = run_length(members, position, 1)
        if length == 1 and (alternating := run_length(members, position, 2)) > 2:
            step, length = 2, alternating
        first, last = members[position], members[position + length - 1]
        written.append(f"{first:x}" if length == 1 else f"{first:x}-{last:x}" + "/2" * (step == 2))
        position += length
    return written


def lines(words: list[str]) -> list[str]:
    """Break words into lines of at most `WIDTH` characters."""
    broken = [""]
    for word in words:
        if len(broken[-1]) + len(word) + 1 > WIDTH:
            broken.append("")
        broken[-1] += word + " "
    return [line.rstrip() for line in broken]


def literal(words: list[str], indent: str) -> str:
    """Write words as one Rust string literal over several lines."""
    return '"' + f" \\\n{indent} ".join(lines(words)) + '"'


def unicode_version() -> str:
    """Return the Unicode version that the installed `regex` module says it supports."""
    found = re.search(r"supports Unicode (\d+\.\d+\.\d+)", distribution("regex").read_text("METADATA") or "")
    if found is None:
        raise SystemExit("the installed regex module does not say which Unicode version it supports")
    return found[1]


def main() -> None:
    """Write the file."""
    source = HEADER.replace("{version}", unicode_version())
    white_space = literal(ranges(code_points(r"\s")), "   ")
    source += f"/// What `\\s` matches.\npub const WHITE_SPACE: &str =\n    {white_space};\n\n"
    source += "/// The name of each general category, and its members.\n"
    source += f"pub const CATEGORIES: [(&str, &str); {len(CATEGORIES)}] = [\n"
    for category in CATEGORIES:
        members = ranges(code_points(rf"\p{{{category}}}"))
        source += f'    (\n        "{category}",\n        {literal(members, "       ")},\n    ),\n'
    source += "];\n"
    TARGET.write_text(source, encoding="utf-8")


if __name__ == "__main__":
    main()
