"""A pattern of tiktoken's or tokenizers' engine means the same once it is read."""

import pytest
import regex
import tiktoken
from fuzz import reading
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, pre_tokenizers

from bpetite import Tokenizer, _engine
from bpetite._pretokenizer import pieces
from bpetite.patterns import PATTERNS
from known_characters import is_known, known_text

KIMI_UPPER = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
KIMI_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
KIMI_ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
KIMI = (
    rf"[\p{{Han}}]+|{KIMI_UPPER}*{KIMI_LOWER}+{KIMI_ENDING}|{KIMI_UPPER}+{KIMI_LOWER}*{KIMI_ENDING}"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

READ = [
    (r"[a-z&&[^aeiou]]+", "both", r"(?:(?=[a-z])[^aeiou])+"),
    (r"[\w--\d]", "rust", r"(?:(?![\d])[\w])"),
    (r"[a[b-d]]x", "both", "[ab-d]x"),
    (r"[a[^b-d]]x", "both", "(?:[a]|[^b-d])x"),
    (r"a$", "rust", r"a(?![\s\S])"),
    (r"a\z", "both", r"a(?![\s\S])"),
    (r"a$", "oniguruma", "a(?m:$)"),
    (r"\s++$", "rust", r"\s++$"),
    (r"\p{N}{1,3}+", "oniguruma", r"(?:\p{N}{1,3})+"),
    (r"\p{N}{1,3}+", "rust", r"\p{N}{1,3}+"),
    (r"a{2}?b", "oniguruma", "(?:a{2})?b"),
    (r"(?m:a.)", "oniguruma", "(?s:a.)"),
    (r"\x{1F642}\u{41}", "rust", r"\U0001f642A"),
    (r"\w", "oniguruma", r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}²³¹¼½¾]"),
    (r"a??|b", "rust", "(?>a??|b)"),
    (r"(a|bc)(?:d|e)$", "rust", r"(a|bc)(?:d|e)(?![\s\S])"),
]

REFUSED = [
    (r"(?i:strasse)", "oniguruma", "text of another length"),
    (r"(?i:\p{Lu})", "both", "beyond ASCII"),
    (r"(?i:ß)", "both", "beyond ASCII"),
    (r"(?i)ki", "both", r"write \[iI\]"),
    (r"(?i)[a-k]", "both", r"write \[iI\]"),
    (r"a(?i)b|c", "both", "behind other parts"),
    (r"a|", "oniguruma", "may match nothing"),
    (r"(?:a*)*b", "both", "may match nothing"),
    (r"(?s:.)", "oniguruma", r"\(\?s"),
    (r"(?U)a+", "rust", r"\(\?U"),
    (r"(?x)a", "both", "verbose mode"),
    (r"(a(?i))b", "rust", "within a group"),
    (r"a{2}{3}", "both", "repetition is repeated"),
    (r"[]a]", "both", "begins with its end"),
    (r"[a-\d]", "both", "cannot begin or end a range"),
    (r"[[:alpha:]]", "both", "write a property"),
    (r"[a~~b]", "rust", "~~ within a set"),
    (r"\p{Elvish}", "both", "property"),
    (r"\p{Alnum}", "both", "property"),
    (r"\h", "both", "not supported"),
    (r"(a)\1", "both", "not supported"),
    (r"(?<x>a)", "both", "not supported"),
    (r"(?~a)", "oniguruma", "is not"),
    ("[" * 3000, "both", "nested"),
    ("(" * 3000, "both", "nested"),
    (r"[\p{L}--\p{Alphabetic}]" * 400, "rust", "bytes|too many"),
]

CLASSES = r"""
\d \D \s \S \w \W . \p{L} \P{L} \p{^Lu} \p{Han} \p{Greek} \p{Alphabetic} \p{White_Space} \p{Emoji}
[\w] [^\w] [\W\d] [^\s\p{L}\p{N}] [\p{L}&&[^\p{Lu}]] [^\p{L}&&\w] [a-z&&[^b]&&\w] [a[^\w]] [^a[^\w]]
(?i:k) (?i:[a-hj-l]) (?i:[^s]) (?i)k
"""
RUST_CLASSES = r"""
\pL \PN \p{sc=Latin} \p{scx=Hira} [\w--\d] [\w--\d--_&&[a-z]]
(?s:.)
"""


RANKS = {bytes([byte]): byte for byte in range(256)}


def syntaxes(named: str) -> list[str]:
    return ["rust", "oniguruma"] if named == "both" else [named]


@pytest.mark.parametrize(("source", "named", "written"), READ)
def test_a_pattern_is_written_in_our_syntax(source: str, named: str, written: str) -> None:
    for syntax in syntaxes(named):
        found = _engine.read_pattern(source, syntax)  # type: ignore[arg-type]
        assert found == written


