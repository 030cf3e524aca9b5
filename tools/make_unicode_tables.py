"""The character properties of the `regex` module → the tables of `rust/src/unicode/`.

    python tools/make_unicode_tables.py && make fmt

Run it with the release of `regex` that has the engine's Unicode version. The tests need the same
one (`pyproject.toml`), to see that the specification and the engine agree on every code point.
"""

from __future__ import annotations

import re
from importlib.metadata import distribution
from pathlib import Path

import regex
from regex import _regex, _regex_core

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
TARGET = Path(__file__).parent.parent / "rust" / "src" / "unicode"
WIDTH = 72

CATEGORIES_HEADER = """\
//! The general category of every code point. Written by `tools/make_unicode_tables.py`.
//!
//! A set is a list of `first-last` in hexadecimal; `first-last/2` is every second code point, as in
//! alphabets whose capital and small letters take turns. What is in no category is unassigned.

/// The version of the Unicode database that everything here was made from.
pub const UNICODE_VERSION: &str = "{version}";

"""

PROPERTIES_HEADER = """\
//! Properties of characters by name. Written by `tools/make_unicode_tables.py`.
//!
//! Each row has all names of a property or of a value, in capitals, without blanks, `_` and `-`,
//! and a list of sets: ranges as in [`super::categories`], general categories (`Lu`), and rows by
//! their first names (earlier ones; for script extensions, scripts). An odd number of these sets contains
//! each member.

"""

CASES_HEADER = """\
//! Which characters match each other when case is ignored. Written by
//! `tools/make_unicode_tables.py`.

/// `first-last=other` pairs the first with `other`, the next with the one after it, and so on to
/// `last`; with `/2` after `last`, every second. Pairs count in both directions, and only as they
/// are written: `i` and `İ` are one, `i` and `I` are one, `I` and `İ` are not.
"""


def code_points(expression: str) -> list[int]:
    """Return the code points that a regular expression for one character matches."""
    return [ord(character) for character in regex.findall(expression, EVERY_CODE_POINT)]


def as_bits(expression: str) -> int:
    """Return the same as the bits of a number."""
    digits = bytearray(b"0" * len(EVERY_CODE_POINT))
    for code_point in code_points(expression):
        digits[~code_point] = ord("1")
    return int(digits, 2)


def run_length(members: list[int], start: int, step: int) -> int:
    """Return how many members, from the one at `start`, follow each other in steps of `step`."""
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
    """Return the Unicode version that the installed `regex` module supports."""
    found = re.search(
        r"supports Unicode (\d+\.\d+\.\d+)", distribution("regex").read_text("METADATA") or ""
    )
    if found is None:
        raise SystemExit(
            "the installed regex module does not say which Unicode version it supports"
        )
    return found[1]


def categories() -> str:
    """Write the general categories."""
    source = CATEGORIES_HEADER.replace("{version}", unicode_version())
    return source + table(
        "CATEGORIES", "The name of each general category, and its members.", by_category()
    )


def by_category() -> dict[str, int]:
    """Return the members of the general categories."""
    return {category: as_bits(rf"\p{{{category}}}") for category in CATEGORIES}


def table(
    name: str, meaning: str, rows: dict[str, int], named: dict[str, int] | None = None
) -> str:
    """Write names and members as a table. Rows refer to sets with a name where that is shorter."""
    source = f"/// {meaning}\npub static {name}: [(&str, &str); {len(rows)}] = [\n"
    for names, members in rows.items():
        sets, rest = without_sets(members, named or {})
        words = sets + ranges([one.start() for one in re.finditer("1", f"{rest:b}"[::-1])])
        source += f'    (\n        "{names}",\n        {literal(words, "       ")},\n    ),\n'
        if named is not None:
            named.setdefault(names.split()[0], members)
    return source + "];\n"


