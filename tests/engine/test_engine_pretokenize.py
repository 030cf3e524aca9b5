"""The engine's scanners and the specification's regular expressions cut every text alike."""

import contextlib
import itertools
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite import _engine
from bpetite._constants import BYTES, SPACE, Pattern
from bpetite._pretokenizer import pretokenize
from bpetite.patterns import PATTERNS

CODE_POINTS = [chr(value) for value in range(0x110000) if not 0xD800 <= value < 0xE000]
EVERY_CODE_POINT = "".join(CODE_POINTS)

OTHER_SPELLINGS = {
    "gpt2, as published": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "gpt2, possessive": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    "cl100k, as published": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "cl100k, one digit": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "whitespace, turned round": r"\s+|\S+",
}
NAMED_AND_SCANNED = ["gpt2", "cl100k", "o200k", "superwords", "whitespace", "none"]
SCANNED = {name: PATTERNS[name] for name in NAMED_AND_SCANNED} | OTHER_SPELLINGS

ALL: dict[str, Pattern] = {
    **SCANNED,
    "digits": r"\d+",
    "words": r"\w+",
    "no words": r"\W+|\P{L}",
    "categories": r"\p{Lu}+|\p{Ll}\p{M}*|[\p{P}\p{S}]+|[^\p{C}\s\p{L}]+|\p{Zs}",
    "look around": r"(?<=a)b+|\s+(?!\S)|a(?=')",
    "atomic": r"(?>a+)b|a++|l*+",
    "end of text": r"\s+$|s\Z|.",
    "may match nothing": r"a*|b|l??",
    "matches only nothing": r"(?=a)|\b",
    "sets": r"[\[a&\s]+|[]l]|[^]'~]",
    "folded": r"(?i:ſ|L|É)+",
    "lines": r"(?m)^.+$|\n",
    "in steps": (r"\p{N}{1,2}", "[a-s']+", r" ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s"),
    "in steps, with spaces": ("[1!]", SPACE, PATTERNS["gpt2"]),
    "in steps, spaces first": (SPACE, PATTERNS["gpt2"]),
    "spaces alone": SPACE,
    "in steps, bytes last": (PATTERNS["gpt2"], BYTES, r"\p{N}", "[Ġ\u0141-\u0143]"),
    "bytes alone": BYTES,
}


CLASSES = r"""
\d \D \w \W \s \S \h \v \f \a \x41 \u00e9 \U0001F642 \. \é . (?s:.) \p{L} \pL \PN \P{Lu}
\p{^Ll} \p{LC} \p{Letter} \p{gc=Lt} \p{General_Category:Punctuation} \p{C} \p{Cn} \p{Assigned} \p{L&}
\p{Han} \p{Script=Han} \p{sc=Grek} \p{IsHiragana} \p{scx=Hira} \p{Script_Extensions=Deva} \p{Common}
\p{Zzzz} \p{InThai} \p{blk=ASCII} \p{Alphabetic} \p{White_Space} \p{Uppercase=No} \p{Emoji} \p{ExtPict}
\p{XIDS} \p{Graph} \p{Print} \p{Punct} \p{Any} \p{Math} [a-z] [^a-z] [a\-z] [-a] [a-] []a] [^]a] [\[a]
[a\[b] [&\&] [a|\|b] [\d-z] [a-\d] [+-\-] [&~|] [\b] [\p{L}\p{M}] [^\s\p{L}\p{N}] [\S\n] (?i:s) (?i:k)
(?i:i) (?i:I) (?i:ı) (?i:İ) (?i:ß) (?i:µ) (?i:Ⅷ) (?i:ǅ) (?i)[a-k] (?i)[^a-k] (?i:[J-]) (?i:[ſ]) (?i:[^i])
(?i:\p{Lu}) (?i:\P{Lt}) (?i:[\p{Ll}]) (?i:[^\p{Ll}]) (?i:\p{Upper}) (?i:[\p{Lu}0]) (?i:[^\p{Lu}0])
(?i:[k\P{Ll}]) (?i:\p{Greek})
"""


def in_contexts(character: str) -> str:
    """Each character beside those of other classes, in one text, so that a million take seconds."""
    return f"a{character}1{character} {character}'{character}s{character}A\n"


def differing(texts: list[str], pattern: str) -> list[str]:
    return [
        text for text in texts if _engine.pretokenize(text, pattern) != pretokenize(text, pattern)
    ]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NAMED_AND_SCANNED)
