"""Questions of the page in, JSON values out.

Bytes travel as hexadecimal strings: two digits for each byte, so that comparing strings compares bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

from bpetite.counts import Counts
from bpetite.dialect import DIALECTS
from bpetite.normalization import normalizer_of, steps_in
from bpetite.patterns import PATTERNS, pattern_name
from bpetite.show.difference import explain_difference, merges_in
from bpetite.show.explain import Explainer, Part
from bpetite.tokenizer import Tokenizer

Answer = dict[str, Any]

LONGEST_PRETOKEN = 256
"""Longer pretokens (in bytes) are not replayed step by step."""

LONGEST_CORPUS = 100_000
"""The page trains on at most this many bytes."""

ROWS = 100
"""The number of tokens that the vocabulary browser gets at a time."""


class Model:
    """A tokenizer with its name, and the answers to all questions of the page about it."""

    def __init__(self, name: str, tokenizer: Tokenizer) -> None:
        self.name = name
        self.tokenizer = tokenizer
        self.explainer = Explainer(tokenizer.vocabulary)

    def rules(self) -> Answer:
        """Describe the tokenizer as a whole."""
        tokenizer = self.tokenizer
        return {
            "name": self.name,
            "vocab_size": tokenizer.vocab_size,
            "merges": len(tokenizer.merges),
            "special_tokens": dict(tokenizer.special_tokens),
            "dialect": tokenizer.dialect.name,
            "pattern": tokenizer.pattern,
            "pattern_name": pattern_name(tokenizer.pattern),
            "fingerprint": tokenizer.fingerprint,
        }

    def encode(self, text: str) -> Answer:
        """Encode a text; `ends` are the byte offsets at which the tokens end.

        If the vocabulary normalizes the text, `text` is the normalized one, `ends` are offsets in it, and
        `source_ends` those in the original text, or null where there is no such place.
        """
        ids = self.tokenizer.encode(text)
        lengths = self._lengths
        ends = list(accumulate(lengths[token_id] for token_id in ids))
        answer: Answer = {"ids": ids, "ends": ends}
        if (spelled := self.tokenizer.decode(ids)) != text:
            answer |= {"text": spelled, "source_ends": self._source_ends(text, len(ids))}
        return answer

    def _source_ends(self, text: str, count: int) -> list[int | None]:
        """Return where tokens end in a text that is normalized; None where it cannot be cut."""
        try:
            spans = self.tokenizer.encode_with_offsets(text)[1]
        except ValueError:  # Nobody knows.
            return [None] * count
        normalizer = normalizer_of(steps_in(self.tokenizer.vocabulary.normalization))
        ends = [0, *accumulate(len(character.encode("utf-8")) for character in text)]
        following = [start for start, _ in spans[1:]] + [len(text)]
        return [
            ends[start] if end <= start and (start == len(text) or normalizer.starts(text[start])) else None
            for (_, end), start in zip(spans, following, strict=True)
        ]

    @cached_property
    def _lengths(self) -> dict[int, int]:
        return {token_id: len(token) for token_id, token in self._all_tokens}

    @cached_property
    def _all_tokens(self) -> list[tuple[int, bytes]]:
        """Every token by id, special ones included."""
        vocabulary = self.tokenizer.vocabulary
        specials = {token_id: text.encode("utf-8") for text, token_id in vocabulary.special_tokens.items()}
        return sorted({**vocabulary.tokens, **specials}.items())

    def token(self, token_id: int) -> Answer:
        """Explain how a token is built: the token and all of its parts."""
        return {"parts": [self._described(part) for part in self.explainer.parts(token_id)]}

    def _described(self, part: Part) -> Answer:
        return {
            "id": part.token_id,
            "bytes": part.token.hex(),
            "rank": part.rank,
            "pair": part.pair,
            "special": self.explainer.is_special(part.token_id),
        }

    def steps(self, text: str, at: int | None = None) -> Answer:
        """Replay the merges of every pretoken of a text, or of the one at byte offset `at`."""
        pretokens = self.tokenizer.pretokens(text)
        if at is not None:
            pretokens = [_at(pretokens, at)]
        return {"pretokens": [self._replayed(pretoken) for pretoken in pretokens]}

    def _replayed(self, pretoken: bytes) -> Answer:
        whole = self.tokenizer.encode(pretoken.decode("utf-8"))
        if len(whole) == 1 and self.explainer.is_special(whole[0]):
            return {"bytes": pretoken.hex(), "special": whole[0]}
        if len(pretoken) > LONGEST_PRETOKEN:
            return {"bytes": pretoken.hex(), "too_long": LONGEST_PRETOKEN}
        states = [self.explainer.start(pretoken)]
        steps = self.explainer.steps(pretoken)
        states += [step.ids for step in steps]
        used = {token_id for state in states for token_id in state}
        return {
            "bytes": pretoken.hex(),
            "start": states[0],
            "steps": [
                {"rank": step.rank, "pair": step.pair, "made": step.made, "ids": step.ids} for step in steps
            ],
            "ranks": [[self.explainer.rank_of(pair) for pair in pairwise(state)] for state in states],
            "tokens": {token_id: self.explainer.token(token_id).hex() for token_id in used},
            "whole": whole if tuple(whole) != states[-1] else None,
        }

    def vocabulary(self, by: str, query: str, first: int) -> Answer:
        """Find tokens by text, by bytes (hexadecimal) or by id (`300` or `300-320`), some rows at a time."""
        matches = _matcher(by, query)
        found = [token_id for token_id, token in self._all_tokens if matches(token_id, token)]
        rows = [self._described(self.explainer.part(token_id)) for token_id in found[first : first + ROWS]]
        return {"total": len(found), "rows": rows}


def _at(pretokens: Sequence[bytes], offset: int) -> bytes:
    """Return the pretoken that contains the byte at an offset."""
    for pretoken, end in zip(pretokens, accumulate(map(len, pretokens)), strict=True):
        if offset < end:
            return pretoken
    raise ValueError(f"the text ends before byte {offset}")


def _matcher(by: str, query: str) -> Callable[[int, bytes], bool]:
    if not query:
        return lambda token_id, token: True
    if by == "text":
        sought = query.encode("utf-8")
        return lambda token_id, token: sought in token
    if by == "bytes":
        try:
            sought = bytes.fromhex(query)
        except ValueError:
            raise ValueError(f"{query!r} is not hexadecimal; write bytes like e6 97 a5") from None
        return lambda token_id, token: sought in token
    if by == "id":
        low, _, high = query.replace(" ", "").partition("-")
        if not (low.isascii() and low.isdecimal() and (not high or (high.isascii() and high.isdecimal()))):
            raise ValueError(f"{query!r} is not an id; write 300, or 300-320")
        smallest, largest = int(low), int(high or low)
        return lambda token_id, token: smallest <= token_id <= largest
    raise ValueError(f"tokens are searched by text, bytes or id, not by {by!r}")


@dataclass(frozen=True)
class _Lesson:
    """The data with which the page trains by one set of rules."""

    name: str
    tie_break: str
    equal_tokens: str
    base: list[str]
    first_id: int
    first_merge_id: int
    words: list[tuple[str, int]]


def lessons(corpus: str, pattern: str, special_tokens: Sequence[str]) -> Answer:
    """Count a corpus as each dialect does, and return the rules by which the page then trains.

    A word is its base tokens, in hexadecimal, with spaces between them.
    """
    _check_size(corpus)
    by_dialect = [_dialect_lesson(name, corpus, pattern, special_tokens) for name in DIALECTS]
    return {"lessons": [vars(lesson) for lesson in [*by_dialect, _symbols_lesson(corpus)]]}


def _check_size(corpus: str) -> None:
    size = len(corpus.encode("utf-8"))
    if size > LONGEST_CORPUS:
        raise ValueError(f"the page trains on at most {LONGEST_CORPUS:,} bytes; this corpus has {size:,}")


def difference(corpus: str, merges: str, dialect: str, pattern: str, special_tokens: Sequence[str]) -> Answer:
    """Find where the merges first differ from those of a dialect, and why; `rank` is null if they do not."""
    _check_size(corpus)
    listed = merges_in(merges)
    found = explain_difference(
        corpus, listed, dialect=dialect, pattern=pattern, special_tokens=special_tokens
    )
    if found is None:
        return {"rank": None, "told": f"All {len(listed):,} merges are those of the dialect {dialect}."}
    return {"rank": found.rank, "told": str(found)}


def _dialect_lesson(name: str, corpus: str, pattern: str, special_tokens: Sequence[str]) -> _Lesson:
    rules = DIALECTS[name]
    counts = Counts.from_iterator([corpus], pattern=pattern, dialect=rules, special_tokens=special_tokens)
    base = rules.base_vocabulary(len(special_tokens))
    return _Lesson(
        name=name,
        tie_break=rules.tie_break,
        equal_tokens=rules.equal_tokens,
        base=[token.hex() for token in base.values()],
        first_id=min(base),
        first_merge_id=rules.first_merge_id(len(special_tokens)),
        words=[(word.hex(" "), count) for word, count in counts.items()],
    )


def _symbols_lesson(corpus: str) -> _Lesson:
    """The textbook's BPE: words between white space, characters as base tokens (as in `bpetite.symbols`)."""
    counts: dict[str, int] = {}
    for word in corpus.split():
        counts[word] = counts.get(word, 0) + 1
    symbols = sorted({character for word in counts for character in word})
    return _Lesson(
        name="symbols",
        tie_break="smallest_bytes",
        equal_tokens="shared",
        base=[symbol.encode("utf-8").hex() for symbol in symbols],
        first_id=0,
        first_merge_id=len(symbols),
        words=[(" ".join(c.encode("utf-8").hex() for c in word), count) for word, count in counts.items()],
    )


def about(models: Sequence[Model]) -> Answer:
    """What the page shows first."""
    rules = [model.rules() for model in models]
    return {"models": rules, "patterns": list(PATTERNS), "dialects": list(DIALECTS)}