def test_kimis_pattern_is_the_one_that_has_its_name() -> None:
    for syntax in syntaxes("both"):
        found = _engine.read_pattern(KIMI, syntax)  # type: ignore[arg-type]
        assert _engine.same_pattern(found, PATTERNS["kimi-k2"])


@pytest.mark.parametrize("source", [r"a$|.", r"a\z|.", r"\s+$|."])
def test_the_end_of_a_text_is_spelled_so_that_all_engines_read_it_alike(source: str) -> None:
    written = _engine.read_pattern(source, "rust")
    assert _engine.read_pattern(written, "rust") == written
    assert _engine.read_pattern(written, "oniguruma") == written
    encoding = tiktoken.Encoding("t", pat_str=source, mergeable_ranks=RANKS, special_tokens={})
    tokenizer = Tokenizer.load(encoding)
    assert tokenizer.pattern == written
    back = tokenizer.to_tiktoken_encoding("t")
    for text in ("a", "a\n", "a\n\n", "b a  ", " \n"):
        assert back.encode(text) == tokenizer.encode(text)


@pytest.mark.parametrize(("source", "named", "reason"), REFUSED)
def test_what_has_no_equal_is_refused_with_the_reason(source: str, named: str, reason: str) -> None:
    for syntax in syntaxes(named):
        with pytest.raises(ValueError, match=reason):
            _engine.read_pattern(source, syntax)  # type: ignore[arg-type]


@pytest.mark.parametrize("part", [".", r"\w", "(?i)", "[a&&b]", "(?:a"])
def test_a_pattern_that_is_too_long_is_refused_before_it_is_translated(part: str) -> None:
    """Megabytes of it would take minutes, or overflow the stack."""
    for syntax in syntaxes("both"):
        with pytest.raises(ValueError, match=r"has 5000000 bytes, more than the limit"):
            _engine.read_pattern((part * 5_000_000)[:5_000_000], syntax)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (r"\w", "too many classes .at character [0-9]{2,4}\\)|more than 8192 bytes"),
        (r"[\w&&\s]", "more than 8192 bytes to write in our syntax"),
        ("[^a&&[^b]]$", "more than 8192 bytes to write in our syntax"),
    ],
)
def test_a_translation_that_is_too_large_is_given_up_at_the_limit(part: str, reason: str) -> None:
    for syntax in syntaxes("both"):
        with pytest.raises(ValueError, match=reason):
            _engine.read_pattern(part * (8_000 // len(part)), syntax)  # type: ignore[arg-type]


@pytest.mark.parametrize("pattern", [*PATTERNS.values(), *reading.PUBLISHED])
def test_published_patterns_are_read_as_they_are_written(pattern: str) -> None:
    assert _engine.read_pattern(pattern, "rust") == pattern
    if "+$" not in pattern and "(?s" not in pattern:
        assert _engine.read_pattern(pattern, "oniguruma") == pattern


KNOWN = "".join(
    chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000 and is_known(chr(code))
)


@pytest.mark.parametrize("written", CLASSES.split())
def test_classes_have_the_members_that_tokenizers_gives_them(written: str) -> None:
    split = pre_tokenizers.Split(Regex(written), "removed", invert=True)
    expected = "".join(piece for piece, _ in split.pre_tokenize_str(KNOWN))
    own = regex.compile(_engine.read_pattern(written, "oniguruma"))
    assert "".join(own.findall(KNOWN)) == expected


@pytest.mark.parametrize("written", (CLASSES + RUST_CLASSES).split())
def test_classes_have_the_members_that_tiktoken_gives_them(written: str) -> None:
    ranks = {bytes([byte]): byte for byte in range(256)}
    encoding = tiktoken.Encoding("x", pat_str=written, mergeable_ranks=ranks, special_tokens={})
    expected = bytes(encoding.encode_ordinary(KNOWN)).decode()
    own = regex.compile(_engine.read_pattern(written, "rust"))
    assert "".join(own.findall(KNOWN)) == expected


@given(rng=st.randoms(use_true_random=False))
def test_random_patterns_match_what_they_match_in_tiktoken(rng: st.DataObject) -> None:
    reading.patterns_mean_what_tiktoken_reads(rng)  # type: ignore[arg-type]


@given(rng=st.randoms(use_true_random=False))
def test_random_patterns_cut_as_they_cut_in_tokenizers(rng: st.DataObject) -> None:
    reading.patterns_mean_what_tokenizers_reads(rng)  # type: ignore[arg-type]


@given(text=known_text())
def test_kimis_pattern_cuts_as_tiktoken_cuts(text: str) -> None:
    matches = reading.tiktoken_matches(KIMI, [text])
    assert matches is not None
    own = _engine.read_pattern(KIMI, "rust")
    assert [piece for piece, matched in pieces(text, own) if matched] == matches[0]
    assert _engine.pretokenize(text, own) == matches[0]