def test_every_code_point_is_cut_like_the_specification_cuts_it(name: str) -> None:
    # All unassigned and private planes are alike: one context for each of their characters is
    # enough.
    texts = [
        "\n".join(CODE_POINTS[first : first + 4096]) for first in range(0, len(CODE_POINTS), 4096)
    ]
    texts += [
        "".join(map(in_contexts, CODE_POINTS[first : first + 64]))
        for first in range(0, 0x20000, 64)
    ]
    texts += [
        "".join(map(in_contexts, CODE_POINTS[first : first + 64]))
        for first in range(0x20000, 0x110000, 4096)
    ]
    assert differing(texts, PATTERNS[name]) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SCANNED)
def test_every_short_string_is_cut_like_the_specification_cuts_it(name: str) -> None:
    alphabet = " \n\r\t1a's!l/ſA\u0301\u3000é"
    strings = map("".join, itertools.product(alphabet, repeat=4))
    assert differing(list(strings), SCANNED[name]) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SCANNED)
def test_every_longer_string_over_few_letters_is_cut_like_the_specification_cuts_it(
    name: str,
) -> None:
    strings = map("".join, itertools.product(" \na'sA\u0301", repeat=6))
    assert differing(list(strings), SCANNED[name]) == []


@pytest.mark.parametrize("name", ALL)
@given(text=st.text(max_size=60) | st.text(" \n\ra1'sltveLſ!/A\u0301é中\u3000", max_size=300))
def test_any_text_is_cut_like_the_specification_cuts_it(name: str, text: str) -> None:
    pattern = ALL[name]
    assert _engine.pretokenize(text, pattern) == pretokenize(text, pattern)


@pytest.mark.parametrize("name", ["digits", "words", "no words", "categories"])
def test_custom_patterns_use_the_same_unicode_version(name: str) -> None:
    text = "\n".join(CODE_POINTS)
    assert _engine.pretokenize(text, ALL[name]) == pretokenize(text, ALL[name])


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [name for name in PATTERNS if name not in NAMED_AND_SCANNED])
def test_every_code_point_is_cut_by_other_named_patterns_like_the_specification_cuts_it(
    name: str,
) -> None:
    text = "".join(
        f"a{character} {character}1" for character in CODE_POINTS[:0x20000] if character != "ͅ"
    )
    assert _engine.pretokenize(text, PATTERNS[name]) == pretokenize(text, PATTERNS[name])


@pytest.mark.parametrize(
    "pattern",
    ["(?>a??|b)", "(?:a{,2}|t)?+", "(?>a{,2}|t)", "(?:a|b??)?+", "(?>(?:a?|t)x?)", "a{,2}+"],
)
def test_what_is_not_tried_again_may_match_nothing(pattern: str) -> None:
    for text in ("ab", "tat", "switch", "xttx", "aaab"):
        assert _engine.pretokenize(text, pattern) == pretokenize(text, pattern)


@pytest.mark.parametrize("part", ["[ab]*?|.{,2}", "a??|b", "(?=b)|a|.", "|a|b ", "a?b?"])
def test_a_part_that_may_match_nothing_is_not_repeated(part: str) -> None:
    texts = ["".join(letters) for letters in itertools.product("ab ", repeat=5)]
    for count in ("?", "??", "?+"):
        for pattern in (
            f"(?:{part}){count}",
            f"(?:{part}){count}(?=b?)",
            f"(?:(?:{part}){count}| )a",
        ):
            assert differing(texts, pattern) == []
    for count in ("*", "+", "{2}", "{,3}?", "{1,3}+"):
        with pytest.raises(ValueError, match="a part that may match nothing is repeated"):
            _engine.pattern_way(f"b(?:{part}){count}")


PARTS = st.sampled_from(["a", "b", "[ab]", ".", " ", "^", "\\b", "(?=a)", "(?!b)", "(?<!a)"])
LOOKED_FOR = st.recursive(
    PARTS,
    lambda part: st.one_of(
        st.tuples(part, part).map("".join),
        st.tuples(part, part).map(lambda parts: f"(?:{parts[0]}|{parts[1]})"),
        st.tuples(part, st.sampled_from(["?", "??", "{2}", "{1,2}", "{,3}?"])).map(
            lambda parts: f"(?:{parts[0]}){parts[1]}"
        ),
        part.map(lambda part: f"(?:|{part})"),
    ),
    max_leaves=4,
)
"""Parts whose matches have one of few lengths."""


