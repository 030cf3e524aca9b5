"""Two encoders in, an error out unless they agree: the texts on which every export is compared with its
vocabulary."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain, zip_longest
from typing import TypeAlias

from bpetite.vocabulary import Vocabulary

Encodes: TypeAlias = Callable[[str], Sequence[int]]
"""Encodes a text, special tokens included."""

DIFFICULT_TEXTS: tuple[str, ...] = (
    *("", " ", "  ", "\n"),
    "\r\n\r\n  \t \n x",
    "hello world",
    " leading and trailing  ",
    "a  b   c\n\n\nd \n e\t\tf",
    "it's we'll THEY'VE I'm you'd we'Re can't 's 'S 'll'll",
    "x''''s \"quoted\" 'quoted'",
    "1 12 123 1234 12345678901234567890 3.14159 1,000,000 ½ ² ٣٤٥ Ⅷ",
    "camelCase PascalCase SCREAMING_CASE snake_case kebab-case HTMLParser",
    "def f(x):\n    return x ** 2  # square\n\n\nclass A: pass\r\n",
    '{"key": [1, 2.5, null, true], "nested": {"a": "\\n"}}',
    "https://example.org/a/b?c=d&e=%20#f C:\\path\\to\\file",
    "<html>&amp;</html> <|endoftext|> <|im_start|> <s> [INST]",
    "!!! ??? ... --- === ### $$$ ~~~ ``` ((())) [[]] {{}}",
    "naïve café e\u0301 Übergrößenträger ﬁ ǆ İ ı ß ẞ",
    "привет, мир שלום עולם مرحبا بالعالم नमस्ते สวัสดี ខ្មែរ",
    "東京都 すもももももももものうち 한국어 中文，标点。「」",
    "👩‍👩‍👧‍👦 🇩🇪🇫🇷 👍🏽 ☺️ 𝕏 𐍈",
    "zero\u200bwidth\u200djoin\ufeffbom soft\u00adhyphen",
    "no\u00a0break\u2003em\u3000wide\u2028line\u2029para\u0085next\x0bvt\x0cff\x1cfs",
    "\x00\x01\x1f\x7f\x80\x9f",
    "\ue000\uffff\U000fffff\U0010ffff",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "abababababababab aabbaabb abcabcabc",
    " " * 83,
    "\n" * 37 + "\t" * 19,
    "=" * 130,
    "the quick brown fox jumps over the lazy dog " * 5,
    "ſ 'ſ 'ſ's \u212a \u1e9e",
    "combining \u0338\u0301\u0323 marks a\u0323\u0301 \u1100\u1161\u11a8",
)
"""Texts on which tokenizers are known to differ."""


def difficult_texts(vocabulary: Vocabulary) -> Iterator[str]:
    """Yield the difficult texts, each alone and beside special tokens, and the vocabulary's own tokens as
    text."""
    specials = list(vocabulary.special_tokens)[:50]
    yield from DIFFICULT_TEXTS
    for place, special in enumerate(specials):
        text = DIFFICULT_TEXTS[place % len(DIFFICULT_TEXTS)]
        yield f"{text}{special}{text}{special[:-1]}{special}\u0338"
    tokens = list(vocabulary.tokens.values())
    for token in tokens[:: len(tokens) // 300 + 1]:
        yield token.decode("utf-8", errors="replace")


def check_same_ids(
    vocabulary: Vocabulary,
    ours: Encodes,
    theirs: Encodes,
    where: str,
    texts: Iterable[str] = (),
    left_out: Collection[str] = (),
) -> int:
    """Refuse an export that does not give the same ids on every difficult text, and some others; return the
    number of texts that were compared.

    A text with a byte for which the vocabulary has no token is not compared, nor one with what is
    left out.
    """
    compared = 0
    for text in chain(difficult_texts(vocabulary), texts):
        if any(token in text for token in left_out):
            continue
        try:
            expected = list(ours(text))
        except ValueError:
            continue
        found = list(theirs(text))
        if expected != found:
            both = enumerate(zip_longest(expected, found))
            place = next(place for place, (here, there) in both if here != there)
            raise ValueError(
                f"{where} would not be the same tokenizer: {text!r:.120} is {expected[place : place + 8]} "
                f"here and {found[place : place + 8]} there, from id number {place} on"
            )
        compared += 1
    return compared
