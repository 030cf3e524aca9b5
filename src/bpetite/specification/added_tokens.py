"""Finds added tokens in a text, by their flags, and the text between them.

This is the specification, of what `tokenizers` does and, as far as its models can say it,
`sentencepiece`.

A text is searched twice. First the tokens without the flag `normalized` are found in the original
text. Then each part between them is normalized on its own, and the others, which are normalized
too, are found in it. In both searches the leftmost token is found first, and the longest of those
at one place; the next one is searched behind it, even if its flags or `special` turn it down. Only
then does a token take white space.

SentencePiece's user-defined pieces are tokens that are normalized and not special: every text may
have them. Its control pieces are special tokens; it encodes them as text, as special tokens are
with `special="text"`.

A text may have parts, each with what is done with special tokens in it. A special token that lies
across a seam is no token, and hides none; all else is found as in a text without seams.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Literal, NamedTuple

import regex

Span = tuple[int, int]
"""A start and an end."""

Normalize = Callable[[str], tuple[str, Sequence[Span]]]
"""Normalizes a text, and returns the place in it of each character of the result, too."""

Choice = Literal["parse", "text", "error"]
"""Whether a special token is found, is text, or is a `ValueError`; others are always found."""

ChoiceAt = Callable[[int, int], Choice | None]
"""Returns the choice for a special token by its start and end, if it may be one there."""

_is_white_space = regex.compile(r"\p{White_Space}").match
_is_of_word = regex.compile(r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]").match


class AddedToken(NamedTuple):
    """A text that becomes an id of its own, without merging."""

    text: str
    token_id: int
    special: bool = True
    """Whether it is one of those that a text from users must not contain."""
    normalized: bool = False
    """Whether it is searched in normalized text."""
    single_word: bool = False
    """Whether it is only found where no character of a word touches it."""
    lstrip: bool = False
    """Whether it takes the white space before it, unless the token before it did."""
    rstrip: bool = False
    """Whether it takes the white space after it."""


class Section(NamedTuple):
    """A token, or normalized text between tokens."""

    text: str
    places: Sequence[Span]
    """The place of each character in the original text."""
    token_id: int | None


def unchanged(text: str) -> tuple[str, list[Span]]:
    """Return a text as it is: the normalizer of a model that has none.

    >>> unchanged("ab")
    ('ab', [(0, 1), (1, 2)])
    """
    return text, [(place, place + 1) for place in range(len(text))]


def of_parts(parts: Sequence[tuple[str, Choice]]) -> ChoiceAt:
    """Return the choice for the joined text of parts: that of the part within which a token lies.

    >>> choice = of_parts([("ab", "parse"), ("c", "text")])
    >>> choice(0, 2), choice(1, 3), choice(2, 3)
    ('parse', None, 'text')
    """
    ends = list(accumulate(len(text) for text, _ in parts))

    def choice(start: int, end: int) -> Choice | None:
        part = bisect_right(ends, start)
        return parts[part][1] if end <= ends[part] else None

    return choice


def _choice_at(special: Choice | ChoiceAt) -> ChoiceAt:
    return special if callable(special) else lambda start, end: special


def _in_normalized(choice: ChoiceAt, places: Sequence[Span]) -> ChoiceAt:
    """Return the choice for a normalized text whose characters have these places."""
    return lambda start, end: choice(places[start][0], places[end - 1][1])


def sections(
    text: str,
    tokens: Sequence[AddedToken],
    normalize: Normalize = unchanged,
    special: Choice | ChoiceAt = "parse",
) -> Iterator[Section]:
    """Yield the tokens in a text and the text between them, in order.

    >>> tokens = [AddedToken("<m>", 1, lstrip=True), AddedToken("AH", 2, special=False, normalized=True)]
    >>> [(found.text, found.token_id) for found in sections("ah <m>", tokens, lambda t: unchanged(t.upper()))]
    [('AH', 2), (' <m>', 1)]
    >>> [(found.text, found.token_id) for found in sections("AH <m>", tokens, special="text")]
    [('AH', 2), (' <m>', None)]
    """
    first = [token for token in tokens if not token.normalized]
    second = [token._replace(text=normalize(token.text)[0]) for token in tokens if token.normalized]
    choice = _choice_at(special)
    for start, end, token_id in cut(text, first, choice):
        original = text[start:end]
        if token_id is not None:
            yield Section(original, [(place, place + 1) for place in range(start, end)], token_id)
            continue
        normalized, places_in_part = normalize(original)
        places = [(start + first, start + last) for first, last in places_in_part]
        for begin, stop, token_id in cut(normalized, second, _in_normalized(choice, places)):
            yield Section(normalized[begin:stop], places[begin:stop], token_id)


def cut(
    text: str, tokens: Sequence[AddedToken], special: Choice | ChoiceAt = "parse"
) -> Iterator[tuple[int, int, int | None]]:
    """Yield the start and end of each token that one search finds, with its id, and of the text between them.

    A token of white space may begin before the end of the one before it, which took that white
    space already. (Where nothing is left of it, `tokenizers` ends with a panic; here, it is not
    found.)

    >>> list(cut("<a>  <a>b", [AddedToken("<a>", 7, rstrip=True), AddedToken(" ", 8)]))
    [(0, 5, 7), (3, 4, 8), (4, 5, 8), (5, 8, 7), (8, 9, None)]
    """
    done = 0
    for start, end, token, choice in _candidates(text, tokens, _choice_at(special)):
        if token.special and choice == "text":
            continue
        before, behind = text[start - 1 : start], text[end : end + 1]
        if token.single_word and (_is_of_word(before) or _is_of_word(behind)):
            continue
        if token.lstrip:
            while start > done and _is_white_space(text[start - 1]):
                start -= 1
            start = max(start, done)
        if token.rstrip:
            while end < len(text) and _is_white_space(text[end]):
                end += 1
        if start >= end:
            continue
        if token.special and choice == "error":
            raise ValueError(f"special token {token.text!r} at character {start}")
        if done < start:
            yield done, start, None
        yield start, end, token.token_id
        done = end
    if done < len(text):
        yield done, len(text), None


def _candidates(
    text: str, tokens: Sequence[AddedToken], choice_at: ChoiceAt
) -> Iterator[tuple[int, int, AddedToken, Choice | None]]:
    """Yield the tokens in a text, regardless of their flags: the leftmost, and of these the longest.

    With each comes the choice for a special token there: where there is none, only others are
    candidates.
    """
    token_of = {token.text: token for token in tokens if token.text}
    lengths = sorted(set(map(len, token_of)), reverse=True)
    place = 0
    while place < len(text):
        for length in lengths:
            end = place + length
            token = token_of.get(text[place:end])
            if token is None or end > len(text):
                continue
            choice = choice_at(place, end)
            if choice or not token.special:
                yield place, end, token, choice
                place = end
                break
        else:
            place += 1