@given(
    before=LOOKED_FOR,
    sign=st.sampled_from("=!"),
    rest=st.sampled_from(["a", "[ab]+", "b?", ".", "a|b b"]),
    texts=st.lists(st.text("ab \n", max_size=12), min_size=5, max_size=20),
)
def test_look_behind_finds_what_the_regex_module_finds(
    before: str, sign: str, rest: str, texts: list[str]
) -> None:
    pattern = f"(?<{sign}{before})(?:{rest})"
    try:
        found = [_engine.pretokenize(text, pattern) for text in texts]
    except ValueError:
        return  # too many lengths, or a repeated place
    assert found == [pretokenize(text, pattern) for text in texts]


@pytest.mark.parametrize("before", ["^|\\s", "a{2}", "\\ba|b\\B", "(?<!ab|b) ", "ab|(?>a) |."])
def test_look_behind_of_few_lengths_is_supported(before: str) -> None:
    for text in map("".join, itertools.product("ab \n", repeat=5)):
        for pattern in (
            f"(?<={before})[ab]+",
            f".(?<!{before})",
            f"(?m)(?<!{before})b|a(?<={before})",
        ):
            assert _engine.pretokenize(text, pattern) == pretokenize(text, pattern), (text, pattern)


@pytest.mark.parametrize(
    "before", ["a+", "a*b", "a{2,}", "a{,99}", "(?>a?)b", "a?+b", ".*", "b?a", "(?:a|)b"]
)
def test_look_behind_of_any_length_is_refused(before: str) -> None:
    for sign in "=!":
        with pytest.raises(
            ValueError, match="a look-behind has to match a fixed number of characters"
        ):
            _engine.pretokenize("a", f"a(?<{sign}{before})")


