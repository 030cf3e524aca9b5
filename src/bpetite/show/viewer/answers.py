"""Questions of the page in, JSON values out.

Bytes travel as hexadecimal strings: two digits for each byte, so that comparing strings compares bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, get_type_hints

from bpetite.dialect import DIALECTS
from bpetite.normalization import normalizer_of, steps_in
from bpetite.patterns import PATTERNS, pattern_name
from bpetite.show.explain import Explainer, Part
from bpetite.show.viewer.lessons import difference, lessons
from bpetite.tokenizer import Tokenizer

Answer = dict[str, Any]

LONGEST_PRETOKEN = 256
"""Longer pretokens (in bytes) are not replayed step by step."""

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

    def token(self, id: int) -> Answer:
        """Explain how a token is built: the token and all of its parts."""
        return {"parts": [self._described(part) for part in self.explainer.parts(id)]}

    def _described(self, part: Part) -> Answer:
        return {
            "id": part.token_id,
            "bytes": part.token.hex(),
            "rank": part.rank,
            "pair": part.pair,
            "special": self.explainer.is_special(part.token_id),
        }

    def steps(self, text: str, at: int | None) -> Answer:
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
            "steps": [vars(step) for step in steps],
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
    if by == "id" and query:
        found = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", query, re.ASCII)
        if not found:
            raise ValueError(f"{query!r} is not an id; write 300, or 300-320")
        smallest, largest = int(found[1]), int(found[2] or found[1])
        return lambda token_id, token: smallest <= token_id <= largest
    if by not in ("text", "bytes", "id"):
        raise ValueError(f"tokens are searched by text, bytes or id, not by {by!r}")
    try:
        sought = bytes.fromhex(query) if by == "bytes" else query.encode("utf-8")
    except ValueError:
        raise ValueError(f"{query!r} is not hexadecimal; write bytes like e6 97 a5") from None
    return lambda token_id, token: sought in token


_ABOUT_A_MODEL = ("encode", "token", "steps", "vocabulary")
_ABOUT_A_CORPUS: dict[str, Callable[..., Answer]] = {"lessons": lessons, "difference": difference}


class Nonsense(Exception):
    """A question that the page would never ask."""


def answer(models: Sequence[Model], asked: Any) -> Answer:
    """Answer a question of the page: its name, and the arguments of the function that answers it."""
    if not isinstance(asked, dict) or not isinstance(asked.get("question"), str):
        raise Nonsense("a question must be a JSON object with its name")
    question = asked.pop("question")
    function: Callable[..., Answer]
    if question == "about":
        return about(models)
    if question in _ABOUT_A_MODEL:
        number = asked.pop("model", None)
        if number not in range(len(models)):
            raise ValueError(f"there is no model {number}")
        function = getattr(models[number], question)
    elif question in _ABOUT_A_CORPUS:
        function = _ABOUT_A_CORPUS[question]
    else:
        raise Nonsense(f"there is no question {question!r:.80}")
    types = get_type_hints(function)
    del types["return"]
    if asked.keys() != types.keys() or not all(isinstance(asked[name], types[name]) for name in types):
        raise Nonsense(f"{question} must give {', '.join(types)}")
    return function(**asked)


def about(models: Sequence[Model]) -> Answer:
    """What the page shows first."""
    rules = [model.rules() for model in models]
    return {"models": rules, "patterns": list(PATTERNS), "dialects": list(DIALECTS)}
