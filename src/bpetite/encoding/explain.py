"""A vocabulary in, explanations out: how a token is built, and how a pretoken is merged, step by step.

`inspect`, the viewer and the report show them. Merges are replayed one at a time; the engine
encodes the text.
"""

from itertools import pairwise
from typing import NamedTuple

import regex

from bpetite._constants import Pair
from bpetite._internal.arguments import UnknownTokenError
from bpetite._internal.once import once
from bpetite.vocabulary import WORD_END, WORD_START, Vocabulary


class Step(NamedTuple):
    """One merge applied to a pretoken."""

    rank: int
    pair: Pair
    made: int
    """The id of the token that the merge makes."""
    ids: tuple[int, ...]
    """The whole pretoken after the merge."""


class Part(NamedTuple):
    """A token and the merge that makes it; a base token and a special token have none."""

    token_id: int
    token: bytes
    rank: int | None = None
    pair: Pair | None = None


class Explainer:
    """Answers questions about one vocabulary.

    >>> tokens = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b"abc"}
    >>> explainer = Explainer(Vocabulary(tokens, [(97, 98), (256, 99)]))
    >>> [step.ids for step in explainer.steps(b"abcab")]
    [(256, 99, 256), (257, 256)]
    >>> [part.token for part in explainer.parts(257)]
    [b'abc', b'ab', b'a', b'b', b'c']
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._place_of = {pair: place for place, pair in enumerate(vocabulary.merges)}
        self.rank_of = dict(self._place_of)
        """The rank of each pair's merge."""
        for start, end in vocabulary.equal_ranks:
            self.rank_of |= dict.fromkeys(vocabulary.merges[start:end], start)
        specials = {
            token_id: text.encode("utf-8") for text, token_id in vocabulary.special_tokens.items()
        }
        self.special_ids = specials.keys()
        self.tokens = {**vocabulary.tokens, **vocabulary.decode_only, **specials}
        """The bytes of every token, special ones included."""

    @once
    def _lasting(self) -> set[bytes]:
        """The tokens that are not provisional."""
        provisional = self.vocabulary.provisional
        tokens = self.vocabulary.tokens.items()
        return {token for token_id, token in tokens if token_id not in provisional}

    def start(self, pretoken: bytes) -> tuple[int, ...]:
        """Return the base ids of a pretoken, before any merge."""
        left_out = self.vocabulary.left_out
        if left_out is not None:
            text = pretoken.decode("utf-8", errors="replace")
            if regex.fullmatch(f"(?:{left_out})+", text) is not None:
                return ()
        id_of_byte = self.vocabulary.id_of_byte
        vocabulary = self.vocabulary
        if vocabulary.drops_missing and vocabulary.provisional and vocabulary.word_end is None:
            characters = [character.encode("utf-8") for character in pretoken.decode("utf-8")]
            pretoken = b"".join(filter(self._lasting.__contains__, characters))
        if not (self.vocabulary.drops_missing or self.can_start(pretoken)):
            lacking = next(byte for byte in pretoken if byte not in id_of_byte)
            raise ValueError(f"{pretoken!r:.80}: no token of this vocabulary is byte {lacking}")
        return tuple(id_of_byte[byte] for byte in pretoken if byte in id_of_byte)

    def merged(self, pretoken: bytes) -> bytes:
        """Return what is merged of a pretoken: with the mark of its end or beginning, if it has one."""
        if self.vocabulary.word_start is not None:
            return WORD_START + pretoken if self.can_start(pretoken[:1]) else pretoken
        has_end = self.vocabulary.word_end is not None and self.can_start(pretoken[-1:])
        return pretoken + WORD_END if has_end else pretoken

    def can_start(self, pretoken: bytes) -> bool:
        """Whether every byte is a token."""
        return self.vocabulary.id_of_byte.keys() >= set(pretoken)

    def steps(self, pretoken: bytes) -> list[Step]:
        """Replay the merges of a pretoken: always the lowest rank, and of equal ones the leftmost.

        The same merges that follow one another are one step. (A vocabulary whose
        `whole_pretoken_first` is set may give a pretoken one id without any of them.)
        """
        ids = self.start(pretoken)
        steps: list[Step] = []
        ranks = self.rank_of
        while True:
            pairs = enumerate(pairwise(ids))
            candidates = [(ranks[pair], place, pair) for place, pair in pairs if pair in ranks]
            if not candidates:
                return steps
            rank, place, pair = min(candidates)
            merged = self.vocabulary.merge_ids[self._place_of[pair]]
            ids = (*ids[:place], merged, *ids[place + 2 :])
            if steps and steps[-1].pair == pair:
                steps.pop()
            steps.append(Step(rank, pair, merged, ids))

    def part(self, token_id: int) -> Part:
        """Return a token with the merge that makes it.

        If several merges make the same token, encoding always uses the same one of them: the bytes
        of a token are merged as if they were a text of their own, so they alone decide which one.
        """
        token = self.tokens.get(token_id)
        if token is None:
            raise UnknownTokenError(f"unknown id {token_id}: the vocabulary has no such token")
        if token_id not in self.special_ids and self.can_start(token):
            *_, last = [None, *self.steps(token)]
            if last is not None and last.ids == (token_id,):
                return Part(token_id, token, self._place_of[last.pair], last.pair)
        return Part(token_id, token)

    def parts(self, token_id: int) -> list[Part]:
        """Return a token and all of its parts, each once, the whole before its parts."""
        parts: dict[int, Part] = {}
        waiting = [token_id]
        while waiting:
            part = self.part(waiting.pop())
            if part.token_id not in parts:
                parts[part.token_id] = part
                waiting.extend(reversed(part.pair or ()))
        return list(parts.values())
