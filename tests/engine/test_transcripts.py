"""Given ids stay as they are in a transcript; text behind them is encoded by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy, deepcopy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer
from bpetite._encoder import encode_parts
from bpetite._engine import Encoder, GrowingEncoding
from bpetite.encoding.canonical import difference
from bpetite.encoding.transcripts import Seam, Transcript
from bpetite.specification.added_tokens import Choice, cut, of_parts
from bpetite.specification.normalizer import aligned
from test_growing import NORMALIZING, TOKENIZERS
from test_growing_engine import ENCODERS
from test_parts import CHOICES, MERGES, VOCAB, Case, Parts, cases, parts_of_texts

VOCABULARY = next(iter(TOKENIZERS.values())).vocabulary
ALL: dict[str, Encoder] = {
    **ENCODERS,
    **{name: tokenizer._made_encoder() for name, tokenizer in NORMALIZING.items()},
}


def specified_within(case: Case, parts: Parts) -> list[tuple[int, int]] | None:
    """The ids of parts that begin within a text, and the part of each; None for what is refused.

    The first section that is normalized is within a segment, if the parts do not begin with a token.
    """
    text = "".join(text for text, _ in parts)
    at_once = [token for token in case.tokens if not token.normalized]
    calls = 0

    def normalize(section: str) -> tuple[str, list[tuple[int, int]]]:
        nonlocal calls
        calls += 1
        is_first = begins_with_text and calls == 1 + len(case.tokens) - len(at_once)
        return aligned(section, case.steps, "within" if is_first else "segment")

    try:
        sections = list(cut(text, at_once, of_parts(parts)))
        begins_with_text = bool(sections) and sections[0][2] is None
        merges = [(left, right) for left, right, _ in MERGES]
        return list(
            encode_parts(parts, VOCAB, merges, case.tokens, normalize, pattern=case.pattern)
        )
    except ValueError:
        return None


@settings(max_examples=600, deadline=None)
@given(cases(), parts_of_texts)
def test_a_text_grows_within_another_as_specified(case: Case, parts: Parts) -> None:
    growing = case.engine.growing("parse", "within")
    for number, (text, choice) in enumerate(parts, 1):
        specified = specified_within(case, parts[:number])
        try:
            growing.append(text, choice)
        except ValueError:
            assert specified is None
            return
        assert list(zip(growing.ids, growing.parts, strict=True)) == specified
    assert len(growing.starts) == len(growing.ids)


texts = st.lists(
    st.sampled_from([*"abzqA'\n\u0301 ", "ab", "aaaa", "  ", "\u65e5\u65a5", "<s>", "<s", ">b"]),
    max_size=4,
).map("".join)
written = st.tuples(texts, st.sampled_from([None, None, None, *CHOICES]), st.integers(0, 2))
generated = st.tuples(
    st.one_of(texts, st.lists(st.sampled_from([97, 98, 32, 0xE6, 0x97, 0xA5, -1]), max_size=4)),
    st.integers(0, 2),
)
steps = st.lists(st.one_of(written, generated), max_size=8)
"""Texts with choices and labels; and ids with labels, listed or those of a text. -1 is no id."""

Turn = tuple[list[tuple[str, Choice | None, int]], list[int], list[int]]
"""Pieces of text; or ids and their labels."""


class Model:
    """What a transcript must be, computed anew each time."""

    def __init__(self, encoder: Encoder, special: Choice) -> None:
        self.encoder, self.special = encoder, special
        self.turns: list[Turn] = []

    def grown(self, turns: Sequence[list[Any]], at: Any, *, apart: bool = False) -> GrowingEncoding:
        growing = self.encoder.growing(self.special, at)
        for pieces in turns:
            for text, special, *_ in pieces:
                growing.append(text, special or (self.special if apart else None))
        return growing

    def ids(self, number: int) -> list[int]:
        pieces, ids, _ = self.turns[number]
        return self.grown([pieces], "within" if number else "text").ids if pieces else ids

    def labels(self, number: int) -> list[int] | None:
        """The labels of a turn; None where a special token that is found depends on the parts."""
        pieces, _, labels = self.turns[number]
        if not pieces:
            return labels
        apart = self.grown([pieces], "within" if number else "text", apart=True)
        if apart.ids != self.ids(number):
            return None
        parts = (min(part, len(pieces) - 1) for part in apart.parts)
        return [pieces[part][2] for part in parts]

    def pieces(self, number: int) -> list[Any]:
        """The pieces of a turn; an error if its ids are no text."""
        pieces, ids, _ = self.turns[number]
        start = sum(len(self.ids(turn)) for turn in range(number))
        content = self.encoder.decode_bytes(ids, behind=start > 0)
        return pieces or [(content.decode("utf-8"), "parse")]

    @property
    def text(self) -> str:
        turns = range(len(self.turns))
        return "".join(text for turn in turns for text, *_ in self.pieces(turn))

    def check(self, seam: Seam, number: int) -> None:
        """Check the seam behind a turn."""
        first = 0
        before = []
        all_are_texts = True
        for turn in range(number + 2):
            try:
                before.append(self.pieces(turn))
                self.grown(before[:-1] + before[-1:], "within" if first else "text")
            except ValueError:
                before, first, all_are_texts = [], turn + 1, False
        is_known = first <= number
        length = sum(len(text) for pieces in before[:-1] for text, *_ in pieces)
        start = sum(len(self.ids(turn)) for turn in range(number + 1))
        assert seam.ids == start
        assert (seam.is_kept is not None) == is_known
        if not is_known:
            assert seam.differs is None
            return
        if all_are_texts:
            assert seam.text == length
        at = "within" if first else "text"
        left = self.grown(before[:-1], at).ids
        whole = self.grown(before, at).ids
        own_ids, others = self.ids(number + 1), self.grown(before[-1:], "within").ids
        assert seam.is_kept == (whole in (left + own_ids, left + others))
        given_left = [token for turn in range(first, number + 1) for token in self.ids(turn)]
        if seam.is_kept:
            assert seam.differs is None
        elif given_left == left:
            place = difference(left + own_ids, whole)
            assert place is not None
            assert seam.differs == start - len(left) + place
        else:
            assert seam.differs is not None
            assert 0 <= seam.differs <= start + len(own_ids)


def follow(
    encoder: Encoder, special: Choice, steps: list[Any], check: Callable[[Transcript, Model], None]
) -> None:
    """Take steps with a transcript and with its model."""
    transcript, model = Transcript(encoder, VOCABULARY, special), Model(encoder, special)
    for step in steps:
        before = (transcript.ids, transcript.labels, len(transcript), repr(transcript))
        try:
            if len(step) == 3:
                text, choice, label = step
                unchanged = transcript.append(text, choice, label)
                if not text and not (model.turns and model.turns[-1][0]):
                    continue
                if not model.turns or not model.turns[-1][0]:
                    model.turns.append(([], [], []))
                model.turns[-1][0].append(step)
            else:
                ids, label = step
                if isinstance(ids, str):
                    ids = encoder.encode(ids, "text")
                unchanged = transcript.append_ids(iter(ids), label)
                assert unchanged == len(before[0])
                if not ids:
                    continue
                if not model.turns or model.turns[-1][0]:
                    model.turns.append(([], [], []))
                model.turns[-1][1].extend(ids)
                model.turns[-1][2].extend([label] * len(ids))
        except (ValueError, KeyError):
            assert (transcript.ids, transcript.labels, len(transcript), repr(transcript)) == before
            continue
        assert transcript.ids[:unchanged] == before[0][:unchanged]
        check(transcript, model)


@pytest.mark.parametrize("special", CHOICES)
@pytest.mark.parametrize("name", ALL)
@settings(max_examples=15)
@given(steps=steps)
def test_a_transcript_is_what_its_turns_are(name: str, special: Choice, steps: list[Any]) -> None:
    def check(transcript: Transcript, model: Model) -> None:
        turns = range(len(model.turns))
        ids = [token for turn in turns for token in model.ids(turn)]
        assert transcript.ids == ids
        assert len(transcript) == len(ids)
        assert transcript.ids_from(2) == ids[2:]
        labels = [model.labels(turn) for turn in turns]
        assert len(transcript.labels) == len(ids)
        if None not in labels:
            assert transcript.labels == [label for turn in labels for label in turn or []]
        try:
            text = model.text
        except UnicodeDecodeError:
            with pytest.raises(UnicodeDecodeError):
                _ = transcript.text
        else:
            assert transcript.text == text
        seams = transcript.seams
        assert len(seams) == max(len(model.turns) - 1, 0)
        for number, seam in enumerate(seams):
            model.check(seam, number)

    follow(ALL[name], special, steps, check)


def spaced_first(**more: Any) -> Tokenizer:
    return Tokenizer(replace(VOCABULARY, normalization=(("Prepend first", " "),), **more))


LOSSLESS = {
    "plain": TOKENIZERS[next(iter(TOKENIZERS))],
    "a space before the first": spaced_first(drops_space=True),
    "found with white space": Tokenizer(replace(VOCABULARY, token_flags={"<s><s>x": ["rstrip"]})),
}
BEFORE_EACH = Tokenizer(replace(VOCABULARY, normalization=(("Prepend", " "),), drops_space=True))
"""A space is put behind each added token, too, and decoding does not leave it out."""


@pytest.mark.parametrize("name", LOSSLESS)
@given(steps=steps)
def test_decoding_gives_back_the_text(name: str, steps: list[Any]) -> None:
    tokenizer = LOSSLESS[name]

    def check(transcript: Transcript, model: Model) -> None:
        try:
            text = transcript.text
        except UnicodeDecodeError:
            return
        assert tokenizer.decode(transcript.ids) == text

    follow(tokenizer._made_encoder(), "text", steps, check)


def test_no_space_is_put_before_text_behind_ids() -> None:
    tokenizer = BEFORE_EACH
    assert tokenizer.encode("the") == tokenizer.encode_ordinary("the") == tokenizer.join([], "the")
    behind = tokenizer.join([65], "the")
    assert tokenizer.decode(behind) == "Athe"
    transcript = tokenizer.transcript()
    transcript.append_ids(tokenizer.encode("<s>"))
    transcript.append("the")
    assert transcript.text == tokenizer.decode(transcript.ids) == "<s>the"
    [seam] = transcript.seams
    assert (seam.is_kept, seam.differs) == (False, 1)  # Encoding puts a space behind each token.


def test_tokens_take_white_space_only_within_their_turn() -> None:
    tokenizer = Tokenizer(replace(VOCABULARY, token_flags={"<s>": ["lstrip", "rstrip"]}))
    special = tokenizer.special_tokens["<s>"]
    transcript = tokenizer.transcript()
    transcript.append("a  ")
    transcript.append_ids([special])
    transcript.append("  b <s> ")
    assert transcript.text == "a  <s>  b <s> "
    assert tokenizer.encode(transcript.text) == [97, special, 98, special]
    assert tokenizer.decode(transcript.ids) == "a  <s>  b<s>"
    assert [seam.is_kept for seam in transcript.seams] == [False, False]


def test_a_seam_within_a_token_is_named_by_the_first_id_that_changes() -> None:
    tokenizer = Tokenizer.train("ab ab ab", 258)
    chat = tokenizer.transcript()
    chat.append("ab ")
    chat.append_ids([97, 98, 32, 97])
    chat.append("b!")
    assert chat.text == "ab ab ab!"
    assert chat.seams == [Seam(3, 2, False, 1), Seam(7, 6, False, 4)]
    assert tokenizer.encode(chat.text) == [256, 257, 257, 33]


def test_a_seam_next_to_what_is_no_text_is_unknown() -> None:
    chat = Tokenizer.train("ab ab ab", 258).transcript()
    chat.append("a")
    chat.append_ids([0xC3])
    chat.append("b")
    chat.append_ids([97])
    assert chat.seams == [
        Seam(1, 1, None, None),
        Seam(None, 2, None, None),
        Seam(None, 3, True, None),
    ]
    chat.append_ids([0xC3])
    chat.append_ids([0xA9])
    assert chat.seams[-1] == Seam(None, 3, True, None)
    with pytest.raises(UnicodeDecodeError):
        _ = chat.text


def test_wrong_ids_and_texts_leave_a_transcript_as_it_was() -> None:
    tokenizer = Tokenizer.train("ab ab ab", 258)
    chat = tokenizer.transcript(special="error")
    chat.append("ab")
    with pytest.raises(KeyError, match="unknown id 300: the ids of this vocabulary are 0 to 258"):
        chat.append_ids([97, 300])
    with pytest.raises(KeyError, match="unknown id -1"):
        chat.append_ids([97, -1])
    with pytest.raises(TypeError, match="ids"):
        chat.append_ids(97)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        chat.append_ids([97, "a"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="label"):
        chat.append("a", label="x")  # type: ignore[arg-type]
    with pytest.raises(UnicodeEncodeError):
        chat.append("\ud800")
    with pytest.raises(ValueError, match="special token"):
        chat.append("<|endoftext|>")
    with pytest.raises(ValueError, match="start must be an integer of at least 0"):
        chat.ids_from(-1)
    with pytest.raises(ValueError, match="special"):
        tokenizer.transcript(special="x")  # type: ignore[arg-type]
    assert (chat.ids, chat.labels, chat.text, chat.seams) == ([256], [0], "ab", [])
    assert chat.append("c", special="text") == 1


@pytest.mark.parametrize("copied", [copy, deepcopy, Transcript.copy])
def test_copies_go_on_by_themselves(copied: Callable[[Transcript], Transcript]) -> None:
    chat = Tokenizer.train("ab ab ab", 258).transcript()
    chat.append("a")
    chat.append_ids([98])
    chat.append("ab ")
    seams = chat.seams
    other = copied(chat)
    other.append("ab", label=2)
    other.append_ids([97])
    assert (chat.ids, chat.text, chat.seams) == ([97, 98, 256, 32], "abab ", seams)
    assert (other.ids, other.labels) == ([97, 98, 256, 257, 97], [0, 1, 0, 0, 1])
    assert repr(chat) == "Transcript(4 ids, 3 turns)"


def test_threads_share_a_tokenizer_and_have_transcripts_of_their_own() -> None:
    tokenizer = TOKENIZERS[next(iter(TOKENIZERS))]

    def work(number: int) -> tuple[list[int], list[int], list[Seam]]:
        chat = tokenizer.transcript()
        for turn in range(9):
            chat.append(f"the cat's hat {turn} <s>", label=turn)
            chat.append_ids(tokenizer.encode(f" rats {number % 4}"))
        return chat.ids, chat.labels, chat.seams

    with ThreadPoolExecutor(64) as pool:
        results = list(pool.map(work, range(256)))
    assert all(result == results[number % 4] for number, result in enumerate(results))


@pytest.mark.parametrize("tokenizer", [LOSSLESS["plain"], BEFORE_EACH])
@given(parts=st.lists(texts, max_size=5))
def test_text_alone_grows_as_ever(tokenizer: Tokenizer, parts: list[str]) -> None:
    transcript, growing = tokenizer.transcript(), tokenizer.growing()
    for part in parts:
        assert transcript.append(part) == growing.append(part)
    assume("".join(parts))
    assert transcript.ids == growing.ids == tokenizer.encode("".join(parts))