@pytest.mark.parametrize(
    "before", ["a{90000,90001}", "(?:ab?){90000}", "(?:(?:a?){9}){9}", "(?:a|bb?){,99999}"]
)
def test_look_behind_of_large_numbers_takes_no_time_to_read(before: str) -> None:
    """To copy what is repeated would take minutes."""
    with contextlib.suppress(ValueError):
        assert _engine.pretokenize("ab", f"(?<={before})b") == [b"ab"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("written", CLASSES.split())
def test_every_code_point_is_in_the_classes_that_the_regex_module_has_it_in(written: str) -> None:
    assert _engine.pretokenize(EVERY_CODE_POINT, written) == pretokenize(EVERY_CODE_POINT, written)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (r"(a", r"\) is missing"),
        (r"a)", "parenthesis"),
        (r"(?x) a b", "verbose mode"),
        (
            r"[z-a]",
            "the first character of a range comes after its last \\(at character 2\\)",
        ),
        (r"a{3,2}", "above its upper bound"),
        (r"a**", "nothing to repeat"),
        (r"\p{Elvish}", r"no property \\p\{Elvish\}"),
        (r"(?a:\w)", "the flag a"),
        (r"(?:a){e<=1}", "approximate"),
        (r"\x{41}", "hexadecimal"),
        (r"\X", "not supported"),
        (r"(a)\1", r"\\1 is not supported"),
        (r"(?P<x>a)", "the flag P"),
        (r"[[:alpha:]]", r"\[ within a set"),
        (r"a{b", r"write \\{ for a brace"),
        (r"[^\s\S]", "a set that excludes both"),
        (r"[a-z&&b]", r"&& within a set, unless escaped \(\\&\\&\): .* \(at character 4\)"),
        (r"[a&&b]", "&& within a set"),
        (r"[&&]", "&& within a set"),
        (r"[\w--\d]", "-- within a set"),
        (r"[+--]", "-- within a set"),
        (r"[a||b]", r"\|\| within a set"),
        (r"[~~]", "~~ within a set"),
        (r"[[a]b]", r"\[ within a set"),
        (r"[a[b]", r"\[ within a set"),
        (r"[^[a]", r"\[ within a set"),
        ("(" * 5000 + ")" * 5000, "bytes"),
        ("(" * 1000 + ")" * 1000, "nested"),
        (r"a{1,99999999}", "repeats too much"),
        (r"(?:(?:a{1000}){1000}){1000}", "repeats too much"),
        ("[" + r"\w" * 4000 + "]", "too many classes"),
        (r"\w" * 4000, "too many classes"),
    ],
)
def test_a_pattern_that_cannot_be_run_is_refused_with_the_reason(pattern: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        _engine.pattern_way(pattern)


SYNTAX = [f"\\{letter}" for letter in string.ascii_letters + "<>`'"]
SYNTAX += [f"(?{sign})" for sign in string.ascii_letters + "0123&+|"]
SYNTAX += [
    f"(?{sign}a)"
    for sign in ("|", "&", "P>", "P=", "P<x>", "<x>", "'x'", "=", "!", "<=", "<!", ">", "~")
]
SYNTAX += [
    "(?1)",
    "(?R)",
    "(?P>x)",
    "(?&x)",
    "(?(1)a|b)",
    "(?(?=a)a|b)",
    "(?(DEFINE)a)",
    "\\g<0>",
    "\\g<1>",
    "\\k<x>",
]
SYNTAX += [
    f"(*{verb})" for verb in ("FAIL", "ACCEPT", "SKIP", "PRUNE", "COMMIT", "THEN", "F", "UTF")
]
"""Every escape and every kind of group, also those that nobody supports."""


@pytest.mark.parametrize("part", SYNTAX)
def test_every_kind_of_syntax_means_what_it_means_to_the_regex_module_or_is_refused(
    part: str,
) -> None:
    """What moves the beginning of a match, calls a group or keeps a state is refused, as it is not listed."""
    for pattern in (
        part,
        f"a{part}",
        f"{part}a",
        f"a{part}b",
        f"(a|b){part}",
        f"(?:a{part}|b)+",
        f"(?P<x>a){part}",
    ):
        try:
            _engine.pattern_way(pattern)
        except ValueError:
            continue
        assert (
            differing(
                ["".join(letters) for letters in itertools.product("ab \n", repeat=4)], pattern
            )
            == []
        )


@pytest.mark.parametrize(
    "part", [r"\K", r"\G", r"\X", "(*SKIP)", "(?R)", "(?1)", "(?&x)", "(?(1)a|b)", "(?|a|b)"]
)
def test_what_moves_a_match_or_calls_a_group_is_refused_by_name(part: str) -> None:
    for pattern in (f"a{part}", f"(?P<x>a){part}b", f"(?<=a{part})b"):
        with pytest.raises(ValueError, match="supported") as refused:
            _engine.pattern_way(pattern)
        assert part[:3] in str(refused.value).replace("\\\\", "\\")


def test_no_place_is_tried_twice() -> None:
    """Each letter doubles the number of ways."""
    for pattern in (
        r"(?:a|a|(?<=c)b)+\d",
        r"(?:a|(?>a|b))+(?<!x)(?=\dc)",
        r"(?:(?:aa?|a)(?<!x))+\d",
    ):
        assert _engine.pretokenize("a" * 5000, pattern) == [b"a" * 5000]
        assert _engine.pattern_way(pattern) == "machine"


def test_trying_one_way_after_the_other_is_left_to_patterns_that_need_it() -> None:
    assert _engine.pretokenize("a" * 60 + "1", r"(?:a|a|(?=b)b)+\d") == [b"a" * 60 + b"1"]
    assert _engine.pattern_way(r"(?:a|a|(?=b)b)+\d") == "masks"
    assert _engine.pattern_way(r"(?:a|a|(?=bc)b)+\d") == "masks"
    assert _engine.pattern_way(r"(?:a|a|(?<=c)b)+\d") == "machine"


def test_a_mark_whose_large_form_is_a_letter_is_no_letter() -> None:
    """U+0345, which the `regex` module treats as a letter if part of the pattern ignores case."""
    for pattern in (r"\P{L}|(?i:s)x", r"[^\p{L}]|(?i:ab|s){2}"):
        assert _engine.pretokenize("the\u0345 x", pattern) == [
            b"the",
            "\u0345".encode(),
            b" ",
            b"x",
        ]


def test_case_is_ignored_only_within_its_group() -> None:
    """The `regex` module ignores it in `[^sA]`, too; the `re` module does not."""
    assert _engine.pretokenize("a-", "(?i:b+)?[^sA]") == [b"a", b"-"]
    assert re.findall("(?i:b+)?[^sA]", "a-") == ["a", "-"]
