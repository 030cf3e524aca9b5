"""Answers questions of the page by JSON values. A token travels as what the page draws of it (`drawn`)."""

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, get_type_hints

from bpetite._internal.arguments import check_word
from bpetite._internal.once import once
from bpetite.dialect import DIALECTS
from bpetite.encoding.explain import Explainer, Part
from bpetite.patterns import PATTERNS, pattern_name
from bpetite.show.viewer.lessons import Answer, difference, lessons
from bpetite.show.viewer.page import drawn
from bpetite.tokenizer import Tokenizer

LONGEST_PRETOKEN = 100
"""Longer pretokens (in bytes) are not replayed step by step."""

ROWS = 100
"""The number of tokens that the vocabulary browser gets at a time."""


class Model:
    """A tokenizer with its name, and the answers to all questions of the page about it."""

    def __init__(self, name: str, tokenizer: Tokenizer) -> None:
        self.name = name
        self.tokenizer = tokenizer
        self._encode = partial(tokenizer.encode, add_special_tokens=False)
        self.explainer = Explainer(tokenizer.vocabulary)

    def rules(self) -> Answer:
        """Describe the tokenizer as a whole."""
        tokenizer = self.tokenizer
        return {
            "name": self.name,
            "vocab_size": tokenizer.vocab_size,
            "merges": len(tokenizer.merges),
            "special_tokens": len(tokenizer.special_tokens),
            "dialect": tokenizer.dialect.name,
            "pattern_name": pattern_name(tokenizer.pattern),
            "fingerprint": tokenizer.fingerprint,
        }

    def encode(self, text: str) -> Answer:
        """Encode a text; `spans` are the bytes that each token covers, or empty where nobody knows."""
        ids = self._encode(text)
        spans: list[tuple[int, int]] = []
        with suppress(ValueError):
            _, spans = self.tokenizer.encode_with_offsets(text, unit="bytes")
        return {"ids": ids, "spans": spans, "tokens": self._drawn(ids)}

    def _drawn(self, ids: Iterable[int]) -> dict[int, Answer]:
        token_of, specials = self.explainer.tokens, self.explainer.special_ids
        return {i: drawn(token_of[i], special=i in specials) for i in set(ids)}

    def token(self, id: int) -> Answer:
        """Explain how a token is built: the token and all of its parts."""
        return {"parts": list(map(self._described, self.explainer.parts(id)))}

    def _described(self, part: Part) -> Answer:
        shown = drawn(part.token, special=part.token_id in self.explainer.special_ids)
        return {"id": part.token_id, "rank": part.rank, "pair": part.pair, **shown}

    def steps(self, text: str, token: int | None) -> Answer:
        """Replay the merges of every pretoken of a text, or of the one that holds a token of the text."""
        pretokens: Sequence[bytes] = self.tokenizer.pretokens(text)
        if token is not None:
            before = self._encode(text)[:token]
            offset = sum(len(self.explainer.tokens[token_id]) for token_id in before)
            place = bisect_right(list(accumulate(map(len, pretokens))), offset)
            if place == len(pretokens):
                raise ValueError("the text has no such token")
            pretokens = [pretokens[place]]
        replayed = [self._replayed(pretoken) for pretoken in pretokens]
        used: set[int] = set()
        for replay in replayed:
            used.update(*replay["states"])
        return {"pretokens": replayed, "tokens": self._drawn(used)}

    def _replayed(self, pretoken: bytes) -> Answer:
        text = pretoken.decode("utf-8")
        whole = self._encode(text)
        shown = {"text": text, **drawn(pretoken)}
        nothing = {**shown, "states": [], "ranks": [], "merges": []}
        if len(whole) == 1 and whole[0] in self.explainer.special_ids:
            return {
                **nothing,
                "note": f"A special token: its text becomes id {whole[0]} without any merge.",
            }
        if len(pretoken) > LONGEST_PRETOKEN:
            return {
                **nothing,
                "note": f"It is too long to be shown (more than {LONGEST_PRETOKEN} bytes).",
            }
        merged = self.explainer.merged(pretoken)
        steps = self.explainer.steps(merged)
        states = [self.explainer.start(merged), *(step.ids for step in steps)]
        note = ""
        if tuple(whole) != states[-1]:
            note = f"With this vocabulary, a pretoken that is a token is not merged: id {whole[0]}."
        rank_of = self.explainer.rank_of.get
        return {
            **shown,
            "states": states,
            "ranks": [list(map(rank_of, pairwise(state))) for state in states],
            "merges": [{"rank": step.rank, "pair": step.pair, "made": step.made} for step in steps],
            "note": note,
        }

    @once
    def _all_tokens(self) -> list[tuple[int, bytes]]:
        """Every token by id, special ones included."""
        provisional = self.tokenizer.vocabulary.provisional
        return sorted(item for item in self.explainer.tokens.items() if item[0] not in provisional)

    @once
    def _rank_of_made(self) -> dict[int, int]:
        """The rank of the first merge that makes a token, by its id.

        SentencePiece has characters where others have bytes: merges that put one together do not
        count.
        """
        vocabulary = self.tokenizer.vocabulary
        ranks: dict[int, int] = {}
        for rank, token_id in enumerate(vocabulary.merge_ids):
            text = vocabulary.tokens[token_id].decode("utf-8", "replace")
            if not vocabulary.provisional or len(text) > 1:
                ranks.setdefault(token_id, rank)
        return ranks

    def vocabulary(self, by: str, query: str, sort: str, text: str, first: int) -> Answer:
        """Find tokens by text, by bytes (hexadecimal) or by id (`300` or `300-320`), some rows at a time.

        They are sorted by rank (those without a merge last), by id, or by length or uses (the most
        first).
        """
        matches = _matcher(by, query)
        uses = Counter[int]()
        with suppress(ValueError):  # the vocabulary lacks one of its bytes
            uses.update(self._encode(text))
        matching = [item for item in self._all_tokens if matches(*item)]
        matching.sort(key=self._order(sort, uses))
        rows = []
        drawn_ids: set[int] = set()
        for token_id, _ in matching[first : first + ROWS]:
            part = self.explainer.part(token_id)
            rows.append({**self._described(part), "uses": uses[token_id]})
            drawn_ids.update(part.pair or ())
        return {"total": len(matching), "rows": rows, "tokens": self._drawn(drawn_ids)}

    def _order(self, sort: str, uses: Mapping[int, int]) -> Callable[[tuple[int, bytes]], float]:
        ranks = self._rank_of_made
        orders: dict[str, Callable[[tuple[int, bytes]], float]] = {
            "rank": lambda item: ranks.get(item[0], math.inf),
            "id": lambda item: item[0],
            "length": lambda item: -len(item[1]),
            "uses": lambda item: -uses[item[0]],
        }
        check_word("sort", sort, list(orders))
        return orders[sort]