def without_sets(members: int, sets: dict[str, int]) -> tuple[list[str], int]:
    """Return the names of sets whose symmetric difference is near a set, and what differs from it.

    Begin with no set, or with all that lie mostly in it, and take one after the other that brings
    it nearer.

    >>> without_sets(0b1101010101, {"a": 0b0101010101, "b": 0b1111})
    (['a'], 512)
    """
    mostly = [
        name for name, held in sets.items() if 2 * (members & held).bit_count() > held.bit_count()
    ]
    found = []
    for names in ([], [name for name in mostly if name in CATEGORIES]):
        rest = members
        for name in names:
            rest ^= sets[name]
        while sets:
            name = min(sets, key=lambda name: bounds(rest ^ sets[name]))
            if bounds(rest) - bounds(rest ^ sets[name]) <= 2:
                break
            names = [other for other in names if other != name] if name in names else [*names, name]
            rest ^= sets[name]
        found.append((names, rest))
    return min(found, key=lambda each: bounds(each[1]) + 2 * len(each[0]))


def bounds(members: int) -> int:
    """Return how many ends the ranges of a set have."""
    return (members ^ members << 1).bit_count()


def by_value(names: dict[str, int]) -> dict[int, list[str]]:
    """Collect the names that mean the same."""
    gathered: dict[int, list[str]] = {}
    for name, value in names.items():
        gathered.setdefault(value, []).append(name)
    return {value: sorted(gathered[value]) for value in sorted(gathered)}


def values(property: str) -> dict[str, int]:
    """Return all names of each value of a property, and its members."""
    named = by_value(_regex_core.PROPERTIES[property][1])
    return {" ".join(names): as_bits(rf"\p{{{property}={names[0]}}}") for names in named.values()}


def properties() -> str:
    """Write the names of general categories, and the scripts, blocks and binary properties."""
    named = by_category()
    groups = []
    for names, members in values("GC").items():
        held = [name for name in CATEGORIES if members & named[name]]
        unassigned = ["Cn"] if members & 1 << 0x378 else []
        groups.append((names, " ".join(held + unassigned)))
    source = PROPERTIES_HEADER
    source += "/// The names of general categories and of groups of them, and which they are.\n"
    source += f"pub static CATEGORY_NAMES: [(&str, &str); {len(groups)}] = [\n"
    source += "".join(f'    ("{names}", "{held}"),\n' for names, held in groups) + "];\n\n"

    scripts = values("SC")
    wider = {
        names: members for names, members in values("SCX").items() if members != scripts[names]
    }
    by_script = {names.split()[0]: members for names, members in scripts.items()}
    binary = by_value(
        {
            name: number
            for name, (number, named) in _regex_core.PROPERTIES.items()
            if set(named) == {"YES", "Y", "TRUE", "T", "NO", "N", "FALSE", "F"}
        }
    )
    yes = {" ".join(names): as_bits(rf"\p{{{names[0]}=Y}}") for names in binary.values()}
    meaning = "The scripts that have other members by their extensions."
    parts = [
        table("SCRIPTS", "The scripts.", scripts),
        table("SCRIPT_EXTENSIONS", meaning, wider, by_script),
        table("BLOCKS", "The blocks.", values("BLK")),
        table("BINARY", "The properties that a character has or has not.", yes, named),
    ]
    return source + "\n".join(parts)


def cases() -> str:
    """Write which characters match each other when case is ignored, as runs of pairs."""
    pairs = []
    for code_point in range(0x110000):
        others = _regex.get_all_cases(regex.UNICODE, code_point)
        pairs += [(code_point, other) for other in others if other > code_point]
    runs: list[list[int]] = []  # first, last, other, step (0 until there is more than one pair)
    for first, other in sorted(pairs, key=lambda pair: (pair[1] - pair[0], pair)):
        if runs:
            start, last, paired, step = runs[-1]
            if other - first == paired - start and first - last == (step or min(first - last, 2)):
                runs[-1][1], runs[-1][3] = first, first - last
                continue
        runs.append([first, first, other, 0])
    words = [
        f"{first:x}"
        + (f"-{last:x}" if last > first else "")
        + ("/2" if step == 2 else "")
        + f"={other:x}"
        for first, last, other, step in sorted(runs)
    ]
    return f"{CASES_HEADER}pub const CASES: &str =\n    {literal(words, '   ')};\n"


def main() -> None:
    """Write the files."""
    for name, source in (
        ("categories", categories()),
        ("properties", properties()),
        ("cases", cases()),
    ):
        (TARGET / f"{name}.rs").write_text(source, encoding="utf-8")


if __name__ == "__main__":
    main()
