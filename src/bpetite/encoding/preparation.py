"""Text in, parts for the engine out: special tokens are separated by their flags, the rest is normalized.

Only imported vocabularies need this; for all others the engine takes the text as it is. Special tokens are
searched twice, as in `tokenizers`: first in the original text, then those with the flag `normalized` in the
normalized text between the others.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from bpetite._engine import pretokenize
from bpetite._internal.normalizers import ONLY_FIRST, WHITE_SPACE, Normalizer, Runs
from bpetite._internal.types import Special
from bpetite.vocabulary import MARK, Vocabulary, normalization_steps

_MOST_COMPARED = 10_000_000
"""The maximum total length of prefixes that are searched for overlaps; beyond it, one is assumed."""

_SPACE = "(?space)"


class Run(Sequence[tuple[int, int]]):
    """The places of consecutive characters, without an object for each.

    >>> list(Run(3, 5, put=1))
    [(3, 4), (3, 4), (4, 5)]
    """

    def __init__(self, start: int, stop: int, put: int = 0) -> None:
        """`put` is the number of inserted characters before the first; they have its place."""
        self.start, self.stop, self.put = start, stop, put

    def __len__(self) -> int:
        return self.put + self.stop - self.start

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            first, last, _ = index.indices(len(self))
            put = max(min(last, self.put) - first, 0)
            start, stop = (self.start + max(place - self.put, 0) for place in (first, last))
            return Run(start, max(stop, start), put)
        place = self.start + max(range(len(self))[index] - self.put, 0)
        return place, place + 1

    def behind_space(self) -> Run:
        """Return the same run with one more inserted character before it."""
        return Run(self.start, self.stop, self.put + 1)


class Segment(NamedTuple):
    """A normalized part of a text without special tokens, or a special token."""

    text: str

    places: Sequence[tuple[int, int]]
    """The start and end of each character in the original text."""

    token_id: int | None = None


def split_at_specials(text: str, special_tokens: Iterable[str]) -> list[tuple[str, bool]]:
    """Cut a text into segments and special tokens (marked True): the leftmost, and there the longest.

    >>> split_at_specials("a<x>b", ["<x>"])
    [('a', False), ('<x>', True), ('b', False)]
    """
    pattern = _any_of(special_tokens)
    segments = [text] if pattern is None else re.split(f"({pattern.pattern})", text)
    return [(segment, place % 2 == 1) for place, segment in enumerate(segments) if segment]


def _any_of(tokens: Iterable[str]) -> re.Pattern[str] | None:
    """Return a pattern that matches any of the tokens; of several at one place, the longest."""
    longest_first = sorted(tokens, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first))) if longest_first else None


class _Tokens:
    """Special tokens that are searched in one kind of text: the original, or the normalized one."""

    def __init__(
        self, ids: Mapping[str, int], flags: Mapping[str, Collection[str]], added: Collection[str] = ()
    ) -> None:
        """`flags` are the flags of the tokens that have any; those that are `added` are not special."""
        self._ids = ids
        self._flags = {text: set(flags.get(text, ())) for text in ids}
        self._special = ids.keys() - set(added)
        self._special_ids = {ids[text] for text in self._special}
        self.is_tangled = is_tangled(ids, added)

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        # Compiling hundreds of tokens takes longer than all the rest, and the engine needs no pattern.
        return _any_of(self._ids)

    @property
    def texts(self) -> list[str]:
        """What is searched."""
        return list(self._ids)

    @property
    def has_added(self) -> bool:
        """Whether any is not special."""
        return len(self._special) < len(self._ids)

    @property
    def flags(self) -> set[str]:
        """The flags that any of them has."""
        return set().union(*self._flags.values())

    def with_sides(self) -> list[tuple[str, int, bool, bool]]:
        """Return each with its id, and whether it takes the white space before it and after it."""
        return [
            (text, token_id, "lstrip" in self._flags[text], "rstrip" in self._flags[text])
            for text, token_id in self._ids.items()
        ]

    def check(self, token: str, token_id: int, place: int, special: Special) -> None:
        """Refuse a special token at a place of a text that must have none."""
        if special == "error" and token_id in self._special_ids:
            raise ValueError(
                f'the text contains the special token "{token}" at character {place}; special="parse" gives '
                'its id, special="text" encodes it as ordinary text'
            )

    def cut(self, text: str, special: Special = "parse") -> list[tuple[int, int, int | None]]:
        """Return the start and end of each segment, and its id if it is a special token."""
        if not text or (special == "text" and not self.has_added):
            return _whole(text)
        segments: list[tuple[int, int, int | None]] = []
        done = white_space_end = 0
        for match in self._pattern.finditer(text) if self._pattern else ():
            start, end = match.span()
            flags = self._flags[match.group()]
            if special == "text" and match.group() in self._special:
                continue
            if "single_word" in flags and (_ends_with_word(text, start) or _begins_with_word(text, end)):
                continue
            if "lstrip" in flags:
                start = _white_space_before(text, start, done)
            if "rstrip" in flags:
                # Within white space that was found behind another token, the rest of it.
                end = white_space_end if end <= white_space_end else _white_space_after(text, end)
                white_space_end = end
            if start >= end:
                continue  # The token before it took all of its white space.
            if done < start:
                segments.append((done, start, None))
            segments.append((start, end, self._ids[match.group()]))
            done = end
        if done < len(text):
            segments.append((done, len(text), None))
        return segments


class SpecialTokenSearch:
    """Finds special tokens in a text that arrives in pieces.

    >>> search = SpecialTokenSearch(_Tokens({"<x>": 256}, {}))
    >>> search.feed("a<x>b<"), search.feed("x"), search.finish()
    (['a'], [256, 'b'], ['<x'])
    """

    def __init__(self, tokens: _Tokens, special: Special = "parse") -> None:
        self._tokens = tokens
        self._special = special
        self._longest = max(map(len, tokens.texts), default=1)
        self._takes_before = "lstrip" in tokens.flags
        self._needs_all = "single_word" in tokens.flags or (tokens.is_tangled and special == "text")
        self._text = ""
        self._before = 0
        self._next_search = 0

    def feed(self, text: str) -> list[str | int]:
        """Add to the text; return the parts that are now certain: text, and ids of special tokens."""
        self._text += text
        if self._needs_all or len(self._text) < self._next_search:
            return []
        # A token that begins later may be incomplete, or become a longer one.
        parts = self._parts(max(len(self._text) + 1 - self._longest, 0))
        self._next_search = 0 if parts else len(self._text) * 5 // 4
        return parts

    def finish(self) -> list[str | int]:
        """End the text, and return the remaining parts; a new text may then begin."""
        parts = self._parts(None)
        self._text, self._next_search, self._before = "", 0, 0
        return parts

    def _parts(self, certain: int | None) -> list[str | int]:
        """Return the parts up to a place from which on tokens are not certain, if there is one."""
        text, done = self._text, 0
        end_of_text = len(text) if certain is None else certain
        parts: list[str | int] = []
        for start, end, token_id in self._tokens.cut(text, self._special):
            if token_id is None:
                continue
            if certain is not None and len(text) - end < self._longest:
                end_of_text = min(certain, start)
                break
            self._tokens.check(text[start:end], token_id, self._before + start, self._special)
            parts += [text[done:start], token_id] if done < start else [token_id]
            done = end
        if certain is not None and self._takes_before:
            end_of_text = _white_space_before(text, end_of_text, done)
        if done < end_of_text:
            parts.append(text[done:end_of_text])
            done = end_of_text
        self._text = text[done:]
        self._before += done
        return parts


@lru_cache(maxsize=1)
def _word() -> Callable[..., Any]:
    import regex

    # The members of \w in Rust.
    return regex.compile(r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d]").match  # type: ignore[no-any-return]


def _ends_with_word(text: str, end: int) -> bool:
    return end > 0 and _word()(text[end - 1]) is not None


def _begins_with_word(text: str, start: int) -> bool:
    return start < len(text) and _word()(text[start]) is not None


_is_space = re.compile(f"[{WHITE_SPACE}]").match
_white_space = re.compile(f"[{WHITE_SPACE}]*").match


def _white_space_before(text: str, end: int, least: int) -> int:
    while end > least and _is_space(text[end - 1]):
        end -= 1
    return max(end, least)


def _white_space_after(text: str, start: int) -> int:
    found = _white_space(text, start)
    return found.end() if found else start


class Preparation:
    """The steps that are applied to a text before it is cut into pretokens.

    >>> vocabulary = Vocabulary({byte: bytes([byte]) for byte in range(256)}, [], {"<x>": 256},
    ...     normalization="Lowercase", token_flags={"<x>": ["lstrip"]})
    >>> [(segment.text, segment.token_id) for segment in Preparation.of(vocabulary).segments("A <x> B")]
    [('a', None), (' <x>', 256), (' b', None)]
    """

    def __init__(
        self,
        special_tokens: Mapping[str, int],
        flags: Mapping[str, Collection[str]],
        normalizer: Normalizer,
        pattern: str,
        first: Normalizer | None = None,
        *,
        added: Collection[str] = (),
        space_first: bool = False,
        put: str | None = None,
    ) -> None:
        """Tokens without flags are searched in the original text; `pattern` may insert spaces.

        Tokens that are `added` are found whatever is done with special ones. `first` normalizes the first
        segment of a text, and `space_first` inserts a space before it if it has none. `put` is the engine's
        name for all that is done to a text, if it knows it.
        """
        second = {text for text in special_tokens if "normalized" in flags.get(text, ())}
        normalized = {text: normalizer(text) for text in second}
        self.normalizer = normalizer
        self.normalizer_of_first = first or normalizer
        self._is_alike = first is None
        self.space_first = space_first
        self._leaves_some = self.normalizer_of_first.is_local
        self._pattern = pattern if _SPACE in pattern else None
        self._put = put if self._pattern is None else None
        self._first = _Tokens(
            {text: n for text, n in special_tokens.items() if text not in second}, flags, added
        )
        self._second = _Tokens(
            {normalized[text]: special_tokens[text] for text in second if normalized[text]},
            {normalized[text]: flags[text] for text in second},
            {normalized[text] for text in second.intersection(added)},
        )
        self._flagged = [text for text in special_tokens if set(flags.get(text, ())) - {"normalized"}]
        self.tells_apart = len(set(normalized.values())) == len(second)
        """Whether no two special tokens are the same once normalized."""

        self._is_simple = (
            all(text == normalized[text] for text in second)
            and not (self._first.is_tangled or self._second.is_tangled)
            and not (second and overlap(sorted(set(special_tokens) - second), sorted(second)))
        )
        self.are_of_one_search = not (second and self._flagged and len(second) < len(special_tokens))
        """Whether no flag of a token of one search concerns those of the other."""

    @classmethod
    def of(
        cls,
        vocabulary: Vocabulary,
        special_tokens: Mapping[str, int] | None = None,
        flags: Mapping[str, Collection[str]] | None = None,
    ) -> Preparation:
        """Return the preparation for a vocabulary, with its special tokens or others."""
        steps = normalization_steps(vocabulary.normalization)
        anywhere = [step for step in steps if step[0] not in ONLY_FIRST]
        at_first = [("Prepend", *step[1:]) if step[0] == "Prepend first" else step for step in steps]
        return cls(
            vocabulary.special_tokens if special_tokens is None else special_tokens,
            vocabulary.token_flags if flags is None else flags,
            Normalizer(anywhere),
            vocabulary.pattern,
            Normalizer([step for step in at_first if step[0] != "Space first"])
            if at_first != anywhere
            else None,
            added=vocabulary.added_tokens if special_tokens is None else (),
            space_first=("Space first",) in steps,
            put=_put_by(steps),
        )

    @cached_property
    def _delicate(self) -> re.Pattern[str] | None:
        return _any_of(self._flagged)

    @property
    def is_simple(self) -> bool:
        """Whether all special tokens can be searched at once in a text that normalizing does not change."""
        return self._is_simple and not self.space_first

    @property
    def leaves_all(self) -> bool:
        """Whether no text is normalized."""
        return self.normalizer.is_identity and self.normalizer_of_first.is_identity

    def leaves(self, text: str) -> bool:
        """Whether normalizing does not change a text."""
        return self._leaves_some and self.normalizer(text) == text

    @property
    def is_local(self) -> bool:
        """Whether a part of a text is prepared alike wherever the text begins and ends."""
        return self.normalizer_of_first.is_local and self._pattern is None and not self.space_first

    @property
    def leaves_some(self) -> bool:
        """Whether normalizing may leave a text unchanged."""
        return self._leaves_some

    @property
    def leaves_ascii(self) -> bool:
        """Whether normalizing leaves all ASCII unchanged."""
        return self._leaves_some and self.normalizer.keeps_ascii

    @property
    def spaces(self) -> tuple[str, list[tuple[str, int, bool, bool]], list[str]] | None:
        """Return how the engine can do all this, if it can: where a space is put, the tokens that are
        searched before, and those that are searched later."""
        if self._put is None or "single_word" in self._first.flags:
            return None
        return self._put, self._first.with_sides(), self._second.texts

    @property
    def is_alike_behind_tokens(self) -> bool:
        """Whether the text behind a token in the original text is prepared as a text of its own would be."""
        return self._is_alike and not self.space_first and "single_word" not in self._first.flags

    @property
    def longest(self) -> int:
        """The length of the longest token in the original text, or 1 if there is none."""
        return max(map(len, self._first.texts), default=1)

    def searches(self, special: Special) -> bool:
        """Whether any token is looked for."""
        return special != "text" or self._first.has_added or self._second.has_added

    def settles_within(self, special: Special) -> bool:
        """Whether a text may be cut at other places than special tokens, whatever follows."""
        needs_all = special == "error" or self._flagged or self._second.texts or self._first.is_tangled
        is_plain = self._pattern is None and not (self.searches(special) and needs_all)
        return is_plain and self.normalizer.has_cuts and (self._is_alike or self._put is not None)

    def normalized(self, text: str, *, is_first: bool) -> str:
        """Normalize the text between special tokens of the original text."""
        normalized = (self.normalizer_of_first if is_first else self.normalizer)(text)
        puts_space = is_first and self.space_first and normalized and normalized[0] != " "
        return " " + normalized if puts_space else normalized

    def search(self, special: Special = "parse", *, normalized: bool = False) -> SpecialTokenSearch:
        """Return the search for the tokens of the original or of the normalized text."""
        return SpecialTokenSearch(self._second if normalized else self._first, special)

    def first_cut(self, text: str, special: Special = "parse") -> list[tuple[int, int, int | None]]:
        """Return the places of the tokens in the original text, and of the text between them."""
        return self._first.cut(text, special)

    def changes_nothing(self, text: str) -> bool:
        """Whether the engine can take a text as it is, and find its special tokens."""
        return self.is_simple and not (self._delicate and self._delicate.search(text)) and self.leaves(text)

    def parts(self, text: str, special: Special = "parse") -> Iterator[tuple[str, int | None]]:
        """Yield the segments without their places."""
        if special == "error":  # which names the place
            yield from ((segment.text, segment.token_id) for segment in self.segments(text, special))
            return
        for start, end, token_id in self._first.cut(text, special):
            if token_id is not None:
                yield text[start:end], token_id
                continue
            normalized = (self.normalizer if start else self.normalizer_of_first)(text[start:end])
            for begin, stop, token_id in self._second.cut(normalized, special):
                part = normalized[begin:stop]
                puts_space = self.space_first and not start + begin and token_id is None and part[0] != " "
                yield " " + part if puts_space else part, token_id

    def segments(self, text: str, special: Special = "parse") -> Iterator[Segment]:
        """Yield the segments of a text."""
        for start, end, token_id in self._first.cut(text, special):
            if token_id is not None:
                self._first.check(text[start:end], token_id, start, special)
                yield Segment(text[start:end], Run(start, end), token_id)
                continue
            normalized, places = self._aligned(text[start:end], start)
            for begin, stop, token_id in self._second.cut(normalized, special):
                own = places if stop - begin == len(places) else places[begin:stop]
                segment = Segment(normalized[begin:stop], own, token_id)
                if token_id is not None:
                    self._second.check(segment.text, token_id, own[0][0], special)
                if self.space_first and not start + begin and token_id is None and segment.text[0] != " ":
                    segment = _behind_space(segment)
                yield segment

    def _aligned(self, text: str, start: int) -> tuple[str, Sequence[tuple[int, int]]]:
        """Normalize the part of a text at `start`; return also the original place of each character."""
        normalizer = self.normalizer if start else self.normalizer_of_first
        normalized, run = normalizer(text), Run(start, start + len(text))
        if normalizer.keeps_places(text, normalized):
            return normalized, run
        if normalizer.puts_space and normalized == " " + text:
            return normalized, run.behind_space()
        normalized, inner = normalizer.aligned(text)
        if isinstance(inner, Runs):
            return normalized, inner.moved(start)
        return normalized, [(start + first, start + last) for first, last in inner]

    def with_spaces(self, segment: Segment) -> Segment:
        """Return a segment with the spaces that the pattern inserts, as its tokens contain them."""
        if self._pattern is None or segment.token_id is not None:
            return segment
        written = b"".join(pretokenize(segment.text, self._pattern)).decode("utf-8")
        places: list[tuple[int, int]] = []
        # A space is only inserted before another character, and has its place.
        rest = iter(zip(segment.text, segment.places, strict=True))
        following = next(rest, None)
        for character in written:
            if following is None:
                break
            places.append(following[1])
            if character == following[0]:
                following = next(rest, None)
        return Segment(written, places)


def _put_by(steps: Sequence[tuple[str, ...]]) -> str | None:
    """Return where a space is put, if nothing else is done but to make U+2581 one.

    >>> _put_by([("Prepend", " "), ("Replace", MARK, " ")]), _put_by([("NFC",)])
    ('each', None)
    """
    to_spaces = ("Replace", MARK, " ")
    others = [step for step in steps if step != to_spaces]
    if len(others) != 1 or to_spaces not in steps:
        return None
    name, *put = others[0]
    if name == "Space first":
        return "first if none"
    is_space = put == [" "] or (put == [MARK] and to_spaces in steps[steps.index(others[0]) :])
    return {"Prepend": "each", "Prepend first": "first"}.get(name) if is_space else None


def _behind_space(segment: Segment) -> Segment:
    places = segment.places
    more = places.behind_space() if isinstance(places, Run) else [places[0], *places]
    return Segment(" " + segment.text, more)


def _whole(text: str) -> list[tuple[int, int, int | None]]:
    return [(0, len(text), None)] if text else []


def decoded_as_normalized(vocabulary: Vocabulary) -> list[tuple[int, bytes]]:
    """Return the special tokens that are searched in normalized text and normalized themselves for it, with
    what they are decoded as: `tokenizers` knows them by their normalized texts.

    >>> tokens = {byte: bytes([byte]) for byte in range(256)}
    >>> flags = {"<A>": ["normalized"]}
    >>> decoded_as_normalized(
    ...     Vocabulary(tokens, [], {"<A>": 256}, normalization="Lowercase", token_flags=flags)
    ... )
    [(256, b'<a>')]
    """
    found = [text for text, names in vocabulary.token_flags.items() if "normalized" in names]
    steps = [step for step in normalization_steps(vocabulary.normalization) if step[0] not in ONLY_FIRST]
    if not found or not steps:
        return []
    normalizer = Normalizer(steps)
    decoded = ((text, normalizer(text)) for text in found)
    specials = vocabulary.special_tokens
    return [(specials[text], new.encode("utf-8")) for text, new in decoded if new != text]


def is_tangled(tokens: Collection[str], added: Collection[str]) -> bool:
    """Whether a special token may overlap with one of those that are only added: where it does, neither is
    found if special tokens are text.

    >>> is_tangled({"<a>", ">b"}, {">b"}), is_tangled({"<a>", "<b>"}, {"<b>"})
    (True, False)
    """
    special = set(tokens).difference(added)
    return bool(added and special) and overlap(sorted(special), sorted(added))


def overlap(first: Collection[str], second: Collection[str]) -> bool:
    """Whether a text of one list may overlap with a text of the other.

    >>> overlap(["<a>"], ["<b>"]), overlap(["<a>"], [">x"])
    (False, True)
    """
    if sum(len(text) ** 2 for text in (*first, *second)) > _MOST_COMPARED:
        return True
    return _begins_within(first, second) or _begins_within(second, first)


def _begins_within(texts: Collection[str], others: Collection[str]) -> bool:
    """Whether one of the texts lies within one of the others, or begins there and reaches past its end."""
    whole, beginnings = set(texts), {text[:end] for text in texts for end in range(1, len(text))}
    first_characters = {text[0] for text in texts}
    lengths = sorted({len(text) for text in texts})
    return any(
        other[start:] in beginnings or any(other[start : start + length] in whole for length in lengths)
        for other in others
        for start, character in enumerate(other)
        if character in first_characters
    )


def prepared_parts(text: str, vocabulary: Vocabulary) -> Iterator[tuple[str, str]]:
    """Yield small parts of a text, which are prepared independently, each with its prepared text.

    >>> vocabulary = Vocabulary({byte: bytes([byte]) for byte in range(256)}, [], normalization="NFC")
    >>> list(prepared_parts("oe\u0301", vocabulary))
    [('o', 'o'), ('e\u0301', 'é')]
    """
    preparation = Preparation.of(vocabulary)
    for start, end, token_id in preparation.first_cut(text):
        segment = text[start:end]
        if token_id is not None:
            yield segment, _name_of(token_id, vocabulary)
        elif preparation.is_local and not vocabulary.token_flags:
            normalizer = Normalizer(normalization_steps(vocabulary.normalization))
            for part in _character_that_may_grow().findall(segment):
                yield part, normalizer(part)
        else:
            parts = preparation.parts(segment)
            becomes = [
                preparation.with_spaces(Segment(part, [(0, 0)] * len(part))).text
                if inner is None
                else _name_of(inner, vocabulary)
                for part, inner in parts
            ]
            yield segment, "".join(becomes)


def _name_of(token_id: int, vocabulary: Vocabulary) -> str:
    return next(name for name, other in vocabulary.special_tokens.items() if other == token_id)


@lru_cache(maxsize=1)
def _character_that_may_grow() -> re.Pattern[str]:
    """Return a pattern that matches a character and all that may compose with it or be reordered after it."""
    characters = list(map(chr, range(sys.maxunicode + 1)))
    pairs = (unicodedata.decomposition(character).split() for character in characters)
    seconds = {chr(int(pair[1], 16)) for pair in pairs if len(pair) == 2 and pair[0][0] != "<"}
    seconds.update(map(chr, [*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)]))  # the later parts of Hangul
    joining = [
        character
        for character in characters
        if unicodedata.combining(first := unicodedata.normalize("NFD", character)[0]) or first in seconds
    ]
    return re.compile(f"(?s:.)[{''.join(map(re.escape, joining))}]*")