def _matcher(by: str, query: str) -> Callable[[int, bytes], bool]:
    if by == "id" and query:
        match = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", query, re.ASCII)
        if not match:
            raise ValueError(f"{query!r} is not an id; write 300, or 300-320")
        smallest = int(match[1])
        largest = int(match[2] or match[1])
        return lambda token_id, token: smallest <= token_id <= largest
    check_word("by", by, ("text", "bytes", "id"))
    try:
        sought = bytes.fromhex(query) if by == "bytes" else query.encode("utf-8")
    except ValueError:
        raise ValueError(f"{query!r} is not hexadecimal; write bytes like e6 97 a5") from None
    return lambda token_id, token: sought in token


_ABOUT_A_MODEL = ("encode", "token", "steps", "vocabulary")
_ABOUT_A_CORPUS: dict[str, Callable[..., Answer]] = {"lessons": lessons, "difference": difference}


def answer(models: Sequence[Model], asked: Any) -> Answer:
    """Answer a question of the page: its name, and the arguments of the function that answers it."""
    if not isinstance(asked, dict) or not isinstance(asked.get("question"), str):
        raise ValueError("a question must be a JSON object with its name")
    question = asked.pop("question")
    if question == "about":
        rules = [model.rules() for model in models]
        return {"models": rules, "patterns": list(PATTERNS), "dialects": list(DIALECTS)}
    function = _ABOUT_A_CORPUS.get(question)
    if question in _ABOUT_A_MODEL:
        number = asked.pop("model", None)
        if number not in range(len(models)):
            raise ValueError(f"there is no model {number}")
        function = getattr(models[number], question)
    if function is None:
        raise ValueError(f"there is no question {question!r:.80}")
    types = get_type_hints(function)
    del types["return"]
    has_all = asked.keys() == types.keys()
    if not has_all or not all(isinstance(asked[name], types[name]) for name in types):
        raise ValueError(f"{question} must give {', '.join(types)}")
    return function(**asked)
